"""The API of Prolific, where people are recruited: what it says of submissions, and approvals.

People come with three parameters in the address, which are not signed: anybody can invent or copy
them. So they are a claim, and only the API knows whether it is true. Rejecting people and creating
studies are left to Prolific's own pages. ``prolific_token``, which only some workspaces have, is
not read.
"""

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from curation.files import CurationError
from curation.http import LOCAL, Failure, Gate, Server, gist, parsed_json, split_address
from curation.rounds.platforms.web.arrivals import Claim, Seen

URL, TOKEN = "PROLIFIC_URL", "PROLIFIC_TOKEN"
"""Environment variables: the address of the API, and the researcher's token."""
ADDRESS = "https://api.prolific.com"
SUBMISSION, PARTICIPANT, STUDY = "SESSION_ID", "PROLIFIC_PID", "STUDY_ID"
"""The parameters of an entry address."""
COMPLETE = "https://app.prolific.com/submissions/complete?cc="
"""Where people end their submission; a code follows."""
QUICK = 3.0  # seconds without an answer, when a person waits
SLOW = 30.0  # seconds without an answer, when only the owner waits
PAGE, MOST = 100, 500  # submissions of a page, pages
WAITS = (1.0, 4.0, 15.0)
_ID = re.compile(r"[0-9A-Za-z_-]{1,64}", re.ASCII)


def claim(query: Mapping[str, str]) -> Claim | None:
    """The claim in the query of an address; None if it has none of the parameters.

    Raises:
        ValueError: a parameter is missing, or is not an id.
    """
    if query.keys().isdisjoint((SUBMISSION, PARTICIPANT, STUDY)):
        return None
    made = Claim(
        id=query.get(SUBMISSION, ""),
        participant=query.get(PARTICIPANT, ""),
        study=query.get(STUDY, ""),
    )
    if not all(map(_ID.fullmatch, made)):
        raise ValueError("not the parameters of Prolific")
    return made


def from_environment(notice: Callable[[str], None] = lambda _: None) -> "Prolific | None":
    """The API, if a token is set.

    Raises:
        CurationError: the address is not one, or the token would go there unencrypted.
    """
    url, token = os.environ.get(URL) or ADDRESS, os.environ.get(TOKEN, "").strip()
    parts = split_address(url)
    if token and parts.scheme == "http" and parts.hostname not in LOCAL:
        raise CurationError(f"{URL}: your token would be sent unencrypted", "use https://…")
    return Prolific(url, token, notice=notice) if token else None


class Prolific:
    """The API. Methods may be called from several threads.

    They raise CurationError if it cannot be asked, and after ``stop``.
    """

    def __init__(self, url: str, token: str, *, notice: Callable[[str], None]) -> None:
        self._server = Server(
            url.rstrip("/"),
            timeout=SLOW,
            advice=f"correct {URL}, or unset it",
            resumes="people can go on meanwhile, and what they send is checked later",
            name="Prolific",
            threads=8,
        )
        self._server.authorize("Token", token)
        self._gate = Gate(WAITS, notice=notice)

    def stop(self) -> None:
        """End all waiting."""
        self._gate.stopped.set()

    def submission(self, id: str, *, quick: bool = False) -> Seen | None:
        """What the API says of a submission; None if it knows no such one.

        Args:
            id: the submission's id.
            quick: a person waits: ask once, and for a short time.
        """
        path = f"{id}/"
        found = self._send("GET", path, timeout=QUICK) if quick else self._ask("GET", path)
        if isinstance(found, Failure):
            raise CurationError(found.reason, found.fix)
        return _seen(found[0]) if found else None

    def listed(self, study: str) -> dict[str, Seen]:
        """All submissions of a study by id; empty if the API knows no such study."""
        seen: dict[str, Seen] = {}
        for page in range(1, MOST + 1):
            params = {"study": study, "page": page, "page_size": PAGE}
            found = self._ask("GET", "", params=params)
            rows = found[0].get("results") if found and isinstance(found[0], dict) else found
            if not isinstance(rows, list):
                raise _odd("a list of submissions")
            before = len(seen)
            seen |= {str(row["id"]): said for row in rows if (said := _seen(row, study))}
            if len(rows) < PAGE or len(seen) == before:
                break
        return seen

    def approve(self, id: str) -> str:
        """Approve a submission; returns the status that it has then. Twice is once.

        Raises:
            CurationError: also if Prolific does not approve it; the error has its reason.
        """
        found = self._ask("POST", f"{id}/transition/", json={"action": "APPROVE"})
        if not found:
            raise CurationError("Prolific knows no such submission", "check the study")
        return _seen(found[0]).status

    def _ask(self, method: str, path: str, **content: Any) -> list[Any]:
        """The JSON that comes back; empty for 404. It is sent again if that may help."""
        return self._gate.run(lambda: self._send(method, path, **content))

    def _send(self, method: str, path: str, **content: Any) -> list[Any] | Failure:
        reply = self._server.send(method, f"/api/v1/submissions/{path}", **content)
        if isinstance(reply, Failure):
            return reply
        if reply.status == 404 or (method == "GET" and path and reply.status in (400, 422)):
            return []  # the last two: what is asked for is not an id
        try:
            said = parsed_json(reply.content)
        except ValueError:
            said = None if reply.status == 200 else reply.text
        if reply.status == 200:
            return [said]
        fix = "check the study and the submission on Prolific"
        if reply.status in (401, 403):
            fix = f"set {TOKEN} to a token that is valid: Prolific, Settings, API tokens"
        return self._server.judged(reply, gist(said), fix)


def _odd(what: str) -> CurationError:
    return CurationError(f"Prolific: the answer is not {what}", f"check {URL}, and try again later")


def _seen(row: Any, study: str = "") -> Seen:
    """A submission as the API writes it: lists and single ones name the participant differently."""
    row = row if isinstance(row, dict) and row.get("id") else {}
    participant = row.get("participant_id") or row.get("participant") or ""
    study, parent = row.get("study_id") or study, row.get("parent_study_id") or ""
    seen = Seen(participant, study, row.get("status"), parent)
    if not seen.status or not all(isinstance(text, str) for text in seen):
        raise _odd("a submission")
    status = seen.status.upper().replace("_", " ").replace("TIMED OUT", "TIMED-OUT")
    return seen._replace(status=status[:40])
