"""``board recheck``: a secret sample of a row's CATs, scored with the model itself."""

import json
import secrets
import sys
from collections.abc import Callable, Mapping
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

import pytest
from scipy.stats import binom, hypergeom

from curation.board import rechecking
from curation.board.folder import Board
from curation.board.log import Compared, Rechecked, read_log
from curation.board.rechecking import (
    FOUND,
    HONEST,
    PRECISIONS,
    SHARE,
    Recheck,
    compare,
    recheck,
    size,
)
from curation.board.scoring import score
from curation.files import CurationError, read_records
from curation.models import tiny
from curation.models.scoring import ModelSpec, identify
from curation.records import Cat, Score
from curation.scores.models import ScoredModel
from curation.scores.running import job, score_cats
from support import commands
from support.hosting import BOARD_ID, TODAY, Hosted, host, submission, submit
from support.strike import KilledError

RULES = {"intrasentence": "ll-bos", "intersentence": "conditional"}


# --- the size of a sample ---------------------------------------------------------------------


@pytest.mark.parametrize("format", PRECISIONS)
@pytest.mark.parametrize("cats", [100, 177, 1_000, 20_000])
def test_five_percent_are_found_and_an_honest_row_agrees(cats: int, format: str) -> None:
    drawn, turned = size(cats, format)
    altered, turns = ceil(SHARE * cats), PRECISIONS[format].turns
    assert hypergeom.cdf(turned, cats, altered, drawn) <= 1 - FOUND
    assert binom.cdf(turned, drawn, turns) >= HONEST
    # One CAT less is not enough.
    less = binom.ppf(HONEST, drawn - 1, turns)
    assert hypergeom.cdf(less, cats, altered, drawn - 1) > 1 - FOUND


def test_sizes() -> None:
    # float32, 1,000 CATs: (950 choose 57) / (1000 choose 57) = 0.0492; with 56 it is 0.0519.
    assert size(1_000, "float32") == (57, 0)
    assert size(177, "float32") == (49, 0)
    assert size(1_000, "bfloat16") == (221, 6)


# --- what a comparison finds ------------------------------------------------------------------


def compared(
    hosted: Hosted,
    alter: Callable[[dict[str, float]], Mapping[str, float]],
    format: str = "float32",
    cats: int | None = None,
) -> Compared:
    made = hosted.scores()
    number, turned = size(len(hosted.cats), format)
    drawn = hosted.cats[: cats or number]
    sent = alter(dict(made))
    return compare(drawn, sent, made, rules=RULES, format=format, turned=turned)


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Hosted:
    return host(tmp_path_factory.mktemp("board"), cats=100)


def ids(cat: Cat) -> dict[str, str]:
    return {a.gold: a.id for a in cat.associations}


def test_rounding_agrees_and_more_does_not(hosted: Hosted) -> None:
    draws = Random(1)
    for format, (relative, _) in PRECISIONS.items():
        within = compared(
            hosted,
            lambda s, r=relative: {k: v * (1 + draws.uniform(-0.9, 0.9) * r) for k, v in s.items()},  # type: ignore[misc]
            format,
        )
        assert within.agrees
        assert 0 < within.largest <= relative
        above = compared(
            hosted, lambda s, r=relative: {k: v * (1 + 1.1 * r) for k, v in s.items()}, format
        )  # type: ignore[misc]
        assert (above.agrees, above.orders) == (False, 0)
        assert above.beyond == above.cats


def test_who_shifts_all_scores_is_found_though_no_order_differs(hosted: Hosted) -> None:
    found = compared(hosted, lambda scores: {k: v + 1 for k, v in scores.items()})
    assert (found.agrees, found.orders, found.beyond) == (False, 0, found.cats)


def test_who_only_swaps_near_ties_is_found_by_orders(hosted: Hosted) -> None:
    # Each stereotype has nearly the score of its anti-stereotype: within the tolerance of bfloat16.
    made = hosted.scores()
    for cat in hosted.cats:
        of = ids(cat)
        made[of["stereotype"]] = made[of["anti-stereotype"]] * (1 - 1e-3)
    cats = hosted.cats[: size(100, "bfloat16").cats]
    sent = dict(made)
    for cat in cats[:6]:
        of = ids(cat)
        sent[of["stereotype"]] = made[of["anti-stereotype"]] * (1 + 1e-3)
    how = {"rules": RULES, "format": "bfloat16"}
    six = compare(cats, sent, made, **how, turned=5)  # type: ignore[arg-type]
    assert (six.agrees, six.orders, six.beyond) == (False, 6, 0)
    assert compare(cats[1:], sent, made, **how, turned=5).agrees  # type: ignore[arg-type]


