"""Without a reporter nothing is printed, and warnings are Python's, at the caller's line."""

import traceback
import warnings
from pathlib import Path

import pytest

from curation.campaign.store import Campaign
from curation.files import CurationError
from curation.pipeline import bring_up_to_date
from curation.work.reporter import QUIET


def test_a_warning_names_the_line_that_called_curation(
    campaign: Campaign, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign.folder("terms").mkdir()
    edits = campaign.folder("terms") / "edits.csv"
    edits.write_text("domain,term,action\nprofession,beekeper,drop\n", "utf-8")
    with pytest.warns(UserWarning, match="line 2: not applied: no term 'beekeper'") as caught:
        bring_up_to_date(campaign, "select")
    assert [Path(warning.filename) for warning in caught] == [Path(__file__)]
    assert capsys.readouterr() == ("", "")


def test_no_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(action="error"):
        QUIET.note("the model is loaded")
        with QUIET.tracked("models", 2) as advance, QUIET.stages() as tell:
            advance()
            tell("reading", 1, 2)
        with QUIET.counted("texts") as bar:
            bar.begin(1, 2)
            bar.advance()
    assert capsys.readouterr() == ("", "")


def test_a_traceback_shows_what_is_wrong_and_how_to_fix_it() -> None:
    error = CurationError("there are no CATs", "run «curation decisions split»")
    assert str(error) == "there are no CATs"
    assert traceback.format_exception_only(error)[0].endswith("CurationError: there are no CATs\n")
    assert traceback.format_exception_only(error)[1:] == ["fix: run «curation decisions split»\n"]
