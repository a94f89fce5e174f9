"""Items, labels and flags: what answers become, once the gate lets them in."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from curation.checks.content import gist
from curation.kinds import ITEMS, Kind
from curation.reasons import REASONS
from curation.records import Association, Correction, Flag, Item, Task
from curation.rounds.answers.forms import neutral_flaw
from curation.rounds.answers.parsed import NTH, Given, Mark, Written, unexpected
from curation.rounds.answers.rows import as_sentence
from curation.rounds.gate import Gate, LabelRow, Rules
from curation.text.item_form import attribute, check_item, fill, filler
from curation.text.rules import same_text, stable_id

# --- items --------------------------------------------------------------------------------------


class Known(NamedTuple):
    """An item that was let in.

    Attributes:
        item: the item.
        names: association ids by each name that a label may use: id, sentence, word.
        changed: by association id, when its words last changed; unchanged ones are left out.
    """

    item: Item
    names: dict[str, str]
    changed: dict[str, str]


class Items(NamedTuple):
    """The result of folding items.

    Attributes:
        known: the items that were let in, by id.
        gone: by id of an item that was refused, the first reason code.
        clashing: (round, position) of published items whose ids clash with others.
    """

    known: dict[str, Known]
    gone: dict[str, str]
    clashing: set[tuple[str, int]]


def fold_items(written: Iterable[tuple[str, Written]], gate: Gate) -> Items:
    """The items that are let in.

    Args:
        written: pairs of round and written item, in order of submission.
        gate: checks writers and words, and refuses each answer that is not let in.
    """
    result, rules = Items({}, {}, set()), gate.rules
    known_terms = frozenset(rules.terms.values())
    owner: dict[tuple[bool, str], str] = {}  # of ids of items, and of those of associations
    contents: dict[tuple[str, ...], str] = {}
    likes: dict[tuple[Kind, str], tuple[list[str], list[str]]] = {}
    for round, answer in written:
        published = answer.is_published
        try:
            who = gate.name(answer.person) if answer.person and not published else ""
            ids = _ids(round, answer, gate)
            term = _term(answer, rules.terms, known_terms)
            problem = None if published else gate.stops(round, answer, who)
            for correction in rules.corrections.get(ids[0], ()):
                answer = _corrected(answer, ids, correction, gate)
            problem = problem or _flaw(answer, term, rules)
            if problem:
                result.gone.setdefault(ids[0], problem[0])
                gate.refuse(round, answer, *problem)
                continue
            content = (answer.kind, answer.domain, *map(same_text, (answer.target, answer.context)))
            content += tuple(sorted(same_text(option.sentence) for option in answer.options))
            own = [(n == 0, id) for n, id in enumerate(ids)]
            clash = next((i for i in own if i in owner), None)
            texts, names = likes.setdefault((answer.kind, term), ([], []))
            meant = [o.sentence for o in answer.options if o.intent != "unrelated"]
            text = gist(answer.context, meant)
            like = None
            if content in contents:
                problem = "duplicate_item", f"the same as item {contents[content]}"
            elif clash is not None or len(set(own)) < len(own):
                place = owner[clash] if clash else ids[0]
                problem = "clashing_id", f"{clash[1] if clash else ids[0]} is already in {place}"
                result.clashing.add((round, answer.place.position))
            elif rules.near is not None and not published:
                like = rules.near(texts, text)
                problem = None if like is None else ("near_duplicate", f"like item {names[like]}")
            if problem:
                result.gone.setdefault(ids[0], problem[0])
                gate.refuse(round, answer, *problem)
                continue
            known = _known(_item(round, answer, ids, term, who or None), answer)
        except MemoryError:
            raise
        except Exception as error:  # a campaign goes on, whatever an answer holds
            result.gone.setdefault(answer.id, "bad_value")
            gate.refuse(round, answer, "bad_value", unexpected(error))
            continue
        contents[content] = ids[0]
        owner.update(dict.fromkeys(own, ids[0]))
        texts.append(text)
        names.append(ids[0])
        result.known[known.item.id] = known
        gate.admit(round, answer, who)
    return result


def _corrected(answer: Written, ids: Sequence[str], correction: Correction, gate: Gate) -> Written:
    """A written item with a text that the team has changed, as a later version of it.

    A writer who changes the item after that has the last word.
    """
    if correction.association not in (None, *ids[1:]):
        detail = f"item {ids[0]} has no association {correction.association!r}"
        gate.leave_out(correction, "unknown_association", detail)
        return answer
    if answer.version > correction.at:
        detail = f"the writer changed item {ids[0]} at {answer.version}, after this correction"
        gate.leave_out(correction, "superseded", detail)
        return answer
    context, sentences = answer.context, [option.sentence for option in answer.options]
    kind = ITEMS[answer.kind]
    if correction.association is not None:
        at = ids.index(correction.association) - 1
        sentences[at] = as_sentence(kind, context, answer.target, correction.text)
    else:
        words = [text[slice(*attribute(context, text))] for text in sentences]
        context = correction.text
        sentences = [fill(context, word) for word in words] if kind.has_gap else sentences
    same = same_text(context) == same_text(answer.context)
    golds = (
        option.published_gold if same and same_text(text) == same_text(option.sentence) else None
        for option, text in zip(answer.options, sentences, strict=True)
    )
    options = tuple(
        option._replace(sentence=text, published_gold=gold)
        for option, text, gold in zip(answer.options, sentences, golds, strict=True)
    )
    versions = {"version": correction.at, "earlier": (*answer.earlier, answer)}
    return replace(answer, context=context, options=options, **versions)


def _term(answer: Written, terms: Mapping[tuple[str, str], str], known: frozenset[str]) -> str:
    """Id of the term that an answer is about: its task's, if that still exists; empty if none."""
    if answer.task is not None and answer.task.term in known:
        return answer.task.term
    return terms.get((answer.domain, answer.target), "")


