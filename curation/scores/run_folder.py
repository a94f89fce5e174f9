"""The folder of a run: which scores it holds, what is done, and what is moved to ``superseded/``.

``run.json`` identifies the run. Scores of another model, rule, dtype or package version are never
mixed with it: such a run is moved to ``superseded/`` and scoring starts from scratch. The same
happens to single scores if the text of their association has changed.
"""

import hashlib
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from curation.files import (
    CurationError,
    dump_line,
    read_bytes,
    read_records,
    refuse_links,
    sweep,
    writing,
)
from curation.models.rules import profiles_of
from curation.records import Cat, Fields, Rejection, Score
from curation.scores.flags import answer_flags
from curation.text.rules import grouped
from curation.text.times import now
from curation.text.wording import amount, some
from curation.work.run_folder import (
    SUPERSEDED,
    append_lines,
    count_whole_lines,
    cut_half_line,
    differences,
    locked,
    move,
    read_identity,
    set_aside,
    write_json,
)

_SHOWN = 5  # names of runs in a message


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


def asked_differently(
    runs: Mapping[str, Mapping[str, Any]], read_from: Mapping[str, str]
) -> list[str]:
    """In what runs of chat models were not asked in the same way, in words.

    Args:
        runs: the content of ``run.json``, by the name of the run.
        read_from: what the answers were read from, by the name of the run.

    Returns:
        A text for each difference in what the answers were read from, the file of prompts, the
        number of prompts, the samples and the temperature. A run that does not say counts as the
        same.

    >>> asked_differently({"a": {"answers": {"samples": 1}}, "b": {"answers": {"samples": 4}}}, {})
    ['samples: 1 (a), 4 (b)']
    """
    ways = {run: _way(about, read_from.get(run)) for run, about in runs.items()}
    differences = []
    for name in next(iter(ways.values()), {}):
        by_value = grouped((way[name], run) for run, way in ways.items() if way[name] is not None)
        if len(by_value) > 1:
            texts = (f"{value} ({some(names, _SHOWN)})" for value, names in by_value.items())
            differences.append(f"{name}: {', '.join(texts)}")
    return differences


def _way(about: Mapping[str, Any], read_from: str | None) -> dict[str, Any]:
    """How a run was asked, in words; None for what it does not say."""
    answers, prompts = about.get("answers") or {}, about.get("prompts")
    temperature = about.get("temperature")
    return {
        "answers read from": read_from,
        "sha256 of the prompts": str(prompts)[:8] if prompts else None,
        "number of prompts": len(answers.get("prompts") or ()) or None,
        "samples": answers.get("samples"),
        "temperature": f"{temperature:g}" if isinstance(temperature, int | float) else None,
    }


ENSEMBLE = "ensemble"  # the family of an ensemble
RUN, SCORES, REJECTED, RESULTS = "run.json", "scores.jsonl", "rejected.jsonl", "results.json"
REPLIES, COMPARISONS, CHOICE = "replies.jsonl", "comparisons.jsonl", "choice.json"
# Fields that do not identify the run.
_FREE = {"started_at", "opened", "tokens", "own_head", "answers", "repeats", "head_training"}
_WORDS = {
    "prompts": "file of prompts",
    "unsteady": "answer of the endpoint to the same texts",
}  # fields of ``run.json``, as messages name them


@contextmanager
def locked_run(folder: Path) -> Iterator[None]:
    """Create a run's folder if needed, and keep other commands out of it.

    Raises:
        CurationError: another command is scoring in the folder; or the folder, the model's folder
            or a file in the folder is a link.
    """
    refuse_links(folder, below=folder.parents[1])
    folder.mkdir(parents=True, exist_ok=True)
    busy = CurationError(f"{folder}: another command is scoring here", "wait until it has ended")
    with locked(folder, busy):
        sweep(folder)
        yield


def read_run(folder: Path) -> dict[str, Any]:
    """The content of ``run.json``; {} if there is none.

    Raises:
        CurationError: it is not a JSON object.
    """
    return read_identity(folder / RUN)


def has_runs(root: Path) -> bool:
    """Whether a folder has scores or comparisons of a model."""
    return any(path for name in (SCORES, COMPARISONS) for path in root.glob(f"*/*/{name}"))


class _Answers(BaseModel):
    """The counts of a chat model's answers."""

    none: dict[str, float | None] | None = None
    limits: dict[str, float | None] | None = None
    prompts: list[Any] | None = None
    questions: float | None = None
    answered: float | None = None
    first: float | None = None
    same: float | None = None
    samples: float | None = None


class _About(BaseModel):
    """The fields of ``run.json`` that are read."""

    model: str | None = None
    family: str | None = None
    variant: str | None = None
    rules: dict[str, str] | None = None
    tokens: dict[str, int | None] | None = None
    opened: Fields | None = None
    repeats: Fields | None = None
    head_training: Fields | None = None
    answers: _Answers | None = None
    members: list[str] | None = None
    member_runs: dict[str, Fields] | None = None
    members_sha256: Fields | None = None
    weights: Fields | None = None
    dev_cats: list[str] | None = None
    left_out_cats: list[str] | None = None


