"""Reading the dump: every trap of its format, and every kind of bad file."""

import bz2
import gzip
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.records import Entity
from curation.terms import dump
from curation.terms.dump import Scanned, scan
from curation.terms.facts import FactRequest, wikidata_codes
from support.expected import fails

JOBS = FactRequest("profession", ("P106",))
GERMAN = {"languages": ("de", "mul", "en"), "own": ("de", "mul")}
Json = dict[str, Any]


def item(number: int, **value: Any) -> Json:
    """A value that is an item; what is given replaces its usual form."""
    return value or {"entity-type": "item", "numeric-id": number, "id": f"Q{number}"}


def states(value: Any, rank: str = "normal", snaktype: str = "value") -> Json:
    """A statement; a plain number means the item with that number."""
    snak: Json = {"snaktype": snaktype, "property": "P1", "datatype": "wikibase-item"}
    if snaktype == "value":
        value = item(value) if isinstance(value, int) else value
        snak["datavalue"] = {"value": value, "type": "wikibase-entityid"}
    return {"mainsnak": snak, "type": "statement", "id": "Q1$x", "rank": rank, "references": []}


def says(text: str, language: str, rank: str = "normal") -> Json:
    return states({"text": text, "language": language}, rank)


def entity(id: str, claims: Any = (), **more: Any) -> Json:
    """An entity; what it states is given as numbers of items, or as whole statements."""
    kind = {"P": "property", "L": "lexeme"}.get(id[0], "item")
    maps: Json = {name: [] for name in ("labels", "descriptions", "aliases", "sitelinks")}
    if isinstance(claims, dict):
        claims = {p: [s if isinstance(s, dict) else states(s) for s in c] if isinstance(c, list)
                  else c for p, c in claims.items()}  # fmt: skip
    return {"type": kind, "id": id, **maps, "claims": claims or [], **more}


def texts(**values: str) -> Json:
    return {
        code.replace("_", "-"): {"language": code, "value": text} for code, text in values.items()
    }


def lines(entities: Sequence[Any]) -> list[str]:
    return [e if isinstance(e, str) else json.dumps(e, separators=(",", ":")) for e in entities]


def dumped(entities: Sequence[Any]) -> bytes:
    """As Wikidata writes it."""
    return ("[\n" + ",\n".join(lines(entities)) + "\n]\n").encode()


def run(paths: Path | Sequence[Path], *asks: FactRequest, **options: Any) -> Scanned:
    paths = [paths] if isinstance(paths, Path) else paths
    return scan(paths, asks or [JOBS], **{**GERMAN, **options})


def counts(found: Scanned) -> dict[tuple[str, str, str], int]:
    return {(c.domain, c.property, c.item): c.count for c in found.facts.counts}


def looked_up(found: Scanned) -> dict[str, Entity]:
    return {e.id: e for e in found.facts.entities}


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: bytes | Sequence[Any], name: str = "dump.json") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else dumped(content))
        return path

    return write


# --- what is counted ------------------------------------------------------------------------

TRAPS = [
    entity("Q1", {"P106": [100, 101]}),  # both
    entity("Q2", {"P106": [states(100, "preferred"), 101]}),  # only the preferred: 100
    entity("Q3", {"P106": [states(100, "deprecated"), states(101, "deprecated")]}),  # none
    entity("Q4", {"P106": [100, 100]}),  # 100 once
    entity("Q5", {"P106": [states(0, "preferred", "novalue"), 100]}),  # preferred: none
    entity("Q6", {"P106": [states(0, snaktype="somevalue"), 101]}),  # 101
    entity("Q7", {"P106": [states({"entity-type": "item", "numeric-id": 100})]}),  # old: 100
    entity("Q8", {"P106": [states({"entity-type": "item", "id": "Q101"})]}),  # new: 101
    entity("Q9", {"P106": [states({"entity-type": "property", "numeric-id": 100, "id": "P100"}),
                           states({"entity-type": "lexeme", "numeric-id": 100, "id": "L100"}),
                           states({"entity-type": "form", "id": "L100-F1"})]}),  # no items
    entity("Q10", []),  # an empty map as PHP writes it
    entity("Q11", {"P106": []}),
    entity("Q12", {"P106": {"0": states(100), "2": states(101)}}),  # a list with a gap: both
    entity("P50", {"P106": [101]}),  # a property is a subject too
    entity("L7", {"P106": [101]}, forms=[{"id": "L7-F1", "claims": []}],
           senses=[{"id": "L7-S1", "claims": {"P106": [states(101)]}}]),  # 101 twice
    entity("Q13", {"P106": [states("a text"), 101]}),  # odd value; 101
    entity("Q14", {"P106": [states({"entity-type": 5}), 100, {"rank": "normal"}]}),  # odd; 100
    entity("Q15", {"P106": [{"mainsnak": 5, "rank": "preferred"}, 100]}),  # odd but preferred: none
    entity("Q16", {"P107": [100]}, labels=7, sitelinks={"dewiki": 1}),  # another property
    {"id": "Q17", "claims": {"P106": [states(100)]}},  # nothing but what is needed: 100
    entity("Q18", {"P106": [states({"entity-type": "item", "numeric-id": 1 << 40}), states(0)]}),
]  # fmt: skip
# 100: Q1 Q2 Q4 Q7 Q12 Q14 Q17; 101: Q1 Q6 Q8 Q12 P50 L7 L7-S1 Q13
EXPECTED = {("profession", "P106", "Q100"): 7, ("profession", "P106", "Q101"): 8}


