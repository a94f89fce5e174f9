"""A submission: one JSON file about a model, which anybody may send.

It is read as text, and nothing in it is run, opened or fetched.
"""

import json
import re
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError

from curation.board.about import BoardSettings, SetFacts
from curation.files import CurationError, decode_text, open_input
from curation.formats.predictions import finite
from curation.formats.toml_files import shipped_table
from curation.kinds import CAT_KINDS, KINDS, Kind
from curation.models.rules import PROFILES, rules_of
from curation.records import Record
from curation.text.wording import inert

REASONS: dict[str, dict[str, str]] = shipped_table("board", "reasons.toml")
"""Why a submission is refused or not scored yet, by code: what it ``says``, and the ``fix``."""
FIELDS: dict[str, str] = shipped_table("board", "fields.toml")
"""What each field of a submission must be."""
LARGEST = 32 << 20  # bytes of a file, enough for a million scores
_TOO_LARGE = f"has over {LARGEST >> 20} MiB"
_KEY = 1000  # characters of a key that are looked for: a long pattern takes much memory
_BRACKETS = 100  # a submission needs three; texts may have some


class SubmissionError(CurationError):
    """Why a submission is not accepted; ``code`` is one of ``REASONS``, which has the fix."""

    def __init__(self, code: str, where: str, what: str = "") -> None:
        """An error at a place in a file; without ``what`` it is what the code says."""
        super().__init__(f"{where}: {what or REASONS[code]['says']}", REASONS[code]["fix"])
        self.code = code


def _plain(text: str) -> str:
    """A text on one line without characters that a terminal or a browser obeys."""
    text.encode()  # refuses half a surrogate
    if text.splitlines() != [text] or "\t" in text or inert(text) != text:
        raise ValueError
    return text


_NAME = "[A-Za-z0-9][A-Za-z0-9._-]*"
_FILE = re.compile(_NAME + "[.]json")
_LINK = "^(https://[A-Za-z0-9.-]+(:[0-9]+)?([/?#][!#-;=?-~]*)?)?$"
_At = Callable[..., SubmissionError]  # _error in one file
_Text = Annotated[str, Field(max_length=100), AfterValidator(_plain)]


class Submission(Record):
    """The content of a submission.

    Attributes:
        board: the id of the board.
        version: of the test set.
        model: the name of the model.
        revision: a commit or another name of exactly these weights.
        profile: the profile by which it was scored.
        rules: the rule of each kind of CAT.
        by: who sends it.
        link: where to read more, or "".
        how: how the scores were made.
        format: the number format of the model when it was scored.
        scores: of every association of a test set with hidden labels, by id; a higher score means
            likelier. None for a sealed test set.
    """

    board: _Text
    version: _Text
    model: Annotated[str, Field(pattern=f"^{_NAME}(/{_NAME})?$", max_length=100)]
    revision: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._:/+-]*$", max_length=100)]
    profile: _Text
    rules: Annotated[dict[Kind, _Text], Field(min_length=1)]
    by: _Text
    link: Annotated[str, Field(pattern=_LINK, max_length=300)]
    how: Annotated[str, Field(max_length=1000), AfterValidator(_plain)]
    format: Literal["float32", "float16", "bfloat16"]
    scores: dict[str, float] | None = None


def read_file(path: Path, where: str) -> bytes:
    """The content of a file that somebody sent, which is looked at before it is opened.

    Raises:
        SubmissionError: it is too large, not there, a link, in a folder that is a link, not a
            regular file, or has another name than NAME.json.
    """
    try:
        info = path.lstat()
    except (OSError, ValueError):
        raise SubmissionError("not_plain", where, "no such file") from None
    is_plain = stat.S_ISREG(info.st_mode) and not path.parent.is_symlink()
    if not is_plain or not _FILE.fullmatch(path.name):
        raise SubmissionError("not_plain", where)
    if info.st_size > LARGEST:
        raise SubmissionError("too_large", where, _TOO_LARGE)
    with open_input(path) as file:
        return file.read(LARGEST + 1)


def read_submission(data: bytes, where: str) -> Submission:
    """Read a submission, without a look at whether it fits a board.

    Args:
        data: the content of the file.
        where: the file, for errors.

    Raises:
        SubmissionError: the first problem; it names the line.
    """
    submission, found = _read(data, where)
    if found or submission is None:
        raise found[0]
    return submission


def problems(
    data: bytes, where: str, settings: BoardSettings, facts: SetFacts, ids: Collection[str]
) -> tuple[Submission | None, list[SubmissionError]]:
    """Read a submission, and check that it fits a board and its open test set.

    Args:
        data: the content of the file.
        where: the file, for errors.
        settings: of the board.
        facts: of its open test set.
        ids: of all associations of the test set; empty if it is sealed.

    Returns:
        The submission, if it can be read, and the first problem of each sort; they name the line.
    """
    submission, found = _read(data, where)
    if submission:
        found += _misfits(submission, partial(_error, data, where), settings, facts, ids)
    return submission, list({each.code: each for each in reversed(found)}.values())[::-1]


