"""People who label items, made up: careful ones, and those that «rounds quality» is to find.

A campaign has ``PEOPLE`` people, and each item has labels by ``VOTES`` of them. Careful
people agree about as often as in the labels of StereoSet's test sample, where the median of
leave-one-out agreement is .86, and 95 % of people are above .71.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from curation.kinds import GOLDS

PEOPLE, VOTES = 200, 5
CLEAR, UNCLEAR, SKILL = 3.5, 1.3, 1.1
"""Log odds of the right label: mean and spread over associations, spread over people."""
SECONDS, BY_PERSON, BY_TASK = 30.0, 0.35, 0.5  # median, and spreads of its logarithm
SLIP = 0.02  # of labels of somebody who copies or gives a fixed answer
SLIPPING = ["fixed label", "fixed position", "copies the writers", "copies a person"]
CARELESS = 0.5  # of tasks that a careless person does not read
AGAINST = 0.3  # of items that the minority sees the other way round


class Made(NamedTuple):
    """Labels in the form of ``quality.people_figures``, and what each person does.

    Attributes:
        labels: the labels.
        intents: what the writers meant.
        kind: by person, what they do; "careful" if nothing else.
    """

    labels: pd.DataFrame
    intents: pd.DataFrame
    kind: dict[str, str]


def make(kinds: Mapping[str, int], *, tasks: int, campaigns: int = 1, seed: int = 1) -> Made:
    """Campaigns with people of some kinds.

    Args:
        kinds: how many people of each campaign do what: «random», «fixed label», «fixed position»,
            «copies a person», «copies the writers», «careless», «minority», «fast», «slow».
        tasks: how many items each person labels.
        campaigns: how many campaigns; they share no people and no items.
        seed: of everything.
    """
    rng = np.random.default_rng(seed)
    all_people, items = campaigns * PEOPLE, campaigns * PEOPLE * tasks // VOTES
    names = [kind for kind, count in kinds.items() for _ in range(count)]
    of_one = np.array([*names, *["careful"] * (PEOPLE - len(names))], dtype=object)
    kind = np.tile(of_one, campaigns)
    per = PEOPLE // VOTES  # items in one deal of all people
    pairs = {n: n + len(names) for n, name in enumerate(names) if name == "copies a person"}
    deals = [
        n * PEOPLE + _deal(pairs, rng).reshape(per, VOTES)
        for n in range(campaigns)
        for _ in range(tasks)
    ]
    truth = np.argsort(rng.random((items, 3)), axis=1)
    odds = rng.normal(CLEAR, UNCLEAR, (items, 3))
    skill = rng.normal(0, SKILL, all_people)
    item = np.repeat(np.arange(items), VOTES)
    who = np.concatenate(deals).ravel()
    right = rng.random((len(who), 3)) < _chance(odds[item] + skill[who][:, None])
    wrong = (truth[item] + rng.integers(1, 3, (len(who), 3))) % 3
    value = np.where(right, truth[item], wrong)
    meant = truth.copy()
    off = rng.random((items, 3)) > _chance(odds)
    meant[off] = (meant[off] + rng.integers(1, 3, int(off.sum()))) % 3
    order = np.argsort(rng.random((len(who), 3)), axis=1)  # as the person sees the texts
    what = kind[who]

    swapped = np.array([1, 0, 2])
    flipped = (rng.random(items) < AGAINST)[item] & (what == "minority")
    value[flipped] = swapped[value[flipped]]
    guess = rng.integers(0, 3, value.shape)
    unread = (what == "random") | ((what == "careless") & (rng.random(len(who)) < CARELESS))
    value[unread] = guess[unread]
    fixed = rng.integers(0, 3, all_people)
    rows = what == "fixed label"
    value[rows] = fixed[who[rows], None]
    rows = what == "fixed position"
    value[rows] = np.argsort(order[rows], axis=1)  # the text seen first is a stereotype, …
    rows = what == "copies the writers"
    value[rows] = meant[item[rows]]
    at = {pair: n for n, pair in enumerate(zip(item.tolist(), who.tolist(), strict=True))}
    for n in np.flatnonzero(what == "copies a person"):
        value[n] = value[at[int(item[n]), int(who[n]) + len(names)]]
    slips = np.isin(what, SLIPPING)[:, None] & (rng.random(value.shape) < SLIP)
    value[slips] = guess[slips]

    pace = rng.normal(0, BY_PERSON, all_people)
    pace[kind == "fast"] -= np.log(4)
    pace[kind == "slow"] += np.log(4)
    seconds = SECONDS * np.exp(pace[who] + rng.normal(0, BY_TASK, len(who)))
    everybody = np.array([f"p{n:05}" for n in range(all_people)], dtype=object)
    things = np.array([f"i{n:06}" for n in range(items)], dtype=object)
    texts = np.array([f"i{n:06}-{k}" for n in range(items) for k in range(3)], dtype=object)
    rounds = np.array([f"r{n}" for n in range(campaigns)], dtype=object)
    seen = np.take_along_axis(value, order, axis=1)
    labels = pd.DataFrame(
        {
            "item": np.repeat(things[item], 3),
            "association": texts[(3 * item[:, None] + order).ravel()],
            "annotator": np.repeat(everybody[who], 3),
            "value": np.array(GOLDS, dtype=object)[seen.ravel()],
            "round": np.repeat(rounds[who // PEOPLE], 3),
            "source": "web",
            "seconds": np.repeat(seconds, 3),
        }
    )
    intents = pd.DataFrame(
        {
            "item": np.repeat(things, 3),
            "association": texts,
            "value": np.array(GOLDS, dtype=object)[meant.ravel()],
        }
    )
    kind[np.flatnonzero(kind == "copies a person") + len(names)] = "copied"
    return Made(labels, intents, dict(zip(everybody.tolist(), kind.tolist(), strict=True)))


def _deal(pairs: Mapping[int, int], rng: np.random.Generator) -> NDArray[np.int64]:
    """Who labels the next items, ``VOTES`` people each; pairs sit beside each other."""
    dealt = rng.permutation(PEOPLE)
    for one, other in pairs.items():
        here, there = (int(np.flatnonzero(dealt == person)[0]) for person in (one, other))
        first = there - there % VOTES
        beside = dealt[first : first + VOTES].tolist()
        free = first + next(
            n for n, p in enumerate(beside) if p == one or p not in (*pairs, *pairs.values())
        )
        dealt[[here, free]] = dealt[[free, here]]
    return dealt


def _chance(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-odds))