def members(data: bytes) -> bytes:
    """In many gzip members, which do not end where lines end."""
    return b"".join(gzip.compress(data[at : at + 700]) for at in range(0, len(data), 700))


def backwards(entities: Sequence[Any]) -> bytes:
    return dumped([dict(reversed(e.items())) for e in entities])


FORMS = {
    "dump.json": dumped,
    "dump.json.gz": lambda e: gzip.compress(dumped(e)),
    "members.json.gz": lambda e: members(dumped(e)),
    "dump.json.bz2": lambda e: bz2.compress(dumped(e)),
    "streams.json.bz2": lambda e: bz2.compress(dumped(e[:3])[:-3]) + bz2.compress(
        b",\n" + dumped(e[3:])[2:]),
    "gzip_without_the_name": lambda e: gzip.compress(dumped(e)),
    "lines.jsonl": lambda e: "\n".join(lines(e)).encode(),
    "crlf.json": lambda e: dumped(e).replace(b"\n", b"\r\n"),
    "brackets.json": lambda e: b"[" + ",\n".join(lines(e)).encode() + b"]",
    "blank.json": lambda e: dumped(e).replace(b"\n", b"\n\n"),
    "spaces.json": lambda e: "".join(json.dumps(x) + ",\n" for x in e).encode(),
    "bom.json": lambda e: b"\xef\xbb\xbf" + dumped(e),
    "backwards.json": backwards,
    "two.json": lambda e: dumped(e[:5]) + dumped(e[5:]),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_file_gives_the_same(name: str, write: Write) -> None:
    found = run(write(FORMS[name](TRAPS), name))
    assert counts(found) == EXPECTED
    assert (found.lines, found.unreadable, found.rejections) == (len(TRAPS), 0, [])
    people = [entity(f"Q{n}", {"P106": [50]}) for n in range(1, 8)]
    baker = entity("Q50", {"P279": [60]}, labels=texts(de="Bäcker"))
    found = run(write(FORMS[name]([*people, baker]), name))
    assert looked_up(found) == {"Q50": Entity(id="Q50", labels={"de": "Bäcker"}, parents=("Q60",))}


def test_a_population_is_who_truthily_states_one_of_its_items(write: Write) -> None:
    stated: list[Json] = [
        {"P27": [252]},  # counts
        {"P27": [30, 253]},  # counts: one of the two
        {"P27": [30]},  # another country
        {"P27": [states(252, "deprecated")]},  # not any more
        {"P27": [252, states(30, "preferred")]},  # elsewhere
        {},  # nowhere
        {"P27": [252], "P21": [9]},  # counts; the one with P21
    ]
    path = write([entity(f"Q{n}", {"P106": [100]} | of) for n, of in enumerate(stated, 1)])
    here = (("P27", ("Q252", "Q253")),)
    both = FactRequest("both", ("P106",), (*here, ("P21", ("Q9",))))
    assert counts(run(path, JOBS, FactRequest("here", ("P106", "P27"), here), both)) == {
        ("profession", "P106", "Q100"): 7,
        ("here", "P106", "Q100"): 3,
        ("here", "P27", "Q252"): 2,
        ("here", "P27", "Q253"): 1,
        ("here", "P27", "Q30"): 1,
        ("both", "P106", "Q100"): 1,
    }


SNAKS = st.tuples(
    st.integers(1, 5),
    st.sampled_from(["preferred", "normal", "deprecated"]),
    st.sampled_from(["value", "somevalue", "novalue"]),
)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(["P1", "P2"]), st.lists(SNAKS)), min_size=1))
def test_counts_are_those_of_a_plain_reading(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[dict[str, list[tuple[int, str, str]]]]
) -> None:
    expected: Counter[tuple[str, str, str]] = Counter()
    for claims in drawn:
        for name, snaks in claims.items():
            ranks = {rank for _, rank, _ in snaks}
            best = "preferred" if "preferred" in ranks else "normal"
            best_ones = {n for n, rank, kind in snaks if rank == best and kind == "value"}
            expected.update(("d", name, f"Q{n}") for n in best_ones)
    path = tmp_path_factory.mktemp("drawn") / "dump.json"
    stated = ({p: [states(*snak) for snak in of] for p, of in claims.items()} for claims in drawn)
    path.write_bytes(dumped([entity(f"Q{n}", claims) for n, claims in enumerate(stated, 1)]))
    assert counts(run(path, FactRequest("d", ("P1", "P2")))) == expected


