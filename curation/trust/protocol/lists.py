"""Shorter lists of words: which words a measure uses, and how they are drawn."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from curation.bias import Bias
from curation.trust.framework import Policies
from curation.trust.groups import Groups
from curation.trust.protocol.changes import Again, attempt, with_words

MOST_WORDS = 300  # with more words than this in all lists, single words are not left out
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
