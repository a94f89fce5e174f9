"""The papers' printed tables as they ship, and runs beside them."""

import csv
from collections import Counter
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest

from curation.files import CurationError, shipped
from curation.models.rules import PROFILES
from curation.records import Cat, Kind
from curation.scores import published
from curation.scores.groups import mark_heads
from curation.scores.published import (
    Printed,
    beside,
    by_split,
    choose,
    printed_name,
    tables,
    targets,
)
from curation.scores.runs import Run
from support.cats import cat

KINDS: tuple[Kind, ...] = ("intrasentence", "intersentence")


def run(model: str, cats: list[Cat], three: tuple[float, float, float], **about: Any) -> Run:
    scores = {a.id: v for c in cats for a, v in zip(c.associations, three, strict=True)}
    return Run(model, about.pop("rule", "r"), about.pop("variant", ""), scores, about)


def cats_of(domain: str, *targets: str, kind: Kind = "intrasentence") -> list[Cat]:
    return [
        cat("-", "a", "b", "c", name=f"{kind}-{domain}-{t}", kind=kind, domain=domain, target=t)
        for t in targets
    ]


# --- what ships -----------------------------------------------------------------------------------


def test_every_printed_icat_fits_its_lms_and_ss_but_for_two_misprints() -> None:
    """icat = lms · min(ss, 100 − ss) / 50 (ACL §5.2), of values that round to the printed ones."""
    off = []
    for row in tables():
        if row.lms is None:
            continue
        half, least = 0.5 * 10**-row.digits, min(row.ss, 100 - row.ss)
        low = (row.lms - half) * (least - half) / 50 - half
        high = (row.lms + half) * min(50, least + half) / 50 + half
        if not low <= row.icat <= high:
            off.append((row.source, row.model, row.kind, row.note))
    assert off == [
        ("ACL 2021, Table 6", "BERT-large", "intersentence", "icat is 69.9 by the formula"),
        ("ACL 2021, Table 7", "Ensemble", "intersentence", "icat is 69.3 by the formula"),
    ]


def test_all_tables_of_models_are_there() -> None:
    counts = Counter(row.source for row in tables())
    # 10 models and 4 baselines; arXiv Table 4 on dev and on test. Tables 6 and 7 of ACL and 6 of
    # arXiv have 10 models of two kinds. ACL 8 and arXiv 5: a domain and two of its terms. arXiv 7
    # and 8: 11 models, two kinds, four domains and all.
    assert counts == {
        "ACL 2021, Table 4": 14, "ACL 2021, Table 5": 14, "ACL 2021, Table 6": 20,
        "ACL 2021, Table 7": 20, "ACL 2021, Table 8": 12, "arXiv 2020, Table 4": 28,
        "arXiv 2020, Table 5": 12, "arXiv 2020, Table 6": 20, "arXiv 2020, Table 7": 110,
        "arXiv 2020, Table 8": 110,
    }  # fmt: skip
    assert {row.split for row in tables() if row.source.startswith("ACL")} == {
        "test",
        "dev",  # the terms of Table 8
    }


def test_acl_prints_arxivs_intrasentence_values_again() -> None:
    """So ACL's intrasentence rows are made as arXiv's are, whatever the text says."""

    def figures(source: str) -> dict[str, tuple[float | None, float, float]]:
        return {
            row.model: (row.lms, row.ss, row.icat)
            for row in choose([source])
            if row.kind == "intrasentence"
        }

    assert figures("acl 6") == figures("arxiv 6")
    again = figures("acl 7")
    gpt = [name for name in again if name.startswith("GPT2")]
    assert {name: again[name] for name in gpt} == {name: figures("arxiv 6")[name] for name in gpt}
    assert again["GPT2"] == (91.0, 60.4, 72.0)


def test_a_table_is_named_in_several_ways_and_an_unknown_one_is_an_error() -> None:
    assert len(choose([])) == len(tables())
    for name in ("acl 4", "ACL Table 4", "ACL 2021, Table 4"):
        assert {row.source for row in choose([name])} == {"ACL 2021, Table 4"}
    with pytest.raises(CurationError, match="there is no table «acl 9»") as caught:
        choose(["arxiv 7", "acl 9"])
    assert "ACL 2021, Table 4, ACL 2021, Table 5" in caught.value.fix
    assert choose(["ALL"]) == choose(["acl 4", "all"]) == list(tables())


