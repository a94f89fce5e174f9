"""The five forms in a real browser on a real Label Studio: shown, refused, stored."""

import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from curation.kinds import GOLDS, ROUND_KINDS, RoundKindName
from curation.records import Shown, Task
from curation.rounds.platforms import pages
from curation.rounds.platforms.label_studio.client import LabelStudio
from support.label_studio import FIELD, INSTRUCTIONS, SUBMIT, Form, browser_of, invite_link

LANGUAGES = ("en", "id", "ja", "ar")
SUBMIT_BUTTON = '[data-testid="bottombar-submit-button"]'

STUDY = {"institution": "the Academy", "ethics": "board 7", "contact": "a@b.example"}
TEXTS = pages.texts("en", None, study=STUDY, pay=("$1", "USD"))
MEANT = {"stereotype": "quiet", "anti_stereotype": "boisterous", "unrelated": "rectangular"}
SENTENCE = "The librarian is BLANK, they say: $5."
WRITTEN: dict[RoundKindName, dict[str, str]] = {  # in the order of the form
    "intrasentence": {**MEANT, "template": SENTENCE},
    "intersentence": {"context": SENTENCE, **MEANT},
    "neutral": {"neutral": "She left at $5."},
}
CONSENT = {"consent": [pages.consent_version(TEXTS)]}


def task(kind: RoundKindName) -> dict[str, Any]:
    shown = tuple(Shown(id=f"s{n}", text=f"It is text {n}.", association=f"a{n}") for n in "123")
    one = Task(
        id=f"task of {kind}", term="t-1", domain="profession", target="librarian", wanted=1,
        context="The librarian paid $5.", shown=shown,
    )  # fmt: skip
    choices = [("t-2", "book keeper"), ("t-3", "$5 reader")]
    return pages.task_data(one, kind, texts=TEXTS, info="lends books", choices=choices)


class OpenForm(Form):
    """An open form: its page, and the errors on it."""

    def __init__(self, page: Any, stored: Callable[[], list[dict[str, Any]]]) -> None:
        super().__init__(page)
        self.stored, self.errors = stored, list[str]()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "console", lambda said: self.errors.append(said.text) if said.type == "error" else 0
        )

    def agree(self) -> None:
        self.choose("consent", "box")

    def send(self) -> None:
        """Agree, and press Submit."""
        self.agree()
        self.submit()

    def choose(self, section: str, key: str, number: int = 0) -> None:
        """Tick a choice by the name of its text."""
        self.tick(said(section, key), number)

    def answer(self) -> dict[str, list[str]]:
        """The only answer on the server: the values of each control."""
        for _ in range(100):
            if found := self.stored():
                break
            self.page.wait_for_timeout(100)
        (annotation,) = found
        assert not annotation["was_cancelled"]
        results = annotation["result"]
        assert len({r["from_name"] for r in results}) == len(results)
        return {r["from_name"]: r["value"].get("choices") or r["value"]["text"] for r in results}


@pytest.fixture(scope="module")
def person(browser: Any, server: Any, worker_id: str) -> Any:
    """The browser of a person who has signed up."""
    email = f"forms-{worker_id}@example.invalid"
    view = {"width": 1280, "height": 900}
    return browser_of(browser, invite_link(server.url, server.key), email, viewport=view)


@pytest.fixture
def opened(
    person: Any, ls: LabelStudio, server: Any, worker_id: str, request: pytest.FixtureRequest
) -> Iterator[Callable[..., OpenForm]]:
    """Opens a round's form in the label stream; errors on its page fail the test."""
    made: list[OpenForm] = []

    def open_form(
        kind: RoundKindName, *, texts: pages.Texts = TEXTS, width: int = 1280, read: bool = True
    ) -> OpenForm:
        project = ls.make_project(
            f"{worker_id} {request.node.name}"[:50],
            config=pages.config(kind, texts),
            instruction=pages.instruction(kind, texts),
            answers=1,
        )
        # Else Submit is grey, and nobody says why, until a box is ticked.
        ls.to.ask("PATCH", f"projects/{project}/", json={"enable_empty_annotation": True})
        (id,) = ls.put_tasks(project, [task(kind)]).values()

        page = person.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        made.append(OpenForm(page, lambda: ls.to.ask("GET", f"tasks/{id}/annotations/")))
        made[-1].open(f"{server.url}/projects/{project}/data?labeling=1", read=read)
        return made[-1]

    yield open_form
    for form in made:
        seen = str(form.page.inner_text("body"))
        form.page.close()
        # Label Studio asks its own server for files that it does not have.
        assert [error for error in form.errors if "404 (Not Found)" not in error] == []
        assert "ConfigurationError" not in seen
        assert "undefined" not in seen


