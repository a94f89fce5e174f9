"""Uploads a release to the Hugging Face Hub; the only module of the release that reaches out.

All files go up in one commit, which is then tagged with the version. A tagged version never
changes. Files on the hub that no release has are left alone.
"""

import hashlib
import os
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from curation.campaign.store import Campaign
from curation.campaign.versions import ANONYMOUS
from curation.files import CurationError, read_bytes, read_json
from curation.formats.toml_files import shipped_table
from curation.release import hiding
from curation.release.checking import check_release, counts, folder_of
from curation.release.statement import read_statement
from curation.released.contents import FACTS, PATTERNS
from curation.released.facts import Facts, Hub
from curation.released.folder import Release, list_files
from curation.text.wording import amount, some
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from huggingface_hub import HfApi

State = Literal["new", "changed", "same", "deleted", "kept", "unknown"]
Access = Literal["", "auto", "manual"]
Done = Callable[[int], None]

_DATASET = "dataset"
PATIENCE = 60.0  # seconds for an answer, after the request is sent


class Local(NamedTuple):
    """A file of a release: its path in the folder, where it is, and its size in bytes."""

    path: str
    place: Path
    size: int


class Planned(NamedTuple):
    """What an upload does with a file; ``unknown`` means that the hub was not asked."""

    path: str
    size: int
    state: State


class Remote(NamedTuple):
    """A dataset on the hub.

    Attributes:
        head: the commit of its main branch; empty if the dataset does not exist.
        private: whether only its owners see it.
        files: the content of each file, as its git or sha256 id.
        tags: the commit of each tag.
    """

    head: str
    private: bool
    files: Mapping[str, str]
    tags: Mapping[str, str]


class Pushed(NamedTuple):
    """The result of an upload: where it is, its commit, and whether anything was sent."""

    address: str
    commit: str
    sent: int
    tagged: bool
    private: bool


def open_hub(*, endpoint: str | None = None, token: str | None = None) -> "HfApi":
    """A connection to the hub; the token comes from the environment or from a login.

    Args:
        endpoint: address of the hub; by default that of ``HF_ENDPOINT``, or huggingface.co.
        token: an access token, which no file gets; by default that of the login.

    Raises:
        CurationError: huggingface_hub is not installed.
    """
    # Plain uploads suffice for files of some megabytes. It is read when the package is imported.
    os.environ.setdefault("HF_HUB_DISABLE_XET", "1")
    try:
        from huggingface_hub import HfApi, set_client_factory
        from huggingface_hub.utils.tqdm import disable_progress_bars
    except ImportError:
        raise CurationError(
            "uploading needs huggingface_hub, which is not installed",
            "pip install 'curation[hub]'",
        ) from None
    with suppress(Exception):  # it warns if the environment asks for its bars
        disable_progress_bars()
    set_client_factory(_limited)
    return HfApi(endpoint=endpoint, token=token)


def _limited() -> Any:
    """The client of huggingface_hub, whose answers have no limit of time, with one."""
    from huggingface_hub.utils._http import default_client_factory

    client = default_client_factory()
    client.timeout = PATIENCE
    client.event_hooks["request"].append(_watch)
    return client


