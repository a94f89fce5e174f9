"""The measure ``contextual``: states of words, averaged over their contexts in a corpus.

Also what ``probe`` shares with it: the states of many contexts are read so that a command that was
killed can go on. The sums of each unit are kept in ``parts/`` in the run's folder, with what
identifies them. They are deleted when the run is written.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack
from zipfile import BadZipFile

import numpy as np

from curation.campaign import Campaign
from curation.files import CurationError, digest, open_input, writing
from curation.steps.reporter import QUIET, Reporter
from curation.steps.trust.group_files import read_groups
from curation.steps.trust.measuring import Measured, policies
from curation.steps.trust.runs import TrustRun, run_folder, source_name
from curation.steps.trust.text import Reading, measure_each, texts_of
from curation.steps.trust.vectors import words_of
from curation.text.wording import amount, some
from curation.trust.contextual.contexts import Key, Part, joined, read_unit, sample_contexts, units
from curation.trust.contextual.reduction import keys_of, reduced_biases, sums_of, vectors_of
from curation.trust.groups import Groups
from curation.trust.text.matching import lists
from curation.trust.text.scanning import Texts
from curation.trust.vectors.cosine import known_words, vector_biases
from curation.work.engine import each_shard
from curation.work.run_folder import locked, read_identity, write_json

if TYPE_CHECKING:
    from curation.models.states import Place, StatesSpec

T = TypeVar("T")
NAME, ALGORITHM = "contextual", 1
MOST = 1_000
"""Contexts of each word, by default. The paper takes all; common words have millions of them."""
PARTS, IDENTITY = "parts", "parts.json"
_VERSION = 2


# --- states of a corpus, also for the probe ------------------------------------------------------


@dataclass(frozen=True)
class Corpus:
    """A corpus, and how a model reads its contexts.

    Attributes:
        spec: the model and its layer.
        texts: the files and how they are read; each of ``workers`` has its own copy of the model.
        most: contexts of each word, or passages of each target, at most: a random sample; None for
            all.
        reporter: where progress and warnings go.
    """

    spec: "StatesSpec"
    texts: Texts
    most: int | None
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
            CurationError: the model does not exist.
        """
        model = source_name(Path(str(self.model["model"]).replace("/", "--")))
        return f"{model}-{source_name(self.texts.paths[0])}"

    def identity(self) -> dict[str, Any]:
        """What identifies the results, beside the groups and the measure."""
        return {
            "model": self.model,
            "layer": self.spec.layer,
            "batch_tokens": self.spec.batch_tokens,
            "files": [digest(path) for path in self.texts.paths],
            "most": self.most,
            "window": self.texts.window,
            "language": self.texts.language,
            "field": self.texts.field,
        }

    def sample(self, draw: Callable[..., T], of: Any, *, seed: int) -> T:
        """What ``sample_contexts`` or ``passages`` draws from the files, with progress.

        Args:
            draw: the function.
            of: the words, or the groups.
            seed: of the sample.
        """
        size = sum(path.stat().st_size for path in self.texts.paths)
        with self.reporter.tracked("reading the corpus", size, bytes=True) as advance:
            return draw(self.texts, of, most=self.most, seed=seed, tell=advance)


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
    corpus.texts.shards(1)  # so that errors of files show before the work
    source = source or corpus.source

    def of_groups(groups: Groups) -> Measured:
        return work(groups, run_folder(campaign, measure, groups.name, source))

    def whole() -> dict[str, Any]:
        return {**identity, **corpus.identity()}

    found = []
    for each in measure_each(campaign, every, measure, source, of_groups, whole, corpus.reporter):
        shutil.rmtree(each[0].folder / PARTS, ignore_errors=True)
        found.append(each)
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
        files = [folder / f"{number:06}.npz" for number in range(len(work))]
        parts = {n: part for n, file in enumerate(files) if (part := _read(file)) is not None}
        todo = [n for n in range(len(work)) if n not in parts]
        with corpus.reporter.counted("contexts") as bar:
            bar.begin(sum(len(work[n].places) for n in parts), len(places))
            engine, workers = corpus.texts.engine, corpus.texts.workers
            gpus = 1 if model.get("device") == "cuda" else 0
            left = [work[n] for n in todo]
            each = each_shard(read_unit, left, engine=engine, workers=workers, gpus=gpus)
            with closing(each):
                for index, part in each:
                    number = todo[index]
                    parts[number] = part
                    with writing(files[number]) as file:
                        refused = np.array(json.dumps(part.refused))
                        np.savez(file, **part._asdict() | {"refused": refused})
                    bar.advance(len(work[number].places))
    return joined([parts[n] for n in range(len(work))])


