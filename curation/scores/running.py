"""Score CATs with a model, shard by shard; what is done stays done.

A run lies in ``<model>/<rule or profile>[+variant]/``: ``run.json`` says what scores,
``scores.jsonl`` is appended to as scores come, ``rejected.jsonl`` has what got none and
``results.json`` the figures.
Scores of another model, rule, dtype or version of a package never join them: such a run is moved
to ``superseded/`` and begun anew. So is a line whose text has changed since.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from curation.engine import Engine, each_shard
from curation.files import (
    CurationError,
    dump_json,
    dump_line,
    now,
    read_json,
    read_records,
    sweep,
    writing,
)
from curation.models.rules import Refusal, Scored, rules_for
from curation.models.scoring import Wanted, identify, open_scorer
from curation.records import KINDS, Cat, Kind, Rejection, Score
from curation.scores.asking import VARIANTS, Question, questions
from curation.scores.metrics import Ties, comparisons, results

ALGORITHM = 1  # raised when a rule's scores change
RUN, SCORES, REJECTED, RESULTS = "run.json", "scores.jsonl", "rejected.jsonl", "results.json"
_FREE = {"started_at", "opened"}  # what run.json says beside who scores
SHARD = 128  # CATs; what a killed run loses, and what progress is told in
_SLOW = 32  # of rules that read a text many times
_PER_GPU_TOKEN = 8  # a GPU's batches hold more, and so do its shards


class Shard(NamedTuple):
    """Associations of some CATs to be scored under one rule; picklable."""

    wanted: Wanted
    rule: str
    questions: list[Question]
    cats: int


class Done(NamedTuple):
    """What a shard gave, and what its worker says of the model."""

    scored: list[Scored]
    about: dict[str, Any]
    notices: list[str]


@dataclass
class Job:
    """One model under its rules, and where its scores lie."""

    wanted: Wanted
    identity: dict[str, Any]
    rules: dict[Kind, str]
    variant: str
    folder: Path

    def says(self) -> dict[str, Any]:
        """What a score file must say so that another's scores never join it."""
        return {
            **self.identity,
            "algorithm": ALGORITHM,
            "rules": self.rules,
            "variant": self.variant,
        }


def job(wanted: Wanted, root: Path, *, rule: str = "", profile: str = "", variant: str = "") -> Job:
    """What a model is to be scored by, and where.

    Args:
        wanted: the model.
        root: the folder of all models' scores.
        rule: one rule; or
        profile: a profile; without either, the default one.
        variant: how the texts are altered first.

    Raises:
        CurationError: no such model, rule, profile or variant, or the rule is not for the model.
    """
    if variant and variant not in VARIANTS:
        raise CurationError(f"there is no variant «{variant}»", f"take {', '.join(VARIANTS)}")
    identity = identify(wanted)
    rules = rules_for(identity["family"], rule=rule or None, profile=profile or None)
    if "nsp" not in rules.values():
        identity.pop("nsp", None)  # whatever head there is has no part in it
    label = (rule or profile or "default") + (f"+{variant}" if variant else "")
    folder = root / identity["model"].replace("/", "--") / label
    return Job(wanted, identity, rules, variant, folder)


def score_shard(shard: Shard) -> Done:
    """Score one shard; the model is opened once in each process."""
    scorer = open_scorer(shard.wanted)
    told = len(scorer.notices)
    scored = scorer.score(shard.rule, [question.ask for question in shard.questions])
    return Done(scored, scorer.about, scorer.notices[told:])


