"""The raw answers of a round: an append-only archive of segments.

Each delivery becomes one segment file, which is written completely or not at all. So a killed
import leaves nothing behind, and the same file can be delivered again: known answers are not added
twice. A segment only changes when a person has their answers erased. Each of these becomes a
tombstone, which keeps its id (so that the answer stays known) and its place, and nothing else.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import orjson

from curation.files import CurationError, open_input, printable, read_records, refuse_links, writing
from curation.formats.rows import as_json
from curation.records import Event, Source

STAMP = "%Y%m%dT%H%M%S%f"
"""How the name of a segment begins: the time of its delivery."""


IN_TASKS: tuple[Source, ...] = ("web", "forms", "label_studio")
"""The sources of answers to tasks, which show texts in random order."""


class Sent(msgspec.Struct, forbid_unknown_fields=True):
    """A ``records.Event``, with the same fields and checks, that is read many times as fast."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    source: Source
    position: Annotated[int, msgspec.Meta(ge=0)]
    payload: dict[str, Any]


class Delivery(NamedTuple):
    """What a delivery added to the archive.

    Attributes:
        added: answers that were added, tombstones included.
        known: answers that the archive had already.
        segment: the new segment; None if nothing was added.
        erased: how many of the added answers are only tombstones.
    """

    added: int
    known: int
    segment: Path | None
    erased: int = 0


def segments(raw: Path) -> list[Path]:
    """The segments of an archive, in order of arrival.

    Raises:
        CurationError: the name of one is not UTF-8.
    """
    paths = sorted(raw.glob("*.jsonl"))
    for path in paths:
        if path.name != printable(path.name):
            raise CurationError(f"{path}: the name of this file is not UTF-8", "rename it")
    return paths


@lru_cache(maxsize=10_000)
def delivered_at(segment: str) -> datetime | None:
    """When a segment was delivered, in UTC; None if its name does not say.

    >>> delivered_at("20260314T102205123456-0123456789ab.jsonl").isoformat()
    '2026-03-14T10:22:05.123456+00:00'
    """
    with suppress(ValueError):
        return datetime.strptime(segment.partition("-")[0], STAMP).replace(tzinfo=UTC)
    return None


def deliver(
    raw: Path,
    source: Source,
    payloads: Iterable[dict[str, Any]],
    *,
    gone: Callable[[Sent], bool] | None = None,
) -> Delivery:
    """Append answers to an archive, exactly as they came.

    The same payload twice in one delivery is two answers; in two deliveries it is one.

    Args:
        raw: the archive's folder.
        source: the kind of payload.
        payloads: the answers, in the order of their file.
        gone: tells whether an answer is from somebody who had everything erased; such an answer is
            kept as a tombstone.

    Raises:
        CurationError: a payload cannot be kept as JSON, or the archive's folder is a link.
    """
    refuse_links(raw, below=raw.parents[1])
    known_ids, position = _known(raw)
    times: Counter[str] = Counter()
    fresh: list[bytes] = []
    known = erased = 0
    whole = sha256()
    for number, payload in enumerate(payloads, 1):
        content = as_json([source, payload], f"answer {number} of this delivery")
        key = sha256(content).hexdigest()
        times[key] += 1
        event_id = sha256(f"{key}/{times[key]}".encode()).hexdigest()[:32]
        if event_id in known_ids:
            known += 1
            continue
        sent = Sent(id=event_id, source=source, position=position, payload=payload)
        if gone is not None and gone(sent):
            sent, erased = _tombstone(sent), erased + 1
        position += 1
        fresh.append(_line(sent))
        whole.update(fresh[-1])
    if not fresh:
        return Delivery(0, known, None)
    stamp = datetime.now(UTC).strftime(STAMP)
    raw.mkdir(parents=True, exist_ok=True)
    raw.chmod(0o700)  # people's ids are in it
    segment = raw / f"{stamp}-{whole.hexdigest()[:12]}.jsonl"
    with writing(segment, private=True) as file:
        file.writelines(fresh)
    return Delivery(len(fresh), known, segment, erased)


def read(raw: Path) -> Iterator[tuple[str, Sent]]:
    """All answers of an archive with their places, in order of arrival.

    Raises:
        CurationError: a line is not an answer; the error names file, line and field.
    """
    for segment in segments(raw):
        name = segment.name
        for number, (_, sent) in enumerate(_lines(segment), 1):
            yield f"{name} line {number}", sent


def erase(
    raw: Path,
    gone: Callable[[Sent], bool],
    *,
    blank: Callable[[Sent], dict[str, Any] | None] = lambda sent: None,
) -> int:
    """Replace answers by tombstones; segments keep their names.

    A segment is rewritten completely or not at all, so that a killed erasure can be repeated.

    Args:
        raw: the archive's folder.
        gone: whether an answer must be erased; not called for erased answers.
        blank: gives the payload of another person's answer without the erased words that it
            quotes; None if it quotes none.

    Returns:
        How many answers became tombstones.
    """
    refuse_links(raw, below=raw.parents[1])
    count = 0
    for segment in segments(raw):
        hit, changed = 0, False
        lines: list[bytes] = []
        for line, sent in _lines(segment):
            if sent.source != "erased" and gone(sent):
                hit += 1
                lines.append(_line(_tombstone(sent)))
            elif (payload := blank(sent)) is not None:
                changed = True
                lines.append(_line(msgspec.structs.replace(sent, payload=payload)))
            else:
                lines.append(line)
        if hit or changed:
            with writing(segment, private=True) as file:
                file.writelines(lines)
        count += hit
    return count


def _tombstone(sent: Sent) -> Sent:
    return Sent(id=sent.id, source="erased", position=sent.position, payload={})


def _line(sent: Sent) -> bytes:
    """An answer as a line. Its id comes first, because ``_known`` looks for it there."""
    return orjson.dumps(msgspec.structs.asdict(sent)) + b"\n"


def _lines(segment: Path) -> Iterator[tuple[bytes, Sent]]:
    decode = msgspec.json.Decoder(Sent).decode
    with open_input(segment) as file:
        for number, line in enumerate(file):
            try:
                sent = decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                event = read_records(segment, Event)[number]  # raises an error that names the place
                sent = Sent(event.id, event.source, event.position, event.payload)
            yield line, sent


HEAD, TAIL = b'{"id":"', b'","source":"'
ID = slice(len(HEAD), len(HEAD) + 32)
REST = slice(ID.stop, ID.stop + len(TAIL))


def _known(raw: Path) -> tuple[set[str], int]:
    """The ids of an archive, read from the beginnings of its lines, and how many lines it has."""
    known: set[str] = set()
    count = 0
    for segment in segments(raw):
        ids: list[str] = []
        with open_input(segment) as file:
            for line in file:
                if line[: ID.start] != HEAD or line[REST] != TAIL or line[-2:] != b"}\n":
                    ids = [event.id for event in read_records(segment, Event)]
                    break
                ids.append(line[ID].decode("latin-1"))
        known.update(ids)
        count += len(ids)
    return known, count
