"""Target terms from end to end: dumps and settings in, terms out, and what people change later."""

import csv
import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from curation.files import read_records
from curation.records import Count, Item, Term
from support.commands import refused, told, well

Dump = Callable[..., Path]
Begin = Callable[..., Path]
States = Mapping[str, Iterable[str]]
Line = dict[str, Any]

# --- dumps ----------------------------------------------------------------------------------------


def entity(item: str, labels: Mapping[str, str], states: States | None = None) -> Line:
    """An item as it stands in the dump; what it states are items."""
    claims = {
        p: [
            {"mainsnak": {"snaktype": "value", "datavalue": {"value": {"id": i}}}, "rank": "normal"}
            for i in items
        ]
        for p, items in (states or {}).items()
    }
    named = {code: {"language": code, "value": text} for code, text in labels.items()}
    # What is empty is a list there.
    return {"type": "item", "id": item, "labels": named or [], "claims": claims or []}


@pytest.fixture
def dump(tmp_path: Path) -> Dump:
    """Write a dump of items and of people: how many state what."""

    def write(items: Iterable[Line], people: Iterable[tuple[int, States]]) -> Path:
        lines = list(items)
        for count, states in people:
            lines += [entity(f"Q{9000 + len(lines) + n}", {}, states) for n in range(count)]
        path = tmp_path / f"dump-{len(list(tmp_path.glob('dump-*')))}.json"
        text = ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
        path.write_text(f"[\n{text}\n]\n", "utf-8")
        return path

    return write


# --- campaigns ------------------------------------------------------------------------------------


def put(root: Path, table: str, **values: Any) -> None:
    """Set values in one table of ``campaign.toml``, as a person does in an editor."""
    path = root / "campaign.toml"
    lines = path.read_text("utf-8").splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"[{table}]"))
    for name, value in values.items():
        place = next(n for n in range(start, len(lines)) if lines[n].startswith(f"{name} = "))
        lines[place] = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    path.write_text("\n".join(lines) + "\n", "utf-8")


def terms(root: Path, domain: str = "") -> dict[str, Term]:
    found = read_records(root / "1-terms" / "targets.jsonl", Term)
    return {term.text: term for term in found if domain in ("", term.domain)}


def counts(root: Path, domain: str = "") -> dict[str, int | None]:
    return {text: term.count for text, term in terms(root, domain).items()}


