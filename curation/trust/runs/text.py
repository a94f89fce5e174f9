"""Measure bias in text; runs ``text-automated/GROUPS-SOURCE`` and ``text-human/GROUPS-SOURCE``."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

from curation.campaign.store import Campaign
from curation.files import CurationError, digest, printable, read_text
from curation.formats.tables import list_columns, read_csv, read_json_lines
from curation.text.wording import amount
from curation.trust.measure import automated, human
from curation.trust.measure.framework import AUTOMATED, HUMAN
from curation.trust.measure.groups import Groups
from curation.trust.measure.matching import lists
from curation.trust.measure.scanning import Texts
from curation.trust.runs.files import Measured, TrustRun, read_groups, source_name
from curation.trust.runs.measuring import Job, measure_each, policies
from curation.work.engine import Engine
from curation.work.reporter import QUIET, Reporter

Rows = Sequence[tuple[str, Mapping[str, Any]]]


class Reading(TypedDict, total=False):
    """How a measure reads the files of a corpus: the options that all have.

    Attributes:
        window: sentences of a context.
        language: of the texts; by default the campaign's.
        field: the JSON field or Parquet column that has the text; by default "text".
        engine: what reads the files, see ``curation.work.engine``; by default "local".
        workers: how many processes run at once; None for one per processor.
    """

    window: int | None
    language: str
    field: str
    engine: Engine
    workers: int | None


def texts_of(campaign: Campaign, paths: Sequence[Path], reading: Reading) -> Texts:
    """The corpus; what is not given is as in the campaign's settings."""
    given: Any = {name: value for name, value in reading.items() if value not in (None, "")}
    settings = campaign.settings
    usual = {"language": settings.campaign.language, "window": settings.trust.window}
    return Texts(paths, **usual | given)


def measure_texts(
    campaign: Campaign,
    files: Sequence[Path],
    *,
    names: Sequence[str] = (),
    source: str = "",
    reporter: Reporter = QUIET,
    **reading: Unpack[Reading],
) -> list[tuple[TrustRun, bool]]:
    """Measure which groups targets are mentioned with in a corpus.

    Args:
        campaign: the campaign.
        files: texts, as for ``curation.trust.measure.scanning.Texts``.
        names: the groups; by default all of the campaign.
        source: the source's name; by default the first file's. The run's name also has the window
            if it is not the campaign's, so that each window has a run of its own.
        reporter: where progress and warnings go.
        reading: see ``Reading``; by default ``window`` is that in ``[trust]``.

    Returns:
        For each of the groups its run, and whether it was measured now.

    Raises:
        CurationError: the groups are not valid, there is no file, or a file cannot be read.
    """
    texts, every = texts_of(campaign, files, reading), read_groups(campaign, names)
    texts.shards(1)  # so that errors of settings show before the work
    for groups in every:
        lists(groups, texts.language)
    source = source or source_name(files[0])
    if texts.window != campaign.settings.trust.window:
        source = f"{source.removesuffix(f'+window-{texts.window}')}+window-{texts.window}"

    def identity() -> dict[str, Any]:
        return {
            **automated.versions(texts.language),
            "window": texts.window,
            "field": texts.field,
            "files": [digest(path) for path in files],
        }

    work = partial(_count, campaign, texts, reporter, every[0])
    job = Job(campaign, AUTOMATED, source, work, identity, reporter=reporter)
    return list(measure_each(job, every))


def _count(
    campaign: Campaign, texts: Texts, reporter: Reporter, first: Groups, groups: Groups
) -> Measured:
    total = sum(path.stat().st_size for path in texts.paths)
    with reporter.tracked(f"reading texts for «{groups.name}»", total, bytes=True) as tell:
        counts = automated.count(texts, groups, tell=tell)
    if groups is first and 2 * sum(counts.short) >= sum(counts.read) > 0:
        reporter.warn(
            f"{sum(counts.short):,} of {amount(sum(counts.read), 'document')} have fewer than "
            f"{amount(texts.window, 'sentence')} and no context; if your lines are single "
            "sentences, convert the texts to .jsonl with a document per record, or use --window 1"
        )
    tally = automated.Tally(counts, texts.language)
    documents, confidence = counts.documents, campaign.settings.trust.confidence
    biases = tally.biases(groups, policies(campaign), documents=documents, confidence=confidence)
    kinds, without = tally.strengths(groups)[1].astype(int).tolist(), dict[str, list[str]]()
    for name, words in groups.words.items():
        without[name] = [word for word in words if not tally.lexicon.of([word])]
        if len(without[name]) == len(words):
            reporter.warn(
                f"[groups.{groups.name}]: no word of the group «{name}» is in a context of a target"
            )
    about = {
        "language": texts.language,
        "window": texts.window,
        "files": [
            {"file": printable(path.name), "bytes": path.stat().st_size, "documents": read}
            | {"too_short": short}
            for path, read, short in zip(texts.paths, counts.read, counts.short, strict=True)
        ],
        "contexts": {
            bias.target: dict(zip(("no_group", "one_group", "several_groups"), row, strict=True))
            for bias, row in zip(biases, kinds, strict=True)
        },
        "words_without_context": {name: words for name, words in without.items() if words},
        "targets_without_context": [bias.target for bias in biases if not bias.n],
    }
    return Measured(biases, about, tally.biases)


