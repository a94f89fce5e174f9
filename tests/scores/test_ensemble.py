"""Weights on small boards where the best are known; standardising, ties, what is refused."""

import hashlib
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from curation.kinds import Kind
from curation.records import Cat
from curation.scores import ensemble
from curation.scores.ensemble import about, apply, choose, fit, folder, scored_since, stacked
from curation.scores.runs import Run
from curation.stats.metrics import comparisons, results
from support import boards
from support.boards import Three
from support.expected import fails


def cat(name: str, target: str, kind: Kind = "intrasentence") -> Cat:
    # The order of the options must not matter: the unrelated one stands first.
    made = boards.cat(name, target, kind=kind)
    a, b, c = made.associations
    return made.model_copy(update={"split": "dev", "associations": (c, a, b)})


def run(model: str, variant: str = "", **of: Three) -> Run:
    return replace(boards.run(model, "r", variant, **of), where=f"scores/{model}/r")


CATS = [cat("p", "x"), cat("q", "y")]
# A prefers the stereotype in both, B the anti-stereotype: icat 0 alone. Both have scores 1 2 3
# twice: mean 2, sd √(2/3). At even weights s and a tie in both CATs: ss 50, lms 100, icat 100.
A = run("A", p=(3, 2, 1), q=(3, 2, 1))
B = run("B", p=(2, 3, 1), q=(2, 3, 1))


def test_two_opposites_make_an_even_pair() -> None:
    found = fit(CATS, [A, B], objective="icat")
    assert found.weights == [0.5, 0.5]
    assert found.on_dev == {
        "objective": "icat", "ensemble": 100.0, "even_weights": 100.0, "members": [0.0, 0.0],
    }  # fmt: skip
    assert found.means == {"intrasentence": [2.0, 2.0]}
    assert found.sds["intrasentence"] == pytest.approx([np.sqrt(2 / 3)] * 2)
    assert found.dev_cats == ["p", "q"]


def test_official_ties_do_not_count_for_the_pair() -> None:
    # A tie of s and a is lost: ss is 0 or 100 whatever the weights, icat 0: even weights.
    found = fit(CATS, [A, B], objective="icat", ties="official")
    assert (found.weights, found.on_dev["ensemble"]) == ([0.5, 0.5], 0.0)


def test_scores_are_standardised_before_they_are_weighted() -> None:
    # B on a scale of thousands, and shifted: the weights and values stay.
    large = Run("L", "r", "", {name: 1000 * value - 7 for name, value in B.scores.items()})
    found = fit(CATS, [A, large], objective="icat")
    assert (found.weights, found.means["intrasentence"]) == ([0.5, 0.5], [2.0, 1993.0])


def test_lms_is_the_objective() -> None:
    # ACL §7: «the strongest language model».
    # C never prefers the meaningful, A always: lms 100 as soon as A outweighs C, z being mirrored.
    c = run("C", p=(1, 2, 3), q=(1, 2, 3))
    found = fit(CATS, [A, c])
    # z of s − u: A 2/sd, C −2/sd; won where w > 1 − w. a − u: A 1/sd, C −1/sd, the same.
    assert found.weights == [0.501, 0.499]  # the most even of those that win
    assert found.on_dev == {
        "objective": "lms", "ensemble": 100.0, "members": [100.0, 0.0],
        "even_weights": 50.0,  # all tied
    }  # fmt: skip


def twins(**of: Run) -> list[Run]:
    """Runs of other names with the same scores."""
    return [replace(run, model=name) for name, run in of.items()]


def test_of_equally_good_weights_the_most_even_are_chosen() -> None:
    assert fit(CATS, twins(A=A, T=A)).weights == [0.5, 0.5]
    assert fit(CATS, twins(A=A, T=A, U=A)).weights == [0.34, 0.33, 0.33]
    assert fit(CATS, twins(A=A, B=B, T=A, U=B)).weights == [0.25] * 4


def noise(names: str, cats: list[Cat], seed: int = 0) -> list[Run]:
    rng = np.random.default_rng(seed)
    bias = rng.normal([0.6, 0.4, 0], 0.7, (len(names), 3))
    return [
        run(name, **{c.id: tuple(rng.normal(mean, 1)) for c in cats})
        for name, mean in zip(names, bias, strict=True)
    ]


SIXTY = [cat(f"c{i}", f"t{i % 12}", "intrasentence" if i % 3 else "intersentence")
         for i in range(60)]  # fmt: skip


