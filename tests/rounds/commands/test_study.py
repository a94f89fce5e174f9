"""A study on Prolific: its fields, which submissions are approved, and bonuses, by hand."""

import json
from collections.abc import Collection
from typing import Any

import pytest
import typer

from curation.campaign.store import open_campaign
from curation.files import CurationError
from curation.rounds import crowd
from curation.rounds.answers.people import pseudonyms, read_key
from curation.rounds.platforms.interface import Submission
from support.commands import set_to
from support.desk import Desk

pytestmark = pytest.mark.long
LINK = (
    "https://study.example.org/join/TOKEN?PROLIFIC_PID={{%PROLIFIC_PID%}}"
    "&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
)
CODES = {"finished": "CDONE", "no_consent": "CNO", "screened_out": "COUT", "failed": "CFAIL"}
AWAITS = "AWAITING REVIEW"
DOWN = CurationError("Prolific does not answer", "try again later")


class Crowd:
    """A round's platform whose people come from Prolific, as far as these commands ask it."""

    def __init__(self, found: list[Submission], *, token: bool = True, down: bool = False) -> None:
        self.found, self.token, self.down = {one.id: one for one in found}, token, down
        self.pulls, self.studies, self.sent = 0, list[str](), list[str]()

    @property
    def can_approve(self) -> bool:
        return self.token

    def pull(self) -> None:
        self.pulls += 1

    def submissions(self, *, ask: bool) -> list[Submission]:
        assert ask == self.token
        if self.down:
            raise DOWN
        return list(self.found.values())

    def approve(self, ids: Collection[str]) -> dict[str, str]:
        self.sent += ids
        became = {id: "APPROVED" if id != "stuck" else "Prolific has failed" for id in ids}
        for id, status in became.items():
            if status == "APPROVED":
                self.found[id] = self.found[id]._replace(status=status)
        return became

    def link(self) -> str:
        return LINK

    def codes(self) -> dict[str, str]:
        return CODES

    def add(self, id: str) -> None:
        self.studies.append(id)


