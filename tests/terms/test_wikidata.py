"""Facts by query: from a real engine with difficult data, over a faulty network."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

import curation
from curation.files import CurationError
from curation.records import Count, Entity
from curation.terms import wikidata
from curation.terms.facts import FactRequest, Facts
from curation.terms.wikidata import GOES_ON, Service, TooHeavyError, query
from support.faulty import (
    CUT,
    FAILED,
    GOOD,
    HALF,
    PAGE,
    RESET,
    SLOW,
    TRACE,
    Answer,
    Fault,
    Faulty,
    always,
    faulty,
    heavier_than,
    oxigraph,
    rows,
)

TRAPS = """
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX schema: <http://schema.org/>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
PREFIX wd: <http://www.wikidata.org/entity/>
PREFIX wdt: <http://www.wikidata.org/prop/direct/>
PREFIX wikibase: <http://wikiba.se/ontology#>

wd:Q1 wdt:P106 wd:Q10, wd:Q11 ; wdt:P27 wd:Q200 ; wdt:P21 wd:Q300 .
wd:Q2 wdt:P106 wd:Q11, _:unknown ; wdt:P27 wd:Q200, wd:Q201 ; wdt:P21 wd:Q301 .
wd:Q3 wdt:P106 wd:Q11, "baker", wd:P106, wd:L10-S1, wd:Q78-F1,
        <http://www.wikidata.org/.well-known/genid/0>, "http://www.wikidata.org/entity/Q77" ;
    wdt:P27 wd:Q201 .
wd:Q4 wdt:P106 wd:Q10, wd:Q12, wd:Q13 .

wd:Q10 rdfs:label "Bäcker"@de, "Baker"@mul, "baker"@en, "padeiro"@pt, "padeiro (BR)"@pt-BR,
        "boulanger"@fr ;
    skos:altLabel "Semmelbäcker"@de, "Backmeister"@de, "Panettiere"@mul, "Backmeister"@mul,
        "bread maker"@en ;
    schema:description "Beruf"@de, "makes bread"@en ;
    wdt:P279 wd:Q20, _:somebody ; wdt:P31 wd:Q31, wd:Q30 ;
    wdt:P2521 "Bäckerin"@de, "padeira"@pt ; wdt:P3321 "Bäcker"@de ;
    wikibase:sitelinks 57 .
<https://de.wikipedia.org/wiki/B> schema:about wd:Q10 ; schema:name "Bäcker"@de ;
    schema:isPartOf <https://de.wikipedia.org/> .
<https://pt.wikipedia.org/wiki/P> schema:about wd:Q10 ; schema:name "Padeiro"@pt ;
    schema:isPartOf <https://pt.wikipedia.org/> .
<https://de.wikiquote.org/wiki/Q> schema:about wd:Q10 ; schema:name "Backen"@de ;
    schema:isPartOf <https://de.wikiquote.org/> .

wd:Q11 rdfs:label "cook"@en ; wdt:P279 wd:Q100, wd:Q20 .
<https://www.wikidata.org/wiki/Special:EntityData/Q11> schema:about wd:Q11 ;
    wikibase:sitelinks 3 .
wd:Q13 rdfs:label "Vanuatu"@mul ; schema:description "island country"@en ; wikibase:sitelinks 0 ;
    wdt:P1549 "Vanuatuer"@de, "Ni-Vanuatu"@de, "Ni-Vanuatu"@mul, "Vanuatuan"@mul, "Vanuatuan"@en .

wd:Q20 rdfs:label "Handwerker"@de ; wdt:P279 wd:Q21 .
wd:Q21 wdt:P279 wd:Q20 ; wdt:P31 wd:Q20, wd:Q30 .
wd:Q30 rdfs:label "Beruf"@de ; wdt:P279 wd:Q32, wd:Q21 ; wdt:P31 wd:Q33 .
wd:Q32 wdt:P279 wd:Q30 .
wd:Q100 rdfs:label "Person"@de .
"""
CONTACT = "curators@example.org"
OCCUPATIONS = FactRequest("profession", ("P106",))


class Waits:
    """Records the requested waits and the messages, instead of waiting."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.messages: list[str] = []


