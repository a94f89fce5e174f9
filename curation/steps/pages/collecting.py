"""What the report is made of: results of other steps as they are, and numbers that no step keeps.

Those numbers are written to ``8-pages/numbers/``, so that each number of the report is in a file.

While gold labels are hidden, the public report takes what it says of CATs from the built release
alone: nothing else that depends on labels is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from curation.campaign import Campaign
from curation.files import dump_json, read_json
from curation.formats.table_words import FIRST, Sections, nearest, read_shipped
from curation.records import Cat
from curation.release.contents import FACTS, published
from curation.steps.pages import made, scores, state, summary, terms
from curation.steps.read import run_files
from curation.steps.release import versions
from curation.steps.release.history import History, texts_of
from curation.steps.source import Source, campaign_source
from curation.steps.status import NOT_YET, UP_TO_DATE, Status
from curation.steps.step import Reporter, Step, last_run

if TYPE_CHECKING:
    from curation.pages.report import Report

NUMBERS, TABLES = "numbers", "tables"  # the folders of numbers that the report computes, and of CSV
Sources = dict[str, tuple[str, Any]]


class Collected(NamedTuple):
    """The report, and the files beside it by their path in its folder."""

    report: "Report"
    files: dict[str, bytes]


def hides(campaign: Campaign) -> bool:
    """Whether gold labels are hidden: by ``hide``, or in a built version that is not revealed."""
    history = History(campaign)
    built = (
        place.version
        for place in history.built
        if place.is_sealed or _facts_of(campaign, place.folder).get("hidden")
    )
    is_secret = any(not history.revealed(version) for version in (*history.files, *built))
    return bool(campaign.settings.release.hide) or is_secret


def _facts_of(campaign: Campaign, folder: Path) -> Mapping[str, Any]:
    path = folder / FACTS
    content = campaign.once(path, [path], lambda: read_json(path) if path.is_file() else {})
    return content if isinstance(content, dict) else {}


def released(campaign: Campaign) -> Path | None:
    """The facts of the version that the settings name, or of the last one before it."""
    folders = (versions.folder(campaign), *reversed(versions.earlier(campaign)))
    paths = (folder / FACTS for folder in folders)
    return next((path for path in paths if path.is_file()), None)


def results(campaign: Campaign, *, hidden: bool) -> dict[str, Path]:
    """The results of other steps that the report shows, by the name that templates use.

    Args:
        campaign: the campaign.
        hidden: only what is public while gold labels are hidden.
    """
    facts = released(campaign)
    public = {"release": facts} if facts else {}
    if hidden:
        return public
    return public | {
        "agreement": campaign.folder("decisions") / "agreement.json",
        "split": campaign.folder("decisions") / "split.json",
        "statistics": campaign.folder("measures") / "statistics.json",
        "sentiment": campaign.folder("measures") / "sentiment.json",
        "keywords": campaign.folder("measures") / "keywords.json",
        "pitfalls": campaign.folder("measures") / "pitfalls.json",
        "trust": campaign.folder("trust") / "report.json",
    }


def _is_public(campaign: Campaign, *, private: bool) -> bool:
    """Whether what depends on hidden gold labels must be left out."""
    return not private and hides(campaign)


def told(
    campaign: Campaign, *, pipeline: Sequence[Step], private: bool, status: Status | None = None
) -> dict[str, Any]:
    """What the report depends on besides files; the state of the campaign is one of these."""
    hidden = _is_public(campaign, private=private)
    told = {
        "state": state.numbers(campaign, pipeline, hidden=hidden, status=status),
        "statement": state.statement(campaign),
    }
    shown: Sequence[Cat] = ()
    if hidden:  # the files of what this is made of are not listed
        told |= _numbers(campaign, hidden=True)
        shown = _shown(campaign, hidden=True).cats
    return {
        "hidden": hidden,
        "numbers": sha256(dump_json(told)).hexdigest(),
        "cats": sha256(repr(shown).encode()).hexdigest() if shown else "",
    }


def inputs(campaign: Campaign, *, private: bool) -> list[Path]:
    """Every file that the report reads, apart from those that its settings are computed from.

    While gold labels are hidden, no file that depends on them is listed: its sha256 would be in the
    manifest.
    """
    hidden = _is_public(campaign, private=private)
    paths = [*results(campaign, hidden=hidden).values()]
    if not hidden:
        paths += made.inputs(campaign, hidden=False)
        paths += [campaign.folder("decisions") / "cats.jsonl", *run_files(campaign)]
    return list(dict.fromkeys(paths))


def texts(language: str) -> Sections:
    """The strings of the report in a language; English where that lacks one."""
    english, base = read_shipped("report", FIRST), nearest(language)
    own = read_shipped("report", base) if base else {}
    return {section: keys | own.get(section, {}) for section, keys in english.items()}


def collect(
    campaign: Campaign, pipeline: Sequence[Step], reporter: Reporter, *, private: bool
) -> Collected:
    """Read and compute what the report of a campaign is made of.

    Args:
        campaign: the campaign.
        pipeline: the steps before the report.
        reporter: where warnings and progress go.
        private: also what is about hidden gold labels, and what writers meant.
    """
    hidden = _is_public(campaign, private=private)
    there = {n: path for n, path in results(campaign, hidden=hidden).items() if path.exists()}
    sources = {name: (campaign.relative(path), read_json(path)) for name, path in there.items()}
    now = state.numbers(campaign, pipeline, hidden=hidden)
    numbers = {
        "state": now,
        "statement": state.statement(campaign),
        **_numbers(campaign, hidden=hidden),
    }
    if not hidden:
        numbers |= _numbers_of_cats(campaign_source(campaign), reporter)
    if (shown := _shown(campaign, hidden=hidden)).cats:
        numbers["terms"] = terms.numbers(shown, reporter, private=private)
    late = _stale(campaign, pipeline, there, now)
    language, folder = (
        campaign.settings.campaign.language,
        campaign.relative(campaign.folder("pages")),
    )
    return _collected(
        campaign.settings.campaign.name,
        language,
        f"{folder}/private" if private else folder,
        sources,
        numbers,
        stale=late,
        private=private,
        hidden=hidden,
    )


def collect_gold(source: Source, reporter: Reporter, *, private: bool) -> Collected:
    """Read and compute what the report of gold files is made of.

    Args:
        source: the CATs of the gold files, with the folder of their runs.
        reporter: where warnings and progress go.
        private: whether the files have hidden gold labels.
    """
    numbers = _numbers_of_cats(source, reporter)
    numbers["terms"] = terms.numbers(source, reporter, private=private)
    return _collected(source.split, source.language, "", {}, numbers, private=private)


def _shown(campaign: Campaign, *, hidden: bool) -> Source:
    """The CATs that are shown one by one: while gold labels are hidden, only public ones.

    These are in a built version with their gold labels, and no CAT on their term is hidden, or in
    test and so will be.
    """
    source = campaign_source(campaign)
    if not hidden:
        return source
    history = History(campaign)
    secret = history.unknown

    def names(cat: Cat) -> set[object]:
        return {cat.id, texts_of(published(cat))}

    secrets = [cat for cat in source.cats if cat.split == "test" or names(cat) & secret]
    closed = {(cat.domain, cat.target) for cat in secrets} | {cat.term for cat in secrets}
    cats = [
        cat
        for cat in source.cats
        if not {cat.term, (cat.domain, cat.target)} & closed and names(cat) & history.public
    ]
    return replace(source, cats=cats)


def _numbers(campaign: Campaign, *, hidden: bool) -> dict[str, Any]:
    """Numbers of how a campaign came about, by the names of their files."""
    return {"made": made.numbers(campaign, hidden=hidden)}


def _numbers_of_cats(source: Source, reporter: Reporter) -> dict[str, Any]:
    """Numbers about CATs and their runs, by the names of their files; none without CATs."""
    return {"cats": summary.cats(source), **scores.numbers(source, reporter)} if source.cats else {}


def _stale(
    campaign: Campaign,
    pipeline: Sequence[Step],
    there: Mapping[str, Path],
    now: Mapping[str, Any],
) -> dict[str, str]:
    """Why what a source says is out of date, by its name."""
    states = {name: step["state"] for name, step in now["steps"].items()}
    wrote = {
        step.folder(campaign) / name: step.name
        for step in pipeline
        if (run := last_run(campaign, step))
        for name in run.outputs
    }
    late = {name: states.get(wrote.get(path, ""), "") for name, path in there.items()}
    if "release" in there and not late["release"]:
        late["release"] = f"version {there['release'].parent.name}"
    late["made"] = next((s for n in ("answers", "filter") if (s := states[n]) != UP_TO_DATE), "")
    runs = [f"{r['model']}/{r['rule']} {r['state']}" for r in now["scores"]]
    late["scores"] = next((run for run in runs if not run.endswith(UP_TO_DATE)), "")
    return {name: why for name, why in late.items() if why not in ("", UP_TO_DATE, NOT_YET)}


def _collected(
    name: str,
    language: str,
    folder: str,
    sources: Sources,
    numbers: dict[str, Any],
    *,
    stale: Mapping[str, str] = {},
    private: bool = False,
    hidden: bool = False,
) -> Collected:
    """The report, after what needs all other numbers: the first screen and the tables as CSV."""
    from curation.pages.report import Report
    from curation.pages.tables import tables

    def named(numbers: Mapping[str, Any]) -> Sources:
        place = f"{folder}/{NUMBERS}" if folder else NUMBERS
        return {name: (f"{place}/{name}.json", content) for name, content in numbers.items()}

    contents = {name: content for name, (_, content) in sources.items()} | numbers
    numbers["summary"] = summary.numbers(contents)
    if not hidden:  # a release has its own tables
        contents.pop("release", None)
    listed = tables(contents, private=private)
    numbers["tables"] = [table.about for table in listed]
    report = Report(
        name,
        texts(language),
        nearest(language) or FIRST,
        sources | named(numbers),
        stale,
        private,
        hidden,
        data_language=language,
    )
    files = {f"{NUMBERS}/{name}.json": orjson.dumps(content) for name, content in numbers.items()}
    return Collected(report, files | {f"{TABLES}/{table.file}": table.data for table in listed})
