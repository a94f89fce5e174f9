"""Comparisons instead of scores: the same results as scores that win the same, and more."""

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.files import dump_json, dump_line
from curation.kinds import GOLDS
from curation.records import PAIRS, Comparison
from curation.scores import runs as module
from curation.scores.asking import cat_digest, questions
from curation.scores.boards import (
    board,
    by_preferences,
    by_scores,
    common,
    comparisons,
    missing_cats,
    won,
)
from curation.scores.compare import compare_group, run_results
from curation.scores.groups import groups
from curation.scores.results import read_runs
from curation.scores.runs import Outcome, Run, by_ids, drop_outdated, read_outcomes
from curation.stats.metrics import Ties, results
from support.boards import cat
from support.cats import relabelled, reworded
from support.chosen import as_scores_say, choice_run
from support.expected import fails
from support.scored import CATS, likes, make_cats, put

TIES: tuple[Ties, ...] = ("half", "official")


def by_chance(seed: int) -> dict[str, float]:
    """Scores of all associations, with many ties."""
    rng = np.random.default_rng(seed)
    ids = [a.id for each in CATS for a in each.associations]
    return dict(zip(ids, rng.integers(0, 3, len(ids)).astype(float).tolist(), strict=True))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Run], list[Run]]:
    """Three models by their scores, and by the comparisons that these scores win."""
    roots = [tmp_path_factory.mktemp(name) for name in ("scores", "chosen")]
    for seed, model in enumerate(("one", "two", "three")):
        scores = by_chance(seed)
        put(roots[0], model, "choice", lambda c, g, of=scores: of[f"{c.id}-{g}"])  # type: ignore[misc]
        choice_run(roots[1], model, as_scores_say(scores), CATS)
    scored, chosen = (read_runs(root) for root in roots)
    return [replace(run, about=chosen[0].about) for run in scored], chosen


@pytest.mark.parametrize("ties", TIES)
def test_comparisons_or_scores_give_the_same(both: tuple[list[Run], list[Run]], ties: Ties) -> None:
    reports = []
    for runs in both:
        laid = board(CATS, runs, ties=ties)
        every = [run_results(laid, number) for number in range(len(runs))]
        (group,) = groups(laid.runs)
        assert (group.sort, group.name) == ("profile", "choice")
        reports.append(
            dump_json([every, repr(compare_group(laid, group, every, power=5.0))])
            + dump_json([results(comparisons(CATS, run, ties=ties), model="m") for run in runs])
        )
    assert not both[0][0].by_choice
    assert both[1][0].by_choice
    assert reports[0] == reports[1]


def test_a_run_in_its_files_has_the_results_that_it_is_compared_by(tmp_path: Path) -> None:
    folder = choice_run(tmp_path, "a/b", as_scores_say(by_chance(1)), CATS)
    content = json.loads((folder / "results.json").read_text("utf-8"))
    test = [each for each in CATS if each.split == "test"]
    (run,) = read_runs(tmp_path)
    assert run.name == "a/b/choice"
    own = run_results(board(test, [run]), 0)
    assert content["splits"]["test"]["overall"] == own["overall"]


REPLICATES = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=6).map(
    lambda ended: (ended.count(1.0) / len(ended), ended.count(0.5) / len(ended))
)
"""The shares (won, split) of a pair that is asked several times."""


@given(st.lists(st.tuples(*[REPLICATES] * 3), min_size=1, max_size=4))
def test_judged_as_a_slow_reference_does(cats: list[tuple[tuple[float, float], ...]]) -> None:
    outcomes = [Outcome(*zip(*three, strict=True)) for three in cats]
    for ties in TIES:
        found = module.judge_outcomes(outcomes, ties=ties)
        for number, three in enumerate(cats):
            value = [w + s / 2 if ties == "half" else w for w, s in three]
            assert found[0][number] == pytest.approx(value[0] + value[1])
            assert found[1][number] == pytest.approx(value[2])
            assert found[2][number] == sum(s == 1 for _, s in three)
            assert 0 <= found[0][number] <= 2
            assert 0 <= found[1][number] <= 1


