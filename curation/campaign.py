"""A campaign's folder: its layout, its lock."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from curation.files import CurationError, now, sweep, writing
from curation.settings import Settings, read_settings, settings_text

SETTINGS = "campaign.toml"


@dataclass(frozen=True)
class Campaign:
    """A campaign's folder and its settings."""

    root: Path
    settings: Settings

    @property
    def terms(self) -> Path:
        """Folder of stage 1."""
        return self.root / "1-terms"

    @property
    def rounds(self) -> Path:
        """Folder of stage 2."""
        return self.root / "2-rounds"

    @property
    def decisions(self) -> Path:
        """Folder of stage 3."""
        return self.root / "3-decisions"

    @property
    def measures(self) -> Path:
        """Folder of stage 4."""
        return self.root / "4-measures"

    @property
    def scores(self) -> Path:
        """Folder of stage 5."""
        return self.root / "5-scores"

    @property
    def releases(self) -> Path:
        """Folder of stage 7."""
        return self.root / "7-release"

    def round_names(self) -> list[str]:
        """The rounds that have answers: raw ones, or items and labels made of them."""
        raw = (path.parents[1].name for path in self.rounds.glob("*/raw/*.jsonl"))
        made = (path.parent.name for path in self.rounds.glob("*/items.jsonl"))
        return sorted({*raw, *made})

    def relative(self, path: Path) -> str:
        """A path as the manifests write it: from the campaign's folder on, if it is in there."""
        inside = path.is_relative_to(self.root)
        return (path.relative_to(self.root) if inside else path).as_posix()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the campaign, so that no two commands write it at once.

        Raises:
            CurationError: another command holds it; says which, and since when.
        """
        lock, holder = FileLock(self.root / ".lock"), self.root / ".lock-holder"
        try:
            lock.acquire(timeout=0)
        except Timeout:
            who = holder.read_text("utf-8").strip() if holder.exists() else "another command"
            raise CurationError(
                f"{self.root}: in use by {who}", "wait until it has ended, then run this again"
            ) from None
        except PermissionError:
            raise CurationError(
                f"{self.root}: no write permission", "get write permission, or use another folder"
            ) from None
        try:
            sweep(self.root)
            command = " ".join(["curation", *sys.argv[1:]])
            with writing(holder) as file:
                file.write(f"«{command}» (process {os.getpid()}, since {now()})".encode())
            yield
        finally:
            holder.unlink(missing_ok=True)
            lock.release()


def open_campaign(root: Path) -> Campaign:
    """Read a campaign's settings.

    Raises:
        CurationError: there is no campaign, or a setting is wrong; names the line and the fix.
    """
    path = root / SETTINGS
    if not path.exists():
        raise CurationError(
            f"{root.resolve()}: no {SETTINGS} here", "go to a campaign, or «curation init DIR»"
        )
    return Campaign(root, read_settings(path))


IGNORED = """# what people sent, as they sent it, stays on this machine
2-rounds/*/raw/
2-rounds/*/rejected.jsonl
tasks/
1-terms/answers/
.lock*
.*.tmp
"""


def create_campaign(root: Path, settings: Settings) -> Campaign:
    """Make a campaign's folder.

    Raises:
        CurationError: there is a campaign already, or the folder cannot be written.
    """
    if (root / SETTINGS).exists():
        raise CurationError(
            f"{root}: is a campaign already", f"edit its {SETTINGS}, or choose another folder"
        )
    try:
        root.mkdir(parents=True, exist_ok=True)
        ignored = root / ".gitignore"
        before = ignored.read_text("utf-8").rstrip() + "\n\n" if ignored.exists() else ""
        with writing(ignored) as file:
            file.write((before + IGNORED).encode())
        with writing(root / SETTINGS) as file:
            file.write(settings_text(settings).encode())
    except (PermissionError, NotADirectoryError, FileExistsError) as error:
        raise CurationError(
            f"{root}: cannot be written ({error.strerror})", "choose a folder of your own"
        ) from None
    return Campaign(root, settings)
