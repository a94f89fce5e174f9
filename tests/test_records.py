"""Records on disk."""

from pathlib import Path

import pytest

from curation.files import CurationError, read_records
from curation.records import Pitfall

LINE = (
    '{"code":"typo","severity":"note","item":"c1","association":"c1-1","target":null,'
    '"where":"item c1","detail":"bakr","%s":"correct the spelling"}\n'
)


def test_a_pitfall_without_a_fix_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pitfalls.jsonl"
    path.write_text(LINE % "how", "utf-8")
    with pytest.raises(CurationError, match="line 1"):
        read_records(path, Pitfall)
