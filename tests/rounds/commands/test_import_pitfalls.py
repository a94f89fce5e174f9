"""What comes in is checked at once: a line for the person, a file beside the answers."""

import json
from pathlib import Path

import pytest

from curation.campaign.manifest import read_manifest
from curation.campaign.store import Campaign
from curation.catsets.stereoset import dataset
from curation.files import dump_json, read_records
from curation.kinds import GOLDS
from curation.records import Item, Pitfall, Rejection
from support.cats import cat
from support.commands import refused, run, set_to, told, well

HEAD = "item_id,annotator,domain,target,kind,context,stereotype,anti_stereotype,unrelated\n"
ROWS = [
    f"{id},w1,profession,baker,intersentence,{texts}\n"
    for id, texts in (
        ("i1", "The baker came.,He rose early.,He did not rise.,Tin melts fast."),
        ("i2", "A baker sang.,She was early,He was late.,It is Tuesday."),
        ("i3", "Bakers danced.,He was early.,He was late.,It is Tuesday."),
        ("i4", "The BLANK baker ate.,He was full.,He was ill.,Tin melts."),
    )
]
OF_TWO = (ROWS[0], ROWS[1].replace(",w1,", ",w2,"))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "w.csv"


def bring(campaign: Campaign, table: Path, *rows: str) -> str:
    """Import a table of writers; what is said."""
    table.write_text(HEAD + "".join(rows), "utf-8")
    return well("import", "answers", table, "-c", campaign.root).out


def pitfalls(campaign: Campaign, round: str = "main") -> list[Pitfall]:
    return read_records(campaign.folder("rounds") / round / "pitfalls.jsonl", Pitfall)


def own_words(campaign: Campaign, name: str) -> Path:
    """A word of the team's own, in a list of this name."""
    path = campaign.folder("measures") / "words.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"language,list,word\nen,{name},Tuesday\n", "utf-8")
    return path


def test_warnings_are_written_and_said_and_notes_are_not(campaign: Campaign, table: Path) -> None:
    out = bring(campaign, table, *ROWS)
    # i3 names its target within a longer word: that is a note.
    for text in (
        "pitfalls in 2 of 3 items: ", "negation_one_sided 1", "pronouns_opposite 1",
        "see 2-rounds/main/pitfalls.jsonl",
    ):  # fmt: skip
        assert text in out
    found = {(one.item, one.code): one for one in pitfalls(campaign)}
    assert found.keys() == {
        ("i1", "negation_one_sided"),
        ("i2", "punctuation_missing"),
        ("i2", "punctuation_mixed"),
        ("i2", "pronouns_opposite"),
    }
    items = {
        i.id: i for i in read_records(campaign.folder("rounds") / "main" / "items.jsonl", Item)
    }
    bare = found["i2", "punctuation_missing"]
    assert (bare.association, bare.where) == (items["i2"].associations[0].id, "item i2")
    counts = read_manifest(campaign.folder("rounds")).steps["item_pitfalls"].counts
    assert counts == {"items": 3, "items_with_pitfalls": 2, "pitfalls": 4}
    path = campaign.folder("rounds") / "main" / "rejected.jsonl"
    assert [one.code for one in read_records(path, Rejection)] == ["blank_left"]
    again = told("import", "answers", table, "-c", campaign.root)
    assert again["pitfalls"]["pronouns_opposite"] == 1
    # A refusal whose words changed with the version is not new.
    old = path.read_text("utf-8").replace("BLANK is left in", "BLANK stands in")
    path.write_text(old, "utf-8")
    table.write_text(HEAD + ROWS[0].replace("i1", "i5").replace("came", "sat"), "utf-8")
    assert told("import", "answers", table, "-c", campaign.root)["rejected"] == {}


