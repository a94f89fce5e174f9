"""The measure ``probe``: a linear classifier of targets' states, trained on labelled passages."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import NDArray

from curation.campaign import Campaign
from curation.files import CurationError, digest
from curation.records import Passage, Rejection
from curation.steps.reporter import QUIET, Reporter
from curation.steps.trust.contextual import Corpus, measure_corpus, read_states, warn_of_refused
from curation.steps.trust.group_files import read_groups
from curation.steps.trust.measuring import Measured, policies
from curation.steps.trust.runs import TrustRun
from curation.steps.trust.text import Reading, label_rows, texts_of
from curation.text.wording import amount, some
from curation.trust.contextual.contexts import Part, draw
from curation.trust.contextual.probe import Examples, probe, untrainable
from curation.trust.groups import Groups
from curation.trust.text import human
from curation.trust.text.passages import LabelledPassage, passages
from curation.trust.text.scanning import scanner

if TYPE_CHECKING:
    from curation.models.states import StatesSpec

NAME, ALGORITHM = "probe", 1
MOST = 1_000
"""Passages of each target, by default: as many as the paper's code takes."""
TRAINING = 0.7
"""The share of automatically labelled passages that train the probe, as in the paper's code."""
TEXT = "text"
Split = tuple[list[LabelledPassage], list[LabelledPassage]]
"""Labelled passages to train on, and further ones to count."""


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
            the first. A passage counts once all the same (see ``curation.trust.contextual.probe``).
        reporter: where progress and warnings go.
        reading: see ``Reading``; by default ``window`` is that in ``[trust]``, and ``workers``,
            each of which has its own copy of the model, is 1.

    Returns:
        For each of the groups its run, and whether it was measured now.

    Raises:
        CurationError: a file, the groups or the model cannot be read, or nothing can be learnt.
    """
    corpus = Corpus(spec, texts_of(campaign, paths, {"workers": 1, **reading}), most, reporter)
    identity = {
        "probe": ALGORITHM,
        "labels": digest(labels) if labels else "automatic",
        "per_target": per_target,
        **({"every_mention": True} if every_mention else {}),
    }
    work = partial(_measure, campaign, corpus, labels, per_target, every_mention)
    every = read_groups(campaign, names)
    return measure_corpus(campaign, corpus, every, NAME, source, work, identity=identity)


def _measure(
    campaign: Campaign,
    corpus: Corpus,
    labels: Path | None,
    per_target: bool,
    every_mention: bool,
    groups: Groups,
    folder: Path,
) -> Measured:
    seed, reporter = campaign.settings.campaign.seed, corpus.reporter
    labelled, rejected = list[LabelledPassage](), list[Rejection]()
    if labels:
        labelled, rejected = read_labelled(labels, groups, language=corpus.texts.language)
        if rejected:
            why = "refused; rejected.jsonl says why"
            reporter.warn(f"{labels}: {amount(len(rejected), 'row')} {why}")
    sample = corpus.sample(passages, groups, seed=seed)
    learned, further = _unseen(labelled, sample) if labels else _split(sample, seed)
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
    part = _read(corpus, every, folder)
    warn_of_refused(part, "mention" if every_mention else "passage", reporter)
    examples, numbers = _examples(part, every, groups)
    training = numbers < len(learned)
    found = probe(
        examples.where(training),
        examples.where(~training),
        groups,
        policies(campaign),
        per_target=per_target,
        confidence=campaign.settings.trust.confidence,
        seed=seed,
    )
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


def _read(corpus: Corpus, every: Sequence[LabelledPassage], folder: Path) -> Part:
    """The states of mentions; the key is the number of the passage and that of the mention."""
    from curation.models.states import Place

    order = sorted(range(len(every)), key=lambda number: every[number].passage.text)
    mentions = [(n, at, span) for n in order for at, span in enumerate(every[n].spans)]
    places = [Place(every[n].passage.text, (span,)) for n, _, span in mentions]
    return read_states(corpus, folder, places, [(n, at) for n, at, _ in mentions])


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
    rows = label_rows(path, columns=(*human.COLUMNS, TEXT))
    texts: dict[str, tuple[str, str]] = {}  # with the place of the row
    for place, row in rows:
        if text := str(row.get(TEXT) or "").strip():
            texts.setdefault(str(row.get("passage") or "").strip(), (text, place))
    read = human.read_labels(rows, groups)
    votes = human.passages(read.labels, groups)
    chosen = votes.majority()
    labelled, refused = [], list(read.refused)
    for number, (name, target) in enumerate(votes.units):
        text, place = texts.get(name, ("", str(path)))
        words = scanner(groups.targets[target], language, wanted=None, window=1)
        spans = tuple((start, end) for *_, start, end in words.locate(text).places)
        if not spans:
            why = f"does not mention the target {target!r}" if text else "is empty in all rows"
            code = "target_missing" if text else "missing_field"
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
