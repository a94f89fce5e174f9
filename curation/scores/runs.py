"""Models' scores of associations, as they lie in folders and files, beside the CATs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from curation.files import CurationError, read_json, read_table
from curation.intervals import Floats
from curation.records import GOLDS, KINDS, Cat, Kind, Score
from curation.scores.asking import VARIANTS, questions
from curation.scores.metrics import Ties, judge
from curation.stereoset import read_predictions

PREDICTIONS = "predictions"  # stands for the rule where a file of predictions tells none


@dataclass(frozen=True)
class Run:
    """One model's scores under one rule.

    ``rule`` is the folder's name without its variant; ``variant`` what stands behind its first
    «+», or "". ``scores`` are by association, higher is likelier; ``about`` is ``run.json``;
    ``where`` names folder or file in errors; ``asked`` are digests of the texts scored, by
    association, where they are known.
    """

    model: str
    rule: str
    variant: str
    scores: Mapping[str, float]
    about: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""
    asked: Mapping[str, str] = field(default_factory=dict)

    @property
    def way(self) -> str:
        """Rule and variant as the folder is named."""
        return f"{self.rule}+{self.variant}" if self.variant else self.rule

    @property
    def name(self) -> str:
        """The run as a command names it: MODEL/RULE."""
        return f"{self.model}/{self.way}"

    def way_of(self, kind: Kind) -> str:
        """Rule and variant that CATs of a kind are scored under; ``way`` where nothing tells."""
        rules = self.about.get("rules")
        rule = rules.get(kind) if isinstance(rules, Mapping) else None
        return f"{rule}+{self.variant}" if rule and self.variant else str(rule or self.way)


def folder_name(model: str) -> str:
    """The name of a model's folder.

    >>> folder_name("bakery/small-model")
    'bakery--small-model'
    """
    return model.replace("/", "--")


def read_runs(root: Path, *, skipped: Callable[[str], None] = lambda _: None) -> list[Run]:
    """Every run below a folder: ``MODEL/RULE[+VARIANT]/scores.jsonl`` and ``run.json``.

    Raises:
        CurationError: there is none; one has no score, or two for one association; a line is no
            score. Names folder, or file and line.
    """
    folders = sorted({path.parent for path in root.glob("*/*/*.json*")})
    runs = []
    for path in filter(_is_run, folders):
        run = _read_run(path)
        if run.scores:
            runs.append(run)
        else:  # the model failed before its first score
            skipped(f"{path}: no scores at all; score the model again, or take this folder away")
    if not runs:
        raise CurationError(
            f"{root}: no scores here (MODEL/RULE/scores.jsonl)",
            "run «curation scores models MODEL», or name the folder of the scores",
        )
    return runs


def _is_run(folder: Path) -> bool:
    return (folder / "scores.jsonl").exists() or (folder / "run.json").exists()


def _read_run(folder: Path) -> Run:
    path = folder / "scores.jsonl"
    about = read_json(folder / "run.json") if (folder / "run.json").exists() else {}
    if not isinstance(about, dict):
        raise CurationError(f"{folder / 'run.json'}: not an object", "score the model again")
    table = (
        read_table([path], Score)
        if path.exists()
        else pd.DataFrame(columns=["association", "value"])
    )
    associations, values = table["association"].tolist(), table["value"].tolist()
    scores = dict(zip(associations, values, strict=True))
    if len(scores) < len(associations):
        first: dict[str, float] = {}
        for name, value in zip(associations, values, strict=True):
            if first.setdefault(name, value) != value:
                raise CurationError(
                    f"{path}: two different scores for association {name}",
                    "take this folder away and score the model again",
                )
    rule, _, variant = folder.name.partition("+")
    model = about.get("model") or folder.parent.name.replace("--", "/")
    digests = table["asked"].tolist() if "asked" in table else []
    asked = {name: said for name, said in zip(associations, digests, strict=False) if said}
    return Run(str(model), rule, variant, scores, about, str(folder), asked)


def digests(cats: Sequence[Cat], *, variant: str = "") -> dict[str, str]:
    """Digests of what is asked about the CATs' associations; none under an unknown variant."""
    if variant not in {"", *VARIANTS}:
        return {}
    return {
        question.association: question.digest
        for cat in cats
        for question in questions(cat, variant=variant)
    }


def current(runs: Sequence[Run], cats: Sequence[Cat]) -> tuple[list[Run], dict[str, int]]:
    """The runs without the scores of texts that have changed since.

    Returns:
        The runs, and of each that lost any, by its name, how many.
    """
    now: dict[str, dict[str, str]] = {}
    found, lost = [], {}
    for run in runs:
        if run.asked:
            if run.variant not in now:
                now[run.variant] = digests(cats, variant=run.variant)
            wanted = now[run.variant]
            stale = {a for a, said in run.asked.items() if wanted.get(a, said) != said}
            if stale:
                lost[run.name] = len(stale)
                kept = {a: value for a, value in run.scores.items() if a not in stale}
                run = replace(run, scores=kept)
        found.append(run)
    return found, lost


