"""The agreement report on a case that a person can count, and on the example."""

from pathlib import Path

import pandas as pd
import pytest

from curation.decisions.agreement import by_annotator, by_term, facts, intent, measured, retention
from curation.decisions.filter import count, judge
from curation.files import read_json
from curation.records import Association, Decision, Gold, Item, Label, Term, Value

GOLDS: tuple[Gold, ...] = ("stereotype", "anti-stereotype", "unrelated")
TERM = Term(id="term-1", text="baker", domain="profession", family="baker")
PEOPLE = "abcde"


def items(names: str, meant: tuple[Gold, ...] = GOLDS) -> list[Item]:
    made = []
    for name in names:
        one, two, three = (
            Association(id=f"{name}{i}", sentence=f"s{i}", intent=gold)
            for i, gold in enumerate(meant)
        )
        made.append(
            Item(
                id=name,
                kind="intersentence",
                term=TERM.id,
                context="The baker came in.",
                associations=(one, two, three),
                round="main",
            )
        )
    return made


def labels(said: dict[str, str]) -> pd.DataFrame:
    """Labels by association: one letter for each of a to e, s, a, u or r."""
    value: dict[str, Value] = {
        "s": "stereotype",
        "a": "anti-stereotype",
        "u": "unrelated",
        "r": "related",
    }
    rows = [
        Label(
            id=f"{association}/{who}",
            item=association[0],
            association=association,
            annotator=who,
            value=value[letter],
            round="main",
            source="answers",
        ).model_dump()
        for association, letters in said.items()
        for who, letter in zip(PEOPLE, letters, strict=False)
        if letter != "-"
    ]
    return pd.DataFrame(rows, columns=list(Label.model_fields))


SAID = {
    # x is kept; e contradicts the others twice.
    "x0": "ssssa",
    "x1": "aaaas",
    "x2": "uuuuu",
    # y falls: two stereotypes.
    "y0": "sssss",
    "y1": "sssaa",
    "y2": "uuuuu",
    # z is open: one label each.
    "z0": "s----",
    "z1": "a----",
    "z2": "u----",
}


@pytest.fixture
def report() -> tuple[list[Item], list[Decision], object]:
    these = items("xyz")
    counted = count(these, labels(SAID))
    decisions = judge(these, counted.votes)
    return these, decisions, facts(these, decisions, counted, {TERM.id: TERM})


def test_scopes_and_classes(report: tuple[list[Item], list[Decision], object]) -> None:
    _, decisions, found = report
    assert [d.reason for d in decisions] == [None, "two_of_a_kind", "too_few_labels"]
    rows = measured(found, measures=["alpha"])  # type: ignore[arg-type]
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
    counted = count([], labels({}))
    found = facts([], [], counted, {})
    assert measured(found) == by_term(found) == by_annotator(found) == []


def test_table_10(report: tuple[list[Item], list[Decision], object]) -> None:
    (row,) = by_term(report[2])  # type: ignore[arg-type]
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
    these = items("y")
    counted = count(these, labels({name: SAID[name] for name in ("y0", "y1", "y2")}))
    (row,) = by_term(facts(these, judge(these, counted.votes), counted, {TERM.id: TERM}))
    assert (row["cats"], row["agreement"], row["stereotype"], row["all"]) == (0, None, None, None)
    assert row["decided"]["agreement"] == pytest.approx((100 + 52) / 2)


def test_both_kinds_of_a_term_are_pooled() -> None:
    one, two = items("xv")
    these = [one, two.model_copy(update={"kind": "intrasentence"})]
    said = {name: SAID[name] for name in ("x0", "x1", "x2")}
    said |= {"v0": "sssau", "v1": "aaaaa", "v2": "uuuuu"}
    counted = count(these, labels(said))
    (row,) = by_term(facts(these, judge(these, counted.votes), counted, {TERM.id: TERM}))
    # x: 0.68 as above; v: (3/5)² + (1/5)² + (1/5)² = 0.44. A mean over CATs, and not of all votes.
    assert row["agreement"] == pytest.approx((68 + 44) / 2)


def test_annotators_against_the_others(
    report: tuple[list[Item], list[Decision], object],
) -> None:
    rows = {r["annotator"]: r for r in by_annotator(report[2])}  # type: ignore[arg-type]
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
    names = "klmno"
    these = items(names)
    said = {f"{n}{i}": "ssss" + "u" for n in names for i in range(3)}
    counted = count(these, labels(said))
    found = facts(these, judge(these, counted.votes), counted, {TERM.id: TERM})
    suspects = [r["annotator"] for r in by_annotator(found) if r["suspect"]]
    assert suspects == ["e"]
    left_out = facts(these, judge(these, counted.votes), counted, {TERM.id: TERM}, exclude=["e"])
    assert "e" not in {r["annotator"] for r in by_annotator(left_out)}


def test_retention_is_of_the_decided(report: tuple[list[Item], list[Decision], object]) -> None:
    rows = retention(report[0], report[1], {TERM.id: TERM})
    assert {(r["domain"], r["kind"]) for r in rows} == {
        ("profession", "intersentence"),
        ("profession", "all"),
        ("all", "intersentence"),
        ("all", "all"),
    }
    for row in rows:
        counts = (row["items"], row["open"], row["kept"], row["retention"], row["paper"])
        assert counts == (3, 1, 1, 50.0, 83.0)


def test_gold_against_intent(report: tuple[list[Item], list[Decision], object]) -> None:
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
