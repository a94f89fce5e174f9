"""The raw answers of a round: an append-only archive of segments that never change.

Each delivery becomes one segment file, written whole or not at all, so that a killed import
leaves nothing behind and the same file can be delivered again: what is known is not added twice.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from curation.files import CurationError, dump_line, read_records, writing
from curation.records import Event


class Delivery(NamedTuple):
    """What a delivery added to the archive."""

    added: int
    known: int
    segment: Path | None


def segments(raw: Path) -> list[Path]:
    """The segments of an archive, in order of arrival."""
    return sorted(raw.glob("*.jsonl"))


def deliver(
    raw: Path, source: Literal["stereoset", "answers"], payloads: Iterable[dict[str, Any]]
) -> Delivery:
    """Append answers, just as they came, to an archive.

    The same payload twice in one delivery is two answers; in two deliveries it is one.

    Args:
        raw: the archive's folder.
        source: what kind of payload it is.
        payloads: the answers in their file's order.

    Raises:
        CurationError: a payload cannot be kept as JSON.
    """
    known_ids: set[str] = set()
    position = 0
    for segment in segments(raw):
        events = read_records(segment, Event)
        known_ids.update(event.id for event in events)
        position += len(events)
    times: Counter[str] = Counter()
    fresh: list[bytes] = []
    known = 0
    whole = sha256()
    for payload in payloads:
        try:
            content = orjson.dumps([source, payload], option=orjson.OPT_SORT_KEYS)
        except orjson.JSONEncodeError as error:
            raise CurationError(f"an answer cannot be kept as JSON: {error}") from None
        key = sha256(content).hexdigest()
        times[key] += 1
        event_id = sha256(f"{key}/{times[key]}".encode()).hexdigest()[:32]
        if event_id in known_ids:
            known += 1
            continue
        event = Event(id=event_id, source=source, position=position, payload=payload)
        position += 1
        fresh.append(dump_line(event))
        whole.update(fresh[-1])
    if not fresh:
        return Delivery(0, known, None)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    raw.mkdir(parents=True, exist_ok=True)
    raw.chmod(0o700)  # people's ids are in it
    segment = raw / f"{stamp}-{whole.hexdigest()[:12]}.jsonl"
    with writing(segment) as file:
        file.writelines(fresh)
    return Delivery(len(fresh), known, segment)


def read(raw: Path) -> Iterator[tuple[str, Event]]:
    """All answers of an archive with their places, in order of arrival."""
    for segment in segments(raw):
        for line, event in enumerate(read_records(segment, Event), 1):
            yield f"{segment.name} line {line}", event
