"""Runs of chat models: what is asked, what is kept, and what is computed from it."""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from curation.files import CurationError
from curation.kinds import CAT_KINDS
from curation.models.chat import read_prompts
from curation.models.chat_reading import Reading
from curation.records import Cat
from curation.scores import asking, running
from curation.scores.answer_report import Limits, choice_report
from curation.scores.asking import chat_questions
from curation.scores.running import AskedCats, Job, ask_cats, job, results_by_split
from support.cats import relabelled, reworded
from support.chat_answers import SORRY
from support.expected import fails
from support.talkers import ENGLISH, STEREOTYPES, Choose, Talker, made_up, reply, says, spec
from support.written import lines

CATS = [*made_up(3), *made_up(2, kind="intersentence")]
PROMPTS = read_prompts(ENGLISH)
LIMITS = Limits(0.05, 0.95)
DERIVED = ("comparisons.jsonl", "rejected.jsonl", "choice.json", "results.json")
NOTHING_NEW = {"asked": 0, "before": 30, "no_answer": 0}


class Runs:
    """The runs of a model that prefers stereotypes, unless a test changes it."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder = root, root / "talker" / "choice"
        self.talker, self.notices = Talker(STEREOTYPES), list[str]()

    def job(self, variant: str = "", **chat: Any) -> Job:
        return job(spec(**chat), self.root, variant=variant)

    def ask(
        self, cats: Sequence[Cat] = CATS, variant: str = "", ties: Any = "half", **chat: Any
    ) -> AskedCats:
        """Ask about CATs, by default about all."""
        work = self.job(variant, **chat)
        return ask_cats(work, cats, limits=LIMITS, ties=ties, notice=self.notices.append)

    def lines(self, name: str = "replies.jsonl") -> list[dict[str, Any]]:
        return lines(self.folder / name)

    def derived(self) -> dict[str, bytes]:
        return {name: (self.folder / name).read_bytes() for name in DERIVED}

    def run_json(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "run.json").read_bytes()))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report has counts only."""

    def report(cats: Any, asked: Any, *, tokens: Any, **_: Any) -> dict[str, Any]:
        readings = [each.reading for each in asked]
        answered = sum(reading.first is not None for reading in readings)
        counts = {"questions": len(readings), "answered": answered, "tokens": tokens}
        return {"answers": counts, "no_score": ""}

    monkeypatch.setattr(running, "choice_report", report)


@pytest.fixture
def whole_report(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "choice_report", choice_report)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    made = Runs(tmp_path)
    monkeypatch.setattr(running, "open_chat", made.talker.open)
    return made


@pytest.mark.usefixtures("whole_report")
def test_a_whole_run(runs: Runs) -> None:
    done = runs.ask()
    assert done.counts == {"asked": 30, "before": 0, "no_answer": 0}
    asked = [question.text for cat in CATS for question in chat_questions(cat, PROMPTS)]
    assert sorted(runs.talker.asked) == sorted(asked)
    cell = done.report["splits"]["test"]["overall"]
    assert (cell["lms"], cell["ss"], cell["icat"], cell["cats"]) == (100, 100, 0, 5)
    assert (done.report["left_out"], done.report["of"]["cats"]) == ({"test": 0}, 5)
    about = runs.run_json()
    wanted = {
        "model": "talker", "family": "chat", "url": "https://chat.example/v1", "temperature": 0,
        "prompts": PROMPTS.sha256(CAT_KINDS), "opened": {"served": "talker", "replies": 30},
    }  # fmt: skip
    assert about | wanted == about
    answers = {
        "questions": 30, "answered": 30, "first": 15, "prompts": ["natural"], "samples": 1,
        "tokens": {"prompt": 1200, "completion": 60, "replies": 30},
    }  # fmt: skip
    assert about["answers"] | answers == about["answers"]
    assert len(runs.lines()) == 30
    assert [line["won"] for line in runs.lines("comparisons.jsonl")] == [1.0] * 15
    assert runs.lines("rejected.jsonl") == []
    assert done.choice == json.loads((runs.folder / "choice.json").read_bytes())


def test_progress_is_told_by_questions(runs: Runs) -> None:
    told: list[Any] = []
    for cats in (CATS[:1], CATS):
        ask_cats(
            runs.job(), cats, limits=LIMITS, tell=told.append,
            begin=lambda *counts: told.append(counts),
        )  # fmt: skip
    assert told == [(0, 6), *[1] * 6, (6, 30), *[1] * 24]


