"""The words in which the two sentences of a pair differ."""

from difflib import SequenceMatcher

from curation.text.words import words


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