def figure(cats: list[Cat], runs: list[Run], weights: list[float]) -> float:
    """Icat of weights, the slow way: by standardising, adding and ``metrics.results``."""
    scores: dict[str, float] = {}
    for kind in ("intrasentence", "intersentence"):
        names = [a.id for c in cats if c.kind == kind for a in c.associations]
        total = np.zeros(len(names))
        for one, weight in zip(runs, weights, strict=True):
            values = np.array([one.scores[name] for name in names])
            total += weight * (values - values.mean()) / values.std()
        scores |= dict(zip(names, total.tolist(), strict=True))
    return float(results(comparisons(cats, scores), model="e")["overall"]["icat"])


def test_the_value_on_dev_is_that_of_results_and_no_grid_point_is_better() -> None:
    runs = noise("ABC", SIXTY)
    found = fit(SIXTY, runs, objective="icat")
    assert found.on_dev["ensemble"] == pytest.approx(figure(SIXTY, runs, found.weights))
    alone = [figure(SIXTY, runs, weights) for weights in np.eye(3).tolist()]
    assert found.on_dev["members"] == pytest.approx(alone)
    steps = [w / 10 for w in range(11)]
    grid = [w for w in itertools.product(steps, repeat=3) if abs(sum(w) - 1) < 1e-9]
    best = max(figure(SIXTY, runs, list(w)) for w in grid)
    assert found.on_dev["ensemble"] >= best - 1e-9


def test_four_members_are_searched_the_same_way_twice_and_beat_all_subsets() -> None:
    runs = noise("ABCD", SIXTY, 5)
    found = fit(SIXTY, runs, objective="icat")
    assert found == fit(SIXTY, runs, objective="icat")
    assert sum(found.weights) == pytest.approx(1)
    assert min(found.weights) >= 0
    assert found.on_dev["ensemble"] == pytest.approx(figure(SIXTY, runs, found.weights))
    assert found.on_dev["ensemble"] >= max(found.on_dev["even_weights"], *found.on_dev["members"])
    threes = [
        fit(SIXTY, [r for r in runs if r is not out], objective="icat").on_dev["ensemble"]
        for out in runs
    ]
    assert found.on_dev["ensemble"] >= max(threes) - 2  # drawn, not exhausted


def test_applied_to_other_cats_with_the_means_of_dev() -> None:
    fitted = fit(CATS, [A, B])
    new = [cat("n", "z"), cat("m", "z")]
    a, b = run("A", n=(5, 2, 2)), run("B", n=(2, 2, 8), m=(1, 2, 3))
    scores, left_out = apply(fitted, new, [a, b])
    # ½ (5 − 2)/sd + ½ (2 − 2)/sd with sd √(2/3); unrelated ½ · 0 + ½ · 6/sd
    sd = np.sqrt(2 / 3)
    assert scores == pytest.approx({"ns": 1.5 / sd, "na": 0.0, "nu": 3 / sd})
    assert [c.id for c in left_out] == ["m"]
    again, _ = apply(fitted, CATS, [A, B])
    assert results(comparisons(CATS, again), model="e")["overall"]["icat"] == 100.0
    found = ensemble.split_results({"dev": CATS, "test": new, "more": new[1:]}, again | scores,
                          model="e", ties="half")  # fmt: skip
    assert {name: part["left_out"] for name, part in found.items()} == {"dev": 0, "test": 1}


def test_cats_that_a_member_lacks_are_left_out_of_the_fit() -> None:
    half = run("H", p=(2, 3, 1))
    assert [c.id for c in ensemble.covered(CATS, [A, half])] == ["p"]
    assert fit(CATS, [A, half]).dev_cats == ["p"]
    assert stacked(CATS[:1], [A, half]).tolist() == [[[3, 2], [2, 3], [1, 1]]]


@pytest.mark.parametrize(
    ("dev", "runs", "message"),
    [
        ([], [A, B], "there are no dev CATs"),
        (CATS, [A, run("Z", other=(1, 2, 3))], "scores/Z/r: has no scores for the 2 dev"),
        (CATS, [run("P", p=(1, 2, 3)), run("Q", q=(1, 2, 3))], "no dev CAT has scores"),
        (CATS, [A, run("F", p=(4, 4, 4), q=(4, 4, 4))],
         "scores/F/r: all scores of intrasentence dev CATs are 4"),
    ],
)  # fmt: skip
def test_errors_of_the_fit_are_named(dev: list[Cat], runs: list[Run], message: str) -> None:
    with fails(message):
        fit(dev, runs)