def test_the_largest_numbers_are_no_infinite_difference(hosted: Hosted) -> None:
    found = compared(hosted, lambda scores: dict.fromkeys(scores, sys.float_info.max))
    assert (found.agrees, found.beyond, found.largest) == (False, found.cats, 1e9)


def test_broken_ties_are_another_order_and_missing_scores_are_beyond(hosted: Hosted) -> None:
    made = dict.fromkeys(hosted.scores(), -50.0)
    cats = hosted.cats[:10]
    first = cats[0].associations[0].id
    how = {"rules": RULES, "format": "float32", "turned": 0}
    broken = compare(cats, made | {first: -49.9999}, made, **how)  # type: ignore[arg-type]
    assert (broken.agrees, broken.orders, broken.beyond) == (False, 1, 0)
    lacks = {name: value for name, value in made.items() if name != first}
    refused = compare(cats, made, lacks, **how)  # type: ignore[arg-type]
    assert (refused.agrees, refused.orders, refused.beyond) == (False, 0, 1)


def test_differences_of_large_numbers_may_differ_by_their_rounding(hosted: Hosted) -> None:
    made = dict.fromkeys(hosted.scores(), 0.01)
    sent = dict.fromkeys(made, 0.011)
    how = {"format": "float32", "turned": 0}
    of = {kind: {**RULES, kind: "ratio"} for kind in ("intersentence",)}["intersentence"]
    inter = [cat for cat in hosted.cats if cat.kind == "intersentence"]
    assert compare(inter, sent, made, rules=of, **how).agrees  # type: ignore[arg-type]
    assert compare(inter, sent, made, rules=RULES, **how).beyond == len(inter)  # type: ignore[arg-type]


# --- with a model -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(hosted: Hosted, tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = [a.sentence for cat in hosted.cats[:60] for a in cat.associations]
    return tiny.make(tmp_path_factory.mktemp("models") / "tiny", texts, steps=0, width=16, layers=1)


def scores_by(model: Path, cats: list[Cat], folder: Path, **how: str) -> dict[str, float]:
    rule = how.pop("rule", "")
    work = job(ModelSpec(str(model), device="cpu", **how), folder, rule=rule)  # type: ignore[arg-type]
    score_cats(work, cats)
    made = read_records(work.folder / "scores.jsonl", Score)
    return {each.association: each.value for each in made}


