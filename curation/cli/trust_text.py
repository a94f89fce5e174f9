"""``curation trust text``: bias in text."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import FILE, Json, Language, Where
from curation.cli.trust_options import Field, GroupNames, Source
from curation.cli.trust_tables import show_runs
from curation.files import CurationError

Window = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1000,
        help="Sentences of a context; default: window in [trust].",
        show_default=False,
    ),
]


def text(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Texts with a document per line (.txt), record (.jsonl) or row (.parquet); the "
            "first two also as .gz.",
            show_default=False,
            **FILE,
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="People's labels of passages instead of texts: .csv or .jsonl.",
            show_default=False,
            **FILE,
        ),
    ] = None,
    groups: GroupNames = None,
    source: Source = "",
    window: Window = None,
    field: Field = "text",
    language: Language = "",
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="This machine (local) or a Ray cluster (ray).")
    ] = "local",
    workers: Annotated[int, typer.Option(help="Number of processes; 0: one per core.", min=0)] = 0,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Measure which groups targets are mentioned with in texts, or in people's labels of passages.

    In texts, a context is three consecutive sentences of a document. It counts for a group if it
    has a word of the target and a word of that group only. With --labels, a passage counts for the
    group that most annotators chose. Intervals are over documents, or over passages.

    If the passages are from the texts, give both the same --source: the trust report then compares
    them.
    """
    from curation.steps.trust.text import measure_labels, measure_texts

    opened = open_campaign(campaign)
    if bool(files) == bool(labels):
        raise CurationError(
            "give either files of text or --labels",
            "curation trust text corpus.jsonl.gz, or curation trust text --labels labels.csv",
        )
    run: Any = {"names": groups or (), "source": source, "reporter": console}
    if labels:
        show_runs(measure_labels(opened, labels, **run), as_json=as_json)
        return
    run |= {"window": window, "field": field, "language": language, "engine": engine}
    runs = measure_texts(opened, files or [], workers=workers or None, **run)
    show_runs(runs, as_json=as_json)
