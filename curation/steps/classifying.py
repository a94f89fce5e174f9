"""Run a sentiment classifier on associations, and keep its results so that it runs once a text."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from platformdirs import user_cache_path

from curation.files import CurationError, dump_json
from curation.records import Cat
from curation.settings import MeasureSettings
from curation.steps.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from curation.measures.sentiment import Feeling

CACHE = "CURATION_CACHE"  # environment variable: where results are kept
_AT_ONCE = 1000  # texts between two writes


def classify(
    cats: Sequence[Cat], settings: MeasureSettings, reporter: Reporter = QUIET
) -> "tuple[dict[str, Feeling], dict[str, Any]]":
    """The sentiment of each association by a classifier.

    Args:
        cats: the CATs.
        settings: the classifier (``sentiment``), what its outputs mean (``labels``), ``classes``.
        reporter: where progress and notes go.

    Returns:
        The sentiment by the association's id; and which classifier it was.

    Raises:
        CurationError: the classifier cannot be opened or run, or it has no neutral class and three
            classes are asked for.
    """
    from curation.measures.sentiment import CLASSES, Feeling

    try:
        from curation.models import classifier
    except ImportError as error:
        raise CurationError(
            f"{settings.sentiment}: models cannot be run: {error}",
            "pip install 'curation[models]'",
        ) from None
    model = classifier.load(settings.sentiment, labels=settings.labels or None)
    if settings.classes == 3 and "neutral" not in model.classes:
        raise CurationError(
            f"{settings.sentiment}: has no neutral class", "use two classes, or another model"
        )
    texts = {a.id: a.sentence for cat in cats for a in cat.associations}
    if blank := next((name for name, text in texts.items() if not text.strip()), None):
        raise CurationError(f"association «{blank}»: has no sentence", "leave its CAT out")
    path = _cache_file(model.about)
    known = _read(path)
    unknown = {text for text in texts.values() if _key(text) not in known}
    # Sorted, so that batches are the same every time.
    missing = sorted(unknown, key=lambda text: (len(text), text))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
    except OSError as error:
        raise CurationError(
            f"{path.parent}: {error.strerror}: the classifier's results cannot be kept there",
            f"name another folder in the environment variable {CACHE}",
        ) from None
    with reporter.tracked("sentiment", len(missing)) as advance, path.open("ab") as file:
        if file.tell():
            file.write(b"\n")  # a killed command may have left half a line
        for start in range(0, len(missing), _AT_ONCE):
            batch = missing[start : start + _AT_ONCE]
            classified = classifier.classify(model, batch, tell=advance)
            for text, shares in zip(batch, classified, strict=True):
                known[_key(text)] = tuple(shares)
                file.write(orjson.dumps([_key(text), *shares]) + b"\n")
            file.flush()
    for notice in model.notices:
        reporter.note(notice)
    feelings = {}
    for name, text in texts.items():
        negative, _, positive = parts = known[_key(text)]
        best = max(range(len(CLASSES)), key=parts.__getitem__)
        feelings[name] = Feeling(CLASSES[best], positive - negative)
    return feelings, model.about


def _cache_file(about: dict[str, Any]) -> Path:
    folder = os.environ.get(CACHE)
    home = Path(folder) if folder else user_cache_path("curation")
    return home / "sentiment" / f"{hashlib.sha256(dump_json(about)).hexdigest()[:32]}.jsonl"


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _read(path: Path) -> dict[str, tuple[float, ...]]:
    """Earlier results; a text whose line was cut off is classified again."""
    results: dict[str, tuple[float, ...]] = {}
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            key, *shares = orjson.loads(line or b"[null]")
        except (ValueError, TypeError):
            continue
        if len(shares) == 3:
            results[key] = tuple(shares)
    return results
