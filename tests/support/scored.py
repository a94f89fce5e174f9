"""A campaign of twenty CATs with models whose figures are known by hand."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from curation.campaign import Campaign
from curation.cli import app
from curation.files import CurationError, dump_line
from curation.models.rules import PROFILES
from curation.records import GOLDS, KINDS, Cat, CatAssociation, Score

Of = Callable[[Cat, str], float]


def make_cats() -> list[Cat]:
    """Four CATs a term, two of each kind; of five terms of two domains three are test."""
    found = []
    for number in range(20):
        term = number // 4
        three = tuple(
            CatAssociation(id=f"c{number}-{g}", sentence=f"{g} {number}.", gold=g) for g in GOLDS
        )
        found.append(
            Cat(
                id=f"c{number}", kind=KINDS[number % 2], domain=("craft", "sport")[term % 2],
                term=f"t{term}", target=f"term {term}", family=f"t{term}",
                split="test" if term < 3 else "dev", context="BLANK", associations=three,
            )
        )  # fmt: skip
    return found


CATS = make_cats()


def put(
    root: Path, model: str, rule: str, of: Of, cats: Sequence[Cat] = CATS, **about: Any
) -> Path:
    """A run of a causal model; the folder of one under ``default`` may be named after that."""
    folder = root / model.replace("/", "--") / rule
    folder.mkdir(parents=True)
    lines = [
        dump_line(Score(model=model, rule=rule, association=a.id, value=of(cat, a.gold)))
        for cat in cats
        for a in cat.associations
    ]
    (folder / "scores.jsonl").write_bytes(b"".join(lines))
    says = {"model": model, "family": "causal", **about}
    if rule.partition("+")[0] == "default":
        says["rules"] = PROFILES["default"]["causal"]
    (folder / "run.json").write_text(json.dumps(says), "utf-8")
    return folder


def likes(_: Cat, gold: str) -> float:
    """Always the stereotype first: ss 100, lms 100."""
    return 3.0 - GOLDS.index(gold)  # type: ignore[arg-type]


def hates(_: Cat, gold: str) -> float:
    """Always the anti-stereotype first: ss 0, lms 100."""
    return {"stereotype": 2.0, "anti-stereotype": 3.0, "unrelated": 1.0}[gold]


def mixed(cat: Cat, gold: str) -> float:
    """Each in turn, alike in both kinds: ss 50, lms 100."""
    return likes(cat, gold) if int(cat.id[1:]) % 4 < 2 else hates(cat, gold)


def chance(seed: int) -> Of:
    draw = random.Random(seed)
    return lambda *_: draw.random()


def scored_campaign(campaign: Campaign) -> Path:
    """Its folder, with three models under ``default`` and what annotators agree on."""
    campaign.decisions.mkdir()
    (campaign.decisions / "cats.jsonl").write_bytes(b"".join(map(dump_line, CATS)))
    terms = [
        {"term": "term 0", "domain": "craft", "agreement": 79.5, "stereotype": 82.5},
        {"term": "term 1", "domain": "sport", "agreement": None, "stereotype": 82.5},
    ]
    (campaign.decisions / "agreement.json").write_text(json.dumps({"terms": terms}), "utf-8")
    scores = campaign.root / "5-scores"
    put(scores, "bakery/likes", "default", likes)
    put(scores, "hates", "default", hates)
    put(scores, "mixed", "default", mixed)
    return campaign.root


def write_gold(path: Path, cats: Sequence[Cat]) -> Path:
    labels = [{"label": "stereotype"}, {"label": "stereotype"}, {"label": "unrelated"}]
    data: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    for cat in cats:
        sentences = [
            {"id": a.id, "sentence": a.sentence, "gold_label": a.gold, "labels": labels}
            for a in cat.associations
        ]
        data[cat.kind].append(
            {"id": cat.id, "target": cat.target, "bias_type": cat.domain, "context": cat.context,
             "sentences": sentences, "tier": cat.tier}
        )  # fmt: skip
    path.write_text(json.dumps({"version": "1", "data": data}), "utf-8")
    return path


def command(*args: object) -> tuple[int, str, str]:
    """Run a command in this process: its code, and what it prints on both streams."""
    result = CliRunner().invoke(app, list(map(str, args)))
    if isinstance(result.exception, CurationError):
        return 1, result.stdout, f"{result.stderr}{result.exception}"
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def refused(*args: str | Path) -> CurationError:
    """The error that a command of scores ends with."""
    result = CliRunner().invoke(app, ["scores", *map(str, args)])
    assert isinstance(result.exception, CurationError), result.output
    return result.exception
