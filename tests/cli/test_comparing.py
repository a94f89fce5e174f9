"""``curation scores compare`` on a campaign and on gold files."""

import csv
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from curation.cli import app
from curation.files import dump_line
from curation.models.rules import PROFILES, rules_name
from curation.records import KINDS
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


def test_a_campaigns_models_are_compared_on_test(scored: Path) -> None:
    out = {name: scored / f"out.{name}" for name in ("csv", "latex", "json")}
    code, stdout, err = command(
        "scores", "compare", "-c", scored, "--power", "3",
        *(part for name, path in out.items() for part in (f"--{name}", path)),
    )  # fmt: skip
    assert code == 0, err
    assert err == ""
    report = json.loads(out["json"].read_text("utf-8"))
    assert (report["split"], report["cats"], report["ties"]) == ("test", 12, "half")
    # icat: mixed 100 · 50/50, the others 0; of equal ones the order of the folders.
    (group,) = report["groups"]
    assert (group["group"], group["sort"]) == ("default", "profile")
    assert group["models"] == ["mixed/default", "bakery/likes/default", "hates/default"]
    both = group["differences"][0]
    # The first with the second and the third, and the second with the third.
    assert (both["kind"], both["a"], both["b"]) == ("both", [0, 0, 1], [1, 2, 2])
    assert (both["icat_a"], both["icat_b"]) == ([100.0, 100.0, 0.0], [0.0, 0.0, 0.0])
    assert (both["icat_margin"], both["terms"]) == ([None] * 3, [3] * 3)
    assert both["icat_p"] == [0.25, 0.25, 1.0]  # every term differs by 100: p = 2 / 2³
    assert b"\n" not in out["json"].read_bytes().strip()
    terms = {row["term"]: row for row in group["terms"]}
    assert (terms["term 0"]["ss"], terms["term 0"]["cats"]) == (pytest.approx(50.0), 4)
    agreed = {name: (row["agreement"], row["votes"]) for name, row in terms.items()}
    assert (agreed["term 0"], agreed["term 1"]) == ((79.5, 82.5), (None, 82.5))
    assert [part["figure"] for part in group["power"]["figures"]] == ["lms", "ss"]
    rows = list(csv.DictReader(out["csv"].open(encoding="utf-8")))
    assert {row["split"] for row in rows} == {"test"}
    one = [r for r in rows if r["model"] == "mixed" and (r["kind"], r["domain"]) == ("both", "all")]
    assert [(r["figure"], float(r["value"])) for r in one] == [
        ("lms", 100.0), ("ss", 50.0), ("icat", 100.0),
    ]  # fmt: skip
    latex = out["latex"].read_text("utf-8")
    rules = PROFILES["default"]["causal"]
    assert rf"mixed & {', '.join(rules.values())} & 100.00* & 50.00* & \textbf{{100.00}}*" in latex
    assert "(test; profile default; ties half)" in latex
    assert r"\label{tab:models}" in latex
    assert {(row["rule"], row["profiles"]) for row in rows if row["kind"] == KINDS[1]} == {
        (rules["intersentence"], "default")
    }
    for text in (
        "Models, profile default, both kinds", "Models, profile default, intersentence",
        "mixed − hates",
        "Holm's correction over 3 pairs", "ss, intrasentence with ss, intersentence",
        "79.50", "Needed for a difference of 3 points of ss", "fewer than five terms",
        "~ this p may be wrong", "No term differs from another, so the power cannot be computed",
    ):  # fmt: skip
        assert text in stdout


def test_other_splits(scored: Path) -> None:
    for split, cats in (("dev", 8), ("all", 20)):
        out = scored / "out.json"
        assert command("scores", "compare", "-c", scored, "--split", split, "--json", out)[0] == 0
        assert json.loads(out.read_text("utf-8"))["cats"] == cats


