"""Predictions in the commands of scores: one kind, perplexities, gaps, original targets."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from curation.files import CurationError
from curation.kinds import KINDS
from curation.records import Cat
from support.scored import CATS, Told, command, likes, mixed, predicted, refused, told, write_gold

INTRA, INTER, _ = KINDS


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


def named(**files: Path) -> list[str]:
    return [w for name, file in files.items() for w in ("--predictions", f"{name}@default={file}")]


# --- files of one kind -----------------------------------------------------------------------


def test_a_file_of_one_kind_is_never_shown_as_both(gold: Path, tmp_path: Path) -> None:
    of = ("predictions", "--gold", gold, "--predictions")
    file = predicted(tmp_path / "p.json", likes, of_kind(INTER))
    error = refused(*of, file)
    assert "has no score of the 10 intrasentence CATs" in error.what
    assert "--kind intersentence" in error.fix
    assert "--kind intersentence" in refused(*of, file, "--partial").fix
    assert "--kind intersentence" in refused(*of, file, "--kind", INTRA).fix
    did = told(*of, file, "--kind", INTER)
    result = did.json
    assert (result["kind"], list(result["kinds"])) == (INTER, [INTER])
    assert (result["overall"], result["domains"], result["terms"]) == (None, {}, {})
    assert result["kinds"][INTER]["overall"]["cats"] == 10
    assert "p, intersentence" in did.out
    assert "both" not in did.out
    assert did.err == ""
    # One kind of a whole file.
    file = predicted(tmp_path / "p.json", likes)
    did = told(*of, file, "--kind", INTRA)
    assert (list(did.json["kinds"]), did.err) == ([INTRA], "")  # the gold file's other ids
    only = write_gold(tmp_path / "inter.json", of_kind(INTER))
    error = refused("predictions", "--gold", only, "--predictions", file, "--kind", INTRA)
    assert "there is no intrasentence CAT, only intersentence CATs" in error.what


def test_runs_of_one_kind_are_compared_on_this_kind(gold: Path, tmp_path: Path) -> None:
    one = predicted(tmp_path / "a.json", likes, of_kind(INTER))
    files = named(one=one, two=predicted(tmp_path / "b.json", mixed, of_kind(INTER)))
    did = told("compare", "--gold", gold, *files, "--terms-of", "one")
    assert "Differences between models, profile default, intersentence" in did.out
    assert "both kinds," not in did.out
    assert "Terms of one, default, as declared, intersentence" in did.out
    assert [run["overall"] for run in did.json["runs"]] == [None, None]
    (group,) = did.json["groups"]
    assert group["kinds"] == [INTER]
    assert {row["kind"] for row in [*group["differences"], *did.csv]} == {INTER}
    assert did.latex.count("intersentence CATs; ") == 2
    alone = named(one=one, three=predicted(tmp_path / "d.json", mixed, of_kind(INTRA)))
    assert told("compare", "--gold", gold, *alone).latex == ""  # nothing in common
    # Beside a run of both kinds: in no table of both, and the message names the option.
    files += named(whole=predicted(tmp_path / "c.json", mixed))
    did = told("compare", "--gold", gold, *files)
    assert {run["model"]: run["overall"] is None for run in did.json["runs"]} == {
        "one": True, "two": True, "whole": False
    }  # fmt: skip
    assert "to compare all runs on one kind, give --kind" in did.plain
    did = told("compare", "--gold", gold, *files, "--kind", INTER)
    report = did.json
    assert (report["kind"], report["cats"], did.err) == (INTER, 10, "")
    assert [run["kinds"][INTER]["overall"]["cats"] for run in report["runs"]] == [10, 10, 10]
    assert len(report["groups"][0]["models"]) == 3
    assert "Models, profile default, both kinds" not in did.out


# --- lower is likelier -----------------------------------------------------------------------


def perplexity(cat: Cat, gold: str) -> float:
    return 10.0 - likes(cat, gold)


def of_two(cat: Cat, gold: str) -> float:
    """Likelihoods of intrasentence CATs, and perplexities of intersentence ones."""
    return likes(cat, gold) if cat.kind == INTRA else perplexity(cat, gold)


def test_perplexities_are_turned_around(gold: Path, tmp_path: Path) -> None:
    def of(scores: Callable[[Cat, str], float], *options: str) -> Told:
        file = predicted(tmp_path / "p.json", scores)
        return told("predictions", "--gold", gold, "--predictions", file, *options)

    turn = "--lower-is-likelier"
    for did, lower in ((of(perplexity, turn), True), (of(of_two, turn, INTER), INTER)):
        result = did.json
        assert (result["overall"]["lms"], result["lower_is_likelier"], did.err) == (100, lower, "")
        only = f" ({lower} only)" if lower == INTER else ""
        assert f"lower scores are likelier, so their sign was changed: p{only}" in did.plain
    assert of(of_two).json["lower_is_likelier"] is False
    both = "0.0 (intrasentence) and 0.0 (intersentence), far"
    low, high = (f"Are {which} scores likelier? Then " for which in ("lower", "higher"))
    for scores, options, lms, fix in (
        (perplexity, (), both, f"{low}give {turn}\n"),
        (of_two, (), "0.0 (intersentence), far below the 50 of", f"{low}give {turn} {INTER}\n"),
        # Without a kind both are changed, wherever the option is.
        (of_two, (turn, "--ties", "half"), "0.0 (intrasentence), far",
         f"{high}give {turn} {INTER}\n"),
        (likes, (turn,), both, f"{high}leave {turn} out"),
        (likes, (turn, INTRA), "0.0 (intrasentence), far", f"{high}leave {turn} out"),
        (perplexity, (turn, INTRA), "0.0 (intersentence), far", f"{low}give {turn}\n"),
    ):  # fmt: skip
        err = of(scores, *options).err
        assert f"lms is {lms}" in err
        assert fix in err


def test_perplexities_are_turned_around_in_a_comparison(gold: Path, tmp_path: Path) -> None:
    other = predicted(tmp_path / "o.json", mixed)
    for scores, kind in ((perplexity, ""), (of_two, f"@{INTER}")):
        loss = predicted(tmp_path / "p.json", scores)
        command = ("compare", "--gold", gold, *named(loss=loss, other=other))
        option = ("--lower-is-likelier", f"loss{kind}")
        err = told(*command).err
        assert "loss/default: lms is 0.0" in err
        assert f"Then give {' '.join(option)}\n" in err
        did = told(*command, *option)
        assert [(run["lower_is_likelier"], run["overall"]["lms"]) for run in did.json["runs"]] == [
            (INTER if kind else True, 100.0), (False, 100.0)
        ]  # fmt: skip
        only = f" ({INTER} only)" if kind else ""
        assert f"so their sign was changed: loss/default{only}" in did.plain
        assert "lms is" not in did.err
    both = told(*command, *option, "--lower-is-likelier", f"loss@{INTRA}").json
    assert [run["lower_is_likelier"] for run in both["runs"]] == [True, False]
    for wrong in ("lose", "loss@inter"):
        error = refused(*command, "--lower-is-likelier", wrong)
        assert f"--lower-is-likelier {wrong}: no predictions have this name" in error.what
        assert error.fix == "use one of: loss, other"


def test_perplexities_are_turned_around_beside_the_printed_tables(tmp_path: Path) -> None:
    cats = [cat.model_copy(update={"domain": "religion", "target": "Bible"}) for cat in CATS]
    gold, file = write_gold(tmp_path / "g.json", cats), predicted(tmp_path / "p.json", perplexity)
    runs = ("--predictions", f"gpt2={file}", "--lower-is-likelier", "gpt2")
    did = told("published", "--gold", gold, *runs)
    assert {
        (row["lower_is_likelier"], row["figures"]["lms"]["value"]) for row in did.json["rows"]
    } == {(True, 100.0)}
    assert "so their sign was changed: gpt2/predictions" in did.out


def test_pitfalls_that_block_a_release_are_named_before_scoring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cats = list(map(sound, CATS))
    for number, context in enumerate(("It is BLANK", "A BLANK sings.")):
        cats[number] = cats[number].model_copy(update={"context": context})
    gold = write_gold(tmp_path / "g.json", cats)
    shown = (
        "warning: pitfalls of severity block: blank_left (1 CAT), target_missing (2 CATs), "
        "template_not_reproduced (1 CAT). Scores count these CATs, too; to see them: "
        f"«curation measures pitfalls --gold {gold} --show blank_left»\n"
    )
    own = ("--gold", gold, "--predictions", predicted(tmp_path / "p.json", likes))
    assert told("predictions", *own).err == shown
    assert "target_missing (1 CAT)." in told("predictions", *own, "--kind", INTER).err

    def begin(*_: object, **__: object) -> None:
        raise CurationError("scoring begins", "-")

    monkeypatch.setattr("curation.scores.results.compute_baselines", begin)
    monkeypatch.setattr("curation.scores.models.score_model", begin)
    models = ("models", "m", "--scores", tmp_path / "s")
    for words, begins in ((("baselines",), "scoring begins"), (models, "error: scoring begins")):
        code, _, err = command("scores", *words, "--gold", gold)
        assert (code, err.startswith(shown + begins)) == (1, True)


# --- partial files ---------------------------------------------------------------------------


def test_a_partial_file_is_scored_on_what_it_holds_if_asked(gold: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    own = ("predictions", "--gold", gold, "--predictions", file)
    content = json.loads(predicted(file, likes, CATS[2:]).read_text("utf-8"))  # not c0 and c1
    content[INTRA][0]["score"] = None  # of c2
    content[INTER].pop()  # of c19
    file.write_text(json.dumps(content), "utf-8")
    error = refused(*own)
    assert "id c2-stereotype is None, not a finite number" in error.what
    assert "--partial" in error.fix
    content[INTRA] = content[INTRA][3:]  # now all of c2 is missing
    file.write_text(json.dumps(content), "utf-8")
    error = refused(*own)
    assert "no prediction for id c0-stereotype (10 of 60 sentences missing)" in error.what
    assert "give --partial to use the 16 of 20 CATs that have all their scores" in error.fix
    content[INTRA] += [{"id": f"c2-{g}", "score": "n/a"} for g in ("stereotype", "unrelated")]
    file.write_text(json.dumps(content), "utf-8")
    did = told(*own, "--partial")
    partial = did.json["partial"]
    assert (partial["left_out"], partial["of"], partial["bad"]) == (4, 20, 1)
    assert partial["kinds"][INTRA]["left_out"] == 2
    assert partial["kinds"][INTER]["domains"] == {
        "craft": {"left_out": 2, "of": 6}, "sport": {"left_out": 0, "of": 4}
    }  # fmt: skip
    assert partial["terms"] == {"craft/term 0": {"left_out": 3, "of": 4},
                                 "craft/term 4": {"left_out": 1, "of": 4}}  # fmt: skip
    assert (did.json["flags"], did.json["overall"]["cats"]) == (["older_cats"], 16)
    for text in (
        "p¶, intrasentence, 8 of 10 CATs", "p¶, both kinds, 16 of 20 CATs", "craft 4 of 6 ",
        "left out because a sentence has no score: 4 of 20 CATs; with a score that is not a finite "
        "number: 1; terms with fewer CATs: 2; terms without CATs: 0",
    ):  # fmt: skip
        assert text in did.plain
    # A domain of which nothing is there is shown.
    predicted(file, likes, [cat for cat in CATS if cat.domain == "craft"])
    assert "sport 0 of 4 0 – – – – – – –" in told(*own, "--partial").plain


def test_a_whole_file_has_no_mark_and_a_foreign_one_no_score(gold: Path, tmp_path: Path) -> None:
    file = predicted(tmp_path / "p.json", likes)
    own = ("predictions", "--gold", gold, "--predictions", file)
    did = told(*own, "--partial")
    assert (did.json["partial"]["left_out"], did.json["flags"]) == (0, [])
    assert "¶" not in did.out
    file.write_text(file.read_text("utf-8").replace('"id": "c', '"id": "x'), "utf-8")
    error = refused(*own)
    assert "(60 of 60 sentences missing)" in error.what
    assert "--partial" not in error.fix
    assert "made from its texts" in error.fix
    error = refused(*own, "--partial")
    assert "none of the 20 CATs has a score of each sentence" in error.what


def test_partial_predictions_are_compared_on_common_cats(gold: Path, tmp_path: Path) -> None:
    some = predicted(tmp_path / "a.json", likes, CATS[14:])
    files = named(some=some, whole=predicted(tmp_path / "b.json", mixed))
    error = refused("compare", "--gold", gold, *files)
    lacks = "a.json: no prediction for id c0-stereotype (14 of 20 CATs have a sentence without one)"
    assert lacks in error.what
    assert "--partial" in error.fix
    did = told("compare", "--gold", gold, *files, "--partial")
    assert (did.json["cats"], did.json["left_out"]) == (6, 14)
    assert {run["model"]: (run["missing"], run["overall"]["cats"]) for run in did.json["runs"]} == {
        "some": (14, 6),
        "whole": (0, 6),
    }
    assert "some/default has no complete scores of 14 of 20 CATs\n" in did.err
    assert "compared on 6 of 20 CATs" in did.err
    assert "some¶" in did.out
    assert "Models, profile default, both kinds, 6 of 20 CATs" in did.plain
    assert {(row["model"], row["missing"]) for row in did.csv} == {("some", "14"), ("whole", "0")}


# --- original targets ------------------------------------------------------------------------


def test_results_are_grouped_by_original_targets_if_asked(gold: Path, tmp_path: Path) -> None:
    """Ten terms in the translation, five of the original; the last CAT has no original target."""
    cats = [
        cat.model_copy(update={"target": f"{'der' if n % 2 else 'die'} {cat.target}"})
        for n, cat in enumerate(CATS)
    ]
    german, file = write_gold(tmp_path / "de.json", cats), predicted(tmp_path / "p.json", likes)
    content = json.loads(german.read_text("utf-8"))
    originals = {cat.id: cat.target for cat in CATS[:-1]}
    for item in (item for items in content["data"].values() for item in items):
        item["target_original"] = originals.get(item["id"])
    german.write_text(json.dumps(content), "utf-8")
    of, asked = ("--gold", german, "--predictions", file), "--original-targets"
    result = told("predictions", *of).json
    assert (result["overall"]["terms"], result["original_targets"]) == (10, None)
    grouped = {"cats": 19, "own": 1}
    did = told("predictions", *of, asked)
    assert did.json["original_targets"] == grouped
    assert set(did.json["terms"]) == {
        *(f"{('craft', 'sport')[n % 2]}/term {n}" for n in range(5)), "craft/der term 4"
    }  # fmt: skip
    assert "p, both kinds, by original target" in did.plain
    assert "1 CAT has no original target and keeps its own" in did.plain
    did = told("compare", "--gold", german, *named(m=file), asked)
    report = did.json
    assert report["original_targets"] == grouped
    assert report["runs"][0]["overall"]["terms"] == 6
    assert len([t for t in report["groups"][0]["terms"] if t["agreement"] is not None]) == 6
    assert "profile default, by original target" in did.plain
    assert "; by original target" in did.latex
    assert {row["targets"] for row in did.csv} == {"original"}
    did = told("baselines", "--gold", german, asked)
    assert did.json[0]["original_targets"] == grouped
    assert "Baselines, both kinds, by original target" in did.plain
    error = refused("predictions", "--gold", gold, "--predictions", file, asked)
    assert "no CAT has an original target" in error.what