Open = Callable[..., Service]


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def open_service(tmp_path: Path, waits: Waits, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    monkeypatch.setenv("NO_PROXY", "*")
    opened = ExitStack()

    def make(server: Faulty | str, **more: Any) -> Service:
        service = Service(
            server if isinstance(server, str) else server.url,
            **{
                "contact": CONTACT,
                "cache": tmp_path / "cache",
                "tell": waits.messages.append,
                "pause": waits.seconds.append,
                "timeout": (5, 30),
                **more,
            },
        )
        return opened.enter_context(service)

    with opened:
        yield make


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("oxigraph")
    (folder / "traps.ttl").write_text(TRAPS, "utf-8")
    with oxigraph(folder / "traps.ttl", folder) as url:
        yield url


def look_up(service: Service, *asks: FactRequest, **more: Any) -> Facts:
    return query(service, asks, **{"languages": ("de", "mul", "en"), "own": ("de", "mul"), **more})


# --- what comes of the data -----------------------------------------------------------------

# By hand from the triples above; Q12 and Q31 have no rows of their own: one is wanted, one a class.
BAKER = Entity(
    id="Q10",
    labels={"de": "Bäcker", "mul": "Baker", "en": "baker"},
    aliases=("Backmeister", "Semmelbäcker", "Panettiere"),  # de before mul; en is not own
    description="Beruf",
    parents=("Q20",),
    classes=("Q30", "Q31"),
    sitelinks=57,  # the form of the query service
    title="Bäcker",
    feminine=("Bäckerin",),
    masculine=("Bäcker",),
)
COOK = Entity(
    id="Q11", labels={"en": "cook"}, parents=("Q20", "Q100"), sitelinks=3
)  # that of dumps
EXPECTED = [
    BAKER,
    COOK,
    Entity(
        id="Q13",
        labels={"mul": "Vanuatu"},
        description="island country",  # only the last of the languages has one
        demonyms=("Ni-Vanuatu", "Vanuatuer", "Vanuatuan"),
        sitelinks=0,
    ),
    Entity(id="Q20", labels={"de": "Handwerker"}, parents=("Q21",)),
    Entity(id="Q21", parents=("Q20",), classes=("Q20", "Q30")),  # a circle; Q20 is known already
    Entity(id="Q30", parents=("Q21", "Q32")),  # a class: no more than its parents
    Entity(id="Q31"),
    Entity(id="Q32", parents=("Q30",)),  # a circle of classes
    Entity(id="Q100", labels={"de": "Person"}),
]


def counted(*found: tuple[str, int], domain: str = "profession") -> list[Count]:
    return [Count(domain=domain, property="P106", item=i, count=n) for i, n in found]


def test_the_facts_of_data_full_of_traps(engine: str, open_service: Open) -> None:
    facts = look_up(open_service(engine), OCCUPATIONS)
    # Unknown values, a text, a property and a lexeme are objects too, but no items.
    assert facts.counts == counted(("Q11", 3), ("Q10", 2), ("Q12", 1), ("Q13", 1))
    assert facts.entities == EXPECTED


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_the_size_of_batches_changes_nothing(engine: str, open_service: Open, batch: int) -> None:
    assert look_up(open_service(engine), OCCUPATIONS, batch=batch).entities == EXPECTED


def test_rare_objects_are_counted_but_not_looked_up(engine: str, open_service: Open) -> None:
    facts = look_up(open_service(engine), OCCUPATIONS, least=3)
    assert len(facts.counts) == 4
    assert [e.id for e in facts.entities] == ["Q11", "Q20", "Q21", "Q30", "Q32", "Q100"]


def test_a_population_counts_only_its_members(engine: str, open_service: Open) -> None:
    def of(*population: tuple[str, tuple[str, ...]]) -> list[Count]:
        ask = FactRequest("profession", ("P106",), population)
        return look_up(open_service(engine), ask).counts

    # Q1 and Q2 are of Q200, Q2 and Q3 of Q201: Q2 is counted once.
    assert of(("P27", ("Q200",))) == counted(("Q11", 2), ("Q10", 1))
    assert of(("P27", ("Q200", "Q201"))) == counted(("Q11", 3), ("Q10", 1))
    assert of(("P27", ("Q200",)), ("P21", ("Q300",))) == counted(("Q10", 1), ("Q11", 1))
    assert of(("P27", ("Q999",))) == []


def test_one_property_in_two_domains_is_asked_once(engine: str, open_service: Open) -> None:
    with faulty(engine=engine) as server:
        service = open_service(server, fresh=True)
        facts = look_up(service, OCCUPATIONS, FactRequest("trade", ("P106",)))
        assert len({seen.query for seen in server.seen}) == len(server.seen) == service.asked
    assert [c.domain for c in facts.counts] == ["profession"] * 4 + ["trade"] * 4
    assert facts.entities == EXPECTED


def test_the_campaigns_language_decides_on_texts(engine: str, open_service: Open) -> None:
    facts = look_up(
        open_service(engine), OCCUPATIONS, languages=("pt-br", "pt", "en"), own=("pt-br", "pt")
    )
    baker = next(e for e in facts.entities if e.id == "Q10")
    assert baker.labels == {"pt-br": "padeiro (BR)", "pt": "padeiro", "en": "baker"}
    assert (baker.title, baker.description) == ("Padeiro", "makes bread")
    assert baker.feminine == ("padeira",)


def test_a_tag_may_be_written_in_either_case() -> None:
    # This engine lowers the tags that it reads; others keep them.
    assert (
        'FILTER(LANG(?v) IN ("zh-hant", "zh-Hant", "pt-br", "pt-BR", "en"))'
        in wikidata.details_query(["Q10"], ("zh-hant", "pt-br", "en"), ())
    )
    found = {"type": "literal", "value": "padeiro", "xml:lang": "pt-BR"}
    row = {"o": {"type": "uri", "value": "http://www.wikidata.org/entity/Q10"}, "v": found}
    entity = wikidata.read_details([row | {"k": {"value": "label"}}], ["pt-br"], [])["Q10"]
    assert entity.labels == {"pt-br": "padeiro"}


def test_nothing_counted_is_nothing_looked_up(engine: str, open_service: Open) -> None:
    service = open_service(engine)
    assert look_up(service, FactRequest("race", ("P172",))) == Facts([], [])
    assert service.asked == 1


def test_progress_is_reported_by_stage(engine: str, open_service: Open) -> None:
    progress: list[tuple[str, int, int]] = []
    look_up(open_service(engine), OCCUPATIONS, batch=3, tell=lambda *stage: progress.append(stage))
    assert progress == [
        ("counts", 0, 1),
        ("counts", 1, 1),
        ("details", 3, 6),  # Q10, Q11, Q12; with Q13 four are wanted, above them Q20 and Q100
        ("details", 4, 6),
        ("details", 6, 7),  # above Q20 is Q21
        ("details", 7, 7),
        ("classes", 2, 2),
        ("classes", 3, 3),
    ]


# --- what is asked --------------------------------------------------------------------------


def test_counting_is_in_the_one_form_that_is_answered_from_the_index() -> None:
    *prefixes, asked = wikidata.count_query("P106").splitlines()
    assert asked == "SELECT ?o (COUNT(?s) AS ?n) WHERE { ?s wdt:P106 ?o } GROUP BY ?o"
    assert all(line.startswith("PREFIX ") for line in prefixes)


def test_subjects_are_counted_distinct_only_if_they_may_match_twice() -> None:
    once, twice = (("P27", ("Q1",)),), (("P27", ("Q1", "Q2")),)
    assert wikidata.count_query("P106", once).splitlines()[-1] == (
        "SELECT ?o (COUNT(?s) AS ?n) WHERE { VALUES ?p0 { wd:Q1 } ?s wdt:P27 ?p0 . "
        "?s wdt:P106 ?o } GROUP BY ?o"
    )
    assert "(COUNT(DISTINCT ?s) AS ?n) WHERE { VALUES ?p0 { wd:Q1 wd:Q2 }" in wikidata.count_query(
        "P106", twice
    )


def test_every_query_is_plain_sparql(engine: str, open_service: Open) -> None:
    with faulty(heavier_than(-1), heavier_than(-1), heavier_than(-1), engine=engine) as server:
        look_up(
            open_service(server), FactRequest("profession", ("P106",), (("P27", ("Q200", "Q201")),))
        )
    assert len({seen.query for seen in server.seen}) >= 5
    for asked in {seen.query for seen in server.seen}:
        head, body = asked.split("SELECT", 1)
        declared = {line.split(":")[0].removeprefix("PREFIX ") for line in head.splitlines()}
        used = {word.split(":")[0] for word in body.split() if ":" in word and word[0].isalpha()}
        assert used <= declared
        for trap in ("hint:", "bd:", "SERVICE", "HAVING", "OFFSET", "LIMIT", "SAMPLE", "ORDER"):
            assert trap not in body


def test_who_asks_is_said_and_one_thing_at_a_time(engine: str, open_service: Open) -> None:
    with faulty(engine=engine) as server:
        look_up(open_service(server), OCCUPATIONS, batch=1)
    assert len(server.seen) > 5
    for seen in server.seen:
        agent = seen.headers["User-Agent"]
        assert agent.startswith(f"curation/{curation.__version__} ({CONTACT}) requests/")
        assert seen.method == "POST"
        assert seen.headers["Content-Type"] == "application/x-www-form-urlencoded"
        assert seen.headers["Accept"] == "application/sparql-results+json"
        assert seen.form.keys() == {"query"}
        assert seen.at_once == 1


@pytest.mark.parametrize("contact", ["", "me", "me@home", "http://x", "a@b.org\r\nX: y", "ä@b.org"])
def test_without_a_contact_nothing_is_asked(open_service: Open, contact: str) -> None:
    with faulty() as server, pytest.raises(CurationError, match="contact = ") as error:
        open_service(server, contact=contact)
    assert not server.seen
    assert "in [terms] of campaign.toml" in error.value.fix


@pytest.mark.parametrize("contact", ["a.b+c@example.org", "https://example.org/~me/project"])
def test_an_address_or_a_page_is_a_contact(open_service: Open, contact: str) -> None:
    with faulty(then=GOOD) as server:
        open_service(server, contact=contact).select("ASK")
    assert f"({contact})" in server.seen[0].headers["User-Agent"]


@pytest.mark.parametrize(
    "endpoint", ["", "blazegraph", "ftp://example.org", "https://", "http://["]
)
def test_an_unknown_service_is_refused_with_the_choices(open_service: Open, endpoint: str) -> None:
    with pytest.raises(CurationError, match="is not a query service") as error:
        open_service(endpoint)
    assert "wdqs or qlever" in error.value.fix


def test_services_have_names(open_service: Open) -> None:
    assert open_service("wdqs").url == "https://query.wikidata.org/sparql"
    assert open_service("qlever").host == "qlever.dev"


# --- faults that pass -----------------------------------------------------------------------


def busy(after: str | None = None, status: int = 429) -> Fault:
    return always(Answer(status, "Too Many Requests", {"Retry-After": after} if after else {}))


def test_it_waits_as_long_as_it_is_asked_to(open_service: Open, waits: Waits) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    with faulty(busy("120"), busy(date), busy("soon"), busy("7", 503), then=GOOD) as server:
        service = open_service(server)
        assert wikidata.read_counts(service.select("SELECT")) == {"Q1": 7}
    assert len(server.seen) == 5
    assert waits.seconds[0] == 120
    assert 85 < waits.seconds[1] <= 90
    assert waits.seconds[2:] == [60, 7]  # nobody knows when soon is
    assert waits.messages[0] == f"{service.host}: the service asks to wait 120 s"
    assert all(seen.at_once == 1 for seen in server.seen)


def test_without_a_time_it_waits_a_minute(open_service: Open, waits: Waits) -> None:
    with faulty(busy(), then=GOOD) as server:
        open_service(server).select("SELECT")
    assert waits.seconds == [60]
    assert "answered 429: «Too Many Requests»; asking again in 60 s" in waits.messages[0]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (FAILED, "answered 500: «java.util.concurrent.TimeoutException: Query deadline is expired"),
        (CUT, "the answer was cut off: «java.util.concurrent.TimeoutException: Query deadline"),
        (PAGE, "answered with a page instead of results: «<!DOCTYPE html> <title>Log in to"),
        (always(Answer(SLOW)), "no answer within 0.4 s"),
        (always(Answer(RESET)), "the answer broke off"),
        (always(Answer(HALF)), "the answer broke off"),
        (always(Answer(502, "Bad Gateway")), "answered 502: «Bad Gateway»"),
        (always(Answer(200, '{"results": []}')), "the answer was cut off: «{"),
        (always(Answer(200, "")), "the answer was cut off: «»"),
    ],
    ids=["500", "cut", "page", "slow", "reset", "half", "502", "not-sparql", "empty"],
)
def test_what_may_pass_is_tried_again(
    open_service: Open, waits: Waits, tmp_path: Path, fault: Fault, expected: str
) -> None:
    with faulty(fault, fault, then=GOOD) as server:
        service = open_service(server, timeout=(5, 0.4))
        assert wikidata.read_counts(service.select("SELECT")) == {"Q1": 7}
        assert len(server.seen) == 3
    assert waits.seconds == [5, 30]
    assert all(expected in message for message in waits.messages)
    assert len(list((tmp_path / "cache").iterdir())) == 1  # only the good answer


