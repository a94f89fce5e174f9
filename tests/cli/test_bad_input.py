"""What people bring that is not as it should be: each is named, with its place and its fix."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import Campaign
from curation.files import read_records
from curation.records import Rejection
from support.commands import run, set_to

Json = dict[str, Any]


@pytest.fixture
def published(example_data: Path) -> Json:
    """Three good published items out of the example's."""
    content: Json = json.loads((example_data / "published.json").read_text("utf-8"))
    base = next(
        item
        for item in content["data"]["intersentence"]
        if len(item["sentences"]) == 3
        and all(x["label"] != "?" for s in item["sentences"] for x in s["labels"])
    )
    items = []
    for n in range(3):
        item = copy.deepcopy(base) | {"id": f"new-{n}", "context": f"{base['context']} Day {n}."}
        for place, sentence in enumerate(item["sentences"]):
            sentence["id"] = f"new-{n}-{place}"
        items.append(item)
    return {"version": "0", "data": {"intersentence": items, "intrasentence": []}}


class Bring:
    """Imports files into a fresh campaign."""

    def __init__(self, campaign: Campaign, folder: Path) -> None:
        self.campaign, self.folder = campaign, folder

    def __call__(
        self, content: Any, *more: str, name: str = "set.json", source: str = "stereoset",
        warning: str = "",
    ) -> Any:  # fmt: skip
        """Import a StereoSet file; gives the summary of one that went in, else what was said."""
        path = self.folder / name
        text = content if isinstance(content, bytes | str) else json.dumps(content, indent=1)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        done = run("import", source, path, "--json", "-c", self.campaign.root, *more)
        assert "Traceback" not in done.err
        if done.code == 0:
            assert warning in done.err
            assert warning or source == "answers" or done.err == ""
            return json.loads(done.out)
        assert (done.code, done.out) == (1, ""), done.err
        assert (str(path) if source == "answers" else name) in done.err or more
        assert "fix:   " in done.err
        return done.err

    def table(self, content: str | bytes, *more: str) -> Any:
        """The same with a writers' or annotators' table."""
        return self(content, *more, name="answers.csv", source="answers")

    def rejections(self, round: str = "published") -> list[tuple[str, str]]:
        """The codes and details of what was refused."""
        rows = read_records(self.campaign.folder("rounds") / round / "rejected.jsonl", Rejection)
        return [(row.code, row.detail) for row in rows]


@pytest.fixture
def bring(campaign: Campaign, tmp_path: Path) -> Bring:
    return Bring(campaign, tmp_path)


def items_of(content: Json) -> list[Json]:
    found: list[Json] = content["data"]["intersentence"]
    return found


def without_labels(item: Json) -> None:
    for sentence in item["sentences"]:
        sentence["labels"] = []


# --- a StereoSet file ---------------------------------------------------------------------------


def test_good_items_go_in_once(bring: Bring, published: Json, untouched: Any) -> None:
    for sentence in items_of(published)[1]["sentences"]:
        sentence.pop("gold_label", None)  # it may be missing
    newest = items_of(published).pop(0)
    assert bring(published)["added"] == 2
    # An export that grew at its head adds only what is new.
    items_of(published).insert(0, newest)
    labels = sum(len(s["labels"]) for item in items_of(published) for s in item["sentences"])
    counts = {"rows": 3, "items": 3, "labels": labels, "rejected": {}}
    assert bring(published).items() >= (counts | {"added": 1, "known": 2}).items()
    before = untouched(bring.campaign.root)
    for name in ("set.json", "renamed.json"):
        again = bring(published, name=name)
        assert again.items() >= (counts | {"added": 0, "known": 3}).items()
    assert untouched(bring.campaign.root) == before


def test_a_damaged_file_names_the_place(bring: Bring, published: Json) -> None:
    items_of(published)[1]["context"] += " Café."
    whole = json.dumps(published, indent=1, ensure_ascii=False)
    for share in (0.3, 0.5, 0.99):
        cut = whole[: int(len(whole) * share)]
        said = bring(cut)
        assert f"{bring.folder / 'set.json'} line {cut.count(chr(10)) + 1} column " in said
        assert "the file ends in the middle" in said
        assert "fix:   it was probably cut off: fetch it again" in said
    said = bring(whole.encode("latin-1"))
    line = whole[: whole.index("é")].count("\n") + 1
    assert f"line {line}: byte 0xe9 is not UTF-8" in said
    assert "fix:   save the file as UTF-8" in said
    for content, says in (
        (b"", "is empty"),
        (b'{"version": 1, "data": nonsense}', "line 1 column 24: not JSON"),
        ({"data": []}, "not a StereoSet file"),
        ({"data": {"intrasentence": {}}}, "data.intrasentence is not a list"),
        ({"data": {"intersentence": ["x"]}}, "data.intersentence[0]: not an object"),
        ({"data": {"intersentence": []}}, "contains no items"),
    ):
        assert says in bring(content)
    assert not (bring.campaign.folder("rounds") / "published" / "items.jsonl").exists()


