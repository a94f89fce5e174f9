"""Old results play no part: after any edits, bringing up to date gives what a clean start gives."""

import os
import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from curation import settings
from support import edits

HERE, OUTSIDE = range(5), range(5, 35)
"""The seeds of ``make test``, and those of ``make test-outside``; benchmarks/incremental.py: any."""


@pytest.fixture(scope="module")
def built(shared: Path, keys: Path) -> Path:
    """The campaign, built once for all workers."""
    folder, ready = shared / "edited", shared / "edited.ready"
    with FileLock(shared / "edited.lock"):
        if not ready.exists():
            shutil.rmtree(folder, ignore_errors=True)
            edits.build(folder / "campaign")
            ready.touch()
    return folder / "campaign"


@pytest.mark.long
@pytest.mark.parametrize(
    "seed", [*HERE, *(pytest.param(seed, marks=pytest.mark.outside) for seed in OUTSIDE)]
)
def test_incremental_equals_clean(built: Path, tmp_path: Path, seed: int) -> None:
    edits.play(built, tmp_path, seed)
