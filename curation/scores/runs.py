"""Runs: what models scored or preferred, read from folders and files."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from curation.files import CurationError, digest, read_json, read_records, read_table
from curation.formats.predictions import read_predictions, scores_of, turn_signs
from curation.kinds import CAT_KINDS, FILLED, ITEMS, KINDS, Gold, ItemKind, Kind
from curation.models.rules import PROFILES, RULES, rules_of
from curation.records import Cat, Comparison, Rejection, Score
from curation.scores.asking import COMPARED, VARIANTS, cat_digest, texts
from curation.scores.run_folder import (
    COMPARISONS,
    REJECTED,
    RUN,
    SCORES,
    check_about,
    why_no_outcome,
)
from curation.stats.intervals import Floats
from curation.stats.metrics import Ties, count_won


class Outcome(NamedTuple):
    """How the comparisons of a CAT ended, in the order of its kind's ``pairs``.

    ``won`` and ``split`` are shares of replicates, as in ``records.Comparison``. ``asked`` is the
    digest of the CAT's texts (``asking.cat_digest``). ``probable`` says whether the model gave
    probabilities of the letters.
    """

    won: tuple[float, ...]
    split: tuple[float, ...]
    asked: str = ""
    probable: bool = False


def read_outcomes(path: Path) -> dict[str, Outcome]:
    """The outcomes in a file of comparisons, by CAT; none if the file does not exist.

    A CAT that lacks comparisons of its kind is left out.

    Raises:
        CurationError: a line is not a comparison, or one comparison is there twice; names the file
            and the line, or the CAT.
    """
    if not path.exists():
        return {}
    by_cat: dict[str, dict[str, Comparison]] = {}
    for line in read_records(path, Comparison):
        of_cat = by_cat.setdefault(line.cat, {})
        if line.pair in of_cat or line.won + line.split > 1 + 1e-9:
            problem = "has two lines" if line.pair in of_cat else "has won + split above 1"
            raise CurationError(
                f"{path}: the comparison {line.pair} of CAT {line.cat} {problem}",
                "delete this file and score the model again; its replies are kept, and are not "
                "asked for again",
            )
        of_cat[line.pair] = line
    outcomes = {}
    for cat, of_cat in by_cat.items():
        pairs = next((pairs for pairs in COMPARED.values() if pairs.keys() == of_cat.keys()), ())
        ended = [of_cat[pair] for pair in pairs]
        if ended:
            outcomes[cat] = Outcome(
                tuple(comparison.won for comparison in ended),
                tuple(comparison.split for comparison in ended),
                ended[0].asked,
                all(comparison.p is not None for comparison in ended),
            )
    return outcomes


def judge_outcomes(
    outcomes: Sequence[Outcome], *, kind: ItemKind = FILLED, ties: Ties = "half"
) -> Floats:
    """The comparisons won in each CAT of one kind, as ``metrics.judge``.

    A comparison is worth the share of replicates that it won, and with ties ``half`` also half of
    the share that was split. It is a tie if all of its replicates were split.

    Args:
        outcomes: of CATs.
        kind: of the CATs.
        ties: as in ``metrics.comparisons``.

    >>> judge_outcomes([Outcome((1, 0, 0), (0, 1, 0.5))]).tolist()
    [[1.5], [0.25], [1.0]]
    """
    shape = (-1, len(kind.pairs))
    won = np.array([outcome.won for outcome in outcomes], float).reshape(shape).T
    split = np.array([outcome.split for outcome in outcomes], float).reshape(shape).T
    values = won + (0.5 if ties == "half" else 0.0) * split
    return count_won(values, np.asarray(split == 1, float), kind=kind)


ByIds = dict[tuple[str, str], tuple[float, float]]
"""``won`` and ``split`` of comparisons by the ids of the two associations, in both orders."""


def by_ids(cats: Sequence[Cat], outcomes: Mapping[str, Outcome], *, variant: str = "") -> ByIds:
    """Comparisons by the ids of their associations.

    CATs are found by their texts, so their ids and gold labels may have changed since the model was
    asked.

    Args:
        cats: the CATs; those without an outcome are left out.
        outcomes: by CAT, as they were asked.
        variant: how the texts were altered.
    """
    by_texts = {outcome.asked: outcome for outcome in outcomes.values() if outcome.asked}
    table: ByIds = {}
    for cat in cats:
        own, kind = outcomes.get(cat.id), ITEMS[cat.kind]
        for golds in permutations(kind.roles):  # the first is that of the CAT as it is now
            ids = ids_of(cat, golds)
            then = _relabelled(cat, dict(zip(ids, kind.roles, strict=True)))
            texts = cat_digest(then, variant=variant)
            outcome = own if own and own.asked in ("", texts) else by_texts.get(texts)
            if outcome:
                for (a, b), won, split in zip(kind.pairs, outcome.won, outcome.split, strict=True):
                    table[ids[a], ids[b]] = (won, split)
                    table[ids[b], ids[a]] = (max(0.0, 1 - won - split), split)
                break
    return table


def from_ids(ids: Sequence[str], table: ByIds, kind: ItemKind = FILLED) -> Outcome | None:
    """The outcome of a CAT whose associations have these ids, in the order of the kind's roles."""
    ended = [table.get((ids[first], ids[second])) for first, second in kind.pairs]
    there = [each for each in ended if each]
    if len(there) < len(ended):
        return None
    return Outcome(tuple(won for won, _ in there), tuple(split for _, split in there))