@pytest.mark.parametrize("field", ["target", "context", "id"])
def test_half_a_character(bring: Bring, published: Json, untouched: Any, field: str) -> None:
    items_of(published)[1][field] += "\ud800"  # valid JSON, but no text: cannot be kept
    before = untouched(bring.campaign.root)
    bring(published)
    assert untouched(bring.campaign.root) == before


def test_what_is_wrong_with_an_item_is_counted_and_kept_with_its_reason(
    bring: Bring, published: Json
) -> None:
    few, many, bare = items_of(published)
    few["sentences"].pop()
    many["sentences"].append({"id": "new-1-9", "sentence": "One more.", "labels": []})
    del bare["sentences"]
    none = few | {"id": "none", "context": "Nobody came.", "sentences": []}
    items_of(published).append(none)
    summary = bring(published)
    counts = {"wrong_association_count": 3, "missing_field": 1}
    assert (summary["items"], summary["rejected"]) == (0, counts)
    assert bring.rejections() == [
        ("wrong_association_count", "item new-0 has 2, not 3"),
        ("wrong_association_count", "item new-1 has 4, not 3"),
        ("missing_field", "item new-2 has no list of sentences"),
        ("wrong_association_count", "item none has 0, not 3"),
    ]


def test_an_unknown_domain_and_a_duplicate_under_other_ids(bring: Bring, published: Json) -> None:
    first, hobby, _ = items_of(published)
    twin = copy.deepcopy(first) | {"id": "twin", "context": first["context"].upper()}
    items_of(published).append(twin)
    for place, sentence in enumerate(twin["sentences"]):
        sentence["id"] = f"twin-{place}"
    without_labels(twin)
    hobby["bias_type"] = "hobby"
    without_labels(hobby)
    summary = bring(published, warning="«curation run»: [domains.hobby]\n")
    counts = {"duplicate_item": 1, "unknown_domain": 1}
    assert (summary["items"], summary["rejected"]) == (2, counts)
    details = dict(bring.rejections())
    says = "'hobby' is not among the domains: gender, profession"
    assert says in details["unknown_domain"]


@pytest.mark.parametrize(("place", "clash"), [(None, "new-0"), (1, "new-0-1"), (1, "new-2-0")])
def test_clashing_ids_in_one_file(
    bring: Bring, published: Json,
    place: int | None, clash: str,
) -> None:  # fmt: skip
    """Of two items, of sentences, and of sentences within one item."""
    first, _, bad = items_of(published)
    (bad if place is None else bad["sentences"][place])["id"] = clash
    without_labels(first)
    without_labels(bad)
    summary = bring(published)
    assert (summary["items"], summary["rejected"]) == (2, {"clashing_id": 1})
    ((code, detail),) = bring.rejections()
    named = "new-2" if clash == "new-2-0" else clash
    assert (code, detail.split()[0]) == ("clashing_id", named)


def test_items_without_labels_stay_open(bring: Bring, published: Json) -> None:
    for item, absent in zip(items_of(published), ("gone", None, []), strict=True):
        for sentence in item["sentences"]:
            sentence["labels"] = absent
            if absent == "gone":
                del sentence["labels"]
    summary = bring(published)
    assert (summary["items"], summary["labels"], summary["unlabelled"]) == (3, 0, 3)
    counts = json.loads(run("decisions", "filter", "--json", "-c", bring.campaign.root).out)
    assert (counts["items_kept"], counts["too_few_labels"]) == (0, 3)
    done = run("release", "build", "-c", bring.campaign.root)
    assert done.code == 1
    assert "no CAT was kept, so there is nothing to release" in done.err
    assert "decisions filter" in done.err


# --- a table --------------------------------------------------------------------------------------

WRITERS = (
    "item_id,annotator,domain,target,context,stereotype,anti_stereotype,unrelated\n"
    "i1,ann,profession,baker,The baker is BLANK.,early,late,algebraic\n"
    "i2,ann,profession,baker,The baker was BLANK.,early,late,algebraic\n"
)


def test_a_table_that_cannot_be_read(bring: Bring, untouched: Any) -> None:
    before = untouched(bring.campaign.root)
    for data, says in (
        ("", "is empty"),
        ("a,b\n", "a header and no rows"),
        ("a,b,a\n1,2,3\n", "line 1: the column 'a' is there twice"),
        ("a,b\n1,caf\xe9\n".encode("latin-1"), "line 2: byte 0xe9 is not UTF-8"),
        ("sep=;", "answers.csv"),
    ):
        assert says in bring.table(data)
    for name in ("", "..", "a/b", ".hidden", "x" * 101):
        assert "cannot be the name of a round" in bring.table(WRITERS, "--round", name)
    assert untouched(bring.campaign.root) == before


def test_rows_too_long_and_too_short(bring: Bring, untouched: Any) -> None:
    data = WRITERS + WRITERS.splitlines()[1] + ",more\ni3,ann,profession\n"
    summary = bring.table(data)
    assert (summary["items"], summary["added"]) == (2, 4)
    assert summary["rejected"] == {"bad_value": 1, "missing_field": 1}
    (_, long), (_, short) = bring.rejections("main")
    assert "more cells than the table has columns" in long
    assert short == "no 'context'"
    before = untouched(bring.campaign.root)
    again = bring.table(data)
    assert (again["added"], again["known"], again["items"]) == (0, 4, 2)
    assert untouched(bring.campaign.root) == before


