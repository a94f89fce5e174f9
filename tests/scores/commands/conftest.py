"""What several tests of commands begin with."""

from pathlib import Path

import pytest

from curation.campaign.store import Campaign
from support.scored import scored_campaign


@pytest.fixture
def scored(campaign: Campaign) -> Path:
    """The folder of a campaign whose three models have figures that are known by hand."""
    return scored_campaign(campaign)
