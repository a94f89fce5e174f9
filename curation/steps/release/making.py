"""Build a release, and say what to do with it next."""

from pathlib import Path
from typing import NamedTuple

from curation.campaign import Campaign
from curation.files import read_json
from curation.release.contents import FACTS
from curation.scores.run_folder import has_runs
from curation.steps.release import versions
from curation.steps.release.build import ANONYMOUS, RELEASE
from curation.steps.reporter import QUIET, Reporter
from curation.steps.step import run_steps
from curation.work.manifest import file_names


class MadeRelease(NamedTuple):
    """A built version of the release.

    Attributes:
        folder: where it is.
        files: its files, by path in the folder.
        counts: as in the manifest: ``docs/commands.md``, under curation status.
        open: the keys of the questions that the team has not answered.
        next: what to do next, a sentence.
    """

    folder: Path
    files: list[str]
    counts: dict[str, int]
    open: list[str]
    next: str


def build_release(
    campaign: Campaign, *, anonymous: bool = False, reporter: Reporter = QUIET
) -> MadeRelease:
    """Build the version that the settings name, and all that it needs.

    Call it only under the campaign's lock.

    Args:
        campaign: the campaign.
        anonymous: build ``VERSION-anonymous`` for review.
        reporter: where warnings and progress go.

    Raises:
        CurationError: it cannot be built; nothing was written.
    """
    run = run_steps(campaign, ANONYMOUS if anonymous else RELEASE, reporter=reporter)
    folder = versions.folder(campaign, anonymous=anonymous)
    open_questions = list(read_json(folder / FACTS).get("open", ()))
    where = campaign.relative(folder)
    return MadeRelease(
        folder,
        file_names(folder),
        run.counts,
        open_questions,
        _next(campaign, where, open_questions=len(open_questions), anonymous=anonymous),
    )


def _next(campaign: Campaign, where: str, *, open_questions: int, anonymous: bool) -> str:
    missing = []
    if not has_runs(campaign.scores):
        missing.append("score models for the card («curation scores models MODEL»)")
    if open_questions:
        missing.append(
            "answer the questions in 7-release/statement.toml («curation release statement» lists "
            "them)"
        )
    then = "send the folder to the reviewers" if anonymous else "publish the folder"
    check = f"«curation release check {where}», then {then}"
    if not missing:
        return check
    again = "curation release build" + (" --anonymous" if anonymous else "")
    return (
        f"{', '.join(missing)}, delete {where} if nobody has it, and run «{again}»; or, if it is "
        f"complete, {check}"
    )
