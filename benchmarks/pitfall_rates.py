"""Write ``data/rates/stereoset_dev.json``: how often StereoSet's development set has each pitfall.

    python benchmarks/pitfall_rates.py dev_cats.jsonl FILE… > data/rates/stereoset_dev.json

The first file has one CAT per line: id, bias_type, target, context, and a text for each gold label.
Intersentence CATs come first: a CAT is intrasentence if it comes after the last context without
BLANK. The file does not have the order of the associations, so ``order_leak`` is counted on the
other files, which are in StereoSet's own form. ``blank_hyphen`` is counted, although a hyphen is
right in English: the rate shows how often it occurs where nobody had a reason to avoid it.
"""

import json
import sys
from pathlib import Path
from typing import Any

from curation.catsets.stereoset import read_cats
from curation.checks.codes import PITFALLS
from curation.files import dump_json
from curation.kinds import GOLDS, Kind
from curation.measures import steps as measures
from curation.measures.pitfalls import counts, pitfalls
from curation.records import Cat, CatAssociation
from curation.text.item_form import is_hyphenated


def cats(path: Path) -> list[Cat]:
    """The CATs of a file with one per line: first the intersentence, then the intrasentence."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    # Some intersentence contexts have a BLANK by mistake, so BLANK alone does not give the kind.
    bare = [n for n, row in enumerate(rows) if "BLANK" not in row["context"]]
    last = bare[-1] if bare else -1
    return [
        _cat(row, "intersentence" if n <= last else "intrasentence") for n, row in enumerate(rows)
    ]


def _cat(row: dict[str, Any], kind: Kind) -> Cat:
    a, b, c = (
        CatAssociation(id=f"{row['id']}-{gold}", sentence=row[gold], gold=gold) for gold in GOLDS
    )
    return Cat(
        id=row["id"], kind=kind, domain=row["bias_type"], term=row["target"],
        target=row["target"], family=row["target"], split="dev", context=row["context"],
        associations=(a, b, c),
    )  # fmt: skip


def rates(path: Path, ordered: list[Path]) -> dict[str, Any]:
    """Compute the content of the file of rates."""
    every = cats(path)
    found = counts(pitfalls(every, language="en", without_votes=()))
    contexts = [cat.context for cat in every if cat.kind == "intrasentence"]
    hyphens = [sum(bool(is_hyphenated(context)) for context in contexts), len(contexts)]
    found["blank_hyphen"] = {"all": hyphens, "intrasentence": hyphens}
    placed = [cat for file in ordered for cat in read_cats(file)]
    found["order_leak"] = counts(pitfalls(placed, language="en"))["order_leak"]
    return {
        "dataset": "StereoSet's development set (Nadeem et al. 2021)",
        "language": "en",
        "algorithm": measures.pitfalls.version,
        "counts": {code: found[code] for code in PITFALLS},
    }


if __name__ == "__main__":
    first, *others = map(Path, sys.argv[1:])
    sys.stdout.write(dump_json(rates(first, others)).decode())
