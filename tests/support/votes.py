"""Items whose labels a person can count: associations ``x0``, ``x1``, ``x2`` of an item ``x``."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from curation.kinds import GOLDS, Gold
from curation.records import Association, Item, Label, Value

VALUES: dict[str, Value] = {
    "s": "stereotype", "a": "anti-stereotype", "u": "unrelated", "r": "related",
}  # fmt: skip


def item(name: str, meant: Sequence[Gold] = GOLDS, **more: Any) -> Item:
    """An item of the term ``term-1``; ``meant`` are its writer's intents."""
    a, b, c = (
        Association(id=f"{name}{n}", sentence=f"sentence {n}", intent=gold)
        for n, gold in enumerate(meant)
    )
    about = {"kind": "intersentence", "term": "term-1", "context": "The baker came in."} | more
    return Item(id=name, associations=(a, b, c), round="main", **about)


def labels(given: Iterable[tuple[str, str, Value]], *, round: str = "main") -> pd.DataFrame:
    """A table of labels as (association, annotator, value), in order of submission."""
    rows = [
        Label(
            id=f"label-{n}", item=association[:-1], association=association, annotator=annotator,
            value=value, round=round, source="answers",
        ).model_dump()
        for n, (association, annotator, value) in enumerate(given)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(Label.model_fields))