def test_what_was_published_has_to_be_accepted_or_left_out(
    campaign: Campaign, tmp_path: Path
) -> None:
    root, file = campaign.root, tmp_path / "dev.json"
    cats = [
        cat("The baker came.", "He BLANK.", "He sat.", "Tin melts.", name="one"),
        cat("The cook came.", "He stood.", "He lay.", "Iron melts.", name="two"),
    ]
    people = [f"h{n}" for n in range(5)]
    labels = {a.id: [(who, a.gold) for who in people] for c in cats for a in c.associations}
    file.write_bytes(dump_json(dataset(cats, labels, version="1")))
    out = well("import", "stereoset", file, "-c", root).out
    assert "pitfalls in 2 of 2 items: blank_left 1, target_missing 1" in out
    found = campaign.pitfalls["published"]
    assert [(one.code, one.severity, one.association) for one in found] == [
        ("blank_left", "block", "one0"),
        ("target_missing", "block", None),
    ]

    def readme(version: str) -> str:
        """That of the release that is built now."""
        well("release", "build", "-c", root)
        return (root / "7-release" / version / "README.md").read_text("utf-8")

    wanted = 'accept = ["blank_left", "target_missing", "domain_in_one_split"]'
    for accepted, blocks in ((None, "blank_left 1"), ("blank_left", "target_missing 1")):
        if accepted:
            set_to(root, "accept = []", f'accept = ["{accepted}"]')
        err = refused("release", "build", "-c", root)
        assert f"pitfalls block the release: {blocks}" in err
        assert f"{wanted} in [release]" in " ".join(err.split())
    set_to(root, 'accept = ["blank_left"]', 'accept = ["blank_lefd"]')
    err = refused("release", "build", "-c", root)
    assert "[release] accept names 'blank_lefd', which is not a code" in err
    assert "did you mean 'blank_left'?" in err
    set_to(root, 'accept = ["blank_lefd"]', wanted)
    assert "| `blank_left` (accepted) |" in readme("0.1.0")
    set_to(root, wanted, wanted.replace('"blank_left", ', ""))
    set_to(root, "leave_out = []", 'leave_out = ["one"]')
    set_to(root, 'version = "0.1.0"', 'version = "0.2.0"')
    assert "`blank_left` (accepted)" not in readme("0.2.0")
    decisions = (root / "3-decisions" / "decisions.jsonl").read_text("utf-8").splitlines()
    (left,) = [row for row in map(json.loads, decisions) if row["item"] == "one"]
    assert (left["kept"], left["reason"]) == (False, "left_out")
    assert [verdict["gold"] for verdict in left["verdicts"]] == [*GOLDS]
    set_to(root, 'leave_out = ["one"]', 'leave_out = ["nobody"]')
    err = well("decisions", "filter", "-c", root).err
    assert "leave_out names 'nobody', which is not an item of this campaign" in err


def test_a_writer_who_is_erased_leaves_no_word_in_it(campaign: Campaign, table: Path) -> None:
    bring(campaign, table, *OF_TWO)
    path = campaign.folder("rounds") / "main" / "pitfalls.jsonl"
    assert "She was early" in path.read_text("utf-8")
    well("rounds", "withdraw", "--yes", "w2", "--erase", "-c", campaign.root)
    assert {one.item for one in pitfalls(campaign)} == {"i1"}
    assert "She was early" not in path.read_text("utf-8")


def test_words_of_the_teams_own_are_looked_for(campaign: Campaign, table: Path) -> None:
    assert "pitfalls" not in bring(campaign, table, ROWS[2])  # sound answers say nothing
    assert (campaign.folder("rounds") / "main" / "pitfalls.jsonl").read_bytes() == b""
    own_words(campaign, "public_figure")
    assert "pitfalls in 1 of 1 item: public_figure 1" in bring(campaign, table, ROWS[2])
    own = own_words(campaign, "figures")
    done = run("import", "answers", table, "-c", campaign.root)
    assert done.code == 1
    assert "words.csv line 2: no list is called 'figures'" in done.err
    own.unlink()
    assert "pitfalls" not in bring(campaign, table, ROWS[2])


def test_a_mistake_in_the_words_stops_no_erasure(campaign: Campaign, table: Path) -> None:
    bring(campaign, table, *OF_TWO)
    own_words(campaign, "figures")
    err = well("rounds", "withdraw", "--yes", "w2", "--erase", "-c", campaign.root).err
    assert "words.csv line 2: no list is called 'figures'; the old ones are deleted" in err
    assert not (campaign.folder("rounds") / "main" / "pitfalls.jsonl").exists()
    kept = read_records(campaign.folder("rounds") / "main" / "items.jsonl", Item)
    assert [item.id for item in kept] == ["i1"]
