"""The measure ``probe``: a linear classifier of targets' states, trained on labelled passages."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from curation.campaign import Campaign
from curation.engine import Engine
from curation.files import CurationError, digest
from curation.steps.reporter import QUIET, Reporter
from curation.steps.trust.contextual import corpus_size, default_source, model_identity
from curation.steps.trust.measuring import Measured, measure_groups, policies
from curation.steps.trust.runs import TrustRun, run_folder
from curation.steps.trust.states import delete_parts, read_states
from curation.trust.contextual.probe import Examples, again, probe
from curation.trust.contextual.sampling import draw
from curation.trust.groups import Groups
from curation.trust.text.passages import LabelledPassage, passages
from curation.wording import amount

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
    groups: Groups,
    spec: "StatesSpec",
    paths: Sequence[Path],
    *,
    labelled: Sequence[LabelledPassage] | None = None,
    labels: Path | None = None,
    source: str = "",
    most: int = MOST,
    window: int | None = None,
    per_target: bool = False,
    language: str = "",
    field: str = "text",
    engine: Engine = "local",
    workers: int | None = 1,
    reporter: Reporter = QUIET,
) -> tuple[TrustRun, bool]:
    """Measure the bias of a model's representations in a corpus by a probe (section 4.3).

    Args:
        campaign: the campaign; it must not be locked.
        groups: targets and groups.
        spec: the model and its layer.
        paths: the files of the corpus, from which further passages come.
        labelled: passages with people's labels to train on; None to train on the automatic labels
            of 70 % of the corpus's passages.
        labels: the file that ``labelled`` was read from.
        source: the name of the run; by default the model's name and the first file's.
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
        The run, and whether it was measured now.

    Raises:
        CurationError: a file or the model cannot be read, or nothing can be learnt.
    """
    language = language or campaign.settings.campaign.language
    window = window or campaign.settings.trust.window
    seed = campaign.settings.campaign.seed
    model = model_identity(spec)
    source = source or default_source(model, paths)
    folder = run_folder(campaign, NAME, groups.name, source)

    def work() -> Measured:
        with reporter.tracked("corpus", corpus_size(paths), bytes=True) as advance:
            sample = passages(
                paths,
                groups,
                most=most,
                seed=seed,
                language=language,
                window=window,
                field=field,
                engine=engine,
                workers=workers,
                tell=advance,
            )
        split = _split(sample, seed) if labelled is None else _unseen(labelled, sample)
        if not split.further:
            raise CurationError(
                f"[groups.{groups.name}]: the files have no further passage that mentions a target",
                "name files with more text about the targets, of several documents",
            )
        every = [*split.training, *split.further]
        examples, refused = _examples(
            every, groups, folder, spec, model, engine=engine, workers=workers, reporter=reporter
        )
        place = np.array(examples.order) < len(split.training)
        seen = examples.examples
        found = probe(
            seen.where(place),
            seen.where(~place),
            groups,
            policies(campaign),
            per_target=per_target,
            confidence=campaign.settings.trust.confidence,
            seed=seed,
        )
        if refused:
            reporter.warn(
                f"{amount(sum(refused.values()), 'passage has', 'passages have')} no state: "
                + ", ".join(f"{code} {number}" for code, number in sorted(refused.items()))
            )
        empty = [name for name in groups.words if not found.about["training_labels"].get(name)]
        if empty:
            reporter.warn(
                f"no training passage is labelled {', '.join(f'«{name}»' for name in empty)}, so "
                "the probe never predicts it"
            )
        about = {**found.about, "refused": refused, "per_target": per_target}
        return Measured(found.biases, about, again(found.counts, groups))

    identity = {
        "probe": ALGORITHM,
        "model": model,
        "layer": spec.layer,
        "batch_tokens": spec.batch_tokens,
        "files": {str(path): digest(path) for path in paths},
        "labels": digest(labels) if labels else "automatic",
        "most": most,
        "window": window,
        "per_target": per_target,
        "language": language,
        "field": field,
    }
    result = measure_groups(
        campaign, groups, NAME, source, work, identity=identity, reporter=reporter
    )
    delete_parts(folder)
    return result


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
    """The labelled passages, and those of the corpus that share no document or text with them."""
    texts = {each.passage.text for each in labelled}
    documents = {each.passage.document for each in labelled} - {None}
    documents |= {each.passage.document for each in sample if each.passage.text in texts}
    return Split(
        list(labelled),
        [
            each
            for each in sample
            if each.passage.text not in texts and each.passage.document not in documents
        ],
    )


def _document(each: LabelledPassage) -> str:
    return each.passage.document or each.passage.id


class _Ordered(NamedTuple):
    """Examples, and the number of the passage of each; passages without a state are left out."""

    examples: Examples
    order: list[int]


def _examples(
    every: Sequence[LabelledPassage],
    groups: Groups,
    folder: Path,
    spec: "StatesSpec",
    model: dict[str, Any],
    *,
    engine: Engine,
    workers: int | None,
    reporter: Reporter,
) -> tuple[_Ordered, dict[str, int]]:
    from curation.models.states import Place

    order = sorted(range(len(every)), key=lambda number: every[number].passage.text)
    part = read_states(
        folder,
        spec,
        [Place(every[n].passage.text, ((every[n].start, every[n].end),)) for n in order],
        [(n, 0) for n in order],
        model=model,
        engine=engine,
        workers=workers,
        reporter=reporter,
    )
    refused: dict[str, int] = {}
    for _, code, number in part.refused:
        refused[code] = refused.get(code, 0) + number
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
    return _Ordered(examples, numbers), refused
