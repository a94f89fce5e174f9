"""Why a text that does not choose a letter does not: it refuses, is undecided, or neither.

An objection to the content is a refusal, also if it is about both sentences. A reason why the
sentences are equal comes before an unwillingness to choose. ``data/replies/declining.toml`` has the
words.
"""

import re
from typing import Literal

from curation.models.chat.marks import NAMED, PAIR, WORD
from curation.models.chat.words import read_words

Declined = Literal["answer_refused", "answer_undecided", "answer_off_format"]


_WORDS = read_words("declining.toml", named=NAMED, pair=PAIR, word=WORD)
UNWILLING = re.compile(_WORDS["unwilling"])
OBJECTION = re.compile(_WORDS["objection"])
MODEL = re.compile(_WORDS["model"])
CLEAR_MODEL = re.compile(_WORDS["clear_model"])
EQUAL = re.compile(_WORDS["equal"])
SOFT = re.compile(_WORDS["soft"])
_QUESTION = re.compile(_WORDS["question"])
CLEAR_SORRY = re.compile(_WORDS["clear_sorry"])


def why_declined(
    text: str, cut: bool, refusals: tuple[str, ...], undecided: tuple[str, ...]
) -> Declined | None:
    """Why a text without a choice does not choose.

    Args:
        text: ``Choice.text``.
        cut: the text ended before its end: only a clear refusal is read.
        refusals: phrases of the prompts file.
        undecided: phrases of the prompts file.

    Returns:
        None if the text does not say why.
    """
    text = re.sub(r"\s+", " ", text)
    asks = bool(_QUESTION.search(text))
    if cut:
        unwilling = UNWILLING.search(text) or CLEAR_MODEL.search(text)
        return "answer_refused" if unwilling and not EQUAL.search(text) else None
    if OBJECTION.search(text):
        return "answer_refused"
    if not asks and EQUAL.search(text):
        return "answer_undecided"
    if UNWILLING.search(text) or MODEL.search(text) or CLEAR_SORRY.search(text):
        return "answer_refused"
    if SOFT.search(text):
        return "answer_undecided"
    if _says(text, refusals):
        return "answer_refused"
    if _says(text, undecided):
        return "answer_undecided"
    return None


def _says(text: str, phrases: tuple[str, ...]) -> bool:
    found = (re.escape(phrase.lower().replace("’", "'")) for phrase in phrases if phrase.strip())
    pattern = "|".join(found)
    return bool(pattern) and bool(re.search(rf"(?<!{WORD})(?:{pattern})(?!{WORD})", text))
