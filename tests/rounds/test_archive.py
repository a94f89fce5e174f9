"""The archive: append-only, and what is known is not added twice."""

import json
from pathlib import Path

import pytest

from curation.files import CurationError
from curation.records import Event
from curation.rounds.archive import Delivery, deliver, read, segments

A, B, C = ({"item_id": "i", "label": name} for name in "abc")


def payloads(raw: Path) -> list[dict[str, str]]:
    return [event.payload for _, event in read(raw)]


def test_a_second_delivery_adds_nothing_and_writes_nothing(tmp_path: Path) -> None:
    first = deliver(tmp_path, "answers", [A, B])
    assert first[:2] == (2, 0)
    before = [path.stat().st_mtime_ns for path in segments(tmp_path)]
    assert deliver(tmp_path, "answers", [A, B]) == Delivery(0, 2, None)
    assert [path.stat().st_mtime_ns for path in segments(tmp_path)] == before


def test_only_what_is_new_is_added_and_positions_go_on(tmp_path: Path) -> None:
    deliver(tmp_path, "answers", [A, B])
    assert deliver(tmp_path, "answers", [A, C, B])[:2] == (1, 2)
    assert [(e.position, e.payload) for _, e in read(tmp_path)] == [(0, A), (1, B), (2, C)]
    assert len(segments(tmp_path)) == 2


def test_twice_in_one_delivery_is_two_answers(tmp_path: Path) -> None:
    assert deliver(tmp_path, "answers", [A, A])[:2] == (2, 0)
    assert deliver(tmp_path, "answers", [A, A, A])[:2] == (1, 2)
    assert payloads(tmp_path) == [A, A, A]
    assert len({event.id for _, event in read(tmp_path)}) == 3


def test_the_order_of_a_payloads_fields_does_not_make_it_new(tmp_path: Path) -> None:
    deliver(tmp_path, "answers", [A])
    assert deliver(tmp_path, "answers", [dict(reversed(A.items()))])[:2] == (0, 1)


def test_the_same_payload_of_another_source_is_another_answer(tmp_path: Path) -> None:
    deliver(tmp_path, "answers", [A])
    assert deliver(tmp_path, "stereoset", [A]).added == 1


def test_places_name_segment_and_line(tmp_path: Path) -> None:
    segment = deliver(tmp_path, "answers", [A, B]).segment
    assert segment is not None
    assert [where for where, _ in read(tmp_path)] == [f"{segment.name} line {n}" for n in (1, 2)]
    assert Event(**json.loads(segment.read_text().splitlines()[1])).payload == B


def test_an_answer_that_is_no_json_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(CurationError, match="cannot be kept as JSON"):
        deliver(tmp_path, "answers", [A, {"text": "\ud800"}])
    assert list(tmp_path.iterdir()) == []


def test_an_altered_segment_is_noticed(tmp_path: Path) -> None:
    segment = deliver(tmp_path, "answers", [A, B]).segment
    assert segment is not None
    segment.write_bytes(segment.read_bytes()[:-20])
    with pytest.raises(CurationError, match=f"{segment.name} line 2: not a JSON record"):
        deliver(tmp_path, "answers", [C])