def score_cats(
    job: Job,
    cats: Sequence[Cat],
    *,
    engine: Engine = "local",
    workers: int | None = 1,
    begin: Callable[[int, int], None] = lambda done, total: None,
    tell: Callable[[int], None] = lambda cats: None,
    notice: Callable[[str], None] = lambda text: None,
) -> dict[str, int]:
    """Score every CAT that the run's rules serve and that has no score yet.

    Args:
        job: what scores, and where.
        cats: the CATs.
        engine: see ``each_shard``.
        workers: processes or machines; one works here.
        begin: told how many CATs are done already, and how many there are.
        tell: told how many CATs are done, as they are.
        notice: told what the user should know of how the model is run.

    Returns:
        Counts: associations scored now, scored before, refused.

    Raises:
        CurationError: no CAT is of a kind that the rules serve, the model cannot be run, what lies
            in the folder is no run, or another command writes there.
    """
    asked = [(cat, questions(cat, variant=job.variant)) for cat in cats if cat.kind in job.rules]
    if not asked:
        serves = ", ".join(job.rules)
        raise CurationError(f"no CAT is for the rule, which serves {serves} CATs", "take another")
    texts = {q.association: q.digest for _, all_ in asked for q in all_}
    with _held(job.folder):
        known = _resume(job, notice, texts)
        counts = {"scored": 0, "before": len(texts.keys() & known.keys()), "refused": 0}
        open_ = [
            (cat, all_) for cat, all_ in asked if any(q.association not in known for q in all_)
        ]
        begin(len(asked) - len(open_), len(asked))
        shards = list(_shards(job, open_, known))
        gpus = 1 if job.identity.get("device") == "cuda" else 0
        told = set()
        each = each_shard(score_shard, shards, engine=engine, workers=workers, gpus=gpus)
        for index, done in each:
            for text in done.notices:
                if text not in told:  # every worker says it
                    notice(text)
                told.add(text)
            refused = _append(job, shards[index], done)
            counts["refused"] += refused
            counts["scored"] += len(done.scored) - refused
            tell(shards[index].cats)
    return counts


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Keep other commands out of a run's folder, or two would score the same."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise CurationError(
            f"{folder}: another command is scoring here", "wait until it has ended"
        ) from None
    try:
        sweep(folder)
        yield
    finally:
        lock.release()


def _shards(
    job: Job, open_: list[tuple[Cat, list[Question]]], known: dict[str, str]
) -> Iterator[Shard]:
    for kind in KINDS:
        rule = job.rules.get(kind, "")
        # Contexts that begin alike come together, so that they are read once.
        of_kind = sorted(
            (each for each in open_ if each[0].kind == kind), key=lambda e: e[0].context
        )
        size = _SLOW if rule.startswith("pll") or rule == "nsp" else SHARD
        if job.identity.get("device") == "cuda":
            size *= _PER_GPU_TOKEN
        for start in range(0, len(of_kind), size):
            part = of_kind[start : start + size]
            left = [q for _, all_ in part for q in all_ if q.association not in known]
            yield Shard(job.wanted, rule, left, len(part))


def _append(job: Job, shard: Shard, done: Done) -> int:
    """Write what a shard gave; returns how many associations were refused."""
    name, lines, refused = job.identity["model"], [], []
    for question, value in zip(shard.questions, done.scored, strict=True):
        if isinstance(value, Refusal):
            refused.append(_rejection(job, shard.rule, question, value))
        else:
            score = Score(
                model=name,
                rule=shard.rule,
                association=question.association,
                value=value,
                asked=question.digest,
            )
            lines.append(dump_line(score))
    about = read_json(job.folder / RUN)
    opened = {**about.get("opened", {}), **done.about}
    if opened != about.get("opened", {}):
        _write(job.folder / RUN, {**about, "opened": opened})
    _add(job.folder / REJECTED, refused)
    _add(job.folder / SCORES, lines)
    return len(refused)


def _rejection(job: Job, rule: str, question: Question, why: Refusal) -> bytes:
    record = {
        "association": question.association,
        "asked": question.digest,
        "rule": rule,
    }
    return dump_line(
        Rejection(code=why.code, detail=why.detail, where=job.identity["model"], record=record)
    )


def _resume(job: Job, notice: Callable[[str], None], asked: dict[str, str]) -> dict[str, str]:
    """The associations that need no scoring any more, with their digests; the folder is ready.

    Raises:
        CurationError: what lies in the folder is no run.
    """
    place, scores, rejected = (job.folder / name for name in (RUN, SCORES, REJECTED))
    for path in (scores, rejected):
        _mend(path)
    says = job.says()
    other = _others(place, says)
    if not place.exists() and _count(scores) + _count(rejected):
        notice(f"{scores}: no {RUN} says whose these scores are; they are set aside")
        _set_aside(job.folder)
    if other:
        aside = _set_aside(job.folder)
        notice(f"{place}: another {' and '.join(other)}; those scores are in {aside} now")
    if not place.exists() and (old := _like(job.folder, says)):
        notice(f"{old}: those scores are of just this, and are taken up again")
        _move([RUN, REJECTED, SCORES], old, job.folder)
    if not place.exists():
        _write(place, {**says, "started_at": now()})
    valid = [s for s in _read(scores, Score) if asked.get(s.association, s.asked) == s.asked]
    barred = [r for r in _read(rejected, Rejection) if _stands(r, asked)]
    if len(valid) < _count(scores) or len(barred) < _count(rejected):
        aside = _set_aside(job.folder, [SCORES, REJECTED, RESULTS])
        notice(f"{scores}: texts have changed and are scored again; the old scores are in {aside}")
        _add(scores, [dump_line(score) for score in valid])
        _add(rejected, [dump_line(rejection) for rejection in barred])
    known = {score.association: score.asked for score in valid}
    return known | {r.record["association"]: r.record["asked"] for r in barred}


