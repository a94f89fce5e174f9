"""Candidates for terms: from Wikidata's facts, with the checks of single candidates."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from curation.campaign.settings import DomainSettings
from curation.formats.toml_files import shipped_table
from curation.records import Count, Entity
from curation.terms.facts import best, number, parents_in, with_ancestors
from curation.text.rules import same_text

Head = Literal["last", "first", "none"]
_LANGUAGES = shipped_table("terms", "languages.toml")
HEADS: dict[str, Head] = dict.fromkeys(_LANGUAGES["last"], "last")
HEADS |= dict.fromkeys(_LANGUAGES["first"], "first")
COMPOUNDS = {*_LANGUAGES["compounds"]}
"""Languages that write «film actor» as one word, or have no spaces between words."""

LONGEST = 60  # characters; a longer label is a sentence


def head_of(language: str, setting: str = "auto") -> Head:
    """The position of the head word in a label: the setting, or the default of the language.

    >>> head_of("en-GB"), head_of("id"), head_of("ru"), head_of("ru", "last")
    ('last', 'first', 'none', 'last')
    """
    known = {"last": "last", "first": "first", "none": "none"}.get(setting)
    return known or HEADS.get(language.split("-")[0], "none")  # type: ignore[return-value]


def is_head(parent: str, child: str, *, head: Head, language: str) -> bool:
    """Whether a label is the head of a longer label.

    >>> is_head("producer", "assistant producer", head="last", language="en")
    True
    >>> is_head("aktor", "aktor film", head="first", language="id")
    True
    >>> is_head("Schauspieler", "Filmschauspieler", head="last", language="de")
    True
    >>> is_head("actor", "factor", head="last", language="en")
    False
    """
    above, below = same_text(parent), same_text(child)
    if head == "none" or not above or len(above) >= len(below):
        return False
    words, longer = above.split(), below.split()
    at_edge = longer[-len(words) :] if head == "last" else longer[: len(words)]
    if at_edge == words:
        return True
    fits = below.endswith(above) if head == "last" else below.startswith(above)
    shortest = 4 if above.isascii() or script(above) == "LATIN" else 2
    return fits and language.split("-")[0] in COMPOUNDS and len(above) >= shortest


def plurals(word: str) -> set[str]:
    """The regular plural forms that an English word may have.

    >>> sorted(plurals("gentleman"))
    ['gentlemanes', 'gentlemans', 'gentlemen']
    """
    forms = {word + "s", word + "es"}
    if word.endswith("y"):
        forms.add(word[:-1] + "ies")
    if word.endswith("man"):
        forms.add(word[:-2] + "en")
    return forms


def script(text: str) -> str:
    """The script of most letters of a text, by Unicode's names; empty if there are no letters.

    The three scripts of Japanese count as one.

    >>> script("Bäcker"), script("актёр"), script("パン"), script("12")
    ('LATIN', 'CYRILLIC', 'CJK', '')
    """
    names = Counter(_script(c) for c in text if c.isalpha())
    return names.most_common(1)[0][0] if names else ""


def _script(letter: str) -> str:
    name = unicodedata.name(letter, "?").replace("-", " ").split()[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA") else name


def usual_script(labels: Iterable[str]) -> str:
    """The script of at least four in five labels, or an empty text."""
    scripts = Counter(map(script, labels))
    name, n = scripts.most_common(1)[0] if scripts else ("", 0)
    return name if n >= 0.8 * scripts.total() else ""


def odd(label: str, *, title: str | None, aliases: Collection[str], usual: str = "") -> str | None:
    """Why a label looks vandalised or wrong, or None.

    Args:
        label: the label.
        title: the title of the item's article in the same language.
        aliases: the item's other names in that language.
        usual: the script of the other labels.

    >>> odd("Jajaja", title=None, aliases=[])
    'it repeats itself'
    >>> odd("Relajación", title="Religion", aliases=["faith", "religious belief"])
    'not similar to its article «Religion» or to its aliases'
    >>> odd("baker", title="Baker", aliases=["bread maker"])
    """
    if not any(c.isalpha() for c in label):
        return "it has no letters"
    if len(label) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    if "://" in label or any(unicodedata.category(c) in {"Cc", "Cn", "Co", "So"} for c in label):
        return "it contains a web address or a character that is not text"
    if re.search(r"([^\W\d_])\1\1\1", label) or re.fullmatch(r"(\w{2,3})\1\1+", label.casefold()):
        return "it repeats itself"
    if usual and not any(_script(c) == usual for c in label if c.isalpha()):
        return f"the other labels are in {usual.capitalize()} letters"
    # The title alone is not enough: an article often has the name of something related.
    if title and aliases and not any(_akin(label, other) for other in (title, *aliases)):
        return f"not similar to its article «{title}» or to its aliases"
    return None


def _akin(name: str, other: str) -> bool:
    """Whether two names share the beginning of a word; in scripts without spaces, a letter."""
    if script(name) not in {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "GEORGIAN"}:
        return bool(set(same_text(name)) & set(same_text(other)) - {" "})
    begins = [{word[:4] for word in re.findall(r"\w+", same_text(text))} for text in (name, other)]
    return bool(begins[0] & begins[1])


Form = Literal["name", "demonym", "feminine", "masculine"]
Source = Literal["wikidata", "words", "answers", "edits"]
FORMS: tuple[Form, ...] = ("name", "demonym", "feminine", "masculine")
TOP = "Q35120"
PLACES = shipped_table("terms", "places.toml")


@dataclass(eq=False)
class Candidate:
    """A possible term of a domain during the selection.

    Attributes:
        domain: the domain.
        text: the text of the term.
        source: where the candidate comes from.
        item: its Wikidata id, or empty.
        form: which text of the item it is.
        count: the number of statements of its own item.
        rolled: ``count`` and the statements of the candidates that were merged into it.
        id: the id of the term.
        family: the name of its family, if known.
        description: Wikidata's description.
        parents: the items that it is a subclass of.
        fixed: whether an edit, a word list or an answer decided about it; rules do not change it.
        status: kept, merged or dropped.
        reason: the reason code of the status.
        detail: an explanation of the reason.
        into: the candidate that it was merged into.
        names: old names and second spellings.
        items: the Wikidata ids of the candidate and of same-named ones that were merged into it.
        counted: the items whose statements are in ``rolled``.
        moved: the statements that it added to ``into``.
        note: the note of a manual edit.
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
    fixed: bool = False
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
        """Whether it is kept so far."""
        return self.status == "kept"

    def drop(self, reason: str, detail: str = "") -> None:
        """Drop the candidate for a reason."""
        self.status, self.reason, self.detail = "dropped", reason, detail

    def merge(self, into: "Candidate", reason: str, detail: str = "") -> None:
        """Merge it into another, with its statements if they are not counted there yet."""
        self.status, self.reason, self.detail, self.into = "merged", reason, detail, into
        self.moved = self.rolled if self.counted.isdisjoint(into.counted) else 0
        into.rolled += self.moved
        into.counted |= self.counted

    def revive(self) -> None:
        """Undo its drop or merge; a merge gives its statements back."""
        above, self.into = self.into, None
        while above is not None:
            above.rolled -= self.moved
            above.counted -= self.counted if self.moved else set()
            above.items = [i for i in above.items if i == above.item or i not in self.items]
            above = above.into
        self.status, self.reason, self.detail, self.moved = "kept", None, "", 0

    def join(self, other: "Candidate", reason: str) -> None:
        """Merge it into another with the same or nearly the same text, which keeps its items."""
        self.merge(other, reason, f"as {other.text!r}")
        other.items += [item for item in self.items if item not in other.items]

    def order(self) -> tuple[int, int, int, str]:
        """The sort key: the most frequent first, and an item's name before its other forms."""
        qid = number(self.item) if self.item else 0
        return -self.rolled, qid, FORMS.index(self.form), self.text


