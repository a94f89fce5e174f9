"""Labels of passages: majorities, votes, retests, and the measure with groups in another order."""

import dataclasses

import numpy as np
import pytest

from curation.records import GroupLabel
from curation.stats.agreement import coefficient
from curation.trust.framework import Policies
from curation.trust.groups import Groups
from curation.trust.protocol.again import NotPossibleError, stability
from curation.trust.text.human import Passages, passages

GROUPS = Groups(
    "size",
    {"tall": ("tower", "giant"), "short": ("dwarf", "pebble")},
    {"baker": ("baker",), "sailor": ("sailor",), "miller": ("miller",), "weaver": ("weaver",)},
)


def label(
    passage: str, target: str, group: str | None, annotator: str, minute: int = 0
) -> GroupLabel:
    time = f"2026-03-01T10:{minute:02}:00.000Z"
    return GroupLabel(
        passage=passage, target=target, group=group, annotator=annotator, submitted_at=time
    )


def made() -> Passages:
    """Three annotators of 24 passages on three targets."""
    labels = []
    for n in range(24):
        target = ("baker", "sailor", "miller")[n % 3]
        own = ("tall", "short", None)[(n // 3) % (2 if target == "baker" else 3)]
        labels += [label(f"p{n}", target, own, who) for who in ("a", "b")]
        labels.append(label(f"p{n}", target, None if n % 4 == 0 else own, "c"))
        labels.append(label(f"p{n}", target, None if n % 8 == 0 else own, "a", minute=n + 1))
    return passages(labels, GROUPS)


def test_majority() -> None:
    votes = [("p", "tall"), ("p", "tall"), ("p", None), ("q", "tall"), ("q", "short"), ("r", None)]
    labels = [label(p, "baker", group, f"a{n}") for n, (p, group) in enumerate(votes)]
    found = passages(labels, GROUPS)
    assert found.majority().tolist() == [[1, 0], [0, 0], [0, 0]]
    assert found.shares().tolist() == [[pytest.approx(2 / 3), 0], [0.5, 0.5], [0, 0]]
    assert found.undecided == 1
    baker = found.biases(confidence=0.95)[0]
    assert (baker.soa, baker.n, baker.p) == ((1, 0), 3, (1, 0))
    assert baker.ci is None  # of a single passage


def test_the_first_label_of_an_annotator_counts() -> None:
    labels = [
        label("p", "baker", "tall", "a", 1),
        label("p", "baker", "short", "a", 2),
        label("p", "baker", "short", "a", 3),
    ]
    found = passages(labels, GROUPS)
    assert found.votes.tolist() == [[1, 0, 0]]
    assert found.repeated.tolist() == [[1, 1, 0]]
    assert found.later == 1


def test_results_and_evidence() -> None:
    found = made()
    baker, _, _, weaver = found.biases(confidence=0.95)
    assert baker.n == 8
    assert baker.soa == (4, 4)
    assert baker.ci
    assert baker.ci[0]
    assert baker.ci[0][0] < 0 < baker.ci[0][1]
    assert weaver.undefined == "missing_target"
    evidence = found.evidence(Policies(), confidence=0.95, seed=1)
    shuffled = next(each for each in evidence if each.check == "control-shuffled-labels")
    assert shuffled.ci
    assert shuffled.ci[1] < 0.667  # the negative control fails
    again = next(each for each in evidence if each.criterion == "retest")
    assert (again.check, again.n) == ("annotators", 24)
    alpha = next(each for each in evidence if each.check == "annotators")
    assert alpha.value == pytest.approx(coefficient("alpha", found.votes))
    assert alpha.value
    assert 0.4 < alpha.value < 0.95
    assert alpha.ci
    assert alpha.ci[0] < alpha.value < alpha.ci[1]
    assert alpha.n == 24
    assert "sailor 0." in str(alpha.facts["by_target"])
    shares = next(each for each in evidence if each.check == "label_shares")
    assert shares.n == 3


def test_lists_too_long_to_leave_out_each_word_are_not_cut() -> None:
    words = {name: tuple(f"{name}{n}" for n in range(200)) for name in GROUPS.words}
    own = dataclasses.replace(GROUPS, words=words)
    found = passages([label(f"p{n}", "baker", "tall", "a") for n in range(9)], own)
    evidence = stability(found.biases, own, Policies(), draws=20, seed=1)
    half = next(each for each in evidence if each.criterion == "split_half")
    assert (half.value, half.n) == (None, 0)
    assert "labels are of groups" in half.detail


def test_other_groups() -> None:
    found = made()
    swapped = Groups("size", dict(reversed(GROUPS.words.items())), GROUPS.targets)
    other = Groups(
        "size", {"tall": GROUPS.words["short"], "short": GROUPS.words["tall"]}, GROUPS.targets
    )
    cut = Groups("size", {"tall": ("giant",), "short": ("dwarf",)}, GROUPS.targets)
    mixed = Groups("size", {"tall": ("giant", "dwarf"), "short": ("tower",)}, GROUPS.targets)
    usual = [bias.soa for bias in found.biases(GROUPS, Policies())]
    assert [bias.soa for bias in found.biases(swapped, Policies())] == [s[::-1] for s in usual]
    assert [bias.soa for bias in found.biases(other, Policies())] == [s[::-1] for s in usual]
    for changed in (cut, mixed):
        with pytest.raises(NotPossibleError, match="labels are of groups"):
            found.biases(changed, Policies())
    shifted = found.biases(policies=Policies(negative="shift"), confidence=0.95)
    assert shifted == found.biases(confidence=0.95)
    soft = found.biases(GROUPS, Policies(normalise="softmax"))[1]
    assert soft.p
    assert np.isclose(sum(soft.p), 1)
