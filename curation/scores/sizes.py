"""The sizes of models and of the corpora that they were trained on."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from curation.files import CurationError, read_text
from curation.stats.correlations import spearman
from curation.text_tables import read_csv

SIZES = {"parameters": "parameters", "corpus_gb": "corpus, GB"}  # as tables head them
Sizes = dict[str, float]


def read_sizes(path: Path) -> dict[str, Sizes]:
    """Sizes by model, from a CSV file with the columns model, parameters and corpus_gb.

    Cells may be empty, and one of the last two columns may be missing.

    Returns:
        The sizes that the file gives for each model: ``parameters`` (how many), ``corpus_gb``.

    Raises:
        CurationError: a column is missing or unknown, a model is named twice or not at all, or a
            size is not a number above 0. Names file and line.
    """
    columns, rows = read_csv(read_text(path), path)
    if "model" not in columns or not set(columns) - {"model"} <= set(SIZES):
        raise CurationError(
            f"{path} line 1: the columns are {', '.join(columns)}",
            f"use the columns model, {', '.join(SIZES)}",
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


def sizes_of(model: str, about: Mapping[str, Any], given: Mapping[str, Sizes]) -> dict[str, Any]:
    """A model's parameters and the size of its corpus; None if not known.

    Args:
        model: its name.
        about: its ``run.json``; parameters are in its ``opened``.
        given: of ``read_sizes``, which takes precedence.
    """
    opened = about.get("opened")
    counted = opened.get("parameters") if isinstance(opened, Mapping) else None
    counted = counted if type(counted) is int else None
    own = given.get(model, {})
    return {"parameters": own.get("parameters", counted), "corpus_gb": own.get("corpus_gb")}


def size_correlations(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Spearman's correlations over models of lms and ss with each size (ACL §7).

    See the paper's "Impact of model size" and "Impact of pretraining corpora".

    Args:
        results: of ``compare.run_results``, one per model.

    Returns:
        Rows as in ``compare.correlations``, over the models whose size is known. A size that is
        known for fewer than three models has no row.
    """
    rows = []
    for size, head in SIZES.items():
        known = [result for result in results if result[size] is not None]
        sizes = [result[size] for result in known]
        for metric in ("lms", "ss") if len(known) > 2 else ():
            values = [result["overall"][metric] for result in known]
            rows.append({"of": metric, "with": head, **spearman(values, sizes)})
    return rows


def size_text(count: float | None) -> str:
    """A number of parameters as tables show it.

    >>> size_text(124_439_808), size_text(1_557_611_200), size_text(4100), size_text(None)
    ('124M', '1.56B', '4.1K', '–')
    """
    if count is None:
        return "–"
    unit, letter = next(((u, x) for u, x in ((1e9, "B"), (1e6, "M")) if count >= u), (1e3, "K"))
    return f"{count / unit:.3g}{letter}"
