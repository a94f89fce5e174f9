"""The pages, over a real server: the way of a person, and everything that is refused."""

import logging
import queue
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from markupsafe import escape

from curation.checks.surface import Finding
from curation.files import CurationError
from curation.kinds import CAT_KINDS, ROUNDS
from curation.rounds.platforms import pages
from curation.rounds.platforms.pages import read_training
from curation.rounds.platforms.web import database, forms, server
from curation.rounds.platforms.web import store as store_module
from curation.rounds.platforms.web.rounds import Example, WebTask
from support import web
from support.expected import raising
from support.web import Site, Someone, plan, put, said, title

BAD_SPELLING = "bakr"


def warns(language: str, item: Any) -> list[Finding]:
    """A check of a language: it warns of one word."""
    return [Finding("misspelt_word", 0, "x")] if BAD_SPELLING in item.sentences[0] else []


@pytest.fixture
def site(tmp_path: Path, clock: list[float]) -> Iterator[Site]:
    made = Site(tmp_path, now=lambda: clock[0], findings=warns)
    with made.served():
        yield made


@pytest.fixture
def writer(site: Site) -> Someone:
    """A person who may begin with the round of writing."""
    put(site.store, plan("intrasentence", lease=600.0))
    return site.person("intrasentence-1").begin("intrasentence-1")


def payloads(site: Site, round: str, form: str = "task_id") -> list[dict[str, Any]]:
    lines = site.store.lines(round, all=True)
    return [line.payload for line in lines if form in line.payload]


# --- entering -----------------------------------------------------------------------------------


def test_a_common_link_leads_to_consent_then_to_a_link_of_ones_own(site: Site) -> None:
    token = put(site.store, plan("intrasentence"))
    one = Someone(site)
    sheet = one.get(f"/join/{token}")
    assert "stereotypes in computer programs" in sheet.text
    assert "This study is carried out by the Academy." in sheet.text
    assert site.store.people() == []
    unticked = one.post(f"/join/{token}")
    assert unticked.status_code == 422
    assert said("agree_first") in unticked.text
    assert site.store.people() == []
    shown = one.post(f"/join/{token}", agree="yes")
    (person,) = site.store.people()
    assert title(shown) == said("link_title")
    assert f"{site.url}/p/{site.store.secret_of(person.id)}" in shown.text
    (consent,) = (line.payload for line in site.store.lines("intrasentence-1"))
    made = site.store.plan("intrasentence-1")
    assert made is not None
    assert consent["consent"] == made.consent
    assert consent["annotator"] == person.id


def test_a_consent_form_that_comes_twice_makes_one_person(site: Site) -> None:
    token = put(site.store, plan("intrasentence"))
    one = Someone(site)
    one.get(f"/join/{token}")
    first, csrf = one.session.cookies["curation"], one.csrf
    one.post(f"/join/{token}", agree="yes")
    one.session.cookies.set("curation", first, domain="127.0.0.1")
    again = requests.post(
        f"{site.url}/join/{token}",
        data={"csrf": csrf, "agree": "yes"},
        headers={"Cookie": f"curation={first}"},
        timeout=30,
    )
    assert again.status_code == 200
    assert len(site.store.people()) == 1
    assert len(site.store.lines("intrasentence-1")) == 1


def test_who_is_signed_in_stays_one_person_in_another_round(site: Site, writer: Someone) -> None:
    token = put(site.store, plan("review"))
    writer.get(f"/join/{token}")
    writer.post(f"/join/{token}", agree="yes")
    (person,) = site.store.people()
    assert site.store.rounds_of(person.id) == ["intrasentence-1", "review-1"]
    assert title(writer.get("/")) == said("choose_title")


def test_a_round_may_refuse_its_common_link(site: Site) -> None:
    token = put(site.store, plan("validation", common_link=False))
    refused = Someone(site).get(f"/join/{token}")
    assert refused.status_code in (403, 404)