def test_with_nothing_left_the_model_is_not_even_opened(runs: Runs) -> None:
    runs.ask()
    before, about = runs.derived(), runs.run_json()
    for name in DERIVED:
        (runs.folder / name).unlink()
    assert runs.ask().counts == NOTHING_NEW
    assert (len(runs.talker.specs), len(runs.talker.asked)) == (1, 30)
    assert (runs.derived(), runs.run_json()) == (before, about)


def test_a_better_parser_needs_no_requests(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    def worse(*_: Any) -> Reading:
        return Reading(None, "", code="answer_off_format", detail="?")

    with monkeypatch.context() as patch:
        patch.setattr(asking, "read_answer", worse)
        before = runs.ask()
    assert (before.counts["no_answer"], before.report["splits"]) == (30, {})
    assert {line["code"] for line in runs.lines("rejected.jsonl")} == {"answer_off_format"}
    assert runs.ask().report["splits"]["test"]["overall"]["ss"] == 100
    assert runs.lines("rejected.jsonl") == []
    assert (len(runs.talker.specs), len(runs.talker.asked)) == (1, 30)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), CurationError("the server is gone")])
def test_an_interrupted_run_goes_on(runs: Runs, error: BaseException) -> None:
    runs.talker.stop = {20: error}
    with pytest.raises(type(error)):
        runs.ask()
    assert len(runs.lines()) == 20
    # What has come is compared, but there are no results yet.
    assert 0 < len(runs.lines("comparisons.jsonl")) < 15
    assert runs.run_json()["answers"]["questions"] == 20
    assert not (runs.folder / "results.json").exists()
    runs.talker.stop = {}
    assert runs.ask().counts == {"asked": 10, "before": 20, "no_answer": 0}
    assert len(runs.talker.asked) == len(set(runs.talker.asked)) == 30
    assert len(runs.lines("comparisons.jsonl")) == 15


def test_a_model_that_cannot_be_opened(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: Any, **__: Any) -> Any:
        raise CurationError("nothing answers", "start it")

    monkeypatch.setattr(running, "open_chat", closed)
    with fails("nothing answers"):
        runs.ask()
    assert {path.name for path in runs.folder.iterdir()} <= {"run.json", ".lock"}
    assert "answers" not in runs.run_json()


# --- what is asked again --------------------------------------------------------------------------


def test_only_changed_texts_are_asked_again(runs: Runs) -> None:
    runs.ask()
    first = reworded(CATS[0], CATS[0].associations[0].sentence.replace("kind", "lovely"))
    # Of the pairs with the word.
    assert runs.ask([first, *CATS[1:]]).counts == {"asked": 4, "before": 26, "no_answer": 0}
    assert all("lovely" in text for text in runs.talker.asked[30:])
    assert runs.ask().counts["asked"] == 0  # the old texts are still known
    assert len(runs.lines()) == 34


def test_exchanged_gold_labels_send_each_text_at_most_once_more(runs: Runs) -> None:
    runs.ask(CATS[:1])
    done = runs.ask([relabelled(CATS[0], "anti-stereotype", "stereotype", "unrelated")])
    assert done.report["splits"]["test"]["overall"]["ss"] == 0
    assert done.counts["asked"] <= 6


def test_raised_max_tokens_ask_only_what_was_cut(runs: Runs) -> None:
    talker = runs.talker
    plain = talker.body
    talker.body = lambda text: (
        plain(text) if len(talker.asked) % 3 else reply("Well, I", finish="length")
    )
    assert runs.ask(max_tokens=4).counts["no_answer"] == 10
    talker.body = plain
    assert runs.ask(max_tokens=4).counts["asked"] == 0
    assert runs.ask(max_tokens=3).counts["asked"] == 0
    assert runs.ask(max_tokens=40).counts == {"asked": 10, "before": 20, "no_answer": 0}
    assert [line["max_tokens"] for line in runs.lines()] == [4] * 30 + [40] * 10
    assert list(runs.folder.glob("superseded/*")) == []


