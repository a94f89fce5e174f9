"""Checks the annotations: they refer to what is there, and gold labels follow from them."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import eq

from curation.records import VALUES
from curation.release.check.findings import Finding, finding, named
from curation.release.check.folder import Release, Table
from curation.release.layout import ANNOTATIONS
from curation.text.rules import FULL

_TRUE = frozenset({"true", "1", "yes", "none"})  # none: there is no such column


def findings(release: Release) -> Iterator[Finding]:
    """What is wrong with the labels of a release."""
    if release.annotations is not None:
        yield from _annotations(release)
    elif release.ours:
        yield finding("part_missing", ANNOTATIONS, "is not there")
    if not release.ours:
        yield from _outvoted(release)


def _annotations(release: Release) -> Iterator[Finding]:
    gold = {option.id: (cat.id, option.gold) for cat in release.main for option in cat.options}
    unknown, foreign = [], []
    counted: dict[str, list[tuple[str, str]]] = defaultdict(list)
    known: dict[tuple[str, str], tuple[str, str]] = {}  # one pair in memory for equal ones
    table = release.annotations or Table()
    names = ("association_id", "label", "cat_id", "annotator", "counted")
    columns = (map(str, table.column(name)) for name in names)
    for number, (option, label, cat, annotator, is_counted) in enumerate(
        zip(*columns, strict=True), 1
    ):
        if gold.get(option, ("", ""))[0] != cat:
            unknown.append(f"row {number}: {cat} {option}")
        elif label not in VALUES:
            foreign.append(f"row {number}: {label!r}")
        if is_counted.lower() in _TRUE:
            pair = annotator, label
            counted[option].append(known.setdefault(pair, pair))
    if unknown:
        yield finding("annotation_unknown", ANNOTATIONS, f"{len(unknown)}: {named(unknown)}")
    if foreign:
        yield finding("annotation_unknown", ANNOTATIONS, f"not a label: {named(foreign)}")
    if release.forms.get("StereoSet") and release.ours:
        differ = [
            option.id
            for cat in release.forms["StereoSet"]
            for option in cat.options
            if sorted(option.labels) != sorted(counted.get(option.id, ()))
        ]
        if differ:
            where = f"{ANNOTATIONS} and the StereoSet files"
            yield finding("labels_differ", where, f"{len(differ)} associations: {named(differ)}")
    yield from _decided(release, counted)
    yield from _parquet(release)


def _parquet(release: Release) -> Iterator[Finding]:
    """The Parquet table of annotations has the rows of the CSV."""
    table, again = release.annotations, release.repeated
    if table is None or again is None or not table.rows:
        return
    if table.rows == again.rows and all(
        column == again.column(name)
        or all(map(eq, map(_cell, column), map(_cell, again.column(name))))
        for name, column in table.columns.items()
    ):
        return
    ours, theirs = (
        Counter(zip(*(map(_cell, each.column(name)) for name in table.columns), strict=True))
        for each in (table, again)
    )
    if unlike := (ours - theirs) + (theirs - ours):
        detail = f"{unlike.total()} rows differ: {named([' '.join(row) for row in unlike])}"
        yield finding("forms_differ", f"{ANNOTATIONS} and annotations/", detail)


def _cell(value: object) -> str:
    return "" if value is None else str(value)


def _decided(
    release: Release, counted: Mapping[str, Sequence[tuple[str, str]]]
) -> Iterator[Finding]:
    """A gold label needs as many votes as release.json says."""
    facts = release.facts
    if facts is None or not isinstance(facts.decisions.get("needed"), int):
        return
    # The writer's intent may count as a label, and is not published.
    complete = not facts.decisions.get("count_writer")
    needed = facts.decisions["needed"] - (not complete)
    without, wrong, tiers = 0, [], []
    for cat in release.main:
        if cat.hidden:
            continue
        own = [Counter(label for _, label in counted.get(o.id, ())) for o in cat.options]
        if not any(own):
            without += 1
            continue
        wrong += [
            f"{option.id} ({counts[option.gold]} of {counts.total()} votes)"
            for option, counts in zip(cat.options, own, strict=True)
            if counts[option.gold] < needed
        ]
        lowest = min(counts[option.gold] for option, counts in zip(cat.options, own, strict=True))
        full = all(counts.total() == FULL for counts in own)
        if "tier" in cat.fields and complete and cat.tier != (lowest if full else None):
            tiers.append(f"{cat.id} has {cat.tier}")
    if tiers:
        detail = f"tiers that are not the smallest number of votes: {named(tiers)}"
        yield finding("gold_undecided", ANNOTATIONS, detail)
    if wrong:
        detail = f"{len(wrong)} with fewer than {needed} votes: {named(wrong)}"
        yield finding("gold_undecided", ANNOTATIONS, detail)
    if without > facts.without_votes:
        detail = f"{without} CATs have no votes; release.json says {facts.without_votes}"
        yield finding("gold_undecided", ANNOTATIONS, detail)


def _outvoted(release: Release) -> Iterator[Finding]:
    """Another's release does not say how labels were decided, so only majorities are compared."""
    outvoted, of = [], 0
    for cat in release.main:
        for option in cat.options:
            counts = Counter(label for _, label in option.labels)
            of += bool(counts)
            if counts and max(counts.values()) > counts[option.gold]:
                outvoted.append(option.id or cat.id)
    if outvoted:
        detail = f"{len(outvoted)} of {of} associations: {named(outvoted)}"
        yield finding("gold_outvoted", "the labels", detail)
