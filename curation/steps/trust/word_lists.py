"""Read lists of words: those of groups and targets, and those that options name."""

from pathlib import Path

from curation.files import CurationError, read_text


def read_lines(path: Path) -> list[tuple[int, str]]:
    """The lines of a list of words with their numbers, without comments and empty lines.

    Raises:
        CurationError: there is no such file, or it cannot be read.
    """
    if not path.exists():
        raise CurationError(f"{path}: no such list of words", "write it, one word on each line")
    lines = enumerate((" ".join(line.split()) for line in read_text(path).splitlines()), 1)
    return [(number, line) for number, line in lines if line and not line.startswith("#")]


def read_words(path: Path) -> tuple[str, ...]:
    """The words of a file with one on each line; lines that begin with # are comments.

    Raises:
        CurationError: there is no such file, or it has no words.
    """
    words = tuple(dict.fromkeys(word for _, word in read_lines(path)))
    if not words:
        raise CurationError(f"{path}: has no words", "write one word on each line")
    return words


def read_sets(path: Path, size: int) -> tuple[tuple[str, ...], ...]:
    """Sets of words, one on each line, with commas or spaces between the words.

    Args:
        path: the file.
        size: how many words a set has: one for each group.

    Raises:
        CurationError: there is no such file, a set has another size, or a word is in two sets.
    """
    sets: list[tuple[str, ...]] = []
    places: dict[str, int] = {}
    for number, line in read_lines(path):
        words = tuple(line.replace(",", " ").split())
        if len(words) != size:
            raise CurationError(
                f"{path} line {number}: has {len(words)} words, not {size}",
                "write one word for each group, in the order of the groups",
            )
        for word in words:
            if word in places:
                raise CurationError(
                    f"{path} line {number}: «{word}» is also in line {places[word]}",
                    "a word can be in one set only: remove it from one of them",
                )
            places[word] = number
        sets.append(words)
    if not sets:
        raise CurationError(f"{path}: has no words", "write one set of words on each line")
    return tuple(sets)
