"""``curation terms query``: a campaign asks a real engine, is interrupted, and continues."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from curation.campaign.store import Campaign
from curation.files import read_records
from curation.records import Count, Entity, Term
from support.commands import Ran, run
from support.faulty import Answer, Seen, faulty, oxigraph

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


def test_without_a_contact_nothing_is_asked(campaign: Campaign, engine: str) -> None:
    with faulty(engine=engine) as server:
        ask(campaign, server.url, contact="")
        assert "contact in [terms] of campaign.toml" in terms(campaign, "query", code=1).err
        assert server.seen == []
    assert not (campaign.folder("terms") / "counts.jsonl").exists()


def test_a_run_that_was_shut_out_goes_on_where_it_was(campaign: Campaign, engine: str) -> None:
    def shut_out(seen: Seen) -> Answer | None:
        return Answer(403, "Too many requests") if "P140" in seen.query else None

    with faulty(then=shut_out, engine=engine) as server:
        ask(campaign, server.url)
        assert "403" in terms(campaign, "query", code=1).err
        assert len(server.seen) == 2  # professions, and then religions in vain
        assert not (campaign.folder("terms") / "counts.jsonl").exists()
        server.then = None
        said = json.loads(terms(campaign, "query", "--json").out)
        assert (said["on_disk"], said["asked"]) == (1, len(server.seen) - 2)
    assert len(counted(campaign)) == 4


def test_one_domain_is_asked_anew_and_others_facts_stay(campaign: Campaign, engine: str) -> None:
    ask(campaign, engine)
    terms(campaign, "query")
    before, entities = counted(campaign), campaign.folder("terms") / "entities.jsonl"
    known = read_records(entities, Entity)
    terms(campaign, "query", "--domain", "religion", "--fresh")
    assert counted(campaign) == before
    assert read_records(entities, Entity) == known
    assert "no domain 'hobby'" in terms(campaign, "query", "--domain", "hobby", code=1).err


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


def test_a_campaign_that_asks_nothing_is_told(campaign: Campaign) -> None:
    (campaign.root / "campaign.toml").write_text('[campaign]\nid = "c-none"\n[domains.caste]\n')
    said = terms(campaign, "query", code=1).err
    assert "no domain asks anything of Wikidata" in said
    assert 'properties = ["P106"]' in said
