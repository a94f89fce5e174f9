"""Mapping files: other columns, labels and domains; mistakes are named with their line."""

import re
from pathlib import Path

import pytest

from curation.campaign.source import gold_source
from curation.catsets.mapping import MappingFile, read_mapping
from curation.catsets.reading import read_dataset
from curation.catsets.stereoset import read_cat_entries, read_cats, read_entries, read_gold_file
from curation.scores.comparing import read_agreement
from support import catsets
from support.catsets import items, mapping
from support.expected import fails
from support.written import beside

BASE = 'files = ["a.csv"]\n'
CASES = beside(__file__)


def test_other_columns_of_a_translation(tmp_path: Path) -> None:
    catsets.write_csv(tmp_path / "a.csv", catsets.sentence_rows(items()))
    columns = 'context = "context_xx"\nsentence = "sentence_xx"\ntarget_original = "target"\n'
    path = mapping(tmp_path, f'files = "a.csv"\nlanguage = "xx"\n[columns]\n{columns}')
    cat = read_cats(path)[0]
    assert cat.context == "The baker starts to work BLANK on weekdays. (xx)"
    assert cat.associations[0].sentence == "The baker starts to work late on weekdays. (xx)"
    assert (cat.target, cat.target_original) == ("baker", "baker")
    assert read_gold_file(path).settings.language == "xx"


def test_other_labels_and_domains_within_items(tmp_path: Path) -> None:
    theirs = {"stereotype": "Estereotipo", "anti-stereotype": "anti", "unrelated": "2"}
    content = items()
    for item in content:
        item["tipo"] = item.pop("bias_type").replace("profession", "Profesión")
        for sentence in item["sentences"]:
            sentence["texto"] = sentence.pop("sentence")
            sentence["gold_label"] = theirs[sentence["gold_label"]]
            sentence["labels"] = [{"label": "anti", "human_id": "p"}]
    catsets.write_json(tmp_path / "a.json", content)
    path = mapping(
        tmp_path,
        'files = ["a.json"]\n[columns]\nbias_type = "tipo"\nsentence = "texto"\n'
        '[labels]\nestereotipo = "stereotype"\nanti = "Anti_Stereotype"\n2 = "meaningless"\n'
        '[domains]\n"profesión" = "profession"\n',
    )
    (cat, *_), (entry, *_) = read_cats(path), read_entries(path)
    assert cat.domain == "profession"
    assert [a.gold for a in cat.associations] == list(catsets.GOLD)
    assert entry.item["sentences"][0]["labels"] == [{"label": "anti-stereotype", "human_id": "p"}]


@pytest.mark.parametrize("answers", ["choices", "ans"])
def test_no_mapping_file_makes_cats_of_questions(tmp_path: Path, answers: str) -> None:
    row = {"sample_id": "1", "context": "Two bakers met.", "question": "Who was late?",
           "category": "age", "choices": ["the old one", "the young one", "not known"],
           "biased_answer": "the old one"}  # fmt: skip
    given = 'order = ["stereotype", "anti-stereotype", "unrelated"]\n[columns]\n'
    if answers == "ans":
        row |= {f"ans{n}": text for n, text in enumerate(row.pop("choices"))}
        given = '[columns]\nstereotype = "ans0"\nanti_stereotype = "ans1"\nunrelated = "ans2"\n'
    catsets.write_json(tmp_path / "a.json", [row])
    text = f'files = ["a.json"]\n{given}target = "question"\ndomain = "category"\n'
    with fails("questions with answers, as in BBQ", fix="use the tool of that benchmark"):
        read_cats(mapping(tmp_path, text))


def test_a_column_that_is_called_question_can_be_the_context(tmp_path: Path) -> None:
    row = {"question": "A baker is BLANK today.", "choices": ["early", "late", "octal"],
           "bias_type": "x", "target": "baker"}  # fmt: skip
    catsets.write_json(tmp_path / "a.json", [row])
    order = f"order = {list(catsets.GOLD)}"
    text = f'files = ["a.json"]\n{order}\n[columns]\ncontext = "question"\n'
    assert len(read_cats(mapping(tmp_path, text))) == 1


def test_a_fix_that_is_copied_as_it_is_makes_no_gold_labels(tmp_path: Path) -> None:
    """What only the team knows is «…» in every line that an error offers, and «…» is an error."""
    rows = [catsets.option_row(item) for item in items()]
    texts = {"Stereotype Sentence", "Anti-stereotype Sentence", "Unrelated Sentence"}
    lists = [
        {k: v for k, v in row.items() if k not in texts} | {"choices": ["a", "b", "c"]}
        for row in rows
    ]
    odd = items()
    odd[0]["sentences"][0]["gold_label"] = "neither"
    kinds = [row | {"kind": "phrase"} for row in rows]
    for content, line in (
        (lists, 'order = ["…", "…", "…"]'),
        (odd, '[labels] "neither" = "…"'),
        (kinds, '[kinds] "phrase" = "…"'),
    ):
        path = catsets.write_json(tmp_path / "a.json", content)
        with fails(fix=line):
            read_cats(path)
        with fails("map.toml line"):
            read_cats(mapping(tmp_path, 'files = ["a.json"]\n' + line.replace("s] ", "s]\n")))