def _flaw(answer: Written, term: str, rules: Rules) -> tuple[str, str] | None:
    """What is wrong with a written item, or None; published items are not checked."""
    if answer.domain not in rules.domains:
        known = ", ".join(rules.domains)
        add = "add it to campaign.toml as [domains.NAME] to use it"
        return "unknown_domain", f"{answer.domain!r} is not among the domains: {known}; {add}"
    if not term:
        return "unknown_target", f"{answer.target!r} is not a term of {answer.domain!r}"
    if answer.is_published:
        return None
    sentences = [option.sentence for option in answer.options]
    flaw = check_item(
        answer.kind,
        answer.target,
        answer.context,
        sentences,
        name_target=rules.name_target,
        blank_alone=rules.blank_alone,
    )
    if flaw or rules.meta is None:
        return flaw and (flaw.code, flaw.detail)
    words = [text[slice(*attribute(answer.context, text))] or text for text in sentences]
    for text in (answer.context, *words):
        if phrase := rules.meta(text):
            return "meta_text", f"{phrase!r} in {text!r}"
    return None


def _ids(round: str, answer: Written, gate: Gate) -> tuple[str, ...]:
    """The ids of an item and its associations; no correction changes them.

    Items that were written for a task have keyed ids. With a plain digest, people could find out
    by trying which of the associations the writer meant as the stereotype.
    """
    if answer.task is not None:
        seal = gate.seal(round, answer.id, answer.person or "")
        parts = [gate.seal(seal, str(option.intent)) for option in answer.options]
        return stable_id("item", seal), *(stable_id("association", part) for part in parts)
    first = answer.earlier[0] if answer.earlier else answer
    return answer.id, *(
        option.id or stable_id("association", answer.id, original.sentence)
        for option, original in zip(answer.options, first.options, strict=True)
    )


def _item(round: str, answer: Written, ids: tuple[str, ...], term: str, writer: str | None) -> Item:
    associations = tuple(
        Association(
            id=id,
            sentence=option.sentence,
            intent=option.intent,
            published_gold=option.published_gold,
        )
        for id, option in zip(ids[1:], answer.options, strict=True)
    )
    return Item(
        id=ids[0],
        kind=answer.kind,
        term=term,
        context=answer.context,
        associations=associations,
        round=round,
        writer=writer,
        submitted_at=answer.place.submitted_at or None,
        seconds=answer.seconds,
        target_original=answer.original,
    )


def _known(item: Item, answer: Written) -> Known:
    names: dict[str, str] = {}
    changed: dict[str, str] = {}
    before: dict[str, tuple[str, str]] = {}
    for version in (*answer.earlier, answer):
        for association, option in zip(item.associations, version.options, strict=True):
            words = filler(version.context, option.sentence)
            for name in (option.sentence, words or option.sentence):
                names[same_text(name)] = association.id
            seen = (same_text(version.context), same_text(option.sentence))
            if before.setdefault(association.id, seen) != seen:
                before[association.id], changed[association.id] = seen, version.version
    names |= {association.id: association.id for association in item.associations}
    names |= {f"{NTH}{n}": association.id for n, association in enumerate(item.associations, 1)}
    return Known(item, names, changed)


# --- neutral associations -----------------------------------------------------------------------


def is_neutral(answer: Written) -> bool:
    """Whether a written answer is a neutral association: its task shows an item."""
    return answer.task is not None and answer.task.item is not None


def sides(item: Item) -> list[Association]:
    """The stereotype and the anti-stereotype of an item, as its writer meant or as published."""
    roles = {each.intent or each.published_gold: each for each in item.associations}
    return [roles[role] for role in ("stereotype", "anti-stereotype") if role in roles]


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
            item = _neutral_item(round, answer, who, items, gate)
        except MemoryError:
            raise
        except Exception as error:  # a campaign goes on, whatever an answer holds
            item = "bad_value", unexpected(error)
        if isinstance(item, tuple):
            gate.refuse(round, answer, *item)
            continue
        items.known[item.id] = Known(item, {a.id: a.id for a in item.associations}, {})
        gate.admit(round, answer, who)


