"""The agreement report on a case that a person can count, and on the example; its tables."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.decisions import agreement as module
from curation.decisions.agreement import by_annotator, by_term, facts, intent, measured, retention
from curation.decisions.filter import judge
from curation.files import read_json
from curation.records import Decision, Item, Term
from curation.stats.agreement import coefficient, count
from support.votes import VALUES, item, labels

TERMS = {"term-1": Term(id="term-1", text="baker", domain="profession", family="baker")}


Report = tuple[list[Item], list[Decision], Any]


def given(said: dict[str, str], without: str = "") -> list[Any]:
    """The labels of people, without those of some."""
    return [
        (association, who, VALUES[letter])
        for association, letters in said.items()
        for who, letter in zip("abcde", letters, strict=False)
        if letter != "-" and who not in without
    ]


def counted(items: list[Item], said: dict[str, str], **more: Any) -> Report:
    """The facts by labels: for each association a letter for each of a to e, s, a, u or r."""
    found = count(items, labels(given(said)))
    decisions = judge(items, found.votes)
    return items, decisions, facts(items, decisions, found, TERMS, **more)


SAID = {
    # x is kept; e contradicts the others twice.
    "x0": "ssssa", "x1": "aaaas", "x2": "uuuuu",
    # y falls: two stereotypes.
    "y0": "sssss", "y1": "sssaa", "y2": "uuuuu",
    # z is open: one label each.
    "z0": "s----", "z1": "a----", "z2": "u----",
}  # fmt: skip


@pytest.fixture
def report() -> Report:
    return counted([*map(item, "xyz")], SAID)


def test_scopes_and_classes(report: Report) -> None:
    _, decisions, found = report
    assert [d.reason for d in decisions] == [None, "two_of_a_kind", "too_few_labels"]
    rows = measured(found, measures=["alpha"])
    size = {(r["scope"], r["classes"]): (r["cats"], r["labels"]) for r in rows}
    assert size == {
        ("kept", "all"): (1, 15),
        ("kept", "stereo/anti"): (1, 10),
        ("decided", "all"): (2, 30),
        ("decided", "stereo/anti"): (2, 20),
    }
    one_cat = next(r for r in rows if (r["scope"], r["classes"]) == ("kept", "all"))
    assert one_cat["ci"] is None
    assert one_cat["few_cats"]
    # x: votes (4,1,0), (1,4,0), (0,0,5); n = 15, by class 5, 5, 5.
    # Agreeing pairs/(m − 1): 12/4 + 12/4 + 20/4 = 11. D_o = 4/15; D_e = (225 − 75)/(15 · 14).
    assert one_cat["value"] == pytest.approx(1 - (4 / 15) / (150 / 210))


def test_a_campaign_without_items_has_no_figures() -> None:
    _, _, found = counted([], {})
    assert measured(found) == by_term(found) == by_annotator(found) == []


def test_table_10(report: Report) -> None:
    (row,) = by_term(report[2])
    # Only x is kept. Its stereotype has 4 and 1 of 5 votes: (4/5)² + (1/5)² = 0.68; the share of
    # votes is 4/5, and (80 + 80 + 100)/3 over all three.
    assert row["agreement"] == pytest.approx(68)
    assert row["stereotype"] == pytest.approx(80)
    assert row["all"] == pytest.approx(260 / 3)
    assert (row["term"], row["domain"], row["cats"]) == ("baker", "profession", 1)
    # y is decided too: its stereotypes have 5 of 5 (1) and 3 and 2 of 5 (9/25 + 4/25 = 0.52).
    decided = row["decided"]
    assert decided["items"] == 2
    assert decided["agreement"] == pytest.approx((68 + 100 + 52) / 3)
    assert decided["stereotype"] == pytest.approx((80 + 100 + 60) / 3)
    assert decided["all"] == pytest.approx((80 + 80 + 100 + 100 + 60 + 100) / 6)


def test_a_term_without_cats_has_the_agreement_of_its_decided_items() -> None:
    said = {name: SAID[name] for name in ("y0", "y1", "y2")}
    (row,) = by_term(counted([item("y")], said)[2])
    assert (row["cats"], row["agreement"], row["stereotype"], row["all"]) == (0, None, None, None)
    assert row["decided"]["agreement"] == pytest.approx((100 + 52) / 2)


def test_both_kinds_of_a_term_are_pooled() -> None:
    said = {name: SAID[name] for name in ("x0", "x1", "x2")}
    said |= {"v0": "sssau", "v1": "aaaaa", "v2": "uuuuu"}
    (row,) = by_term(counted([item("x"), item("v", kind="intrasentence")], said)[2])
    # x: 0.68 as above; v: (3/5)² + (1/5)² + (1/5)² = 0.44. A mean over CATs, and not of all votes.
    assert row["agreement"] == pytest.approx((68 + 44) / 2)


def test_annotators_against_the_others(report: Report) -> None:
    rows = {r["annotator"]: r for r in by_annotator(report[2])}
    # e, over x0 x1 x2 y0 y1 y2: 0/4, 0/4, 4/4, 4/4, 1/4, 4/4 of the others agree.
    assert rows["e"]["with_others"] == pytest.approx(100 * (0 + 0 + 1 + 1 + 0.25 + 1) / 6)
    # Golds are stereotype, anti, unrelated; stereotype, stereotype, unrelated: e hits 3 of 6.
    assert rows["e"]["with_gold"] == pytest.approx(50)
    # a labelled z too, where nobody else did and no gold label is: nine labels, six compared.
    assert rows["a"]["labels"] == 9
    assert rows["a"]["with_others"] == pytest.approx(100 * (0.75 + 0.75 + 1 + 1 + 0.5 + 1) / 6)
    assert next(iter(rows)) == "e"
    assert not any(r["suspect"] for r in rows.values())


def test_who_contradicts_most_others_over_fifteen_labels_is_suspect() -> None:
    items = [*map(item, "klmno")]
    said = {a.id: "ssss" + "u" for one in items for a in one.associations}
    rows = by_annotator(counted(items, said)[2])
    assert [r["annotator"] for r in rows if r["suspect"]] == ["e"]
    left_out = by_annotator(counted(items, said, exclude=["e"])[2])
    assert "e" not in {r["annotator"] for r in left_out}


def test_retention_is_of_the_decided(report: Report) -> None:
    rows = retention(report[0], report[1], TERMS)
    groups = {(d, k) for d in ("profession", "all") for k in ("intersentence", "all")}
    assert {(r["domain"], r["kind"]) for r in rows} == groups
    for row in rows:
        counts = (row["items"], row["open"], row["kept"], row["retention"], row["paper"])
        assert counts == (3, 1, 1, 50.0, 83.0)


def test_gold_against_intent(report: Report) -> None:
    these, decisions, _ = report
    found = intent(these, decisions)
    # x and y have six gold labels; y1's is stereotype, meant as anti-stereotype.
    assert found["intent"] == {"associations": 6, "differ": 1, "share": pytest.approx(100 / 6)}
    assert found["published"] == {"associations": 0, "differ": 0, "share": None}


def test_the_example_has_its_random_labeller(example: Path) -> None:
    report = read_json(example / "3-decisions/agreement.json")
    suspects = [r for r in report["annotators"] if r["suspect"]]
    assert len(suspects) == 1
    assert suspects[0]["with_others"] < 50
    groups = {(r["by"], r["group"]) for r in report["measures"]}
    assert {("overall", "overall"), ("domain", "race"), ("kind", "intersentence")} <= groups
    assert {("round", "main"), ("round", "published"), ("term", "profession/baker")} <= groups


# --- tables -------------------------------------------------------------------------------------


def test_one_long_table_has_a_row_per_value(example: Path) -> None:
    report = read_json(example / "3-decisions/agreement.json")
    rows = module.tidy(report, measures=["alpha"])
    assert all(tuple(row) == module.TIDY for row in rows)
    assert {row["by"] for row in rows} == {"overall", "domain/kind"}
    overall = next(r for r in report["measures"] if r["measure"] == "alpha")
    first = rows[0]
    assert [first["value"], first["low"], first["high"]] == [overall["value"], *overall["ci"]]
    more = module.tidy(report, measures=["alpha"], by=["term", "annotator"])
    assert sum(row["measure"] == "% with others" for row in more) == len(report["annotators"])
    assert sum(row["measure"] == "% agreement" for row in more) == 2 * len(report["terms"])


def test_a_latex_table_escapes_its_cells() -> None:
    rows = [["R&B", 1.5], ["a–b", None]]
    text = module.latex("Kept", ["term_id", "%"], rows, show=lambda c: f"{c}")
    assert text.splitlines() == [
        "% Kept",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"term\_id & \% \\",
        r"\midrule",
        r"R\&B & 1.5 \\",
        r"a--b & None \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_what_is_left_without_flagged_items() -> None:
    items = [*map(item, "xyz")]
    counts = count(items, labels(given(SAID)))
    decisions = judge(items, counts.votes)
    none, one, two = module.without_flagged(decisions, counts, {"x": 2, "z": 1})
    # SAID has 33 labels: 15 on x, 15 on y and 3 on z. x is the CAT, and z has no gold label.
    assert (none["by"], none["items"]) == (0, 3)
    assert none == {"by": 0, "items": 3, **module.outcome(decisions, counts)}
    assert (none["labels"], none["cats"]) == (33, 1)
    assert (one["by"], one["items"]) == (1, 1)
    assert (one["labels"], one["cats"], one["gold"]) == (15, 0, 100)
    votes = [[5, 0, 0, 0], [3, 2, 0, 0], [0, 0, 5, 0]]  # of y
    assert one["alpha"] == coefficient("alpha", np.array(votes))
    assert (two["by"], two["items"]) == (2, 2)
    assert (two["labels"], two["gold"]) == (18, 50)
    assert module.without_flagged(decisions, counts, {}) == []


def test_the_outcome_of_labels_and_what_is_said_of_people_who_failed_checks() -> None:
    items = [*map(item, "xyz")]

    def found(without: str) -> module.Outcome:
        counts = count(items, labels(given(SAID, without)))
        return module.outcome(judge(items, counts.votes), counts)

    # Of 9 associations, x and y have 6 gold labels. Alpha is that of the decided items, x and y.
    every = found("")
    assert (every["labels"], every["cats"], every["gold"]) == (33, 1, pytest.approx(100 * 6 / 9))
    votes = [[4, 1, 0], [1, 4, 0], [0, 0, 5], [5, 0, 0], [3, 2, 0], [0, 0, 5]]
    assert every["alpha"] == coefficient("alpha", np.array(votes))
    # Without a and b, 3 labels agree on x2, y0 and y2, and no item is decided.
    fewer = found("ab")
    assert fewer == {"labels": 18, "cats": 0, "gold": pytest.approx(100 * 3 / 9), "alpha": None}
    text = module.about_failed({"people": 2, "all": every, "without": fewer})
    assert text == (
        "2 people failed two checks of reading in a round, and their labels count. With them: "
        f"1 CAT, 66.7 % gold, alpha {every['alpha']:.3f}; without them: 0 CATs, 33.3 % gold, "
        "alpha – (gold: associations that have a gold label; alpha over decided items)."
    )
    assert module.about_failed(None) == ""
    # Items that got labels only until they were decided are not in alpha.
    counts = count(
        items, labels([(a, w, VALUES[v]) for a in SAID for w, v in zip("abc", "sss", strict=True)])
    )
    assert module.outcome(judge(items, counts.votes), counts, {"x", "y", "z"})["alpha"] is None
