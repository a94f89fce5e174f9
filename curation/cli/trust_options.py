"""Options that the measures of bias share."""

from pathlib import Path
from typing import Annotated, Any

import typer

from curation.cli.options import FILE

WORDS: dict[str, Any] = {**FILE, "show_default": False}
"""Of options that name a list of words."""
GroupNames = Annotated[
    list[str] | None,
    typer.Option(
        "--groups",
        metavar="NAME",
        help="Measure these groups of [groups.NAME]; repeatable. Default: all.",
        show_default=False,
    ),
]
Source = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Name of what is measured, in the name of the run. Default: the file's or model's.",
        show_default=False,
    ),
]
Year = Annotated[
    int | None,
    typer.Option(
        min=1, max=9999, help="Year that the vectors are of; needs --source.", show_default=False
    ),
]
VectorsFile = Annotated[
    Path, typer.Argument(help="Vectors: .bin, .txt or .vec (each also .gz), or .npz.", **FILE)
]
Model = Annotated[
    str, typer.Argument(help="A name on the Hugging Face hub, or a folder.", show_default=False)
]
Files = Annotated[
    list[Path],
    typer.Argument(
        help="The corpus: .txt with a document on each line, .jsonl (both also .gz) or .parquet.",
        show_default=False,
        **FILE,
    ),
]
Layer = Annotated[
    int | None,
    typer.Option(
        help="The layer to read: 0 for the embeddings, 1 for the first …; default: the last.",
        show_default=False,
    ),
]
Field = Annotated[str, typer.Option(help="The field (JSON) or column (Parquet) that has the text.")]
