"""The API of Prolific, where people are recruited: what it says of submissions, and approvals.

People come with three parameters in the address, which are not signed: anybody can invent or copy
them. So they are a claim, and only the API knows whether it is true. Rejecting people and creating
studies are left to Prolific's own pages. ``prolific_token``, which only some workspaces have, is
not read.
"""

import json
import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from curation.files import CurationError
from curation.http import Failure, Gate, Reply, Server, gist

URL, TOKEN = "PROLIFIC_URL", "PROLIFIC_TOKEN"
"""Environment variables: the address of the API, and the researcher's token."""
ADDRESS = "https://api.prolific.com"
NAMES = ("SESSION_ID", "PROLIFIC_PID", "STUDY_ID")
"""The parameters of an entry address, in the order of ``Claim``."""
PARAMETERS = "&".join(f"{name}={{{{%{name}%}}}}" for name in (*NAMES[1:], NAMES[0]))
"""The query that Prolific fills in: what it replaces is in {{% and %}}."""
COMPLETE = "https://app.prolific.com/submissions/complete?cc="
"""Where people end their submission; a code follows."""
GONE = ("RETURNED", "TIMED-OUT", "REJECTED")
"""The statuses of submissions that do not count. All others count, whichever came before."""
UNDER_WAY = ("", "RESERVED", "ACTIVE")
QUICK = 3.0  # seconds without an answer, when a person waits
REST = 30.0  # seconds in which nobody waits for an API that has just failed
SLOW = 30.0  # seconds without an answer, when only the owner waits
PAGE, MOST = 100, 500  # submissions of a page, pages
WAITS = (1.0, 4.0, 15.0)
_ID = re.compile(r"[0-9A-Za-z_-]{1,64}", re.ASCII)


class Claim(NamedTuple):
    """What the address says with which somebody comes: ids of submission, participant and study."""

    id: str
    participant: str
    study: str


class Seen(NamedTuple):
    """What the API says of a submission; ``parent`` is the study of which its study is a part."""

    participant: str
    study: str
    status: str
    parent: str = ""


def claim(query: Mapping[str, str]) -> Claim | None:
    """The claim in the query of an address; None if it has none of the parameters.

    Raises:
        ValueError: a parameter is missing, or is not an id.
    """
    if not any(name in query for name in NAMES):
        return None
    made = Claim(*(query.get(name, "") for name in NAMES))
    if not all(map(_ID.fullmatch, made)):
        raise ValueError("not the parameters of Prolific")
    return made


def standing(claim: Claim, seen: Seen | None, studies: Collection[str]) -> str:
    """What a claim is worth by what the API said last: ``checked``, ``returned`` or ``forged``.

    Args:
        claim: the claim.
        seen: what the API says; None if it knows no such submission.
        studies: the studies of the round; empty if they are not known.

    >>> mine = Claim("s1", "p1", "study")
    >>> standing(mine, Seen("p1", "study", "ACTIVE"), ["study"])
    'checked'
    >>> standing(mine, Seen("p1", "study", "TIMED-OUT"), [])
    'returned'
    >>> standing(mine, Seen("p2", "study", "ACTIVE"), []), standing(mine, None, [])
    ('forged', 'forged')
    """
    of = seen and {seen.study, seen.parent}
    if not seen or not of or seen.participant != claim.participant or claim.study not in of:
        return "forged"
    if studies and not of & set(studies):
        return "forged"
    return "returned" if seen.status in GONE else "checked"


def from_environment(notice: Callable[[str], None] = lambda _: None) -> "Prolific | None":
    """The API, if a token is set.

    Raises:
        CurationError: the address is not one.
    """
    token = os.environ.get(TOKEN, "").strip()
    return Prolific(os.environ.get(URL) or ADDRESS, token, notice=notice) if token else None


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
        self._rests = 0.0  # until then no person waits for it

    def stop(self) -> None:
        """End all waiting."""
        self._gate.stopped.set()

    def submission(self, id: str) -> Seen | None:
        """What the API says of a submission; None if it knows no such one."""
        found = self._ask("GET", f"{id}/")
        return None if found is None else _seen(found)

    def quick(self, id: str) -> Seen | None:
        """Like ``submission``, while a person waits: once, and not if it has just failed."""
        if time.monotonic() < self._rests:
            raise CurationError("Prolific has just failed", "ask again later")
        try:
            sent = self._send("GET", f"{id}/", timeout=QUICK)
            if isinstance(sent, Failure):
                raise CurationError(sent.reason, sent.fix)
            return None if sent is _MISSING else _seen(sent)
        except CurationError:
            self._rests = time.monotonic() + REST
            raise

    def listed(self, study: str) -> dict[str, Seen]:
        """All submissions of a study by id; empty if the API knows no such study."""
        seen: dict[str, Seen] = {}
        for page in range(1, MOST + 1):
            params = {"study": study, "page": page, "page_size": PAGE}
            found = self._ask("GET", params=params)
            rows = (found or {}).get("results") if isinstance(found or {}, dict) else None
            if found is not None and not isinstance(rows, list):
                raise _odd("a list of submissions")
            before = len(seen)
            for row in rows or ():
                said = _seen(row, study)
                seen[str(row.get("id", ""))] = said
            if len(rows or ()) < PAGE or len(seen) == before:
                break
        return seen

    def approve(self, id: str) -> str:
        """Approve a submission; returns the status that it has then. Twice is once.

        Raises:
            CurationError: also if Prolific does not approve it; the error has its reason.
        """
        found = self._ask("POST", f"{id}/transition/", json={"action": "APPROVE"})
        if found is None:
            raise CurationError("Prolific knows no such submission", "check the study")
        return _status(found)

    def _ask(self, method: str, path: str = "", **content: Any) -> Any:
        """The JSON that comes back; None for 404. It is sent again if that may help."""
        found = self._gate.run(lambda: self._send(method, path, **content))
        return None if found is _MISSING else found

    def _send(self, method: str, path: str, **content: Any) -> Any:
        reply = self._server.send(method, f"/api/v1/submissions/{path}", **content)
        if isinstance(reply, Failure):
            return reply
        if reply.status == 404:
            return _MISSING
        if reply.status in (200, 201, 202):
            try:
                return json.loads(reply.content)
            except ValueError:
                raise _odd("JSON") from None
        return self._server.judged(reply, _message(reply), _fix(reply))


_MISSING = object()


def _message(reply: Reply) -> str:
    try:
        return gist(json.loads(reply.content))
    except ValueError:
        return gist(reply.text)


def _fix(reply: Reply) -> str:
    if reply.status in (401, 403):
        return f"set {TOKEN} to a token that is valid: Prolific, Settings, API tokens"
    return "check the study and the submission on Prolific"


def _odd(what: str) -> CurationError:
    return CurationError(f"Prolific: the answer is not {what}", f"check {URL}, and try again later")


def _status(row: Any) -> str:
    status = row.get("status") if isinstance(row, dict) else None
    if not isinstance(status, str) or not status:
        raise _odd("a submission")
    return status.upper().replace("_", " ").replace("TIMED OUT", "TIMED-OUT")[:40]


def _seen(row: Any, study: str = "") -> Seen:
    """A submission as the API writes it: lists and single ones name the participant differently."""
    status = _status(row)
    participant = row.get("participant_id") or row.get("participant")
    study = row.get("study_id") or study
    parent = row.get("parent_study_id") or ""
    if not all(isinstance(text, str) for text in (participant, study, parent)):
        raise _odd("a submission")
    return Seen(participant, study, status, parent)
