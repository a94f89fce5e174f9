"""What is reported about a chat model's answers: ``choice.json``, and the counts of its marks."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from curation.choices import PAIRS
from curation.records import Cat
from curation.scores.choice.asking import Asked
from curation.stats.metrics import Ties


class Limits(NamedTuple):
    """The settings ``no_answer`` and ``one_letter`` of ``[scores]``, shares from 0 to 1."""

    no_answer: float
    one_letter: float


def choice_report(
    cats: Sequence[Cat],
    asked: Iterable[Asked],
    *,
    limits: Limits,
    tokens: Mapping[str, int] | None = None,
    ties: Ties = "half",
) -> dict[str, Any]:
    """Counts of what the replies say."""
    rows = list(asked)
    answered = [each for each in rows if each.reading.first is not None]
    answers = {
        "questions": len(rows),
        "answered": len(answered),
        "none": dict(Counter(each.reading.code for each in rows if each.reading.code)),
        "first": sum(each.reading.letter == "first" for each in answered),
        "limits": limits._asdict(),
        "prompts": list(dict.fromkeys(each.prompt for each in rows)),
        "samples": max((each.sample for each in rows), default=-1) + 1,
        "tokens": dict(tokens) if tokens else None,
    }
    pairs = Counter((each.cat, each.pair, each.prompt, each.sample) for each in answered)
    whole = Counter(cat for cat, _ in {key[:2] for key, n in pairs.items() if n == 2})
    no_score = "" if len(PAIRS) in whole.values() else "no_answers"
    return {"answers": answers, "no_score": "one_letter" if one_letter(answers) else no_score}


def one_letter(answers: Mapping[str, Any]) -> bool:
    """Whether so many answers name the same letter that comparisons say nothing."""
    first, answered = answers["first"], answers["answered"]
    most = max(first, answered - first)
    return bool(answered) and most >= answers["limits"]["one_letter"] * answered
