"""What comes in is checked at once: a line for the person, a file beside the answers."""

import json
from pathlib import Path
from typing import Any

from curation.campaign import Campaign
from curation.files import read_records
from curation.records import Item, Pitfall, Rejection
from curation.work.manifest import read_manifest
from support.commands import set_to

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


def test_warnings_are_written_and_said_and_notes_are_not(
    forked: Any, campaign: Campaign, tmp_path: Path
) -> None:
    table = tmp_path / "w.csv"
    table.write_text(HEAD + "".join(ROWS), "utf-8")
    code, out, err = forked("import", "answers", table, "-c", campaign.root)
    assert code == 0, err
    # i3 names its target within a longer word: that is a note.
    assert "pitfalls in 2 of 3 items: " in out
    assert "negation_one_sided 1" in out
    assert "pronouns_opposite 1" in out
    assert "see 2-rounds/main/pitfalls.jsonl" in out
    found = read_records(campaign.rounds / "main" / "pitfalls.jsonl", Pitfall)
    assert {(one.item, one.code) for one in found} == {
        ("i1", "negation_one_sided"),
        ("i2", "punctuation_missing"),
        ("i2", "punctuation_mixed"),
        ("i2", "pronouns_opposite"),
    }
    items = {i.id: i for i in read_records(campaign.rounds / "main" / "items.jsonl", Item)}
    bare = next(one for one in found if one.code == "punctuation_missing")
    assert bare.association == items["i2"].associations[0].id
    assert bare.where == "item i2"
    counts = read_manifest(campaign.rounds).steps["item_pitfalls"].counts
    assert counts == {"items": 3, "items_with_pitfalls": 2, "pitfalls": 4}
    refused = read_records(campaign.rounds / "main" / "rejected.jsonl", Rejection)
    assert [one.code for one in refused] == ["blank_left"]
    _, out, _ = forked("import", "answers", table, "-c", campaign.root, "--json")
    assert json.loads(out)["pitfalls"]["pronouns_opposite"] == 1


def test_what_was_published_is_taken_as_it_is_and_checked(
    forked: Any, campaign: Campaign, tmp_path: Path
) -> None:
    texts = ("He BLANK.", "He sat.", "Tin melts.")
    golds = ("stereotype", "anti-stereotype", "unrelated")
    sentences = [
        {"id": f"s{n}", "sentence": text, "gold_label": gold,
         "labels": [{"label": gold, "human_id": "h"}]}
        for n, (text, gold) in enumerate(zip(texts, golds, strict=True))
    ]  # fmt: skip
    item = {"id": "old", "target": "baker", "bias_type": "profession", "context": "The cook came.",
            "sentences": sentences}  # fmt: skip
    file = tmp_path / "dev.json"
    file.write_text(json.dumps({"version": "1", "data": {"intersentence": [item]}}), "utf-8")
    code, out, err = forked("import", "stereoset", file, "-c", campaign.root)
    assert code == 0, err
    assert "pitfalls in 1 of 1 item: blank_left 1, target_missing 1" in out
    found = read_records(campaign.rounds / "published" / "pitfalls.jsonl", Pitfall)
    assert [(one.code, one.severity, one.association) for one in found] == [
        ("blank_left", "block", "s0"),
        ("target_missing", "block", None),
    ]


def test_what_would_have_to_be_accepted_is_said_at_once(
    forked: Any, campaign: Campaign, tmp_path: Path
) -> None:
    golds = ("stereotype", "anti-stereotype", "unrelated")
    items = [
        {"id": id, "target": "baker", "bias_type": "profession", "context": context,
         "sentences": [
             {"id": f"{id}-{n}", "sentence": text, "gold_label": gold,
              "labels": [{"label": gold, "human_id": f"h{h}"} for h in range(5)]}
             for n, (text, gold) in enumerate(zip(texts, golds, strict=True))]}
        for id, context, texts in (
            ("one", "The baker came.", ("He BLANK.", "He sat.", "Tin melts.")),
            ("two", "The cook came.", ("He stood.", "He lay.", "Iron melts.")),
        )
    ]  # fmt: skip
    file = tmp_path / "dev.json"
    file.write_text(json.dumps({"version": "1", "data": {"intersentence": items}}), "utf-8")
    assert forked("import", "stereoset", file, "-c", campaign.root)[0] == 0
    code, _, err = forked("release", "build", "-c", campaign.root)
    assert code == 1
    wanted = 'accept = ["blank_left", "target_missing", "domain_in_one_split"]'
    assert f"{wanted} in [release]" in " ".join(err.split())
    set_to(campaign.root, "accept = []", 'accept = ["blank_left"]')
    code, _, err = forked("release", "build", "-c", campaign.root)
    assert code == 1
    assert f"{wanted} in [release]" in " ".join(err.split())
    set_to(campaign.root, 'accept = ["blank_left"]', wanted)
    code, _, err = forked("release", "build", "-c", campaign.root)
    assert code == 0, err


