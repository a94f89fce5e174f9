"""``curation scores ensemble`` on a campaign and on gold files."""

import json
import random
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from curation.files import dump_line, read_records
from curation.models.rules import PROFILES, rules_name
from curation.records import Score
from curation.scores.asking import questions
from support.scored import (
    CATS,
    chance,
    command,
    hates,
    likes,
    mixed,
    put,
    refused,
    write_gold,
)
from support.strike import strike, times

RULES = rules_name(PROFILES["default"]["causal"])


def test_an_ensemble_is_fitted_on_dev_and_compared(scored: Path) -> None:
    members = ("bakery/likes/default", "hates/default")
    code, stdout, err = command("scores", "ensemble", *members, "-c", scored, "--name", "a/duo")
    assert code == 0, err
    folder = scored / "5-scores" / "a--duo" / RULES
    about = json.loads((folder / "run.json").read_text("utf-8"))
    # Opposites: at even weights stereotype and anti-stereotype tie everywhere, icat 100.
    assert about["weights"] == {"bakery/likes/default": 0.5, "hates/default": 0.5}
    assert (about["model"], about["objective"], about["dev"]["ensemble"]) == ("a/duo", "lms", 100)
    assert len(read_records(folder / "scores.jsonl", Score)) == 60
    kept = json.loads((folder / "results.json").read_text("utf-8"))
    assert kept["splits"]["test"]["overall"]["icat"] == 100.0
    assert (kept["splits"]["dev"]["overall"]["cats"], kept["ties"]) == (8, "half")
    assert "fitted on 8 dev CATs" in stdout
    code, stdout, err = command("scores", "compare", "-c", scored, "--split", "all")
    assert code == 0, err
    assert "a/duo" in stdout
    assert f"a/duo/{RULES} was fitted on 8 of these 20 CATs" in err
    assert "a/duo" not in command("scores", "compare", "-c", scored)[2]  # none of test
    # Again, in the place of the first; but never in that of a model.
    assert command("scores", "ensemble", *members, "-c", scored, "--name", "a/duo")[0] == 0
    code, _, err = command("scores", "ensemble", *members, "-c", scored, "--name", "mixed")
    assert code == 1
    assert "belongs to the model «mixed»" in err


def test_members_that_read_mostly_unknown_tokens_are_marked(scored: Path) -> None:
    tokens = {"read": 10, "unknown": 9}
    put(scored / "5-scores", "odd", "default", likes, tokens=tokens)
    members = ("odd/default", "hates/default")
    code, stdout, err = command("scores", "ensemble", *members, "-c", scored)
    assert code == 0, err
    assert "odd/default‡" in stdout
    assert "hates/default‡" not in stdout
    assert "‡ more than half of the tokens" in stdout
    assert "* fewer than five terms" in stdout


def test_an_ensemble_stays_known_by_its_cats_texts_and_members(scored: Path) -> None:
    root, out = scored / "5-scores", scored / "out.json"
    members = ("bakery/likes/default", "hates/default")
    assert command("scores", "ensemble", *members, "-c", scored)[0] == 0
    folder = root / "ensemble" / RULES
    about = json.loads((folder / "run.json").read_text("utf-8"))
    assert about["dev_cats"] == [cat.id for cat in CATS[12:]]
    digests = {q.association: q.digest for cat in CATS for q in questions(cat)}
    assert {s.association: s.asked for s in read_records(folder / "scores.jsonl", Score)} == digests
    # Splits are drawn again: of 12 test CATs 8 are those of dev before. One text changes.
    moved = [
        cat.model_copy(update={"split": "test" if number >= 8 else "dev"})
        for number, cat in enumerate(CATS)
    ]
    moved[19] = moved[19].model_copy(update={"context": "Other: BLANK"})
    (scored / "3-decisions" / "cats.jsonl").write_bytes(b"".join(map(dump_line, moved)))
    put(root, "late", "default", mixed)
    (root / "hates/default/scores.jsonl").write_bytes(
        (root / "late/default/scores.jsonl").read_bytes()
    )
    code, _, err = command("scores", "compare", "-c", scored, "--json", out)
    assert code == 0, err
    assert f"ensemble/{RULES} was fitted on 7 of these 11 CATs" in err
    assert f"ensemble/{RULES}: the texts of 3 scores changed since they were scored" in err
    assert f"ensemble/{RULES} was made of older scores of hates/default: fit" in err
    report = json.loads(out.read_text("utf-8"))
    # Five stand in the profile's table; of these the ensemble is no further model.
    (group,) = report["groups"]
    assert len(group["models"]) == 5
    assert group["correlations"][0]["models"] == 4
    gold = write_gold(scored / "gold.json", CATS[10:14])
    code, _, err = command("scores", "compare", "--gold", gold, "--scores", root)
    assert code == 0, err
    assert f"ensemble/{RULES} was fitted on 2 of these 4 CATs" in err


