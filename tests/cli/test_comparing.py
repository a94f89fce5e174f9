"""``curation scores compare`` and ``ensemble`` on a campaign and on gold files."""

import csv
import json
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from curation.campaign import Campaign
from curation.cli import app
from curation.files import CurationError, dump_line, read_records
from curation.records import GOLDS, KINDS, Cat, CatAssociation, Score
from curation.scores.asking import questions

Cli = Callable[..., tuple[int, str, str]]
Of = Callable[[Cat, str], float]


def make_cats() -> list[Cat]:
    """Four CATs a term, two of each kind; of five terms of two domains three are test."""
    found = []
    for number in range(20):
        term = number // 4
        three = tuple(
            CatAssociation(id=f"c{number}-{g}", sentence=f"{g} {number}.", gold=g) for g in GOLDS
        )
        found.append(
            Cat(
                id=f"c{number}", kind=KINDS[number % 2], domain=("craft", "sport")[term % 2],
                term=f"t{term}", target=f"term {term}", family=f"t{term}",
                split="test" if term < 3 else "dev", context="BLANK", associations=three,
            )
        )  # fmt: skip
    return found


CATS = make_cats()


def put(root: Path, model: str, rule: str, of: Of, cats: Sequence[Cat] = CATS) -> Path:
    folder = root / model.replace("/", "--") / rule
    folder.mkdir(parents=True)
    lines = [
        dump_line(Score(model=model, rule=rule, association=a.id, value=of(cat, a.gold)))
        for cat in cats
        for a in cat.associations
    ]
    (folder / "scores.jsonl").write_bytes(b"".join(lines))
    (folder / "run.json").write_text(json.dumps({"model": model, "family": "causal"}), "utf-8")
    return folder


def likes(_: Cat, gold: str) -> float:
    """Always the stereotype first: ss 100, lms 100."""
    return 3.0 - GOLDS.index(gold)  # type: ignore[arg-type]


def hates(_: Cat, gold: str) -> float:
    """Always the anti-stereotype first: ss 0, lms 100."""
    return {"stereotype": 2.0, "anti-stereotype": 3.0, "unrelated": 1.0}[gold]


def mixed(cat: Cat, gold: str) -> float:
    """Each in turn, alike in both kinds: ss 50, lms 100."""
    return likes(cat, gold) if int(cat.id[1:]) % 4 < 2 else hates(cat, gold)


def chance(seed: int) -> Of:
    draw = random.Random(seed)
    return lambda *_: draw.random()


@pytest.fixture
def scored(campaign: Campaign) -> Path:
    campaign.decisions.mkdir()
    (campaign.decisions / "cats.jsonl").write_bytes(b"".join(map(dump_line, CATS)))
    told = [
        {"term": "term 0", "domain": "craft", "agreement": 79.5, "stereotype": 82.5},
        {"term": "term 1", "domain": "sport", "stereotype": 82.5},  # as earlier versions wrote it
    ]
    (campaign.decisions / "agreement.json").write_text(json.dumps({"terms": told}), "utf-8")
    scores = campaign.root / "5-scores"
    put(scores, "bakery/likes", "default", likes)
    put(scores, "hates", "default", hates)
    put(scores, "mixed", "default", mixed)
    return campaign.root