def test_sound_answers_say_nothing(forked: Any, campaign: Campaign, tmp_path: Path) -> None:
    table = tmp_path / "w.csv"
    table.write_text(HEAD + ROWS[2], "utf-8")
    code, out, _ = forked("import", "answers", table, "-c", campaign.root)
    assert code == 0
    assert "pitfalls" not in out
    assert (campaign.rounds / "main" / "pitfalls.jsonl").read_bytes() == b""


def test_a_writer_who_is_erased_leaves_no_word_in_it(
    forked: Any, campaign: Campaign, tmp_path: Path
) -> None:
    table = tmp_path / "w.csv"
    table.write_text(HEAD + ROWS[0] + ROWS[1].replace(",w1,", ",w2,"), "utf-8")
    forked("import", "answers", table, "-c", campaign.root)
    path = campaign.rounds / "main" / "pitfalls.jsonl"
    assert "She was early" in path.read_text("utf-8")
    done = forked("rounds", "withdraw", "w2", "--erase", "-c", campaign.root)
    assert done.code == 0, done.err
    left = read_records(path, Pitfall)
    assert {one.item for one in left} == {"i1"}
    assert "She was early" not in path.read_text("utf-8")


def test_words_of_the_team_s_own_are_looked_for_from_then_on(
    forked: Any, campaign: Campaign, tmp_path: Path
) -> None:
    table = tmp_path / "w.csv"
    table.write_text(HEAD + ROWS[2], "utf-8")
    forked("import", "answers", table, "-c", campaign.root)
    own = campaign.measures / "words.csv"
    own.parent.mkdir(exist_ok=True)
    own.write_text("language,list,word\nen,public_figure,Tuesday\n", "utf-8")
    done = forked("import", "answers", table, "-c", campaign.root)
    assert "pitfalls in 1 of 1 item: public_figure 1" in done.out
    own.write_text("language,list,word\nen,figures,Tuesday\n", "utf-8")
    done = forked("import", "answers", table, "-c", campaign.root)
    assert done.code == 1
    assert "words.csv line 2: no list is called 'figures'" in done.err
    own.unlink()
    assert "pitfalls" not in forked("import", "answers", table, "-c", campaign.root).out


def test_a_mistake_in_the_words_keeps_nobody_from_being_erased(
    forked: Any, campaign: Campaign, tmp_path: Path
) -> None:
    table = tmp_path / "w.csv"
    table.write_text(HEAD + ROWS[0] + ROWS[1].replace(",w1,", ",w2,"), "utf-8")
    forked("import", "answers", table, "-c", campaign.root)
    own = campaign.measures / "words.csv"
    own.parent.mkdir(exist_ok=True)
    own.write_text("language,list,word\nen,figures,Tuesday\n", "utf-8")
    done = forked("rounds", "withdraw", "w2", "--erase", "-c", campaign.root)
    assert done.code == 0
    assert "words.csv line 2: no list is called 'figures'; the old ones are deleted" in done.err
    assert not (campaign.rounds / "main" / "pitfalls.jsonl").exists()
    kept = read_records(campaign.rounds / "main" / "items.jsonl", Item)
    assert [item.id for item in kept] == ["i1"]


def test_a_refusal_whose_words_changed_with_the_version_is_not_new(
    forked: Any, campaign: Campaign, tmp_path: Path
) -> None:
    table, more = tmp_path / "w.csv", tmp_path / "more.csv"
    table.write_text(HEAD + "".join(ROWS), "utf-8")
    assert forked("import", "answers", table, "-c", campaign.root).code == 0
    path = campaign.rounds / "main" / "rejected.jsonl"
    lines = path.read_text("utf-8").replace("BLANK is left in", "BLANK stands in")
    path.write_text(lines, "utf-8")  # as an earlier version wrote it
    more.write_text(HEAD + ROWS[0].replace("i1", "i5").replace("came", "sat"), "utf-8")
    done = forked("import", "answers", more, "-c", campaign.root, "--json")
    assert json.loads(done.out)["rejected"] == {}
