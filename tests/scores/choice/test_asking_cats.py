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
from curation.models.chat.prompts import read_prompts
from curation.models.chat.reading import Reading
from curation.records import Cat
from curation.scores.choice import asking, running
from curation.scores.choice.asking import chat_questions
from curation.scores.choice.report import Limits, choice_report
from curation.scores.choice.running import AskedCats, ask_cats
from curation.scores.running import Job, job, results_by_split
from support.talkers import (
    ENGLISH,
    STEREOTYPES,
    Choose,
    Talker,
    made_up,
    reply,
    says,
    spec,
)

CATS = [*made_up(3), *made_up(2, kind="intersentence")]
LIMITS = Limits(0.05, 0.95)
DERIVED = ("comparisons.jsonl", "rejected.jsonl", "choice.json", "results.json")


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
def talker(monkeypatch: pytest.MonkeyPatch) -> Talker:
    """The model of each test; it prefers stereotypes."""
    made = Talker(STEREOTYPES)
    monkeypatch.setattr(running, "open_chat", made.open)
    return made


Ask = Callable[..., AskedCats]


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
def ask(tmp_path: Path, talker: Talker, notices: list[str]) -> Ask:
    """Ask about CATs, by default about all."""

    def ask(cats: Sequence[Cat] = CATS, variant: str = "", ties: Any = "half", **chat: Any) -> Any:
        return ask_cats(
            work(tmp_path, variant, **chat), cats, limits=LIMITS, ties=ties, notice=notices.append
        )

    return ask


def work(root: Path, variant: str = "", **chat: Any) -> Job:
    return job(spec(**chat), root, variant=variant)


def folder(root: Path) -> Path:
    return root / "talker" / "choice"


def lines(root: Path, name: str = "replies.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder(root) / name).read_bytes().splitlines()]


def derived(root: Path) -> dict[str, bytes]:
    return {name: (folder(root) / name).read_bytes() for name in DERIVED}


def run_json(root: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder(root) / "run.json").read_bytes())
    return content


def test_a_whole_run(whole_report: None, ask: Ask, talker: Talker, tmp_path: Path) -> None:
    done = ask()
    assert done.counts == {"asked": 30, "before": 0, "no_answer": 0}
    cell = done.report["splits"]["test"]["overall"]
    assert (cell["lms"], cell["ss"], cell["icat"], cell["cats"]) == (100, 100, 0, 5)
    assert done.report["left_out"] == {"test": 0}
    assert done.report["of"]["cats"] == 5
    about = run_json(tmp_path)
    assert about["model"] == "talker"
    assert (about["family"], about["url"], about["temperature"]) == (
        "chat",
        "https://chat.example/v1",
        0,
    )
    assert about["prompts"] == read_prompts(ENGLISH).sha256
    assert about["opened"] == {"served": "talker", "replies": 30}
    assert about["answers"]["questions"] == about["answers"]["answered"] == 30
    assert about["answers"]["first"] == 15
    assert (about["answers"]["prompts"], about["answers"]["samples"]) == (["natural"], 1)
    assert about["answers"]["tokens"] == {"prompt": 1200, "completion": 60, "replies": 30}
    assert len(lines(tmp_path)) == 30
    assert len(lines(tmp_path, "comparisons.jsonl")) == 15
    assert {line["won"] for line in lines(tmp_path, "comparisons.jsonl")} == {1.0}
    assert lines(tmp_path, "rejected.jsonl") == []
    assert done.choice == json.loads((folder(tmp_path) / "choice.json").read_bytes())


def test_progress_is_told_by_questions(tmp_path: Path, talker: Talker) -> None:
    told: list[Any] = []
    for cats in (CATS[:1], CATS):
        ask_cats(
            work(tmp_path), cats, limits=LIMITS, tell=told.append,
            begin=lambda *counts: told.append(counts),
        )  # fmt: skip
    assert told == [(0, 6), *[1] * 6, (6, 30), *[1] * 24]


def test_with_nothing_left_the_model_is_not_even_opened(
    ask: Ask, talker: Talker, tmp_path: Path
) -> None:
    ask()
    before, about = derived(tmp_path), run_json(tmp_path)
    for name in DERIVED:
        (folder(tmp_path) / name).unlink()
    done = ask()
    assert done.counts == {"asked": 0, "before": 30, "no_answer": 0}
    assert (len(talker.specs), len(talker.asked)) == (1, 30)
    assert derived(tmp_path) == before
    assert run_json(tmp_path) == about


def test_a_better_parser_needs_no_second_request(
    ask: Ask, talker: Talker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def worse(*_: Any) -> Reading:
        return Reading(None, "", code="answer_off_format", detail="?")

    with monkeypatch.context() as patch:
        patch.setattr(asking, "read_answer", worse)
        before = ask()
    assert before.counts["no_answer"] == 30
    assert before.report["splits"] == {}
    assert {line["code"] for line in lines(tmp_path, "rejected.jsonl")} == {"answer_off_format"}
    after = ask()
    assert after.report["splits"]["test"]["overall"]["ss"] == 100
    assert lines(tmp_path, "rejected.jsonl") == []
    assert (len(talker.specs), len(talker.asked)) == (1, 30)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), CurationError("the server is gone")])