def offers(
    domain: str,
    settings: DomainSettings,
    counts: Iterable[Count],
    entities: Mapping[str, Entity],
    *,
    own: Sequence[str],
    languages: Sequence[str],
    least: int = 1,
) -> list[Candidate]:
    """The candidates from a domain's counts: each item's name, demonyms and gendered forms.

    Args:
        domain: the domain.
        settings: the settings of the domain.
        counts: counts of any domain; an item's count is the sum over the domain's properties.
        entities: the looked-up items, by id.
        own: the campaign's language codes, nearest first; only their labels become terms.
        languages: the same codes and the fallbacks, whose labels are only shown.
        least: items that fewer subjects state were not looked up.

    Returns:
        One candidate for each form of an item; the first one is its main form. An item without a
        label in the language is dropped, with its fallback label or its id as text.
    """
    totals: dict[str, int] = {}
    looked_up: set[str] = set()
    for count in counts:
        if count.domain == domain and count.property in settings.properties:
            totals[count.item] = totals.get(count.item, 0) + count.count
            looked_up |= {count.item} if count.count >= least else set()
    candidates: list[Candidate] = []
    for item, total in totals.items():
        entity = entities.get(item)
        candidates += _of_item(domain, settings, item, total, entity, own, languages)
        if entity is None and item not in looked_up:
            candidates[-1].drop("too_rare", "not looked up: see least in [terms]")
    return sorted(candidates, key=Candidate.order)


