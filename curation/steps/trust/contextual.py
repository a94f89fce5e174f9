"""The measure ``contextual``: states of words, averaged over their contexts in a corpus."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from curation.bias import Bias
from curation.campaign import Campaign
from curation.engine import Engine
from curation.files import CurationError
from curation.steps.reporter import QUIET, Reporter
from curation.steps.trust.group_files import read_groups
from curation.steps.trust.measuring import Measured, policies
from curation.steps.trust.runs import TrustRun
from curation.steps.trust.states import Corpus, measure_corpus, read_states, refused_counts
from curation.steps.trust.vectors import words_of
from curation.trust.contextual.reduction import (
    blocks_of,
    keys_of,
    reduced_biases,
    sums_of,
    vectors_of,
)
from curation.trust.contextual.sampling import sample_contexts
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
    for groups in every:
        lists(groups, language)  # refuses words that are the same in texts
    corpus = Corpus(spec, paths, most, window, language, field, engine, workers, reporter)
    return measure_corpus(
        campaign,
        corpus,
        every,
        NAME,
        source,
        partial(_measure, campaign, corpus),
        identity={"contextual": ALGORITHM},
    )


def _measure(campaign: Campaign, corpus: Corpus, groups: Groups, folder: Path) -> Measured:
    seed, reporter = campaign.settings.campaign.seed, corpus.reporter
    words = words_of([groups])
    sample = corpus.sample(sample_contexts, words, seed=seed)
    for name, own in groups.words.items():  # before the model reads anything
        if not any(sample.found.get(word) for word in own):
            raise CurationError(
                f"[groups.{groups.name}]: no word of the group «{name}» is in the files: "
                f"{some(own, 5)}",
                "name files that mention the group, or correct its list of words",
            )
    contexts = sample.contexts
    blocks = blocks_of(contexts, seed=seed)
    places = [context.place for context in contexts]
    part = read_states(corpus, folder, places, keys_of(contexts, words=words, blocks=blocks))
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
