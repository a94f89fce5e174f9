"""From raw answers to items and labels: a deterministic fold, recomputed whole each time.

The result depends on what was said and when, not on how it arrived: a late edit, a second
delivery or an answer more is recomputation, not surgery. Answers are taken in order of
(submitted_at, place in the archive); what came without a time keeps the order of its file.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple, TypeVar

from curation.records import Association, Item, Label, Rejection
from curation.rounds.answers import Given, Said, Written, masked
from curation.rules import check_item, filler, same_text, stable_id

ALGORITHM = 1
T = TypeVar("T", Written, Given)


class Folded(NamedTuple):
    """What the raw answers of all rounds amount to, in order of submission."""

    items: list[Item]
    labels: list[Label]
    rejections: dict[str, list[Rejection]]


def fold(
    said: Iterable[tuple[str, Said]],
    *,
    domains: Sequence[str],
    terms: Collection[str],
    pseudonym: Callable[[str], str] = str,
) -> Folded:
    """Fold what was said in all rounds into items, labels and rejections.

    Args:
        said: (round, what an answer says), in any order.
        domains: the campaign's domains.
        terms: ids of the campaign's terms; items on others are refused.
        pseudonym: from a person's id on the platform to the one that the records show; applied to
            answers of tables, since published ids are pseudonyms already.

    Returns:
        Items and labels in order of submission, rejections by round. Every written item and every
        label is in one of them.
    """
    written: list[tuple[str, Written]] = []
    given: list[tuple[str, Given]] = []
    rejections: dict[str, list[Rejection]] = defaultdict(list)

    def refuse(round: str, what: Said, code: str, detail: str) -> None:
        rejections[round].append(
            Rejection(
                code=code, detail=detail, where=what.where, record=masked(what.record, pseudonym)
            )
        )

    for round, what in said:
        if isinstance(what, Written):
            written.append((round, what))
        elif isinstance(what, Given):
            given.append((round, what))
        else:
            refuse(round, what, what.code, what.detail)
    items, clashing = _items(written, domains, terms, pseudonym, refuse)
    own = {(round, what.place.position) for round, what in clashing}
    labels = _labels(given, items, own, pseudonym, refuse)
    return Folded(list(items.values()), labels, dict(rejections))


Refuse = Callable[[str, Said, str, str], None]


def _items(
    written: list[tuple[str, Written]],
    domains: Sequence[str],
    terms: Collection[str],
    pseudonym: Callable[[str], str],
    refuse: Refuse,
) -> tuple[dict[str, Item], list[tuple[str, Written]]]:
    """The items by id, and what was refused because its id is another item's."""
    items: dict[str, Item] = {}
    clashing: list[tuple[str, Written]] = []
    owner: dict[str, str] = {}
    contents: dict[tuple[str, ...], str] = {}
    latest = _latest(written, refuse)
    for round, what in sorted(latest, key=lambda pair: pair[1].place):
        if what.domain not in domains:
            refuse(
                round,
                what,
                "unknown_domain",
                f"{what.domain!r} is not among domains in campaign.toml: {', '.join(domains)}",
            )
            continue
        term = stable_id("term", what.domain, what.target)
        if term not in terms:
            refuse(round, what, "unknown_target", f"{what.target!r} is no term of {what.domain!r}")
            continue
        sentences = [option.sentence for option in what.options]
        if what.checked and (flaw := check_item(what.kind, what.target, what.context, sentences)):
            refuse(round, what, flaw.code, flaw.detail)
            continue
        content = (what.kind, what.domain, *map(same_text, (what.target, what.context)))
        content += tuple(sorted(map(same_text, sentences)))
        associations = tuple(
            Association(
                id=option.id or stable_id("association", what.id, option.sentence),
                sentence=option.sentence,
                intent=option.intent,
                published_gold=option.published_gold,
            )
            for option in what.options
        )
        ids = [a.id for a in associations]
        clash = next((i for i in [what.id, *ids] if i in owner), None)
        if content in contents:
            refuse(round, what, "duplicate_item", f"the same as item {contents[content]}")
        elif clash is not None or len({what.id, *ids}) < 4:
            place = owner[clash] if clash else what.id
            refuse(round, what, "clashing_id", f"{clash or what.id} stands already in {place}")
            clashing.append((round, what))
        else:
            contents[content] = what.id
            owner.update(dict.fromkeys([what.id, *ids], what.id))
            writer = what.writer if what.writer is None else pseudonym(what.writer)
            items[what.id] = Item(
                id=what.id,
                kind=what.kind,
                term=term,
                context=what.context,
                associations=(associations[0], associations[1], associations[2]),
                round=round,
                writer=writer,
                submitted_at=what.place.submitted_at or None,
                seconds=what.seconds,
            )
    return items, clashing


def _latest(written: list[tuple[str, Written]], refuse: Refuse) -> list[tuple[str, Written]]:
    """Of the versions that one writer sent of one item, the last; the others are superseded."""
    versions: dict[tuple[object, ...], list[Written]] = defaultdict(list)
    for round, what in written:
        # Without a time, or from somebody else, the same id is a clash and no new version.
        whose = what.writer if what.version and what.writer else what.place
        versions[round, what.id, whose].append(what)
    return _newest(versions, refuse)


def _newest(versions: dict[tuple[object, ...], list[T]], refuse: Refuse) -> list[tuple[str, T]]:
    newest: list[tuple[str, T]] = []
    for (round, *_), whats in versions.items():
        last = max(what.version for what in whats)
        for what in whats:
            if what.version < last:
                refuse(str(round), what, "superseded", f"a later version came at {last}")
        current, *same = sorted(
            (what for what in whats if what.version == last), key=lambda what: what.place
        )
        # A later version keeps the place of the first: it is a correction, not a second answer.
        first = min(what.place for what in whats)
        newest += [(str(round), what) for what in (current._replace(place=first), *same)]
    return newest


def _labels(
    given: list[tuple[str, Given]],
    items: dict[str, Item],
    clashing: Collection[tuple[str, int]],
    pseudonym: Callable[[str], str],
    refuse: Refuse,
) -> list[Label]:
    """The labels; ``clashing`` are places of published items whose labels are not for ours."""
    versions: dict[tuple[object, ...], list[Given]] = defaultdict(list)
    for round, what in given:
        whose = what.annotator if what.version else what.place
        versions[round, what.id, whose].append(what)
    options = {item.id: _names(item) for item in items.values()}
    labels: dict[str, Label] = {}
    for round, what in sorted(_newest(versions, refuse), key=lambda pair: pair[1].place):
        published = what.source == "stereoset"
        if what.item not in items or (published and (round, what.place.position) in clashing):
            refuse(round, what, "unknown_item", f"no item {what.item}")
            continue
        known = options[what.item]
        association = known.get(what.association) or known.get(same_text(what.association))
        if association is None:
            refuse(
                round,
                what,
                "unknown_association",
                f"item {what.item} has no association {what.association!r}",
            )
            continue
        annotator = what.annotator if published else pseudonym(what.annotator)
        if annotator == items[what.item].writer:
            refuse(round, what, "own_item", f"the validator wrote item {what.item}")
            continue
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


def _names(item: Item) -> dict[str, str]:
    """What an answer may call an item's associations: their ids, sentences, filling words."""
    names: dict[str, str] = {}
    for association in item.associations:
        names[association.id] = names[same_text(association.sentence)] = association.id
        words = filler(item.context, association.sentence)
        if words is not None:
            names[same_text(words)] = association.id
    return names
