"""Opening a round with options: killed and repeated; caps that need more people; old settings."""

import json
import re
import tomllib
from html import escape
from pathlib import Path
from typing import Any

import pytest

from curation.across import commands
from curation.across.serving import opened_store
from curation.campaign.store import open_campaign
from curation.files import shipped
from curation.records import Round
from curation.rounds import running
from curation.rounds.platforms import pages
from curation.rounds.platforms.interface import Published
from support.commands import set_to
from support.desk import Desk

pytestmark = pytest.mark.long
FILES = ("--platform", "files")


@pytest.fixture(scope="module")
def made(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Two items by two writers; a pilot of validation is closed."""
    root = tmp_path_factory.mktemp("opening") / "c"
    desk = Desk.make(forked, root, ["baker", "potter"], items=1)
    desk.open("intrasentence", "w")
    desk.written("w", ["ann", "ben"])
    return desk


def read_round(path: Path) -> Round:
    return Round.model_validate_json(path.read_bytes())


def test_the_links_for_annotators_are_printed_whole(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = "https://writers.example.invalid"
    address = f"{server}/projects/7/data?labeling=1"
    sign_up = f"https://writers.example.invalid/user/signup/?token={'0123456789abcdef' * 12}"

    class Server:
        exchanges_tables = can_train = False

        def publish(self, tasks: Any, asked: Any) -> Published:
            round = open_campaign(desk.root).round("w2")
            return Published(round, address, sign_up)

    monkeypatch.setattr(running, "open_platform", lambda *_, **__: Server())
    there = ("--platform", "label_studio", "--url", server)
    done = desk.run("rounds", "open", "intrasentence", "--name", "w2", "--term", "baker", *there)
    assert done.code == 0, done.err
    assert f"for annotators: {address}\n" in done.out
    assert f"to sign up first: {sign_up}\n" in done.out

    class Later(Server):
        def entrance(self, *, reset: bool) -> Published:
            return self.publish((), {})._replace(sign_up=f"{sign_up}-new" if reset else sign_up)

    monkeypatch.setattr(commands, "open_platform", lambda *_, **__: Later())
    lines = ["w2", f"for annotators: {address}", f"to sign up first: {sign_up}"]
    assert desk.does("rounds", "links", "w2").out.splitlines() == lines
    made = {"round": "w2", "address": address, "sign_up": f"{sign_up}-new"}
    assert desk.say("rounds", "links", "w2", "--reset") == [made]


def test_an_opening_killed_after_people_could_answer_keeps_its_time(
    desk: Desk, tmp_path: Path
) -> None:
    command = ("rounds", "open", "review", "--name", "r")
    _, killed = desk.killed(command, tmp_path, lambda writes: writes[-6:])
    begun = 0
    for own in killed:
        path = own.rounds / "r" / "round.json"
        left = read_round(path)
        if not (own.rounds / "web.sqlite").exists():
            continue
        with opened_store(open_campaign(own.root)) as store:
            begun += (store.rounds(), left.state) == (["r"], "planned")  # people can answer
        own.does(*command)
        assert left.opened_at
        assert (read_round(path).state, read_round(path).opened_at) == ("open", left.opened_at)
    assert begun


def test_the_same_opening_again_opens_no_second_round_before_work_has_begun(desk: Desk) -> None:
    command = ("rounds", "open", "intrasentence", *FILES)
    assert "round intrasentence-1 is open" in desk.run(*command).out
    again = desk.run(*command)
    assert again.out.startswith("round intrasentence-1 is open: 2 tasks")
    assert "intrasentence-1 is open already with the same tasks, and has no answers" in again.err
    assert "round intrasentence-2 is open" in desk.run(*command, "--term", "baker").out
    desk.export("intrasentence-1")
    assert "round intrasentence-3 is open" in desk.run(*command).out
    assert "round validation-1 is open" in desk.run("rounds", "open", "validation", *FILES).out
    said = desk.refused("rounds", "open", "validation", *FILES)
    assert "every item has its labels or is in an open round (validation-1)" in said


def test_another_command_is_given_the_one_that_goes_on(desk: Desk) -> None:
    command = ("intrasentence", "--name", "intrasentence-1", "--term", "potter", "--term", "baker")
    desk.say("rounds", "open", *command, *FILES)
    path = desk.rounds / command[2] / "round.json"
    # As before the last write.
    plan = read_round(path).model_copy(update={"state": "planned", "opened_at": None})
    path.write_text(plan.model_dump_json(), "utf-8")
    goes_on = f"«curation rounds open {' '.join([*command[:3], *FILES, *command[3:]])}»"
    for other in (
        ("intrasentence", "--name", "intrasentence-1", "--term", "baker"),
        ("intrasentence", "--term", "baker"),
        ("intrasentence",),  # all terms
    ):
        assert goes_on in desk.refused("rounds", "open", *other, *FILES)
    said = desk.refused("rounds", "open", "intersentence", *command[1:3], *FILES)
    assert "round intrasentence-1 is of kind intrasentence on files" in said
    assert goes_on in said
    # Its name alone goes on with it; so does the same command, in another order of terms.
    other = desk.copy(desk.root.parent / "other")
    assert other.say("rounds", "open", *command[:3], *FILES)["tasks"] == 2
    command = ("intrasentence", "--term", "baker", "--term", "potter")
    assert desk.say("rounds", "open", *command, *FILES)["round"] == "intrasentence-1"


def set_caps(desk: Desk, **caps: int) -> None:
    for name, value in caps.items():
        set_to(desk.root, f"{name} = 0\n", f"{name} = {value}\n")


def test_english_headings_of_tables_in_another_language_are_named(desk: Desk) -> None:
    set_to(desk.root, 'language = "en"', 'language = "de"')
    words = desk.root / "1-terms" / "jobs.txt"
    words.write_text(words.read_text("utf-8").replace("language: en", "language: de"), "utf-8")
    english = shipped("annotation_configs", "text", "en.toml").read_text("utf-8")
    whole = english.replace('institution = ""', 'institution = "A"')
    whole = whole.replace('contact = ""', 'contact = "a@example.invalid"')
    own, said = '\n[heading]\nlabel_1 = "Einordnung 1"\n', []
    for name, text in (("v1", whole), ("v2", whole + own)):
        (desk.rounds / "text.toml").write_text(text, "utf-8")
        said.append(desk.run("rounds", "open", "validation", "--name", name, *FILES).err)
    assert "will have English headings, because there are none for «de»" in said[0]
    assert "English headings" not in said[1]


def test_caps_that_need_more_people_are_warned_of(desk: Desk) -> None:
    # Two items of five labels: with two labels each, ten labels need five people.
    set_caps(desk, per_person_label=2, per_term_write=1)
    done = desk.run("rounds", "open", "validation", "--name", "v", *FILES)
    says = "per_person_label = 2: round v needs at least 5 people, and the campaign knows 2"
    assert says in done.err
    people = desk.listed("eve", "fay", "gil")
    assert "add more people" in desk.refused("rounds", "export", "v", "--people", people)
    # What was written is not counted among the labels, and nobody is needed for it.
    done = desk.run("rounds", "open", "intrasentence", "--name", "w2", *FILES)
    assert "needs at least" not in done.err


def test_requirements_on_people_are_shown_and_stay_as_they_were(desk: Desk) -> None:
    toml = desk.root / "campaign.toml"
    text = toml.read_text("utf-8")
    table = '[people.validation]\ncountries = ["ID"]\napproval_rate = 95\npeople = 12\n'
    toml.write_text(f"{text}\n{table}", "utf-8")
    done = desk.does("rounds", "open", "validation", "--name", "v", *FILES)
    says = (
        "they live in Indonesia; at least 95 % of their work was accepted before; people asked: 12"
    )
    assert f"who may take part (nothing checks it here): {says}\n" in done.out
    toml.write_text(text, "utf-8")
    people = json.loads((desk.rounds / "v" / "round.json").read_text("utf-8"))["people"]
    assert (people["countries"], people["approval_rate"], people["people"]) == (["ID"], 95, 12)
    assert people == desk.say("rounds", "open", "validation", "--name", "v")["people"]
    done = desk.does("rounds", "open", "intrasentence", "--name", "w2", *FILES)
    assert "who may take part" not in done.out


def test_caps_of_writing_do_not_refuse_labels(desk: Desk) -> None:
    set_caps(desk, per_term_write=1, per_person_write=1)
    desk.open("validation", "v")
    assert desk.bring("v", desk.labels("v", "pqrst"))["refused"] == {}
    set_caps(desk, per_person_label=1)
    # The settings have changed: the values are those of now, without a pull or an import.
    status = desk.status("v")
    assert (status["refused"], status["remaining"]) == (5, 5)


def test_a_status_that_cannot_be_brought_up_to_date_says_so(desk: Desk) -> None:
    desk.open("validation", "v")
    desk.bring("v", desk.labels("v", "p"))
    set_caps(desk, per_person_label=1)
    with open_campaign(desk.root).lock():
        done = desk.run("rounds", "status", "v", before=lambda: None)
    assert done.code == 0
    assert "have changed, and the values below are older: " in done.err
    assert "in use by" in done.err
    assert "1 refused" not in done.out


def test_the_pay_of_a_kind_is_in_its_texts_and_an_empty_promise_is_refused(desk: Desk) -> None:
    set_to(desk.root, "pay_label = 0.0", "pay_label = 0.15")
    set_to(desk.root, 'currency = "USD"', 'currency = "EUR"')
    desk.open("validation", "v")
    desk.open("intrasentence", "w2")
    paid = [open_campaign(desk.root).texts[name] for name in ("v", "w2")]
    assert [texts["instruction"]["pay"] for texts in paid if texts] == [
        ["You are paid 0.15 EUR for each task."],
        [],
    ]
    desk.does("rounds", "export", "v")
    assert "You are paid 0.15 EUR for each task." in read_page(desk, "v")
    own = desk.rounds / "text.toml"
    before = own.read_text("utf-8")
    own.write_text(before + '[instruction]\npay = ["You get 5 EUR."]\n', "utf-8")
    error = desk.refused("rounds", "open", "intrasentence", "--name", "w3", *FILES)
    assert "instruction.pay: says 'You get 5 EUR.', and pay_write is 0" in error
    assert "set pay_write in [rounds] and write {amount} {currency} in the text" in error
    assert not (desk.rounds / "w3").exists()
    own.write_text(before + '[instruction]\npay = ["You get {amount}."]\n', "utf-8")
    desk.open("intrasentence", "w3")


def read_page(desk: Desk, round: str) -> str:
    return (desk.root / "tasks" / f"{round}-instructions.html").read_text("utf-8")


def test_texts_that_no_native_speaker_has_read_are_named_at_the_opening(desk: Desk) -> None:
    set_to(desk.root, 'language = "en"', 'language = "id"')
    words = desk.root / "1-terms" / "jobs.txt"
    words.write_text(words.read_text("utf-8").replace("language: en", "language: id"), "utf-8")
    warning = "no native speaker has read the shipped texts in «id»"
    assert warning in desk.does("rounds", "open", "validation", "--name", "v1", *FILES).err
    own = desk.rounds / "text.toml"
    own.write_text(own.read_text("utf-8") + '[page]\nread_by = "Ibu Contoh"\n', "utf-8")
    done = desk.does("rounds", "open", "intrasentence", "--name", "w3", *FILES)
    assert "native speaker" not in done.err
    desk.does("rounds", "export", "w3")
    assert "Kalimat dengan RUMPANG" in read_page(desk, "w3")


def test_a_new_language_begins_with_what_the_study_says(desk: Desk) -> None:
    own, english = desk.rounds / "text.toml", pages.texts("en", None)
    set_to(desk.root, 'language = "en"', 'language = "sw"')
    assert own.read_text("utf-8").startswith("[study]")
    said = desk.does("rounds", "texts", "sw").out
    assert tomllib.loads(own.read_text("utf-8"))["study"]["institution"] == "the Academy"
    (left, of) = map(int, re.search(r"texts that are left: ([\d,]+) of ([\d,]+)", said).groups())
    assert 250 < left < of
    text = own.read_text("utf-8").replace('title = "" # ', 'title = "Kichwa" # ', 1)
    own.write_text(text, "utf-8")
    said = desk.does("rounds", "texts", "sw").out
    assert f"texts that are left: {left - 1} of {of}" in said
    assert own.read_text("utf-8") == text
    page = (desk.root / "tasks" / "texts-validation.html").read_text("utf-8")
    assert english["instruction"]["panel"] in page  # English where a text lacks
    for shown in (english["web"]["go_on"], english["validation"]["question_required"]):
        assert escape(shown, quote=False) in page  # buttons and messages, too
    assert "exists already" in desk.refused("rounds", "texts", "ms")  # of another language
    whole = re.sub(r'= ""(?= # )', '= "Neno"', text).replace('    ""', '    "Neno"')
    own.write_text(whole.replace("= []", '= ["neno"]'), "utf-8")
    assert f"texts that are left: 0 of {of}" in desk.does("rounds", "texts", "sw").out


def test_the_file_of_a_new_language_is_written_once(desk: Desk) -> None:
    own = desk.rounds / "text.toml"
    own.write_text(own.read_text("utf-8") + '[page]\nread_by = "Ibu Contoh"\n', "utf-8")
    error = desk.refused("rounds", "texts", "sw")
    assert "text.toml: exists already" in error
    assert "--to FILE" in error
    to = desk.out / "sw" / "text.toml"
    assert f"written: {to}" in desk.does("rounds", "texts", "sw", "--to", to).out
    assert "exists already" in desk.refused("rounds", "texts", "sw", "--to", to)
    assert "use one of ar, en, id, ja" in desk.refused(
        "rounds", "texts", "ms", "--like", "xx", "--to", desk.out / "ms.toml"
    )
    assert "not a language code" in desk.refused("rounds", "texts", "Swahili", "--to", to)
