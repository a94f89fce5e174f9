"""The steps ``pages`` and ``private``: the report, and one with what is hidden; that of gold files.

``8-pages/`` has the report that a team may show; ``8-pages/private/`` is for the team alone. A
report shows results of other steps as they are, and numbers that no step keeps. Those are written
to ``numbers/``, so that each number of the report is in a file.

While gold labels are hidden, the public report takes what it says of CATs from the built release
alone: nothing else that depends on labels is read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from curation.campaign.dataset import Dataset
from curation.campaign.datasets import FLAGS, run_files
from curation.campaign.manifest import MANIFEST, Results, digests, read_manifest, run_step
from curation.campaign.source import Source, campaign_source, open_source
from curation.campaign.step import Out, Step, last_run
from curation.campaign.store import FOLDERS, Campaign
from curation.campaign.versions import History, earlier
from curation.files import CurationError, read_json, refuse_links
from curation.formats.table_words import FIRST, Sections, nearest, read_shipped
from curation.pages import made, scores, summary, terms
from curation.records import Cat, Fields
from curation.release import versions
from curation.released.contents import FACTS, published
from curation.status import NOT_YET, UP_TO_DATE, Status
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from curation.pages.report import Report

REPORT, STEP = "report.html", "pages"
NUMBERS, TABLES = "numbers", "tables"  # the folders of numbers that the report computes, and of CSV
SOMETIMES = ("cats.html", "terms/*.html", "numbers/*.json", "tables/*.csv")
"""The files that only some reports have. In a campaign's folder, nobody else writes such files."""


class MadePages(NamedTuple):
    """The report: its page, and all files of it by their path in its folder."""

    page: Path
    files: list[str]


class Told(NamedTuple):
    """What the report says of the campaign; manifests have the sha256 of this value, not of files.

    Attributes:
        hidden: whether what depends on hidden gold labels is left out. Then ``made`` is among the
            numbers, too, because no file that it is computed from may be listed in the manifest.
        numbers: by the names of their files.
        stale: why what a source says is out of date, by the source's name.
        cats: if ``hidden``, the CATs whose gold labels are public.
    """

    hidden: bool = False
    numbers: Mapping[str, Any] = {}
    stale: Mapping[str, str] = {}
    cats: Sequence[Cat] = ()


class Shown(NamedTuple):
    """What the report takes from files; manifests have the sha256 of each.

    Attributes:
        source: CATs and score runs, of a campaign or of gold files.
        sources: results of other steps, each with the path of its file.
        numbers: what is computed from files, by the names of the files of numbers.
    """

    source: Source
    sources: Mapping[str, tuple[str, Any]] = {}
    numbers: Mapping[str, Any] = {}


def pages_step(pipeline: Sequence[Step], status: Status | None = None) -> Step:
    """The step, which tells of all steps before it; ``status`` is their state if it is known."""
    return _step(STEP, "the report", FOLDERS["pages"], pipeline, status, private=False)


def private_step(pipeline: Sequence[Step]) -> Step:
    """The report with what is hidden. Only «curation pages build --private» makes it."""
    place = f"{FOLDERS['pages']}/private"
    return _step("private", "the report with what is hidden", place, pipeline, private=True)


def _step(
    name: str,
    says: str,
    folder: str,
    pipeline: Sequence[Step],
    status: Status | None = None,
    *,
    private: bool,
) -> Step:
    told = Dataset(
        "what is told",
        lambda campaign: (),
        partial(read_told, pipeline=pipeline, private=private, status=status),
        by_value=True,
    )
    shown = Dataset(
        "shown",
        partial(inputs, private=private),
        partial(read_shown, private=private),
    )

    def work(campaign: Campaign, out: Out) -> dict[str, int]:
        report, beside = collect(
            campaign[told],
            campaign[shown],
            out,
            name=campaign.settings.campaign.name,
            language=campaign.settings.campaign.language,
            folder=campaign.relative(out.folder),
            private=private,
        )
        campaign.forget(shown)
        before = (path for pattern in SOMETIMES for path in out.folder.glob(pattern))
        return _write(report, beside, out, before, private=private)

    settings = ("campaign.name", "campaign.language")
    return Step(name, says, work, folder, 1, as_it_is=(told, shown), settings=settings)


def build_gold(
    gold: Sequence[Path],
    to: Path,
    *,
    scores: Path = Path("scores"),
    private: bool = False,
    reporter: Reporter = QUIET,
) -> MadePages:
    """Write the report of gold files and of their models' runs.

    Args:
        gold: the gold files.
        to: the folder to write to.
        scores: the folder of the runs, ``MODEL/RULE/``.
        private: whether the files may have hidden gold labels; every page is then marked.
        reporter: where warnings and progress go.

    Raises:
        CurationError: a file is not a gold file, or has hidden gold labels and ``private`` is
            False; or the folder cannot be written to.
    """
    secret = [path for path in gold if _has_nonces(path)]
    if secret and not private:
        raise CurationError(
            f"{secret[0]}: has hidden gold labels, and the report would show figures about them",
            "add --private, and keep the report for yourself; or name the files of the release",
        )
    source = open_source(gold=gold, scores=scores, reporter=reporter)
    about: Fields = {"name": source.split, "language": source.language, "private": private}
    report, beside = collect(Told(), Shown(source), reporter, **about)
    if private:  # git never adds it
        beside[".gitignore"] = b"*\n"
    last = read_manifest(to).steps.get(STEP)  # other files in the folder may be the user's
    before = [to / name for name in (last.outputs if last else ())]
    run = run_step(
        Results(to),
        STEP,
        lambda results: _write(report, beside, results, before, private=private),
        algorithm=1,
        settings={},
        inputs=digests({path.name: path for path in gold}),
    )
    if private:
        (to / MANIFEST).chmod(0o600)
    return MadePages(to / REPORT, sorted(run.outputs))