def test_a_campaigns_models_are_compared_on_test(cli: Cli, scored: Path) -> None:
    out = {name: scored / f"out.{name}" for name in ("csv", "latex", "json")}
    code, said, err = cli(
        "scores", "compare", "-c", scored, "--power", "3", "--resamples", "200",
        *(part for name, path in out.items() for part in (f"--{name}", path)),
    )  # fmt: skip
    assert code == 0, err
    assert err == ""
    report = json.loads(out["json"].read_text("utf-8"))
    assert (report["split"], report["cats"], report["ties"]) == ("test", 12, "half")
    # icat: mixed 100 · 50/50, the others 0; of equal ones the order of the folders.
    assert report["models"] == ["mixed/default", "bakery/likes/default", "hates/default"]
    differ = {
        (row["a"], row["b"]): row
        for row in report["differences"]
        if row["kind"] == "both" and row["figure"] == "icat"
    }
    row = differ["mixed/default", "hates/default"]
    assert (row["difference"], row["ci"], row["terms"]) == (100.0, [100.0, 100.0], 3)
    # 3 pairs: 599 resamples, p 2/600; two pairs differ: times 3, and at least as much.
    assert report["resamples_of_differences"] == 599
    assert row["p_holm"] == pytest.approx(0.01)
    assert differ["bakery/likes/default", "hates/default"]["p_holm"] == 1.0
    terms = {row["term"]: row for row in report["terms"]}
    assert (terms["term 0"]["ss"], terms["term 0"]["cats"]) == (pytest.approx(50.0), 4)
    told = {name: (row["agreement"], row["votes"]) for name, row in terms.items()}
    assert (told["term 0"], told["term 1"]) == ((79.5, 82.5), (None, 82.5))
    assert [part["figure"] for part in report["power"]["figures"]] == ["lms", "ss"]
    rows = list(csv.DictReader(out["csv"].open(encoding="utf-8")))
    assert {row["split"] for row in rows} == {"test"}
    one = [r for r in rows if r["model"] == "mixed" and (r["kind"], r["domain"]) == ("both", "all")]
    assert [(r["figure"], float(r["value"])) for r in one] == [
        ("lms", 100.0), ("ss", 50.0), ("icat", 100.0),
    ]  # fmt: skip
    latex = out["latex"].read_text("utf-8")
    assert r"mixed & 100.00 & 50.00 & \textbf{100.00}" in latex
    assert "(test; rule default; ties half)" in latex
    for text in (
        "Models, both kinds", "Models, intersentence", "mixed − hates", "+100.0 to +100.0",
        "Holm's correction over 3 pairs, 599 resamples", "ss, intrasentence with ss, intersentence",
        "79.50", "Needed for a difference of 3 points of ss", "fewer than five terms",
        "with fewer than 20 terms", "No term differs from another: nothing can be said",
    ):  # fmt: skip
        assert text in said


def test_other_splits(cli: Cli, scored: Path) -> None:
    for split, cats in (("dev", 8), ("all", 20)):
        out = scored / "out.json"
        assert cli("scores", "compare", "-c", scored, "--split", split, "--json", out)[0] == 0
        assert json.loads(out.read_text("utf-8"))["cats"] == cats


def test_rules_variants_and_lacking_scores(cli: Cli, scored: Path) -> None:
    root = scored / "5-scores"
    put(root, "mixed", "ll-bos", hates)
    put(root, "mixed", "default+lower", likes)
    put(root, "late", "ll-bos", likes, CATS[1:])
    put(root, "half", "conditional", likes, [cat for cat in CATS if cat.kind == KINDS[1]])
    code, said, err = cli("scores", "compare", "-c", scored)
    assert code == 0, err
    # ss against mixed's own 50: hates −50, likes +50.
    assert "mixed/ll-bos − mixed/default" in said
    assert "mixed/default+lower − mixed/default" in said
    assert "-50.00" in said
    assert "+50.00" in said
    assert "of 12 CATs these lack a score and are left out: late/ll-bos 1;" in err
    assert "half/conditional has no intrasentence CATs" in err
    assert "under different rules (intrasentence: default, ll-bos; " in err
    assert "intersentence: conditional, default, ll-bos): a difference" in err
    code, said, err = cli("scores", "compare", "-c", scored, "--rule", "ll-bos")
    assert code == 0, err
    assert "late − mixed" in said
    assert "hates" not in said
    assert "under different rules" not in err


