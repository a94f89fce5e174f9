"""``curation scores compare`` on a campaign and on gold files."""

import re
from pathlib import Path

from curation.kinds import CAT_KINDS
from curation.models.rules import PROFILES, rules_name, rules_of
from support.scored import (
    CATS,
    chance,
    hates,
    likes,
    mixed,
    predicted,
    put,
    refused,
    told,
    write_cats,
    write_gold,
)


def test_a_campaigns_models_are_compared_on_test(scored: Path) -> None:
    did = told("compare", "-c", scored, "--power", "3")
    report = did.json
    assert (did.err, report["split"], report["cats"], report["ties"]) == ("", "test", 12, "half")
    # icat: mixed 100 · 50/50, the others 0; of equal ones the order of the folders.
    (group,) = report["groups"]
    assert (group["group"], group["sort"]) == ("default", "profile")
    assert group["models"] == ["mixed/default", "bakery/likes/default", "hates/default"]
    both = group["differences"][0]
    assert both["icat_p"] == [0.25, 0.25, 1.0]  # every term differs by 100: p = 2 / 2³
    assert "\n" not in did.files["json"].strip()
    terms = {row["term"]: (row["agreement"], row["votes"]) for row in group["terms"]}
    assert (terms["term 0"], terms["term 1"]) == ((79.5, 82.5), (None, 82.5))
    (term,) = (row for row in group["terms"] if row["term"] == "term 0")
    assert (term["ss"], term["cats"]) == (50.0, 4)
    assert [part["figure"] for part in group["power"]["figures"]] == ["lms", "ss"]
    assert {row["split"] for row in did.csv} == {"test"}
    rules = rules_of(PROFILES["default"]["causal"], CAT_KINDS)
    for text in (
        rf"mixed & {', '.join(rules.values())} & 100.00* & 50.00* & \textbf{{100.00}}*",
        "(test; profile default; ties half)", r"\label{tab:models}",
    ):  # fmt: skip
        assert text in did.latex
    for text in (
        "Models, profile default, both kinds", "Models, profile default, intersentence",
        "mixed − hates",
        "Holm's correction over 3 pairs", "ss, intrasentence with ss, intersentence",
        "79.50", "Needed for a difference of 3 points of ss", "fewer than five terms",
        "~ this p may be wrong", "No term differs from another, so the power cannot be computed",
    ):  # fmt: skip
        assert text in did.out
    for split, cats in (("dev", 8), ("all", 20)):
        assert told("compare", "-c", scored, "--split", split).json["cats"] == cats


def test_rules_variants_and_missing_scores(scored: Path) -> None:
    root = scored / "5-scores"
    put(root, "mixed", "ll-bos", hates)
    put(root, "mixed", "default+lower", likes)
    put(root, "half", "conditional", likes, [cat for cat in CATS if cat.kind == CAT_KINDS[1]])
    stdout = told("compare", "-c", scored).out
    # ss against mixed's own 50: hates −50, likes +50.
    table = stdout[stdout.index("The same model under another rule") :].splitlines()
    ways = {tuple(line.split()[:3]) for line in table}
    assert {("mixed", "ll-bos", "default"), ("mixed", "default+lower", "default")} <= ways
    assert "-50.00" in stdout
    assert "+50.00" in stdout
    put(root, "late", "ll-bos", likes, CATS[1:])
    did = told("compare", "-c", scored)
    assert "score it again: curation scores models late --rule ll-bos" in did.err
    # Each is ranked under its own rules: the profile's three, two by ll-bos, one by conditional.
    for text in (
        "late¶", "¶ lacks CATs: they were added or changed later",
        "Models, profile default, both kinds", "Models, rules ll-bos, both kinds",
        "half, rules conditional", "mixed, profile default, texts altered: lower",
        "Differences between models, rules ll-bos", "Differences between models, profile default",
    ):  # fmt: skip
        assert text in did.out
    assert "half − " not in did.out
    assert "Differences between models, rules conditional" not in did.out
    stdout = told("compare", "-c", scored, "--rule", "ll-bos").out
    assert "late¶ − mixed" in stdout
    assert "hates" not in stdout
    assert "profile default" not in stdout
    did = told("compare", "-c", scored, "--profile", "default")
    assert "mixed − hates" in did.out
    assert "late" not in did.out + did.err  # it is not shown
    assert "compared on" not in did.err