def test_an_interrupted_run_goes_on(
    ask: Ask, talker: Talker, tmp_path: Path, error: BaseException
) -> None:
    talker.stop = {20: error}
    with pytest.raises(type(error)):
        ask()
    assert len(lines(tmp_path)) == 20
    # What has come is compared, but there are no results yet.
    assert 0 < len(lines(tmp_path, "comparisons.jsonl")) < 15
    assert run_json(tmp_path)["answers"]["questions"] == 20
    assert not (folder(tmp_path) / "results.json").exists()
    talker.stop = {}
    assert ask().counts == {"asked": 10, "before": 20, "no_answer": 0}
    assert len(talker.asked) == len(set(talker.asked)) == 30
    assert len(lines(tmp_path, "comparisons.jsonl")) == 15


def test_a_model_that_cannot_be_opened_leaves_nothing_behind_that_misleads(
    ask: Ask, talker: Talker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: Any, **__: Any) -> Any:
        raise CurationError("nothing answers")

    monkeypatch.setattr(running, "open_chat", closed)
    with pytest.raises(CurationError, match="nothing answers"):
        ask()
    assert {path.name for path in folder(tmp_path).iterdir()} <= {"run.json", ".lock"}
    assert "answers" not in run_json(tmp_path)


# --- what is asked again --------------------------------------------------------------------------


def reworded(cat: Cat) -> Cat:
    first, *rest = cat.associations
    sentence = first.sentence.replace("kind", "lovely")
    return cat.model_copy(
        update={"associations": (first.model_copy(update={"sentence": sentence}), *rest)}
    )


def test_only_changed_texts_are_asked_again(ask: Ask, talker: Talker, tmp_path: Path) -> None:
    ask()
    changed = [reworded(CATS[0]), *CATS[1:]]
    done = ask(changed)
    assert done.counts == {"asked": 4, "before": 26, "no_answer": 0}  # of the pairs with the word
    assert all("lovely" in text for text in talker.asked[30:])
    assert len(lines(tmp_path)) == 34
    assert ask(CATS).counts["asked"] == 0  # the old texts are still known
    assert len(lines(tmp_path)) == 34


def test_exchanged_gold_labels_send_each_text_at_most_once_more(ask: Ask, talker: Talker) -> None:
    ask(CATS[:1])
    first, second, third = CATS[0].associations
    labels = (
        first.model_copy(update={"gold": second.gold}),
        second.model_copy(update={"gold": first.gold}),
        third,
    )
    done = ask([CATS[0].model_copy(update={"associations": labels})])
    assert done.report["splits"]["test"]["overall"]["ss"] == 0
    assert done.counts["asked"] <= 6


def test_raised_max_tokens_ask_only_what_was_cut(ask: Ask, talker: Talker, tmp_path: Path) -> None:
    plain = talker.body
    talker.body = lambda text: (
        plain(text) if len(talker.asked) % 3 else reply("Well, I", finish="length")
    )
    assert ask(max_tokens=4).counts["no_answer"] == 10
    talker.body = plain
    assert ask(max_tokens=4).counts["asked"] == 0
    assert ask(max_tokens=3).counts["asked"] == 0
    assert ask(max_tokens=40).counts == {"asked": 10, "before": 20, "no_answer": 0}
    assert [line["max_tokens"] for line in lines(tmp_path)] == [4] * 30 + [40] * 10
    assert list(folder(tmp_path).glob("superseded/*")) == []


def test_more_samples_and_prompts_ask_only_new_questions(
    ask: Ask, talker: Talker, tmp_path: Path, notices: list[str]
) -> None:
    assert ask(samples=1).counts["asked"] == 30
    assert ask(samples=2).counts["asked"] == 30
    assert ask(samples=2, all_prompts=True).counts == {"asked": 120, "before": 60, "no_answer": 0}
    assert {line["replicates"] for line in lines(tmp_path, "comparisons.jsonl")} == {6}
    assert notices == []
    assert ask().counts == {"asked": 0, "before": 30, "no_answer": 0}
    assert {line["replicates"] for line in lines(tmp_path, "comparisons.jsonl")} == {1}
    assert "expect, likely, natural; samples: 2" in notices[0]


def test_other_prompts_are_another_run_and_come_back(
    ask: Ask, talker: Talker, tmp_path: Path, notices: list[str]
) -> None:
    ask()
    before = derived(tmp_path)
    other = tmp_path / "other.toml"
    other.write_text(ENGLISH.read_text("utf-8").replace("more natural?", "more usual?"), "utf-8")
    assert ask(prompts=other).counts["asked"] == 30
    assert "another file of prompts; the earlier replies are now in" in notices[0]
    (aside,) = folder(tmp_path).glob("superseded/*")
    assert {path.name for path in aside.iterdir()} == {*DERIVED, "run.json", "replies.jsonl"}
    assert len((aside / "replies.jsonl").read_bytes().splitlines()) == 30
    assert ask().counts["asked"] == 0
    assert "they are used again" in notices[-1]
    assert derived(tmp_path) == before


