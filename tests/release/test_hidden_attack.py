"""How much of hidden labels follows from published scores: the attack of ``benchmarks/hidden.py``.

Sets are drawn with numpy's generator, whose numbers are the same everywhere. The limits are several
standard errors away from what is measured.
"""

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from curation.released.numbers import budget
from support import attack
from support.labelled import Desk
from support.written import lines, read

tool = attack.module("hidden_attack")
folder = attack.module("hidden_release")
LIMIT = 3.0  # points


def allowed(cats: int) -> int:
    """The budget of hidden CATs with a third as many dev CATs, as in the paper."""
    return budget(cats, -(-cats // 3))


def gains(
    cats: int, figures: int, *, sets: int, related: str = "independent", quality: str = "bad",
    equal: bool = False, annealed: int = 0,
) -> tuple[float, float]:  # fmt: skip
    """The mean gain of the linear estimate, and of annealing on the first sets, in points."""
    rng = np.random.default_rng(cats + figures)
    drawn = tool.draw(rng, sets, cats, figures, related=related, quality=quality, equal=equal)
    before, given = tool.guess(drawn), tool.figures(drawn, figures)
    first, estimate = tool.right(before.mean, drawn.labels), tool.linear(before, given)
    gain = tool.right(estimate, drawn.labels) - first
    if not annealed:
        return float(gain.mean()), 0.0
    part = slice(0, annealed)
    some = tool.Equations(given.weights[:, part], given.values[part], given.error)
    guessed = tool.Guess(before.mean[:, part], before.directions[:, part])
    found = tool.anneal(rng, guessed, some, start=estimate[:, part], sweeps=30, runs=8)
    more = tool.right(found, drawn.labels[:, part]) - first[part]
    return float(gain.mean()), float(more.mean())


# --- the attack by hand ---------------------------------------------------------------------------


def test_weights_are_those_of_a_mean_over_terms() -> None:
    # Two terms, of one and of three CATs, of which two count: 1/2 and 1/4 each.
    term, chosen = np.array([[5], [2], [2], [2]]), np.array([[True], [True], [True], [False]])
    assert tool.weights_of(term, chosen).ravel().tolist() == [0.5, 0.25, 0.25, 0]


def one_figure(labels: list[int]) -> tuple[Any, Any]:
    """Four CATs of the same weight; the model prefers the first option of each."""
    y = np.array(labels, np.float32)[:, None]
    given = tool.published(np.full((4, 1, 1), 0.25, np.float32), y)
    return tool.Guess(np.zeros((4, 1), np.float32), np.zeros((4, 1, 0), np.float32)), given


def test_the_linear_estimate_of_one_figure() -> None:
    # ss 75: 2 · 0.75 − 1 = 0.5 is the sum of y/4, so each y is 0.5 on average.
    before, given = one_figure([1, 1, -1, 1])
    assert given.values.tolist() == [[0.5]]
    assert tool.linear(before, given).ravel() == pytest.approx([0.5] * 4, abs=1e-4)
    assert tool.right(tool.linear(before, given), np.array([[1], [1], [-1], [1]])) == [75]
    # Without figures there is no opinion: half is right.
    assert tool.right(before.mean, np.array([[1], [1], [-1], [1]])) == [50]


def test_annealing_finds_the_labels_that_fit() -> None:
    before, given = one_figure([-1, -1, -1, -1])
    rng = np.random.default_rng(1)
    found = tool.anneal(rng, before, given, start=before.mean, sweeps=40, runs=4)
    assert (found < 0).all()
    # 200 figures about 100 CATs fit one solution only.
    linear, annealed = gains(100, 200, sets=5, annealed=5)
    assert min(linear, annealed) > 45


def test_a_guess_without_figures_learns_from_public_cats() -> None:
    # 50 independent models, each right in 55 to 65 %: together they are right in about 92 %.
    drawn = tool.draw(np.random.default_rng(3), 10, 500, 50, quality="good")
    assert 88 < tool.right(tool.guess(drawn).mean, drawn.labels).mean() < 96


# --- the budget -----------------------------------------------------------------------------------


def test_the_budget_is_that_of_the_formula() -> None:
    # 2π · 0.03² = 0.005655 figures for each CAT.
    found = [allowed(cats) for cats in (0, 100, 176, 177, 222, 500, 1000, 6000)]
    assert found == [0, 0, 0, 1, 1, 2, 5, 33]
    assert [tool.budget(cats) for cats in range(7000)] == [allowed(cats) for cats in range(7000)]


@pytest.mark.parametrize("related", ["independent", "alike", "copies"])
@pytest.mark.parametrize("quality", ["good", "bad", "mixed"])
def test_the_gain_at_the_budget_is_small(related: str, quality: str) -> None:
    linear, _ = gains(222, allowed(222), sets=900, related=related, quality=quality)
    assert linear < LIMIT


def test_annealing_does_not_gain_more_at_the_budget() -> None:
    _, annealed = gains(500, allowed(500), sets=60, annealed=60)
    assert annealed < LIMIT


def test_the_gain_at_the_budget_is_not_much_smaller_than_the_limit() -> None:
    # The worst case: √(K / 2πN) = √(5 / 6283) = 2.8 points for 5 figures on 1,000 CATs.
    linear, _ = gains(1000, allowed(1000), sets=300, quality="chance", equal=True)
    assert 2.2 < linear < 3.2


def test_more_figures_give_more_away() -> None:
    for annealed in gains(222, 50, sets=20, annealed=20):
        assert annealed > 8
    linear, _ = gains(222, 22, sets=40)
    assert linear > 8
    linear, _ = gains(222, 50, sets=20, related="copies", quality="good")
    assert linear > 8


# --- a release ------------------------------------------------------------------------------------


class Attacked(NamedTuple):
    """A release with hidden labels, its gold file, and predictions of 30 models."""

    release: Path
    gold: Path
    predictions: list[str]


@pytest.fixture(scope="module")
def attacked(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Attacked:
    root = attack.campaign(forked, tmp_path_factory.mktemp("attacked") / "c", items=304, models=30)
    desk = Desk(forked, root)
    desk.build("--hide", "labels")
    predictions = attack.predictions(root, desk.gold, root.parent / "predictions")
    return Attacked(desk.first, desk.gold, predictions)


@pytest.mark.long
def test_a_release_publishes_no_more_than_its_budget(attacked: Attacked) -> None:
    found = folder.attack_folder(attacked.release, attacked.predictions, gold=attacked.gold)
    assert found.cats >= 222
    assert found.equations <= allowed(found.cats)
    assert len(found.sources) <= allowed(found.cats)
    assert found.equations == 0 or found.residual < 2
    assert not found.texts
    # One set: 3 points, and what chance adds. Annealing follows the order of ids, which are random.
    assert found.linear - found.without < 8


@pytest.mark.long
def test_full_figures_would_give_labels_away(attacked: Attacked, tmp_path: Path) -> None:
    release, gold, predictions = attacked
    forged = Path(shutil.copytree(release, tmp_path / "0.1.0"))
    facts = read(forged / "release.json")
    facts["baselines"], facts["sentiment"] = [], []
    facts["scores"] = [true_row(gold, Path(file)) for file in predictions]
    (forged / "release.json").write_text(json.dumps(facts), "utf-8")
    (forged / "README.md").write_text("The ss of model-0 in test is 12.345.\n", "utf-8")
    found = folder.attack_folder(forged, predictions, gold=gold)
    assert found.equations == len(found.sources) == 30
    assert found.residual < 2  # the equations hold for the true labels: √3 is the most
    assert found.linear - found.without > 8
    assert "README.md:1: 12.345" in found.texts
    # Half of them in this version, half in the one before.
    earlier, rows = Path(shutil.copytree(forged, tmp_path / "0.0.9")), facts["scores"]
    for version, part in ((forged, rows[:15]), (earlier, rows[15:])):
        facts["scores"] = part
        (version / "release.json").write_text(json.dumps(facts), "utf-8")
    assert folder.attack_folder(forged, predictions, gold=gold).equations == 15
    both = folder.attack_folder(forged, predictions, gold=gold, earlier=earlier)
    assert (both.cats, both.equations) == (found.cats, 30)
    assert both.linear == pytest.approx(found.linear, abs=2)  # a CAT near 0 may differ


def true_row(gold: Path, file: Path) -> dict[str, Any]:
    """The row of a model that a release without a budget would have."""
    scores = {row["id"]: row["score"] for row in read(file)}
    terms: dict[tuple[str, str], list[bool]] = {}
    for item in lines(gold):
        own = {option["gold_label"]: scores[option["id"]] for option in item["sentences"]}
        won = own["stereotype"] > own["anti-stereotype"]
        terms.setdefault((item["bias_type"], item["target"]), []).append(won)
    ss = 100 * sum(sum(won) / len(won) for won in terms.values()) / len(terms)
    return {
        "model": file.stem, "split": "test", "kind": "both", "ss": round(ss, 1), "ss_ci": None,
        "icat": None, "icat_ci": None, "lms": 50.0,
    }  # fmt: skip
