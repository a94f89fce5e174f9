"""``curation decisions``: filter, agreement, neutral, split."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curation.campaign.step import run_steps
from curation.campaign.store import Campaign, open_campaign
from curation.decisions import steps
from curation.files import CurationError, read_json
from curation.formats.tables import csv_text
from curation.kinds import CAT_KINDS, GOLDS
from curation.reasons import REASONS
from curation.records import Fields
from curation.rounds import running
from curation.terminal import console
from curation.terminal.options import Json, Where, command_group, locked
from curation.text.rules import TIERS
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.decisions.agreement import Agreement

app = command_group()


@app.command("filter")
def filter_(campaign: Where = Path(), as_json: Json = False) -> None:
    """Keep items with one gold label of each kind: stereotype, anti-stereotype, unrelated.

    The first «of» labels of an association count, one per annotator. Its gold label is the one with
    at least «needed» of these votes. Both numbers are settings in [decisions]. Labels that do not
    count and items that are not kept are in 3-decisions/rejected.jsonl, each with its reason. With
    trust_gold in [decisions], published items without any label keep their published gold labels.
    """
    with locked(campaign) as opened:
        counts = run_steps(opened, steps.filter, reporter=console).counts
    if as_json:
        console.say_json(counts)
        return
    show_filter(counts)


def show_filter(counts: dict[str, int]) -> None:
    """Show what the filter kept, by tier, and the reasons for the rest."""
    console.say(
        f"{counts['items_kept']:,} of {amount(counts['items_in'], 'item')} kept as CATs; "
        f"{counts['labels_counted']:,} of {amount(counts['labels_in'], 'label')} counted."
    )
    if counts["items_kept"]:
        by_kind = [(kind, *(counts[f"{kind}_tier_{tier}"] for tier in TIERS)) for kind in CAT_KINDS]
        console.table("CATs by tier", ["kind", *TIERS], by_kind)
    if text := steps.about_published_golds(counts):
        console.say(f"{text}.")
    rows = [(code, counts[code], meaning) for code, meaning in REASONS.items() if counts.get(code)]
    if rows:
        title = "Not kept, in 3-decisions/rejected.jsonl"
        console.table(title, ["reason", "count", "meaning"], rows)


@app.command("agreement")
def agreement(
    campaign: Where = Path(),
    measure: str = "",
    by: str = "",
    exclude: list[str] | None = None,
    as_csv: Annotated[bool, typer.Option("--csv")] = False,
    latex: bool = False,
    as_json: Json = False,
) -> None:
    """Report how far annotators agree, with intervals over CATs.

    - Krippendorff's alpha, Fleiss' kappa and Gwet's AC1, over kept and over all decided items
    - each term's agreement as in ACL Table 10, and the plain share of votes
    - each annotator compared with the others
    - the share of items kept, next to the paper's 83 %
    - how often gold labels differ from what writers meant

    3-decisions/agreement.json holds all of this; the options choose what is shown.

    Options:
        measure: alpha, fleiss, ac1, separated by commas; default: the setting in [agreement].
        by: Also by domain, kind, round, term, annotator; separate them by commas.
        exclude (NAME): Leave out this annotator's labels; repeatable.
        as_csv: Print one long table as CSV, unrounded.
        latex: Print LaTeX tables.
    """
    from curation.decisions import agreement
    from curation.decisions.agreement import GROUPS
    from curation.stats.agreement import MEASURES

    if as_csv + latex + as_json > 1:
        raise CurationError("--csv, --latex and --json cannot be combined", "choose one of them")
    measures, groups = _listed(measure, tuple(MEASURES)), _listed(by, GROUPS)
    with locked(campaign) as opened:
        run_steps(opened, steps.agreement, reporter=console)
        report = read_json(opened.folder("decisions") / "agreement.json")
        if exclude or set(measures) - set(opened.settings.agreement.measures):
            report = steps.agreement_report(
                opened,
                measures=measures or opened.settings.agreement.measures,
                by=groups,
                exclude=exclude or (),
                reporter=console,
            )
    if as_json:
        console.say_json(report)
        return
    measures = measures or [*dict.fromkeys(row["measure"] for row in report["measures"])]
    if as_csv:
        values = agreement.tidy(report, measures=measures, by=groups)
        cells = [[row[name] for name in agreement.TIDY] for row in values]
        sys.stdout.write(csv_text([agreement.TIDY, *cells]))
        return
    if exclude and not latex:
        console.say(
            f"Without the labels of {', '.join(report['excluded'])}. Decisions, retention and "
            "repeats are unchanged, and no later labels replace theirs."
        )
    for line in steps.about_agreement(report):
        if latex:
            sys.stdout.write(f"% {line}\n")
        else:
            console.say(line)
    for title, columns, rows in _tables(report, measures, groups):
        if latex:
            sys.stdout.write(agreement.latex(title, columns, rows, show=console.show))
        elif rows:
            console.table(title, columns, rows)


Shown = tuple[str, list[str], list[list[Any]]]


def _tables(report: "Agreement", measures: list[str], groups: list[str]) -> list[Shown]:
    tables: list[Shown] = []
    level = f"{100 * report['confidence']:g} %"
    for group in ["overall", *(g for g in groups if g != "annotator")]:
        named = group != "overall"
        heads = [*([group] if named else []), "scope", "gold", "items", "labels"]
        cells: dict[tuple[Any, ...], list[Any]] = {}
        for row in report["measures"]:
            if row["by"] == group and row["measure"] in measures:
                key = (row["group"], row["scope"], row["classes"], row["cats"], row["labels"])
                flag = " (few items)" if row["few_cats"] else ""
                cells.setdefault(key, []).extend([row["value"], console.show(row["ci"]) + flag])
        for measure in measures:
            heads += [measure, level]
        title = "Agreement" if group == "overall" else f"Agreement by {group}"
        rows = [[*key[not named :], *values] for key, values in cells.items()]
        tables.append((title, heads, rows))
    retention = [
        [r["domain"], r["kind"], r["items"], r["open"], r["kept"], r["retention"], r["paper"]]
        for r in report["retention"]
    ]
    heads = ["domain", "kind", "items", "open", "kept", "% of decided", "paper %"]
    tables.append(("Retention", heads, retention))
    gold = [[f"from the {name}", *cells.values()] for name, cells in report["gold"].items()]
    heads = ["gold differs", "associations", "differ", "%"]
    tables.append(("Gold labels against intent and published gold", heads, gold))
    repeats = [report["repeats"][name] for name in ("labels", "items", "lost")]
    heads = ["repeated labels", "items concerned", "CATs lost if they are refused"]
    tables.append(("Annotators who labelled an association twice", heads, [repeats]))
    if flagged := report["flagged"]:
        rows = [[row["by"] or "none", *list(row.values())[1:]] for row in flagged]
        heads = ["flagged by", "items left", "labels", "CATs", "% gold", "alpha, decided"]
        tables.append(("Without flagged items", heads, rows))
    if "term" in groups:
        rows = [
            [
                t["term"],
                t["domain"],
                t["cats"],
                t["agreement"],
                t["stereotype"],
                t["all"],
                d["items"],
                d["agreement"],
                d["stereotype"],
                d["all"],
            ]
            for t in report["terms"]
            for d in [t["decided"]]
        ]
        shares = ["% agreement", "% stereotype", "% all"]
        heads = ["term", "domain", "CATs", *shares, "decided", *shares]
        tables.append(("Agreement by term (ACL Table 10), kept and decided", heads, rows))
    if "annotator" in groups:
        rows = [list(a.values()) for a in report["annotators"]]
        heads = ["annotator", "labels", "% with others", "% with gold", "suspect"]
        tables.append(("Annotators against the others", heads, rows))
    return tables


def _listed(text: str, allowed: tuple[str, ...]) -> list[str]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    for part in parts:
        if part not in allowed:
            raise CurationError(f"{part!r} is not one of {', '.join(allowed)}", "see --help")
    return parts


@app.command("neutral")
def neutral(campaign: Where = Path(), as_json: Json = False) -> None:
    """Report how people read neutral associations: as stereotype, anti-stereotype or unrelated.

    In a neutral round, people write a neutral association beside those of an item, and a validation
    labels it beside the stereotype and the anti-stereotype. The report has the share of each label
    with its interval over terms, what the paper says of its own trial (ACL §4.2, A.4, Table 9), and
    what the figures mean for the ideal ss of 50. «leaning» is the share of stereotypes among the
    labels stereotype and anti-stereotype. These labels count for no gold label or score.
    """
    opened = open_campaign(campaign)
    running.refresh_status(opened, reporter=console)
    report = steps.neutral_report(opened)
    if as_json:
        console.say_json(report)
        return
    level = f"{100 * opened.settings.agreement.confidence:g} %"
    rows = [
        [r.group, r.labels]
        + [cell for gold in GOLDS for cell in (r.shares[gold], r.intervals[gold])]
        + [r.leaning, r.leaning_ci, r.alpha]
        for r in report.readings
    ]
    heads = [cell for name in (*GOLDS, "leaning") for cell in (name, level)]
    console.wide_table("Labels, in %", ["group", "labels", *heads, "alpha"], rows)
    cells = [[r.group, r.associations, *r.majority.values(), r.several] for r in report.readings]
    heads = ["group", "associations", *GOLDS, "none", "several on one side"]
    console.wide_table("Associations by their majority, in %", heads, cells)
    for name, text in report.paper.items():
        console.say(f"paper, {name}: {text}")
    for sentence in report.meaning:
        console.say(sentence)


@app.command("split")
def split(campaign: Where = Path(), as_json: Json = False) -> None:
    """Split the CATs into dev and test, by whole terms and families.

    In each domain, a quarter of the terms (setting dev in [split]) goes to dev. There is no
    training split; docs/decisions.md says why. Terms of one family stay together: spelling variants
    and plurals, a place and its demonym, gendered forms, and terms with the same name in the column
    family of 1-terms/edits.csv.
    """
    with locked(campaign) as opened:
        run_steps(opened, steps.split, reporter=console)
        report = read_json(opened.folder("decisions") / "split.json")
    if as_json:
        console.say_json(report)
        return
    show_split(opened, report)


def show_split(campaign: Campaign, report: Fields) -> None:
    """Show the split, and why its share of terms is not exact."""
    counts = ("terms", "exact", "dev_terms", "test_terms", "dev_cats", "test_cats")
    rows = [
        [domain, *(d[name] for name in counts), " and ".join(d["moved_by"])]
        for domain, d in report["domains"].items()
    ]
    if len(rows) > 1:
        sums = (sum(d[name] for d in report["domains"].values()) for name in counts)
        rows.append(["all", *sums, ""])
    heads = ["domain", "terms", f"{100 * campaign.settings.split.dev:g} %", "dev terms"]
    heads += ["test terms", "dev CATs", "test CATs", "moved by"]
    console.table("Split by term", heads, rows)
    if report["families"]:
        console.say("Kept together: " + "; ".join(" = ".join(f) for f in report["families"]))
