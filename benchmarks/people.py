"""Measure how often «rounds quality» marks people who do not read their tasks, and people who do.

People are made up (``tests/support/annotators.py``). The tables of docs/quality.md come from here:

    python benchmarks/people.py     about a minute on two cores

Thresholds are in ``data/rounds/marks.toml``. They are set so that about 1 % of careful people are
marked, and so that the labels of StereoSet's test sample give the four marks that are known there.
"""

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from curation.rounds.quality import people_figures, thresholds  # noqa: E402
from support.annotators import PEOPLE, make  # noqa: E402

PAGE = ROOT / "docs" / "quality.md"
KINDS = {
    "random": "label at random",
    "fixed label": "always the same label",
    "fixed position": "always the same labels from top to bottom",
    "copies a person": "copy the labels of one other person",
    "copies the writers": "label as the writers meant",
    "careless": "do not read half of their tasks",
    "fast": "take a quarter of the usual time",
    "slow": "take four times the usual time",
}
OF_EACH = 2  # people of each kind in a campaign of 200
CAMPAIGNS = 25
TASKS = (15, 30, 60)
MINORITY_TASKS = (15, 60)
MINORITY_CAMPAIGNS = 50  # of 200 people, of whom 20 % are the minority
HEADS = {
    "marks": "mark",
    "kinds": "people who",
    "minority": "groups",
}


class Shares(NamedTuple):
    """How many people of each kind there were, and how many of them have each mark, or any."""

    people: Counter[str]
    marked: Counter[tuple[str, str]]

    def share(self, kind: str, mark: str = "any") -> float:
        """The share of people of a kind who have a mark, in per cent."""
        return 100 * self.marked[kind, mark] / self.people[kind]


def shares(
    kinds: Mapping[str, int], tasks: int, *, campaigns: int, seed: int = 1, grouped: bool = False
) -> Shares:
    """Who is marked in made-up campaigns.

    Args:
        kinds: as in ``annotators.make``.
        tasks: how many tasks each person does.
        campaigns: how many campaigns.
        seed: of the campaigns.
        grouped: whether it is known who belongs to the minority.
    """
    made = make(kinds, tasks=tasks, campaigns=campaigns, seed=seed)
    groups = {p: "minority" if k == "minority" else "majority" for p, k in made.kind.items()}
    figures = people_figures(made.labels, intents=made.intents, groups=groups if grouped else {})
    marked = Counter[tuple[str, str]]()
    for person in figures:
        kind = made.kind[person.person]
        marked.update((kind, code) for code in {mark.code for mark in person.marks})
        marked[kind, "any"] += bool(person.marks)
    return Shares(Counter(made.kind.values()), marked)


def of_kinds(tasks: int) -> Shares:
    """Careful people, and each kind of others."""
    return shares(dict.fromkeys(KINDS, OF_EACH), tasks, campaigns=CAMPAIGNS)


def of_minority(tasks: int, *, grouped: bool) -> Shares:
    """A minority of 20 %, who see 30 % of the items the other way round."""
    minority = {"minority": PEOPLE // 5}
    return shares(minority, tasks, campaigns=MINORITY_CAMPAIGNS, grouped=grouped)


def kinds_table(columns: Sequence[Shares]) -> list[list[str]]:
    """A row for each kind of people, with the share of marked ones by number of tasks."""
    rows = [["work carefully", "", *(f"{column.share('careful'):.1f}" for column in columns)]]
    for kind, does in {**KINDS, "copied": "are copied by another person"}.items():
        marks = Counter[str]()
        for column in columns:
            marks.update({m: n for (k, m), n in column.marked.items() if k == kind and m != "any"})
        most = marks.most_common(1)
        cells = [f"{column.share(kind):.0f}" for column in columns]
        rows.append([does, f"`{most[0][0]}`" if most else "", *cells])
    return rows


def marks_table() -> list[list[str]]:
    """A row for each mark, with its thresholds."""
    rows = []
    for code, limits in thresholds().items():
        values = [f"{k} {v:g}" for k, v in limits.items() if not isinstance(v, str)]
        rows.append([f"`{code}`", limits["means"], ", ".join(values)])
    return rows


def minority_row(tasks: int, *, grouped: bool) -> list[str]:
    """How often majority and minority are marked, and the difference."""
    found = of_minority(tasks, grouped=grouped)
    many, few = found.share("careful"), found.share("minority")
    says = "given" if grouped else "not given"
    return [says, str(tasks), f"{many:.2f}", f"{few:.2f}", f"{few - many:+.2f}"]


def tables() -> dict[str, list[list[str]]]:
    """All tables of the page."""
    return {
        "marks": marks_table(),
        "kinds": kinds_table([of_kinds(tasks) for tasks in TASKS]),
        "minority": [
            minority_row(tasks, grouped=grouped)
            for tasks in MINORITY_TASKS
            for grouped in (True, False)
        ],
    }


def written(text: str, made: Mapping[str, Any]) -> str:
    """The page with its tables as they are now.

    Raises:
        ValueError: the page does not have one of the tables.
    """
    for table, rows in made.items():
        pattern = rf"(^\| {HEADS[table]} \|.*\n\|[-|]+\n)(?:\|.*\n)*"
        body = "".join(f"| {' | '.join(row)} |\n" for row in rows)
        text, count = re.subn(pattern, lambda m, body=body: m[1] + body, text, flags=re.MULTILINE)
        if count != 1:
            raise ValueError(f"{PAGE}: write one line «| {HEADS[table]} |» for the table")
    return text


if __name__ == "__main__":
    made = tables()
    PAGE.write_text(written(PAGE.read_text("utf-8"), made), "utf-8")
