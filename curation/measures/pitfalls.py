"""The known pitfalls of a dataset, compared with the rates of StereoSet's own development set.

``checks.surface`` checks the form of single items, ``checks.lexical`` their words, and this module
the whole dataset: repetitions, uneven counts, targets, and leaks of the gold label. A check that
does not work in a language has no count; its row says why.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, islice
from math import sqrt
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import numpy as np

from curation.checks import lexical
from curation.checks.codes import PITFALLS, About, pitfall
from curation.checks.content import ENDS, alike, compared, gist, meta_patterns
from curation.checks.lists import Lists, in_small, lists, unchecked
from curation.checks.similar import similar
from curation.checks.surface import Finding, ItemTexts, check, read
from curation.files import read_json, shipped
from curation.kinds import GOLDS, ITEMS, Kind
from curation.records import Cat, Pitfall, Severity
from curation.text.item_form import names_target
from curation.text.rules import grouped, same_text, spelling_key
from curation.text.wording import amount
from curation.text.words import UNSPACED, WORD, base, split
from curation.work.engine import each_shard

CatFindings = Iterator[tuple[int, Finding]]
"""The index of a CAT, and a finding in it."""
ALIKE = 90  # %: contexts with at least this similarity are reported
REPEATS = 0.95  # the similarity of near duplicates, the same as the default of imports
FAR = 2  # counts are uneven above this multiple of the median, or below the median divided by it


def tokens_of(text: str) -> list[str]:
    """The words of a text in lower case, split as in the checks of one item."""
    return split(in_small(text))


def _key(text: str) -> str:
    return same_text(text).strip(ENDS)


def _groups(keys: Sequence[object]) -> list[list[int]]:
    """The indices of each key that occurs more than once."""
    places_of = grouped((key, at) for at, key in enumerate(keys))
    return [places for places in places_of.values() if len(places) > 1]


def _name(cat: Cat) -> str:
    return f"CAT {cat.id}"


def duplicates(cats: Sequence[Cat]) -> CatFindings:
    """CATs with the same target, context and associations; the first of them is not reported."""
    keys = [
        (
            cat.kind,
            cat.domain,
            same_text(cat.target),
            same_text(cat.context),
            *sorted(same_text(a.sentence) for a in cat.associations),
        )
        for cat in cats
    ]
    for first, *others in _groups(keys):
        for at in others:
            yield at, Finding("duplicate_item", None, f"identical to {_name(cats[first])}")


def contexts(cats: Sequence[Cat]) -> CatFindings:
    """CATs whose contexts are the same, similar, or the same except for the target."""
    keys = [_key(cat.context) for cat in cats]
    for places in _groups(list(zip((cat.kind for cat in cats), keys, strict=True))):
        for at, other in zip(places, [places[1], *places], strict=False):
            yield at, Finding("same_context", None, f"same context as {_name(cats[other])}")
    targets = [same_text(cat.target) for cat in cats]
    templates = [
        (cat.kind, key.replace(target, "\0"))
        for cat, key, target in zip(cats, keys, targets, strict=True)
    ]
    for places in _groups(templates):
        first = places[0]
        second = next((at for at in places if targets[at] != targets[first]), None)
        if second is None or "\0" not in templates[first][1]:
            continue
        for at in places:
            unlike = second if targets[at] == targets[first] else first
            detail = f"except for the target, same context as {_name(cats[unlike])}"
            yield at, Finding("same_template", None, detail)
    yield from _alike(cats, keys)


def _alike(cats: Sequence[Cat], keys: Sequence[str]) -> CatFindings:
    """CATs whose context is similar to another; the finding names the most similar one."""
    places_of = grouped((key, at) for at, key in enumerate(keys))
    texts = sorted(places_of, key=len)
    nearest: dict[int, tuple[float, int]] = {}
    for pairs in similar(texts, texts, similarity=ALIKE / 100):
        order = np.lexsort((pairs.others, -pairs.percent, pairs.some))
        order = order[pairs.some[order] != pairs.others[order]]
        _, first = np.unique(pairs.some[order], return_index=True)
        best = (column[order[first]].tolist() for column in pairs[:3])
        nearest |= {at: (likeness, other) for at, other, likeness in zip(*best, strict=True)}
    for at, text in enumerate(texts):
        if at not in nearest:
            continue
        likeness, other = nearest[at]
        name = _name(cats[places_of[texts[other]][0]])
        detail = f"similarity of {int(likeness)} % to the context of {name}"
        for place in places_of[text]:
            yield place, Finding("context_alike_90", None, detail)
            if likeness >= 100 * REPEATS:
                yield place, Finding("context_alike_95", None, detail)


def near_duplicates(cats: Sequence[Cat]) -> CatFindings:
    """CATs that nearly repeat an earlier one on the same target, as in ``content.near``."""
    by_target: dict[tuple[Kind, str, str], list[int]] = defaultdict(list)
    places_of: dict[str, dict[tuple[Kind, str, str], list[int]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for at, cat in enumerate(cats):
        pair = [a.sentence for gold in GOLDS[:2] for a in cat.associations if a.gold == gold]
        target = (cat.kind, cat.domain, cat.target)
        by_target[target].append(at)
        places_of["\n".join(compared(gist(cat.context, pair)))][target].append(at)
    texts = list(places_of)
    first: dict[int, int] = {}
    for pairs in similar(texts, texts, similarity=REPEATS):
        for a, b in zip(pairs.some.tolist(), pairs.others.tolist(), strict=True):
            own, known = places_of[texts[a]], places_of[texts[b]]
            both = own.keys() & known.keys()
            if both and alike(texts[a].split("\n"), texts[b].split("\n"), REPEATS):
                for target in both:
                    for at in own[target]:
                        first[at] = min(first.get(at, at), known[target][0])
    for at in (at for places in by_target.values() for at in places):
        if first.get(at, at) < at:
            detail = f"nearly identical to {_name(cats[first[at]])}"
            yield at, Finding("near_duplicate", None, detail)


def associations(cats: Sequence[Cat]) -> CatFindings:
    """Associations that occur in several CATs, and those with different gold labels.

    An association that follows its context can mean something else after another one. Then it
    counts as ``gold_differs``, not as ``gold_conflict``.
    """
    homes = [  # texts with the same home must have the same gold label
        (cat.domain, cat.target, "" if ITEMS[cat.kind].has_gap else _key(cat.context))
        for cat in cats
    ]
    places = [(at, n) for at, cat in enumerate(cats) for n in range(len(cat.associations))]
    texts = [(cats[at].kind, _key(cats[at].associations[n].sentence)) for at, n in places]
    for group in _groups(texts):
        here = [places[n] for n in group]
        first = here[0][0]
        second = next((at for at, _ in here if at != first), None)
        if second is None:
            continue
        # Two of each are enough to name another CAT, and there can be as many as CATs.
        inside: dict[tuple[object, str], list[int]] = defaultdict(list)
        anywhere: dict[str, list[int]] = defaultdict(list)
        for at, n in here:
            gold = cats[at].associations[n].gold
            if len(known := inside[homes[at], gold]) < 2:
                known.append(at)
            if homes[at] not in [homes[o] for o in anywhere[gold]] and len(anywhere[gold]) < 2:
                anywhere[gold].append(at)
        for at, n in here:
            mine = cats[at].associations[n]
            other = _name(cats[second if at == first else first])
            yield at, Finding("option_reused", n, f"{mine.sentence!r} is also in {other}")
            golds = [gold for gold in GOLDS if gold != mine.gold]
            same = [(o, gold) for gold in golds for o in inside[homes[at], gold] if o != at]
            apart = [(o, gold) for gold in golds for o in anywhere[gold] if homes[o] != homes[at]]
            for code, labelled in (("gold_conflict", same), ("gold_differs", apart)):
                if labelled:
                    o, gold = min(labelled)
                    detail = f"{mine.gold} here, {gold} in {_name(cats[o])}"
                    yield at, Finding(code, n, f"{mine.sentence!r} is {detail}")


CHECKS: tuple[Callable[[Sequence[Cat]], CatFindings], ...] = (
    duplicates,
    contexts,
    near_duplicates,
    associations,
)


def uneven_terms(cats: Sequence[Cat]) -> Iterator[tuple[str, str, str, str]]:
    """The (domain, target, code, detail) of targets with far fewer or more CATs than usual."""
    for domain, targets in grouped((cat.domain, cat.target) for cat in cats).items():
        for target, detail in _uneven(targets, f"the median of {domain!r}"):
            yield domain, target, "terms_uneven", detail


def uneven_domains(cats: Sequence[Cat]) -> Iterator[tuple[str, str]]:
    """The (code, detail) of domains with far fewer or more CATs than usual."""
    for _, detail in _uneven([cat.domain for cat in cats], "the median of the domains"):
        yield "domains_uneven", detail


def _uneven(names: Sequence[str], of: str) -> Iterator[tuple[str, str]]:
    """Names that occur far less or more often than the median name, and a text that says so."""
    counts = Counter(names)
    middle = median(counts.values()) if counts else 0
    for name, count in counts.items():
        if not middle / FAR <= count <= middle * FAR:
            yield name, f"{name!r} has {amount(count, 'CAT')}; {of} is {middle:g}"


def leaks(cats: Sequence[Cat]) -> Iterator[tuple[str, str]]:
    """The (code, detail) of patterns that give away the gold label without reading the text."""
    for gold in GOLDS:
        places = Counter(
            at for cat in cats for at, a in enumerate(cat.associations) if a.gold == gold
        )
        of = places.total()
        for at, count in places.most_common(1):
            if _at_least(count, of) > 1 / 2:
                detail = f"the {gold} is at position {at + 1} in {count} of {of} CATs"
                yield "order_leak", detail
    for name, kind in ITEMS.items():
        own = [cat for cat in cats if cat.kind == name and "unrelated" in kind.roles]
        short = sum(map(_unrelated_is_shortest, own))
        if _at_least(short, len(own)) > 1 / kind.size:
            share = f"{short} of {len(own)} {name} CATs"
            yield "shortest_leak", f"the unrelated association is the shortest in {share}"


def _unrelated_is_shortest(cat: Cat) -> bool:
    sizes = {a.gold: len(tokens_of(a.sentence)) or len(a.sentence) for a in cat.associations}
    return sizes.pop("unrelated") < min(sizes.values())


def _at_least(count: int, of: int) -> float:
    """The lower bound of a share's 95 % interval by Wilson (1927)."""
    if not of:
        return 0.0
    share, z = count / of, 1.96
    middle = share + z * z / (2 * of)
    half = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle - half) / (1 + z * z / of)


