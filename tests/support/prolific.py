"""Prolific, played: the documented API for submissions, with its errors and delays."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from curation.rounds.platforms.web import prolific
from curation.rounds.platforms.web.arrivals import Claim
from support.servers import RESET, SLOW, Fault, Server, running

TOKEN = "a-token-of-the-researcher"
STUDY = "5f" * 12
DOWN = Fault(503, "down for maintenance")
EXPIRED = Fault(401, json.dumps({"error": {"status": 401, "detail": "Invalid token."}}))
FORBIDDEN = Fault(403, json.dumps({"error": {"status": 403, "detail": "No permission."}}))
BUSY = Fault(429, json.dumps({"detail": "Request was throttled."}), {"Retry-After": "0.05"})
NO_JSON = Fault(200, "<html>")
NO_SUBMISSION = Fault(200, '{"id": "1", "status": null}')
DEEP_ID = f'{{"results": [{{"id": {"[" * 950}{"]" * 950}, "status": "ACTIVE"}}]}}'
TOO_DEEP = Fault(500, f'{{"error": {"[" * 950}{"]" * 950}}}')
FAULTS = {
    **{"down": DOWN, "expired": EXPIRED, "forbidden": FORBIDDEN, "busy": BUSY, "html": NO_JSON},
    **{"deep": Fault(200, "[" * 100_000), "deep id": Fault(200, DEEP_ID), "deep error": TOO_DEEP},
    **{"odd": NO_SUBMISSION, "slow": Fault(SLOW), "reset": Fault(RESET)},
}
APPROVABLE = ("AWAITING REVIEW", "TIMED-OUT", "APPROVED")


class Played(Server):
    """The API. ``faults`` are sent first, one for each request, and ``always`` to all if it is set.

    Attributes:
        said: what it says of submissions, by id; change it to play what happens at Prolific.
        asked: the paths of all requests.
        foreign: ids of submissions that the token may not see.
        approved: the ids that it was told to approve, in order.
    """

    def __init__(self) -> None:
        super().__init__(SimpleNamespace(pause=0.0))
        self.said: dict[str, dict[str, Any]] = {}
        self.always: Fault | None = None
        self.asked: list[str] = []
        self.approved: list[str] = []
        self.foreign: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> prolific.Prolific:
        """The API as our pages use it; it waits little."""
        made = prolific.Prolific(self.url, TOKEN, notice=lambda text: None)
        made._gate._waits = (0.01, 0.01)
        return made

    def reserve(self, n: int, status: str = "ACTIVE", study: str = STUDY) -> Claim:
        """The submission of a participant, by number, and what the address says of it."""
        claim = self.claim(n, study)
        self.said[claim.id] = {
            "id": claim.id, "participant": claim.participant, "study_id": study,
            "status": status, "started_at": "2026-03-01T10:00:00Z",
        }  # fmt: skip
        return claim

    def claim(self, n: int, study: str = STUDY) -> Claim:
        """What the address says with which a participant comes, by number."""
        return Claim(f"{0xC0FFEE + n:024x}", f"{0xABC000 + n:024x}", study)

    def becomes(self, status: str, *claims: Claim) -> None:
        """Change the status of submissions."""
        for claim in claims:
            self.said[claim.id]["status"] = status

    def respond(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Fault:
        self.asked.append(path)
        if fault := self.fault() or self.always:
            return fault
        if headers.get("authorization") != f"Token {TOKEN}":
            return EXPIRED
        place, query = urlsplit(path).path, parse_qs(urlsplit(path).query)
        parts = place.removeprefix("/api/v1/submissions/").strip("/").split("/")
        if method == "GET" and parts == [""]:
            return self._list(query)
        if parts[0] in self.foreign:
            return FORBIDDEN
        if not re.fullmatch(r"[0-9a-f]{24}", parts[0]):
            return Fault(400, json.dumps({"error": {"status": 400, "detail": "Not an id."}}))
        said = self.said.get(parts[0])
        if said is None:
            return Fault(404, json.dumps({"error": {"status": 404, "detail": "Not found."}}))
        if method == "POST" and parts[1:] == ["transition"]:
            if json.loads(raw) != {"action": "APPROVE"} or said["status"] not in APPROVABLE:
                return Fault(400, json.dumps({"error": {"detail": f"It is {said['status']}."}}))
            self.approved.append(parts[0])
            said["status"] = "APPROVED"
        return Fault(200, json.dumps(said))

    def _list(self, query: Mapping[str, list[str]]) -> Fault:
        """A page of a list, whose rows name the participant in another way."""
        size, page = int(query["page_size"][0]), int(query["page"][0])
        rows = [
            {"participant_id": row["participant"]}
            | {name: value for name, value in row.items() if name != "participant"}
            for row in self.said.values()
            if row["study_id"] == query["study"][0]
        ]
        return Fault(200, json.dumps({"results": rows[(page - 1) * size : page * size]}))


@contextmanager
def playing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    """The API, running, for all commands of a test, which have its token."""
    with running(Played()) as made:
        monkeypatch.setenv("PROLIFIC_URL", made.url)
        monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
        monkeypatch.setattr(prolific, "WAITS", (0.01,))
        yield made


def wait_for(condition: Any, seconds: float = 20.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def entry(token: str, claim: Claim) -> str:
    """The path with which somebody comes from Prolific."""
    query = f"PROLIFIC_PID={claim.participant}&STUDY_ID={claim.study}&SESSION_ID={claim.id}"
    return f"/join/{token}?{query}"