def test_rules_variants_and_missing_scores(scored: Path) -> None:
    root = scored / "5-scores"
    put(root, "mixed", "ll-bos", hates)
    put(root, "mixed", "default+lower", likes)
    put(root, "half", "conditional", likes, [cat for cat in CATS if cat.kind == KINDS[1]])
    code, stdout, err = command("scores", "compare", "-c", scored)
    assert code == 0, err
    # ss against mixed's own 50: hates −50, likes +50.
    table = stdout[stdout.index("The same model under another rule") :].splitlines()
    ways = {tuple(line.split()[:3]) for line in table}
    assert {("mixed", "ll-bos", "default"), ("mixed", "default+lower", "default")} <= ways
    assert "-50.00" in stdout
    assert "+50.00" in stdout
    put(root, "late", "ll-bos", likes, CATS[1:])
    code, stdout, err = command("scores", "compare", "-c", scored)
    assert code == 0, err
    assert "late/ll-bos has no scores of 1 of 12 CATs: they were added or changed" in err
    assert "score it again: curation scores models late --rule ll-bos" in err
    assert "the models are compared on 11 of 12 CATs" in err
    assert "late¶" in stdout
    assert "¶ lacks CATs: they were added or changed later" in stdout
    # Each is ranked under its own rules: the profile's three, two by ll-bos, one by conditional.
    for text in (
        "Models, profile default, both kinds", "Models, rules ll-bos, both kinds",
        "half, rules conditional", "mixed, profile default, texts altered: lower",
        "Differences between models, rules ll-bos", "Differences between models, profile default",
    ):  # fmt: skip
        assert text in stdout
    assert "half − " not in stdout
    assert "Differences between models, rules conditional" not in stdout
    code, stdout, err = command("scores", "compare", "-c", scored, "--rule", "ll-bos")
    assert code == 0, err
    assert "late¶ − mixed" in stdout
    assert "hates" not in stdout
    assert "profile default" not in stdout
    code, stdout, err = command("scores", "compare", "-c", scored, "--profile", "default")
    assert "late" not in err  # it is not shown
    assert "compared on" not in err
    assert code == 0, err
    assert "mixed − hates" in stdout
    assert "late" not in stdout


def test_predictions_are_ranked_if_their_rule_is_declared(tmp_path: Path) -> None:
    gold = write_gold(tmp_path / "test.json", CATS[:12])
    file = tmp_path / "p.json"
    rows = [{"id": a.id, "score": likes(cat, a.gold)} for cat in CATS for a in cat.associations]
    file.write_text(json.dumps({KINDS[0]: rows}), "utf-8")
    out = tmp_path / "out.json"
    of = ("--gold", gold, "--scores", tmp_path / "scores")
    given = ("--predictions", f"mine={file}", "--json", out, "--power", "5")
    code, stdout, err = command("scores", "compare", *of, *given)
    assert code == 0, err
    report = json.loads(out.read_text("utf-8"))
    (group,) = report["groups"]
    assert (group["models"], report["split"]) == (["mine/predictions"], "test")
    assert (group["differences"], group["power"]["against"]) == ([], "50")
    # The gold file's labels: three votes, two of them stereotype: (2/3)² + (1/3)² = 5/9.
    assert [row["agreement"] for row in group["terms"]] == pytest.approx([500 / 9] * 3)
    assert [row["votes"] for row in group["terms"]] == pytest.approx([200 / 3] * 3)
    assert "mine/predictions, rule not declared" in stdout
    assert "between one model's ss and 50" in " ".join(stdout.split())
    assert "No term differs from another" in stdout  # 100 in each
    # Beside another model, and another such file: each for itself, with neither the other.
    put(tmp_path / "scores", "m", "default", chance(1))
    given = ("--predictions", f"mine={file}", "--predictions", f"other={file}")
    code, stdout, err = command("scores", "compare", *of, *given)
    assert code == 0, err
    assert " − " not in stdout
    for title in (
        "m, profile default", "mine/predictions, rule not declared",
        "other/predictions, rule not declared",
    ):  # fmt: skip
        assert title in stdout
    assert "so they are not ranked: mine/predictions, other/predictions; declare" in err
    given = ("--predictions", f"mine@default={file}", "--power", "5")
    code, stdout, err = command("scores", "compare", *of, *given)
    assert code == 0, err
    assert "mine − m" in stdout or "m − mine" in stdout
    assert "default, as declared" in stdout
    assert "With the present 3 terms and 12 CATs, you can detect" in stdout
    assert err == ""