@pytest.mark.parametrize("fault", [FAILED, CUT, always(Answer(SLOW)), always(Answer(RESET))])
def test_what_does_not_pass_is_too_heavy(open_service: Open, fault: Fault) -> None:
    with faulty(then=fault) as server:
        service = open_service(server, timeout=(5, 0.4))
        with pytest.raises(TooHeavyError):
            service.select("SELECT")
        assert len(server.seen) == 3
        assert not service.holds("SELECT")
        assert service.asked == 0


@pytest.mark.parametrize(
    "answer", [Answer(413), Answer(414), Answer(429, '{"exception": "Operation timed out."}')]
)
def test_where_less_must_be_asked_it_is_not_tried_again(
    open_service: Open, waits: Waits, answer: Answer
) -> None:
    with faulty(then=always(answer)) as server, pytest.raises(TooHeavyError):
        open_service(server).select("SELECT")
    assert len(server.seen) == 1
    assert not waits.seconds


def test_rows_that_were_held_back_are_missed() -> None:
    body = json.loads(rows({"o": "Q1", "n": "7"}).body)
    assert (
        wikidata.decode_rows(body | {"meta": {"result-size-total": 1}})
        == body["results"]["bindings"]
    )
    assert wikidata.decode_rows(body | {"meta": {"result-size-total": 2}}) is None  # QLever's send=


