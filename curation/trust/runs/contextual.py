"""The measures ``contextual`` and ``probe``: states that a model gives to words of a corpus.

States of many contexts are read so that a command that was killed can go on. The sums of each unit
are kept in ``parts/`` in the run's folder, with what identifies them. They are deleted when the run
is written.
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
from typing import TYPE_CHECKING, Any, TypeVar, Unpack
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from curation.campaign.store import Campaign
from curation.files import CurationError, digest, open_input, writing
from curation.records import Passage, Rejection
from curation.text.wording import amount, some
from curation.trust.measure import human
from curation.trust.measure.automated import LabelledPassage, passages
from curation.trust.measure.cosine import known_words, vector_biases
from curation.trust.measure.groups import Groups
from curation.trust.measure.matching import lists
from curation.trust.measure.scanning import Texts, scanner
from curation.trust.measure.states import (
    Examples,
    Key,
    Part,
    draw,
    joined,
    keys_of,
    probe,
    read_unit,
    reduced_biases,
    sample_contexts,
    sums_of,
    units,
    untrainable,
    vectors_of,
)
from curation.trust.runs.files import Measured, TrustRun, read_groups, run_folder, source_name
from curation.trust.runs.measuring import Job, measure_each, policies
from curation.trust.runs.text import Reading, label_rows, texts_of
from curation.trust.runs.vectors import warn_of_words, words_of
from curation.work.engine import check_device, each_shard
from curation.work.reporter import QUIET, Reporter
from curation.work.run_folder import locked, read_identity, write_json

if TYPE_CHECKING:
    from curation.models.states import Place, StatesSpec

T = TypeVar("T")
CONTEXTUAL, PROBE = "contextual", "probe"
ALGORITHM, PROBING = 1, 1
MOST = 1_000
"""Contexts of each word, or passages of each target, by default. Of passages the paper's code takes
as many; it takes all contexts, and common words have millions of them."""
TRAINING = 0.7
"""The share of automatically labelled passages that train the probe, as in the paper's code."""
PARTS, IDENTITY = "parts", "parts.json"
_VERSION = 2
Split = tuple[list[LabelledPassage], list[LabelledPassage]]
"""Labelled passages to train on, and further ones to count."""


# --- states of a corpus -------------------------------------------------------------------------


