"""Content that imports refuse: items that repeat another item, and text about the task.

A wrong refusal costs a writer's work, so both rules are narrow. Of StereoSet's 4,229 published CATs
they refuse 8 and 12, all of them rightly (tests/realdata/test_rounds.py).
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from rapidfuzz import fuzz

from curation.files import CurationError, read_text, shipped
from curation.formats.tables import read_csv
from curation.text.item_form import filler
from curation.text.rules import same_text

ENDS = " .,;:!?…\"'“”„«»‘’。、！？؟،"


def gist(context: str, sentences: Sequence[str]) -> str:
    """The part of an item that is compared with other items: context and associations, on lines.

    In an intrasentence item an association is only the words that fill the BLANK. Otherwise a long
    template would make all items on it alike. Leave out the unrelated association: an item that
    differs only in it still says the same.

    >>> gist("The baker is BLANK.", ["The baker is kind.", "The baker is gruff."]).splitlines()
    ['The baker is BLANK.', 'kind', 'gruff']
    """
    lines = [context, *(filler(context, sentence) or sentence for sentence in sentences)]
    return "\n".join(" ".join(line.split()) for line in lines)


@lru_cache(maxsize=1 << 16)
def compared(text: str) -> tuple[str, ...]:
    """The lines of a gist, normalised for the comparison."""
    return tuple(same_text(line).strip(ENDS) for line in text.splitlines())


def near(texts: Sequence[str], new: str, *, likeness: float) -> int | None:
    """The index of the first text that the new one nearly repeats, or None.

    Every line must have a similarity of at least ``likeness``: twice the number of letters that the
    two lines share, in order, divided by the number of all letters of both. Case, spaces and
    punctuation at the ends do not count.

    Args:
        texts: earlier items on the same term, as from ``gist``.
        new: the new item, as from ``gist``.
        likeness: from 0 to 1; with 1 only the same text is near.

    >>> before = [gist("The baker is BLANK.", ["The baker is kind.", "The baker is gruff."])]
    >>> near(before, gist("the baker is BLANK", ["Kind", "gruff"]), likeness=0.95)
    0
    >>> near(before, gist("The baker is BLANK.", ["old", "young"]), likeness=0.95) is None
    True
    """
    lines = compared(new)
    return next((n for n, text in enumerate(texts) if alike(compared(text), lines, likeness)), None)


def alike(lines: Sequence[str], others: Sequence[str], likeness: float) -> bool:
    """Whether each line has this similarity to the other on the same place, as in ``near``."""
    return len(others) == len(lines) and all(
        a == b or fuzz.ratio(a, b, score_cutoff=100 * likeness) > 0
        for a, b in zip(others, lines, strict=True)
    )


@cache
def meta_patterns(language: str) -> tuple[re.Pattern[str], ...]:
    """The patterns of text about the task: the rows of ``data/words/meta_text.csv``.

    Args:
        language: a language code. The rows of all languages (*) are included; for ``pt-BR`` the
            rows of ``pt`` are included too.

    Raises:
        CurationError: the file has an invalid regular expression; the message names the line.
    """
    path = shipped("data", "words", "meta_text.csv")
    codes = {"*", language.lower(), language.lower().partition("-")[0]}
    patterns = []
    _, rows = read_csv(read_text(path), path)
    for number, row in rows:
        if row["language"].lower() in codes:
            try:
                patterns.append(re.compile(row["pattern"], re.IGNORECASE))
            except re.error as error:
                raise CurationError(
                    f"{path} line {number}: invalid regular expression: {error}",
                    "correct the regular expression",
                ) from None
    return tuple(patterns)


def meta_text(text: str, patterns: Iterable[re.Pattern[str]]) -> str | None:
    """The phrase that shows that a text is about the task or says nothing; or None.

    Args:
        text: a context, a sentence, or the words that fill a BLANK.
        patterns: as from ``meta_patterns``.

    >>> meta_text("these HITs are ok in my book", meta_patterns("en"))
    'HITs'
    >>> meta_text("The song was a hit, and he has no idea why.", meta_patterns("en"))
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).replace("’", "'").split()).strip(ENDS)
    for pattern in patterns:
        if match := pattern.search(plain):
            return match[0] or text
    return None