def test_predictions_are_ranked_if_their_rule_is_declared(tmp_path: Path) -> None:
    gold, file = write_gold(tmp_path / "test.json", CATS[:12]), predicted(tmp_path / "p", likes)
    of = ("--gold", gold, "--scores", tmp_path / "scores")
    did = told("compare", *of, "--predictions", f"mine={file}", "--power", "5")
    (group,) = did.json["groups"]
    assert (group["models"], did.json["split"]) == (["mine/predictions"], "test")
    assert (group["differences"], group["power"]["against"]) == ([], "50")
    # The gold file's labels: three votes, two of them stereotype: (2/3)² + (1/3)² = 5/9.
    figures = [(row["agreement"], row["votes"]) for row in group["terms"]]
    assert figures == [(55.5556, 66.6667)] * 3
    assert "mine/predictions, rule not declared" in did.out
    assert "between one model's ss and 50" in did.plain
    assert "No term differs from another" in did.out  # 100 in each
    # Beside another model, and another such file: each for itself, with neither the other.
    put(tmp_path / "scores", "m", "default", chance(1))
    did = told("compare", *of, *(f"--predictions={name}={file}" for name in ("mine", "other")))
    assert " − " not in did.out
    for title in (
        "m, profile default", "mine/predictions, rule not declared",
        "other/predictions, rule not declared",
    ):  # fmt: skip
        assert title in did.out
    assert "so they are not ranked: mine/predictions, other/predictions; declare" in did.err
    did = told("compare", *of, "--predictions", f"mine@default={file}", "--power", "5")
    assert "mine − m" in did.out or "m − mine" in did.out
    assert "default, as declared" in did.out
    assert "With the present 3 terms and 12 CATs, you can detect" in did.out
    assert did.err == ""


def test_a_ranking_names_each_models_rules_and_own_head(scored: Path) -> None:
    acl = PROFILES["acl-ll"]
    put(scored / "5-scores", "gpt2", rules_name(acl["causal"]), hates, rules=acl["causal"])
    put(
        scored / "5-scores", "bert", rules_name(acl["masked"]), likes,
        family="masked", rules=acl["masked"], own_head=True,
    )  # fmt: skip
    did = told("compare", "-c", scored, "--profile", "acl-ll")
    for text in (
        "gpt2◊, profile acl-ll (no record of how the next-sentence head was trained)",
        "◊ next-sentence head not trained like the ranked ones",
        "bert§, profile acl-ll (the model's own next-sentence head)",
        acl["causal"]["intrasentence"],
    ):
        assert text in did.out
    assert "nsp (own head)" in did.out[did.out.index("bert§") :]
    assert "nsp (own head)" in did.latex
    # With the others each profile has its own table, also in LaTeX.
    did = told("compare", "-c", scored)
    assert "bert − hates" not in did.out
    assert "hates − bert" not in did.out
    assert [line for line in did.latex.splitlines() if "label" in line] == [
        rf"\label{{tab:models-profile-{name}}}"
        for name in (
            "default", "acl-ll-no-record-of-how-the-next-sentence-head-was-trained-",
            "acl-ll-the-model-s-own-next-sentence-head-",
        )
    ]  # fmt: skip


def test_models_with_heads_of_another_training_are_ranked_apart(scored: Path) -> None:
    """ACL §6.1: identical heads on identical datasets."""
    rules = PROFILES["acl-ll"]["causal"]
    for model, of, epochs in (("a", hates, 10), ("b", likes, 2), ("c", mixed, 10)):
        training = {"epochs": epochs, "lr": 1e-5}
        put(scored / "5-scores", model, rules_name(rules), of, rules=rules, head_training=training)
    did = told("compare", "-c", scored, "--profile", "acl-ll")
    text = "next-sentence head trained with epochs 2 instead of 10"
    assert f"b◊, profile acl-ll ({text})" in did.out
    assert "c − a" in did.out
    assert not re.search("b.? − |− b", did.out)
    assert [(group["title"], group["models"]) for group in did.json["groups"]] == [
        ("profile acl-ll", ["c/ll-acl_nsp", "a/ll-acl_nsp"]),
        (f"profile acl-ll ({text})", ["b/ll-acl_nsp"]),
    ]
    b = next(run for run in did.json["runs"] if run["model"] == "b")
    assert (b["other_head"], b["flags"], b["profiles"]) == (text, ["other_head"], ["acl-ll"])
    differs = {(row["model"], row["other_head"]) for row in did.csv if row["profiles"] == "acl-ll"}
    assert differs == {("a", ""), ("b", text), ("c", "")}
    assert f"profile acl-ll ({text}); ties half)" in did.latex


