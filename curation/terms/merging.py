"""Which candidates are one term: the same label, variants, the too fine-grained; and thresholds."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from curation.records import Entity
from curation.rules import same_text, spelling_key
from curation.settings import DomainSettings
from curation.terms.candidates import Candidate, Flaw
from curation.terms.facts import above, best, number
from curation.terms.language import Head, is_head, plurals


def stems(texts: Iterable[str], *, language: str) -> dict[str, str]:
    """Each text's stem: equal for spelling variants and, in English, regular plurals.

    Only in English do accents make no other word.

    >>> stems(["Film Makers", "filmmaker"], language="en")
    {'Film Makers': 'filmmaker', 'filmmaker': 'filmmaker'}
    """
    english = language.split("-")[0] == "en"
    keys = {text: spelling_key(text, accents=not english) for text in texts}
    singular = {
        plural: key for key in keys.values() for plural in (plurals(key) if english else ())
    }
    return {text: singular.get(key, key) for text, key in keys.items()}


def join(found: Sequence[Candidate], *, language: str) -> None:
    """Let candidates of one label go up in the most frequent of them; variants likewise.

    What people, lists or answers name stays as it is named; a place is no variant of its people.
    """
    stem = stems((c.text for c in found if c.alive), language=language)
    same: dict[str, Candidate] = {}
    akin: dict[str, Candidate] = {}
    for candidate in sorted(found, key=lambda c: (not c.said, *c.order())):
        if not candidate.alive:
            continue
        other = same.setdefault(same_text(candidate.text), candidate)
        reason = "same_label"
        if other is candidate:
            other, reason = akin.setdefault(stem[candidate.text], candidate), "variant"
        other = end(other)
        forms = bool(candidate.item) and candidate.item == other.item
        if other is not candidate and not candidate.said and not forms:
            candidate.join(other, reason)


def one_family(found: Iterable[Candidate]) -> None:
    """Let families that share a term be one: of two places whose people bear one name."""
    same: dict[str, str] = {}

    def first(family: str) -> str:
        while family in same:
            family = same[family]
        return family

    for candidate in found:
        other = end(candidate)
        if candidate.reason in ("same_label", "variant") and candidate.family:
            other.family = other.family or candidate.family
            one, two = sorted((first(candidate.family), first(other.family)))
            if one != two:
                same[two] = one
    for candidate in found:
        candidate.family = first(candidate.family) if candidate.family else None


def frequent(found: Iterable[Candidate], knobs: DomainSettings) -> tuple[set[Candidate], str]:
    """The candidates that the domain's thresholds take, on rolled-up counts.

    Returns:
        Those taken, people's among them; and what the others fell short of.
    """
    ranked = sorted((c for c in found if c.alive), key=Candidate.order)
    taken = {c for c in ranked if c.said}
    shares = {c.item: c.rolled for c in reversed(ranked)}
    total, seen = sum(shares.values()), {c.item for c in taken}
    covered = sum(shares[item] for item in seen)
    for candidate in ranked:
        if candidate in taken:
            continue
        if candidate.rolled < max(knobs.min_count, 1):
            return taken, f"the domain asks for {max(knobs.min_count, 1):,}"
        if knobs.top and len(taken) >= knobs.top:
            return taken, f"the domain takes the {knobs.top:,} most frequent"
        if candidate.item not in seen and covered >= knobs.coverage * total - 1e-6:
            return taken, f"the more frequent ones hold {knobs.coverage:.0%} of all"
        taken.add(candidate)
        if candidate.item not in seen:
            seen.add(candidate.item)
            covered += candidate.rolled
    return taken, ""


def merge_fine(
    found: list[Candidate],
    knobs: DomainSettings,
    entities: Mapping[str, Entity],
    *,
    listed: Iterable[Candidate] = (),
    flaw: Callable[[str], Flaw | None],
    own: Sequence[str],
    head: Head,
    language: str,
) -> None:
    """Merge the too fine-grained into what they are a kind of (StereoSet, ACL §4.1: «assistant
    producer» into «producer»), then drop what is too rare.

    With a known place of the head word a candidate goes up in the item above it whose label is
    its head, be that among the counted or not; «all» merges every such candidate, «rare» only
    those that the thresholds would drop. Without, a rare one goes up in the nearest counted item
    above it that is at least as frequent. Thresholds are taken on the rolled-up counts.

    Args:
        found: a domain's candidates; items above that gain a count of their own are added.
        knobs: its settings.
        entities: what is known of items, by id.
        listed: candidates that no facts are known of; what is counted may go up in them.
        flaw: what is wrong with where an item stands; what has a flaw is merged into by nobody.
        own: the campaign's language codes.
        head: where a label's head word stands.
        language: the campaign's language.
    """
    named = {c.item: c for c in found if c.form == "name"}
    texts = {same_text(c.text): c for c in sorted([*found, *listed], key=_rank, reverse=True)}
    higher = {qid: e.parents for qid, e in entities.items()}
    labels = {qid: label for qid, e in entities.items() if (label := best(e.labels, own))}

    def candidate_of(item: str) -> Candidate:
        if item not in named and (known := texts.get(same_text(labels[item]))):
            named[item] = known  # one text is one term
        elif item not in named:
            entity = entities[item]
            named[item] = Candidate(
                found[0].domain,
                labels[item],
                item=item,
                description=entity.description or "",
                parents=entity.parents,
            )
            found.append(named[item])
            texts[same_text(labels[item])] = named[item]
        return end(named[item])

    def by_head(candidate: Candidate) -> Candidate | None:
        over = above([candidate.item], higher) & labels.keys()
        heads = [
            qid
            for qid in over
            if is_head(labels[qid], candidate.text, head=head, language=language)
        ]
        for qid in sorted(heads, key=lambda q: (-len(labels[q]), number(q))):
            if flaw(qid) is None and candidate_of(qid).alive:
                return candidate_of(qid)
        return None

    forms: dict[str, list[Candidate]] = {}
    for candidate in found:
        if candidate.alive and candidate.form != "name" and not candidate.said:
            forms.setdefault(candidate.item, []).append(candidate)
    targets: dict[Candidate, Candidate] = {}
    for candidate in list(found) if knobs.merge != "none" else ():
        if candidate.alive and candidate.form == "name" and not candidate.said:
            goal = _nearest(candidate, named, higher) if head == "none" else by_head(candidate)
            if goal is not None and goal is not candidate:
                targets[candidate] = goal
    every = knobs.merge == "all" and head != "none"
    while True:
        # From the leaves up, so that what gains enough on the way is not merged itself. Goals
        # have shorter labels, or come first in order: there is no circle.
        taken, short = frequent(found, knobs)
        going = [c for c in targets if c.alive and (every or c not in taken)]
        goals = {targets[c] for c in going}
        leaves = [c for c in going if c not in goals]
        if not leaves:
            break
        for candidate in leaves:
            goal = end(targets[candidate])
            candidate.merge(goal, "too_fine", f"a kind of {targets[candidate].text}")
            for form in forms.get(candidate.item, ()):
                # The female form of the finer term goes up in that of the wider.
                mate = next((f for f in forms.get(goal.item, ()) if f.form == form.form), None)
                into = end(mate) if mate else goal
                form.merge(into, "too_fine", f"a kind of {into.text}")
    for candidate in found:
        if candidate.alive and candidate not in taken:
            candidate.drop("too_rare", f"{candidate.rolled:,} statements; {short}")


def _rank(candidate: Candidate) -> tuple[bool, tuple[int, int, int, str]]:
    return not candidate.alive, candidate.order()


def settle(found: Iterable[Candidate]) -> None:
    """What went up in a candidate that is not kept is not kept either."""
    for candidate in found:
        last = end(candidate)
        if candidate.status == "merged" and not last.alive:
            candidate.status, candidate.reason = "dropped", last.reason
            candidate.detail = f"as {last.text!r}: {last.detail}"


def end(candidate: Candidate) -> Candidate:
    """What a candidate went up in at last; itself where it did not."""
    while candidate.into is not None:
        candidate = candidate.into
    return candidate


def _nearest(
    candidate: Candidate, named: Mapping[str, Candidate], higher: Mapping[str, Sequence[str]]
) -> Candidate | None:
    """The nearest counted item above this one that comes before it in order."""
    level, seen = [candidate.item], {candidate.item}
    while level:
        level = [*{p: None for qid in level for p in higher.get(qid, ()) if p not in seen}]
        seen.update(level)
        goals = {end(named[qid]) for qid in level if qid in named}
        goals = {g for g in goals if g.alive and g.order() < candidate.order()}
        if goals:
            return min(goals, key=Candidate.order)
    return None
