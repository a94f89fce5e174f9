"""Runs of the rule ``choice``, made by hand: what a model preferred, without a model."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from curation.files import dump_json, dump_line
from curation.kinds import GOLDS
from curation.models.rules import PROFILES
from curation.records import PAIRS, Cat, Comparison, Rejection
from curation.scores.asking import cat_digest
from curation.scores.boards import comparisons
from curation.scores.run_folder import scored_cats
from curation.scores.runs import Run, read_outcomes
from curation.stats.metrics import results

Ended = float | tuple[float, float] | None
"""How a comparison ended: 1 won, 0 lost, 0.5 split; or the shares (won, split); None: no answer."""
Preferences = Callable[[Cat], Sequence[Ended]]


def choice_run(
    root: Path,
    model: str,
    preferences: Preferences,
    cats: Sequence[Cat],
    *,
    variant: str = "",
    p: float | None = None,
    answers: dict[str, Any] | None = None,
    **about: Any,
) -> Path:
    """Write a run of a chat model: all of its files but ``replies.jsonl`` and ``choice.json``.

    Args:
        root: the folder of all models' scores.
        model: the model's name.
        preferences: how the three comparisons of a CAT ended, in the order of ``PAIRS``.
        cats: the CATs.
        variant: how the texts were altered.
        p: of every comparison; None for a model whose answers are read from text.
        answers: fields of ``answers`` in ``run.json``, to replace those of a model that answered
            every question that has a comparison.
        about: further fields of ``run.json``.

    Returns:
        The folder of the run.
    """
    rule = "choice" + (f"+{variant}" if variant else "")
    folder = root / model.replace("/", "--") / rule
    folder.mkdir(parents=True)
    lines, refused = [], []
    for cat in cats:
        for pair, ended in zip(PAIRS, preferences(cat), strict=True):
            if ended is None:
                refused.append(_rejection(model, cat, pair, variant))
                continue
            won, split = ended if isinstance(ended, tuple) else (float(ended == 1), 0.0)
            lines.append(
                Comparison(
                    model=model, rule="choice", cat=cat.id, pair=pair, won=won,
                    split=1.0 if ended == 0.5 else split, p=p, replicates=1,
                    asked=cat_digest(cat, variant=variant),
                )
            )  # fmt: skip
    (folder / "comparisons.jsonl").write_bytes(b"".join(map(dump_line, lines)))
    (folder / "rejected.jsonl").write_bytes(b"".join(map(dump_line, refused)))
    answered = 2 * len(lines)
    counts = {
        "questions": answered + len(refused), "answered": answered, "first": answered // 2,
        "none": {"answer_refused": len(refused)} if refused else {},
        "limits": {"no_answer": 0.05, "one_letter": 0.95}, "prompts": ["natural"], "samples": 1,
        "tokens": {"prompt": 0, "completion": 0},
    }  # fmt: skip
    says = {
        "model": model, "family": "chat", "url": "chat.example", "temperature": 0.0,
        "rules": PROFILES["choice"]["chat"], "variant": variant,
        "answers": counts | (answers or {}), **about,
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(says), "utf-8")
    run = Run(model, "choice", variant, {}, comparisons=read_outcomes(folder / "comparisons.jsonl"))
    splits, left_out = {}, {}
    for split in dict.fromkeys(cat.split for cat in cats):
        part = [cat for cat in cats if cat.split == split]
        table = comparisons(part, run)
        left_out[split] = len(part) - len(table)
        if len(table):
            own = results(table, model=f"{model}, {rule}")
            splits[split] = {**own, "left_out": left_out[split]}
    report = {"run": says, "ties": "half", "splits": splits, "left_out": left_out}
    (folder / "results.json").write_bytes(dump_json(report | {"of": scored_cats(cats)}))
    return folder


def _rejection(model: str, cat: Cat, pair: str, variant: str) -> Rejection:
    record = {
        "cat": cat.id, "pair": pair, "swapped": False, "prompt": "natural", "sample": 0,
        "asked": "of the text that was sent", "texts": cat_digest(cat, variant=variant),
        "rule": "choice", "target": cat.target, "domain": cat.domain, "kind": cat.kind,
    }  # fmt: skip
    return Rejection(code="answer_refused", detail="I can't help", where=model, record=record)


def as_scores_say(scores: dict[str, float]) -> Preferences:
    """The comparisons that a run with these scores of associations wins."""

    def ended(cat: Cat) -> list[Ended]:
        stereotype, anti, unrelated = (
            next(scores[a.id] for a in cat.associations if a.gold == gold) for gold in GOLDS
        )
        pairs = ((stereotype, unrelated), (anti, unrelated), (stereotype, anti))
        return [0.5 if a == b else float(a > b) for a, b in pairs]

    return ended
