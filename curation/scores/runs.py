"""Models' scores of associations, read from folders and files, and laid out beside the CATs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from curation.files import CurationError, digest, read_json, read_table
from curation.models.rules import PROFILES, REVISED, RULES, family_named, revisions
from curation.predictions import read_predictions, scores_of
from curation.records import GOLDS, KINDS, Cat, Rejection, Score
from curation.scores.asking import VARIANTS, questions
from curation.scores.run_folder import REJECTED, check_about, read
from curation.stats.intervals import Floats
from curation.stats.metrics import Ties, judge
from curation.wording import amount

PREDICTIONS = "predictions"  # the rule of a predictions file for which none is declared


@dataclass(frozen=True)
class Run:
    """One model's scores under the rules of each kind of CAT.

    Attributes:
        model: the model's name.
        rule: the folder's name without its variant.
        variant: the part of the folder's name after the first «+», or "".
        scores: by association; a higher score means likelier.
        about: the content of ``run.json``.
        where: folder or file, for errors.
        asked: digests of the scored texts by association, if they are known.
        refused: digests of the texts of associations that were refused, by association; None for
            predictions, which do not say what was refused.
        profile: the profile that a predictions file was declared to be scored by. The profiles of
            other runs follow from their family and rules.
        lower_is_likelier: whether the sign of a predictions file's scores was changed.
        bad: associations of a predictions file whose score is not a finite number.
    """

    model: str
    rule: str
    variant: str
    scores: Mapping[str, float]
    about: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""
    asked: Mapping[str, str] = field(default_factory=dict)
    profile: str = ""
    refused: Mapping[str, str] | None = None
    lower_is_likelier: bool = False
    bad: frozenset[str] = frozenset()

    @property
    def way(self) -> str:
        """Rule and variant, as in the folder's name."""
        return f"{self.rule}+{self.variant}" if self.variant else self.rule

    @property
    def name(self) -> str:
        """The run's name in commands: MODEL/RULE."""
        return f"{self.model}/{self.way}"

    @property
    def family(self) -> str:
        """The model's family, or "" if it is not known."""
        return family_named(str(self.about.get("family", "")))

    @property
    def rules(self) -> dict[str, str]:
        """The rule of each kind: from ``run.json``, otherwise from the folder's name."""
        known = self.about.get("rules")
        if isinstance(known, Mapping):
            return {kind: str(known[kind]) for kind in KINDS if known.get(kind)}
        return rules_named(self.rule)


def rules_named(name: str) -> dict[str, str]:
    """The rule of each kind, read from the name of a run's folder, as ``rules_name`` makes it.

    Returns:
        Nothing if the name does not consist of rules.

    >>> rules_named("ll-acl_nsp"), rules_named("nsp"), rules_named("default")
    ({'intrasentence': 'll-acl', 'intersentence': 'nsp'}, {'intersentence': 'nsp'}, {})
    """
    parts = name.split("_")
    if len(parts) == 1 and name in RULES:
        return {str(kind): name for kind in RULES[name].kinds}
    if len(parts) == len(KINDS) and all(part in RULES for part in parts):
        return dict(zip(KINDS, parts, strict=True))
    return {}


def folder_name(model: str) -> str:
    """The name of a model's folder.

    >>> folder_name("bakery/small-model")
    'bakery--small-model'
    """
    return model.replace("/", "--")


def read_runs(root: Path, *, skipped: Callable[[str], None] = lambda _: None) -> list[Run]:
    """Every run below a folder: ``MODEL/RULE[+VARIANT]/scores.jsonl`` and ``run.json``.

    A run is left out if it has no scores, if the definition of its rule has changed since, or if
    writing it was interrupted.

    Args:
        root: the folder.
        skipped: receives a message for each run that is left out.

    Raises:
        CurationError: there is no run; a run has two scores for one association; a line is not a
            score. Names folder, or file and line.
    """
    runs = found_runs(root, skipped=skipped)
    if not runs:
        raise CurationError(
            f"{root}: no scores here (MODEL/RULE/scores.jsonl)",
            "run «curation scores models MODEL», or name the folder of the scores",
        )
    return runs