def warn_of_refused(part: Part, unit: str, reporter: Reporter) -> None:
    """Warn of contexts without a state; ``unit`` is what they are called."""
    if part.refused:
        number = amount(sum(part.refused.values()), f"{unit} has", f"{unit}s have")
        shown = ", ".join(f"{code} {count}" for code, count in part.refused.items())
        reporter.warn(f"{number} no state: {shown}")


def _digest(places: "Sequence[Place]", keys: Sequence[Key]) -> str:
    content = sha256()
    for place, key in zip(places, keys, strict=True):
        content.update(json.dumps([place.text, place.spans, key]).encode())
    return content.hexdigest()


def _read(path: Path) -> Part | None:
    """A part; None if it is not there, or damaged: it is then read again."""
    try:
        with open_input(path) as file, np.load(file, allow_pickle=False) as arrays:
            refused = {str(a): int(b) for a, b in json.loads(str(arrays["refused"])).items()}
            return Part(arrays["keys"], arrays["values"], arrays["counts"], refused)
    except (CurationError, OSError, ValueError, KeyError, BadZipFile, EOFError, AttributeError):
        return None


# --- the measure --------------------------------------------------------------------------------


def measure_contextual(
    campaign: Campaign,
    spec: "StatesSpec",
    paths: Sequence[Path],
    *,
    names: Sequence[str] = (),
    source: str = "",
    most: int | None = MOST,
    repeats: bool = False,
    reporter: Reporter = QUIET,
    **reading: Unpack[Reading],
) -> list[tuple[TrustRun, bool]]:
    """Measure the bias of a model's representations in a corpus by reduction (section 4.3).

    Args:
        campaign: the campaign; it must not be locked.
        spec: the model and its layer.
        paths: the files of the corpus.
        names: the groups; by default all of the campaign.
        source: the source's name; by default the model's name and the first file's.
        most: contexts of each word at most, a random sample; None for all.
        repeats: count a sentence as often as it occurs; by default each different one counts once.
            With ``most=None`` the vectors are exactly the paper's means over all contexts.
        reporter: where progress and warnings go.
        reading: see ``Reading``; by default ``window`` is 1, and ``workers``, each of which has its
            own copy of the model, too.

    Returns:
        For each of the groups its run, and whether it was measured now.

    Raises:
        CurationError: a file, the groups or the model cannot be read, or no word of a group has a
            vector.
    """
    every = read_groups(campaign, names)
    reading.setdefault("window", 1)
    corpus = Corpus(spec, texts_of(campaign, paths, {"workers": 1, **reading}), most, reporter)
    for groups in every:
        lists(groups, corpus.texts.language)  # refuses words that are the same in texts
    identity = {"contextual": ALGORITHM, **({"repeats": True} if repeats else {})}
    work = partial(_measure, campaign, corpus, repeats)
    return measure_corpus(campaign, corpus, every, NAME, source, work, identity=identity)


def _measure(
    campaign: Campaign, corpus: Corpus, repeats: bool, groups: Groups, folder: Path
) -> Measured:
    seed, reporter = campaign.settings.campaign.seed, corpus.reporter
    words = words_of([groups])
    sample = corpus.sample(partial(sample_contexts, repeats=repeats), words, seed=seed)
    for name, own in groups.words.items():  # before the model reads anything
        if not any(sample.found.get(word) for word in own):
            raise CurationError(
                f"[groups.{groups.name}]: no word of the group «{name}» is in the files: "
                f"{some(own, 5)}",
                "name files that mention the group, or correct its list of words",
            )
    contexts = sample.contexts
    keys = keys_of(contexts, words, seed=seed)
    part = read_states(corpus, folder, [context.place for context in contexts], keys)
    sums = sums_of(part, words)
    vectors = vectors_of(sums)
    known = known_words(vectors, groups)
    warn_of_refused(part, "context", reporter)
    missing = set(vectors.missing)
    for name, own in groups.words.items():
        if gone := [word for word in own if word in missing]:
            reporter.warn(
                f"[groups.{groups.name}]: {amount(len(gone), 'word')} of {len(own)} of the group "
                f"«{name}» left out, without a context: {some(gone, 5)}"
            )
    used = sums.counts.sum(axis=1).tolist()
    about = {
        "contexts": len(contexts),
        "documents": len({context.document for context in contexts}),
        "words": {
            word: {"contexts": sample.found.get(word, 0), "used": number}
            for word, number in zip(words, used, strict=True)
        },
        "missing_words": list(vectors.missing),
        "refused": part.refused,
        "dimensions": vectors.array.shape[1],
    }
    confidence = campaign.settings.trust.confidence
    results = reduced_biases(vectors, sums, known, policies(campaign), confidence=confidence)
    return Measured(results, about, partial(vector_biases, vectors), groups=known)
