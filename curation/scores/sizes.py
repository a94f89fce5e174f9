"""The sizes of models, of the same architecture, and of the corpora that they were trained on.

ACL §7 and arXiv §8: "Impact of model size" (for a given architecture), "Impact of pretraining
corpora".
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from curation.files import CurationError, read_text
from curation.formats.tables import read_csv
from curation.records import Fields
from curation.stats.correlations import spearman
from curation.stats.metrics import METRICS

SIZES = {"parameters": "parameters", "corpus_gb": "corpus, GB"}  # as tables head them
Sizes = dict[str, Any]


def read_sizes(path: Path) -> dict[str, Sizes]:
    """Sizes by model, from a CSV file with the columns model, parameters, corpus_gb, architecture.

    Cells may be empty, and columns other than the first may be missing.

    Returns:
        What the file gives for each model: ``parameters`` (how many), ``corpus_gb``, and
        ``architecture``, a text.

    Raises:
        CurationError: a column is missing or unknown, a model is named twice or not at all, or a
            size is not a number above 0. Names file and line.
    """
    columns, rows = read_csv(read_text(path), path)
    if "model" not in columns or not set(columns) <= {"model", *SIZES, "architecture"}:
        raise CurationError(
            f"{path} line 1: the columns are {', '.join(columns)}",
            f"use the columns model, {', '.join(SIZES)}, architecture",
        )
    sizes: dict[str, Sizes] = {}
    for number, row in rows:
        where = f"{path} line {number}"
        model = row.get("model", "").strip()
        if not model or model in sizes:
            problem = f"the model «{model}» is there twice" if model else "no model"
            raise CurationError(f"{where}: {problem}", "give each model one line")
        if "" in row:
            raise CurationError(f"{where}: more cells than columns", "give each column one cell")
        cells = {size: row.get(size, "").strip() for size in SIZES}
        sizes[model] = {size: _number(cell, size, where) for size, cell in cells.items() if cell}
        if architecture := row.get("architecture", "").strip():
            sizes[model]["architecture"] = architecture
    return sizes


def _number(cell: str, size: str, where: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise CurationError(
            f"{where}: {size} is «{cell}», not a number above 0",
            "write for example 110000000 parameters, or 16 GB",
        )
    return value


def sizes_of(model: str, about: Mapping[str, Any], given: Mapping[str, Sizes]) -> Fields:
    """A model's parameters, the size of its corpus, and its architecture; None if not known.

    The architecture is the class of transformers that opened the model, if none is given.

    Args:
        model: its name.
        about: its ``run.json``; parameters and architecture are in its ``opened``.
        given: of ``read_sizes``, which takes precedence.
    """
    opened = about.get("opened")
    opened = opened if isinstance(opened, Mapping) else {}
    counted = opened.get("parameters")
    counted = counted if type(counted) is int else None
    known = {"parameters": counted, "corpus_gb": None, "architecture": opened.get("architecture")}
    return known | given.get(model, {})


def by_architecture(results: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The models of which another one has the same architecture, if their sizes are known.

    Args:
        results: of ``compare.run_results``, one per model.

    Returns:
        Those of one architecture are together, the smallest first.
    """
    known = [result for result in results if result["architecture"] and result["parameters"]]
    count = Counter(str(result["architecture"]) for result in known)
    own = [result for result in known if count[str(result["architecture"])] > 1]
    return sorted(own, key=lambda result: (str(result["architecture"]), result["parameters"]))


def size_correlations(results: Sequence[Mapping[str, Any]]) -> list[Fields]:
    """Spearman's correlations over models of lms, ss and icat with the size of the corpus.

    The papers relate the number of parameters within an architecture only: ``by_architecture``.

    Args:
        results: of ``compare.run_results``, one per model.

    Returns:
        Rows as in ``compare.correlations``, over the models whose corpus is known; none if these
        are fewer than three.
    """
    known = [result for result in results if result["corpus_gb"] is not None]
    sizes = [result["corpus_gb"] for result in known]
    return [
        {"of": of, "with": SIZES["corpus_gb"], **spearman([r["overall"][of] for r in known], sizes)}
        for of in (METRICS if len(known) > 2 else ())
    ]


def size_text(count: float | None) -> str:
    """A number of parameters as tables show it.

    >>> size_text(124_439_808), size_text(1_557_611_200), size_text(4100), size_text(None)
    ('124M', '1.56B', '4.1K', '–')
    """
    if count is None:
        return "–"
    unit, letter = next(((u, x) for u, x in ((1e9, "B"), (1e6, "M")) if count >= u), (1e3, "K"))
    return f"{count / unit:.3g}{letter}"