# --- faults that stay -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "what", "fix"),
    [
        (Answer(403, "Please set a user-agent"), "403: «Please set a user", "curators@example.org"),
        (Answer(400, f"{TRACE}MalformedQuery"), "400: «java.util.conc", "standard SPARQL 1.1"),
        (Answer(404, "Not Found"), "404: «Not Found»", "address"),
        (Answer(401), "401: «»", "address"),
        (Answer(307, "", {"Location": "https://elsewhere.org/"}), "307", "https://elsewhere.org/"),
        (Answer(201, "done"), "201: «done»", "address"),
    ],
)
def test_what_is_final_is_asked_once(
    open_service: Open, waits: Waits, answer: Answer, what: str, fix: str
) -> None:
    with faulty(then=always(answer)) as server:
        service = open_service(server)
        with pytest.raises(CurationError, match=f"{service.host}: answered {what}") as error:
            service.select("SELECT")
    assert fix in error.value.fix
    assert len(server.seen) == 1
    assert not waits.seconds


@pytest.mark.parametrize(("after", "waited"), [("30", [30] * 5), (None, [60, 60])])
def test_it_does_not_wait_for_ever(
    open_service: Open, waits: Waits, after: str | None, waited: list[float]
) -> None:
    with (
        faulty(then=busy(after)) as server,
        pytest.raises(CurationError, match="answered 429") as error,
    ):
        open_service(server).select("SELECT")
    assert waits.seconds == waited
    assert len(server.seen) == len(waited) + 1
    assert "run this again later" in error.value.fix


