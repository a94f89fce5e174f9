"""``curation measures count`` and what ``keywords`` shows."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from curation.cli import console
from curation.cli.options import FILE, language_code

By = Literal["domain", "label", "term"]


def count(
    files: Annotated[
        list[Path],
        typer.Argument(help="Texts: .txt, .jsonl (either also .gz), .parquet.", **FILE),
    ],
    out: Annotated[
        Path, typer.Option("--out", help="Where the counts go: .tsv.gz or .tsv.", metavar="FILE")
    ],
    language: Annotated[
        str, typer.Option(help="Language code of the texts.", callback=language_code)
    ] = "en",
    field: Annotated[
        str, typer.Option(help="Where the text of a JSON record or a Parquet row stands.")
    ] = "text",
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="On this machine's cores, or on a Ray cluster.")
    ] = "local",
    workers: Annotated[
        int, typer.Option(help="How many processes at once; 0: as many as there are cores.", min=0)
    ] = 0,
) -> None:
    """Count the words of a corpus, for «curation measures keywords --reference».

    Large files are shared among the workers. Memory grows with the number of different words.
    """
    from curation.files import CurationError
    from curation.measures import counting
    from curation.words import NotCheckedError

    if not out.name.endswith((".tsv", ".tsv.gz")):
        raise CurationError(f"{out}: is no name of a table", "end it in .tsv.gz or .tsv")
    total = sum(path.stat().st_size for path in files if path.is_file())
    try:
        with console.tracked("counting", total, bytes=True) as tell:
            found = counting.count(
                files,
                language=language,
                engine=engine,
                workers=workers or None,
                field=field,
                tell=tell,
            )
    except NotCheckedError as error:
        what, installs, package = str(error).partition(": pip install")
        fix = f"pip install{package}" if installs else "words of this language cannot be counted"
        raise CurationError(what, fix) from None
    counting.write_counts(out, found)
    size = sum(one["bytes"] for one in found.files)
    several = f"{len(found.files)} files" if len(found.files) > 1 else "1 file"
    console.say(
        f"{found.tokens:,} words, {len(found.counts):,} of them different, in {several} "
        f"({size:,} bytes, {found.lines:,} lines): {out}"
    )


def show(report: dict[str, Any], *, by: By = "domain", top: int = 16) -> None:
    """Print keywords: a table for each group that has text.

    Args:
        report: as ``measures.keywords`` makes it.
        by: which groups.
        top: how many keywords of each, by simple maths.
    """
    for group in report["groups"]:
        if group["by"] == by and group["tokens"]:
            show_group(group, top=top)
    held = report["reference"]
    of = f" of {held['tokens']:,} words" if held["tokens"] else ""
    console.say(
        f"\n{report['unit']}; against {held['name']}{of}; smoothing {report['smoothing']:g} per "
        f"million, in {report['least']} CATs or more; target terms are removed"
    )
    empty = [group for group in report["groups"] if group["by"] == by and not group["tokens"]]
    if empty:
        console.say(f"no text: {', '.join(map(_name, empty))}")


def show_group(group: dict[str, Any], *, top: int = 16) -> None:
    """Print one group's keywords.

    Args:
        group: one of a report's.
        top: how many, by simple maths.
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
    title = f"{_name(group)}: {group['tokens']:,} words of {group['cats']:,} CATs"
    console.table(title, heads, rows)


def _name(group: dict[str, Any]) -> str:
    """What a group is called.

    >>> _name({"domain": "gender", "label": None, "term": "t-1", "target": "sister"})
    'gender, sister'
    """
    return ", ".join(filter(None, (group["domain"], group["label"], group["target"])))
