"""Compute a measure again with changed inputs: evidence for content, sensitivity and split half.

Bias is the divergence of a target's associations from a reference (Definition 2.1). So a measure
must compare groups, must not depend on their order, and must be 0 if and only if the associations
equal the reference. The paper argues this (sections 2, 6 and 8); here each point is computed. The
lists of words are cut, and divided in halves, many times; the paper's code cuts them once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from curation.files import CurationError
from curation.records import Bias, CriterionName, Evidence
from curation.stats.correlations import Correlation, correlate, spearman_brown
from curation.trust.framework import Policies
from curation.trust.groups import Groups
from curation.trust.protocol.measures import alike, paired

SIZES = (3, 5)  # of lists that are cut (Table 8)
TAIL = 0.05  # the quantiles of draws
_CLOSE = 1e-6  # values may differ by this much because of rounding
MOST_WORDS = 300  # with more words than this in all lists, single words are not left out
Again = Callable[[Groups, Policies], Sequence[Bias]]
"""A measure that can be computed again, without intervals: with other groups or policies.

It raises ``NotPossibleError`` if it cannot be computed with the changed groups; for example, a
probe has learned people's labels and cannot use other words.
"""


class NotPossibleError(Exception):
    """A measure cannot be computed with these groups or policies; the message says why."""


def attempt(again: Again, groups: Groups, policies: Policies) -> tuple[list[Bias], str]:
    """The results with these groups and policies, or an empty list and the reason why not."""
    try:
        results = list(again(groups, policies))
        return results, "" if results else "the measure cannot be computed with this change"
    except NotPossibleError as error:
        return [], str(error)
    except CurationError as error:
        return [], error.what


def reordered(groups: Groups, order: Sequence[int]) -> Groups:
    """The same groups in another order; references follow their groups."""
    names = [groups.names[place] for place in order]
    references = groups.references and {
        target: tuple(shares[place] for place in order)
        for target, shares in groups.references.items()
    }
    words = {name: groups.words[name] for name in names}
    return replace(groups, words=words, references=references)


def labelled_order(groups: Groups, labelled: Groups) -> list[int]:
    """The place of each group among those that people labelled, by its words.

    People label groups and not words, so a measure of labels can change the order of the groups,
    but cannot leave out words.

    Raises:
        NotPossibleError: a group has other words than every labelled group.
    """
    places = {frozenset(words): place for place, words in enumerate(labelled.words.values())}
    found = [places.get(frozenset(words)) for words in groups.words.values()]
    known = [place for place in found if place is not None]
    if len(known) < len(found):
        raise NotPossibleError("the labels are of groups and not of words, so no word is left out")
    return known


def with_words(groups: Groups, words: Mapping[str, Sequence[str]]) -> Groups:
    """The same groups with other lists of words."""
    return replace(groups, words={name: tuple(own) for name, own in words.items()})


def with_first_divided(groups: Groups) -> Groups | None:
    """One group more: the first list is divided in two; None if it has one word only."""
    first, *others = groups.names
    own = groups.words[first]
    if len(own) < 2:
        return None
    words = {f"{first} 1": own[::2], f"{first} 2": own[1::2]}
    words |= {name: groups.words[name] for name in others}
    references = groups.references and {
        target: (shares[0] / 2, shares[0] / 2, *shares[1:])
        for target, shares in groups.references.items()
    }
    return replace(groups, words=words, references=references)


def stability(
    again: Again,
    groups: Groups,
    policies: Policies,
    *,
    draws: int,
    seed: int,
    confidence: float = 0.95,
) -> list[Evidence]:
    """Evidence of a measure's content validity, sensitivity and split-half reliability.

    The measure is computed about 4 · draws times, and once for each word of the groups.

    Args:
        again: the measure; it raises ``NotPossibleError`` for changes that it cannot make.
        groups: its groups and targets.
        policies: its policies.
        draws: how often lists are cut to each length, and divided in halves.
        seed: of the draws.
        confidence: of the interval of split halves.
    """
    base, why = attempt(again, groups, policies)
    if not base:
        names: tuple[tuple[CriterionName, str], ...] = (
            *(("content", "swap"), ("sensitivity", "words-3")),
            *(("sensitivity", "words-5"), ("split_half", "words")),
        )
        return [_evidence(criterion, check, detail=why) for criterion, check in names]
    rng = np.random.default_rng(seed)
    used = used_words(again, groups, policies, base)

    def results(words: Mapping[str, Sequence[str]]) -> list[Bias]:
        return attempt(again, with_words(groups, words), policies)[0]

    return [
        *_structure(again, groups, policies, base),
        *(_shorter(results, base, used, size=size, draws=draws, rng=rng) for size in SIZES),
        _one_word(base, used),
        _halves(results, base, used, draws=draws, rng=rng, confidence=confidence),
    ]


def _evidence(
    criterion: CriterionName, check: str, value: float | None = None, **fields: Any
) -> Evidence:
    return Evidence(criterion=criterion, check=check, statistic=check, value=value, **fields)


# --- structure ----------------------------------------------------------------------------------


def _structure(
    again: Again, groups: Groups, policies: Policies, base: Sequence[Bias]
) -> Iterator[Evidence]:
    """Evidence of content validity: the share of targets for which each property holds."""
    order = (1, 0, *range(2, len(groups.words)))
    swapped, why = attempt(again, reordered(groups, order), policies)
    after = {bias.target: _difference(bias) for bias in swapped}
    pairs = [
        (own, other)
        for bias in base
        if (own := _difference(bias)) is not None and (other := after.get(bias.target)) is not None
    ]
    value = antisymmetry(*zip(*pairs, strict=True)) if pairs else None
    yield _evidence("content", "swap", value, n=len(pairs), detail=why)
    known = {bias.target: bias for bias in base if bias.p is not None}
    if any(bias.value is not None for bias in base):
        why = "a prior measure has one value, without a distribution and a reference"
        yield _evidence("content", "distribution", detail=why)
        return
    holds = [_is_distribution(bias.p or (), len(bias.groups)) for bias in known.values()]
    yield _share("simplex", holds)
    for name, (changed, expected) in _changes(groups, known).items():
        results, why = attempt(again, changed, policies) if changed else ([], _NOT_DIVIDED)
        found = {bias.target: bias for bias in results}
        if name == "groups":  # a shorter list may give a target no result, as policies say
            expected = {t: rule for t, rule in expected.items() if t in found and found[t].p}
        holds = [
            target in found and rule(found[target]) for target, rule in expected.items() if results
        ]
        if name == "groups" and results and not holds:
            why = "no target has a result with three groups"
        yield _share(name, holds, why)


def _changes(
    groups: Groups, known: Mapping[str, Bias]
) -> dict[str, tuple[Groups | None, dict[str, Callable[[Bias], bool]]]]:
    """For each property the changed groups, and for each target what must hold of its result."""
    order = (*range(1, len(groups.words)), 0)
    valid = {
        target: tuple(min(1.0, max(0.0, share)) for share in bias.p or ())
        for target, bias in known.items()
        if _is_distribution(bias.p or (), len(bias.groups))
    }
    moved = {target: _moved(bias.reference) for target, bias in known.items()}
    size = max(3, len(groups.words))

    def turned(bias: Bias) -> Callable[[Bias], bool]:
        expected = [(bias.signed or ())[place] for place in order]
        return lambda other: _near(other.signed, expected) and _near([other.l1], [bias.l1])

    def from_moved(bias: Bias) -> Callable[[Bias], bool]:
        p = bias.p or ()
        gap = sum(abs(a - b) for a, b in zip(p, moved[bias.target], strict=True))
        return lambda other: _near(other.p, p) and _near([other.l1], [gap])

    return {
        "permutation": (reordered(groups, order), {t: turned(bias) for t, bias in known.items()}),
        "zero": (
            replace(groups, references=valid),
            {target: lambda other: _near([other.l1], [0.0]) for target in valid},
        ),
        "reference": (
            replace(groups, references=moved),
            {target: from_moved(bias) for target, bias in known.items()},
        ),
        "groups": (
            groups if len(groups.words) > 2 else with_first_divided(groups),
            {target: lambda other: _is_distribution(other.p or (), size) for target in known},
        ),
    }


_NOT_DIVIDED = "the first group has one word, which cannot be divided"


def antisymmetry(values: Sequence[float], exchanged: Sequence[float]) -> float | None:
    """−2 Σ v v' / (Σ v² + Σ v'²): 1 if each value flips its sign, −1 if none changes.

    >>> antisymmetry([1.0, 2.0], [-1.0, -2.0]), antisymmetry([1.0, 2.0], [1.0, 2.0])
    (1.0, -1.0)
    """
    v, w = np.asarray(values, float), np.asarray(exchanged, float)
    total = float(v @ v + w @ w)
    return round(-2 * float(v @ w) / total, 6) if total > 0 else None


def _difference(bias: Bias) -> float | None:
    """The measure's direction between the first two groups."""
    if bias.value is not None:
        return bias.value
    return None if bias.signed is None else bias.signed[0] - bias.signed[1]


