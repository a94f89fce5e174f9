"""A campaign with groups, for the tests of the measures of bias."""

from collections.abc import Callable
from pathlib import Path

import pytest

from curation.campaign.store import Campaign
from curation.trust.measure.groups import Groups
from curation.trust.runs.files import read_groups
from support import trust


@pytest.fixture
def grouped(tmp_path: Path) -> Campaign:
    """A new campaign with [groups.people]: two groups, eight targets, anchors and outcomes."""
    return trust.campaign_with_groups(tmp_path)


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Groups]:
    """The groups of such a campaign as a measure gets them, for k = 2 or 3."""

    def read(k: int) -> Groups:
        campaign = trust.campaign_with_groups(tmp_path_factory.mktemp("people"), k=k)
        return read_groups(campaign)[0]

    return read