def test_a_ranking_names_each_models_rules_and_own_head(scored: Path) -> None:
    root, out = scored / "5-scores", scored / "out.tex"
    for model, family, of in (("gpt2", "causal", hates), ("bert", "masked", likes)):
        rules = PROFILES["acl-ll"][family]  # type: ignore[index]
        head = {"own_head": True} if family == "masked" else {}
        put(root, model, rules_name(rules), of, family=family, rules=rules, **head)
    args = ("--profile", "acl-ll", "--latex", out)
    code, stdout, err = command("scores", "compare", "-c", scored, *args)
    assert code == 0, err
    assert "gpt2◊, profile acl-ll (no record of how the next-sentence head was trained)" in stdout
    assert "◊ next-sentence head not trained like the ranked ones" in stdout
    assert "bert§, profile acl-ll (the model's own next-sentence head)" in stdout
    assert "nsp (own head)" in stdout[stdout.index("bert§") :]
    assert PROFILES["acl-ll"]["causal"]["intrasentence"] in stdout
    assert "nsp (own head)" in out.read_text("utf-8")
    # With the others each profile has its own table, also in LaTeX.
    code, stdout, err = command("scores", "compare", "-c", scored, "--latex", out)
    assert code == 0, err
    assert "bert − hates" not in stdout
    assert "hates − bert" not in stdout
    labels = [line for line in out.read_text("utf-8").splitlines() if "label" in line]
    assert labels == [
        rf"\label{{tab:models-profile-{name}}}"
        for name in (
            "default", "acl-ll-no-record-of-how-the-next-sentence-head-was-trained-",
            "acl-ll-the-model-s-own-next-sentence-head-",
        )
    ]  # fmt: skip


def test_models_with_heads_of_another_training_are_ranked_apart(scored: Path) -> None:
    """ACL §6.1: identical heads on identical datasets."""
    out = {name: scored / f"out.{name}" for name in ("csv", "latex", "json")}
    rules = PROFILES["acl-ll"]["causal"]
    for model, of, epochs in (("a", hates, 10), ("b", likes, 2), ("c", mixed, 10)):
        training = {"epochs": epochs, "lr": 1e-5}
        put(scored / "5-scores", model, rules_name(rules), of, rules=rules, head_training=training)
    args = ("scores", "compare", "-c", scored, "--profile", "acl-ll")
    files = (part for name, path in out.items() for part in (f"--{name}", path))
    code, stdout, err = command(*args, *files)
    assert code == 0, err
    text = "next-sentence head trained with epochs 2 instead of 10"
    assert f"b◊, profile acl-ll ({text})" in stdout
    assert "c − a" in stdout
    assert not re.search("b.? − |− b", stdout)
    report = json.loads(out["json"].read_text("utf-8"))
    assert [(group["title"], group["models"]) for group in report["groups"]] == [
        ("profile acl-ll", ["c/ll-acl_nsp", "a/ll-acl_nsp"]),
        (f"profile acl-ll ({text})", ["b/ll-acl_nsp"]),
    ]
    b = next(run for run in report["runs"] if run["model"] == "b")
    assert (b["other_head"], b["flags"], b["profiles"]) == (text, ["other_head"], ["acl-ll"])
    rows = list(csv.DictReader(out["csv"].open(encoding="utf-8")))
    differs = {(row["model"], row["other_head"]) for row in rows if row["profiles"] == "acl-ll"}
    assert differs == {("a", ""), ("b", text), ("c", "")}
    assert f"profile acl-ll ({text}); ties half)" in out["latex"].read_text("utf-8")
    # The head has no part in intrasentence CATs.
    code, stdout, _ = command(*args, "--kind", "intrasentence")
    assert (code, "instead of" in stdout, "◊" in stdout) == (0, False, False)
    assert re.search("− b|b − ", stdout)


