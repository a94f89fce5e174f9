"""Runs of chat models between versions of a release: the same as scores that win the same."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.catsets.stereoset import dataset
from curation.records import Cat
from curation.scores.runs import digests
from support.cats import cat as make_cat
from support.chosen import as_scores_say, choice_run
from support.scored import command, put

WORDS = ("Early", "Late", "Blue")


def cats(target: str, *names: str) -> list[Cat]:
    """CATs with associations NAME0, NAME1 and NAME2, in the order of GOLDS."""
    return [
        make_cat(
            f"The {target} {name}.",
            *(f"{word} {name}." for word in WORDS),
            name=name,
            target=target,
        )
        for name in names
    ]


def relabelled(one: Cat) -> Cat:
    """The CAT with each gold label moved to the next association."""
    a, b, c = one.associations
    golds = (b.gold, c.gold, a.gold)
    three = [o.model_copy(update={"gold": g}) for o, g in zip((a, b, c), golds, strict=True)]
    return one.model_copy(update={"associations": tuple(three)})


def renamed(one: Cat) -> Cat:
    """The CAT and its associations under other ids."""
    three = tuple(o.model_copy(update={"id": f"n{o.id}"}) for o in one.associations)
    return one.model_copy(update={"id": f"n{one.id}", "associations": three})


def write(path: Path, test: list[Cat]) -> Path:
    path.write_text(json.dumps(dataset(test, {}, version="1")), "utf-8")
    return path


CHANGES: dict[str, Callable[[list[Cat]], list[Cat]]] = {
    "nothing": lambda found: found,
    "labels": lambda found: [relabelled(found[0]), *found[1:]],
    "ids": lambda found: [renamed(each) for each in found],
    "a text": lambda found: [found[0].model_copy(update={"context": "Another."}), *found[1:]],
    "removed": lambda found: found[2:],
    "added": lambda found: [*found, *cats("cook", "q")],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("asked_of", ["before", "after"])
def test_versions_change_a_chat_models_results_as_they_change_those_of_scores(
    tmp_path: Path, change: str, asked_of: str
) -> None:
    before = [*cats("baker", "x", "y"), *cats("potter", "p", "r")]
    after = CHANGES[change](before)
    a, b = write(tmp_path / "a.json", before), write(tmp_path / "b.json", after)
    own = before if asked_of == "before" else after
    ids = [o.id for each in own for o in each.associations]
    draw = np.random.default_rng(7).integers(0, 3, len(ids)).tolist()
    scores = dict(zip(ids, map(float, draw), strict=True))
    runs = tmp_path / "runs"
    choice_run(runs, "m", as_scores_say(scores), own)
    by_gold = {(each.id, o.gold): scores[o.id] for each in own for o in each.associations}
    folder = put(runs, "m", "default", lambda one, gold: by_gold[one.id, gold], own)
    asked = digests(own)
    rows = [json.loads(line) for line in (folder / "scores.jsonl").open()]
    (folder / "scores.jsonl").write_text(
        "".join(json.dumps(row | {"asked": asked[row["association"]]}) + "\n" for row in rows)
    )
    code, out, err = command("release", "diff", a, b, "--scores", runs, "--json")
    assert code == 0, err
    by_run: dict[str, Any] = {result.pop("run"): result for result in json.loads(out)["scores"]}
    assert by_run["m/choice"] == by_run["m/default"]
    assert any(row["before"] for row in by_run["m/choice"]["rows"])


def test_a_chat_model_that_was_asked_about_other_cats_is_left_out(tmp_path: Path) -> None:
    a = write(tmp_path / "a.json", cats("baker", "x", "y"))
    choice_run(tmp_path / "runs", "m", lambda _: [1, 1, 1], cats("cook", "q"))
    code, _, err = command("release", "diff", a, a, "--scores", tmp_path / "runs")
    assert code == 1
    assert "no run has scores of the CATs of" in err
    assert "m/choice" in err
