"""From raw answers to items and labels: a deterministic fold, recomputed whole each time.

The result depends on what was said and when, not on how it arrived: a late edit, a second
delivery or an answer more is recomputation, not surgery. Answers are taken in order of
(submitted_at, place in the archive); what came without a time keeps the order of its file.

Ids are permanent: an association's id comes from its item's first version and stays with it when
its writer corrects the text. A label counts for the words that its annotator had before them.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from curation.records import Association, Item, Label, Rejection
from curation.rounds.rows import masked
from curation.rounds.said import Given, Said, Written
from curation.rules import check_item, filler, same_text, stable_id

ALGORITHM = 2
T = TypeVar("T", Written, Given)
Refuse = Callable[[str, Said, str, str], None]


class Folded(NamedTuple):
    """What the raw answers of all rounds amount to, in order of submission."""

    items: list[Item]
    labels: list[Label]
    rejections: dict[str, list[Rejection]]


class _Known(NamedTuple):
    """An item with what its associations may be called, and when their words last changed."""

    item: Item
    names: dict[str, str]
    changed: dict[str, str]


def fold(
    said: Iterable[tuple[str, Said]],
    *,
    domains: Sequence[str],
    terms: Mapping[tuple[str, str], str],
    pseudonym: Callable[[str], str] = str,
    name_target: bool = True,
    blank_alone: bool = True,
) -> Folded:
    """Fold what was said in all rounds into items, labels and rejections.

    Args:
        said: (round, what an answer says), in any order.
        domains: the campaign's domains.
        terms: the campaign's terms: the id that a domain and a text name; items on others are
            refused.
        pseudonym: from a person's id on the platform to the one that the records show; applied to
            answers of tables, since published ids are pseudonyms already.
        name_target: a written context must name its target.
        blank_alone: a written BLANK must not touch a letter.

    Returns:
        Items and labels in order of submission, rejections by round. Every written item and every
        label is in one of them.
    """
    written: list[tuple[str, Written]] = []
    given: list[tuple[str, Given]] = []
    rejections: dict[str, list[Rejection]] = defaultdict(list)

    def refuse(round: str, what: Said, code: str, detail: str) -> None:
        record = what.record if _is_published(what) else masked(what.record, pseudonym)
        rejections[round].append(
            Rejection(code=code, detail=detail, where=what.where, record=record)
        )

    for round, what in said:
        if isinstance(what, Written):
            written.append((round, what))
        elif isinstance(what, Given):
            given.append((round, what))
        else:
            refuse(round, what, what.code, what.detail)

    def flaw(what: Written) -> tuple[str, str] | None:
        if what.domain not in domains:
            known = ", ".join(domains)
            return "unknown_domain", f"{what.domain!r} is not among the domains: {known}"
        if (what.domain, what.target) not in terms:
            return "unknown_target", f"{what.target!r} is no term of {what.domain!r}"
        if _is_published(what):  # what was published is taken as it was
            return None
        sentences = [option.sentence for option in what.options]
        return check_item(
            what.kind,
            what.target,
            what.context,
            sentences,
            name_target=name_target,
            blank_alone=blank_alone,
        )

    known, clashing = _items(written, flaw, terms, pseudonym, refuse)
    labels = _labels(given, known, clashing, pseudonym, refuse)
    return Folded([k.item for k in known.values()], labels, dict(rejections))


def _is_published(what: Said) -> bool:
    return what.source == "stereoset"


def _newest(versions: dict[tuple[object, ...], list[T]], refuse: Refuse) -> list[tuple[str, T]]:
    """Of the versions that one person sent of one answer, the last; the others are superseded."""
    newest: list[tuple[str, T]] = []
    for (round, *_), whats in versions.items():
        ordered = sorted(whats, key=lambda what: (what.version, what.place))
        last = ordered[-1].version
        earlier = tuple(what for what in ordered if what.version < last)
        for what in earlier:
            refuse(str(round), what, "superseded", f"a later version came at {last}")
        current = ordered[len(earlier)]
        # A later version keeps the place of the first: it is a correction, not a second answer.
        first = min(what.place for what in whats)
        newest.append((str(round), current._replace(place=first, earlier=earlier)))
        for same in ordered[len(earlier) + 1 :]:
            newest.append((str(round), same))
    return sorted(newest, key=lambda pair: pair[1].place)


def _items(
    written: list[tuple[str, Written]],
    flaw: Callable[[Written], tuple[str, str] | None],
    terms: Mapping[tuple[str, str], str],
    pseudonym: Callable[[str], str],
    refuse: Refuse,
) -> tuple[dict[str, _Known], set[tuple[str, int]]]:
    """The items by id; and where published items were refused since their id is another's."""
    versions: dict[tuple[object, ...], list[Written]] = defaultdict(list)
    for round, what in written:
        # Without a time, or from somebody else, the same id is a clash and no new version.
        whose = what.writer if what.version and what.writer else what.place
        versions[round, what.id, whose].append(what)
    items: dict[str, _Known] = {}
    clashing: set[tuple[str, int]] = set()
    owner: dict[str, str] = {}
    contents: dict[tuple[str, ...], str] = {}
    for round, what in _newest(versions, refuse):
        if problem := flaw(what):
            refuse(round, what, *problem)
            continue
        item = _item(round, what, terms[what.domain, what.target], pseudonym)
        ids = [item.id, *(a.id for a in item.associations)]
        content = (what.kind, what.domain, *map(same_text, (what.target, what.context)))
        content += tuple(sorted(same_text(option.sentence) for option in what.options))
        clash = next((i for i in ids if i in owner), None)
        if content in contents:
            refuse(round, what, "duplicate_item", f"the same as item {contents[content]}")
        elif clash is not None or len(set(ids)) < len(ids):
            place = owner[clash] if clash else what.id
            refuse(round, what, "clashing_id", f"{clash or what.id} stands already in {place}")
            clashing.add((round, what.place.position))
        else:
            contents[content] = what.id
            owner.update(dict.fromkeys(ids, what.id))
            items[what.id] = _known(item, what)
    return items, clashing


