"""Marks after a model's name in tables, for example because its values say little."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from curation.formats.toml_files import shipped_table
from curation.kinds import ITEMS
from curation.models.rules import OWN_HEADS, profiles_of

SHARE = 0.5  # a model is flagged if more than this share of comparisons or tokens is affected
_ROUNDING = 1e-9  # of a limit times a count
_TABLE = shipped_table("scores", "flags.toml")
FLAGS, MARKS, LATEX = (
    {name: str(flag[part]) for name, flag in _TABLE.items()} for part in ("says", "mark", "latex")
)
"""What each flag means, and its mark in text and in LaTeX."""


def flags_of(
    result: Mapping[str, Any], about: Mapping[str, Any] | None = None, *, older: bool = False
) -> list[str]:
    """The flags of a model, codes of ``FLAGS``.

    ``ties``: more than half of the comparisons of a kind are ties.
    ``unknown_tokens``: more than half of the tokens of the scored texts are the tokenizer's unknown
    token. ``own_head``: the profile needs a trained next-sentence head, and the model's own was
    accepted. ``trained_head``: BERT with a trained head under a profile that uses its own.
    ``other_head``: the head was not trained like those of the ranked runs, or its training is not
    known. ``older_cats``: the run lacks CATs. The others are those of ``answer_flags``.

    Args:
        result: of ``metrics.results``.
        about: the run's ``run.json``; its ``tokens`` are ``{"read", "unknown"}``, and the
            ``answers`` of a chat model those of ``answer_report.choice_report``. ``other_head`` is
            of ``groups.mark_heads``.
        older: whether the run lacks CATs, as in ``boards.missing_cats``.

    >>> kinds = {"intrasentence": {"overall": {"cats": 2, "ties": 4}}}
    >>> flags_of({"kinds": kinds}, {"tokens": {"read": 9, "unknown": 5}})
    ['ties', 'unknown_tokens']
    """
    flags = []
    for kind, part in result.get("kinds", {}).items():
        compared = len(ITEMS[kind].pairs) * part["overall"]["cats"]
        if part["overall"]["ties"] > SHARE * compared:
            flags = ["ties"]
    tokens = (about or {}).get("tokens")
    if isinstance(tokens, Mapping) and tokens.get("unknown", 0) > SHARE * tokens.get("read", 0):
        flags.append("unknown_tokens")
    if (about or {}).get("own_head"):
        flags.append("own_head")
    elif (about or {}).get("other_head"):
        flags.append("other_head")
    if _trained_bert(about or {}):
        flags.append("trained_head")
    if older:
        flags.append("older_cats")
    return [*flags, *answer_flags((about or {}).get("answers"))]


def _trained_bert(about: Mapping[str, Any]) -> bool:
    """Whether BERT was scored with a trained head under a profile that uses its own."""
    rules, opened = about.get("rules"), about.get("opened")
    if not isinstance(rules, Mapping) or not isinstance(opened, Mapping):
        return False
    nsp = opened.get("nsp") or {}
    return (
        (nsp.get("next_sentence") or {}).get("head") == "trained"
        and str(nsp.get("architecture")).startswith("Bert")
        and not OWN_HEADS.isdisjoint(profiles_of(str(about.get("family")), rules))
    )


def answer_flags(answers: Any) -> list[str]:
    """The flags of a chat model's answers.

    ``no_answer``: the share of questions without an answer is above its limit. ``one_letter``: the
    share of one letter among the answers, counted for each prompt, is at its limit, so comparisons
    say nothing. ``uneven_refusals``: some domain or term differs from the rest in refusals or
    missing answers. ``second_questions``: a metric changes much without the answers to
    second questions.

    Args:
        answers: the ``answers`` of ``answer_report.choice_report``; anything else has no flags.

    >>> limits = {"no_answer": 0.05, "one_letter": 0.95}
    >>> answers = {"questions": 100, "answered": 94, "first": 94, "limits": limits, "uneven": []}
    >>> answer_flags(answers)
    ['no_answer', 'one_letter']
    """
    if not isinstance(answers, Mapping) or not isinstance(answers.get("limits"), Mapping):
        return []
    limits = {name: limit for name, limit in answers["limits"].items() if limit is not None}
    questions, answered, first = (
        answers.get(name) or 0 for name in ("questions", "answered", "first")
    )
    flags = []
    if questions - answered > limits.get("no_answer", 1) * questions + _ROUNDING:
        flags.append("no_answer")
    most = max(first, answered - first, answers.get("same") or 0)
    if answered and most >= limits.get("one_letter", 1) * answered - _ROUNDING:
        flags.append("one_letter")
    if answers.get("uneven"):
        flags.append("uneven_refusals")
    if answers.get("moved"):
        flags.append("second_questions")
    return flags


def marked(name: str, flags: Sequence[str], *, marks: Mapping[str, str] = MARKS) -> str:
    """A model's name with the marks of its flags.

    >>> marked("m", ["ties", "unknown_tokens"]), marked("m", [])
    ('m†‡', 'm')
    """
    return name + "".join(marks[flag] for flag in flags)


def notes(flagged: Iterable[Sequence[str]]) -> dict[str, str]:
    """The meaning of the marks in a table, for each flag that one of its models has."""
    there = {flag for flags in flagged for flag in flags}
    return {flag: text for flag, text in FLAGS.items() if flag in there}
