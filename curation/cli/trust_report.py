"""``curation trust report``: what is known about whether results may be trusted."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import Json, Language, Where
from curation.cli.score_options import GoldFiles, LowerIsLikelier, Scores
from curation.files import CurationError
from curation.steps.pipeline import bring_up_to_date
from curation.steps.source import gold_source
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.records import Criterion, Status
    from curation.steps.trust.report import TrustReport

_CONTROLS: "dict[Status, str]" = {
    "pass": "rejected, as expected",
    "fail": "accepted, so their criterion fails",
    "inconclusive": "undecided",
    "not_applicable": "not applicable",
    "not_run": "not run",
}
_OUT, _SCORES = Path("trust"), Path("scores")


def report(
    campaign: Where = Path(),
    gold: GoldFiles = None,
    scores: Scores = _SCORES,
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            "--predictions",
            metavar="NAME[@RULES]=FILE",
            help="With --gold: a model's predictions file; @RULES declares the profile or rule it "
            "was scored by. Repeatable.",
            show_default=False,
        ),
    ] = None,
    lower_is_likelier: LowerIsLikelier = None,
    language: Language = "",
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="DIR", help="With --gold: the folder of the report and of attest.toml."
        ),
    ] = _OUT,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with 1 if a criterion fails; for scripts."),
    ] = False,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Print all rows, not only those that fail or are inconclusive. The files always "
            "have all.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Say criterion by criterion what is known about measures, the dataset and scores.

    The criteria are those of Bommasani and Liang (2022), and reliability by split halves and by a
    retest. Each has a status, the number behind it, and what would change it. There is no overall
    verdict.

    The first report writes attest.toml, with questions about the use of the results that only your
    team can answer. A release takes the report, and first brings it up to date.
    """
    from curation.steps.trust import attest
    from curation.steps.trust import report as step
    from curation.trust.protocol.report import failed, shown

    if gold:
        if scores != _SCORES and not scores.is_dir():
            raise CurationError(f"--scores {scores}: is not a folder", "name a folder of scores")
        source = gold_source(gold, scores=scores, language=language, reporter=console)
        found = step.gold_report(
            source,
            out,
            predictions=predictions or (),
            lower_is_likelier=lower_is_likelier or (),
            reporter=console,
        )
    else:
        _refuse_without_gold(
            {
                "--scores": scores != _SCORES,
                "--predictions": predictions,
                "--lower-is-likelier": lower_is_likelier,
                "--language": language,
                "--out": out != _OUT,
            }
        )
        opened = open_campaign(campaign)
        with opened.lock():
            attest.write_template(step.attest_file(opened))
            bring_up_to_date(opened, "trust", reporter=console)
        found = step.read_report(step.place(opened))
    if as_json:
        console.say_json(
            {
                "file": str(found.path),
                "counts": found.counts,
                "open": found.open,
                "left_out": found.left_out,
                "rows": [row.model_dump() for row in found.rows],
            }
        )
    else:
        _show(found, every=every)
    failures = failed(found.rows)
    if strict and failures:
        for row in failures:
            console.warn(f"{shown(row.criterion)} fails: {row.subject} {row.name}, {row.check}")
        raise typer.Exit(1)


def _refuse_without_gold(given: dict[str, object]) -> None:
    for name, value in given.items():
        if value:
            raise CurationError(
                f"{name} is only for gold files: a campaign has its own scores and language",
                "name gold files with --gold, or leave this option out",
            )


def _show(found: "TrustReport", *, every: bool) -> None:
    from curation.steps.trust.attest import NAME
    from curation.steps.trust.report import PAGE
    from curation.trust.protocol.report import NO_VERDICT, SUBJECTS, sentences

    tested, controls, software = (
        [row for row in found.rows if row.kind == kind] for kind in ("test", "control", "software")
    )
    for subject, title in SUBJECTS.items():
        rows = [row for row in tested if row.subject == subject]
        for name in dict.fromkeys(row.name for row in rows):
            own = [row for row in rows if row.name == name]
            asking = [row for s in ("fail", "inconclusive") for row in own if row.status == s]
            _table(f"{title}: {name}", own if every else asking)
    _table(
        "Negative controls (wrong on purpose): pass means that they were rejected",
        controls if every else [row for row in controls if row.status == "fail"],
        named=True,
    )
    _table(
        "Checks of the software: what holds by construction, and shows nothing",
        software if every else [row for row in software if row.status == "broken"],
        named=True,
    )
    if not tested:
        console.say("There is nothing to test yet: no measure, no dataset and no scores.")
    elif not every:
        console.say("--all prints the other rows, too")
    if controls:
        ends = Counter(row.status for row in controls)
        parts = [f"{ends[status]} {text}" for status, text in _CONTROLS.items() if ends[status] > 0]
        console.say(
            f"{amount(len(controls), 'negative control')} (wrong on purpose): {', '.join(parts)}"
        )
    for text in (*sentences(found.rows, open=len(found.open)), NO_VERDICT):
        console.say(text)
    if found.open:
        console.say(f"open in {found.path.with_name(NAME)}: {', '.join(found.open)}")
    console.say(f"{found.path.with_name(PAGE)} says what was computed, and what would change it")


def _table(title: str, rows: "Sequence[Criterion]", *, named: bool = False) -> None:
    from curation.trust.protocol.report import HEADS, cells

    if rows:
        heads = [head.lstrip(">") for head in HEADS]
        own = [[*([row.name] if named else []), *cells(row)] for row in rows]
        console.table(title, [*(["of"] if named else []), *heads], own)
