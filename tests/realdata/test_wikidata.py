"""Real facts of Wikidata, about 13,213 people: by query, from a SPARQL engine, and from a dump."""

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curation.records import Count, Entity
from curation.terms.dump import Scanned, scan
from curation.terms.facts import INSTANCE, FactRequest, Facts, wikidata_codes, with_ancestors
from curation.terms.wikidata import Service, query
from support.faulty import faulty, heavier_than, oxigraph
from support.realdata import SHARED, needs

REAL = SHARED / "wikidata"
PEOPLE, ENTITIES = REAL / "codex_people_dump.json.gz", REAL / "real_entities_dump.json.gz"
pytestmark = needs(REAL)
ASKS = (
    FactRequest("profession", ("P106",)),
    FactRequest("race", ("P172",)),
    FactRequest("religion", ("P140",)),
)
AMERICANS = (FactRequest("profession", ("P106",), (("P27", ("Q30",)),)),)
AND_BRITONS = (FactRequest("profession", ("P106", "P140"), (("P27", ("Q30", "Q145")),)),)
CODES = {"languages": wikidata_codes("en"), "own": wikidata_codes("en")}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("oxigraph")
    with oxigraph(REAL / "codex_truthy.nt.gz", folder) as url:
        yield url


@pytest.fixture(scope="module")
def service(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "*")
        with Service(engine, contact="curators@example.org", cache=cache) as opened:
            yield opened


@pytest.fixture(scope="module")
def facts(service: Service) -> Facts:
    return query(service, ASKS, **CODES)


@pytest.fixture(scope="module")
def scanned() -> Scanned:
    return scan([PEOPLE], ASKS, **CODES)


def counted(counts: list[Count]) -> dict[tuple[str, str], int]:
    return {(c.property, c.item): c.count for c in counts}


def test_counts_are_those_that_were_counted_otherwise(facts: Facts, scanned: Scanned) -> None:
    with (REAL / "codex_expected_counts.tsv").open(encoding="utf-8") as file:
        expected = {
            (row["property"], row["object"]): int(row["n_subjects"])
            for row in csv.DictReader(file, delimiter="\t")
        }
    assert len(expected) == 465
    assert counted(facts.counts) == counted(scanned.facts.counts) == expected
    assert {c.domain: c.property for c in facts.counts} == {ask[0]: ask[1][0] for ask in ASKS}
    assert (scanned.lines, scanned.unreadable, scanned.rejections) == (15_626, 0, [])


def test_what_is_looked_up_and_all_above_it_is_there(facts: Facts) -> None:
    entities = {entity.id: entity for entity in facts.entities}
    parents = {name: entity.parents for name, entity in entities.items()}
    writer = entities["Q36180"]
    assert writer.labels == {"en": "writer"}
    assert "Q482980" in writer.parents  # author
    classes = {name for entity in facts.entities for name in entity.classes}
    assert classes <= entities.keys()
    assert with_ancestors(classes, parents) <= entities.keys()
    assert {c.item for c in facts.counts if c.count >= 100} <= entities.keys()


def test_a_service_in_a_hurry_gives_the_same(engine: str, facts: Facts, tmp_path: Path) -> None:
    how: dict[str, Any] = {"contact": "a@example.org", "pause": lambda _: None}
    with faulty(then=heavier_than(60), engine=engine) as server:
        with Service(server.url, cache=tmp_path, **how) as service:
            assert query(service, ASKS, **CODES) == facts
        assert max(seen.at_once for seen in server.seen) == 1


@pytest.mark.parametrize("asks", [ASKS, AMERICANS, AND_BRITONS], ids=["all", "US", "US or UK"])
@pytest.mark.parametrize("least", [1, 20])
def test_a_dump_gives_the_same(service: Service, asks: tuple[FactRequest, ...], least: int) -> None:
    by_query = query(service, asks, least=least, **CODES)
    by_dump = scan([PEOPLE], asks, least=least, **CODES).facts
    assert by_query.counts == by_dump.counts
    assert len(by_query.counts) > 100
    # The triples hold no descriptions; the dump, made of the same facts, does.
    dumped = {e.id: e.model_copy(update={"description": None}) for e in by_dump.entities}
    # Of these the data say nothing but their own race or religion. A dump has them, as empty
    # entities; to the service they are not there. In Wikidata each item has its sitelinks.
    empty = {name for name, entity in dumped.items() if entity == Entity(id=name)}
    assert empty <= {"Q30", "Q59778"}
    assert {e.id: e for e in by_query.entities} == {
        name: entity for name, entity in dumped.items() if name not in empty
    }


@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=pytest.mark.ray)])
def test_two_workers_on_halves_give_the_same(engine: Any, scanned: Scanned, tmp_path: Path) -> None:
    lines = gzip.decompress(PEOPLE.read_bytes()).splitlines(keepends=True)
    middle, parts = len(lines) // 2, [tmp_path / "1.json.gz", tmp_path / "2.json.gz"]
    for part, some in zip(parts, (lines[:middle], lines[middle:]), strict=True):
        part.write_bytes(gzip.compress(b"".join(some), 1))
    assert scan(parts, ASKS, **CODES, engine=engine, workers=2) == scanned


def test_real_entities_are_read_whole() -> None:
    found = scan([ENTITIES], [FactRequest("kind", (INSTANCE,))], **CODES)
    assert (found.lines, found.unreadable, found.rejections) == (135, 0, [])
    counts = {c.item: c.count for c in found.facts.counts}
    assert counts["Q5"] == 9  # people among them, counted with json.loads, line by line
    asks = [FactRequest("part", ("P361", "P527", "P1365", "P47", "P530", "P279", "P31"))]
    known = {e.id: e for e in scan([ENTITIES], asks, **CODES).facts.entities}
    portugal = known["Q45"]
    assert portugal.labels["en"] == "Portugal"
    assert portugal.title == "Portugal"
    assert "Portuguese" in portugal.demonyms
    assert portugal.sitelinks > 200
