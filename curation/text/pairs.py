"""The words in which the two sentences of a pair differ, and the groups that they name."""

from difflib import SequenceMatcher

from curation.text.words import words

_LONGEST = 3  # words of the name of a group
_MOST_LETTERS = 8  # of a name, in a script without spaces
_SIGNS = ".,;:!?\"'()«»“”‘’…。，、"


def differing(first: str, second: str, language: str = "en") -> tuple[list[str], list[str]]:
    """The words of each sentence that the other does not have at the same place, in order.

    Words are compared as ``words`` splits them: in lower case, without punctuation.

    Args:
        first: a sentence.
        second: the other sentence.
        language: language code of both.

    Raises:
        NotCheckedError: the language has no spaces between words, and no splitter is installed.

    >>> differing("The old man was late.", "The young men were late.")
    (['old', 'man', 'was'], ['young', 'men', 'were'])
    """
    left, right = words(first, language), words(second, language)
    codes = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    changed = [code for code in codes if code[0] != "equal"]
    return (
        [word for _, start, end, _, _ in changed for word in left[start:end]],
        [word for _, _, _, start, end in changed for word in right[start:end]],
    )


def groups_of(first: str, second: str) -> list[str] | None:
    """The two groups that a pair is about: the first words that are exchanged, in small letters.

    Words are split at spaces; without any, each letter is one. They are short: longer texts say
    something else than a group.

    Returns:
        The two names in alphabetical order; None if there are none.

    >>> groups_of("The old Welsh baker was late.", "The old Irish baker was kind.")
    ['irish', 'welsh']
    >>> groups_of("She bakes.", "Nobody in the whole town bakes.") is None
    True
    """
    spaced = " " in first and " " in second
    texts = [text.casefold().split() if spaced else list(text) for text in (first, second)]
    left, right = ([word.strip(_SIGNS) or word for word in text] for text in texts)
    for what, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if what == "replace" and max(b - a, d - c) <= (_LONGEST if spaced else _MOST_LETTERS):
            space = " " if spaced else ""
            return sorted((space.join(left[a:b]), space.join(right[c:d])))
    return None