def test_a_kind_without_dev_cats_cannot_be_applied_to() -> None:
    more = [run("A", n=(1, 2, 3)), run("B", n=(1, 2, 3))]
    with fails("no dev CAT with scores of all members is intersentence"):
        apply(fit(CATS, [A, B]), [cat("n", "z", "intersentence")], more)


def test_members_are_chosen_by_name() -> None:
    lower = run("bakery/A", "lower")
    assert choose([A, lower], ["bakery/A/r+lower", "A/r"]) == [lower, A]
    for names, message in (
        (["A/r"], "two members or more"),
        (["A/r", "A/q"], "no scores of A/q"),
        (["A/r", "B/r", "A/r"], "A/r is named twice"),
    ):
        with fails(message):
            choose([A, B], names)


def test_an_ensemble_describes_itself() -> None:
    run_json = about("duo", fit(CATS, [A, B], objective="icat"), [A, B], seed=3)
    assert run_json | {
        "family": "ensemble", "rules": {"intrasentence": "r"}, "seed": 3,
        "weights": {"A/r": 0.5, "B/r": 0.5}, "means": {"intrasentence": {"A/r": 2.0, "B/r": 2.0}},
    } == run_json  # fmt: skip
    assert run_json["dev"]["members"] == {"A/r": 0.0, "B/r": 0.0}
    assert folder(run_json) == "r"


def test_it_keeps_rules_by_kind_the_variant_and_what_it_was_fitted_on() -> None:
    fitted = fit(CATS, [A, B])
    rules = {"intrasentence": "ll-bos", "intersentence": "nsp"}
    a, b = (replace(one, rule="default", variant="lower", about={"rules": rules}) for one in (A, B))
    run_json = about("duo", fitted, [a, b])
    # Only kinds that dev has; a variant is stored once, as for models.
    assert (run_json["rules"], run_json["variant"]) == ({"intrasentence": "ll-bos"}, "lower")
    assert folder(run_json) == "ll-bos+lower"
    assert run_json["member_runs"]["A/default+lower"] == {
        "family": "", "rules": rules, "variant": "lower",
    }  # fmt: skip
    assert run_json["dev_cats"] == ["p", "q"]
    other = replace(b, about={"rules": {"intrasentence": "pll"}})
    assert about("duo", fitted, [a, other])["rules"] == {"intrasentence": "mixed"}
    assert folder(about("duo", fitted, [a, other])) == "mixed+lower"
    head = replace(b, about={"rules": rules, "own_head": True})
    assert (about("duo", fitted, [a, head])["own_head"], run_json["own_head"]) == (True, False)
    # A training that all trained heads share is the ensemble's.
    alike = replace(a, about={"head_training": {"seed": 1}})
    for other, kept in ((alike, {"seed": 1}), (head, {"seed": 1}), (a, None)):
        assert about("duo", fitted, [alike, other])["head_training"] == kept
    # The same rule, one with the variant: another way to score.
    run_json = about("duo", fitted, [a, replace(b, variant="")])
    assert (run_json["rules"], run_json["variant"]) == ({"intrasentence": "mixed"}, "")
    # What a member was fitted on flatters this one, too.
    inner = {"C/r": {"family": "causal", "rules": rules, "variant": ""}}
    nested = replace(B, about={"family": "ensemble", "dev_cats": ["q", "z"], "member_runs": inner})
    run_json = about("duo", fitted, [A, nested])
    assert run_json["dev_cats"] == ["p", "q", "z"]
    # Of an ensemble those that it is made of.
    assert list(run_json["member_runs"]) == ["A/r", "C/r"]


def test_members_that_were_scored_since_are_named(tmp_path: Path) -> None:
    runs = []
    for one in (A, B):
        (tmp_path / one.model).mkdir()
        (tmp_path / one.model / "scores.jsonl").write_text(f"{one.model}\n", "utf-8")
        runs.append(replace(one, where=str(tmp_path / one.model)))
    run_json = about("duo", fit(CATS, runs), runs)
    assert run_json["members_sha256"]["A/r"] == hashlib.sha256(b"A\n").hexdigest()
    duo = Run("duo", "r", "", {}, run_json)
    assert scored_since(duo, [*runs, duo]) == []
    (tmp_path / "B" / "scores.jsonl").write_text("B again\n", "utf-8")
    assert scored_since(duo, runs) == ["B/r"]
    assert scored_since(duo, runs[:1]) == scored_since(runs[0], runs) == []