def test_one_models_terms_as_table_8(scored: Path) -> None:
    did = told("compare", "-c", scored, "--terms-of", "bakery/likes", "--terms", "1")
    (part,) = did.json["model_terms"]
    assert (part["run"], part["group"]) == ("bakery/likes/default", "default")
    assert "Terms of bakery/likes, " in did.out
    assert r"\label{tab:terms-bakery-likes-default}" in did.latex
    assert r"\quad term 0 (most) & 100.00" in did.latex


def test_sizes_are_shown_and_correlated_with(scored: Path) -> None:
    opened = {"parameters": 1_500_000_000, "architecture": "GPT2LMHeadModel"}
    put(scored / "5-scores", "gpt2-large", "default", chance(3), opened=opened)
    about = scored / "about.csv"
    text = "hates,110000000,16,GPT2LMHeadModel\nmixed,340e6,,Mixed\n"
    about.write_text(f"model,parameters,corpus_gb,architecture\n{text}", "utf-8")
    did = told("compare", "-c", scored, "--about", about)
    for text in ("parameters", "corpus, GB", "110M", "340M", "1.5B", "16.00"):
        assert text in did.out
    (group,) = did.json["groups"]
    # The corpus of one model only; parameters are within an architecture.
    assert not {"parameters", "corpus, GB"} & {row["with"] for row in group["correlations"]}
    # hates: ss 0. ACL Table 4 prints 88.3, 60.0, 70.5 for GPT2-large.
    small, large = group["sizes"]
    assert [row["run"] for row in (small, large)] == ["hates/default", "gpt2-large/default"]
    assert (small["ss"], small["ss_printed"], large["parameters"]) == (0.0, None, 1_500_000_000)
    assert [large[f"{name}_printed"] for name in ("lms", "ss", "icat")] == [88.3, 60.0, 70.5]
    table = did.out[did.out.index("Models of one architecture by size, profile default") :]
    assert re.search(r"GPT2LMHeadModel +gpt2-large +1.5B .* 88.30 +60.00 +70.50", table)
    did = told("compare", "-c", scored, "--about", about, "--kind", "intrasentence")
    (group,) = did.json["groups"]
    assert [row["lms_printed"] for row in group["sizes"]] == [None, None]  # Table 4 is of both
    about.write_text("model,parameters\nnobody,1\n", "utf-8")
    did = told("compare", "-c", scored, "--about", about)
    assert "these are not among the compared models: nobody" in did.err


def test_models_with_mostly_ties_are_marked_in_every_table(scored: Path) -> None:
    tokens = {"read": 10, "unknown": 6}
    put(scored / "5-scores", "flat", "default", lambda *_: 1.0, tokens=tokens)
    did = told("compare", "-c", scored, "--terms-of", "flat")
    shown = [line for line in did.out.splitlines() if re.search(r"\bflat\b", line)]
    # Three rankings, three pairs, kinds beside one another, and its terms.
    assert len(shown) == 8
    assert all("flat†‡" in line for line in shown)
    assert "† more than half of the model's comparisons are ties" in did.out
    assert "‡ more than half of the tokens" in did.out
    assert {run["model"]: run["flags"] for run in did.json["runs"]} == {
        "bakery/likes": [], "flat": ["ties", "unknown_tokens"], "hates": [], "mixed": [],
    }  # fmt: skip
    assert {row["model"]: row["flags"] for row in did.csv} == {
        "bakery/likes": "", "flat": "ties unknown_tokens", "hates": "", "mixed": "",
    }  # fmt: skip
    assert did.latex.count(r"flat\textsuperscript{\dag}\textsuperscript{\ddag} & ") == 1
    assert did.latex.count("more than half of the tokens") == 2


