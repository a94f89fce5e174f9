"""The papers' printed tables as they ship, and runs beside them."""

import csv
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import pytest

from curation.files import shipped
from curation.kinds import CAT_KINDS, Kind
from curation.models.rules import PROFILES
from curation.records import Cat
from curation.scores import published
from curation.scores.groups import mark_heads
from curation.scores.published import beside, by_split, choose, printed_name, tables, targets
from curation.scores.runs import Run
from support.boards import Three
from support.cats import cat
from support.expected import fails

BEST = (3.0, 2.0, 1.0)  # the stereotype, then the anti-stereotype: lms 100, ss 100, icat 0


def run(model: str, cats: list[Cat], three: Three = BEST, rule: str = "r", **about: Any) -> Run:
    """A run with these scores of each CAT; a rule that is a profile is declared as that."""
    scores = {a.id: v for c in cats for a, v in zip(c.associations, three, strict=True)}
    return Run(model, rule, "", scores, about, profile=rule if rule in PROFILES else "")


def cats_of(domain: str, *targets: str, kind: Kind = "intrasentence") -> list[Cat]:
    return [
        cat("-", "a", "b", "c", name=f"{kind}-{domain}-{t}", kind=kind, domain=domain, target=t)
        for t in targets
    ]


def whole(split: str) -> list[Cat]:
    """A CAT of each kind for each of the papers' terms of a split."""
    terms = [(one.domain, one.term) for one in targets() if one.split == split]
    return [
        c for kind in CAT_KINDS for domain, term in terms for c in cats_of(domain, term, kind=kind)
    ]


DEV, TEST = whole("dev"), whole("test")
GENDER, RELIGION = (
    [c for c in DEV if (c.domain, c.kind) == (domain, "intrasentence")]
    for domain in ("gender", "religion")
)
UNKNOWN = {"read": 10, "unknown": 6}  # more than half of the tokens


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


def test_a_mean_that_does_not_fit_its_kinds_has_a_note() -> None:
    """arXiv Table 4 has means over the kinds of Table 7 (dev) and Table 8 (test), but for one row.

    SentimentLM on dev: (46.01 + 83.51) / 2 = 64.76, printed 65.5; (56.40 + 66.93) / 2 = 61.665,
    printed 60.2. All other values are at most .125 away, as sums of rounded values can be.
    """
    kinds = {"dev": "arXiv 2020, Table 7", "test": "arXiv 2020, Table 8"}
    off, checked = [], 0
    for row in tables():
        if row.source != "arXiv 2020, Table 4" or row.lms is None:
            continue
        parts = [
            part
            for part in tables()
            if (part.source, part.model, part.domain) == (kinds[row.split], row.model, "all")
        ]
        checked += len(parts) == 2
        if (
            parts
            and max(
                abs(row.lms - sum(part.lms or 0 for part in parts) / 2),
                abs(row.ss - sum(part.ss for part in parts) / 2),
            )
            > 0.126
        ):
            off.append((row.split, row.model, row.note))
    assert checked == 22  # eleven models on dev and on test
    assert off == [("dev", "SentimentLM", "the kinds in Table 7 have the means 64.8 and 61.7")]


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
    # The terms of Table 8 are of dev.
    assert {row.split for row in tables() if row.source.startswith("ACL")} == {"test", "dev"}


def test_acl_prints_arxivs_intrasentence_values_again() -> None:
    """So ACL's intrasentence rows are made as arXiv's are, whatever the text says."""

    def figures(source: str) -> dict[str, tuple[float | None, float, float]]:
        return {
            row.model: (row.lms, row.ss, row.icat)
            for row in choose([source])
            if row.kind == "intrasentence"
        }

    arxiv, again = figures("arxiv 6"), figures("acl 7")
    assert figures("acl 6") == arxiv
    gpt = [name for name in again if name.startswith("GPT2")]
    assert {name: again[name] for name in gpt} == {name: arxiv[name] for name in gpt}
    assert again["GPT2"] == (91.0, 60.4, 72.0)


