"""What an archived answer says, whatever its source: a reader for each."""

from collections.abc import Iterator

from curation.records import Event
from curation.rounds import published, rows
from curation.rounds.said import Refused, Said, UnusableError

READERS = {"stereoset": published.read, "answers": rows.read}


def interpret(event: Event, *, round: str, where: str) -> Iterator[Said]:
    """What one archived answer says.

    Args:
        event: the answer.
        round: the round it came in.
        where: its place in the archive, for rejections.
    """
    record = event.payload["item"] if event.source == "stereoset" else event.payload
    try:
        yield from READERS[event.source](event, round=round, where=where)
    except UnusableError as problem:
        yield Refused(where, record, problem.code, problem.detail, event.source)


def named(event: Event) -> tuple[str, str] | None:
    """The domain and the target that an answer names, where it names both."""
    if event.source == "stereoset":
        domain, target = (event.payload["item"].get(key) for key in ("bias_type", "target"))
    else:
        row = rows.understood(event.payload)
        domain, target = row.get("domain"), row.get("target")
    if not isinstance(domain, str) or not isinstance(target, str):
        return None
    domain, target = domain.strip(), " ".join(target.split())
    return (domain, target) if domain and target else None
