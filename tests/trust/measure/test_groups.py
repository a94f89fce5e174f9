"""What groups, targets and references must be, so that they can be measured."""

from typing import Any

import pytest

from curation.trust.measure.groups import Groups, check_shares
from support.expected import fails

LISTS = {"tall": ("giant", "tower"), "short": ("dwarf",)}


def test_groups_that_can_be_measured() -> None:
    groups = Groups("size", LISTS, {"baker": ("baker", "bakers")})
    groups.check()
    assert groups.names == ("tall", "short")
    assert groups.reference("baker") == (0.5, 0.5)
    given = Groups("size", LISTS, {"baker": ("baker",)}, {"baker": (0.25, 0.75)})
    assert given.reference("baker") == (0.25, 0.75)
    assert given.reference("miller") is None


@pytest.mark.parametrize(
    ("says", "fields"),
    [
        ("has one group only", {"words": {"tall": ("giant",)}}),
        ("the group «short» has no words", {"words": {"tall": ("giant",), "short": ()}}),
        ("«Giant» is in the lists of «tall» and «short»",
         {"words": {"tall": ("giant",), "short": ("Giant",)}}),
        ("there are no targets", {"targets": {}}),
        ("the target «baker» has no words", {"targets": {"baker": ()}}),
        ("«xxx", {"targets": {"x" * 201: ("baker",)}}),
        ("has 201 characters, and 200 are the most", {"targets": {"baker": ("b" * 201,)}}),
        ("has 300 characters", {"words": {**LISTS, "short": ("y" * 300,)}}),
        ("is in the list of the group «tall»", {"targets": {"giant": ("Giant",)}}),
        ("sum to 0.9, not to 1", {"references": {"baker": (0.5, 0.4)}}),
        ("one share from 0 to 1 for each of the 2 groups", {"references": {"baker": (1.0,)}}),
        ("one share from 0 to 1", {"references": {"baker": (-0.5, 1.5)}}),
        ("outcome of «baker»: the shares sum to 0.9", {"outcomes": {"baker": (0.5, 0.4)}}),
        ("history, 1900 of «baker»: the shares sum to 0.9",
         {"history": {1900: {"baker": (0.5, 0.4)}}}),
        ("frequency of «baker»: the count 0 is not positive", {"frequencies": {"baker": 0}}),
        ("the count -1 is not positive", {"frequencies_by_year": {1900: {"baker": -1}}}),
        ("the count inf is not positive", {"frequencies": {"baker": float("inf")}}),
    ],
)  # fmt: skip
def test_bad_groups(says: str, fields: dict[str, Any]) -> None:
    known: dict[str, Any] = {"name": "size", "words": LISTS, "targets": {"baker": ("baker",)}}
    with fails(says):
        Groups(**{**known, **fields}).check()


@pytest.mark.parametrize("shares", [(float("nan"), 0.5), (float("inf"), 0.0), (0.5, 0.5, 0.0)])
def test_shares_that_are_not_shares(shares: tuple[float, ...]) -> None:
    with fails("one share from 0 to 1"):
        check_shares(shares, groups=2, where="here")


def test_shares_with_six_decimals_are_enough() -> None:
    check_shares((0.333333, 0.333333, 0.333333), groups=3, where="here")