def test_two_profiles_are_compared_over_the_models_of_both(scored: Path) -> None:
    root, out = scored / "5-scores", scored / "out.json"
    rules = dict.fromkeys(KINDS, "ll-bos") | {KINDS[1]: "ratio"}
    assert rules[KINDS[0]] == PROFILES["default"]["causal"]["intrasentence"]
    for model, of in (("bakery/likes", hates), ("hates", likes), ("new", likes)):
        put(root, model, rules_name(rules), of, rules=rules)
    code, stdout, err = command("scores", "compare", "-c", scored, "--json", out)
    assert code == 0, err
    both, inter = json.loads(out.read_text("utf-8"))["mechanisms"]
    # ss: 100 and 0 under default, 0 and 100 under the other. Intrasentence the rule is the same.
    assert (both["kind"], inter["kind"]) == ("both", KINDS[1])
    assert both["models"] == inter["models"] == ["bakery/likes", "hates"]
    assert (both["ss"], inter["lms"]) == ([50.0, 50.0], [100.0, 100.0])
    assert "Means over the models of both default and ll-bos_ratio" in stdout
    assert "both, intersentence: bakery/likes, hates" in stdout
    put(root, "hates", "ll-code", hates)
    assert "Means over" not in command("scores", "compare", "-c", scored, "--rule", "ll-code")[1]


def test_one_models_terms_as_table_8(scored: Path) -> None:
    out = {name: scored / f"out.{name}" for name in ("csv", "latex", "json")}
    code, stdout, err = command(
        "scores", "compare", "-c", scored, "--terms-of", "bakery/likes", "--terms", "1",
        *(part for name, path in out.items() for part in (f"--{name}", path)),
    )  # fmt: skip
    assert code == 0, err
    (part,) = json.loads(out["json"].read_text("utf-8"))["model_terms"]
    assert (part["run"], part["group"]) == ("bakery/likes/default", "default")
    # craft: terms 0 and 2 of test, sport: term 1.
    craft, first, last = part["rows"][:3]
    assert (craft["domain"], craft["ss"], craft["terms"]) == ("craft", 100.0, 2)
    assert (first["term"], first["end"], first["agreement"]) == ("term 0", "most", 79.5)
    # Beside the mean of likes 100, hates 0, mixed 50.
    assert (last["term"], last["end"]) == ("term 2", "least")
    assert last["mean_ss"] == pytest.approx(50.0)
    assert "Terms of bakery/likes, " in stdout
    assert r"\label{tab:terms-bakery-likes-default}" in out["latex"].read_text("utf-8")
    assert r"\quad term 0 (most) & 100.00" in out["latex"].read_text("utf-8")
    rows = list(csv.DictReader(out["csv"].open(encoding="utf-8")))
    (row,) = [
        r for r in rows
        if (r["run"], r["kind"], r["term"]) == ("mixed/default", "both", "term 1")
        and r["figure"] == "icat"
    ]  # fmt: skip
    assert (float(row["value"]), row["cats"]) == (100.0, "4")
    assert "no such model is compared" in refused("compare", "-c", scored, "--terms-of", "me").what


def test_sizes_are_shown_and_correlated_with(scored: Path) -> None:
    root, about, out = scored / "5-scores", scored / "about.csv", scored / "out.json"
    opened = {"parameters": 1_500_000_000, "architecture": "GPT2LMHeadModel"}
    put(root, "gpt2-large", "default", chance(3), opened=opened)
    text = "hates,110000000,16,GPT2LMHeadModel\nmixed,340e6,,Mixed\n"
    about.write_text(f"model,parameters,corpus_gb,architecture\n{text}", "utf-8")
    code, stdout, err = command("scores", "compare", "-c", scored, "--about", about, "--json", out)
    assert code == 0, err
    for text in ("parameters", "corpus, GB", "110M", "340M", "1.5B", "16.00"):
        assert text in stdout
    (group,) = json.loads(out.read_text("utf-8"))["groups"]
    # The corpus of one model only; parameters are within an architecture.
    assert not {"parameters", "corpus, GB"} & {row["with"] for row in group["correlations"]}
    # hates: ss 0. ACL Table 4 prints 88.3, 60.0, 70.5 for GPT2-large.
    small, large = group["sizes"]
    assert [row["run"] for row in (small, large)] == ["hates/default", "gpt2-large/default"]
    assert (small["ss"], small["ss_printed"], large["parameters"]) == (0.0, None, 1_500_000_000)
    assert [large[f"{name}_printed"] for name in ("lms", "ss", "icat")] == [88.3, 60.0, 70.5]
    table = stdout[stdout.index("Models of one architecture by size, profile default") :]
    assert re.search(r"GPT2LMHeadModel +gpt2-large +1.5B .* 88.30 +60.00 +70.50", table)
    args = ("--about", about, "--kind", "intrasentence", "--json", out)
    assert command("scores", "compare", "-c", scored, *args)[0] == 0
    (group,) = json.loads(out.read_text("utf-8"))["groups"]
    assert [row["lms_printed"] for row in group["sizes"]] == [None, None]  # Table 4 is of both
    about.write_text("model,parameters\nnobody,1\n", "utf-8")
    code, _, err = command("scores", "compare", "-c", scored, "--about", about)
    assert (code, "these are not among the compared models: nobody" in err) == (0, True)