def _watch(request: Any) -> None:
    """End a connection whose answer is not whole in time; files that are loaded may take longer."""
    if "/api/" not in request.url.path and request.method == "GET":
        return
    streams: list[Any] = []
    timers: list[threading.Timer] = []

    def end() -> None:
        with suppress(OSError):  # that of TLS would not wake the thread that reads
            socket.socket.shutdown(streams[-1].get_extra_info("socket"), socket.SHUT_RDWR)

    def trace(event: str, info: Mapping[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            streams.append(info["return_value"])
        elif event.endswith("receive_response_headers.started"):  # the request is sent
            timers.append(threading.Timer(PATIENCE, end))
            timers[-1].daemon = True
            timers[-1].start()
        elif event.endswith("response_closed.started"):
            for timer in timers:
                timer.cancel()

    request.headers["Connection"] = "close"  # each answer has a connection of its own
    request.extensions["trace"] = trace


def check_name(repo: str) -> None:
    """Refuse a name that is not OWNER/NAME as the hub has it.

    Raises:
        CurationError: it is not one.
    """
    good = re.fullmatch(r"[A-Za-z0-9_][\w.-]{0,95}/[A-Za-z0-9_][\w.-]{0,95}", repo, re.ASCII)
    if not good or "--" in repo or ".." in repo or repo.endswith((".git", "-", ".")):
        raise CurationError(
            f"{repo!r} is not the name of a dataset on the hub",
            "name it OWNER/NAME, with letters, digits and the characters - . _",
        )


# --- what is there, and what would happen ---------------------------------------------------------


def look(hub: "HfApi", repo: str, *, revision: str | None = None) -> Remote:
    """What a dataset on the hub has; an empty ``Remote`` if it does not exist.

    Raises:
        CurationError: there is no token, it is not valid, or the hub cannot be reached.
    """
    from huggingface_hub.errors import RepositoryNotFoundError
    from huggingface_hub.hf_api import RepoFile

    with explain_errors(hub, repo):
        hub.whoami()
        try:
            info = hub.dataset_info(repo, revision=revision)
        except RepositoryNotFoundError:
            return Remote("", True, {}, {})
        entries = hub.list_repo_tree(repo, recursive=True, revision=info.sha, repo_type=_DATASET)
        files = {
            entry.path: entry.lfs.sha256 if entry.lfs else entry.blob_id
            for entry in entries
            if isinstance(entry, RepoFile)
        }
        refs = hub.list_repo_refs(repo, repo_type=_DATASET)
        tags = {tag.name: tag.target_commit for tag in refs.tags}
    return Remote(str(info.sha), bool(info.private), files, tags)


def plan(files: Sequence[Local], remote: Remote | None) -> list[Planned]:
    """What an upload does with each file, in order of path.

    Args:
        files: the files of the release.
        remote: what the hub has; None if it was not asked.
    """
    own = {file.path for file in files}
    planned = [Planned(file.path, file.size, _state(file, remote)) for file in files]
    for path in remote.files.keys() - own if remote else ():
        is_of_release = any(fnmatchcase(path, pattern) for pattern in PATTERNS)
        planned.append(Planned(path, 0, "deleted" if is_of_release else "kept"))
    return sorted(planned)


def _state(file: Local, remote: Remote | None) -> State:
    if remote is None:
        return "unknown"
    there = remote.files.get(file.path)
    if there is None:
        return "new"
    # The ids that the hub gives a file's content: of git, and of large files.
    content = read_bytes(file.place)
    git = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
    same = there in (git.hexdigest(), hashlib.sha256(content).hexdigest())
    return "same" if same else "changed"


# --- the upload -----------------------------------------------------------------------------------


def push(
    hub: "HfApi",
    repo: str,
    files: Sequence[Local],
    *,
    version: str,
    private: bool | None = None,
    gated: Access = "",
    tag: bool = True,
    done: Done = lambda size: None,
) -> Pushed:
    """Upload the files of a release in one commit, and tag it with the version.

    A new dataset is private until everything is there. If all files are there already, nothing is
    sent, so an interrupted upload is continued by the same call.

    Args:
        hub: of ``open_hub``.
        repo: OWNER/NAME of the dataset.
        files: the files.
        version: the version, which names the commit and the tag.
        private: whether only its owners see it; None leaves it as it is, and a new one private.
        gated: whether people must ask for access, and who grants it; empty leaves it as it is.
        tag: whether to tag the commit.
        done: called with the size of each file that is uploaded.

    Raises:
        CurationError: the version is tagged with other content, the token may not write, the hub
            cannot be reached, or it did not keep all files.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    remote, address = look(hub, repo), f"{hub.endpoint}/datasets/{repo}"
    if tag and version in remote.tags:  # nothing is sent, and its content must be the same
        there = plan(files, look(hub, repo, revision=version))
        if unlike := [row.path for row in there if row.state not in ("same", "kept")]:
            raise CurationError(
                f"version {version} of {repo} is on the hub already, with other content: "
                f"{', '.join(unlike[:3])}; a published version never changes",
                "raise version in [release], build again, and push that",
            )
        with explain_errors(hub, repo):
            now_private = _settle(hub, repo, remote, private=private, gated=gated)
        return Pushed(address, remote.tags[version], 0, True, now_private)
    with explain_errors(hub, repo):
        if not remote.head:
            hub.create_repo(repo, repo_type=_DATASET, private=True)
            remote = look(hub, repo)
        elif private and not remote.private:
            hub.update_repo_settings(repo, repo_type=_DATASET, private=True)
        planned = plan(files, remote)
        to_send = {row.path for row in planned if row.state in ("new", "changed")}
        commit = remote.head
        additions = [
            CommitOperationAdd(path_in_repo=file.path, path_or_fileobj=file.place)
            for file in files
            if file.path in to_send
        ]
        for addition in additions:
            hub.preupload_lfs_files(repo, [addition], repo_type=_DATASET, free_memory=False)
            done(addition.upload_info.size)
        operations: list[Any] = [
            *additions,
            *(CommitOperationDelete(row.path) for row in planned if row.state == "deleted"),
        ]
        if operations:
            about: dict[str, Any] = {"commit_message": f"Version {version}", "repo_type": _DATASET}
            about["parent_commit"] = remote.head or None
            commit = hub.create_commit(repo, operations, **about).oid
            lost = [r.path for r in plan(files, look(hub, repo)) if r.state in ("new", "changed")]
            if lost:
                raise CurationError(
                    f"the hub did not keep {len(lost)} files of {repo}, such as {lost[0]}",
                    "look at .gitignore in the dataset on the hub, delete it there, and push again",
                )
        if tag:
            hub.create_tag(repo, tag=version, revision=commit, repo_type=_DATASET)
        now_private = _settle(hub, repo, remote, private=private, gated=gated)
    return Pushed(address, commit, len(to_send), tag, now_private)


def _settle(
    hub: "HfApi", repo: str, remote: Remote, *, private: bool | None, gated: Access
) -> bool:
    """Set who may download it: the gate first, so that nothing is open for a moment."""
    if gated:
        hub.update_repo_settings(repo, repo_type=_DATASET, gated=gated)
    if private is not None and private != remote.private:
        hub.update_repo_settings(repo, repo_type=_DATASET, private=private)
    return remote.private if private is None else private


# --- the release that goes up ---------------------------------------------------------------------


def push_target(campaign: Campaign, to: str = "") -> Hub:
    """The dataset on the hub that a release goes to, and who may download it.

    Args:
        campaign: the campaign.
        to: OWNER/NAME; by default ``[hub] id`` of ``7-release/statement.toml``.

    Raises:
        CurationError: neither names a dataset.
    """
    own = read_statement(campaign).hub
    if not (name := to or own.id):
        fix = "give --to OWNER/NAME, or set id in [hub] of 7-release/statement.toml"
        raise CurationError("nothing says where the release goes on the hub", fix)
    check_name(name)
    return own.model_copy(update={"id": name})


def check_before(campaign: Campaign, version: str = "", reporter: Reporter = QUIET) -> Path:
    """The folder of a version that may be uploaded.

    Raises:
        CurationError: it is not built, is anonymous or not a whole release, has gold labels that
            another version hides, or its check blocks.
    """
    folder = folder_of(campaign, version)
    is_anonymous = CurationError(
        f"{folder.name} is anonymous, and an account on the hub has a name",
        "give reviewers the folder itself; push the version when it may be named",
    )
    if folder.name.endswith(ANONYMOUS):
        raise is_anonymous
    if not (folder / FACTS).exists():
        raise CurationError(
            f"{folder.name} is not a whole release: it has no release.json, and would replace one",
            "to publish revealed gold labels beside their release: hf upload OWNER/NAME "
            f"{folder} revealed --repo-type dataset",
        )
    hiding.check_upload(campaign, folder)
    findings = check_release(folder, reporter=reporter)
    check = f"«curation release check {folder.name}»"
    if blocking := [f"{f.code} ({f.where})" for f in findings if f.severity == "block"]:
        block = amount(len(blocking), "finding blocks", "findings block")
        what = f"{block} the upload of {folder.name}: {some(blocking, 5)}"
        raise CurationError(what, f"{check} says what to do")
    if Facts.model_validate(read_json(folder / FACTS)).anonymous:
        raise is_anonymous
    if warned := counts(findings)["warn"]:
        reporter.warn(f"{amount(warned, 'warning')} about {folder.name}: {check} shows them")
    return folder


def local_files(folder: Path) -> list[Local]:
    """The files of a release folder, by path.

    Raises:
        CurationError: it has a link, or something else that is not a plain file.
    """
    release = Release(folder)
    for found in list_files(release):
        raise CurationError(f"{folder}: {found.where} {found.detail}", found.fix)
    return [Local(name, folder / name, size) for name, size in sorted(release.files.items())]


def planned_push(folder: Path, repo: str, *, reporter: Reporter = QUIET) -> list[Planned]:
    """What an upload would do with each file; nothing is sent.

    If the hub cannot be reached, or there is no token, the state of the files is «unknown».

    Raises:
        CurationError: huggingface_hub is not installed, or the folder has a link.
    """
    files = local_files(folder)
    try:
        remote = look(open_hub(), repo)
    except CurationError as error:
        reporter.warn(f"not compared with the hub: {error.what}; {error.fix}")
        remote = None
    return plan(files, remote)


def push_folder(
    folder: Path,
    to: Hub,
    *,
    private: bool | None = None,
    tag: bool = True,
    reporter: Reporter = QUIET,
) -> Pushed:
    """Upload a release folder that was checked; see ``push``.

    Args:
        folder: of ``check_before``.
        to: of ``push_target``.
        private: whether only its owners see it; None leaves it as it is, and a new one private.
        tag: whether to tag the commit with the version.
        reporter: where progress goes.

    Raises:
        CurationError: as for ``push``.
    """
    files = local_files(folder)
    total = sum(file.size for file in files)
    with reporter.tracked(f"uploading {folder.name}", total, bytes=True) as advance:
        return push(
            open_hub(),
            to.id,
            files,
            version=folder.name,
            private=private,
            gated=to.gated,
            tag=tag,
            done=advance,
        )


# --- errors ---------------------------------------------------------------------------------------


@contextmanager
def explain_errors(hub: "HfApi", repo: str) -> Iterator[None]:
    """Turn every error of the hub's client into one that says what to do.

    The client raises errors of its own, of its HTTP library and of Python. All come from the
    outside, so none of them is a fault of curation.
    """
    try:
        yield
    except CurationError:
        raise
    except Exception as error:
        raise _explain(error, str(hub.endpoint), repo) from None


def _explain(error: BaseException, endpoint: str, repo: str) -> CurationError:
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) and cause not in chain:
        chain.append(cause)
    names = {kind.__name__ for one in chain for kind in type(one).__mro__}
    codes = (getattr(getattr(one, "response", None), "status_code", 0) for one in chain)
    status = next((code for code in codes if isinstance(code, int) and code), 0)
    reason = " ".join(str(error).split())[:300]
    known = next(
        row
        for row in shipped_table("release", "hub.toml")["error"]
        if not names.isdisjoint(row.get("names", ()))
        or re.fullmatch(row.get("status", "-"), str(status))
    )
    values = {
        "repo": repo,
        "owner": repo.partition("/")[0],
        "endpoint": endpoint,
        "status": str(status),
    }
    values |= {"reason": reason, "why": reason or type(error).__name__}
    return CurationError(known["what"].format(**values), known["fix"].format(**values))
