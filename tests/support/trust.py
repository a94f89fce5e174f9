"""A made-up campaign with ``[groups.people]``, and texts and word vectors to measure.

The groups are invented peoples of the hills, the lakes and the moors; the targets are jobs. In
``LEAN`` each job leans to one people, by a share of its own, so that a measure's order is known.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from curation.campaign.settings import (
    CampaignSettings,
    GroupSettings,
    Settings,
    TrustSettings,
    new_id,
)
from curation.campaign.store import Campaign, create_campaign

Vectors = tuple[list[str], NDArray[np.float64]]

NAME = "people"
"""The name of the groups: ``[groups.people]``."""
GROUPS: Mapping[str, tuple[str, ...]] = {
    "hill": ("hill", "hills", "ridge", "summit", "slope", "cliff"),
    "lake": ("lake", "lakes", "shore", "harbour", "island", "reed"),
    "moor": ("moor", "moors", "heath", "heather", "peat", "marsh"),
}
"""Six words of each group; the groups of a campaign are the first k."""
LEAN: Mapping[str, float] = {
    "weaver": 0.05,
    "potter": 0.2,
    "miller": 0.3,
    "carpenter": 0.45,
    "clerk": 0.55,
    "gardener": 0.7,
    "baker": 0.8,
    "sailor": 0.95,
}
"""The jobs, and the share of the lakes in what is said of each; the rest are the other peoples'."""
ANCHORS = {job: "lake" if lean > 0.5 else "hill" for job, lean in LEAN.items()}


def shares(job: str, k: int = 2) -> tuple[float, ...]:
    """The shares of a job's associations with the first k groups.

    >>> shares("potter"), shares("potter", 3)
    ((0.8, 0.2), (0.4, 0.2, 0.4))
    """
    lake = LEAN[job]
    other = (1 - lake) / (k - 1)
    return tuple(lake if name == "lake" else other for name in list(GROUPS)[:k])


def campaign_with_groups(
    folder: Path, *, k: int = 2, trust: TrustSettings | None = None, anchors: bool = True
) -> Campaign:
    """A new campaign in ``folder / "campaign"`` with the groups, targets, anchors and outcomes.

    Args:
        folder: any folder.
        k: the number of groups, 2 or 3.
        trust: the table [trust].
        anchors: whether the groups have anchors and outcomes.
    """
    names = list(GROUPS)[:k]
    tables = {"anchors": "anchors.csv", "outcomes": "outcomes.csv"} if anchors else {}
    lists = {name: f"{name}.txt" for name in names}
    groups = {NAME: GroupSettings(lists=lists, targets="jobs.csv", **tables)}
    own, trust = CampaignSettings(id=new_id()), trust or TrustSettings(samples=20)
    settings = Settings(campaign=own, groups=groups, trust=trust)
    campaign = create_campaign(folder / "campaign", settings)
    campaign.folder("trust").mkdir(exist_ok=True)
    files = {f"{name}.txt": "\n".join(GROUPS[name]) for name in names}
    files["jobs.csv"] = "\n".join(["target,also", *(f"{job},{job}s" for job in LEAN)])
    if anchors:
        files["anchors.csv"] = "\n".join(["target,group", *(map(",".join, ANCHORS.items()))])
        rows = [",".join([job, *map(str, shares(job, k))]) for job in LEAN]
        files["outcomes.csv"] = "\n".join([",".join(["target", *names]), *rows])
    for name, text in files.items():
        (campaign.folder("trust") / name).write_text(text + "\n", "utf-8")
    return campaign


def texts(k: int = 2, *, documents: int = 20) -> list[str]:
    """Documents of three short sentences; each names a job and one word of one people.

    Of every 20 documents on a job, a share has words of the lakes: its ``LEAN``, exactly.
    """
    found = []
    for job in LEAN:
        seats = np.cumsum([round(share * documents * (k - 1)) for share in shares(job, k)])
        for n in range(documents):
            group = int(np.searchsorted(seats, n * (k - 1), side="right"))
            words = list(GROUPS.values())[min(group, k - 1)]
            place = words[n % len(words)]
            found.append(f"It was noon. The {job} walked to the {place} and sang. Rain fell.")
    return found


def write_texts(folder: Path, k: int = 2, *, documents: int = 20, files: int = 2) -> list[Path]:
    """Write ``texts`` as text files with an empty line between documents."""
    folder.mkdir(parents=True, exist_ok=True)
    every = texts(k, documents=documents)
    paths = [folder / f"texts-{n}.txt" for n in range(files)]
    for n, path in enumerate(paths):
        path.write_text("\n\n".join(every[n::files]) + "\n", "utf-8")
    return paths


def vectors(k: int = 2, *, dimensions: int = 16, noise: float = 0.05, seed: int = 0) -> Vectors:
    """Word vectors in which a job is the mean of the peoples' directions, weighted by its shares.

    All cosines are positive, and a job's associations are in the order of ``LEAN``.

    Returns:
        The words, and an array of shape (words, dimensions).
    """
    draws = np.random.default_rng(seed)
    axes = np.eye(k, dimensions)
    groups = list(GROUPS.items())[:k]
    words = [word for _, each in groups for word in each]
    rows = [axes[j] for j, (_, each) in enumerate(groups) for _ in each]
    for job in LEAN:
        words += [job, f"{job}s"]
        rows += [np.array(shares(job, k)) @ axes] * 2
    array = np.array(rows) + noise * np.abs(draws.normal(size=(len(rows), dimensions)))
    return words, array


def write_glove(path: Path, k: int = 2) -> Path:
    """Write ``vectors`` in the format of GloVe: a word and its numbers on each line."""
    rows = zip(*vectors(k), strict=True)
    lines = [" ".join([word, *(f"{number:.6f}" for number in row)]) for word, row in rows]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path