def found_runs(root: Path, *, skipped: Callable[[str], None] = lambda _: None) -> list[Run]:
    """As ``read_runs``; but if there is no run, there is no error."""
    folders = sorted({path.parent for path in root.glob("*/*/*.json*")})
    runs = []
    for path in filter(_is_run, folders):
        run = _read_run(path)
        again = "fit the ensemble" if run.about.get("family") == "ensemble" else "score the model"
        if not run.scores:  # the model failed before its first score
            skipped(f"{path}: has no scores; {again} again, or remove this folder")
        elif _interrupted(path, run):
            skipped(
                f"{path}: its scores are older than its run.json, because the command that wrote "
                f"them was interrupted; {again} again"
            )
        elif old := _outdated(run):
            skipped(f"{path}: {old}; score the model again")
        else:
            runs.append(run)
    return runs


def _interrupted(folder: Path, run: Run) -> bool:
    """Whether a run's description is of other scores than those beside it."""
    known = run.about.get("scores_sha256")
    return known is not None and known != digest(folder / "scores.jsonl")


def _outdated(run: Run) -> str:
    """Which rule of a run has another definition today, or ""."""
    then = dict(run.about.get("revisions") or {})
    changed = [rule for rule, now in revisions(run.rules).items() if then.get(rule, 1) != now]
    return "; ".join(REVISED[rule][1] for rule in changed)


def _is_run(folder: Path) -> bool:
    return (folder / "scores.jsonl").exists() or (folder / "run.json").exists()


def _read_run(folder: Path) -> Run:
    path = folder / "scores.jsonl"
    about = read_json(folder / "run.json") if (folder / "run.json").exists() else {}
    check_about(folder / "run.json", about)
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
                    "remove this folder and score the model again",
                )
    rule, _, variant = folder.name.partition("+")
    model = about.get("model") or folder.parent.name.replace("--", "/")
    digests = table["asked"].tolist() if "asked" in table else []
    asked = {name: text for name, text in zip(associations, digests, strict=False) if text}
    return Run(
        *(str(model), rule, variant, scores, about, str(folder), asked),
        refused=_read_refused(folder / REJECTED),
    )


def _read_refused(path: Path) -> dict[str, str]:
    """The associations that a run has refused, and the digests of their texts."""
    records = (rejection.record for rejection in read(path, Rejection))
    return {str(r.get("association", "")): str(r.get("asked", "")) for r in records}


def digests(cats: Sequence[Cat], *, variant: str = "") -> dict[str, str]:
    """Digests of the texts that are scored, by association; none for an unknown variant."""
    if variant not in {"", *VARIANTS}:
        return {}
    return {
        question.association: question.digest
        for cat in cats
        for question in questions(cat, variant=variant)
    }


def current(runs: Sequence[Run], cats: Sequence[Cat]) -> tuple[list[Run], dict[str, int]]:
    """The runs without the scores and refusals of texts that have changed since.

    Returns:
        The runs, and by name how many scores a run lost, if any.
    """
    now: dict[str, dict[str, str]] = {}
    current_runs, lost = [], {}
    for run in runs:
        if run.asked or run.refused:
            if run.variant not in now:
                now[run.variant] = digests(cats, variant=run.variant)
            today = now[run.variant]
            stale = {a for a, digest in run.asked.items() if today.get(a, digest) != digest}
            if stale:
                lost[run.name] = len(stale)
                kept = {a: value for a, value in run.scores.items() if a not in stale}
                run = replace(run, scores=kept)
            if run.refused:
                same = {a: d for a, d in run.refused.items() if not d or today.get(a, d) == d}
                run = replace(run, refused=same)
        current_runs.append(run)
    return current_runs, lost


def read_predictions_run(
    named: str, *, lower_is_likelier: Collection[str] = (), partial: bool = False
) -> Run:
    """Read a predictions file as a run.

    Args:
        named: ``NAME=FILE``, or ``NAME@RULES=FILE`` to declare how it was scored: by a profile, a
            rule, or the rules of both kinds (``INTRA_INTER``).
        lower_is_likelier: the NAMEs of files whose scores are perplexities or losses.
        partial: leave out scores that are not finite numbers.

    Raises:
        CurationError: ``named`` has another form, or its profile or rule is unknown; the file is
            not a predictions file; an id has two scores, or one that is not a number.
    """
    name, equals, file = (part.strip() for part in named.partition("="))
    name, at, declared = (part.strip() for part in name.partition("@"))
    if not (name and equals and file) or (at and not declared):
        raise CurationError(
            f"--predictions {named}: not NAME=FILE or NAME@RULES=FILE",
            "write, for example, gpt2@arxiv=predictions_gpt2.json",
        )
    if declared and declared not in PROFILES and not rules_named(declared):
        raise CurationError(
            f"--predictions {named}: there is no profile or rule «{declared}»",
            f"use a profile ({', '.join(PROFILES)}), a rule that «curation scores rules» lists, or "
            "one for each kind, such as ll-acl_nsp",
        )
    lower = name in lower_is_likelier
    pairs = read_predictions(Path(file))
    scores = scores_of(pairs, where=file, lower_is_likelier=lower, partial=partial)
    return Run(
        *(name, declared or PREDICTIONS, "", scores.values, {}, file),
        profile=declared if declared in PROFILES else "",
        lower_is_likelier=lower,
        bad=scores.bad,
    )


