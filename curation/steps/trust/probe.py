"""The measure ``probe``: a linear classifier of targets' states, trained on labelled passages."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from curation.campaign import Campaign
from curation.engine import Engine
from curation.files import CurationError, digest
from curation.steps.reporter import QUIET, Reporter
from curation.steps.trust.contextual import (
    corpus_size,
    default_source,
    model_identity,
    refused_counts,
)
from curation.steps.trust.group_files import read_groups
from curation.steps.trust.measuring import Measured, measure_groups, policies
from curation.steps.trust.probe_labels import read_labelled
from curation.steps.trust.runs import TrustRun, run_folder
from curation.steps.trust.states import delete_parts, read_states
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
    language = language or campaign.settings.campaign.language
    window = window or campaign.settings.trust.window
    model = model_identity(spec)
    source = source or default_source(model, paths)
    identity = {
        "probe": ALGORITHM,
        "model": model,
        "layer": spec.layer,
        "batch_tokens": spec.batch_tokens,
        "files": [digest(path) for path in paths],
        "labels": digest(labels) if labels else "automatic",
        "most": most,
        "window": window,
        "per_target": per_target,
        "language": language,
        "field": field,
    }
    read: dict[str, Any] = {"language": language, "window": window, "field": field, "most": most}
    run: dict[str, Any] = {"engine": engine, "workers": workers, "reporter": reporter}
    found = []
    for groups in every:
        folder = run_folder(campaign, NAME, groups.name, source)
        work = partial(
            _measure, campaign, groups, folder, spec, model, paths, labels, per_target, read, run
        )
        found.append(
            measure_groups(
                campaign, groups, NAME, source, work, identity=identity, reporter=reporter
            )
        )
        delete_parts(folder)
    return found


def _measure(
    campaign: Campaign,
    groups: Groups,
    folder: Path,
    spec: "StatesSpec",
    model: Mapping[str, Any],
    paths: Sequence[Path],
    labels: Path | None,
    per_target: bool,
    read: Mapping[str, Any],
    run: Mapping[str, Any],
) -> Measured:
    seed, reporter = campaign.settings.campaign.seed, run["reporter"]
    labelled = None
    if labels:
        labelled = read_labelled(labels, groups, language=read["language"])
        if labelled.refused:
            reporter.warn(
                f"{labels}: {amount(len(labelled.refused), 'row')} refused; rejected.jsonl says why"
            )
    with reporter.tracked("reading the corpus", corpus_size(paths), bytes=True) as advance:
        sample = passages(
            paths,
            groups,
            seed=seed,
            **read,
            engine=run["engine"],
            workers=run["workers"],
            tell=advance,
        )
    split = _split(sample, seed) if labelled is None else _unseen(labelled.passages, sample)
    if not split.further:
        raise CurationError(
            f"[groups.{groups.name}]: the files have no further passage that mentions a target",
            "name files with more text about the targets, of several documents",
        )
    if not per_target and (why := untrainable([each.group for each in split.training], groups)):
        raise why[1]  # before the model reads anything
    every = [*split.training, *split.further]
    examples, numbers, part = _examples(every, groups, folder, spec, model, run)
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
    every: Sequence[LabelledPassage],
    groups: Groups,
    folder: Path,
    spec: "StatesSpec",
    model: Mapping[str, Any],
    run: Mapping[str, Any],
) -> tuple[Examples, list[int], Part]:
    """Passages with their states, the number of the passage of each, and all that was read."""
    from curation.models.states import Place

    order = sorted(range(len(every)), key=lambda number: every[number].passage.text)
    part = read_states(
        folder,
        spec,
        [Place(every[n].passage.text, ((every[n].start, every[n].end),)) for n in order],
        [(n, 0) for n in order],
        model=model,
        **run,
    )
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
