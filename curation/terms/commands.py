"""``curation terms``: where target terms come from, which are kept, and why.

Options:
    domain (NAME): Only this domain; repeatable.
"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from curation.campaign.step import Reading, run_steps
from curation.campaign.store import Campaign, open_campaign
from curation.reasons import REASONS
from curation.records import Fields
from curation.terminal import console
from curation.terminal.options import Json, Natural, Where, command_group, locked
from curation.terms import steps
from curation.terms.explain import explain_term, outcome, selection_warnings
from curation.terms.facts import Facts
from curation.terms.fetching import query_facts, scan_facts, tally_facts
from curation.text.wording import amount


def show_story(story: Fields) -> None:
    """Print a candidate as ``curation.terms.explain.story`` describes it."""
    console.heading(f"{story['term']} ({story['domain']}): {story['status']}")
    reason = [story["meaning"], story["detail"]]
    lines = [
        ("because", "; ".join(part for part in reason if part)),
        ("into", story["into"]),
        ("source", f"{story['source']}, {story['form']}"),
        ("statements", _statements(story)),
        ("id", story["id"]),
        ("old names", ", ".join(story["old_names"])),
        ("family", ", ".join(dict.fromkeys(filter(None, [story["family"], *story["relatives"]])))),
        ("merged", ", ".join(f"{m['term']} ({m['reason']})" for m in story["merged_into_it"])),
    ]
    for item in story["wikidata"]:
        lines.append((item["id"], _item_line(item)))
    for edit in story["edits"]:
        shown = {k: v for k, v in edit.items() if k not in ("line", "not_applied")}
        text = ", ".join(f"{key} {value}" for key, value in shown.items())
        if problem := edit.get("not_applied"):
            text += f"; not applied: {problem}"
        lines.append(("edited", f"1-terms/edits.csv line {edit['line']}: {text}"))
    lines.append(("items", str(story["items"]) if story["items"] else ""))
    lines.append(("old name in", ", ".join(story["items_with_an_old_name"])))
    for name, value in lines:
        if value:
            console.say(f"  {name:14}{value}")


def _statements(story: Fields) -> str:
    if story["count"] is None:
        return ""
    own, whole = story["count"], story["rolled_up"]
    return f"{own:,}" + (f", {whole:,} with what was merged into it" if whole > own else "")


def _item_line(item: Fields) -> str:
    above = [f"{label or qid}" for qid, label in item.get("kind_of", {}).items()]
    above += [f"{label or qid}" for qid, label in item.get("instance_of", {}).items()]
    counts = ", ".join(f"{p} {n:,}" for p, n in item["counts"].items())
    parts = [item.get("description"), counts, f"under {', '.join(above)}" if above else ""]
    return "; ".join(part for part in parts if part)


app = command_group()
Domain = Annotated[list[str] | None, typer.Option("--domain", "-d")]


@app.command("query")
def query(
    campaign: Where = Path(),
    domain: Domain = None,
    endpoint: str = "",
    fresh: bool = False,
    as_json: Json = False,
) -> None:
    """Query Wikidata: which items the domains' properties name, how often, and what these are.

    Queries are sent one at a time, as the services require, with your contact from [terms] in
    campaign.toml. Every answer is saved in 1-terms/answers/. If the command is interrupted, run it
    again: it continues where it stopped. If a query is too heavy for the service, it is split. If
    even the smallest query is too heavy, use «curation terms scan».

    Options:
        endpoint: wdqs, qlever or a URL; default: the setting in [terms].
        fresh: Query again even if an answer is already saved.
    """
    with locked(campaign) as opened:
        done = query_facts(opened, domain, endpoint=endpoint, fresh=fresh, reporter=console)
    summary = (
        f"{amount(done.asked, 'query')} answered, {amount(done.on_disk, 'answer')} already saved"
    )
    if done.on_disk and done.oldest:
        summary += f" (the oldest from {done.oldest[:10]}; --fresh queries again)"
    counts = {"asked": done.asked, "on_disk": done.on_disk}
    _show_facts(opened, domain, done.facts, counts, summary, as_json=as_json)


@app.command("scan")
def scan(
    files: list[Path],
    campaign: Where = Path(),
    domain: Domain = None,
    engine: Literal["local", "ray"] = "local",
    workers: Natural = 0,
    as_json: Json = False,
) -> None:
    """Get the same facts as «terms query» from a Wikidata dump, for populations of any size.

    The dump (about 140 GB as .gz, https://dumps.wikimedia.org/wikidatawiki/entities/) is read
    twice, in constant memory. Use .gz rather than .bz2: it is read fifteen times faster.

    Options:
        files (FILE): Wikidata's JSON dump: .json.gz, .json or .json.bz2.
        engine: For several files: this machine (local) or a Ray cluster (ray).
        workers: Number of processes; 0: one per core.
    """
    with locked(campaign) as opened:
        done = scan_facts(
            opened, files, domain, engine=engine, workers=workers or None, reporter=console
        )
    if done.unreadable:
        console.warn(
            f"lines that could not be read: {done.unreadable:,}; 1-terms/unreadable.jsonl has "
            f"{len(done.rejections):,} of them"
        )
    counts = {"lines": done.lines, "unreadable": done.unreadable}
    summary = f"{amount(done.lines, 'line')} read"
    _show_facts(opened, domain, done.facts, counts, summary, as_json=as_json)


def _show_facts(
    campaign: Campaign,
    domains: list[str] | None,
    facts: "Facts",
    counts: Fields,
    summary: str,
    *,
    as_json: bool,
) -> None:
    rows = tally_facts(campaign, facts, domains)
    if as_json:
        console.say_json({**counts, "found": rows, "entities": len(facts.entities)})
        return
    console.say(f"{summary}; {amount(len(facts.entities), 'item')} looked up.")
    cells = [[f"{v:,}" if isinstance(v, int) else v for v in row.values()] for row in rows]
    console.table("Found", list(rows[0]), cells)
    for row in rows:
        if not row["items"]:
            console.warn(
                f"domain {row['domain']}: no item states {row['property']}; check the property's id"
            )
    console.say("next: curation terms select")


@app.command("select")
def select(campaign: Where = Path(), as_json: Json = False) -> None:
    """Select the target terms from Wikidata's facts, word lists, answers and your edits.

    Candidates are dropped if they are too general, do not belong to the domain, look vandalised or
    have no name. Items with the same label, variants, and candidates that are too specific are
    merged. Then the domains' thresholds apply. candidates.csv has the reason for each decision,
    targets.jsonl the terms. Lines in edits.csv override the rules.
    """
    with locked(campaign) as opened:
        before, notes_come = steps.edit_problems(opened), steps.edits_are_new(opened)
        counts = run_steps(opened, steps.select, reporter=console).counts
        result = outcome(opened)
        problems = [problem for problem in steps.edit_problems(opened) if problem in before]
        problems += [] if notes_come else result.notes
        steps.check_words(opened)
    for problem in problems:  # the step itself reports only what is new
        console.warn(problem)
    old = result.old_texts
    if as_json:
        console.say_json({**counts, "fates": result.fates, "items_with_an_old_name": old})
        return
    heads = ["domain", "candidates", "kept", "merged", "dropped"]
    console.table("Terms", heads, [list(row.values()) for row in result.domains])
    if result.reasons:
        console.table(
            "Not kept, in 1-terms/candidates.csv",
            ["reason", "count", "meaning"],
            [(code, n, REASONS[code]) for code, n in result.reasons.items()],
        )
    for text in selection_warnings(opened, result):
        console.warn(text)
    console.say(f"{amount(counts['kept'], 'term')} in {opened.folder('terms') / 'targets.jsonl'}")
    console.say("To change one, edit 1-terms/edits.csv. «curation terms explain TERM» shows why.")


@app.command("explain")
def explain(
    term: str,
    campaign: Where = Path(),
    domain: Annotated[str | None, typer.Option("--domain", "-d")] = None,
    as_json: Json = False,
) -> None:
    """Explain a term: its sources, the decision and its reason, manual edits, its items.

    It shows the line of each edit in edits.csv, and whether the line was applied.

    Options:
        term (TERM): Any name of a term: its text, an old name, another label or alias in Wikidata,
            its Wikidata id or its own id.
        domain (NAME): Only in this domain.
    """
    stories = explain_term(Reading(open_campaign(campaign), console), term, domain)
    if as_json:
        console.say_json(stories)
        return
    for term_story in stories:
        show_story(term_story)
