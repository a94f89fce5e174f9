"""``curation rounds quality``: who is shown, who is marked, and what goes wrong."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from curation.across.people import decide_on_person
from curation.across.serving import overview
from curation.campaign.private import protect
from curation.campaign.store import Campaign, open_campaign
from curation.files import CurationError
from curation.rounds import quality as quality_step
from curation.rounds.answers.people import pseudonyms, read_key
from curation.rounds.importing import import_answers
from curation.rounds.quality import about_marked, about_removed, read_groups, read_quality
from curation.rounds.steps import fold_answers
from support.validating import Validating

PATTERNS = ("sau", "usa", "aus", "asu", "uas", "sua")
LONG = {"s": "stereotype", "a": "anti-stereotype", "u": "unrelated"}


def published(folder: Path) -> Path:
    """Twelve CATs in StereoSet's form: a, b, c and d agree, and every label of e is another."""
    cats = []
    for n in range(12):
        right = PATTERNS[n % 6]
        sentences = []
        for k, letter in enumerate(right):
            values = dict.fromkeys("abcd", letter) | {"e": right[(k + 1) % 3]}
            labels = [{"label": LONG[v], "human_id": person} for person, v in values.items()]
            text = f"The baker is {'abcdefghijkl'[n]}{'xyz'[k]}ow."
            sentences.append({"id": f"c{n}-{k}", "sentence": text, "labels": labels})
        cat = {"id": f"c{n}", "target": "baker", "bias_type": "profession", "sentences": sentences}
        cats.append(cat | {"context": "The baker is BLANK."})
    path = folder / "published.json"
    data = {"intrasentence": cats, "intersentence": []}
    path.write_bytes(orjson.dumps({"version": "1.0", "data": data}))
    return path


@pytest.fixture
def root(forked: Any, campaign: Campaign, tmp_path: Path) -> Path:
    path = published(tmp_path)
    ran = forked("import", "stereoset", path, "-c", campaign.root)
    assert ran.code == 0, ran.err
    return campaign.root


def test_the_command_shows_figures_marks_and_their_evidence(forked: Any, root: Path) -> None:
    ran = forked("rounds", "quality", "-c", root)
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    table = [line.split() for line in lines if line.startswith(tuple("abcde")) and "c0" not in line]
    assert [row[:4] for row in table[:5]] == [
        *(["e", "36", "12", "0.00"], ["a", "36", "12", "0.75"], ["b", "36", "12", "0.75"]),
        *(["c", "36", "12", "0.75"], ["d", "36", "12", "0.75"]),
    ]
    assert "pasted" not in ran.out  # a column without values
    assert "e: random (agrees with others hardly more than by chance): agreement 0.00" in ran.out
    assert lines[-1].startswith("1 person is marked. Look at their answers before you decide")
    told = json.loads(forked("rounds", "quality", "-c", root, "--json").out)
    assert told["people"][0]["person"] == "e"
    assert [mark["code"] for mark in told["people"][0]["marks"]] == ["random"]
    assert told["people"][1]["agreement"] == pytest.approx(0.75)  # three of the four others
    cells = [*csv.DictReader(io.StringIO(forked("rounds", "quality", "-c", root, "--csv").out))]
    assert [row["person"] for row in cells] == [*"eabcd"]
    assert (cells[0]["marks"], cells[0]["pasted"], cells[1]["marks"]) == ("random", "", "")
    assert cells[1].keys() >= {"low", "high", "group_low", "stereotype", "unrelated"}
    both = forked("rounds", "quality", "-c", root, "--csv", "--json")
    assert both.code == 1
    assert "--csv and --json cannot be combined" in both.err


def test_a_round_without_answers(forked: Any, root: Path) -> None:
    name = open_campaign(root).round_names()[0]
    ran = forked("rounds", "quality", "nope", "-c", root)
    assert (ran.code, ran.out) == (1, "")
    assert f"round 'nope' has no answers\nfix:   rounds with answers: {name}" in ran.err


def test_the_line_of_the_status(root: Path) -> None:
    campaign = open_campaign(root)
    name = campaign.round_names()[0]
    assert about_marked(campaign, []) == "marked: 1 of 5 people; curation rounds quality"
    assert about_marked(campaign, [name]).endswith(f"1 of 5 people; curation rounds quality {name}")
    assert about_marked(campaign, ["other"]) == ""


def test_before_any_answer(campaign: Campaign) -> None:
    assert about_marked(campaign, []) == ""
    with pytest.raises(CurationError, match="no answers yet"):
        read_quality(campaign)


def test_pasted_text_comes_from_the_counts_of_typing(root: Path) -> None:
    campaign = open_campaign(root)
    folder = campaign.folder("rounds") / campaign.round_names()[0]
    counts = {"keys": 1, "left": 0, "seconds": 2.0}
    fields = {"stereotype": counts | {"pasted": 30, "characters": 40}}
    fields["unrelated"] = counts | {"pasted": 0, "characters": 20}
    line = {"task": "t", "annotator": "a", "submitted_at": None, "fields": fields}
    (folder / "typing.jsonl").write_bytes(2 * (orjson.dumps(line) + b"\n"))
    found = {person.person: person for person in read_quality(campaign).people}
    assert (found["a"].pasted, found["b"].pasted) == (0.5, None)  # 60 of 120 characters


# --- groups and exclusions ------------------------------------------------------------------------


@pytest.fixture
def validating(campaign: Campaign, tmp_path: Path) -> Validating:
    """Five people who label one item alike, in tables."""
    made = Validating(campaign, tmp_path)
    labels = {"label_1": "stereotype", "label_2": "unrelated", "label_3": "anti-stereotype"}
    answer = {"task_id": made.task, "seconds": 20, "consent": made.round.consent, **labels}
    made.bring([answer | {"annotator": f"v{n}@example.org"} for n in range(5)])
    with campaign.lock():
        fold_answers(campaign)
    return made


