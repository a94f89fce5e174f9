"""Target terms from end to end: dumps and settings in, terms out, and what people change later."""

import csv
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from curation.files import read_records
from curation.records import Count, Item, Term
from support.faulty import oxigraph

Dump = Callable[..., Path]
Line = dict[str, Any]

# --- dumps ----------------------------------------------------------------------------------------


def statement(property: str, value: Any, kind: str) -> Line:
    snak = {"snaktype": "value", "property": property, "datatype": kind}
    snak["datavalue"] = {"value": value, "type": kind}
    return {"mainsnak": snak, "type": "statement", "rank": "normal"}


def of_item(property: str, item: str) -> Line:
    value = {"entity-type": "item", "numeric-id": int(item[1:]), "id": item}
    return statement(property, value, "wikibase-entityid")


def entity(
    item: str,
    labels: Mapping[str, str] | None = None,
    states: Mapping[str, Iterable[str]] | None = None,
    texts: Mapping[str, Iterable[tuple[str, str]]] | None = None,
) -> Line:
    """An item as it stands in the dump; ``texts`` are statements of (language, text)."""
    claims = {p: [of_item(p, i) for i in items] for p, items in (states or {}).items()}
    for p, said in (texts or {}).items():
        values = [{"language": code, "text": text} for code, text in said]
        claims[p] = [statement(p, value, "monolingualtext") for value in values]
    named = {code: {"language": code, "value": text} for code, text in (labels or {}).items()}
    # What is empty is a list there.
    return {
        "type": "item", "id": item, "labels": named or [], "descriptions": [], "aliases": [],
        "claims": claims or [], "sitelinks": [],
    }  # fmt: skip


@pytest.fixture
def dump(tmp_path: Path) -> Dump:
    """Write a dump of items and of people: how many state what."""

    def write(
        items: Iterable[Line], people: Iterable[tuple[int, Mapping[str, Iterable[str]]]]
    ) -> Path:
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


