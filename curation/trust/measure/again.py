"""Compute a measure again with changed inputs: evidence for content, sensitivity and split half.

Bias is the divergence of a target's associations from a reference (Definition 2.1). So a measure
must compare groups, must not depend on their order, and must be 0 if and only if the associations
equal the reference. The paper argues this (sections 2, 6 and 8); here each point is computed. The
lists of words are cut, and divided in halves, many times; the paper's code cuts them once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from curation.files import CurationError
from curation.records import Bias, CriterionName, Evidence
from curation.stats.correlations import correlate, r_squared, rho, spearman_brown
from curation.trust.measure.framework import Floats, Policies
from curation.trust.measure.groups import Groups

SIZES = (3, 5)  # of lists that are cut (Table 8)
TAIL = 0.05  # the quantiles of draws
_CLOSE = 1e-6  # values may differ by this much because of rounding
_SAME = 1e-9  # results that differ by less are those of the same words
MOST_WORDS = 300  # with more words than this in all lists, single words are not left out
Again = Callable[[Groups, Policies], Sequence[Bias]]
"""A measure that can be computed again, without intervals: with other groups or policies.

It raises a ``CurationError`` if it cannot be computed with the changed groups; for example, a
probe has learned people's labels and cannot use other words.
"""


@dataclass(frozen=True)
class Measure:
    """A measure with its own groups and policies, which can be computed again with others."""

    again: Again
    groups: Groups
    policies: Policies

    def attempt(self, groups: Groups) -> tuple[list[Bias], str]:
        """The results with these groups, or an empty list and the reason why not."""
        try:
            results = list(self.again(groups, self.policies))
            return results, "" if results else "the measure cannot be computed with this change"
        except CurationError as error:
            return [], error.what

    def with_words(self, words: Mapping[str, tuple[str, ...]]) -> tuple[list[Bias], str]:
        """As ``attempt``, with other lists of words of the same groups."""
        return self.attempt(replace(self.groups, words=words))

    @cached_property
    def base(self) -> tuple[list[Bias], str]:
        """As ``attempt``, with its own groups."""
        return self.attempt(self.groups)


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
        CurationError: a group has other words than every labelled group.
    """
    places = {frozenset(words): place for place, words in enumerate(labelled.words.values())}
    try:
        return [places[frozenset(words)] for words in groups.words.values()]
    except KeyError:
        why = "the labels are of groups and not of words, so no word is left out"
        raise CurationError(why, "keep the words of each group") from None


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
        again: the measure; it raises a ``CurationError`` for changes that it cannot make.
        groups: its groups and targets.
        policies: its policies.
        draws: how often lists are cut to each length, and divided in halves.
        seed: of the draws.
        confidence: of the interval of split halves.
    """
    measure = Measure(again, groups, policies)
    base, why = measure.base
    if not base:
        return [
            _evidence("content", "swap", detail=why),
            *(_evidence("sensitivity", f"words-{size}", detail=why) for size in SIZES),
            _evidence("split_half", "words", detail=why),
        ]
    rng, used = np.random.default_rng(seed), used_words(measure)
    return [
        *_structure(measure),
        *(_shorter(measure, used, rng, draws=draws, size=size) for size in SIZES),
        _one_word(measure, used),
        _halves(measure, used, rng, draws=draws, confidence=confidence),
    ]


def _evidence(
    criterion: CriterionName, check: str, value: float | None = None, **fields: Any
) -> Evidence:
    return Evidence(criterion=criterion, check=check, statistic=check, value=value, **fields)


# --- structure ----------------------------------------------------------------------------------


def _structure(measure: Measure) -> Iterator[Evidence]:
    """Evidence of content validity: the share of targets for which each property holds."""
    groups, (base, _) = measure.groups, measure.base
    swapped, why = measure.attempt(reordered(groups, (1, 0, *range(2, len(groups.words)))))
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
    yield _share("simplex", [_is_distribution(bias, len(bias.groups)) for bias in known.values()])
    for name, changed, rule in _changes(groups, known):
        results, why = measure.attempt(changed) if changed else ([], _NOT_DIVIDED)
        found = {bias.target: bias for bias in results}
        asked = [t for t in known if results and changed and changed.reference(t)]
        if name == "groups":  # a shorter list may give a target no result, as policies say
            asked = [target for target in asked if target in found and found[target].p]
            why = "no target has a result with three groups" if results and not asked else why
        yield _share(name, [t in found and rule(known[t], found[t]) for t in asked], why)


def _changes(
    groups: Groups, known: Mapping[str, Bias]
) -> Iterator[tuple[str, Groups | None, Callable[[Bias, Bias], bool]]]:
    """For each property the changed groups, and whether it holds of a target's own and new result.

    A target counts if it has a reference among the changed groups.
    """
    order, size = (*range(1, len(groups.words)), 0), max(3, len(groups.words))

    def turned(own: Bias, new: Bias) -> bool:
        expected = [(own.signed or ())[place] for place in order]
        return _near(new.signed, expected) and _near([new.l1], [own.l1])

    def from_moved(own: Bias, new: Bias) -> bool:
        p, reference = own.p or (), _moved(own.reference)
        gap = sum(abs(a - b) for a, b in zip(p, reference, strict=True))
        return _near(new.p, p) and _near([new.l1], [gap])

    own_p = {
        target: tuple(min(1.0, max(0.0, share)) for share in bias.p or ())
        for target, bias in known.items()
        if _is_distribution(bias, len(bias.groups))
    }
    moved = {target: _moved(bias.reference) for target, bias in known.items()}
    divided = groups if len(groups.words) > 2 else with_first_divided(groups)
    yield "permutation", reordered(groups, order), turned
    yield "zero", replace(groups, references=own_p), lambda _, new: _near([new.l1], [0.0])
    yield "reference", replace(groups, references=moved), from_moved
    yield "groups", divided, lambda _, new: _is_distribution(new, size)


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
    """The measure's direction between the first two groups, whatever the reference."""
    if bias.value is not None:
        return bias.value
    return None if bias.p is None else bias.p[0] - bias.p[1]


