"""Ask a chat model about CATs. A command that is run again asks only what has no reply yet.

The files of a run are in ``<model>/choice[+variant]/`` (``curation.scores.run_folder``):
``run.json`` identifies the run and counts its answers, and ``replies.jsonl`` grows as replies come.
Everything else is computed from the replies at the end of every command: ``comparisons.jsonl``,
``rejected.jsonl`` with the questions without an answer, ``choice.json`` and ``results.json``.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from curation.files import CurationError, digest
from curation.models.chat import ChatSpec, read_prompts
from curation.models.scoring import open_chat
from curation.records import Cat, Fields
from curation.scores.choice.answers import compare, on_one_basis, unanswered
from curation.scores.choice.asking import (
    Asked,
    ChatQuestion,
    Replies,
    appending,
    open_questions,
    questions_of,
    read_replies,
)
from curation.scores.choice.report import Limits, choice_report
from curation.scores.incomplete import scored_cats
from curation.scores.run_folder import (
    CHOICE,
    COMPARISONS,
    REJECTED,
    REPLIES,
    RESULTS,
    claim,
    locked_run,
    note,
)
from curation.scores.running import Job, cats_of_rules, results_by_split
from curation.stats.metrics import Ties
from curation.work.run_folder import write_json, write_lines


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
    spec = _chat(job)
    own = cats_of_rules(job, cats)
    prompts = read_prompts(spec.prompts)
    questions = questions_of(own, prompts, spec, variant=job.variant)
    limit = spec.max_tokens if job.spec.url else None

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
        report = {
            **results_by_split(job, cats, ties=ties),
            "of": {**scored_cats(cats), "replies_sha256": digest(job.folder / REPLIES)},
        }
        write_json(job.folder / RESULTS, report)
    none = choice["answers"]["questions"] - choice["answers"]["answered"]
    counts = {"asked": len(open_), "before": before, "no_answer": none}
    return AskedCats(counts, report, choice)


def _chat(job: Job) -> ChatSpec:
    if job.spec.chat is None:
        raise CurationError(
            f"{job.identity['model']}: is not asked as a chat model", "write chat:MODEL"
        )
    return job.spec.chat


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