# --- people's labels ----------------------------------------------------------------------------


def measure_labels(
    campaign: Campaign,
    path: Path,
    *,
    names: Sequence[str] = (),
    source: str = "",
    reporter: Reporter = QUIET,
) -> list[tuple[TrustRun, bool]]:
    """Measure which groups people associate targets with in passages.

    Args:
        campaign: the campaign.
        path: a table in CSV or JSON Lines with the columns ``human.COLUMNS``.
        names: the groups; by default all of the campaign.
        source: the source's name; by default the file's.
        reporter: where progress and warnings go.

    Returns:
        For each of the groups its run, and whether it was measured now.

    Raises:
        CurationError: the groups are not valid, the table cannot be read or lacks a column, or no
            row is a label of the groups.
    """
    every = read_groups(campaign, names)
    source, rows = source or source_name(path), label_rows(path)
    work = partial(_from_labels, campaign, path, rows, reporter)
    identity = {"text-human": human.ALGORITHM, "sha256": digest(path)}
    job = Job(campaign, HUMAN, source, work, lambda: identity, reporter=reporter)
    return list(measure_each(job, every))


def label_rows(path: Path, *, columns: Sequence[str] = human.COLUMNS) -> Rows:
    """The rows of a table of labels in CSV or JSON Lines, each with its place.

    Args:
        path: the table.
        columns: the columns that it must have.

    Raises:
        CurationError: it cannot be read, or lacks a column.
    """
    text = read_text(path)
    if path.name.lower().endswith(".jsonl"):
        rows = list(read_json_lines(text, path))
        names = list(dict.fromkeys(name for _, row in rows for name in row))
    else:
        names, numbered = read_csv(text, path)
        rows = list(numbered)
    if missing := [name for name in columns if name not in names]:
        raise CurationError(
            f"{path}: no column «{missing[0]}»; the columns are {list_columns(names)}",
            f"name the columns {', '.join(columns)}",
        )
    return [(f"{printable(path.name)} line {line}", row) for line, row in rows]


def _from_labels(
    campaign: Campaign, path: Path, rows: Rows, reporter: Reporter, groups: Groups
) -> Measured:
    read = human.read_labels(rows, groups)
    codes = Counter(each.code for each in read.refused)
    if not read.labels:
        first = f": {read.refused[0].where}: {read.refused[0].detail}" if read.refused else ""
        raise CurationError(
            f"{path}: has no label of the targets of [groups.{groups.name}]{first}",
            "correct the rows: targets and groups as in the campaign, times such as "
            "2026-01-31T12:00:00Z (docs/trust.md, People's labels)",
        )
    if codes:
        shown = ", ".join(f"{code} {number}" for code, number in codes.most_common())
        reporter.warn(
            f"{path}: {codes.total()} of {len(rows)} rows are refused: {shown} (rejected.jsonl has "
            "them with their reasons)"
        )
    passages = human.passages(read.labels, groups)
    trust = campaign.settings.trust
    biases = passages.biases(policies=policies(campaign), confidence=trust.confidence)
    about = {
        "file": printable(path.name),
        "rows": len(rows),
        "labels": len(read.labels),
        "refused": dict(codes),
        "passages": len({passage for passage, _ in passages.units}),
        "annotators": passages.annotators,
        "labelled_again": len(passages.repeated_units),
        "later_labels": passages.later,
        "no_majority": passages.undecided,
    }
    evidence = passages.evidence(
        policies(campaign), confidence=trust.confidence, seed=campaign.settings.campaign.seed
    )
    return Measured(biases, about, passages.biases, evidence, refused=read.refused)
