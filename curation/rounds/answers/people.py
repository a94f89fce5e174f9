"""People: keyed pseudonyms, whose key stays outside the campaign, and who is excluded."""

import hmac
import os
import secrets
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path

from platformdirs import user_config_path

from curation.files import CurationError, beside, read_bytes
from curation.records import Person, Standing
from curation.text.rules import nfc
from curation.text.wording import amount

KEY_BYTES = 32
KEYS = "CURATION_KEYS"  # environment variable: the folder of the keys


def key_path(campaign_id: str) -> Path:
    """Path of a campaign's key, in ``$CURATION_KEYS`` or the user's configuration folder."""
    folder = os.environ.get(KEYS)
    home = Path(folder) if folder else user_config_path("curation") / "keys"
    return home / f"{campaign_id}.key"


def make_key(campaign_id: str) -> Path:
    """Make a campaign's key, which only its owner can read. An existing key stays."""
    path = key_path(campaign_id)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for left in path.parent.glob(f".{path.name}.*.tmp"):  # left by a killed command
        left.unlink(missing_ok=True)
    hidden = beside(path)
    try:
        with os.fdopen(os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(hidden, path)  # unlike a rename, never replaces a key
    finally:
        hidden.unlink(missing_ok=True)
    return path


def read_key(campaign_id: str) -> bytes:
    """A campaign's key.

    Raises:
        CurationError: it is not on this machine, other users can read it, or it is not complete.
    """
    path = key_path(campaign_id)
    if not path.exists():
        raise CurationError(
            f"{path}: the campaign's key is not here; without it people would get new pseudonyms",
            f"copy it from where the first answers were imported, or set {KEYS} to its folder",
        )
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise CurationError(f"{path}: others can read the key", f"chmod 600 {path}")
    key = read_bytes(path)
    if len(key) != KEY_BYTES:
        raise CurationError(
            f"{path}: the key has {amount(len(key), 'byte')}, not {KEY_BYTES}",
            "copy the whole key again",
        )
    return key


def pseudonyms(key: bytes) -> Callable[[str], str]:
    r"""The function that gives the pseudonym of a person's id on a platform: HMAC-SHA256, 64 bits.

    It also makes the ids of labels: a plain digest of an answer that names a person could be found
    out by trying.

    >>> name = pseudonyms(b"secret")
    >>> name("worker 1") == name(" worker 1 "), name("worker 1") == name("worker 2")
    (True, False)
    >>> name("Ann@example.org") == name("ann@example.org"), name("A1B") == name("a1b")
    (True, False)
    >>> name("Zo\u00eb") == name("Zoe\u0308")  # ë as one character and as two
    True
    """

    def pseudonym(person: str) -> str:
        name = nfc(person.strip())
        name = name.lower() if "@" in name else name  # e-mail addresses ignore case
        return "p-" + hmac.digest(key, name.encode(), "sha256").hex()[:16]

    return pseudonym


def sealed(key: bytes) -> Callable[..., str]:
    """The function that makes an opaque id from a prefix and parts; only the key can verify it.

    >>> seal = sealed(b"secret")
    >>> seal("t", "validation-1", "item-1") == seal("t", "validation-1", "item-2")
    False
    """

    def seal(prefix: str, *parts: str) -> str:
        content = "\x1f".join(("sealed", prefix, *parts)).encode()
        return f"{prefix}-" + hmac.digest(key, content, "sha256").hex()[:16]

    return seal


CODES = {"exclude": "excluded", "withdraw": "withdrawn", "erase": "withdrawn"}
"""By decision, the reason code with which a person's answers are refused."""


def out(decisions: Iterable[Standing]) -> dict[str, tuple[str, str]]:
    """By pseudonym of people whose answers do not count, the reason code and the reason given.

    People who withdrew stay out; later decisions do not change that.
    """
    people_out: dict[str, tuple[str, str]] = {}
    for decision in decisions:
        if people_out.get(decision.person, ("",))[0] == "withdrawn":
            continue
        if decision.action == "readmit":
            people_out.pop(decision.person, None)
        else:
            people_out[decision.person] = (CODES[decision.action], decision.reason)
    return people_out


def who_answered(met: Iterable[Person], out: Collection[str] = ()) -> set[str]:
    """The pseudonyms of the people who have answered: an answer of theirs counts.

    Consent alone does not count, nor what a survey tool writes below the heads of a table.

    Args:
        met: the lines of ``people.jsonl``.
        out: people who are out of the campaign: if they are named, any answer of theirs is enough.
    """
    return {each.id for each in met if each.answers > (0 if each.id in out else each.refused)}


def erased(decisions: Iterable[Standing]) -> frozenset[str]:
    """Pseudonyms of people whose answers must not even be kept in the archive."""
    return frozenset(d.person for d in decisions if d.action == "erase")
