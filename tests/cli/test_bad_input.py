"""What people bring that is not as it should be: each is named, with its place and its fix."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import Campaign
from support.commands import set_to

Json = dict[str, Any]


@pytest.fixture
def published(example_data: Path) -> Json:
    """Three good published items out of the example's."""
    content: Json = json.loads((example_data / "published.json").read_text("utf-8"))
    good = [
        item
        for item in content["data"]["intersentence"]
        if len(item["sentences"]) == 3
        and all(x["label"] != "?" for s in item["sentences"] for x in s["labels"])
    ]
    base = good[0]
    items = []
    for n in range(3):
        item = copy.deepcopy(base)
        item |= {"id": f"new-{n}", "context": f"{base['context']} Day {n}."}
        for place, sentence in enumerate(item["sentences"]):
            sentence["id"] = f"new-{n}-{place}"
        items.append(item)
    return {"version": "0", "data": {"intersentence": items, "intrasentence": []}}


@pytest.fixture
def bring(forked: Any, campaign: Campaign, tmp_path: Path) -> Callable[..., Any]:
    """Import a StereoSet file; gives the summary of one that went in, else what was said."""

    def run(content: Any, name: str = "set.json", *more: str, warning: str = "") -> Any:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(json.dumps(content, indent=1), "utf-8")
        done = forked("import", "stereoset", path, "--json", "-c", campaign.root, *more)
        if done.code == 0:
            assert warning in done.err
            assert warning or done.err == ""
            return json.loads(done.out)
        assert (done.code, done.out) == (1, ""), done.err
        assert "Traceback" not in done.err
        assert not (campaign.rounds / "published" / "items.jsonl").exists()
        assert "fix:   " in done.err
        return done.err

    return run


def items_of(content: Json) -> list[Json]:
    found: list[Json] = content["data"]["intersentence"]
    return found


# --- a StereoSet file ---------------------------------------------------------------------------


def test_good_items_go_in(bring: Any, published: Json) -> None:
    summary = bring(published)
    assert (summary["rows"], summary["added"], summary["known"]) == (3, 3, 0)
    labels = sum(len(s["labels"]) for item in items_of(published) for s in item["sentences"])
    assert (summary["items"], summary["labels"], summary["rejected"]) == (3, labels, {})


@pytest.mark.parametrize("share", [0.3, 0.5, 0.99])
def test_a_truncated_file(bring: Any, published: Json, tmp_path: Path, share: float) -> None:
    whole = json.dumps(published, indent=1).encode()
    cut = whole[: int(len(whole) * share)]
    said = bring(cut)
    line = cut.count(b"\n") + 1
    assert f"{tmp_path / 'set.json'} line {line} column " in said
    assert "the file ends in the middle" in said
    assert "fix:   it was probably cut off: fetch it again" in said


def test_a_file_in_another_encoding(bring: Any, published: Json) -> None:
    items_of(published)[1]["context"] += " Café."
    data = json.dumps(published, indent=1, ensure_ascii=False).encode("latin-1")
    said = bring(data)
    line = data[: data.index(b"\xe9")].count(b"\n") + 1
    assert f"line {line}: byte 0xe9 is not UTF-8" in said
    assert "fix:   save the file as UTF-8" in said


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"id,label\n1,2\n", "not a StereoSet file"),
        (b'{"version": 1, "data": nonsense}', "line 1 column 24: not JSON"),
        ([], "not a StereoSet file"),
        ({"data": []}, "not a StereoSet file"),
        ({"data": {"sentences": []}}, "not a StereoSet file"),
        ({"intrasentence": [{"id": "1", "score": 2}]}, "not a StereoSet file"),
        ({"data": {"intrasentence": {}}}, "data.intrasentence is not a list"),
        ({"data": {"intersentence": ["x"]}}, "data.intersentence[0]: not an object"),
        ({"data": {"intersentence": []}}, "contains no items"),
    ],
)
def test_no_stereoset_file(bring: Any, content: Any, says: str) -> None:
    said = bring(content)
    assert says in said
    assert "set.json" in said