def check_about(path: Path, about: Any) -> None:
    """Check the form of a run's description, as far as it is read.

    Args:
        path: its ``run.json``, for the error.
        about: the content.

    Raises:
        CurationError: it is not a JSON object, or a field has another form.
    """
    if not isinstance(about, dict):
        raise CurationError(f"{path}: not a JSON object", "score the model again")
    try:
        _About.model_validate(about, strict=True)
    except ValidationError as error:
        name = error.errors()[0]["loc"][0]
        raise CurationError(
            f"{path}, field '{name}': {str(about[name])[:40]!r} is not valid",
            "restore the file from a backup, or score the model again",
        ) from None


def resume(
    folder: Path,
    identity: Mapping[str, Any],
    digests: Mapping[str, str],
    notice: Callable[[str], None],
) -> dict[str, str]:
    """Make the folder ready, and list what has been scored already.

    Args:
        folder: the run's folder.
        identity: what ``run.json`` must contain.
        digests: the digest of each association's text.
        notice: receives a message for everything that is moved, with the reason.

    Returns:
        The associations that are scored or refused, with their digests.

    Raises:
        CurationError: the content of the folder is not a run.
    """
    claim(folder, identity, notice)
    scores, rejected = (folder / name for name in (SCORES, REJECTED))
    valid = [
        s
        for s in read_records(scores, Score, missing_ok=True)
        if digests.get(s.association, s.asked) == s.asked
    ]
    refused = [
        r for r in read_records(rejected, Rejection, missing_ok=True) if _is_current(r, digests)
    ]
    if len(valid) < count_whole_lines(scores) or len(refused) < count_whole_lines(rejected):
        aside = set_aside(folder, [SCORES, REJECTED, RESULTS])
        notice(
            f"{scores}: texts have changed and are scored again; the old scores are now in {aside}"
        )
        append_lines(scores, [dump_line(score) for score in valid])
        append_lines(rejected, [dump_line(rejection) for rejection in refused])
    known = {score.association: score.asked for score in valid}
    return known | {r.record["association"]: r.record["asked"] for r in refused}


def claim(
    folder: Path,
    identity: Mapping[str, Any],
    notice: Callable[[str], None],
    *,
    appended: Sequence[str] = (SCORES, REJECTED),
) -> None:
    """Make the folder that of the run with this identity; files of another run are moved away.

    Args:
        folder: the run's folder.
        identity: what ``run.json`` must contain.
        notice: receives a message for everything that is moved, with the reason.
        appended: the files that grow; the first names the content in messages.

    Raises:
        CurationError: the content of the folder is not a run.
    """
    path, lines = folder / RUN, [folder / name for name in appended]
    content = lines[0].stem
    for each in lines:
        cut_half_line(each)
    changed = _changed(folder, identity)
    if not path.exists() and any(count_whole_lines(each) for each in lines):
        notice(f"{lines[0]}: there is no {RUN} to identify these {content}; they are moved away")
        set_aside_run(folder)
    if changed:
        differs = " and ".join(_WORDS.get(name, name) for name in changed)
        aside = set_aside_run(folder)
        notice(f"{path}: another {differs}; the earlier {content} are now in {aside}")
    # A killed command may have left run.json here and not what belongs to it.
    earlier = None if lines[0].exists() else _same_run_set_aside(folder, identity)
    if earlier and (not path.exists() or (earlier / appended[0]).exists()):
        notice(f"{earlier}: these are {content} of this very run; they are used again")
        _move_run(earlier, folder, [*reversed(appended)])
    if not path.exists():
        write_json(path, {**identity, "started_at": now()})


def _changed(folder: Path, identity: Mapping[str, Any]) -> list[str]:
    """The fields in which a folder's run differs from this identity; none without a run."""
    return differences(read_run(folder), identity, free=_FREE) if (folder / RUN).exists() else []


def _same_run_set_aside(folder: Path, identity: Mapping[str, Any]) -> Path | None:
    """The latest folder in ``superseded/`` that holds the run with this identity.

    Folders without scores or replies come last: they are left if a command is killed between moves.
    """
    folders = [path.parent for path in sorted(folder.glob(f"{SUPERSEDED}/*/{RUN}"), reverse=True)]
    same = [each for each in folders if not _changed(each, identity)]
    whole = [f for f in same if any((f / name).exists() for name in (SCORES, REPLIES))]
    return next(iter(whole or same), None)


