"""The measure ``contextual``: states of words, averaged over their contexts in a corpus."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.bias import Bias
from curation.campaign import Campaign
from curation.engine import Engine
from curation.files import CurationError, digest
from curation.steps.reporter import QUIET, Reporter
from curation.steps.trust.group_files import read_groups
from curation.steps.trust.measuring import Measured, measure_groups, policies
from curation.steps.trust.runs import TrustRun, run_folder, source_name
from curation.steps.trust.states import delete_parts, read_states
from curation.steps.trust.vectors import words_of
from curation.trust.contextual.reduction import (
    blocks_of,
    keys_of,
    reduced_biases,
    sums_of,
    vectors_of,
)
from curation.trust.contextual.sampling import sample_contexts
from curation.trust.contextual.units import Part
from curation.trust.framework import Policies
from curation.trust.groups import Groups
from curation.trust.text.matching import lists
from curation.trust.vectors.cosine import known_words, vector_biases
from curation.wording import amount, some

if TYPE_CHECKING:
    from curation.models.states import StatesSpec

NAME, ALGORITHM = "contextual", 1
MOST = 1_000
"""Contexts of each word, by default. The paper takes all; common words have millions of them."""


def measure_contextual(
    campaign: Campaign,
    spec: "StatesSpec",
    paths: Sequence[Path],
    *,
    names: Sequence[str] = (),
    source: str = "",
    most: int | None = MOST,
    window: int = 1,
    language: str = "",
    field: str = "text",
    engine: Engine = "local",
    workers: int | None = 1,
    reporter: Reporter = QUIET,
) -> list[tuple[TrustRun, bool]]:
    """Measure the bias of a model's representations in a corpus by reduction (section 4.3).

    Args:
        campaign: the campaign; it must not be locked.
        spec: the model and its layer.
        paths: the files of the corpus.
        names: the groups; by default all of the campaign.
        source: the source's name; by default the model's name and the first file's.
        most: contexts of each word at most, a random sample; None for all.
        window: sentences of a context.
        language: of the texts; by default the campaign's.
        field: the JSON field or Parquet column that has the text.
        engine: "local" or "ray".
        workers: processes, each with its own copy of the model.
        reporter: where progress and warnings go.

    Returns:
        For each of the groups its run, and whether it was measured now.

    Raises:
        CurationError: a file, the groups or the model cannot be read, or no word of a group has a
            vector.
    """
    every = read_groups(campaign, names)
    language = language or campaign.settings.campaign.language
    model = model_identity(spec)
    source = source or default_source(model, paths)
    identity = {
        "contextual": ALGORITHM,
        "model": model,
        "layer": spec.layer,
        "batch_tokens": spec.batch_tokens,
        "files": [digest(path) for path in paths],
        "most": most,
        "window": window,
        "language": language,
        "field": field,
    }
    read: dict[str, Any] = {"language": language, "window": window, "field": field, "most": most}
    run: dict[str, Any] = {"engine": engine, "workers": workers, "reporter": reporter}
    found = []
    for groups in every:
        lists(groups, language)  # refuses words that are the same in texts
        folder = run_folder(campaign, NAME, groups.name, source)
        work = partial(_measure, campaign, groups, folder, spec, model, paths, read, run)
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
    read: Mapping[str, Any],
    run: Mapping[str, Any],
) -> Measured:
    seed, reporter = campaign.settings.campaign.seed, run["reporter"]
    words = words_of([groups])
    with reporter.tracked("reading the corpus", corpus_size(paths), bytes=True) as advance:
        sample = sample_contexts(
            paths,
            words,
            seed=seed,
            **read,
            engine=run["engine"],
            workers=run["workers"],
            tell=advance,
        )
    for name, own in groups.words.items():  # before the model reads anything
        if not any(sample.found.get(word) for word in own):
            raise CurationError(
                f"[groups.{groups.name}]: no word of the group «{name}» is in the files: "
                f"{some(own, 5)}",
                "name files that mention the group, or correct its list of words",
            )
    contexts = sample.contexts
    blocks = blocks_of(contexts, seed=seed)
    part = read_states(
        folder,
        spec,
        [context.place for context in contexts],
        keys_of(contexts, words=words, blocks=blocks),
        model=model,
        **run,
    )
    sums = sums_of(part, words=len(words))
    vectors = vectors_of(sums, words)
    known = known_words(vectors, groups)
    refused = refused_counts(part, "context has", "contexts have", reporter)
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
        "documents": len(blocks),
        "words": {
            word: {"contexts": sample.found.get(word, 0), "used": number}
            for word, number in zip(words, used, strict=True)
        },
        "missing_words": list(vectors.missing),
        "refused": refused,
        "dimensions": vectors.array.shape[1],
    }
    chosen = policies(campaign)
    results = reduced_biases(
        vectors, sums, words, known, chosen, confidence=campaign.settings.trust.confidence
    )

    def again(other: Groups, changed: Policies) -> list[Bias]:
        return vector_biases(vectors, other, changed)

    return Measured(results, about, again, groups=known)


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


def model_identity(spec: "StatesSpec") -> dict[str, Any]:
    """What identifies a model, without loading its weights.

    Raises:
        CurationError: the model does not exist, or is not a language model.
    """
    from curation.models.loading import identity

    return identity(
        spec.name,
        device=spec.device,
        dtype=spec.dtype,
        revision=spec.revision,
        trust_remote_code=spec.trust_remote_code,
    )


def default_source(model: Mapping[str, Any], paths: Sequence[Path]) -> str:
    """The source's name for a model and a corpus: the model's name and the first file's.

    Raises:
        CurationError: there is no file.
    """
    if not paths:
        raise CurationError("no file to measure", "name at least one file")
    return f"{source_name(Path(str(model['model']).replace('/', '--')))}-{source_name(paths[0])}"


def corpus_size(paths: Sequence[Path]) -> int:
    """The bytes of the files, for progress; reading them says which are missing."""
    return sum(path.stat().st_size for path in paths if path.exists())