def test_a_personal_link_becomes_a_session_and_leaves_the_address(site: Site) -> None:
    put(site.store, plan("intrasentence"))
    one = site.person("intrasentence-1")
    first = one.get(one.link, allow_redirects=False)
    assert (first.status_code, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Secure" not in cookie
    assert one.link.rsplit("/", 1)[1] not in cookie
    assert title(one.get("/")) == "Take part in a study"


def test_behind_a_proxy_with_tls_the_cookie_is_secure(site: Site) -> None:
    put(site.store, plan("intrasentence"))
    one = site.person("intrasentence-1")
    headers = {"X-Forwarded-Proto": "https"}
    cookie = one.get(one.link, allow_redirects=False, headers=headers).headers["set-cookie"]
    assert cookie.startswith("__Host-curation=")
    assert "Secure" in cookie
    assert "Path=/;" in cookie


def test_twenty_previews_of_a_link_take_no_task(site: Site) -> None:
    token = put(site.store, plan("intrasentence"))
    one = site.person("intrasentence-1")
    for _ in range(20):
        Someone(site).get(one.link)
        requests.head(one.link, timeout=30)
        Someone(site).get(f"/join/{token}")
    assert len(site.store.people()) == 1
    (person,) = site.store.people()
    assert site.store.standing(person, "intrasentence-1", at=0.0).left == len(web.TERMS)
    assert all(load.answered == 0 for load in site.store.loads("intrasentence-1").values())
    assert site.store.lines("intrasentence-1") == []


@pytest.mark.parametrize("damage", [lambda s: s[:-1], lambda s: s[:-1] + "x", lambda _: "w-1.ab"])
def test_a_damaged_link_is_refused(site: Site, damage: Any) -> None:
    put(site.store, plan("intrasentence"))
    one = site.person("intrasentence-1")
    link, _, secret = one.link.rpartition("/")
    refused = one.get(f"{link}/{damage(secret)}")
    assert (refused.status_code, title(refused)) == (404, said("link_wrong_title"))
    assert Someone(site).get("/join/x").status_code == 404


def test_the_link_of_another_person_on_the_same_phone_signs_the_first_out(site: Site) -> None:
    put(site.store, plan("intrasentence"))
    one, other = site.person("intrasentence-1"), site.person("intrasentence-1")
    one.get(one.link)
    before = one.session.cookies["curation"]
    assert other.id in one.get(other.link).text or other.id in one.get("/me").text
    assert site.store.session(before) is None
    assert one.id not in one.get("/me").text


# --- training -----------------------------------------------------------------------------------

RIGHT = {"example_1": "stereotype", "example_2": "anti-stereotype", "example_3": "unrelated"}
WRONG = dict.fromkeys(RIGHT, "stereotype")


@pytest.fixture
def trainee(site: Site) -> Someone:
    put(site.store, plan("validation", training=web.EXAMPLES, training_pass=0.6))
    return site.person("validation-1").begin("validation-1")


def test_training_comes_before_tasks(trainee: Someone) -> None:
    assert title(trainee.get("/r/validation-1")) == "Training: 3 examples"
    refused = trainee.post("/r/validation-1/next", follow=False)
    assert refused.headers["location"] == "/r/validation-1/training"


@pytest.mark.parametrize("kind", web.WRITTEN)
def test_the_rules_with_an_example_of_each_label_come_before_the_training(
    site: Site, kind: Any
) -> None:
    examples = tuple(
        Example(each.target, each.context, each.text, each.label, each.why)
        for each in read_training(Path("nowhere"), "en", kind)
    )
    put(site.store, plan(kind, training=examples, training_pass=0.6))
    one = site.person(f"{kind}-1").begin(f"{kind}-1")
    page = one.get(f"/r/{kind}-1/training").text
    rules = re.search(r"<details open>.*(?=<form)", page, re.DOTALL)
    assert rules
    texts = web.texts()
    for heading in ("rules_title", "examples_title"):
        assert f"<summary>{texts['instruction'][heading]}</summary>" in rules[0]
    assert page.index(rules[0]) < page.index('name="example_1"')
    if kind == "validation":
        assert all(forms.marked(line) in rules[0] for line in texts[kind]["labels"])
    # Writers judge what is written by the rules of writing, with the words of their own form.
    writes = ROUNDS[kind].work == "write"
    assert ('value="good"' in page) == writes
    assert (said("training_lead_write").split("[")[0] in page) == writes
    if kind in CAT_KINDS:
        assert "<b>Anti-stereotype:</b> <bdi>" in page
    last = one.post(
        f"/r/{kind}-1/training",
        attempt="0",
        **{f"example_{n}": each.label for n, each in enumerate(examples, 1)},
    )
    assert title(last) == f"Well done: {len(examples)} of {len(examples)}"
    assert last.text.count(said("training_same")) == len(examples)


def test_after_a_try_people_see_what_most_people_say_and_why(trainee: Someone) -> None:
    page = trainee.post("/r/validation-1/training", attempt="0", **RIGHT, follow=True)
    assert title(page) == "Well done: 3 of 3"
    assert all(example.why in page.text for example in web.EXAMPLES)
    assert title(trainee.get("/r/validation-1")) == "Label sentences"


def test_two_tries_then_one_way_out(site: Site, trainee: Someone) -> None:
    first = trainee.post("/r/validation-1/training", attempt="0", **WRONG)
    assert title(first) == "1 of 3"
    assert said("training_other") in first.text
    # A reload and a form that is sent twice use up no try.
    assert title(trainee.get(first.url)) == "1 of 3"
    trainee.post("/r/validation-1/training", attempt="0", **WRONG)
    assert site.store.attempts(trainee.id, "validation-1") == [False]
    last = trainee.post("/r/validation-1/training", attempt="1", **WRONG)
    assert title(last) == said("training_end_title")
    assert 'form="leave"' in last.text
    assert "/next" not in last.text
    assert site.store.attempts(trainee.id, "validation-1") == [False, False]
    third = trainee.post("/r/validation-1/training", attempt="2", **RIGHT)
    assert title(third) == said("training_end_title")
    assert site.store.attempts(trainee.id, "validation-1") == [False, False]
    assert title(trainee.post("/r/validation-1/next")) == said("training_end_title")
    put(site.store, plan("review"))
    site.store.admit(trainee.id, "review-1")
    for path in ("/me", "/"):
        (standing, _) = re.findall(r'<span class="hint">(.*?)</span>', trainee.get(path).text)
        assert standing == said("me_ended")


def test_a_missing_example_is_asked_for_and_uses_no_try(site: Site, trainee: Someone) -> None:
    page = trainee.post("/r/validation-1/training", attempt="0", **(RIGHT | {"example_2": "x"}))
    assert page.status_code == 422
    assert page.text.count(said("training_required")) == 1
    assert site.store.attempts(trainee.id, "validation-1") == []


# --- before the first task ----------------------------------------------------------------------


def test_people_know_how_much_it_is_and_the_rules_before_they_begin(site: Site) -> None:
    token = put(site.store, plan("intrasentence"), 2)
    sheet = Someone(site).get(f"/join/{token}").text
    assert "One task takes about <b>150 seconds</b>." in sheet
    assert "Tasks: up to" not in sheet
    one = site.person("intrasentence-1")
    assert "Tasks: up to <b>2</b>" in one.get(one.link).text
    page = one.begin("intrasentence-1").get("/r/intrasentence-1").text
    heads = web.texts()["instruction"]
    assert re.search(rf"<details open>\s*<summary>{heads['rules_title']}<", page)
    assert page.count("<details open>") == 1
    assert f"<summary>{heads['pay_title']}<" not in page
    assert 'The librarian was <span class="chip">gap</span> at the party.' in page
    assert "BLANK" not in page
    path = one.next("intrasentence-1")
    assert 'The librarian was <span class="chip">gap</span> at the party.' in one.get(path).text
    one.answer(path)
    assert "<details open>" not in one.get("/r/intrasentence-1").text


def test_the_first_page_of_a_round_loads_its_checks(tmp_path: Path) -> None:
    loaded = queue.Queue[str]()
    site = Site(tmp_path, findings=lambda code, item: loaded.put(code) or [])
    with site.served():
        assert loaded.empty()
        token = put(site.store, plan("intrasentence"))
        for _ in range(2):
            Someone(site).get(f"/join/{token}")
        assert loaded.get(timeout=20) == "en"
        assert loaded.empty()


def test_two_rounds_of_one_kind_have_a_number(site: Site) -> None:
    for name in ("a", "b"):
        put(site.store, plan("validation", name=name))
    one = site.person("a", "b")
    assert re.findall(r"<b>(.*?)</b>", one.get(one.link).text) == [
        "Label sentences (1)", "Label sentences (2)",
    ]  # fmt: skip


def test_at_the_end_of_a_round_the_others_with_tasks_are_listed(site: Site) -> None:
    put(site.store, plan("intrasentence"), 1)
    put(site.store, plan("review"), 3)
    put(site.store, plan("validation", name="done"), 1)
    put(site.store, plan("validation", training=web.EXAMPLES, training_pass=1.0))
    one = site.person("intrasentence-1", "review-1", "validation-1", "done")
    for name in ("intrasentence-1", "done"):
        one.begin(name)
        page = one.answer(one.next(name))

    def others(html: str) -> list[str]:
        (listed,) = re.findall(r'<nav class="choices wide">(.*?)</nav>', html, re.DOTALL)
        return re.findall(r'href="/r/(.*?)"', listed)

    assert others(page.text) == ["review-1", "validation-1"]
    assert said("done_part") in page.text
    assert said("done_lead") not in page.text
    assert "0 answered, 0 skipped, 3 left" in page.text
    one.begin("validation-1")
    for n in "01":
        page = one.post("/r/validation-1/training", attempt=n, **WRONG)
    assert title(page) == said("training_end_title")
    assert others(page.text) == ["review-1"]  # a part that has ended is not offered
    one.begin("review-1")
    path = one.next("review-1")
    for _ in range(3):
        page = one.answer(path)
        path = page.url.removeprefix(site.url)
    assert "<nav" not in page.text
    assert said("done_lead") in page.text


# --- answers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", web.WRITTEN)
def test_a_round_of_each_kind_from_the_first_task_to_the_code(site: Site, kind: Any) -> None:
    put(site.store, plan(kind), 3)
    one = site.person(f"{kind}-1").begin(f"{kind}-1")
    path = one.next(f"{kind}-1")
    for n in range(3):
        assert f"Task {n + 1} of 3" in one.get(path).text
        done = one.get(f"/r/{kind}-1/done")
        assert "code" not in done.text.replace(said("done_code"), "code!")
        page = one.answer(path)
        path = page.url.removeprefix(site.url)
    assert page.url.endswith("/done")
    assert title(page) == said("done_title")
    code = forms.end_code(site.store.secret_of(one.id), f"{kind}-1")
    for path in (page.url, f"/r/{kind}-1", "/"):  # also who comes back later
        assert code in one.get(path).text
    site.store.stop(f"{kind}-1")
    address = re.search(r'<a href="(/r/[^"]*)">', one.get("/").text)
    assert address
    assert code in one.get(address[1]).text
    answers = payloads(site, f"{kind}-1")
    assert [answer["task_id"] for answer in answers] == ["t-1", "t-2", "t-3"]
    right = {k: v.format("librarian") for k, v in web.WRITTEN[kind].items()}
    assert right.items() <= answers[0].items()
    assert answers[0]["seconds"] == 12.0
    if kind == "validation":
        assert sorted(answers[0]["order"]) == [1, 2, 3]


def test_a_text_in_nfd_is_checked_as_the_fold_reads_it(site: Site, writer: Someone) -> None:
    path = writer.next("intrasentence-1")
    typed = "The librarian from Cafe\u0301BLANK was there."
    glued = writer.answer(path, template=typed)
    composed = writer.answer(path, template=typed.replace("e\u0301", "\u00e9"))
    assert (glued.status_code, composed.status_code) == (422, 422)
    stored = "The librarian was BLANK in the cafe\u0301."
    assert writer.answer(path, template=stored).status_code == 200
    assert [answer["template"] for answer in payloads(site, "intrasentence-1")] == [stored]


def test_a_neutral_text_is_written_beside_three_others_and_repeats_none(site: Site) -> None:
    put(site.store, plan("neutral"))
    one = site.person("neutral-1").begin("neutral-1")
    path = one.next("neutral-1")
    page = one.get(path)
    assert "My neighbour works as a librarian." in page.text
    assert all(text in page.text for text in web.TEXTS)
    empty = one.answer(path, neutral=" ")
    assert (empty.status_code, web.texts()["neutral"]["neutral_required"] in empty.text) == (
        422,
        True,
    )
    for text, code in (
        (web.TEXTS[1].upper(), "same_text_twice"),
        ("It fits in the BLANK here.", "blank_left"),
        ("I need more money for these HITs.", "meta_text"),
    ):
        wrong = one.answer(path, neutral=text)
        assert wrong.status_code == 422
        says = web.texts()["web"].get(f"fix_{code}") or web.texts()["refused"][code]
        assert escape(says) in wrong.text
    assert one.answer(path).status_code == 200
    assert [answer["neutral"] for answer in payloads(site, "neutral-1")] == ["He left at ten."]


def test_neutral_words_fill_the_gap_that_the_round_shows(tmp_path: Path) -> None:
    made = plan("neutral", texts=pages.texts("id", None, study=web.STUDY))
    words = ("quiet", "loud", "rectangular")
    data = {f"text_{n}": f"The librarian was {word}." for n, word in enumerate(words, 1)}
    data |= {"target": "librarian", "context": "The librarian was RUMPANG."}
    site = Site(tmp_path)
    checker = forms.Checker(made, site.store, site.services)

    def codes(text: str) -> list[str]:
        task = WebTask("t", "term", None, data)
        return [one.code for one in checker.problems(task, {"neutral": text})]

    assert codes("tall") == codes("The librarian was tall.") == []
    assert codes("Loud") == ["same_text_twice"]
    assert codes("The librarian is tall.") == ["template_not_reproduced"]
    assert codes("") == ["missing_field"]


def test_the_same_answer_twice_is_one_and_a_second_one_is_refused(
    site: Site, writer: Someone
) -> None:
    path = writer.next("intrasentence-1")
    assert writer.answer(path, "a" * 32).status_code == 200
    assert writer.answer(path, "a" * 32).status_code == 200
    assert len(payloads(site, "intrasentence-1")) == 1
    second = writer.answer(path, "b" * 32)
    assert (second.status_code, title(second)) == (409, said("second_title"))
    for _ in range(2):
        writer.answer(writer.next("intrasentence-1"))
    gone = writer.get(path)
    assert (gone.status_code, title(gone)) == (410, said("over_title"))


def test_what_is_sent_again_is_kept_up_to_a_limit(
    site: Site, writer: Someone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "MOST_SENT", 3)
    path = writer.next("intrasentence-1")
    assert writer.answer(path).status_code == 200
    long = writer.answer(path, "f" * 32, unrelated="x" * 10_001)
    assert (long.status_code, title(long)) == (413, said("too_large_title"))
    again = {writer.answer(path, f"{n:032x}").status_code for n in range(9)}
    skips = {writer.post(path + "/skip", answer_id=f"{n:032x}", reason="none").status_code
             for n in range(9)}  # fmt: skip
    assert (again, skips) == ({409}, {409})
    assert len(payloads(site, "intrasentence-1")) == 3 + 1
    monkeypatch.setattr(store_module, "MOST_STORED", 1)
    other = writer.answer(writer.next("intrasentence-1"))
    assert (other.status_code, title(other)) == (507, said("full_title"))


def test_a_late_answer_counts_if_its_place_is_free_and_else_is_kept(
    site: Site, clock: list[float]
) -> None:
    put(site.store, plan("intrasentence", lease=600.0), asked=1)
    slow, quick = (site.person("intrasentence-1").begin("intrasentence-1") for _ in range(2))
    first, second = slow.next("intrasentence-1"), quick.next("intrasentence-1")
    clock[0] += 700
    assert slow.answer(first).status_code == 200
    slow.next("intrasentence-1")
    other = slow.post("/r/intrasentence-1/next", follow=False).headers["location"]
    clock[0] += 700
    taken = quick.next("intrasentence-1")
    while taken != other:
        quick.answer(taken)
        taken = quick.next("intrasentence-1")
    late = slow.answer(other)
    assert said("late") in late.text
    kept = [a for a in payloads(site, "intrasentence-1") if a.get("late")]
    assert [a["annotator"] for a in kept] == [slow.id]
    assert second  # was given back, and answered since


def test_a_forged_task_is_refused(site: Site, writer: Someone) -> None:
    other = site.person("intrasentence-1").begin("intrasentence-1")
    mine = writer.next("intrasentence-1")
    theirs = other.next("intrasentence-1")
    assert mine != theirs
    for path in (theirs, "/r/intrasentence-1/t/t-99"):
        if path == theirs:
            assert writer.get(path).status_code == 410
        refused = writer.answer(path, "c" * 32)
        assert (refused.status_code, title(refused)) == (403, said("not_yours_title"))
    stolen = other.answer(theirs, "d" * 32)
    assert stolen.status_code == 200
    copied = writer.answer(mine, "d" * 32)  # the id of another's answer
    assert copied.status_code == 403
    assert {a["annotator"] for a in payloads(site, "intrasentence-1")} == {other.id}


def test_a_round_of_others_is_not_there(site: Site, writer: Someone) -> None:
    put(site.store, plan("validation"))
    for path in ("/r/validation-1", "/r/validation-1/t/t-1", "/r/none", "/r/validation-1/done"):
        assert writer.get(path).status_code == 404
    assert writer.answer("/r/validation-1/t/t-1").status_code == 404


def test_skipping_is_kept_with_its_reason(site: Site, writer: Someone) -> None:
    path = writer.next("intrasentence-1")
    bad = writer.post(path + "/skip", answer_id="e" * 32, reason="because")
    assert bad.status_code == 400
    page = writer.post(path + "/skip", answer_id="e" * 32, reason="upset")
    assert "/t/t-2" in page.url
    (skip,) = payloads(site, "intrasentence-1")
    assert skip["skipped"] == "upset"
    assert writer.get(path).status_code == 410


def test_a_pause_comes_after_some_answers(site: Site, clock: list[float]) -> None:
    put(site.store, plan("validation", pause_after=2, pause=300.0))
    one = site.person("validation-1").begin("validation-1")
    path = one.next("validation-1")
    path = one.answer(path).url.removeprefix(site.url)
    page = one.answer(path)
    assert page.url.endswith("/pause")
    assert "Minutes left: 5" in page.text
    assert "study@example.org" in page.text
    assert said("go_on") in page.text  # too early, the page comes again
    assert one.post("/r/validation-1/next").url.endswith("/pause")
    clock[0] += 301
    assert said("pause_over") in one.get("/r/validation-1/pause").text
    assert "/t/" in one.next("validation-1")


def test_an_answer_to_a_closed_round_is_kept(site: Site, writer: Someone) -> None:
    path = writer.next("intrasentence-1")
    site.store.stop("intrasentence-1")
    assert (writer.get(path).status_code, title(writer.get(path))) == (410, said("closed_title"))
    page = writer.answer(path)
    assert page.status_code == 200
    assert title(page) == said("done_title")
    assert len(payloads(site, "intrasentence-1")) == 1
    assert "1 answered, 0 skipped, 0 left" in writer.get("/me").text
    assert title(writer.post("/r/intrasentence-1/next")) == said("done_title")
    token = site.store.token("intrasentence-1")
    assert title(writer.get(f"/join/{token}")) == said("done_title")
    other = site.person("intrasentence-1")
    for response in (Someone(site).get(f"/join/{token}"), other.get(f"/join/{token}")):
        assert (response.status_code, title(response)) == (410, said("closed_title"))
    other.get(other.link)
    assert said("me_nothing") in other.get("/me").text
    assert title(other.get("/r/intrasentence-1")) == said("closed_title")


def test_who_is_out_gets_no_page_but_what_they_did(site: Site, writer: Someone) -> None:
    path = writer.next("intrasentence-1")
    site.out.add(site.pseudonym(writer.id))
    for response in (
        writer.get(path),
        writer.answer(path),
        writer.get("/"),
        writer.get(writer.link),
    ):
        assert (response.status_code, title(response)) == (403, said("out_title"))
    assert writer.id in writer.get("/me").text
    assert payloads(site, "intrasentence-1") == []


def test_leaving_ends_the_session(site: Site, writer: Someone) -> None:
    path = writer.next("intrasentence-1")
    before = writer.session.cookies["curation"]
    assert title(writer.post("/leave")) == said("leave_title")
    assert "curation" not in writer.session.cookies
    assert title(writer.get("/")) == said("home_title")
    writer.session.headers["Cookie"] = f"curation={before}"
    out = writer.answer(path)
    assert out.status_code in (401, 403)
    assert payloads(site, "intrasentence-1") == []


def test_a_person_sees_what_they_did_and_how_to_withdraw(writer: Someone) -> None:
    writer.answer(writer.next("intrasentence-1"))
    page = writer.get("/me").text
    assert "1 answered, 0 skipped, 5 left" in page
    assert writer.link in page
    assert writer.id in page
    assert 'write to <a href="mailto:study@example.org" dir="ltr">study@example.org</a>' in page
    assert f'<output class="code" dir="ltr">{writer.id}</output>' in page


# --- an answer is changed -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", web.WRITTEN)
def test_an_answer_of_each_kind_is_shown_and_can_be_changed(site: Site, kind: Any) -> None:
    put(site.store, plan(kind, pay=0.75, currency="USD"), 3)
    one = site.person(f"{kind}-1").begin(f"{kind}-1")
    path = one.next(f"{kind}-1")
    onward = one.answer(path)
    assert f'href="{path}">{said("change_last")}' in onward.text
    me = one.get("/me").text
    assert "Pay for these answers: <b>0.75 USD</b>" in me
    assert f'href="{path}">{said("me_change")}' in me
    shown = {
        "intrasentence": 'The librarian was <span class="chip">gap</span> at the party.',
        "intersentence": "She sat in a corner and hardly spoke.",
        "validation": f"{web.TEXTS[0]} – Stereotype",
        "review": '<span class="block" dir="auto">Keep</span>',
        "neutral": "He left at ten.",
    }
    assert shown[kind] in me
    page = one.get(path).text
    assert said("change_note") in page
    assert 'id="skip"' not in page
    changes = {
        "intrasentence": {"stereotype": "shy"},
        "intersentence": {"stereotype": "She hid behind the curtain all evening."},
        "validation": {"label_1": "unrelated"},
        "review": {"decision": "merge", "merge_into": "term-baker"},
        "neutral": {"neutral": "He left at noon."},
    }[kind]
    for _ in range(2):  # the same twice is one change
        went = one.answer(path, id="e" * 32, seconds="1", edits="yes", **changes)
        assert went.url == onward.url
    first, second = payloads(site, f"{kind}-1")
    assert changes.items() <= second.items()
    # The id, the time and the seconds are those of the first.
    assert {name for name in second if second[name] != first.get(name)} == {*changes, "updated_at"}
    assert first["seconds"] == second["seconds"] == 12.0
    person = site.store.person(one.id)
    assert person
    assert site.store.standing(person, f"{kind}-1", at=0.0).answered == 1
    assert site.store.loads(f"{kind}-1")["t-1"].answered == 1
    assert site.store.waiting(f"{kind}-1") == 2  # the change is pulled, too
    assert "<b>0.75 USD</b>" in one.get("/me").text


def test_an_answer_can_be_changed_until_two_more_were_sent_or_the_round_closes(
    site: Site, writer: Someone
) -> None:
    paths = [writer.next("intrasentence-1")]
    for n in range(3):
        paths.append(writer.answer(paths[n]).url.removeprefix(site.url))
    edit = {"edits": "yes", "stereotype": "shy"}
    assert title(writer.get(paths[0])) == said("over_title")
    over = writer.answer(paths[0], id="1" * 32, **edit)
    assert (over.status_code, title(over)) == (403, said("not_yours_title"))
    assert said("change_note") in writer.get(paths[1]).text
    wrong = writer.answer(paths[1], id="2" * 32, **(edit | {"stereotype": ""}))
    assert wrong.status_code == 422
    assert 'name="edits"' in wrong.text
    other = site.person("intrasentence-1").begin("intrasentence-1")
    assert other.answer(paths[1], id="3" * 32, **edit).status_code == 403
    for n in range(store_module.MOST_SENT - 1):
        assert writer.answer(paths[1], id=f"{n:032x}", **edit).status_code == 200
    assert writer.answer(paths[1], id="4" * 32, **edit).status_code == 403  # often enough
    assert writer.answer(paths[2], id="5" * 32, **edit).status_code == 200
    site.store.stop("intrasentence-1")
    assert writer.answer(paths[2], id="6" * 32, **edit).status_code == 403
    edits = [one for one in payloads(site, "intrasentence-1") if "updated_at" in one]
    assert len(edits) == store_module.MOST_SENT


# --- what is to be changed ----------------------------------------------------------------------

FLAWS = {
    "no gap": ({"template": "The {} was loud."}, "template", "fix_blank_missing"),
    "two gaps": ({"template": "The {} was BLANK BLANK."}, "template", "fix_blank_twice"),
    "glued": ({"template": "The {} was BLANKly."}, "template", "fix_blank_glued"),
    "no target": ({"template": "He was BLANK."}, "template", "target_missing"),
    "alike": ({"anti_stereotype": "Quiet"}, "anti_stereotype", "same_text_twice"),
    "empty": ({"unrelated": "  "}, "unrelated", ""),
    "about the task": ({"unrelated": "i have no idea"}, "unrelated", "fix_meta_text"),
    "a gap in a word": ({"unrelated": "my BLANK"}, "unrelated", "fix_blank_left"),
    "too long": ({"unrelated": "x" * 10_001}, "unrelated", "too_long"),
}  # fmt: skip


@pytest.mark.parametrize("name", FLAWS)
def test_flaws_are_shown_at_their_field_and_nothing_is_lost(
    site: Site, writer: Someone, name: str
) -> None:
    change, field, key = FLAWS[name]
    path = writer.next("intrasentence-1")
    changed = {k: v.replace("{}", "librarian") for k, v in change.items()}
    page = writer.answer(path, **changed)
    assert page.status_code == 422
    texts = web.texts()
    fix = (
        texts["web"].get(key)
        or texts["refused"].get(key)
        or texts["intrasentence"][f"{field}_required"]
    )
    found = re.search(rf'<div id="fix-{field}"[^>]*>(.*?)</div>', page.text, re.DOTALL)
    assert found
    assert str(fix) in found[1].replace("&#39;", "'")
    tag = re.search(rf'<(input|textarea)[^>]*id="{field}"[^>]*>', page.text)
    assert tag
    assert "aria-invalid=true" in tag[0]
    assert f"fix-{field}" in tag[0]
    assert page.text.count("autofocus") == 1
    assert "autofocus" in tag[0]
    assert 'value="quiet"' in page.text
    assert payloads(site, "intrasentence-1") == []
    assert writer.answer(path).status_code == 200


def test_an_item_that_repeats_an_earlier_one_is_refused(site: Site) -> None:
    earlier = {"term-baker": ["The baker was BLANK at the party.\nquiet\nboisterous"]}
    put(site.store, plan("intrasentence", earlier=earlier), asked=2)
    one, two = (site.person("intrasentence-1").begin("intrasentence-1") for _ in range(2))
    path = one.next("intrasentence-1")  # the librarian
    first = one.answer(path)
    again = one.answer(first.url.removeprefix(site.url))
    near = web.texts()["refused"]["near_duplicate"]
    assert again.status_code == 422
    assert near in again.text
    while (path := two.next("intrasentence-1")) != "/r/intrasentence-1/t/t-1":
        assert two.post(path + "/skip", answer_id=path[-1] * 32, reason="none").status_code == 200
    assert near in two.answer(path).text


def test_checks_while_one_writes_say_nothing_of_what_is_missing(writer: Someone) -> None:
    path = writer.next("intrasentence-1")
    task = path.rsplit("/", 1)[1]

    def problems(**fields: str) -> list[tuple[str, str, bool]]:
        sent = writer.post("/r/intrasentence-1/check", task=task, **fields)
        assert sent.status_code == 200, sent.text
        return [(one["field"], one["code"], one["stops"]) for one in sent.json()["problems"]]

    assert problems() == []
    assert problems(stereotype="quiet") == []
    assert problems(stereotype="quiet", unrelated="QUIET ") == [
        ("unrelated", "same_text_twice", True)
    ]
    assert problems(template="The librarian was") == [("template", "blank_missing", True)]
    touching = problems(template="The librarian: كان خبازBLANK")
    assert touching == [("template", "blank_touches", False)]
    assert (
        problems(template="librarian はBLANKだ。") == problems(template="librarian: BLANK.") == []
    )
    assert problems(template="She was BLANK.", stereotype="quiet") == [
        ("template", "target_missing", True)
    ]
    words = {"stereotype": BAD_SPELLING, "anti_stereotype": "loud", "unrelated": "green"}
    assert problems(template="A librarian was BLANK.", **words) == [
        ("stereotype", "misspelt_word", False)
    ]
    long = {"template": "A librarian was BLANK at the " + "x" * 10_000 + "."}
    assert problems(**long, **words) == [("template", "too_long", True)]  # and is not checked
    assert writer.post("/r/intrasentence-1/check", task="t-3").status_code == 410


def test_a_warning_lets_people_go_on(site: Site, writer: Someone) -> None:
    page = writer.answer(writer.next("intrasentence-1"), stereotype=BAD_SPELLING)
    assert page.status_code == 200
    assert payloads(site, "intrasentence-1")[0]["stereotype"] == BAD_SPELLING


REVIEWS = {
    "nothing": ({"decision": ""}, "question_required"),
    "no such decision": ({"decision": "burn"}, "question_required"),
    "merge": ({"decision": "merge"}, "into_required"),
    "merge into none offered": ({"decision": "merge", "merge_into": "term-x"}, "into_required"),
    "merge into another": ({"decision": "merge", "merge_into": "other"}, "other_required"),
    "drop": ({"decision": "drop"}, "reasons_required"),
    "drop for no reason of ours": ({"decision": "drop", "reasons": "x"}, "reasons_required"),
}  # fmt: skip


@pytest.mark.parametrize("name", REVIEWS)
def test_a_review_needs_the_parts_of_its_decision(site: Site, name: str) -> None:
    change, key = REVIEWS[name]
    put(site.store, plan("review"))
    one = site.person("review-1").begin("review-1")
    page = one.answer(one.next("review-1"), **change)
    assert page.status_code == 422
    assert web.texts()["review"][key] in page.text


def test_a_review_keeps_only_the_parts_of_its_decision(site: Site) -> None:
    put(site.store, plan("review"))
    one = site.person("review-1").begin("review-1")
    everything = {
        "merge_into": "term-librarian", "merge_into_other": "y", "reasons": ["insult", "unknown"],
        "rename": "z",
    }  # fmt: skip
    for n, decision in enumerate(("drop", "merge", "keep")):
        one.answer(one.next("review-1"), str(n) * 32, decision=decision, **everything)
    names = ("decision", "merge_into", "merge_into_other", "reasons", "rename")
    assert [[a[name] for name in names] for a in payloads(site, "review-1")] == [
        ["drop", "", "", "unknown|insult", ""],
        ["merge", "term-librarian", "", "", "z"],
        ["keep", "", "", "", "z"],
    ]


def test_each_text_needs_a_label_and_flags_are_kept(site: Site) -> None:
    put(site.store, plan("validation"))
    one = site.person("validation-1").begin("validation-1")
    path = one.next("validation-1")
    bad = one.answer(path, label_2="perhaps", flags="objective")
    assert bad.status_code == 422
    assert bad.text.count(said("fix_choose_label")) == 1
    assert re.search(r'value="objective" checked', bad.text)
    one.answer(path, flags=["unknown_target", "objective", "x"])
    assert payloads(site, "validation-1")[0]["flags"] == "objective|unknown_target"


def test_a_person_sees_the_texts_in_an_order_of_their_own(site: Site) -> None:
    put(site.store, plan("validation"), asked=9)
    orders = set()
    for _ in range(9):
        one = site.person("validation-1").begin("validation-1")
        pages = [one.get(one.next("validation-1")).text for _ in range(2)]
        seen = [tuple(re.findall(r"<legend dir=\"auto\">(.*?)</legend>", page)) for page in pages]
        assert seen[0] == seen[1]
        assert sorted(seen[0]) == sorted(web.TEXTS)
        orders.add(seen[0])
    assert len(orders) > 1


# --- what is refused ----------------------------------------------------------------------------


def test_every_form_needs_its_token(site: Site, writer: Someone) -> None:
    token = put(site.store, plan("review"))
    path = writer.next("intrasentence-1")
    round = "/r/intrasentence-1"
    forms_sent = (
        f"/join/{token}", round, f"{round}/next", f"{round}/training", f"{round}/check", path,
        f"{path}/skip", "/leave",
    )  # fmt: skip
    other = site.person("intrasentence-1").begin("intrasentence-1").csrf
    for address in forms_sent:
        for wrong in ("", "x" * 32, other, "é"):
            refused = writer.post(address, csrf=wrong, agree="yes", answer_id="f" * 32)
            assert (refused.status_code, title(refused)) == (403, said("forged_title")), address
    assert payloads(site, "intrasentence-1") == []
    assert site.store.session(writer.session.cookies["curation"])


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}]
)
def test_a_form_from_another_site_is_refused(
    site: Site, writer: Someone, headers: dict[str, str]
) -> None:
    path = writer.next("intrasentence-1")
    refused = writer.answer(path, headers=headers)
    assert (refused.status_code, title(refused)) == (403, said("forged_title"))
    assert payloads(site, "intrasentence-1") == []
    for right in ({"Origin": site.url}, {"Origin": "null", "Sec-Fetch-Site": "same-origin"}):
        assert writer.answer(path, headers=right).status_code == 200