def test_a_page_is_shown_and_no_less_is_asked(open_service: Open) -> None:
    with (
        faulty(then=PAGE) as server,
        pytest.raises(CurationError, match="«<!DOCTYPE html> <title>Log in to") as error,
    ):
        look_up(open_service(server), OCCUPATIONS)
    assert len(server.seen) == 3
    assert "browser" in error.value.fix


def test_nobody_there(open_service: Open, waits: Waits) -> None:
    with faulty() as server:
        service = open_service(server)
    with pytest.raises(CurationError, match=f"{service.host}: no connection .*refused") as error:
        service.select("SELECT")
    assert waits.seconds == [2, 4, 8]
    assert waits.messages[0] == f"{service.host}: no connection; trying again in 2 s"
    assert GOES_ON in error.value.fix


def test_no_such_host(open_service: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(CurationError, match=r"query\.wikidata\.org: no connection .*not known"):
        open_service("wdqs").select("SELECT")


@pytest.mark.parametrize("endpoint", ["https://127.0.0.1:{port}/", "http://127.0.0.1:{port}9999/"])
def test_an_address_that_cannot_be_spoken_to(
    open_service: Open, waits: Waits, endpoint: str
) -> None:
    with faulty() as server:
        service = open_service(endpoint.format(port=server.server_address[1]))
        with pytest.raises(CurationError, match="no connection") as error:
            service.select("SELECT")
    assert "address" in error.value.fix
    assert not server.seen
    assert not waits.seconds


# --- too much at once -----------------------------------------------------------------------


def test_batches_are_halved_until_they_can_be_answered(engine: str, open_service: Open) -> None:
    with faulty(then=heavier_than(1), engine=engine) as server:
        facts = look_up(open_service(server), OCCUPATIONS, batch=4)
    assert facts.entities == EXPECTED
    answered = [s.items[0] for s in server.seen if len(s.items) == 1 and "skos:" in s.query]
    assert answered.count("Q10") == 1
    assert len(server.seen[1].items) == 4  # the whole batch came first


def test_counts_that_are_too_heavy_are_counted_in_batches(engine: str, open_service: Open) -> None:
    with faulty(then=too_heavy("GROUP BY", more_than=1), engine=engine) as server:
        facts = look_up(open_service(server), OCCUPATIONS, batch=4)
    assert facts.counts == counted(("Q11", 3), ("Q10", 2), ("Q12", 1), ("Q13", 1))
    assert facts.entities == EXPECTED
    assert any("SELECT DISTINCT ?o" in seen.query for seen in server.seen)


def too_heavy(kind: str, more_than: int = -1) -> Fault:
    """Queries of a kind time out, but for those about some items, if these are few."""

    def fault(seen: Any) -> Answer | None:
        few = seen.items and len(seen.items) <= more_than
        return Answer(500, TRACE) if kind in seen.query and not few else None

    return fault


def test_where_nothing_can_be_counted_the_dump_is_named(engine: str, open_service: Open) -> None:
    with (
        faulty(then=too_heavy("?s wdt:P106"), engine=engine) as server,
        pytest.raises(CurationError, match="the objects of P106 are too many") as error,
    ):
        look_up(open_service(server), OCCUPATIONS)
    assert "curation terms scan" in error.value.fix


def test_one_item_that_is_too_heavy_is_named(engine: str, open_service: Open) -> None:
    def fault(seen: Any) -> Answer | None:
        return Answer(500, TRACE) if "Q12" in seen.items else None

    with faulty(then=fault, engine=engine) as server:
        service = open_service(server)
        with pytest.raises(CurationError, match=f"{service.host}: Q12 alone .*deadline") as error:
            look_up(service, OCCUPATIONS)
    assert GOES_ON in error.value.fix
    assert "curation terms scan" in error.value.fix


# --- what is kept ---------------------------------------------------------------------------


def test_a_run_that_dies_goes_on_where_it_stopped(
    engine: str, open_service: Open, tmp_path: Path
) -> None:
    with faulty(engine=engine) as server:
        whole = look_up(open_service(server, cache=tmp_path / "other"), OCCUPATIONS, batch=2)
        needed = len(server.seen)
    with faulty(*[always_forward] * 4, then=busy("1"), engine=engine) as server:
        with pytest.raises(CurationError, match="answered 429"):
            look_up(open_service(server), OCCUPATIONS, batch=2)
        server.then = None
        server.seen.clear()
        service = open_service(server)
        assert look_up(service, OCCUPATIONS, batch=2) == whole
        assert (service.asked, service.cached) == (len(server.seen), 4)
        assert len(server.seen) == needed - 4
    # With the server gone, the same is all on disk; least only takes from it.
    service = open_service(server)
    assert look_up(service, OCCUPATIONS, batch=2) == whole
    assert (service.asked, service.cached) == (0, needed)


def always_forward(_: Any) -> None:
    return None


def test_what_was_too_heavy_is_not_tried_whole_again(engine: str, open_service: Open) -> None:
    def fault(seen: Any) -> Answer | None:
        heavy = "GROUP BY" in seen.query and not seen.items
        return Answer(413) if heavy or len(seen.items) > 1 else None

    with faulty(then=fault, engine=engine) as server:
        facts = look_up(open_service(server), OCCUPATIONS, batch=4)
        server.seen.clear()
        assert look_up(open_service(server), OCCUPATIONS, batch=4) == facts
        assert not server.seen


def test_an_answer_is_kept_with_its_question_and_time(open_service: Open, tmp_path: Path) -> None:
    with faulty(GOOD) as server:
        first = open_service(server)
        kept = first.select("SELECT 1")
    (path,) = (tmp_path / "cache").iterdir()
    content = json.loads(path.read_bytes())
    assert content == {
        "endpoint": server.url,
        "query": "SELECT 1",
        "asked_at": content["asked_at"],
        "results": {"bindings": kept},
    }
    assert (first.asked, first.cached, first.oldest) == (1, 0, None)
    second = open_service(server)
    assert second.holds("SELECT 1")
    assert second.select("SELECT 1") == kept
    assert (second.asked, second.cached, second.oldest) == (0, 1, content["asked_at"])
    assert not open_service("https://example.org/sparql").holds("SELECT 1")


def test_the_oldest_answer_is_known(open_service: Open, tmp_path: Path) -> None:
    with faulty(then=GOOD) as server:
        for query in ("A", "B"):
            open_service(server).select(query)
            time.sleep(0.002)
        times = [json.loads(p.read_bytes())["asked_at"] for p in (tmp_path / "cache").iterdir()]
        service = open_service(server)
        for query in ("B", "A", "C"):
            service.select(query)
    assert service.oldest == min(times) < max(times)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b'{"query": "Q", "asked_at": "2026-01-01", "results": {"bindings": [1]}}',
        b'{"query": "Q", "asked_at": 2026, "results": {"bindings": []}}',
        b'{"query": "other", "asked_at": "2026-01-01", "results": {"bindings": []}}',
    ],
)
def test_a_damaged_answer_is_asked_again(open_service: Open, tmp_path: Path, damage: bytes) -> None:
    with faulty(then=GOOD) as server:
        good = open_service(server).select("Q")
        (path,) = (tmp_path / "cache").iterdir()
        path.write_bytes(damage)
        service = open_service(server)
        assert not service.holds("Q")
        assert service.select("Q") == good
    assert len(server.seen) == 2
    assert open_service(server).select("Q") == good


