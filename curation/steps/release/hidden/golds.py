"""The private gold files of releases with hidden gold labels, ``7-release/gold-VERSION.jsonl``."""

from collections.abc import Iterator
from pathlib import Path

import orjson
from pydantic import ValidationError

from curation.campaign import Campaign
from curation.files import CurationError, read_bytes
from curation.release.hidden.commitments import HiddenGold, holds
from curation.steps.release.versions import REVEALED

_RESTORE = (
    "restore the file from a backup; without its gold labels and nonces this version cannot be "
    "revealed, and you have to publish a new one"
)


def gold_file(campaign: Campaign, version: str) -> Path:
    """The private file with the hidden gold labels of a version."""
    return campaign.releases / f"gold-{version}.jsonl"


def hidden_versions(campaign: Campaign) -> Iterator[tuple[str, Path]]:
    """The versions that have a gold file, with the file."""
    for path in sorted(campaign.releases.glob("gold-*.jsonl")):
        yield path.stem.removeprefix("gold-"), path


def is_revealed(campaign: Campaign, version: str) -> bool:
    """Whether a version was revealed: its folder VERSION-revealed is there."""
    return (campaign.releases / f"{version}{REVEALED}").is_dir()


def read_golds(path: Path) -> list[HiddenGold]:
    """The lines of a gold file, each proved by its commitment.

    Raises:
        CurationError: a line is damaged, occurs twice, or does not match its commitment; the
            message names the line and the CAT.
    """
    golds: list[HiddenGold] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(read_bytes(path).splitlines(), 1):
        gold = _gold(f"{path} line {number}", line)
        for id in (gold.id, gold.original):
            if seen.setdefault(id, number) != number:
                raise CurationError(
                    f"{path} line {number} (CAT {gold.original}): the id {id} is already in line "
                    f"{seen[id]}",
                    _RESTORE,
                )
        golds.append(gold)
    if not golds:
        raise CurationError(f"{path}: is empty", _RESTORE)
    return golds


def _gold(where: str, line: bytes) -> HiddenGold:
    try:
        content = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise CurationError(f"{where}: not a JSON record; it may be cut off", _RESTORE) from None
    own = content.get("original") if isinstance(content, dict) else None
    shown = f" (CAT {str(own)[:80]})" if own else ""
    try:
        gold = HiddenGold.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise CurationError(f"{where}{shown}, field {field!r}: {first['msg']}", _RESTORE) from None
    if not holds(gold):
        raise CurationError(
            f"{where}{shown}: gold labels, texts and nonce do not match the commitment: one of "
            "them was changed",
            _RESTORE,
        )
    return gold