def test_terms_that_are_not_known_are_refused_on_wish(bring: Bring) -> None:
    summary = bring.table(WRITERS, "--known-terms")
    assert (summary["items"], summary["rejected"]) == (0, {"unknown_target": 2})
    assert bring.rejections("main")[0][1] == "'baker' is not a term of 'profession'"


def test_labels_before_their_items_wait_for_them(bring: Bring) -> None:
    first = bring.table("item_id,annotator,association,label\ni1,ben,early,stereotype\n")
    assert (first["labels"], first["rejected"]) == (0, {"unknown_item": 1})
    second = bring.table(WRITERS)
    assert (second["items"], second["labels"]) == (2, 1)


# --- no campaign, no file, a wrong word -----------------------------------------------------------

COMMANDS = [
    ("run",),
    ("decisions", "filter"),
    ("decisions", "agreement"),
    ("decisions", "split"),
    ("release", "build"),
]
OTHERS = [("status",), ("terms", "query"), ("terms", "select"), ("terms", "explain", "baker")]
IMPORTS = [("import", "answers", __file__), ("import", "stereoset", __file__)]


def test_outside_of_a_campaign(tmp_path: Path) -> None:
    for command in (*COMMANDS, *OTHERS, *IMPORTS):
        assert run(*command, "-c", tmp_path) == (
            1,
            "",
            f"error: {tmp_path}: no campaign.toml here\n"
            "fix:   change to the folder of a campaign, name it with --campaign DIR, or make one "
            "with «curation init DIR»\n",
        )
    assert list(tmp_path.iterdir()) == []


def test_the_current_folder_is_meant_where_none_is_named(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(campaign.root)
    assert run("status").code == 0
    monkeypatch.chdir(campaign.root.parent)
    assert "no campaign.toml here" in run("status").err
    monkeypatch.setenv("CURATION_CAMPAIGN", str(campaign.root))
    assert run("status").code == 0


def test_before_any_answer(campaign: Campaign) -> None:
    done = run("status", "-c", campaign.root)
    assert (done.code, done.err) == (0, "")
    assert "next: curation terms query, or curation terms scan FILE" in done.out
    assert "or curation import answers FILE, or curation import stereoset FILE" in done.out
    assert done.out.count("not yet") == 13
    for command in COMMANDS:
        done = run(*command, "-c", campaign.root)
        assert done.code == 1
        # «run» chooses the terms, which needs no answers, and says so.
        assert done.out.startswith("select ") if command == ("run",) else done.out == ""
        assert f"error: {campaign.root}: there are no answers yet" in done.err
        fix = "«curation import answers FILE» or «curation import stereoset FILE»"
        assert f"fix:   {fix}" in done.err


def test_init_and_demo_where_they_cannot_be(
    campaign: Campaign, untouched: Any, tmp_path: Path
) -> None:
    before = untouched(tmp_path)
    done = run("init", campaign.root, "--yes")
    assert (done.code, done.out) == (1, "")
    assert f"error: {campaign.root}: is a campaign already" in done.err
    assert "fix:   edit its campaign.toml, or choose another folder" in done.err
    for option, value in (("language", "English!"), ("domains", "a/b"), ("domains", " , ")):
        done = run("init", tmp_path / "c", "--yes", f"--{option}", value)
        assert done.code == 1
        assert f"error: {option}" in done.err
    done = run("demo", tmp_path)
    assert done.code == 1
    assert f"{tmp_path}: is not empty" in done.err
    assert untouched(tmp_path) == before
    assert list(tmp_path.iterdir()) == [campaign.root]


def test_a_wrong_setting_stops_every_command(campaign: Campaign) -> None:
    path = campaign.root / "campaign.toml"
    set_to(campaign.root, "needed = 3", "neded = 3")
    line = path.read_text("utf-8").partition("neded")[0].count("\n") + 1
    for command in (*COMMANDS, *OTHERS):
        done = run(*command, "-c", campaign.root)
        assert done.code == 1
        assert f"error: {path} line {line}, decisions.neded: no such setting" in done.err
        assert "fix:   did you mean 'needed'?" in done.err


def test_decisions_on_what_is_not_there(finished: Path) -> None:
    for option, value, says in (
        ("--measure", "kappa", "'kappa' is not one of alpha, fleiss, ac1"),
        ("--by", "mood", "'mood' is not one of domain"),
        ("--exclude", "nobody", "no annotator 'nobody'"),
    ):
        done = run("decisions", "agreement", option, value, "-c", finished)
        assert (done.code, done.out) == (1, "")
        assert says in done.err
        assert "fix:   " in done.err
    set_to(finished, '"main", ', '"mian", ')
    done = run("run", "-c", finished)
    assert done.code == 1
    assert "[decisions] rounds names 'mian', which has no answers" in done.err
    assert "fix:   rounds with answers: main, pilot, published" in done.err