def _share(check: str, holds: Sequence[bool], why: str = "") -> Evidence:
    value = sum(holds) / len(holds) if holds else None
    return _evidence("content", check, value, n=len(holds), detail=why)


def _is_distribution(bias: Bias, groups: int) -> bool:
    p = bias.p or ()
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

Lists = dict[str, tuple[str, ...]]


class UsedWords(NamedTuple):
    """The words of each group that change a measure's results if they are left out.

    ``sets``: the measure takes the words at the same place of the lists together, as the pairs of
    Bolukbasi et al. (2016), so they are drawn together. ``without`` has the results without each
    word, or without each set, by the words that were left out. ``why`` says why no word is used.
    """

    words: Mapping[str, tuple[str, ...]]
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

    def divided(self, rng: np.random.Generator, size: int | None = None) -> tuple[Lists, Lists]:
        """Random words of each list, in its order, and the others.

        Args:
            rng: of the draw.
            size: how many are drawn; a list that is not longer is drawn as a whole. By default half
                of each list, and the others may be one word more.
        """
        orders = {name: rng.permutation(len(own)) for name, own in self.words.items()}
        if self.sets:
            orders = dict.fromkeys(self.words, next(iter(orders.values())))
        drawn, others = Lists(), Lists()
        for name, own in self.words.items():
            chosen = {*orders[name][: len(own) // 2 if size is None else size].tolist()}
            drawn[name] = tuple(word for at, word in enumerate(own) if at in chosen)
            others[name] = tuple(word for at, word in enumerate(own) if at not in chosen)
        return drawn, others


def used_words(measure: Measure) -> UsedWords:
    """Find the words that a measure uses, by leaving out one at a time.

    A word that is not in the vocabulary or the corpus changes nothing, so drawing it would only
    shorten the list.
    """
    lists, name = measure.groups.words, measure.groups.names[1]
    turned, _ = measure.with_words({**lists, name: lists[name][::-1]})
    sets = bool(turned) and _differs(measure, turned)  # as for measures that take pairs of words
    if sum(map(len, lists.values())) > MOST_WORDS:
        results, why = measure.with_words({n: own[: len(own) // 2 + 1] for n, own in lists.items()})
        return UsedWords(lists, sets, {}, "" if results else why)
    cuts = [{name: at} for name, own in lists.items() for at in range(len(own))]
    if sets:
        cuts = [dict.fromkeys(lists, at) for at in range(min(map(len, lists.values())))]
    used: Lists = dict.fromkeys(lists, ())
    without, why = dict[str, Sequence[Bias]](), ""
    for cut in cuts:
        left_out = {name: lists[name][at] for name, at in cut.items()}
        words = {**lists, **{n: lists[n][:at] + lists[n][at + 1 :] for n, at in cut.items()}}
        if sets or all(words.values()):
            results, why = measure.with_words(words)
            if not _differs(measure, results):
                continue
            without |= {", ".join(left_out.values()): results} if results else {}
        for name, word in left_out.items():
            used[name] += (word,)
    unused = "the measure does not use the words of the groups"
    if max(map(len, lists.values())) == 1:
        unused = "each list has one word"
    return UsedWords(used, sets, without, (why or unused) if not without else "")


def _differs(measure: Measure, results: Sequence[Bias]) -> bool:
    """Whether any strength of association or value changed; no results are a change, too."""
    (sizes, values), (new_sizes, new_values) = _numbers(measure.base[0]), _numbers(results)
    if sizes != new_sizes:
        return True
    return not np.allclose(values, new_values, rtol=_SAME, atol=_SAME, equal_nan=True)


def _numbers(results: Sequence[Bias]) -> tuple[list[tuple[int, str | None]], Floats]:
    """How many numbers each result has, and why it may have none; and all numbers."""
    own = [(b.value,) if b.value is not None else (*b.soa, *(b.p or ())) for b in results]
    sizes = [(len(values), bias.undefined) for values, bias in zip(own, results, strict=True)]
    return sizes, np.array([value for values in own for value in values], float)


# --- words --------------------------------------------------------------------------------------


def _shorter(
    measure: Measure, used: UsedWords, rng: np.random.Generator, *, draws: int, size: int
) -> Evidence:
    """Lists cut to a number of words, many times: median and quantiles of rho and R²."""
    check, base = f"words-{size}", measure.base[0]
    if used.why or used.longest <= size:
        why = used.why or f"no list has more than {size} words that are used"
        return _evidence("sensitivity", check, detail=why)
    cut = (used.divided(rng, size)[0] for _ in range(draws))
    found = [alike(paired(base, measure.with_words(words)[0])) for words in cut]
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
            "draws": draws,
            "size": size,
            "lists": lists,
            "shortest": used.shortest,
            "low": low,
            "r_squared": squares[0],
            "r_squared_low": squares[1],
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


def _one_word(measure: Measure, used: UsedWords) -> Evidence:
    """Each word left out: the lowest rank correlation."""
    if not used.without:
        why = used.why or "the lists are too long to leave out each word"
        return _evidence("sensitivity", "one-word", detail=why)
    base = measure.base[0]
    found = {word: alike(paired(base, results)) for word, results in used.without.items()}
    worst = min(found, key=lambda word: -2.0 if (r := found[word].rho) is None else r)
    least = found[worst]
    facts = {"words": len(found), "worst": worst, "r_squared": least.r_squared}
    why = f"without «{worst}» there is no correlation" if least.rho is None else ""
    return _evidence("sensitivity", "one-word", least.rho, n=least.n, detail=why, facts=facts)


def _halves(
    measure: Measure, used: UsedWords, rng: np.random.Generator, *, draws: int, confidence: float
) -> Evidence:
    """The reliability of whole lists, from the rank correlation of halves over targets.

    Of all draws, the one with the median correlation is reported; with more than two groups, the
    group whose halves correlate least. Interval and p are over targets.
    """
    if used.why or used.shortest < 2:
        why = used.why or "a list has fewer than two words that are used"
        return _evidence("split_half", "words", detail=why)
    pairs = [
        paired(measure.with_words(first)[0], measure.with_words(second)[0])
        for first, second in (used.divided(rng) for _ in range(draws))
    ]
    # Rounded: equal values keep the order of the draws, whatever the processor.
    rhos = [alike(each).rho for each in pairs]
    known = sorted((round(rho, 9), at) for at, rho in enumerate(rhos) if rho is not None)
    base = measure.base[0]
    if len(known) <= draws // 2:
        return _evidence("split_half", "words", n=len(base), detail="most halves have no result")
    both = pairs[known[len(known) // 2][1]]
    columns = [
        correlate(first.tolist(), second.tolist(), confidence=confidence)
        for first, second in both.columns
    ]
    least = min(columns, key=lambda found: round(found.rho or 0.0, 9))
    group = base[0].groups[columns.index(least)] if len(columns) > 1 else ""
    ends = least.ci
    ci = None if ends is None else (spearman_brown(ends[0]), spearman_brown(ends[1]))
    facts = {"draws": draws, "halves": least.rho, "group": group or "both"}
    about: dict[str, Any] = {"ci": ci, "p": least.p, "n": len(both.first), "facts": facts}
    return _evidence("split_half", "words", spearman_brown(least.rho or 0.0), **about)


# --- two results, side by side ------------------------------------------------------------------


def directed(bias: Bias) -> tuple[float, ...] | None:
    """A result with its direction: p of each group less an equal share, or a prior measure's value.

    The reference plays no part. If it differs between targets, p − p0 of any two measures correlate
    through p0, so what is compared must not contain it.
    """
    if bias.value is not None:
        return (bias.value,)
    return None if bias.p is None else tuple(share - 1 / len(bias.p) for share in bias.p)


class Paired(NamedTuple):
    """Two results on the targets that both have; arrays have shape (targets, entries)."""

    first: Floats
    second: Floats

    @property
    def columns(self) -> list[tuple[Floats, Floats]]:
        """Both values of each entry, over targets."""
        return list(zip(self.first.T, self.second.T, strict=True))


def paired(
    first: Iterable[Bias],
    second: Iterable[Bias],
    of: Callable[[Bias], Sequence[float] | None] = directed,
) -> Paired:
    """The results of two runs on the targets that both have.

    For two groups the entries are equal but for the sign, so only the first is kept. If one side
    is a prior measure, which has one value, so is only the first entry of the other.
    """
    known = {bias.target: values for bias in second if (values := of(bias)) is not None}
    rows = [
        (values, known[bias.target])
        for bias in first
        if bias.target in known and (values := of(bias)) is not None
    ]
    width = min((len(values) for row in rows for values in row), default=1)
    width = 1 if width == 2 else width
    cut = np.array([[a[:width], b[:width]] for a, b in rows], float).reshape(len(rows), 2, width)
    return Paired(cut[:, 0], cut[:, 1])


class Alike(NamedTuple):
    """How alike two results are: mean Spearman's rho and R² over the groups, and the targets."""

    rho: float | None
    r_squared: float | None
    n: int


def alike(of: Paired) -> Alike:
    """Rank correlation and R² over targets; the mean over groups if there are more than two."""
    rhos = [rho(first, second) for first, second in of.columns]
    squares = [r_squared(first, second) for first, second in of.columns]
    return Alike(_mean(rhos), _mean(squares), len(of.first))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 12) if len(known) == len(values) else None