@dataclass(frozen=True)
class Corpus:
    """A corpus, and how a model reads its contexts.

    Attributes:
        campaign: the campaign.
        spec: the model and its layer.
        texts: the files and how they are read; each of ``workers`` has its own copy of the model.
        most: contexts of each word, or passages of each target, at most: a random sample; None for
            all.
        names: the groups that are measured; by default all of the campaign.
        source: the source's name; by default the model's name and the first file's.
        reporter: where progress and warnings go.
    """

    campaign: Campaign
    spec: "StatesSpec"
    texts: Texts
    most: int | None
    names: Sequence[str] = ()
    source: str = ""
    reporter: Reporter = QUIET

    @cached_property
    def model(self) -> dict[str, Any]:
        """What identifies the model, without loading its weights.

        Raises:
            CurationError: the model does not exist, or is not a language model.
        """
        from curation.models.loading import identity, loading_options

        return identity(self.spec.name, **loading_options(self.spec))

    @cached_property
    def groups(self) -> list[Groups]:
        """The groups, checked."""
        return read_groups(self.campaign, self.names)

    @property
    def states(self) -> dict[str, Any]:
        """What identifies the states of a text."""
        spec = self.spec
        return {"model": self.model, "layer": spec.layer, "batch_tokens": spec.batch_tokens}

    def identity(self) -> dict[str, Any]:
        """What identifies the results, beside the groups and the measure."""
        texts = self.texts
        files = {"files": [digest(path) for path in texts.paths], "most": self.most}
        read = {"window": texts.window, "language": texts.language, "field": texts.field}
        return {**self.states, **files, **read}

    @property
    def seed(self) -> int:
        """The seed of samples."""
        return self.campaign.settings.campaign.seed

    def sample(self, draw: Callable[..., T], of: Any) -> T:
        """What ``sample_contexts`` or ``passages`` draws from the files, with progress.

        Args:
            draw: the function.
            of: the words, or the groups.
        """
        size = sum(path.stat().st_size for path in self.texts.paths)
        with self.reporter.tracked("reading the corpus", size, bytes=True) as advance:
            return draw(self.texts, of, most=self.most, seed=self.seed, tell=advance)

    def measure(
        self, measure: str, work: Callable[[Groups, Path], Measured], identity: Mapping[str, Any]
    ) -> list[tuple[TrustRun, bool]]:
        """Measure each of the groups, and then delete what was kept for going on.

        Args:
            measure: the measure's name.
            work: measures groups; it receives them and the folder of their run.
            identity: what identifies the measure, beside the corpus.
        """
        check_device(self.texts.engine, self.spec.device)
        self.texts.shards(1)  # so that errors of files show before the work
        source, found = self.source, list[tuple[TrustRun, bool]]()
        if not source:
            model = source_name(Path(str(self.model["model"]).replace("/", "--")))
            source = f"{model}-{source_name(self.texts.paths[0])}"

        def of_groups(groups: Groups) -> Measured:
            return work(groups, run_folder(self.campaign, measure, groups.name, source))

        def whole() -> dict[str, Any]:
            return {**identity, **self.identity()}

        job = Job(self.campaign, measure, source, of_groups, whole, reporter=self.reporter)
        for each in measure_each(job, self.groups):
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
        fix = "name files that mention the words"
        raise CurationError("there is no context with any of the words", fix)
    identity = {"version": _VERSION, **corpus.states, "contexts": _digest(places, keys)}
    work = list(units(corpus.spec, places, keys))
    folder = run / PARTS
    folder.mkdir(parents=True, exist_ok=True)
    busy = CurationError(f"{folder}: another command measures this", "wait until it has ended")
    with locked(folder, busy):
        if read_identity(folder / IDENTITY) != json.loads(json.dumps(identity)):
            for path in folder.glob("*.npz"):
                path.unlink()
            write_json(folder / IDENTITY, identity)
        files = [folder / f"{number:06}.npz" for number in range(len(work))]
        parts = {n: part for n, file in enumerate(files) if (part := _kept(file)) is not None}
        todo = [n for n in range(len(work)) if n not in parts]
        with corpus.reporter.counted("contexts") as bar:
            bar.begin(sum(len(work[n].places) for n in parts), len(places))
            engine, workers = corpus.texts.engine, corpus.texts.workers
            gpus = 1 if corpus.model.get("device") == "cuda" else 0
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


def _warn_of_refused(part: Part, unit: str, reporter: Reporter) -> None:
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


def _kept(path: Path) -> Part | None:
    """A part; None if it is not there, or damaged: it is then read again."""
    try:
        with open_input(path) as file, np.load(file, allow_pickle=False) as arrays:
            refused = {str(a): int(b) for a, b in json.loads(str(arrays["refused"])).items()}
            return Part(arrays["keys"], arrays["values"], arrays["counts"], refused)
    except (CurationError, OSError, ValueError, KeyError, BadZipFile, EOFError, AttributeError):
        return None


# --- reduction ----------------------------------------------------------------------------------


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
    texts = texts_of(campaign, paths, {"workers": 1, "window": 1, **reading})
    corpus = Corpus(campaign, spec, texts, most, names, source, reporter)
    for groups in corpus.groups:
        lists(groups, texts.language)  # refuses words that are the same in texts
    identity = {"contextual": ALGORITHM, **({"repeats": True} if repeats else {})}
    return corpus.measure(CONTEXTUAL, partial(_reduce, corpus, repeats), identity)


def _reduce(corpus: Corpus, repeats: bool, groups: Groups, folder: Path) -> Measured:
    campaign, words = corpus.campaign, words_of([groups])
    sample = corpus.sample(partial(sample_contexts, repeats=repeats), words)
    for name, own in groups.words.items():  # before the model reads anything
        if not any(sample.found.get(word) for word in own):
            raise CurationError(
                f"[groups.{groups.name}]: no word of the group «{name}» is in the files: "
                f"{some(own, 5)}",
                "name files that mention the group, or correct its list of words",
            )
    contexts = sample.contexts
    keys = keys_of(contexts, words, seed=corpus.seed)
    part = read_states(corpus, folder, [context.place for context in contexts], keys)
    sums = sums_of(part, words)
    vectors = vectors_of(sums)
    known = known_words(vectors, groups)
    _warn_of_refused(part, "context", corpus.reporter)
    warn_of_words(groups, vectors, "context", corpus.reporter)
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