@pytest.mark.parametrize("field", ["target", "context", "id"])
def test_half_a_character(
    bring: Any, published: Json, campaign: Campaign, untouched: Any, field: str
) -> None:
    items_of(published)[1][field] += "\ud800"  # valid JSON, but no text: cannot be kept
    before = untouched(campaign.root)
    bring(published)
    assert untouched(campaign.root) == before


def test_what_is_wrong_with_an_item_is_counted_and_kept_with_its_reason(
    bring: Any, published: Json, campaign: Campaign, rejections: Any
) -> None:
    few, many, bare = items_of(published)
    few["sentences"].pop()
    many["sentences"].append({"id": "new-1-9", "sentence": "One more.", "labels": []})
    del bare["sentences"]
    published["data"]["intersentence"].append(
        copy.deepcopy(few) | {"id": "none", "context": "Nobody came.", "sentences": []}
    )
    summary = bring(published)
    counts = {"wrong_association_count": 3, "missing_field": 1}
    assert (summary["items"], summary["rejected"]) == (0, counts)
    assert rejections(campaign, "published") == [
        ("wrong_association_count", "item new-0 has 2, not 3"),
        ("wrong_association_count", "item new-1 has 4, not 3"),
        ("missing_field", "item new-2 has no list of sentences"),
        ("wrong_association_count", "item none has 0, not 3"),
    ]


@pytest.mark.parametrize("what", ["item", "sentence", "sentence and item", "within"])
def test_clashing_ids_in_one_file(
    bring: Any, published: Json, campaign: Campaign, rejections: Any, what: str
) -> None:
    first, _, bad = items_of(published)
    clash = {
        "item": "new-0",
        "sentence": "new-0-1",
        "sentence and item": "new-0",
        "within": "new-2-0",
    }[what]
    if what == "item":
        bad["id"] = clash
    else:
        bad["sentences"][1]["id"] = clash
    for item in (first, bad):
        for sentence in item["sentences"]:
            sentence["labels"] = []
    summary = bring(published)
    assert (summary["items"], summary["rejected"]) == (2, {"clashing_id": 1})
    ((code, detail),) = rejections(campaign, "published")
    assert (code, detail.split()[0]) == ("clashing_id", bad["id"] if what == "within" else clash)


def test_clashing_ids_over_two_imports(
    bring: Any, published: Json, campaign: Campaign, rejections: Any
) -> None:
    assert bring(published)["items"] == 3
    other = copy.deepcopy(published)
    del items_of(other)[1:]
    items_of(other)[0]["context"] = "Another context."
    summary = json.loads(
        json.dumps(bring(other, "other.json", "--round", "second"))  # another round, same ids
    )
    assert summary["items"] == 0
    assert summary["rejected"]["clashing_id"] == 1
    assert rejections(campaign, "second")[0][0] == "clashing_id"
    # The labels were given to another text: they may not count for the first.
    assert summary["labels"] == 0


def test_a_duplicate_under_other_ids(bring: Any, published: Json) -> None:
    twin = copy.deepcopy(items_of(published)[0])
    twin |= {"id": "twin", "context": twin["context"].upper()}
    for place, sentence in enumerate(twin["sentences"]):
        sentence |= {"id": f"twin-{place}", "labels": []}
    items_of(published).append(twin)
    summary = bring(published)
    assert (summary["items"], summary["rejected"]) == (3, {"duplicate_item": 1})


def test_gold_labels_may_be_missing(bring: Any, published: Json, campaign: Campaign) -> None:
    for sentence in items_of(published)[1]["sentences"]:
        sentence.pop("gold_label", None)
    assert bring(published)["items"] == 3


def test_items_without_labels_stay_open(
    forked: Any, bring: Any, published: Json, campaign: Campaign
) -> None:
    for item, absent in zip(items_of(published), ("gone", None, []), strict=True):
        for sentence in item["sentences"]:
            sentence["labels"] = absent
            if absent == "gone":
                del sentence["labels"]
    summary = bring(published)
    assert (summary["items"], summary["labels"], summary["unlabelled"]) == (3, 0, 3)
    counts = json.loads(forked("decisions", "filter", "--json", "-c", campaign.root).out)
    assert (counts["items_kept"], counts["too_few_labels"]) == (0, 3)
    done = forked("run", "-c", campaign.root)
    assert done.code == 1
    assert "no CAT was kept, so there is nothing to release" in done.err
    assert "decisions filter" in done.err


