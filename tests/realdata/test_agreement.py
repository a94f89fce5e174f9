"""Agreement by term and tiers of StereoSet's development set, beside ACL Table 10."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from curation.catsets.entries import Entry
from curation.catsets.stereoset import read_cats, read_entries
from curation.decisions.agreement import by_term, facts
from curation.decisions.filter import judge, repeats, tiers
from curation.formats.table_words import read_label
from curation.records import Association, Item, Label, Term
from curation.scores.terms import published_agreement
from curation.stats.agreement import count
from support.realdata import LABELLED, SHARED, labelled, needs

PRINTED = SHARED / "published" / "terms.csv"
pytestmark = needs(LABELLED)
SPELLED = {"eriteria": "eritrea", "norweigan": "norwegian"}
"""The two terms of the set that the data spells otherwise than the printed list."""


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return labelled(tmp_path_factory.mktemp("labelled"))


@pytest.fixture(scope="module")
def entries(gold: Path) -> list[Entry]:
    return read_entries(gold)


@pytest.fixture(scope="module")
def printed() -> dict[str, float]:
    """Per cent by term in small letters, as in ACL Table 10."""
    with PRINTED.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["agreement"]]
    return {row["term"].lower(): 100 * float(row["agreement"]) for row in rows}


def test_squared_shares_fit_table_10(entries: list[Entry], printed: dict[str, float]) -> None:
    found = {name.split("/", 1)[1].lower(): a for name, a in published_agreement(entries).items()}
    assert len(found) == 79
    paper = np.array([printed[SPELLED.get(term, term)] for term in found])
    assert paper.mean() == pytest.approx(78.5, abs=0.05)

    def beside(figures: np.ndarray) -> tuple[float, float, float]:
        """Mean, correlation with the printed figures and mean absolute difference from them."""
        r = float(np.corrcoef(figures, paper)[0, 1])
        return float(figures.mean()), r, float(np.abs(figures - paper).mean())

    agreement, votes = (np.array(column) for column in zip(*found.values(), strict=True))
    assert [round(x, 3) for x in beside(agreement)] == [79.356, 0.994, 0.888]
    assert [round(x, 3) for x in beside(votes)] == [85.804, 0.990, 7.336]


@pytest.fixture(scope="module")
def items(entries: list[Entry]) -> list[Item]:
    made = []
    for kind, _, item in entries:
        a, b, c = (Association(id=s["id"], sentence=s["sentence"]) for s in item["sentences"])
        term = f"{item['bias_type']}/{item['target']}"
        made.append(
            Item(id=item["id"], kind=kind, term=term, context=item["context"],
                 associations=(a, b, c), round="published")
        )  # fmt: skip
    return made


def test_a_campaign_gives_the_same(gold: Path, entries: list[Entry], items: list[Item]) -> None:
    rows = [
        (f"{s['id']}/{n}", item["id"], s["id"], said["human_id"], read_label(said["label"]))
        for _, _, item in entries
        for s in item["sentences"]
        for n, said in enumerate(s["labels"])
    ]
    labels = pd.DataFrame(rows, columns=["id", "item", "association", "annotator", "value"])
    labels = labels.assign(round="published", submitted_at=None).reindex(columns=Label.model_fields)
    counted = count(items, labels, count_repeats=True)
    decisions = judge(items, counted.votes)
    assert all(d.kept for d in decisions)
    assert repeats(items, labels) == (309, 103, 17)  # docs/decisions.md
    terms = {
        i.term: Term(id=i.term, text=i.term.split("/", 1)[1], domain=i.term.split("/", 1)[0])
        for i in items
    }
    ours = {
        f"{row['domain']}/{row['term']}": (row["agreement"], row["stereotype"])
        for row in by_term(facts(items, decisions, counted, terms))
    }
    published = published_agreement(entries)
    assert ours.keys() == published.keys()
    for term, figures in ours.items():
        assert figures == pytest.approx(tuple(published[term])), term

    by_tier = Counter(f"{cat.kind}_tier_{cat.tier}" for cat in read_cats(gold))
    assert {name: n for name, n in tiers(items, decisions).items() if n} == by_tier
    assert by_tier == {
        "intrasentence_tier_3": 597, "intrasentence_tier_4": 954, "intrasentence_tier_5": 555,
        "intersentence_tier_3": 626, "intersentence_tier_4": 910, "intersentence_tier_5": 587,
    }  # fmt: skip
