"""A release: dev and test in StereoSet's form, the annotations, a README, checksums."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from curation.records import KINDS, Annotation, Cat, SplitName
from curation.stereoset import dataset

ALGORITHM = 3
SPLITS: tuple[SplitName, ...] = ("dev", "test")


def split_files(
    cats: Sequence[Cat], annotations: pd.DataFrame, *, version: str
) -> dict[str, dict[str, Any]]:
    """The content of ``dev.json`` and ``test.json``.

    Args:
        cats: the CATs, in the order in which they stand in the files.
        annotations: rows of ``records.Annotation``; the counted ones go in.
        version: the release's version.
    """
    labels: dict[str, list[tuple[str, str]]] = defaultdict(list)
    counted = annotations[annotations["counted"]]
    for association, annotator, label in zip(
        counted["association_id"], counted["annotator"], counted["label"], strict=True
    ):
        labels[association].append((annotator, label))
    return {
        f"{split}.json": dataset(
            [cat for cat in cats if cat.split == split], labels, version=version
        )
        for split in SPLITS
    }


def annotations(cats: Sequence[Cat], labels: pd.DataFrame) -> pd.DataFrame:
    """The labels of the published CATs as a long table, one row a label.

    What a writer meant is not among them, also where it counted as a label.

    Args:
        cats: the published CATs.
        labels: rows of ``records.Label`` with the column ``code`` of ``filter.count``.

    Returns:
        The columns of ``records.Annotation``, in order of submission.
    """
    published = {a.id: cat.id for cat in cats for a in cat.associations}
    tiers = pd.Series({cat.id: cat.tier for cat in cats}, dtype="Int64")
    rows = labels[labels["association"].isin(list(published))]
    association = rows["association"].astype(object)
    table = pd.DataFrame(
        {
            "cat_id": association.map(published),
            "association_id": association,
            "annotator": rows["annotator"].astype(object),
            "label": rows["value"].astype(object),
            "round": rows["round"].astype(object),
            "counted": (rows["code"] == "").to_numpy(),
            "tier": association.map(published).map(tiers),
        }
    )
    return table[list(Annotation.model_fields)].reset_index(drop=True)


def how_decided(settings: Mapping[str, Any]) -> str:
    """How labels were counted, as a sentence; settings are those of ``[decisions]``."""
    sentence = (
        f"An association's gold label is the one that at least {settings['needed']} of its first "
        f"{settings['of']} labels by distinct annotators give"
    )
    if settings["count_repeats"]:
        sentence = sentence.replace(" by distinct annotators", ", repeated annotators included,")
    if settings["count_writer"]:
        sentence += ", the writer's intent, which is not published, being the first of them"
    sentence += "; an item is a CAT where the three are one of each"
    if settings["match_intent"]:
        sentence += " and what the writer meant"
    return sentence + "."


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
) -> str:
    """The release's README: what it is, how it came about, what is in it.

    Args:
        cats: the published CATs.
        annotations: the long table.
        name: the benchmark's name.
        version: the release's version.
        language: language code.
        licence: licence of the data.
        warning: the content warning.
        decisions: how labels were counted, as a sentence.
        accepted: known pitfalls that would have blocked the release, and how often they are there.
    """
    tally = Counter((cat.domain, cat.kind, cat.split) for cat in cats)
    terms = Counter(
        (domain, split) for domain, split, _ in {(cat.domain, cat.split, cat.term) for cat in cats}
    )
    lines = [
        f"# {name} {version}",
        "",
        f"> {warning}",
        "",
        f"Context Association Tests in the style of StereoSet, language `{language}`: "
        f"{len(cats)} CATs on {len({cat.term for cat in cats})} target terms.",
        "",
        "| domain | dev terms | test terms | "
        + " | ".join(f"{split} {kind}" for split in SPLITS for kind in KINDS)
        + " |",
        "|---" * (3 + 2 * len(SPLITS)) + "|",
    ]
    for domain in sorted({cat.domain for cat in cats}):
        cells = [str(terms[domain, split]) for split in SPLITS]
        cells += [str(tally[domain, kind, split]) for split in SPLITS for kind in KINDS]
        lines.append(f"| {domain} | {' | '.join(cells)} |")
    tiers = Counter(cat.tier for cat in cats)
    strict = [f"{tiers[n]} CATs of tier {n}" for n in (3, 4, 5) if tiers[n]]
    strict += [f"{tiers[None]} of unknown tier"] if tiers[None] else []
    lines += [
        "",
        "## Files",
        "",
        "- `dev.json`, `test.json`: StereoSet's format. The two share no target term; there is no",
        "  training part, because a model trained on the test's like is no longer measured by it.",
        f"- `annotations.csv`: {len(annotations)} labels by "
        f"{annotations['annotator'].nunique()} annotators under pseudonyms; `counted` says which",
        "  of them made the gold label.",
        "- `SHA256SUMS`: check with `sha256sum -c SHA256SUMS`.",
        "",
        "## How it was made",
        "",
        decisions,
        "",
        "`tier` is the fewest votes that one of a CAT's three gold labels has. It is unknown where",
        f"an association does not have exactly five counted labels. {', '.join(strict)}.",
        "",
        *_known(accepted),
        f"Licence of the data: {licence}.",
        "",
    ]
    return "\n".join(lines)
