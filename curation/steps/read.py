"""Read a campaign: its files, and the tables and records in them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from curation.campaign.dataset import Dataset, shipped_file
from curation.campaign.datasets import PLANS, STANDING, not_in_copy
from curation.campaign.manifest import MANIFEST, SEGMENTS, is_inside
from curation.campaign.settings import Settings
from curation.campaign.step import splitters
from curation.campaign.store import Campaign
from curation.files import CurationError, read_json
from curation.records import VALUES, Item, Term
from curation.rounds import people
from curation.rounds.answers.archive import segments
from curation.text.rules import Votes

if TYPE_CHECKING:
    from curation.decisions.filter import Counted


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


def run_files(campaign: Campaign) -> list[Path]:
    """Every score run's description, scores, comparisons and refusals."""
    names = ("run.json", "scores.jsonl", "comparisons.jsonl", "rejected.jsonl")
    return [
        path for name in names for path in sorted(campaign.folder("scores").glob(f"*/*/{name}"))
    ]


SCORES: Dataset[tuple[Path, ...]] = Dataset(
    "score runs", run_files, lambda campaign: tuple(run_files(campaign))
)
"""The files of score runs that steps read."""


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


def terms_of(campaign: Campaign, items: Sequence[Item]) -> Mapping[str, Term]:
    """The campaign's terms by id; checks that the terms of these items are among them.

    Raises:
        CurationError: an item's term is missing: the settings no longer fit the raw answers.
    """
    terms = campaign.terms
    for item in items:
        if item.term not in terms:
            raise CurationError(
                f"item {item.id}: its term {item.term} is not in 1-terms/targets.jsonl",
                "put its domain back into campaign.toml, or work on the machine that has the raw "
                "answers",
            )
    return terms


def stopped_early(campaign: Campaign) -> set[str]:
    """The ids of items that got labels only until they were decided."""
    items = set()
    for plan in campaign[PLANS].values():
        if plan.labels == "needed":
            tasks = campaign.tasks[plan.name]
            items |= {task.item for task in tasks if task.item and not task.full}
    return items


def read_counted(
    campaign: Campaign,
    items: Sequence[Item],
    *,
    alone: bool = False,
    also: str = "",
    without: Sequence[str] = (),
) -> "Counted":
    """Which labels count, under the campaign's settings.

    Args:
        campaign: the campaign.
        items: its items.
        alone: these are only some of the campaign's items; leave out labels on others.
        also: a round whose labels count even if the settings do not name it.
        without: annotators whose labels do not count, so that later ones take their places.

    Returns:
        ``labels``, a table with one row for each label; and ``votes``, of shape (3 · items, 4):
        three rows per item in the order of ``items``, columns in the order of ``records.VALUES``.
    """
    from curation.decisions.filter import count

    settings = campaign.settings.decisions
    labels = campaign.labels
    if without:
        labels = labels[~labels["annotator"].isin(list(without))]
    if alone:
        labels = labels[labels["item"].isin([item.id for item in items])]
    return count(
        items,
        labels,
        of=settings.of,
        count_writer=settings.count_writer,
        count_repeats=settings.count_repeats,
        rounds=(*settings.rounds, also) if settings.rounds and also else settings.rounds,
    )


def votes(campaign: Campaign, items: Sequence[Item], *, also: str = "") -> "dict[str, list[Votes]]":
    """The counted votes of each item's three associations, by item.

    Args:
        campaign: the campaign.
        items: all its items.
        also: a round whose labels count even if the settings do not name it.
    """
    if not items:
        return {}
    counted = read_counted(campaign, items, also=also).votes.reshape(-1, 3, len(VALUES)).tolist()
    return {
        item.id: [(s, a, u, r) for s, a, u, r in three]
        for item, three in zip(items, counted, strict=True)
    }


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


META_TEXT = shipped_file("data", "words", "meta_text.csv")
PITFALL_TABLES = (
    shipped_file("data", "words", "pitfalls.csv"),
    shipped_file("data", "checks", "pitfalls.toml"),
)
RATES = shipped_file("data", "rates", "stereoset_dev.json")
PACKAGES = ("wordfreq", "simplemma", "lemminflect", "better-profanity", "Faker", "rapidfuzz")


def _own_words(campaign: Campaign) -> Path:
    return campaign.folder("measures") / "words.csv"


OWN_WORDS: Dataset[Path | None] = Dataset(
    "own words",
    lambda campaign: [_own_words(campaign)],
    lambda campaign: path if (path := _own_words(campaign)).exists() else None,
)
"""The file of a team's own word lists for pitfalls, if there is one."""


def word_packages(settings: Settings) -> tuple[str, ...]:
    """The packages that pitfalls in words depend on."""
    return (*PACKAGES, *splitters(settings.campaign.language))