def _has_nonces(path: Path) -> bool:
    """Whether a file, or one that a mapping file names, has the nonces of commitments."""
    from curation.catsets.content import read_parts
    from curation.catsets.mapping import read_mapping

    is_mapping = path.suffix.lower() == ".toml"
    named = [path.parent / name for name in read_mapping(path).files] if is_mapping else [path]
    return any("nonce" in part.columns() for file in named for part in read_parts(file)[0])


# --- what the report is made of -------------------------------------------------------------------


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
    folders = (versions.version_folder(campaign), *reversed(earlier(campaign)))
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


def read_told(
    campaign: Campaign, *, pipeline: Sequence[Step], private: bool, status: Status | None = None
) -> Told:
    """Read the state of the campaign, the statement, and all that may not be noted by its files."""
    hidden = not private and hides(campaign)
    now = made.state(campaign, pipeline, hidden=hidden, status=status)
    numbers = {"state": now, "statement": made.statement(campaign)}
    if hidden:
        numbers["made"] = made.numbers(campaign, hidden=True)
    stale = _stale(campaign, pipeline, results(campaign, hidden=hidden), now)
    return Told(hidden, numbers, stale, _public_cats(campaign) if hidden else ())


def read_shown(campaign: Campaign, *, private: bool) -> Shown:
    """Read the files of ``inputs``, but for CATs and score runs, and compute ``made`` from them."""
    hidden = not private and hides(campaign)
    paths = results(campaign, hidden=hidden)
    sources = {name: (campaign.relative(path), read_json(path)) for name, path in paths.items()}
    numbers = {} if hidden else {"made": made.numbers(campaign, hidden=False)}
    return Shown(campaign_source(campaign), sources, numbers)


def inputs(campaign: Campaign, *, private: bool) -> list[Path]:
    """Every file that the report reads, apart from those that its settings are computed from.

    While gold labels are hidden, no file that depends on them is listed: its sha256 would be in the
    manifest.
    """
    hidden = not private and hides(campaign)
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


def _public_cats(campaign: Campaign) -> list[Cat]:
    """The CATs that are shown while gold labels are hidden.

    These are in a built version with their gold labels, and no CAT on their term is hidden, or in
    test and so will be.
    """
    history = History(campaign)
    secret = history.unknown

    def names(cat: Cat) -> set[object]:
        return {cat.id, published(cat).texts}

    secrets = [cat for cat in campaign.cats if cat.split == "test" or names(cat) & secret]
    closed = {(cat.domain, cat.target) for cat in secrets} | {cat.term for cat in secrets}
    return [
        cat
        for cat in campaign.cats
        if not {cat.term, (cat.domain, cat.target)} & closed and names(cat) & history.public
    ]


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


def collect(
    told: Told,
    shown: Shown,
    reporter: Reporter,
    *,
    name: str,
    language: str,
    folder: str = "",
    private: bool,
) -> tuple["Report", dict[str, bytes]]:
    """Compute what else the report is made of.

    Args:
        told: what it says of a campaign.
        shown: what it takes from files.
        reporter: where warnings and progress go.
        name: of the campaign or dataset.
        language: of the CATs.
        folder: of the report, in the campaign.
        private: also what is about hidden gold labels, and what writers meant.

    Returns:
        The report, and the files beside it by their path in its folder.
    """
    from curation.pages.report import Report
    from curation.pages.tables import tables

    numbers, source = {**told.numbers, **shown.numbers}, shown.source
    if told.hidden:
        source = replace(source, cats=told.cats)
    elif source.cats:
        numbers |= {"cats": summary.cats(source), **scores.numbers(source, reporter)}
    if source.cats:
        numbers["terms"] = terms.numbers(source, reporter, private=private)
    contents = {key: content for key, (_, content) in shown.sources.items()} | numbers
    numbers["summary"] = summary.numbers(contents)
    if not told.hidden:  # a release has its own tables
        contents.pop("release", None)
    listed = tables(contents, private=private)
    numbers["tables"] = [table.about for table in listed]
    place = f"{folder}/{NUMBERS}" if folder else NUMBERS
    report = Report(
        name,
        texts(language),
        nearest(language) or FIRST,
        {**shown.sources, **{key: (f"{place}/{key}.json", n) for key, n in numbers.items()}},
        told.stale,
        private,
        told.hidden,
        data_language=language,
    )
    files = {f"{NUMBERS}/{key}.json": orjson.dumps(content) for key, content in numbers.items()}
    return report, files | {f"{TABLES}/{table.file}": table.data for table in listed}


def _write(
    report: "Report",
    beside: Mapping[str, bytes],
    results: Results,
    before: Iterable[Path],
    *,
    private: bool,
) -> dict[str, int]:
    """Stage all files of a report, and delete those of earlier ones that it does not have."""
    from curation.pages.report import files

    for path, data in (*files(report), *beside.items()):
        results.lines(path, [data], private=private)
    for old in {*before}.difference(results.staged):
        refuse_links(old.parent, below=results.folder.parent)
        old.unlink(missing_ok=True)
    return {"files": len(results.staged), "tables": len(report.sources["tables"][1])}
