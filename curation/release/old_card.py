"""The card of a release as it was before ``card.card``; it goes when the build writes that one."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

import pandas as pd

from curation.records import KINDS, Cat
from curation.release.contents import SPLITS
from curation.release.markdown import inline
from curation.wording import amount


def _decided(decisions: str, without_votes: Collection[str], cats: Sequence[Cat]) -> list[str]:
    """How gold labels were decided; CATs that have no votes are named with their number."""
    count = sum(cat.id in without_votes for cat in cats)
    if not count:
        return [decisions, ""]
    have = "has no votes" if count == 1 else "have no votes"
    which = "All" if count == len(cats) else f"{count:,} of"
    agreement = (
        "so there is no agreement between annotators to report."
        if count == len(cats)
        else "and agreement between annotators is about the other CATs only."
    )
    trusted = (
        f"**{which} {amount(len(cats), 'CAT')} {have}.** Nobody labelled them for this release, "
        "and nobody's votes confirm their gold labels: these are the gold labels of the data that "
        "the CATs were published in before. They have no rows in `annotations.csv`, " + agreement
    )
    return [trusted, ""] if count == len(cats) else [decisions, "", trusted, ""]


def _labels(annotations: pd.DataFrame) -> list[str]:
    if annotations.empty:
        return ["- `annotations.csv`: a header only, because there are no labels."]
    return [
        f"- `annotations.csv`: {amount(len(annotations), 'label')} by "
        f"{amount(annotations['annotator'].nunique(), 'annotator')} under pseudonyms; `counted` "
        "says which",
        "  labels decided the gold label.",
    ]


def _translated(cats: Sequence[Cat], annotations: pd.DataFrame) -> list[str]:
    """What users must know of CATs that were translated from another dataset."""
    translated = {cat.id for cat in cats if cat.target_original is not None}
    if not translated:
        return []
    splits: dict[tuple[str, str], set[str]] = defaultdict(set)
    for cat in cats:
        splits[cat.domain, cat.target_original or cat.target].add(cat.split)
    both = sum(len(of) > 1 for of in splits.values())
    shared = (
        f" {amount(both, 'original target is', 'original targets are')} in both files, under "
        "different translations."
    )
    votes = " Labels that came with that dataset may be about the texts before translation."
    return [
        f"{amount(len(translated), 'CAT was', 'CATs were')} translated from another dataset; "
        "`target_original` is the target there."
        + (shared if both else "")
        + (votes if annotations["cat_id"].isin(translated).any() else ""),
        "",
    ]


def _known(accepted: Mapping[str, int]) -> list[str]:
    if not accepted:
        return []
    named = ", ".join(f"`{code}` {count}" for code, count in accepted.items())
    return [f"Known pitfalls that the team accepts: {named}.", ""]


def readme(
    cats: Sequence[Cat],
    annotations: pd.DataFrame,
    *,
    name: str,
    version: str,
    language: str,
    licence: str,
    warning: str,
    decisions: str,
    accepted: Mapping[str, int],
    other_licences: Mapping[str, int],
    without_votes: Collection[str] = (),
) -> str:
    """The release's README: what the release is, what it contains and how it was made.

    Args:
        cats: the published CATs.
        annotations: the long table.
        name: the benchmark's name.
        version: the release's version.
        language: the language code.
        licence: the licence of the data.
        warning: the content warning.
        decisions: how labels were counted, as from ``how_decided``.
        accepted: accepted pitfalls that would have blocked the release, and how often they occur.
        other_licences: other licences, and how many annotators agreed to each.
        without_votes: ids of the CATs that have no votes.
    """
    tally = Counter((cat.domain, cat.kind, cat.split) for cat in cats)
    terms = Counter(
        (domain, split) for domain, split, _ in {(cat.domain, cat.split, cat.term) for cat in cats}
    )
    lines = [
        f"# {inline(name)} {inline(version)}",
        "",
        f"> {warning}",
        "",
        f"Context Association Tests in the style of StereoSet, language `{language}`: "
        f"{amount(len(cats), 'CAT')} on {amount(len({cat.term for cat in cats}), 'target term')}.",
        "",
        "| domain | dev terms | test terms | "
        + " | ".join(f"{split} {kind}" for split in SPLITS for kind in KINDS)
        + " |",
        "|---" * (3 + 2 * len(SPLITS)) + "|",
    ]
    for domain in sorted({cat.domain for cat in cats}):
        cells = [str(terms[domain, split]) for split in SPLITS]
        cells += [str(tally[domain, kind, split]) for split in SPLITS for kind in KINDS]
        lines.append(f"| {inline(domain)} | {' | '.join(cells)} |")
    tiers = Counter(cat.tier for cat in cats)
    strict = [f"{amount(tiers[n], 'CAT')} of tier {n}" for n in (3, 4, 5) if tiers[n]]
    strict += [f"{amount(tiers[None], 'CAT')} of unknown tier"] if tiers[None] else []
    lines += [
        "",
        "## Files",
        "",
        "- `dev.json`, `test.json`: StereoSet's format. The two files share no target term. There",
        "  is no training set: a test does not measure a model that was trained on similar texts.",
        *_labels(annotations),
        "- `SHA256SUMS`: check with `sha256sum -c SHA256SUMS`.",
        "",
        "## How it was made",
        "",
        *_translated(cats, annotations),
        *_decided(decisions, without_votes, cats),
        "`tier` is the smallest number of votes of a CAT's three gold labels. It is unknown if an",
        f"association does not have exactly five counted labels. {', '.join(strict)}.",
        "",
        *_known(accepted),
        f"Licence of the data: {inline(licence)}.",
        *(
            f"Annotators who agreed to another licence, {inline(other)}: {people}."
            for other, people in other_licences.items()
        ),
        "",
    ]
    return "\n".join(lines)