def said(section: str, key: str) -> str:
    return str(TEXTS[section][key])


FIRST: dict[RoundKindName, str] = {
    "review": said("review", "question_required"),
    "intrasentence": said("intrasentence", "stereotype_required"),
    "intersentence": said("intersentence", "context_required"),
    "validation": said("validation", "question_required"),
    "neutral": said("neutral", "neutral_required"),
}


@pytest.mark.parametrize("kind", ROUND_KINDS)
def test_an_empty_answer_is_refused(kind: RoundKindName, opened: Callable[..., OpenForm]) -> None:
    form = opened(kind)
    assert form.refused() == FIRST[kind]
    assert form.stored() == []


@pytest.mark.parametrize("kind", WRITTEN)
def test_what_a_writer_wrote_is_stored(
    kind: RoundKindName, opened: Callable[..., OpenForm]
) -> None:
    form = opened(kind)
    *first, last = WRITTEN[kind]
    form.write(*(WRITTEN[kind][name] for name in first), "")
    assert form.refused() == said(kind, f"{last}_required")
    form.page.locator(FIELD).last.fill(WRITTEN[kind][last])
    assert form.refused() == said("consent", "required"), "nobody can send without consent"
    assert form.stored() == []
    form.send()
    assert form.answer() == CONSENT | {name: [text] for name, text in WRITTEN[kind].items()}


def test_a_sentence_without_the_gap_is_refused(opened: Callable[..., OpenForm]) -> None:
    form = opened("intrasentence")
    *words, _ = WRITTEN["intrasentence"].values()
    form.agree()
    submit = form.page.locator("button", has_text=SUBMIT)
    beside = form.page.locator(f"{SUBMIT_BUTTON}, {SUBMIT_BUTTON} ~ button").all()
    assert len(beside) > 1, "a menu beside it sends, too"
    hint = form.page.get_by_text(said("web", "sentence_plain"), exact=True)
    for wrong in ("The librarian is blank.", "The librarian is Blank.", "The librarian is"):
        form.write(*words, wrong)
        hint.wait_for()
        for button in beside:
            assert button.evaluate("e => getComputedStyle(e).pointerEvents") == "none"
        form.page.locator(FIELD).last.press("Enter")  # it would store the sentence
    box = submit.bounding_box()
    form.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert form.stored() == []
    form.page.locator(FIELD).last.press("End")
    form.page.keyboard.type(" ")
    form.page.get_by_text(said("web", "insert_gap"), exact=True).click()
    form.page.keyboard.type(".")
    hint.wait_for(state="hidden")
    form.submit()
    sentence = "The librarian is BLANK."
    assert form.answer() == CONSENT | {k: [v] for k, v in (MEANT | {"template": sentence}).items()}


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_languages_gap(language: str, opened: Callable[..., OpenForm]) -> None:
    texts = pages.texts(language, None, study=STUDY, pay=("1", "USD"))
    word = texts["writing"]["blank"]
    form = opened("intrasentence", texts=texts)
    field = form.page.locator(FIELD).last
    submit = form.page.locator(SUBMIT_BUTTON)
    for text, reach in (
        (f"x {word} y", "auto"),
        ("x BLANK y", "auto"),
        (f"x {unicodedata.normalize('NFKC', word)} y", "auto"),
        (f"x {word.swapcase()[:-1]} y", "none"),
        ("x blank y", "none"),
    ):
        field.fill(text)
        form.page.wait_for_timeout(50)
        assert submit.evaluate("e => getComputedStyle(e).pointerEvents") == reach, text


def test_news_of_label_studio_must_be_asked_for(
    browser: Any, ls: LabelStudio, server: Any, worker_id: str
) -> None:
    context = browser.new_context()
    page = context.new_page()
    link = invite_link(server.url, server.key)
    page.goto(link)
    box, sent = page.locator("#allow_newsletters_visual"), page.locator("#allow_newsletters")
    assert (box.is_checked(), sent.input_value()) == (False, "false")
    page.get_by_text("Get the latest news").click()
    assert sent.input_value() == "true"
    page.close()
    email = f"news-{worker_id}@example.invalid"
    browser_of(browser, link, email).close()
    (user,) = [user for user in ls.to.ask("GET", "users") if user["email"] == email]
    assert user["allow_newsletters"] is False
    context.close()