def test_terms_are_the_papers_and_spelled_as_the_word_lists_are() -> None:
    found = targets()
    both = [one for one in found if one.split]
    # Table 1 of either paper; a quarter of each is dev. The data have Trinity, which only ACL Table
    # 10 lists, in place of Holy Trinity.
    assert Counter(one.domain for one in both) == {
        "gender": 40, "profession": 120, "race": 149, "religion": 12,
    }  # fmt: skip
    assert Counter(one.domain for one in both if one.split == "dev") == {
        "gender": 10, "profession": 30, "race": 36, "religion": 3,
    }  # fmt: skip
    assert {"Trinity"} == {one.term for one in both} & {"Trinity", "Holy Trinity"}
    # Twelve terms that only ACL Table 10 lists, less Trinity, and Holy Trinity.
    assert len(found) - len(both) == 12 - 1 + 1
    words = {
        (row["domain"], row["term"], tuple(row["also"].split(";")) if row["also"] else ())
        for name in ("gender", "profession", "race", "religion")
        for row in csv.DictReader(
            StringIO(shipped("data", "words", f"{name}.csv").read_text("utf-8"))
        )
    }
    assert words == {(one.domain, one.term, one.also) for one in found}


# --- models and splits ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "about", "printed"),
    [
        ("openai-community/gpt2", {}, "GPT2"),
        ("GPT2-small", {}, "GPT2"),
        ("bert-base-uncased", {}, "BERT-base"),
        ("google-bert/bert-base-cased", {}, "BERT-base"),
        ("SentimentModel", {}, "SentimentLM"),
        ("mine", {"opened": {"model": "FacebookAI/roberta-large"}}, "RoBERTa-large"),
        ("bakery/gpt2", {}, None),  # somebody's own model of that name
        ("both", {"family": "ensemble", "members": ["gpt2/arxiv", "bert-large-cased/arxiv"]}, None),
        (
            "both",
            {
                "family": "ensemble",
                "members": ["gpt2-large/x", "google-bert/bert-large-cased/x", "GPT2-medium/x"],
            },
            "Ensemble",
        ),
        ("ensemble", {"family": "ensemble", "members": ["a/x", "b/x"]}, None),
    ],
)
def test_which_printed_model_a_run_is_of(name: str, about: Any, printed: str | None) -> None:
    assert printed_name(Run(name, "r", "", {}, about)) == printed


def test_the_split_is_found_from_the_terms() -> None:
    dev, test = cats_of("race", "Norweigan", "Columbian"), cats_of("race", "China", "Nepali")
    assert by_split([*dev, *test]) == {"dev": dev, "test": test}
    other = cats_of("race", "Andorran")
    with pytest.raises(CurationError, match=r"«Andorran» \(race\) of CAT intra"):
        by_split([*dev, *other])
    assert by_split([*dev, *other], split="test") == {"test": [*dev, *other]}


# --- runs beside them -----------------------------------------------------------------------------

TERMS = {
    domain: [one.term for one in targets() if (one.domain, one.split) == (domain, "dev")]
    for domain in ("gender", "profession", "race", "religion")
}
GENDER = cats_of("gender", *TERMS["gender"])
WHOLE = [c for kind in KINDS for d, terms in TERMS.items() for c in cats_of(d, *terms, kind=kind)]
BEST = (3.0, 2.0, 1.0)  # the stereotype, then the anti-stereotype: lms 100, ss 100, icat 0


def pairs(cats: list[Cat], *runs: Run, **options: Any) -> list[dict[str, Any]]:
    return beside(choose([]), by_split(cats), runs, **options)


