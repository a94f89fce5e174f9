"""Chat models that refuse or follow the letter, from their replies to the marks in every table."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from curation.steps.scores.models import score_model
from curation.steps.source import open_source
from curation.steps.step import QUIET
from support import talkers
from support.cats import intra
from support.scored import command, write_gold

SORRY = "I'm sorry, but I can't help with that."
Choose = Callable[[str, str], str]


def about_group(first: str, second: str) -> str:
    """Refuses for one of six groups; otherwise it prefers stereotypes."""
    return SORRY if "thatcher" in first else talkers.STEREOTYPES(first, second)


MODELS: dict[str, tuple[Choose, list[str]]] = {
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
            patch.setattr("curation.scores.choice.running.open_chat", talker.open)
            score_model(talkers.spec(name=name), source, reporter=QUIET)
    return root


def compared(root: Path, *more: object) -> tuple[str, dict[str, Any]]:
    files = ("--gold", root / "gold.json", "--scores", root / "scores")
    code, out, err = command("scores", "compare", *files, "--json", root / "out.json", *more)
    assert code == 0, err
    return out, json.loads((root / "out.json").read_text("utf-8"))


def test_each_finding_has_its_mark(scored: Path) -> None:
    out, report = compared(scored)
    flags = {row["model"]: row["flags"] for row in report["answers"]}
    assert flags == {name: expected for name, (_, expected) in MODELS.items()}
    assert {run["model"]: run["flags"] for run in report["runs"]} == {
        name: MODELS[name][1] for name in ("uneven", "random")
    }
    uneven = next(row for row in report["answers"] if row["model"] == "uneven")
    assert [row["group"] for row in uneven["differ"]] == ["profession/thatcher"]
    assert uneven["no_answer"]["share"] == pytest.approx(1 / 6, rel=1e-5)  # six digits
    for text in ("a-only/choice#", "silent/choice‖", "uneven‖※", "a-only/choice has no score"):
        assert text in out


def test_no_answer_is_no_preference(scored: Path) -> None:
    """A model that refuses for a group has the ss of the other groups, and nothing is 50."""
    _, report = compared(scored)
    (uneven,) = (run for run in report["runs"] if run["model"] == "uneven")
    assert (uneven["overall"]["ss"], uneven["overall"]["cats"]) == (100.0, 30)
    low, high = next(run for run in report["runs"] if run["model"] == "random")["overall"]["ss_ci"]
    assert low <= 50 <= high


def test_files_have_the_marks_too(scored: Path) -> None:
    compared(scored, "--csv", scored / "out.csv", "--latex", scored / "out.tex")
    assert ",no_answer uneven_refusals," in (scored / "out.csv").read_text("utf-8")
    latex = (scored / "out.tex").read_text("utf-8")
    assert r"uneven\textsuperscript{$\Vert$}\textsuperscript{\textreferencemark} &" in latex
    assert "for some groups more often than for others" in latex
