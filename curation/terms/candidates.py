"""What may become a term: what Wikidata's facts offer, and what is wrong with it at first sight."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from curation.records import Count, Entity
from curation.settings import DomainSettings
from curation.terms.facts import above, best, number
from curation.terms.language import odd, usual_script

Form = Literal["name", "demonym", "feminine", "masculine"]
Source = Literal["wikidata", "words", "answers", "edits"]
FORMS: tuple[Form, ...] = ("name", "demonym", "feminine", "masculine")
TOP = "Q35120"
PLACES = {
    "Q6256": "country",
    "Q3624078": "sovereign state",
    "Q3024240": "historical country",
    "Q7275": "state",
    "Q56061": "administrative territorial entity",
    "Q5107": "continent",
    "Q82794": "geographic region",
    "Q486972": "human settlement",
}


@dataclass(eq=False)
class Candidate:
    """One possible term of a domain on its way through the selection.

    ``count`` is its own statements, ``rolled`` these and those of what was merged into it, of the
    items that are ``counted``, ``moved`` what it brought to where it went up;
    ``said`` marks people's word, which no rule overrules.
    """

    domain: str
    text: str
    source: Source = "wikidata"
    item: str = ""
    form: Form = "name"
    count: int = 0
    rolled: int = 0
    id: str = ""
    family: str | None = None
    description: str = ""
    parents: tuple[str, ...] = ()
    said: bool = False
    status: Literal["kept", "merged", "dropped"] = "kept"
    reason: str | None = None
    detail: str = ""
    into: "Candidate | None" = None
    names: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    counted: set[str] = field(default_factory=set)
    moved: int = 0
    note: str = ""

    def __post_init__(self) -> None:
        self.items = self.items or ([self.item] if self.item else [])
        self.counted = self.counted or {*self.items}

    @property
    def alive(self) -> bool:
        """Whether it is still on its way to being kept."""
        return self.status == "kept"

    def drop(self, reason: str, detail: str = "") -> None:
        """Take it out, and say why."""
        self.status, self.reason, self.detail = "dropped", reason, detail

    def merge(self, into: "Candidate", reason: str, detail: str = "") -> None:
        """Let it go up in another, with its statements unless they are counted there already."""
        self.status, self.reason, self.detail, self.into = "merged", reason, detail, into
        self.moved = self.rolled if self.counted.isdisjoint(into.counted) else 0
        into.rolled += self.moved
        into.counted |= self.counted

    def revive(self) -> None:
        """Take it, and its statements, back from what it went up in."""
        above, self.into = self.into, None
        while above is not None:
            above.rolled -= self.moved
            above.counted -= self.counted if self.moved else set()
            above.items = [i for i in above.items if i == above.item or i not in self.items]
            above = above.into
        self.status, self.reason, self.detail, self.moved = "kept", None, "", 0

    def join(self, other: "Candidate", reason: str) -> None:
        """Let it go up in another of the same or nearly the same text, which stands for both."""
        self.merge(other, reason, f"as {other.text!r}")
        other.items += [item for item in self.items if item not in other.items]

    def order(self) -> tuple[int, int, int, str]:
        """The most frequent first; of one item, its name before its other forms."""
        qid = number(self.item) if self.item else 0
        return -self.rolled, qid, FORMS.index(self.form), self.text


def offers(
    domain: str,
    knobs: DomainSettings,
    counts: Iterable[Count],
    entities: Mapping[str, Entity],
    *,
    own: Sequence[str],
    languages: Sequence[str],
    least: int = 1,
) -> list[Candidate]:
    """The candidates that a domain's counts give: an item's name, its demonyms, its forms.

    Args:
        domain: the domain.
        knobs: its settings.
        counts: counts of any domain; an item's count is the sum over the domain's properties.
        entities: what is known of items, by id.
        own: the campaign's language codes, nearest first; only their labels become terms.
        languages: these and the fallbacks, whose labels are shown.
        least: what fewer subjects state was not looked up.

    Returns:
        Several candidates an item where it has several forms; the first of them is its main one.
        What has no label in the language is dropped, under its fallback label or its id.
    """
    totals: dict[str, int] = {}
    looked_up: set[str] = set()
    for count in counts:
        if count.domain == domain and count.property in knobs.properties:
            totals[count.item] = totals.get(count.item, 0) + count.count
            looked_up |= {count.item} if count.count >= least else set()
    found: list[Candidate] = []
    for item, total in totals.items():
        entity = entities.get(item)
        found += _of_item(domain, knobs, item, total, entity, own, languages)
        if entity is None and item not in looked_up:
            found[-1].drop("too_rare", "not looked up: see least in [terms]")
    return sorted(found, key=Candidate.order)


def _of_item(
    domain: str,
    knobs: DomainSettings,
    item: str,
    total: int,
    entity: Entity | None,
    own: Sequence[str],
    languages: Sequence[str],
) -> list[Candidate]:
    def offer(text: str, form: Form) -> Candidate:
        return Candidate(
            domain,
            text,
            item=item,
            form=form,
            count=total,
            rolled=total,
            description=(entity.description or "") if entity else "",
            parents=entity.parents if entity else (),
        )

    if entity is None:
        missing = offer(item, "name")
        missing.drop("no_label", _nameless(item, own))
        return [missing]
    label = best(entity.labels, own)
    demonyms = sorted(entity.demonyms, key=lambda d: (not _akin_to(d, label), len(d), d))
    named = knobs.form != "demonym" or not demonyms
    forms: list[tuple[Form, str]] = [("name", label)] if label and named else []
    if knobs.form != "name":
        forms += [("demonym", demonym) for demonym in demonyms]
    if knobs.gendered:
        forms += [("feminine", text) for text in entity.feminine]
        forms += [("masculine", text) for text in entity.masculine]
    texts = list({text: form for form, text in reversed(forms)}.items())[::-1]
    offered = [offer(text, form) for text, form in texts]
    if not offered:
        nameless = offer(best(entity.labels, languages) or item, "name")
        nameless.drop("no_label", _nameless(item, own))
        return [nameless]
    # A demonym bears its place's name as family even where the place is no candidate: answers
    # may name that.
    linked = len(offered) > 1 or offered[0].form != "name"
    for candidate in offered if linked else ():
        candidate.family = label or offered[0].text
    _other_forms(offered, gendered=knobs.gendered)
    return offered


def _nameless(item: str, own: Sequence[str]) -> str:
    return f"no label in {', '.join(own)}; rename {item} to give it one"


def _akin_to(demonym: str, name: str | None) -> bool:
    return bool(name) and demonym[:3].casefold() == str(name)[:3].casefold()


def _other_forms(offered: list[Candidate], *, gendered: bool) -> None:
    """Of several demonyms only the first is a term, unless gendered forms are wanted."""
    demonyms = [c for c in offered if c.form == "demonym"]
    for other in demonyms[1:] if not gendered else ():
        other.merge(demonyms[0], "other_form", "another demonym of the item")


Flaw = tuple[str, str]
"""A reason code and a detail."""


def placing(
    knobs: DomainSettings, entities: Mapping[str, Entity], generic: Iterable[str]
) -> Callable[[str], Flaw | None]:
    """A judge of items: what is wrong with where an item stands among the others, or None.

    Whether an item lies under a root cannot be told where what is known of it breaks off below
    Q35120 (entity), the top of all; it is given the benefit of the doubt.
    """
    higher = {qid: e.parents for qid, e in entities.items()}
    too_general = {*generic, *above(knobs.roots, higher)}

    @cache
    def flaw(item: str) -> Flaw | None:
        over = _over(item, entities, higher)
        place = next((qid for qid in PLACES if qid in over), None)
        excluded = {item, *over} & set(knobs.exclude)
        if item in too_general:
            return "generic_term", f"{item} is a root of the domain, lies above one, or is generic"
        if place and not knobs.places:
            return "is_place", f"it is a {PLACES[place]} ({place})"
        if excluded:
            return "excluded_class", f"it lies under {min(excluded, key=number)}"
        ends = {qid for qid in {item, *over} if not higher.get(qid)} - {TOP}
        if knobs.roots and not over & set(knobs.roots) and not ends:
            return "outside_roots", f"it lies under none of {', '.join(knobs.roots)}"
        if place and knobs.form == "demonym" and not entities[item].demonyms:
            return "no_demonym", "a place without a demonym in the language"
        return None

    return flaw


def _over(
    item: str, entities: Mapping[str, Entity], higher: Mapping[str, Sequence[str]]
) -> set[str]:
    """All that an item is a kind or an instance of. Subclass and instance are mixed in practice,
    so the classes of what lies above it count as well.
    """
    line = above([item], higher)
    classes = [c for qid in line if qid in entities for c in entities[qid].classes]
    return above([*line, *classes], higher) - {item}


def check(
    found: Sequence[Candidate],
    entities: Mapping[str, Entity],
    flaw: Callable[[str], Flaw | None],
) -> None:
    """Drop what is too general, out of place, or looks vandalised."""
    usual = usual_script(c.text for c in found if c.alive and c.form == "name")
    for candidate in found:
        if not candidate.alive:
            continue
        entity = entities[candidate.item]
        why = odd(candidate.text, title=entity.title, aliases=entity.aliases, usual=usual)
        if misplaced := flaw(candidate.item):
            candidate.drop(*misplaced)
        elif why and candidate.form == "name":
            candidate.drop("odd_label", why)
