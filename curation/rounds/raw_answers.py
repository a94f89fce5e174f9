"""The raw answers of all rounds: their files, and whether they are as they came; who is out."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from curation.campaign.dataset import Dataset
from curation.campaign.datasets import STANDING, not_in_copy
from curation.campaign.manifest import MANIFEST, SEGMENTS, is_inside
from curation.campaign.store import Campaign
from curation.files import CurationError, read_json
from curation.rounds import people
from curation.rounds.answers.archive import segments


def _round_files(campaign: Campaign, name: str) -> list[Path]:
    return [campaign.folder("rounds") / round / name for round in campaign.round_names()]


def raw_files(campaign: Campaign) -> list[Path]:
    """Every segment of every round's archive."""
    return [p for raw in _round_files(campaign, "raw") for p in segments(raw)]


RAW: Dataset[tuple[Path, ...]] = Dataset(
    "raw answers", raw_files, lambda campaign: tuple(raw_files(campaign))
)
"""The files of the raw answers of all rounds."""


def no_answers(campaign: Campaign) -> CurationError | None:
    """The error of steps that need answers, if the campaign has none, or this copy lacks some."""
    names = set(campaign.round_names())
    for labels in sorted(campaign.folder("rounds").glob("*/labels.jsonl")):
        if labels.parent.name not in names:
            return not_in_copy(labels.with_name("items.jsonl"))
    if names:
        return None
    return CurationError(
        f"{campaign.root.resolve()}: there are no answers yet; the terms are selected",
        "«curation import answers FILE» or «curation import stereoset FILE»",
    )


def raw_is_here(campaign: Campaign) -> bool:
    """Whether the raw answers are on this machine.

    Raises:
        CurationError: they are, but some of those that the items and labels were made from are
            missing or have changed.
    """
    known = campaign[KNOWN_SEGMENTS]
    if not raw_files(campaign):
        return False
    for name, sha in known.items():
        now = campaign.digest(campaign.root / name)
        if not now or sha not in ("", now):
            raise _not_as_they_came(campaign.root / name, "have changed" if now else "are missing")
    for round in campaign.round_names():
        folder = campaign.folder("rounds") / round
        results = (folder / "items.jsonl", folder / "labels.jsonl")
        if not segments(folder / "raw") and any(p.exists() and p.stat().st_size for p in results):
            raise _not_as_they_came(folder / "raw", "are missing")
    return True


def _not_as_they_came(path: Path, problem: str) -> CurationError:
    return CurationError(
        f"{path}: these raw answers {problem}",
        "put the file back from a backup, or ask the person who has it for a copy; nothing was "
        "changed here",
    )


def _read_segments(campaign: Campaign) -> Mapping[str, str]:
    """The raw answers that the items and labels were made from: each segment's path and sha256.

    The sha256 is "" while a segment is rewritten (``people.erase``).

    Raises:
        CurationError: neither the manifest nor ``segments.json`` can be read.
    """
    run = campaign.manifest(campaign.folder("rounds")).steps.get("answers")
    known = {n: sha for n, sha in run.inputs.items() if "/raw/" in n} if run else {}
    path = campaign.folder("rounds") / SEGMENTS
    try:
        kept = read_json(path) if path.exists() else {}
    except CurationError:
        kept = None
    if isinstance(kept, dict) and all(
        isinstance(sha, str) and "/raw/" in name and is_inside(name) for name, sha in kept.items()
    ):
        return MappingProxyType(known | kept)
    if run is None:  # otherwise the step answers writes the file again
        raise CurationError(
            f"{path}: is damaged, and it alone says which raw answers there were",
            "put the file back from a backup or from version control",
        )
    return MappingProxyType(known)


KNOWN_SEGMENTS: Dataset[Mapping[str, str]] = Dataset(
    "segments",
    lambda campaign: [campaign.folder("rounds") / name for name in (MANIFEST, SEGMENTS)],
    _read_segments,
)
"""The raw answers that the items and labels were made from: each segment's path and sha256."""


OUT: Dataset[Mapping[str, tuple[str, str]]] = Dataset(
    "people who are out",
    STANDING.files,
    lambda campaign: MappingProxyType(people.out(campaign.standing)),
    by_value=True,
)
"""By pseudonym of people whose answers do not count, the reason code and the reason."""
KEY = Dataset(
    "key",
    lambda campaign: [people.key_path(campaign.settings.campaign.id)],
    lambda campaign: people.read_key(campaign.settings.campaign.id),
    by_value=True,
)
"""The campaign's key, which makes pseudonyms; it is not in the campaign's folder."""
