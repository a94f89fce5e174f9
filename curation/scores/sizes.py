"""How large models and the corpora they were trained on are."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from curation.files import CurationError, read_text
from curation.stats.correlations import spearman

SIZES = {"parameters": "parameters", "corpus_gb": "corpus, GB"}  # as tables head them
Sizes = dict[str, float]


def read_sizes(path: Path) -> dict[str, Sizes]:
    """Sizes by model, from a CSV file with the columns model, parameters and corpus_gb.

    Cells may be empty, and one of the last two columns may be missing.

    Returns:
        Of each model the sizes that the file gives: ``parameters`` (how many), ``corpus_gb``.

    Raises:
        CurationError: a column is missing or unknown, a model is named twice or not at all, a size
            is not a number above 0. Names file and line.
    """
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
    columns = [name.strip() for name in reader.fieldnames or ()]
    reader.fieldnames = columns
    if "model" not in columns or not set(columns) - {"model"} <= set(SIZES):
        raise CurationError(
            f"{path} line 1: the columns are {', '.join(columns)}",
            f"use the columns model, {', '.join(SIZES)}, with commas between them",
        )
    found: dict[str, Sizes] = {}
    for row in reader:
        where = f"{path} line {reader.line_num}"
        model = (row["model"] or "").strip()
        if not model or model in found:
            what = f"model «{model}» is there twice" if model else "no model"
            raise CurationError(f"{where}: {what}", "give each model one line")
        if None in row:
            raise CurationError(f"{where}: more cells than columns", "give each column one cell")
        given = {size: (row.get(size) or "").strip() for size in SIZES}
        found[model] = {size: _number(cell, size, where) for size, cell in given.items() if cell}
    return found


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
    """A model's parameters and the size of its corpus; None where they are not known.

    Args:
        model: its name.
        about: its ``run.json``; parameters are in its ``opened``.
        given: of ``read_sizes``; what is given there takes precedence.
    """
    opened = about.get("opened")
    counted = opened.get("parameters") if isinstance(opened, Mapping) else None
    own = given.get(model, {})
    return {"parameters": own.get("parameters", counted), "corpus_gb": own.get("corpus_gb")}


def size_correlations(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Spearman's correlations over models of lms and ss with each size (ACL §7).

    The paper's "Impact of model size" and "Impact of pretraining corpora".

    Args:
        found: of ``compare.run_results``, one a model.

    Returns:
        As ``compare.correlations``, over the models whose size is known; nothing for a size that
        fewer than three have.
    """
    rows = []
    for size, head in SIZES.items():
        known = [one for one in found if one[size] is not None]
        for figure in ("lms", "ss") if len(known) > 2 else ():
            values = [one["overall"][figure] for one in known]
            rows.append(
                {"of": figure, "with": head, **spearman(values, [one[size] for one in known])}
            )
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
