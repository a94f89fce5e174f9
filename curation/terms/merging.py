"""Merging candidates: same labels, variants and terms that are too specific; and thresholds."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from curation.campaign.settings import DomainSettings
from curation.records import Entity
from curation.terms.candidates import Candidate, Flaw, Head, is_head, plurals
from curation.terms.facts import best, number, parents_in, with_ancestors
from curation.text.rules import grouped, same_text, spelling_key
from curation.text.wording import amount


def stems(texts: Iterable[str], *, language: str) -> dict[str, str]:
    """Each text's stem: the same for spelling variants and, in English, for regular plurals.

    Accents are ignored only in English; in other languages they make a different word.

    >>> stems(["Film Makers", "filmmaker"], language="en")
    {'Film Makers': 'filmmaker', 'filmmaker': 'filmmaker'}
    """
    english = language.split("-")[0] == "en"
    keys = {text: spelling_key(text, accents=not english) for text in texts}
    singular = {
        plural: key for key in keys.values() for plural in (plurals(key) if english else ())
    }
    return {text: singular.get(key, key) for text, key in keys.items()}


def join(candidates: Sequence[Candidate], *, language: str) -> None:
    """Merge candidates with the same label, or variants of one, into the most frequent of them.

    Candidates named by edits, word lists or answers stay as they are. A place is not a variant of
    its demonym.
    """
    stem = stems((c.text for c in candidates if c.alive), language=language)
    same: dict[str, Candidate] = {}
    akin: dict[str, Candidate] = {}
    for candidate in sorted(candidates, key=lambda c: (not c.fixed, *c.order())):
        if not candidate.alive:
            continue
        other = same.setdefault(same_text(candidate.text), candidate)
        reason = "same_label"
        if other is candidate:
            other, reason = akin.setdefault(stem[candidate.text], candidate), "variant"
        other = end(other)
        forms = bool(candidate.item) and candidate.item == other.item
        if other is not candidate and not candidate.fixed and not forms:
            candidate.join(other, reason)


def one_family(candidates: Sequence[Candidate]) -> None:
    """Join families that share a term, such as two places whose people have the same name."""
    same: dict[str, str] = {}

    def first(family: str) -> str:
        while family in same:
            family = same[family]
        return family

    for candidate in candidates:
        other = end(candidate)
        if candidate.reason in ("same_label", "variant") and candidate.family:
            other.family = other.family or candidate.family
            kept, joined = sorted((first(candidate.family), first(other.family)))
            if kept != joined:
                same[joined] = kept
    for candidate in candidates:
        candidate.family = first(candidate.family) if candidate.family else None


def frequent(
    candidates: Iterable[Candidate], settings: DomainSettings
) -> tuple[set[Candidate], str]:
    """The candidates that reach the domain's thresholds with their rolled-up counts.

    Returns:
        The candidates to keep, including all fixed ones; and the threshold that the others miss.
    """
    ranked = sorted((c for c in candidates if c.alive), key=Candidate.order)
    taken = {c for c in ranked if c.fixed}
    shares = {c.item: c.rolled for c in reversed(ranked)}
    total, seen = sum(shares.values()), {c.item for c in taken}
    covered = sum(shares[item] for item in seen)
    for candidate in ranked:
        if candidate in taken:
            continue
        if candidate.rolled < max(settings.min_count, 1):
            return taken, f"the domain requires {max(settings.min_count, 1):,}"
        if settings.top and len(taken) >= settings.top:
            return taken, f"the domain keeps the {settings.top:,} most frequent"
        if candidate.item not in seen and covered >= settings.coverage * total - 1e-6:
            return taken, f"more frequent candidates have {settings.coverage:.0%} of all statements"
        taken.add(candidate)
        if candidate.item not in seen:
            seen.add(candidate.item)
            covered += candidate.rolled
    return taken, ""


def merge_fine(
    candidates: list[Candidate],
    settings: DomainSettings,
    entities: Mapping[str, Entity],
    *,
    listed: Iterable[Candidate] = (),
    flaw: Callable[[str], Flaw | None],
    own: Sequence[str],
    head: Head,
    language: str,
) -> None:
    """Merge candidates that are too specific into more general ones, and drop those too rare.

    StereoSet (ACL §4.1) merges «assistant producer» into «producer». If the position of the head
    word is known, a candidate is merged into the ancestor whose label is its head word, counted or
    not. The setting "all" merges every such candidate, "rare" only those that the thresholds would
    drop. If the position is not known, a rare candidate is merged into the nearest counted ancestor
    that is at least as frequent. The thresholds apply to the rolled-up counts.

    Args:
        candidates: a domain's candidates; ancestors that gain a count are added to them.
        settings: the settings of the domain.
        entities: the looked-up items, by id.
        listed: candidates without facts; other candidates can be merged into them.
        flaw: what is wrong with an item's place in the hierarchy; nothing is merged into an item
            with a flaw.
        own: the campaign's language codes.
        head: the position of the head word in a label.
        language: the campaign's language.
    """
    named = {c.item: c for c in candidates if c.form == "name"}
    texts = {same_text(c.text): c for c in sorted([*candidates, *listed], key=_rank, reverse=True)}
    parents = parents_in(entities)
    labels = {qid: label for qid, e in entities.items() if (label := best(e.labels, own))}

    def candidate_of(item: str) -> Candidate:
        if item not in named and (known := texts.get(same_text(labels[item]))):
            named[item] = known  # one text is one term
        elif item not in named:
            entity = entities[item]
            named[item] = Candidate(
                candidates[0].domain,
                labels[item],
                item=item,
                description=entity.description or "",
                parents=entity.parents,
            )
            candidates.append(named[item])
            texts[same_text(labels[item])] = named[item]
        return end(named[item])

    def by_head(candidate: Candidate) -> Candidate | None:
        over = with_ancestors([candidate.item], parents) & labels.keys()
        heads = [
            qid
            for qid in over
            if is_head(labels[qid], candidate.text, head=head, language=language)
        ]
        for qid in sorted(heads, key=lambda q: (-len(labels[q]), number(q))):
            if flaw(qid) is None and candidate_of(qid).alive:
                return candidate_of(qid)
        return None

    forms = grouped((c.item, c) for c in candidates if c.alive and c.form != "name" and not c.fixed)
    targets: dict[Candidate, Candidate] = {}
    for candidate in list(candidates) if settings.merge != "none" else ():
        if candidate.alive and candidate.form == "name" and not candidate.fixed:
            goal = _nearest(candidate, named, parents) if head == "none" else by_head(candidate)
            if goal is not None and goal is not candidate:
                targets[candidate] = goal
    every = settings.merge == "all" and head != "none"
    while True:
        # From the leaves up, so that a candidate that gains enough statements is not merged itself.
        # Goals have shorter labels, or come first in order, so there are no circles.
        taken, missed = frequent(candidates, settings)
        going = [c for c in targets if c.alive and (every or c not in taken)]
        goals = {targets[c] for c in going}
        leaves = [c for c in going if c not in goals]
        if not leaves:
            break
        for candidate in leaves:
            goal = end(targets[candidate])
            candidate.merge(goal, "too_fine", f"a kind of {targets[candidate].text}")
            for form in forms.get(candidate.item, ()):
                # The feminine form of the specific term is merged into that of the general term.
                mate = next((f for f in forms.get(goal.item, ()) if f.form == form.form), None)
                into = end(mate) if mate else goal
                form.merge(into, "too_fine", f"a kind of {into.text}")
    for candidate in candidates:
        if candidate.alive and candidate not in taken:
            candidate.drop("too_rare", f"{amount(candidate.rolled, 'statement')}; {missed}")


def _rank(candidate: Candidate) -> tuple[bool, tuple[int, int, int, str]]:
    return not candidate.alive, candidate.order()


def settle(candidates: Iterable[Candidate]) -> None:
    """Drop candidates that were merged into a dropped one."""
    for candidate in candidates:
        last = end(candidate)
        if candidate.status == "merged" and not last.alive:
            candidate.status, candidate.reason = "dropped", last.reason
            candidate.detail = f"as {last.text!r}: {last.detail}"


def end(candidate: Candidate) -> Candidate:
    """The candidate at the end of a chain of merges; itself if it was not merged."""
    while candidate.into is not None:
        candidate = candidate.into
    return candidate


def _nearest(
    candidate: Candidate,
    named: Mapping[str, Candidate],
    parents: Callable[[str], Sequence[str]],
) -> Candidate | None:
    """The nearest counted ancestor that comes before this candidate in order."""
    level, seen = [candidate.item], {candidate.item}
    while level:
        level = [*{p: None for qid in level for p in parents(qid) if p not in seen}]
        seen.update(level)
        goals = {end(named[qid]) for qid in level if qid in named}
        goals = {g for g in goals if g.alive and g.order() < candidate.order()}
        if goals:
            return min(goals, key=Candidate.order)
    return None
