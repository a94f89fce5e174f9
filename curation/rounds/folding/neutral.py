"""Neutral associations, each beside the stereotype and the anti-stereotype of an item."""

from collections.abc import Callable, Iterable, Sequence

from curation.records import Association, Item, Kind
from curation.rounds.answers.parsed import Written, unexpected
from curation.rounds.folding.gate import Gate
from curation.rounds.folding.items import Items, Known
from curation.rounds.folding.labels import no_item, outdated
from curation.rounds.plan import sides
from curation.text.item_form import attribute, flaws
from curation.text.rules import same_text, stable_id


def is_neutral(answer: Written) -> bool:
    """Whether a written answer is a neutral association: its task shows an item."""
    return answer.task is not None and answer.task.item is not None


def flaw(
    kind: Kind,
    context: str,
    three: Sequence[str],
    text: str,
    meta: Callable[[str], str | None] | None,
) -> tuple[str, str] | None:
    """What is wrong with a neutral association: the reason code and a sentence, or None.

    Args:
        kind: the kind of the item.
        context: its context.
        three: its associations as whole sentences.
        text: the neutral association as a whole sentence.
        meta: gives the phrase which shows that a text is about the task, or None.
    """
    form = {"name_target": False, "blank_alone": False}  # the context is somebody else's
    for each in flaws(kind, (), context, [text], **form):
        if each.at is not None:
            return each.code, each.detail
    if same_text(text) in map(same_text, three):
        return "same_text_twice", f"{text!r} is already an association of the item"
    words = text[slice(*attribute(context, text))] or text
    phrase = meta(words) if meta else None
    return ("meta_text", f"{phrase!r} in {words!r}") if phrase else None


def fold_neutral(written: Iterable[tuple[str, Written]], items: Items, gate: Gate) -> None:
    """Let neutral associations in: each becomes an item of its own, which labels can be about.

    Such an item has the stereotype and the anti-stereotype of the item that the task showed, under
    their own ids, and in the place of the unrelated association the neutral one, without an intent.

    Args:
        written: pairs of round and neutral association, in order of submission.
        items: the items that were let in; those with a neutral association are added.
        gate: checks writers and words, and refuses each answer that is not let in.
    """
    for round, answer in written:
        who = gate.name(answer.person or "")
        try:
            item = _item(round, answer, who, items, gate)
        except MemoryError:
            raise
        except Exception as error:  # a campaign goes on, whatever an answer holds
            item = "bad_value", unexpected(error)
        if isinstance(item, tuple):
            gate.refuse(round, answer, *item)
            continue
        items.known[item.id] = Known(item, {a.id: a.id for a in item.associations}, {})
        gate.admit(round, answer, who)


def _item(
    round: str, answer: Written, who: str, items: Items, gate: Gate
) -> Item | tuple[str, str]:
    """The item with the neutral association, or the reason code and a sentence."""
    task, text = answer.task, answer.options[0].sentence
    assert task is not None
    if problem := gate.stops(round, answer, who):
        return problem
    known = items.known.get(task.item or "")
    if known is None:
        return "unknown_item", no_item(task.item or "", items)
    base = known.item
    if outdated(task, base) or len(two := sides(base)) < 2:
        return "text_changed", f"item {base.id} has changed"
    three = [association.sentence for association in base.associations]
    if problem := flaw(base.kind, base.context, three, text, gate.rules.meta):
        return problem
    seal = gate.seal(round, answer.id, answer.person or "")
    own = stable_id("association", gate.seal(seal, "neutral"))
    return Item(
        id=stable_id("item", seal),
        kind=base.kind,
        term=base.term,
        context=base.context,
        associations=(two[0], two[1], Association(id=own, sentence=text)),
        round=round,
        writer=who,
        submitted_at=answer.place.submitted_at or None,
        seconds=answer.seconds,
    )
