"""Measure bias in word embeddings; runs ``vectors/GROUPS-SOURCE``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from curation.bias import Bias
from curation.campaign import Campaign
from curation.files import CurationError, digest, printable
from curation.steps.reporter import QUIET, Reporter
from curation.steps.trust.group_files import read_groups
from curation.steps.trust.measuring import Measured, measure_groups, policies
from curation.steps.trust.runs import TrustRun, run_folder, source_name
from curation.trust.framework import Policies
from curation.trust.groups import Groups
from curation.trust.vectors.cosine import known_words, vector_biases
from curation.trust.vectors.reading import Vectors, read_vectors
from curation.wording import amount, some

MEASURE = "vectors"
ALGORITHM = 1


def measure_vectors(
    campaign: Campaign,
    path: Path,
    *,
    names: Sequence[str] = (),
    source: str = "",
    reporter: Reporter = QUIET,
) -> list[tuple[TrustRun, bool]]:
    """Measure the bias of targets in a file of word vectors.

    The file is read once for all groups, and only if a run is not there already.

    Args:
        campaign: the campaign.
        path: the file (see ``read_vectors``).
        names: the groups; by default all of the campaign.
        source: the source's name; by default the file's.
        reporter: where progress and warnings go.

    Returns:
        For each of the groups its run, and whether it was measured now.

    Raises:
        CurationError: the file or the groups are not valid, or no word of a group has a vector.
    """
    every = read_groups(campaign, names)
    source = source or source_name(path)
    for groups in every:
        run_folder(campaign, MEASURE, groups.name, source)  # refuses a bad name before the work
    read = read_once(path, words_of(every), reporter)
    identity = {"vectors": ALGORITHM, "sha256": digest(path)}
    return [
        measure_groups(
            campaign,
            groups,
            MEASURE,
            source,
            partial(_from_file, campaign, path, groups, read, reporter),
            identity=identity,
            reporter=reporter,
        )
        for groups in every
    ]


def words_of(every: Sequence[Groups]) -> list[str]:
    """All words of groups and targets."""
    lists = (lists for groups in every for lists in (groups.words, groups.targets))
    return list(dict.fromkeys(w for each in lists for words in each.values() for w in words))


def read_once(path: Path, words: Sequence[str], reporter: Reporter) -> Callable[[], Vectors]:
    """A function that reads the vectors of words at its first call, and then has them."""

    @cache
    def read() -> Vectors:
        size = path.stat().st_size if path.is_file() else 0
        with reporter.tracked(f"reading {path.name}", size, bytes=True) as advance:
            vectors = read_vectors(path, words, advance=advance)
        if vectors.repeated:
            reporter.warn(
                f"{path}: more than one vector of {some(vectors.repeated, 5)}; the first is used"
            )
        return vectors

    return read


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors inside name the file of vectors."""
    try:
        yield
    except CurationError as error:
        raise type(error)(f"{path}: {error.what}", error.fix) from None


def about_words(path: Path, vectors: Vectors, groups: Groups) -> dict[str, Any]:
    """What ``run.json`` says of a file of vectors and the words that were found in it."""
    own = set(words_of([groups]))
    missing = {
        name: [word for word in words if word not in vectors]
        for name, words in groups.words.items()
    }
    return {
        "file": printable(path.name),
        "dimensions": vectors.array.shape[1],
        "missing": {name: words for name, words in missing.items() if words},
        "missing_targets": [
            word for words in groups.targets.values() for word in words if word not in vectors
        ],
        "spellings": {word: form for word, form in vectors.spellings.items() if word in own},
        "repeated": list(vectors.repeated),
    }


def warn_of_missing(
    groups: Groups, missing: Mapping[str, Sequence[str]], reporter: Reporter
) -> None:
    """Warn of group words without a vector."""
    for name, words in missing.items():
        reporter.warn(
            f"[groups.{groups.name}]: {amount(len(words), 'word')} of {len(groups.words[name])} "
            f"of the group «{name}» left out, without a vector: {some(words, 5)}"
        )


def _from_file(
    campaign: Campaign,
    path: Path,
    groups: Groups,
    read: Callable[[], Vectors],
    reporter: Reporter,
) -> Measured:
    vectors = read()
    with naming(path):
        known = known_words(vectors, groups)
    about = about_words(path, vectors, groups)
    warn_of_missing(groups, about["missing"], reporter)

    def again(other: Groups, changed: Policies) -> list[Bias]:
        return vector_biases(vectors, other, changed)

    biases = vector_biases(
        vectors, known, policies(campaign), confidence=campaign.settings.trust.confidence
    )
    return Measured(biases, about, again, groups=known)
