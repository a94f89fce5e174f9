"""``curation release check``: what is wrong with a release, ours or another's."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from curation.cli import console
from curation.cli.options import FILE, Json, Language, Where
from curation.text.wording import amount


def check(
    release: Annotated[
        str,
        typer.Argument(
            help="The folder of a release, or a version of the campaign.", metavar="RELEASE"
        ),
    ] = "",
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Open questions of the data statement block, too."),
    ] = False,
    public: Annotated[
        Path | None,
        typer.Option(
            "--public",
            help="The public side, with hidden gold labels, of the revealed RELEASE.",
            metavar="DIR",
        ),
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            "--against",
            help="Public CATs that the test set should not repeat; for several files, repeat it.",
            **FILE,
        ),
    ] = None,
    language: Language = "",
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Check a release folder, ours or another's.

    It compares checksums, the forms of the data, labels, splits, the card and all metadata with
    each other, and looks for personal data, pitfalls and hidden gold labels that can be found out.
    Findings are **block** (wrong, or must not be published), **warn** or **note**. The exit status
    is 1 if there is a blocking one, else 0.
    """
    from curation.steps.release.checking import check_release, counts, named_folder

    folder = named_folder(release, campaign)
    findings = check_release(
        folder,
        strict=strict,
        public=public,
        against=against or (),
        language=language,
        campaign=campaign,
        reporter=console,
    )
    tally = counts(findings)
    if as_json:
        rows = [asdict(finding) for finding in findings]
        console.say_json({"folder": str(folder), "counts": tally, "findings": rows})
    else:
        if findings:
            heads = ["severity", "code", "where", "what"]
            rows_shown = [(f.severity, f.code, f.where, f.detail) for f in findings]
            console.table(f"Findings in {folder}", heads, rows_shown)
            console.heading("\nWhat to do")
            for code in dict.fromkeys(f.code for f in findings if f.severity != "note"):
                fixes = dict.fromkeys(f.fix for f in findings if f.code == code)
                console.say(f"  {code}: {'; or '.join(list(fixes)[:3])}")
        shown = ", ".join(f"{count} {severity}" for severity, count in tally.items())
        console.say(f"{amount(len(findings), 'finding')}: {shown}")
    if tally["block"]:
        raise typer.Exit(1)