def test_models_with_mostly_ties_are_marked_in_every_table(scored: Path) -> None:
    out = {name: scored / f"out.{name}" for name in ("csv", "latex", "json")}
    tokens = {"read": 10, "unknown": 6}
    put(scored / "5-scores", "flat", "default", lambda *_: 1.0, tokens=tokens)
    code, stdout, err = command(
        "scores", "compare", "-c", scored, "--terms-of", "flat",
        *(part for name, path in out.items() for part in (f"--{name}", path)),
    )  # fmt: skip
    assert code == 0, err
    shown = [line for line in stdout.splitlines() if re.search(r"\bflat\b", line)]
    # Three rankings, three pairs, kinds beside one another, and its terms.
    assert len(shown) == 8
    assert all("flat†‡" in line for line in shown)
    assert "† more than half of the model's comparisons are ties" in stdout
    assert "‡ more than half of the tokens" in stdout
    one = next(
        one for one in json.loads(out["json"].read_text("utf-8"))["runs"] if one["model"] == "flat"
    )
    assert one["flags"] == ["ties", "unknown_tokens"]
    rows = list(csv.DictReader(out["csv"].open(encoding="utf-8")))
    assert {row["flags"] for row in rows if row["model"] == "flat"} == {"ties unknown_tokens"}
    assert {row["flags"] for row in rows if row["model"] != "flat"} == {""}
    latex = out["latex"].read_text("utf-8")
    assert latex.count(r"flat\textsuperscript{\dag}\textsuperscript{\ddag} & ") == 1
    assert latex.count("more than half of the tokens") == 2


def test_a_mark_of_another_run_of_a_model_is_explained(scored: Path) -> None:
    put(scored / "5-scores", "mixed", "ll-bos", lambda *_: 1.0)
    code, stdout, err = command("scores", "compare", "-c", scored, "--profile", "default")
    assert code == 0, err
    assert "mixed†" in stdout[stdout.index("The same model under another rule") :]
    assert "† more than half of the model's comparisons are ties" in stdout


def test_predictions_and_baselines_are_marked_too(tmp_path: Path) -> None:
    gold, file = write_gold(tmp_path / "g.json", CATS), tmp_path / "p.json"
    rows = [{"id": a.id, "score": 1} for cat in CATS for a in cat.associations]
    file.write_text(json.dumps({KINDS[0]: rows}), "utf-8")
    out = tmp_path / "out.json"
    args = ("--gold", gold, "--predictions", file, "--model", "flat", "--json", out)
    code, stdout, err = command("scores", "predictions", *args)
    assert code == 0, err
    assert stdout.count("flat†, ") == 3
    assert "† more than half of the model's comparisons are ties" in stdout
    assert json.loads(out.read_text("utf-8"))["flags"] == ["ties"]
    # Every association is a word and a number: equally long ones tie.
    args = ("--gold", gold, "--sentiment", file, "--json", out)
    code, stdout, err = command("scores", "baselines", *args)
    assert code == 0, err
    found = {one["model"]: one["flags"] for one in json.loads(out.read_text("utf-8"))}
    assert (found["SentimentLM (p.json)"], found["RandomLM"]) == (["ties"], [])
    assert "SentimentLM (p.json)†" in stdout
    assert "† more than half" in stdout