# --- what is looked up ----------------------------------------------------------------------


def test_an_entity_has_all_that_is_said_of_it(write: Write) -> None:
    germans = entity(
        "Q100",
        {
            "P31": [41, 33, states(7, "deprecated")],
            "P279": [20, 9],
            "P1549": [says("Deutscher", "de"), says("German", "en"), says("Deutsche", "de"),
                      says("Teutone", "de", "deprecated"), says("Allemand", "mul")],
            "P2521": [says("Deutsche", "de"), says("German woman", "en")],
            "P3321": [says("Teut", "de"), says("Deutscher", "de", "preferred")],
        },
        labels=texts(en="Germans", de="Deutsche", fr="Allemands"),
        descriptions=texts(fr="un peuple", en="a people"),
        aliases={
            code: [{"language": code, "value": text} for text in texts]
            for code, texts in (("mul", ["D", "Bundesbürger"]), ("en", ["German people"]),
                                ("de", ["deutsches Volk", "Bundesbürger"]))
        },
        sitelinks={site: {"site": site, "title": f"T {site}", "badges": []}
                   for site in ("enwiki", "dewiki", "dewikiquote")},
    )  # fmt: skip
    found = looked_up(run(write([germans, entity("Q1", {"P106": [100]})])))
    assert found["Q100"] == Entity(
        id="Q100",
        labels={"de": "Deutsche", "en": "Germans"},
        aliases=("Bundesbürger", "deutsches Volk", "D"),  # German ones sorted, then «mul»'s others
        description="a people",  # the first of de, mul, en that has one
        parents=("Q9", "Q20"),  # by number, not as text
        classes=("Q33", "Q41"),
        sitelinks=3,
        title="T dewiki",
        demonyms=("Deutsche", "Deutscher", "Allemand"),
        feminine=("Deutsche",),
        masculine=("Deutscher",),
    )
    assert list(found["Q100"].labels) == ["de", "en"]  # nearest first
    # Its classes are there, though this dump says nothing of them; its parents are not.
    assert found == {"Q100": found["Q100"], "Q33": Entity(id="Q33"), "Q41": Entity(id="Q41")}


def test_the_title_is_of_the_languages_wikipedia(write: Write) -> None:
    links = {f"{code}wiki": {"title": code} for code in ("pt", "en", "zh")}
    path = write([entity("Q9", {"P106": [9]}, sitelinks=links)])
    for code, title in (("pt-BR", "pt"), ("zh-hant", "zh"), ("sw", None)):
        found = run(path, languages=wikidata_codes(code, ["en"]), own=wikidata_codes(code))
        assert looked_up(found)["Q9"].title == title


def test_all_that_lies_above_is_looked_up_and_of_classes_only_what_lies_above(write: Write) -> None:
    #   people -> 1 -> 2 -> 3 -> 2 (a circle), 2 -> 4 (not in the dump)
    #   classes: 1 is a 10, 3 is a 11; 10 -> 12 -> 2, 10 -> 13 (not in the dump); 5 is not wanted
    above: dict[str, Json] = {
        "Q1": {"P279": [2], "P31": [10]},
        "Q2": {"P279": [3, 4]},
        "Q3": {"P279": [2], "P31": [11]},
        "Q5": {"P279": [1], "P31": [14]},
        "Q10": {"P279": [13, 12], "P31": [15]},
        "Q11": {},
        "Q12": {"P279": [2]},
    }
    items = [entity(id, claims, labels=texts(de="x")) for id, claims in above.items()]
    path = write([entity("Q90", {"P106": [1]}), *items, entity("P31", {"P279": [1]})])
    x = {"labels": {"de": "x"}}
    assert run(path).facts.entities == [
        Entity(id="Q1", parents=("Q2",), classes=("Q10",), **x),
        Entity(id="Q2", parents=("Q3", "Q4"), **x),
        Entity(id="Q3", parents=("Q2",), classes=("Q11",), **x),
        Entity(id="Q10", parents=("Q12", "Q13")),
        Entity(id="Q11"),
        Entity(id="Q12", parents=("Q2",)),
        Entity(id="Q13"),
    ]


