"""Plan the requests to a chat model; nothing is sent or written."""

from curation.files import CurationError, each_record
from curation.models.chat.prompts import read_prompts
from curation.models.scoring import ModelSpec
from curation.records import Reply
from curation.scores.choice.asking import (
    Plan,
    Usage,
    open_questions,
    plan,
    questions_of,
    read_replies,
    usage,
)
from curation.scores.run_folder import REPLIES, continued_folder
from curation.scores.running import job
from curation.steps.source import Source


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
    work = job(model, source.scores, variant=variant)
    prompts, how = read_prompts(model.chat.prompts), model.chat
    cats = [cat for cat in source.cats if cat.kind in work.rules]
    questions = questions_of(cats, prompts, how, variant=variant)
    limit = how.max_tokens if model.url else None
    folder = continued_folder(work.folder, work.run_identity())
    to_ask, used = questions, Usage()
    if folder and (folder / REPLIES).exists():
        path = folder / REPLIES
        answered = read_replies(path, questions, prompts).answered
        to_ask = open_questions(questions, answered, max_tokens=limit)
        texts = {question.digest: question.text for question in questions}
        used = usage(each_record(path, Reply, whole_lines=True), texts)
    return plan(
        work.identity["model"],
        cats=len(cats),
        questions=len(questions),
        to_ask=[question.text for question in to_ask],
        used=used,
        max_tokens=limit,
    )
