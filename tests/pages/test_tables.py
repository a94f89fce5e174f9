"""Tables of JSON files as CSV."""

from curation.pages.tables import tables


def found(content: object, name: str = "x", *, private: bool = False) -> dict[str, str]:
    made = tables({name: content}, private=private)
    return {table.file: table.data.decode() for table in made}


def test_a_list_of_objects_is_a_table() -> None:
    rows = [
        {"term": "=1+1", "ci": [1, 2.5], "of": {"n": 3}, "words": ["a", "b"]},
        {"term": "b, c", "ci": None, "of": {"n": None}, "words": []},
    ]
    head = "term,ci.low,ci.high,of.n,words\n"
    assert found({"rows": rows}) == {"x-rows.csv": head + "'=1+1,1,2.5,3,a; b\n" + '"b, c",,,,\n'}


def test_an_object_of_objects_is_a_table() -> None:
    people = {"a": {"n": 1}, "b": {"n": 2}}
    assert found({"people": people, "n": 3}) == {"x-people.csv": "name,n\na,1\nb,2\n"}
    assert found({"a": {"b": {"c": {"n": 1}}}}) == {"x-a.csv": "name,c.n\nb,1\n"}


def test_a_table_in_a_table_says_to_what_it_belongs() -> None:
    groups = [
        {"group": "a", "cats": 7, "words": [{"word": "x", "n": 1}, {"word": "y", "n": 2}]},
        {"group": "b", "cats": 8, "words": []},
        {"group": "c", "cats": 9, "words": [{"word": "z", "n": 3}], "examples": [{"text": "t"}]},
    ]
    made = found(groups)
    assert [*made] == ["x.csv", "x-words.csv"]
    assert made["x-words.csv"] == "group,word,n\na,x,1\na,y,2\nc,z,3\n"


def test_what_is_no_table_gives_none() -> None:
    assert found({"n": 1, "list": [1, 2], "none": [], "empty": {}, "mixed": [{"a": 1}, 2]}) == {}


def test_people_are_in_the_private_report_only() -> None:
    report = {"annotators": [{"annotator": "p-1", "suspect": True}]}
    assert found(report, "agreement") == {}
    assert [*found(report, "agreement", private=True)] == ["agreement-annotators.csv"]
