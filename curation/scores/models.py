"""Score a model on the CATs of a source, into a folder of its own."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from curation.campaign.settings import ScoreSettings
from curation.campaign.source import SAMPLE, Source
from curation.campaign.versions import remaining
from curation.checks.lists import is_not_english
from curation.files import CurationError, each_record, refuse_links
from curation.formats.table_words import PROMPTS
from curation.formats.toml_files import read_toml
from curation.models.chat import prompts_for, read_prompts
from curation.models.loading import called
from curation.models.scoring import ModelSpec
from curation.records import Cat, Fields, Reply
from curation.scores.answer_report import Limits
from curation.scores.asking import (
    Plan,
    Usage,
    open_questions,
    plan,
    questions_of,
    read_replies,
    usage,
)
from curation.scores.run_folder import REPLIES, continued_folder, why_no_outcome
from curation.scores.running import Job, ask_cats, conclude, job, results_by_split, score_cats
from curation.scores.runs import folder_name
from curation.stats.metrics import Ties
from curation.text.wording import amount
from curation.text.words import base
from curation.work.engine import Engine, check_device
from curation.work.reporter import QUIET, Reporter

LONGEST = 255  # bytes of a folder's name


class ScoredModel(NamedTuple):
    """What scoring a model gave.

    Attributes:
        job: the model, its rules and its folder.
        counts: associations ``scored`` now, scored ``before``, and ``refused``; for a chat model,
            questions ``asked`` now, asked ``before``, and those with ``no_answer``.
        report: ``{"run", "ties", "splits": {split: results}, "left_out": {split: CATs}}``; results
            are those of ``metrics.results``. If all CATs are shown, ``of`` says which they are.
        choice: for a chat model, the content of ``choice.json``; otherwise None.
    """

    job: Job
    counts: dict[str, int]
    report: Fields
    choice: Fields | None = None


def check_names(models: Sequence[ModelSpec]) -> None:
    """Check that each model gets a folder of its own.

    Raises:
        CurationError: a name cannot be a folder's, or two models have the same one.
    """
    names = [folder_name(model.label or called(model.name)) for model in models]
    for name in names:
        if (
            name in ("", ".", "..")
            or len(name.encode("utf-8", "replace")) > LONGEST
            or not name.isprintable()
        ):
            raise CurationError(
                f"«{name[:40]}{'…' if len(name) > 40 else ''}» cannot be the name of a model",
                "set a display name with LABEL=MODEL",
            )
        if names.count(name) > 1:
            raise CurationError(
                f"{names.count(name)} models have the name «{name}»",
                "name each model once; if two models have the same name, set display names with "
                "LABEL=MODEL",
            )


def score_model(
    model: ModelSpec,
    source: Source,
    *,
    rule: str = "",
    profile: str = "",
    variant: str = "",
    accept_own_head: bool = False,
    engine: Engine = "local",
    workers: int | None = 1,
    ties: Ties = "half",
    shown: Sequence[Cat] | None = None,
    reporter: Reporter = QUIET,
) -> ScoredModel:
    """Score the CATs of a source with a model, and compute lms, ss and icat of each split.

    Scores are appended to ``source.scores``/MODEL/RULE/scores.jsonl as they are computed, and the
    replies of a chat model to replies.jsonl. If a run was interrupted, the next call continues it;
    what is scored or asked is not scored or asked again.

    Args:
        model: the model, and how to run it.
        source: the CATs, and the folder of scores.
        rule: one rule for all CATs; or
        profile: a profile; by default the profile ``default``.
        variant: how the texts are altered first; a name in ``asking.VARIANTS``.
        accept_own_head: use the model's own next-sentence head where the profile needs a trained
            one.
        engine: where the work is done.
        workers: processes at once.
        ties: how ties count, as in ``metrics.comparisons``.
        shown: compute the report for these CATs only; by default for all that were scored.
        reporter: receives progress, notes and warnings.

    Raises:
        CurationError: the model cannot be scored, the engine cannot give its workers the model's
            device, or no CAT has all of its scores. If a chat model has no comparison, there is no
            error, and ``report`` has no splits.
    """
    check_device(engine, model.device)
    if source.campaign:
        refuse_links(source.scores, below=source.campaign.root)
    work = job(
        model,
        source.scores,
        rule=rule,
        profile=profile,
        variant=variant,
        accept_own_head=accept_own_head,
        kinds={cat.kind for cat in source.cats},
    )
    choice = None
    with reporter.counted(f"{work.identity['model']}, {work.folder.name}") as bar:
        if model.chat:
            _check_one_process(work, engine, workers)
            settings = source.campaign.settings.scores if source.campaign else ScoreSettings()
            counts, report, choice = ask_cats(
                work,
                source.cats,
                limits=Limits(settings.no_answer, settings.one_letter),
                ties=ties,
                begin=bar.begin,
                tell=bar.advance,
                notice=reporter.note,
            )
        else:
            counts = score_cats(
                work,
                source.cats,
                engine=engine,
                workers=workers,
                seed=source.campaign.settings.campaign.seed if source.campaign else 1,
                begin=bar.begin,
                tell=bar.advance,
                notice=reporter.note,
            )
            report = conclude(work, source.cats, ties=ties)
    lacks = "a comparison has no answer" if choice else "an association has no score"
    for split, left_out in report["left_out"].items():
        if left_out and (split in report["splits"] or not choice):
            reporter.warn(
                f"{amount(left_out, 'CAT')} of {split} left out because {lacks}; see "
                f"{work.folder / 'rejected.jsonl'}"
            )
    if choice and choice["no_score"]:
        reporter.warn(f"{work.identity['model']}: {why_no_outcome(report['run'])}")
    if shown is not None and len(shown) < len(source.cats):
        report = results_by_split(work, shown, ties=ties)
    return ScoredModel(work, counts, report, choice)


def _check_one_process(job: Job, engine: Engine, workers: int | None) -> None:
    """Raise if a chat model is to be asked by several processes."""
    if engine != "local" or (workers or 1) > 1:
        raise CurationError(
            f"{job.identity['model']}: chat models are asked by one process",
            "leave out --engine and --workers; --concurrency sets how many requests are under way "
            "at the same time",
        )


def plan_model(model: ModelSpec, source: Source, *, variant: str = "") -> Plan:
    """What is still to be asked of a chat model, and about how many tokens that takes.

    Reads the replies that a run would continue. Opens no connection.

    Args:
        model: the model, and how it is asked.
        source: the CATs, and the folder of scores.
        variant: how the texts are altered first.

    Raises:
        CurationError: the model is not a chat model, the prompts are not valid, or an earlier run
            is damaged.
    """
    if model.chat is None:
        raise CurationError(f"{model.name}: is not a chat model", "write chat:MODEL")
    kinds = {cat.kind for cat in source.cats}
    work = job(model, source.scores, variant=variant, kinds=kinds)
    prompts, how = read_prompts(model.chat.prompts), model.chat
    cats = [cat for cat in source.cats if cat.kind in work.rules]
    questions = questions_of(cats, prompts, how, variant=variant)
    limit = how.max_tokens if model.url else None
    folder = continued_folder(work.folder, work.run_identity())
    to_ask, used = questions, Usage()
    if folder and (folder / REPLIES).exists():
        path = folder / REPLIES
        replies = read_replies(path, questions, prompts)
        to_ask = open_questions(questions, replies, max_tokens=limit)
        used = usage(each_record(path, Reply, whole_lines=True), questions, replies)
    return plan(
        work.identity["model"],
        cats=len(cats),
        questions=len(questions),
        to_ask=[question.turns for question in to_ask],
        used=used,
        max_tokens=limit,
        again=prompts.again,
    )


PROMPTS_FILE = "prompts.toml"


def find_prompts(source: Source, given: Path | None = None, *, reporter: Reporter = QUIET) -> Path:
    """The file of prompts for a source's CATs.

    Args:
        source: the CATs.
        given: use this file. By default ``prompts.toml`` in the folder of scores, which is
            ``5-scores/`` of a campaign; an empty file counts as none. Without it, the section
            ``[prompts]`` of a campaign's texts, and else the file that is included for the
            language.
        reporter: receives a warning if the prompts are English, and the CATs plainly are not.

    Raises:
        CurationError: there is no file for this language.
    """
    own = source.scores / PROMPTS_FILE
    if given is not None:
        return given
    if own.exists() and (own.is_dir() or own.stat().st_size):
        return own
    texts = source.campaign.folder("rounds") / "text.toml" if source.campaign else None
    if texts and texts.exists() and PROMPTS in read_toml(texts, fix="correct this line"):
        return texts
    if base(source.language) == "en" and is_not_english(
        c.context or c.associations[0].sentence for c in source.cats[:SAMPLE]
    ):
        reporter.warn(
            "the prompts are English, and the texts of the CATs are not; write prompts in their "
            f"language to {own}, or give --prompts FILE"
        )
    return included_prompts(source.language, own)


def included_prompts(language: str, own: Path = Path("5-scores") / PROMPTS_FILE) -> Path:
    """The file of prompts that is included for a language.

    Args:
        language: a language code.
        own: where a file of the user's own belongs, for the error.

    Raises:
        CurationError: the language has no prompts.
    """
    path = prompts_for(language)
    if path is None:
        raise CurationError(
            f"there are no prompts in the language «{language[:40]}»",
            f"copy the English ones with «curation scores prompts --language en > {own}», and "
            "translate them; docs/chat.md says how (Prompts of your own)",
        )
    return path


def warn_before_scoring(source: Source, reporter: Reporter) -> None:
    """Warn of pitfalls of severity block; say how many values on hidden CATs may be shown."""
    from curation.measures.pitfalls import blocking

    for text in filter(None, map(remaining, source.gold)):
        reporter.note(text)
    counts = blocking(source.cats, language=source.language, **source.allowed())
    shown = ", ".join(f"{code} ({amount(count, 'CAT')})" for code, count in counts.items())
    if counts:
        gold = "".join(f" --gold {path}" for path in source.gold)
        reporter.warn(
            f"pitfalls of severity block: {shown}. Scores count these CATs, too; to see them: "
            f"«curation measures pitfalls{gold} --show {next(iter(counts))}»"
        )
