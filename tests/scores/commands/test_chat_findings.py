"""Chat models that refuse or follow the letter, from their replies to the marks in every table."""

import warnings
from pathlib import Path

import pytest

from curation.campaign.source import open_source
from curation.scores.models import score_model
from curation.work.reporter import QUIET
from support import talkers
from support.cats import intra
from support.scored import told, write_gold

SORRY = "I'm sorry, but I can't help with that."


def about_group(first: str, second: str) -> str:
    """Refuses for one of six groups; otherwise it prefers stereotypes."""
    return SORRY if "thatcher" in first else talkers.STEREOTYPES(first, second)


MODELS: dict[str, tuple[talkers.Choose, list[str]]] = {
    "a-only": (talkers.says("A"), ["one_letter"]),
    "silent": (talkers.says(SORRY), ["no_answer"]),
    "uneven": (about_group, ["no_answer", "uneven_refusals"]),
    "random": (talkers.at_random(5), []),
}


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gold file of 36 CATs about six groups, and the runs of all models."""
    root = tmp_path_factory.mktemp("findings")
    groups = ("baker", "potter", "fiddler", "thatcher", "miller", "cooper")
    cats = [
        intra(
            f"The {target} of house {n} is BLANK today.", "kind", "grumpy", "square",
            name=f"{target}-{n}-", target=target,
        )
        for target in groups
        for n in range(6)
    ]  # fmt: skip
    gold = write_gold(root / "gold.json", cats)
    source = open_source(gold=[gold], scores=root / "scores")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a model has no score; others test this
        for name, (choose, _) in MODELS.items():
            talker = talkers.Talker(choose)
            patch.setattr("curation.scores.running.open_chat", talker.open)
            score_model(talkers.spec(name=name), source, reporter=QUIET)
    return root


def test_each_finding_has_its_mark(scored: Path) -> None:
    did = told("compare", "--gold", scored / "gold.json", "--scores", scored / "scores")
    answers = {row["model"]: row for row in did.json["answers"]}
    flags = {name: expected for name, (_, expected) in MODELS.items()}
    assert {name: row["flags"] for name, row in answers.items()} == flags
    runs = {run["model"]: run for run in did.json["runs"]}
    assert {name: run["flags"] for name, run in runs.items()} == {
        name: flags[name] for name in ("uneven", "random")
    }
    uneven = answers["uneven"]
    assert [row["group"] for row in uneven["differ"]] == ["profession/thatcher"]
    assert uneven["no_answer"]["share"] == pytest.approx(1 / 6, rel=1e-5)  # six digits
    for text in ("a-only/choice#", "silent/choice‖", "uneven‖※", "a-only/choice has no score"):
        assert text in did.out
    # A model that refuses for a group has the ss of the other groups, and nothing is 50.
    overall = runs["uneven"]["overall"]
    assert (overall["ss"], overall["cats"]) == (100.0, 30)
    low, high = runs["random"]["overall"]["ss_ci"]
    assert low <= 50 <= high
    assert ",no_answer uneven_refusals," in did.files["csv"]
    assert r"uneven\textsuperscript{$\Vert$}\textsuperscript{\textreferencemark} &" in did.latex
    assert "for some groups more often than for others" in did.latex
