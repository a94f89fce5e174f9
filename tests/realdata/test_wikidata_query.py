"""Real facts of Wikidata, about 13,213 people, from a real SPARQL engine on this machine."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from curation.records import Entity
from curation.terms.dump import scan
from curation.terms.facts import FactRequest, Facts, above, languages
from curation.terms.wikidata import Service, query
from support.faulty import faulty, heavier_than, oxigraph

REAL = Path(__file__).parents[3] / "shared" / "realdata" / "wikidata"
pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not REAL.is_dir(), reason=f"Wikidata's facts are not at {REAL}"),
]
ASKS = (
    FactRequest("profession", ("P106",)),
    FactRequest("race", ("P172",)),
    FactRequest("religion", ("P140",)),
)
AMERICANS = (FactRequest("profession", ("P106",), (("P27", ("Q30",)),)),)
AND_BRITONS = (FactRequest("profession", ("P106", "P140"), (("P27", ("Q30", "Q145")),)),)
CODES = {"languages": languages("en"), "own": languages("en")}


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


def test_counts_are_those_that_were_counted_otherwise(facts: Facts) -> None:
    with (REAL / "codex_expected_counts.tsv").open(encoding="utf-8") as file:
        expected = {
            (row["property"], row["object"]): int(row["n_subjects"])
            for row in csv.DictReader(file, delimiter="\t")
        }
    assert len(expected) == 465
    assert {(c.property, c.item): c.count for c in facts.counts} == expected
    assert {c.domain: c.property for c in facts.counts} == {ask[0]: ask[1][0] for ask in ASKS}


def test_what_is_looked_up_and_all_above_it_is_there(facts: Facts) -> None:
    entities = {entity.id: entity for entity in facts.entities}
    parents = {name: entity.parents for name, entity in entities.items()}
    writer = entities["Q36180"]
    assert writer.labels == {"en": "writer"}
    assert "Q482980" in writer.parents  # author
    classes = {name for entity in facts.entities for name in entity.classes}
    assert classes <= entities.keys()
    assert above(classes, parents) <= entities.keys()
    assert {c.item for c in facts.counts if c.count >= 100} <= entities.keys()


def test_a_service_with_little_time_gives_the_same(
    engine: str, facts: Facts, tmp_path: Path
) -> None:
    with faulty(then=heavier_than(60), engine=engine) as server:
        with Service(
            server.url, contact="a@example.org", cache=tmp_path, pause=lambda _: None
        ) as service:
            assert query(service, ASKS, **CODES) == facts
        assert max(seen.at_once for seen in server.seen) == 1


@pytest.mark.parametrize("asks", [ASKS, AMERICANS, AND_BRITONS], ids=["all", "US", "US or UK"])
@pytest.mark.parametrize("least", [1, 20])
def test_a_dump_gives_the_same(service: Service, asks: tuple[FactRequest, ...], least: int) -> None:
    by_query = query(service, asks, least=least, **CODES)
    by_dump = scan([REAL / "codex_people_dump.json.gz"], asks, least=least, **CODES).facts
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
