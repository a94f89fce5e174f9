"""Read the states of many contexts of a corpus, so that a command that was killed can go on.

What ``contextual`` and ``probe`` share. The sums of each unit are kept in ``parts/`` in the run's
folder, with what identifies them. They are deleted when the run is written.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from zipfile import BadZipFile

import numpy as np

from curation.campaign import Campaign
from curation.engine import Engine, each_shard
from curation.files import CurationError, digest, open_input, writing
from curation.run_folder import locked, read_identity, write_json
from curation.steps.reporter import QUIET, Reporter
from curation.steps.trust.measuring import Measured, measure_groups
from curation.steps.trust.runs import TrustRun, run_folder, source_name
from curation.trust.contextual.units import Key, Part, joined, read_unit, units
from curation.trust.groups import Groups
from curation.wording import amount

if TYPE_CHECKING:
    from curation.models.states import Place, StatesSpec

T = TypeVar("T")
PARTS, IDENTITY = "parts", "parts.json"
_VERSION = 1


@dataclass(frozen=True)
class Corpus:
    """A corpus, and how a model reads its contexts.

    Attributes:
        spec: the model and its layer.
        paths: the files.
        most: contexts of each word, or passages of each target, at most: a random sample; None for
            all.
        window: sentences of a context.
        language: of the texts.
        field: the JSON field or Parquet column that has the text.
        engine: "local" or "ray".
        workers: processes, each with its own copy of the model.
        reporter: where progress and warnings go.
    """

    spec: "StatesSpec"
    paths: Sequence[Path]
    most: int | None
    window: int
    language: str
    field: str = "text"
    engine: Engine = "local"
    workers: int | None = 1
    reporter: Reporter = QUIET

    @cached_property
    def model(self) -> dict[str, Any]:
        """What identifies the model, without loading its weights.

        Raises:
            CurationError: the model does not exist, or is not a language model.
        """
        from curation.models.loading import identity

        return identity(
            self.spec.name,
            device=self.spec.device,
            dtype=self.spec.dtype,
            revision=self.spec.revision,
            trust_remote_code=self.spec.trust_remote_code,
        )

    @property
    def source(self) -> str:
        """The source's name, if the user gives none: the model's name and the first file's.

        Raises:
            CurationError: there is no file, or the model does not exist.
        """
        if not self.paths:
            raise CurationError("no file to measure", "name at least one file")
        model = source_name(Path(str(self.model["model"]).replace("/", "--")))
        return f"{model}-{source_name(self.paths[0])}"

    def identity(self) -> dict[str, Any]:
        """What identifies the results, beside the groups and the measure."""
        return {
            "model": self.model,
            "layer": self.spec.layer,
            "batch_tokens": self.spec.batch_tokens,
            "files": [digest(path) for path in self.paths],
            "most": self.most,
            "window": self.window,
            "language": self.language,
            "field": self.field,
        }

    def sample(self, draw: Callable[..., T], of: Any, *, seed: int) -> T:
        """What ``sample_contexts`` or ``passages`` draws from the files, with progress.

        Args:
            draw: the function.
            of: the words, or the groups.
            seed: of the sample.
        """
        # Reading the files says which are missing.
        size = sum(path.stat().st_size for path in self.paths if path.exists())
        with self.reporter.tracked("reading the corpus", size, bytes=True) as advance:
            return draw(
                self.paths,
                of,
                most=self.most,
                window=self.window,
                seed=seed,
                language=self.language,
                field=self.field,
                engine=self.engine,
                workers=self.workers,
                tell=advance,
            )


def measure_corpus(
    campaign: Campaign,
    corpus: Corpus,
    every: Sequence[Groups],
    measure: str,
    source: str,
    work: Callable[[Groups, Path], Measured],
    *,
    identity: Mapping[str, Any],
) -> list[tuple[TrustRun, bool]]:
    """Measure each of the groups, and then delete what was kept for going on.

    Args:
        campaign: the campaign; it must not be locked.
        corpus: the corpus and the model.
        every: the groups.
        measure: the measure's name.
        source: the source's name; by default that of the corpus.
        work: measures groups; it receives them and the folder of the run.
        identity: what identifies the measure, beside the corpus.

    Returns:
        For each of the groups its run, and whether it was measured now.
    """
    source = source or corpus.source
    whole = {**identity, **corpus.identity()}
    found = []
    for groups in every:
        folder = run_folder(campaign, measure, groups.name, source)
        found.append(
            measure_groups(
                campaign,
                groups,
                measure,
                source,
                partial(work, groups, folder),
                identity=whole,
                reporter=corpus.reporter,
            )
        )
        shutil.rmtree(folder / PARTS, ignore_errors=True)
    return found


def read_states(corpus: Corpus, run: Path, places: "Sequence[Place]", keys: Sequence[Key]) -> Part:
    """The sums of states by key, over all contexts.

    Args:
        corpus: has the model, and the processes that run it.
        run: the folder of the run.
        places: the words in their texts; places of the same text follow each other.
        keys: the key of each.

    Raises:
        CurationError: there are no contexts, the model cannot be run, or another command writes
            to the folder.
    """
    if not places:
        raise CurationError(
            "there is no context with any of the words", "name files that mention the words"
        )
    spec, model = corpus.spec, corpus.model
    work = list(units(spec, places, keys))
    identity = {
        "version": _VERSION,
        "model": model,
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
        with corpus.reporter.counted("contexts") as bar:
            bar.begin(sum(len(work[n].places) for n in parts), len(places))
            gpus = 1 if model.get("device") == "cuda" else 0
            todo_units = [work[n] for n in todo]
            engine, workers = corpus.engine, corpus.workers
            each = each_shard(read_unit, todo_units, engine=engine, workers=workers, gpus=gpus)
            with closing(each):
                for index, part in each:
                    parts[todo[index]] = part
                    _write(folder, todo[index], part)
                    bar.advance(len(todo_units[index].places))
    return joined([parts[n] for n in range(len(work))])


def refused_counts(part: Part, one: str, several: str, reporter: Reporter) -> dict[str, int]:
    """How many contexts have no state, by reason code; the user is warned of them."""
    counts = Counter[str]()
    for _, code, number in part.refused:
        counts[code] += number
    if counts:
        reporter.warn(
            f"{amount(counts.total(), one, several)} no state: "
            + ", ".join(f"{code} {number}" for code, number in sorted(counts.items()))
        )
    return dict(sorted(counts.items()))


def _digest(places: "Sequence[Place]", keys: Sequence[Key]) -> str:
    content = sha256()
    for place, key in zip(places, keys, strict=True):
        content.update(json.dumps([place.text, place.spans, key]).encode())
    return content.hexdigest()


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
        with (
            open_input(_file(folder, number)) as file,
            np.load(file, allow_pickle=False) as arrays,
        ):
            refused = [(int(a), str(b), int(c)) for a, b, c in json.loads(str(arrays["refused"]))]
            return Part(arrays["keys"], arrays["values"], arrays["counts"], refused)
    except (CurationError, OSError, ValueError, KeyError, BadZipFile, EOFError):
        return None
