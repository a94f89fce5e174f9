"""Predictions in the commands of scores: one kind, perplexities, gaps, original targets."""

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from curation.files import CurationError
from curation.records import KINDS, Cat
from support.scored import CATS, command, likes, mixed, refused, write_gold

INTRA, INTER = KINDS
Of = Callable[[Cat, str], Any]


def write(path: Path, of: Of, cats: Sequence[Cat] = CATS) -> Path:
    rows: dict[str, list[dict[str, Any]]] = {}
    for cat in cats:
        rows.setdefault(cat.kind, [])
        rows[cat.kind] += [{"id": a.id, "score": of(cat, a.gold)} for a in cat.associations]
    path.write_text(json.dumps(rows), "utf-8")
    return path


def of_kind(kind: str) -> list[Cat]:
    return [cat for cat in CATS if cat.kind == kind]


def sound(cat: Cat) -> Cat:
    """The CAT without pitfalls that block a release."""
    context = f"A {cat.target} is BLANK" if cat.kind == INTRA else f"A {cat.target} sings."
    whole = context if cat.kind == INTRA else "BLANK"
    texts = [
        a.model_copy(update={"sentence": whole.replace("BLANK", a.sentence)})
        for a in cat.associations
    ]
    return cat.model_copy(update={"context": context, "associations": tuple(texts)})


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gold(tmp_path_factory.mktemp("gold") / "g.json", list(map(sound, CATS)))


def predictions(gold: Path, file: Path, *args: str) -> tuple[dict[str, Any], str, str]:
    out = file.with_name("out.json")
    words = ("--gold", gold, "--predictions", file, "--json", out, *args)
    code, stdout, err = command("scores", "predictions", *words)
    assert code == 0, err
    return json.loads(out.read_text("utf-8")), stdout, err


def compare(gold: Path, folder: Path, *args: object) -> tuple[dict[str, Any], str, str]:
    out = folder / "out.json"
    code, stdout, err = command("scores", "compare", "--gold", gold, "--json", out, *args)
    assert code == 0, err
    return json.loads(out.read_text("utf-8")), stdout, err


def named(**files: Path) -> list[str]:
    return [w for name, file in files.items() for w in ("--predictions", f"{name}@default={file}")]


# --- files of one kind -----------------------------------------------------------------------


def test_a_file_of_one_kind_needs_the_option_and_is_never_shown_as_both(
    gold: Path, tmp_path: Path
) -> None:
    file = write(tmp_path / "p.json", likes, of_kind(INTER))
    error = refused("predictions", "--gold", gold, "--predictions", file)
    assert "has no score of the 10 intrasentence CATs" in error.what
    assert "--kind intersentence" in error.fix
    error = refused("predictions", "--gold", gold, "--predictions", file, "--partial")
    assert "--kind intersentence" in error.fix
    error = refused("predictions", "--gold", gold, "--predictions", file, "--kind", INTRA)
    assert "--kind intersentence" in error.fix
    result, stdout, err = predictions(gold, file, "--kind", INTER)
    assert (result["kind"], list(result["kinds"])) == (INTER, [INTER])
    assert (result["overall"], result["domains"], result["terms"]) == (None, {}, {})
    assert result["kinds"][INTER]["overall"]["cats"] == 10
    assert "p, intersentence" in stdout
    assert "both" not in stdout
    assert err == ""


def test_one_kind_of_a_whole_file(gold: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "p.json", likes)
    result, _, err = predictions(gold, file, "--kind", INTRA)
    assert (list(result["kinds"]), err) == ([INTRA], "")  # other ids of the gold file are known
    only = write_gold(tmp_path / "inter.json", of_kind(INTER))
    error = refused("predictions", "--gold", only, "--predictions", file, "--kind", INTRA)
    assert "there is no intrasentence CAT, only intersentence CATs" in error.what


