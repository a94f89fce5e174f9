"""Runs that were scored before the CATs changed are found, and are not compared on other CATs."""

from dataclasses import replace
from typing import Any

import pytest

from curation.kinds import KINDS
from curation.records import Cat
from curation.scores.boards import common, missing_cats
from curation.scores.run_folder import again, cats_digest
from curation.scores.runs import Run
from support.boards import CATS, S, run
from support.expected import fails

P, Q, R, T = CATS  # intrasentence, but for Q
CHOICE = ["choice", "choice"]


def of(name: str, *cats: Cat, refused: Any = (), **about: Any) -> Run:
    """A run of these CATs; predictions if ``refused`` is None."""
    scores = run(name, **{cat.id: S for cat in cats}).scores
    known = None if refused is None else dict.fromkeys(refused, "")
    return Run(name, "r", "", scores, about, f"5-scores/{name}", refused=known)


def test_the_digest_is_of_all_that_results_depend_on_and_not_of_the_order() -> None:
    digest = cats_digest(CATS)
    assert cats_digest(CATS[::-1]) == digest
    assert cats_digest(CATS[1:]) != digest
    first, *others = P.associations
    changed = [
        {"split": "dev"}, {"target": "z"}, {"domain": "religion"}, {"kind": "intersentence"},
        {"context": "+"},
        *({"associations": (first.model_copy(update={name: "other"}), *others)}
          for name in ("sentence", "id")),
    ]  # fmt: skip
    digests = {cats_digest([P.model_copy(update=change), Q, R, T]) for change in changed}
    assert len(digests | {digest}) == len(changed) + 1
    shuffled = P.model_copy(update={"associations": (*others, first)})
    assert cats_digest([shuffled, Q, R, T]) == digest
    assert cats_digest([P.model_copy(update={"tier": 4}), Q, R, T]) == digest


def test_a_run_lacks_cats_of_its_kinds_that_it_neither_scored_nor_refused() -> None:
    assert missing_cats(of("m", *CATS), CATS) == (frozenset(), 4, 0)
    assert missing_cats(of("m", P, R), CATS) == ({"t"}, 3, 0)  # q is of another kind
    some = of("m", P, Q, R)
    assert missing_cats(replace(some, refused={"ts": ""}), CATS).cats == {"t"}
    assert not missing_cats(replace(some, refused={"ts": "", "ta": "", "tu": ""}), CATS).cats
    predictions = replace(of("m", P, refused=None), bad=frozenset({"ts", "tu", "qs"}))
    assert missing_cats(predictions, CATS) == ({"r", "t"}, 3, 1)


def test_an_ensemble_does_not_lack_what_its_members_lacked() -> None:
    assert not missing_cats(of("e", P, Q, R, left_out=1, left_out_cats=["t"]), CATS).cats
    assert missing_cats(of("e", P, Q, R, left_out=0, left_out_cats=[]), CATS).cats == {"t"}


def test_runs_are_compared_on_the_cats_that_all_have() -> None:
    whole, older = of("whole", *CATS), of("older", P, Q, R)
    found = common(CATS, [whole, older])
    assert (found.cats, found.left_out) == ([P, Q, R], [])
    assert [each.name for each in found.runs] == ["whole/r", "older/r"]
    assert {name: set(lacks.cats) for name, lacks in found.missing.items()} == {"older/r": {"t"}}
    assert common(CATS, [whole]).cats == CATS


def test_a_run_whose_scoring_has_hardly_begun_is_left_out() -> None:
    whole, begun = of("whole", *CATS), of("begun", P)
    found = common(CATS, [whole, begun])
    assert (found.cats, found.left_out) == (CATS, ["begun/r"])
    assert [each.name for each in found.runs] == ["whole/r"]
    assert common(CATS, [whole, of("asked", P, refused=None)]).cats == [P, Q]  # predictions
    alone = common(CATS, [begun])  # there is nothing else to show
    assert (alone.cats, alone.left_out) == ([P, Q], [])
    with fails("have none of the benchmark"):
        common([P, R, T], [of("a", P), of("b", R)])


@pytest.mark.parametrize(
    ("family", "rules", "about", "command"),
    [
        ("causal", ["ll-bos", "ll-bos"], {}, "models m --rule ll-bos"),
        ("causal", ["ll-bos", "conditional"], {}, "models m"),
        ("causal", ["ll-acl", "nsp"], {"variant": "lower", "own_head": True},
         "models m --profile acl-ll --variant lower --accept-own-head"),
        ("causal", ["ll-arxiv", "nsp"], {"nsp": "sha256:1"}, "models m --profile arxiv --nsp DIR"),
        ("endpoint", ["ll-arxiv"], {}, "models m --rule ll-arxiv --endpoint URL"),
        ("ensemble", [],
         {"members": ["a b/r", "c/r"], "objective": "icat", "ties": "half", "seed": 2},
         "ensemble 'a b/r' c/r --name m --objective icat --ties half --seed 2"),
        ("causal", ["ll-acl"], {"revision": "sha256:1"}, "models m=FOLDER --rule ll-acl"),
        ("chat", CHOICE, {"model": "some talker", "url": "x.example"},
         "models 'chat:some talker' --endpoint URL"),
        ("chat", CHOICE,
         {"model": "some talker", "url": "x.example", "temperature": 0.7, "variant": "lower",
          "answers": {"prompts": ["a", "b"], "samples": 3}},
         "models 'chat:some talker' --all-prompts --samples 3 --temperature 0.7 --variant lower "
         "--endpoint URL"),
        ("chat", CHOICE, {"model": "a", "url": "x.example", "opened": {"model": "b/c"}},
         "models a=chat:b/c --endpoint URL"),
        ("chat", CHOICE, {"model": "small", "revision": "sha256:1f"},
         "models small=chat:FOLDER"),
    ],
)  # fmt: skip
def test_the_command_that_scores_again_is_named(
    family: str, rules: list[str], about: dict[str, Any], command: str
) -> None:
    own = {"model": "m", "family": family, "rules": dict(zip(KINDS, rules, strict=False))}
    assert again(own | about) == f"curation scores {command}"
    assert again({"model": "m"}) == "curation scores models m"
