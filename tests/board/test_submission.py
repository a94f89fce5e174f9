"""Submissions: what is accepted, and what is refused with which line; attacks are a table."""

import json
import re
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from curation.board.submission import (
    FIELDS,
    LARGEST,
    REASONS,
    SubmissionError,
    problems,
    read_submission,
)
from curation.formats.toml_files import read_toml
from support.hosting import Hosted, host, submission

TABLE = read_toml(Path(__file__).with_suffix(".toml"), fix="correct it")


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Hosted:
    return host(tmp_path_factory.mktemp("board"), cats=4, terms=2)


def ids(hosted: Hosted) -> list[str]:
    return [association.id for cat in hosted.cats for association in cat.associations]


def _filled(message: str) -> str:
    return re.sub(r"\{(\w+)\}", lambda field: FIELDS[field[1]], message)


def refused(hosted: Hosted, data: bytes) -> list[SubmissionError]:
    board = hosted.board
    return problems(data, "a.json", board.settings, board.open_set.facts, set(ids(hosted)))[1]


def text(hosted: Hosted, **about: Any) -> str:
    return json.dumps(submission(hosted, hosted.scores(), **about), indent=1)


def test_a_submission_is_read_and_fits(hosted: Hosted) -> None:
    read = read_submission(text(hosted).encode(), "a.json")
    assert read.model_dump(exclude_none=True) == submission(hosted, hosted.scores())
    assert refused(hosted, text(hosted).encode()) == []


@pytest.mark.parametrize("case", TABLE["change"], ids=lambda case: case["name"])
def test_a_changed_submission_is_refused_with_its_line(
    hosted: Hosted, case: dict[str, Any]
) -> None:
    names = {f"ID{n}": name for n, name in enumerate(ids(hosted))}
    before, after = case["replace"], case["by"]
    for short, name in names.items():
        before, after = before.replace(f'"{short}"', f'"{name}"'), after.replace(short, name)
    whole = text(hosted)
    assert before in whole
    found = refused(hosted, whole.replace(before, after, 1).encode("utf-8", "surrogatepass"))
    messages = []
    for error in found:
        message = error.what
        for short, name in names.items():
            message = message.replace(f'"{name}"', short).replace(name, short)
        messages.append(f"{error.code}: {message}")
        assert error.fix == REASONS[error.code]["fix"]
    assert messages == [_filled(line) for line in case["says"]]


@pytest.mark.parametrize("case", TABLE["file"], ids=lambda case: case["name"])
def test_a_file_that_is_no_submission_is_refused(hosted: Hosted, case: dict[str, Any]) -> None:
    data = case["text"].encode("latin-1") * case.get("times", 1)
    with pytest.raises(SubmissionError) as caught:
        read_submission(data, "a.json")
    assert f"{caught.value.code}: {caught.value.what}" == case["says"]


def test_a_large_file_is_not_read() -> None:
    with pytest.raises(SubmissionError, match=r"a\.json: has over 32 MiB") as caught:
        read_submission(bytes(LARGEST + 1), "a.json")
    assert caught.value.code == "too_large"


@pytest.mark.parametrize("field", ["", "rules", "scores"])
def test_many_problems_take_no_time(hosted: Hosted, field: str) -> None:
    many = ", ".join(f'"key{n}": "x", "key{n}": "y"' for n in range(30_000))
    start = process_time()
    found = refused(hosted, (f'{{"{field}": {{{many}}}}}' if field else f"{{{many}}}").encode())
    assert process_time() - start < 20  # a search for each key would take over a minute
    assert found[0].code == "repeated_key"
    assert len(found) == len({error.code for error in found})


def test_a_long_key_takes_no_time(hosted: Hosted) -> None:
    start = process_time()
    (found,) = refused(
        hosted, text(hosted).replace('"how"', f'"{"k" * (16 << 20)}": 1, "how"').encode()
    )
    assert process_time() - start < 15  # pydantic would take twice as long
    assert found.what.startswith('a.json line 13: there is no field "kkk')


def test_a_sealed_test_set_takes_no_scores(tmp_path: Path) -> None:
    sealed = host(tmp_path, hide="all", cats=4, terms=2)
    fits = (sealed.board.settings, sealed.board.open_set.facts, ())
    chat = dict.fromkeys(("intrasentence", "intersentence"), "choice")
    assert not problems(json.dumps(submission(sealed, None)).encode(), "a.json", *fits)[1]
    data = json.dumps(submission(sealed, {"x": 1.0}, rules=chat, profile="choice"), indent=1)
    found = [f"{error.code}: {error.what}" for error in problems(data.encode(), "a.json", *fits)[1]]
    assert found == [
        "profile_not_allowed: a.json line 6: the profile is choice, and the board allows default",
        "scores_not_wanted: a.json line 15: there are scores, and the test set is sealed",
    ]