def test_predictions_stand_beside_runs_and_gold_files_do_without_runs(
    cli: Cli, tmp_path: Path
) -> None:
    gold = write_gold(tmp_path / "test.json", CATS[:12])
    predictions = tmp_path / "p.json"
    rows = [{"id": a.id, "score": likes(cat, a.gold)} for cat in CATS for a in cat.associations]
    predictions.write_text(json.dumps({KINDS[0]: rows}), "utf-8")
    out = tmp_path / "out.json"
    given = ("--predictions", f"mine={predictions}", "--json", out, "--power", "5")
    code, said, err = cli("scores", "compare", "--gold", gold, *given, cwd=tmp_path)
    assert code == 0, err
    report = json.loads(out.read_text("utf-8"))
    assert (report["models"], report["split"]) == (["mine/predictions"], "test")
    assert (report["differences"], report["power"]["against"]) == ([], "50")
    # The gold file's labels: three votes, two of them stereotype: (2/3)² + (1/3)² = 5/9.
    assert [row["agreement"] for row in report["terms"]] == pytest.approx([500 / 9] * 3)
    assert [row["votes"] for row in report["terms"]] == pytest.approx([200 / 3] * 3)
    assert "between one model's ss and 50" in " ".join(said.split())
    assert "No term differs from another" in said  # 100 in each
    put(tmp_path / "scores", "m", "default", chance(1))
    code, said, err = cli("scores", "compare", "--gold", gold, *given, cwd=tmp_path)
    assert code == 0, err
    assert "mine − m" in said or "m − mine" in said
    assert "3 terms and 12 CATs as they are show" in said


def write_gold(path: Path, cats: Sequence[Cat]) -> Path:
    labels = [{"label": "stereotype"}, {"label": "stereotype"}, {"label": "unrelated"}]
    data: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    for cat in cats:
        sentences = [
            {"id": a.id, "sentence": a.sentence, "gold_label": a.gold, "labels": labels}
            for a in cat.associations
        ]
        data[cat.kind].append(
            {"id": cat.id, "target": cat.target, "bias_type": cat.domain, "context": cat.context,
             "sentences": sentences}
        )  # fmt: skip
    path.write_text(json.dumps({"version": "1", "data": data}), "utf-8")
    return path


def test_an_ensemble_is_fitted_on_dev_and_compared(cli: Cli, scored: Path) -> None:
    members = ("bakery/likes/default", "hates/default")
    code, said, err = cli("scores", "ensemble", *members, "-c", scored, "--name", "a/duo")
    assert code == 0, err
    folder = scored / "5-scores" / "a--duo" / "default"
    about = json.loads((folder / "run.json").read_text("utf-8"))
    # Opposites: at even weights stereotype and anti-stereotype tie everywhere, icat 100.
    assert about["weights"] == {"bakery/likes/default": 0.5, "hates/default": 0.5}
    assert (about["model"], about["objective"], about["dev"]["ensemble"]) == ("a/duo", "icat", 100)
    assert len(read_records(folder / "scores.jsonl", Score)) == 60
    kept = json.loads((folder / "results.json").read_text("utf-8"))
    assert kept["splits"]["test"]["overall"]["icat"] == 100.0
    assert (kept["splits"]["dev"]["overall"]["cats"], kept["ties"]) == (8, "half")
    assert "fitted on 8 dev CATs" in said
    code, said, err = cli("scores", "compare", "-c", scored, "--split", "all")
    assert code == 0, err
    assert "a/duo" in said
    assert "a/duo/default was fitted on 8 of these 20 CATs" in err
    assert "a/duo" not in cli("scores", "compare", "-c", scored)[2]  # none of test
    # Again, in the place of the first; but never in that of a model.
    assert cli("scores", "ensemble", *members, "-c", scored, "--name", "a/duo")[0] == 0
    code, _, err = cli("scores", "ensemble", *members, "-c", scored, "--name", "mixed")
    assert code == 1
    assert "is a model «mixed»" in err