def _share(check: str, holds: Sequence[bool], why: str = "") -> Evidence:
    value = sum(holds) / len(holds) if holds else None
    return _evidence("content", check, value, n=len(holds), detail=why)


def _is_distribution(p: Sequence[float], groups: int) -> bool:
    return len(p) == groups and min(p) >= -_CLOSE and abs(sum(p) - 1) <= _CLOSE


def _moved(p0: Sequence[float]) -> tuple[float, ...]:
    """Half way from a reference to one group, the first that does not have everything."""
    to = 0 if p0[0] < 1 else 1
    return tuple((share + (place == to)) / 2 for place, share in enumerate(p0))


def _near(values: Sequence[float | None] | None, others: Sequence[float | None]) -> bool:
    """Whether all values are equal but for rounding; a missing one is not."""
    if values is None or len(values) != len(others) or None in values or None in others:
        return False
    return bool(np.allclose(np.array(values, float), np.array(others, float), rtol=0, atol=_CLOSE))


# --- words that are used -------------------------------------------------------------------------

Words = Mapping[str, tuple[str, ...]]


class UsedWords(NamedTuple):
    """The words of each group that change a measure's results if they are left out.

    ``sets``: the measure takes the words at the same place of the lists together, as the pairs of
    Bolukbasi et al. (2016), so they are drawn together. ``without`` has the results without each
    word, or without each set, by the words that were left out. ``why`` says why no word is used.
    """

    words: Words
    sets: bool
    without: Mapping[str, Sequence[Bias]]
    why: str = ""

    @property
    def shortest(self) -> int:
        """The length of the shortest list."""
        return min(map(len, self.words.values()), default=0)

    @property
    def longest(self) -> int:
        """The length of the longest list."""
        return max(map(len, self.words.values()), default=0)

    def drawn(self, size: int, rng: np.random.Generator) -> dict[str, list[str]]:
        """Random words of each list, in the order of the list; a list that is shorter stays."""
        return {name: own for name, (own, _) in self._divided(size, rng).items()}

    def halves(self, rng: np.random.Generator) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """Each list divided at random in two halves; the second may have one word more."""
        both = self._divided(None, rng)
        return {n: own for n, (own, _) in both.items()}, {n: rest for n, (_, rest) in both.items()}

    def _divided(
        self, size: int | None, rng: np.random.Generator
    ) -> dict[str, tuple[list[str], list[str]]]:
        orders = {name: rng.permutation(len(own)) for name, own in self.words.items()}
        if self.sets:
            orders = dict.fromkeys(self.words, next(iter(orders.values())))
        divided = {}
        for name, own in self.words.items():
            count = len(own) // 2 if size is None else size
            chosen = set(orders[name][:count].tolist())
            divided[name] = (
                [word for place, word in enumerate(own) if place in chosen],
                [word for place, word in enumerate(own) if place not in chosen],
            )
        return divided


