"""``curation release export``: CATs for other harnesses."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from curation.cli import console
from curation.cli.options import Json, Where
from curation.cli.score_options import GoldFiles, KindOption, Split
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.release.harness_files import Mangled
    from curation.steps.release.exporting import Exported

_FIRST = 10  # rows of the table of places
_STOPS = {"bias-bench": "bias-bench and StereoSet's code stop", "lm-eval": "lm-eval stops"}


def export(
    format: Annotated[
        Literal["bias-bench", "lm-eval"],
        typer.Argument(
            help="bias-bench: StereoSet's JSON, for bias-bench and StereoSet's own code. lm-eval: "
            "tasks for lm-evaluation-harness, with their data.",
            metavar="FORMAT",
        ),
    ],
    to: Annotated[
        Path,
        typer.Option("--to", help="The folder to write; it must be new or empty.", metavar="DIR"),
    ],
    gold: GoldFiles = None,
    split: Annotated[Split, typer.Option("--split", help="Use this split.")] = Split.all,
    kind: KindOption = None,
    leave_out: Annotated[
        bool,
        typer.Option("--leave-out", help="Leave out the CATs that the harness misreads."),
    ] = False,
    name: Annotated[
        str,
        typer.Option(
            help="With lm-eval: what names of tasks begin with; default: the campaign's name, or "
            "that of the gold file.",
            show_default=False,
        ),
    ] = "",
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Write CATs for another harness, and say which of them it misreads.

    A CAT is misread, for example, if several words fill its BLANK: bias-bench reads one word only.
    All such places are in DIR/mangled.jsonl, with a reason code. With --leave-out these CATs are
    not exported; they are then in DIR/left_out.jsonl.

    The CATs are those of a campaign, from its last «curation decisions split», or of gold files. A
    gold file is in the split that it is named after (dev.json, test.json), else in test. The export
    has all texts and gold labels, also those that a release hides.
    """
    from curation.steps.release import exporting

    done = exporting.export(
        format,
        campaign,
        to=to,
        gold=gold,
        split=split.value,
        kind=kind.value if kind else None,
        leave_out=leave_out,
        name=name,
        reporter=console,
    )
    if as_json:
        _say_json(done)
        return
    _show_mangled(format, done)
    console.say(f"{amount(len(done.cats), 'CAT')} in {done.folder}")
    if done.left_out:
        console.say(f"{amount(done.left_out, 'CAT')} left out: {done.folder}/left_out.jsonl")
    if done.tasks:
        console.say(f"tasks: {', '.join(done.tasks)}")
        console.say(f"next: {done.folder}/lm-eval/README.md says how to run them")


def _say_json(done: "Exported") -> None:
    mangled = [wrong._asdict() for wrong in done.mangled]
    console.say_json(
        {
            "folder": str(done.folder),
            "files": done.files,
            "cats": len(done.cats),
            "left_out": done.left_out,
            "tasks": done.tasks,
            "mangled": mangled,
        }
    )


def _show_mangled(format: str, done: "Exported") -> None:
    """What the harness gets wrong, by code, and the first places."""
    from curation.reasons import REASONS

    if not done.mangled:
        return
    kept = {cat.id for cat in done.cats}
    rows = []
    for code in dict.fromkeys(wrong.code for wrong in done.mangled):
        of_code = [wrong for wrong in done.mangled if wrong.code == code]
        cats, options = ({w.cat for w in of_code}, sum(w.option is not None for w in of_code))
        out = len(cats - kept)
        rows.append([code, len(cats), options or None, out, REASONS[code]])
    console.table(
        f"What {format} misreads", ["code", "CATs", "options", "left out", "meaning"], rows
    )
    places = [w for w in done.mangled if w.effect != "not_counted"]
    if places:
        _show_places(places)
    stops = {w.cat for w in places if w.effect == "stops"} & kept
    if stops:
        console.warn(
            f"{_STOPS[format]} with an error at {amount(len(stops), 'CAT')}, and score nothing: "
            "use --leave-out"
        )
    misread = {w.cat for w in places if w.effect == "misread"} & kept
    if misread:
        console.warn(
            f"{format} misreads {amount(len(misread), 'CAT')} without an error: use --leave-out, "
            f"or see {done.folder}/mangled.jsonl"
        )


def _show_places(places: "Sequence[Mangled]") -> None:
    rows = [[w.cat, w.option or "", w.code, w.detail] for w in places[:_FIRST]]
    console.say(f"\n{console.CONTENT_WARNING}")
    shown = f"the first {_FIRST} of {len(places):,}" if len(places) > _FIRST else "all"
    console.table(f"Places ({shown})", ["CAT", "option", "code", "what"], rows)
