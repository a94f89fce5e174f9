"""The steps ``pages`` and ``private``: the report, and one with what is hidden; that of gold files.

``8-pages/`` has the report that a team may show; ``8-pages/private/`` is for the team alone.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from curation.campaign.dataset import Dataset
from curation.campaign.manifest import MANIFEST, Results, digests, read_manifest, run_step
from curation.campaign.source import open_source
from curation.campaign.step import Out, Step
from curation.campaign.store import FOLDERS, Campaign
from curation.files import CurationError, refuse_links
from curation.pages import collecting
from curation.pages.collecting import Collected
from curation.status import Status
from curation.work.reporter import QUIET, Reporter

REPORT, STEP = "report.html", "pages"
SOMETIMES = ("cats.html", "terms/*.html", "numbers/*.json", "tables/*.csv")
"""The files that only some reports have. In a campaign's folder, nobody else writes such files."""


class MadePages(NamedTuple):
    """The report: its page, and all files of it by their path in its folder."""

    page: Path
    files: list[str]


def _write(
    made: Collected, results: Results, before: Iterable[Path], *, private: bool
) -> dict[str, int]:
    """Stage all files of a report, and delete those of earlier ones that it does not have."""
    from curation.pages.report import files

    for path, data in (*files(made.report), *made.files.items()):
        results.lines(path, [data], private=private)
    for old in {*before}.difference(results.staged):
        refuse_links(old.parent, below=results.folder.parent)
        old.unlink(missing_ok=True)
    return {"files": len(results.staged), "tables": len(made.report.sources["tables"][1])}


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
        partial(collecting.read_told, pipeline=pipeline, private=private, status=status),
        by_value=True,
    )
    shown = Dataset(
        "shown",
        partial(collecting.inputs, private=private),
        partial(collecting.read_shown, private=private),
    )

    def work(campaign: Campaign, out: Out) -> dict[str, int]:
        made = collecting.collect(campaign, campaign[told], campaign[shown], out, private=private)
        campaign.forget(shown)
        before = (path for pattern in SOMETIMES for path in out.folder.glob(pattern))
        return _write(made, out, before, private=private)

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
    made = collecting.collect_gold(source, reporter, private=private)
    if private:  # git never adds it
        made.files[".gitignore"] = b"*\n"
    last = read_manifest(to).steps.get(STEP)  # other files in the folder may be the user's
    before = [to / name for name in (last.outputs if last else ())]
    run = run_step(
        Results(to),
        STEP,
        lambda results: _write(made, results, before, private=private),
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