class Board(NamedTuple):
    """The comparisons that every run won in every CAT.

    ``cats`` has one row per CAT: kind, domain, term (``domain/target``). The arrays have shape
    (runs, CATs): ``meaningful`` 0 to 2, ``stereotype`` 0 to 1, ``tied`` 0 to 3, as in
    ``metrics.comparisons``; NaN if the run lacks a score of the CAT.
    """

    cats: pd.DataFrame
    runs: tuple[Run, ...]
    meaningful: Floats
    stereotype: Floats
    tied: Floats

    def table(self, run: int) -> pd.DataFrame:
        """A run's ``metrics.comparisons``, for the CATs that it has scored."""
        has = ~np.isnan(self.stereotype[run])
        table: pd.DataFrame = self.cats[has].assign(
            meaningful=self.meaningful[run, has],
            stereotype=self.stereotype[run, has],
            ties=self.tied[run, has].astype(int),
        )
        return table

    def lacking(self, run: int) -> tuple[list[str], int]:
        """The kinds without a scored CAT, and how many CATs of other kinds have no score."""
        has, kinds = ~np.isnan(self.stereotype[run]), self.cats["kind"]
        none = [kind for kind in KINDS if (kinds == kind).any() and not has[kinds == kind].any()]
        return [str(kind) for kind in none], int((~has & ~kinds.isin(none)).sum())

    def whole(self, chosen: Sequence[int]) -> list[int]:
        """The chosen runs that have scored CATs of every kind that any of them has."""
        lacks = {run: set(self.lacking(run)[0]) for run in chosen}
        common = set.intersection(*lacks.values()) if lacks else set()
        return [run for run in chosen if lacks[run] == common]


def scored(cats: Sequence[Cat], scores: Mapping[str, float]) -> list[bool]:
    """For each CAT, whether all of its associations have a score."""
    return [all(a.id in scores for a in cat.associations) for cat in cats]


def _check_declared(run: Run, kinds: set[str]) -> None:
    """Raise if predictions have scores of a kind that their declared rules are not for."""
    wrong = sorted(kinds - run.rules.keys()) if run.rules and not run.about else []
    if wrong:
        raise CurationError(
            f"{run.where}: is declared as scored by {run.rule}, which is not for {wrong[0]} CATs, "
            f"but has scores of {wrong[0]} CATs",
            "declare the rules of both kinds, such as ll-acl_nsp, or a profile",
        )


def board(
    cats: Sequence[Cat],
    runs: Sequence[Run],
    *,
    ties: Ties = "half",
    skipped: Callable[[str], None] = lambda _: None,
) -> Board:
    """Judge the CATs by the scores of each run.

    If a run lacks a score of a CAT, the CAT is left out of this run. A run without any score of
    these CATs is left out.

    Args:
        cats: the CATs.
        runs: the runs.
        ties: as in ``metrics.comparisons``.
        skipped: receives a message for each run that is left out.

    Raises:
        CurationError: there are no CATs; two runs have the same name; no run scores any of the
            CATs; a predictions file has scores of a kind that its declared rules are not for.
    """
    if not cats:
        raise CurationError("there is no CAT to compare models on", "name files with CATs")
    seen: dict[str, str] = {}
    for run in runs:
        if run.name in seen:
            raise CurationError(
                f"{run.where}: the run {run.name} is already in {seen[run.name]}",
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
            skipped(
                f"{run.where}: left out, since it has no scores for the benchmark's "
                f"{amount(len(cats), 'CAT')}"
            )
            continue
        kept.append(run)
        won.append(np.full((3, len(cats)), np.nan))
        won[-1][:, has] = judge(values[has], ties=ties)
    for run, (_, stereotype, _) in zip(kept, won, strict=True):
        _check_declared(run, set(keys["kind"][~np.isnan(stereotype)]))
    if not kept:
        raise CurationError(
            f"no model has scores for the benchmark's {amount(len(cats), 'CAT')}",
            "score the models on this benchmark, or name the folder of its scores",
        )
    return Board(keys, tuple(kept), *np.stack(won, axis=1))
