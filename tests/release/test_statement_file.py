"""``statement.toml``: the template, what is read from it, and its errors."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import Campaign
from curation.release.facts import Author, Hub, Statement
from curation.release.texts import questions
from curation.release.texts.questions import QUESTIONS, SECTIONS, open_keys
from curation.release.texts.statement import statement
from curation.steps.release import statement as team
from support.expected import fails
from support.releases import facts

NASTY = """---
<script>alert(1)</script>
| a |

# x
![](http://x.invalid/y.png) {{x}}
C:\\new "quoted" 'single'"""

FILLED = f"""
description = "Mild."
contact = "data@example.invalid"
takedown = "https://example.invalid/takedown"
homepage = "https://example.invalid/set"
doi = "https://doi.org/10.1234/example.5678"
[[authors]]
name = "Ann Baker"
orcid = "https://orcid.org/0000-0002-1694-233X"
[[authors]]
name = "Institute of Tests"
email = "set@example.invalid"
[hub]
id = "example-lab/mild-set"
gated = "manual"
prompt = "Please be kind."
[hub.fields]
"Your name" = "text"
[answers]
purpose = '''
{NASTY}
'''
uses = "  "
"""


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


def test_an_answer_is_shown_as_it_is(campaign: Campaign) -> None:
    write(campaign, FILLED)
    made = statement(facts(statement=team.read_statement(campaign))).decode()
    assert (
        "\\--- &lt;script&gt;alert(1)&lt;/script&gt; \\| a \\|\n\n\\# x "
        "\\!\\[\\](http://x.invalid/y.png) {{x}} C:\\\\new \"quoted\" 'single'\n"
    ) in made


def test_without_a_file_everything_is_open(campaign: Campaign) -> None:
    assert team.read_statement(campaign) == Statement()
    assert len(team.open_questions(team.read_statement(campaign))) == len(QUESTIONS)
    write(campaign, " \n")
    assert team.read_statement(campaign) == Statement()


def test_facts_of_the_study_are_not_typed_twice(campaign: Campaign) -> None:
    campaign.rounds.mkdir()
    own = campaign.rounds / "text.toml"
    own.write_text('[study]\ncontact = "us@example.invalid"\nethics = "Board 7"\n', "utf-8")
    read = team.read_statement(campaign)
    assert (read.contact, read.answers) == ("us@example.invalid", {"review": "Board 7"})
    write(campaign, 'contact = "me@example.invalid"\n[answers]\nreview = "Another board."\n')
    read = team.read_statement(campaign)
    assert (read.contact, read.answers) == ("me@example.invalid", {"review": "Another board."})


def test_the_names_of_a_team_come_from_both_files(campaign: Campaign) -> None:
    campaign.rounds.mkdir()
    own = '[study]\ninstitution = "Nowhere Lab"\ncontact = "us@example.invalid"\n'
    (campaign.rounds / "text.toml").write_text(own, "utf-8")
    write(campaign, FILLED)
    assert {
        *("Nowhere Lab", "us@example.invalid", "data@example.invalid", "Ann Baker"),
        *("example-lab/mild-set", "example-lab", "https://example.invalid/set"),
    } <= set(team.secrets(campaign))


WRONG = {
    "unknown key": ('homepag = "x"', " line 1, homepag: no such key", "did you mean 'homepage'?"),
    "unknown question": ('[answers]\npurpos = "x"', " line 2, answers.purpos: no such question",
                         "did you mean 'purpose'?"),
    "a field as an answer": ('[answers]\ncontact = "x"', "no such question", "known keys"),
    "unknown section": ('[hubb]\nid = "x"', " line 1, hubb: no such key", "'hub'"),
    "unknown key of an author": ('[[authors]]\nname = "A"\n[[authors]]\nname = "B"\nmail = "x"',
                                 " line 5, authors.2.mail: no such key", "'email'"),
    "no name": ('[[authors]]\nemail = "a@b.cd"', " line 1, authors.1.name: it is missing", "name"),
    "empty name": ('[[authors]]\nname = " "', " line 2, authors.1.name: it is empty", "name"),
    "wrong ORCID": ('[[authors]]\nname = "A"\norcid = "0000-0002-1694-2331"',
                    " line 3, authors.1.orcid: '0000-0002-1694-2331' is not valid", "check digit"),
    "wrong mail": ('[[authors]]\nname = "A"\nemail = "a at b"', " line 3, authors.1.email", "@"),
    "wrong link": ('\npaper = "example.org"', " line 2, paper: 'example.org' is not", "https://"),
    "script in a link": ('homepage = "javascript:alert(1)"', "line 1, homepage", "https://"),
    "wrong DOI": ('doi = "11.1/x"', " line 1, doi: '11.1/x' is not valid", "10.1234"),
    "wrong id": ('[hub]\nid = "mild"', " line 2, hub.id: 'mild' is not valid", "example-lab/"),
    "wrong gate": ('[hub]\ngated = "yes"', " line 2, hub.gated: 'yes' is not", '"manual"'),
    "wrong kind of field": ('[hub.fields]\nName = "number"', "'number' is not", '"checkbox"'),
    "fields without a gate": ('[hub.fields]\nName = "text"', "hub.gated: it is empty", "auto"),
    "a number": ("description = 7", " line 1, description: wrong type", "between quotes"),
    "a list": ('[answers]\nuses = ["a"]', " line 2, answers.uses: wrong type", "between quotes"),
    "authors as texts": ('authors = ["A"]', "authors.1: wrong type", "between quotes"),
    "authors as a text": ('authors = "A"', " line 1, authors: wrong type", "[[authors]]"),
    "answers as a text": ('answers = "A"', " line 1, answers: wrong type", "[answers]"),
    "several lines": ('contact = "a\\nb"', " line 1, contact: it has several lines", "one line"),
    "a control character": ('description = "a\\u0007"', "line 1, description: it has a", "remove"),
    "not TOML": ("description = Mild", "line 1", "between quotes"),
    "the same key twice": ('doi = ""\ndoi = ""\n[hub]', "line 2", "docs/release.md"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "what", "fix"), WRONG.values(), ids=WRONG.keys())
def test_errors_name_line_key_and_fix(campaign: Campaign, text: str, what: str, fix: str) -> None:
    write(campaign, text)
    with fails(str(team.place(campaign)), what, fix=fix):
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
