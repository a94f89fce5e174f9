"""What the report is made of: results of other steps as they are, and numbers that no step keeps.

Those numbers are written to ``8-pages/numbers/``, so that each number of the report is in a file.

While gold labels are hidden, the public report takes what it says of CATs from the built release
alone: nothing else that depends on labels is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from curation.campaign.datasets import FLAGS, run_files
from curation.campaign.source import Source, campaign_source
from curation.campaign.step import Out, Step, last_run
from curation.campaign.store import Campaign
from curation.campaign.versions import History, earlier, texts_of
from curation.files import read_json
from curation.formats.table_words import FIRST, Sections, nearest, read_shipped
from curation.pages import made, scores, state, summary, terms
from curation.records import Cat
from curation.release import versions
from curation.released.contents import FACTS, published
from curation.status import NOT_YET, UP_TO_DATE, Status
from curation.work.reporter import Reporter

if TYPE_CHECKING:
    from curation.pages.report import Report

NUMBERS, TABLES = "numbers", "tables"  # the folders of numbers that the report computes, and of CSV
Sources = dict[str, tuple[str, Any]]


class Told(NamedTuple):
    """What the report says of the campaign; manifests have the sha256 of this value, not of files.

    Attributes:
        hidden: whether what depends on hidden gold labels is left out. Then ``made`` is among the
            numbers, too, because no file that it is computed from may be listed in the manifest.
        numbers: by the names of their files.
        stale: why what a source says is out of date, by the source's name.
        cats: if ``hidden``, the CATs whose gold labels are public.
    """

    hidden: bool
    numbers: dict[str, Any]
    stale: dict[str, str]
    cats: Sequence[Cat]


class Shown(NamedTuple):
    """What the report takes from files; manifests have the sha256 of each.

    Attributes:
        sources: results of other steps.
        numbers: what is computed from files, by the names of the files of numbers.
        source: the campaign's CATs and score runs.
    """

    sources: Sources
    numbers: dict[str, Any]
    source: Source


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
    folders = (versions.folder(campaign), *reversed(earlier(campaign)))
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
    paths = {
        "agreement": campaign.folder("decisions") / "agreement.json",
        "split": campaign.folder("decisions") / "split.json",
        "statistics": campaign.folder("measures") / "statistics.json",
        "sentiment": campaign.folder("measures") / "sentiment.json",
        "keywords": campaign.folder("measures") / "keywords.json",
        "pitfalls": campaign.folder("measures") / "pitfalls.json",
        "trust": campaign.folder("trust") / "report.json",
    }
    return public | {name: path for name, path in paths.items() if path.exists()}


def _is_public(campaign: Campaign, *, private: bool) -> bool:
    """Whether what depends on hidden gold labels must be left out."""
    return not private and hides(campaign)


def read_told(
    campaign: Campaign, *, pipeline: Sequence[Step], private: bool, status: Status | None = None
) -> Told:
    """Read the state of the campaign, the statement, and all that may not be noted by its files."""
    hidden = _is_public(campaign, private=private)
    now = state.numbers(campaign, pipeline, hidden=hidden, status=status)
    numbers = {"state": now, "statement": state.statement(campaign)}
    if hidden:
        numbers["made"] = made.numbers(campaign, hidden=True)
    stale = _stale(campaign, pipeline, results(campaign, hidden=hidden), now)
    return Told(hidden, numbers, stale, _public_cats(campaign) if hidden else ())


def read_shown(campaign: Campaign, *, private: bool) -> Shown:
    """Read the files of ``inputs``, but for CATs and score runs, and compute ``made`` from them."""
    hidden = _is_public(campaign, private=private)
    paths = results(campaign, hidden=hidden)
    sources = {name: (campaign.relative(path), read_json(path)) for name, path in paths.items()}
    numbers = {} if hidden else {"made": made.numbers(campaign, hidden=False)}
    return Shown(sources, numbers, campaign_source(campaign))


def inputs(campaign: Campaign, *, private: bool) -> list[Path]:
    """Every file that the report reads, apart from those that its settings are computed from.

    While gold labels are hidden, no file that depends on them is listed: its sha256 would be in the
    manifest.
    """
    hidden = _is_public(campaign, private=private)
    paths = [*results(campaign, hidden=hidden).values()]
    if not hidden:
        paths += made.inputs(campaign, hidden=False)
        paths += [campaign.folder("decisions") / "cats.jsonl", *FLAGS.files(campaign)]
        paths += [*run_files(campaign), *campaign.folder("scores").glob("*/*/choice.json")]
    return list(dict.fromkeys(paths))


def texts(language: str) -> Sections:
    """The strings of the report in a language; English where that lacks one."""
    english, base = read_shipped("report", FIRST), nearest(language)
    own = read_shipped("report", base) if base else {}
    return {section: keys | own.get(section, {}) for section, keys in english.items()}


def collect(campaign: Campaign, told: Told, shown: Shown, out: Out, *, private: bool) -> Collected:
    """Compute what else the report of a campaign is made of.

    Args:
        campaign: the campaign.
        told: what it says of the campaign.
        shown: what it takes from files.
        out: where warnings and progress go.
        private: also what is about hidden gold labels, and what writers meant.
    """
    numbers, source = told.numbers | shown.numbers, shown.source
    if told.hidden:
        source = replace(source, cats=told.cats)
    else:
        numbers |= _numbers_of_cats(source, out)
    if source.cats:
        numbers["terms"] = terms.numbers(source, out, private=private)
    return _collected(
        campaign.settings.campaign.name,
        campaign.settings.campaign.language,
        campaign.relative(out.folder),
        shown.sources,
        numbers,
        stale=told.stale,
        private=private,
        hidden=told.hidden,
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


def _public_cats(campaign: Campaign) -> list[Cat]:
    """The CATs that are shown while gold labels are hidden.

    These are in a built version with their gold labels, and no CAT on their term is hidden, or in
    test and so will be.
    """
    history = History(campaign)
    secret = history.unknown

    def names(cat: Cat) -> set[object]:
        return {cat.id, texts_of(published(cat))}

    secrets = [cat for cat in campaign.cats if cat.split == "test" or names(cat) & secret]
    closed = {(cat.domain, cat.target) for cat in secrets} | {cat.term for cat in secrets}
    return [
        cat
        for cat in campaign.cats
        if not {cat.term, (cat.domain, cat.target)} & closed and names(cat) & history.public
    ]


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
