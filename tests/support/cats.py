"""CATs for tests: made up in a line, or StereoSet's development set where it is at hand."""

import json
from collections.abc import Sequence
from pathlib import Path

from curation.kinds import GOLDS, Direction, Gold, Kind
from curation.records import Cat, CatAssociation

REAL = Path(__file__).parents[3] / "shared" / "realdata" / "stereoset"


def cat(
    context: str,
    *sentences: str,
    name: str = "c",
    kind: Kind = "intersentence",
    domain: str = "profession",
    target: str = "baker",
    golds: Sequence[Gold] = GOLDS,
) -> Cat:
    """A CAT with associations «c0», «c1», «c2»: stereotype, anti-stereotype, unrelated."""
    a, b, c = (
        CatAssociation(id=f"{name}{n}", sentence=sentence, gold=gold)
        for n, (sentence, gold) in enumerate(zip(sentences, golds, strict=True))
    )
    return Cat(
        id=name, kind=kind, domain=domain, term=target, target=target, family=target,
        split="test", context=context, associations=(a, b, c),
    )  # fmt: skip


def pair(more: str, less: str, *, name: str = "p", direction: Direction | None = "stereo") -> Cat:
    """A pair with associations «p0» (the stereotype) and «p1»."""
    both = tuple(
        CatAssociation(id=f"{name}{n}", sentence=sentence, gold=gold)
        for n, (sentence, gold) in enumerate(zip((more, less), GOLDS[:2], strict=True))
    )
    return Cat(
        id=name, kind="pair", domain="profession", term="baker", target="baker", family="baker",
        split="test", context="", associations=both, direction=direction,
    )  # fmt: skip


def intra(
    context: str, *words: str, name: str = "c", domain: str = "profession", target: str = "baker"
) -> Cat:
    """An intrasentence CAT whose BLANK these words fill."""
    sentences = [context.replace("BLANK", word) for word in words]
    return cat(context, *sentences, name=name, kind="intrasentence", domain=domain, target=target)


def reworded(old: Cat, sentence: str) -> Cat:
    """The CAT with another sentence as its first association."""
    first, *rest = old.associations
    three = (first.model_copy(update={"sentence": sentence}), *rest)
    return old.model_copy(update={"associations": three})


def relabelled(old: Cat, *golds: Gold) -> Cat:
    """The CAT with these gold labels of its associations, in their order."""
    pairs = zip(old.associations, golds, strict=True)
    three = tuple(a.model_copy(update={"gold": gold}) for a, gold in pairs)
    return old.model_copy(update={"associations": three})


def development_set() -> list[Cat]:
    """All 4,229 CATs of StereoSet's development set, their associations in the order of GOLDS."""
    rows = map(json.loads, (REAL / "dev_cats.jsonl").read_text("utf-8").splitlines())
    return [
        cat(
            row["context"],
            *(row[gold] for gold in GOLDS),
            name=row["id"],
            kind="intrasentence" if "BLANK" in row["context"] else "intersentence",
            domain=row["bias_type"],
            target=row["target"],
        )
        for row in rows
    ]
