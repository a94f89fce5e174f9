"""Run a sentiment classifier on associations, and keep its results so that it runs once a text."""

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from platformdirs import user_cache_path

from curation.cli import console
from curation.cli.measuring import Source
from curation.files import CurationError, dump_json

if TYPE_CHECKING:
    from curation.measures.sentiment import Feeling

CACHE = "CURATION_CACHE"  # environment variable: where results are kept
_AT_ONCE = 1000  # texts between two writes


def classified(source: Source) -> "tuple[dict[str, Feeling], dict[str, Any]]":
    """The sentiment of each association by a classifier, and which classifier it was.

    Raises:
        CurationError: it cannot be opened or run, or has no neutral class and three are wanted.
    """
    from curation.measures.sentiment import CLASSES, Feeling

    try:
        from curation.models import classifier
    except ImportError as error:
        raise CurationError(
            f"{source.knobs.sentiment}: models cannot be run: {error}",
            "pip install 'curation[models]'",
        ) from None
    knobs = source.knobs
    model = classifier.load(knobs.sentiment, labels=knobs.labels or None)
    if knobs.classes == 3 and "neutral" not in model.classes:
        raise CurationError(
            f"{knobs.sentiment}: has no neutral class", "take two classes, or another model"
        )
    texts = {a.id: a.sentence for cat in source.cats for a in cat.associations}
    if blank := next((name for name, text in texts.items() if not text.strip()), None):
        raise CurationError(f"association «{blank}»: has no sentence", "leave its CAT out")
    path = _place(model.about)
    known = _read(path)
    asked = {text for text in texts.values() if _key(text) not in known}
    missing = sorted(asked, key=lambda text: (len(text), text))  # batches are the same every time
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
    except OSError as error:
        raise CurationError(
            f"{path.parent}: {error.strerror}: the classifier's results cannot be kept there",
            f"name a folder in the environment variable {CACHE}",
        ) from None
    with console.tracked("sentiment", len(missing)) as advance, path.open("ab") as file:
        if file.tell():
            file.write(b"\n")  # a killed command may have left half a line
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            for text, found in zip(
                some, classifier.classify(model, some, tell=advance), strict=True
            ):
                known[_key(text)] = tuple(found)
                file.write(orjson.dumps([_key(text), *found]) + b"\n")
            file.flush()
    for notice in model.notices:
        console.note(notice)
    feelings = {}
    for name, text in texts.items():
        shares = known[_key(text)]
        best = max(range(len(CLASSES)), key=shares.__getitem__)
        feelings[name] = Feeling(CLASSES[best], shares[2] - shares[0])
    return feelings, model.about


def _place(about: dict[str, Any]) -> Path:
    folder = os.environ.get(CACHE)
    home = Path(folder) if folder else user_cache_path("curation")
    return home / "sentiment" / f"{hashlib.sha256(dump_json(about)).hexdigest()[:32]}.jsonl"


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _read(path: Path) -> dict[str, tuple[float, ...]]:
    """Earlier results; a text whose line was cut off is classified again."""
    found: dict[str, tuple[float, ...]] = {}
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            key, *shares = orjson.loads(line or b"[null]")
        except (ValueError, TypeError):
            continue
        if len(shares) == 3:
            found[key] = tuple(shares)
    return found
