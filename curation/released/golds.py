"""The private files with the hidden gold labels of versions."""

from pathlib import Path

import orjson
from pydantic import ValidationError

from curation.files import CurationError, read_bytes
from curation.released.commitments import HiddenGold, holds

_RESTORE = (
    "restore the file from a backup; without its gold labels and nonces this version cannot be "
    "revealed, and you have to publish a new one"
)


def read_golds(path: Path) -> list[HiddenGold]:
    """The lines of a gold file, each proved by its commitment.

    Raises:
        CurationError: a line is damaged, occurs twice, or does not match its commitment; the
            message names the line and the CAT.
    """
    golds: list[HiddenGold] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(read_bytes(path).splitlines(), 1):
        where = f"{path} line {number}"
        gold = _gold(where, line)
        for id in (gold.id, gold.original):
            if (first := seen.setdefault(id, number)) != number:
                why = f"the id {id} is already in line {first}"
                raise CurationError(f"{where} (CAT {gold.original}): {why}", _RESTORE)
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
        why = "gold labels, texts and nonce do not match the commitment: one of them was changed"
        raise CurationError(f"{where}{shown}: {why}", _RESTORE)
    return gold
