"""Items from what people wrote, and from what was published before."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from curation.checks.content import gist
from curation.records import Association, Item, Kind
from curation.rounds.answers.parsed import Written
from curation.rounds.folding.gate import Gate
from curation.rounds.folding.versions import Refuse
from curation.rules import check_item, filler, same_text, stable_id

Near = Callable[[Sequence[str], str], int | None]


class Known(NamedTuple):
    """An item with what its associations may be called, and when their words last changed."""

    item: Item
    names: dict[str, str]
    changed: dict[str, str]


class Checks(NamedTuple):
    """What a written item is held against."""

    domains: Sequence[str]
    terms: Mapping[tuple[str, str], str]
    name_target: bool
    blank_alone: bool
    near: Near | None
    meta: Callable[[str], str | None] | None


class Items(NamedTuple):
    """The items by id; why others are not there; where published ones clashed."""

    known: dict[str, Known]
    gone: dict[str, str]
    clashing: set[tuple[str, int]]


def fold_items(
    written: Iterable[tuple[str, Written]],
    checks: Checks,
    *,
    gate: Gate,
    name: Callable[[str], str],
    pseudonym: Callable[[str], str],
    refuse: Refuse,
) -> Items:
    """The items that are let in.

    Args:
        written: (round, what was written), in order of submission.
        checks: what is asked of their words.
        gate: what is asked of their writers.
        name: from a person's id on the platform to the pseudonym.
        pseudonym: the same, for ids that nobody may find out by trying; remembers nothing.
        refuse: takes what is not let in.
    """
    found = Items({}, {}, set())
    known_terms = frozenset(checks.terms.values())
    owner: dict[str, str] = {}
    contents: dict[tuple[str, ...], str] = {}
    likes: dict[tuple[Kind, str], tuple[list[str], list[str]]] = {}
    for round, what in written:
        published = what.source == "stereoset"
        who = name(what.person) if what.person and not published else ""
        ids = _ids(round, what, pseudonym)
        term = _term(what, checks.terms, known_terms)
        problem = None if published else gate.stops(round, what, who)
        problem = problem or _flaw(what, term, checks)
        if problem:
            found.gone.setdefault(ids[0], problem[0])
            refuse(round, what, *problem)
            continue
        content = (what.kind, what.domain, *map(same_text, (what.target, what.context)))
        content += tuple(sorted(same_text(option.sentence) for option in what.options))
        clash = next((i for i in ids if i in owner), None)
        texts, names = likes.setdefault((what.kind, term), ([], []))
        told = [o.sentence for o in what.options if o.intent != "unrelated"]
        text = gist(what.context, told)
        like = None
        if content in contents:
            problem = "duplicate_item", f"the same as item {contents[content]}"
        elif clash is not None or len(set(ids)) < len(ids):
            place = owner[clash] if clash else ids[0]
            problem = "clashing_id", f"{clash or ids[0]} stands already in {place}"
            found.clashing.add((round, what.place.position))
        elif checks.near is not None and not published:
            like = checks.near(texts, text)
            problem = None if like is None else ("near_duplicate", f"like item {names[like]}")
        if problem:
            found.gone.setdefault(ids[0], problem[0])
            refuse(round, what, *problem)
            continue
        contents[content] = ids[0]
        owner.update(dict.fromkeys(ids, ids[0]))
        texts.append(text)
        names.append(ids[0])
        item = _item(round, what, ids, term, who or None)
        found.known[item.id] = _known(item, what)
        gate.let_in(round, what, who)
    return found


def _term(what: Written, terms: Mapping[tuple[str, str], str], known: frozenset[str]) -> str:
    """The term that an answer is about, its task's where that still stands; else empty."""
    if what.task is not None and what.task.term in known:
        return what.task.term
    return terms.get((what.domain, what.target), "")


def _flaw(what: Written, term: str, checks: Checks) -> tuple[str, str] | None:
    """What is wrong with what was written, if anything; what was published is taken as it was."""
    if what.domain not in checks.domains:
        known = ", ".join(checks.domains)
        return "unknown_domain", f"{what.domain!r} is not among the domains: {known}"
    if not term:
        return "unknown_target", f"{what.target!r} is no term of {what.domain!r}"
    if what.source == "stereoset":
        return None
    sentences = [option.sentence for option in what.options]
    flaw = check_item(
        what.kind,
        what.target,
        what.context,
        sentences,
        name_target=checks.name_target,
        blank_alone=checks.blank_alone,
    )
    if flaw or checks.meta is None:
        return flaw and (flaw.code, flaw.detail)
    words = [filler(what.context, sentence) or sentence for sentence in sentences]
    for text in (what.context, *words):
        if phrase := checks.meta(text):
            return "meta_text", f"{phrase!r} in {text!r}"
    return None


def _ids(round: str, what: Written, pseudonym: Callable[[str], str]) -> tuple[str, ...]:
    """The ids of an item and its associations; no correction changes them.

    What was written for a task has keyed ones: a plain digest would tell, by trying, which of
    three associations its writer meant as the stereotype.
    """
    if what.task is not None:
        seal = pseudonym("\x1f".join((round, what.id, what.person or "")))
        parts = [pseudonym(f"{seal}\x1f{option.intent}") for option in what.options]
        return stable_id("item", seal), *(stable_id("association", part) for part in parts)
    first = what.earlier[0] if what.earlier else what
    return what.id, *(
        option.id or stable_id("association", what.id, original.sentence)
        for option, original in zip(what.options, first.options, strict=True)
    )


def _item(round: str, what: Written, ids: tuple[str, ...], term: str, writer: str | None) -> Item:
    a, b, c = (
        Association(
            id=id,
            sentence=option.sentence,
            intent=option.intent,
            published_gold=option.published_gold,
        )
        for id, option in zip(ids[1:], what.options, strict=True)
    )
    return Item(
        id=ids[0],
        kind=what.kind,
        term=term,
        context=what.context,
        associations=(a, b, c),
        round=round,
        writer=writer,
        submitted_at=what.place.submitted_at or None,
        seconds=what.seconds,
    )


def _known(item: Item, what: Written) -> Known:
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
    return Known(item, names, changed)
