"""``curation release push``: what is checked first, what is listed, and what goes up."""

import json
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import Campaign
from curation.files import CurationError
from curation.steps.release.checking import check_before, local_files, push_target
from support import folders
from support.hub import TOKEN, Hub

REPO = "made-up/jobs"
# huggingface_hub uploads with an argument that its HTTP library replaces.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.fixture
def built(campaign: Campaign) -> Path:
    return folders.write(campaign.releases / "1.0.0")


def push(forked: Any, built: Path, *words: str) -> Any:
    root = built.parents[1]
    return forked("release", "push", "1.0.0", "--to", REPO, "-c", root, *words)


def test_a_dry_run_lists_every_file_and_sends_nothing(
    fake_hub: Hub, built: Path, forked: Any
) -> None:
    ran = push(forked, built, "--dry-run")
    assert ran.code == 0, ran.err
    for file in local_files(built):
        assert file.path in ran.out
    assert f"{len(local_files(built))} files" in ran.out
    assert ran.out.rstrip().endswith("nothing was sent.")
    assert not fake_hub.repos
    assert {method for method, _ in fake_hub.calls} == {"GET"}


def test_a_dry_run_without_the_hub_lists_the_files(
    built: Path, forked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    ran = push(forked, built, "--dry-run", "--json")
    told = json.loads(ran.out)
    assert {row["state"] for row in told["files"]} == {"unknown"}
    assert sum(row["size"] for row in told["files"]) == sum(f.size for f in local_files(built))
    assert "not compared with the hub: no answer from" in ran.err


def test_a_version_goes_up_and_comes_back_the_same(fake_hub: Hub, built: Path, forked: Any) -> None:
    ran = push(forked, built)
    assert ran.code == 0, ran.err
    repo = fake_hub.repos[REPO]
    names = {file.path for file in local_files(built)}
    assert repo.files.keys() == {*names, ".gitattributes"}
    for name in names:
        assert repo.files[name] == (built / name).read_bytes()
    assert repo.private
    assert "It is private" in ran.out
    assert repo.tags == {"1.0.0": repo.head}
    ran = push(forked, built, "--public", "--json")
    assert json.loads(ran.out)["sent"] == 0
    assert not repo.private
    everything = [p for p in built.parents[1].rglob("*") if p.is_file()]
    assert not [p for p in everything if TOKEN.encode() in p.read_bytes()]


def test_a_release_that_its_check_blocks_does_not_go(
    fake_hub: Hub, built: Path, forked: Any
) -> None:
    (built / "LICENSE").write_text("changed\n", "utf-8")
    ran = push(forked, built)
    assert ran.code == 1
    assert "1 finding blocks the upload of 1.0.0: file_changed (LICENSE)" in ran.err
    assert not fake_hub.calls


def test_private_files_and_anonymous_releases_do_not_go(campaign: Campaign, built: Path) -> None:
    folders.put(built / "gold-1.0.0.jsonl", "{}\n")
    folders.sums(built)
    with pytest.raises(CurationError, match="private_file"):
        check_before(campaign, "1.0.0")
    built.rename(built.with_name("1.0.0-anonymous"))
    with pytest.raises(CurationError, match="is anonymous"):
        check_before(campaign, "1.0.0-anonymous")


def test_a_release_that_says_it_is_anonymous_does_not_go(campaign: Campaign, built: Path) -> None:
    facts = json.loads((built / "release.json").read_text("utf-8"))
    facts |= {"anonymous": True, "statement": {}}
    folders.put(built / "release.json", facts)
    card = (built / "README.md").read_text("utf-8").replace("team@example.org", "the authors")
    folders.put(built / "README.md", card)
    folders.put(built / "CITATION.cff", "{cff-version: 1, message: m, title: t, authors: [a]}")
    folders.sums(built)
    with pytest.raises(CurationError, match="is anonymous"):
        check_before(campaign, "1.0.0")


def test_revealed_gold_labels_do_not_replace_their_release(campaign: Campaign, built: Path) -> None:
    (built / "release.json").unlink()
    built.rename(built.with_name("1.0.0-revealed"))
    with pytest.raises(CurationError, match="is not a whole release") as caught:
        check_before(campaign, "1.0.0-revealed")
    assert "hf upload" in caught.value.fix


def test_a_version_that_is_not_built(campaign: Campaign, built: Path) -> None:
    with pytest.raises(CurationError, match=r"version 2\.0\.0 is not built") as caught:
        check_before(campaign, "2.0.0")
    assert "1.0.0" in caught.value.fix
    with pytest.raises(CurationError, match="is not built"):
        check_before(campaign, "../1.0.0")


def test_nothing_says_where_it_goes(campaign: Campaign) -> None:
    with pytest.raises(CurationError, match="nothing says where"):
        push_target(campaign)
    assert push_target(campaign, REPO).id == REPO
    text = '[hub]\nid = "made-up/bakers"\ngated = "manual"\n'
    folders.put(campaign.releases / "statement.toml", text)
    assert push_target(campaign).id == "made-up/bakers"
    assert (push_target(campaign, REPO).id, push_target(campaign, REPO).gated) == (REPO, "manual")