def _of_item(
    domain: str,
    settings: DomainSettings,
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
    start = str(label or "")[:3].casefold()
    demonyms = sorted(entity.demonyms, key=lambda d: (d[:3].casefold() != start, len(d), d))
    named = settings.form != "demonym" or not demonyms
    forms: list[tuple[Form, str]] = [("name", label)] if label and named else []
    if settings.form != "name":
        forms += [("demonym", demonym) for demonym in demonyms]
    if settings.gendered:
        forms += [("feminine", text) for text in entity.feminine]
        forms += [("masculine", text) for text in entity.masculine]
    texts = list({text: form for form, text in reversed(forms)}.items())[::-1]
    offered = [offer(text, form) for text, form in texts]
    if not offered:
        nameless = offer(best(entity.labels, languages) or item, "name")
        nameless.drop("no_label", _nameless(item, own))
        return [nameless]
    # The family of a demonym is its place's name, even if the place is not a candidate: answers
    # may name the place.
    linked = len(offered) > 1 or offered[0].form != "name"
    for candidate in offered if linked else ():
        candidate.family = label or offered[0].text
    _other_forms(offered, gendered=settings.gendered)
    return offered


def _nameless(item: str, own: Sequence[str]) -> str:
    return f"no label in {', '.join(own)}; to give it one, rename {item} in edits.csv"


def _other_forms(offered: list[Candidate], *, gendered: bool) -> None:
    """Merge all demonyms into the first, unless the domain keeps gendered forms."""
    demonyms = [c for c in offered if c.form == "demonym"]
    for other in demonyms[1:] if not gendered else ():
        other.merge(demonyms[0], "other_form", "another demonym of the item")


Flaw = tuple[str, str]
"""A reason code and a detail."""


def placing(
    settings: DomainSettings, entities: Mapping[str, Entity], generic: Iterable[str]
) -> Callable[[str], Flaw | None]:
    """A function that says what is wrong with an item's place in Wikidata's hierarchy, or None.

    If the known ancestors of an item end below Q35120 (entity), the top of the hierarchy, it cannot
    be decided whether the item is below a root. Such an item is accepted.
    """
    parents = parents_in(entities)
    too_general = {*generic, *with_ancestors(settings.roots, parents)}

    @cache
    def flaw(item: str) -> Flaw | None:
        over = _over(item, entities)
        place = next((qid for qid in PLACES if qid in over), None)
        excluded = {item, *over} & set(settings.exclude)
        if item in too_general:
            return "generic_term", f"{item} is a root of the domain, is above one, or is generic"
        if place and not settings.places:
            return "is_place", f"it is a {PLACES[place]} ({place})"
        if excluded:
            return "excluded_class", f"it is below {min(excluded, key=number)}"
        ends = {qid for qid in {item, *over} if not parents(qid)} - {TOP}
        if settings.roots and not over & set(settings.roots) and not ends:
            return "outside_roots", f"it is not below any of {', '.join(settings.roots)}"
        if place and settings.form == "demonym" and not entities[item].demonyms:
            return "no_demonym", "a place without a demonym in the language"
        return None

    return flaw


def _over(item: str, entities: Mapping[str, Entity]) -> set[str]:
    """Everything that an item is a subclass or an instance of.

    Wikidata does not separate subclass and instance cleanly, so the classes of ancestors count too.
    """
    parents = parents_in(entities)
    line = with_ancestors([item], parents)
    classes = [c for qid in line if qid in entities for c in entities[qid].classes]
    return with_ancestors([*line, *classes], parents) - {item}


def check(
    candidates: Sequence[Candidate],
    entities: Mapping[str, Entity],
    flaw: Callable[[str], Flaw | None],
) -> None:
    """Drop candidates that are too general, in the wrong place, or look vandalised."""
    usual = usual_script(c.text for c in candidates if c.alive and c.form == "name")
    for candidate in candidates:
        if not candidate.alive:
            continue
        entity = entities[candidate.item]
        why = odd(candidate.text, title=entity.title, aliases=entity.aliases, usual=usual)
        if misplaced := flaw(candidate.item):
            candidate.drop(*misplaced)
        elif why and candidate.form == "name":
            candidate.drop("odd_label", why)