def outcomes_of(cats: Sequence[Cat], table: ByIds) -> dict[str, Outcome]:
    """The outcomes of CATs that have all their comparisons in a table of ``by_ids``, by CAT."""
    known = {cat.id: from_ids(ids_of(cat), table, ITEMS[cat.kind]) for cat in cats}
    return {cat: outcome for cat, outcome in known.items() if outcome}


def ids_of(cat: Cat, golds: Sequence[Gold] | None = None) -> list[str]:
    """The ids of a CAT's associations in the order of these gold labels; default: its roles."""
    by_gold = {association.gold: association.id for association in cat.associations}
    return [by_gold[gold] for gold in golds or ITEMS[cat.kind].roles]


def _relabelled(cat: Cat, golds: Mapping[str, Gold]) -> Cat:
    labelled = (each.model_copy(update={"gold": golds[each.id]}) for each in cat.associations)
    return cat.model_copy(update={"associations": tuple(labelled)})


PREDICTIONS = "predictions"  # the rule of a predictions file for which none is declared


@dataclass(frozen=True)
class Run:
    """One model's scores, or comparisons, under the rules of each kind of CAT.

    Attributes:
        model: the model's name.
        rule: the folder's name without its variant.
        variant: the part of the folder's name after the first «+», or "".
        scores: by association; a higher score means likelier.
        about: the content of ``run.json``.
        where: folder or file, for errors.
        asked: digests of the scored texts by association, if they are known.
        refused: digests of the texts of associations that were refused, by association; None for
            predictions, which do not say what was refused. In a run with comparisons: digests of
            the CATs in which a question has no answer, by CAT.
        profile: the profile that a predictions file was declared to be scored by. The profiles of
            other runs follow from their family and rules.
        lower_is_likelier: whether the sign of a predictions file's scores was changed, or the kind
            of CAT for which it was.
        bad: associations of a predictions file whose score is not a finite number.
        comparisons: of a run by the rule ``choice``, which has no scores, by CAT.
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
    lower_is_likelier: bool | Kind = False
    bad: frozenset[str] = frozenset()
    comparisons: Mapping[str, Outcome] = field(default_factory=dict)

    @property
    def by_choice(self) -> bool:
        """Whether the run is by the rule ``choice``: it has comparisons instead of scores."""
        return not self.scores and (bool(self.comparisons) or "choice" in self.rules.values())

    def has(self, cat: Cat) -> bool:
        """Whether the run has what the metrics of a CAT need: all scores, or all comparisons."""
        ended = self.comparisons.get(cat.id)
        if ended is not None and len(ended.won) == len(ITEMS[cat.kind].pairs):
            return True
        return all(a.id in self.scores for a in cat.associations)

    def has_part(self, cat: Cat) -> bool:
        """Whether the run has a score of a CAT, or its comparisons."""
        return cat.id in self.comparisons or any(a.id in self.scores for a in cat.associations)

    def was_asked(self, cat: Cat) -> bool:
        """Whether everything in a CAT was scored or refused."""
        if self.has(cat):
            return True
        refused = self.refused or {}
        if self.by_choice:
            return cat.id in refused
        return all(a.id in self.scores or a.id in refused for a in cat.associations)

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
        return str(self.about.get("family", ""))

    @property
    def opened_head(self) -> Any:
        """The next-sentence head that was opened, by ``run.json``; None if it does not say."""
        about: Any = self.about
        for key in ("opened", "nsp", "next_sentence", "head"):
            about = about.get(key) if isinstance(about, Mapping) else None
        return about

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
        own = dict.fromkeys(RULES[name].kinds, name)
        return {str(kind): of for kind, of in (rules_of(own, CAT_KINDS) or own).items()}
    if 1 < len(parts) <= len(CAT_KINDS) and all(part in RULES for part in parts):
        return dict(zip(CAT_KINDS, parts, strict=False))
    return {}


def folder_name(model: str) -> str:
    """The name of a model's folder.

    >>> folder_name("bakery/small-model")
    'bakery--small-model'
    """
    return model.replace("/", "--")


def model_of(folder: Path, about: Mapping[str, Any]) -> str:
    """The name of a run's model: from its ``run.json``, otherwise from the name of its folder."""
    return str(about.get("model") or folder.parent.name.replace("--", "/"))