def test_an_unknown_domain(
    bring: Any, published: Json, campaign: Campaign, rejections: Any
) -> None:
    items_of(published)[1]["bias_type"] = "hobby"
    for sentence in items_of(published)[1]["sentences"]:
        sentence["labels"] = []
    assert bring(published, warning="«curation run»: [domains.hobby]\n")["items"] == 2
    ((code, detail),) = rejections(campaign, "published")
    assert code == "unknown_domain"
    assert "'hobby' is not among the domains: gender, profession" in detail


@pytest.mark.parametrize("name", ["set.json", "renamed.json"])
def test_the_same_file_again_adds_nothing(
    bring: Any, published: Json, campaign: Campaign, untouched: Any, name: str
) -> None:
    first = bring(published)
    before = untouched(campaign.root)
    second = bring(published, name)
    assert (second["added"], second["known"], second["rejected"]) == (0, 3, {})
    assert {k: second[k] for k in ("items", "labels")} == {k: first[k] for k in ("items", "labels")}
    assert untouched(campaign.root) == before


def test_an_export_that_grew_at_its_head_adds_only_what_is_new(bring: Any, published: Json) -> None:
    newest = items_of(published).pop(0)
    assert bring(published)["added"] == 2
    items_of(published).insert(0, newest)
    second = bring(published)
    assert (second["added"], second["items"], second["rejected"]) == (1, 3, {})


# --- a table --------------------------------------------------------------------------------------

WRITERS = (
    "item_id,annotator,domain,target,context,stereotype,anti_stereotype,unrelated\n"
    "i1,ann,profession,baker,The baker is BLANK.,early,late,algebraic\n"
    "i2,ann,profession,baker,The baker was BLANK.,early,late,algebraic\n"
)


@pytest.fixture
def table(forked: Any, campaign: Campaign, tmp_path: Path) -> Callable[..., Any]:
    """Import a table; gives the summary of one that went in, else what was said."""

    def run(data: str | bytes, *more: str) -> Any:
        path = tmp_path / "answers.csv"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        done = forked("import", "answers", path, "--json", "-c", campaign.root, *more)
        assert "Traceback" not in done.err
        if done.code == 0:
            return json.loads(done.out)
        assert (done.code, done.out) == (1, "")
        assert str(path) in done.err or more
        assert "fix:   " in done.err
        return done.err

    return run


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("", "is empty"),
        ("a,b\n", "a header and no rows"),
        ("a,b,a\n1,2,3\n", "line 1: the column 'a' is there twice"),
        ('a,b\n1,"2\n', "line 2: "),
        ('{"a": 1}\n{"a": \n', "line 2 column "),
        ("a,b\n1,caf\xe9\n".encode("latin-1"), "line 2: byte 0xe9 is not UTF-8"),
        (WRITERS.encode("utf-16")[:-1], "UTF-16"),
        ("sep=;", "answers.csv"),
    ],
)
def test_a_table_that_cannot_be_read(
    table: Any, campaign: Campaign, untouched: Any, data: str | bytes, says: str
) -> None:
    before = untouched(campaign.root)
    assert says in table(data)
    assert untouched(campaign.root) == before


def test_rows_too_long_and_too_short(table: Any, campaign: Campaign, rejections: Any) -> None:
    summary = table(WRITERS + WRITERS.splitlines()[1] + ",more\ni3,ann,profession\n")
    assert (summary["items"], summary["rejected"]) == (2, {"bad_value": 1, "missing_field": 1})
    assert "more cells than the table has columns" in rejections(campaign)[0][1]
    assert rejections(campaign)[1][1] == "no 'context'"