@pytest.mark.parametrize(
    ("ended", "lms", "ss", "ties"),
    [
        # In a circle: stereotype over anti-stereotype, this over unrelated, and unrelated over it.
        ([0, 1, 1], (50.0, 50.0), (100.0, 100.0), 0),
        # A split is half or lost, and a tie.
        ([0.5, 1, 0.5], (75.0, 50.0), (50.0, 0.0), 40),
        ([(0.5, 0.5), (0.75, 0), (0.25, 0.5)], (75.0, 62.5), (50.0, 25.0), 0),
    ],
)
def test_lms_and_ss_of_outcomes_by_hand(
    tmp_path: Path, ended: Any, lms: tuple[float, ...], ss: tuple[float, ...], ties: int
) -> None:
    choice_run(tmp_path, "m", lambda _: ended, CATS)
    runs = read_runs(tmp_path)
    found = [run_results(board(CATS, runs, ties=way), 0)["overall"] for way in TIES]
    assert [of["lms"] for of in found] == [*lms]
    assert [of["ss"] for of in found] == [*ss]
    assert [of["ties"] for of in found] == [ties] * 2


def line(**fields: Any) -> bytes:
    base: dict[str, Any] = {"model": "m", "rule": "choice", "cat": "c", "pair": PAIRS[0]}
    base |= {"won": 1.0, "split": 0.0, "replicates": 1, "asked": "x"}
    return dump_line(Comparison(**base | fields))


def test_a_cat_without_one_of_its_comparisons_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "comparisons.jsonl"
    path.write_bytes(b"".join(line(pair=pair) for pair in PAIRS) + line(cat="d"))
    assert read_outcomes(path) == {"c": Outcome((1, 1, 1), (0, 0, 0), "x")}
    assert read_outcomes(tmp_path / "none") == {}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (line() + line(), f"comparison {PAIRS[0]} of CAT c has two lines"),
        (line(won=0.75, split=0.5), "of CAT c has won + split above 1"),
        (line() + b'{"model": "m"', "comparisons.jsonl line 2: not a JSON record"),
        (line().replace(b"1.0", b"1.5"), "line 1, field 'won'"),
        (line().replace(PAIRS[0].encode(), b"a/b"), "line 1, field 'pair'"),
    ],
)
def test_bad_comparisons_are_named(tmp_path: Path, lines: bytes, message: str) -> None:
    (tmp_path / "m/choice").mkdir(parents=True)
    (tmp_path / "m/choice/comparisons.jsonl").write_bytes(lines)
    with fails(message) as error:
        read_runs(tmp_path)
    assert error.value.fix


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"questions": 12, "none": {"answer_refused": 10, "answer_empty": 2}, "answered": 0},
         "12 of 12 questions have no answer (answer_refused 10, answer_empty 2)"),
        ({"questions": 12, "answered": 12, "first": 12, "none": {}},
         "100 % of the model's answers name the first letter"),
        ({"questions": 20, "answered": 20, "first": 1, "none": {}},
         "95 % of the model's answers name the second letter"),
        ({"questions": 12, "answered": 9, "first": 4, "none": {"answer_cut": 3}},
         "3 of 12 questions have no answer (answer_cut 3)"),
        ({"questions": 2538, "none": {"answer_refused": 2538}, "answered": 0},
         "2,538 of 2,538 questions have no answer (answer_refused 2,538)"),
        ({"questions": 0, "none": {}, "first": 0, "answered": 0},
         "has no comparisons, because asking has not ended"),
    ],
)  # fmt: skip
def test_why_a_model_is_left_out(tmp_path: Path, answers: dict[str, Any], message: str) -> None:
    choice_run(tmp_path, "n", lambda _: [None] * 3, CATS, answers=answers)
    (said,) = left_out(tmp_path)
    assert message in said
    with fails("no run in this folder has results"):
        read_runs(tmp_path)


def left_out(root: Path) -> list[str]:
    """Why no run of the folder counts."""
    messages: list[str] = []
    assert module.find_runs(root, skipped=messages.append) == []
    return messages


def answered(root: Path, answers: Any) -> Path:
    """The folder of a run with other ``answers`` in its ``run.json``."""
    folder = choice_run(root, "n", lambda _: [1, 1, 1], CATS)
    content = json.loads((folder / "run.json").read_text("utf-8"))
    (folder / "run.json").write_text(json.dumps(content | {"answers": answers}), "utf-8")
    return folder


def test_a_run_that_was_killed_before_its_first_comparison_is_left_out(tmp_path: Path) -> None:
    (answered(tmp_path, None) / "comparisons.jsonl").unlink()
    (said,) = left_out(tmp_path)
    assert "n/choice: left out: has no comparisons, because asking has not ended" in said


@pytest.mark.parametrize(
    "answers", [7, {"none": [1]}, {"first": "many"}, {"limits": {"no_answer": []}}, {"prompts": 2}]
)
def test_bad_counts_of_answers_are_named(tmp_path: Path, answers: Any) -> None:
    answered(tmp_path, answers)
    with fails("run.json, field 'answers'"):
        read_runs(tmp_path)