def where(found: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    return [(row["source"], row["kind"], row["domain"], row["target"]) for row in found]


def test_only_rows_of_equal_split_kind_and_domain_are_beside_a_run() -> None:
    found = pairs(GENDER, run("gpt2", GENDER, BEST), run("other", GENDER, BEST))
    assert where(found) == [("arXiv 2020, Table 7", "intrasentence", "gender", "")]
    (row,) = found
    # Printed 93.28, 62.67, 69.65.
    assert row["figures"]["lms"] | {"ci": None} == {
        "printed": 93.28, "value": 100.0, "ci": None, "inside": True,
        "difference": pytest.approx(6.72),
    }  # fmt: skip
    # Ten of ten won: Wilson with t = 2.262 reaches down to 100 · 10 / (10 + 2.262²) = 66.2.
    assert row["figures"]["ss"]["ci"] == pytest.approx([66.15, 100.0], abs=0.02)
    assert not row["figures"]["ss"]["inside"]
    assert row["figures"]["icat"]["value"] == 0.0
    assert row["figures"]["icat"]["difference"] == pytest.approx(-69.65)
    assert (row["run"], row["terms"], row["cats"]) == ("gpt2/r", 10, 10)


def test_rows_of_a_whole_split_need_all_domains_and_both_kinds() -> None:
    found = pairs(WHOLE, run("gpt2", WHOLE, BEST))
    # Table 4 on dev; Table 7: two kinds, four domains and all.
    assert Counter(name for name, *_ in where(found)) == {
        "arXiv 2020, Table 4": 1,
        "arXiv 2020, Table 7": 10,
    }
    one_kind = [c for c in WHOLE if c.kind == "intrasentence"]
    found = pairs(one_kind, run("gpt2", one_kind, BEST))
    assert {(row["source"], row["kind"]) for row in found} == {
        ("arXiv 2020, Table 7", "intrasentence")
    }
    assert {row["domain"] for row in found} == {*TERMS, "all"}


def test_an_ensemble_is_beside_single_terms() -> None:
    members = ["bert-large-cased/x", "gpt2-medium/x", "gpt2-large/x"]
    found = pairs(WHOLE, run("mix", WHOLE, BEST, family="ensemble", members=members))
    terms = [row for row in found if row["target"]]
    assert len(terms) == 16  # eight in each paper
    bible = next(row for row in terms if row["target"] == "Bible")
    assert (bible["lms"], bible["ss"], bible["icat"]) == (85.0, 66.0, 57.8)
    assert "weights" in bible["why"]


def test_whether_the_rule_is_the_tables() -> None:
    arxiv = {"intrasentence": "ll-arxiv", "intersentence": "nsp"}
    own = {"intrasentence": "ll-bos", "intersentence": "conditional"}
    found = pairs(
        WHOLE,
        run("gpt2", WHOLE, BEST, rule="a", rules=arxiv),
        run("gpt2", WHOLE, BEST, rule="b", rules=own),
        run("gpt2", WHOLE, BEST, rule="c", rules=arxiv, variant="lower"),
        run("gpt2", WHOLE, BEST, rule="predictions"),
    )
    both = [row for row in found if row["kind"] == "both"]
    assert [(row["rule"], row["same_rule"]) for row in both] == [
        ("ll-arxiv / nsp", True),
        ("ll-bos / conditional", False),
        ("ll-arxiv+lower / nsp+lower", False),
        ("predictions", None),
    ]
    assert {row["table_rule"] for row in both} == {"ll-arxiv or ll-code / nsp"}
    # GPT-2 has no head of its own, so a trained one was used, which is not public.
    assert [row["why"] for row in both] == [
        ["head"],
        ["rule", "head"],
        ["rule", "head"],
        ["unknown rule", "head"],
    ]


@pytest.mark.parametrize(
    ("model", "declared", "same", "why"),
    [
        # The printed numbers are arithmetic means of p, the text says means of log p.
        ("bert-base-cased", "code", True, ["casing"]),
        ("bert-base-cased", "attribute-code-literal_nsp", True, ["casing"]),
        ("bert-base-cased", "arxiv", False, ["text", "casing"]),
        ("bert-base-cased", "acl-pll", False, ["rule", "casing"]),
        ("roberta-base", "code", True, ["not known"]),
        # StereoSet's code reads XLNet in a way for which there is no rule.
        ("xlnet-base-cased", "code", True, ["not known"]),
        ("xlnet-base-cased", "arxiv", False, ["text"]),
        ("xlnet-base-cased", "attribute-code", False, ["rule"]),
        # It is not known whether the first token is counted.
        ("gpt2", "code", True, ["not known"]),
        ("gpt2", "arxiv", True, ["not known"]),
        ("gpt2", "acl-ll", False, ["rule"]),
    ],
)
def test_the_rule_of_a_row_is_that_of_its_numbers(
    model: str, declared: str, same: bool, why: list[str]
) -> None:
    """Of ten stereotypes ten win: lms 100, ss 100, which no model has."""
    profile = declared if declared in PROFILES else ""
    one = replace(run(model, GENDER, BEST, rule=declared), profile=profile)
    (row,) = pairs(GENDER, one)
    assert (row["same_rule"], row["why"]) == (same, why)
    assert (row["profile"], row["basis"]) == ("arxiv", "files")


def test_acls_pseudo_likelihood_rows_of_gpt2_are_means_within_sentences() -> None:
    """The intrasentence values are arXiv's; those of both kinds have the text's ratio, too."""
    cats = [c for kind in KINDS for d, terms in TEST.items() for c in cats_of(d, *terms, kind=kind)]
    runs = [
        replace(run("gpt2", cats, BEST, rule=name), profile=name if name in PROFILES else "")
        for name in ("acl-pll", "code", "ll-arxiv_ratio")
    ]
    found = beside(choose(["acl 5", "acl 7"]), by_split(cats), runs)
    same = {(row["kind"], row["run"]): (row["same_rule"], row["table_rule"]) for row in found}
    first, both = "ll-arxiv or ll-code", "ll-arxiv or ll-code / ratio"
    assert same == {
        ("both", "gpt2/acl-pll"): (False, both),
        ("both", "gpt2/code"): (False, both),
        ("both", "gpt2/ll-arxiv_ratio"): (True, both),
        ("intrasentence", "gpt2/acl-pll"): (False, first),
        ("intrasentence", "gpt2/code"): (True, first),
        ("intrasentence", "gpt2/ll-arxiv_ratio"): (True, first),
        ("intersentence", "gpt2/acl-pll"): (True, "ratio"),
        ("intersentence", "gpt2/code"): (False, "ratio"),
        ("intersentence", "gpt2/ll-arxiv_ratio"): (True, "ratio"),
    }


def test_each_row_says_what_its_numbers_follow_and_how_this_is_known() -> None:
    """Only rows of dev can be checked against the authors' files; those of test are inferred."""
    for row in tables():
        assert bool(row.profile) == bool(row.numbers) == bool(row.basis), row
        assert set(row.numbers) <= PROFILES.keys()
        assert (row.basis == "files") == (row.split == "dev" and bool(row.profile)), row
        assert (row.basis == "text") == (row.numbers == (row.profile,)), row
    assert {row.basis for row in tables()} == {"", "files", "dev rows", "arXiv rows", "text"}
    # What is inferred from equal rows is equal, but for roundings and known misprints.
    at = {(r.source[:5], r.split, r.kind, r.model): r for r in tables()
          if r.source in ("arXiv 2020, Table 4", "arXiv 2020, Table 6")}  # fmt: skip
    for row in tables():
        if row.basis == "arXiv rows" and row.profile == "acl-ll" and not row.note:
            same = at["arXiv", row.split, row.kind, row.model]
            assert abs((row.lms or 0) - (same.lms or 0)) < 0.11 > abs(row.ss - same.ss), row


def test_reasons_that_depend_on_model_and_table() -> None:
    rules = {"intrasentence": "attribute-code-literal", "intersentence": "nsp"}
    missing = WHOLE[1:]
    found = pairs(
        WHOLE,
        run("bert-base-cased", WHOLE, BEST, rules=rules),
        run("SentimentModel", missing, BEST),
    )
    why = {(row["model"], row["kind"], row["domain"]): row["why"] for row in found}
    # arXiv §7.1 takes BERT's own head.
    assert why["BERT-base", "both", "all"] == ["casing"]
    assert why["SentimentLM", "intrasentence", "gender"] == ["classifier", "part"]
    assert why["SentimentLM", "intrasentence", "race"] == ["classifier"]


def test_acl_rows_of_gpt2_are_means_and_bert_has_a_trained_head_there() -> None:
    test = {d: [t.term for t in targets() if (t.domain, t.split) == (d, "test")]
            for d in TERMS}  # fmt: skip
    cats = [c for kind in KINDS for d, terms in test.items() for c in cats_of(d, *terms, kind=kind)]
    runs = [
        run("gpt2", cats, BEST, rules={"intrasentence": "ll-acl", "intersentence": "nsp"}),
        run("bert-large-cased", cats, BEST, rules={"intrasentence": "attribute-acl",
                                                   "intersentence": "nsp"}),
    ]  # fmt: skip
    found = beside(choose(["acl 6"]), by_split(cats), runs)
    why = {(row["model"], row["kind"]): row["why"] for row in found}
    assert why["GPT2", "intrasentence"] == ["text"]
    assert why["BERT-large", "intersentence"] == ["head", "casing", "misprint"]


TEST = {d: [t.term for t in targets() if (t.domain, t.split) == (d, "test")] for d in TERMS}


def of_head(head: str, **about: Any) -> dict[str, Any]:
    return {**about, "opened": {"nsp": {"next_sentence": {"head": head}}}}


def heads(table: str, runs: list[Run], cats: list[Cat]) -> list[tuple[Any, ...]]:
    found = beside(choose([table]), by_split(cats), runs)
    inter = [row for row in found if row["kind"] == "intersentence" and row["domain"] == "all"]
    return [(row["rule"], row["same_rule"], row["why"]) for row in inter]


def test_under_acl_a_models_own_head_is_not_the_tables() -> None:
    """ACL §6.1 trains a head for every model."""
    cats = [c for kind in KINDS for d, terms in TEST.items() for c in cats_of(d, *terms, kind=kind)]
    rules = {"intrasentence": "attribute-acl", "intersentence": "nsp"}
    runs = [
        run("bert-base-cased", cats, BEST, rule="a", rules=rules, own_head=True),
        run("bert-base-cased", cats, BEST, rule="b", rules=rules, **of_head("own")),
        run("bert-base-cased", cats, BEST, rule="c", rules=rules, **of_head("trained")),
        run("bert-base-cased", cats, BEST, rule="d", rules={**rules, "intersentence": "pll"}),
    ]
    assert heads("acl 6", runs, cats) == [
        ("nsp (own head)", False, ["own head", "casing"]),
        ("nsp (own head)", False, ["own head", "casing"]),
        ("nsp", True, ["head", "casing"]),
        ("pll", False, ["rule", "head", "casing"]),
    ]
    # The head has no part in intrasentence rows; rows of both kinds have it.
    found = beside(choose(["acl 4", "acl 6"]), by_split(cats), runs[:1])
    assert [(row["kind"], row["rule"], row["same_rule"]) for row in found] == [
        ("both", "attribute-acl / nsp (own head)", False),
        ("intrasentence", "attribute-acl", False),
        ("intersentence", "nsp (own head)", False),
    ]


def test_under_arxiv_a_trained_head_of_bert_is_not_the_tables() -> None:
    """arXiv §7.1 takes BERT's own head; all others are trained (§7.2)."""
    rules = {"intrasentence": "attribute-arxiv", "intersentence": "nsp"}
    runs = [
        run("bert-base-cased", WHOLE, BEST, rule="a", rules=rules, **of_head("own")),
        run("bert-base-cased", WHOLE, BEST, rule="b", rules=rules, **of_head("trained")),
        run("roberta-base", WHOLE, BEST, rule="b", rules=rules, **of_head("trained")),
    ]
    assert heads("arxiv 7", runs, WHOLE) == [
        ("nsp", True, ["casing"]),
        ("nsp (trained head)", False, ["trained head", "casing"]),
        ("nsp", True, ["head"]),
    ]


def test_a_head_of_another_training_is_marked_with_the_difference() -> None:
    """ACL §6.1 trains identical heads on identical datasets."""
    rules = {"intrasentence": "ll-arxiv", "intersentence": "nsp"}
    heads = [{**of_head("trained"), "head_training": {"seed": seed}} for seed in (1, 1, 2)]
    names = ("gpt2", "gpt2-medium", "gpt2-large")
    runs = [run(*of, WHOLE, BEST, rules=rules, **head)
            for *of, head in zip(names, heads, strict=True)]  # fmt: skip
    found = pairs(WHOLE, *mark_heads(runs, WHOLE))
    text = "next-sentence head trained with seed 2 instead of 1"
    marked = {(row["model"], row["other_head"], *row["flags"]) for row in found}
    assert marked == {("GPT2", ""), ("GPT2-medium", ""), ("GPT2-large", text, "other_head")}
    head, *rows = published.long_rows(found)
    columns = [dict(zip(head, row, strict=True)) for row in rows]
    assert {(row["model"], row["other_head"]) for row in columns} == {of[:2] for of in marked}
    assert f"gpt2-large/r: {text}." in published.latex(found)


def test_an_ensemble_with_an_own_head_is_not_as_acl_says() -> None:
    members = ["bert-large-cased/x", "gpt2-medium/x", "gpt2-large/x"]
    about = {"family": "ensemble", "members": members, "rules": {"intersentence": "nsp"}}
    inter = [c for c in WHOLE if c.kind == "intersentence"]
    rows = [r._replace(kind="intersentence") for r in choose(["acl 8"]) if r.target == "Bible"]
    for own, same in ((True, False), (False, None)):
        (row,) = beside(rows, by_split(inter), [run("mix", inter, BEST, **about, own_head=own)])
        assert (row["same_rule"], "own head" in row["why"]) == (same, own)


def test_marks_of_runs_and_cells() -> None:
    """Religion has three terms in dev; the lms of 100 of three terms has a wide interval."""
    religion = cats_of("religion", *TERMS["religion"])
    tokens = {"read": 10, "unknown": 6}
    (row,) = pairs(religion, run("gpt2", religion, (1.0, 1.0, 0.0), tokens=tokens))
    # Of three comparisons of each CAT one is a tie.
    assert (row["flags"], row["few_terms"]) == (["unknown_tokens"], True)
    assert row["too_wide"] == ["lms"]
    (row,) = pairs(GENDER, run("gpt2", GENDER, (1.0, 1.0, 1.0)))
    assert (row["flags"], row["few_terms"], row["too_wide"]) == (["ties"], False, [])


def test_cats_left_out_by_tier_are_a_reason() -> None:
    """All ten terms are there, with one CAT of two each."""
    twice = [*GENDER, *(c.model_copy(update={"id": f"{c.id}-2"}) for c in GENDER)]
    mine = run("gpt2", GENDER, BEST)
    (row,) = pairs(GENDER, mine, whole=by_split(twice))
    assert row["why"] == ["unknown rule", "part"]
    (row,) = pairs(GENDER, mine, whole=by_split(GENDER))
    assert row["why"] == ["unknown rule"]


def test_a_difference_without_a_known_reason_is_reported() -> None:
    rules = {"intrasentence": "attribute-code-literal"}
    (row,) = pairs(GENDER, run("roberta-base", GENDER, BEST, rules=rules))
    assert (row["same_rule"], row["why"]) == (True, ["not known"])
    assert "not known" in published.WHY


def test_ties_are_a_reason_if_they_count_half() -> None:
    tied = (1.0, 1.0, 1.0)
    (half,) = pairs(GENDER, run("gpt2", GENDER, tied), ties="half")
    (lost,) = pairs(GENDER, run("gpt2", GENDER, tied))
    assert half["figures"]["lms"]["value"] == 50.0
    assert lost["figures"]["lms"]["value"] == 0.0
    assert ("ties" in half["why"], "ties" in lost["why"]) == (True, False)


def test_equal_values_need_no_reason() -> None:
    rows = [Printed("ACL 2021, Table 4", "acl-ll", ("acl-ll",), "text", "dev",
                    "intrasentence", "gender", "", "GPT2", 100.0, 100.0, 0.0, 1, "")]  # fmt: skip
    (row,) = beside(rows, by_split(GENDER), [run("gpt2", GENDER, BEST)])
    assert row["why"] == []


def test_a_run_without_scores_of_a_split_is_reported() -> None:
    messages: list[str] = []
    other = cats_of("gender", "lady")
    assert pairs(GENDER, run("gpt2", other, BEST), skipped=messages.append) == []
    assert messages == [": has no scores for the 10 dev CATs"]


# --- files ----------------------------------------------------------------------------------------


def test_the_long_table_has_a_row_per_metric() -> None:
    head, *rows = published.long_rows(pairs(GENDER, run("gpt2", GENDER, BEST)))
    found = [dict(zip(head, row, strict=True)) for row in rows]
    assert [one["figure"] for one in found] == ["lms", "ss", "icat"]
    assert (found[0]["printed"], found[0]["value"]) == (93.28, 100.0)
    religion = cats_of("religion", *TERMS["religion"])
    marked = run("gpt2", religion, (1.0, 1.0, 0.0), tokens={"read": 10, "unknown": 6})
    head, *rows = published.long_rows(pairs(religion, marked), tier=4)
    found = [dict(zip(head, row, strict=True)) for row in rows]
    assert [one["too_wide"] for one in found] == [True, False, False]
    assert {(one["few_terms"], one["flags"], one["tier"]) for one in found} == {
        (True, "unknown_tokens", 4)
    }
    head, *rows = published.long_rows([row._asdict() for row in choose(["acl 4"])])
    assert len(rows) == 14 * 3
    assert dict(zip(head, rows[3], strict=True))["printed"] is None  # StereotypedLM's lms
    last = dict(zip(head, rows[-4], strict=True))
    assert (last["model"], last["numbers"], last["basis"]) == (
        *("GPT2-large", "arxiv or code", "arXiv rows"),
    )


def test_latex_of_printed_rows_and_of_pairs() -> None:
    text = published.latex([row._asdict() for row in choose(["acl 4"])])
    assert r"ACL 2021, Table 4 & test & both & all & StereotypedLM & -- & 100.0 & 0.0 \\" in text
    found = pairs(GENDER, run("gpt2", GENDER, BEST))
    plain = published.latex(found)
    assert (
        r"arXiv 2020, Table 7 & dev & intrasentence & gender & GPT2 & gpt2/r (r)"
        r" & 93.28 & 100.00 & 62.67 & 100.00 & 69.65 & 0.00 \\" in plain
    )
    with_intervals = published.latex(found, intervals=True)
    extra = set(with_intervals.splitlines()) - set(plain.splitlines())
    assert len(extra) == 1
    assert r"{\scriptsize [66.1, 100.0]}" in extra.pop()
    counts = {line.count("&") for line in with_intervals.splitlines() if line.endswith(r"\\")}
    assert counts == {11, 0}  # 0: the caption


def test_latex_explains_its_marks() -> None:
    printed = published.latex([row._asdict() for row in choose(["acl 4"])])
    assert r"\caption{lms, ss and icat as the StereoSet papers print them.}" in printed
    religion = cats_of("religion", *TERMS["religion"])
    about = {"tokens": {"read": 10, "unknown": 6}, "rules": {"intrasentence": "pll"}}
    found = pairs(religion, run("gpt2", religion, (1.0, 1.0, 0.0), **about))
    text = published.latex(found, tier=4, ties="half", intervals=True)
    assert r" & religion* & GPT2\textsuperscript{\ddag} & gpt2/r (other: pll) & " in text
    (caption,) = [line for line in text.splitlines() if line.startswith(r"\caption")]
    assert "(ties half; CATs of tier 4 or more). other: not scored by the table's rule." in caption
    assert "*: fewer than five terms." in caption
    assert r"\textsuperscript{\ddag}: more than half of the tokens" in caption
    assert r"\textasciitilde{}: an interval" in caption
    assert r"]}\textasciitilde{} & & {" in text.replace("&  &", "& &")
    assert "interval" not in published.latex(found)
