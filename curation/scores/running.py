"""Score CATs with a model, or ask a chat model. A command that is run again continues where it was.

The scores of a run are in ``<model>/<rules>[+variant]/`` (``curation.scores.run_folder``):
``run.json`` identifies the run, ``scores.jsonl`` grows as scores come, ``rejected.jsonl`` lists the
associations without a score and their reasons, and ``results.json`` has lms, ss and icat.

In the folder of a chat model, ``<model>/choice[+variant]/``, ``replies.jsonl`` grows as replies
come. Everything else is computed from the replies at the end of every command:
``comparisons.jsonl``, ``rejected.jsonl`` with the questions without an answer, ``choice.json`` and
``results.json``.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Literal, NamedTuple

from curation.files import CurationError, digest, dump_line, read_records
from curation.kinds import CAT_KINDS, KINDS, Kind
from curation.models.chat import (
    read_prompts,
)
from curation.models.echoes import BOUND
from curation.models.rules import (
    TRAINED_HEADS,
    Refusal,
    Scored,
    profiles_of,
    rules_for,
    rules_name,
)
from curation.models.scoring import ModelSpec, identify, open_chat, open_scorer, tokens_of
from curation.records import Cat, Fields, Rejection, Score
from curation.scores.answer_report import Limits, choice_report
from curation.scores.answers import compare, on_one_basis, unanswered
from curation.scores.asking import (
    VARIANTS,
    Asked,
    ChatQuestion,
    Question,
    Replies,
    appending,
    open_questions,
    questions,
    questions_of,
    read_replies,
)
from curation.scores.boards import comparisons
from curation.scores.run_folder import (
    CHOICE,
    COMPARISONS,
    REJECTED,
    REPLIES,
    RESULTS,
    SCORES,
    claim,
    locked_run,
    note,
    read_run,
    resume,
    scored_cats,
    set_aside_run,
)
from curation.scores.runs import Run, folder_name, read_outcomes
from curation.stats.metrics import Ties, results
from curation.work.engine import Engine, each_shard
from curation.work.run_folder import append_lines, write_json, write_lines

if TYPE_CHECKING:
    from curation.models.completions import Repeats


CATS = 64  # of each command; fewer could miss that only long texts differ
UNSTEADY = "the endpoint gives other log-probabilities if it gets the same texts again"


def draw(cats: Sequence[Cat], *, seed: int) -> list[str]:
    """The ids of the CATs whose texts an endpoint gets three times: all, or ``CATS`` of them."""
    ids = [cat.id for cat in cats]
    return Random(seed).sample(ids, min(CATS, len(ids)))  # noqa: S311


def set_aside_unsteady(job: "Job", repeats: "Repeats", *, seed: int) -> Path | None:
    """Write to ``run.json`` how far answers to the same texts are apart.

    Args:
        job: the run, whose folder is locked.
        repeats: of the texts of one shard.
        seed: the seed of ``draw``.

    Returns:
        None if all can be rounding; otherwise the folder in ``superseded/`` to which the run is
        moved. It is not used again, because ``run.json`` has ``unsteady``.
    """
    before = read_run(job.folder).get("repeats", {})
    result = {
        "texts": before.get("texts", 0) + repeats.texts,
        "largest": max(before.get("largest", 0.0), repeats.largest),
        "bound": BOUND,
        "seed": seed,
    }
    if repeats.largest <= BOUND:
        note(job.folder, repeats=result)
        return None
    note(job.folder, repeats=result, unsteady=UNSTEADY)
    return set_aside_run(job.folder)


ALGORITHM = 1  # raised if the scores change; a single rule that changes gets a new name
SHARD = 128  # CATs; a killed run loses at most this many, and progress is reported per shard
_SLOW = 32  # CATs in a shard, for rules that read a text many times
_GPU_FACTOR = 8  # a GPU's batches are larger, so its shards are too


class Shard(NamedTuple):
    """Associations of ``cats`` CATs to be scored under one rule; can be pickled.

    ``again`` are those that an endpoint gets three times.
    """

    spec: ModelSpec
    rule: str
    questions: list[Question]
    cats: int
    again: Sequence[Question] = ()


class Done(NamedTuple):
    """The scores of a shard, what was opened to compute them, and notices for the user."""

    scored: list[Scored]
    about: Fields
    notices: list[str]
    repeats: "Repeats | None" = None


@dataclass
class Job:
    """One model under its rules, and the folder of its scores.

    Attributes:
        spec: the model, and how to run it.
        identity: identifies the model's scores (``identify``).
        rules: the rule for each kind of CAT.
        variant: how the texts are altered first, or "".
        folder: the run's folder.
        own_head: whether the model's own next-sentence head is accepted. "" if the question does
            not arise: the profile needs no trained head, or one is given.
    """

    spec: ModelSpec
    identity: Fields
    rules: dict[Kind, str]
    variant: str
    folder: Path
    own_head: Literal["", "accepted", "refused"] = ""

    def run_identity(self) -> Fields:
        """The fields of ``run.json`` that identify the run."""
        return {
            **self.identity,
            "algorithm": ALGORITHM,
            "rules": self.rules,
            "variant": self.variant,
        }


def job(
    spec: ModelSpec,
    root: Path,
    *,
    rule: str = "",
    profile: str = "",
    variant: str = "",
    accept_own_head: bool = False,
    kinds: Collection[Kind] = CAT_KINDS,
) -> Job:
    """Determine the rules for a model, and the folder of its scores.

    Args:
        spec: the model.
        root: the folder of all models' scores.
        rule: score by this rule.
        profile: score by this profile; without rule and profile, by the profile ``default``.
        variant: how the texts are altered first.
        accept_own_head: use the model's own next-sentence head even if the profile needs a trained
            one.
        kinds: the kinds of the CATs.

    Raises:
        CurationError: the model, rule, profile or variant does not exist, or the rule is not for
            this model.
    """
    if variant and variant not in VARIANTS:
        raise CurationError(
            f"there is no variant «{variant}»", f"use one of: {', '.join(VARIANTS)}"
        )
    identity = identify(spec)
    named = {"rule": rule or None, "profile": profile or None}
    rules = rules_for(identity["family"], **named, kinds=kinds)
    if "nsp" not in rules.values():
        identity.pop("nsp", None)  # no rule reads the head
    own_head: Literal["", "accepted", "refused"] = ""
    if profile in TRAINED_HEADS and not spec.nsp and "nsp" in rules.values():
        own_head = "accepted" if accept_own_head else "refused"
    if spec.chat:
        identity["prompts"] = read_prompts(spec.chat.prompts).sha256(rules)
        if spec.url:
            identity["temperature"] = spec.chat.temperature
    label = rules_name(rules) + (f"+{variant}" if variant else "")
    folder = root / folder_name(identity["model"]) / label
    return Job(spec, identity, rules, variant, folder, own_head)


def score_shard(shard: Shard) -> Done:
    """Score one shard; each process opens the model only once."""
    scorer = open_scorer(shard.spec)
    before = len(scorer.notices)
    scored = scorer.score(shard.rule, [question.ask for question in shard.questions])
    again = [question.ask for question in shard.again]
    repeats = scorer.repeat(shard.rule, again) if again else None
    return Done(scored, scorer.about, scorer.notices[before:], repeats)


def score_cats(
    job: Job,
    cats: Sequence[Cat],
    *,
    engine: Engine = "local",
    workers: int | None = 1,
    seed: int = 1,
    begin: Callable[[int, int], None] = lambda done, total: None,
    tell: Callable[[int], None] = lambda cats: None,
    notice: Callable[[str], None] = lambda text: None,
) -> dict[str, int]:
    """Score every CAT that the run's rules are for and that has no score yet.

    Args:
        job: the model, its rules and its folder.
        cats: the CATs.
        engine: see ``each_shard``.
        workers: processes or machines; with 1, the work is done in this process.
        seed: of the draw of CATs whose texts are sent to an endpoint three times.
        begin: called once with the number of CATs that are already done, and of all CATs.
        tell: called after each shard with the number of its CATs.
        notice: receives messages for the user about how the model is run.

    Returns:
        Numbers of associations: ``scored`` now, scored ``before``, and ``refused``.

    Raises:
        CurationError: no CAT is of a kind that the rules are for, the profile needs a trained head
            that is not given, the model cannot be run, an endpoint's answers to the same texts
            differ, the content of the folder is not a run, or another command writes there.
    """
    work = [(cat, questions(cat, variant=job.variant)) for cat in cats_of_rules(job, cats)]
    needs_head = bool(job.own_head) and any(job.rules[cat.kind] == "nsp" for cat, _ in work)
    if needs_head:
        _check_head(job)
    digests = {q.association: q.digest for _, asked in work for q in asked}
    with locked_run(job.folder):
        known = resume(job.folder, job.run_identity(), digests, notice)
        if needs_head:
            note(job.folder, own_head=True)
        if "nsp" in job.rules.values():
            from curation.models.nsp import training_of

            if training := training_of(Path(job.spec.nsp or job.spec.name)):
                note(job.folder, head_training=training)
        counts = {"scored": 0, "before": len(digests.keys() & known.keys()), "refused": 0}
        open_ = [
            (cat, asked) for cat, asked in work if any(q.association not in known for q in asked)
        ]
        begin(len(work) - len(open_), len(work))
        repeated = draw([cat for cat, _ in open_], seed=seed) if job.spec.url else []
        shards = list(_shards(job, open_, known, repeated))
        gpus = 1 if job.identity.get("device") == "cuda" else 0
        shown = set()
        each = each_shard(score_shard, shards, engine=engine, workers=workers, gpus=gpus)
        with closing(each):
            for index, done in each:
                for text in done.notices:
                    if text not in shown:  # every worker sends it
                        notice(text)
                    shown.add(text)
                if done.repeats:
                    aside = set_aside_unsteady(job, done.repeats, seed=seed)
                    if aside:
                        _append(replace(job, folder=aside), shards[index], done)
                        raise CurationError(
                            f"{job.identity['model']}: {UNSTEADY}: up to "
                            f"{done.repeats.largest:,.2f} nats per token, and rounding explains "
                            f"at most {BOUND:g}; the scores are now in {aside}",
                            "switch off the server's cache of prefixes (start vLLM with "
                            "--no-enable-prefix-caching), and run the command again",
                        )
                refused = _append(job, shards[index], done)
                counts["refused"] += refused
                counts["scored"] += len(done.scored) - refused
                tell(shards[index].cats)
        if shards or "tokens" not in read_run(job.folder):
            texts = [question.ask.text for _, asked in work for question in asked]
            note(job.folder, tokens=tokens_of(job.spec, texts))
    return counts


def cats_of_rules(job: Job, cats: Sequence[Cat]) -> list[Cat]:
    """The CATs that the rules of a run are for.

    Raises:
        CurationError: the rules are for other kinds of CATs.
    """
    own = [cat for cat in cats if cat.kind in job.rules]
    if not own:
        kinds = ", ".join(job.rules)
        raise CurationError(
            f"the rule is for {kinds} CATs, and there are none", "choose another rule or profile"
        )
    return own


def _check_head(job: Job) -> None:
    """Raise if a profile needs a trained next-sentence head that is not given."""
    if job.own_head == "refused":
        profile = ", ".join(profiles_of(job.identity["family"], job.rules))
        raise CurationError(
            f"{job.identity['model']}: {profile} needs a next-sentence head that is trained in the "
            "same way for every model (ACL §6.1, A.5), and --nsp does not name one",
            "train one with «curation scores train-nsp» and name its folder with --nsp; if the "
            "model has its own head, as BERT does, you can use it with --accept-own-head, and "
            "every table will say so",
        )


def _shards(
    job: Job,
    open_: list[tuple[Cat, list[Question]]],
    known: dict[str, str],
    repeated: Sequence[str],
) -> Iterator[Shard]:
    # For nsp and for endpoints, intersentence CATs come first: if the head is missing, or long
    # texts get other values when they are sent again, this shows before much time is spent.
    first = set(repeated[: len(repeated) // 2])
    for kind in reversed(KINDS) if repeated or "nsp" in job.rules.values() else KINDS:
        rule = job.rules.get(kind, "")
        # Contexts that begin alike come together, so that their common part is read once.
        of_kind = sorted(
            (each for each in open_ if each[0].kind == kind),
            key=lambda e: (e[0].id not in first, e[0].context),
        )
        size = _SLOW if rule.startswith(("pll", "aul")) or rule == "nsp" else SHARD
        if job.identity.get("device") == "cuda":
            size *= _GPU_FACTOR
        for start in range(0, len(of_kind), size):
            part = of_kind[start : start + size]
            left = [(cat, q) for cat, asked in part for q in asked if q.association not in known]
            again = [q for cat, q in left if cat.id in repeated]
            yield Shard(job.spec, rule, [q for _, q in left], len(part), again)


def _append(job: Job, shard: Shard, done: Done) -> int:
    """Write the scores of a shard; returns how many associations were refused."""
    name, lines, refused = job.identity["model"], [], []
    for question, value in zip(shard.questions, done.scored, strict=True):
        if isinstance(value, Refusal):
            record = {
                "association": question.association,
                "asked": question.digest,
                "rule": shard.rule,
            }
            rejection = Rejection(code=value.code, detail=value.detail, where=name, record=record)
            refused.append(dump_line(rejection))
        else:
            score = Score(
                model=name,
                rule=shard.rule,
                association=question.association,
                value=value,
                asked=question.digest,
            )
            lines.append(dump_line(score))
    opened = read_run(job.folder).get("opened", {})
    if done.about:
        note(job.folder, opened={**opened, **done.about})
    append_lines(job.folder / REJECTED, refused)
    append_lines(job.folder / SCORES, lines)
    return len(refused)


def conclude(job: Job, cats: Sequence[Cat], *, ties: Ties, **replies: str | None) -> Fields:
    """Compute ``results_by_split``, and write them to the run's ``results.json``.

    ``of`` says which CATs they are of, as in ``run_folder.scored_cats``, and has ``replies``.

    Raises:
        CurationError: no CAT has a score for each of its associations. A chat model may have none.
    """
    content = {**results_by_split(job, cats, ties=ties), "of": {**scored_cats(cats), **replies}}
    write_json(job.folder / RESULTS, content)
    if not content["splits"] and not job.spec.chat:
        raise CurationError(
            f"{job.identity['model']}: no CAT has a score for each of its associations",
            f"see {job.folder / REJECTED} for the reasons",
        )
    return content


def results_by_split(job: Job, cats: Sequence[Cat], *, ties: Ties) -> Fields:
    """lms, ss and icat of the run on each split.

    Returns:
        ``{"run", "ties", "splits": {split: {**results, "left_out"}}, "left_out": {split: n}}``.
        ``left_out`` counts CATs of the rules' kinds without a score for each association or, of a
        chat model, without all three comparisons. A split with no other CAT is not in ``splits``.
    """
    scores = {
        s.association: s.value for s in read_records(job.folder / SCORES, Score, missing_ok=True)
    }
    about, name = read_run(job.folder), job.identity["model"]
    outcomes = read_outcomes(job.folder / COMPARISONS)
    run = Run(name, rules_name(job.rules), job.variant, scores, about, comparisons=outcomes)
    own = ", own next-sentence head" if about.get("own_head") else ""
    splits, left_out = {}, {}
    for split in dict.fromkeys(cat.split for cat in cats):
        part = [cat for cat in cats if cat.split == split and cat.kind in job.rules]
        whole = [cat for cat in part if run.has(cat)]
        if part:
            left_out[split] = len(part) - len(whole)
        if not whole:
            continue
        table = comparisons(whole, run, ties=ties)
        title = f"{name}, {job.folder.name}{own}"
        splits[split] = {**results(table, model=title), "left_out": left_out[split]}
    return {"run": about, "ties": ties, "splits": splits, "left_out": left_out}


class AskedCats(NamedTuple):
    """What asking about CATs gave.

    Attributes:
        counts: numbers of questions: ``asked`` now, asked ``before``, and ``no_answer``.
        report: as ``scores.running.conclude`` gives it. If there is no score, it has no splits.
        choice: the content of ``choice.json``.
    """

    counts: dict[str, int]
    report: Fields
    choice: Fields


def ask_cats(
    job: Job,
    cats: Sequence[Cat],
    *,
    limits: Limits,
    ties: Ties = "half",
    begin: Callable[[int, int], None] = lambda done, total: None,
    tell: Callable[[int], None] = lambda questions: None,
    notice: Callable[[str], None] = lambda text: None,
) -> AskedCats:
    """Ask every question that has no reply yet, and compute the results of all replies.

    A reply that does not name a letter is followed by a second question. If nothing is left to ask,
    nothing is sent. If asking fails or is interrupted, the replies so far are kept and compared;
    ``results.json`` is written only when every question has a reply.

    Args:
        job: the model, its rules and its folder.
        cats: the CATs.
        limits: when a model is marked, and when it has no score.
        ties: how a comparison counts whose answer changes with the order.
        begin: called with the number of questions that are already done, and of all; and once more
            before second questions.
        tell: called with 1 after each reply.
        notice: receives messages for the user.

    Raises:
        CurationError: there are no CATs, the prompts are not valid, the model cannot be asked, the
            content of the folder is not a run, or another command writes there.
    """
    how = job.spec.chat
    assert how is not None
    own = cats_of_rules(job, cats)
    prompts = read_prompts(how.prompts)
    questions = questions_of(own, prompts, how, variant=job.variant)
    limit = how.max_tokens if job.spec.url else None

    def read() -> Replies:
        return read_replies(job.folder / REPLIES, questions, prompts)

    def derive(replies: Replies) -> Fields:
        return _derive(job, own, questions, replies, limits=limits, ties=ties)

    with locked_run(job.folder):
        claim(job.folder, job.run_identity(), notice, appended=[REPLIES])
        replies = read()
        open_ = open_questions(questions, replies, max_tokens=limit)
        before = len(questions) - len(open_)
        begin(before, len(questions))
        if open_:
            try:
                with _asking(job, limit, tell, notice) as ask:
                    ask(open_)
                    replies = read()
                    if again := open_questions(questions, replies, max_tokens=limit):
                        begin(0, len(again))
                        ask(again)
                        replies = read()
            except BaseException:
                with suppress(CurationError, OSError):  # the first error is the one to show
                    if (replies := read()).answered:
                        derive(replies)
                raise
        choice = derive(replies)
        _about_others(replies, notice)
        report = conclude(job, cats, ties=ties, replies_sha256=digest(job.folder / REPLIES))
    none = choice["answers"]["questions"] - choice["answers"]["answered"]
    counts = {"asked": len(open_), "before": before, "no_answer": none}
    return AskedCats(counts, report, choice)


@contextmanager
def _asking(
    job: Job, max_tokens: int | None, tell: Callable[[int], None], notice: Callable[[str], None]
) -> Iterator[Callable[[Sequence[ChatQuestion]], None]]:
    """Open the model. What this yields asks questions, and writes each reply as it comes."""
    with (
        open_chat(job.spec, notice=notice) as chat,
        appending(job.folder / REPLIES, max_tokens=max_tokens) as log,
    ):

        def ask(questions: Sequence[ChatQuestion]) -> None:
            def answered(index: int, status: int, body: Fields) -> None:
                log.add(questions[index], status, body)
                tell(1)

            chat.ask([question.turns for question in questions], answered)
            note(job.folder, opened=chat.about())  # the server may have changed in the meantime

        note(job.folder, opened=chat.about())
        yield ask


def _about_others(replies: Replies, notice: Callable[[str], None]) -> None:
    """Say that replies with other prompts or samples are not in the results."""
    if replies.others:
        samples = 1 + max(sample for _, sample in replies.others)
        names = ", ".join(sorted({prompt for prompt, _ in replies.others}))
        notice(
            "earlier replies are not in these results, because --all-prompts or --samples were "
            f"larger then (prompts: {names}; samples: {samples}); give the same options again to "
            "count them, too; nothing is asked twice"
        )


def _derive(
    job: Job,
    cats: Sequence[Cat],
    questions: Sequence[ChatQuestion],
    replies: Replies,
    *,
    limits: Limits,
    ties: Ties,
) -> Fields:
    """Write what follows from replies, apart from ``results.json``.

    Returns:
        The content of ``choice.json``.
    """
    asked = on_one_basis(
        [
            Asked(*question.place, known.reading, known.second)
            for question in questions
            if (known := replies.answered.get(question.place))
        ]
    )
    tokens = replies.tokens if replies.tokens["replies"] else None
    choice = choice_report(cats, asked, limits=limits, tokens=tokens, ties=ties)
    named: Fields = {"model": job.identity["model"], "variant": job.variant}
    says_nothing = choice["no_score"] == "one_letter"
    write_lines(job.folder / COMPARISONS, [] if says_nothing else compare(cats, asked, **named))
    write_lines(job.folder / REJECTED, unanswered(cats, questions, asked, **named))
    write_json(job.folder / CHOICE, choice)
    note(job.folder, answers=choice["answers"])
    return choice
