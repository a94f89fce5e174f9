"""Facts by query: from a real engine with difficult data, over a faulty network."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

import curation
from curation.records import Count, Entity
from curation.terms import wikidata
from curation.terms.facts import FactRequest, Facts
from curation.terms.wikidata import GOES_ON, Service, TooHeavyError, query
from support import faulty
from support.expected import fails
from support.faulty import CUT, FAILED, GOOD, PAGE, TRACE, Answer, Fault, Seen, always

CONTACT = "curators@example.org"
OCCUPATIONS = FactRequest("profession", ("P106",))


class Net:
    """Scripted servers and services that ask them; waits are recorded instead of waited for."""

    server: faulty.Faulty

    def __init__(self, cache: Path, opened: ExitStack) -> None:
        self.cache, self.opened = cache, opened
        self.waits, self.messages = list[float](), list[str]()

    @property
    def seen(self) -> list[Seen]:
        """What the last server was asked."""
        return self.server.seen

    def open(self, url: str = "", **more: Any) -> Service:
        """A service that asks the last server, or that of another address."""
        how = {"contact": CONTACT, "cache": self.cache, "timeout": 30}
        how |= {"tell": self.messages.append, "pause": self.waits.append}
        return self.opened.enter_context(Service(url or self.server.url, **(how | more)))

    def service(
        self, *script: Fault, then: Fault | None = None, engine: str | None = None, **more: Any
    ) -> Service:
        """A service that asks a new server with this script."""
        self.server = self.opened.enter_context(faulty.faulty(*script, then=then, engine=engine))
        return self.open(**more)


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Net]:
    monkeypatch.setenv("NO_PROXY", "*")
    with ExitStack() as opened:
        yield Net(tmp_path / "cache", opened)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("oxigraph")
    with faulty.oxigraph(Path(__file__).with_name("traps.ttl"), folder) as url:
        yield url


def look_up(service: Service, *asks: FactRequest, **more: Any) -> Facts:
    """The facts of some requests, by default of occupations."""
    how = {"languages": ("de", "mul", "en"), "own": ("de", "mul"), **more}
    return query(service, asks or (OCCUPATIONS,), **how)


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


def counted(*found: tuple[str, int]) -> list[Count]:
    return [Count(domain="profession", property="P106", item=i, count=n) for i, n in found]


OF_TRAPS = counted(("Q11", 3), ("Q10", 2), ("Q12", 1), ("Q13", 1))


@pytest.mark.parametrize("options", [{}, {"batch": 1}, {"batch": 2}, {"batch": 3}])
def test_the_facts_of_data_full_of_traps(engine: str, net: Net, options: dict[str, int]) -> None:
    facts = look_up(net.open(engine), **options)
    # Unknown values, a text, a property and a lexeme are objects too, but no items.
    assert facts.counts == OF_TRAPS
    assert facts.entities == EXPECTED


def test_rare_objects_are_counted_but_not_looked_up(engine: str, net: Net) -> None:
    facts = look_up(net.open(engine), least=3)
    assert len(facts.counts) == 4
    assert [e.id for e in facts.entities] == ["Q11", "Q20", "Q21", "Q30", "Q32", "Q100"]
    service = net.open(engine)  # nothing counted is nothing looked up
    assert look_up(service, FactRequest("race", ("P172",))) == Facts([], [])
    assert service.asked == 1


@pytest.mark.parametrize(
    ("population", "expected"),
    [  # Q1 and Q2 are of Q200, Q2 and Q3 of Q201: Q2 is counted once
        ((("P27", ("Q200",)),), [("Q11", 2), ("Q10", 1)]),
        ((("P27", ("Q200", "Q201")),), [("Q11", 3), ("Q10", 1)]),
        ((("P27", ("Q200",)), ("P21", ("Q300",))), [("Q10", 1), ("Q11", 1)]),
        ((("P27", ("Q999",)),), []),
    ],
)
def test_a_population_counts_only_its_members(
    engine: str, net: Net, population: Any, expected: list[tuple[str, int]]
) -> None:
    ask = FactRequest("profession", ("P106",), population)
    assert look_up(net.open(engine), ask).counts == counted(*expected)


def test_one_property_in_two_domains_is_asked_once(engine: str, net: Net) -> None:
    service = net.service(engine=engine)
    facts = look_up(service, OCCUPATIONS, FactRequest("trade", ("P106",)))
    assert len({seen.query for seen in net.seen}) == len(net.seen) == service.asked
    assert [c.domain for c in facts.counts] == ["profession"] * 4 + ["trade"] * 4
    assert facts.entities == EXPECTED


def test_the_campaigns_language_decides_on_texts(engine: str, net: Net) -> None:
    facts = look_up(net.open(engine), languages=("pt-br", "pt", "en"), own=("pt-br", "pt"))
    baker = next(e for e in facts.entities if e.id == "Q10")
    assert baker.labels == {"pt-br": "padeiro (BR)", "pt": "padeiro", "en": "baker"}
    assert (baker.title, baker.description) == ("Padeiro", "makes bread")
    assert baker.feminine == ("padeira",)


def test_a_tag_may_be_written_in_either_case() -> None:
    # This engine lowers the tags that it reads; others keep them.
    asked = wikidata.details_query(["Q10"], ("zh-hant", "pt-br", "en"), ())
    assert 'FILTER(LANG(?v) IN ("zh-hant", "zh-Hant", "pt-br", "pt-BR", "en"))' in asked
    found = {"type": "literal", "value": "padeiro", "xml:lang": "pt-BR"}
    row = {"o": {"type": "uri", "value": "http://www.wikidata.org/entity/Q10"}, "v": found}
    entity = wikidata.read_details([row | {"k": {"value": "label"}}], ["pt-br"], [])["Q10"]
    assert entity.labels == {"pt-br": "padeiro"}


def test_progress_is_reported_by_stage(engine: str, net: Net) -> None:
    progress: list[tuple[str, int, int]] = []
    look_up(net.open(engine), batch=3, tell=lambda *stage: progress.append(stage))
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
    once, twice = (
        wikidata.count_query("P106", (("P27", items),)) for items in (("Q1",), ("Q1", "Q2"))
    )
    assert once.splitlines()[-1] == (
        "SELECT ?o (COUNT(?s) AS ?n) WHERE { VALUES ?p0 { wd:Q1 } ?s wdt:P27 ?p0 . "
        "?s wdt:P106 ?o } GROUP BY ?o"
    )
    assert "(COUNT(DISTINCT ?s) AS ?n) WHERE { VALUES ?p0 { wd:Q1 wd:Q2 }" in twice


def test_every_query_is_plain_sparql(engine: str, net: Net) -> None:
    service = net.service(*[faulty.heavier_than(-1)] * 3, engine=engine)
    look_up(service, FactRequest("profession", ("P106",), (("P27", ("Q200", "Q201")),)))
    assert len({seen.query for seen in net.seen}) >= 5
    for asked in {seen.query for seen in net.seen}:
        head, body = asked.split("SELECT", 1)
        declared = {line.split(":")[0].removeprefix("PREFIX ") for line in head.splitlines()}
        used = {word.split(":")[0] for word in body.split() if ":" in word and word[0].isalpha()}
        assert used <= declared
        for trap in ("hint:", "bd:", "SERVICE", "HAVING", "OFFSET", "LIMIT", "SAMPLE", "ORDER"):
            assert trap not in body


def test_who_asks_is_said_and_one_thing_at_a_time(engine: str, net: Net) -> None:
    look_up(net.service(engine=engine), batch=1)
    assert len(net.seen) > 5
    for seen in net.seen:
        agent = seen.headers["User-Agent"]
        assert agent.startswith(f"curation/{curation.__version__} ({CONTACT}) requests/")
        assert seen.headers["Content-Type"] == "application/x-www-form-urlencoded"
        assert seen.headers["Accept"] == "application/sparql-results+json"
        assert (seen.method, [*seen.form], seen.at_once) == ("POST", ["query"], 1)


@pytest.mark.parametrize("contact", ["", "me", "me@home", "http://x", "a@b.org\r\nX: y", "ä@b.org"])
def test_without_a_contact_nothing_is_asked(net: Net, contact: str) -> None:
    with fails("contact = ", fix="in [terms] of campaign.toml"):
        net.service(contact=contact)
    assert not net.seen


@pytest.mark.parametrize("contact", ["a.b+c@example.org", "https://example.org/~me/project"])
def test_an_address_or_a_page_is_a_contact(net: Net, contact: str) -> None:
    net.service(then=GOOD, contact=contact).select("ASK", list)
    assert f"({contact})" in net.seen[0].headers["User-Agent"]


@pytest.mark.parametrize("url", ["", "blazegraph", "ftp://example.org", "https://", "http://["])
def test_an_unknown_service_is_refused_with_the_choices(tmp_path: Path, url: str) -> None:
    with fails("is not a query service", fix="wdqs or qlever"):
        Service(url, contact=CONTACT, cache=tmp_path)


def test_services_have_names(net: Net) -> None:
    assert net.open("wdqs").url == "https://query.wikidata.org/sparql"
    assert net.open("qlever").host == "qlever.dev"


# --- faults that pass -----------------------------------------------------------------------


def busy(after: str | None = None, status: int = 429) -> Fault:
    return always(Answer(status, "Too Many Requests", {"Retry-After": after} if after else {}))


def test_it_waits_as_long_as_it_is_asked_to(net: Net) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    service = net.service(busy("120"), busy(date), busy("soon"), busy("7", 503), then=GOOD)
    assert service.select("SELECT", wikidata.read_counts) == {"Q1": 7}
    assert [seen.at_once for seen in net.seen] == [1] * 5
    first, second, *others = net.waits
    assert (first, others) == (120, [60, 7])  # nobody knows when soon is
    assert 85 < second <= 90
    asks = f"{service.host}: the service asks to wait (answered 429: «Too Many Requests»)"
    assert net.messages[0] == f"{asks}; trying again in 120 s"
    # Without a time it waits a minute.
    net.service(busy(), then=GOOD).select("SELECT", list)
    assert net.waits[4:] == [60]
    assert "answered 429: «Too Many Requests»; trying again in 60 s" in net.messages[-1]


CELL = f'{{"value": "Q1", "more": {"[" * 300}{"]" * 300}}}'  # cannot be written to the cache
DEEP = f'{{"results": {{"bindings": [{{"o": {CELL}, "n": {{"value": "7"}}}}]}}}}'
SLOW, RESET, HALF = (always(Answer(n)) for n in (faulty.SLOW, faulty.RESET, faulty.HALF))


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (FAILED, "answered 500: «java.util.concurrent.TimeoutException: Query deadline is expired"),
        (CUT, "the answer was cut off: «java.util.concurrent.TimeoutException: Query deadline"),
        (PAGE, "answered with a page instead of results: «<!DOCTYPE html> <title>Log in to"),
        (SLOW, "no answer within 0.4 s"),
        (RESET, "the connection failed ("),
        (HALF, "the connection failed ("),
        (always(Answer(502, "Bad Gateway")), "answered 502: «Bad Gateway»"),
        (always(Answer(200, '{"results": []}')), "the answer was cut off: «{"),
        (always(Answer(200, "[" * 100_000)), "the answer was cut off: «["),
        (always(Answer(200, DEEP)), "the answer was cut off: «{"),
        (always(Answer(200, "")), "the answer was cut off: «»"),
    ],
    ids=["500", "cut", "page", "slow", "reset", "half", "502", "other", "deep", "cell", "empty"],
)
def test_what_may_pass_is_tried_again(net: Net, fault: Fault, expected: str) -> None:
    service = net.service(fault, fault, then=GOOD, timeout=0.4)
    assert service.select("SELECT", wikidata.read_counts) == {"Q1": 7}
    assert len(net.seen) == 3
    assert net.waits == [5, 30]
    assert all(expected in message for message in net.messages)
    assert len(list(net.cache.iterdir())) == 1  # only the good answer


@pytest.mark.parametrize("fault", [FAILED, CUT, SLOW, RESET])
def test_what_does_not_pass_is_too_heavy(net: Net, fault: Fault) -> None:
    service = net.service(then=fault, timeout=0.1)
    with pytest.raises(TooHeavyError):
        service.select("SELECT", list)
    until = time.monotonic() + 20  # on a busy machine the server sees the last one late
    while len(net.seen) < 3 and time.monotonic() < until:
        time.sleep(0.02)
    assert len(net.seen) == 3
    assert not service.holds("SELECT")
    assert service.asked == 0


@pytest.mark.parametrize(
    "answer", [Answer(413), Answer(414), Answer(429, '{"exception": "Operation timed out."}')]
)
def test_where_less_must_be_asked_it_is_not_tried_again(net: Net, answer: Answer) -> None:
    with pytest.raises(TooHeavyError):
        net.service(then=always(answer)).select("SELECT", list)
    assert (len(net.seen), net.waits) == (1, [])


def test_rows_that_were_held_back_are_missed() -> None:
    body = json.loads(faulty.rows({"o": "Q1", "n": "7"}).body)
    whole, cut = (
        wikidata.decode_rows(body | {"meta": {"result-size-total": total}}) for total in (1, 2)
    )
    assert (whole, cut) == (body["results"]["bindings"], None)  # QLever's send=


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
def test_what_is_final_is_asked_once(net: Net, answer: Answer, what: str, fix: str) -> None:
    service = net.service(then=always(answer))
    with fails(f"{service.host}: answered {what}", fix=fix):
        service.select("SELECT", list)
    assert (len(net.seen), net.waits) == (1, [])


@pytest.mark.parametrize(("after", "waited"), [("30", [30] * 5), (None, [60, 60])])
def test_it_does_not_wait_for_ever(net: Net, after: str | None, waited: list[float]) -> None:
    with fails("answered 429", fix="run this again later"):
        net.service(then=busy(after)).select("SELECT", list)
    assert net.waits == waited
    assert len(net.seen) == len(waited) + 1


def test_a_page_is_shown_and_no_less_is_asked(net: Net) -> None:
    with fails("«<!DOCTYPE html> <title>Log in to", fix="browser"):
        look_up(net.service(then=PAGE))
    assert len(net.seen) == 3


def test_nobody_there(net: Net) -> None:
    with faulty.faulty() as server:
        service = net.open(server.url)
    with fails(f"{service.host}: no connection ", "refused", fix=GOES_ON):
        service.select("SELECT", list)
    assert net.waits == [2, 4, 8]
    first = net.messages[0]
    assert first.startswith(f"{service.host}: no connection (")
    assert first.endswith("refused); trying again in 2 s")


# --- too much at once -----------------------------------------------------------------------


def too_heavy(kind: str, more_than: int = -1) -> Fault:
    """Queries of a kind time out, but for those about some items, if these are few."""

    def fault(seen: Seen) -> Answer | None:
        few = seen.items and len(seen.items) <= more_than
        return Answer(500, TRACE) if kind in seen.query and not few else None

    return fault


def test_batches_are_halved_until_they_can_be_answered(engine: str, net: Net) -> None:
    service = net.service(then=faulty.heavier_than(1), engine=engine)
    assert look_up(service, batch=4).entities == EXPECTED
    answered = [s.items[0] for s in net.seen if len(s.items) == 1 and "skos:" in s.query]
    assert answered.count("Q10") == 1
    assert len(net.seen[1].items) == 4  # the whole batch came first


def test_counts_that_are_too_heavy_are_counted_in_batches(engine: str, net: Net) -> None:
    service = net.service(then=too_heavy("GROUP BY", more_than=1), engine=engine)
    facts = look_up(service, batch=4)
    assert facts.counts == OF_TRAPS
    assert facts.entities == EXPECTED
    assert any("SELECT DISTINCT ?o" in seen.query for seen in net.seen)


def test_where_nothing_can_be_counted_the_dump_is_named(engine: str, net: Net) -> None:
    with fails("the objects of P106 are too many", fix="curation terms scan"):
        look_up(net.service(then=too_heavy("?s wdt:P106"), engine=engine))


def test_one_item_that_is_too_heavy_is_named(engine: str, net: Net) -> None:
    def fault(seen: Seen) -> Answer | None:
        return Answer(500, TRACE) if "Q12" in seen.items else None

    service = net.service(then=fault, engine=engine)
    with fails(f"{service.host}: Q12 alone ", "deadline", fix=GOES_ON) as error:
        look_up(service)
    assert "curation terms scan" in error.value.fix


# --- what is kept ---------------------------------------------------------------------------


def test_a_run_that_dies_goes_on_where_it_stopped(engine: str, net: Net, tmp_path: Path) -> None:
    whole = look_up(net.service(engine=engine, cache=tmp_path / "other"), batch=2)
    needed = len(net.seen)
    with faulty.faulty(*[lambda _: None] * 4, then=busy("1"), engine=engine) as server:
        with fails("answered 429"):
            look_up(net.open(server.url), batch=2)
        server.then = None
        server.seen.clear()
        service = net.open(server.url)
        assert look_up(service, batch=2) == whole
        assert (service.asked, service.cached) == (len(server.seen), 4)
        assert len(server.seen) == needed - 4
    # With the server gone, the same is all on disk; least only takes from it.
    service = net.open(server.url)
    assert look_up(service, batch=2) == whole
    assert (service.asked, service.cached) == (0, needed)


def test_what_was_too_heavy_is_not_tried_whole_again(engine: str, net: Net) -> None:
    def fault(seen: Seen) -> Answer | None:
        heavy = "GROUP BY" in seen.query and not seen.items
        return Answer(413) if heavy or len(seen.items) > 1 else None

    facts = look_up(net.service(then=fault, engine=engine), batch=4)
    net.seen.clear()
    assert look_up(net.open(), batch=4) == facts
    assert not net.seen


def asked(service: Service) -> tuple[int, int, str | None]:
    """How many answers came from the server and from disk, and when the oldest was given."""
    return service.asked, service.cached, service.oldest


def test_an_answer_is_kept_with_its_question_and_time(net: Net) -> None:
    first = net.service(GOOD)
    kept = first.select("SELECT 1", list)
    (path,) = net.cache.iterdir()
    content = json.loads(path.read_bytes())
    when = content.pop("asked_at")
    about = {"endpoint": net.server.url, "query": "SELECT 1"}
    assert content == about | {"results": {"bindings": kept}}
    second = net.open()
    assert second.holds("SELECT 1")
    assert second.select("SELECT 1", list) == kept
    assert (asked(first), asked(second)) == ((1, 0, None), (0, 1, when))
    assert not net.open("https://example.org/sparql").holds("SELECT 1")


def test_the_oldest_answer_is_known(net: Net) -> None:
    net.service(then=GOOD)
    for text in ("A", "B"):
        net.open().select(text, list)
        time.sleep(0.002)
    times = [json.loads(p.read_bytes())["asked_at"] for p in net.cache.iterdir()]
    service = net.open()
    for text in ("B", "A", "C"):
        service.select(text, list)
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
def test_a_damaged_answer_is_asked_again(net: Net, damage: bytes) -> None:
    good = net.service(then=GOOD).select("Q", list)
    (path,) = net.cache.iterdir()
    path.write_bytes(damage)
    service = net.open()
    assert not service.holds("Q")
    assert service.select("Q", list) == good
    assert len(net.seen) == 2
    assert net.open().select("Q", list) == good


def test_fresh_asks_anew_but_not_twice(net: Net) -> None:
    net.service(then=GOOD).select("Q", list)
    service = net.open(fresh=True)
    assert not service.holds("Q")
    assert service.select("Q", list) == service.select("Q", list)
    assert len(net.seen) == 2
    assert asked(service) == (1, 0, None)


# --- values that nobody asked for -----------------------------------------------------------


def counting(value: str, name: str = "Q1") -> Fault:
    """A service that gives this count of an item."""
    answer = json.loads(faulty.rows({"o": name, "n": "7"}).body)
    answer["results"]["bindings"][0]["n"]["value"] = value
    return always(Answer(body=json.dumps(answer)))


@pytest.mark.parametrize(("value", "count"), [("5.0", 5), ("5.0E1", 50), ("0", 0)])
def test_a_count_may_be_written_as_a_decimal_number(net: Net, value: str, count: int) -> None:
    assert look_up(net.service(counting(value))).counts == counted(("Q1", count))


@pytest.mark.parametrize(
    "value", ["1e999", "-5", "abc", "", "nan", "5.5", "9" * 5000, "1e99999999999999999999"]
)
def test_an_odd_count_is_an_error_and_never_saved(net: Net, value: str) -> None:
    service = net.service(counting(value))
    problem = f"{service.host}: unusable answer: {value[:80]!r} is not a whole number"
    with fails(problem, "wdt:P106", fix=GOES_ON):
        look_up(service)
    assert not list(net.cache.glob("*.json"))


def test_an_odd_answer_on_disk_is_asked_for_again(net: Net) -> None:
    service = net.service(counting("-5"), counting("-6"), GOOD)
    service.select(wikidata.count_query("P106"), list)  # saved without being read
    with fails("'-6' is not a whole number"):
        look_up(net.open())
    assert look_up(net.open()).counts == counted(("Q1", 7))


@pytest.mark.parametrize(
    "row", [{"k": "sitelinks", "v": "1e999"}, {"k": "links", "v": "many"}, {"v": "text"}]
)
def test_an_odd_row_of_details_is_an_error(net: Net, row: dict[str, str]) -> None:
    with fails("unusable answer"):
        look_up(net.service(GOOD, always(faulty.rows({"o": "Q1", **row}))))


def test_an_item_with_an_absurd_number_is_left_out(net: Net) -> None:
    both = always(faulty.rows({"o": "Q" + "9" * 5000, "n": "3"}, {"o": "Q1", "n": "7"}))
    assert look_up(net.service(both)).counts == counted(("Q1", 7))