def test_runs_of_one_kind_are_compared_on_this_kind(gold: Path, tmp_path: Path) -> None:
    files = named(
        one=write(tmp_path / "a.json", likes, of_kind(INTER)),
        two=write(tmp_path / "b.json", mixed, of_kind(INTER)),
    )
    extra = ("--csv", tmp_path / "o.csv", "--latex", tmp_path / "o.tex", "--terms-of", "one")
    report, stdout, _ = compare(gold, tmp_path, *files, *extra)
    assert "Differences between models, profile default, intersentence" in stdout
    assert "both kinds," not in stdout
    assert "Terms of one, default, as declared, intersentence" in stdout
    assert [run["overall"] for run in report["runs"]] == [None, None]
    assert report["groups"][0]["kinds"] == [INTER]
    assert {row["kind"] for row in report["groups"][0]["differences"]} == {INTER}
    rows = list(csv.DictReader((tmp_path / "o.csv").open(encoding="utf-8")))
    assert {row["kind"] for row in rows} == {INTER}
    tex = (tmp_path / "o.tex").read_text("utf-8")
    assert tex.count("intersentence CATs; ") == 2
    alone = named(one=tmp_path / "a.json", three=write(tmp_path / "d.json", mixed, of_kind(INTRA)))
    compare(gold, tmp_path, *alone, "--latex", tmp_path / "o.tex")  # nothing in common
    assert (tmp_path / "o.tex").read_text("utf-8") == ""
    # Beside a run of both kinds: in no table of both, and the message names the option.
    files += named(whole=write(tmp_path / "c.json", mixed))
    report, stdout, err = compare(gold, tmp_path, *files)
    assert {run["model"]: run["overall"] is None for run in report["runs"]} == {
        "one": True, "two": True, "whole": False
    }  # fmt: skip
    assert "to compare all runs on one kind, give --kind" in " ".join(err.split())
    report, stdout, err = compare(gold, tmp_path, *files, "--kind", INTER)
    assert (report["kind"], report["cats"], err) == (INTER, 10, "")
    assert [run["kinds"][INTER]["overall"]["cats"] for run in report["runs"]] == [10, 10, 10]
    assert len(report["groups"][0]["models"]) == 3
    assert "Models, profile default, both kinds" not in stdout


# --- lower is likelier -----------------------------------------------------------------------


def perplexity(cat: Cat, gold: str) -> float:
    return 10.0 - likes(cat, gold)


def test_perplexities_are_turned_around(gold: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "p.json", perplexity)
    result, stdout, err = predictions(gold, file)
    assert result["overall"]["lms"] == 0
    assert result["lower_is_likelier"] is False
    assert "Are lower scores likelier? Then give --lower-is-likelier" in " ".join(err.split())
    assert "lms is 0.0 (intrasentence) and 0.0 (intersentence)" in " ".join(err.split())
    result, stdout, err = predictions(gold, file, "--lower-is-likelier")
    assert (result["overall"]["lms"], result["lower_is_likelier"], err) == (100.0, True, "")
    assert "lower scores are likelier, so their sign was changed" in stdout
    file = write(tmp_path / "p.json", likes)
    _, _, err = predictions(gold, file, "--lower-is-likelier")
    assert "Are higher scores likelier? Then leave --lower-is-likelier out" in " ".join(err.split())


def of_two(cat: Cat, gold: str) -> float:
    """Likelihoods of intrasentence CATs, and perplexities of intersentence ones."""
    return likes(cat, gold) if cat.kind == INTRA else perplexity(cat, gold)


def test_scores_of_one_kind_are_turned_around(gold: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "p.json", of_two)
    result, _, err = predictions(gold, file)
    assert [part["overall"]["lms"] for part in result["kinds"].values()] == [100.0, 0.0]
    hint = "lms is 0.0 (intersentence), far below the 50 of chance. Are lower scores likelier? Then"
    assert f"{hint} give --lower-is-likelier intersentence\n" in err
    result, stdout, err = predictions(gold, file, "--lower-is-likelier", INTER)
    assert (result["overall"]["lms"], result["lower_is_likelier"], err) == (100.0, INTER, "")
    assert "so their sign was changed: p (intersentence only)" in stdout
    # Without a kind both are changed, wherever the option is.
    _, _, err = predictions(gold, file, "--lower-is-likelier", "--ties", "half")
    assert "lms is 0.0 (intrasentence), far" in err
    assert "Are higher scores likelier? Then give --lower-is-likelier intersentence\n" in err
    _, _, err = predictions(gold, write(file, likes), "--lower-is-likelier", INTRA)
    assert "Are higher scores likelier? Then leave --lower-is-likelier out" in err
    _, _, err = predictions(gold, write(file, perplexity), "--lower-is-likelier", INTRA)
    assert "Are lower scores likelier? Then give --lower-is-likelier\n" in err


