"""Which known pitfalls a dataset falls into, beside StereoSet's own development set.

The checks of one item stand in ``checks.surface`` and, where they need more than its form, in
``checks.lexical``; those of the whole dataset in ``measures.repeats``. What cannot be checked in
a language has no count, and says why.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from curation.checks import lexical
from curation.checks.codes import PITFALLS, About, pitfall
from curation.checks.content import meta_patterns
from curation.checks.lists import lists
from curation.checks.surface import Asked, Finding, check, read, unchecked
from curation.files import read_json, shipped
from curation.measures import repeats
from curation.records import KINDS, Cat, Kind, Pitfall, Severity

ALGORITHM = 4
DATASET = "the dataset"

Tell = Callable[[str, int, int], None]
Rates = Mapping[str, Mapping[str, Sequence[int]]]


@dataclass(frozen=True)
class Row:
    """How often a pitfall was found.

    ``count`` is of units and ``of`` how many there are; both, and ``rate``, are None where it was
    not checked, and ``why`` says why. ``places`` counts every place, several of which can lie in
    one unit. ``stereoset`` is the rate of StereoSet's development set, with the kinds of CAT in the
    proportion that they have here; ``kinds`` has count, of and StereoSet's rate by kind.
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
class Report:
    """What was found, place by place, and how often, by code in the order of ``PITFALLS``."""

    language: str
    cats: int
    found: list[Pitfall]
    table: list[Row]

    def blocking(self, accept: Iterable[str] = ()) -> list[str]:
        """The codes that were found and stop a release, without those that a team accepts."""
        return [
            row.code
            for row in self.table
            if row.severity == "block" and row.count and row.code not in set(accept)
        ]


def pitfalls(
    cats: Sequence[Cat],
    *,
    language: str,
    where: Callable[[Cat], str] | None = None,
    own: Path | None = None,
    names: Mapping[str, tuple[str, ...]] | None = None,
    off: Mapping[str, str] | None = None,
    tell: Tell = lambda stage, done, total: None,
) -> Report:
    """Look for every pitfall of ``codes.PITFALLS``.

    Args:
        cats: the dataset, in the order of its file.
        language: language code of the texts.
        where: a CAT's place as a person finds it; by default its id.
        own: word lists of the team, with the columns of ``data/words/pitfalls.csv``.
        names: other names of a target, by its term's id; a context may name it by these.
        off: pitfalls that are not looked for, and why.
        tell: called with stage, done and total as the work goes on.

    Raises:
        CurationError: ``own`` cannot be read; names the line.
    """
    place = where or (lambda cat: f"CAT {cat.id}")
    words = lists(language, own)
    targets = list(dict.fromkeys((cat.domain, cat.target) for cat in cats))
    lexicon, why = lexical.lexicon(words, targets)
    why |= unchecked(words) | dict(off or {})
    meta = meta_patterns(language)
    others = _names(targets)
    found: list[Pitfall] = []
    for n, cat in enumerate(cats):
        if n % 500 == 0:
            tell("texts", n, len(cats))
        item = asked(cat)._replace(also=(names or {}).get(cat.term, ()))
        what = read(item, words)
        seen = check(what, meta=meta)
        seen += lexical.check(what, lexicon)
        if "other_target" not in why:
            seen += _other_targets(cat, what.tokens, others)
        found += (_of_cat(cat, one, place(cat)) for one in seen if one.code not in why)
    tell("texts", len(cats), len(cats))
    for n, check_whole in enumerate(repeats.CHECKS):
        tell("dataset", n, len(repeats.CHECKS))
        for at, one in check_whole(cats):
            found.append(_of_cat(cats[at], one, place(cats[at])))
    for domain, target, code, detail in [
        *repeats.uneven_terms(cats),
        *lexical.check_targets(targets, lexicon),
    ]:
        found.append(pitfall(code, f"target {target} of {domain}", detail, target=target))
    for code, detail in [*repeats.uneven_domains(cats), *repeats.leaks(cats)]:
        found.append(pitfall(code, DATASET, detail))
    tell("dataset", len(repeats.CHECKS), len(repeats.CHECKS))
    return Report(language, len(cats), found, _table(found, cats, why))