def test_what_is_rare_is_counted_but_not_looked_up(write: Write) -> None:
    people = [entity(f"Q{n}", {"P106": [100] + [101] * (n < 3), "P172": [102]}) for n in (1, 2, 3)]
    path = write([*people, *(entity(f"Q{n}") for n in (100, 101, 102))])
    asks = (JOBS, FactRequest("race", ("P172",), (("P106", ("Q101",)),)))
    # 100: three in profession; 101: two; 102: two in race, which counts only those with 101
    for least, expected in ((3, {"Q100"}), (2, {"Q100", "Q101", "Q102"}), (9, set())):
        found = run(path, *asks, least=least)
        assert looked_up(found).keys() == expected
        assert len(counts(found)) == 3


def test_counts_are_in_the_order_in_which_facts_are_written(write: Write) -> None:
    path = write([entity("Q1", {"P106": [9, 10, 200]}), entity("Q2", {"P106": [200]})])
    assert [c.item for c in run(path).facts.counts] == ["Q200", "Q9", "Q10"]


def test_odd_pieces_of_a_wanted_item_are_left_out_alone(write: Write) -> None:
    odd = entity(
        "Q100",
        {"P31": [states({"entity-type": []}), 33], "P1549": [says("a", "de"), states({"text": 5})]},
        labels={"de": {"value": 5}, "en": {"value": "good"}},
        descriptions=[1],
        aliases={"de": [{"value": "b"}, None], "mul": 5},
        sitelinks={"dewiki": {"title": "T"}, "enwiki": 5},
    )
    found = looked_up(run(write([odd, entity("Q1", {"P106": [100]})])))
    assert found["Q100"] == Entity(
        id="Q100", labels={"en": "good"}, aliases=("b",), classes=("Q33",), sitelinks=2, title="T",
        demonyms=("a",),
    )  # fmt: skip


def test_an_entity_longer_than_a_block_is_read_whole(write: Write) -> None:
    long = "x" * (3 * dump.BLOCK)
    more = [entity(f"Q{n}", {"P106": [100]}, note=long[: n * 300_000]) for n in range(1, 9)]
    path = write([*more, entity("Q100", labels=texts(de=long))])
    found = run(path)
    assert counts(found) == {("profession", "P106", "Q100"): 8}
    assert looked_up(found)["Q100"].labels == {"de": long}


# --- several files --------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_a_dump_in_pieces_gives_what_the_whole_gives(write: Write, workers: int) -> None:
    tree = [
        entity(f"Q{n}", {"P279": [n + 1], "P31": [n + 50]}, labels=texts(de=f"{n}"))
        for n in range(95, 120)
    ]
    everything = [*TRAPS, "no json", *tree]
    whole = run(write(everything))
    pieces = [
        write(gzip.compress(dumped(everything[:9])[:-3]), "a.json.gz"),
        write(dumped(everything[9:30])[2:-3], "b.json"),
        write(everything[30:], "c.json"),
        write(b"]\n", "d.json"),  # what splitting by lines may leave
    ]
    progress: list[int] = []
    split = run(pieces, workers=workers, tell=progress.append)
    assert split.facts == whole.facts
    assert (split.lines, split.unreadable) == (whole.lines, 1) == (len(everything), 1)
    # «no json» is the 21st of all, so behind nine others the 12th of the second piece
    assert [r.where for r in split.rejections] == [f"{pieces[1]} line 12"]
    assert [r.where for r in whole.rejections] == [f"{pieces[0].parent / 'dump.json'} line 22"]
    assert sorted(progress) == sorted([path.stat().st_size for path in pieces] * 2)


def test_progress_covers_each_byte_twice(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump, "BLOCK", 1 << 16)
    noise = [entity(f"Q{n}", note=os.urandom(4_000).hex()) for n in range(1, 60)]
    for name, pack in (("a.json", bytes), ("a.json.gz", members), ("a.json.bz2", bz2.compress)):
        path = write(pack(dumped(noise)), name)
        progress: list[int] = []
        run(path, tell=progress.append)
        assert sum(progress) == 2 * path.stat().st_size
        assert len(progress) > 4


# --- bad lines and bad files ----------------------------------------------------------------


