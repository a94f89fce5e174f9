"""Labels of passages: majorities, votes, retests, and the measure with groups in another order."""

import dataclasses

import pytest

from curation.records import GroupLabel
from curation.stats.agreement import coefficient
from curation.trust.measure.again import stability
from curation.trust.measure.framework import Policies
from curation.trust.measure.groups import Groups
from curation.trust.measure.human import Passages, passages
from support.expected import fails

GROUPS = Groups(
    "size",
    {"tall": ("tower", "giant"), "short": ("dwarf", "pebble")},
    {"baker": ("baker",), "sailor": ("sailor",), "miller": ("miller",), "weaver": ("weaver",)},
)


def label(
    passage: str, target: str, group: str | None, annotator: str, minute: int = 0
) -> GroupLabel:
    about = {"passage": passage, "target": target, "group": group, "annotator": annotator}
    return GroupLabel.model_validate(
        {**about, "submitted_at": f"2026-03-01T10:{minute:02}:00.000Z"}
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
    groups = ("tall", "short", "short")
    labels = [label("p", "baker", group, "a", n) for n, group in enumerate(groups, 1)]
    found = passages(labels, GROUPS)
    assert found.votes.tolist() == [[1, 0, 0]]
    assert found.repeated.tolist() == [[1, 1, 0]]
    assert found.later == 1


def test_results_and_evidence() -> None:
    found = made()
    baker, _, _, weaver = found.biases(confidence=0.95)
    assert (baker.n, baker.soa) == (8, (4, 4))
    low, high = (baker.ci or ())[0] or (0, 0)
    assert low < 0 < high
    assert weaver.undefined == "missing_target"
    evidence = {
        f"{each.criterion} {each.check}": each
        for each in found.evidence(Policies(), confidence=0.95, seed=1)
    }
    shuffled = evidence["agreement control-shuffled-labels"]
    assert (shuffled.ci or (0, 1))[1] < 0.667  # the negative control fails
    assert evidence["retest annotators"].n == 24
    alpha = evidence["agreement annotators"]
    assert alpha.value == pytest.approx(coefficient("alpha", found.votes))
    low, high = alpha.ci or (0, 0)
    assert max(0.4, low) < (alpha.value or 0) < min(0.95, high)
    assert alpha.n == 24
    assert "sailor 0." in str(alpha.facts["by_target"])
    assert evidence["sensitivity label_shares"].n == 3


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

    def of(tall: tuple[str, ...], short: tuple[str, ...], *, turned: bool = False) -> Groups:
        words = {"tall": tall, "short": short}
        own = dict(reversed(words.items())) if turned else words
        return Groups("size", own, GROUPS.targets)

    tall, short = GROUPS.words.values()
    usual = [bias.soa for bias in found.biases(GROUPS, Policies())]
    for other in (of(tall, short, turned=True), of(short, tall)):
        assert [bias.soa for bias in found.biases(other, Policies())] == [s[::-1] for s in usual]
    for other in (of(("giant",), ("dwarf",)), of(("giant", "dwarf"), ("tower",))):
        with fails("labels are of groups"):
            found.biases(other, Policies())
    shifted = found.biases(policies=Policies(negative="shift"), confidence=0.95)
    assert shifted == found.biases(confidence=0.95)
    assert sum(found.biases(GROUPS, Policies(normalise="softmax"))[1].p or ()) == pytest.approx(1)