def used_words(again: Again, groups: Groups, policies: Policies, base: Sequence[Bias]) -> UsedWords:
    """Find the words that a measure uses, by leaving out one at a time.

    A word that is not in the vocabulary or the corpus changes nothing, so drawing it would only
    shorten the list.
    """
    sets = _takes_sets(again, groups, policies, base)
    if sum(map(len, groups.words.values())) > MOST_WORDS:
        cut = {name: own[: len(own) // 2 + 1] for name, own in groups.words.items()}
        results, why = attempt(again, with_words(groups, cut), policies)
        return UsedWords(groups.words, sets, {}, "" if results else why)
    used: dict[str, tuple[str, ...]] = {}
    without: dict[str, Sequence[Bias]] = {}
    why = ""
    if sets:
        places = []
        for place in range(min(map(len, groups.words.values()))):
            words = {n: own[:place] + own[place + 1 :] for n, own in groups.words.items()}
            results, why = attempt(again, with_words(groups, words), policies)
            if _differs(base, results):
                places.append(place)
                left_out = ", ".join(own[place] for own in groups.words.values())
                without |= {left_out: results} if results else {}
        used = {name: tuple(own[place] for place in places) for name, own in groups.words.items()}
    else:
        for name, own in groups.words.items():
            kept = []
            for place, word in enumerate(own):
                words = {**groups.words, name: own[:place] + own[place + 1 :]}
                if not words[name]:
                    kept.append(word)
                    continue
                results, why = attempt(again, with_words(groups, words), policies)
                if _differs(base, results):
                    kept.append(word)
                    without |= {word: results} if results else {}
            used[name] = tuple(kept)
    unused = "the measure does not use the words of the groups"
    if max(map(len, groups.words.values())) == 1:
        unused = "each list has one word"
    return UsedWords(used, sets, without, (why or unused) if not without else "")


def _takes_sets(again: Again, groups: Groups, policies: Policies, base: Sequence[Bias]) -> bool:
    """Whether the order of one list matters, as for measures that take pairs of words."""
    name = groups.names[1]
    words = {**groups.words, name: tuple(reversed(groups.words[name]))}
    results, _ = attempt(again, with_words(groups, words), policies)
    return bool(results) and _differs(base, results)


def _differs(base: Sequence[Bias], others: Sequence[Bias]) -> bool:
    """Whether any strength of association or value changed; no results are a change, too."""
    if len(base) != len(others):
        return True
    for one, other in zip(base, others, strict=True):
        mine, its = (
            (b.value,) if b.value is not None else (*b.soa, *(b.p or ())) for b in (one, other)
        )
        if len(mine) != len(its) or one.undefined != other.undefined:
            return True
        for x, y in zip(mine, its, strict=True):
            if x is None or y is None:
                if x is not y:
                    return True
            elif abs(x - y) > 1e-9 * max(1.0, abs(x)):
                return True
    return False


# --- words --------------------------------------------------------------------------------------

Results = Callable[[Mapping[str, Sequence[str]]], list[Bias]]


def _shorter(
    results: Results,
    base: Sequence[Bias],
    used: UsedWords,
    *,
    size: int,
    draws: int,
    rng: np.random.Generator,
) -> Evidence:
    """Lists cut to a number of words, many times: median and quantiles of rho and R²."""
    check = f"words-{size}"
    if used.why or used.longest <= size:
        why = used.why or f"no list has more than {size} words that are used"
        return _evidence("sensitivity", check, detail=why)
    found = [alike(paired(base, results(used.drawn(size, rng)))) for _ in range(draws)]
    middle, low, high = (quantile([each.rho for each in found], q) for q in (0.5, TAIL, 1 - TAIL))
    squares = [quantile([each.r_squared for each in found], q) for q in (0.5, TAIL)]
    lists = ", ".join(f"{name}: {len(own)}" for name, own in used.words.items())
    return _evidence(
        "sensitivity",
        check,
        middle,
        ci=None if low is None or high is None else (low, high),
        n=int(np.median([each.n for each in found])),
        facts={
            **{"draws": draws, "size": size, "lists": lists, "longest": used.longest, "low": low},
            **{"r_squared": squares[0], "r_squared_low": squares[1]},
            "lost": sum(each.rho is None for each in found),
        },
    )


def quantile(values: Sequence[float | None], q: float) -> float | None:
    """A quantile; values that are missing count as the lowest, and may be the quantile: None.

    >>> quantile([0.5, None, 0.75, 1.0], 0.5), quantile([None, 1.0, 1.0], 0.05)
    (0.5, None)
    """
    ordered = sorted(values, key=lambda value: -np.inf if value is None else value)
    return ordered[int(q * (len(ordered) - 1))] if ordered else None


def _one_word(base: Sequence[Bias], used: UsedWords) -> Evidence:
    """Each word left out: the lowest rank correlation."""
    if not used.without:
        why = used.why or "the lists are too long to leave out each word"
        return _evidence("sensitivity", "one-word", detail=why)
    found = {word: alike(paired(base, results)) for word, results in used.without.items()}
    worst = min(found, key=lambda word: -2.0 if (r := found[word].rho) is None else r)
    least = found[worst]
    facts = {"words": len(found), "worst": worst, "r_squared": least.r_squared}
    why = f"without «{worst}» there is no correlation" if least.rho is None else ""
    return _evidence("sensitivity", "one-word", least.rho, n=least.n, detail=why, facts=facts)


def _halves(
    results: Results,
    base: Sequence[Bias],
    used: UsedWords,
    *,
    draws: int,
    rng: np.random.Generator,
    confidence: float,
) -> Evidence:
    """The reliability of whole lists, from the rank correlation of halves over targets.

    Of all draws, the one with the median correlation is reported; with more than two groups, the
    group whose halves correlate least. Interval and p are over targets.
    """
    if used.why or used.shortest < 2:
        why = used.why or "a list has fewer than two words that are used"
        return _evidence("split_half", "words", detail=why)
    halves = [used.halves(rng) for _ in range(draws)]
    pairs = [paired(results(first), results(second)) for first, second in halves]
    # Rounded: equal values keep the order of the draws, whatever the processor.
    known = sorted(
        (
            (round(rho, 9), at)
            for at, each in enumerate(pairs)
            if (rho := alike(each).rho) is not None
        )
    )
    if len(known) <= draws // 2:
        return _evidence("split_half", "words", n=len(base), detail="most halves have no result")
    both = pairs[known[len(known) // 2][1]]
    columns: list[Correlation] = [
        correlate(both.first[:, at].tolist(), both.second[:, at].tolist(), confidence=confidence)
        for at in range(both.first.shape[1])
    ]
    least = min(columns, key=lambda found: round(found.rho or 0.0, 9))
    group = base[0].groups[columns.index(least)] if len(columns) > 1 else ""
    ends = least.ci
    return _evidence(
        "split_half",
        "words",
        spearman_brown(least.rho or 0.0),
        ci=None if ends is None else (spearman_brown(ends[0]), spearman_brown(ends[1])),
        p=least.p,
        n=len(both.targets),
        facts={"draws": draws, "halves": least.rho, "group": group or "both"},
    )
