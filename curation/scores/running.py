"""Score CATs with a model, shard by shard; what is done stays done.

A run lies in ``<model>/<rules>[+variant]/`` (``curation.scores.run_folder``): ``run.json`` says
what scores, ``scores.jsonl`` is appended to as scores come, ``rejected.jsonl`` has what got none
and ``results.json`` the figures.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from curation.engine import Engine, each_shard
from curation.files import CurationError, dump_line, read_json
from curation.models.rules import (
    TRAINED_HEADS,
    Refusal,
    Scored,
    profiles_of,
    revisions,
    rules_for,
    rules_name,
)
from curation.models.scoring import ModelSpec, identify, open_scorer, tokens_of
from curation.records import KINDS, Cat, Kind, Rejection, Score
from curation.scores.asking import VARIANTS, Question, questions
from curation.scores.run_folder import (
    REJECTED,
    RESULTS,
    RUN,
    SCORES,
    add,
    held,
    note,
    read,
    rename_old,
    resume,
    write,
)
from curation.stats.metrics import Ties, comparisons, results

ALGORITHM = 1  # raised when the scores of all rules change; of one, see ``rules.REVISED``
SHARD = 128  # CATs; what a killed run loses, and what progress is told in
_SLOW = 32  # of rules that read a text many times
_PER_GPU_TOKEN = 8  # a GPU's batches hold more, and so do its shards


class Shard(NamedTuple):
    """Associations of some CATs to be scored under one rule; picklable."""

    wanted: ModelSpec
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
    """One model under its rules, and where its scores lie.

    ``own_head`` says whether the model's own next-sentence head is accepted where the profile asks
    for a trained one and none is given; elsewhere it is "".
    """

    wanted: ModelSpec
    identity: dict[str, Any]
    rules: dict[Kind, str]
    variant: str
    folder: Path
    own_head: Literal["", "accepted", "refused"] = ""

    def says(self) -> dict[str, Any]:
        """What a score file must say so that another's scores never join it."""
        revised = revisions(self.rules)
        return {
            **self.identity,
            "algorithm": ALGORITHM,
            "rules": self.rules,
            **({"revisions": revised} if revised else {}),
            "variant": self.variant,
        }


def job(
    wanted: ModelSpec,
    root: Path,
    *,
    rule: str = "",
    profile: str = "",
    variant: str = "",
    accept_own_head: bool = False,
) -> Job:
    """What a model is to be scored by, and where.

    Args:
        wanted: the model.
        root: the folder of all models' scores.
        rule: one rule; or
        profile: a profile; without either, the default one.
        variant: how the texts are altered first.
        accept_own_head: take a model's own next-sentence head also where the profile asks for a
            trained one.

    Raises:
        CurationError: no such model, rule, profile or variant, or the rule is not for the model.
    """
    if variant and variant not in VARIANTS:
        raise CurationError(f"there is no variant «{variant}»", f"take {', '.join(VARIANTS)}")
    identity = identify(wanted)
    rules = rules_for(identity["family"], rule=rule or None, profile=profile or None)
    if "nsp" not in rules.values():
        identity.pop("nsp", None)  # whatever head there is has no part in it
    own_head: Literal["", "accepted", "refused"] = ""
    if profile in TRAINED_HEADS and not wanted.nsp and "nsp" in rules.values():
        own_head = "accepted" if accept_own_head else "refused"
    label = rules_name(rules) + (f"+{variant}" if variant else "")
    folder = root / identity["model"].replace("/", "--") / label
    return Job(wanted, identity, rules, variant, folder, own_head)


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
        CurationError: no CAT is of a kind that the rules serve, the profile asks for a trained
            head that is not there, the model cannot be run, what lies in the folder is not a run,
            or another command writes there.
    """
    asked = [(cat, questions(cat, variant=job.variant)) for cat in cats if cat.kind in job.rules]
    if not asked:
        serves = ", ".join(job.rules)
        raise CurationError(f"no CAT is for the rule, which serves {serves} CATs", "take another")
    own_head = bool(job.own_head) and any(job.rules[cat.kind] == "nsp" for cat, _ in asked)
    if own_head:
        _check_head(job)
    texts = {q.association: q.digest for _, all_ in asked for q in all_}
    rename_old(job.folder, job.says(), notice)
    with held(job.folder):
        known = resume(job.folder, job.says(), texts, notice)
        if own_head:
            note(job.folder, own_head=True)
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
        if shards or "tokens" not in read_json(job.folder / RUN):
            every = [question.ask.text for _, all_ in asked for question in all_]
            note(job.folder, tokens=tokens_of(job.wanted, every))
    return counts


def _check_head(job: Job) -> None:
    """Raise where a profile asks for a trained next-sentence head that is not there."""
    if job.own_head == "refused":
        profile = ", ".join(profiles_of(job.identity["family"], job.rules))
        raise CurationError(
            f"{job.identity['model']}: {profile} takes a next-sentence head that was trained alike "
            "for every model (ACL §6.1, A.5), and --nsp does not name one",
            "train one with «curation scores train-nsp» and name its folder with --nsp; if the "
            "model has a head of its own, as BERT has, --accept-own-head takes it, and every table "
            "says so",
        )


def _shards(
    job: Job, open_: list[tuple[Cat, list[Question]]], known: dict[str, str]
) -> Iterator[Shard]:
    # What needs a head comes first: if there is none, nothing has been scored for nothing.
    for kind in sorted(KINDS, key=lambda one: job.rules.get(one) != "nsp"):
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
    opened = read_json(job.folder / RUN).get("opened", {})
    if done.about:
        note(job.folder, opened={**opened, **done.about})
    add(job.folder / REJECTED, refused)
    add(job.folder / SCORES, lines)
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


def conclude(job: Job, cats: Sequence[Cat], *, ties: Ties) -> dict[str, Any]:
    """``figures`` of a run, written to its ``results.json``.

    Raises:
        CurationError: no CAT has a score of each association.
    """
    content = figures(job, cats, ties=ties)
    write(job.folder / RESULTS, content)
    if not content["splits"]:
        raise CurationError(
            f"{job.identity['model']}: no CAT has a score of each association",
            f"see {job.folder / REJECTED} for why",
        )
    return content


def figures(job: Job, cats: Sequence[Cat], *, ties: Ties) -> dict[str, Any]:
    """The run's figures on each split.

    Returns:
        ``{"run", "ties", "splits": {split: {**results, "left_out"}}, "left_out": {split: n}}``;
        ``left_out`` counts CATs of the rules' kinds that lack a score. A split of which no CAT has
        all its scores has no figures.
    """
    scores = {s.association: s.value for s in read(job.folder / SCORES, Score)}
    run = read_json(job.folder / RUN)
    own = ", own next-sentence head" if run.get("own_head") else ""
    splits, left_out = {}, {}
    for split in dict.fromkeys(cat.split for cat in cats):
        part = [cat for cat in cats if cat.split == split and cat.kind in job.rules]
        whole = [cat for cat in part if all(a.id in scores for a in cat.associations)]
        if part:
            left_out[split] = len(part) - len(whole)
        if not whole:
            continue
        table = comparisons(whole, scores, ties=ties)
        name = f"{job.identity['model']}, {job.folder.name}{own}"
        found = results(table, model=name)
        splits[split] = {**found, "left_out": left_out[split]}
    return {"run": run, "ties": ties, "splits": splits, "left_out": left_out}