def test_scores_of_one_kind_are_turned_around_in_a_comparison(gold: Path, tmp_path: Path) -> None:
    files = named(loss=write(tmp_path / "p.json", of_two), o=write(tmp_path / "o.json", mixed))
    _, _, err = compare(gold, tmp_path, *files)
    assert "Then give --lower-is-likelier loss@intersentence\n" in err
    option = ("--lower-is-likelier", "loss@intersentence")
    report, stdout, err = compare(gold, tmp_path, *files, *option)
    assert [run["overall"]["lms"] for run in report["runs"]] == [100.0, 100.0]
    assert [run["lower_is_likelier"] for run in report["runs"]] == [INTER, False]
    assert "so their sign was changed: loss/default (intersentence only)" in stdout
    assert "lms is" not in err
    both = (*option, "--lower-is-likelier", "loss@intrasentence")
    report, _, _ = compare(gold, tmp_path, *files, *both)
    assert [run["lower_is_likelier"] for run in report["runs"]] == [True, False]
    error = refused("compare", "--gold", gold, *files, "--lower-is-likelier", "loss@inter")
    assert "loss@inter: no predictions have this name" in error.what


def test_pitfalls_that_block_a_release_are_named_before_scoring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cats = list(map(sound, CATS))
    cats[0] = cats[0].model_copy(update={"context": "It is BLANK"})
    cats[1] = cats[1].model_copy(update={"context": "A BLANK sings."})
    gold = write_gold(tmp_path / "g.json", cats)
    shown = (
        "warning: pitfalls of severity block: blank_left (1 CAT), target_missing (2 CATs), "
        "template_not_reproduced (1 CAT). Scores count these CATs, too; to see them: "
        f"«curation measures pitfalls --gold {gold} --show blank_left»\n"
    )
    _, _, err = predictions(gold, write(tmp_path / "p.json", likes))
    assert err == shown

    def begin(*_: object, **__: object) -> None:
        raise CurationError("scoring begins", "-")

    monkeypatch.setattr("curation.steps.scores.runs.baselines", begin)
    code, _, err = command("scores", "baselines", "--gold", gold)
    assert (code, err.startswith(f"{shown}scoring begins")) == (1, True)
    monkeypatch.setattr("curation.steps.scores.models.score_model", begin)
    code, _, err = command("scores", "models", "m", "--gold", gold, "--scores", tmp_path / "s")
    assert (code, err.startswith(f"{shown}error: scoring begins")) == (1, True)
    _, _, err = predictions(gold, tmp_path / "p.json", "--kind", INTER)
    assert "target_missing (1 CAT)." in err


def test_perplexities_are_turned_around_in_a_comparison(gold: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "p.json", perplexity)
    files = named(loss=file, other=write(tmp_path / "o.json", mixed))
    _, _, err = compare(gold, tmp_path, *files)
    assert "loss/default: lms is 0.0" in err
    report, stdout, err = compare(gold, tmp_path, *files, "--lower-is-likelier", "loss")
    turned = {run["model"]: run["lower_is_likelier"] for run in report["runs"]}
    assert turned == {"loss": True, "other": False}
    assert [run["overall"]["lms"] for run in report["runs"]] == [100.0, 100.0]
    assert "so their sign was changed: loss/default" in stdout
    assert "lms is" not in err
    error = refused("compare", "--gold", gold, *files, "--lower-is-likelier", "lose")
    assert "--lower-is-likelier lose: no predictions have this name" in error.what
    assert error.fix == "use one of: loss, other"


