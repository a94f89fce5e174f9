"""Whether an endpoint gives the same log-probabilities if it gets the same texts again."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from curation.files import CurationError
from curation.models.endpoint.echoes import BOUND
from curation.records import Cat
from curation.scores.run_folder import note, read_run, set_aside_run

if TYPE_CHECKING:
    from curation.models.endpoint.client import Repeats

CATS = 64  # of each command; fewer could miss that only long texts differ
UNSTEADY = "the endpoint gives other log-probabilities if it gets the same texts again"


def draw(cats: Sequence[Cat], *, seed: int) -> list[str]:
    """The ids of the CATs whose texts an endpoint gets three times: all, or ``CATS`` of them."""
    ids = [cat.id for cat in cats]
    return Random(seed).sample(ids, min(CATS, len(ids)))  # noqa: S311


def set_aside_unsteady(folder: Path, repeats: "Repeats", *, seed: int) -> Path | None:
    """Write to ``run.json`` how far answers to the same texts are apart.

    Args:
        folder: the run's folder, locked.
        repeats: of the texts of one shard.
        seed: the seed of ``draw``.

    Returns:
        None if all can be rounding; otherwise the folder in ``superseded/`` to which the run is
        moved. It is not used again, because ``run.json`` has ``unsteady``.
    """
    before = read_run(folder).get("repeats", {})
    result = {
        "texts": before.get("texts", 0) + repeats.texts,
        "largest": max(before.get("largest", 0.0), repeats.largest),
        "bound": BOUND,
        "seed": seed,
    }
    if repeats.largest <= BOUND:
        note(folder, repeats=result)
        return None
    note(folder, repeats=result, unsteady=UNSTEADY)
    return set_aside_run(folder)


def unsteady(model: str, repeats: "Repeats", aside: Path) -> CurationError:
    """The error for a run that ``set_aside_unsteady`` has moved."""
    return CurationError(
        f"{model}: {UNSTEADY}: up to {repeats.largest:,.2f} nats per token, and rounding explains "
        f"at most {BOUND:g}; the scores are now in {aside}",
        "switch off the server's cache of prefixes (start vLLM with --no-enable-prefix-caching), "
        "and run the command again",
    )