def test_an_ensemble_stays_known_by_its_cats_texts_and_members(cli: Cli, scored: Path) -> None:
    root, out = scored / "5-scores", scored / "out.json"
    members = ("bakery/likes/default", "hates/default")
    assert cli("scores", "ensemble", *members, "-c", scored)[0] == 0
    folder = root / "ensemble" / "default"
    about = json.loads((folder / "run.json").read_text("utf-8"))
    assert about["dev_cats"] == [cat.id for cat in CATS[12:]]
    digests = {q.association: q.digest for cat in CATS for q in questions(cat)}
    assert {s.association: s.asked for s in read_records(folder / "scores.jsonl", Score)} == digests
    # Splits are drawn anew: of 12 test CATs 8 are those of dev before. One text changes.
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
    code, _, err = cli("scores", "compare", "-c", scored, "--json", out)
    assert code == 0, err
    assert "ensemble/default was fitted on 8 of these 12 CATs" in err
    assert "ensemble/default: 3 scores are of texts that have changed" in err
    assert "ensemble/default is made of older scores of hates/default: fit" in err
    report = json.loads(out.read_text("utf-8"))
    # Five stand in the table; of these the ensemble is no further model.
    assert len(report["models"]) == 5
    assert report["correlations"][0]["models"] == 4
    gold = write_gold(scored / "gold.json", CATS[10:14])
    code, _, err = cli("scores", "compare", "--gold", gold, "--scores", root)
    assert code == 0, err
    assert "ensemble/default was fitted on 2 of these 4 CATs" in err


def test_only_an_ensemble_needs_no_terms(cli: Cli, scored: Path) -> None:
    put(scored / "5-scores", "shy", "ll-bos", chance(2))
    members = ("hates/default", "shy/ll-bos")
    assert cli("scores", "ensemble", *members, "-c", scored)[0] == 0
    code, said, err = cli("scores", "compare", "-c", scored, "--rule", "mixed")
    assert code == 0, err
    assert "Models, both kinds" in said
    assert "stereotyped terms" not in said


def test_a_profile_does_not_hide_that_rules_differ(cli: Cli, scored: Path) -> None:
    for name, rule in (("bakery--likes", "conditional"), ("hates", "pll-word-l2r")):
        path = scored / "5-scores" / name / "default" / "run.json"
        about = json.loads(path.read_text("utf-8"))
        about["rules"] = {KINDS[0]: "same", KINDS[1]: rule}
        path.write_text(json.dumps(about), "utf-8")
    shutil.rmtree(scored / "5-scores" / "mixed")
    code, _, err = cli("scores", "compare", "-c", scored)
    assert code == 0, err
    assert f"({KINDS[1]}: conditional, pll-word-l2r): a difference" in err
    assert "same" not in err
    assert "--rule" not in err  # both stand under default: that would part nothing


def test_an_ensemble_never_takes_another_models_folder(scored: Path) -> None:
    two, root = ("hates/default", "mixed/default", "-c", scored), scored / "5-scores"
    assert "is a model «bakery/likes»" in refused("ensemble", *two, "--name", "bakery--likes").what
    empty = root / "new--one" / "ll-bos"  # a model that has not got to its first score
    empty.mkdir(parents=True)
    (empty / "run.json").write_text('{"model": "new/one", "family": "masked"}', "utf-8")
    assert "is a model «new/one»" in refused("ensemble", *two, "--name", "new--one").what
    (empty / "run.json").write_text('{"model": "new/one", "family": "ensemble"}', "utf-8")
    assert "is a model «new/one»" in refused("ensemble", *two, "--name", "new--one").what
    assert not (root / "new--one" / "default").exists()


def test_a_run_of_other_cats_is_left_out_and_status_names_models(cli: Cli, scored: Path) -> None:
    put(scored / "5-scores", "elsewhere", "default", likes, CATS[12:])
    code, said, err = cli("scores", "compare", "-c", scored)
    assert code == 0, err
    assert "elsewhere/default: no scores at all for these 12 CATs; it is left out" in err
    assert "elsewhere" not in said
    (scored / "5-scores" / "hates" / "default" / "run.json").unlink()
    told = json.loads(cli("status", "-c", scored, "--json")[1])["scores"]
    assert [one["model"] for one in told] == ["bakery/likes", "elsewhere", "hates", "mixed"]