def find_runs(
    root: Path, *, model: str = "*", skipped: Callable[[str], None] = lambda _: None
) -> list[Run]:
    """Every run below a folder: ``MODEL/RULE[+VARIANT]/scores.jsonl`` and ``run.json``.

    A run of a chat model has ``comparisons.jsonl`` instead of scores. A run is left out if it has
    neither, or if writing it was interrupted.

    Args:
        root: the folder.
        model: the name of a model's folder; by default, runs of all models are read.
        skipped: receives a message for each run that is left out.

    Raises:
        CurationError: a run has two scores for one association; a line is not a score. Names
            folder, or file and line.
    """
    folders = sorted({path.parent for path in root.glob(f"{model}/*/*.json*")})
    runs = []
    for path in folders:
        if not any((path / name).exists() for name in (SCORES, COMPARISONS, RUN)):
            continue
        run = _read_run(path)
        again = "fit the ensemble" if run.about.get("family") == "ensemble" else "score the model"
        if run.by_choice and not run.comparisons:
            skipped(f"{path}: left out: {why_no_outcome(run.about)}")
        elif not run.scores and not run.by_choice:  # the model failed before its first score
            skipped(f"{path}: has no scores; {again} again, or remove this folder")
        elif _interrupted(path, run):
            skipped(
                f"{path}: its scores are older than its run.json, because the command that wrote "
                f"them was interrupted; {again} again"
            )
        else:
            runs.append(run)
    return runs


def _interrupted(folder: Path, run: Run) -> bool:
    """Whether a run's description is of other scores than those beside it."""
    known = run.about.get("scores_sha256")
    return known is not None and known != digest(folder / "scores.jsonl")


