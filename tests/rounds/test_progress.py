"""A round's progress, computed by hand."""

from typing import Any

from curation.campaign.settings import DecisionSettings
from curation.records import Answer, Round, Task
from curation.rounds.platforms.interface import Demand, Progress
from curation.rounds.progress import RoundStatus, lacking, progress, received

NOW = "2026-03-11T00:00:00.000Z"
UNLIKE = (1, 1, 0, 0)  # one label was refused: one more cannot make three of a kind
SURE = (3, 0, 0, 0)


def round_of(kind: str = "validation", **said: Any) -> Round:
    usual = {"name": "v", "kind": kind, "platform": "files", "state": "open", "seed": 1}
    usual |= {"labels": "all", "answers": 5, "consent": "1", "pay": 0.5}
    return Round.model_validate({**usual, **said})


def task(n: int, *, wanted: int = 5, full: bool = True, item: bool = True) -> Task:
    return Task(
        id=f"t-{n}", term="term-1", domain="d", target="word", wanted=wanted, full=full,
        item=f"item-{n}" if item else None,
    )  # fmt: skip


def answer(n: int, who: str, code: str | None = None, day: int = 10) -> Answer:
    return Answer(
        task=f"t-{n}", annotator=who, code=code, submitted_at=f"2026-03-{day:02d}T00:00:00.000Z"
    )


def test_a_full_task_lacks_what_its_poorest_association_lacks() -> None:
    votes = {"item-1": [(3, 1, 0, 0), (0, 4, 0, 0), (0, 0, 3, 0)]}
    assert lacking(round_of(), [task(1)], [], votes=votes, needed=3, of=5) == {"t-1": 2}


def test_needed_labels_stop_where_the_item_is_decided() -> None:
    tasks = [task(n, wanted=3, full=n == 3) for n in (1, 2, 3)]
    decided = [SURE, (0, 3, 0, 0), (0, 0, 3, 0)]
    votes = {"item-1": decided, "item-2": [UNLIKE, (0, 3, 0, 0), (0, 0, 3, 0)], "item-3": decided}
    lack = lacking(round_of(labels="needed"), tasks, [], votes=votes, needed=3, of=5)
    # 3 is of the sample: it gets all five, though it is decided.
    assert lack == {"t-1": 0, "t-2": 2, "t-3": 2}


def to_ask(lack: dict[str, int], asked: dict[str, int], got: dict[str, int]) -> dict[str, int]:
    return Demand([], asked, got, lack, void=set()).to_ask()


def test_a_refused_item_is_written_again() -> None:
    tasks = [task(n, wanted=1, item=False) for n in (1, 2, 3)]
    answers = [answer(1, "p-1"), answer(2, "p-1", "blank_missing")]
    lack = lacking(round_of("intrasentence"), tasks, answers, votes={}, needed=3, of=5)
    assert lack == {"t-1": 0, "t-2": 1, "t-3": 1}
    got = received(answers)
    assert to_ask(lack, {"t-1": 1, "t-2": 1, "t-3": 1}, got) == {"t-2": 2}  # t-3 is on its way


def test_what_was_asked_for_is_not_asked_for_again() -> None:
    lack, got = {"t-1": 2}, {"t-1": 3}
    asks = to_ask(lack, {"t-1": 3}, got)
    assert asks == {"t-1": 5}
    assert to_ask(lack, asks, got) == {}
    assert to_ask({"t-1": 1}, asks, {"t-1": 4}) == {}  # one came, one is still on its way


def test_who_passed_on_takes_no_place() -> None:
    answers = [
        answer(1, "p-1", "skipped"), answer(1, "p-2", "superseded"), answer(1, "p-3", "deleted"),
        answer(1, "p-4", "too_fast"), answer(1, "p-5"),
    ]  # fmt: skip
    assert received(answers) == {"t-1": 2}


def figures(
    round: Round, tasks: list[Task], answers: list[Answer], lack: Any, asked: Any, votes: Any = ()
) -> Progress:
    status = RoundStatus(round, tasks, answers, asked, dict(votes), set(), lack, [], False)
    return progress(status, DecisionSettings(), NOW)


def test_figures_of_a_round() -> None:
    tasks = [task(n, wanted=5) for n in (1, 2)]
    votes = {"item-1": [(5, 0, 0, 0), (0, 5, 0, 0), (0, 0, 5, 0)], "item-2": [(1, 0, 0, 0)] * 3}
    # Six answers on the 10th, at midnight: pace is taken over the one day since.
    answers = [*(answer(1, f"p-{k}") for k in range(5)), answer(2, "p-0")]
    answers.append(answer(2, "p-1", "skipped"))
    lack = lacking(round_of(), tasks, answers, votes=votes, needed=3, of=5)
    assert lack == {"t-1": 0, "t-2": 4}
    p = figures(round_of(), tasks, answers, lack, {"t-1": 5, "t-2": 5}, votes)
    assert (p.tasks, p.done, p.decided, p.people) == (2, 1, 1, 5)
    assert (p.answers, p.refused, p.asked, p.remaining) == (6, 0, 10, 4)
    assert p.labels_per_item == 3.0  # (5 + 1) / 2
    assert p.per_day == 6.0
    assert p.done_at == "2026-03-11T16:00:00.000Z"  # 4 of 6 a day: 16 hours
    assert (p.cost, p.cost_in_all) == (3.0, 5.0)  # 6 × 0.5, and 4 more
    closed = round_of(state="closed")
    p = figures(closed, tasks, answers, lack, {"t-1": 5, "t-2": 5}, votes)
    assert (p.remaining, p.cost, p.cost_in_all) == (4, 3.0, 3.0)  # nobody is asked any more


def test_the_cost_is_exact() -> None:
    answers = [answer(1, f"p-{k}") for k in range(3)]
    p = figures(round_of(pay=0.1), [task(1)], answers, {}, {})
    assert (p.cost, p.cost_in_all) == (0.3, 0.3)  # and not 0.30000000000000004


def test_the_pace_is_that_of_the_last_seven_days() -> None:
    answers = [answer(1, f"p-{d}-{k}", day=d) for d in (1, 9) for k in range(7)]
    tasks = [task(1, wanted=21, item=False)]
    p = figures(round_of("review"), tasks, answers, {"t-1": 7}, {"t-1": 21})
    assert p.per_day == 1.0  # the seven of the 9th, over seven days
    assert p.done_at == "2026-03-18T00:00:00.000Z"


def test_before_the_first_answer_there_is_no_pace() -> None:
    p = figures(round_of("review"), [task(1, item=False)], [], {"t-1": 5}, {"t-1": 5})
    assert (p.per_day, p.done_at, p.people, p.labels_per_item) == (None, None, 0, None)
