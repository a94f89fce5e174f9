"""A campaign's folder: its layout and its lock."""

import os
import platform
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from curation.files import CurationError, printable, read_bytes, refuse_links, sweep, writing
from curation.settings import Settings, read_settings, settings_text
from curation.text.times import now
from curation.work.interrupts import is_command

SETTINGS = "campaign.toml"
GROUPS = {
    *("terms", "rounds", "import", "decisions", "measures", "scores", "trust", "release", "pages"),
    "board",
}
"""The groups of commands, whose second word is a command too, and not an argument."""

Stage = Literal[
    "terms", "rounds", "decisions", "measures", "scores", "trust", "release", "pages", "boards"
]
FOLDERS: dict[Stage, str] = {
    "terms": "1-terms",
    "rounds": "2-rounds",
    "decisions": "3-decisions",
    "measures": "4-measures",
    "scores": "5-scores",
    "trust": "6-trust",
    "release": "7-release",
    "pages": "8-pages",
    "boards": "boards",
}
"""The folders of a campaign."""


@dataclass(frozen=True)
class Campaign:
    """A campaign's folder, and its settings as they were when it was opened.

    If you edit ``campaign.toml``, open the campaign again.
    """

    root: Path
    settings: Settings

    def folder(self, stage: Stage) -> Path:
        """The folder of a stage."""
        return self.root / FOLDERS[stage]

    def round_names(self) -> list[str]:
        """The names of the rounds that have answers: raw answers, or items made from them.

        Raises:
            CurationError: a folder's name is not UTF-8.
        """
        raw = (path.parents[1].name for path in self.folder("rounds").glob("*/raw/*.jsonl"))
        made = (path.parent.name for path in self.folder("rounds").glob("*/items.jsonl"))
        names = sorted({*raw, *made})
        for name in names:
            if name != printable(name):
                raise CurationError(
                    f"{self.folder('rounds') / name}: the name of this folder is not UTF-8",
                    "rename it",
                )
        return names

    def relative(self, path: Path) -> str:
        """A path as in manifests: relative to the campaign's folder if it is inside it."""
        inside = path.is_relative_to(self.root)
        return printable((path.relative_to(self.root) if inside else path).as_posix())

    @contextmanager
    def lock(self, *, wait: float = 0) -> Iterator[None]:
        """Lock the campaign, so that no other command writes to it at the same time.

        Call a function that writes to the campaign under the lock, unless its docstring says that
        it takes the lock itself. The lock cannot be taken twice, not even by the same process.

        Args:
            wait: for how many seconds to wait for another command; long work waits before it writes
                its results, so that they are not lost.

        Raises:
            CurationError: another command has the lock (the message says which, and since when), or
                a folder to write to is a link.
        """
        lock, holder = FileLock(self.root / ".lock"), self.root / ".lock-holder"
        self._refuse_links()
        try:
            lock.acquire(timeout=wait)
        except Timeout:
            who = (
                read_bytes(holder).decode("utf-8", "replace").strip()
                if holder.exists()
                else "another command"
            )
            raise CurationError(
                f"{self.root}: in use by {who}", "wait until it has ended, then run this again"
            ) from None
        except PermissionError:
            raise CurationError(
                f"{self.root}: no write permission", "get write permission, or use another folder"
            ) from None
        try:
            sweep(self.root)
            with writing(holder, private=True) as file:
                process = f"process {os.getpid()} on {platform.node()}"
                file.write(f"«{_command()}» ({process}, since {now()})".encode())
            protect(self.root)
            yield
        finally:
            try:
                holder.unlink(missing_ok=True)
            finally:  # also if the command is interrupted just now
                holder.unlink(missing_ok=True)
                lock.release()

    def _refuse_links(self) -> None:
        """Refuse links in place of the folders that commands write to, and of the lock.

        Raw answers may be behind a link, because they are read more often than written:
        ``archive.deliver`` checks their folder. The campaign's folder itself may be a link.
        """
        runs = ("5-scores/*", "5-scores/*/*", "6-trust/*", "6-trust/*/*", "6-trust/*/*/*")
        below = (path for depth in ("2-rounds/*", *runs) for path in self.root.glob(depth))
        folders = (*(self.root / name for name in FOLDERS.values()), *below)
        for path in (self.root / ".lock", *folders):
            refuse_links(path, below=self.root)


def open_campaign(root: Path) -> Campaign:
    """Open a campaign's folder and read its settings.

    Raises:
        CurationError: the folder has no campaign, or a setting is wrong; the message names the
            line.
    """
    path = root / SETTINGS
    if not path.exists():
        raise CurationError(
            f"{root.resolve()}: no {SETTINGS} here",
            "change to the folder of a campaign, name it with --campaign DIR, or make one with "
            "«curation init DIR»",
        )
    return Campaign(root, read_settings(path))