def groups(made: Validating, text: str) -> dict[str, str]:
    (made.campaign.folder("rounds") / "annotators.csv").write_text(text, "utf-8")
    return read_groups(made.campaign)


def test_groups_are_given_by_id_or_pseudonym(validating: Validating) -> None:
    campaign = validating.campaign
    assert read_groups(campaign) == {}
    name = pseudonyms(read_key(campaign.settings.campaign.id))
    text = "Worker ID;group;note\nV0@example.org;west;\nv1@example.org;west;x\n"
    text += f"{name('v2@example.org')};east;\nnobody;east;\nV0@example.org;west;again\n"
    expected = {name("v0@example.org"): "west", name("v1@example.org"): "west"}
    expected |= {name("v2@example.org"): "east", name("nobody"): "east"}
    assert groups(validating, text) == expected
    found = {person.person: person for person in read_quality(campaign, "v").people}
    assert found[name("v0@example.org")].group_agreement == 1.0
    assert found[name("v2@example.org")].group_agreement is None  # nobody else of the east
    assert (found[name("v3@example.org")].group, len(found)) == ("", 5)
    assert [person.position_run for person in found.values()] == [1] * 5
    assert {person.seconds for person in found.values()} == {20.0}
    path = campaign.folder("rounds") / "annotators.csv"
    path.chmod(0o644)
    protect(campaign.root)
    assert path.stat().st_mode & 0o777 == 0o600  # it says who people are


def test_answers_without_times_and_answers_that_were_refused(
    campaign: Campaign, tmp_path: Path
) -> None:
    made = Validating(campaign, tmp_path)
    answer = {"task_id": made.task, "consent": made.round.consent, "label_1": "unrelated"}
    answer |= {"label_2": "stereotype", "label_3": "anti-stereotype"}
    made.bring([answer | {"annotator": "w1"}])  # who wrote the item
    assert read_quality(campaign, "v").people == []
    made.bring([answer | {"annotator": "v1"}, answer | {"annotator": "v2", "seconds": 1}])
    found = {(p.labels, p.tasks, p.seconds, p.pace) for p in read_quality(campaign, "v").people}
    assert found == {(3, 1, None, None), (0, 1, 1.0, None)}  # one second is too fast


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("annotator,region\nv0@example.org,west\n", r"no column 'group'"),
        ("annotator,group\nv0@example.org,\n", r"line 2: annotator or group is empty"),
        (
            "annotator,group\nv0@example.org,west\nV0@example.org,east\n",
            r"line 3: this person is in group 'west' in line 2, and in 'east' here",
        ),
    ],
)
def test_a_damaged_list_of_groups(validating: Validating, text: str, problem: str) -> None:
    with pytest.raises(CurationError, match=problem):
        groups(validating, text)


def test_a_warning_if_more_than_one_in_twenty_is_excluded(validating: Validating) -> None:
    campaign = validating.campaign
    assert about_removed(campaign) == ""
    with campaign.lock(), pytest.warns(UserWarning, match="people excluded: 1 of 6; beyond"):
        decide_on_person(campaign, "v0@example.org", "exclude", "asleep")
    quality = read_quality(campaign)
    assert (quality.excluded, quality.met, len(quality.people)) == (1, 6, 4)


def test_a_damaged_list_of_groups_hides_figures_of_people_alone(
    forked: Any, validating: Validating
) -> None:
    campaign = validating.campaign
    path = campaign.folder("rounds") / "annotators.csv"
    path.write_text("annotator,group\nv0@example.org,\n", "utf-8")
    problem = f"{path} line 2: annotator or group is empty"
    ran = forked("rounds", "status", "-c", campaign.root)
    assert ran.code == 0, ran.err
    assert "v: nothing is missing" in ran.out
    assert f"warning: nobody is marked: {problem}; fill in both" in " ".join(ran.err.split())
    made = overview(campaign.root)
    assert (list(made.rounds), made.people, made.problem) == (["v"], {}, f"{problem}; fill in both")
    path.unlink()
    assert len(overview(campaign.root).people["v"]) == 5
    path.write_text("group\n", "utf-8")
    ran = forked("rounds", "exclude", "v1@example.org", "--reason", "asleep", "-c", campaign.root)
    assert ran.code == 0, ran.err
    assert "people excluded: 1 of 6" in " ".join(ran.err.split())


def test_a_campaign_in_which_nobody_labelled(
    forked: Any, campaign: Campaign, tmp_path: Path
) -> None:
    row = {"domain": "profession", "target": "baker", "writer": "dora", "context": "A baker came."}
    row |= {"stereotype": "He was kind.", "anti_stereotype": "He was rude."}
    path = tmp_path / "own.jsonl"
    path.write_bytes(orjson.dumps(row | {"unrelated": "It rains."}))
    import_answers(campaign, path)
    ran = forked("rounds", "quality", "-c", campaign.root)
    assert ran.code == 0, ran.err
    assert ran.out == "no answer counts yet\n"
    assert json.loads(forked("rounds", "quality", "-c", campaign.root, "--json").out) == {
        **{"people": [], "excluded": 0, "met": 1}
    }


@pytest.mark.parametrize(("excluded", "warns"), [(0, False), (3, False), (4, True)])
def test_a_warning_is_due_above_five_per_cent(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch, excluded: int, warns: bool
) -> None:
    monkeypatch.setattr(quality_step, "_excluded", lambda campaign: (excluded, 60))
    assert bool(about_removed(campaign)) == warns
    monkeypatch.setattr(quality_step, "_excluded", lambda campaign: (0, 0))
    assert about_removed(campaign) == ""