def test_a_table_is_named_in_several_ways_and_an_unknown_one_is_an_error() -> None:
    assert len(choose([])) == len(tables())
    for name in ("acl 4", "ACL Table 4", "ACL 2021, Table 4"):
        assert {row.source for row in choose([name])} == {"ACL 2021, Table 4"}
    with fails("there is no table «acl 9»", fix="ACL 2021, Table 4, ACL 2021, Table 5"):
        choose(["arxiv 7", "acl 9"])
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
        for row in csv.DictReader(shipped("data", "words", f"{name}.csv").read_text().splitlines())
    }
    assert words == {(one.domain, one.term, one.also) for one in found}


# --- models and splits ----------------------------------------------------------------------------


def ensemble(*members: str) -> dict[str, Any]:
    return {"family": "ensemble", "members": [*members]}


MEMBERS = ensemble("bert-large-cased/x", "gpt2-medium/x", "gpt2-large/x")


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
        ("both", ensemble("gpt2/arxiv", "bert-large-cased/arxiv"), None),
        ("both", ensemble("gpt2-large/x", "google-bert/bert-large-cased/x", "GPT2-medium/x"),
         "Ensemble"),
        ("ensemble", ensemble("a/x", "b/x"), None),
    ],
)  # fmt: skip
def test_which_printed_model_a_run_is_of(name: str, about: Any, printed: str | None) -> None:
    assert printed_name(Run(name, "r", "", {}, about)) == printed


def test_the_split_is_found_from_the_terms() -> None:
    dev, test = cats_of("race", "Norweigan", "Columbian"), cats_of("race", "China", "Nepali")
    assert by_split([*dev, *test]) == {"dev": dev, "test": test}
    other = cats_of("race", "Andorran")
    with fails("«Andorran» (race) of CAT intra"):
        by_split([*dev, *other])
    assert by_split([*dev, *other], split="test") == {"test": [*dev, *other]}


# --- runs beside them -----------------------------------------------------------------------------


def pairs(cats: list[Cat], *runs: Run, **options: Any) -> list[dict[str, Any]]:
    return beside(choose([]), by_split(cats), runs, **options)


def test_only_rows_of_equal_split_kind_and_domain_are_beside_a_run() -> None:
    (row,) = pairs(GENDER, run("gpt2", GENDER), run("other", GENDER))
    where = {"source": "arXiv 2020, Table 7", "kind": "intrasentence", "domain": "gender",
             "target": "", "run": "gpt2/r", "terms": 10, "cats": 10}  # fmt: skip
    assert row | where == row
    # Printed 93.28, 62.67, 69.65.
    lms, ss, icat = (row["figures"][name] for name in ("lms", "ss", "icat"))
    assert lms == {
        "printed": 93.28, "value": 100.0, "ci": lms["ci"], "inside": True,
        "difference": pytest.approx(6.72),
    }  # fmt: skip
    # Ten of ten won: Wilson with t = 2.262 reaches down to 100 · 10 / (10 + 2.262²) = 66.2.
    assert ss["ci"] == pytest.approx([66.15, 100.0], abs=0.02)
    assert not ss["inside"]
    assert (icat["value"], icat["difference"]) == (0.0, pytest.approx(-69.65))


def test_rows_of_a_whole_split_need_all_domains_and_both_kinds() -> None:
    found = pairs(DEV, run("gpt2", DEV))
    # Table 4 on dev; Table 7: two kinds, four domains and all.
    counts = Counter(row["source"] for row in found)
    assert counts == {"arXiv 2020, Table 4": 1, "arXiv 2020, Table 7": 10}
    one_kind = [c for c in DEV if c.kind == "intrasentence"]
    found = pairs(one_kind, run("gpt2", one_kind))
    assert {(row["source"], row["kind"], row["domain"]) for row in found} == {
        ("arXiv 2020, Table 7", "intrasentence", domain)
        for domain in ("gender", "profession", "race", "religion", "all")
    }


def test_an_ensemble_is_beside_single_terms() -> None:
    terms = [row for row in pairs(DEV, run("mix", DEV, **MEMBERS)) if row["target"]]
    assert len(terms) == 16  # eight in each paper
    bible = next(row for row in terms if row["target"] == "Bible")
    assert (bible["lms"], bible["ss"], bible["icat"]) == (85.0, 66.0, 57.8)
    assert "weights" in bible["why"]


