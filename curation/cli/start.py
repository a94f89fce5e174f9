"""``curation init``, ``status``, ``run`` and ``demo``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from curation.campaign import Campaign, create_campaign, open_campaign
from curation.cli import console
from curation.cli.options import Json, Where
from curation.files import CurationError, count_lines, read_json
from curation.settings import PAPER, CampaignSettings, Settings, new_id
from curation.steps.pipeline import STEPS, Step, bring_up_to_date, current, last_run
from curation.steps.read import facts_files
from curation.steps.rounds import round_files, round_status

if TYPE_CHECKING:
    from curation.rounds.progress import Progress
    from curation.steps.rounds.round_status import RoundStatus

ASKED = {
    "name": "the benchmark's name, as it is published",
    "language": "language code of the texts",
    "domains": "the kinds of group that terms belong to, parted by commas",
}
HINTS = {
    "name": "use plain characters",
    "language": "use a language code such as en, de or pt-BR",
    "domains": "name each domain once, parted by commas, without / in it",
}


def init(
    folder: Annotated[Path, typer.Argument(help="The folder to make.", metavar="DIR")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing; take defaults.")] = False,
    name: Annotated[str, typer.Option(help="The benchmark's name.")] = "",
    language: Annotated[str, typer.Option(help="Language code of the texts.")] = "",
    domains: Annotated[str, typer.Option(help="Domains, parted by commas.")] = "",
) -> None:
    """Begin a campaign: a folder with a commented campaign.toml."""
    fields = CampaignSettings.model_fields
    usual = {
        "name": fields["name"].default,
        "language": fields["language"].default,
        "domains": ",".join(PAPER),
    }
    given = {"name": name, "language": language, "domains": domains}
    asked = {
        key: value or (usual[key] if yes else typer.prompt(ASKED[key], default=usual[key]))
        for key, value in given.items()
    }
    split = [part.strip() for part in asked.pop("domains").split(",") if part.strip()]
    if len(set(split)) < len(split):
        raise CurationError("domains: one is named twice", HINTS["domains"])
    try:
        settings = Settings.model_validate(
            {"campaign": {**asked, "id": new_id()}, "domains": {name: {} for name in split}}
        )
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"].removeprefix("Value error, ")
        if first["type"] == "string_pattern_mismatch":
            message = f"{first['input']!r} cannot be one"
        key = next((str(k) for k in first["loc"] if k in HINTS), "domains")
        raise CurationError(f"{key}: {message}", HINTS[key]) from None
    create_campaign(folder, settings)
    console.say(f"{folder / 'campaign.toml'} written; look through it.")
    for domain, knobs in settings.domains.items():
        if knobs.words and settings.campaign.language.split("-")[0] != "en":
            console.warn(
                f"domain {domain} needs a word list in {settings.campaign.language!r}: "
                f"{folder / '1-terms' / knobs.words[0]}; docs/terms.md tells its form"
            )
    console.say(f"next: cd {folder}; curation terms query, or import answers FILE")


def status(campaign: Where = Path(), as_json: Json = False) -> None:
    """Say where the campaign stands, and what to do next."""
    opened = open_campaign(campaign)
    steps = [_state(opened, step) for step in STEPS]
    names = sorted({*opened.round_names(), *round_files.planned_rounds(opened)})
    rounds = [_round(opened, name) for name in names]
    going = _going(opened, steps)
    scored = _scored(opened)
    after = _next(opened, steps, going)
    if as_json:
        work = [one._asdict() for _, one in going]
        told = {"steps": steps, "rounds": rounds, "work": work, "scores": scored, "next": after}
        console.say_json(told)
        return
    console.say(f"{opened.settings.campaign.name} ({opened.root.resolve()})")
    if rounds:
        rows = [list(r.values()) for r in rounds]
        console.table("Rounds", ["round", "items", "labels", "refused"], rows)
    currency = opened.settings.rounds.currency
    for _, one in going:
        console.say(f"{one.round}: {_where_it_stands(one, currency)}")
    rows = [[s["step"], s["state"], _counts(s["counts"])] for s in steps]
    console.table("Steps", ["step", "state", "counts"], rows)
    if scored:
        rows = [list(one.values()) for one in scored]
        console.table("Models", ["model", "rule", "scores", "refused"], rows)
    console.say(f"next: {after}")


def _where_it_stands(one: "Progress", currency: str) -> str:
    """A round in one line: what is decided, what it costs, when it ends."""
    parts = [f"{one.state}, {one.decided:,} of {one.tasks:,} decided"]
    if one.cost_in_all:
        parts.append(f"{one.cost:,.0f} of {one.cost_in_all:,.0f} {currency}")
    if one.done_at and one.state == "open":
        parts.append(f"done about {one.done_at[:10]}")
    return ", ".join(parts)


def _going(campaign: Campaign, steps: list[dict[str, Any]]) -> "list[tuple[RoundStatus, Progress]]":
    """How the opened rounds stand; none where items and labels are not as the answers say."""
    fold = next(step for step in steps if step["step"] == "fold")
    if campaign.round_names() and fold["state"] != "up to date":
        return []
    stands = [
        round_status.read_status(campaign, round) for round in round_files.map_rounds(campaign)
    ]
    return [(one, round_status.figures(campaign, one)) for one in stands]


def _state(campaign: Campaign, step: Step) -> dict[str, Any]:
    run, fix = last_run(campaign, step), ""
    if run is None:
        state = "not yet"
    elif step.name != "select" and not campaign.round_names():
        state = "out of date"
    else:
        try:
            state = "up to date" if current(campaign, step) else "out of date"
        except CurationError as error:
            state, fix = f"cannot run: {error.what}", error.fix
    return {
        "step": step.name,
        "state": state,
        "fix": fix,
        "counts": run.counts if run else {},
        "finished_at": run.finished_at if run else None,
    }


def _round(campaign: Campaign, name: str) -> dict[str, Any]:
    counts: dict[str, Any] = {"round": name}
    for kind in ("items", "labels", "rejected"):
        path = campaign.rounds / name / f"{kind}.jsonl"
        counts[kind] = count_lines(path) if path.exists() else None
    return counts


def _scored(campaign: Campaign) -> list[dict[str, Any]]:
    """The models' runs, with how many associations have a score."""
    return [
        {
            "model": _model(path.with_name("run.json")) or path.parents[1].name,
            "rule": path.parent.name,
            "scores": count_lines(path),
            "refused": count_lines(refused) if refused.exists() else 0,
        }
        for path in sorted(campaign.scores.glob("*/*/scores.jsonl"))
        for refused in [path.with_name("rejected.jsonl")]
    ]


