"""How a measure answers to other words and policies: evidence for content and sensitivity."""

from collections.abc import Callable, Sequence

from curation.bias import Bias, Evidence
from curation.trust.framework import Policies
from curation.trust.groups import Groups

Again = Callable[[Groups, Policies], Sequence[Bias]]
"""A measure that can be computed again, without intervals: with other groups or policies."""


def stability(
    again: Again, groups: Groups, policies: Policies, *, draws: int, seed: int
) -> list[Evidence]:
    """Evidence of a measure's content validity and sensitivity."""
    return []