@pytest.fixture(scope="module")
def own(hosted: Hosted, model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    return scores_by(model, hosted.cats, tmp_path_factory.mktemp("scores"))


def with_row(root: Path, scores: Mapping[str, float], **about: object) -> Hosted:
    hosted = host(root, cats=100)
    submit(hosted, submission(hosted, scores, model="a/tiny", **about))
    score(hosted.board, hosted.campaign, today=TODAY)
    return hosted


def checked(hosted: Hosted, model: Path, **how: bool) -> Recheck:
    spec = ModelSpec(str(model), label="a/tiny", device="cpu")
    (found,) = recheck(hosted.board, hosted.campaign, spec, today=TODAY, **how)
    return found


def test_an_honest_row_agrees(tmp_path: Path, model: Path, own: dict[str, float]) -> None:
    revision = identify(ModelSpec(str(model), device="cpu"))["revision"]
    hosted = with_row(tmp_path, own, revision=revision)
    found = checked(hosted, model).found
    none = {"orders": 0, "beyond": 0, "largest": found.largest}
    assert found == Compared(agrees=True, cats=45, **none)
    assert found.largest < 1e-5
    line = read_log(hosted.board.log)[0][-1]
    assert isinstance(line, Rechecked)
    assert (line.agrees, line.cats, line.file) == (True, 45, "001.json")


@pytest.fixture
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample is drawn with a seed; otherwise a test would fail in one of 20 runs."""
    monkeypatch.setattr(secrets, "SystemRandom", lambda: Random(1))


@pytest.mark.usefixtures("seeded")
def test_five_percent_of_altered_cats_differ(
    tmp_path: Path, model: Path, own: dict[str, float]
) -> None:
    altered = dict(own)
    hosted = host(tmp_path / "x", cats=100)
    for cat in Random(3).sample(hosted.cats, 5):
        of = ids(cat)
        values = own[of["stereotype"]], own[of["anti-stereotype"]]
        altered[of["anti-stereotype"]], altered[of["stereotype"]] = values
    hosted = with_row(tmp_path / "y", altered)
    found = checked(hosted, model).found
    assert not found.agrees
    assert found.orders == found.beyond > 0
    assert found.largest > 1e-4


def test_a_row_by_another_rule_differs(tmp_path: Path, hosted: Hosted, model: Path) -> None:
    other = scores_by(model, hosted.cats, tmp_path / "scores", rule="ll-code")
    found = checked(with_row(tmp_path, other), model).found
    assert (found.agrees, found.beyond) == (False, 45)


def test_a_row_that_names_another_rule_differs(
    tmp_path: Path, model: Path, own: dict[str, float]
) -> None:
    named = dict.fromkeys(RULES, "pll-word-l2r")
    found = checked(with_row(tmp_path, own, rules=named), model).found
    assert (found.agrees, found.orders, found.beyond) == (False, 0, 0)


def test_a_row_in_bfloat16_agrees(tmp_path: Path, hosted: Hosted, model: Path) -> None:
    own = scores_by(model, hosted.cats, tmp_path / "scores", dtype="bfloat16")
    found = checked(with_row(tmp_path, own, format="bfloat16"), model)
    assert (found.turned, found.found.cats) == (4, 99)
    assert found.found.agrees
    # The same scores with the label float32 are not those of the model in float32.
    false = checked(with_row(tmp_path / "false", own, revision="2"), model).found
    assert not false.agrees


def test_a_sample_is_drawn_once(
    tmp_path: Path, model: Path, own: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted = with_row(tmp_path, own)
    scored: list[int] = []
    score_model = rechecking.score_model

    def counted(*args: Any, **options: Any) -> ScoredModel:
        made = score_model(*args, **options)
        scored.append(made.counts["scored"])
        return made

    def killed(*_: object) -> None:
        raise KilledError

    monkeypatch.setattr(rechecking, "score_model", counted)
    with monkeypatch.context() as patch:
        patch.setattr(Board, "append", killed)
        with pytest.raises(KilledError):
            checked(hosted, model)
    (sample,) = (hosted.campaign.folder("boards") / BOARD_ID / "samples").iterdir()
    drawn = json.loads(sample.read_bytes())
    assert len(set(drawn)) == 45
    assert sample.stat().st_mode & 0o777 == 0o600
    assert checked(hosted, model).found.agrees
    assert json.loads(sample.read_bytes()) == drawn
    assert checked(hosted, model, again=True).found.agrees
    assert json.loads(sample.read_bytes()) != drawn
    assert scored[:2] == [3 * 45, 0]
    assert 0 < scored[2] < 3 * 45  # what was scored before is not scored again
    lines = [e for e in read_log(hosted.board.log)[0] if isinstance(e, Rechecked)]
    assert len(lines) == 2


def test_samples_find_five_percent_as_often_as_computed() -> None:
    drawn, _ = size(200, "float32")
    draws = Random(1)
    found = sum(min(draws.sample(range(200), drawn)) < 10 for _ in range(2_000))
    assert 0.94 < found / 2_000 < 0.965  # 0.9514 by the hypergeometric distribution


def test_what_cannot_be_rechecked(tmp_path: Path, model: Path, own: dict[str, float]) -> None:
    hosted = with_row(tmp_path / "a", own, revision="sha256:0123")
    with pytest.raises(CurationError, match="has other weights than the row of 001"):
        checked(hosted, model)
    spec = ModelSpec(str(model), label="a/tinny")
    with pytest.raises(CurationError, match="no row of the model 'a/tinny'") as error:
        recheck(hosted.board, hosted.campaign, spec)
    assert error.value.fix == "its rows are: a/tiny; to name a local copy, write MODEL=FOLDER"
    path = hosted.board.submissions / "001.json"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(CurationError, match="was changed"):
        checked(hosted, model)
    sealed = host(tmp_path / "b", hide="all", cats=12)
    with pytest.raises(CurationError, match="is sealed"):
        checked(sealed, model)


def test_the_command_says_what_was_found(
    tmp_path: Path, model: Path, own: dict[str, float]
) -> None:
    hosted = with_row(tmp_path, own)
    words: list[object] = ["board", "recheck", f"a/tiny={model}", "--device", "cpu"]
    words += ["--board", hosted.board.root, "--campaign", hosted.campaign.root]
    said = commands.well(*words).out
    assert "001.json, default: 45 CATs compared. Scores differ by more than 2e-05 in 0," in said
    assert said.endswith("agrees: «curation board build» ranks it\n")
    told = commands.told(*words)
    assert told["rechecks"][0] | {"largest": 0} == {
        **{"file": "001.json", "turned": 0, "agrees": True, "cats": 45},
        **{"orders": 0, "beyond": 0, "largest": 0},
    }
    shifted = with_row(tmp_path / "b", {name: value - 1 for name, value in own.items()})
    words[-3], words[-1] = shifted.board.root, shifted.campaign.root
    said = commands.well(*words).out
    assert "Scores differ by more than 2e-05 in 45," in said
    assert "0 have another order, and 0 may.\ndiffers: " in said
