"""``curation release push``: upload a version to the Hugging Face Hub."""

from pathlib import Path
from typing import Annotated

import typer

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import Json, Where
from curation.text.wording import amount


def push(
    version: Annotated[
        str,
        typer.Argument(help="The version; default: the one in [release].", metavar="VERSION"),
    ] = "",
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="The dataset on the hub; default: id in [hub] of 7-release/statement.toml.",
            metavar="OWNER/NAME",
        ),
    ] = "",
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="List every file and what would happen; send nothing."),
    ] = False,
    private: Annotated[
        bool | None,
        typer.Option(
            "--private/--public",
            help="Who sees the dataset; default: as it is, and a new one is private.",
            show_default=False,
        ),
    ] = None,
    tag: Annotated[
        bool, typer.Option("--tag/--no-tag", help="Tag the commit with the version.")
    ] = True,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Upload a version to the Hugging Face Hub, in one commit, and tag it.

    The version is checked first, as by «curation release check»; a blocking finding stops the
    upload. It needs the extra hub and a token: run «hf auth login», or set HF_TOKEN. If the upload
    is interrupted, run the same command again.
    """
    from curation.steps.release import pushing

    opened = open_campaign(campaign)
    target = pushing.target(opened, to)
    folder = pushing.check_before(opened, version, reporter=console)
    if dry_run:
        rows = pushing.planned(folder, target.id, reporter=console)
        if as_json:
            files = [row._asdict() for row in rows]
            console.say_json({"repo": target.id, "version": folder.name, "files": files})
            return
        heads = ["file", "bytes", "what happens"]
        shown = [
            (r.path, None if r.state in ("deleted", "kept") else r.size, r.state) for r in rows
        ]
        console.table(f"{folder.name} to {target.id}", heads, shown)
        size = sum(row.size for row in rows)
        console.say(f"{amount(len(rows), 'file')}, {size:,} bytes; nothing was sent.")
        return
    done = pushing.push(folder, target, private=private, tag=tag, reporter=console)
    if as_json:
        console.say_json({"repo": target.id, "version": folder.name, **done._asdict()})
        return
    sent = f"{amount(done.sent, 'file')} sent" if done.sent else "nothing to send"
    console.say(f"{folder.name} is at {done.address} (commit {done.commit[:12]}): {sent}")
    if done.private:
        console.say("It is private: only you and its members see it. To publish: --public.")