def test_a_mark_of_another_run_of_a_model_is_explained(scored: Path) -> None:
    put(scored / "5-scores", "mixed", "ll-bos", lambda *_: 1.0)
    out = told("compare", "-c", scored, "--profile", "default").out
    assert "mixed†" in out[out.index("The same model under another rule") :]
    assert "† more than half of the model's comparisons are ties" in out


def test_predictions_and_baselines_are_marked_too(tmp_path: Path) -> None:
    gold, file = write_gold(tmp_path / "g.json", CATS), predicted(tmp_path / "p.json", lambda *_: 1)
    did = told("predictions", "--gold", gold, "--predictions", file, "--model", "flat")
    assert did.out.count("flat†, ") == 3
    assert "† more than half of the model's comparisons are ties" in did.out
    assert did.json["flags"] == ["ties"]
    # Every association is a word and a number: equally long ones tie.
    did = told("baselines", "--gold", gold, "--sentiment", file)
    found = {one["model"]: one["flags"] for one in did.json}
    assert (found["SentimentLM (p.json)"], found["RandomLM"]) == (["ties"], [])
    assert "SentimentLM (p.json)†" in did.out
    assert "† more than half" in did.out


def test_a_tier_leaves_out_cats_on_which_fewer_agree(scored: Path, tmp_path: Path) -> None:
    # Of every four CATs two have tier 4, one 3, one none that is known.
    cats = [
        cat.model_copy(update={"tier": (4, 4, 3, None)[number % 4]})
        for number, cat in enumerate(CATS)
    ]
    write_cats(scored, cats)
    gold, file = write_gold(tmp_path / "g.json", cats), predicted(tmp_path / "p.json", likes)
    for args, split, count in (
        (("compare", "-c", scored), 12, 6),
        (("predictions", "--gold", gold, "--predictions", file), 20, 10),
        (("baselines", "--gold", gold), 20, 10),
    ):
        did = told(*args, "--tier", "4")
        assert "CATs of tier 4 or more" in did.out
        assert f"{split // 4} CATs are left out: the votes are not known" in did.err
        found = did.json[0] if isinstance(did.json, list) else did.json
        overall = (found["runs"][0] if "runs" in found else found)["overall"]
        assert (found["tier"], overall["cats"]) == (4, count)
        if args[0] == "compare":
            assert {row["tier"] for row in did.csv} == {"4"}
    assert "has tier 5 or more" in refused("compare", "-c", scored, "--tier", "5").what


def test_errors_of_a_comparison_are_named(scored: Path, tmp_path: Path) -> None:
    gold, own = ("--gold", write_gold(tmp_path / "g.json", CATS)), ("-c", scored)
    for args, what in (
        ((*own, "--power", "0"), "the difference must be above 0"),
        ((*own, "--rule", "pll"), "no model has scores"),
        ((*own, "--profile", "arxiv"), "no model has scores"),
        ((*own, "--terms-of", "me"), "no such model is compared"),
        ((*gold, "--scores", tmp_path / "nowhere"), "no such folder"),
        ((*gold, "--split", "dev"), "--split needs a campaign"),
        ((*gold, *gold), "is in two gold files"),
    ):
        assert what in refused("compare", *args).what
    put(scored / "5-scores", "elsewhere", "default", likes, [])
    assert "elsewhere/default: has no scores" in told("compare", *own).err


def test_a_campaign_without_cats_scores_or_split_is_named(scored: Path) -> None:
    write_cats(scored, [cat for cat in CATS if cat.split == "dev"])
    assert "no CAT in the split «test»" in refused("compare", "-c", scored).what
    (scored / "5-scores").rename(scored / "elsewhere")
    error = refused("compare", "-c", scored, "--split", "dev")
    assert "5-scores: no scores here" in error.what
    assert "curation scores models" in error.fix
    (scored / "3-decisions" / "cats.jsonl").unlink()
    assert "there are no CATs yet" in refused("compare", "-c", scored).what
