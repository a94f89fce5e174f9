"""``curation scores published``: the papers' printed tables, alone or beside your runs."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curation.cli import console
from curation.cli.options import FILE
from curation.cli.results import show_marks, show_notes, show_turned
from curation.cli.score_options import (
    Intervals,
    JsonFile,
    LatexFile,
    LowerIsLikelier,
    Tier,
    TieRule,
    write_csv,
    write_json,
    write_text,
)
from curation.files import CurationError

if TYPE_CHECKING:
    from curation.scores.published import Printed


class PublishedSplit(StrEnum):
    """Which of StereoSet's splits."""

    dev = "dev"
    test = "test"


def published(
    gold: Annotated[
        list[Path] | None,
        typer.Option(
            "--gold", show_default=False,
            help="A gold file of StereoSet that your runs scored; repeatable.", **FILE,
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            "--scores", metavar="DIR", show_default=False,
            help="Your runs: the folder of MODEL/RULE/.",
        ),
    ] = None,
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            "--predictions", metavar="NAME[@RULES]=FILE", show_default=False,
            help="Also compare a model's predictions file; @RULES declares the profile or rule it "
            "was scored by. Repeatable.",
        ),
    ] = None,
    lower_is_likelier: LowerIsLikelier = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table", show_default=False,
            help="Only this table, such as «acl 4» or «arxiv 7», or «all»; repeatable.",
        ),
    ] = None,
    split: Annotated[
        PublishedSplit | None,
        typer.Option(
            "--split", show_default=False,
            help="The split of the gold files; default: determined from their target terms.",
        ),
    ] = None,
    tier: Tier = None,
    ties: Annotated[
        TieRule,
        typer.Option(
            "--ties",
            help="official: a tie counts as lost, as in StereoSet. half: it counts as half won.",
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

    Without runs, the command lists the printed tables, and shows those that --table names. With
    --gold and --scores or --predictions, it shows each run beside the printed rows of the same
    model, split, kind and domain. For each pair it shows whether the run used the table's
    rule, and the known reasons for a difference.
    """
    from curation.scores import published as stage
    from curation.scores.published import choose
    from curation.steps.scores.published import beside_printed
    from curation.steps.source import gold_source

    rows = choose(table or [])
    if scores or predictions:
        if not gold:
            raise CurationError(
                "your runs need a gold file", "name StereoSet's dev.json with --gold"
            )
        report = beside_printed(
            rows,
            gold_source(gold, reporter=console),
            scores=scores,
            predictions=predictions or [],
            lower_is_likelier=lower_is_likelier or [],
            split=split.value if split else "",
            tier=tier,
            ties=ties.value,
            reporter=console,
        )
        _show(report["rows"], tier)
    else:
        if gold:
            console.warn(
                "no runs are given: name them with --scores DIR or --predictions NAME=FILE"
            )
        rows = [row for row in rows if split in (None, row.split)]
        report = {"rows": [row._asdict() for row in rows]}
        if table:
            _list(rows)
        else:
            _list_tables(rows)
    write_csv(csv_file, stage.long_rows(report["rows"], tier=tier))
    if latex:
        text = stage.latex(report["rows"], ties=ties.value, tier=tier, intervals=intervals)
        write_text(latex, text)
    write_json(json_file, report)


def _list_tables(rows: "Sequence[Printed]") -> None:
    """Print the list of tables, and how to show one."""
    from curation.scores.published import short_name

    cells = []
    for source, split in dict.fromkeys((row.source, row.split) for row in rows):
        own = [row for row in rows if (row.source, row.split) == (source, split)]
        profile = next((row.profile for row in own if row.profile), "")
        cells.append([source, short_name(source), split, profile, len(own)])
    console.table("Printed tables", ["source", "--table", "split", "profile", "rows"], cells)
    console.say('Show one with «--table "acl 4"», or all with «--table all».')


def _list(rows: "Sequence[Printed]") -> None:
    """Print the rows of the printed tables."""
    for source in dict.fromkeys(row.source for row in rows):
        own = [row for row in rows if row.source == source]
        heads = ["model", "split", "kind", "domain", "target", "lms", "ss", "icat"]
        cells = [
            [
                *(row.model, row.split, row.kind, row.domain, row.target),
                *(_printed(row.lms, row.digits), _printed(row.ss, row.digits)),
                *(_printed(row.icat, row.digits), " or ".join(row.numbers), row.basis, row.note),
            ]
            for row in own
        ]
        profile = next((row.profile for row in own if row.profile), "")
        title = f"{source}, profile {profile}"
        console.table(title, [*heads, "numbers by", "known from", "note"], cells)
    console.say("profile: the paper's text. numbers by: the profile that the numbers follow.")


def _printed(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _show(pairs: Sequence[dict[str, Any]], tier: int | None) -> None:
    """Print each printed row beside the runs, and the meaning of marks and reasons."""
    from curation.scores.published import WHY
    from curation.scores.tables import tier_text

    if not pairs:
        console.warn(
            "no printed row matches the model, split, kind and domain of these runs; "
            "«curation scores published --table all» lists the printed rows"
        )
        return
    columns = ("source", "split", "kind")
    for table in dict.fromkeys(tuple(pair[key] for key in columns) for pair in pairs):
        own = [pair for pair in pairs if tuple(pair[key] for key in columns) == table]
        source, split, kind = table
        title = [source, split, "both kinds" if kind == "both" else kind, tier_text(tier)]
        _show_table(", ".join(filter(None, title)), own)
    console.say("Δ: yours minus printed")
    console.say("inside: the printed value, as rounded, is in the interval of your value")
    show_notes(pairs)
    show_marks(pair["flags"] for pair in pairs)
    for text in dict.fromkeys(f"{p['run']}: {p['other_head']}" for p in pairs if p["other_head"]):
        console.say(text)
    show_turned(pairs)
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
        first = [marked(pair["model"], pair["flags"]), domain]
        first += [*([runs[pair["run"]]] if named else []), rule_shown(pair)]
        for metric, value in pair["figures"].items():
            difference, ends = value["difference"], value["ci"]
            cells.append(
                [
                    *(*first, metric, _printed(value["printed"], pair["digits"]), value["value"]),
                    f"{console.show(ends)}~" if metric in pair["too_wide"] else ends,
                    None if difference is None else round(difference, 2) + 0.0,  # no -0.00
                    *(value["inside"], ", ".join(pair["why"])),
                ]
            )
    heads = ["model", "domain", *(["run"] if named else []), "rule", "", "printed", "yours"]
    console.table(title, [*heads, "95 %", "Δ", "inside", "why"], cells)


def _runs_shown(pairs: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Short names of runs in a table, which distinguish runs of one model and rule."""
    keys = {pair["run"]: (pair["model"], pair["rule"]) for pair in pairs}
    labels = {run: run.rpartition("/")[0].rpartition("/")[2] for run in keys}
    for names in (dict.fromkeys(keys, ""), labels):
        if len({(*keys[run], name) for run, name in names.items()}) == len(keys):
            return names
    return {run: run for run in keys}