def test_a_row_of_labels_that_ends_early_loses_nothing_in_silence(table: Any) -> None:
    table(WRITERS)
    head = "item_id,annotator," + ",".join(f"association_{n},label_{n}" for n in (1, 2, 3))
    row = "i1,ben,early,stereotype,late,anti-stereotype,algebraic"  # label_3 was cut off
    summary = table(f"{head}\n{row}\n")
    assert (summary["labels"], summary["rejected"]) == (2, {"missing_field": 1})


def test_an_answer_with_an_id_too_long_does_not_stop_the_others(table: Any) -> None:
    summary = table(WRITERS + WRITERS.splitlines()[1].replace("i1,", "x" * 201 + ",") + "\n")
    assert summary["items"] == 2


def test_the_same_table_again_adds_nothing(table: Any, campaign: Campaign, untouched: Any) -> None:
    assert table(WRITERS)["added"] == 2
    before = untouched(campaign.root)
    again = table(WRITERS)
    assert (again["added"], again["known"], again["items"]) == (0, 2, 2)
    assert untouched(campaign.root) == before


def test_terms_that_are_not_known_are_refused_on_wish(
    table: Any, campaign: Campaign, rejections: Any
) -> None:
    summary = table(WRITERS, "--known-terms")
    assert (summary["items"], summary["rejected"]) == (0, {"unknown_target": 2})
    assert rejections(campaign)[0][1] == "'baker' is not a term of 'profession'"


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "x" * 101])
def test_a_round_that_cannot_be(table: Any, campaign: Campaign, name: str) -> None:
    assert "cannot be the name of a round" in table(WRITERS, "--round", name)
    assert not campaign.rounds.exists()


def test_an_edit_of_an_unknown_term_names_its_line(
    forked: Any, table: Any, campaign: Campaign
) -> None:
    table(WRITERS)
    edits = campaign.terms / "edits.csv"
    edits.write_text("domain,term,family,note\nprofession,baker,x,\nprofession,cook,x,\n")
    done = forked("run", "-c", campaign.root)
    assert (
        "1-terms/edits.csv line 3: not applied: no term 'cook' in domain 'profession'" in done.err
    )
    assert "copy the term from candidates.csv, or add it" in done.err
    rejected = (campaign.terms / "rejected.jsonl").read_text("utf-8")
    assert '"code":"unknown_term"' in rejected
    assert str(campaign.root) not in rejected  # results are the same wherever the folder lies


def test_labels_before_their_items_wait_for_them(table: Any) -> None:
    labels = "item_id,annotator,association,label\ni1,ben,early,stereotype\n"
    first = table(labels)
    assert (first["labels"], first["rejected"]) == (0, {"unknown_item": 1})
    second = table(WRITERS)
    assert (second["items"], second["labels"]) == (2, 1)


# --- no campaign, no file, a wrong word -----------------------------------------------------------

COMMANDS = [
    ("status",),
    ("run",),
    ("decisions", "filter"),
    ("decisions", "agreement"),
    ("decisions", "split"),
    ("release", "build"),
]
OF_TERMS = [("terms", "query"), ("terms", "select"), ("terms", "explain", "baker")]


@pytest.mark.parametrize("command", [*COMMANDS, *OF_TERMS], ids=" ".join)
def test_outside_of_a_campaign(forked: Any, tmp_path: Path, command: tuple[str, ...]) -> None:
    done = forked(*command, "-c", tmp_path)
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"error: {tmp_path}: no campaign.toml here\n"
        "fix:   change to the folder of a campaign, or make one with «curation init DIR»\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("source", ["answers", "stereoset"])
def test_importing_outside_of_a_campaign(
    forked: Any, small: Any, tmp_path: Path, source: str
) -> None:
    file = small.writers if source == "answers" else small.published
    done = forked("import", source, file, "-c", tmp_path)
    assert (done.code, done.out) == (1, "")
    assert f"{tmp_path}: no campaign.toml here" in done.err
    assert list(tmp_path.iterdir()) == []


