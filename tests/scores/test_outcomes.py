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

from curation.files import CurationError, dump_json, dump_line
from curation.records import GOLDS, PAIRS, Cat, Comparison
from curation.scores.asking import cat_digest, questions
from curation.scores.boards import board, by_preferences, by_scores, comparisons, won
from curation.scores.compare import compare_group, run_results
from curation.scores.groups import groups
from curation.scores.incomplete import again, common, missing_cats
from curation.scores.runs import (
    Outcome,
    Run,
    by_ids,
    current,
    found_runs,
    judge_outcomes,
    read_outcomes,
    read_predictions_run,
    read_runs,
)
from curation.stats.metrics import Ties, results
from support.boards import cat
from support.chosen import as_scores_say, choice_run
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
        for_id = {a.id: scores[a.id] for each in CATS for a in each.associations}
        ids = {(each.id, a.gold): for_id[a.id] for each in CATS for a in each.associations}
        put(roots[0], model, "choice", lambda c, g, ids=ids: ids[c.id, g])  # type: ignore[misc]
        choice_run(roots[1], model, as_scores_say(scores), CATS)
    scored, chosen = (read_runs(root) for root in roots)
    return [replace(run, about=chosen[0].about) for run in scored], chosen


@pytest.mark.parametrize("ties", TIES)
def test_comparisons_give_the_results_of_scores_that_win_the_same(
    both: tuple[list[Run], list[Run]], ties: Ties
) -> None:
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


def replicates(draw: Any) -> tuple[float, float]:
    ended = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=6))
    return ended.count(1.0) / len(ended), ended.count(0.5) / len(ended)


@given(st.data())
def test_outcomes_are_judged_as_a_slow_reference_does(data: st.DataObject) -> None:
    cats = [[replicates(data.draw) for _ in PAIRS] for _ in range(data.draw(st.integers(1, 4)))]
    outcomes = [
        Outcome(tuple(w for w, _ in three), tuple(s for _, s in three))  # type: ignore[arg-type]
        for three in cats
    ]
    for ties in TIES:
        found = judge_outcomes(outcomes, ties=ties)
        for number, three in enumerate(cats):
            value = [w + s / 2 if ties == "half" else w for w, s in three]
            assert found[0][number] == pytest.approx(value[0] + value[1])
            assert found[1][number] == pytest.approx(value[2])
            assert found[2][number] == sum(s == 1 for _, s in three)
            assert 0 <= found[0][number] <= 2
            assert 0 <= found[1][number] <= 1


def test_a_model_may_prefer_in_a_circle(tmp_path: Path) -> None:
    """Stereotype over anti-stereotype, this over unrelated, and unrelated over stereotype."""
    choice_run(tmp_path, "m", lambda _: [0, 1, 1], CATS)
    overall = run_results(board(CATS, read_runs(tmp_path)), 0)["overall"]
    assert (overall["lms"], overall["ss"]) == (50.0, 100.0)


def test_a_split_is_half_or_lost_and_a_tie(tmp_path: Path) -> None:
    choice_run(tmp_path, "m", lambda _: [0.5, 1, 0.5], CATS)
    runs = read_runs(tmp_path)
    half, official = (run_results(board(CATS, runs, ties=ties), 0)["overall"] for ties in TIES)
    assert (half["lms"], half["ss"], half["ties"]) == (75.0, 50.0, 2 * len(CATS))
    assert (official["lms"], official["ss"], official["ties"]) == (50.0, 0.0, 2 * len(CATS))
    choice_run(tmp_path, "n", lambda _: [(0.5, 0.5), (0.75, 0), (0.25, 0.5)], CATS)
    n = run_results(board(CATS, read_runs(tmp_path)), 1)["overall"]
    assert (n["lms"], n["ss"], n["ties"]) == (75.0, 50.0, 0)


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
        (line(won=0.75, split=0.5), "of CAT c has won . split above 1"),
        (line() + b'{"model": "m"', "comparisons.jsonl line 2: not a JSON record"),
        (line().replace(b"1.0", b"1.5"), "line 1, field 'won'"),
        (line().replace(PAIRS[0].encode(), b"a/b"), "line 1, field 'pair'"),
    ],
)
def test_bad_comparisons_are_named(tmp_path: Path, lines: bytes, message: str) -> None:
    (tmp_path / "m/choice").mkdir(parents=True)
    (tmp_path / "m/choice/comparisons.jsonl").write_bytes(lines)
    with pytest.raises(CurationError, match=message) as error:
        read_runs(tmp_path)
    assert error.value.fix


NOTHING: dict[str, Any] = {"none": {}, "first": 0, "answered": 0}


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
        ({"questions": 0, **NOTHING}, "has no comparisons, because asking has not ended"),
    ],
)  # fmt: skip
def test_a_model_without_a_comparison_is_left_out_with_the_reason(
    tmp_path: Path, answers: dict[str, Any], message: str
) -> None:
    choice_run(tmp_path, "n", lambda _: [None] * 3, CATS, answers=answers)
    messages: list[str] = []
    assert found_runs(tmp_path, skipped=messages.append) == []
    assert len(messages) == 1
    assert message in messages[0]
    with pytest.raises(CurationError, match="no run in this folder has results"):
        read_runs(tmp_path)


def test_a_run_that_was_killed_before_its_first_comparison_is_left_out(tmp_path: Path) -> None:
    folder = choice_run(tmp_path, "n", lambda _: [1, 1, 1], CATS)
    (folder / "comparisons.jsonl").unlink()
    content = json.loads((folder / "run.json").read_text("utf-8"))
    del content["answers"]
    (folder / "run.json").write_text(json.dumps(content), "utf-8")
    messages: list[str] = []
    assert found_runs(tmp_path, skipped=messages.append) == []
    assert "n/choice: left out: has no comparisons, because asking has not ended" in messages[0]


