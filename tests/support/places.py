"""A campaign with one table of groups, of which something is measured by a command."""

from pathlib import Path
from typing import Any

from curation.campaign.store import Campaign

TABLE = """
[groups.size]
lists = {{ tall = "tall.txt", short = "short.txt" }}
targets = "targets.txt"
{more}
[trust]
{trust}
"""


class Place:
    """A campaign with groups, and a file that ``measure`` gives to a command."""

    def __init__(self, campaign: Campaign, file: Path, run: Any, targets: str) -> None:
        self.campaign, self.file, self.run = campaign, file, run
        self.write("tall.txt", "# made up\ntower\ngiant\nmountain\n")
        self.write("short.txt", "dwarf\npebble\n")
        self.write("targets.txt", targets)
        self.settings()

    def write(self, name: str, text: str) -> Path:
        """A file beside the lists of words."""
        self.campaign.folder("trust").mkdir(exist_ok=True)
        path = self.campaign.folder("trust") / name
        path.write_text(text, "utf-8")
        return path

    def settings(self, more: str = "", trust: str = "") -> None:
        """Other lines of the groups' table, and of ``[trust]``."""
        path = self.campaign.root / "campaign.toml"
        text = path.read_text("utf-8").partition("\n[groups.size]")[0].partition("\n[trust]")[0]
        path.write_text(text + TABLE.format(more=more, trust=trust), "utf-8")

    def measure(self, *args: str | Path, file: Path | None = None) -> Any:
        raise NotImplementedError

    def fails(self, message: str, *args: str | Path, file: Path | None = None) -> str:
        """Check that a command is refused with a fix, and leaves no run; what it says."""
        done = self.measure(*args, file=file)
        error = " ".join(done.err.split())
        assert done.code == 1, error
        assert message in error
        assert "fix:" in error
        assert "Traceback" not in error
        assert not list(self.campaign.folder("trust").glob("runs/*/*"))
        return error