def test_bad_lines_are_refused_with_their_number_and_the_others_read(write: Write) -> None:
    bad = {
        2: '{"type":"item","id":"Q2","claims":{"P106":[',
        4: "<html>" + "y" * 500,
        5: '{"type":"item","claims":[]}',
        6: "5",
        7: '{"type":"item","id":"Q7\xff"}',
        9: '{"a":' * 5000 + "1",
    }
    rows: list[Any] = [entity(f"Q{n}", {"P106": [100]}) for n in range(1, 11)]
    for place, line in bad.items():
        rows[place - 1] = line
    path = write(dumped(rows).replace("\xff".encode(), b"\xff"), "dump.json")
    found = run(path)
    assert counts(found) == {("profession", "P106", "Q100"): 4}
    assert [r.where for r in found.rejections] == [f"{path} line {n + 1}" for n in bad]
    assert {r.code for r in found.rejections} == {"unreadable_line"}
    assert [r.detail.split(":")[0] for r in found.rejections] == [
        "not JSON", "not JSON", "not an entity", "not an entity", "not JSON", "not JSON",
    ]  # fmt: skip
    assert found.rejections[1].record == {"line": "<html>" + "y" * 194}
    assert (found.lines, found.unreadable) == (10, 6)


def test_of_many_bad_lines_the_first_are_kept_and_all_are_reported(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump, "KEPT", 10)
    found = run(write([entity("Q1", {"P106": [100]}), *["bad"] * 25]))
    assert (len(found.rejections), found.unreadable, found.lines) == (10, 25, 26)


def broken(data: bytes) -> bytes:
    """With a byte changed in the middle."""
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


GOOD = dumped([entity(f"Q{n}", {"P106": [100]}, note=f"{n**9}") for n in range(1, 400)])
GZ, BZ2 = gzip.compress(GOOD), bz2.compress(GOOD)
CUT = ("ends in the middle", "fetch it again")
OTHER = ("not a Wikidata JSON", "latest-all")
EMPTY = ("it has no entities", "latest-all.json.gz")
BAD = {
    "cut gzip": ("d.json.gz", GZ[:-2000], *CUT),
    "cut in gzip's tail": ("d.json.gz", GZ[:-3], *CUT),
    "cut in gzip's head": ("d.json.gz", GZ[:5], *CUT),
    "cut between members": ("d.json.gz", gzip.compress(GOOD[:9000]), *CUT),
    "cut bzip2": ("d.json.bz2", BZ2[:-50], *CUT),
    "cut plain": ("d.json", GOOD[:9000], f"line {1 + GOOD[:9000].count(10)}: {CUT[0]}", CUT[1]),
    "broken gzip": ("d.json.gz", broken(GZ), "is damaged", "fetch it again"),
    "broken bzip2": ("d.json.bz2", broken(BZ2), "is damaged", "fetch it again"),
    "not gzip": ("d.json.gz", GOOD, "is not .gz data", "fetch it again"),
    "not bzip2": ("d.json.bz2", GZ, "is not .bz2 data", "fetch it again"),
    "empty": ("d.json", b"", "is empty", "fetch it again"),
    "empty gzip": ("d.json.gz", gzip.compress(b""), *EMPTY),
    "brackets": ("d.json", b"[\n]\n", *EMPTY),
    "html": ("d.json.gz", gzip.compress(b"<html>\n<p>503</p>\n</html>"), *OTHER),
    "many lines": ("d.nt.gz", gzip.compress(b"<a> <b> <c> .\n" * 9999), *OTHER),
    "other JSON": ("d.json", b'{"id": "x", "type": "y"}\n', *OTHER),
    "pretty JSON": ("d.json", json.dumps(TRAPS, indent=1).encode(), *OTHER),
    "all in one line": ("d.json", json.dumps(TRAPS).encode(), *OTHER),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_named_with_its_fix(case: str, write: Write) -> None:
    name, content, what, fix = BAD[case]
    path = write(content, name)
    threads = threading.active_count()
    with fails(str(path), what, fix=fix):
        run(path)
    assert threading.active_count() <= threads


def test_a_bad_file_among_good_ones_is_named(write: Write) -> None:
    good, bad = write(GOOD), write(GZ[:-9], "bad.json.gz")
    with fails(str(bad), "ends in the middle", fix="fetch it again"):
        run([good, bad], workers=2)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, write: Write) -> None:
    good, link = write(GOOD), tmp_path / "link.json"
    link.symlink_to(good)
    for path, what in (
        (link, "link.json: is given twice"),  # it would count twice
    ):
        with fails(what):
            run([good, path])
    with fails("no dump is given"):
        run([])


def test_a_line_without_end_fills_no_memory(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump, "LONGEST", 1 << 21)
    with fails("a line has over 2097152 bytes"):
        run(write(gzip.compress(b" " * (1 << 23)), "d.json.gz"))
