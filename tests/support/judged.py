"""Datasets for the criteria of trust: terms with CATs, and runs given by lms and ss of each CAT."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from curation.kinds import Kind
from curation.records import Cat, Criterion
from curation.trust.protocol.cases import DatasetInput, RuleGroup, Scored
from support.cats import cat

INTRA: Kind = "intrasentence"
INTER: Kind = "intersentence"
FORMS = {INTRA: "The BLANK baker sells bread.", INTER: "The baker has opened."}


def cats(terms: int, each: int, *, kinds: Sequence[Kind] = (INTER,), domains: int = 1) -> list[Cat]:
    """CATs of targets t0, t1, …, in turn of each kind; all sentences have the same length."""
    return [
        cat(
            FORMS[kinds[n % len(kinds)]],
            *(f"It is {word}." for word in ("good", "fine", "blue")),
            name=f"c{t}-{n}",
            kind=kinds[n % len(kinds)],
            domain=f"d{t % domains}",
            target=f"t{t}",
        )
        for t in range(terms)
        for n in range(each)
    ]


def run(model: str, rule: str, lms: Any, ss: Any, *, variant: str = "") -> Scored:
    """A run by one rule for both kinds."""
    name = f"{model}/{rule}" + (f"+{variant}" if variant else "")
    rules = {INTRA: rule, INTER: rule}
    return Scored(name, model, rules, variant, np.array(lms, float), np.array(ss, float))


def dataset(of: Sequence[Cat], *runs: Scored, **fields: Any) -> DatasetInput:
    """These CATs with runs; runs of a rule and variant are a group."""
    names = dict.fromkeys(each.name.split("/")[1] for each in runs)
    groups = [
        RuleGroup(name, tuple(n for n, each in enumerate(runs) if each.name.endswith(f"/{name}")))
        for name in names
    ]
    return DatasetInput("made-up", list(of), "en", runs=runs, groups=groups, **fields)


def found(rows: Sequence[Criterion], criterion: str, check: str, name: str = "") -> Criterion:
    """The only row of a criterion whose check begins like this."""
    own = [row for row in rows if row.criterion == criterion and name in ("", row.name)]
    chosen = [row for row in own if row.check.startswith(check)]
    assert len(chosen) == 1, [row.check for row in own]
    return chosen[0]


def by_term(terms: int, each: int, value: Callable[[int, int], float]) -> list[float]:
    """A value for each CAT of ``cats``, from the numbers of its term and of its place there."""
    return [value(t, n) for t in range(terms) for n in range(each)]
