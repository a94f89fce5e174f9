"""What ``run.json`` of a chat model says: whether the model answered, and how it was asked."""

from collections.abc import Mapping
from typing import Any

from curation.scores.flags import answer_flags
from curation.text.wording import amount, some

_SHOWN = 5  # names of runs in a message


def answers_fit(answers: Mapping[str, Any]) -> bool:
    """Whether ``answers`` of a chat model's ``run.json`` has the form of a chat model's counts.

    >>> answers_fit({"questions": 6, "none": {"answer_empty": 1}}), answers_fit({"none": [1]})
    (True, False)
    """
    named = [answers.get(name) or {} for name in ("none", "limits")]
    prompts = answers.get("prompts") or []
    if not all(isinstance(each, dict) for each in named) or not isinstance(prompts, list):
        return False
    counts = [answers.get(name) for name in ("questions", "first", "same", "answered", "samples")]
    numbers = [*counts, *(number for each in named for number in each.values())]
    return all(isinstance(number, int | float | None) for number in numbers)


def why_no_outcome(about: Mapping[str, Any]) -> str:
    """Why a run of a chat model has no CAT with three comparisons, in words.

    Args:
        about: the content of its ``run.json``; ``answers`` is read.
    """
    answers = about.get("answers") or {}
    questions, answered = (int(answers.get(name) or 0) for name in ("questions", "answered"))
    if not questions:
        return "has no comparisons, because asking has not ended"
    first = float(answers.get("first") or 0)
    more = max(first, answered - first)
    same = float(answers.get("same") or 0)
    if same > more and "one_letter" in answer_flags(answers):
        return (
            f"has no results, because {100 * same / answered:.0f} % of the model's answers name "
            "the letter that it names most often for their prompt"
        )
    limit = (answers.get("limits") or {}).get("one_letter")
    if answered and limit is not None and more >= limit * answered:
        return (
            f"has no results, because {100 * more / answered:.0f} % of the model's answers name "
            f"the {'first' if more == first else 'second'} letter"
        )
    codes = ", ".join(f"{code} {count:,}" for code, count in (answers.get("none") or {}).items())
    return (
        f"has no results, because {questions - answered:,} of {amount(questions, 'question')} have "
        "no answer" + (f" ({codes})" if codes else "")
    )


def arguments(model: str, about: Mapping[str, Any]) -> list[str]:
    """The arguments of «curation scores models» that ask a chat model again in the same way.

    Args:
        model: the model's name.
        about: the content of its ``run.json``. It does not have the folder of a model, so the
            arguments have FOLDER. It has the name that an endpoint knows, once it was asked.

    >>> arguments("m", {"temperature": 0.0, "answers": {"samples": 3}})
    ['chat:m', '--samples', '3']
    """
    local = str(about.get("revision") or "").startswith("sha256:")
    opened = about.get("opened") or {}
    name = str((opened.get("model") if about.get("url") else "") or model)
    if local:
        name = "FOLDER"
    words = [f"chat:{name}" if name == model else f"{model}=chat:{name}"]
    answers = about.get("answers") or {}
    words += ["--all-prompts"] if len(answers.get("prompts") or ()) > 1 else []
    for option, value, default in (
        ("--samples", answers.get("samples"), 1),
        ("--temperature", about.get("temperature"), 0),
        ("--variant", about.get("variant"), ""),
    ):
        words += [option, str(value)] if value not in (None, default) else []
    return words


def asked_differently(
    runs: Mapping[str, Mapping[str, Any]], read_from: Mapping[str, str] | None = None
) -> list[str]:
    """In what runs of chat models were not asked in the same way, in words.

    Args:
        runs: the content of ``run.json``, by the name of the run.
        read_from: what the answers were read from, by the name of the run.

    Returns:
        A text for each difference in what the answers were read from, the file of prompts, the
        number of prompts, the samples and the temperature. A run that does not say counts as the
        same.

    >>> asked_differently({"a": {"answers": {"samples": 1}}, "b": {"answers": {"samples": 4}}})
    ['samples: 1 (a), 4 (b)']
    """
    by_way: dict[str, dict[Any, list[str]]] = {}
    for run, about in runs.items():
        way = {"answers read from": (read_from or {}).get(run), **_way(about)}
        for name, value in way.items():
            by_value = by_way.setdefault(name, {})
            if value is not None:
                by_value.setdefault(value, []).append(run)
    differences = []
    for name, by_value in by_way.items():
        if len(by_value) > 1:
            texts = (f"{value} ({some(names, _SHOWN)})" for value, names in by_value.items())
            differences.append(f"{name}: {', '.join(texts)}")
    return differences


def _way(about: Mapping[str, Any]) -> dict[str, Any]:
    """How a run was asked, in words; None for what it does not say."""
    answers, prompts = about.get("answers") or {}, about.get("prompts")
    temperature = about.get("temperature")
    return {
        "sha256 of the prompts": str(prompts)[:8] if prompts else None,
        "number of prompts": len(answers.get("prompts") or ()) or None,
        "samples": answers.get("samples"),
        "temperature": f"{temperature:g}" if isinstance(temperature, int | float) else None,
    }
