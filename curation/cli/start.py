"""``curation init``, ``status``, ``run`` and ``demo``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from curation.campaign.settings import PAPER, CampaignSettings, new_settings
from curation.campaign.step import Step, current, last_run
from curation.campaign.store import create_campaign, open_campaign
from curation.pipeline import bring_up_to_date, read_status
from curation.release.statement import write_template
from curation.rounds.platforms.interface import Progress
from curation.status import SHOWN
from curation.terminal import console
from curation.terminal.options import Json, Where

ASKED = {
    "name": "the benchmark's name, as it is published",
    "language": "language code of the texts",
    "domains": "the kinds of social group that terms belong to, separated by commas",
}


def init(
    folder: Path,
    yes: Annotated[bool, typer.Option("--yes", "-y")] = False,
    name: str = "",
    language: str = "",
    domains: str = "",
) -> None:
    """Start a campaign: a folder with a commented campaign.toml.

    Options:
        folder (DIR): The folder to create.
        yes: Use the defaults; do not ask.
        name: The benchmark's name.
        language: Language code of the texts.
        domains: Domains, separated by commas.
    """
    fields = CampaignSettings.model_fields
    given = {"name": name, "language": language, "domains": domains}
    defaults = {key: fields[key].default for key in ("name", "language")}
    defaults["domains"] = ",".join(PAPER)
    answers = {
        key: value or (defaults[key] if yes else typer.prompt(ASKED[key], default=defaults[key]))
        for key, value in given.items()
    }
    names = [part.strip() for part in answers.pop("domains").split(",") if part.strip()]
    settings = new_settings(**answers, domains=names)
    campaign = create_campaign(folder, settings)
    with campaign.lock():
        write_template(campaign)
    console.say(f"Created {folder / 'campaign.toml'}. Please check its settings.")
    if not settings.rounds.blank_alone:
        console.note(
            f"{settings.campaign.language!r} joins affixes to words, so a context may join them to "
            "BLANK (blank_alone = false in [rounds])"
        )
    for name, domain in settings.domains.items():
        if domain.words and settings.campaign.language.split("-")[0] != "en":
            console.warn(
                f"domain {name} needs a word list in {settings.campaign.language!r} before people "
                f"write: {folder / '1-terms' / domain.words[0]}; docs/terms.md describes its "
                "format. An import of published data does not need it"
            )
    console.say(f"next: cd {folder}; {read_status(campaign).next}")


def status(campaign: Where = Path(), as_json: Json = False) -> None:
    """Show the state of the campaign, and what to do next."""
    opened = open_campaign(campaign)
    opened.trust_stamps()
    state = read_status(opened)
    if as_json:
        rows = {
            name: [row._asdict() for row in getattr(state, name)]
            for name in ("steps", "rounds", "work", "scores", "trust")
        }
        console.say_json({**rows, "warnings": state.warnings, "next": state.next})
        return
    console.say(f"{opened.settings.campaign.name} ({opened.root.resolve()})")
    if state.rounds:
        console.table("Rounds", ["round", "items", "labels", "refused"], state.rounds)
    for progress in state.work:
        currency = opened.settings.rounds.currency
        console.say(f"{progress.round}: {_progress_line(progress, currency)}")
    steps = [[step.step, step.state, _counts(step.counts)] for step in state.steps]
    console.table("Steps", ["step", "state", "counts"], steps)
    for step in state.steps:
        if step.note:
            console.say(f"{step.step}: {step.note}")
    if state.scores:
        heads = ["model", "rule", "scores", "refused", "results"]
        console.table("Models", heads, [run[:-1] for run in state.scores])
        again = [run for run in state.scores if run.again]
        for run in again[:SHOWN]:
            console.say(f"{run.model}/{run.rule} is {run.state}: {run.again}")
        if len(again) > SHOWN:
            console.say(f"and {len(again) - SHOWN} more: see the column results")
    if state.trust:
        heads = ["measure", "groups-source", "targets", "no result", "state"]
        console.table("Measures of bias", heads, [run[: len(heads)] for run in state.trust])
        for left in [run for run in state.trust if run.why][:SHOWN]:
            console.say(f"{left.measure}/{left.source} is not used: {left.why}")
    for warning in state.warnings:
        console.warn(warning)
    console.say(f"next: {state.next}")


def _progress_line(progress: "Progress", currency: str) -> str:
    """A round in one line: what is decided, what it costs, when it ends."""
    needed = progress.tasks - progress.void
    parts = [f"{progress.state}, {progress.decided:,} of {needed:,} decided"]
    if progress.void:
        parts.append(f"{progress.void:,} void")
    if progress.cost_in_all:
        parts.append(f"{progress.cost:,.2f} of {progress.cost_in_all:,.2f} {currency}")
    if progress.done_at and progress.state == "open":
        parts.append(f"done about {progress.done_at[:10]}")
    return ", ".join(parts)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in counts.items() if n)


def run(campaign: Where = Path(), as_json: Json = False) -> None:
    """Run all steps that need neither annotators nor Wikidata; skip those that are up to date."""
    opened = open_campaign(campaign)
    done: list[dict[str, Any]] = []

    def tell(step: Step, ran: bool) -> None:
        last = last_run(opened, step)
        counts = last.counts if last else {}
        done.append({"step": step.name, "ran": ran, "counts": counts})
        if not as_json:
            word = "done" if ran else "up to date"
            if not ran and last is None:
                word = "left out"
            elif not ran and step.fixed and not current(opened, step):
                word = "left as is"
            console.say(f"{step.name:13} {word:11} {step.says}: {_counts(counts)}")

    with opened.lock():
        bring_up_to_date(opened, tell=tell, reporter=console)
    folder = opened.folder("release") / opened.settings.release.version
    if as_json:
        console.say_json({"steps": done, "release": folder if folder.exists() else None})
    elif folder.exists():
        console.say(f"release: {folder}")
