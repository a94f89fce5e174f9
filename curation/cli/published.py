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
    Tier,
    TieRule,
    read_gold,
    take_tier,
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
            "--predictions", metavar="NAME[@RULES]=FILE", show_default=False,
            help="Also a model's file of predictions, and by which profile or rule it was scored; "
            "may be repeated.",
        ),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table", show_default=False,
            help="Only this table, such as «acl 4» or «arxiv 7», or «all»; may be repeated.",
        ),
    ] = None,
    split: Annotated[
        PublishedSplit | None,
        typer.Option(
            "--split", show_default=False,
            help="Which split the gold files are; default: as their target terms say.",
        ),
    ] = None,
    tier: Tier = None,
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

    Without runs it lists the printed tables, and shows those that --table names. With --gold and
    --scores or --predictions it puts each run beside the printed rows of the same model, split,
    kind and domain, and says for each pair whether the rule is the table's and which known reasons
    make the values differ.
    """
    from curation.scores import published as stage
    from curation.scores.printed import choose

    rows = choose(table or [])
    if not (scores or predictions):
        if gold:
            console.warn("no runs were named: give --scores DIR or --predictions NAME=FILE")
        rows = [row for row in rows if split in (None, row.split)]
        report: dict[str, Any] = {"rows": [row._asdict() for row in rows]}
        if table:
            _list(rows)
        else:
            _list_tables(rows)
    else:
        if not gold:
            raise CurationError("runs without a gold file", "name StereoSet's dev.json with --gold")
        runs = _runs(scores, predictions or [])
        cats, of = read_gold(gold), split.value if split else ""
        pairs = stage.beside(
            rows,
            stage.by_split(take_tier(cats, tier), split=of),
            runs,
            whole=stage.by_split(cats, split=of),
            ties=ties.value,
            skipped=console.warn,
        )
        _say_unmatched(runs)
        report = {"ties": ties.value, "tier": tier, "rows": pairs, "why": stage.WHY}
        _show(pairs, tier)
    write_csv(csv_file, stage.long_rows(report["rows"], tier=tier))
    if latex:
        text = stage.latex(report["rows"], ties=ties.value, tier=tier, intervals=intervals)
        write_text(latex, text)
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


def _list_tables(rows: "Sequence[Printed]") -> None:
    """Print which tables there are, and how to show one."""
    from curation.scores.printed import short_name

    cells = []
    for source, split in dict.fromkeys((row.source, row.split) for row in rows):
        own = [row for row in rows if (row.source, row.split) == (source, split)]
        profile = next((row.profile for row in own if row.profile), "")
        cells.append([source, short_name(source), split, profile, len(own)])
    console.table("Printed tables", ["source", "--table", "split", "profile", "rows"], cells)
    console.say('Show one with «--table "acl 4"», all with «--table all».')


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


def _show(pairs: Sequence[dict[str, Any]], tier: int | None) -> None:
    """Print each printed row beside the runs, and what marks and reasons mean."""
    from curation.cli.scores import show_marks, show_notes
    from curation.scores.published import WHY
    from curation.scores.tiers import tier_text

    if not pairs:
        console.warn(
            "no printed row has the model, split, kind and domain of one of these runs; "
            "«curation scores published --table all» lists the printed rows"
        )
        return
    place = ("source", "split", "kind")
    for of in dict.fromkeys(tuple(pair[key] for key in place) for pair in pairs):
        own = [pair for pair in pairs if tuple(pair[key] for key in place) == of]
        source, split, kind = of
        title = [source, split, "both kinds" if kind == "both" else kind, tier_text(tier)]
        _show_table(", ".join(filter(None, title)), own)
    console.say("Δ: yours less printed")
    console.say("inside: the printed value, as rounded, lies in the interval of yours")
    show_notes(pairs)
    show_marks(pair["flags"] for pair in pairs)
    codes = {code for pair in pairs for code in pair["why"]}
    for code, meaning in WHY.items():
        if code in codes:
            console.say(f"{code}: {meaning}")


def _show_table(title: str, pairs: Sequence[dict[str, Any]]) -> None:
    from curation.scores.flags import marked
    from curation.scores.published import rule_shown

    runs = _runs_shown(pairs)
    named = any(runs.values())
    cells = []
    for pair in pairs:
        domain = (pair["target"] or pair["domain"]) + ("*" if pair["few_terms"] else "")
        who = [marked(pair["model"], pair["flags"]), domain]
        who += [*([runs[pair["run"]]] if named else []), rule_shown(pair)]
        for name, figure in pair["figures"].items():
            far, ends = figure["difference"], figure["ci"]
            cells.append(
                [
                    *(*who, name, _printed(figure["printed"], pair["digits"]), figure["value"]),
                    f"{console.show(ends)}~" if name in pair["too_wide"] else ends,
                    None if far is None else round(far, 2) + 0.0,  # no -0.00
                    *(figure["inside"], ", ".join(pair["why"])),
                ]
            )
    heads = ["model", "domain", *(["run"] if named else []), "rule", "", "printed", "yours"]
    console.table(title, [*heads, "95 %", "Δ", "inside", "why"], cells)


def _runs_shown(pairs: Sequence[dict[str, Any]]) -> dict[str, str]:
    """What a table calls each run: the least that tells it from others of its model and rule."""
    of = {pair["run"]: (pair["model"], pair["rule"]) for pair in pairs}
    labels = {run: run.rpartition("/")[0].rpartition("/")[2] for run in of}
    for shown in (dict.fromkeys(of, ""), labels):
        if len({(*of[run], name) for run, name in shown.items()}) == len(of):
            return shown
    return {run: run for run in of}
