"""Compute a measure again with other words, orders or references."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from curation.bias import Bias
from curation.files import CurationError
from curation.trust.framework import Policies
from curation.trust.groups import Groups

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


def with_references(groups: Groups, references: Mapping[str, Sequence[float]]) -> Groups:
    """The same groups with another reference for each target."""
    return replace(groups, references={name: tuple(own) for name, own in references.items()})


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