def _model(path: Path) -> str:
    """The model's name in a run.json, or ""."""
    about = read_json(path) if path.exists() else {}
    return str(about.get("model") or "") if isinstance(about, dict) else ""


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in counts.items() if n)


def _next(
    campaign: Campaign, steps: list[dict[str, Any]], going: "list[tuple[RoundStatus, Progress]]"
) -> str:
    for stands, found in going:
        if found.state != "closed":
            return f"{found.round}: {round_status.advice(stands, found)}"
    imports = "curation import answers FILE, or curation import stereoset FILE"
    people = "curation rounds open KIND; or, with answers from elsewhere, " + imports
    if not campaign.round_names():
        wikidata = any(knobs.properties for knobs in campaign.settings.domains.values())
        if wikidata and not all(path.exists() for path in facts_files(campaign)):
            return f"curation terms query, or curation terms scan FILE; or {imports}"
        if steps[0]["state"] != "up to date":
            return "curation terms select"
        return f"go through 1-terms/candidates.csv, correct in 1-terms/edits.csv; then {people}"
    stuck = [step["fix"] for step in steps if step["fix"]]
    if stuck:
        return str(stuck[0])
    state = {step["step"]: step for step in steps}
    fold, decided = state["fold"], state["filter"]
    if fold["state"] == "up to date" and fold["counts"] and not fold["counts"]["items"]:
        return f"there is no item yet; 2-rounds/*/rejected.jsonl says why. {imports}"
    if decided["state"] == "up to date" and not decided["counts"]["items_kept"]:
        if not decided["counts"].get("too_few_labels"):
            return "no item was kept; curation decisions filter says why"
    elif any(step["state"] != "up to date" for step in steps):
        return "curation run"
    missing = decided["counts"].get("too_few_labels", 0)
    if missing:
        return (
            f"more labels for {missing} items: curation rounds open validation, or "
            "curation import answers FILE"
        )
    if not _scored(campaign):
        return "curation scores models MODEL, and curation scores baselines"
    return "curation scores compare"


def run(campaign: Where = Path(), as_json: Json = False) -> None:
    """Run every step that needs no people, skipping what is up to date."""
    opened = open_campaign(campaign)
    done: list[dict[str, Any]] = []

    def tell(step: Step, fresh: bool) -> None:
        last = last_run(opened, step)
        counts = last.counts if last else {}
        done.append({"step": step.name, "ran": fresh, "counts": counts})
        if not as_json:
            word = "done" if fresh else "up to date"
            console.say(f"{step.name:10} {word:11} {step.says}: {_counts(counts)}")

    with opened.lock():
        bring_up_to_date(opened, tell=tell, reporter=console)
    folder = opened.releases / opened.settings.release.version
    if as_json:
        console.say_json({"steps": done, "release": str(folder)})
    else:
        console.say(f"release: {folder}")
