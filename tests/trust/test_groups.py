"""What groups, targets and references must be, so that they can be measured."""

import re

import pytest

from curation.files import CurationError
from curation.trust.groups import Groups, check_shares

LISTS = {"tall": ("giant", "tower"), "short": ("dwarf",)}


def refused(message: str, **fields: object) -> None:
    known: dict[str, object] = {"name": "size", "words": LISTS, "targets": {"baker": ("baker",)}}
    with pytest.raises(CurationError, match=re.escape(message)) as error:
        Groups(**{**known, **fields}).check()  # type: ignore[arg-type]
    assert error.value.fix


def test_groups_that_can_be_measured() -> None:
    groups = Groups("size", LISTS, {"baker": ("baker", "bakers")})
    groups.check()
    assert groups.names == ("tall", "short")
    assert groups.reference("baker") == (0.5, 0.5)
    given = Groups("size", LISTS, {"baker": ("baker",)}, {"baker": (0.25, 0.75)})
    assert given.reference("baker") == (0.25, 0.75)
    assert given.reference("miller") is None


def test_bad_groups() -> None:
    refused("has one group only", words={"tall": ("giant",)})
    refused("the group «short» has no words", words={"tall": ("giant",), "short": ()})
    refused(
        "«Giant» is in the lists of «tall» and «short»",
        words={"tall": ("giant",), "short": ("Giant",)},
    )
    refused("there are no targets", targets={})
    refused("the target «baker» has no words", targets={"baker": ()})
    refused("«xxx", targets={"x" * 201: ("baker",)})
    refused("has 201 characters, and 200 are the most", targets={"baker": ("b" * 201,)})
    refused("has 300 characters", words={**LISTS, "short": ("y" * 300,)})
    refused("is in the list of the group «tall»", targets={"giant": ("Giant",)})
    refused("sum to 0.9, not to 1", references={"baker": (0.5, 0.4)})
    refused("one share from 0 to 1 for each of the 2 groups", references={"baker": (1.0,)})
    refused("one share from 0 to 1", references={"baker": (-0.5, 1.5)})
    refused("outcome of «baker»: the shares sum to 0.9", outcomes={"baker": (0.5, 0.4)})
    refused(
        "history, 1900 of «baker»: the shares sum to 0.9", history={1900: {"baker": (0.5, 0.4)}}
    )
    refused("frequency of «baker»: the count 0 is not positive", frequencies={"baker": 0})
    refused("the count -1 is not positive", frequencies_by_year={1900: {"baker": -1}})
    refused("the count inf is not positive", frequencies={"baker": float("inf")})


@pytest.mark.parametrize("shares", [(float("nan"), 0.5), (float("inf"), 0.0), (0.5, 0.5, 0.0)])
def test_shares_that_are_not_shares(shares: tuple[float, ...]) -> None:
    with pytest.raises(CurationError, match="one share from 0 to 1"):
        check_shares(shares, groups=2, where="here")


def test_shares_with_six_decimals_are_enough() -> None:
    check_shares((0.333333, 0.333333, 0.333333), groups=3, where="here")
