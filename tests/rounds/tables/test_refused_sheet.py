"""A sheet of refused answers is in the words of its round, and is read back as it was."""

from pathlib import Path
from typing import Any

import pytest

from curation.formats.table_words import languages, round_words, shipped_texts
from curation.records import Round
from curation.rounds import pages
from curation.rounds.answers.forms import file_row, is_unchanged
from curation.rounds.refused import RefusedAnswer, refused_sheet

ROUND = Round(
    name="v", kind="validation", platform="files", state="open", seed=1, labels="all", answers=5,
    consent="1-abc", pay=0.0, opened_at="2026-05-01T00:00:00.000Z",
)  # fmt: skip
ANSWER = RefusedAnswer(
    task="t1", person="p", sent="", updated="", seconds=None, position=0,
    codes=("unknown_label", "missing_field", "bad_value"),
    details=("'foo' is not a label", "no 'label_3'",
             "'flags.ungrammatical' is 'maybe', which is neither yes nor no"),
    row={"annotator": "Ann", "label_1": "unrelated", "label_2": "foo", "flags": "objective",
         "flags.ungrammatical": "maybe"},
)  # fmt: skip
BAKER = {"task_id": "t1", "target": "baker", "domain": "profession"}
DATA = {"t1": {**BAKER, "context": "c", "text_1": "a", "text_2": "b", "text_3": "c"}}


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("language", languages())
def test_every_language_is_shown_and_read_back(language: str, plain: bool) -> None:
    texts = {**pages.texts("en", Path("none")), **shipped_texts(language)}
    words = round_words(texts)
    how: dict[str, Any] = {"agreed": "", "consent": True, "plain": plain}
    columns, (row,) = refused_sheet([ANSWER], DATA, ROUND, texts, **how)
    what = row.cells["what_to_change"]
    heads = texts["heading"]
    for code, names in (("unknown_label", heads["label_2"]), ("missing_field", heads["label_3"]),
                        ("bad_value", heads["flags.ungrammatical"]),
                        ("no_consent", f"{heads['consent']}: 1-abc")):  # fmt: skip
        assert f"{texts['refused'][code]} ({names})" in what
    back = {column.heading: row.cells.get(column.name, "") for column in columns}
    assert len(back) == len(columns)
    read = file_row(back, words)
    assert is_unchanged(read, "validation", words)
    assert (read["annotator"], read["flags"], read["label_2"]) == ("Ann", "objective", "foo")
    assert read["updated_at"] == ROUND.opened_at
    assert read["flags.ungrammatical"] == "maybe"
    for name, cell in (("label_3", "related"), ("flags.ungrammatical", "")):
        changed = {next(c.heading for c in columns if c.name == name): cell}
        assert not is_unchanged(file_row({**back, **changed}, words), "validation", words)


def test_a_text_that_is_too_long_is_said_to_be() -> None:
    texts = {**pages.texts("en", Path("none")), **shipped_texts("en")}
    long = {"codes": ("bad_value",), "details": ("'stereotype' has more than 10,000 characters",)}
    answer = ANSWER._replace(row={"annotator": "Ann", "stereotype": "x" * 10_001}, **long)
    writing = ROUND.model_copy(update={"kind": "intrasentence"})
    how: dict[str, Any] = {"agreed": "1-abc", "consent": True, "plain": False}
    _, (row,) = refused_sheet([answer], {"t1": BAKER}, writing, texts, **how)
    assert row.cells["what_to_change"] == "A text is too long. Please make it shorter. (Stereotype)"