def test_the_current_folder_is_meant_where_none_is_named(
    forked: Any, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(campaign.root)
    assert forked("status").code == 0
    monkeypatch.chdir(campaign.root.parent)
    assert "no campaign.toml here" in forked("status").err
    monkeypatch.setenv("CURATION_CAMPAIGN", str(campaign.root))
    assert forked("status").code == 0


@pytest.mark.parametrize("command", COMMANDS[1:], ids=" ".join)
def test_before_any_answer(forked: Any, campaign: Campaign, command: tuple[str, ...]) -> None:
    done = forked(*command, "-c", campaign.root)
    assert done.code == 1
    # «run» chooses the terms, which needs no answers, and says so.
    assert done.out.startswith("select ") if command == ("run",) else done.out == ""
    assert f"error: {campaign.root}: there are no answers yet" in done.err
    assert "fix:   «curation import answers FILE» or «curation import stereoset FILE»" in done.err


def test_status_before_anything(forked: Any, campaign: Campaign) -> None:
    done = forked("status", "-c", campaign.root)
    assert (done.code, done.err) == (0, "")
    assert "next: curation terms query, or curation terms scan FILE" in done.out
    assert "or curation import answers FILE, or curation import stereoset FILE" in done.out
    assert done.out.count("not yet") == 12


def test_init_on_a_campaign(forked: Any, campaign: Campaign, untouched: Any) -> None:
    before = untouched(campaign.root)
    done = forked("init", campaign.root, "--yes")
    assert (done.code, done.out) == (1, "")
    assert f"error: {campaign.root}: is a campaign already" in done.err
    assert "fix:   edit its campaign.toml, or choose another folder" in done.err
    assert untouched(campaign.root) == before


@pytest.mark.parametrize(
    ("option", "value"), [("--language", "English!"), ("--domains", "a/b"), ("--domains", " , ")]
)
def test_init_with_what_cannot_be(forked: Any, tmp_path: Path, option: str, value: str) -> None:
    done = forked("init", tmp_path / "c", "--yes", option, value)
    assert done.code == 1
    assert f"error: {option[2:]}" in done.err
    assert not (tmp_path / "c").exists()


def test_demo_in_a_folder_that_is_not_empty(forked: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    done = forked("demo", tmp_path)
    assert done.code == 1
    assert f"{tmp_path}: is not empty" in done.err
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


def test_a_wrong_setting_stops_every_command(forked: Any, campaign: Campaign) -> None:
    path = campaign.root / "campaign.toml"
    set_to(campaign.root, "needed = 3", "neded = 3")
    line = next(n for n, t in enumerate(path.read_text("utf-8").splitlines(), 1) if "neded" in t)
    for command in [*COMMANDS, *OF_TERMS]:
        done = forked(*command, "-c", campaign.root)
        assert done.code == 1
        assert f"error: {path} line {line}, decisions.neded: no such setting" in done.err
        assert "fix:   did you mean 'needed'?" in done.err


@pytest.mark.parametrize("source", ["answers", "stereoset"])
def test_a_file_that_is_not_there_and_a_folder(
    forked: Any, campaign: Campaign, tmp_path: Path, source: str
) -> None:
    done = forked("import", source, tmp_path / "none", "-c", campaign.root)
    assert (done.code, done.out) == (1, "")
    assert f"error: {tmp_path / 'none'}: no such file" in done.err
    assert "fix:   check the path" in done.err
    done = forked("import", source, tmp_path, "-c", campaign.root)
    assert done.code == 1
    assert f"{tmp_path}: is a folder, not a file" in done.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--measure", "kappa"), "'kappa' is not one of alpha, fleiss, ac1"),
        (("--by", "mood"), "'mood' is not one of domain"),
        (("--exclude", "nobody"), "no annotator 'nobody'"),
    ],
)
def test_agreement_on_what_is_not_there(
    forked: Any, finished: Path, options: tuple[str, ...], says: str
) -> None:
    done = forked("decisions", "agreement", *options, "-c", finished)
    assert (done.code, done.out) == (1, "")
    assert says in done.err
    assert "fix:   " in done.err


def test_a_round_in_the_settings_that_has_no_answers(forked: Any, finished: Path) -> None:
    set_to(finished, '"main", ', '"mian", ')
    done = forked("run", "-c", finished)
    assert done.code == 1
    assert "[decisions] rounds names 'mian', which has no answers" in done.err
    assert "fix:   rounds with answers: main, pilot, published" in done.err
