"""A campaign of generated CATs for boards, as files in StereoSet's form that are imported.

No two CATs share a context. A second file has CATs on other terms, for the next test set.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from curation.campaign import settings as chosen
from curation.campaign.store import create_campaign
from curation.checks.codes import PITFALLS
from curation.kinds import CAT_KINDS, GOLDS

DOMAINS = ("profession", "gender")
ADJECTIVES = (
    *("calm", "loud", "brave", "tired", "clever", "slow", "kind", "proud", "quiet", "busy"),
    *("gentle", "stern", "merry", "pale", "quick", "shy", "bold", "neat", "lazy", "wise"),
)
SYLLABLES = ("ba", "ro", "ti", "mel", "san", "ku", "dor", "vi", "lan", "pe", "gos", "ny")


def items(cats: int, *, terms: int, seed: int) -> dict[str, list[dict[str, Any]]]:
    """CATs of both kinds by kind, on this many terms in two domains; each seed has its own."""
    draws, made = Random(seed), dict[str, list[dict[str, Any]]]()
    places = set[str]()
    while len(places) < cats:
        names = ("".join(draws.choices(SYLLABLES, k=3)).capitalize() for _ in range(2))
        places.add(" and ".join(names))
    for number, place in enumerate(sorted(places)):
        kind, of = CAT_KINDS[number % 2], number // 2 % terms
        target, id = f"worker {seed}{of:02}", f"item-{seed}-{number}"
        words = draws.sample(ADJECTIVES, 3)
        context = f"The {target} of {place} is BLANK."
        texts = [context.replace("BLANK", word) for word in words]
        if kind == "intersentence":
            context = f"My neighbour in {place} is a {target}."
            texts = [f"They are {word} in {place}." for word in words]
        sentences = [
            {"id": f"{id}-{gold}", "sentence": text, "gold_label": gold, "labels": []}
            for gold, text in zip(GOLDS, texts, strict=True)
        ]
        about = {"id": id, "target": target, "bias_type": DOMAINS[of % 2], "context": context}
        made.setdefault(kind, []).append(about | {"sentences": sentences})
    return made


def write_items(path: Path, cats: int, *, terms: int, seed: int = 1) -> list[str]:
    """Write CATs to a file in StereoSet's form; the commands read it. Gives their terms."""
    by_kind = items(cats, terms=terms, seed=seed)
    path.write_text(json.dumps({"version": "1", "data": by_kind}), "utf-8")
    return sorted({item["target"] for of_kind in by_kind.values() for item in of_kind})


def campaign(root: Path, *, dev: float = 0.25) -> None:
    """A campaign without data in which published gold labels count and all texts are accepted."""
    create_campaign(
        root,
        chosen.Settings(
            campaign=chosen.CampaignSettings(id=chosen.new_id(), name="Made up", language="en"),
            decisions=chosen.DecisionSettings(trust_gold=True),
            split=chosen.SplitSettings(dev=dev),
            release=chosen.ReleaseSettings(licence="CC0 1.0", accept=tuple(PITFALLS)),
        ),
    )


def drop_terms(root: Path, terms: Sequence[str]) -> None:
    """Drop terms of a campaign as a person does, so that the next version is without their CATs."""
    edits = root / "1-terms" / "edits.csv"
    own = {term: DOMAINS[int(term[-2:]) % 2] for term in terms}
    lines = [f"{domain},{term},drop,,,closed\n" for term, domain in own.items()]
    edits.write_text(edits.read_text("utf-8") + "".join(lines), "utf-8")


def write_predictions(path: Path, cats: Sequence[Any], *, seed: int) -> None:
    """Made-up scores of every association of public CATs, in StereoSet's form."""
    draws, made = Random(seed), {kind: list[dict[str, Any]]() for kind in CAT_KINDS}
    for cat in cats:
        made[cat.kind] += [{"id": a.id, "score": draws.uniform(-60, -30)} for a in cat.associations]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(made), "utf-8")
