"""The measure ``probe``: a linear classifier of targets' states, trained on labelled passages."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from curation.campaign import Campaign
from curation.engine import Engine
from curation.files import CurationError, digest
from curation.steps.reporter import QUIET, Reporter
from curation.steps.trust.group_files import read_groups
from curation.steps.trust.measuring import Measured, policies
from curation.steps.trust.probe_labels import read_labelled
from curation.steps.trust.runs import TrustRun
from curation.steps.trust.states import Corpus, measure_corpus, read_states, refused_counts
from curation.trust.contextual.probe import Examples, again, probe, untrainable
from curation.trust.contextual.sampling import draw
from curation.trust.contextual.units import Part
from curation.trust.groups import Groups
from curation.trust.text.passages import LabelledPassage, passages
from curation.wording import amount, some

if TYPE_CHECKING:
    from curation.models.states import StatesSpec

NAME, ALGORITHM = "probe", 1
MOST = 1_000
"""Passages of each target, by default: as many as the paper's code takes."""
TRAINING = 0.7
"""The share of automatically labelled passages that train the probe, as in the paper's code."""


class Split(NamedTuple):
    """Labelled passages to train on, and further ones to count."""

    training: list[LabelledPassage]
    further: list[LabelledPassage]


def measure_probe(
    campaign: Campaign,
    spec: "StatesSpec",
    paths: Sequence[Path],
    *,
    labels: Path | None = None,
    names: Sequence[str] = (),
    source: str = "",
    most: int = MOST,
    window: int | None = None,
    per_target: bool = False,
    language: str = "",
    field: str = "text",
    engine: Engine = "local",
    workers: int | None = 1,
    reporter: Reporter = QUIET,
) -> list[tuple[TrustRun, bool]]:
    """Measure the bias of a model's representations in a corpus by a probe (section 4.3).

    Args:
        campaign: the campaign; it must not be locked.
        spec: the model and its layer.
        paths: the files of the corpus, from which further passages come.
        labels: a file of people's labels to train on (see ``probe_labels``); None to train on the
            automatic labels of 70 % of the corpus's passages.
        names: the groups; by default all of the campaign.
        source: the source's name; by default the model's name and the first file's.
        most: passages of each target at most, a random sample.
        window: sentences of a passage; by default that of [trust].
        per_target: train a probe for each target on its own passages only; by default one probe
            is trained for all.
        language: of the texts; by default the campaign's.
        field: the JSON field or Parquet column that has the text.
        engine: "local" or "ray".
        workers: processes, each with its own copy of the model.
        reporter: where progress and warnings go.

    Returns:
        For each of the groups its run, and whether it was measured now.

    Raises:
        CurationError: a file, the groups or the model cannot be read, or nothing can be learnt.
    """
    every = read_groups(campaign, names)
    corpus = Corpus(
        spec,
        paths,
        most,
        window or campaign.settings.trust.window,
        language or campaign.settings.campaign.language,
        field,
        engine,
        workers,
        reporter,
    )
    identity = {
        "probe": ALGORITHM,
        "labels": digest(labels) if labels else "automatic",
        "per_target": per_target,
    }
    work = partial(_measure, campaign, corpus, labels, per_target)
    return measure_corpus(campaign, corpus, every, NAME, source, work, identity=identity)


def _measure(
    campaign: Campaign,
    corpus: Corpus,
    labels: Path | None,
    per_target: bool,
    groups: Groups,
    folder: Path,
) -> Measured:
    seed, reporter = campaign.settings.campaign.seed, corpus.reporter
    labelled = None
    if labels:
        labelled = read_labelled(labels, groups, language=corpus.language)
        if labelled.refused:
            reporter.warn(
                f"{labels}: {amount(len(labelled.refused), 'row')} refused; rejected.jsonl says why"
            )
    sample = corpus.sample(passages, groups, seed=seed)
    split = _split(sample, seed) if labelled is None else _unseen(labelled.passages, sample)
    if not split.further:
        raise CurationError(
            f"[groups.{groups.name}]: the files have no further passage that mentions a target",
            "name files with more text about the targets, of several documents",
        )
    if not per_target and (why := untrainable([each.group for each in split.training], groups)):
        raise why[1]  # before the model reads anything
    every = [*split.training, *split.further]
    examples, numbers, part = _examples(corpus, every, groups, folder)
    refused = refused_counts(part, "passage has", "passages have", reporter)
    training = np.array(numbers) < len(split.training)
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
    about = {**found.about, "refused": refused, "per_target": per_target}
    return Measured(
        found.biases,
        about,
        again(found.counts, groups),
        refused=labelled.refused if labelled else (),
    )


def _split(sample: Sequence[LabelledPassage], seed: int) -> Split:
    """70 % of the passages for training, and the others; no document is in both.

    Windows overlap, so passages of one document may share sentences.
    """
    sizes: dict[str, int] = {}
    for each in sample:
        sizes[_document(each)] = sizes.get(_document(each), 0) + 1
    training, taken = set[str](), 0
    for name in sorted(sizes, key=lambda name: (draw(seed, "training", name), name)):
        if taken + sizes[name] / 2 <= TRAINING * len(sample):
            training.add(name)
            taken += sizes[name]
    texts = {each.passage.text for each in sample if _document(each) in training}
    return Split(
        [each for each in sample if _document(each) in training],
        [
            each
            for each in sample
            if _document(each) not in training and each.passage.text not in texts
        ],
    )


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
    return Split(list(labelled), [each for each in sample if _document(each) not in seen])


def _document(each: LabelledPassage) -> str:
    return each.passage.document or each.passage.id


def _examples(
    corpus: Corpus, every: Sequence[LabelledPassage], groups: Groups, folder: Path
) -> tuple[Examples, list[int], Part]:
    """Passages with their states, the number of the passage of each, and all that was read."""
    from curation.models.states import Place

    order = sorted(range(len(every)), key=lambda number: every[number].passage.text)
    places = [Place(every[n].passage.text, ((every[n].start, every[n].end),)) for n in order]
    part = read_states(corpus, folder, places, [(n, 0) for n in order])
    numbers = part.keys[:, 0].tolist()
    targets = {name: number for number, name in enumerate(groups.targets)}
    classes: dict[str | None, int] = {name: number for number, name in enumerate(groups.names)}
    classes[None] = len(groups.names)
    read = [every[number] for number in numbers]
    examples = Examples(
        part.values,
        np.array([targets[each.passage.target] for each in read], dtype=np.int64),
        np.array([classes[each.group] for each in read], dtype=np.int64),
        tuple(_document(each) for each in read),
    )
    return examples, numbers, part