def fates(root: Path, domain: str = "") -> dict[str, str]:
    """What ``candidates.csv`` says became of each text."""
    with (root / "1-terms" / "candidates.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if domain in ("", row["domain"])]
    parts = ("status", "reason", "into")
    return {row["term"]: " ".join(filter(None, (row[p] for p in parts))) for row in rows}


@pytest.fixture
def run(forked: Any) -> Callable[..., Any]:
    """A command that goes well."""

    def done(*words: Any) -> Any:
        ended = forked(*words)
        assert ended.code == 0, ended.err
        return ended

    return done


@pytest.fixture
def begin(run: Any, tmp_path: Path) -> Callable[..., Path]:
    """A new campaign, as ``init`` makes it; every object is looked up."""

    def make(*options: str) -> Path:
        root = tmp_path / "campaign"
        run("init", root, "--yes", *options)
        put(root, "terms", least=1)
        (root / "1-terms").mkdir()
        return root

    return make


# --- by configuration alone -----------------------------------------------------------------------

INDONESIANS = {"P27": ["Q252"], "P31": ["Q5"]}


def test_an_indonesian_campaign(run: Any, forked: Any, begin: Any, dump: Dump) -> None:
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
    done = forked("terms", "select", "-c", root)
    assert done.code == 1
    shipped = re.search(
        r"error: (.*gender\.csv): no words for the domain 'gender' in 'id'", done.err
    )
    assert shipped
    assert f"fix:   supply {root / '1-terms' / 'gender.csv'} with the columns" in done.err
    put(root, "domains.gender", words=["kata.txt"])
    (root / "1-terms" / "kata.txt").write_text("# language: id\nbapak\nibu\n", "utf-8")
    put(root, "domains.profession", population=["P27=Q252", "P31=Q5"], top=2)
    put(root, "domains.race", properties=["P172"], population=["P27=Q252"], places=False)
    put(root, "domains.religion", population=["P27=Q252"])
    said = run("terms", "scan", file, "-c", root).out
    assert "next: curation terms select" in said
    run("terms", "select", "-c", root)
    # 2 actors and 3 film actors of Indonesia; neither the nine Dutch nor the five of the novel.
    assert {t.text: t.count for t in terms(root, "profession").values()} == {
        "aktor": 5,
        "wartawan": 4,
    }
    assert fates(root, "profession") == {
        "aktor": "kept",
        "aktor film": "merged too_fine aktor",
        "wartawan": "kept",
        "puppeteer": "dropped no_label",
    }
    assert fates(root, "race") == {
        "orang Jawa": "kept",
        "Indonesia": "dropped is_place",
    }
    assert list(terms(root, "religion")) == ["Islam"]
    assert list(terms(root, "gender")) == ["bapak", "ibu"]


def test_a_german_campaign(run: Any, begin: Any, dump: Dump) -> None:
    words = {
        "P2521": [("de", "Schauspielerin"), ("fr", "actrice")],
        "P3321": [("de", "Schauspieler")],
    }
    film = {"P2521": [("de", "Filmschauspielerin")]}
    file = dump(
        [
            entity("Q33999", {"de": "Schauspieler"}, {"P279": ["Q28640"]}, words),
            entity("Q10800557", {"de": "Filmschauspieler"}, {"P279": ["Q33999"]}, film),
            entity("Q28640", {"de": "Beruf"}, {"P279": ["Q35120"]}),
            entity("Q35120", {"de": "Entität"}),
            entity(
                "Q183", {"de": "Deutschland"}, {"P31": ["Q6256"]},
                {"P1549": [("de", "Deutsche"), ("de", "Deutscher"), ("en", "German")]},
            ),
        ],
        [
            (2, {"P106": ["Q33999"], "P27": ["Q183"]}),
            (5, {"P106": ["Q10800557"]}),
        ],
    )  # fmt: skip
    root = begin("--language", "de", "--domains", "profession,race")
    put(root, "domains.profession", gendered=True)
    put(root, "domains.race", gendered=True, form="demonym")
    run("terms", "scan", file, "-c", root)
    run("terms", "select", "-c", root)
    found = terms(root)
    assert {text: term.family for text, term in found.items()} == {
        "Schauspieler": "Schauspieler",
        "Schauspielerin": "Schauspieler",
        "Deutsche": "Deutschland",
        "Deutscher": "Deutschland",
    }
    assert fates(root)["Filmschauspieler"] == "merged too_fine Schauspieler"
    assert fates(root)["Filmschauspielerin"] == "merged too_fine Schauspielerin"
    assert (found["Schauspieler"].count, found["Schauspielerin"].count) == (7, 7)


OTHERS = {
    "orientation": ("P91", {"Q592": "gay", "Q6636": "homosexuality"}),
    "mother tongue": ("P103", {"Q9072": "Estonian", "Q9240": "Indonesian"}),
    "health": ("P1050", {"Q10874": "blindness", "Q12204": "tuberculosis"}),
    "party": ("P102", {"Q49768": "Workers' Party", "Q49750": "Farmers' Party"}),
    "nationality": ("P27", {"Q252": "Indonesia", "Q191": "Estonia"}),
}


def test_other_domains_need_no_more_than_settings(run: Any, begin: Any, dump: Dump) -> None:
    items, people = [], []
    for property, labels in OTHERS.values():
        more = {"P31": ["Q6256"]} if property == "P27" else {}
        items += [entity(qid, {"en": label}, more) for qid, label in labels.items()]
        people += [(n, {property: [qid]}) for n, qid in enumerate(labels, 2)]
    root = begin("--domains", ",".join(OTHERS))
    for name, (property, _) in OTHERS.items():
        table = f'domains."{name}"' if " " in name else f"domains.{name}"
        put(root, table, properties=[property], places=property == "P27")
    done = run("terms", "scan", dump(items, people), "-c", root, "--json")
    assert [
        (row["property"], row["items"], row["statements"]) for row in json.loads(done.out)["found"]
    ] == [(property, 2, 5) for property, _ in OTHERS.values()]
    run("terms", "select", "-c", root)
    for name, (_, labels) in OTHERS.items():
        # The first is stated by two, the second by three.
        assert {text: term.count for text, term in terms(root, name).items()} == {
            label: n for n, label in enumerate(labels.values(), 2)
        }


def test_a_domain_that_asks_nothing_and_an_unknown_one_are_errors(
    forked: Any, begin: Any, dump: Dump
) -> None:
    root, file = begin("--domains", "gender,hobby"), dump([], [])
    for words in (("query",), ("scan", file)):
        done = forked("terms", *words, "-c", root)
        assert done.code == 1
        assert "error: no domain asks anything of Wikidata" in done.err
        assert 'properties = ["P106"]' in done.err
        done = forked("terms", *words, "--domain", "sport", "-c", root)
        assert done.code == 1
        assert "error: no domain 'sport'" in done.err
        assert "domains: gender, hobby" in done.err
    assert list((root / "1-terms").iterdir()) == []


# --- word lists -----------------------------------------------------------------------------------


def test_a_list_that_is_named_and_not_there_names_its_place(forked: Any, begin: Any) -> None:
    root = begin("--domains", "gender")
    put(root, "domains.gender", words=["kin.txt"])
    done = forked("terms", "select", "-c", root)
    assert done.code == 1
    assert f"error: {root / '1-terms' / 'kin.txt'}: no such word list" in done.err
    assert "[domains.gender] names it" in done.err


def test_the_campaigns_own_list_goes_before_the_one_that_ships(run: Any, begin: Any) -> None:
    root = begin("--domains", "gender")
    run("terms", "select", "-c", root)
    assert len(terms(root)) == 40
    own = root / "1-terms" / "gender.csv"
    own.write_text("term;language;family\nuncle;en;kin\naunt;en;kin\nOnkel;de;\n", "utf-8")
    run("terms", "select", "-c", root)
    assert {text: t.family for text, t in terms(root).items()} == {"uncle": "kin", "aunt": "kin"}
    own.unlink()
    run("terms", "select", "-c", root)
    assert len(terms(root)) == 40


def test_a_missing_language_stops_an_import_before_anything_is_kept(
    forked: Any, begin: Any, small: Any
) -> None:
    root = begin("--language", "id")
    done = forked("import", "answers", small.writers, "-c", root)
    assert done.code == 1
    assert "no words for the domain 'gender' in 'id'" in done.err
    assert not (root / "2-rounds").exists()


# --- the query service ----------------------------------------------------------------------------


def no_network() -> None:
    def hook(event: str, _: tuple[Any, ...]) -> None:
        if event in ("socket.connect", "socket.getaddrinfo"):
            os._exit(99)

    sys.addaudithook(hook)


def test_without_a_contact_nothing_is_asked(forked: Any, begin: Any) -> None:
    root = begin()
    done = forked("terms", "query", "-c", root, before=no_network)
    assert done.code == 1
    assert "contact = ''" in done.err
    assert "[terms]" in done.err
    assert list((root / "1-terms").iterdir()) == []


def test_a_contact_is_asked_with(forked: Any, begin: Any) -> None:
    root = begin()
    put(root, "terms", contact="somebody@example.org")
    # The check above sees the network being used.
    assert forked("terms", "query", "-c", root, before=no_network).code == 99


TRIPLES = """\
<P1> wdt:P106 wd:Q33999 . <P2> wdt:P106 wd:Q33999 . <P3> wdt:P106 wd:Q1930187 .
<P3> wdt:P140 wd:Q432 .
wd:Q33999 rdfs:label "actor"@en ; wdt:P279 wd:Q28640 .
wd:Q1930187 rdfs:label "journalist"@en ; wdt:P279 wd:Q28640 .
wd:Q28640 rdfs:label "profession"@en .
wd:Q432 rdfs:label "Islam"@en .
"""
PREFIXES = """\
@base <http://www.wikidata.org/entity/> .
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""


def test_a_query_of_a_service_gives_terms_and_asks_once(
    run: Any, begin: Any, tmp_path: Path
) -> None:
    (tmp_path / "data.ttl").write_text(PREFIXES + TRIPLES, "utf-8")
    root = begin("--domains", "profession,religion")
    with oxigraph(tmp_path / "data.ttl", tmp_path) as url:
        put(root, "terms", contact="somebody@example.org", endpoint=url)
        first = json.loads(run("terms", "query", "--json", "-c", root).out)
        again = json.loads(run("terms", "query", "--json", "-c", root).out)
    assert first["found"] == [
        {"domain": "profession", "property": "P106", "items": 2, "statements": 3},
        {"domain": "religion", "property": "P140", "items": 1, "statements": 1},
    ]
    assert first["asked"] > 2
    assert first["on_disk"] == again["asked"] == 0
    assert again["on_disk"] == first["asked"]
    run("terms", "select", "-c", root)
    assert {t.text: t.count for t in terms(root).values()} == {
        "actor": 2, "journalist": 1, "Islam": 1,
    }  # fmt: skip


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
def selected(run: Any, begin: Any, dump: Dump) -> Path:
    """A campaign with professions and religions, selected: pilot 5, cook 4 and 2, Islam 3."""
    root: Path = begin("--domains", "profession,religion")
    put(root, "domains.profession", min_count=2)
    run("terms", "scan", dump(ITEMS, PEOPLE), "-c", root)
    run("terms", "select", "-c", root)
    return root


def test_select_says_what_became_of_the_candidates(run: Any, selected: Path) -> None:
    said = " ".join(run("terms", "select", "-c", selected).out.split())
    # Candidates, kept, merged, dropped: pilot, cook, pastry cook, clerk; Islam.
    assert "profession 4 2 1 1" in said
    assert "religion 1 1 0 0" in said
    assert "too_fine 1 merged: too fine-grained a kind of another term" in said
    assert f"3 terms in {selected / '1-terms' / 'targets.jsonl'}" in said
    told = json.loads(run("terms", "select", "--json", "-c", selected).out)
    assert (told["candidates"], told["kept"], told["merged"], told["dropped"]) == (5, 3, 1, 1)
    assert told["items_with_an_old_name"] == {}
    assert {(f["domain"], f["status"], f["reason"], f["count"]) for f in told["fates"]} == {
        ("profession", "kept", None, 2),
        ("profession", "merged", "too_fine", 1),
        ("profession", "dropped", "too_rare", 1),
        ("religion", "kept", None, 1),
    }


def test_a_second_select_does_nothing(run: Any, selected: Path, untouched: Any) -> None:
    before = untouched(selected)
    run("terms", "select", "-c", selected)
    run("terms", "explain", "cook", "-c", selected)
    assert untouched(selected) == before


def test_a_scan_of_the_same_dump_gives_the_same_terms(
    run: Any, selected: Path, dump: Dump, content: Any
) -> None:
    before = content(selected)
    run("terms", "scan", next(selected.parent.glob("dump-*")), "-c", selected)
    run("terms", "select", "-c", selected)
    assert content(selected) == before


def test_status_knows_the_selection_before_any_answer(run: Any, selected: Path) -> None:
    states = json.loads(run("status", "--json", "-c", selected).out)["steps"]
    assert (states[0]["step"], states[0]["state"]) == ("select", "up to date")
    put(selected, "domains.profession", min_count=1)
    states = json.loads(run("status", "--json", "-c", selected).out)["steps"]
    assert states[0]["state"] == "out of date"


def test_thresholds_change_without_another_scan(run: Any, selected: Path) -> None:
    put(selected, "domains.profession", min_count=1, merge="none")
    done = run("terms", "select", "-c", selected)
    assert done.err == ""
    assert set(terms(selected, "profession")) == {"pilot", "cook", "pastry cook", "clerk"}


def test_explain_tells_a_terms_story(run: Any, selected: Path) -> None:
    said = run("terms", "explain", "pastry cook", "-c", selected).out
    told = [" ".join(line.split()) for line in said.splitlines()]
    assert told[0] == "pastry cook (profession): merged"
    assert told[1] == "because merged: too fine-grained a kind of another term; a kind of cook"
    assert {"into cook", "statements 2", "Q3 P106 2; under cook"} < {*told}
    said = run("terms", "explain", "Q2", "-c", selected).out
    told = [" ".join(line.split()) for line in said.splitlines()]
    assert {"statements 4, 6 with what was merged into it", "merged pastry cook (too_fine)"} < {
        *told
    }
    (found,) = json.loads(run("terms", "explain", "Cook", "--json", "-c", selected).out)
    assert (found["term"], found["count"], found["rolled_up"]) == ("cook", 4, 6)


def test_explain_of_an_unknown_term_names_its_like(forked: Any, selected: Path) -> None:
    done = forked("terms", "explain", "pilots", "-c", selected)
    assert (done.code, done.out) == (1, "")
    assert done.err == "error: no candidate 'pilots'\nfix:   did you mean pilot?\n"
    done = forked("terms", "explain", "pilot", "--domain", "religion", "-c", selected)
    assert done.code == 1
    assert (
        "no candidate 'pilot'" in forked("terms", "explain", "pilot", "-d", "x", "-c", selected).err
    )
    assert "candidates.csv lists them all" in forked("terms", "explain", "zzz", "-c", selected).err


def test_facts_that_were_asked_for_otherwise_are_said_to_be(
    run: Any, selected: Path, dump: Dump
) -> None:
    put(selected, "domains.profession", population=["P27=Q252"])
    done = run("terms", "select", "-c", selected)
    assert "domain profession: Wikidata was asked under other settings" in done.err
    assert "domain religion" not in done.err
    put(selected, "domains.profession", population=[], properties=["P106", "P101"])
    done = run("terms", "select", "-c", selected)
    assert "domain profession: Wikidata was asked under other settings" in done.err
    run("terms", "scan", dump(ITEMS, PEOPLE), "-c", selected)
    assert run("terms", "select", "-c", selected).err == ""


def test_a_domain_that_nobody_asked_for_is_said_to_be(run: Any, begin: Any, dump: Dump) -> None:
    root = begin("--domains", "profession,religion,gender")
    run("terms", "scan", dump(ITEMS, PEOPLE), "--domain", "religion", "-c", root)
    done = run("terms", "select", "-c", root)
    assert "domain profession: Wikidata has not been asked yet" in done.err
    assert "domain religion" not in done.err
    assert "domain gender" not in done.err


def test_a_scan_for_one_domain_leaves_the_others_facts(
    run: Any, selected: Path, dump: Dump
) -> None:
    # The second dump knows no pilots, and of Islam one more.
    file = dump(ITEMS, [(4, {"P140": ["Q6"]})])
    run("terms", "scan", file, "--domain", "religion", "-c", selected)
    counts = read_records(selected / "1-terms" / "counts.jsonl", Count)
    assert {(c.domain, c.item): c.count for c in counts} == {
        ("profession", "Q1"): 5, ("profession", "Q2"): 4, ("profession", "Q3"): 2,
        ("profession", "Q4"): 1, ("religion", "Q6"): 4,
    }  # fmt: skip
    assert run("terms", "select", "-c", selected).err == ""
    assert terms(selected)["pilot"].count == 5


def test_a_lost_manifest_loses_no_facts(run: Any, selected: Path, dump: Dump) -> None:
    # A damaged manifest.json is fixed by deleting it, says the tool.
    (selected / "1-terms" / "manifest.json").unlink()
    file = dump(ITEMS, [(4, {"P140": ["Q6"]})])
    run("terms", "scan", file, "--domain", "religion", "-c", selected)
    run("terms", "select", "-c", selected)
    assert {t.text: t.count for t in terms(selected).values()} == {
        "pilot": 5, "cook": 6, "Islam": 4,
    }  # fmt: skip


def test_a_property_that_nothing_states_is_warned_of(run: Any, begin: Any, dump: Dump) -> None:
    root = begin("--domains", "profession")
    done = run("terms", "scan", dump(ITEMS, []), "-c", root)
    assert "warning: domain profession: no item states P106; check the property's id" in done.err


def test_lines_that_cannot_be_read_are_counted_and_kept(run: Any, begin: Any, dump: Dump) -> None:
    root, file = begin("--domains", "profession"), dump(ITEMS, PEOPLE)
    lines = file.read_text("utf-8").splitlines()
    lines.insert(3, lines[3][:40] + ",")
    file.write_text("\n".join(lines) + "\n", "utf-8")
    done = run("terms", "scan", file, "--json", "-c", root)
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


def test_no_command_writes_the_edits(run: Any, selected: Path, dump: Dump, small: Any) -> None:
    path = selected / "1-terms" / "edits.csv"
    assert not path.exists()
    # As a spreadsheet leaves it: with a mark, semicolons, a stray column, no last line break.
    text = "\ufeffdomain;term;action;into;family;note;\nprofession;clerk;keep;;;few;"
    path.write_text(text, "utf-8")
    before = (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)
    run("terms", "scan", dump(ITEMS, PEOPLE), "-c", selected)
    run("terms", "select", "-c", selected)
    run("import", "answers", small.writers, "-c", selected)
    assert (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) == before
    assert terms(selected)["clerk"].reason == "edited"


def test_edits_stand_in_the_candidates_with_their_notes(run: Any, selected: Path) -> None:
    edit(selected, "clerk,keep,,,asked for", "pilot,drop", "sailor,add,,sea,", "cook,,,kitchen,a b")
    run("terms", "select", "-c", selected)
    with (selected / "1-terms" / "candidates.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["term"]: row for row in csv.DictReader(file)}
    assert {text: (row["status"], row["reason"], row["note"]) for text, row in rows.items()} == {
        "clerk": ("kept", "edited", "asked for"),
        "pilot": ("dropped", "edited", ""),
        "sailor": ("kept", "edited", ""),
        "cook": ("kept", "", "a b"),
        "pastry cook": ("merged", "too_fine", ""),
        "Islam": ("kept", "", ""),
    }
    assert rows["cook"]["count"] == "4"
    assert (rows["cook"]["rolled_up"], rows["sailor"]["rolled_up"]) == ("6", "")
    assert {text: t.family for text, t in terms(selected, "profession").items()} == {
        "clerk": "clerk", "cook": "kitchen", "sailor": "sea",
    }  # fmt: skip


def test_a_line_that_cannot_be_understood_stops_select_and_import_before_anything_is_written(
    forked: Any, selected: Path, small: Any, untouched: Any
) -> None:
    edit(selected, "cook,fire")
    before = untouched(selected)
    for words in (("terms", "select"), ("import", "answers", small.writers)):
        done = forked(*words, "-c", selected)
        assert done.code == 1
        assert "edits.csv line 2: unknown action 'fire'" in done.err
        assert "fix:   " in done.err
    assert untouched(selected) == before
    done = forked("status", "-c", selected)
    assert (done.code, "unknown action 'fire'; use one of" in done.err) == (0, True)


def test_a_line_that_is_not_applied_is_reported_where_it_helps(
    run: Any, selected: Path, small: Any
) -> None:
    edit(selected, "cook,keep", "cook,drop", "pilot,merge,nobody")
    with (selected / "1-terms" / "edits.csv").open("a", encoding="utf-8") as file:
        file.write("profesion,cook,keep,,,\n")
    says = [
        "edits.csv line 3: not applied: drop for 'cook', but line 2 has keep for it",
        "edits.csv line 4: not applied: no term 'nobody' in domain 'profession'",
        "edits.csv line 5: not applied: no domain 'profesion'; did you mean 'profession'?",
    ]

    def warned(*words: Any) -> list[int]:
        err = run(*words, "-c", selected).err
        return [err.count(line) for line in says]

    assert warned("import", "answers", small.writers) == [1, 1, 1]  # the first that reads it
    assert warned("import", "answers", small.published.with_name("writers.csv")) == [0, 0, 0]
    assert warned("decisions", "filter") == [0, 0, 0]
    for _ in range(2):
        assert warned("terms", "select") == [1, 1, 1]
        assert warned("status") == [1, 1, 1]
    counts = json.loads(run("terms", "select", "--json", "-c", selected).out)
    assert (counts["edits_in"], counts["edits_of_other_domains"], counts["edits_refused"]) == (
        4, 0, 3,
    )  # fmt: skip
    (story,) = json.loads(run("terms", "explain", "cook", "--json", "-c", selected).out)
    assert [(line["line"], "not_applied" in line) for line in story["edits"]] == [
        (2, False),
        (3, True),
    ]
    edit(selected, "cook,keep")
    assert warned("terms", "select") == [0, 0, 0]
    assert warned("status") == [0, 0, 0]


def test_lines_of_other_domains_wait_for_them(run: Any, selected: Path) -> None:
    path = selected / "1-terms" / "edits.csv"
    path.write_text(HEAD + "hobby,sport,drop,,,\n", "utf-8")
    done = run("terms", "select", "--json", "-c", selected)
    assert done.err == ""
    counts = json.loads(done.out)
    assert (counts["edits_in"], counts["edits_of_other_domains"], counts["edits_refused"]) == (
        1, 1, 0,
    )  # fmt: skip


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
def written(run: Any, selected: Path, tmp_path: Path) -> Path:
    """The campaign with two items on pilots and one on cooks."""
    file = answers(tmp_path / "w.csv", ("i1", "pilot"), ("i2", "pilot"), ("i3", "cook"))
    run("import", "answers", file, "-c", selected)
    return selected


def items(root: Path) -> dict[str, str]:
    """The items with the text of their term."""
    texts = {term.id: term.text for term in terms(root).values()}
    found = read_records(root / "2-rounds" / "main" / "items.jsonl", Item)
    return {item.id: texts[item.term] for item in found}


def refused(root: Path) -> dict[str, str]:
    path = root / "2-rounds" / "main" / "rejected.jsonl"
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return {row["record"]["item_id"]: row["code"] for row in rows}


def raw(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (root / "2-rounds" / "main" / "raw").iterdir()}


def fold(run: Any, root: Path) -> str:
    """Bring items up to date; «decisions filter» is the nearest command that does."""
    return str(run("decisions", "filter", "-c", root).err)


def test_a_renamed_term_takes_items_under_both_names(
    run: Any, written: Path, tmp_path: Path
) -> None:
    before, was = terms(written)["pilot"].id, raw(written)
    edit(written, "pilot,rename,airline pilot,,others steer ships")
    done = run("terms", "select", "-c", written)
    assert (
        "items of 'airline pilot' that use an old name or a second spelling: 2 (i1, i2)" in done.err
    )
    assert terms(written)["airline pilot"].id == before
    file = answers(tmp_path / "more.csv", ("i4", "airline pilot"), ("i5", "pilot"))
    summary = json.loads(run("import", "answers", file, "--json", "-c", written).out)
    assert (summary["items"], summary["rejected"]) == (5, {})
    assert items(written) == {
        **dict.fromkeys(("i1", "i2", "i4", "i5"), "airline pilot"),
        "i3": "cook",
    }
    assert was.items() <= raw(written).items()
    (told,) = json.loads(run("terms", "explain", "airline pilot", "--json", "-c", written).out)
    assert (told["id"], told["old_names"]) == (before, ["pilot"])
    assert told["items"] == 4
    assert sorted(told["items_with_an_old_name"]) == ["i1", "i2", "i5"]
    assert told["edits"][0]["line"] == 2
    said = " ".join(run("terms", "explain", "pilot", "-c", written).out.split())
    assert "edited 1-terms/edits.csv line 2: term pilot, action rename, into airline pilot" in said
    assert "old name in i1, i2, i5" in said


def test_a_term_renamed_back_is_as_before(run: Any, written: Path, content: Any) -> None:
    edit(written)
    fold(run, written)
    before = content(written)
    edit(written, "pilot,rename,airline pilot")
    fold(run, written)
    assert content(written) != before
    edit(written)
    fold(run, written)
    assert content(written) == before


def test_items_of_a_dropped_term_are_refused_until_the_line_is_gone(
    run: Any, written: Path
) -> None:
    was = raw(written)
    edit(written, "pilot,drop")
    fold(run, written)
    assert items(written) == {"i3": "cook"}
    assert refused(written) == {"i1": "unknown_target", "i2": "unknown_target"}
    edit(written)
    fold(run, written)
    assert items(written) == {"i1": "pilot", "i2": "pilot", "i3": "cook"}
    assert refused(written) == {}
    assert raw(written) == was


def test_items_of_a_merged_term_go_along_and_come_back(run: Any, written: Path) -> None:
    ids = {text: term.id for text, term in terms(written).items()}
    edit(written, "pilot,merge,clerk,,one group to our writers")
    fold(run, written)
    assert items(written) == {"i1": "clerk", "i2": "clerk", "i3": "cook"}
    assert terms(written)["clerk"].names == ("pilot",)
    edit(written)
    fold(run, written)
    assert items(written) == {"i1": "pilot", "i2": "pilot", "i3": "cook"}
    assert {text: term.id for text, term in terms(written).items()} == ids


def test_answers_hold_their_terms_when_thresholds_and_labels_change(
    run: Any, written: Path, dump: Dump
) -> None:
    ids = {text: term.id for text, term in terms(written).items()}
    renamed = [entity("Q1", {"en": "aviator"}, {"P279": ["Q28640"]}), *ITEMS[:2], *ITEMS[3:]]
    put(written, "domains.profession", min_count=100)
    run("terms", "scan", dump(renamed, PEOPLE), "-c", written)
    fold(run, written)
    assert items(written) == {"i1": "pilot", "i2": "pilot", "i3": "cook"}
    now = {text: term.id for text, term in terms(written, "profession").items()}
    assert now == {text: ids[text] for text in ("pilot", "cook")}
    assert terms(written)["pilot"].wikidata == ("Q1",)


def test_what_an_answer_names_becomes_a_term_unless_only_known_ones_may_be(
    run: Any, written: Path, tmp_path: Path
) -> None:
    file = answers(tmp_path / "new.csv", ("i7", "sailor"), ("i8", "pastry cook"))
    shutil.copytree(written, tmp_path / "other")
    done = run("import", "answers", file, "--known-terms", "--json", "-c", tmp_path / "other")
    assert json.loads(done.out)["rejected"] == {"unknown_target": 2}
    done = run("import", "answers", file, "--json", "-c", written)
    assert json.loads(done.out)["rejected"] == {}
    assert {items(written)[name] for name in ("i7", "i8")} == {"sailor", "pastry cook"}
    # A text that a rule had merged is a term of its own once it is written about.
    assert fates(written)["pastry cook"] == "kept"


def test_items_of_either_form_of_a_country_stay_on_two_terms_of_one_family(
    run: Any, begin: Any, dump: Dump, tmp_path: Path
) -> None:
    root = begin("--domains", "race")
    velt = [("en", "Veltlander"), ("en", "Veltlandish")]
    file = dump(
        [entity("Q100", {"en": "Veltland"}, {"P31": ["Q6256"]}, {"P1549": velt})],
        [(3, {"P27": ["Q100"]})],
    )
    run("terms", "scan", file, "-c", root)
    table = answers(tmp_path / "w.csv", ("i1", "Veltland"), ("i2", "Veltlander"))
    table.write_text(table.read_text("utf-8").replace("profession", "race"), "utf-8")
    run("import", "answers", table, "-c", root)
    for form in ("both", "name", "demonym"):
        put(root, "domains.race", form=form)
        fold(run, root)
        assert items(root) == {"i1": "Veltland", "i2": "Veltlander"}
        assert {t.family for t in terms(root).values()} == {"Veltland"}
