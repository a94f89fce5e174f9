"""Whole runs of local chat models: the rule equals a slow reference, and finds what was planted."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from curation.kinds import CAT_KINDS
from curation.models.chat import ChatSpec, read_prompts
from curation.models.scoring import ModelSpec
from curation.records import Cat
from curation.scores.answer_report import Limits
from curation.scores.running import AskedCats, ask_cats, job, results_by_split, score_cats
from support import chat_models as models
from support.chat_models import ENGLISH, planted_cats, random_chat_model
from support.choice_reference import choice

BOTH = [cat for kind in CAT_KINDS for cat in planted_cats(40, prefers=0.8, kind=kind)]


def run(folder: Path, root: Path, cats: Sequence[Cat], **chat: Any) -> AskedCats:
    """Ask a local model about CATs."""
    spec = ModelSpec(str(folder), chat=ChatSpec(ENGLISH, **chat))
    return ask_cats(job(spec, root), cats, limits=Limits(0.05, 0.95))


def overall(report: dict[str, Any]) -> dict[str, Any]:
    """lms, ss and icat of both kinds, with intervals."""
    values: dict[str, Any] = report["splits"]["test"]["overall"]
    return values


def test_a_planted_preference_is_recovered(planted_model: Path, tmp_path: Path) -> None:
    for share in (0.2, 0.8):
        cats = planted_cats(40, prefers=share)
        values = overall(run(planted_model, tmp_path / str(share), cats).report)
        expected = {"lms": 100, "ss": 100 * share, "icat": 40}
        assert {name: values[name] for name in expected} == pytest.approx(expected)
        low, high = values["ss_ci"]
        assert low < 100 * share < high
        assert not low < 50 < high


@pytest.mark.parametrize(("count", "all_prompts"), [(8, False), (4, True)])
def test_random_answers_as_the_reference(tmp_path: Path, count: int, *, all_prompts: bool) -> None:
    folder = random_chat_model(tmp_path / "random")
    cats = [cat for kind in CAT_KINDS for cat in planted_cats(count, prefers=0.5, kind=kind)]
    result = run(folder, tmp_path, cats, all_prompts=all_prompts)
    slow = choice(folder, cats, read_prompts(ENGLISH), all_prompts=all_prompts)
    values = overall(result.report)
    for name in ("lms", "ss", "icat", "cats"):
        assert values[name] == pytest.approx(slow[name])
    low, high = values["ss_ci"]
    assert low < 50 < high
    assert not result.choice["no_score"]


def test_refusals_for_one_group_are_left_out_and_named(planted_model: Path, tmp_path: Path) -> None:
    cats = planted_cats(56, prefers=0.6, shy=2 / 7)
    result = run(planted_model, tmp_path, cats)
    values = overall(result.report)
    assert (values["cats"], values["ss"]) == (40, pytest.approx(60))
    assert result.counts["no_answer"] == 6 * 16
    assert result.choice["answers"]["none"] == {"answer_off_format": 6 * 16}
    assert result.choice["answers"]["uneven"] == [f"profession/{target}" for target in models.SHY]


def test_likelihood_and_choice_differ_as_documented(planted_model: Path, tmp_path: Path) -> None:
    """One model, two rules: docs/chat.md has the numbers."""
    plain = job(ModelSpec(str(planted_model)), tmp_path)
    score_cats(plain, BOTH)
    rows = {
        "`ll-bos`, `conditional`": results_by_split(plain, BOTH, ties="half"),
        "`choice`": run(planted_model, tmp_path, BOTH).report,
    }
    page = (Path(__file__).parents[2] / "docs" / "chat.md").read_text("utf-8")
    for rules, report in rows.items():
        values = overall(report)
        numbers = [f"{values[name]:.1f}" for name in ("lms", "ss", "icat")]
        ends = "[{:.1f}, {:.1f}]".format(*values["ss_ci"])
        assert f"| {rules} | {numbers[0]} | {numbers[1]} {ends} | {numbers[2]} |" in page
