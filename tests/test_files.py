"""Errors of reading name file, line and field; a half-written file is never visible."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation import files
from curation.files import (
    CurationError,
    digest,
    dump_line,
    read_json,
    read_records,
    read_table,
    read_text,
    writing,
)
from curation.records import VALUES, Annotation, Label, Pitfall

ROW: dict[str, Any] = {
    "id": "label-1",
    "item": "i1",
    "association": "a1",
    "annotator": "p-1",
    "value": "stereotype",
    "round": "main",
    "submitted_at": "2026-03-02T09:00:01.000Z",
    "seconds": 4.5,
    "source": "answers",
}


def jsonl(path: Path, rows: list[Any]) -> Path:
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def fails(read: Any, path: Path, what: str, fix: str = "") -> None:
    """Check that a file is refused with a text after its path, and with a fix."""
    with pytest.raises(CurationError) as caught:
        read(path)
    assert caught.value.what.startswith(f"{path}{what}")
    assert caught.value.fix
    assert fix in ("", caught.value.fix)


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in ROW.items() if key != name}


@pytest.fixture(params=["records", "table"])
def read(request: pytest.FixtureRequest) -> Any:
    """Both readers, as functions of one path."""
    if request.param == "records":
        return lambda path: read_records(path, Label)
    return lambda path: read_table([path], Label)


BAD = {
    "wrong type": (ROW | {"item": 5}, "item"),
    "null": (ROW | {"annotator": None}, "annotator"),
    "wrong number": (ROW | {"seconds": "soon"}, "seconds"),
    "wrong time": (ROW | {"submitted_at": "2026-03-02"}, "submitted_at"),
    "id too long": (ROW | {"id": "x" * 201}, "id"),
    "missing field": (without("annotator"), "annotator"),
    "unknown field": (ROW | {"colour": "red"}, "colour"),
    "unknown for a missing one": (without("seconds") | {"secs": 4.5}, "secs"),
    "label outside the vocabulary": (ROW | {"value": "anti_stereotype"}, "value"),
}


@pytest.mark.parametrize(("row", "field"), BAD.values(), ids=BAD)
def test_a_bad_field_is_named_with_file_and_line(
    tmp_path: Path, read: Any, row: dict[str, Any], field: str
) -> None:
    path = jsonl(tmp_path / "labels.jsonl", [ROW, ROW | {"id": "label-2"}, row, ROW])
    fix = "see schemas/label.schema.json for the fields of a Label"
    fails(read, path, f" line 3, field '{field}': ", fix)


def test_a_number_in_quotation_marks_and_a_missing_field_with_a_default(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "labels.jsonl", [ROW, ROW | {"seconds": "4.5"}])
    fails(lambda path: read_table([path], Label), path, " line 2, field 'seconds': ")
    # It may be missing in both readers or in none.
    jsonl(path, [ROW, without("seconds")])
    messages = []
    for read in (lambda: read_records(path, Label), lambda: read_table([path], Label)):
        try:
            assert len(read()) == 2  # type: ignore[arg-type]
            messages.append("")
        except CurationError as error:
            messages.append(error.what)
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    "line",
    [b'{"id": "label-1", "item', b"", b"nothing", b"\xff\xfe", b"[]", b"5"],
    ids=["cut off", "blank", "word", "bytes", "list", "number"],
)
def test_a_line_that_is_no_record_is_named(tmp_path: Path, read: Any, line: bytes) -> None:
    fails(read, jsonl(tmp_path / "labels.jsonl", [ROW, line, ROW]), " line 2")


def test_two_records_on_a_line_and_one_over_two_lines(tmp_path: Path, read: Any) -> None:
    one = json.dumps(ROW).encode()
    fails(read, jsonl(tmp_path / "two.jsonl", [ROW, one + b"," + one]), " line 2")
    fails(read, jsonl(tmp_path / "half.jsonl", [ROW, *one.rsplit(b", ", 1)]), " line 2")


def test_a_line_beyond_the_first_chunks(
    tmp_path: Path, read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "CHUNK", 3)
    rows = [ROW | {"id": f"label-{n}"} for n in range(10)]
    path = jsonl(tmp_path / "labels.jsonl", rows)
    assert len(read(path)) == 10
    jsonl(path, [*rows[:7], ROW | {"value": "bad"}, *rows[8:]])
    fails(read, path, " line 8, field 'value'")


def test_a_file_that_is_not_there_and_a_folder(tmp_path: Path, read: Any) -> None:
    fails(read, tmp_path / "none.jsonl", ": no such file", "check the path")
    fails(read, tmp_path, ": is a folder, not a file")


names = st.sampled_from(["a", "b", "ç", "\u2028", 'x"y', "\\"])
rows = st.builds(
    lambda **fields: ROW | fields,
    id=st.text(st.characters(codec="utf-8"), min_size=1, max_size=9),
    item=names,
    annotator=names,
    value=st.sampled_from(VALUES),
    submitted_at=st.sampled_from([None, ROW["submitted_at"]]),
    seconds=st.one_of(st.none(), st.integers(0, 9), st.floats(0, 1e9)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(rows, max_size=7), max_size=3))
def test_a_table_is_what_plain_json_says(parts: list[list[dict[str, Any]]]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "CHUNK", 3)
        paths = [jsonl(Path(folder, f"{n}.jsonl"), part) for n, part in enumerate(parts)]
        table = read_table(paths, Label)
        plain = [json.loads(line) for p in paths for line in p.read_bytes().splitlines()]
        assert list(table.columns) == list(Label.model_fields)
        texts = table.astype(object)
        back = texts.where(texts.notna(), None).to_dict("records")
        assert back == [{name: row[name] for name in Label.model_fields} for row in plain]
        assert read_records(jsonl(Path(folder, "all.jsonl"), plain), Label) == [
            Label(**row) for row in plain
        ]


def test_a_table_of_nothing_has_its_columns(tmp_path: Path) -> None:
    for paths in ([], [jsonl(tmp_path / "empty.jsonl", [])]):
        table = read_table(paths, Label)
        assert (list(table.columns), len(table)) == (list(Label.model_fields), 0)


def test_truth_values_stay_truth_values(tmp_path: Path) -> None:
    row = {"cat_id": "c", "association_id": "a", "annotator": "p", "label": "related", "round": "r"}
    path = tmp_path / "a"

    def read(path: Path) -> Any:
        return read_table([path], Annotation)

    assert read(jsonl(path, [row | {"counted": True}]))["counted"].tolist() == [True]
    for value in ("yes", 1):
        fails(read, jsonl(path, [row | {"counted": value}]), " line 1, field 'counted'")


def test_a_pitfall_without_a_fix_is_refused(tmp_path: Path) -> None:
    hit = {"code": "typo", "severity": "note", "item": "c1", "association": "c1-1", "target": None}
    path = jsonl(tmp_path / "a", [hit | {"where": "item c1", "detail": "bakr", "how": "correct"}])
    fails(lambda path: read_records(path, Pitfall), path, " line 1")


# --- text and JSON ------------------------------------------------------------------------------


def test_text_comes_in_utf_8_and_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        path.write_bytes("naïve\n".encode(encoding))
        assert read_text(path) == "naïve\n"


def test_text_and_json_say_where_they_are_wrong(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\ntwo\nna\xefve\n")
    fails(read_text, path, " line 3: byte 0xef is not UTF-8")
    path.write_text('{"a": 1,\n "b": ?}\n')
    fails(read_json, path, " line 2 column 7: not JSON")
    path.write_text("[NaN, Infinity, 1]")  # Python's own numbers are read
    assert read_json(path)[1:] == [float("inf"), 1]


def test_every_cut_of_a_json_file_is_called_one(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    whole = '{"a": [1.5e3, true, null, "x\\u00e9\\n"],\n "b": {"c": -12, "d": []}}'
    for end in range(1, len(whole)):
        path.write_text(whole[:end])
        with pytest.raises(CurationError, match="the file ends in the middle") as caught:
            read_json(path)
        line = 1 + ("\n" in whole[:end])
        assert f"line {line} column " in caught.value.what, whole[:end]
        assert "cut off" in caught.value.fix


# --- writing ------------------------------------------------------------------------------------


def _die_writing(path: Path) -> None:
    with writing(path) as file:
        file.write(b"new")
        file.flush()
        raise ZeroDivisionError


def test_writing_brings_the_whole_file_or_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.txt"
    with writing(path) as file:
        file.write(b"old")
        assert not path.exists()
    assert path.read_bytes() == b"old"
    for place in (path, path.with_name("new.txt")):
        with pytest.raises(ZeroDivisionError):
            _die_writing(place)
    assert path.read_bytes() == b"old"
    assert [p.name for p in path.parent.iterdir()] == ["a.txt"]


@pytest.mark.parametrize(("make", "kind"), [(Path.mkdir, "a folder"), (os.mkfifo, "a pipe")])
def test_only_files_are_replaced(tmp_path: Path, make: Any, kind: str) -> None:
    place = tmp_path / "results.json"
    make(place)
    before = place.stat()
    with pytest.raises(CurationError, match=rf"results\.json: is .*{kind}"), writing(place):
        pass
    assert (place.stat().st_ino, place.stat().st_mode) == (before.st_ino, before.st_mode)
    assert list(tmp_path.iterdir()) == [place]


def test_a_private_file_is_never_readable_by_others(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with writing(tmp_path / "a", private=True):
            (hidden,) = tmp_path.iterdir()
            assert hidden.stat().st_mode & 0o777 == 0o600
        with writing(tmp_path / "b"):
            pass
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in "ab"]
    assert modes == [0o600, 0o666]


def test_a_file_is_on_the_disk_before_it_takes_its_place_and_its_name_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, replace = tmp_path / "a.txt", os.replace
    done: list[int | str] = []

    def put(source: Path, target: Path) -> None:
        assert source.read_bytes() == b"whole"
        done.append("replaced")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", lambda handle: done.append(os.fstat(handle).st_ino))
    monkeypatch.setattr(os, "replace", put)
    with writing(path) as file:
        file.write(b"whole")
    assert done == [path.stat().st_ino, "replaced", tmp_path.stat().st_ino]


def test_a_digest_is_sha256_and_none_where_nothing_is(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    # The well-known digest of «abc» (FIPS 180-2).
    assert digest(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest(tmp_path / "none") is None


def test_a_record_is_one_line_and_reads_back(tmp_path: Path) -> None:
    label = Label(**(ROW | {"annotator": "a\nb\u2028"}))
    line = dump_line(label)
    assert line.count(b"\n") == 1
    (tmp_path / "a").write_bytes(line)
    assert read_records(tmp_path / "a", Label) == [label]