def test_perplexities_are_turned_around_beside_the_printed_tables(tmp_path: Path) -> None:
    cats = [cat.model_copy(update={"domain": "religion", "target": "Bible"}) for cat in CATS]
    gold, file = write_gold(tmp_path / "g.json", cats), write(tmp_path / "p.json", perplexity)
    words = ("--gold", gold, "--predictions", f"gpt2={file}", "--lower-is-likelier", "gpt2")
    out = tmp_path / "out.json"
    code, stdout, err = command("scores", "published", *words, "--json", out)
    assert code == 0, err
    rows = json.loads(out.read_text("utf-8"))["rows"]
    assert rows
    assert {(row["lower_is_likelier"], row["figures"]["lms"]["value"]) for row in rows} == {
        (True, 100.0)
    }
    assert "so their sign was changed: gpt2/predictions" in stdout


# --- partial files ---------------------------------------------------------------------------


def test_predictions_of_other_ids_are_not_offered_partial(gold: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "p.json", likes, CATS)
    file.write_text(file.read_text("utf-8").replace('"id": "c', '"id": "x'), "utf-8")
    error = refused("predictions", "--gold", gold, "--predictions", file)
    assert "(60 of 60 sentences missing)" in error.what
    assert "--partial" not in error.fix
    assert "made from its texts" in error.fix