def _read(data: bytes, where: str) -> tuple[Submission | None, list[SubmissionError]]:
    """The submission, if its fields can be read, and problems."""
    repeated: list[str] = []

    def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        counts = Counter(key for key, _ in pairs)
        repeated.extend(key for key, count in counts.items() if count > 1)
        return dict(pairs)

    if len(data) > LARGEST:
        return None, [SubmissionError("too_large", where, _TOO_LARGE)]
    try:
        text = decode_text(data, Path(where))
        is_deep = text.count("{") + text.count("[") > _BRACKETS  # would take much memory
        fields = None if is_deep else json.loads(text, object_pairs_hook=unique)
    except CurationError as error:  # another encoding, or empty
        return None, [SubmissionError("not_json", *error.what.split(": ", 1))]
    except ValueError as error:
        line, column = getattr(error, "lineno", 1), getattr(error, "colno", 1)
        why = f"not JSON ({getattr(error, 'msg', 'a number is too long')})"
        return None, [SubmissionError("not_json", f"{where} line {line} column {column}", why)]
    at = partial(_error, data, where)
    if not isinstance(fields, dict):
        problem = f"over {_BRACKETS} brackets" if is_deep else "not an object with fields"
        return None, [at("wrong_field", problem=problem)]
    found = [at("repeated_key", key, 1, key=_shown(key)) for key in repeated[:1]]
    if isinstance(rules := fields.get("rules"), dict):
        fields["rules"] = dict(
            islice(rules.items(), len(KINDS) + 1)
        )  # an error for each would take long
    if isinstance(scores := fields.get("scores"), dict):
        bad = [key for key, score in scores.items() if finite(score) is None]
        for key in bad[:1]:
            value, count = _shown(scores[key]), len(bad)
            found.append(at("not_finite", key, id=_shown(key), value=value, count=count))
        fields["scores"] = scores | dict.fromkeys(bad, 0.0)
    for name in [name for name in fields if name not in FIELDS][:1]:
        found.append(at("wrong_field", name, problem=f"there is no field {_shown(name)}"))
    try:
        return Submission.model_validate({k: fields[k] for k in fields.keys() & FIELDS}), found
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        it = f"is {_shown(fields[name])}" if name in fields else "is missing"
        problem = f"{name} {it}; it must be {FIELDS[name]}"
        return None, [*found, at("wrong_field", name, problem=problem)]


def _misfits(
    sent: Submission, at: _At, settings: BoardSettings, facts: SetFacts, ids: Collection[str]
) -> Iterator[SubmissionError]:
    """Why a submission does not fit a board and its open test set."""
    profile, rules, scores = sent.profile, sent.rules, sent.scores
    if sent.board != settings.id:
        yield at("other_board", "board", own=sent.board, board=settings.id)
    if sent.version != facts.version:
        yield at("other_set", "version", own=sent.version, open=facts.version)
        return
    if profile not in settings.profiles:
        allowed = ", ".join(settings.profiles)
        yield at("profile_not_allowed", "profile", own=profile, allowed=allowed)
    kinds = [kind for kind in KINDS if facts.kinds.get(kind)]
    known = [rules_of(of, CAT_KINDS) for of in PROFILES.get(profile, {}).values()]
    if not rules.keys() >= set(kinds) or (known and rules not in known):
        ways = dict.fromkeys(", ".join(f"{k} {rule}" for k, rule in of.items()) for of in known)
        needed = "; or ".join(ways) or " and ".join(kinds)
        yield at("rules_differ", "rules", profile=profile, needed=needed)
    if facts.hide == "all":
        if scores is not None:
            yield at("scores_not_wanted", "scores")
    elif "choice" in rules.values():
        yield at("chat_model", "rules")
    elif scores is None:
        yield at("no_scores", count=len(ids))
    else:
        if lacks := sorted(name for name in ids if name not in scores):
            yield at("missing_scores", "scores", count=len(lacks), all=len(ids), first=lacks[0])
        if others := [name for name in scores if name not in ids]:
            yield at("unknown_scores", others[0], count=len(others), first=_shown(others[0]))


def _error(
    data: bytes, where: str, code: str, at: str = "", nth: int = 0, **values: object
) -> SubmissionError:
    """An error with the line of the nth place where the key ``at`` is; 1 if it is nowhere."""
    text, key = decode_text(data, Path(where)), json.dumps(at)
    end = r"\s*:" if len(key) <= _KEY else ""
    places = [found.start() for found in re.finditer(re.escape(key[:_KEY]) + end, text)]
    line = text.count("\n", 0, places[nth] if nth < len(places) else 0) + 1
    return SubmissionError(code, f"{where} line {line}", REASONS[code]["what"].format(**values))


def _shown(value: object) -> str:
    """The beginning of something in a file, as JSON; so without what a terminal obeys."""
    shown = json.dumps(value)
    return f"{shown[:60]}…" if len(shown) > 60 else shown
