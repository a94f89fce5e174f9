"""No step reads what it does not declare: not a file, not whether one exists, not a folder.

Each step runs under the hooks of ``support/hooks``.
"""

import hashlib
from pathlib import Path

import pytest

from curation.pipeline import PRIVATE_PAGES, STEPS
from support.commands import ROOT
from support.touched import touched
from support.written import beside

pytestmark = pytest.mark.outside
VERSIONS = {step.name: step.version for step in (*STEPS, PRIVATE_PAGES)}
SHIPPED = beside(__file__)


@pytest.mark.parametrize("name", VERSIONS)
def test_a_step_touches_what_its_datasets_are_made_of(finished: Path, name: str) -> None:
    found = touched(finished, name)
    assert found.undeclared == []
    sha = hashlib.sha256()
    for path in found.shipped:
        sha.update(path.encode() + b"\0" + (ROOT / path).read_bytes() + b"\0")
    known = SHIPPED.get(name, {"version": VERSIONS[name], "sha256": hashlib.sha256().hexdigest()})
    assert {"version": VERSIONS[name], "sha256": sha.hexdigest()} == known, (
        f"texts that the step {name} reads have changed: {found.shipped}. If its results change, "
        "raise its version; then write the new values into test_behind.toml"
    )


ASKS = {
    "the time": "curation.rounds.status.now()",
    "the network": "socket.create_connection(('127.0.0.1', 9))",
    "the environment": "os.environ.get('CURATION_CACHE')",
}


@pytest.mark.parametrize("asked", ASKS)
def test_a_step_cannot_ask_for(finished: Path, asked: str) -> None:
    with pytest.raises(AssertionError, match="a step asks for the time, the network"):
        touched(finished, "split", PLANT.format(plant=ASKS[asked]))


PLANTS = {
    "a hidden open": "open('5-scores/tiny-gpt/ll-bos_conditional/run.json').close()",
    "exists()": "Path('6-trust/attest.toml').exists()",
    "a listing": "os.listdir('5-scores/tiny-gpt')",
    "a worker's read": "map_shards(hidden, ['6-trust/report.json'] * 2, workers=2)",
}
PLANT = """
import os
import socket
from dataclasses import replace
from pathlib import Path
from support.in_worker import hidden
import curation.decisions.steps
from curation.work.engine import map_shards

work = steps["split"].work

def planted(campaign, out):
    {plant}
    return work(campaign, out)

steps["split"] = replace(steps["split"], work=planted)
"""


@pytest.mark.parametrize("plant", PLANTS)
def test_what_a_step_reads_behind_its_back_is_found(finished: Path, plant: str) -> None:
    path = PLANTS[plant].split("'")[1]
    assert touched(finished, "split", PLANT.format(plant=PLANTS[plant])).undeclared == [path]