def asked(cat: Cat) -> Asked:
    """A CAT as the checks of one item take it."""
    a, b, c = cat.associations
    sentences = (a.sentence, b.sentence, c.sentence)
    golds = (a.gold, b.gold, c.gold)
    return Asked(cat.kind, cat.domain, cat.target, cat.context, sentences, golds)


def sample(report: Report, code: str, count: int, *, seed: int = 0) -> list[Pitfall]:
    """Places of a pitfall, drawn at random; the same seed draws the same. 0 gives all of them."""
    found = [one for one in report.found if one.code == code]
    return Random(seed).sample(found, count) if 0 < count < len(found) else found  # noqa: S311


def counts(report: Report) -> dict[str, dict[str, list[int]]]:
    """Count and number of units by code and kind, as ``data/rates`` holds them; checked ones."""
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


def _of_cat(cat: Cat, found: Finding, where: str) -> Pitfall:
    association = None if found.at is None else cat.associations[found.at].id
    return pitfall(
        found.code, where, found.detail, item=cat.id, association=association, target=cat.target
    )


def _names(targets: Iterable[tuple[str, str]]) -> dict[str, list[tuple[list[str], str, str]]]:
    """The words of every target with its domain and name, by the first of them."""
    found: dict[str, list[tuple[list[str], str, str]]] = {}
    for domain, target in targets:
        if tokens := repeats.tokens(target):
            found.setdefault(tokens[0], []).append((tokens, domain, target))
    return found


def _other_targets(
    cat: Cat,
    texts: Sequence[Sequence[str]],
    names: Mapping[str, list[tuple[list[str], str, str]]],
) -> list[Finding]:
    """The first target of another domain that each text names; what the context names, once."""
    found: list[Finding] = []
    said: set[str] = set()
    own = repeats.tokens(cat.target)
    for at, tokens in enumerate(texts):
        for n, token in enumerate(tokens):
            for name, domain, target in names.get(token, ()):
                # A target within the own one, or of both domains, is its own.
                foreign = domain != cat.domain and target not in said
                if foreign and tokens[n : n + len(name)] == name and not set(name) <= set(own):
                    said.add(target)
                    if not any(d == cat.domain and t == name for t, d, _ in names[token]):
                        detail = f"{target!r} is a target of {domain!r}"
                        found.append(Finding("other_target", at - 1 if at else None, detail))
    return found


# --- the table ------------------------------------------------------------------------------


def _table(found: Iterable[Pitfall], cats: Sequence[Cat], why: Mapping[str, str]) -> list[Row]:
    kind_of = {cat.id: cat.kind for cat in cats}
    units: dict[str, set[tuple[str, ...]]] = {code: set() for code in PITFALLS}
    places = Counter[str]()
    for one in found:
        places[one.code] += 1
        units[one.code].add(_unit(one, PITFALLS[one.code]))
    of_kind = Counter(cat.kind for cat in cats)
    whole = {
        "target": len({(cat.domain, cat.target) for cat in cats}),
        "domain": len({cat.domain for cat in cats}),
        "dataset": 1 if cats else 0,
    }
    rows = []
    for code, about in PITFALLS.items():
        kinds: dict[Kind, tuple[int, int, float | None]] = {}
        if about.unit in ("cat", "option") and code not in why:
            hits = Counter(kind_of[unit[0]] for unit in units[code])
            times = 3 if about.unit == "option" else 1
            for kind in KINDS:
                if of_kind[kind] and about.kind in (None, kind):
                    kinds[kind] = (hits[kind], times * of_kind[kind], _rate_of(code, kind))
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


def _unit(found: Pitfall, about: About) -> tuple[str, ...]:
    """What a finding is counted as: the same of two findings in one unit."""
    if about.unit == "cat":
        return (found.item or "",)
    if about.unit == "option":
        return (found.item or "", found.association or "")
    return (found.where, found.detail) if about.unit == "domain" else (found.where,)


def _rate_of(code: str, kind: str) -> float | None:
    count, of = _stereoset().get(code, {}).get(kind, (0, 0))
    return count / of if of else None


def _standard(code: str, kinds: Mapping[Kind, tuple[int, int, float | None]]) -> float | None:
    """StereoSet's rate with the kinds weighted as here; where there are none, its rate of all."""
    rates = [(of, rate) for _, of, rate in kinds.values() if rate is not None]
    if not rates:
        return _rate_of(code, "all")
    return sum(of * rate for of, rate in rates) / sum(of for of, _ in rates)