def test_an_ensemble_of_other_rules_on_gold_files(cli: Cli, tmp_path: Path) -> None:
    test, dev = (
        write_gold(tmp_path / "t.json", CATS[:12]),
        write_gold(tmp_path / "d.json", CATS[12:]),
    )
    put(tmp_path / "s", "a", "ll-bos", likes)
    put(tmp_path / "s", "b", "pll", hates, CATS[1:])
    code, _, err = cli(
        "scores", "ensemble", "a/ll-bos", "b/pll", "--gold", test, "--dev", dev,
        "--scores", tmp_path / "s", "--objective", "lms",
    )  # fmt: skip
    assert code == 0, err
    assert "1 CATs are left out: a member lacks a score of them" in err
    about = json.loads((tmp_path / "s/ensemble/mixed/run.json").read_text("utf-8"))
    assert (about["rules"]["intrasentence"], about["objective"]) == ("mixed", "lms")
    assert (about["left_out"], about["weights"]) == (1, {"a/ll-bos": 0.5, "b/pll": 0.5})


def refused(*args: str | Path) -> CurationError:
    result = CliRunner().invoke(app, ["scores", *map(str, args)])
    assert isinstance(result.exception, CurationError), result.output
    return result.exception


def test_what_is_wrong_with_a_comparison_is_named(scored: Path, tmp_path: Path) -> None:
    gold = write_gold(tmp_path / "g.json", CATS)
    nowhere = tmp_path / "nowhere"
    assert "no difference" in refused("compare", "-c", scored, "--power", "0").what
    assert "no model has scores" in refused("compare", "-c", scored, "--rule", "pll").what
    assert "no such folder" in refused("compare", "--gold", gold, "--scores", nowhere).what
    assert "--split is of a campaign" in refused("compare", "--gold", gold, "--split", "dev").what
    assert "stands in two gold files" in refused("compare", "--gold", gold, "--gold", gold).what
    put(scored / "5-scores", "elsewhere", "default", likes, [])
    assert (
        "elsewhere/default: no scores at all"
        in CliRunner().invoke(app, ["scores", "compare", "-c", str(scored)]).stderr
    )


def test_a_campaign_without_cats_scores_or_split_is_named(scored: Path) -> None:
    cats = scored / "3-decisions" / "cats.jsonl"
    cats.write_bytes(b"".join(dump_line(cat) for cat in CATS if cat.split == "dev"))
    assert "no CAT in the split «test»" in refused("compare", "-c", scored).what
    (scored / "5-scores").rename(scored / "elsewhere")
    error = refused("compare", "-c", scored, "--split", "dev")
    assert "5-scores: no scores here" in error.what
    assert "curation scores models" in error.mend
    cats.unlink()
    assert "no CATs yet" in refused("compare", "-c", scored).what


def test_what_is_wrong_with_an_ensemble_is_named(scored: Path, tmp_path: Path) -> None:
    gold = write_gold(tmp_path / "g.json", CATS)
    two, of = ("hates/default", "mixed/default"), ("-c", scored)
    assert "--gold without --dev" in refused("ensemble", *two, "--gold", gold).what
    assert "--dev without --gold" in refused("ensemble", *two, *of, "--dev", gold).what
    both = refused("ensemble", *two, "--gold", gold, "--dev", gold)
    assert "stands in --gold and in --dev" in both.what
    assert "no scores of nobody/default" in refused("ensemble", "nobody/default", *two, *of).what
    assert "two members or more" in refused("ensemble", two[0], *of).what
    for name in ("", "..", ".hidden"):
        assert "no name" in refused("ensemble", *two, *of, "--name", name).what
    put(scored / "5-scores", "flat", "default", lambda *_: 1.0)
    assert "flat/default: all its scores" in refused("ensemble", *two, "flat/default", *of).what
    put(scored / "5-scores", "test-only", "default", likes, CATS[:12])
    lacks = refused("ensemble", *two, "test-only/default", *of)
    assert "test-only/default: no scores at all for the 8 dev CATs" in lacks.what
    cats = scored / "3-decisions" / "cats.jsonl"
    cats.write_bytes(b"".join(dump_line(cat) for cat in CATS if cat.split == "test"))
    assert "no dev CATs" in refused("ensemble", *two, *of).what
    assert not (scored / "5-scores" / "ensemble").exists()
