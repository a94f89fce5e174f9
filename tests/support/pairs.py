"""Made-up pairs of sentences, and files of scores for them."""

from collections.abc import Mapping
from pathlib import Path

from curation.kinds import Direction
from curation.records import Cat, CatAssociation


def pair(
    name: str,
    target: str,
    more: str = "Old men sing.",
    less: str = "Young men sing.",
    *,
    domain: str = "age",
    direction: Direction | None = "stereo",
) -> Cat:
    """A pair with associations «NAMEs», its stereotype, and «NAMEa»."""
    return Cat(
        id=name, kind="pair", domain=domain, term=f"{domain}/{target}", target=target,
        family=target, split="test", context="", direction=direction,
        associations=(
            CatAssociation(id=f"{name}s", sentence=more, gold="stereotype"),
            CatAssociation(id=f"{name}a", sentence=less, gold="anti-stereotype"),
        ),
    )  # fmt: skip


def scores(**of: tuple[float, float]) -> dict[str, float]:
    """Scores by the scores of each pair's stereotype and anti-stereotype."""
    return {
        f"{name}{end}": value
        for name, two in of.items()
        for end, value in zip("sa", two, strict=True)
    }


def write_scores(path: Path, values: Mapping[str, float]) -> Path:
    """A file of predictions with these scores."""
    rows = [f"{name},{value}" for name, value in values.items()]
    path.write_text("\n".join(["id,score", *rows]) + "\n")
    return path