def read_predictions_run(named: str) -> Run:
    """A file of predictions in StereoSet's form as a run.

    Args:
        named: ``NAME=FILE``.

    Raises:
        CurationError: not of this form; the file is none; two scores for an id, or one that is no
            number.
    """
    name, equals, file = named.partition("=")
    if not (name.strip() and equals and file.strip()):
        raise CurationError(
            f"--predictions {named}: not NAME=FILE", "write for example gpt2=predictions_gpt2.json"
        )
    scores: dict[str, float] = {}
    for association, score in read_predictions(Path(file)):
        number = isinstance(score, int | float) and not isinstance(score, bool)
        if not number or not np.isfinite(score):
            raise CurationError(
                f"{file}: the prediction for id {association} is {score!r}, no finite number",
                "score this sentence again",
            )
        if association in scores:
            raise CurationError(f"{file}: two predictions for id {association}", "keep one of them")
        scores[association] = float(score)
    return Run(name.strip(), PREDICTIONS, "", scores, {}, file)


class Board(NamedTuple):
    """What every run won of every CAT.

    ``cats`` has a row a CAT: kind, domain, term (``domain/target``). The others have shape
    (runs, CATs): ``meaningful`` 0 to 2, ``stereotype`` 0 to 1, ``tied`` 0 to 3, as
    ``metrics.comparisons`` has them; NaN where the run lacks a score of the CAT.
    """

    cats: pd.DataFrame
    runs: tuple[Run, ...]
    meaningful: Floats
    stereotype: Floats
    tied: Floats

    def table(self, run: int) -> pd.DataFrame:
        """A run's comparisons, of the CATs that it has, in the form of ``metrics.comparisons``."""
        has = ~np.isnan(self.stereotype[run])
        table: pd.DataFrame = self.cats[has].assign(
            meaningful=self.meaningful[run, has],
            stereotype=self.stereotype[run, has],
            ties=self.tied[run, has].astype(int),
        )
        return table

    def lacking(self, run: int) -> tuple[list[str], int]:
        """The kinds of which a run has no CAT, and how many CATs of other kinds it lacks."""
        has, kinds = ~np.isnan(self.stereotype[run]), self.cats["kind"]
        none = [kind for kind in KINDS if (kinds == kind).any() and not has[kinds == kind].any()]
        return [str(kind) for kind in none], int((~has & ~kinds.isin(none)).sum())


def scored(cats: Sequence[Cat], scores: Mapping[str, float]) -> list[bool]:
    """Of each CAT, whether all of its associations have a score."""
    return [all(a.id in scores for a in cat.associations) for cat in cats]


def board(
    cats: Sequence[Cat],
    runs: Sequence[Run],
    *,
    ties: Ties = "half",
    skipped: Callable[[str], None] = lambda _: None,
) -> Board:
    """Lay the runs beside the CATs. A CAT that lacks a score is left out of its run.

    A run without any score of these CATs is left out, and said to ``skipped``.

    Args:
        cats: the CATs.
        runs: the runs.
        ties: as in ``metrics.comparisons``.
        skipped: is told of each run that is left out.

    Raises:
        CurationError: no CATs; two runs of one name; no run scores any of the CATs.
    """
    if not cats:
        raise CurationError("there is no CAT to compare models on", "name files with CATs")
    seen: dict[str, str] = {}
    for run in runs:
        if run.name in seen:
            raise CurationError(
                f"{run.where}: the run {run.name} stands already in {seen[run.name]}",
                "give one of them another name",
            )
        seen[run.name] = run.where
    keys = pd.DataFrame(
        {
            "kind": [cat.kind for cat in cats],
            "domain": [cat.domain for cat in cats],
            "term": [f"{cat.domain}/{cat.target}" for cat in cats],
        }
    )
    ids = [next(a.id for a in cat.associations if a.gold == gold) for cat in cats for gold in GOLDS]
    kept: list[Run] = []
    won: list[Floats] = []
    for run in runs:
        values = np.array([run.scores.get(name, np.nan) for name in ids]).reshape(-1, 3)
        has = ~np.isnan(values).any(axis=1)
        if not has.any():
            skipped(f"{run.where}: no scores at all for these {len(cats)} CATs; it is left out")
            continue
        kept.append(run)
        won.append(np.full((3, len(cats)), np.nan))
        won[-1][:, has] = judge(values[has], ties=ties)
    if not kept:
        raise CurationError(
            f"no model has scores for these {len(cats)} CATs",
            "score the models on this benchmark, or name the folder of its scores",
        )
    return Board(keys, tuple(kept), *np.stack(won, axis=1))
