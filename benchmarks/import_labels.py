"""Measure the time from raw answers to written labels: read, interpret, fold, write.

Makes an archive of 10,000 validation tasks with five answers each, 150,000 labels in all, once as
Label Studio sends them and once as a table. Folds each archive into the bytes of
``labels.jsonl``. Then delivers 50 more answers, and all answers a second time. Targets: over 50,000
labels per second, and under 0.3 s for a small delivery.

    python benchmarks/import_labels.py [TASKS]
"""

import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from curation.records import Association, Item, Shown, Task
from curation.rounds.answers import archive, people
from curation.rounds.answers.interpret import interpret
from curation.rounds.answers.parsed import ParsedAnswer
from curation.rounds.fold import Folded, fold
from curation.rounds.gate import Rules, lines
from curation.text.rules import Caps

PEOPLE = 60
GOLDS = ("stereotype", "anti-stereotype", "unrelated")
TERMS = {("profession", "baker"): "term-baker"}
PSEUDONYM = people.pseudonyms(b"k" * 32)


def stamp(second: int, micro: str = "123456") -> str:
    """A time as Label Studio writes it."""
    day, second = divmod(second, 86_400)
    clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    return f"2026-03-{1 + day:02d}T{clock}.{micro}Z"


def item_rows(tasks: int) -> list[dict[str, Any]]:
    """The written items, as a table."""
    return [
        {"item_id": f"item-{n:06d}", "annotator": "writer", "domain": "profession",
         "target": "baker", "context": f"The baker of house {n} came in.",
         "stereotype": f"He was early on day {n}.", "anti_stereotype": f"He was late on day {n}.",
         "unrelated": f"Sums {n} are in the book."}
        for n in range(tasks)
    ]  # fmt: skip


def planned(items: list[Item], rng: random.Random) -> dict[str, Task]:
    """A task for each item."""
    tasks = {}
    for n, item in enumerate(items):
        order: list[Association] = list(item.associations)
        rng.shuffle(order)
        shown = tuple(
            Shown(id=f"s-{n}-{k}", text=a.sentence, association=a.id) for k, a in enumerate(order)
        )
        name = f"task-{n:010d}"
        tasks[name] = Task(id=name, term=item.term, domain="profession", target="baker",
                           item=item.id, context=item.context, shown=shown, wanted=5,
                           barred=PSEUDONYM("writer"))  # fmt: skip
    return tasks


def annotations(tasks: dict[str, Task], rng: random.Random) -> Iterator[dict[str, Any]]:
    """Five people's answers to each task, in the form of a pull from Label Studio."""
    number = 0
    for task in tasks.values():
        for person in rng.sample(range(PEOPLE), 5):
            number += 1
            when = stamp(number)
            values = [(f"label_{k}", rng.choice(GOLDS)) for k in (1, 2, 3)]
            result = [
                {"id": f"{rng.getrandbits(50):010x}", "from_name": name, "to_name": "text",
                 "type": "choices", "origin": "manual", "value": {"choices": [value]}}
                for name, value in [*values, ("consent", "1-3fa9c2")]
            ]  # fmt: skip
            yield {
                "task": task.id,
                "person": f"p-{person:04x}@example.invalid",
                "annotation": {
                    "id": number, "completed_by": person, "result": result,
                    "was_cancelled": False, "ground_truth": False, "created_at": when,
                    "updated_at": when, "draft_created_at": when, "lead_time": 12.5 + number % 40,
                    "unique_id": f"{rng.getrandbits(128):032x}", "last_action": None,
                    "task": number, "project": 1, "updated_by": person, "parent_prediction": None,
                },
            }  # fmt: skip


def table(tasks: dict[str, Task], rng: random.Random) -> Iterator[dict[str, Any]]:
    """The same answers as a validators' table, with an item's labels in one row."""
    number = 0
    for task in tasks.values():
        for person in rng.sample(range(PEOPLE), 5):
            number += 1
            row = {"answer_id": f"a{number}", "item_id": task.item, "annotator": f"w{person}"}
            for n, shown in enumerate(task.shown, 1):
                row |= {f"association_{n}": shown.text, f"label_{n}": rng.choice(GOLDS)}
            yield {**row, "submitted_at": stamp(number)[:19] + "Z", "seconds": "12,5"}


def folded(root: Path, rounds: list[str], tasks: dict[str, Task]) -> Folded:
    """Fold the rounds as the fold step does."""

    def said() -> Iterator[tuple[str, ParsedAnswer]]:
        for round in rounds:
            for where, event in archive.read(root / round):
                place = f"{round}/raw/{where}"
                for what in interpret(
                    event, round=round, where=place, tasks=tasks, kind="validation"
                ):
                    yield round, what

    caps = Caps(person=100_000)
    rules = Rules(
        ["profession"], TERMS, consent="forms" in rounds, label_seconds=3, caps={"label": caps}
    )
    return fold(said(), rules, PSEUDONYM)


def timed(what: str, labels: int, work: Callable[[], Any]) -> Any:
    """Run ``work``; print wall-clock and CPU seconds, and labels per second by each."""
    clock, cpu = time.perf_counter(), time.process_time()
    result = work()
    clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
    rate = f"{labels / clock:12,.0f}{labels / cpu:12,.0f}" if labels else ""
    print(f"{what:44}{clock:9.2f}{cpu:9.2f}{rate}")
    return result


def main() -> None:
    """Print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        archive.deliver(root / "writing", "answers", item_rows(count))
        tasks = planned(folded(root, ["writing"], {}).items, rng)
        answers = list(annotations(tasks, rng))
        print(f"{'what':44}{'seconds':>9}{'CPU':>9}{'labels/s':>12}{'CPU':>12}")
        sources: list[tuple[str, Literal["label_studio", "answers"], list[dict[str, Any]]]] = [
            ("forms", "label_studio", answers),
            ("rows", "answers", list(table(tasks, rng))),
        ]
        for round, source, payloads in sources:
            timed(
                f"{source}: deliver",
                count * 15,
                lambda r=round, s=source, p=payloads: archive.deliver(root / r, s, p),
            )

            def whole(round: str = round) -> Folded:
                result = folded(root, ["writing", round], tasks)
                with (root / "labels.jsonl").open("wb") as file:
                    file.writelines(lines(result.labels))
                return result

            result = timed(f"{source}: raw answers to labels.jsonl", count * 15, whole)
            assert len(result.labels) == count * 15, (len(result.labels), result.rejections)
        late = [{**a, "annotation": {**a["annotation"], "last_action": "late"}} for a in answers]
        for what, payloads in (("50 more", late[:50]), ("all a second time", answers)):
            timed(f"deliver {what}", 0, lambda p=payloads: archive.deliver(
                root / "forms", "label_studio", p))  # fmt: skip
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