def test_fresh_asks_anew_but_not_twice(open_service: Open) -> None:
    with faulty(then=GOOD) as server:
        open_service(server).select("Q")
        service = open_service(server, fresh=True)
        assert not service.holds("Q")
        assert service.select("Q") == service.select("Q")
    assert len(server.seen) == 2
    assert (service.asked, service.cached, service.oldest) == (1, 0, None)


# --- values that nobody asked for -----------------------------------------------------------


def counting(value: str, name: str = "Q1") -> Fault:
    """A service that gives this count of an item."""
    answer = json.loads(rows({"o": name, "n": "7"}).body)
    answer["results"]["bindings"][0]["n"]["value"] = value
    return always(Answer(body=json.dumps(answer)))


@pytest.mark.parametrize(("value", "count"), [("5.0", 5), ("5.0E1", 50), ("0", 0)])
def test_a_count_may_be_written_as_a_decimal_number(
    open_service: Open, value: str, count: int
) -> None:
    with faulty(counting(value)) as server:
        assert look_up(open_service(server), OCCUPATIONS).counts == counted(("Q1", count))


@pytest.mark.parametrize(
    "value", ["1e999", "-5", "abc", "", "nan", "5.5", "9" * 5000, "1e99999999999999999999"]
)
def test_an_odd_count_is_an_error_and_never_saved(
    open_service: Open, tmp_path: Path, value: str
) -> None:
    with faulty(counting(value)) as server:
        service = open_service(server)
        with pytest.raises(CurationError) as caught:
            look_up(service, OCCUPATIONS)
    problem = f"{service.host}: unusable answer: {value[:80]!r} is not a whole number"
    assert problem in caught.value.what
    assert "wdt:P106" in caught.value.what
    assert GOES_ON in caught.value.fix
    assert not list((tmp_path / "cache").glob("*.json"))


