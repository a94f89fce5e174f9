"""Run a sentiment classifier on associations, and cache its results so that each text runs once."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from platformdirs import user_cache_path

from curation.files import CurationError, dump_json, open_plain, read_bytes
from curation.records import Cat
from curation.settings import MeasureSettings
from curation.steps.reporter import QUIET, Reporter
from curation.work.run_folder import append_lines

if TYPE_CHECKING:
    from curation.measures.sentiment import Feeling

CACHE = "CURATION_CACHE"  # environment variable: the folder of the cache
_AT_ONCE = 1000  # texts between two writes


def classify(
    cats: Sequence[Cat], settings: MeasureSettings, reporter: Reporter = QUIET
) -> "tuple[dict[str, Feeling], dict[str, Any]]":
    """The sentiment of each association by a classifier.

    Args:
        cats: the CATs.
        settings: the classifier (``sentiment``), its ``labels``, and the number of ``classes``.
        reporter: receives progress and notes.

    Returns:
        The sentiment by id of the association, with values from −1 to 1; and the fields that
        identify the classifier.

    Raises:
        CurationError: the classifier cannot be opened or run, it has no neutral class although
            three classes are needed, or an association has no sentence.
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
        raise CurationError(f"association «{blank}»: has no sentence", "leave out its CAT")
    path = _cache_file(model.about)
    known = read_cache(path)
    missing = {text for text in texts.values() if _key(text) not in known}
    queue = sorted(missing, key=lambda text: (len(text), text))  # so batches are always the same
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        open_plain(path, "ab").close()
    except OSError as error:
        raise CurationError(
            f"{path.parent}: {error.strerror}: the classifier's results cannot be stored there",
            f"set the environment variable {CACHE} to another folder",
        ) from None
    _end_half_line(path)
    with reporter.tracked("sentiment", len(queue)) as advance:
        for start in range(0, len(queue), _AT_ONCE):
            some = queue[start : start + _AT_ONCE]
            results = classifier.classify(model, some, tell=advance)
            known |= {_key(text): tuple(result) for text, result in zip(some, results, strict=True)}
            append_lines(path, [orjson.dumps([_key(t), *known[_key(t)]]) + b"\n" for t in some])
    for notice in model.notices:
        reporter.note(notice)
    feelings = {}
    for name, text in texts.items():
        shares = known[_key(text)]
        best = max(range(len(CLASSES)), key=shares.__getitem__)
        feelings[name] = Feeling(CLASSES[best], shares[2] - shares[0])
    return feelings, model.about


def _cache_file(about: dict[str, Any]) -> Path:
    """The file of cached results: one for each classifier."""
    folder = os.environ.get(CACHE)
    home = Path(folder) if folder else user_cache_path("curation")
    return home / "sentiment" / f"{hashlib.sha256(dump_json(about)).hexdigest()[:32]}.jsonl"


def _end_half_line(path: Path) -> None:
    """End the half line that a killed command left. It is not cut: the cache has no lock."""
    if read_bytes(path)[-1:] not in {b"", b"\n"}:
        append_lines(path, [b"\n"])


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def read_cache(path: Path) -> dict[str, tuple[float, ...]]:
    """Cached results; damaged lines are skipped, so that their texts are classified again."""
    results: dict[str, tuple[float, ...]] = {}
    for line in read_bytes(path).splitlines() if path.exists() else ():
        try:
            key, *shares = orjson.loads(line or b"[null]")
        except (ValueError, TypeError):
            continue
        if isinstance(key, str) and len(shares) == 3 and all(type(x) is float for x in shares):
            results[key] = tuple(shares)
    return results