TargetFindings = Iterator[tuple[str, str, str, str]]
"""The domain, target, code and detail of each finding."""
LIST = "function_word"


def function_words(cats: Sequence[Cat], words: Lists) -> TargetFindings:
    """Targets whose words are all function words.

    If fewer than half of its contexts name a target, it is in another language than the texts, as
    in datasets that were translated without their targets. English words count then, too.

    Args:
        cats: the dataset.
        words: the word lists of its language.
    """
    if LIST not in words:
        return
    english = lists("en")
    named = grouped(
        ((cat.domain, cat.target), names_target(cat.context, cat.target)) for cat in cats
    )
    for (domain, target), which in named.items():
        foreign = 2 * sum(which) < len(which)
        if _is_function_word(target, words) or (foreign and _is_function_word(target, english)):
            yield domain, target, LIST, f"{target!r} is a function word"


def _is_function_word(target: str, words: Lists) -> bool:
    """Whether all words of a target are function words; "US" and "IT" are abbreviations."""
    if target.isupper() and len(target) > 1:
        return False
    listed, small = words.get(LIST), in_small(target)
    if base(words.language) in UNSPACED:
        return listed.holds(small.strip())
    tokens = WORD.findall(small)
    return listed.holds(small) or (bool(tokens) and all(map(listed.holds, tokens)))