def test_an_ensemble_is_ranked_with_all_of_its_members(scored: Path) -> None:
    root, rules = scored / "5-scores", PROFILES["acl-ll"]
    for model, family in (("bert", "masked"), ("gpt2", "causal")):
        own: dict[str, str] = dict(rules[family])  # type: ignore[index]
        of = {"family": family, "rules": own, "head_training": {"seed": 1}}
        put(root, model, rules_name(own), chance(len(model)), **of)
    names = [f"{m}/{rules_name(rules[f])}" for m, f in (("bert", "masked"), ("gpt2", "causal"))]  # type: ignore[index]
    assert command("scores", "ensemble", *names, "-c", scored)[0] == 0
    code, stdout, err = command("scores", "compare", "-c", scored, "--profile", "acl-ll")
    assert code == 0, err
    assert re.search(r"^ensemble +mixed", stdout, re.MULTILINE)
    assert len(re.findall(" − ", stdout)) == 3  # of three models each pair
    # Members of different profiles: ranked with nobody.
    odd = ("--name", "odd", "-c", scored)
    code, _, err = command("scores", "ensemble", names[0], "hates/default", *odd)
    assert (code, "the members share no profile and no rules" in err) == (0, True)
    for other in root.iterdir():
        if other.name != "odd":
            shutil.rmtree(other)
    code, stdout, err = command("scores", "compare", "-c", scored)
    assert code == 0, err
    assert "odd/mixed, its members are scored by different rules" in stdout
    assert "Terms, mean over models" not in stdout  # there is no model that is no ensemble


def test_an_ensemble_never_takes_another_models_folder(scored: Path) -> None:
    two, root = ("hates/default", "mixed/default", "-c", scored), scored / "5-scores"
    assert (
        "belongs to the model «bakery/likes»"
        in refused("ensemble", *two, "--name", "bakery--likes").what
    )
    empty = root / "new--one" / "ll-bos"  # a model that has not got to its first score
    empty.mkdir(parents=True)
    (empty / "run.json").write_text('{"model": "new/one", "family": "masked"}', "utf-8")
    assert "belongs to the model «new/one»" in refused("ensemble", *two, "--name", "new--one").what
    (empty / "run.json").write_text('{"model": "new/one", "family": "ensemble"}', "utf-8")
    assert "belongs to the model «new/one»" in refused("ensemble", *two, "--name", "new--one").what
    assert not (root / "new--one" / "default").exists()


def test_an_ensemble_of_other_rules_on_gold_files(tmp_path: Path) -> None:
    test, dev = (
        write_gold(tmp_path / "t.json", CATS[:12]),
        write_gold(tmp_path / "d.json", CATS[12:]),
    )
    put(tmp_path / "s", "a", "ll-bos", likes)
    put(tmp_path / "s", "b", "pll", hates, CATS[1:])
    code, _, err = command(
        "scores", "ensemble", "a/ll-bos", "b/pll", "--gold", test, "--dev", dev,
        "--scores", tmp_path / "s", "--objective", "lms",
    )  # fmt: skip
    assert code == 0, err
    assert "1 CAT is left out because a member lacks a score" in err
    about = json.loads((tmp_path / "s/ensemble/mixed/run.json").read_text("utf-8"))
    assert (about["rules"]["intrasentence"], about["objective"]) == ("mixed", "lms")
    assert (about["left_out"], about["weights"]) == (1, {"a/ll-bos": 0.5, "b/pll": 0.5})


