"""The index of a round on Label Studio says the same as its archive."""

import random
from pathlib import Path
from typing import Any

import pytest

from curation.rounds.answers import archive
from curation.rounds.answers.archive import deliver
from curation.rounds.platforms.label_studio.platform import Seen, keep_seen, note_seen, read_seen

Payload = dict[str, Any]
Place = tuple[Path, Path]


def at(minute: int) -> str:
    return f"2026-05-01T10:{minute:02d}:00.000000Z"


def answer(id: int, task: str = "t-1", minute: int = 0, person: str = "ann@x.invalid") -> Payload:
    return {"task": task, "person": person, "annotation": {"id": id, "updated_at": at(minute)}}


def gone(id: int, task: str = "t-1") -> Payload:
    return {"task": task, "deleted": id, "seen_at": "2026-05-02T10:00:00.000Z"}


def alive(found: Seen) -> dict[str, dict[int, str]]:
    """What is known, without tasks that have no annotations."""
    return {task: ids for task, ids in found.known.items() if ids}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return tmp_path / "raw", tmp_path / "pulled.json"


def pull(place: Place, payloads: list[Payload], since: str) -> None:
    """Deliver answers as a pull does."""
    before = read_seen(*place)
    deliver(place[0], "label_studio", payloads)
    for payload in payloads:
        note_seen(before.known, payload)
    keep_seen(*place, Seen(since, before.known))


def test_nothing_is_known_of_an_empty_archive(place: Place) -> None:
    assert read_seen(*place) == Seen(None, {})
    place[0].mkdir()
    assert read_seen(*place) == Seen(None, {})


def test_versions_and_deletions(place: Place) -> None:
    pull(place, [answer(1), answer(2), answer(3, "t-2")], "then")
    pull(place, [answer(1, minute=5), gone(2)], "later")
    found = read_seen(*place)
    assert found.since == "later"
    assert alive(found) == {"t-1": {1: at(5)}, "t-2": {3: at(0)}}


def test_an_answer_that_came_back_after_it_was_gone(place: Place) -> None:
    pull(place, [answer(1)], "a")
    pull(place, [gone(1)], "b")
    pull(place, [answer(1, minute=9)], "c")
    assert alive(read_seen(*place)) == {"t-1": {1: at(9)}}


@pytest.mark.parametrize("seed", range(20))
def test_a_lost_index_is_made_again_from_the_archive(place: Place, seed: int) -> None:
    draw = random.Random(seed)
    minute, lives = 0, dict[int, str]()
    for number in range(draw.randrange(1, 6)):
        batch: list[Payload] = []
        for _ in range(draw.randrange(0, 8)):
            id = draw.randrange(12)
            if id in lives and draw.random() < 0.4:
                batch.append(gone(id, lives.pop(id)))
            else:
                lives.setdefault(id, f"t-{id % 3}")
                minute += 1  # nothing comes twice with one time
                batch.append(answer(id, lives[id], minute))
        pull(place, batch, f"since-{number}")
    before = read_seen(*place)
    assert {id for ids in before.known.values() for id in ids} == set(lives)
    place[1].unlink()
    after = read_seen(*place)
    assert alive(after) == alive(before)
    assert after.since is None  # so all is fetched again, and nothing is missed


def test_a_pull_that_was_killed_before_the_index(place: Place) -> None:
    pull(place, [answer(1)], "first")
    deliver(place[0], "label_studio", [answer(2), gone(1)])
    found = read_seen(*place)
    assert found.since == "first"  # what came after is looked at again
    assert alive(found) == {"t-1": {2: at(0)}}


def test_an_index_of_another_archive_is_not_believed(place: Place) -> None:
    pull(place, [answer(1)], "first")
    pull(place, [answer(2)], "second")
    archive.segments(place[0])[-1].unlink()  # brought back from an older backup
    found = read_seen(*place)
    assert found.since is None
    assert set(found.known["t-1"]) == {1}


def test_what_was_erased_stays_known(place: Place) -> None:
    pull(place, [answer(1), answer(2, person="ben@x.invalid")], "first")
    archive.erase(place[0], lambda sent: sent.payload.get("person") == "ann@x.invalid")
    found = read_seen(*place)
    assert found.since == "first"
    assert set(found.known["t-1"]) == {1, 2}  # it is not fetched again
    assert b"ann@" not in place[1].read_bytes()
    place[1].unlink()
    # With the index lost it is fetched, and the tombstone keeps it out.
    assert set(alive(read_seen(*place))["t-1"]) == {2}
    again = deliver(place[0], "label_studio", [answer(1), answer(2, person="ben@x.invalid")])
    assert (again.added, again.known) == (0, 2)
    assert not any(b"ann@" in path.read_bytes() for path in archive.segments(place[0]))
