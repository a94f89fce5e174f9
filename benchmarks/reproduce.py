"""Compute every table of the two StereoSet papers for which there is public data.

Prints our values beside the printed ones, with the reason for each difference.

    python benchmarks/reproduce.py --data DIR
    python benchmarks/reproduce.py --data DIR --table 1 --table 7 --json rows.json

DIR has the real data: ``stereoset/dev_labelled.json.gz``, StereoSet's development set in its own
form with all validators' labels, and ``stereoset/predictions/``, the authors' scores of single
models. Nothing is downloaded and no model is run. Rows that need a model from the hub, or the
labels of the test set, say "not run" and why.
"""

import argparse
import gzip
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from curation.catsets.entries import Entry
from curation.catsets.stereoset import read_cats, read_entries
from curation.files import dump_json
from curation.kinds import CAT_KINDS
from curation.measures.keywords import keywords, wordfreq
from curation.measures.sentiment import PAPER, by_vader, sentiment
from curation.measures.statistics import statistics
from curation.records import Cat
from curation.scores.published import WHY, Printed, beside, by_split, choose, targets
from curation.scores.results import EXPECTED, expected_baselines, measured_baselines
from curation.scores.runs import read_predictions_run
from curation.scores.terms import published_agreement
from curation.stats.artefacts import artefacts
from curation.stats.metrics import METRICS
from curation.terminal import console

DOMAINS = ("gender", "profession", "race", "religion")
SIZES = {  # Table 1: target terms, then CATs and mean words by kind
    "gender": (40, (1026, 7.98), (996, 15.55)),
    "profession": (120, (3208, 8.30), (3269, 16.05)),
    "race": (149, (3996, 7.63), (3989, 14.98)),
    "religion": (12, (623, 8.18), (604, 14.99)),
}
KEYWORDS = {  # Table 3
    "gender": "stepchild masculine bossy ma uncare breadwinner immature naggy feminine rowdy "
    "possessive manly polite studious homemaker burly",
    "profession": "nerdy uneducated bossy hardwork pushy unintelligent studious dumb rude snobby "
    "greedy sloppy disorganize talkative uptight dishonest",
    "race": "poor beautiful uneducated smelly snobby immigrate wartorn rude industrious wealthy "
    "dangerous accent impoverish lazy turban scammer",
    "religion": "commandment hinduism savior hijab judgmental diety peaceful unholy classist "
    "forgiving terrorist reborn atheist monotheistic coworker devout",
}
QUARTER = "dev is a quarter of the terms; the rest is test, whose labels are not public"
NOT_RUN = "not run"


class Row(NamedTuple):
    """One printed value, or the three values of a model, and ours."""

    table: str
    row: str
    figure: str
    printed: str
    ours: str
    why: str


class Data:
    """The development set and the authors' predictions, read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "stereoset"

    @cached_property
    def _read(self) -> tuple[list[Cat], list[Entry]]:
        packed = (self.folder / "dev_labelled.json.gz").read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "dev.json"
            path.write_bytes(gzip.decompress(packed))
            return read_cats(path), read_entries(path)

    @property
    def cats(self) -> list[Cat]:
        """All CATs of the development set."""
        return self._read[0]

    @property
    def entries(self) -> list[Entry]:
        """The same CATs with the validators' labels."""
        return self._read[1]

    @property
    def predictions(self) -> list[Path]:
        """The authors' predictions, one file per model."""
        return sorted((self.folder / "predictions").glob("predictions_*.json"))


# --- the data: Tables 1 to 3, the terms, agreement ------------------------------------------------


def table_1(data: Data) -> Iterable[Row]:
    """Sizes and mean lengths (Table 1 of either paper)."""
    found = statistics(data.cats, language="en")["kinds"]
    for domain, (terms, *kinds) in SIZES.items():
        for kind, (cats, words) in zip(CAT_KINDS, kinds, strict=True):
            cell = found[kind]["domains"][domain]
            name = f"{kind}, {domain}"
            yield Row("1", name, "terms", str(terms), str(cell["terms"]), QUARTER)
            yield Row("1", name, "CATs", str(cats), str(cell["cats"]), QUARTER)
            why = "dev alone; three terms" if domain == "religion" else "dev alone"
            yield Row("1", name, "mean words", f"{words:.2f}", f"{cell['mean_words']:.2f}", why)


def table_2(data: Data) -> Iterable[Row]:
    """How many stereotypes and anti-stereotypes are negative (Table 2 of either paper)."""
    rows = sentiment(data.cats, by_vader(data.cats, language="en"))
    for gold, printed in PAPER.items():
        share = rows[0]["labels"][gold]["negative"]["share"]
        why = "VADER in place of the paper's BERT classifier misses words; dev alone"
        yield Row("2", gold, "negative %", f"{printed:.0f}", f"{share:.1f}", why)


def table_3(data: Data) -> Iterable[Row]:
    """How many of the printed keywords are also ours (Table 3 of either paper)."""
    report = keywords(data.cats, language="en", reference=wordfreq("en"))
    of = {group["domain"]: group["keywords"] for group in report["groups"]
          if group["by"] == "domain"}  # fmt: skip
    why = "dev alone; wordfreq in place of the TenTen corpora; another lemmatizer"
    for domain, words in KEYWORDS.items():
        for most in (16, 100):
            mine = {row["word"] for row in of[domain] if row["rank"] <= most}
            count = len(mine & set(words.split()))
            yield Row("3", domain, f"of 16, in our first {most}", "16", str(count), why)


