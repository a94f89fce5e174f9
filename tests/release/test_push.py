"""``curation release push``: what is checked first, what is listed, and what goes up."""

import json
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import Campaign
from curation.release.hub import check_before, push_target
from support import folders
from support.expected import fails, has
from support.hub import TOKEN, Hub
from support.written import files, read

REPO = "made-up/jobs"
# huggingface_hub uploads with an argument that its HTTP library replaces.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.fixture
def built(campaign: Campaign) -> Path:
    return folders.write(campaign.folder("release") / "1.0.0")


def push(forked: Any, built: Path, *words: str) -> Any:
    root = built.parents[1]
    return forked("release", "push", "1.0.0", "--to", REPO, "-c", root, *words)


def test_a_dry_run_lists_files_and_sends_nothing(
    fake_hub: Hub, built: Path, forked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = push(forked, built, "--dry-run")
    assert ran.code == 0, ran.err
    has(ran.out, *files(built), f"{len(files(built))} files")
    assert ran.out.rstrip().endswith("nothing was sent.")
    assert not fake_hub.repos
    assert {method for method, _ in fake_hub.calls} == {"GET"}
    # Without the hub it lists them, too.
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    ran = push(forked, built, "--dry-run", "--json")
    told = json.loads(ran.out)
    assert {row["state"] for row in told["files"]} == {"unknown"}
    assert sum(row["size"] for row in told["files"]) == sum(map(len, files(built).values()))
    assert "not compared with the hub: no answer from" in ran.err


def test_a_version_goes_up_and_comes_back_the_same(fake_hub: Hub, built: Path, forked: Any) -> None:
    ran = push(forked, built)
    assert ran.code == 0, ran.err
    repo = fake_hub.repos[REPO]
    assert repo.own_files == files(built)
    assert repo.private
    assert "It is private" in ran.out
    assert repo.tags == {"1.0.0": repo.head}
    ran = push(forked, built, "--public", "--json")
    assert json.loads(ran.out)["sent"] == 0
    assert not repo.private
    assert not [n for n, data in files(built.parents[1]).items() if TOKEN.encode() in data]
    # What a check blocks does not go.
    fake_hub.calls.clear()
    (built / "LICENSE").write_text("changed\n", "utf-8")
    ran = push(forked, built)
    assert ran.code == 1
    assert "1 finding blocks the upload of 1.0.0: file_changed (LICENSE)" in ran.err
    assert not fake_hub.calls


def test_what_is_not_a_whole_public_release_does_not_go(campaign: Campaign, built: Path) -> None:
    folders.put(built / "gold-1.0.0.jsonl", "{}\n")
    folders.sums(built)
    with fails("private_file"):
        check_before(campaign, "1.0.0")
    for version in ("2.0.0", "../7-release/1.0.0"):
        with fails(f"version {version} is not built", fix="1.0.0"):
            check_before(campaign, version)
    built = built.rename(built.with_name("1.0.0-anonymous"))
    with fails("is anonymous"):
        check_before(campaign, "1.0.0-anonymous")
    # Revealed gold labels do not replace their release.
    (built / "release.json").unlink()
    built.rename(built.with_name("1.0.0-revealed"))
    with fails("is not a whole release", fix="hf upload"):
        check_before(campaign, "1.0.0-revealed")


def test_a_release_that_says_it_is_anonymous_does_not_go(campaign: Campaign, built: Path) -> None:
    facts = read(built / "release.json") | {"anonymous": True, "statement": {}}
    folders.put(built / "release.json", facts)
    card = (built / "README.md").read_text("utf-8").replace("team@example.org", "the authors")
    folders.put(built / "README.md", card)
    folders.put(built / "CITATION.cff", "{cff-version: 1, message: m, title: t, authors: [a]}")
    folders.sums(built)
    with fails("is anonymous"):
        check_before(campaign, "1.0.0")


def test_nothing_says_where_it_goes(campaign: Campaign) -> None:
    with fails("nothing says where"):
        push_target(campaign)
    assert push_target(campaign, REPO).id == REPO
    text = '[hub]\nid = "made-up/bakers"\ngated = "manual"\n'
    folders.put(campaign.folder("release") / "statement.toml", text)
    assert push_target(campaign).id == "made-up/bakers"
    assert (push_target(campaign, REPO).id, push_target(campaign, REPO).gated) == (REPO, "manual")