@pytest.mark.parametrize(
    "answers", [7, {"none": [1]}, {"first": "many"}, {"limits": {"no_answer": []}}, {"prompts": 2}]
)
def test_bad_counts_of_answers_are_named(tmp_path: Path, answers: Any) -> None:
    folder = choice_run(tmp_path, "n", lambda _: [1, 1, 1], CATS)
    content = json.loads((folder / "run.json").read_text("utf-8"))
    (folder / "run.json").write_text(json.dumps(content | {"answers": answers}), "utf-8")
    with pytest.raises(CurationError, match=r"run.json, field 'answers'"):
        read_runs(tmp_path)


def test_comparisons_of_changed_texts_and_exchanged_labels_do_not_count(tmp_path: Path) -> None:
    choice_run(tmp_path, "m", lambda _: [1, 1, 1], CATS)
    now = make_cats()
    a, b, c = now[0].associations
    now[0] = now[0].model_copy(
        update={"associations": (a, b.model_copy(update={"sentence": "Z."}), c)}
    )
    a, b, c = now[1].associations
    labels = (a.model_copy(update={"gold": b.gold}), b.model_copy(update={"gold": a.gold}), c)
    now[1] = now[1].model_copy(update={"associations": labels})
    a, b, c = now[2].associations
    now[2] = now[2].model_copy(update={"associations": (c, a, b)})  # only another order
    (run,), lost = current(read_runs(tmp_path), now)
    assert lost == {"m/choice": 2}
    assert set(run.comparisons) == {each.id for each in now[2:]}
    lacks = missing_cats(run, now)
    assert (lacks.cats, lacks.of) == (frozenset({"c0", "c1"}), 20)


def test_what_a_model_refused_is_not_missing(tmp_path: Path) -> None:
    choice_run(tmp_path, "m", lambda c: [1, None, 1] if c.id == "c0" else [1, 1, 1], CATS[:15])
    (run,), _ = current(read_runs(tmp_path), CATS)
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
    (run,), _ = current(read_runs(tmp_path), CATS)
    assert missing_cats(run, CATS).cats == {"c0"}


def test_runs_of_both_sorts_have_cats_in_common(tmp_path: Path) -> None:
    put(tmp_path, "likes", "default", likes, CATS)
    choice_run(tmp_path, "likes", lambda _: [1, 1, 1], CATS[2:])
    runs, _ = current(read_runs(tmp_path), CATS)
    found = common(CATS, runs)
    assert len(found.cats) == 18
    assert found.missing["likes/choice"].cats == {"c0", "c1"}
    laid = board(CATS, runs)
    assert [(group.name, group.runs) for group in groups(laid.runs)] == [
        ("default", (1,)), ("choice", (0,)),
    ]  # fmt: skip


def test_what_scores_a_chat_model_again() -> None:
    rules = {"intrasentence": "choice", "intersentence": "choice"}
    about = {"model": "some talker", "family": "chat", "url": "x.example", "rules": rules}
    assert again(about) == "curation scores models 'chat:some talker' --endpoint URL"
    more = {"answers": {"prompts": ["a", "b"], "samples": 3}, "temperature": 0.7}
    assert again(about | more | {"variant": "lower"}) == (
        "curation scores models 'chat:some talker' --all-prompts --samples 3 --temperature 0.7 "
        "--variant lower --endpoint URL"
    )
    labelled = about | {"model": "a", "opened": {"model": "b/c"}}
    assert again(labelled) == "curation scores models a=chat:b/c --endpoint URL"
    local = {"model": "small", "family": "chat", "revision": "sha256:1f", "rules": rules}
    assert again(local) == "curation scores models small=chat:FOLDER"


@pytest.mark.parametrize("declared", ["choice"])
def test_predictions_cannot_be_by_choice(tmp_path: Path, declared: str) -> None:
    file = tmp_path / "p.json"
    file.write_text(json.dumps({"intrasentence": [{"id": "x", "score": 1}]}))
    with pytest.raises(CurationError, match="«choice» compares associations") as error:
        read_predictions_run(f"m@{declared}={file}")
    assert error.value.fix


def relabelled(one: Cat, golds: tuple[Any, ...]) -> Cat:
    three = [
        a.model_copy(update={"gold": gold}) for a, gold in zip(one.associations, golds, strict=True)
    ]
    return one.model_copy(update={"associations": tuple(three)})


@pytest.mark.parametrize("golds", list(permutations(GOLDS)))
def test_comparisons_are_found_by_texts_under_other_labels_and_ids(golds: tuple[Any, ...]) -> None:
    one = cat("p", "x")
    scores = {"ps": 3.0, "pa": 1.0, "pu": 1.0}
    outcome = Outcome((1, 0, 1), (0, 1, 0), cat_digest(one))
    now = relabelled(one, golds)
    table = by_ids([now], {"p": outcome})
    ids = [next(a.id for a in now.associations if a.gold == gold) for gold in GOLDS]
    assert by_preferences(ids, table).tolist() == by_scores(ids, scores).tolist()
    renamed = one.model_copy(
        update={
            "id": "q",
            "associations": tuple(
                a.model_copy(update={"id": f"q{a.id}"}) for a in one.associations
            ),
        }
    )
    other = by_ids([relabelled(renamed, golds)], {"p": outcome})
    assert by_preferences([f"q{name}" for name in ids], other).tolist() == (
        by_scores(ids, scores).tolist()
    )
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
        first = won(CATS, run, ties=ties)
        second = won(CATS, Run("m", "r", "", known), ties=ties)
        np.testing.assert_array_equal(first, second)
    assert set(known) == {q.association for each in some for q in questions(each)}
