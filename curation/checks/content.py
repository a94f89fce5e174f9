"""Which written content is refused: what repeats another item, and text about the task.

A false refusal costs a writer's work, so both rules are drawn narrowly: measured on StereoSet's
4,229 published CATs they touch 8 and 12, all of them rightly (tests/realdata/test_rounds.py).
"""

import csv
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from io import StringIO

from rapidfuzz import fuzz

from curation.files import CurationError, read_text, shipped
from curation.rules import filler, same_text

ENDS = " .,;:!?…\"'“”„«»‘’。、！？؟،"


def gist(context: str, sentences: Sequence[str]) -> str:
    """What of an item is compared to others: its context and each association, on lines.

    Of an intrasentence item the words that fill the BLANK, or a long template would make any two
    items on it alike. The unrelated association is best left out: with another one the item still
    says the same.

    >>> gist("The baker is BLANK.", ["The baker is kind.", "The baker is gruff."]).splitlines()
    ['The baker is BLANK.', 'kind', 'gruff']
    """
    lines = [context, *(filler(context, sentence) or sentence for sentence in sentences)]
    return "\n".join(" ".join(line.split()) for line in lines)


@lru_cache(maxsize=1 << 16)
def compared(text: str) -> tuple[str, ...]:
    """The lines of a gist as they are compared."""
    return tuple(same_text(line).strip(ENDS) for line in text.splitlines())


def near(texts: Sequence[str], new: str, *, likeness: float) -> int | None:
    """The index of the first text that the new one nearly repeats, or None.

    Line by line both must be as like as ``likeness``: twice the letters that they have in common,
    in order, by all letters of the two. Case, spaces and punctuation at the ends do not count.

    Args:
        texts: what came before on the same term, as from ``gist``.
        new: what came now.
        likeness: from 0 to 1; at 1 only what reads the same is near.

    >>> before = [gist("The baker is BLANK.", ["The baker is kind.", "The baker is gruff."])]
    >>> near(before, gist("the baker is BLANK", ["Kind", "gruff"]), likeness=0.95)
    0
    >>> near(before, gist("The baker is BLANK.", ["old", "young"]), likeness=0.95) is None
    True
    """
    lines = compared(new)
    for n, text in enumerate(texts):
        others = compared(text)
        if len(others) == len(lines) and all(
            a == b or fuzz.ratio(a, b, score_cutoff=100 * likeness)
            for a, b in zip(others, lines, strict=True)
        ):
            return n
    return None


@cache
def meta_patterns(language: str) -> tuple[re.Pattern[str], ...]:
    """What betrays text about the task: ``data/words/meta_text.csv`` for a language and for all.

    Args:
        language: a language code; of ``pt-BR`` the rows of ``pt`` hold as well.

    Raises:
        CurationError: a pattern of the file is none; names the line.
    """
    path = shipped("data", "words", "meta_text.csv")
    codes = {"*", language.lower(), language.lower().partition("-")[0]}
    found = []
    rows = csv.DictReader(StringIO(read_text(path), newline=""))
    for row in rows:
        if row["language"].lower() in codes:
            try:
                found.append(re.compile(row["pattern"], re.IGNORECASE))
            except re.error as error:
                raise CurationError(
                    f"{path} line {rows.line_num}: {error}", "fix the regular expression"
                ) from None
    return tuple(found)


def meta_text(text: str, patterns: Iterable[re.Pattern[str]]) -> str | None:
    """The phrase that betrays that a text speaks of the task, or says nothing; or None.

    Args:
        text: a context, a sentence, or the words that fill a BLANK.
        patterns: as from ``meta_patterns``.

    >>> meta_text("these HITs are ok in my book", meta_patterns("en"))
    'HITs'
    >>> meta_text("The song was a hit, and he has no idea why.", meta_patterns("en"))
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).replace("’", "'").split()).strip(ENDS)
    found = next((found for pattern in patterns if (found := pattern.search(plain))), None)
    return None if found is None else found[0] or text
