"""``statement.toml``: the template, what is read from it, and its errors."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import Campaign
from curation.release import statement as team
from curation.release.texts import questions
from curation.release.texts.questions import QUESTIONS, SECTIONS, open_keys
from curation.released.facts import Author, Hub, Statement
from support.expected import fails
from support.written import beside

FILLED = Path(__file__).with_name("filled_statement.toml").read_text("utf-8")
NASTY: str = tomllib.loads(FILLED)["answers"]["purpose"].removesuffix("\n")


def write(campaign: Campaign, text: str) -> None:
    team.place(campaign).parent.mkdir(exist_ok=True)
    team.place(campaign).write_text(text, "utf-8")


# --- the template ---------------------------------------------------------------------------


def test_the_template_asks_every_question_and_answers_none(tmp_path: Path) -> None:
    text = questions.statement_template()
    path = tmp_path / "statement.toml"
    path.write_text(text, "utf-8")
    assert questions.read_statement(path) == Statement()
    answers = tomllib.loads(text)["answers"]
    assert list(answers) == [q.key for q in QUESTIONS if not q.field]
    words = " ".join(text.replace("\n# ", " ").split())
    for question in QUESTIONS:
        assert question.text in words
    assert all(len(line) <= 100 for line in text.splitlines())
    assert questions.with_new_questions(text) == text


def test_the_questions_are_few_and_in_the_order_of_their_sections() -> None:
    keys = [question.key for question in QUESTIONS]
    assert len(set(keys)) == len(keys) <= 25
    order = list(SECTIONS)
    places = [order.index(question.section) for question in QUESTIONS]
    assert places == sorted(places)
    assert all(hasattr(Statement(), q.key) is q.field for q in QUESTIONS)


def test_the_comments_of_the_template_can_be_filled_in(tmp_path: Path) -> None:
    path = tmp_path / "statement.toml"
    fields = re.compile(r"^# (?=\[\[authors\]\]|name|affiliation|email|orcid|\[hub\.f|\")", re.M)
    text = fields.sub("", questions.statement_template())
    path.write_text(text.replace('gated = ""', 'gated = "auto"'), "utf-8")
    read = questions.read_statement(path)
    assert read.authors == (Author(name="Given name and family name"),)
    assert list(read.hub.fields.values()) == ["text", "checkbox"]


# --- reading --------------------------------------------------------------------------------


def test_a_filled_file_is_read(campaign: Campaign) -> None:
    write(campaign, FILLED)
    read = team.read_statement(campaign)
    assert read == Statement(
        description="Mild.",
        authors=(
            Author(name="Ann Baker", orcid="0000-0002-1694-233X"),
            Author(name="Institute of Tests", email="set@example.invalid"),
        ),
        contact="data@example.invalid", takedown="https://example.invalid/takedown",
        homepage="https://example.invalid/set", doi="10.1234/example.5678",
        hub=Hub(
            id="example-lab/mild-set", gated="manual", prompt="Please be kind.",
            fields={"Your name": "text"},
        ),
        answers={"purpose": NASTY},
    )  # fmt: skip
    others = [q.key for q in QUESTIONS if not q.field and q.key != "purpose"]
    assert [q.key for q in team.open_questions(read)] == others
    assert open_keys(read)[0] == "coverage"


def test_without_a_file_everything_is_open(campaign: Campaign) -> None:
    assert team.read_statement(campaign) == Statement()
    assert len(team.open_questions(team.read_statement(campaign))) == len(QUESTIONS)
    write(campaign, " \n")
    assert team.read_statement(campaign) == Statement()


def test_facts_of_the_study_are_not_typed_twice(campaign: Campaign) -> None:
    campaign.folder("rounds").mkdir()
    own = campaign.folder("rounds") / "text.toml"
    own.write_text('[study]\ncontact = "us@example.invalid"\nethics = "Board 7"\n', "utf-8")
    read = team.read_statement(campaign)
    assert (read.contact, read.answers) == ("us@example.invalid", {"review": "Board 7"})
    write(campaign, 'contact = "me@example.invalid"\n[answers]\nreview = "Another board."\n')
    read = team.read_statement(campaign)
    assert (read.contact, read.answers) == ("me@example.invalid", {"review": "Another board."})


def test_the_names_of_a_team_come_from_both_files(campaign: Campaign) -> None:
    campaign.folder("rounds").mkdir()
    own = '[study]\ninstitution = "Nowhere Lab"\ncontact = "us@example.invalid"\n'
    (campaign.folder("rounds") / "text.toml").write_text(own, "utf-8")
    write(campaign, FILLED)
    assert {
        *("Nowhere Lab", "us@example.invalid", "data@example.invalid", "Ann Baker"),
        *("example-lab/mild-set", "example-lab", "https://example.invalid/set"),
    } <= set(team.secrets(campaign, team.read_statement(campaign)))


WRONG = beside(__file__, "wrong_statements.toml")


@pytest.mark.parametrize("row", WRONG.values(), ids=WRONG.keys())
def test_errors_name_line_key_and_fix(campaign: Campaign, row: dict[str, str]) -> None:
    write(campaign, row["text"])
    with fails(str(team.place(campaign)), row["what"], fix=row["fix"]):
        team.read_statement(campaign)


# --- writing --------------------------------------------------------------------------------


def test_answers_are_never_changed(campaign: Campaign) -> None:
    assert team.write_template(campaign)
    assert not team.write_template(campaign)
    write(campaign, FILLED)
    assert team.write_template(campaign)  # questions that the file does not have
    text = team.place(campaign).read_text("utf-8")
    assert text.startswith(FILLED)
    assert "\n# coverage = '''\n# '''\n" in text
    assert "purpose = " not in text[len(FILLED) :]
    assert team.read_statement(campaign).answers == {"purpose": NASTY}
    assert not team.write_template(campaign)
    assert team.place(campaign).read_text("utf-8") == text


def test_a_damaged_file_is_left_as_it_is(campaign: Campaign) -> None:
    write(campaign, "purpose = \n")
    with fails("line 1"):
        team.write_template(campaign)
    assert team.place(campaign).read_text("utf-8") == "purpose = \n"


def test_a_blank_file_becomes_the_template(campaign: Campaign) -> None:
    write(campaign, "\n")
    assert team.write_template(campaign)
    assert team.place(campaign).read_text("utf-8") == questions.statement_template()


# --- commands -------------------------------------------------------------------------------


def test_the_command_writes_the_file_and_lists_questions(campaign: Campaign, forked: Any) -> None:
    shown = json.loads(forked("release", "statement", "--campaign", campaign.root, "--json").out)
    assert (shown["written"], shown["questions"], len(shown["open"])) == (True, 25, 25)
    text = "What is this dataset, in two or three sentences?"
    first = {"key": "description", "section": "Executive summary", "text": text}
    assert shown["open"][0] == first
    write(campaign, FILLED)
    run = forked("release", "statement", "--campaign", campaign.root)
    assert run.code == 0, run.err
    assert "20 questions of 25 open" in run.out
    assert "purpose" not in run.out


def test_init_writes_the_file(tmp_path: Path, forked: Any) -> None:
    assert forked("init", tmp_path / "new", "--yes").code == 0
    path = tmp_path / "new" / "7-release" / "statement.toml"
    assert path.read_text("utf-8") == questions.statement_template()