def test_an_odd_answer_on_disk_is_asked_for_again(open_service: Open, tmp_path: Path) -> None:
    with faulty(counting("-5"), counting("-6"), GOOD) as server:
        open_service(server).select(wikidata.count_query("P106"))  # saved without a check
        with pytest.raises(CurationError, match="'-6' is not a whole number"):
            look_up(open_service(server), OCCUPATIONS)
        assert look_up(open_service(server), OCCUPATIONS).counts == counted(("Q1", 7))


@pytest.mark.parametrize(
    "row", [{"k": "sitelinks", "v": "1e999"}, {"k": "links", "v": "many"}, {"v": "text"}]
)
def test_an_odd_row_of_details_is_an_error(open_service: Open, row: dict[str, str]) -> None:
    with (
        faulty(GOOD, always(rows({"o": "Q1", **row}))) as server,
        pytest.raises(CurationError, match="unusable answer"),
    ):
        look_up(open_service(server), OCCUPATIONS)


def test_an_item_with_an_absurd_number_is_left_out(open_service: Open) -> None:
    both = always(rows({"o": "Q" + "9" * 5000, "n": "3"}, {"o": "Q1", "n": "7"}))
    with faulty(both) as server:
        assert look_up(open_service(server), OCCUPATIONS).counts == counted(("Q1", 7))
