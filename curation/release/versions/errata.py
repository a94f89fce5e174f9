"""A difference between versions in numbers, and as errata: one line per change of a CAT."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import orjson

from curation.formats.markdown import inline
from curation.records import KINDS, Gold, Kind
from curation.release.contents import SPLITS, PublishedCat
from curation.release.facts import Changes
from curation.release.versions.diff import WHATS, Change, Difference, TermKey
from curation.text.wording import amount

_SAYS = {
    "added": "added",
    "removed": "removed",
    "changed": "changed texts or fields",
    "relabelled": "other gold labels",
    "moved": "moved between splits",
    "renumbered": "new ids",
}


class Count(NamedTuple):
    """How many CATs of a kind a split has in both versions, and how many differ.

    CATs are counted in their split and kind in the later version; removed ones in the earlier one.
    ``moved`` counts the CATs that moved into the split.
    """

    split: str
    kind: Kind
    before: int
    after: int
    added: int
    removed: int
    changed: int
    relabelled: int
    moved: int
    renumbered: int


def counts(difference: Difference) -> list[Count]:
    """The counts of each split and kind that either version has."""
    before, after = (
        Counter((cat.split, cat.kind) for cat in version.cats)
        + Counter(("test", cat.kind) for cat in version.sealed)
        for version in (difference.before, difference.after)
    )
    now: dict[str, PublishedCat] = {cat.id: cat for cat in difference.after.cats}
    now |= {cat.id: cat for cat in difference.removed}
    tallies = [
        Counter((now[id].split, now[id].kind) for id in difference.ids(what)) for what in WHATS
    ]
    return [
        Count(
            split, kind, before[split, kind], after[split, kind], *(t[split, kind] for t in tallies)
        )
        for split in SPLITS
        for kind in sorted(KINDS)
        if before[split, kind] or after[split, kind]
    ]


def fields_changed(difference: Difference) -> dict[str, int]:
    """The number of CATs in which each field changed, by the field's name."""
    pairs = {(change.id, change.field) for change in difference.changes if change.field}
    return dict(sorted(Counter(field for _, field in pairs if field).items()))


def domains(difference: Difference) -> tuple[list[str], list[str]]:
    """The domains of the earlier version only, and those of the later version only."""
    old, new = (
        {cat.domain for cat in version.cats} | {cat.domain for cat in version.sealed}
        for version in (difference.before, difference.after)
    )
    return sorted(old - new), sorted(new - old)


def facts(difference: Difference) -> Changes:
    """What a release says about the version before it."""
    number = {what: len(difference.ids(what)) for what in WHATS}
    changed = {change.field for change in difference.changes if change.what == "changed"}
    fields = fields_changed(difference)
    return Changes(
        previous=difference.before.name,
        terms_to_dev=term_names(difference.to_dev),
        terms_to_test=term_names(difference.to_test),
        hidden=difference.not_compared,
        sealed=difference.sealed,
        listed=len({change.id for change in difference.open_changes()}),
        fields={field: count for field, count in fields.items() if field in changed},
        **number,
    )


def term_names(terms: Iterable[TermKey]) -> tuple[str, ...]:
    """Terms as texts: each with its domain, because two domains may have the same text."""
    return tuple(f"{text} ({domain})" for domain, text in terms)


# --- files ----------------------------------------------------------------------------------------


def text(changes: Iterable[Change]) -> str:
    """The file ``errata.jsonl``: a JSON object per change, with the fields of ``Change``."""
    return b"".join(orjson.dumps(change._asdict()) + b"\n" for change in changes).decode()


def labels_after(
    before: Iterable[PublishedCat], changes: Iterable[Change]
) -> dict[str, dict[str, Gold]]:
    """The gold labels of the later version, from those of the earlier one and the errata.

    Args:
        before: the CATs of the earlier version.
        changes: all changes, as in ``Difference.changes``.

    Returns:
        Gold labels by id of the CAT and of the association, without CATs that were added.
    """
    labels = {c.id: {o.id: o.gold for o in c.options if o.gold is not None} for c in before}
    for change in changes:
        if change.what == "removed":
            labels.pop(change.id, None)
        elif change.what == "renumbered" and change.sentence is None:
            labels[change.id] = labels.pop(change.before)
        elif change.what == "renumbered" and change.before in labels[change.id]:
            labels[change.id][change.after] = labels[change.id].pop(change.before)
        elif change.what == "relabelled":
            labels[change.id][str(change.sentence)] = change.after
    return labels


def markdown(difference: Difference, changes: Sequence[Change]) -> str:
    """The errata for people: a section for each sort of change, and a line for each change.

    Args:
        difference: the difference, for its names.
        changes: the changes to list.
    """
    old, new = (inline(version.name) for version in (difference.before, difference.after))
    page = [f"# Errata: from {old} to {new}", ""]
    named = (
        ("moved from dev to test", difference.to_test),
        ("moved from test to dev", difference.to_dev),
    )
    for says, terms in named:
        if terms:
            page += [f"Terms {says}: {', '.join(map(inline, term_names(terms)))}.", ""]
    for was, now in difference.renamed:
        page += [f"- term {_shown(' / '.join(was))} is now {_shown(' / '.join(now))}"]
    page += [""] if difference.renamed else []
    if not changes:
        page += ["No CAT differs.", ""]
    for what in WHATS:
        group = [change for change in changes if change.what == what]
        if group:
            cats = amount(len({change.id for change in group}), "CAT")
            page += [f"## {cats}: {_SAYS[what]}", "", *map(_line, group), ""]
    return "\n".join(page)


def _line(change: Change) -> str:
    place = f"- {inline(change.id)}"
    if change.field is None:
        return place
    association = f", association {inline(change.sentence)}" if change.sentence else ""
    before, after = _shown(change.before), _shown(change.after)
    return f"{place}{association}: {change.field} was {before}, is {after}"


def _shown(value: object) -> str:
    return "missing" if value is None else f"«{inline(str(value))}»"