def in_several_domains(cats: Sequence[Cat], language: str) -> TargetFindings:
    """Targets that are in several domains, compared as terms are: case and spelling do not count.

    Args:
        cats: the dataset.
        language: language code of the texts; in English, accents do not count either.
    """
    counts = Counter((cat.domain, cat.target) for cat in cats)
    accents = base(language) != "en"
    alike = grouped((spelling_key(place[1], accents=accents), place) for place in counts)
    for places in alike.values():
        if len({domain for domain, _ in places}) == 1:
            continue
        for domain, target in places:
            shown = " and ".join(
                f"{other!r}{'' if text == target else f' as {text!r}'} "
                f"({amount(counts[other, text], 'CAT')})"
                for other, text in places
            )
            yield domain, target, "target_in_domains", f"{target!r} is in {shown}"


DATASET = "the dataset"
MANY = 5000  # CATs from which several processes are faster
SHARD = 1000  # CATs between two reports of progress, or of a worker's turn

Tell = Callable[[str, int, int], None]
Names = Mapping[str, tuple[str, ...]]
Rates = Mapping[str, Mapping[str, Sequence[int]]]


@dataclass(frozen=True)
class Row:
    """How often a pitfall was found.

    Attributes:
        code: the code of the pitfall.
        severity: block, warn or note.
        unit: what is counted, such as "cat" or "option".
        count: the number of units with a hit; None if the check did not run.
        of: the number of all units; None if the check did not run.
        rate: count divided by of; None if the check did not run or there are no units.
        stereoset: the rate of StereoSet's development set, weighted by the kinds of CAT in this
            dataset.
        places: the number of hits; one unit can have several.
        why: why the check did not run, or None.
        kinds: count, of and StereoSet's rate for each kind.
    """

    code: str
    severity: Severity
    unit: str
    count: int | None
    of: int | None
    rate: float | None
    stereoset: float | None
    places: int
    why: str | None
    kinds: dict[Kind, tuple[int, int, float | None]]