def validated(*golds: str) -> dict[str, list[str]]:
    return CONSENT | {f"label_{n}": [gold] for n, gold in enumerate(golds, 1)}


def test_what_a_validator_says_is_stored(opened: Callable[..., OpenForm]) -> None:
    form = opened("validation")
    form.choose("validation", "unrelated", 0)
    form.choose("validation", "stereotype", 2)  # «Anti-stereotype» has that word too
    assert form.refused() == said("validation", "question_required")
    form.choose("validation", "anti_stereotype", 2)
    form.choose("validation", "objective")
    form.choose("validation", "unknown_target")
    form.send()
    assert form.answer() == validated("unrelated", "stereotype", "anti-stereotype") | {
        "flags": ["objective", "unknown_target"]
    }


def test_a_validator_needs_no_mouse(opened: Callable[..., OpenForm]) -> None:
    form = opened("validation")
    for key in "159gc":
        form.page.keyboard.press(key)
    form.page.keyboard.press("Control+Enter")
    assert form.answer() == validated(*GOLDS) | {"flags": ["ungrammatical"]}


def test_a_review_keeps(opened: Callable[..., OpenForm]) -> None:
    form = opened("review")
    assert form.page.locator(FIELD).count() == 0
    form.choose("review", "keep")
    form.write("book keeper")
    form.send()
    assert form.answer() == CONSENT | {"decision": ["keep"], "rename": ["book keeper"]}


def test_a_review_merges(opened: Callable[..., OpenForm]) -> None:
    form = opened("review")
    form.choose("review", "merge")
    form.agree()
    assert form.refused() == said("review", "into_required")
    form.choose("review", "into_other")
    assert form.refused() == said("review", "other_required")
    form.tick("$\u20605 reader")
    form.submit()
    assert form.answer() == CONSENT | {"decision": ["merge"], "merge_into": ["t-3"]}


def test_a_review_merges_into_a_term_that_is_not_offered(opened: Callable[..., OpenForm]) -> None:
    form = opened("review")
    form.choose("review", "merge")
    form.choose("review", "into_other")
    form.write("archivist", "")
    form.send()
    wanted = {"decision": ["merge"], "merge_into": ["other"], "merge_into_other": ["archivist"]}
    assert form.answer() == CONSENT | wanted


def test_a_review_drops(opened: Callable[..., OpenForm]) -> None:
    form = opened("review")
    form.choose("review", "drop")
    form.agree()
    assert form.refused() == said("review", "reasons_required")
    form.choose("review", "not_a_group")
    form.choose("review", "insult")
    form.submit()
    assert form.answer() == CONSENT | {"decision": ["drop"], "reasons": ["not_a_group", "insult"]}


@pytest.mark.parametrize("kind", ["validation", "intersentence"])
def test_a_form_fits_a_telephone(kind: RoundKindName, opened: Callable[..., OpenForm]) -> None:
    form = opened(kind, width=420, read=False)
    for place in (".lsf-modal-ls__content", ".cur"):
        box = form.page.locator(place).bounding_box()
        assert box["x"] >= 0, place
        assert box["x"] + box["width"] <= 420, place
    form.away(INSTRUCTIONS)
    button = form.page.locator("button", has_text=SUBMIT).bounding_box()
    assert button["x"] + button["width"] <= 420
    assert button["y"] + button["height"] <= 900


def test_what_is_agreed_to_can_be_read_in_the_form(opened: Callable[..., OpenForm]) -> None:
    form = opened("validation")
    form.page.get_by_text(said("consent", "title"), exact=True).click()
    form.page.get_by_text("a@b.example").last.wait_for()
    form.page.get_by_text(said("instruction", "panel"), exact=True).last.click()
    form.page.get_by_text("You are paid $\u20601 USD for each task.").wait_for()


def test_a_form_runs_from_right_to_left(opened: Callable[..., OpenForm]) -> None:
    texts = TEXTS | {"page": {"direction": "rtl"}}
    form = opened("validation", texts=texts)
    text = form.page.locator(".cur .card .lsf-richtext__line").first
    assert text.evaluate("e => getComputedStyle(e).direction") == "rtl"
    box, card = text.bounding_box(), form.page.locator(".cur .card").first.bounding_box()
    assert box["x"] + box["width"] > card["x"] + card["width"] - 30, "it begins on the right"
