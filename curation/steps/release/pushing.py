"""``curation release push``: a built version goes to the Hugging Face Hub."""

from pathlib import Path

from curation.campaign import Campaign
from curation.files import CurationError, read_json
from curation.release import hub
from curation.release.check.folder import Release, list_files
from curation.release.contents import FACTS
from curation.release.facts import Facts, Hub
from curation.steps.release.checking import check_release, counts, folder_of
from curation.steps.release.hidden import hiding
from curation.steps.release.statement import read_statement
from curation.steps.reporter import QUIET, Reporter
from curation.text.wording import amount, some


def target(campaign: Campaign, to: str = "") -> Hub:
    """The dataset on the hub that a release goes to, and who may download it.

    Args:
        campaign: the campaign.
        to: OWNER/NAME; by default ``[hub] id`` of ``7-release/statement.toml``.

    Raises:
        CurationError: neither names a dataset.
    """
    own = read_statement(campaign).hub
    name = to or own.id
    if not name:
        raise CurationError(
            "nothing says where the release goes on the hub",
            "give --to OWNER/NAME, or set id in [hub] of 7-release/statement.toml",
        )
    hub.check_name(name)
    return own.model_copy(update={"id": name})


def check_before(campaign: Campaign, version: str = "", reporter: Reporter = QUIET) -> Path:
    """The folder of a version that may be uploaded.

    Raises:
        CurationError: it is not built, is anonymous or not a whole release, has gold labels that
            another version hides, or its check blocks.
    """
    folder = folder_of(campaign, version)
    if folder.name.endswith("-anonymous"):
        raise _is_anonymous(folder)
    if not (folder / FACTS).exists():
        raise CurationError(
            f"{folder.name} is not a whole release: it has no release.json, and would replace one",
            "to publish revealed gold labels beside their release: hf upload OWNER/NAME "
            f"{folder} revealed --repo-type dataset",
        )
    hiding.check_upload(campaign, folder)
    findings = check_release(folder, reporter=reporter)
    blocking = [f"{f.code} ({f.where})" for f in findings if f.severity == "block"]
    if blocking:
        raise CurationError(
            f"{amount(len(blocking), 'finding blocks', 'findings block')} the upload of "
            f"{folder.name}: {some(blocking, 5)}",
            f"«curation release check {folder.name}» says what to do",
        )
    if Facts.model_validate(read_json(folder / FACTS)).anonymous:
        raise _is_anonymous(folder)
    if warned := counts(findings)["warn"]:
        reporter.warn(
            f"{amount(warned, 'warning')} about {folder.name}: «curation release check "
            f"{folder.name}» shows them"
        )
    return folder


def _is_anonymous(folder: Path) -> CurationError:
    return CurationError(
        f"{folder.name} is anonymous, and an account on the hub has a name",
        "give reviewers the folder itself; push the version when it may be named",
    )


def local_files(folder: Path) -> list[hub.Local]:
    """The files of a release folder, by path."""
    release = Release(folder)
    problems = list(list_files(release))
    if problems:
        raise CurationError(f"{folder}: {problems[0].where} {problems[0].detail}", problems[0].fix)
    return [hub.Local(name, folder / name, size) for name, size in sorted(release.files.items())]


def planned(
    folder: Path, repo: str, *, endpoint: str | None = None, reporter: Reporter = QUIET
) -> list[hub.Planned]:
    """What an upload would do with each file; nothing is sent.

    If the hub cannot be reached, or there is no token, the state of the files is «unknown».

    Raises:
        CurationError: huggingface_hub is not installed, or the folder has a link.
    """
    files = local_files(folder)
    try:
        remote = hub.look(hub.open_hub(endpoint=endpoint), repo)
    except CurationError as error:
        reporter.warn(f"not compared with the hub: {error.what}; {error.fix}")
        remote = None
    return hub.plan(files, remote)


def push(
    folder: Path,
    to: Hub,
    *,
    private: bool | None = None,
    tag: bool = True,
    endpoint: str | None = None,
    token: str | None = None,
    reporter: Reporter = QUIET,
) -> hub.Pushed:
    """Upload a release folder that was checked; see ``hub.push``.

    Args:
        folder: of ``check_before``.
        to: of ``target``.
        private: whether only its owners see it; None leaves it as it is, and a new one private.
        tag: whether to tag the commit with the version.
        endpoint: address of the hub; by default that of the environment.
        token: an access token; by default that of the environment or of a login.
        reporter: where progress goes.

    Raises:
        CurationError: as for ``hub.push``.
    """
    files = local_files(folder)
    total = sum(file.size for file in files)
    with reporter.tracked(f"uploading {folder.name}", total, bytes=True) as advance:
        return hub.push(
            hub.open_hub(endpoint=endpoint, token=token),
            to.id,
            files,
            version=folder.name,
            private=private,
            gated=to.gated,
            tag=tag,
            done=advance,
        )
