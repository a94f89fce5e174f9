"""What every table says of a model beside its name: figures that say little, another head."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SHARE = 0.5  # of comparisons, or of tokens: from more than this on a model is flagged
FLAGS = {
    "ties": "more than half of the model's comparisons are ties",
    "unknown_tokens": "more than half of the tokens that the model read are unknown tokens",
    "own_head": "nsp is read with the model's own head, where ACL §6.1 trains one for every model",
}
MARKS = {"ties": "†", "unknown_tokens": "‡", "own_head": "§"}
LATEX = {
    "ties": r"\textsuperscript{\dag}",
    "unknown_tokens": r"\textsuperscript{\ddag}",
    "own_head": r"\textsuperscript{\S}",
}


def flags_of(result: Mapping[str, Any], about: Mapping[str, Any] | None = None) -> list[str]:
    """The flags of a model, codes of ``FLAGS``.

    ``ties``: of the comparisons (three a CAT) more than half are ties, of all of them or of those
    of one kind. ``unknown_tokens``: of the tokens of all texts that were scored more than half are
    the tokenizer's unknown token. ``own_head``: the profile asks for a trained next-sentence head,
    and the model's own was accepted.

    Args:
        result: of ``metrics.results``.
        about: the run's ``run.json``; its ``tokens`` are ``{"read", "unknown"}``.

    >>> cell = {"cats": 2, "ties": 4}
    >>> flags_of({"overall": cell, "kinds": {}}, {"tokens": {"read": 9, "unknown": 5}})
    ['ties', 'unknown_tokens']
    """
    cells = [result.get("overall"), *(part["overall"] for part in result.get("kinds", {}).values())]
    found = []
    if any(cell and cell["ties"] > SHARE * 3 * cell["cats"] for cell in cells):
        found.append("ties")
    tokens = (about or {}).get("tokens")
    if isinstance(tokens, Mapping) and tokens.get("unknown", 0) > SHARE * tokens.get("read", 0):
        found.append("unknown_tokens")
    if (about or {}).get("own_head"):
        found.append("own_head")
    return found


def marked(name: str, flags: Sequence[str], *, marks: Mapping[str, str] = MARKS) -> str:
    """A model's name with the marks of its flags.

    >>> marked("m", ["ties", "unknown_tokens"]), marked("m", [])
    ('m†‡', 'm')
    """
    return name + "".join(marks[flag] for flag in flags)


def notes(flagged: Iterable[Sequence[str]]) -> dict[str, str]:
    """What the marks in a table mean: a text for each flag that one of its models has."""
    there = {flag for flags in flagged for flag in flags}
    return {flag: text for flag, text in FLAGS.items() if flag in there}
