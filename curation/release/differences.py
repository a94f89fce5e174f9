"""Two versions of a dataset compared: what differs, CAT by CAT, and how it is written."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import orjson

from curation.kinds import CAT_KINDS, Kind
from curation.released.columns import COMPARED
from curation.released.contents import (
    SPLITS,
    PublishedCat,
    PublishedOption,
    TermKey,
    Texts,
    Version,
)
from curation.released.facts import Changes
from curation.text.rules import same_text
from curation.text.wording import amount

What = Literal["added", "removed", "changed", "relabelled", "moved", "renumbered"]
WHATS: tuple[What, ...] = get_args(What)
GOLD = "gold_label"


class Change(NamedTuple):
    """One difference in one CAT.

    ``id`` is that of the CAT in the later version, or in the earlier one if the CAT was removed.
    ``sentence`` is the id of the association if the difference is in one. ``before`` and ``after``
    are the values of ``field``; both are None if the CAT was added or removed.
    """

    id: str
    what: What
    field: str | None = None
    sentence: str | None = None
    before: Any = None
    after: Any = None


class Pair(NamedTuple):
    """A CAT in both versions, and its associations side by side."""

    before: PublishedCat
    after: PublishedCat
    options: tuple[tuple[PublishedOption, PublishedOption], ...]

    @property
    def hidden(self) -> bool:
        """Whether gold labels of either side are hidden."""
        return not (self.before.labelled and self.after.labelled)


class Renamed(NamedTuple):
    """A term whose text or domain changed."""

    before: TermKey
    after: TermKey


@dataclass(frozen=True)
class Difference:
    """What differs between two versions.

    Attributes:
        before: the earlier version.
        after: the later version.
        pairs: the CATs of both, in the order of the later version.
        added: CATs of the later version only.
        removed: CATs of the earlier version only.
        changes: every difference, in the order of the later version; removed CATs come last.
        renamed: terms with a new text or domain.
        to_test: terms that were in dev only and are in test, as they are called now.
        to_dev: terms that were in test only and are in dev, as they are called now.
        seen: ids of CATs in test that were in dev, or whose texts were in dev only.
    """

    before: Version
    after: Version
    pairs: tuple[Pair, ...]
    added: tuple[PublishedCat, ...]
    removed: tuple[PublishedCat, ...]
    changes: tuple[Change, ...]
    renamed: tuple[Renamed, ...]
    to_test: tuple[TermKey, ...]
    to_dev: tuple[TermKey, ...]
    seen: tuple[str, ...]

    @property
    def sealed(self) -> bool:
        """Whether the test CATs of a version are sealed, so that test CATs are not compared."""
        return bool(self.before.sealed or self.after.sealed)

    @property
    def empty(self) -> bool:
        """Whether nothing differs."""
        return not (self.changes or self.renamed or self.to_test or self.to_dev)

    def ids(self, what: What) -> set[str]:
        """The ids of the CATs with this kind of difference."""
        return self._ids.get(what, set())

    @cached_property
    def _ids(self) -> dict[What, set[str]]:
        ids: dict[What, set[str]] = defaultdict(set)
        for change in self.changes:
            ids[change.what].add(change.id)
        return ids

    @property
    def not_compared(self) -> int:
        """How many CATs of both versions have hidden gold labels in one of them."""
        return sum(pair.hidden for pair in self.pairs)

    def open_changes(self) -> list[Change]:
        """The changes of CATs whose gold labels are hidden in neither version."""
        cats = [*self.added, *self.removed]
        hidden = {cat.id for cat in cats if not cat.labelled}
        hidden |= {pair.after.id for pair in self.pairs if pair.hidden}
        return [change for change in self.changes if change.id not in hidden]


def difference(before: Version, after: Version) -> Difference:
    """Compare two versions.

    Moves are compared only if both versions have splits, and ids only if both have ids. A field
    that one of them never has, such as the tier in files of other tools, is not compared.
    """
    if not (before.sealed or after.sealed):
        return _difference(before, after)
    open_ = (replace(v, cats=tuple(c for c in v.cats if c.split == "dev")) for v in (before, after))
    return replace(_difference(*open_), before=before, after=after)


def _difference(before: Version, after: Version) -> Difference:
    pairs, added, removed = _matched(before.cats, after.cats)
    by_after = {pair.after.id: pair for pair in pairs}
    has_splits = before.has_splits and after.has_splits
    optional = [
        name
        for name in ("target_original", "tier")
        if all(any(getattr(c, name) is not None for c in v.cats) for v in (before, after))
    ]
    fields = [name for name in COMPARED if name != "target_original" or name in optional]
    changes: list[Change] = []
    for cat in after.cats:
        if pair := by_after.get(cat.id):
            changes += _changes(pair, fields, has_tiers="tier" in optional, has_splits=has_splits)
        else:
            changes.append(Change(cat.id, "added"))
    changes += [Change(cat.id, "removed") for cat in removed]
    if not (before.has_ids and after.has_ids):
        changes = [change for change in changes if change.what != "renumbered"]
    renamed = _renamed(before, after, pairs)
    to_test, to_dev = _moved_terms(before, after, renamed) if has_splits else ((), ())
    return Difference(
        before=before,
        after=after,
        pairs=tuple(pairs),
        added=tuple(added),
        removed=tuple(removed),
        changes=tuple(changes),
        renamed=renamed,
        to_test=to_test,
        to_dev=to_dev,
        seen=_seen(before, after, pairs) if has_splits else (),
    )


# --- which CATs belong together -------------------------------------------------------------------


def _matched(
    before: Sequence[PublishedCat], after: Sequence[PublishedCat]
) -> tuple[list[Pair], list[PublishedCat], list[PublishedCat]]:
    """The pairs in the order of ``after``, and the CATs of either side without a partner."""
    by_id = {cat.id: cat for cat in before}
    shared = {cat.id for cat in after if cat.id in by_id}
    left = [cat for cat in before if cat.id not in shared]
    by_text: dict[Texts, list[PublishedCat]] = defaultdict(list)
    for cat in left if len(shared) < len(after) else ():
        by_text[cat.texts].append(cat)
    for same in by_text.values():
        same.reverse()  # so that pop gives the first
    pairs, added, used = [], [], set[str]()
    for cat in after:
        old = by_id.get(cat.id)
        if old is None and by_text and (candidates := by_text.get(cat.texts)):
            old = candidates.pop()
            used.add(old.id)
        if old is None:
            added.append(cat)
        else:
            pairs.append(Pair(old, cat, _side_by_side(old.options, cat.options)))
    return pairs, added, [cat for cat in left if cat.id not in used]


_KEYS: tuple[Callable[[PublishedOption], Any], ...] = (
    lambda option: option.id,
    lambda option: same_text(option.sentence),
    lambda option: option.gold,
    lambda option: None,
)


def _side_by_side(
    before: Sequence[PublishedOption], after: Sequence[PublishedOption]
) -> tuple[tuple[PublishedOption, PublishedOption], ...]:
    """The associations of a CAT: matched by id, then by text, by gold label, and by order."""
    if all(a.id == b.id for a, b in zip(before, after, strict=True)):
        return tuple(zip(before, after, strict=True))
    partner: dict[int, PublishedOption] = {}
    rest, free = list(before), list(range(len(after)))
    for key in _KEYS:
        for place in list(free):
            wanted = key(after[place])
            if old := next((option for option in rest if key(option) == wanted), None):
                partner[place] = old
                rest.remove(old)
                free.remove(place)
    return tuple((partner[place], option) for place, option in enumerate(after))


# --- what differs in a CAT ------------------------------------------------------------------------


def _changes(
    pair: Pair, fields: Iterable[str], *, has_tiers: bool, has_splits: bool
) -> Iterator[Change]:
    before, after, options = pair
    if before.id != after.id:
        yield Change(after.id, "renumbered", "id", None, before.id, after.id)
    for was, now in options:
        if was.id != now.id:
            yield Change(after.id, "renumbered", "id", now.id, was.id, now.id)
    for name in fields:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            yield Change(after.id, "changed", name, None, old, new)
    for was, now in options:
        if was.sentence != now.sentence:
            yield Change(after.id, "changed", "sentence", now.id, was.sentence, now.sentence)
    if has_tiers and not pair.hidden and before.tier != after.tier:
        yield Change(after.id, "changed", "tier", None, before.tier, after.tier)
    for was, now in options:
        if was.gold is not None and now.gold is not None and was.gold != now.gold:
            yield Change(after.id, "relabelled", GOLD, now.id, was.gold, now.gold)
    if has_splits and before.split != after.split:
        yield Change(after.id, "moved", "split", None, before.split, after.split)


# --- terms ----------------------------------------------------------------------------------------


def _key(cat: PublishedCat) -> TermKey:
    return cat.domain, cat.target


def _renamed(before: Version, after: Version, pairs: Sequence[Pair]) -> tuple[Renamed, ...]:
    """Terms with another text or domain: by their ids, else if all their CATs say so."""
    old, new = ({_key(cat) for cat in version.cats} for version in (before, after))
    renamed: dict[TermKey, TermKey] = {}
    if before.terms and after.terms:
        texts = {id: key for key, id in after.terms.items()}
        for key, id in before.terms.items():
            if id in texts and texts[id] != key:
                renamed[key] = texts[id]
    now: dict[TermKey, set[TermKey]] = defaultdict(set)
    for pair in pairs:
        now[_key(pair.before)].add(_key(pair.after))
    targets = Counter(key for keys in now.values() for key in keys)
    for key, keys in now.items():
        (first, *others) = keys
        alone = not others and targets[first] == 1
        if alone and first != key and first not in old and key not in new:
            renamed.setdefault(key, first)
    return tuple(Renamed(*names) for names in sorted(renamed.items()))


def _moved_terms(
    before: Version, after: Version, renamed: Iterable[Renamed]
) -> tuple[tuple[TermKey, ...], tuple[TermKey, ...]]:
    """The terms that moved from dev to test, and those that moved from test to dev."""
    now = dict(renamed)
    was, is_in = defaultdict(set), defaultdict(set)
    for cat in before.cats:
        was[now.get(_key(cat), _key(cat))].add(cat.split)
    for cat in after.cats:
        is_in[_key(cat)].add(cat.split)
    both = sorted(was.keys() & is_in.keys())
    to_test, to_dev = (
        tuple(key for key in both if source in was[key] and target in is_in[key] - was[key])
        for source, target in (SPLITS, SPLITS[::-1])
    )
    return to_test, to_dev


def _seen(before: Version, after: Version, pairs: Iterable[Pair]) -> tuple[str, ...]:
    """The CATs in test that were in dev under their id, or whose texts were only in dev."""
    dev, test = SPLITS
    texts = {cat.texts for cat in before.cats if cat.split == dev}
    texts -= {cat.texts for cat in before.cats if cat.split == test}
    moved = {p.after.id for p in pairs if (p.before.split, p.after.split) == (dev, test)}
    return tuple(
        cat.id
        for cat in after.cats
        if cat.split == test and (cat.id in moved or cat.texts in texts)
    )


# --- counts ---------------------------------------------------------------------------------------


SAYS = {
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


def difference_counts(difference: Difference) -> list[Count]:
    """The counts of each split and kind that either version has."""
    before, after = (
        Counter((cat.split, cat.kind) for cat in version.cats)
        + Counter(("test", cat.kind) for cat in version.sealed)
        for version in (difference.before, difference.after)
    )
    now: dict[str, PublishedCat] = {cat.id: cat for cat in difference.after.cats}
    now |= {cat.id: cat for cat in difference.removed}
    tallies: dict[str, Counter[Any]] = {"before": before, "after": after}
    for what in WHATS:
        tallies[what] = Counter((now[id].split, now[id].kind) for id in difference.ids(what))
    return [
        Count(split, kind, **{name: tally[split, kind] for name, tally in tallies.items()})
        for split in SPLITS
        for kind in sorted(CAT_KINDS)
        if before[split, kind] or after[split, kind]
    ]


def cats_changed(difference: Difference) -> dict[What, tuple[int, list[str]]]:
    """For each difference that there is: how many CATs have it, and the ids of those.

    CATs whose gold labels are hidden are counted and not named, as in the errata.
    """
    named: dict[What, dict[str, None]] = {what: {} for what in WHATS}
    for change in difference.open_changes():
        named[change.what][change.id] = None
    counts = ((what, len(difference.ids(what))) for what in WHATS)
    return {what: (count, [*named[what]]) for what, count in counts if count}


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


def difference_facts(difference: Difference) -> Changes:
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


def errata_text(changes: Iterable[Change]) -> str:
    """The file ``errata.jsonl``: a JSON object per change, with the fields of ``Change``."""
    return b"".join(orjson.dumps(change._asdict()) + b"\n" for change in changes).decode()


def errata_markdown(difference: Difference, changes: Sequence[Change]) -> str:
    """The errata for people: a section for each sort of change, and a line for each change.

    Args:
        difference: the difference, for its names.
        changes: the changes to list.
    """
    from curation.release.texts.render import markdown

    groups = []
    for what in WHATS:
        if group := [change for change in changes if change.what == what]:
            cats = amount(len({change.id for change in group}), "CAT")
            groups.append((SAYS[what], group, cats))
    moved = {"dev to test": difference.to_test, "test to dev": difference.to_dev}
    return markdown(
        "errata.md",
        before=difference.before.name,
        after=difference.after.name,
        moved=[(way, term_names(terms)) for way, terms in moved.items()],
        renamed=difference.renamed,
        groups=groups,
    )