def _neutral_item(
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
    others = [association.sentence for association in base.associations]
    if problem := neutral_flaw(base.kind, base.context, others, text, gate.rules.meta):
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


# --- labels -------------------------------------------------------------------------------------


def fold_labels(
    given: Iterable[tuple[str, Given]], items: Items, gate: Gate
) -> tuple[list[LabelRow], list[Flag]]:
    """The labels and flags that are let in, in order of submission.

    An answer that is not let in is refused once. If only one label of an answer is unusable, only
    that label is refused.

    Args:
        given: pairs of round and labels, in order of submission.
        items: the items that labels can be about.
        gate: checks the people who gave the labels, and refuses answers and single labels.
    """
    labels: dict[str, LabelRow] = {}
    flags: list[Flag] = []
    stale: dict[tuple[str, str], frozenset[str]] = {}
    for round, answer in given:
        try:
            fresh, remarks, problems = _read(round, answer, items, gate, stale)
        except MemoryError:
            raise
        except Exception as error:  # a campaign goes on, whatever an answer holds
            gate.refuse(round, answer, "bad_value", unexpected(error))
            continue
        for problem in problems:
            gate.refuse(round, answer, *problem)
        counts = bool(remarks)
        flags += remarks
        for label in fresh:
            before = labels.setdefault(label.id, label)
            if before is label:
                counts = True
            else:
                same = (before.annotator, before.value) == (label.annotator, label.value)
                code = "duplicate_label" if same else "clashing_id"
                gate.refuse(round, answer, code, f"there is already a label {label.id}")
        if counts:
            who = answer.person if answer.is_published else gate.name(answer.person)
            gate.admit(round, answer, who)
    return list(labels.values()), flags


def _read(
    round: str,
    answer: Given,
    items: Items,
    gate: Gate,
    stale: dict[tuple[str, str], frozenset[str]],
) -> tuple[list[LabelRow], list[Flag], list[tuple[str, str]]]:
    """The labels and flags of an answer, and the problems of those that are refused."""
    labels: list[LabelRow] = []
    published, task = answer.is_published, answer.task
    who = answer.person if published else gate.name(answer.person)
    problem = None if published else gate.stops(round, answer, who)
    known = items.known.get(answer.item)
    # Labels of a refused published item are not for another item that has the same id.
    if known is None or (published and (round, answer.place.position) in items.clashing):
        problem = problem or ("unknown_item", no_item(answer.item, items))
    if problem or known is None or who == known.item.writer:
        return [], [], [problem or ("own_item", f"the validator wrote item {answer.item}")]
    old: Collection[str] = ()
    if task is not None:
        if (round, task.id) not in stale:
            stale[round, task.id] = outdated(task, known.item)
        old = stale[round, task.id]
        seal = gate.seal(round, answer.id, answer.person)
    elif known.changed:
        old = {a for a, at in known.changed.items() if answer.version < at}
    problems: list[tuple[str, str]] = []
    names = known.names
    for mark in answer.marks:
        association = names.get(mark.association, "")
        if not association or old or mark.problem:
            association, problem = _association(mark, known, old)
            if problem:
                problems.append(problem)
                continue
        if published:
            id = answer.id
        elif task is None:
            id = stable_id("label", gate.seal(answer.id))
        else:
            id = stable_id("label", seal, association)
        label = LabelRow(
            id,
            answer.item,
            association,
            who,
            mark.value,  # type: ignore[arg-type]  # a mark without a value has a problem
            round,
            answer.place.submitted_at or None,
            answer.seconds,
            answer.source,
        )
        labels.append(label)
    if old:
        changed = f"item {answer.item} has changed"
        problems += [("text_changed", f"{changed}; {flag!r} was") for flag in answer.flags]
        return labels, [], problems
    flags = [Flag(item=answer.item, annotator=who, flag=f, round=round) for f in answer.flags]
    return labels, flags, problems


def _association(
    mark: Mark, known: Known, old: Collection[str]
) -> tuple[str, tuple[str, str] | None]:
    """The id of the association that a label is for, and why the label is refused, if it is."""
    item, names = known.item, known.names
    association = names.get(mark.association) or names.get(same_text(mark.association), "")
    if mark.problem is not None:
        return association, mark.problem
    if not association:
        detail = f"item {item.id} has no association {mark.association!r}"
        return "", ("unknown_association", detail)
    if association in old:
        at = known.changed.get(association)
        when = f" at {at}" if at else ""
        return "", ("text_changed", f"item {item.id} was changed{when}")
    return association, None


def outdated(task: Task, item: Item) -> frozenset[str]:
    """Ids of the associations whose words are no longer those that a task showed."""
    words = {a.id: a.sentence for a in item.associations}
    context = task.context
    if context not in (None, item.context) and same_text(context) != same_text(item.context):
        return frozenset(words)
    changed = set()
    for shown in task.shown:
        sentence = words.get(shown.association, "")
        if shown.text == sentence:
            continue
        text = same_text(shown.text)
        if text != same_text(sentence) and text != filler(item.context, sentence):
            changed.add(shown.association)
    return frozenset(changed)


def no_item(id: str, items: Items) -> str:
    """That there is no item with this id, and why, if it was refused."""
    code = items.gone.get(id)
    return f"no item {id}: {code}, {REASONS[code]}" if code else f"no item {id}"