def terms(data: Data) -> Iterable[Row]:
    """The number of terms of the whole dataset, and of dev (arXiv Table 9)."""
    there = {(cat.domain, cat.target) for cat in data.cats}
    for domain in DOMAINS:
        own = [one for one in targets() if one.domain == domain and one.split]
        found = [one for one in own if there & {(domain, name) for name in (one.term, *one.also)}]
        other = [one.term for one in found if (domain, one.term) not in there]
        why = f"{QUARTER}; the data spell otherwise: {', '.join(other)}" if other else QUARTER
        yield Row("9", domain, "terms", str(len(own)), str(len(found)), why)


def agreement_rows(data: Data) -> Iterable[Row]:
    """The annotators' agreement on each dev term's stereotypes (ACL Table 10)."""
    printed = {f"{one.domain}/{name}": one.agreement for one in targets()
               for name in (one.term, *one.also)}  # fmt: skip
    found = published_agreement(data.entries)
    both = sorted((printed[key], (of.agreement or 0) / 100, key) for key, of in found.items())
    a, b = (np.array([row[place] for row in both]) for place in (0, 1))
    why = "the paper gives no formula; this one fits the printed order best"
    yield Row("10", "79 dev terms", "mean", f"{a.mean():.3f}", f"{b.mean():.3f}", why)
    yield Row("10", "79 dev terms", "r", "", f"{np.corrcoef(a, b)[0, 1]:.3f}", "")
    far = np.abs(a - b)
    yield Row("10", "79 dev terms", "mean distance", "", f"{far.mean():.3f}", "")
    for value, ours, key in reversed(both):
        yield Row("10", key.replace("/", ", ", 1), "agreement", f"{value:.2f}", f"{ours:.2f}", "")


# --- the models: Tables 4 to 8 of either paper ----------------------------------------------------


def models(number: str) -> Callable[[Data], Iterable[Row]]:
    """The rows of a table of models, from ACL and from arXiv."""

    def rows(data: Data) -> Iterable[Row]:
        wanted = choose([f"acl {number}", f"arxiv {number}"])
        named = [f"{path.stem.split('_')[1]}={path}" for path in data.predictions]
        runs = [read_predictions_run(one) for one in named]
        splits = by_split(data.cats)
        pairs = beside(wanted, splits, runs, ties="official")
        # The authors' predictions are of some domains only; a part does not give the whole.
        found = {_key(pair): pair for pair in pairs}
        stand_ins = _stand_ins(data) if number in ("4", "5") else {}
        for row in wanted:
            pair = found.get(_key(row._asdict()))
            if pair and "part" not in pair["why"]:
                values = {name: pair["figures"][name]["value"] for name in METRICS}
                yield _row(row, number, values, "; ".join(WHY[code] for code in pair["why"]))
            elif row.model in EXPECTED or (row.model in stand_ins and row.split == "dev"):
                values, why = stand_ins[row.model]
                yield _row(row, number, values, why)
            else:
                yield _row(row, number, None, _why_not(row))

    return rows


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    names = ("source", "split", "kind", "domain", "target", "model")
    return tuple(str(row[name]) for name in names)


def _stand_ins(data: Data) -> dict[str, tuple[dict[str, Any], str]]:
    """The baselines on dev, both kinds pooled; computed ones have the same values on any CATs."""
    found = {one["model"]: (one["overall"], "") for one in expected_baselines(data.cats)}
    vader = [a for a in artefacts(data.cats, language="en") if a.name == "SentimentLM (VADER)"]
    for one in measured_baselines(data.cats, vader):
        why = "VADER in place of the paper's BERT classifier; its many ties count half"
        found["SentimentLM"] = (one["overall"], why)
    return found


def _why_not(row: Printed) -> str:
    if row.split == "test":
        return "the labels of test are not public"
    if row.model == "Ensemble":
        return "needs three models from the hub; its weights are not printed"
    if row.model == "SentimentLM":
        return "needs the authors' sentiment classifier, which is not available"
    needs = "needs the model from the hub"
    own_head = row.model.startswith("BERT")
    return needs if row.kind == "intrasentence" or own_head else f"{needs} and a trained head"


def _row(row: Printed, number: str, values: dict[str, Any] | None, why: str) -> Row:
    place = ", ".join(filter(None, (row.split, row.kind, row.domain, row.target)))

    def text(of: dict[str, Any]) -> str:
        three = (of[name] for name in METRICS)
        return "  ".join("–" if v is None else f"{v:.{row.digits}f}" for v in three)

    ours = text(values) if values else NOT_RUN
    figure = "  ".join(METRICS)
    name = f"{row.source}: {row.model}, {place}"
    return Row(number, name, figure, text(row._asdict()), ours, why)


TABLES: dict[str, Callable[[Data], Iterable[Row]]] = {
    "1": table_1,
    "2": table_2,
    "3": table_3,
    **{number: models(number) for number in ("4", "5", "6", "7", "8")},
    "9": terms,
    "10": agreement_rows,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the requested tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--table", action="append", choices=TABLES, help="may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows there")
    given = parser.parse_args(arguments)
    data, found = Data(given.data), []
    for number in given.table or TABLES:
        rows = list(TABLES[number](data))
        found += rows
        heads = ["row", "value", "printed", "ours", "why it differs"]
        title = {"9": "arXiv Table 9", "10": "ACL Table 10"}.get(number, f"Table {number}")
        console.table(title, heads, [list(row[1:]) for row in rows])
    run = [row for row in found if row.ours != NOT_RUN]
    equal = sum(row.printed == row.ours for row in run)
    console.say(
        f"{len(found)} rows: {len(run)} run, {equal} of them equal to the printed digits; "
        f"{len(found) - len(run)} not run."
    )
    if given.json:
        given.json.write_bytes(dump_json([row._asdict() for row in found]))


if __name__ == "__main__":
    main()