def _command() -> str:
    """The name of the command that runs. Its arguments may hold passwords and are left out."""
    if not is_command():
        return "a Python program"
    words = sys.argv[1:]
    return " ".join(["curation", *words[: 2 if words and words[0] in GROUPS else 1]])


# --- private files ------------------------------------------------------------------------------

PRIVATE = (
    "2-rounds/*/raw/",
    "2-rounds/*/tasks.jsonl",
    "2-rounds/*/items.jsonl",
    "2-rounds/*/rejected.jsonl",
    "2-rounds/*/pitfalls.jsonl",
    "2-rounds/*/typing.jsonl",
    "2-rounds/*/checks.jsonl",
    "2-rounds/*/dealt.jsonl",
    "2-rounds/people.jsonl",
    "2-rounds/annotators.csv",
    "2-rounds/standing.jsonl",
    "2-rounds/corrections.jsonl",
    "2-rounds/pay*.csv",
    "2-rounds/approve-*.csv",
    "2-rounds/bonus-*.csv",
    "2-rounds/web.sqlite*",
    "2-rounds/links-*.csv",
    "6-trust/runs/*/*/rejected.jsonl",
    "7-release/gold-*.jsonl",
    "7-release/given-out.jsonl",
    "8-pages/private/",
    "boards/",
)
"""Files that only their owner may read: what people sent, what writers meant, who is excluded, what
people have earned, their names and links, hidden gold labels, which values about these were given
out, the report that shows them, and what the owner of a leaderboard keeps."""
NOTE = "# raw answers, and what writers meant, stay on this machine (docs/campaign.md, Privacy)"
IGNORED = (*PRIVATE, "tasks/", "1-terms/answers/", ".lock*", ".web.lock*", ".*.tmp")


def protect(root: Path) -> None:
    """Keep a campaign's private files out of version control and from other users.

    Lines that ``.gitignore`` lacks are added at its end. Lines of the team stay, and a line
    ``!PATTERN`` keeps a pattern out. Files that others can read get mode 600.
    """
    _ignore(root, IGNORED, NOTE)
    for pattern in PRIVATE:
        for private in root.glob(f"{pattern}*" if pattern.endswith("/") else pattern):
            with suppress(FileNotFoundError, PermissionError):  # it may be another user's
                if private.is_file() and not private.is_symlink() and private.stat().st_mode & 0o77:
                    private.chmod(0o600)


def keep_out(folder: Path, campaign: Campaign, patterns: Sequence[str]) -> None:
    """Keep private files in a folder out of version control.

    If the folder is in the campaign or in a git repository, its ``.gitignore`` gets the patterns.
    The campaign's own ``tasks/`` is ignored as a whole.

    Args:
        folder: where the files are written to.
        campaign: the campaign that they are from.
        patterns: what git calls them.
    """
    place = folder.resolve()
    above = (place, *place.parents)
    root = campaign.root.resolve()
    if root / "tasks" in above or not (root in above or any((a / ".git").exists() for a in above)):
        return
    folder.mkdir(parents=True, exist_ok=True)
    _ignore(folder, patterns, "# tables with people's ids (docs/campaign.md, Privacy)")


def _ignore(folder: Path, lines: Sequence[str], note: str) -> None:
    """Add lines that a folder's ``.gitignore`` lacks at its end, unless it has ``!LINE``."""
    path = folder / ".gitignore"
    content = read_bytes(path) if path.exists() else b""
    there = {line.strip() for line in content.decode("utf-8", "replace").splitlines()}
    lacking = [line for line in lines if not {line, f"!{line}"} & there]
    if lacking:
        before = content.rstrip() + b"\n\n" if content.strip() else b""
        with writing(path) as file:
            file.write(before + "\n".join([note, *lacking, ""]).encode())


def create_campaign(root: Path, settings: Settings) -> Campaign:
    """Create a campaign's folder.

    Args:
        root: the folder.
        settings: what ``campaign.toml`` is to say; ``Settings(campaign=CampaignSettings(
            id=new_id()))`` has the defaults, and ``new_settings`` takes name, language and domains.
            All these names are in ``curation.settings``.

    Raises:
        CurationError: the folder is a campaign already, or it cannot be written to.
    """
    if (root / SETTINGS).exists():
        raise CurationError(
            f"{root}: is a campaign already", f"edit its {SETTINGS}, or choose another folder"
        )
    try:
        root.mkdir(parents=True, exist_ok=True)
        protect(root)
        with writing(root / SETTINGS) as file:
            file.write(settings_text(settings).encode())
    except (PermissionError, NotADirectoryError, FileExistsError) as error:
        raise CurationError(
            f"{root}: cannot be written to ({error.strerror})",
            "choose a folder that you can write to",
        ) from None
    return Campaign(root, settings)