def candidates(root: Path) -> list[dict[str, str]]:
    with (root / "1-terms" / "candidates.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def fates(root: Path, domain: str = "") -> dict[str, str]:
    """What ``candidates.csv`` says became of each text."""
    return {
        row["term"]: " ".join(filter(None, (row[p] for p in ("status", "reason", "into"))))
        for row in candidates(root)
        if domain in ("", row["domain"])
    }


@pytest.fixture
def begin(tmp_path: Path) -> Begin:
    """A new campaign, as ``init`` makes it; every object is looked up."""

    def make(*options: str) -> Path:
        root = tmp_path / "campaign"
        well("init", root, "--yes", *options)
        put(root, "terms", least=1)
        (root / "1-terms").mkdir()
        return root

    return make


# --- by configuration alone -----------------------------------------------------------------------

INDONESIANS = {"P27": ["Q252"], "P31": ["Q5"]}


def test_an_indonesian_campaign(begin: Begin, dump: Dump, small: Any) -> None:
    file = dump(
        [
            entity("Q252", {"id": "Indonesia", "en": "Indonesia"}, {"P31": ["Q6256"]}),
            entity("Q6256", {"id": "negara"}, {"P279": ["Q35120"]}),
            entity("Q35120", {"id": "entitas"}),
            entity("Q28640", {"id": "profesi"}, {"P279": ["Q35120"]}),
            entity("Q33999", {"id": "aktor", "en": "actor"}, {"P279": ["Q28640"]}),
            entity("Q10800557", {"id": "aktor film", "en": "film actor"}, {"P279": ["Q33999"]}),
            entity("Q1930187", {"id": "wartawan", "en": "journalist"}, {"P279": ["Q28640"]}),
            entity("Q777", {"en": "puppeteer"}, {"P279": ["Q28640"]}),
            entity("Q49371", {"id": "orang Jawa", "en": "Javanese"}, {"P31": ["Q41710"]}),
            entity("Q41710", {"id": "kelompok etnik"}, {"P279": ["Q35120"]}),
            entity("Q432", {"id": "Islam", "en": "Islam"}),
        ],
        [
            (2, {**INDONESIANS, "P106": ["Q33999"], "P172": ["Q49371"], "P140": ["Q432"]}),
            (3, {**INDONESIANS, "P106": ["Q10800557"], "P172": ["Q252"]}),
            (4, {**INDONESIANS, "P106": ["Q1930187"]}),
            (1, {**INDONESIANS, "P106": ["Q777"]}),
            (9, {"P27": ["Q55"], "P31": ["Q5"], "P106": ["Q33999"]}),  # Dutch
            (5, {"P27": ["Q252"], "P31": ["Q95074"], "P106": ["Q33999"]}),  # in a novel
        ],
    )
    root = begin("--language", "id")
    for words in (("terms", "select"), ("import", "answers", small.writers)):
        err = refused(*words, "-c", root)
        assert re.search(r"error: (.*gender\.csv): no words for the domain 'gender' in 'id'", err)
        assert f"fix:   supply {root / '1-terms' / 'gender.csv'} with the columns" in err
    assert not (root / "2-rounds").exists()
    put(root, "domains.gender", words=["kata.txt"])
    (root / "1-terms" / "kata.txt").write_text("# language: id\nbapak\nibu\n", "utf-8")
    put(root, "domains.profession", population=["P27=Q252", "P31=Q5"], top=2)
    put(root, "domains.race", properties=["P172"], population=["P27=Q252"], places=False)
    put(root, "domains.religion", population=["P27=Q252"])
    assert "next: curation terms select" in well("terms", "scan", file, "-c", root).out
    well("terms", "select", "-c", root)
    # 2 actors and 3 film actors of Indonesia; neither the nine Dutch nor the five of the novel.
    assert counts(root, "profession") == {"aktor": 5, "wartawan": 4}
    assert fates(root, "profession") == {
        "aktor": "kept",
        "aktor film": "merged too_fine aktor",
        "wartawan": "kept",
        "puppeteer": "dropped no_label",
    }
    assert fates(root, "race") == {"orang Jawa": "kept", "Indonesia": "dropped is_place"}
    assert list(terms(root, "religion")) == ["Islam"]
    assert list(terms(root, "gender")) == ["bapak", "ibu"]


def test_a_domain_that_asks_nothing_and_an_unknown_one_are_errors(begin: Begin, dump: Dump) -> None:
    root, file = begin("--domains", "gender,hobby"), dump([], [])
    for words in (("query",), ("scan", file)):
        err = refused("terms", *words, "-c", root)
        assert "error: no domain asks anything of Wikidata" in err
        assert 'properties = ["P106"]' in err
        err = refused("terms", *words, "--domain", "sport", "-c", root)
        assert "error: no domain 'sport'" in err
        assert "domains: gender, hobby" in err
    assert list((root / "1-terms").iterdir()) == []


def test_the_campaigns_own_list_goes_before_the_one_that_ships(begin: Begin) -> None:
    root = begin("--domains", "gender")
    well("terms", "select", "-c", root)
    assert len(terms(root)) == 40
    own = root / "1-terms" / "gender.csv"
    own.write_text("term;language;family\nuncle;en;kin\naunt;en;kin\nOnkel;de;\n", "utf-8")
    well("terms", "select", "-c", root)
    assert {text: t.family for text, t in terms(root).items()} == {"uncle": "kin", "aunt": "kin"}
    own.unlink()
    well("terms", "select", "-c", root)
    assert len(terms(root)) == 40
    put(root, "domains.gender", words=["kin.txt"])
    err = refused("terms", "select", "-c", root)
    assert f"error: {root / '1-terms' / 'kin.txt'}: no such word list" in err
    assert "[domains.gender] names it" in err


# --- select and explain ---------------------------------------------------------------------------

ITEMS = [
    entity("Q28640", {"en": "profession"}, {"P279": ["Q35120"]}),
    entity("Q35120", {"en": "entity"}),
    entity("Q1", {"en": "pilot"}, {"P279": ["Q28640"]}),
    entity("Q2", {"en": "cook"}, {"P279": ["Q28640"]}),
    entity("Q3", {"en": "pastry cook"}, {"P279": ["Q2"]}),
    entity("Q4", {"en": "clerk"}, {"P279": ["Q28640"]}),
    entity("Q6", {"en": "Islam"}),
]
PEOPLE = [
    (5, {"P106": ["Q1"]}),
    (4, {"P106": ["Q2"]}),
    (2, {"P106": ["Q3"]}),
    (1, {"P106": ["Q4"]}),
    (3, {"P140": ["Q6"]}),
]


@pytest.fixture
def selected(begin: Begin, dump: Dump) -> Path:
    """A campaign with professions and religions, selected: pilot 5, cook 4 and 2, Islam 3."""
    root = begin("--domains", "profession,religion")
    put(root, "domains.profession", min_count=2)
    well("terms", "scan", dump(ITEMS, PEOPLE), "-c", root)
    well("terms", "select", "-c", root)
    return root


def test_select_says_what_became_of_the_candidates(selected: Path) -> None:
    said = " ".join(well("terms", "select", "-c", selected).out.split())
    # Candidates, kept, merged, dropped: pilot, cook, pastry cook, clerk; Islam.
    assert "profession 4 2 1 1" in said
    assert "religion 1 1 0 0" in said
    assert "too_fine 1 merged: too fine-grained a kind of another term" in said
    assert f"3 terms in {selected / '1-terms' / 'targets.jsonl'}" in said
    found = told("terms", "select", "-c", selected)
    assert (found["candidates"], found["kept"], found["merged"], found["dropped"]) == (5, 3, 1, 1)
    assert found["items_with_an_old_name"] == {}
    assert {(f["domain"], f["status"], f["reason"], f["count"]) for f in found["fates"]} == {
        ("profession", "kept", None, 2),
        ("profession", "merged", "too_fine", 1),
        ("profession", "dropped", "too_rare", 1),
        ("religion", "kept", None, 1),
    }


def test_a_second_scan_changes_nothing(selected: Path, content: Any, untouched: Any) -> None:
    files, before = untouched(selected), content(selected)
    well("terms", "select", "-c", selected)
    well("terms", "explain", "cook", "-c", selected)
    assert untouched(selected) == files
    found = told("terms", "scan", next(selected.parent.glob("dump-*")), "-c", selected)["found"]
    assert [tuple(row.values()) for row in found] == [
        ("profession", "P106", 4, 5 + 4 + 2 + 1), ("religion", "P140", 1, 3),
    ]  # fmt: skip
    well("terms", "select", "-c", selected)
    assert content(selected) == before


def test_thresholds_change_without_another_scan(selected: Path) -> None:
    def state() -> tuple[str, str]:
        first = told("status", "-c", selected)["steps"][0]
        return first["step"], first["state"]

    assert state() == ("select", "up to date")
    put(selected, "domains.profession", min_count=1, merge="none")
    assert state() == ("select", "out of date")
    assert well("terms", "select", "-c", selected).err == ""
    assert set(terms(selected, "profession")) == {"pilot", "cook", "pastry cook", "clerk"}


def explained(root: Path, name: str) -> list[str]:
    """The lines of a term's story."""
    said = well("terms", "explain", name, "-c", root).out
    return [" ".join(line.split()) for line in said.splitlines()]


def test_explain_tells_a_terms_story(selected: Path) -> None:
    lines = explained(selected, "pastry cook")
    assert lines[:2] == [
        "pastry cook (profession): merged",
        "because merged: too fine-grained a kind of another term; a kind of cook",
    ]
    assert {"into cook", "statements 2", "Q3 P106 2; under cook"} < {*lines}
    assert {"statements 4, 6 with what was merged into it", "merged pastry cook (too_fine)"} < {
        *explained(selected, "Q2")
    }
    (found,) = told("terms", "explain", "Cook", "-c", selected)
    assert (found["term"], found["count"], found["rolled_up"]) == ("cook", 4, 6)
    for words, says in (
        (["pilots"], "error: no candidate 'pilots'\nfix:   did you mean pilot?\n"),
        (["pilot", "--domain", "religion"], "no candidate 'pilot'"),
        (["pilot", "-d", "x"], "no candidate 'pilot'"),
        (["zzz"], "candidates.csv lists them all"),
    ):
        assert says in refused("terms", "explain", *words, "-c", selected)


def test_facts_that_were_asked_for_otherwise_are_named(selected: Path, dump: Dump) -> None:
    others = "domain profession: Wikidata was asked under other settings"
    put(selected, "domains.profession", population=["P27=Q252"])
    err = well("terms", "select", "-c", selected).err
    assert others in err
    assert "domain religion" not in err
    put(selected, "domains.profession", population=[], properties=["P106", "P101"])
    assert others in well("terms", "select", "-c", selected).err
    well("terms", "scan", dump(ITEMS, PEOPLE), "-c", selected)
    assert well("terms", "select", "-c", selected).err == ""


def test_a_domain_that_nobody_asked_for_is_said_to_be(begin: Begin, dump: Dump) -> None:
    root = begin("--domains", "profession,religion,gender")
    well("terms", "scan", dump(ITEMS, PEOPLE), "--domain", "religion", "-c", root)
    err = well("terms", "select", "-c", root).err
    assert "domain profession: Wikidata has not been asked yet" in err
    assert "domain religion" not in err
    assert "domain gender" not in err
    err = well("terms", "scan", dump(ITEMS, []), "-c", root).err
    assert "warning: domain profession: no item states P106; check the property's id" in err


@pytest.mark.parametrize("lost", [False, True])
def test_a_scan_for_one_domain_leaves_the_others_facts(
    selected: Path, dump: Dump, *, lost: bool
) -> None:
    if lost:  # A damaged manifest.json is fixed by deleting it, says the tool.
        (selected / "1-terms" / "manifest.json").unlink()
    # The second dump knows no pilots, and of Islam one more.
    file = dump(ITEMS, [(4, {"P140": ["Q6"]})])
    well("terms", "scan", file, "--domain", "religion", "-c", selected)
    found = read_records(selected / "1-terms" / "counts.jsonl", Count)
    assert {(c.domain, c.item): c.count for c in found} == {
        ("profession", "Q1"): 5, ("profession", "Q2"): 4, ("profession", "Q3"): 2,
        ("profession", "Q4"): 1, ("religion", "Q6"): 4,
    }  # fmt: skip
    err = well("terms", "select", "-c", selected).err
    assert lost or err == ""
    assert counts(selected) == {"pilot": 5, "cook": 6, "Islam": 4}


def test_lines_that_cannot_be_read_are_counted_and_kept(begin: Begin, dump: Dump) -> None:
    root, file = begin("--domains", "profession"), dump(ITEMS, PEOPLE)
    lines = file.read_text("utf-8").splitlines()
    lines.insert(3, lines[3][:40] + ",")
    file.write_text("\n".join(lines) + "\n", "utf-8")
    done = well("terms", "scan", file, "--json", "-c", root)
    assert "warning: lines that could not be read: 1;" in done.err
    assert json.loads(done.out)["unreadable"] == 1
    (line,) = (root / "1-terms" / "unreadable.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["code"] == "unreadable_line"
    assert "line 4" in json.loads(line)["where"]


# --- edits ----------------------------------------------------------------------------------------

HEAD = "domain,term,action,into,family,note\n"


def edit(root: Path, *lines: str) -> None:
    text = HEAD + "".join(f"profession,{line}\n" for line in lines)
    (root / "1-terms" / "edits.csv").write_text(text, "utf-8")


def test_no_command_writes_edits(selected: Path, dump: Dump, small: Any, untouched: Any) -> None:
    path = selected / "1-terms" / "edits.csv"
    assert not path.exists()
    # As a spreadsheet leaves it: with a mark, semicolons, a stray column, no last line break.
    text = "\ufeffdomain;term;action;into;family;note;\nprofession;clerk;keep;;;few;"
    path.write_text(text, "utf-8")
    before = untouched(selected)[str(path)]
    well("terms", "scan", dump(ITEMS, PEOPLE), "-c", selected)
    well("terms", "select", "-c", selected)
    well("import", "answers", small.writers, "-c", selected)
    assert untouched(selected)[str(path)] == before
    assert path.read_text("utf-8") == text
    assert terms(selected)["clerk"].reason == "edited"


def test_edits_stand_in_the_candidates_with_their_notes(selected: Path) -> None:
    edit(selected, "clerk,keep,,,asked for", "pilot,drop", "sailor,add,,sea,", "cook,,,kitchen,a b")
    well("terms", "select", "-c", selected)
    rows = candidates(selected)
    assert {row["term"]: (row["status"], row["reason"], row["note"]) for row in rows} == {
        "clerk": ("kept", "edited", "asked for"),
        "pilot": ("dropped", "edited", ""),
        "sailor": ("kept", "edited", ""),
        "cook": ("kept", "", "a b"),
        "pastry cook": ("merged", "too_fine", ""),
        "Islam": ("kept", "", ""),
    }
    figures = {row["term"]: (row["count"], row["rolled_up"]) for row in rows}
    assert (figures["cook"], figures["sailor"][1]) == (("4", "6"), "")
    assert {text: t.family for text, t in terms(selected, "profession").items()} == {
        "clerk": "clerk", "cook": "kitchen", "sailor": "sea",
    }  # fmt: skip


def test_a_line_that_is_not_clear_stops_all(selected: Path, small: Any, untouched: Any) -> None:
    edit(selected, "cook,fire")
    before = untouched(selected)
    for words in (("terms", "select"), ("import", "answers", small.writers)):
        err = refused(*words, "-c", selected)
        assert "edits.csv line 2: unknown action 'fire'" in err
    assert untouched(selected) == before
    assert "unknown action 'fire'; use one of" in well("status", "-c", selected).err


def test_a_line_that_is_not_applied_is_reported_where_it_helps(selected: Path, small: Any) -> None:
    edit(selected, "cook,keep", "cook,drop", "pilot,merge,nobody")
    with (selected / "1-terms" / "edits.csv").open("a", encoding="utf-8") as file:
        file.write("profesion,cook,keep,,,\n")
    says = [
        "edits.csv line 3: not applied: drop for 'cook', but line 2 has keep for it",
        "edits.csv line 4: not applied: no term 'nobody' in domain 'profession'; copy the term "
        "from candidates.csv, or add it",
        "edits.csv line 5: not applied: no domain 'profesion'; did you mean 'profession'?",
    ]

    def warned(*words: Any) -> list[int]:
        err = well(*words, "-c", selected).err
        return [err.count(line) for line in says]

    assert warned("import", "answers", small.writers) == [1, 1, 1]  # the first that reads it
    assert warned("import", "answers", small.writers) == [0, 0, 0]
    assert warned("decisions", "filter") == [0, 0, 0]
    rejected = (selected / "1-terms" / "rejected.jsonl").read_text("utf-8")
    assert '"code":"unknown_term"' in rejected
    assert str(selected) not in rejected  # results are the same wherever the folder lies
    for _ in range(2):
        assert warned("terms", "select") == [1, 1, 1]
        assert warned("status") == [1, 1, 1]
    names = ("edits_in", "edits_of_other_domains", "edits_refused")
    found = told("terms", "select", "-c", selected)
    assert [found[name] for name in names] == [4, 0, 3]
    (story,) = told("terms", "explain", "cook", "-c", selected)
    lines = [(line["line"], "not_applied" in line) for line in story["edits"]]
    assert lines == [(2, False), (3, True)]
    edit(selected, "cook,keep")
    assert warned("terms", "select") == [0, 0, 0]
    assert warned("status") == [0, 0, 0]
    # Lines of other domains wait for them.
    (selected / "1-terms" / "edits.csv").write_text(HEAD + "hobby,sport,drop,,,\n", "utf-8")
    done = well("terms", "select", "--json", "-c", selected)
    assert done.err == ""
    assert [json.loads(done.out)[name] for name in names] == [1, 1, 0]


# --- after writing has begun ----------------------------------------------------------------------

WRITERS = "item_id,annotator,domain,target,context,stereotype,anti_stereotype,unrelated\n"


def answers(path: Path, *items: tuple[str, str]) -> Path:
    """A writers' table: (item, target)."""
    places = ("in town", "at sea", "on a hill", "under a bridge", "by train", "without shoes")
    rows = [
        f"{name},w,profession,{target},A {target} goes {places[int(name[1:]) % 6]} BLANK.,"
        "early,late,octal\n"
        for name, target in items
    ]
    path.write_text(WRITERS + "".join(rows), "utf-8")
    return path


@pytest.fixture
def written(selected: Path, tmp_path: Path) -> Path:
    """The campaign with two items on pilots and one on cooks."""
    file = answers(tmp_path / "w.csv", ("i1", "pilot"), ("i2", "pilot"), ("i3", "cook"))
    well("import", "answers", file, "-c", selected)
    return selected


def items(root: Path, round: str = "main") -> dict[str, str]:
    """The items with the text of their term."""
    texts = {term.id: term.text for term in terms(root).values()}
    found = read_records(root / "2-rounds" / round / "items.jsonl", Item)
    return {item.id: texts[item.term] for item in found}


def raw(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (root / "2-rounds" / "main" / "raw").iterdir()}


def fold(root: Path, *edits: str) -> None:
    """Bring items up to date; «decisions filter» is the nearest command that does."""
    edit(root, *edits)
    well("decisions", "filter", "-c", root)


def test_a_renamed_term_takes_items_under_both_names(written: Path, tmp_path: Path) -> None:
    before, was = terms(written)["pilot"].id, raw(written)
    edit(written, "pilot,rename,airline pilot,,others steer ships")
    err = well("terms", "select", "-c", written).err
    assert "items of 'airline pilot' that use an old name or a second spelling: 2 (i1, i2)" in err
    assert terms(written)["airline pilot"].id == before
    file = answers(tmp_path / "more.csv", ("i4", "airline pilot"), ("i5", "pilot"))
    summary = told("import", "answers", file, "-c", written)
    assert (summary["items"], summary["rejected"]) == (5, {})
    assert items(written) == dict.fromkeys(("i1", "i2", "i4", "i5"), "airline pilot") | {
        "i3": "cook"
    }
    assert was.items() <= raw(written).items()
    (story,) = told("terms", "explain", "airline pilot", "-c", written)
    assert (story["id"], story["old_names"], story["items"]) == (before, ["pilot"], 4)
    assert sorted(story["items_with_an_old_name"]) == ["i1", "i2", "i5"]
    assert story["edits"][0]["line"] == 2
    said = " ".join(explained(written, "pilot"))
    assert "edited 1-terms/edits.csv line 2: term pilot, action rename, into airline pilot" in said
    assert "old name in i1, i2, i5" in said


PILOTS = {"i1": "pilot", "i2": "pilot", "i3": "cook"}
REFUSED = [("unknown_target", "i1"), ("unknown_target", "i2")]


@pytest.mark.parametrize(
    ("line", "now", "codes"),
    [
        ("pilot,rename,airline pilot", PILOTS | dict.fromkeys(("i1", "i2"), "airline pilot"), []),
        ("pilot,drop", {"i3": "cook"}, REFUSED),
        (
            "pilot,merge,clerk,,one group to our writers",
            PILOTS | {"i1": "clerk", "i2": "clerk"},
            [],
        ),
    ],
)
def test_an_edit_that_is_taken_back_leaves_all_as_before(
    written: Path, content: Any, line: str, now: dict[str, str], codes: list[tuple[str, str]]
) -> None:
    fold(written)
    before, was = content(written), raw(written)
    assert items(written) == PILOTS
    fold(written, line)
    assert content(written) != before
    assert items(written) == now
    path = written / "2-rounds" / "main" / "rejected.jsonl"
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    assert [(row["code"], row["record"]["item_id"]) for row in rows] == codes
    if "merge" in line:
        assert terms(written)["clerk"].names == ("pilot",)
    fold(written)
    assert content(written) == before
    assert raw(written) == was


def test_what_an_answer_names_becomes_a_term(written: Path, tmp_path: Path) -> None:
    file = answers(tmp_path / "new.csv", ("i7", "sailor"), ("i8", "pastry cook"))
    other = shutil.copytree(written, tmp_path / "other")
    summary = told("import", "answers", file, "--known-terms", "-c", other)
    assert summary["rejected"] == {"unknown_target": 2}
    assert told("import", "answers", file, "-c", written)["rejected"] == {}
    assert {items(written)[name] for name in ("i7", "i8")} == {"sailor", "pastry cook"}
    # A text that a rule had merged is a term of its own once it is written about.
    assert fates(written)["pastry cook"] == "kept"
