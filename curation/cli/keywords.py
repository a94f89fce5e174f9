"""``curation measures count``, and what ``curation measures keywords`` shows."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from curation.cli import console
from curation.cli.options import FILE, language_code
from curation.text.wording import amount

By = Literal["domain", "label", "term"]


def count(
    files: Annotated[
        list[Path],
        typer.Argument(help="Texts: .txt or .jsonl, also as .gz, or .parquet.", **FILE),
    ],
    out: Annotated[
        Path, typer.Option("--out", help="File for the counts: .tsv.gz or .tsv.", metavar="FILE")
    ],
    language: Annotated[
        str, typer.Option(help="Language code of the texts.", callback=language_code)
    ] = "en",
    field: Annotated[
        str, typer.Option(help="JSON field or Parquet column that has the text.")
    ] = "text",
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="This machine (local) or a Ray cluster (ray).")
    ] = "local",
    workers: Annotated[int, typer.Option(help="Number of processes; 0: one per core.", min=0)] = 0,
) -> None:
    """Count the words of a corpus, for «curation measures keywords --reference».

    Large files are split among the workers. Memory grows with the number of different words.
    """
    from curation.steps.counting import count_corpus

    counts = count_corpus(
        files,
        out,
        language=language,
        field=field,
        engine=engine,
        workers=workers or None,
        reporter=console,
    )
    size = sum(file["bytes"] for file in counts.files)
    several = amount(len(counts.files), "file")
    console.say(
        f"{amount(counts.tokens, 'word')}, {len(counts.counts):,} of them different, in {several} "
        f"({amount(size, 'byte')}, {amount(counts.lines, 'line')}): {out}"
    )


def show(report: dict[str, Any], *, by: By = "domain", top: int = 16) -> None:
    """Print keywords: a table for each group that has text.

    Args:
        report: a report of ``curation.measures.keywords``.
        by: which groups.
        top: keywords shown for each, by simple maths.
    """
    for group in report["groups"]:
        if group["by"] == by and group["tokens"]:
            show_group(group, top=top)
    reference = report["reference"]
    size = f" of {amount(reference['tokens'], 'word')}" if reference["tokens"] else ""
    console.say(
        f"\n{report['unit']}; reference {reference['name']}{size}; smoothing "
        f"{report['smoothing']:g} per million; in {amount(report['least'], 'CAT')} or more; "
        "without target "
        "terms"
    )
    empty = [group for group in report["groups"] if group["by"] == by and not group["tokens"]]
    if empty:
        console.say(f"no text: {', '.join(map(_name, empty))}")


def show_group(group: dict[str, Any], *, top: int = 16) -> None:
    """Print one group's keywords.

    Args:
        group: a group of a report.
        top: keywords shown, by simple maths.
    """
    heads = ["", "keyword", "simple maths", "rank by G²", "times", "CATs"]
    heads += ["per million", "reference", "example"]
    rows = [
        [
            row["rank"],
            row["word"],
            row["score"],
            row["log_likelihood_rank"],
            row["count"],
            row["cats"],
            round(row["per_million"]),
            row["reference_per_million"],
            row["examples"][0]["text"],
        ]
        for row in group["keywords"]
        if row["rank"] <= top
    ]
    title = f"{_name(group)}: {amount(group['tokens'], 'word')} in {amount(group['cats'], 'CAT')}"
    console.table(title, heads, rows)


def _name(group: dict[str, Any]) -> str:
    """A group's name.

    >>> _name({"domain": "gender", "label": None, "term": "t-1", "target": "sister"})
    'gender, sister'
    """
    return ", ".join(filter(None, (group["domain"], group["label"], group["target"])))