@dataclass(frozen=True)
class Pitfalls:
    """All hits, and a table with one row per code in the order of ``PITFALLS``."""

    language: str
    cats: int
    hits: list[Pitfall]
    table: list[Row]

    def blocking(self, accept: Iterable[str] = ()) -> list[str]:
        """The codes that were found and stop a release, except those in ``accept``."""
        return [
            row.code
            for row in self.table
            if row.severity == "block" and row.count and row.code not in set(accept)
        ]


def pitfalls(
    cats: Sequence[Cat],
    *,
    language: str,
    own: Path | None = None,
    names: Names | None = None,
    off: Mapping[str, str] | None = None,
    without_votes: Collection[str] | None = None,
    workers: int = 1,
    meanwhile: Callable[[], object] = lambda: None,
    tell: Tell = lambda stage, done, total: None,
) -> Pitfalls:
    """Check a dataset for every pitfall of ``codes.PITFALLS``.

    Args:
        cats: the dataset, in the order of its file.
        language: language code of the texts.
        own: the team's own word lists, with the columns of ``data/words/pitfalls.csv``.
        names: other names of a target, by its term's id; a context may use them.
        off: pitfalls that are not checked, with the reason.
        without_votes: ids of CATs whose gold labels are published ones that nobody's votes
            confirm; None if the votes are not known.
        workers: how many processes check the texts, with 200 to 500 MB each; below ``MANY`` CATs
            it is one. With several, a script needs ``if __name__ == "__main__"``.
        meanwhile: called while these processes are at work.
        tell: called with stage, done and total to report progress.

    Raises:
        CurationError: ``own`` cannot be read; the message names the line. Or a worker died.
    """
    cats = with_context(cats)
    targets = tuple(dict.fromkeys((cat.domain, cat.target) for cat in cats))
    checks = _Checks(language, own, targets)
    why = dict(checks.why)
    if without_votes is None:
        why["no_votes"] = "only a campaign knows who labelled its CATs"
    why |= unchecked(checks.words) | dict(off or {})
    items = [_texts(cat, names) for cat in cats]
    shards = [items[start : start + SHARD] for start in range(0, len(items), SHARD)]
    tell("texts", 0, len(cats))
    found: dict[int, list[list[Finding]]] = {}

    def take(results: Iterable[tuple[int, list[list[Finding]]]]) -> None:
        for at, findings in results:
            found[at] = findings
            tell("texts", min(len(found) * SHARD, len(cats)), len(cats))

    several = workers if len(cats) >= MANY else 1
    with closing(each_shard(checks, shards, workers=several)) as each:
        take(islice(each, 1))  # the others go on with the texts, this process with the whole
        whole = _of_dataset(cats, checks, tell)
        meanwhile()
        take(each)
    hits: list[Pitfall] = []
    every = chain.from_iterable(found[at] for at in range(len(shards)))
    for cat, findings in zip(cats, every, strict=True):
        if without_votes and cat.id in without_votes:
            findings.append(Finding("no_votes", None, "no label of this campaign counts for it"))
        hits += (_of_cat(cat, hit) for hit in findings if hit.code not in why)
    hits += whole
    return Pitfalls(language, len(cats), hits, _table(hits, cats, why))