def test_more_samples_and_prompts_ask_only_new_questions(runs: Runs) -> None:
    def replicates() -> set[int]:
        return {line["replicates"] for line in runs.lines("comparisons.jsonl")}

    assert runs.ask(samples=1).counts["asked"] == 30
    assert runs.ask(samples=2).counts["asked"] == 30
    done = runs.ask(samples=2, all_prompts=True)
    assert done.counts == {"asked": 120, "before": 60, "no_answer": 0}
    assert (replicates(), runs.notices) == ({6}, [])
    assert runs.ask().counts == NOTHING_NEW
    assert replicates() == {1}
    assert "expect, likely, natural; samples: 2" in runs.notices[0]


def other_prompts(runs: Runs, old: str, new: str) -> Path:
    """The English prompts with another text."""
    path = runs.root / "other.toml"
    path.write_text(ENGLISH.read_text("utf-8").replace(old, new), "utf-8")
    return path


def test_other_prompts_are_another_run_and_come_back(runs: Runs) -> None:
    runs.ask()
    before = runs.derived()
    other = other_prompts(runs, "more natural?", "more usual?")
    assert runs.ask(prompts=other).counts["asked"] == 30
    assert "another file of prompts; the earlier replies are now in" in runs.notices[0]
    (aside,) = runs.folder.glob("superseded/*")
    assert {path.name for path in aside.iterdir()} == {*DERIVED, "run.json", "replies.jsonl"}
    assert len((aside / "replies.jsonl").read_bytes().splitlines()) == 30
    assert runs.ask().counts["asked"] == 0
    assert "they are used again" in runs.notices[-1]
    assert runs.derived() == before


def test_what_makes_another_run_and_what_does_not(runs: Runs) -> None:
    runs.ask()
    other = other_prompts(runs, '"I refuse",', '"I refuse", "Nope",')
    assert runs.ask(prompts=other).counts["asked"] == 0
    assert runs.ask(concurrency=1).counts["asked"] == 0
    assert runs.ask(temperature=1.0).counts["asked"] == 30


def test_variants_have_a_folder_of_their_own(runs: Runs) -> None:
    runs.ask(variant="unpointed")
    assert (runs.root / "talker" / "choice+unpointed" / "results.json").exists()
    assert all(text.count("today.") == 0 for text in runs.talker.asked)


def hesitates(runs: Runs, *, about: str = "") -> None:
    """Its replies about some targets are no letters; then it names the letter."""
    talker = runs.talker
    talker.choose = lambda first, second: (
        f"A is odd. {STEREOTYPES(first, second)} is common." if about in first
        else STEREOTYPES(first, second)
    )  # fmt: skip
    talker.again = STEREOTYPES


@pytest.mark.usefixtures("whole_report")
def test_a_reply_without_a_letter_is_asked_about_once_more(runs: Runs) -> None:
    hesitates(runs, about="fiddler")
    told: list[Any] = []
    done = ask_cats(
        runs.job(), CATS, limits=LIMITS, begin=lambda *counts: told.append(counts),
        tell=lambda questions: told.append(questions),
    )  # fmt: skip
    assert told == [(0, 30), *[1] * 30, (0, 6), *[1] * 6]
    assert done.counts == {"asked": 30, "before": 0, "no_answer": 0}
    assert done.report["splits"]["test"]["overall"]["ss"] == 100
    assert (done.choice["answers"]["second"], done.choice["answers"]["named"]) == (6, 6)
    assert len(runs.talker.specs) == 1, "the connection is opened once"
    assert [line["second"] for line in runs.lines()] == [False] * 30 + [True] * 6
    assert runs.talker.asked[-1].endswith("is common.\nAnswer with one letter only: A or B.")
    before = runs.derived()
    assert runs.ask().counts == NOTHING_NEW
    assert (runs.derived(), len(runs.talker.asked)) == (before, 36)


def test_what_is_no_letter_again_is_no_answer(runs: Runs) -> None:
    hesitates(runs, about="fiddler")
    runs.talker.again = says("Both are fine.")
    assert runs.ask().counts["no_answer"] == 6
    rejected = runs.lines("rejected.jsonl")
    assert {(line["code"], line["record"]["second"]) for line in rejected} == {
        ("answer_off_format", True)
    }
    assert '"Both are fine."' in rejected[0]["detail"]
    assert runs.ask().counts["asked"] == 0


