"""``curation terms query``: a campaign asks a real engine, is interrupted, and continues."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from curation.campaign.store import Campaign
from curation.files import read_records
from curation.records import Count, Term
from support.commands import Ran, run
from support.faulty import oxigraph

FACTS = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
wd:Q1 wdt:P106 wd:Q10, wd:Q11 . wd:Q2 wdt:P106 wd:Q10 . wd:Q3 wdt:P106 wd:Q12 ; wdt:P140 wd:Q20 .
wd:Q10 rdfs:label "baker"@en . wd:Q11 rdfs:label "bread baker"@en ; wdt:P279 wd:Q10 .
wd:Q12 rdfs:label "boulanger"@fr . wd:Q20 rdfs:label "Orchard Temple"@en .
"""
TOML = """
[campaign]
id = "c-query"
[terms]
contact = "CONTACT"
endpoint = "URL"
least = 1
[domains.profession]
properties = ["P106"]
[domains.religion]
properties = ["P140"]
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("oxigraph")
    (folder / "facts.ttl").write_text(FACTS, "utf-8")
    with oxigraph(folder / "facts.ttl", folder) as url:
        yield url


def ask(campaign: Campaign, url: str, *, contact: str = "me@example.org") -> None:
    text = TOML.replace("URL", url).replace("CONTACT", contact)
    (campaign.root / "campaign.toml").write_text(text, "utf-8")


def counted(campaign: Campaign) -> list[tuple[str, str, int]]:
    counts = read_records(campaign.folder("terms") / "counts.jsonl", Count)
    return [(c.domain, c.item, c.count) for c in counts]


def terms(campaign: Campaign, *words: str, code: int = 0) -> Ran:
    """What ``curation terms`` says, and that it ends with this code."""
    done = run("terms", *words, "-c", campaign.root)
    assert done.code == code, done.err
    return done


def test_a_campaign_asks_selects_and_explains(campaign: Campaign, engine: str) -> None:
    ask(campaign, engine)
    assert "next: curation terms select" in terms(campaign, "query").out
    said = json.loads(terms(campaign, "query", "--json").out)
    assert (said["on_disk"] > 0, said["asked"]) == (True, 0)
    assert counted(campaign) == [
        ("profession", "Q10", 2),
        ("profession", "Q11", 1),
        ("profession", "Q12", 1),
        ("religion", "Q20", 1),
    ]
    terms(campaign, "select")
    chosen = read_records(campaign.folder("terms") / "targets.jsonl", Term)
    # The paper's «all» for professions merges: 2 bakers and 1 bread baker.
    assert [(t.text, t.count) for t in chosen] == [("baker", 3), ("Orchard Temple", 1)]
    (story,) = json.loads(terms(campaign, "explain", "bread baker", "--json").out)
    assert (story["status"], story["reason"], story["into"]) == ("merged", "too_fine", "baker")
    why = "no label in en, mul; to give it one, rename Q12 in edits.csv"
    assert why in terms(campaign, "explain", "Q12").out


def test_a_kill_leaves_the_last_good_facts(campaign: Campaign, engine: str, content: Any) -> None:
    def facts() -> dict[str, Any]:
        return {n: sha for n, sha in content(campaign.root).items() if "answers" not in n}

    ask(campaign, engine)
    terms(campaign, "query")
    before = facts()
    for moment in (0.0, 0.02, 0.05, 0.1):
        run("terms", "query", "--fresh", "-c", campaign.root, seconds=moment)
        terms(campaign, "query")
        assert facts() == before