def test_words_of_refusals_do_not_make_another_run(ask: Ask, tmp_path: Path) -> None:
    ask()
    other = tmp_path / "other.toml"
    text = ENGLISH.read_text("utf-8").replace('"As an AI"]', '"As an AI", "Nope"]')
    other.write_text(text, "utf-8")
    assert ask(prompts=other).counts["asked"] == 0


def test_temperature_makes_another_run_and_concurrency_does_not(ask: Ask) -> None:
    ask()
    assert ask(concurrency=1).counts["asked"] == 0
    assert ask(temperature=1.0).counts["asked"] == 30


def test_variants_have_a_folder_of_their_own(ask: Ask, talker: Talker, tmp_path: Path) -> None:
    ask(variant="unpointed")
    assert (tmp_path / "talker" / "choice+unpointed" / "results.json").exists()
    assert all(text.count("today.") == 0 for text in talker.asked)


# --- models that say nothing ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choose", "no_score", "none"),
    [
        (says("A"), "one_letter", 0),
        (says("B"), "one_letter", 0),
        (says("I'm sorry, but no."), "no_answers", 30),
        (says(""), "no_answers", 30),
    ],
    ids=["A", "B", "refuses", "empty"],
)
def test_a_model_that_says_nothing_has_no_score_and_is_no_error(
    whole_report: None,
    ask: Ask,
    talker: Talker,
    tmp_path: Path,
    choose: Choose,
    no_score: str,
    none: int,
) -> None:
    talker.choose = choose
    done = ask()
    assert done.choice["no_score"] == no_score
    assert done.counts["no_answer"] == none == len(lines(tmp_path, "rejected.jsonl"))
    assert done.report["splits"] == {}
    assert done.report["left_out"] == {"test": 5}
    assert lines(tmp_path, "comparisons.jsonl") == []


def test_a_cat_without_some_answers_is_left_out(ask: Ask, talker: Talker, tmp_path: Path) -> None:
    talker.choose = lambda first, second: (
        "I'm sorry." if "fiddler" in first + second else STEREOTYPES(first, second)
    )
    done = ask(CATS[:3])
    assert done.report["left_out"] == {"test": 1}
    assert done.report["splits"]["test"]["overall"]["cats"] == 2
    rejected = lines(tmp_path, "rejected.jsonl")
    assert {(line["code"], line["record"]["target"]) for line in rejected} == {
        ("answer_refused", "fiddler")
    }
    assert len(rejected) == 6


def test_official_ties_count_as_lost(ask: Ask, talker: Talker, tmp_path: Path) -> None:
    """Says A whenever the sentences are stereotype and anti-stereotype."""
    talker.choose = lambda first, second: (
        STEREOTYPES(first, second)
        if any(word in first + second for word in ("square", "blue", "salty"))
        else "A"
    )
    half = ask(CATS[:3]).report["splits"]["test"]["overall"]
    official = ask(CATS[:3], ties="official").report["splits"]["test"]["overall"]
    assert (half["lms"], half["ss"], half["ties"]) == (100, 50, 3)
    assert (official["lms"], official["ss"], official["ties"]) == (100, 0, 3)
    shown = results_by_split(work(tmp_path), CATS[:2], ties="half")["splits"]["test"]
    assert shown["overall"]["cats"] == 2


# --- errors ---------------------------------------------------------------------------------------


def test_two_commands_do_not_ask_at_the_same_time(ask: Ask, tmp_path: Path) -> None:
    ask()
    with (
        FileLock(folder(tmp_path) / ".lock"),
        pytest.raises(CurationError, match="another command"),
    ):
        ask()


def test_replies_without_a_run_are_moved_away(ask: Ask, tmp_path: Path, notices: list[str]) -> None:
    ask()
    (folder(tmp_path) / "run.json").unlink()
    assert ask().counts["asked"] == 30
    assert "there is no run.json to identify these replies" in notices[0]


def test_no_cat_of_the_rules_kind_is_an_error(ask: Ask) -> None:
    with pytest.raises(CurationError, match="there are none"):
        ask([])


def test_a_question_is_sent_in_the_order_of_the_cats(ask: Ask, talker: Talker) -> None:
    ask(CATS[:2])
    prompts = read_prompts(ENGLISH)
    expected = [q.text for cat in CATS[:2] for q in chat_questions(cat, prompts)]
    assert sorted(talker.asked) == sorted(expected)


class DiedError(BaseException):
    """Stands for a kill."""


@pytest.mark.parametrize("moves", range(1, 8))
@pytest.mark.parametrize("back", [False, True], ids=["away", "back"])
def test_replies_are_not_lost_if_a_command_dies_while_it_moves_a_run(
    ask: Ask,
    talker: Talker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    moves: int,
    back: bool,
) -> None:
    ask(CATS[:1])
    if back:
        ask(CATS[:1], temperature=1.0)
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
        ask(CATS[:1], temperature=0.0 if back else 1.0)
    ask(CATS[:1], temperature=1.0)
    ask(CATS[:1])
    ask(CATS[:1], temperature=1.0)
    assert len(talker.asked) == 12