# --- the probe ----------------------------------------------------------------------------------


def measure_probe(
    campaign: Campaign,
    spec: "StatesSpec",
    paths: Sequence[Path],
    *,
    labels: Path | None = None,
    names: Sequence[str] = (),
    source: str = "",
    most: int = MOST,
    per_target: bool = False,
    every_mention: bool = False,
    reporter: Reporter = QUIET,
    **reading: Unpack[Reading],
) -> list[tuple[TrustRun, bool]]:
    """Measure the bias of a model's representations in a corpus by a probe (section 4.3).

    Args:
        campaign: the campaign; it must not be locked.
        spec: the model and its layer.
        paths: the files of the corpus, from which further passages come.
        labels: a file of people's labels to train on (see ``read_labelled``); None to train on the
            automatic labels of 70 % of the corpus's passages.
        names: the groups; by default all of the campaign.
        source: the source's name; by default the model's name and the first file's.
        most: passages of each target at most, a random sample.
        per_target: train a probe for each target on its own passages only, as the paper's text
            reads; by default one probe is trained for all, as in the paper's code.
        every_mention: read every mention of the target in a passage, as the paper says; by default
            the first. A passage counts once all the same (see ``curation.trust.measure.states``).
        reporter: where progress and warnings go.
        reading: see ``Reading``; by default ``window`` is that in ``[trust]``, and ``workers``,
            each of which has its own copy of the model, is 1.

    Returns:
        For each of the groups its run, and whether it was measured now.

    Raises:
        CurationError: a file, the groups or the model cannot be read, or nothing can be learnt.
    """
    texts = texts_of(campaign, paths, {"workers": 1, **reading})
    corpus = Corpus(campaign, spec, texts, most, names, source, reporter)
    identity = {
        "probe": PROBING,
        "labels": digest(labels) if labels else "automatic",
        "per_target": per_target,
        **({"every_mention": True} if every_mention else {}),
    }
    work = partial(_probe, corpus, labels, per_target, every_mention)
    return corpus.measure(PROBE, work, identity)


def _probe(
    corpus: Corpus,
    labels: Path | None,
    per_target: bool,
    every_mention: bool,
    groups: Groups,
    folder: Path,
) -> Measured:
    from curation.models.states import Place

    reporter = corpus.reporter
    labelled, rejected = list[LabelledPassage](), list[Rejection]()
    if labels:
        labelled, rejected = read_labelled(labels, groups, language=corpus.texts.language)
        if rejected:
            why = "refused; rejected.jsonl says why"
            reporter.warn(f"{labels}: {amount(len(rejected), 'row')} {why}")
    sample = corpus.sample(passages, groups)
    learned, further = _unseen(labelled, sample) if labels else _split(sample, corpus.seed)
    if not further:
        raise CurationError(
            f"[groups.{groups.name}]: the files have no further passage that mentions a target",
            "name files with more text about the targets, of several documents",
        )
    if not per_target and (problem := untrainable([each.group for each in learned], groups)):
        raise problem[1]  # before the model reads anything
    every = [*learned, *further]
    if not every_mention:
        every = [each._replace(spans=each.spans[:1]) for each in every]
    order = sorted(range(len(every)), key=lambda number: every[number].passage.text)
    keys = [(n, at) for n in order for at in range(len(every[n].spans))]
    places = [Place(every[n].passage.text, (every[n].spans[at],)) for n, at in keys]
    part = read_states(corpus, folder, places, keys)
    _warn_of_refused(part, "mention" if every_mention else "passage", reporter)
    examples, numbers = _examples(part, every, groups)
    parts = (examples.where(numbers < len(learned)), examples.where(numbers >= len(learned)))
    how: dict[str, Any] = {"per_target": per_target, "seed": corpus.seed}
    how["confidence"] = corpus.campaign.settings.trust.confidence
    found = probe(*parts, groups, policies(corpus.campaign), **how)
    counted = found.about["training_labels"]
    if empty := [f"«{name}»" for name in groups.words if not counted[name]]:
        reporter.warn(
            f"[groups.{groups.name}]: no training passage is labelled {some(empty, 5)}, so the "
            "probe never predicts it"
        )
    about = {**found.about, "refused": part.refused, "per_target": per_target}
    if every_mention:
        about["mentions"] = len(examples.of)
    return Measured(found.biases, about, found.again, refused=rejected)


