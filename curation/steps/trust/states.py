"""Read the states of many contexts, so that a command that was killed can go on.

The sums of each unit are kept in ``parts/`` in the run's folder, with what identifies them. They
are deleted when the run is written.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from curation.engine import Engine, each_shard
from curation.files import CurationError, writing
from curation.run_folder import locked, read_identity, write_json
from curation.steps.reporter import QUIET, Reporter
from curation.trust.contextual.units import Key, Part, joined, read_unit, units

if TYPE_CHECKING:
    from curation.models.states import Place, StatesSpec

PARTS, IDENTITY = "parts", "parts.json"
_VERSION = 1


def read_states(
    run: Path,
    spec: "StatesSpec",
    places: "Sequence[Place]",
    keys: Sequence[Key],
    *,
    model: Mapping[str, Any],
    engine: Engine = "local",
    workers: int | None = 1,
    reporter: Reporter = QUIET,
) -> Part:
    """The sums of states by key, over all contexts.

    Args:
        run: the folder of the run.
        spec: the model and the layer.
        places: the words in their texts; places of the same text follow each other.
        keys: the key of each.
        model: what identifies the model, from ``loading.identity``.
        engine: see ``engine.each_shard``.
        workers: processes, each with its own copy of the model.
        reporter: where progress goes.

    Raises:
        CurationError: there are no contexts, the model cannot be run, or another command writes
            to the folder.
    """
    if not places:
        raise CurationError(
            "there is no context with any of the words", "name files that mention the words"
        )
    work = list(units(spec, places, keys))
    identity = {
        "version": _VERSION,
        "model": dict(model),
        "layer": spec.layer,
        "batch_tokens": spec.batch_tokens,
        "contexts": _digest(places, keys),
    }
    folder = run / PARTS
    folder.mkdir(parents=True, exist_ok=True)
    busy = CurationError(f"{folder}: another command measures this", "wait until it has ended")
    with locked(folder, busy):
        if read_identity(folder / IDENTITY) != json.loads(json.dumps(identity)):
            for path in folder.glob("*.npz"):
                path.unlink()
            write_json(folder / IDENTITY, identity)
        parts = {n: part for n in range(len(work)) if (part := _read(folder, n)) is not None}
        todo = [n for n in range(len(work)) if n not in parts]
        with reporter.counted("contexts") as bar:
            bar.begin(sum(len(work[n].places) for n in parts), len(places))
            gpus = 1 if model.get("device") == "cuda" else 0
            todo_units = [work[n] for n in todo]
            each = each_shard(read_unit, todo_units, engine=engine, workers=workers, gpus=gpus)
            with closing(each):
                for index, part in each:
                    parts[todo[index]] = part
                    _write(folder, todo[index], part)
                    bar.advance(len(todo_units[index].places))
    return joined([parts[n] for n in range(len(work))])


def delete_parts(run: Path) -> None:
    """Delete what was kept for going on; call it when the run is written."""
    shutil.rmtree(run / PARTS, ignore_errors=True)


def _digest(places: "Sequence[Place]", keys: Sequence[Key]) -> str:
    digest = sha256()
    for place, key in zip(places, keys, strict=True):
        digest.update(json.dumps([place.text, place.spans, key]).encode())
    return digest.hexdigest()


def _file(folder: Path, number: int) -> Path:
    return folder / f"{number:06}.npz"


def _write(folder: Path, number: int, part: Part) -> None:
    refused = json.dumps(part.refused)
    with writing(_file(folder, number)) as file:
        np.savez(
            file, keys=part.keys, values=part.values, counts=part.counts, refused=np.array(refused)
        )


def _read(folder: Path, number: int) -> Part | None:
    """A part; None if it is not there, or damaged: it is then read again."""
    try:
        with np.load(_file(folder, number), allow_pickle=False) as arrays:
            refused = [(int(a), str(b), int(c)) for a, b, c in json.loads(str(arrays["refused"]))]
            return Part(arrays["keys"], arrays["values"], arrays["counts"], refused)
    except (OSError, ValueError, KeyError, BadZipFile, EOFError):
        return None
