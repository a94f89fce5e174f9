"""Which files of a campaign only their owner may read."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from curation.files import read_bytes, writing

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


def keep_out(folder: Path, root: Path, patterns: Sequence[str]) -> None:
    """Keep private files in a folder out of version control.

    If the folder is in the campaign or in a git repository, its ``.gitignore`` gets the patterns.
    The campaign's own ``tasks/`` is ignored as a whole.

    Args:
        folder: where the files are written to.
        root: the folder of the campaign that they are from.
        patterns: what git calls them.
    """
    place = folder.resolve()
    above = (place, *place.parents)
    root = root.resolve()
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
