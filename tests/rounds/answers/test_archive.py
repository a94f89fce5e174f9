"""The archive is append-only, and known answers are not added twice."""

import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from curation.records import Event
from curation.rounds.answers.archive import Delivery, Sent, deliver, erase, read, segments
from support.expected import fails

A, B, C = ({"item_id": "i", "label": name} for name in "abc")


def kept(raw: Path) -> list[tuple[int, dict[str, str]]]:
    """Place and payload of each answer."""
    return [(event.position, event.payload) for _, event in read(raw)]


def segment_of(raw: Path, *payloads: dict[str, str]) -> Path:
    segment = deliver(raw, "answers", payloads).segment
    assert segment is not None
    return segment


def test_a_second_delivery_adds_nothing_and_writes_nothing(tmp_path: Path) -> None:
    first = deliver(tmp_path, "answers", [A, B])
    assert first[:2] == (2, 0)
    before = [path.stat().st_mtime_ns for path in segments(tmp_path)]
    assert deliver(tmp_path, "answers", [A, B]) == Delivery(0, 2, None)
    assert [path.stat().st_mtime_ns for path in segments(tmp_path)] == before


def test_only_what_is_new_is_added_and_positions_go_on(tmp_path: Path) -> None:
    deliver(tmp_path, "answers", [A, B])
    assert deliver(tmp_path, "answers", [A, C, B])[:2] == (1, 2)
    assert kept(tmp_path) == [(0, A), (1, B), (2, C)]
    assert len(segments(tmp_path)) == 2


def test_twice_in_one_delivery_is_two_answers(tmp_path: Path) -> None:
    assert deliver(tmp_path, "answers", [A, A])[:2] == (2, 0)
    assert deliver(tmp_path, "answers", [A, A, A])[:2] == (1, 2)
    assert kept(tmp_path) == [(0, A), (1, A), (2, A)]
    assert len({event.id for _, event in read(tmp_path)}) == 3


def test_the_order_of_a_payloads_fields_does_not_make_it_new(tmp_path: Path) -> None:
    deliver(tmp_path, "answers", [A])
    assert deliver(tmp_path, "answers", [dict(reversed(A.items()))])[:2] == (0, 1)


def test_the_same_payload_of_another_source_is_another_answer(tmp_path: Path) -> None:
    deliver(tmp_path, "answers", [A])
    assert deliver(tmp_path, "stereoset", [A]).added == 1


def test_places_name_segment_and_line(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, A, B)
    assert [where for where, _ in read(tmp_path)] == [f"{segment.name} line {n}" for n in (1, 2)]
    assert Event(**json.loads(segment.read_text().splitlines()[1])).payload == B


def test_an_answer_that_is_no_json_leaves_nothing_behind(tmp_path: Path) -> None:
    with fails("cannot be kept as JSON"):
        deliver(tmp_path, "answers", [A, {"text": "\ud800"}])
    assert list(tmp_path.iterdir()) == []


def test_an_altered_segment_is_noticed(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, A, B)
    segment.write_bytes(segment.read_bytes()[:-20])
    with fails(f"{segment.name} line 2: not a JSON record"):
        deliver(tmp_path, "answers", [C])


# --- erasure ------------------------------------------------------------------------------------


def of_a(sent: Sent) -> bool:
    return bool(sent.payload["label"] == "a")


def test_erased_answers_become_tombstones_in_their_place(tmp_path: Path) -> None:
    deliver(tmp_path, "answers", [A, B])
    deliver(tmp_path, "answers", [C])
    before = list(read(tmp_path))
    names = segments(tmp_path)
    untouched = names[1].stat().st_mtime_ns
    assert erase(tmp_path, of_a) == 1
    after = list(read(tmp_path))
    places = [[(where, e.id, e.position) for where, e in events] for events in (before, after)]
    assert places[0] == places[1]
    wanted = [("erased", {}), ("answers", B), ("answers", C)]
    assert [(e.source, e.payload) for _, e in after] == wanted
    assert segments(tmp_path) == names
    assert names[1].stat().st_mtime_ns == untouched
    assert b'"a"' not in b"".join(path.read_bytes() for path in names)
    assert erase(tmp_path, of_a) == 0


def test_what_is_erased_stays_known_and_does_not_come_back(tmp_path: Path) -> None:
    deliver(tmp_path, "answers", [A, B])
    erase(tmp_path, of_a)
    assert deliver(tmp_path, "answers", [A, B]) == Delivery(0, 2, None)


def test_an_erased_persons_new_answers_arrive_as_tombstones(tmp_path: Path) -> None:
    first = deliver(tmp_path, "answers", [A, B], gone=of_a)
    assert (first.added, first.erased) == (2, 1)
    assert [(e.source, e.payload) for _, e in read(tmp_path)] == [("erased", {}), ("answers", B)]
    assert deliver(tmp_path, "answers", [A, B], gone=of_a).added == 0


def test_a_killed_erasure_leaves_every_segment_whole(tmp_path: Path) -> None:
    deliver(tmp_path, "answers", [A])
    deliver(tmp_path, "answers", [A, A])
    dies = Mock(side_effect=[True, KeyboardInterrupt])
    with pytest.raises(KeyboardInterrupt):
        erase(tmp_path, dies)
    assert [e.source for _, e in read(tmp_path)] == ["erased", "answers"]
    assert erase(tmp_path, of_a) == 1
    assert {e.source for _, e in read(tmp_path)} == {"erased"}


# --- a large archive ----------------------------------------------------------------------------


def test_a_segment_in_another_form_is_known_all_the_same(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, A, B)
    lines = [json.loads(line) for line in segment.read_text().splitlines()]
    # As somebody's editor may save it: spaces between, fields in another order.
    segment.write_text("".join(json.dumps(dict(reversed(x.items()))) + "\n" for x in lines))
    assert deliver(tmp_path, "answers", [A, C, B])[:2] == (1, 2)
    assert kept(tmp_path) == [(0, A), (1, B), (2, C)]


def test_a_field_that_is_wrong_is_named(tmp_path: Path) -> None:
    segment = segment_of(tmp_path, A, B)
    segment.write_bytes(segment.read_bytes().replace(b'"position":1', b'"position":-1'))
    with fails(f"{segment.name} line 2, field 'position'"):
        list(read(tmp_path))
