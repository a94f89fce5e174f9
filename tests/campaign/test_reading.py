"""In a notebook, what is out of date is given as it is, with a warning; nothing runs."""

import warnings
from pathlib import Path

import pytest

import curation
from curation.pipeline import bring_up_to_date
from support.commands import set_to

NEEDED, ONE_MORE = "needed = 3\n", "needed = 4\n"


@pytest.mark.filterwarnings("error")
def test_what_is_up_to_date_gives_no_warning(finished: Path) -> None:
    campaign = curation.open_campaign(finished)
    assert all((campaign.cats, campaign.items, campaign.decisions, campaign.terms))


def test_what_is_out_of_date_gives_a_warning_and_stays(finished: Path) -> None:
    kept = curation.open_campaign(finished).cats
    set_to(finished, NEEDED, ONE_MORE)
    campaign = curation.open_campaign(finished)
    with pytest.warns(UserWarning, match="decisions.jsonl: out of date, or made from what is"):
        decided = campaign.decisions
    with pytest.warns(UserWarning, match="cats.jsonl: out of date, or made from what is") as warned:
        assert campaign.cats == kept
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert campaign.items  # made before decisions
        with campaign.lock():
            bring_up_to_date(campaign, "split")
        assert campaign.cats != kept
        assert campaign.decisions != decided


def test_settings_are_those_of_when_it_was_opened(finished: Path) -> None:
    campaign = curation.open_campaign(finished)
    set_to(finished, NEEDED, ONE_MORE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert campaign.cats
    with pytest.warns(UserWarning, match="cats.jsonl: out of date"):
        assert campaign.reload().cats