def test_too_much_text_is_refused_and_not_read(site: Site, writer: Someone) -> None:
    path = writer.next("intrasentence-1")
    for size in (70_000, 900_000):
        refused = writer.answer(path, template="x" * size)
        assert (refused.status_code, title(refused)) == (413, said("too_large_title"))
    assert payloads(site, "intrasentence-1") == []


def test_what_is_no_form_is_refused(site: Site, writer: Someone) -> None:
    path = site.url + writer.next("intrasentence-1")
    send = writer.session.post
    json = send(path, json={"csrf": writer.csrf}, timeout=30)
    upload = send(path, files={"template": b"x"}, data={"csrf": writer.csrf}, timeout=30)
    chunks = send(path, data=iter([b"csrf=" + writer.csrf.encode()]), timeout=30)
    many = send(path, data={f"f{n}": "x" for n in range(200)}, timeout=30)
    codes = [response.status_code for response in (json, upload, chunks, many)]
    assert codes == [415, 415, 411, 400]
    no_id = writer.answer(path.removeprefix(site.url), "not an id")
    assert no_id.status_code == 400
    assert writer.get("/r/intrasentence-1/next").status_code == 405
    assert payloads(site, "intrasentence-1") == []


def test_a_full_disk_takes_no_answer_and_keeps_the_text(
    site: Site, writer: Someone, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = writer.next("intrasentence-1")
    before = shutil.disk_usage("/")
    with monkeypatch.context() as patch:
        full = before._replace(free=2**20)
        patch.setattr(database.shutil, "disk_usage", lambda path: full)
        refused = writer.answer(path)
        assert refused.status_code == 507
        assert said("full") in refused.text
        assert 'value="boisterous"' in refused.text
        other = writer.post(path + "/skip", answer_id="e" * 32, reason="upset")
        assert (other.status_code, title(other)) == (507, said("full_title"))
        as_json = writer.answer(path, headers={"Accept": "application/json"})
        assert as_json.json()["refused"] == "full"
    assert payloads(site, "intrasentence-1") == []
    assert writer.answer(path).status_code == 200


def test_an_error_of_ours_is_a_page_and_the_log_names_nobody(
    site: Site, writer: Someone, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    path = writer.next("intrasentence-1")

    def fails(*args: Any, **how: Any) -> None:
        raise ValueError(f"a text of {writer.id}")

    with monkeypatch.context() as patch:
        patch.setattr(site.store.__class__, "submit", fails)
        broken = writer.answer(path)
    assert (broken.status_code, title(broken)) == (500, said("broken_title"))
    writer.get(writer.link)
    writer.get("/me")
    assert "ValueError" in caplog.text
    assert "POST task 500" in caplog.text
    assert "GET enter 303" in caplog.text
    secret = writer.link.rsplit("/", 1)[1]
    for private in (writer.id, secret, site.pseudonym(writer.id), "t-1", "127.0.0.1:"):
        assert private not in caplog.text.replace(str(site.folder), "")


def test_a_broken_database_is_a_page_of_ours_at_every_address(
    site: Site, writer: Someone, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = writer.next("intrasentence-1")
    for name in ("session", "rounds", "plan"):
        broken = raising(CurationError("it is damaged", "copy it back"))
        monkeypatch.setattr(store_module.Store, name, broken)
    for page in (writer.get("/"), writer.get(path), writer.post(path, csrf="", answer_id="a" * 32)):
        assert (page.status_code, title(page)) == (500, said("broken_title"))
        assert "damaged" not in page.text
    missing = writer.get("/nowhere")
    assert (missing.status_code, title(missing)) == (404, said("missing_title"))


def test_every_page_is_private(site: Site, writer: Someone) -> None:
    path = writer.next("intrasentence-1")
    pages = ("/", "/me", "/help", "/nowhere", path, "/r/intrasentence-1", "/static/curation.js")
    for page in pages:
        headers = writer.get(page).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in policy
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers
        cache = "no-cache" if page.startswith("/static") else "no-store"
        assert headers["cache-control"] == cache
        if not page.startswith("/static"):
            text = writer.get(page).text
            addresses = re.findall(r'(?:src|href|action)="([^"]*)"', text)
            assert addresses
            outside = {address for address in addresses if address[0] not in "/#"}
            assert outside <= {"mailto:study@example.org"}
            assert " style=" not in text
            assert "<style" not in text
    assert writer.get("/health").text == "ok"
    assert writer.get("/static/../app.py").status_code == 404


def test_texts_are_compressed(writer: Someone) -> None:
    for path in ("/r/intrasentence-1", "/static/style.css", "/static/curation.js"):
        sent = writer.get(path)
        assert sent.headers["content-encoding"] == "gzip"
        assert int(sent.headers["content-length"]) < len(sent.content) / 2


def test_what_a_person_writes_cannot_become_markup(site: Site, writer: Someone) -> None:
    path = writer.next("intrasentence-1")
    evil = '"><script>alert(1)</script>'
    page = writer.answer(path, stereotype=evil, template=evil)
    assert page.status_code == 422
    assert "<script>alert" not in page.text


# --- the server ---------------------------------------------------------------------------------


def start(site: Site, **how: Any) -> None:
    given = {"host": "127.0.0.1", "port": site.port, "lock": site.lock, "ready": lambda: None}
    server.run(site.database, site.services, **(given | how))


def test_a_second_server_on_one_campaign_is_refused(site: Site) -> None:
    with pytest.raises(CurationError, match="another server already serves"):
        start(site, port=web.free_port())


def test_a_port_in_use_is_refused(site: Site) -> None:
    with pytest.raises(CurationError, match=f"port {site.port} of 127.0.0.1 is already in use"):
        start(site, lock=site.folder / "other.lock")


def test_an_address_of_another_machine_is_refused(site: Site) -> None:
    with pytest.raises(CurationError, match=r"cannot listen on 192\.0\.2\.1"):
        start(site, host="192.0.2.1", lock=site.folder / "other.lock")


def test_a_full_disk_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(tmp_path)
    full = shutil.disk_usage("/")._replace(free=2**20)
    monkeypatch.setattr(server.shutil, "disk_usage", lambda path: full)
    with pytest.raises(CurationError, match="only 1 MiB of the disk are free"):
        start(site)
