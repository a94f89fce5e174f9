"""Counts the words of a corpus into a table, the reference of keywords."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from curation.files import CurationError
from curation.steps.reporter import QUIET, Reporter
from curation.work.engine import Engine

if TYPE_CHECKING:
    from curation.measures.counting import Counts


def count_corpus(
    files: Sequence[Path],
    out: Path,
    *,
    language: str = "en",
    field: str = "text",
    engine: Engine = "local",
    workers: int | None = None,
    reporter: Reporter = QUIET,
) -> "Counts":
    """Count the words of files, and write the counts as a table.

    Args:
        files: texts, as for ``curation.measures.counting.count``.
        out: the table; its name ends in .tsv.gz or .tsv.
        language: language code of the texts.
        field: the JSON field or Parquet column that has the text.
        engine: what reads the files, see ``curation.work.engine``.
        workers: how many run at once; by default one per processor.
        reporter: where progress goes.

    Raises:
        CurationError: the table's name ends otherwise, a file cannot be read or has no words, or
            the language's texts cannot be split into words.
    """
    from curation.measures import counting
    from curation.text.words import NotCheckedError

    if not out.name.endswith((".tsv", ".tsv.gz")):
        raise CurationError(
            f"{out}: not a name for a table", "use a name that ends in .tsv.gz or .tsv"
        )
    total = sum(path.stat().st_size for path in files if path.is_file())
    try:
        with reporter.tracked("counting", total, bytes=True) as tell:
            counts = counting.count(
                files, language=language, engine=engine, workers=workers, field=field, tell=tell
            )
    except NotCheckedError as error:
        fix = error.fix or "words of this language cannot be counted"
        raise CurationError(error.reason, fix) from None
    counting.write_counts(out, counts)
    return counts