def _of_dataset(cats: Sequence[Cat], checks: "_Checks", tell: Tell) -> list[Pitfall]:
    """The hits of the checks of the whole dataset, and of its targets and domains."""
    hits: list[Pitfall] = []
    for n, check_whole in enumerate(CHECKS):
        tell("dataset", n, len(CHECKS))
        for at, finding in check_whole(cats):
            hits.append(_of_cat(cats[at], finding))
    for domain, target, code, detail in [
        *uneven_terms(cats),
        *lexical.check_targets(checks.targets, checks.lexicon),
        *in_several_domains(cats, checks.language),
        *function_words(cats, checks.words),
    ]:
        hits.append(pitfall(code, f"target {target} of {domain}", detail, target=target))
    for code, detail in [*uneven_domains(cats), *leaks(cats)]:
        hits.append(pitfall(code, DATASET, detail))
    tell("dataset", len(CHECKS), len(CHECKS))
    return hits


class _Checks:
    """The checks of single CATs; calling it gives the findings of each item of a shard."""

    def __init__(self, language: str, own: Path | None, targets: tuple[tuple[str, str], ...]):
        self.settings = language, own, targets
        self.language, self.targets = language, targets
        self.words, self.meta = lists(language, own), meta_patterns(language)
        self.lexicon, self.why = lexical.lexicon(self.words, targets)
        self.others = {} if base(language) in UNSPACED else _names(targets)

    def __reduce__(self) -> tuple[Any, ...]:
        return _in_worker, self.settings

    def __call__(self, items: Sequence[ItemTexts]) -> list[list[Finding]]:
        return [self._findings(item) for item in items]

    def _findings(self, item: ItemTexts) -> list[Finding]:
        parsed = read(item, self.words)
        findings = check(parsed, meta=self.meta) + lexical.check(parsed, self.lexicon)
        return findings + _other_targets(item, parsed.tokens, self.others)


@lru_cache(maxsize=1)  # a worker loads the word lists once, not for each shard
def _in_worker(*settings: Any) -> _Checks:
    return _Checks(*settings)


def with_context(cats: Sequence[Cat]) -> list[Cat]:
    """The CATs that can have these pitfalls: they are about contexts, and pairs have none."""
    return [cat for cat in cats if ITEMS[cat.kind].context]


def blocking(
    cats: Sequence[Cat], *, language: str, names: Names, off: Mapping[str, str]
) -> Counter[str]:
    """How many CATs have each pitfall of severity block; the arguments are those of ``pitfalls``.

    This is much faster than all checks.
    """
    cats = with_context(cats)
    words, meta = lists(language, None), meta_patterns(language)
    found: set[tuple[str, str]] = set()
    for cat in cats:
        hits = check(read(_texts(cat, names), words), meta=meta)
        found |= {(hit.code, cat.id) for hit in hits if hit.code not in off}
    found |= {(hit.code, cats[at].id) for whole in CHECKS for at, hit in whole(cats)}
    return Counter(code for code, _ in sorted(found) if PITFALLS[code].severity == "block")


def _texts(cat: Cat, names: Names | None) -> ItemTexts:
    """The texts of a CAT with its gold labels."""
    return ItemTexts(
        cat.kind,
        cat.domain,
        cat.target,
        cat.context,
        tuple(a.sentence for a in cat.associations),
        tuple(a.gold for a in cat.associations),
        (names or {}).get(cat.term, ()),
    )


def sample(report: Pitfalls, code: str, count: int, *, seed: int = 0) -> list[Pitfall]:
    """A random sample of a pitfall's hits.

    Args:
        report: the report of ``pitfalls``.
        code: the code of the pitfall.
        count: the size of the sample; 0 gives all hits.
        seed: the seed of the sample; the same seed gives the same sample.
    """
    hits = [hit for hit in report.hits if hit.code == code]
    return Random(seed).sample(hits, count) if 0 < count < len(hits) else hits  # noqa: S311


def counts(report: Pitfalls) -> dict[str, dict[str, list[int]]]:
    """Count and number of units by code and kind, in the form of ``data/rates``.

    Codes that were not checked are left out.
    """
    return {
        row.code: {
            "all": [row.count, row.of],
            **{kind: [count, of] for kind, (count, of, _) in row.kinds.items()},
        }
        for row in report.table
        if row.count is not None and row.of is not None
    }


