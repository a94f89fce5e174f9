"""Dawid and Skene's model equals that of crowd-kit.

crowd-kit asks for transformers, pyarrow and nltk: ``support/crowd_kit_process.py`` runs in an
environment of its own (about 780 MB). ``$CURATION_CROWD_KIT`` names the python of another one.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from curation.rounds.quality import dawid_skene
from support import environments
from support.annotators import make
from support.environments import Process

pytestmark = pytest.mark.environment
SCRIPT = Path(__file__).parents[1] / "support" / "crowd_kit_process.py"


@pytest.fixture(scope="module")
def crowd_kit() -> Iterator[Process]:
    python = environments.python("crowd-kit", ("crowd-kit==1.4.2",), named="CURATION_CROWD_KIT")
    with Process([python, "-P", SCRIPT], {}) as process:
        yield process


def test_after_each_step_the_model_is_that_of_crowd_kit(crowd_kit: Process) -> None:
    labels = make({"random": 10, "fixed label": 10, "careless": 20}, tasks=6).labels
    unit, who, value = (
        np.unique(labels[name], return_inverse=True)[1].astype(np.int64)
        for name in ("association", "annotator", "value")
    )
    request = {"task": unit.tolist(), "worker": who.tolist(), "label": value.tolist()}
    for steps in (1, 2, 30):
        ours = dawid_skene(unit, who, value, iterations=steps, tolerance=-np.inf)
        theirs = crowd_kit.ask({**request, "steps": steps})
        for mine, name in zip(ours, ("chance", "share", "errors"), strict=True):
            np.testing.assert_allclose(mine, theirs[name], rtol=1e-6, atol=1e-8, err_msg=name)
