"""Real entities of Wikidata, in the form in which the dump has them."""

import csv
import gzip
from pathlib import Path

import pytest

from curation.records import Entity
from curation.terms.dump import scan
from curation.terms.facts import INSTANCE, FactRequest, Facts, languages
from support.faulty import oxigraph

REAL = Path(__file__).parents[3] / "shared" / "realdata" / "wikidata"
PEOPLE, ENTITIES = REAL / "codex_people_dump.json.gz", REAL / "real_entities_dump.json.gz"
pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not REAL.is_dir(), reason=f"Wikidata's facts are not at {REAL}"),
]
ASKS = (
    FactRequest("profession", ("P106",)),
    FactRequest("race", ("P172",)),
    FactRequest("religion", ("P140",)),
)
AND_BRITONS = (FactRequest("profession", ("P106", "P140"), (("P27", ("Q30", "Q145")),)),)
CODES = {"languages": languages("en"), "own": languages("en")}
needs_ray = pytest.mark.ray


def halves(path: Path, folder: Path) -> list[Path]:
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    middle = len(lines) // 2
    parts = [folder / "1.json.gz", folder / "2.json.gz"]
    for part, some in zip(parts, (lines[:middle], lines[middle:]), strict=True):
        part.write_bytes(gzip.compress(b"".join(some)))
    return parts


def test_counts_are_those_that_were_counted_otherwise() -> None:
    with (REAL / "codex_expected_counts.tsv").open(encoding="utf-8") as file:
        expected = {
            (row["property"], row["object"]): int(row["n_subjects"])
            for row in csv.DictReader(file, delimiter="\t")
        }
    found = scan([PEOPLE], ASKS, **CODES)
    assert len(expected) == 465
    assert {(c.property, c.item): c.count for c in found.facts.counts} == expected
    assert (found.lines, found.unreadable, found.rejections) == (15_626, 0, [])


@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=needs_ray)])
def test_two_workers_on_two_halves_give_what_one_gives(engine: str, tmp_path: Path) -> None:
    whole = scan([PEOPLE], ASKS, **CODES)
    split = scan(halves(PEOPLE, tmp_path), ASKS, **CODES, engine=engine, workers=2)  # type: ignore[arg-type]
    assert split == whole


def test_real_entities_are_read_whole() -> None:
    kinds = FactRequest("kind", (INSTANCE,))
    found = scan([ENTITIES], [kinds], languages=languages("en"), own=languages("en"))
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


@pytest.mark.parametrize("asks", [ASKS, AND_BRITONS], ids=["all", "with a population"])
@pytest.mark.parametrize("least", [1, 20])
def test_a_query_service_says_the_same(
    asks: tuple[FactRequest, ...], least: int, tmp_path: Path
) -> None:
    from curation.terms.wikidata import Service, query

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "*")
        with (
            oxigraph(REAL / "codex_truthy.nt.gz", tmp_path) as url,
            Service(url, contact="curators@example.org", cache=tmp_path / "cache") as service,
        ):
            asked = query(service, asks, **CODES, least=least)
    assert comparable(scan([PEOPLE], asks, **CODES, least=least).facts) == comparable(asked)


def comparable(facts: Facts) -> Facts:
    """Without what the triples leave out: descriptions, and items of which they say nothing."""
    entities = [entity.model_copy(update={"description": None}) for entity in facts.entities]
    return Facts(facts.counts, [e for e in entities if e != Entity(id=e.id)])