def continued_folder(folder: Path, identity: Mapping[str, Any]) -> Path | None:
    """The folder whose scores or replies a run with this identity would continue; None without one.

    Args:
        folder: the run's folder.
        identity: what ``run.json`` must contain.

    Raises:
        CurationError: ``run.json`` is damaged.
    """
    if (folder / RUN).exists() and not _changed(folder, identity):
        return folder
    return _same_run_set_aside(folder, identity)


def _is_current(rejection: Rejection, digests: Mapping[str, str]) -> bool:
    name, digest = (str(rejection.record.get(key, "")) for key in ("association", "asked"))
    return bool(name and digest) and digests.get(name, digest) == digest


def set_aside_run(folder: Path) -> Path:
    """Move all files of a run to ``superseded/``.

    Returns:
        The new folder there.
    """
    aside = set_aside(folder, ())
    _move_run(folder, aside, (SCORES, REPLIES, COMPARISONS, REJECTED, CHOICE, RESULTS))
    return aside


def _move_run(folder: Path, to: Path, names: Sequence[str]) -> None:
    """Move files of a run. ``run.json`` is in both places until the last of them has moved.

    So if a command is killed in between, scores and replies always have a ``run.json`` beside them.
    """
    about = folder / RUN
    if about.exists() and not (to / RUN).exists():
        with writing(to / RUN) as file:
            file.write(read_bytes(about))
    move(names, folder, to)
    about.unlink(missing_ok=True)


def note(folder: Path, **fields: Any) -> None:
    """Write fields to ``run.json`` that do not identify the run."""
    run = read_run(folder)
    if any(name not in run or run[name] != value for name, value in fields.items()):
        write_json(folder / RUN, {**run, **fields})


def cats_digest(cats: Sequence[Cat]) -> str:
    """The sha256 of everything in the CATs that a run's results depend on.

    That is their texts and gold labels, and their kinds, domains, targets and splits. The order of
    the CATs does not count.
    """
    rows = sorted(
        orjson.dumps(
            [
                cat.id,
                cat.kind,
                cat.domain,
                cat.target,
                cat.split,
                cat.context,
                sorted((a.id, a.sentence, a.gold) for a in cat.associations),
            ]
        )
        for cat in cats
    )
    return hashlib.sha256(b"\n".join(rows)).hexdigest()


def scored_cats(cats: Sequence[Cat]) -> Fields:
    """What ``results.json`` says about the CATs that it is of: ``{"cats", "sha256"}``."""
    return {"cats": len(cats), "sha256": cats_digest(cats)}


def again(about: Mapping[str, Any]) -> str:
    """The command that scores a model, or fits an ensemble, again.

    Args:
        about: the content of its ``run.json``. It does not have the folder of a model, so the
            command has the model's name, and FOLDER if the model was in one.

    >>> again({"model": "small", "family": "causal", "rules": {"intersentence": "nsp"}})
    'curation scores models small --rule nsp'
    >>> again({"model": "talker", "family": "chat", "url": "example.org"})
    'curation scores models chat:talker --endpoint URL'
    """
    model = str(about.get("model") or "MODEL")
    words = ["curation", "scores"]
    if about.get("family") == ENSEMBLE:
        words += ["ensemble", *map(str, about.get("members") or ()), "--name", model]
        for option in ("objective", "ties", "seed"):
            words += [f"--{option}", str(about[option])] if option in about else []
        return shlex.join(words)
    if about.get("family") == "chat":
        return shlex.join([*words, "models", *_chat_arguments(model, about)]) + (
            " --endpoint URL" if about.get("url") else ""
        )
    words += ["models", f"{model}=FOLDER" if _is_local(about) else model]
    rules = dict(about.get("rules") or {})
    profiles = profiles_of(str(about.get("family", "")), rules)
    if len(set(rules.values())) == 1 and "default" not in profiles:
        words += ["--rule", next(iter(rules.values()))]
    elif profiles and "default" not in profiles:
        words += ["--profile", profiles[0]]
    words += ["--variant", str(about["variant"])] if about.get("variant") else []
    text = shlex.join(words)
    text += " --nsp DIR" if about.get("nsp") else ""
    text += " --accept-own-head" if about.get("own_head") else ""
    return text + (" --endpoint URL" if about.get("family") == "endpoint" else "")


def _chat_arguments(model: str, about: Mapping[str, Any]) -> list[str]:
    """The arguments of «curation scores models» that ask a chat model again in the same way.

    Args:
        model: the model's name.
        about: the content of its ``run.json``. It does not have the folder of a model, so the
            arguments have FOLDER. It has the name that an endpoint knows, once it was asked.

    >>> _chat_arguments("m", {"temperature": 0.0, "answers": {"samples": 3}})
    ['chat:m', '--samples', '3']
    """
    opened = about.get("opened") or {}
    name = str((opened.get("model") if about.get("url") else "") or model)
    if _is_local(about):
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


def _is_local(about: Mapping[str, Any]) -> bool:
    return str(about.get("revision") or "").startswith("sha256:")
