"""``curation scores ensemble`` on a campaign and on gold files."""

import json
import random
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from curation.files import read_records
from curation.kinds import CAT_KINDS
from curation.models.rules import PROFILES, rules_name, rules_of
from curation.records import Score
from curation.scores.asking import questions
from support.scored import (
    CATS,
    chance,
    hates,
    likes,
    mixed,
    put,
    refused,
    told,
    write_cats,
    write_gold,
)
from support.strike import strike, times

RULES = rules_name(rules_of(PROFILES["default"]["causal"], CAT_KINDS))
DUO = ("bakery/likes/default", "hates/default")


def test_an_ensemble_is_fitted_on_dev_and_compared(scored: Path) -> None:
    out = told("ensemble", *DUO, "-c", scored, "--name", "a/duo").out
    assert "fitted on 8 dev CATs" in out
    folder = scored / "5-scores" / "a--duo" / RULES
    about = json.loads((folder / "run.json").read_text("utf-8"))
    # Opposites: at even weights stereotype and anti-stereotype tie everywhere, icat 100.
    assert about["weights"] == {"bakery/likes/default": 0.5, "hates/default": 0.5}
    assert (about["model"], about["objective"], about["dev"]["ensemble"]) == ("a/duo", "lms", 100)
    assert about["dev_cats"] == [cat.id for cat in CATS[12:]]
    digests = {q.association: q.digest for cat in CATS for q in questions(cat)}
    scores = read_records(folder / "scores.jsonl", Score)
    assert {score.association: score.asked for score in scores} == digests
    kept = json.loads((folder / "results.json").read_text("utf-8"))
    assert kept["splits"]["test"]["overall"]["icat"] == 100.0
    assert (kept["splits"]["dev"]["overall"]["cats"], kept["ties"]) == (8, "half")
    did = told("compare", "-c", scored, "--split", "all")
    assert "a/duo" in did.out
    assert f"a/duo/{RULES} was fitted on 8 of these 20 CATs" in did.err
    assert "a/duo" not in told("compare", "-c", scored).err  # none of test
    # Again, in the place of the first.
    told("ensemble", *DUO, "-c", scored, "--name", "a/duo")


def test_members_that_read_mostly_unknown_tokens_are_marked(scored: Path) -> None:
    put(scored / "5-scores", "odd", "default", likes, tokens={"read": 10, "unknown": 9})
    out = told("ensemble", "odd/default", "hates/default", "-c", scored).out
    for text in ("odd/default‡", "‡ more than half of the tokens", "* fewer than five terms"):
        assert text in out
    assert "hates/default‡" not in out


def test_an_ensemble_stays_known_by_its_cats_texts_and_members(scored: Path) -> None:
    root = scored / "5-scores"
    told("ensemble", *DUO, "-c", scored)
    # Splits are drawn again: of 12 test CATs 8 are those of dev before. One text changes.
    moved = [
        cat.model_copy(update={"split": "test" if number >= 8 else "dev"})
        for number, cat in enumerate(CATS)
    ]
    moved[19] = moved[19].model_copy(update={"context": "Other: BLANK"})
    write_cats(scored, moved)
    late = put(root, "late", "default", mixed)
    shutil.copyfile(late / "scores.jsonl", root / "hates/default/scores.jsonl")
    did = told("compare", "-c", scored)
    assert f"ensemble/{RULES} was fitted on 7 of these 11 CATs" in did.err
    assert f"ensemble/{RULES}: the texts of 3 scores changed since they were scored" in did.err
    assert f"ensemble/{RULES} was made of older scores of hates/default: fit" in did.err
    # Five stand in the profile's table; of these the ensemble is no further model.
    (group,) = did.json["groups"]
    assert (len(group["models"]), group["correlations"][0]["models"]) == (5, 4)
    gold = write_gold(scored / "gold.json", CATS[10:14])
    did = told("compare", "--gold", gold, "--scores", root)
    assert f"ensemble/{RULES} was fitted on 2 of these 4 CATs" in did.err


def test_an_ensemble_is_ranked_with_all_of_its_members(scored: Path) -> None:
    root, names = scored / "5-scores", []
    for model, family in (("bert", "masked"), ("gpt2", "causal")):
        own: dict[str, str] = dict(PROFILES["acl-ll"][family])  # type: ignore[index]
        names.append(f"{model}/{rules_name(own)}")
        of = {"family": family, "rules": own, "head_training": {"seed": 1}}
        put(root, model, rules_name(own), chance(len(model)), **of)
    told("ensemble", *names, "-c", scored)
    out = told("compare", "-c", scored, "--profile", "acl-ll").out
    assert re.search(r"^ensemble +mixed", out, re.MULTILINE)
    assert len(re.findall(" − ", out)) == 3  # of three models each pair
    # Members of different profiles: ranked with nobody.
    did = told("ensemble", names[0], "hates/default", "--name", "odd", "-c", scored)
    assert "the members share no profile and no rules" in did.err
    for other in root.iterdir():
        if other.name != "odd":
            shutil.rmtree(other)
    out = told("compare", "-c", scored).out
    assert "odd/mixed, its members are scored by different rules" in out
    assert "Terms, mean over models" not in out  # there is no model that is no ensemble


