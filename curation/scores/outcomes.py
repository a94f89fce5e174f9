"""How the comparisons of CATs ended, for runs that have comparisons instead of scores."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from curation.files import CurationError, read_records
from curation.records import GOLDS, PAIRS, Cat, Comparison, Gold
from curation.scores.asking import cat_digest
from curation.stats.intervals import Floats
from curation.stats.metrics import Ties

Three = tuple[float, float, float]
_PAIRS = ((0, 2), (1, 2), (0, 1))  # choices.PAIRS, by places in GOLDS


class Outcome(NamedTuple):
    """How the three comparisons of a CAT ended, in the order of ``choices.PAIRS``.

    ``won`` and ``split`` are shares of replicates, as in ``choices.Comparison``. ``asked`` is the
    digest of the CAT's texts (``asking.cat_digest``). ``probable`` says whether the model gave
    probabilities of the letters.
    """

    won: Three
    split: Three
    asked: str = ""
    probable: bool = False


def read_outcomes(path: Path) -> dict[str, Outcome]:
    """The outcomes in a file of comparisons, by CAT; none if the file does not exist.

    A CAT with fewer than three comparisons is left out.

    Raises:
        CurationError: a line is not a comparison, or one comparison is there twice; names the file
            and the line, or the CAT.
    """
    if not path.exists():
        return {}
    by_cat: dict[str, dict[str, Comparison]] = {}
    for line in read_records(path, Comparison):
        of_cat = by_cat.setdefault(line.cat, {})
        if line.pair in of_cat or line.won + line.split > 1 + 1e-9:
            problem = "has two lines" if line.pair in of_cat else "has won + split above 1"
            raise CurationError(
                f"{path}: the comparison {line.pair} of CAT {line.cat} {problem}",
                "delete this file and score the model again; its replies are kept, and are not "
                "asked for again",
            )
        of_cat[line.pair] = line
    outcomes = {}
    for cat, of_cat in by_cat.items():
        if len(of_cat) == len(PAIRS):
            meaningful, other, stereotype = (of_cat[pair] for pair in PAIRS)
            outcomes[cat] = Outcome(
                (meaningful.won, other.won, stereotype.won),
                (meaningful.split, other.split, stereotype.split),
                meaningful.asked,
                all(comparison.p is not None for comparison in of_cat.values()),
            )
    return outcomes


def judge_outcomes(
    outcomes: Sequence[Outcome], *, ties: Ties = "half"
) -> tuple[Floats, Floats, Floats]:
    """The comparisons won in each CAT: meaningful, stereotype and ties, as ``metrics.judge``.

    A comparison is worth the share of replicates that it won, and with ties ``half`` also half of
    the share that was split. It is a tie if all of its replicates were split.

    Args:
        outcomes: of CATs.
        ties: as in ``metrics.comparisons``.

    >>> judge_outcomes([Outcome((1, 0, 0), (0, 1, 0.5))])
    (array([1.5]), array([0.25]), array([1.]))
    """
    won = np.array([outcome.won for outcome in outcomes], float).reshape(-1, len(PAIRS)).T
    split = np.array([outcome.split for outcome in outcomes], float).reshape(-1, len(PAIRS)).T
    values = won + (0.5 if ties == "half" else 0.0) * split
    return values[0] + values[1], values[2], np.asarray((split == 1).sum(axis=0), float)


ByIds = dict[tuple[str, str], tuple[float, float]]
"""``won`` and ``split`` of comparisons by the ids of the two associations, in both orders."""


def by_ids(cats: Sequence[Cat], outcomes: Mapping[str, Outcome], *, variant: str = "") -> ByIds:
    """Comparisons by the ids of their associations.

    CATs are found by their texts, so their ids and gold labels may have changed since the model was
    asked.

    Args:
        cats: the CATs; those without an outcome are left out.
        outcomes: by CAT, as they were asked.
        variant: how the texts were altered.
    """
    by_texts = {outcome.asked: outcome for outcome in outcomes.values() if outcome.asked}
    table: ByIds = {}
    for cat in cats:
        own = outcomes.get(cat.id)
        for golds in permutations(GOLDS):  # the first is that of the CAT as it is now
            ids = _ids(cat, golds)
            then = _relabelled(cat, dict(zip(ids, GOLDS, strict=True)))
            texts = cat_digest(then, variant=variant)
            outcome = own if own and own.asked in ("", texts) else by_texts.get(texts)
            if outcome:
                for (a, b), won, split in zip(_PAIRS, outcome.won, outcome.split, strict=True):
                    table[ids[a], ids[b]] = (won, split)
                    table[ids[b], ids[a]] = (max(0.0, 1 - won - split), split)
                break
    return table


def from_ids(ids: Sequence[str], table: ByIds) -> Outcome | None:
    """The outcome of a CAT whose associations have these ids, in the order of ``GOLDS``."""
    ended = [table[pair] for a, b in _PAIRS if (pair := (ids[a], ids[b])) in table]
    if len(ended) < len(_PAIRS):
        return None
    (won, split), (other_won, other_split), (ss_won, ss_split) = ended
    return Outcome((won, other_won, ss_won), (split, other_split, ss_split))


def outcomes_of(cats: Sequence[Cat], table: ByIds) -> dict[str, Outcome]:
    """The outcomes of CATs that have all three comparisons in a table of ``by_ids``, by CAT."""
    known = {cat.id: from_ids(_ids(cat, GOLDS), table) for cat in cats}
    return {cat: outcome for cat, outcome in known.items() if outcome}


def _ids(cat: Cat, golds: Sequence[Gold]) -> list[str]:
    by_gold = {association.gold: association.id for association in cat.associations}
    return [by_gold[gold] for gold in golds]


def _relabelled(cat: Cat, golds: Mapping[str, Gold]) -> Cat:
    a, b, c = (each.model_copy(update={"gold": golds[each.id]}) for each in cat.associations)
    return cat.model_copy(update={"associations": (a, b, c)})