def _others(place: Path, says: dict[str, Any]) -> list[str]:
    """In what a folder's run differs from the one that is wanted."""
    if not place.exists():
        return []
    before = read_json(place)
    if not isinstance(before, dict):
        raise CurationError(f"{place}: is no run's", "take it away, or move the folder")
    keys = dict.fromkeys([*says, *(key for key in before if key not in _FREE)])
    return [key for key in keys if before.get(key) != says.get(key)]


def _like(folder: Path, says: dict[str, Any]) -> Path | None:
    """The latest run that was set aside and is no other than the one that is wanted."""
    places = sorted(folder.glob(f"superseded/*/{RUN}"), reverse=True)
    return next((place.parent for place in places if not _others(place, says)), None)


def _stands(rejection: Rejection, asked: dict[str, str]) -> bool:
    name, digest = (str(rejection.record.get(key, "")) for key in ("association", "asked"))
    return bool(name and digest) and asked.get(name, digest) == digest


def _set_aside(folder: Path, names: Sequence[str] = (SCORES, REJECTED, RESULTS, RUN)) -> Path:
    """Move a run's files. ``run.json`` goes last: without it, scores are nobody's."""
    place, number = folder / "superseded" / now().replace(":", "-"), 0
    old = place
    while old.exists():  # two in one millisecond
        number += 1
        old = place.with_name(f"{place.name}-{number}")
    old.mkdir(parents=True)
    _move(names, folder, old)
    return old


def _move(names: Sequence[str], folder: Path, to: Path) -> None:
    for name in names:
        if (folder / name).exists():
            os.replace(folder / name, to / name)


def _mend(path: Path) -> None:
    """Take away the half line that a killed run left."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)


def _add(path: Path, lines: list[bytes]) -> None:
    if not lines:
        return
    with path.open("ab", buffering=0) as file:
        before, left = file.tell(), memoryview(b"".join(lines))
        try:
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        except OSError as error:  # the disk is full: no half line stays
            file.truncate(before)
            error.filename = str(path)
            raise


def _read(path: Path, record: Any) -> list[Any]:
    return read_records(path, record) if path.exists() else []


def _count(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _write(path: Path, content: Any) -> None:
    with writing(path) as file:
        file.write(dump_json(content))


def conclude(
    job: Job, cats: Sequence[Cat], *, ties: Ties, resamples: int, seed: int
) -> dict[str, Any]:
    """The run's figures on each split, written to ``results.json``.

    Returns:
        ``{"run", "ties", "splits": {split: {**results, "left_out"}}, "left_out": {split: n}}``;
        ``left_out`` counts CATs of the rules' kinds that lack a score. A split of which no CAT has
        all its scores has no figures.

    Raises:
        CurationError: no CAT has a score of each association.
    """
    scores = {s.association: s.value for s in _read(job.folder / SCORES, Score)}
    splits, left_out = {}, {}
    for split in dict.fromkeys(cat.split for cat in cats):
        part = [cat for cat in cats if cat.split == split and cat.kind in job.rules]
        whole = [cat for cat in part if all(a.id in scores for a in cat.associations)]
        if part:
            left_out[split] = len(part) - len(whole)
        if not whole:
            continue
        table = comparisons(whole, scores, ties=ties)
        name = f"{job.identity['model']}, {job.folder.name}"
        found = results(table, model=name, resamples=resamples, seed=seed)
        splits[split] = {**found, "left_out": left_out[split]}
    run = read_json(job.folder / RUN)
    content = {"run": run, "ties": ties, "splits": splits, "left_out": left_out}
    _write(job.folder / RESULTS, content)
    if not splits:
        raise CurationError(
            f"{job.identity['model']}: no CAT has a score of each association",
            f"see {job.folder / REJECTED} for why",
        )
    return content
