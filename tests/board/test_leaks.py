"""What the rows of a board give away: the attackers of ``benchmarks/board_attack.py``.

Sets are drawn with numpy's generator, whose numbers are the same everywhere.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from curation.board.log import values
from curation.released import numbers
from curation.stats.metrics import cell
from support import attack
from support.hosting import Hosted, host

tool = attack.module("board_attack")
ICAT, LABELS = 2.0, 3.0  # points: the limits


def gains(*job: Any, **more: Any) -> tuple[tuple[float, float], tuple[float, float]]:
    """The gains in icat and in labels: means with standard errors, in points."""
    found = tool.worked(tool.Job(*job, **more))
    return tool.summary(found[0]), tool.summary(found[1])


# --- what attackers read --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Hosted:
    return host(Path(tmp_path_factory.mktemp("leaks")), cats=230, terms=17)


def answered(hosted: Hosted, share: float) -> tuple[Any, Any, dict[str, float]]:
    """Terms, what is won, and scores, if a share of CATs prefers the stereotype; lms is 100."""
    numbers: dict[tuple[str, str], int] = {}
    terms = [numbers.setdefault((cat.domain, cat.target), len(numbers)) for cat in hosted.cats]
    won = np.where(np.random.default_rng(1).random(len(terms)) < share, 1, -1)
    scores: dict[str, float] = {}
    for cat, sign in zip(hosted.cats, won, strict=True):
        ids = {each.gold: each.id for each in cat.associations}
        of = {"stereotype": 1.0 + sign, "anti-stereotype": 1.0 - sign, "unrelated": -1.0}
        scores |= {ids[gold]: score for gold, score in of.items()}
    return np.array(terms)[:, None], won[:, None].astype(np.float32), scores


@pytest.mark.parametrize("share", [0.65, 0.5, 0.3, 1.0])
def test_attackers_read_what_a_row_shows(hosted: Hosted, share: float) -> None:
    terms, won, scores = answered(hosted, share)
    row = values(hosted.cats, scores, hide="labels").overall
    read = tool.shown(terms, won)
    assert (row.lms, row.ss, row.icat) == (100, read.ss[0], read.icat[0])
    assert row.ss_ci == (read.low[0], read.high[0])
    exact = values(hosted.cats, scores, hide="all").overall
    read = tool.shown(terms, won, None)
    assert [exact.ss, exact.icat, *(exact.ss_ci or ())] == pytest.approx([each[0] for each in read])


def test_the_ends_of_an_interval_give_the_squares_of_terms(hosted: Hosted) -> None:
    terms, won, _ = answered(hosted, 0.65)
    means, counts = tool.over_terms(terms, won)
    found = tool.square(tool.shown(terms, won, None), np.array([len(means)]))
    assert counts.sum() == len(hosted.cats)
    assert found == pytest.approx((means**2).mean(axis=0))


def test_the_ends_of_icat_say_no_more() -> None:
    # 60 on average, and the squares of the differences add up to 200, in two ways.
    step = 10 * np.sqrt(0.5)
    first, second = np.array([70, 50, 60, 60.0]), 60 + step * np.array([1, 1, -1, -1])
    lms = np.full(4, 100.0)
    one, two = (cell({"lms": lms, "ss": ss}, cats=40) for ss in (first, second))
    for name in ("lms_ci", "ss_ci", "icat_ci"):
        assert one[name] == pytest.approx(two[name])


# --- what they gain -------------------------------------------------------------------------------


def test_the_rows_of_a_test_set() -> None:
    # 2π · 0.01² = 0.000628 rows for each CAT, rounded to the nearest; 177 CATs get the first.
    sizes = (176, 177, 2387, 2388, 3978, 3979, 12_700)
    assert [tool.allowed(cats, cats) for cats in sizes] == [0, 1, 1, 2, 2, 3, 8]
    assert tool.effective(2700) == pytest.approx(2391, abs=1)  # ten CATs a term on average


@pytest.mark.parametrize(
    ("cats", "terms"), [(176, 176), (177, 9), (2387, 2387), (2388, 2388), (2600, 1300), (4510, 451)]
)
def test_the_rows_of_a_board_are_those_of_the_simulation(cats: int, terms: int) -> None:
    sizes = np.bincount(np.arange(cats) % terms)
    golds: Any = [
        SimpleNamespace(
            bias_type="hobby", target=f"{n % terms}", original=f"{n}", texts=(f"{n}",), sealed=False
        )
        for n in range(cats)
    ]
    found = numbers.board_rows_left("1", {"1": golds}, [], dev=cats // 3)
    assert found == tool.allowed(cats, terms**2 / (1 / sizes).sum())


def test_one_row_gains_nothing() -> None:
    (icat, error), _ = gains(1000, 1, "best", "65", 0.25, 300)
    assert abs(icat) < 3 * error < 1


@pytest.mark.parametrize("way", ["boost", "adapt"])
def test_the_gain_in_icat_is_small(way: str) -> None:
    # The smallest set that has two rows, and the answers that gained most.
    (icat, error), (labels, _) = gains(2700, 2, way, "65", 0.4, 160)
    assert 1 < icat < ICAT - error
    assert labels < LABELS


def test_fifty_who_share_what_they_read_gain_no_more() -> None:
    (icat, error), (labels, _) = gains(2700, 2, "adapt", "65", 0.4, 40, accounts=50)
    assert icat - error < ICAT
    assert labels < LABELS


def test_the_gain_in_labels_is_small() -> None:
    _, (labels, error) = gains(177, 1, "best", "chance", 0.5, 900)
    assert 2 < labels < LABELS - error


@pytest.mark.parametrize("cats", [177, 2700])
def test_exact_rows_without_a_limit_give_labels_and_icat_away(cats: int) -> None:
    rows = {"rounded": False}
    (icat, error), _ = gains(cats, 200, "boost", "65", 0.1, 3, **rows)
    assert icat - 2 * error > 2 * ICAT
    _, (labels, error) = gains(cats, 200, "best", "chance", 0.5, 3, **rows)
    assert labels - 2 * error > 2 * LABELS