def test_an_ensemble_never_takes_another_models_folder(scored: Path) -> None:
    root = scored / "5-scores"
    empty = root / "new--one" / "ll-bos"  # a model that has not got to its first score
    empty.mkdir(parents=True)
    for name, of, family in (
        ("mixed", "mixed", ""),
        ("bakery--likes", "bakery/likes", ""),
        ("new--one", "new/one", "masked"),
        ("new--one", "new/one", "ensemble"),
    ):
        (empty / "run.json").write_text(json.dumps({"model": "new/one", "family": family}))
        error = refused("ensemble", "hates/default", "mixed/default", "-c", scored, "--name", name)
        assert f"belongs to the model «{of}»" in error.what
    assert not (root / "new--one" / "default").exists()


def test_an_ensemble_of_other_rules_on_gold_files(tmp_path: Path) -> None:
    test = write_gold(tmp_path / "t.json", CATS[:12])
    dev = write_gold(tmp_path / "d.json", CATS[12:])
    put(tmp_path / "s", "a", "ll-bos", likes)
    put(tmp_path / "s", "b", "pll", hates, CATS[1:])
    gold = ("--gold", test, "--dev", dev, "--scores", tmp_path / "s")
    did = told("ensemble", "a/ll-bos", "b/pll", *gold, "--objective", "lms")
    assert "1 CAT is left out because a member lacks a score" in did.err
    about = json.loads((tmp_path / "s/ensemble/mixed/run.json").read_text("utf-8"))
    assert (about["rules"]["intrasentence"], about["objective"]) == ("mixed", "lms")
    assert (about["left_out"], about["weights"]) == (1, {"a/ll-bos": 0.5, "b/pll": 0.5})


def test_errors_of_an_ensemble_are_named(scored: Path, tmp_path: Path) -> None:
    gold = write_gold(tmp_path / "g.json", CATS)
    put(scored / "5-scores", "flat", "default", lambda *_: 1.0)
    put(scored / "5-scores", "test-only", "default", likes, CATS[:12])
    two, of = ("hates/default", "mixed/default"), ("-c", scored)
    for args, what in (
        ((*two, "--gold", gold), "--gold needs --dev"),
        ((*two, *of, "--dev", gold), "--dev needs --gold"),
        ((*two, "--gold", gold, "--dev", gold), "is in both --gold and --dev"),
        ((*two, *of, "--name", ""), "cannot be the name of an ensemble"),
        ((*two, *of, "--name", ".."), "cannot be the name of an ensemble"),
        ((*two, *of, "--name", ".hidden"), "cannot be the name of an ensemble"),
        ((*two, "flat/default", *of), "flat/default: all scores"),
        ((*two, "test-only/default", *of), "test-only/default: has no scores for the 8 dev CATs"),
    ):
        assert what in refused("ensemble", *args).what
    write_cats(scored, [cat for cat in CATS if cat.split == "test"])
    assert "no dev CATs" in refused("ensemble", *two, *of).what
    assert not (scored / "5-scores" / "ensemble").exists()


@pytest.mark.long
def test_killed_anywhere_an_ensemble_can_be_fitted_again(
    forked: Any, scored: Path, tmp_path: Path
) -> None:
    # Of other members before, so that its scores and weights differ.
    told("ensemble", "bakery/likes/default", "mixed/default", "-c", scored)
    fit, where = ("scores", "ensemble", *DUO, "-c"), Path("5-scores", "ensemble", RULES)
    whole = Path(shutil.copytree(scored, tmp_path / "whole"))
    moments = times(forked, (*fit, whole), whole / where.parent)
    assert moments >= 6  # each of the three files is opened and renamed

    def written(root: Path) -> list[bytes]:
        return [
            (root / where / name).read_bytes()
            for name in ("run.json", "scores.jsonl", "results.json")
        ]

    end = written(whole)
    for moment in random.Random(1).sample(range(1, moments + 1), 3):
        root = Path(shutil.copytree(scored, tmp_path / f"killed-{moment}"))
        died = forked(*fit, root, before=strike(root / where.parent, at=moment))
        assert died.code == -signal.SIGKILL
        report = told("compare", "-c", root).json
        if any(run["model"] == "ensemble" for run in report["runs"]):
            pair = [(root / where / name).read_bytes() for name in ("run.json", "scores.jsonl")]
            assert pair == end[:2] or pair == written(scored)[:2]  # weights and scores fit
        again = forked(*fit, root)
        assert again.code == 0, again.err
        assert written(root) == end
        assert list((root / where.parent).rglob(".*.tmp")) == []


def test_scores_of_an_interrupted_fit_are_left_out(scored: Path) -> None:
    told("ensemble", *DUO, "-c", scored)
    path = scored / "5-scores" / "ensemble" / RULES / "scores.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    did = told("compare", "-c", scored)
    assert "its scores are older than its run.json" in did.err
    assert "fit the ensemble again" in did.err
    assert "ensemble" not in did.out
    path.unlink()
    assert "has no scores; fit the ensemble again" in told("compare", "-c", scored).err