def test_choices_need_their_order(tmp_path: Path) -> None:
    numpy = "['early' 'late' \"it's\"]"  # as NumPy prints a list
    row = {"prompt": "A baker is BLANK today.", "choices": numpy, "bias_type": "x",
           "target": "baker"}  # fmt: skip
    path = catsets.write_csv(tmp_path / "a.csv", [row])
    order = 'order = ["stereotype", "anti-stereotype", "unrelated"]'
    with fails("does not say which of the «choices»", fix='order = ["…", "…", "…"]'):
        read_cats(path)
    with fails("map.toml line 2, order: must name each of"):
        read_cats(mapping(tmp_path, f"{BASE}{order.replace('anti-stereotype', 'anti')}\n"))
    path = mapping(tmp_path, f"{BASE}{order}\n")
    assert {a.gold: a.sentence for a in read_cats(path)[0].associations} == {
        "stereotype": "A baker is early today.",
        "anti-stereotype": "A baker is late today.",
        "unrelated": "A baker is it's today.",
    }


def test_a_kind_and_a_domain_for_all(tmp_path: Path) -> None:
    rows = [catsets.option_row(item) for item in items()[2:]]
    for row in rows:
        del row["Domain"]
    catsets.write_csv(tmp_path / "a.csv", rows)
    with fails("there is no column «domain» or «bias_type»; its columns are"):
        read_cats(tmp_path / "a.csv")
    path = mapping(tmp_path, BASE + 'kind = "intrasentence"\ndomain = "work"\n')
    assert {(cat.kind, cat.domain) for cat in read_cats(path)} == {("intrasentence", "work")}


def test_several_files_are_one_set(tmp_path: Path) -> None:
    for name, part in (("a", items()[:2]), ("b", items()[2:])):
        catsets.write_json(tmp_path / f"{name}.json", part)
    path = mapping(tmp_path, 'files = ["a.json", "b.json"]\nskip = ["cat-2"]\n')
    dataset = read_dataset(path)
    assert [entry.item["id"] for entry in dataset.entries] == ["cat-1", "cat-3", "cat-4"]
    assert dataset.notes == ("map.toml: 1 item left out by «skip»",)


def test_repeated_items_are_left_out_by_bad_and_not_by_their_id(tmp_path: Path) -> None:
    catsets.write_json(tmp_path / "a.json", [*items(), items()[0], {"id": "x"}])
    # Their ids would leave out the first ones, too.
    fix = 'a mapping file with files = ["a.json"] and skip = "bad"'
    says = '2 items are not CATs or repeat an id: "cat-1", "x"'
    with fails("the id cat-1 is already used in a.json [0]", says, fix=fix):
        read_cats(tmp_path / "a.json")
    path = mapping(tmp_path, 'files = ["a.json"]\nskip = "bad"\n')
    assert len(read_cats(path)) == 4
    assert [entry.item["id"] for entry in read_cat_entries(path)] == [i["id"] for i in items()]
    agreement = read_agreement(gold_source([path]))["profession/baker"]
    assert (agreement.agreement, agreement.votes) == (100, 100)


def test_a_column_without_texts_and_a_value_that_is_none_are_named(tmp_path: Path) -> None:
    rows = [{**catsets.option_row(item), "Context": ""} for item in items()]
    path = catsets.write_csv(tmp_path / "a.csv", rows)
    with fails("the column «Context» is empty; its columns are"):
        read_cats(path)
    catsets.write_json(tmp_path / "a.json", [*items()[1:], {**items()[0], "target": 7}])
    with fails("(id cat-1), target: '7' is not a text"):
        read_cats(tmp_path / "a.json")


def test_the_examples_of_the_docs_are_mapping_files(tmp_path: Path) -> None:
    docs = Path(__file__).parents[2] / "docs" / "datasets.md"
    section = docs.read_text("utf-8").partition("\n## Mapping files\n")[2].partition("\n## ")[0]
    examples = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    assert len(examples) == 4
    keys: set[str] = set()
    for text in examples:
        keys |= read_mapping(mapping(tmp_path, text)).model_fields_set
    others = {"options", "raters", "repeated"}
    assert keys == set(MappingFile.model_fields) - others
    assert all(f"| `{k}` |" in section or f"| `[{k}]` |" in section for k in keys | others)


@pytest.mark.parametrize(("text", "says", "fix"), [case.values() for case in CASES["mistake"]])
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, says: str, fix: str) -> None:
    catsets.write_csv(tmp_path / "a.csv", catsets.sentence_rows(items()))
    with fails(says, fix=fix):
        read_cats(mapping(tmp_path, text))


@pytest.mark.parametrize("text", CASES["not_tables"])
def test_nothing_is_quoted_of_a_file_that_is_not_a_table(tmp_path: Path, text: str) -> None:
    (tmp_path / "notes").write_text(text, "utf-8")
    for more in ("", '[columns]\ncontext = "story"\n', '[labels]\na = "unrelated"\n'):
        with fails() as caught:
            read_dataset(mapping(tmp_path, f'files = "notes"\n{more}'))
        shown = caught.value.what.replace(str(tmp_path), "") + caught.value.fix
        assert re.search(r"notes: is not a table|notes: not JSON|notes line 1 column", shown), shown
        assert not re.search("secret|baker|key = the|the-key|ann", shown, re.IGNORECASE), shown


@pytest.mark.parametrize("text", ["Story,Who\nLate.,driver\n", '[{"Story": "", "Who": ""}]'])
def test_columns_are_quoted_if_one_is_known_or_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text(text, "utf-8")
    path = mapping(tmp_path, BASE + '[columns]\ncontext = "story"\ntarget = "Who"\n')
    with fails("its columns are «Story», «Who»"):
        read_dataset(path)
