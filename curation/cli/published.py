"""``curation scores published``: the papers' printed tables, alone or beside your runs."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curation.cli import console
from curation.cli.gold import (
    Intervals,
    JsonFile,
    LatexFile,
    TieRule,
    read_gold,
    write_csv,
    write_json,
    write_text,
)
from curation.cli.options import FILE
from curation.files import CurationError

if TYPE_CHECKING:
    from curation.scores.printed import Printed
    from curation.scores.runs import Run


class PublishedSplit(StrEnum):
    """Which of StereoSet's splits."""

    dev = "dev"
    test = "test"


def published(
    gold: Annotated[
        list[Path] | None,
        typer.Option(
            "--gold", show_default=False,
            help="A gold file of StereoSet that your runs scored; may be repeated.", **FILE,
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            "--scores", metavar="DIR", show_default=False,
            help="Your runs: the folder of MODEL/RULE/scores.jsonl.",
        ),
    ] = None,
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            "--predictions", metavar="NAME=FILE", show_default=False,
            help="Also a model's file of predictions; may be repeated.",
        ),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table", show_default=False,
            help="Only this table, such as «acl 4» or «arxiv 7»; may be repeated.",
        ),
    ] = None,
    split: Annotated[
        PublishedSplit | None,
        typer.Option(
            "--split", show_default=False,
            help="Which split the gold files are; default: as their target terms say.",
        ),
    ] = None,
    ties: Annotated[
        TieRule,
        typer.Option(
            "--ties", help="official: a tie is lost, as StereoSet counts. half: it is half won."
        ),
    ] = TieRule.official,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Also write the rows to a long table.", **FILE)
    ] = None,
    latex: LatexFile = None,
    intervals: Intervals = False,
    json_file: JsonFile = None,
) -> None:  # fmt: skip
    """Show the tables that the StereoSet papers print, beside your own runs on StereoSet.

    Without runs it lists the printed tables. With --gold and --scores or --predictions it puts
    each run beside the printed rows of the same model, split, kind and domain, and says for each
    pair whether the rule is the table's and which known reasons make the values differ.
    """
    from curation.scores import published as stage
    from curation.scores.printed import choose

    rows = choose(table or [])
    if not (scores or predictions):
        rows = [row for row in rows if split in (None, row.split)]
        report: dict[str, Any] = {"rows": [row._asdict() for row in rows]}
        _list(rows)
    else:
        if not gold:
            raise CurationError("runs without a gold file", "name StereoSet's dev.json with --gold")
        runs = _runs(scores, predictions or [])
        pairs = stage.beside(
            rows,
            stage.by_split(read_gold(gold), split=split.value if split else ""),
            runs,
            ties=ties.value,
            skipped=console.warn,
        )
        _say_unmatched(runs)
        report = {"ties": ties.value, "rows": pairs, "why": stage.WHY}
        _show(pairs)
    write_csv(csv_file, stage.long_rows(report["rows"]))
    if latex:
        write_text(latex, stage.latex(report["rows"], intervals=intervals))
    write_json(json_file, report)


def _runs(scores: Path | None, predictions: Sequence[str]) -> "list[Run]":
    from curation.scores.runs import read_predictions_run, read_runs

    runs = read_runs(scores, skipped=console.warn) if scores else []
    return [*runs, *map(read_predictions_run, predictions)]


def _say_unmatched(runs: "Sequence[Run]") -> None:
    from curation.scores.printed import models
    from curation.scores.published import printed_name

    others = sorted({run.model for run in runs if printed_name(run) is None})
    if others:
        console.note(
            f"Not among the printed models: {', '.join(others)}. The papers print "
            f"{', '.join(models())}; use LABEL=MODEL or NAME=FILE to give a run one of these names."
        )


def _list(rows: "Sequence[Printed]") -> None:
    """Print the printed tables themselves."""
    for source in dict.fromkeys(row.source for row in rows):
        own = [row for row in rows if row.source == source]
        heads = ["model", "split", "kind", "domain", "target", "lms", "ss", "icat", "note"]
        cells = [
            [
                *(row.model, row.split, row.kind, row.domain, row.target),
                *(_printed(row.lms, row.digits), _printed(row.ss, row.digits)),
                *(_printed(row.icat, row.digits), row.note),
            ]
            for row in own
        ]
        profile = next((row.profile for row in own if row.profile), "")
        console.table(f"{source}, profile {profile}", heads, cells)


def _printed(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _show(pairs: Sequence[dict[str, Any]]) -> None:
    """Print each printed row beside the runs, and what the reasons mean."""
    from curation.scores.published import WHY

    if not pairs:
        console.warn(
            "no printed row has the model, split, kind and domain of one of these runs; "
            "«curation scores published» lists the printed rows"
        )
        return
    heads = ["model", "kind", "domain", "run", "rule", "figure", "printed", "yours", "95 %"]
    heads += ["difference", "inside", "why"]
    for source in dict.fromkeys(pair["source"] for pair in pairs):
        cells = []
        for pair in (pair for pair in pairs if pair["source"] == source):
            domain = pair["target"] or pair["domain"]
            rule = pair["rule"] if pair["same_rule"] is not False else f"other: {pair['rule']}"
            for name, figure in pair["figures"].items():
                far = figure["difference"]
                cells.append(
                    [
                        *(pair["model"], pair["kind"], domain, pair["run"], rule, name),
                        _printed(figure["printed"], pair["digits"]),
                        *(figure["value"], figure["ci"]),
                        None if far is None else round(far, 2) + 0.0,  # no -0.00
                        *(figure["inside"], ", ".join(pair["why"])),
                    ]
                )
        split = next(pair["split"] for pair in pairs if pair["source"] == source)
        console.table(f"{source}, {split}", heads, cells)
    codes = {code for pair in pairs for code in pair["why"]}
    for code, meaning in WHY.items():
        if code in codes:
            console.say(f"{code}: {meaning}")
