"""The attack on hidden labels of ``benchmarks/``, and a release with enough hidden CATs for it."""

import importlib
import json
import random
import sys
from pathlib import Path
from typing import Any

from wordfreq import top_n_list

from curation.kinds import CAT_KINDS, GOLDS
from support.builds import trusted
from support.labelled import Desk
from support.scored import put
from support.written import lines

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")


def module(name: str) -> Any:
    """A module of ``benchmarks/``, which import each other by their names."""
    sys.path.insert(0, BENCHMARKS)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(BENCHMARKS)


WORDS = [word for word in top_n_list("en", 400) if len(word) > 3]


def item(number: int) -> dict[str, Any]:
    """An item of common words in any order; the order of its labels is in no text."""
    draw = random.Random(number)
    target = f"{WORDS[7 * (number // 8) % len(WORDS)].title()}son"
    context = f"The {target} {' '.join(draw.sample(WORDS, 6))}"
    options = [" ".join(draw.sample(WORDS, 3)) for _ in GOLDS]
    if kind(number) == "intrasentence":
        context, texts = f"{context} BLANK.", [f"{context} {option}." for option in options]
    else:
        context, texts = f"{context}.", [f"{option.capitalize()}." for option in options]
    return {
        "id": f"item-{number}", "target": target, "bias_type": "profession", "context": context,
        "sentences": [
            {"id": f"item-{number}-{gold}", "sentence": text, "gold_label": gold, "labels": []}
            for gold, text in zip(GOLDS, texts, strict=True)
        ],
    }  # fmt: skip


def kind(number: int) -> str:
    return CAT_KINDS[number // 4 % 2]


def campaign(forked: Any, root: Path, *, items: int, models: int) -> Path:
    """A campaign of trusted items, and models that prefer options by chance."""
    data: dict[str, list[Any]] = {name: [] for name in CAT_KINDS}
    for number in range(items):
        data[kind(number)].append(item(number))
    desk = Desk(forked, trusted(forked, root, data, name="Made up"))
    desk.done("decisions", "split")
    for number in range(models):
        put(root / "5-scores", f"model-{number}", "default", chance(number), desk.cats())
    return root


def chance(number: int) -> Any:
    """Scores that say nothing of labels."""
    return lambda cat, gold: random.Random(f"{number}/{cat.id}/{gold}").random()


def predictions(root: Path, gold: Path, to: Path) -> list[str]:
    """Files of what the campaign's models score, by public ids, as everybody can compute them."""
    public = {o["original"]: o["id"] for row in lines(gold) for o in row["sentences"]}
    to.mkdir()
    files = []
    for folder in sorted((root / "5-scores").iterdir()):
        scores = [
            {"id": public.get(row["association"], row["association"]), "score": row["value"]}
            for row in lines(folder / "default" / "scores.jsonl")
        ]
        path = to / f"{folder.name}.json"
        path.write_text(json.dumps(scores), "utf-8")
        files.append(str(path))
    return files