@cache
def _stereoset() -> Rates:
    return read_json(shipped("data", "rates", "stereoset_dev.json"))["counts"]  # type: ignore[no-any-return]


def _of_cat(cat: Cat, finding: Finding) -> Pitfall:
    association = None if finding.at is None else cat.associations[finding.at].id
    about = {"item": cat.id, "association": association, "target": cat.target}
    return pitfall(finding.code, _name(cat), finding.detail, **about)


def _names(targets: Iterable[tuple[str, str]]) -> dict[str, list[tuple[list[str], str, str]]]:
    """Every target as (words, domain, target), grouped by its first word."""
    named = ((tokens_of(target), domain, target) for domain, target in targets)
    return grouped((words[0], (words, domain, target)) for words, domain, target in named if words)


def _other_targets(
    cat: ItemTexts,
    texts: Sequence[Sequence[str]],
    names: Mapping[str, list[tuple[list[str], str, str]]],
) -> list[Finding]:
    """The targets of other domains that the texts name, each once per CAT."""
    findings: list[Finding] = []
    reported: set[str] = set()
    own = tokens_of(cat.target)
    for at, tokens in enumerate(texts):
        for n, token in enumerate(tokens):
            for name, domain, target in names.get(token, ()):
                # A target that is part of the CAT's own, or also in its domain, does not count.
                foreign = domain != cat.domain and target not in reported
                if foreign and tokens[n : n + len(name)] == name and not set(name) <= set(own):
                    reported.add(target)
                    if not any(d == cat.domain and t == name for t, d, _ in names[token]):
                        detail = f"{target!r} is a target of the domain {domain!r}"
                        findings.append(Finding("other_target", at - 1 if at else None, detail))
    return findings


# --- the table ------------------------------------------------------------------------------


def _table(hits: Iterable[Pitfall], cats: Sequence[Cat], why: Mapping[str, str]) -> list[Row]:
    kind_of = {cat.id: cat.kind for cat in cats}
    of_kind = Counter(kind_of.values())
    units: dict[str, set[tuple[str, ...]]] = {code: set() for code in PITFALLS}
    places = Counter[str]()
    for hit in hits:
        places[hit.code] += 1
        units[hit.code].add(_unit(hit, PITFALLS[hit.code]))
    whole = {
        "target": len({(cat.domain, cat.target) for cat in cats}),
        "domain": len({cat.domain for cat in cats}),
        "dataset": 1 if cats else 0,
    }
    rows = []
    for code, about in PITFALLS.items():
        kinds: dict[Kind, tuple[int, int, float | None]] = {}
        if about.unit in ("cat", "option") and code not in why:
            affected = Counter(kind_of[unit[0]] for unit in units[code])
            for name, kind in ITEMS.items():
                if of_kind[name] and about.concerns(kind):
                    there = of_kind[name] * (kind.size if about.unit == "option" else 1)
                    kinds[name] = (affected[name], there, _rate_of(code, name))
        of = whole.get(about.unit, sum(n for _, n, _ in kinds.values()))
        count = None if code in why else len(units[code])
        rows.append(
            Row(
                code=code,
                severity=about.severity,
                unit=about.unit,
                count=count,
                of=None if code in why else of,
                rate=count / of if count is not None and of else None,
                stereoset=_standard(code, kinds),
                places=places[code],
                why=why.get(code),
                kinds=kinds,
            )
        )
    return rows


def _unit(hit: Pitfall, about: About) -> tuple[str, ...]:
    """The identity of the unit that a hit is in: the same for all hits in that unit."""
    if about.unit == "cat":
        return (hit.item or "",)
    if about.unit == "option":
        return (hit.item or "", hit.association or "")
    return (hit.where, hit.detail) if about.unit == "domain" else (hit.where,)


def _rate_of(code: str, kind: str) -> float | None:
    count, of = _stereoset().get(code, {}).get(kind, (0, 0))
    return count / of if of else None


def _standard(code: str, kinds: Mapping[Kind, tuple[int, int, float | None]]) -> float | None:
    """StereoSet's rate, weighted by this dataset's kinds; without kinds, its rate of all CATs."""
    rates = [(of, rate) for _, of, rate in kinds.values() if rate is not None]
    if not rates:
        return _rate_of(code, "all")
    return sum(of * rate for of, rate in rates) / sum(of for of, _ in rates)
