"""The measure ``contextual``: states of words, averaged over their contexts in a corpus."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from curation.campaign import Campaign
from curation.engine import Engine
from curation.files import CurationError, digest
from curation.steps.reporter import QUIET, Reporter
from curation.steps.trust.measuring import Measured, measure_groups, policies
from curation.steps.trust.runs import TrustRun, run_folder
from curation.steps.trust.states import delete_parts, read_states
from curation.trust.contextual.reduction import (
    again,
    biases,
    blocks_of,
    keys_of,
    sums_of,
    word_vectors,
)
from curation.trust.contextual.sampling import sample_contexts
from curation.trust.groups import Groups
from curation.wording import amount

if TYPE_CHECKING:
    from curation.models.states import StatesSpec

NAME, ALGORITHM = "contextual", 1
MOST = 1_000
"""Contexts of each word, by default. The paper takes all; common words have millions of them."""


def measure_contextual(
    campaign: Campaign,
    groups: Groups,
    spec: "StatesSpec",
    paths: Sequence[Path],
    *,
    source: str = "",
    most: int | None = MOST,
    window: int = 1,
    language: str = "",
    field: str = "text",
    engine: Engine = "local",
    workers: int | None = 1,
    reporter: Reporter = QUIET,
) -> tuple[TrustRun, bool]:
    """Measure the bias of a model's representations in a corpus by reduction (section 4.3).

    Args:
        campaign: the campaign; it must not be locked.
        groups: targets and groups.
        spec: the model and its layer.
        paths: the files of the corpus.
        source: the name of the run; by default the model's name and the first file's.
        most: contexts of each word at most, a random sample; None for all.
        window: sentences of a context.
        language: of the texts; by default the campaign's.
        field: the JSON field or Parquet column that has the text.
        engine: "local" or "ray".
        workers: processes, each with its own copy of the model.
        reporter: where progress and warnings go.

    Returns:
        The run, and whether it was measured now.

    Raises:
        CurationError: a file or the model cannot be read, or no word of a group has a vector.
    """
    language = language or campaign.settings.campaign.language
    seed = campaign.settings.campaign.seed
    model = model_identity(spec)
    source = source or default_source(model, paths)
    folder = run_folder(campaign, NAME, groups.name, source)
    words = list(
        dict.fromkeys(
            word for own in (*groups.words.values(), *groups.targets.values()) for word in own
        )
    )

    def work() -> Measured:
        with reporter.tracked("corpus", corpus_size(paths), bytes=True) as advance:
            sample = sample_contexts(
                paths,
                words,
                most=most,
                seed=seed,
                language=language,
                window=window,
                field=field,
                engine=engine,
                workers=workers,
                tell=advance,
            )
        contexts = sample.contexts
        blocks = blocks_of(contexts, seed=seed)
        part = read_states(
            folder,
            spec,
            [context.place for context in contexts],
            keys_of(contexts, words=words, blocks=blocks),
            model=model,
            engine=engine,
            workers=workers,
            reporter=reporter,
        )
        sums = sums_of(part, words=len(words))
        vectors = word_vectors(sums.values.sum(axis=1), sums.counts.sum(axis=1))
        missing = [word for word, row in zip(words, vectors, strict=True) if np.isnan(row).any()]
        check_groups(groups, missing)
        refused = Counter[str]()
        for _, code, number in part.refused:
            refused[code] += number
        if refused:
            reporter.warn(
                f"{amount(refused.total(), 'context has', 'contexts have')} no state: "
                + ", ".join(f"{code} {number}" for code, number in sorted(refused.items()))
            )
        used = sums.counts.sum(axis=1).tolist()
        about = {
            "contexts": len(contexts),
            "documents": len(blocks),
            "words": {
                word: {"contexts": sample.found.get(word, 0), "used": number}
                for word, number in zip(words, used, strict=True)
            },
            "missing_words": missing,
            "refused": dict(sorted(refused.items())),
            "width": vectors.shape[1],
        }
        return Measured(
            biases(
                sums,
                words,
                groups,
                policies(campaign),
                confidence=campaign.settings.trust.confidence,
            ),
            about,
            lambda other, chosen: again(vectors, words, other, chosen),
        )

    identity = {
        "contextual": ALGORITHM,
        "model": model,
        "layer": spec.layer,
        "batch_tokens": spec.batch_tokens,
        "files": {str(path): digest(path) for path in paths},
        "most": most,
        "window": window,
        "language": language,
        "field": field,
    }
    found = measure_groups(
        campaign, groups, NAME, source, work, identity=identity, reporter=reporter
    )
    delete_parts(folder)
    return found


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


def default_source(model: dict[str, Any], paths: Sequence[Path]) -> str:
    """The name of a run: the model's, and that of the first file without its endings."""
    if not paths:
        raise CurationError("no file to measure", "name at least one file")
    return f"{str(model['model']).replace('/', '--')}-{paths[0].name.partition('.')[0]}"


def check_groups(groups: Groups, missing: Sequence[str]) -> None:
    """Check that each group has a word with a vector.

    Raises:
        CurationError: a group has none.
    """
    for name, own in groups.words.items():
        if set(own) <= set(missing):
            raise CurationError(
                f"[groups.{groups.name}]: no word of the group «{name}» has a vector: none occurs "
                "in the files, or the model has no states for them",
                "add words to its list, or name files that mention them",
            )


def corpus_size(paths: Sequence[Path]) -> int:
    """The bytes of the files, for progress; reading them says which are missing."""
    return sum(path.stat().st_size for path in paths if path.exists())
