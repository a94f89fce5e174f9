"""How a measure answers to other words and policies: evidence for three criteria."""

import numpy as np

from curation.bias import CriterionName, Evidence
from curation.trust.framework import Policies
from curation.trust.groups import Groups
from curation.trust.protocol.changes import Again, NotPossibleError, attempt
from curation.trust.protocol.content import content_evidence
from curation.trust.protocol.lists import used_words
from curation.trust.protocol.sensitivity import sensitivity_evidence
from curation.trust.protocol.split_half import split_half_evidence

__all__ = ["Again", "NotPossibleError", "stability"]


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
        names: tuple[CriterionName, ...] = ("content", "sensitivity", "split_half")
        return [
            Evidence(criterion=name, check="again", statistic="none", value=None, detail=why)
            for name in names
        ]
    rng = np.random.default_rng(seed)
    used = used_words(again, groups, policies, base)
    return [
        *content_evidence(again, groups, policies, base),
        *sensitivity_evidence(again, groups, policies, base, used=used, draws=draws, rng=rng),
        *split_half_evidence(
            again, groups, policies, base, used=used, draws=draws, rng=rng, confidence=confidence
        ),
    ]