def _item(round: str, what: Written, term: str, pseudonym: Callable[[str], str]) -> Item:
    first = what.earlier[0] if what.earlier else what
    a, b, c = (
        Association(
            id=option.id or stable_id("association", what.id, original.sentence),
            sentence=option.sentence,
            intent=option.intent,
            published_gold=option.published_gold,
        )
        for option, original in zip(what.options, first.options, strict=True)
    )
    return Item(
        id=what.id,
        kind=what.kind,
        term=term,
        context=what.context,
        associations=(a, b, c),
        round=round,
        writer=what.writer if what.writer is None else pseudonym(what.writer),
        submitted_at=what.place.submitted_at or None,
        seconds=what.seconds,
    )


def _known(item: Item, what: Written) -> _Known:
    names: dict[str, str] = {}
    changed: dict[str, str] = {}
    before: dict[str, tuple[str, str]] = {}
    for version in (*what.earlier, what):
        for association, option in zip(item.associations, version.options, strict=True):
            words = filler(version.context, option.sentence)
            for name in (option.sentence, words or option.sentence):
                names[same_text(name)] = association.id
            seen = (same_text(version.context), same_text(option.sentence))
            if before.setdefault(association.id, seen) != seen:
                before[association.id], changed[association.id] = seen, version.version
    names |= {association.id: association.id for association in item.associations}
    return _Known(item, names, changed)


def _labels(
    given: list[tuple[str, Given]],
    items: dict[str, _Known],
    clashing: Collection[tuple[str, int]],
    pseudonym: Callable[[str], str],
    refuse: Refuse,
) -> list[Label]:
    versions: dict[tuple[object, ...], list[Given]] = defaultdict(list)
    for round, what in given:
        whose = what.annotator if what.version else what.place
        versions[round, what.id, whose].append(what)
    labels: dict[str, Label] = {}
    for round, what in _newest(versions, refuse):
        published = _is_published(what)
        known = items.get(what.item)
        # The labels of a published item that was refused are not for the one that has its id.
        if known is None or (published and (round, what.place.position) in clashing):
            refuse(round, what, "unknown_item", f"no item {what.item}")
            continue
        names = known.names
        association = names.get(what.association) or names.get(same_text(what.association))
        annotator = what.annotator if published else pseudonym(what.annotator)
        if association is None:
            detail = f"item {what.item} has no association {what.association!r}"
            refuse(round, what, "unknown_association", detail)
        elif annotator == known.item.writer:
            refuse(round, what, "own_item", f"the validator wrote item {what.item}")
        elif what.version < known.changed.get(association, ""):
            detail = f"the writer changed item {what.item} at {known.changed[association]}"
            refuse(round, what, "text_changed", detail)
        else:
            label = Label(
                id=what.id if published else stable_id("label", pseudonym(what.id)),
                item=what.item,
                association=association,
                annotator=annotator,
                value=what.value,
                round=round,
                submitted_at=what.place.submitted_at or None,
                seconds=what.seconds,
                source=what.source,
            )
            before = labels.setdefault(label.id, label)
            if before is not label:
                same = (before.annotator, before.value) == (label.annotator, label.value)
                code = "duplicate_label" if same else "clashing_id"
                refuse(round, what, code, f"label {label.id} stands already")
    return list(labels.values())