def test_a_partial_file_is_scored_on_what_it_holds_if_asked(gold: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    content = json.loads(write(file, likes, CATS[2:]).read_text("utf-8"))  # without c0 and c1
    content[INTRA][0]["score"] = None  # of c2
    content[INTER].pop()  # of c19
    file.write_text(json.dumps(content), "utf-8")
    error = refused("predictions", "--gold", gold, "--predictions", file)
    assert "id c2-stereotype is None, not a finite number" in error.what
    assert "--partial" in error.fix
    content[INTRA] = content[INTRA][3:]  # now all of c2 is missing
    file.write_text(json.dumps(content), "utf-8")
    error = refused("predictions", "--gold", gold, "--predictions", file)
    assert "no prediction for id c0-stereotype (10 of 60 sentences missing)" in error.what
    assert "give --partial to use the 16 of 20 CATs that have all their scores" in error.fix
    content[INTRA] += [{"id": f"c2-{g}", "score": "n/a"} for g in ("stereotype", "unrelated")]
    file.write_text(json.dumps(content), "utf-8")
    result, stdout, _ = predictions(gold, file, "--partial")
    partial = result["partial"]
    assert (partial["left_out"], partial["of"], partial["bad"]) == (4, 20, 1)
    assert partial["kinds"][INTRA]["left_out"] == 2
    assert partial["kinds"][INTER]["domains"] == {
        "craft": {"left_out": 2, "of": 6}, "sport": {"left_out": 0, "of": 4}
    }  # fmt: skip
    assert partial["terms"] == {"craft/term 0": {"left_out": 3, "of": 4},
                                 "craft/term 4": {"left_out": 1, "of": 4}}  # fmt: skip
    assert result["flags"] == ["older_cats"]
    assert result["overall"]["cats"] == 16
    shown = " ".join(stdout.split())
    assert "p¶, intrasentence, 8 of 10 CATs" in shown
    assert "p¶, both kinds, 16 of 20 CATs" in shown
    assert "craft 4 of 6 " in shown
    assert (
        "left out because a sentence has no score: 4 of 20 CATs; with a score that is not a finite "
        "number: 1; terms with fewer CATs: 2; terms without CATs: 0"
    ) in shown


def test_a_complete_file_has_no_mark_and_a_foreign_one_is_refused(
    gold: Path, tmp_path: Path
) -> None:
    result, stdout, _ = predictions(gold, write(tmp_path / "p.json", likes), "--partial")
    assert (result["partial"]["left_out"], result["flags"]) == (0, [])
    assert "¶" not in stdout
    (tmp_path / "p.json").write_text('{"intrasentence": [{"id": "no", "score": 1}]}', "utf-8")
    error = refused("predictions", "--gold", gold, "--predictions", tmp_path / "p.json",
                    "--partial")  # fmt: skip
    assert "none of the 20 CATs has a score of each sentence" in error.what


def test_a_domain_that_is_left_out_as_a_whole_is_shown(gold: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "p.json", likes, [cat for cat in CATS if cat.domain == "craft"])
    _, stdout, _ = predictions(gold, file, "--partial")
    assert "sport 0 of 4 0 – – – – – – –" in " ".join(stdout.split())


def test_partial_predictions_are_compared_on_the_cats_that_all_have(
    gold: Path, tmp_path: Path
) -> None:
    files = named(
        some=write(tmp_path / "a.json", likes, CATS[14:]),
        whole=write(tmp_path / "b.json", mixed),
    )
    error = refused("compare", "--gold", gold, *files)
    assert (
        "a.json: no prediction for id c0-stereotype (14 of 20 CATs have a sentence without one)"
        in error.what
    )
    assert "--partial" in error.fix
    report, stdout, err = compare(gold, tmp_path, *files, "--partial", "--csv", tmp_path / "o.csv")
    assert (report["cats"], report["left_out"]) == (6, 14)
    assert {run["model"]: (run["missing"], run["overall"]["cats"]) for run in report["runs"]} == {
        "some": (14, 6), "whole": (0, 6)
    }  # fmt: skip
    assert "some/default has no complete scores of 14 of 20 CATs\n" in err
    assert "compared on 6 of 20 CATs" in err
    assert "some¶" in stdout
    assert "Models, profile default, both kinds, 6 of 20 CATs" in " ".join(stdout.split())
    rows = list(csv.DictReader((tmp_path / "o.csv").open(encoding="utf-8")))
    assert {(row["model"], row["missing"]) for row in rows} == {("some", "14"), ("whole", "0")}


# --- original targets ------------------------------------------------------------------------


@pytest.fixture
def translated(tmp_path: Path) -> Path:
    """Ten terms in the translation, five of the original; the last CAT has no original target."""
    cats = [
        cat.model_copy(update={"target": f"{'der' if n % 2 else 'die'} {cat.target}"})
        for n, cat in enumerate(CATS)
    ]
    path = write_gold(tmp_path / "de.json", cats)
    content = json.loads(path.read_text("utf-8"))
    originals = {cat.id: cat.target for cat in CATS[:-1]}
    for item in (item for items in content["data"].values() for item in items):
        item["target_original"] = originals.get(item["id"])
    path.write_text(json.dumps(content), "utf-8")
    return path


def test_results_are_grouped_by_original_targets_if_asked(translated: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "p.json", likes)
    result, _, _ = predictions(translated, file)
    assert (result["overall"]["terms"], result["original_targets"]) == (10, None)
    result, stdout, err = predictions(translated, file, "--original-targets")
    assert result["original_targets"] == {"cats": 19, "own": 1}
    assert set(result["terms"]) == {
        *(f"{('craft', 'sport')[n % 2]}/term {n}" for n in range(5)), "craft/der term 4"
    }  # fmt: skip
    assert "p, both kinds, by original target" in " ".join(stdout.split())
    assert "1 CAT has no original target and keeps its own" in " ".join((stdout + err).split())


def test_comparisons_and_baselines_are_grouped_by_original_targets(
    translated: Path, tmp_path: Path
) -> None:
    files = named(m=write(tmp_path / "p.json", likes))
    extra = ("--original-targets", "--csv", tmp_path / "o.csv", "--latex", tmp_path / "o.tex")
    report, stdout, _ = compare(translated, tmp_path, *files, *extra)
    assert report["original_targets"] == {"cats": 19, "own": 1}
    assert report["runs"][0]["overall"]["terms"] == 6
    assert len([t for t in report["groups"][0]["terms"] if t["agreement"] is not None]) == 6
    assert "profile default, by original target" in " ".join(stdout.split())
    assert "; by original target" in (tmp_path / "o.tex").read_text("utf-8")
    rows = list(csv.DictReader((tmp_path / "o.csv").open(encoding="utf-8")))
    assert {row["targets"] for row in rows} == {"original"}
    out = tmp_path / "b.json"
    code, stdout, err = command(
        *("scores", "baselines", "--gold", translated, "--original-targets", "--json", out)
    )
    assert code == 0, err
    assert json.loads(out.read_text("utf-8"))[0]["original_targets"] == {"cats": 19, "own": 1}
    assert "Baselines, both kinds, by original target" in " ".join(stdout.split())


def test_data_without_original_targets_is_refused(gold: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "p.json", likes)
    error = refused("predictions", "--gold", gold, "--predictions", file, "--original-targets")
    assert "no CAT has an original target" in error.what