def test_whether_the_rule_is_the_tables() -> None:
    arxiv = {"intrasentence": "ll-arxiv", "intersentence": "nsp"}
    own = {"intrasentence": "ll-bos", "intersentence": "conditional"}
    found = pairs(
        DEV,
        run("gpt2", DEV, rule="a", rules=arxiv),
        run("gpt2", DEV, rule="b", rules=own),
        replace(run("gpt2", DEV, rule="c", rules=arxiv), variant="lower"),
        run("gpt2", DEV, rule="predictions"),
    )
    both = [row for row in found if row["kind"] == "both"]
    # GPT-2 has no head of its own, so a trained one was used, which is not public.
    assert [(row["rule"], row["same_rule"], row["why"]) for row in both] == [
        ("ll-arxiv / nsp", True, ["head"]),
        ("ll-bos / conditional", False, ["rule", "head"]),
        ("ll-arxiv+lower / nsp+lower", False, ["rule", "head"]),
        ("predictions", None, ["unknown rule", "head"]),
    ]
    assert {row["table_rule"] for row in both} == {"ll-arxiv or ll-code / nsp"}


@pytest.mark.parametrize(
    ("model", "declared", "same", "why"),
    [
        # The printed numbers are arithmetic means of p, the text says means of log p.
        ("bert-base-cased", "code", True, ["casing"]),
        ("bert-base-cased", "attribute-code-literal_nsp", True, ["casing"]),
        ("bert-base-cased", "arxiv", False, ["text", "casing"]),
        ("bert-base-cased", "acl-pll", False, ["rule", "casing"]),
        ("roberta-base", "code", True, ["not known"]),
        ("roberta-base", "attribute-code-literal_nsp", True, ["not known"]),
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
def test_a_row_has_the_rule_of_its_numbers(
    model: str, declared: str, same: bool, why: list[str]
) -> None:
    """Of ten stereotypes ten win: lms 100, ss 100, which no model has."""
    (row,) = pairs(GENDER, run(model, GENDER, rule=declared))
    assert (row["same_rule"], row["why"]) == (same, why)
    assert (row["profile"], row["basis"]) == ("arxiv", "files")
    assert published.WHY.keys() >= {*why}


def test_acls_pseudo_likelihood_rows_of_gpt2_are_means_within_sentences() -> None:
    """The intrasentence values are arXiv's; those of both kinds have the text's ratio, too."""
    runs = [run("gpt2", TEST, rule=rule) for rule in ("acl-pll", "code", "ll-arxiv_ratio")]
    found = beside(choose(["acl 5", "acl 7"]), by_split(TEST), runs)
    same: dict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
    for row in found:
        same[row["kind"], row["table_rule"]][row["run"]] = row["same_rule"]
    assert same == {
        (kind, rule): {"gpt2/acl-pll": acl, "gpt2/code": code, "gpt2/ll-arxiv_ratio": True}
        for kind, rule, acl, code in (
            ("both", "ll-arxiv or ll-code / ratio", False, False),
            ("intrasentence", "ll-arxiv or ll-code", False, True),
            ("intersentence", "ratio", True, False),
        )
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
    found = pairs(
        DEV,
        run("bert-base-cased", DEV, rules=with_nsp("attribute-code-literal")),
        run("SentimentModel", DEV[1:]),
    )
    why = {(row["model"], row["kind"], row["domain"]): row["why"] for row in found}
    # arXiv §7.1 takes BERT's own head.
    assert why["BERT-base", "both", "all"] == ["casing"]
    assert why["SentimentLM", "intrasentence", "gender"] == ["classifier", "part"]
    assert why["SentimentLM", "intrasentence", "race"] == ["classifier"]


def test_acl_rows_of_gpt2_are_means_and_bert_has_a_trained_head_there() -> None:
    runs = [
        run("gpt2", TEST, rules=with_nsp("ll-acl")),
        run("bert-large-cased", TEST, rules=with_nsp("attribute-acl")),
    ]
    found = beside(choose(["acl 6"]), by_split(TEST), runs)
    why = {(row["model"], row["kind"]): row["why"] for row in found}
    assert why["GPT2", "intrasentence"] == ["text"]
    assert why["BERT-large", "intersentence"] == ["head", "casing", "misprint"]


def with_nsp(rule: str) -> dict[str, str]:
    return {"intrasentence": rule, "intersentence": "nsp"}


def of_head(head: str) -> dict[str, Any]:
    return {"nsp": {"next_sentence": {"head": head}}}


def heads(table: str, cats: list[Cat], *runs: Run) -> list[tuple[Any, ...]]:
    found = beside(choose([table]), by_split(cats), runs)
    inter = [row for row in found if row["kind"] == "intersentence" and row["domain"] == "all"]
    return [(row["rule"], row["same_rule"], row["why"]) for row in inter]


def test_under_acl_a_models_own_head_is_not_the_tables() -> None:
    """ACL §6.1 trains a head for every model."""
    rules = with_nsp("attribute-acl")
    accepted = run("bert-base-cased", TEST, rules=rules, own_head=True)
    own, trained = (
        run("bert-base-cased", TEST, rule=head, rules=rules, opened=of_head(head))
        for head in ("own", "trained")
    )
    pll = run("bert-base-cased", TEST, rule="d", rules={**rules, "intersentence": "pll"})
    assert heads("acl 6", TEST, accepted, own, trained, pll) == [
        ("nsp (own head)", False, ["own head", "casing"]),
        ("nsp (own head)", False, ["own head", "casing"]),
        ("nsp", True, ["head", "casing"]),
        ("pll", False, ["rule", "head", "casing"]),
    ]
    # The head has no part in intrasentence rows; rows of both kinds have it.
    found = beside(choose(["acl 4", "acl 6"]), by_split(TEST), [accepted])
    assert [(row["kind"], row["rule"], row["same_rule"]) for row in found] == [
        ("both", "attribute-acl / nsp (own head)", False),
        ("intrasentence", "attribute-acl", False),
        ("intersentence", "nsp (own head)", False),
    ]


def test_under_arxiv_a_trained_head_of_bert_is_not_the_tables() -> None:
    """arXiv §7.1 takes BERT's own head; all others are trained (§7.2)."""
    models = [
        ("bert-base-cased", "own"),
        ("bert-base-cased", "trained"),
        ("roberta-base", "trained"),
    ]
    runs = [
        run(model, DEV, rule=head, rules=with_nsp("attribute-arxiv"), opened=of_head(head))
        for model, head in models
    ]
    assert heads("arxiv 7", DEV, *runs) == [
        ("nsp", True, ["casing"]),
        ("nsp (trained head)", False, ["trained head", "casing"]),
        ("nsp", True, ["head"]),
    ]


def test_a_head_of_another_training_is_marked_with_the_difference() -> None:
    """ACL §6.1 trains identical heads on identical datasets."""
    found = pairs(DEV, *mark_heads([
        run(model, DEV, rules=with_nsp("ll-arxiv"), opened=of_head("trained"),
            head_training={"seed": seed})
        for model, seed in (("gpt2", 1), ("gpt2-medium", 1), ("gpt2-large", 2))
    ], DEV))  # fmt: skip
    text = "next-sentence head trained with seed 2 instead of 1"
    marked = {(row["model"], row["other_head"], *row["flags"]) for row in found}
    assert marked == {("GPT2", ""), ("GPT2-medium", ""), ("GPT2-large", text, "other_head")}
    rows = long_rows(found)
    assert {(row["model"], row["other_head"]) for row in rows} == {of[:2] for of in marked}
    assert f"gpt2-large/r: {text}." in published.latex(found)


def test_an_ensemble_with_an_own_head_is_not_as_acl_says() -> None:
    about = {**MEMBERS, "rules": {"intersentence": "nsp"}}
    inter = [c for c in DEV if c.kind == "intersentence"]
    rows = [r._replace(kind="intersentence") for r in choose(["acl 8"]) if r.target == "Bible"]
    for own, same in ((True, False), (False, None)):
        (row,) = beside(rows, by_split(inter), [run("mix", inter, **about, own_head=own)])
        assert (row["same_rule"], "own head" in row["why"]) == (same, own)


def test_marks_of_runs_and_cells() -> None:
    """Religion has three terms in dev; the lms of 100 of three terms has a wide interval."""
    # Of three comparisons of each CAT one is a tie.
    (row,) = pairs(RELIGION, run("gpt2", RELIGION, (1.0, 1.0, 0.0), tokens=UNKNOWN))
    marks = ("flags", "few_terms", "too_wide")
    assert [row[name] for name in marks] == [["unknown_tokens"], True, ["lms"]]
    (row,) = pairs(GENDER, run("gpt2", GENDER, (1.0, 1.0, 1.0)))
    assert [row[name] for name in marks] == [["ties"], False, []]


def test_cats_left_out_by_tier_are_a_reason() -> None:
    """All ten terms are there, with one CAT of two each."""
    twice = [*GENDER, *(c.model_copy(update={"id": f"{c.id}-2"}) for c in GENDER)]
    for every, why in ((twice, ["unknown rule", "part"]), (GENDER, ["unknown rule"])):
        (row,) = pairs(GENDER, run("gpt2", GENDER), whole=by_split(every))
        assert row["why"] == why


@pytest.mark.parametrize(("ties", "lms"), [("half", 50.0), ("official", 0.0)])
def test_ties_are_a_reason_if_they_count_half(ties: Any, lms: float) -> None:
    (row,) = pairs(GENDER, run("gpt2", GENDER, (1.0, 1.0, 1.0)), ties=ties)
    assert (row["figures"]["lms"]["value"], "ties" in row["why"]) == (lms, ties == "half")


def test_equal_values_need_no_reason_and_a_run_without_scores_of_a_split_is_reported() -> None:
    rows = [published.Printed("ACL 2021, Table 4", "acl-ll", ("acl-ll",), "text", "dev",
                    "intrasentence", "gender", "", "GPT2", 100.0, 100.0, 0.0, 1, "")]  # fmt: skip
    (row,) = beside(rows, by_split(GENDER), [run("gpt2", GENDER)])
    assert row["why"] == []
    messages: list[str] = []
    other = run("gpt2", cats_of("gender", "lady"))
    assert pairs(GENDER, other, skipped=messages.append) == []
    assert messages == [": has no scores for the 10 dev CATs"]


# --- files ----------------------------------------------------------------------------------------


def long_rows(found: list[dict[str, Any]], **options: Any) -> list[dict[str, Any]]:
    head, *rows = published.long_rows(found, **options)
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_the_long_table_has_a_row_per_metric() -> None:
    found = long_rows(pairs(GENDER, run("gpt2", GENDER)))
    assert [one["figure"] for one in found] == ["lms", "ss", "icat"]
    assert (found[0]["printed"], found[0]["value"]) == (93.28, 100.0)
    marked = run("gpt2", RELIGION, (1.0, 1.0, 0.0), tokens=UNKNOWN)
    found = long_rows(pairs(RELIGION, marked), tier=4)
    assert [(one["too_wide"], one["few_terms"], one["flags"], one["tier"]) for one in found] == [
        (wide, True, "unknown_tokens", 4) for wide in (True, False, False)
    ]
    found = long_rows([row._asdict() for row in choose(["acl 4"])])
    assert len(found) == 14 * 3
    assert found[3]["printed"] is None  # StereotypedLM's lms
    last = [found[-4][name] for name in ("model", "numbers", "basis")]
    assert last == ["GPT2-large", "arxiv or code", "arXiv rows"]


def test_latex_of_printed_rows_and_of_pairs() -> None:
    text = published.latex([row._asdict() for row in choose(["acl 4"])])
    assert r"ACL 2021, Table 4 & test & both & all & StereotypedLM & -- & 100.0 & 0.0 \\" in text
    found = pairs(GENDER, run("gpt2", GENDER))
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
    pll = run("gpt2", RELIGION, (1.0, 1.0, 0.0), tokens=UNKNOWN, rules={"intrasentence": "pll"})
    found = pairs(RELIGION, pll)
    text = published.latex(found, tier=4, ties="half", intervals=True)
    assert r" & religion* & GPT2\textsuperscript{\ddag} & gpt2/r (other: pll) & " in text
    (caption,) = [line for line in text.splitlines() if line.startswith(r"\caption")]
    assert "(ties half; CATs of tier 4 or more). other: not scored by the table's rule." in caption
    assert "*: fewer than five terms." in caption
    assert r"\textsuperscript{\ddag}: more than half of the tokens" in caption
    assert r"\textasciitilde{}: an interval" in caption
    assert r"]}\textasciitilde{} & & {" in text.replace("&  &", "& &")
    assert "interval" not in published.latex(found)