def test_errors_of_an_ensemble_are_named(scored: Path, tmp_path: Path) -> None:
    gold = write_gold(tmp_path / "g.json", CATS)
    two, of = ("hates/default", "mixed/default"), ("-c", scored)
    assert "--gold needs --dev" in refused("ensemble", *two, "--gold", gold).what
    assert "--dev needs --gold" in refused("ensemble", *two, *of, "--dev", gold).what
    both = refused("ensemble", *two, "--gold", gold, "--dev", gold)
    assert "is in both --gold and --dev" in both.what
    assert "no scores of nobody/default" in refused("ensemble", "nobody/default", *two, *of).what
    assert "two members or more" in refused("ensemble", two[0], *of).what
    for name in ("", "..", ".hidden"):
        assert (
            "cannot be the name of an ensemble"
            in refused("ensemble", *two, *of, "--name", name).what
        )
    put(scored / "5-scores", "flat", "default", lambda *_: 1.0)
    assert "flat/default: all scores" in refused("ensemble", *two, "flat/default", *of).what
    put(scored / "5-scores", "test-only", "default", likes, CATS[:12])
    lacks = refused("ensemble", *two, "test-only/default", *of)
    assert "test-only/default: has no scores for the 8 dev CATs" in lacks.what
    cats = scored / "3-decisions" / "cats.jsonl"
    cats.write_bytes(b"".join(dump_line(cat) for cat in CATS if cat.split == "test"))
    assert "no dev CATs" in refused("ensemble", *two, *of).what
    assert not (scored / "5-scores" / "ensemble").exists()


@pytest.mark.long
@pytest.mark.parametrize("fitted_before", [False, True], ids=["first", "again"])
def test_killed_anywhere_an_ensemble_can_be_fitted_again(
    forked: Any, scored: Path, tmp_path: Path, *, fitted_before: bool
) -> None:
    members = ("bakery/likes/default", "hates/default")
    if fitted_before:  # of other members, so that its scores and weights differ
        earlier = ("scores", "ensemble", "bakery/likes/default", "mixed/default")
        assert forked(*earlier, "-c", scored).code == 0
    fit, where = ("scores", "ensemble", *members, "-c"), Path("5-scores", "ensemble")
    whole = Path(shutil.copytree(scored, tmp_path / "whole"))
    moments = times(forked, (*fit, whole), whole / where)
    assert moments >= 6  # each of the three files is opened and renamed
    names = ("run.json", "scores.jsonl", "results.json")
    end = [(whole / where / RULES / name).read_bytes() for name in names]
    draw = random.Random(fitted_before)
    for moment in sorted(draw.sample(range(1, moments + 1), 3)):
        root = Path(shutil.copytree(scored, tmp_path / f"killed-{moment}"))
        died = forked(*fit, root, before=strike(root / where, at=moment))
        assert died.code == -signal.SIGKILL
        looked = forked("scores", "compare", "-c", root, "--json", tmp_path / "out.json")
        assert looked.code == 0, looked.err
        report = json.loads((tmp_path / "out.json").read_text("utf-8"))
        ours = [run for run in report["runs"] if run["model"] == "ensemble"]
        about, scores = (root / where / RULES / name for name in names[:2])
        if ours:  # then weights and scores belong together
            before = [(scored / where / RULES / name) for name in names[:2]]
            pair = [about.read_bytes(), scores.read_bytes()]
            assert pair == end[:2] or pair == [path.read_bytes() for path in before]
        again = forked(*fit, root)
        assert again.code == 0, again.err
        assert [(root / where / RULES / name).read_bytes() for name in names] == end
        assert list((root / where).rglob(".*.tmp")) == []


def test_scores_of_an_interrupted_fit_are_left_out(scored: Path) -> None:
    members = ("bakery/likes/default", "hates/default")
    assert command("scores", "ensemble", *members, "-c", scored)[0] == 0
    path = scored / "5-scores" / "ensemble" / RULES / "scores.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    code, stdout, err = command("scores", "compare", "-c", scored)
    assert code == 0, err
    assert "its scores are older than its run.json" in err
    assert "fit the ensemble again" in err
    assert "ensemble" not in stdout
    path.unlink()
    assert "has no scores; fit the ensemble again" in command("scores", "compare", "-c", scored)[2]