def test_a_tier_leaves_out_cats_on_which_fewer_agree(scored: Path, tmp_path: Path) -> None:
    # Of every four CATs two have tier 4, one 3, one none that is known.
    cats = [
        cat.model_copy(update={"tier": (4, 4, 3, None)[number % 4]})
        for number, cat in enumerate(CATS)
    ]
    (scored / "3-decisions" / "cats.jsonl").write_bytes(b"".join(map(dump_line, cats)))
    gold, file, out = write_gold(tmp_path / "g.json", cats), tmp_path / "p.json", tmp_path / "o"
    rows = [{"id": a.id, "score": likes(cat, a.gold)} for cat in CATS for a in cat.associations]
    file.write_text(json.dumps({KINDS[0]: rows}), "utf-8")

    csv_file = tmp_path / "o.csv"
    predicted = ("predictions", "--gold", gold, "--predictions", file)
    for args, split, count in (
        (("compare", "-c", scored, "--csv", csv_file), 12, 6),
        (predicted, 20, 10),
        (("baselines", "--gold", gold), 20, 10),
    ):
        shown = CliRunner().invoke(
            app, ["scores", *map(str, args), "--tier", "4", "--json", str(out)]
        )
        assert shown.exit_code == 0, shown.output
        assert "CATs of tier 4 or more" in shown.stdout
        assert f"{split // 4} CATs are left out: the votes are not known" in shown.stderr
        found = json.loads(out.read_text("utf-8"))
        found = found[0] if isinstance(found, list) else found
        assert found["tier"] == 4
        overall = found["runs"][0]["overall"] if "runs" in found else found["overall"]
        assert overall["cats"] == count
    assert {row["tier"] for row in csv.DictReader(csv_file.open(encoding="utf-8"))} == {"4"}
    assert "has tier 5 or more" in refused("compare", "-c", scored, "--tier", "5").what


def test_a_run_of_other_cats_is_left_out_and_status_names_models(scored: Path) -> None:
    put(scored / "5-scores", "elsewhere", "default", likes, CATS[12:])
    code, stdout, err = command("scores", "compare", "-c", scored)
    assert code == 0, err
    assert "elsewhere/default: left out, since it has no scores for the benchmark's 12 CATs" in err
    assert "elsewhere" not in stdout
    (scored / "5-scores" / "hates" / "default" / "run.json").unlink()
    runs = json.loads(command("status", "-c", scored, "--json")[1])["scores"]
    assert [one["model"] for one in runs] == ["bakery/likes", "elsewhere", "hates", "mixed"]


def test_errors_of_a_comparison_are_named(scored: Path, tmp_path: Path) -> None:
    gold = write_gold(tmp_path / "g.json", CATS)
    nowhere = tmp_path / "nowhere"
    assert "the difference must be above 0" in refused("compare", "-c", scored, "--power", "0").what
    assert "no model has scores" in refused("compare", "-c", scored, "--rule", "pll").what
    assert "no model has scores" in refused("compare", "-c", scored, "--profile", "arxiv").what
    assert "no such folder" in refused("compare", "--gold", gold, "--scores", nowhere).what
    assert "--split needs a campaign" in refused("compare", "--gold", gold, "--split", "dev").what
    assert "is in two gold files" in refused("compare", "--gold", gold, "--gold", gold).what
    put(scored / "5-scores", "elsewhere", "default", likes, [])
    assert (
        "elsewhere/default: has no scores"
        in CliRunner().invoke(app, ["scores", "compare", "-c", str(scored)]).stderr
    )


def test_a_campaign_without_cats_scores_or_split_is_named(scored: Path) -> None:
    cats = scored / "3-decisions" / "cats.jsonl"
    cats.write_bytes(b"".join(dump_line(cat) for cat in CATS if cat.split == "dev"))
    assert "no CAT in the split «test»" in refused("compare", "-c", scored).what
    (scored / "5-scores").rename(scored / "elsewhere")
    error = refused("compare", "-c", scored, "--split", "dev")
    assert "5-scores: no scores here" in error.what
    assert "curation scores models" in error.fix
    cats.unlink()
    assert "there are no CATs yet" in refused("compare", "-c", scored).what
