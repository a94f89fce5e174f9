"""The shipped tables are the collected ones; the authors' predictions give the printed values."""

import csv
import json
import math

import pytest

from curation.catsets.stereoset import read_cats
from curation.scores.published import by_split, tables, targets
from support.realdata import GENDER, REAL, SHARED, TEST, development_set, needs

PRINTED = SHARED / "published"
pytestmark = needs(REAL)


def test_the_shipped_tables_hold_every_collected_row() -> None:
    with (PRINTED / "tables.csv").open(encoding="utf-8") as file:
        collected = list(csv.DictReader(file))
    mine = {
        (
            row.source.split()[0].lower(), row.source[-1], row.split, row.kind,
            row.model.upper(), row.domain.replace("all", "overall"), row.target,
        ): (row.lms, row.ss, row.icat)
        for row in tables()
    }  # fmt: skip
    assert len(collected) == 340
    for row in collected:
        key = (row["paper"], row["table"], row["split"], row["kind"], row["model"].upper(),
               row["domain"], row["term"])  # fmt: skip
        values = (float(row["lms"]) if row["lms"] else None, float(row["ss"]), float(row["icat"]))
        assert mine[key] == values, key
    # Beside these: the four baselines of ACL Tables 4 and 5, and the twelve rows of ACL Table 8.
    assert len(mine) == 340 + 8 + 12


def test_the_shipped_split_is_that_of_the_development_set() -> None:
    assert set(by_split(development_set())) == {"dev"}
    assert set(by_split(read_cats(TEST))) == {"test"}
    dev = {(c.domain, c.target) for c in development_set()}
    found = [one for one in targets() if one.split == "dev"]
    assert len(found) == len(dev) == 79
    for one in found:
        assert {(one.domain, name) for name in (one.term, *one.also)} & dev, one


def scores_of(model: str) -> dict[str, float]:
    (file,) = (REAL / "predictions").glob(f"predictions_{model}*.json")
    return {one["id"]: one["score"] for one in json.loads(file.read_text("utf-8"))["intrasentence"]}


@pytest.mark.parametrize(("model", "below"), [("bert-base-cased", 22), ("roberta-base", 17)])
def test_scores_of_masked_models_are_means_of_p(model: str, below: int) -> None:
    """Of two pieces one is unlikely and one nearly certain: (0 + 1) / 2, from below.

    Above 1/2 the first piece would have to be likely, too. A mean of log p would be near 0: by it,
    scores would pile up nowhere.
    """
    values = scores_of(model).values()
    assert sum(0.49 < value <= 0.5 for value in values) == below
    assert sum(0.5 < value <= 0.51 for value in values) == 0


@pytest.mark.parametrize(
    ("model", "single", "halves"),
    [("bert-base-cased", 731, 195), ("roberta-base", 409, 343), ("xlnet-base-cased", 782, 175)],
)
def test_scores_of_several_pieces_are_sums_of_floats(model: str, single: int, halves: int) -> None:
    """p is a float32, of 24 bits; half the sum of two has few more, its exponential or root all 53.

    A double ends in seven zeros by chance in one of 128 cases: of the 593 scores of RoBERTa that
    are not one float32, in about 5. (Means of three pieces are not exact, so they are not counted.)
    """
    places = [_bits(value) for value in scores_of(model).values()]
    assert sum(place <= 24 for place in places) == single
    assert sum(24 < place <= 46 for place in places) == halves
    assert halves > 20 * (len(places) - single) / 128


def test_gpt2s_scores_are_means_per_token_and_not_the_probability_of_the_sentence() -> None:
    """A sentence with a full stop cannot be likelier than without it; its mean per token can.

    Whether the first token is in the mean does not follow: with n tokens, the stop's p is
    s(with)^(n + 1) / s(without)^n if it is, and s(with)^n / s(without)^(n - 1) if not.
    """
    gender = json.loads(GENDER.read_text("utf-8"))
    ids = {s["sentence"]: s["id"] for c in gender["data"]["intrasentence"] for s in c["sentences"]}
    scores, both = scores_of("gpt2"), [text for text in ids if f"{text}." in ids]
    assert [len(text.split()) for text in both] == [4, 4]
    for text in both:
        without, with_stop = scores[ids[text]], scores[ids[f"{text}."]]
        assert without < with_stop < 1
        for n in (4, 3):
            assert 0.001 < with_stop ** (n + 1) / without**n < 0.1


def _bits(value: float) -> int:
    """From the first to the last binary digit of a double that is 1."""
    whole = int(math.frexp(value)[0] * 2**53)
    return len(f"{whole:b}".rstrip("0"))
