"""Chat models as a step: settings, warnings, and the state of their runs."""

from pathlib import Path
from typing import Any

import pytest

from curation.campaign.datasets import run_files
from curation.campaign.source import Source
from curation.campaign.store import Campaign, open_campaign
from curation.files import CurationError, dump_line, read_records
from curation.records import Reply
from curation.scores import running
from curation.scores.models import score_model
from curation.status import UNFINISHED, UP_TO_DATE, ScoreRun, score_runs
from curation.work.run_folder import write_lines
from support.chat_answers import SORRY
from support.commands import set_to
from support.expected import fails
from support.heard import Heard
from support.talkers import STEREOTYPES, Talker, made_up, says, spec

CATS = made_up(3)


@pytest.fixture(autouse=True)
def talker(monkeypatch: pytest.MonkeyPatch) -> Talker:
    made = Talker(STEREOTYPES)
    monkeypatch.setattr(running, "open_chat", made.open)
    return made


@pytest.fixture
def source(campaign: Campaign) -> Source:
    write_lines(campaign.folder("decisions") / "cats.jsonl", CATS)
    return Source(CATS, "all", "en", campaign.folder("scores"), campaign=campaign)


def test_results_of_the_shown_cats_are_reported(source: Source) -> None:
    scored = score_model(spec(), source, shown=CATS[:2])
    assert scored.counts == {"asked": 18, "before": 0, "no_answer": 0}
    assert scored.report["splits"]["test"]["overall"]["cats"] == 2
    assert scored.choice is not None
    assert scored.choice["answers"]["questions"] == 18


def test_a_model_without_a_score_is_a_warning(source: Source, talker: Talker) -> None:
    talker.choose, heard = says("A"), Heard()
    scored = score_model(spec(), source, reporter=heard)
    assert scored.report["splits"] == {}
    (warning,) = heard.warnings
    assert "100 % of the model's answers name the first letter" in warning


def test_cats_that_are_left_out_are_a_warning(source: Source, talker: Talker) -> None:
    heard = Heard()
    talker.choose = lambda first, second: SORRY if "potter" in first else STEREOTYPES(first, second)
    score_model(spec(), source, reporter=heard)
    (warning,) = heard.warnings
    assert "1 CAT of test left out because a comparison has no answer; see" in warning


def test_the_settings_of_the_campaign_count(campaign: Campaign, source: Source) -> None:
    set_to(campaign.root, "one_letter = 0.95", "one_letter = 0.6")
    opened = open_campaign(campaign.root)
    scored = score_model(
        spec(), Source(CATS, "all", "en", opened.folder("scores"), campaign=opened)
    )
    assert scored.choice is not None
    assert scored.choice["answers"]["limits"] == {"no_answer": 0.05, "one_letter": 0.6}


@pytest.mark.parametrize("how", [{"engine": "ray"}, {"workers": 4}])
def test_chat_models_are_asked_by_one_process(source: Source, how: dict[str, Any]) -> None:
    with fails("asked by one process", fix="--concurrency"):
        score_model(spec(), source, **how)


def state(campaign: Campaign) -> ScoreRun:
    (run,) = score_runs(campaign)
    return run


def test_the_state_of_a_run(campaign: Campaign, source: Source, talker: Talker) -> None:
    talker.stop = {12: CurationError("the server is gone", "start it")}
    with fails("gone"):
        score_model(spec(), source)
    assert (state(campaign).state, state(campaign).scores) == (UNFINISHED, 3)  # comparisons
    assert "chat:talker" in state(campaign).again
    talker.stop = {}
    score_model(spec(), source)
    done = state(campaign)
    about = (done.model, done.rule, done.scores, done.refused, done.state)
    assert about == ("talker", "choice", 9, 0, UP_TO_DATE)
    path = campaign.folder("scores") / "talker" / "choice" / "replies.jsonl"
    first = read_records(path, Reply)[0]
    with path.open("ab") as file:  # a command was killed that asked for more samples
        file.write(dump_line(first.model_copy(update={"sample": 1})))
    assert state(campaign).state == UNFINISHED
    path.unlink()  # a copy of the campaign without the replies
    assert state(campaign).state == UP_TO_DATE


def test_a_run_killed_before_its_first_comparison(campaign: Campaign, source: Source) -> None:
    score_model(spec(), source)
    folder = campaign.folder("scores") / "talker" / "choice"
    for name in ("comparisons.jsonl", "rejected.jsonl", "results.json", "choice.json"):
        (folder / name).unlink()
    assert (state(campaign).state, state(campaign).scores) == (UNFINISHED, 0)


def test_steps_that_read_scores_read_comparisons(campaign: Campaign, source: Source) -> None:
    score_model(spec(), source)
    folder: Path = campaign.folder("scores") / "talker" / "choice"
    names = ("run.json", "comparisons.jsonl", "rejected.jsonl")
    assert run_files(campaign) == [folder / name for name in names]