def test_comparisons_of_changed_texts_and_exchanged_labels_do_not_count(tmp_path: Path) -> None:
    choice_run(tmp_path, "m", lambda _: [1, 1, 1], CATS)
    now = make_cats()
    now[0] = reworded(now[0], "Z.")
    now[1] = relabelled(now[1], GOLDS[1], GOLDS[0], GOLDS[2])
    a, b, c = now[2].associations
    now[2] = now[2].model_copy(update={"associations": (c, a, b)})  # only another order
    (run,), lost = drop_outdated(read_runs(tmp_path), now)
    assert lost == {"m/choice": 2}
    assert set(run.comparisons) == {each.id for each in now[2:]}
    lacks = missing_cats(run, now)
    assert (lacks.cats, lacks.of) == (frozenset({"c0", "c1"}), 20)


def test_what_a_model_refused_is_not_missing(tmp_path: Path) -> None:
    choice_run(tmp_path, "m", lambda c: [1, None, 1] if c.id == "c0" else [1, 1, 1], CATS[:15])
    (run,), _ = drop_outdated(read_runs(tmp_path), CATS)
    assert missing_cats(run, CATS).cats == {each.id for each in CATS[15:]}
    assert not run.has(CATS[0])
    assert [run.was_asked(each) for each in (CATS[0], CATS[1], CATS[15])] == [True, True, False]


def test_a_refusal_about_another_text_does_not_count(tmp_path: Path) -> None:
    folder = choice_run(tmp_path, "m", lambda c: [1, 1, None if c.id == "c0" else 1], CATS)
    path = folder / "rejected.jsonl"
    rejection = json.loads(path.read_text("utf-8"))
    assert rejection["record"]["texts"] == cat_digest(CATS[0])
    rejection["record"]["texts"] = "of another text"
    path.write_text(json.dumps(rejection) + "\n", "utf-8")
    (run,), _ = drop_outdated(read_runs(tmp_path), CATS)
    assert missing_cats(run, CATS).cats == {"c0"}


def test_runs_of_both_sorts_have_cats_in_common(tmp_path: Path) -> None:
    put(tmp_path, "likes", "default", likes, CATS)
    choice_run(tmp_path, "likes", lambda _: [1, 1, 1], CATS[2:])
    runs, _ = drop_outdated(read_runs(tmp_path), CATS)
    found = common(CATS, runs)
    assert len(found.cats) == 18
    assert found.missing["likes/choice"].cats == {"c0", "c1"}
    laid = board(CATS, runs)
    assert [(group.name, group.runs) for group in groups(laid.runs)] == [
        ("default", (1,)), ("choice", (0,)),
    ]  # fmt: skip


def test_predictions_cannot_be_by_choice() -> None:
    with fails("«choice» compares associations") as error:
        module.read_predictions_run("m@choice=p.json")
    assert error.value.fix


@pytest.mark.parametrize("golds", list(permutations(GOLDS)))
def test_comparisons_are_found_by_texts_under_other_labels_and_ids(golds: tuple[Any, ...]) -> None:
    one = cat("p", "x")
    scores = {"ps": 3.0, "pa": 1.0, "pu": 1.0}
    outcome = Outcome((1, 0, 1), (0, 1, 0), cat_digest(one))
    now = relabelled(one, *golds)
    ids = [next(a.id for a in now.associations if a.gold == gold) for gold in GOLDS]
    three = tuple(a.model_copy(update={"id": f"q{a.id}"}) for a in now.associations)
    renamed = now.model_copy(update={"id": "q", "associations": three})
    for named, prefix in ((now, ""), (renamed, "q")):
        found = by_preferences([prefix + name for name in ids], by_ids([named], {"p": outcome}))
        assert found.tolist() == by_scores(ids, scores).tolist()
    changed = one.model_copy(update={"context": "Another."})
    assert by_ids([changed], {"p": outcome}) == {}
    assert np.isnan(by_preferences(ids, {})).all()


def test_won_is_the_same_for_scores_and_comparisons_whatever_is_lacking(tmp_path: Path) -> None:
    scores = by_chance(5)
    some = CATS[3:]
    choice_run(tmp_path, "m", as_scores_say(scores), some)
    (run,) = read_runs(tmp_path)
    known = {a.id: scores[a.id] for each in some for a in each.associations}
    for ties in TIES:
        by_score = won(CATS, Run("m", "r", "", known), ties=ties)
        np.testing.assert_array_equal(won(CATS, run, ties=ties), by_score)
    assert set(known) == {q.association for each in some for q in questions(each)}