def _read_run(folder: Path) -> Run:
    path, about_path = folder / SCORES, folder / RUN
    about = read_json(about_path) if about_path.exists() else {}
    check_about(about_path, about)
    table = pd.DataFrame(columns=["association", "value", "asked"])
    if path.exists():
        table = read_table([path], Score)
    associations, values = table["association"].tolist(), table["value"].tolist()
    scores = dict(zip(associations, values, strict=True))
    if len(scores) < len(associations):
        for name, value in zip(associations, values, strict=True):
            if scores[name] != value:
                raise CurationError(
                    f"{path}: two different scores for association {name}",
                    "remove this folder and score the model again",
                )
    rule, _, variant = folder.name.partition("+")
    digests = zip(associations, table["asked"].tolist(), strict=True)
    return Run(
        model_of(folder, about),
        rule,
        variant,
        scores,
        about,
        where=str(folder),
        asked={name: text for name, text in digests if text},
        refused=_read_refused(folder / REJECTED),
        comparisons={} if scores else read_outcomes(folder / COMPARISONS),
    )


def _read_refused(path: Path) -> dict[str, str]:
    """What a run has refused, associations or CATs, and the digests of their texts."""
    records = [rejection.record for rejection in read_records(path, Rejection, missing_ok=True)]
    scored = {str(r["association"]): str(r.get("asked", "")) for r in records if "association" in r}
    chosen = {str(r["cat"]): str(r.get("texts", "")) for r in records if "cat" in r}
    return scored | chosen


def digests(cats: Sequence[Cat], *, variant: str = "") -> dict[str, str]:
    """Digests of the texts that are scored, by association; none for an unknown variant."""
    if variant not in {"", *VARIANTS}:
        return {}
    asked = (question for cat in cats for question in texts(cat, variant=variant))
    return {question.association: question.digest for question in asked}


def _digests_now(run: Run, cats: Sequence[Cat]) -> dict[str, str]:
    """The digests of the texts that a run was asked, as they are now: by CAT or by association."""
    if run.by_choice and run.variant in {"", *VARIANTS}:
        return {cat.id: cat_digest(cat, variant=run.variant) for cat in cats}
    return digests(cats, variant=run.variant)


def drop_outdated(runs: Sequence[Run], cats: Sequence[Cat]) -> tuple[list[Run], dict[str, int]]:
    """The runs without the scores, comparisons and refusals of texts that have changed since.

    Comparisons of a CAT are also left out if the gold labels of its associations were exchanged.
    If lower scores of a predictions file are likelier for one kind of CAT, their sign is changed
    here, so call this once.

    Returns:
        The runs, and by name how many scores, or CATs with comparisons, a run lost, if any.
    """
    now: dict[tuple[str, bool], dict[str, str]] = {}
    current_runs, lost = [], {}
    for run in runs:
        if not isinstance(run.lower_is_likelier, bool):
            run = replace(run, scores=turn_signs(run.scores, cats, run.lower_is_likelier))
        asked = run.asked or {cat: outcome.asked for cat, outcome in run.comparisons.items()}
        if asked or run.refused:
            key = (run.variant, run.by_choice)
            if key not in now:
                now[key] = _digests_now(run, cats)
            today = now[key]
            stale = {a for a, digest in asked.items() if today.get(a, digest) != digest}
            if stale:
                lost[run.name] = len(stale)
                run = replace(
                    run,
                    scores={a: value for a, value in run.scores.items() if a not in stale},
                    comparisons={c: o for c, o in run.comparisons.items() if c not in stale},
                )
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
        lower_is_likelier: the NAMEs of files whose scores are perplexities or losses; NAME@KIND if
            only those of a kind of CAT are.
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
    if "choice" in (declared, *rules_named(declared).values()):
        raise CurationError(
            f"--predictions {named}: «choice» compares associations, so it gives no scores of them",
            "leave out «choice»; its runs are in the folder of scores",
        )
    kinds = [kind for kind in KINDS if f"{name}@{kind}" in lower_is_likelier]
    lower = name in lower_is_likelier or len(kinds) > 1
    pairs = read_predictions(Path(file))
    scores = scores_of(pairs, where=file, lower_is_likelier=lower, partial=partial)
    return Run(
        model=name,
        rule=declared or PREDICTIONS,
        variant="",
        scores=scores.values,
        where=file,
        profile=declared if declared in PROFILES else "",
        lower_is_likelier=lower or next(iter(kinds), False),
        bad=scores.bad,
    )