def _split(sample: Sequence[LabelledPassage], seed: int) -> Split:
    """70 % of the passages for training, and the others; no document is in both.

    Windows overlap, so passages of one document may share sentences.
    """
    sizes = Counter(map(_document, sample))
    training, taken = set[str](), 0
    for name in sorted(sizes, key=lambda name: (draw(seed, "training", name), name)):
        if taken + sizes[name] / 2 <= TRAINING * len(sample):
            training.add(name)
            taken += sizes[name]
    learned = [each for each in sample if _document(each) in training]
    texts = {each.passage.text for each in learned}
    others = (each for each in sample if _document(each) not in training)
    return learned, [each for each in others if each.passage.text not in texts]


def _unseen(labelled: Sequence[LabelledPassage], sample: Sequence[LabelledPassage]) -> Split:
    """The labelled passages, and those of the corpus from documents that have none of their texts.

    The windows of both may differ, so a text counts as seen if one contains the other.
    """
    texts = {each.passage.text for each in labelled}
    seen = {
        _document(each)
        for each in sample
        if any(text in each.passage.text or each.passage.text in text for text in texts)
    }
    return list(labelled), [each for each in sample if _document(each) not in seen]


def _document(each: LabelledPassage) -> str:
    return each.passage.document or each.passage.id


def _examples(
    part: Part, every: Sequence[LabelledPassage], groups: Groups
) -> tuple[Examples, NDArray[np.int64]]:
    """The passages that have a state, and the number of each."""
    numbers, of = np.unique(part.keys[:, 0], return_inverse=True)
    targets, classes = list(groups.targets), [*groups.names, None]
    read = [every[number] for number in numbers.tolist()]
    examples = Examples(
        part.values,
        of,
        np.array([targets.index(each.passage.target) for each in read], np.int64),
        np.array([classes.index(each.group) for each in read], np.int64),
        np.array([_document(each) for each in read], object),
    )
    return examples, numbers


# --- people's labels ----------------------------------------------------------------------------


def read_labelled(
    path: Path, groups: Groups, *, language: str
) -> tuple[list[LabelledPassage], list[Rejection]]:
    """Passages with the group that most annotators chose.

    The table is that of ``text-human``, with texts. A passage has no group if none has more than
    half of the annotators.

    Args:
        path: a table in CSV or JSON Lines with the columns ``human.COLUMNS`` and text.
        groups: targets and groups.
        language: of the texts.

    Returns:
        The passages, and rows that do not count with their reasons.

    Raises:
        CurationError: the file cannot be read or lacks a column, or no passage is left.
    """
    rows = label_rows(path, columns=(*human.COLUMNS, "text"))
    texts: dict[str, tuple[str, str]] = {}  # with the place of the row
    for place, row in rows:
        name, text = (str(row.get(column) or "").strip() for column in ("passage", "text"))
        if text:
            texts.setdefault(name, (text, place))
    read = human.read_labels(rows, groups)
    votes = human.passages(read.labels, groups)
    chosen = votes.majority()
    labelled, refused = [], list(read.refused)
    for number, (name, target) in enumerate(votes.units):
        text, place = texts.get(name, ("", str(path)))
        words = scanner(groups.targets[target], language, wanted=None, window=1)
        spans = tuple((start, end) for *_, start, end in words.locate(text).places)
        if not spans:
            code, why = "missing_field", "is empty in all rows"
            if text:
                code, why = "target_missing", f"does not mention the target {target!r}"
            record = {"passage": name, "target": target}
            detail = f"the text of the passage {name!r} {why}"
            refused.append(Rejection(code=code, detail=detail, where=place, record=record))
            continue
        label = groups.names[int(chosen[number].argmax())] if chosen[number].any() else None
        passage = Passage(id=name, text=text, target=target)
        labelled.append(LabelledPassage(passage, spans, label))
    if not labelled:
        why = f", such as: {refused[0].where}: {refused[0].detail}" if refused else ""
        raise CurationError(
            f"{path}: no row is a label that can be used{why}",
            "write the targets and groups as in their lists, in texts that mention the target",
        )
    return labelled, refused
