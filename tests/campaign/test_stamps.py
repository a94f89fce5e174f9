"""The sha256 of files is kept between commands, as long as the files are the same."""

import os
from pathlib import Path

import pytest

from curation.campaign import stamps
from curation.campaign.store import Campaign, open_campaign
from curation.files import digest


@pytest.fixture
def file(campaign: Campaign) -> Path:
    """A file that is older than what is known of it after the campaign's lock."""
    path = campaign.root / "1-terms" / "a.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text("one\n", "utf-8")
    os.utime(path, ns=(10**18, 10**18))
    with campaign.lock():
        campaign.digest(path)
    return path


def again(campaign: Campaign) -> Campaign:
    """The campaign as «curation status» opens it."""
    opened = open_campaign(campaign.root)
    opened.trust_stamps()
    return opened


def as_it_was(path: Path, text: str, mtime_ns: int) -> None:
    """Write a text of the same size, and set the time back."""
    path.write_text(text, "utf-8")
    os.utime(path, ns=(mtime_ns, mtime_ns))


def test_a_file_that_is_the_same_is_not_read_again(
    campaign: Campaign, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = digest(file)
    monkeypatch.setattr(stamps, "hash_file", lambda path: pytest.fail(f"{path} is read"))
    assert (again(campaign).digest(file), again(campaign).lines(file)) == (sha, 1)


@pytest.mark.parametrize("text", ["two\n", "three\n"])
def test_a_file_that_has_changed_is_read(campaign: Campaign, file: Path, text: str) -> None:
    file.write_text(text, "utf-8")
    assert again(campaign).digest(file) == digest(file)


def test_a_deleted_file_is_not_known(campaign: Campaign, file: Path) -> None:
    file.unlink()
    assert (again(campaign).digest(file), again(campaign).lines(file)) == ("", None)


def test_a_file_that_is_not_older_is_read(campaign: Campaign, file: Path) -> None:
    moment = (campaign.root / stamps.STAMPS).stat().st_mtime_ns
    as_it_was(file, "one\n", moment)
    with campaign.lock():
        campaign.digest(file)
    os.utime(campaign.root / stamps.STAMPS, ns=(moment, moment))
    as_it_was(file, "two\n", moment)
    assert again(campaign).digest(file) == digest(file)


def test_only_status_trusts_the_time_of_a_file(campaign: Campaign, file: Path) -> None:
    before = digest(file)
    as_it_was(file, "two\n", 10**18)
    assert again(campaign).digest(file) == before != digest(file)
    assert open_campaign(campaign.root).digest(file) == digest(file)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"1-terms/a.csv": [[1, 2], ["a", 1], ""]}'])
def test_a_damaged_file_of_stamps_is_made_anew(campaign: Campaign, file: Path, text: str) -> None:
    place = campaign.root / stamps.STAMPS
    good = place.read_text("utf-8")
    place.write_text(text, "utf-8")
    assert again(campaign).digest(file) == digest(file)
    with campaign.lock():
        pass
    assert place.read_text("utf-8") == good


def test_a_digest_of_content_is_computed_once(campaign: Campaign, file: Path) -> None:
    with campaign.lock():
        assert campaign.content(file, lambda: "digest") == "digest"
    with (opened := open_campaign(campaign.root)).lock():
        opened.digest(file)  # this command does not ask for it
    assert again(campaign).content(file, lambda: pytest.fail("computed again")) == "digest"
    file.write_text("two\n", "utf-8")
    assert again(campaign).content(file, lambda: "new") == "new"