@pytest.fixture(scope="module")
def made(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Four items, and a round of validation that asks for five labels on each of them."""
    desk = Desk.make(
        forked, tmp_path_factory.mktemp("study") / "c", ["baker", "potter"],
        items=2, pay_label=0.15, currency="USD",
    )  # fmt: skip
    desk.open("intrasentence", "w")
    desk.written("w", ["ann", "ben"])
    toml = desk.root / "campaign.toml"
    asks = '[people.validation]\ncountries = ["ID"]\napproval_rate = 95\npeople = 5\n'
    toml.write_text(f"{toml.read_text('utf-8')}\n{asks}", "utf-8")
    desk.open("validation", "v")
    return desk


def place(patch: pytest.MonkeyPatch, made: Crowd) -> Crowd:
    patch.setattr(crowd, "crowd_study", lambda *_: (made, made))
    return made


def test_the_fields_of_a_study(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    place(monkeypatch, Crowd([]))
    done = desk.does("rounds", "study", "v", "--json")
    made = json.loads(done.out)
    # 20 answers and 5 people: 4 tasks each, of 45 s. Before them 120 s to read, and 9 examples of
    # the training, 15 s each. (120 + 135 + 180) / 60 = 7.25 minutes.
    assert made["total_available_places"] == 5
    assert made["estimated_completion_time"] == 8
    assert made["reward"] == 60  # cents: 4 * 0.15
    assert made["external_study_url"] == LINK
    assert made["prolific_id_option"] == "url_parameters"
    assert made["submissions_config"] == {"max_submissions_per_participant": 1}
    assert made["device_compatibility"] == ["desktop", "tablet", "mobile"]
    assert made["content_warnings"] == ["sensitive"]
    warning = "Content warning. You will read stereotypes about groups of people."
    assert made["content_warning_details"].startswith(warning)
    assert f"<b>{warning[:16]}</b>" in made["description"]
    assert (made["name"], made["internal_name"]) == ("Label sentences", "v")
    assert made["filters"] == [
        {"filter_id": "approval_rate", "selected_range": {"lower": 95, "upper": 100}}
    ]
    assert [(code["code"], code["code_type"]) for code in made["completion_codes"]] == [
        *(("CDONE", "COMPLETED"), ("CNO", "NO_CONSENT"), ("COUT", "SCREENED_OUT")),
        ("CFAIL", "FAILED_ATTENTION_CHECK"),
    ]
    assert made["completion_codes"][0]["actions"] == [{"action": "MANUALLY_REVIEW"}]
    assert made["completion_codes"][1]["actions"][0]["action"] == "REQUEST_RETURN"
    # What the API cannot be told in words is said to people.
    assert "Current country of residence: Indonesia (not in the output of --json)" in done.err
    assert json.loads((desk.rounds / "v" / "round.json").read_text("utf-8"))["reward"] is None


def test_the_form_says_what_an_hour_pays(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    place(monkeypatch, Crowd([]))
    said = desk.does("rounds", "study", "v").out
    assert f"Study URL: {LINK}\nProlific IDs" in said  # people elsewhere can open it
    assert "\n  Content warning. You will read stereotypes about groups of people." in said
    assert "<" not in said  # a form takes no HTML
    assert "  CDONE: COMPLETED, MANUALLY_REVIEW\n" in said
    assert "Approval rate, at least: 95\n" in said
    guess = "8 minutes for 4 tasks (45 s each: a guess, as there is no pilot; 255 s before)"
    assert f"Estimated time: {guess}\n" in said
    # 0.60 in 8 minutes are 4.50 in an hour; 12 an hour are 1.60 in 8 minutes, 0.40 for each task.
    assert "Reward: 0.60 USD, which is 4.50 an hour\n" in said
    assert "This is below the minimum: set pay_label = 0.40 before" in said
    # A pilot's answers took 30 s each. (255 + 120) / 60 = 6.25 minutes; 0.60 * 60 / 7 = 5.14.
    desk.bring("v", desk.labels("v", "pq"))
    said = desk.does("rounds", "study", "v").out
    timed = "7 minutes for 4 tasks (30 s each: median of 8 answers; 255 s before)"
    assert f"Estimated time: {timed}\n" in said
    assert "which is 5.14 an hour\n" in said
    # Ten people do two tasks each: (255 + 60) / 60 = 5.25 minutes, 0.30.
    said = desk.does("rounds", "study", "v", "--places", 10).out
    assert "Places: 10, one submission" in said
    assert "Estimated time: 6 minutes for 2 tasks" in said
    assert "wage_floor" not in said
    set_to(desk.root, "wage_floor = 0.0", "wage_floor = 15.0")
    set_to(desk.root, 'currency = "USD"', 'currency = "IDR"')
    said = desk.does("rounds", "study", "v").out
    assert "Prolific pays in GBP or USD, and not in IDR" in said
    assert said.endswith("below your wage_floor, 15.00: bonuses bring people to it.\n")


def test_fair_pay_is_said_to_be_fair(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    place(monkeypatch, Crowd([]))
    for pay, says in ((0.3, "This is below what it recommends"), (0.4, "")):
        path = desk.rounds / "v" / "round.json"
        plan = json.loads(path.read_text("utf-8")) | {"pay": pay}
        path.write_text(json.dumps(plan), "utf-8")
        said = desk.does("rounds", "study", "v").out
        assert "minimum is 8 USD an hour, and it recommends 12, by the median" in said
        assert ("This is below" in said) == bool(says)
        assert says in said


def test_the_number_of_people_must_be_known(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    path = desk.rounds / "v" / "round.json"
    plan = json.loads(path.read_text("utf-8"))
    assert "nobody can come from Prolific to round v" in desk.refused("rounds", "study", "v")
    place(monkeypatch, Crowd([]))
    path.write_text(json.dumps(plan | {"people": {**plan["people"], "people": 0}}), "utf-8")
    assert "how many people it asks" in desk.refused("rounds", "study", "v")
    # 20 answers of at most 3 tasks each: 7 people.
    set_to(desk.root, "per_person_label = 0", "per_person_label = 3")
    assert desk.say("rounds", "study", "v")["total_available_places"] == 7


def submission(desk: Desk, id: str, **facts: Any) -> Submission:
    """A submission of a participant who finished and labelled all four items; or what differs."""
    key = read_key(open_campaign(desk.root).settings.campaign.id)
    given = {
        "id": id, "participant": f"p-{id}", "study": "s1", "status": AWAITS,
        "standing": "checked", "outcome": "finished", "answered": 4, "arrived": "", "ended": "",
    } | facts  # fmt: skip
    return Submission(**{"pseudonym": pseudonyms(key)(given["participant"])} | given)


def test_only_what_is_complete_is_approved(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.bring("v", desk.labels("v", ["p-good", "p-stuck", "p-out", "p-two"])[:-1])
    cases = {
        "good": ({}, ""),
        "stuck": ({}, ""),
        "old": ({"status": "APPROVED"}, "approved"),
        "alien": ({"standing": "unknown", "outcome": "", "answered": 0}, "unknown"),
        "lie": ({"standing": "forged"}, "forged"),
        "back": ({"standing": "returned", "status": "RETURNED"}, "returned"),
        "bad": ({"standing": "returned", "status": "REJECTED"}, "rejected"),
        "out": ({}, "excluded"),
        "no": ({"outcome": "no_consent", "answered": 0}, "no_consent"),
        "dim": ({"outcome": "screened_out", "answered": 0}, "screened_out"),
        "fail": ({"outcome": "failed"}, "failed"),
        "code": ({"outcome": "", "answered": 1}, "not_finished"),  # with the code of another
        "busy": ({"outcome": "", "status": "ACTIVE", "answered": 1}, "under_way"),
        "slow": ({"standing": "unchecked"}, "unchecked"),
        "open": ({"status": "ACTIVE"}, "not_ended"),  # also if a status goes back
        "late": ({"answered": 0}, "no_answers"),
        "two": ({}, "not_pulled"),  # the archive has three of the four
    }
    desk.does("rounds", "exclude", "p-out", "--reason", "a robot")
    made = place(
        monkeypatch, Crowd([submission(desk, id, **how) for id, (how, _) in cases.items()])
    )
    seen = desk.say("rounds", "approve", "v")
    names = {one.pseudonym: id for id, one in made.found.items()}
    assert {names[each["person"]]: each["reason"] for each in seen["left"]} == {
        id: reason for id, (_, reason) in cases.items() if reason
    }
    # Scripts see what would be approved, and nothing is sent without --yes.
    assert (seen["complete"], seen["became"], seen["file"]) == (2, {}, None)
    assert (made.sent, made.pulls) == ([], 1)
    monkeypatch.setattr(typer, "confirm", lambda text: False)
    said = desk.does("rounds", "approve", "v").out
    assert "they ended it on Prolific, and have not finished here" in said
    assert "complete: 2 submissions" in said
    assert not any(name in said for name in ("p-good", "p-code"))
    assert made.sent == []
    monkeypatch.setattr(typer, "confirm", lambda text: True)
    said = desk.does("rounds", "approve", "v").out
    assert made.sent == ["good", "stuck"]
    assert ["good", "APPROVED"] in [line.split() for line in said.splitlines()]
    assert "Prolific has failed" in said
    # Again, as after a kill: only what is left is sent.
    again = desk.say("rounds", "approve", "v", "--yes")
    assert (again["complete"], again["became"]) == (1, {"stuck": "Prolific has failed"})
    assert made.sent == ["good", "stuck", "stuck"]
    assert len(again["left"]) == len(seen["left"]) + 1


def test_nothing_is_approved_if_prolific_does_not_answer(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.bring("v", desk.labels("v", ["p-good"]))
    made = place(monkeypatch, Crowd([submission(desk, "good")], down=True))
    assert DOWN.what in desk.refused("rounds", "approve", "v", "--yes")
    assert made.sent == []
    made.down = False
    assert desk.say("rounds", "approve", "v", "--yes")["became"] == {"good": "APPROVED"}


def test_without_a_token_there_is_a_list_to_paste(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.bring("v", desk.labels("v", ["p-good"]))
    how = {"standing": "unchecked", "status": ""}
    found = [submission(desk, "good", **how), submission(desk, "busy", **how, outcome="")]
    made = place(monkeypatch, Crowd(found, token=False))
    done = desk.does("rounds", "approve", "v", "--yes")
    file = desk.rounds / "approve-v.csv"
    assert file.read_text("utf-8") == "submission,participant\ngood,p-good\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert f"to paste on Prolific: {file}" in done.out
    assert "PROLIFIC_TOKEN is not set" in done.err
    assert made.sent == []


def test_bonuses_are_listed_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    people = ["p-full", "p-back", "p-hour", "p-out", "p-gone"]
    labels = desk.labels("v", people)
    # p-full labelled 4 items, p-back 2 and p-hour 1, p-out 4, p-gone 3.
    counts = dict(zip(people, (4, 2, 1, 4, 3), strict=True))
    desk.bring("v", [row for n, row in enumerate(labels) if n // 5 < counts[row["annotator"]]])
    desk.does("rounds", "exclude", "p-out", "--reason", "a robot")
    found = [
        submission(desk, "full"),
        submission(desk, "back", standing="returned", status="RETURNED", outcome=""),
        submission(desk, "hour", standing="returned", status="TIMED-OUT", outcome=""),
        submission(desk, "out"),
        submission(desk, "gone", standing="returned", status="REJECTED", outcome=""),
        submission(desk, "lie", participant="p-full", standing="forged"),
        submission(desk, "idle", outcome=""),  # without answers
    ]
    made = place(monkeypatch, Crowd(found))
    said = desk.refused("rounds", "approve", "v", "--bonus")
    assert "it is not known what its study pays" in said
    # Ten people: two tasks each, 0.30. A study's id is kept with its reward.
    assert "is not the id" in desk.refused("rounds", "study", "v", "--id", "a study")
    desk.does("rounds", "study", "v", "--places", 10, "--id", "s1")
    # Another study of the round must pay the same.
    says = "an earlier study of round v pays 0.3, this one 0.6"
    assert says in desk.refused("rounds", "study", "v", "--id", "s2")
    assert made.studies == ["s1"]
    assert open_campaign(desk.root).round("v").reward == 0.3
    first = desk.say("rounds", "approve", "v", "--bonus")
    # 4 * 0.15 - 0.30, and 2 * 0.15, and 1 * 0.15.
    file = desk.rounds / "bonus-v-1.csv"
    assert file.read_text("utf-8") == "p-full,0.30\np-back,0.30\np-hour,0.15\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert (first["people"], first["amount"], first["before"]) == (3, "0.75", "0.00")
    assert first["left"] == {"excluded": 1, "rejected": 1}
    again = desk.say("rounds", "approve", "v", "--bonus")
    assert (again["file"], again["amount"], again["before"]) == (None, "0.00", "0.75")
    # A list of a round with such a name is another round's.
    (desk.rounds / "bonus-v-2-7.csv").write_text("p-full,9.00\n", "utf-8")
    # p-hour comes back and finishes: the reward is more than they are owed, and nothing is taken.
    made.found["hour"] = submission(desk, "hour")
    made.found["back"] = submission(desk, "back", standing="unchecked")
    third = desk.say("rounds", "approve", "v", "--bonus")
    assert (third["file"], third["before"]) == (None, "0.75")
    assert third["left"] == {"excluded": 1, "rejected": 1, "unchecked": 1}
    # A list that was deleted was not paid: its amounts come again, under a new number.
    (desk.rounds / "bonus-v-4.csv").write_text("p-full,0.10\n", "utf-8")
    file.unlink()
    made.found["back"] = submission(desk, "back", standing="returned", status="RETURNED")
    done = desk.does("rounds", "approve", "v", "--bonus").out
    file = desk.rounds / "bonus-v-5.csv"
    assert file.read_text("utf-8") == "p-full,0.20\np-back,0.30\n"
    assert "2 people: 0.50 USD beyond the reward\n" in done
    assert "in earlier lists, and not in this one: 0.10\n" in done
    assert "not in a list: 1 person (you excluded the person: decide on Prolific)\n" in done
    file.write_text("p-full,1,20\n", "utf-8")
    assert "bonus-v-5.csv: 'p-full,1,20' is not ID" in desk.refused(
        "rounds", "approve", "v", "--bonus"
    )


def test_the_floor_counts_once_for_the_time_of_refused_answers(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four items of 30 seconds with breaks of 30 seconds, at 36 an hour: 210 seconds are 2.10.

    p-full got 0.30 from the study. p-back had all refused: 2.10, and not 4 * 0.15 more.
    """
    set_to(desk.root, "wage_floor = 0.0", "wage_floor = 36.0")
    labels = desk.labels("v", ["p-full", "p-back"])
    for row in labels:
        row |= {"label_1": "?"} if row["annotator"] == "p-back" else {}
    desk.bring("v", labels)
    found = [
        submission(desk, "full"),
        submission(desk, "back", standing="returned", status="RETURNED", outcome=""),
    ]
    place(monkeypatch, Crowd(found))
    desk.does("rounds", "study", "v", "--places", 10, "--id", "s1")
    desk.say("rounds", "approve", "v", "--bonus")
    file = desk.rounds / "bonus-v-1.csv"
    assert file.read_text("utf-8") == "p-full,1.80\np-back,2.10\n"
