"""A check of StereoSet's development set with labels, as it was published."""

from pathlib import Path

import pytest

from curation.release.checking import check, check_release
from support.realdata import LABELLED, labelled, needs

pytestmark = [pytest.mark.outside, *needs(LABELLED)]  # it reads and compares 4,229 CATs


def test_the_file_as_a_folder_of_another_team(tmp_path: Path) -> None:
    labelled(tmp_path)
    release, _ = check(tmp_path)
    assert (len(release.main), release.ours) == (4229, False)
    found = check_release(tmp_path)
    # BLANK glued to a word, left over, twice; texts on the task itself. The other blocking pitfalls
    # do not occur. Ids are unique, and no gold label has fewer votes than another label.
    blocking = {
        (f.code, f.where): f.detail.split(" of ")[0] for f in found if f.severity == "block"
    }
    counts = {"blank_glued": "1", "blank_left": "2", "blank_twice": "2", "meta_text": "12"}
    assert blocking == {("pitfall_blocks", code): n for code, n in counts.items()}
    # The rule of the third-person pronoun and shared words: lms 91.2 on intersentence CATs.
    assert "intersentence lms 91.2" in next(f for f in found if f.where == "OverlapLM").detail
    assert {f.code for f in found if f.severity == "warn"} == {
        *("no_checksums", "pitfalls", "baseline", "part_missing")
    }