@pytest.mark.parametrize("stop", [10, 30, 33])
def test_interrupted_between_the_questions(runs: Runs, stop: int) -> None:
    hesitates(runs, about="baker")  # six questions
    runs.talker.stop = {stop: KeyboardInterrupt()}
    with pytest.raises(KeyboardInterrupt):
        runs.ask()
    # What waits for its second question is neither an answer nor without one.
    assert runs.lines("rejected.jsonl") == []
    questions = runs.run_json()["answers"]["questions"]
    assert questions < stop if stop < 30 else questions == stop - 6
    assert not (runs.folder / "results.json").exists()
    runs.talker.stop = {}
    assert runs.ask().counts["asked"] == 30 - questions
    assert len(runs.talker.asked) == len(set(runs.talker.asked)) == 36
    assert [line["won"] for line in runs.lines("comparisons.jsonl")] == [1.0] * 15


# --- models that say nothing ----------------------------------------------------------------------


@pytest.mark.usefixtures("whole_report")
@pytest.mark.parametrize(
    ("choose", "no_score", "none"),
    [
        (says("A"), "one_letter", 0),
        (says("B"), "one_letter", 0),
        (says(SORRY), "no_answers", 30),
        (says(""), "no_answers", 30),
    ],
    ids=["A", "B", "refuses", "empty"],
)
def test_saying_nothing_is_no_error(runs: Runs, choose: Choose, no_score: str, none: int) -> None:
    runs.talker.choose = choose
    done = runs.ask()
    assert done.choice["no_score"] == no_score
    assert done.counts["no_answer"] == none == len(runs.lines("rejected.jsonl"))
    assert (done.report["splits"], done.report["left_out"]) == ({}, {"test": 5})
    assert runs.lines("comparisons.jsonl") == []


def test_a_cat_without_some_answers_is_left_out(runs: Runs) -> None:
    runs.talker.choose = lambda first, second: (
        SORRY if "fiddler" in first + second else STEREOTYPES(first, second)
    )
    done = runs.ask(CATS[:3])
    assert done.report["left_out"] == {"test": 1}
    assert done.report["splits"]["test"]["overall"]["cats"] == 2
    rejected = [(r["code"], r["record"]["target"]) for r in runs.lines("rejected.jsonl")]
    assert rejected == [("answer_refused", "fiddler")] * 6


def test_official_ties_count_as_lost(runs: Runs) -> None:
    """Says A whenever the sentences are stereotype and anti-stereotype."""
    runs.talker.choose = lambda first, second: (
        STEREOTYPES(first, second)
        if any(word in first + second for word in ("square", "blue", "salty"))
        else "A"
    )
    for ties, ss in (("half", 50), ("official", 0)):
        found = runs.ask(CATS[:3], ties=ties).report["splits"]["test"]["overall"]
        assert (found["lms"], found["ss"], found["ties"]) == (100, ss, 3)
    shown = results_by_split(runs.job(), CATS[:2], ties="half")["splits"]["test"]
    assert shown["overall"]["cats"] == 2


# --- errors ---------------------------------------------------------------------------------------


def test_two_commands_at_once_replies_without_a_run_and_no_cats(runs: Runs) -> None:
    runs.ask()
    with FileLock(runs.folder / ".lock"), fails("another command"):
        runs.ask()
    with fails("there are none"):
        runs.ask([])
    (runs.folder / "run.json").unlink()
    assert runs.ask().counts["asked"] == 30
    assert "there is no run.json to identify these replies" in runs.notices[0]


class DiedError(BaseException):
    """Stands for a kill."""


@pytest.mark.parametrize("moves", range(1, 8))
@pytest.mark.parametrize("back", [False, True], ids=["away", "back"])
def test_replies_are_not_lost_if_a_command_dies_while_it_moves_a_run(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, moves: int, back: bool
) -> None:
    runs.ask(CATS[:1])
    if back:
        runs.ask(CATS[:1], temperature=1.0)
    left, changes = moves, {"replace": os.replace, "unlink": Path.unlink}

    def dying(name: str) -> Callable[..., Any]:
        def change(*args: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if not left:
                raise DiedError
            return changes[name](*args, **options)

        return change

    with monkeypatch.context() as patch, suppress(DiedError):
        patch.setattr(os, "replace", dying("replace"))
        patch.setattr(Path, "unlink", dying("unlink"))
        runs.ask(CATS[:1], temperature=0.0 if back else 1.0)
    for temperature in (1.0, 0.0, 1.0):
        runs.ask(CATS[:1], temperature=temperature)
    assert len(runs.talker.asked) == 12
