"""The split: whole families of terms, with a quarter of each domain's terms in dev."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from curation.records import Cat, CatAssociation, Decision, Fields, Item, SplitName, Term
from curation.text.rules import grouped, tier


def assign(
    terms: Iterable[Term],
    *,
    dev: float = 0.25,
    seed: int = 1,
    keep: Mapping[str, SplitName] | None = None,
) -> dict[str, SplitName]:
    """Assign each term to dev or test.

    In each domain, ``dev`` times the number of its terms go to dev, rounded to the nearest number
    (a half is rounded up). Families are never divided. They are drawn in an order that depends only
    on the seed and on their names, and each goes to dev while it fits. If a gap remains, a
    family that makes the gap smaller goes to dev too.

    A family with a term in ``keep`` is not drawn. It goes to dev if one of these terms was there,
    since dev is known to everybody, and else to test.

    Args:
        terms: the terms that have CATs, each with its family.
        dev: the share of each domain's terms in dev.
        seed: the seed of the draw.
        keep: the split of terms in an earlier version, by their ids.

    Returns:
        The split of each term, by its id.

    >>> terms = [Term(id=w, text=w, domain="d", family=w) for w in "abcdefgh"]
    >>> sorted(assign(terms).values())
    ['dev', 'dev', 'test', 'test', 'test', 'test', 'test', 'test']
    """
    terms = list(terms)
    families = grouped((term.family or term.id, term) for term in terms)
    wanted = {domain: wanted_terms(size, dev) for domain, size in _domains(terms).items()}
    got = Counter[str]()
    side: dict[str, SplitName] = {t.id: "test" for family in families.values() for t in family}

    def shortfall(family: Sequence[Term]) -> int:
        """How much closer the domains get to the wanted numbers with this family in dev."""
        lack = {domain: wanted[domain] - got[domain] for domain in wanted}
        return sum(abs(lack[d]) - abs(lack[d] - n) for d, n in _domains(family).items())

    def fits(family: Sequence[Term]) -> bool:
        return all(got[d] + n <= wanted[d] for d, n in _domains(family).items())

    def take(name: str) -> None:
        side.update((term.id, "dev") for term in families[name])
        got.update(_domains(families[name]))

    kept = {
        name: {keep[term.id] for term in family if term.id in keep}
        for name, family in families.items()
        if keep
    }
    for name, splits in kept.items():
        if "dev" in splits:
            take(name)
    free = (name for name in families if not kept.get(name))
    drawn = sorted(free, key=lambda name: _lot(seed, name))
    for whole in (True, False):
        for name in drawn:
            family = families[name]
            if side[family[0].id] == "test" and (fits(family) if whole else shortfall(family) > 0):
                take(name)
    return side


def _domains(terms: Iterable[Term]) -> Counter[str]:
    return Counter(term.domain for term in terms)


def wanted_terms(terms: int, dev: float) -> int:
    """The number of a domain's terms in dev, rounded to the nearest number, a half up.

    >>> [wanted_terms(n, 0.25) for n in (1, 2, 3, 40, 149)]
    [0, 1, 1, 10, 37]
    """
    return math.floor(round(terms * dev, 9) + 0.5)


def _lot(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed}\x1f{name}".encode()).hexdigest()


def split_cats(
    items: Iterable[Item],
    decisions: Iterable[Decision],
    terms: Iterable[Term],
    *,
    dev: float = 0.25,
    seed: int = 1,
    keep: Mapping[str, SplitName] | None = None,
) -> list[Cat]:
    """The kept items as CATs, each with its split and its tier (``rules.tier``).

    Args:
        items: all items.
        decisions: one per item.
        terms: the campaign's terms.
        dev: the share of each domain's terms in dev.
        seed: the seed of the draw.
        keep: the split of terms in an earlier version, by their ids.

    Raises:
        KeyError: a kept item's term is not among the terms.
    """
    kept = {d.item: d for d in decisions if d.kept}
    by_id = {term.id: term for term in terms}
    chosen = [item for item in items if item.id in kept]
    used = {item.term for item in chosen}
    side = assign((by_id[t] for t in sorted(used)), dev=dev, seed=seed, keep=keep)
    made = []
    for item in chosen:
        term, verdicts = by_id[item.term], kept[item.id].verdicts
        golds = [v.gold for v in verdicts if v.gold is not None]
        options = [
            CatAssociation(id=association.id, sentence=association.sentence, gold=gold)
            for association, gold in zip(item.associations, golds, strict=True)
        ]
        if any(association.intent for association in item.associations):
            # Written items have the order of the form, which would reveal the writer's intent.
            options.sort(key=lambda option: option.id)
        made.append(
            Cat(
                id=item.id,
                kind=item.kind,
                domain=term.domain,
                term=term.id,
                target=term.text,
                family=term.family or term.id,
                split=side[term.id],
                context=item.context,
                associations=tuple(options),
                tier=tier([v.votes for v in verdicts], golds),
                target_original=item.target_original,
            )
        )
    return made


def split_report(cats: Sequence[Cat], *, dev: float = 0.25) -> Fields:
    """The number of terms and CATs in dev and test by domain, and why a share is not exact.

    Args:
        cats: the CATs, each with its split.
        dev: the share of each domain's terms that should be in dev.

    Returns:
        ``{"domains": {name: {"terms", "dev_terms", "wanted", "exact", "test_terms", "dev_cats",
        "test_cats", "moved_by"}}, "families": [[texts]]}``. ``exact`` is the wanted number before
        rounding. ``moved_by`` has "rounding", "families", both or neither.
    """
    domains: Fields = {}
    for domain in sorted({cat.domain for cat in cats}):
        of_domain = [cat for cat in cats if cat.domain == domain]
        terms = {cat.term: cat.split for cat in of_domain}
        in_dev = sum(side == "dev" for side in terms.values())
        wanted, exact = wanted_terms(len(terms), dev), len(terms) * dev
        moved = ["rounding"] if not math.isclose(wanted, exact) else []
        moved += ["families"] if in_dev != wanted else []
        domains[domain] = {
            "terms": len(terms),
            "exact": exact,
            "wanted": wanted,
            "dev_terms": in_dev,
            "test_terms": len(terms) - in_dev,
            "dev_cats": sum(cat.split == "dev" for cat in of_domain),
            "test_cats": sum(cat.split == "test" for cat in of_domain),
            "moved_by": moved,
        }
    families = grouped(dict.fromkeys((cat.family, cat.target) for cat in cats))
    together = sorted(sorted(texts) for texts in families.values() if len(texts) > 1)
    return {"domains": domains, "families": together}
