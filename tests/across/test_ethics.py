"""``rounds ethics``: what the sheet says, what changes it, and what must never be in it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from curation.across.ethics import Sheet, ethics_sheet
from curation.campaign.settings import Settings, settings_text
from curation.campaign.store import Campaign, create_campaign, open_campaign
from curation.files import CurationError
from curation.rounds.answers.people import key_path
from support.desk import STUDY, Desk, read_csv
from support.labelled import written

ROUNDS = {"pay_write": 0.5, "pay_label": 0.1, "instruction_checks": 12}
OPEN = re.compile(r"\*\*OPEN: (.+?)\*\*", re.DOTALL)


def made(folder: Path, study: str = STUDY, **changed: Mapping[str, Any]) -> Campaign:
    """A campaign before any round, with these settings by table."""
    about = {"campaign": {"id": "ethics-test"}, "domains": {"profession": {}}, "rounds": ROUNDS}
    tables = {
        name: {**about.get(name, {}), **changed.get(name, {})} for name in {**about, **changed}
    }
    campaign = create_campaign(folder, Settings.model_validate(tables))
    campaign.folder("rounds").mkdir(exist_ok=True)
    (campaign.folder("rounds") / "text.toml").write_text(study, "utf-8")
    return campaign


def changed(place: Campaign, **tables: Mapping[str, Any]) -> Campaign:
    """The campaign with other settings, as a person changes them in campaign.toml."""
    whole = place.settings.model_dump(mode="json", exclude_unset=True)
    for name, table in tables.items():
        whole[name] = {**whole.get(name, {}), **table}
    path = place.root / "campaign.toml"
    path.write_text(settings_text(Settings.model_validate(whole)), "utf-8")
    return open_campaign(place.root)


@pytest.fixture
def new(tmp_path: Path) -> Campaign:
    return made(tmp_path / "c")


def checked(sheet: Sheet) -> str:
    """The sheet's text; its open questions are marked where they stand, and counted at the end."""
    body, end = sheet.text.split("\n## Open questions\n")
    assert [text.replace("\\", "") for text in OPEN.findall(body)] == sheet.open
    assert [
        line.replace("\\", "") for line in re.findall(r"^\d+\. (.+)$", end, re.MULTILINE)
    ] == sheet.open
    assert end.strip().startswith(f"{len(sheet.open)} question")
    assert not re.search(r"\bNone\b|Undefined|\{[a-z_]*\}|\n{3,}", sheet.text)
    return sheet.text


def test_a_campaign_before_any_round(new: Campaign) -> None:
    before = {path: path.stat().st_mtime_ns for path in new.root.rglob("*")}
    sheet = ethics_sheet(new)
    text = checked(sheet)
    assert {path: path.stat().st_mtime_ns for path in new.root.rglob("*")} == before
    parts = [
        *("Purpose", "Who is responsible", "Who takes part, and how they are recruited"),
        *("What people do", "Time and pay", "Content, risks and protection", "What is recorded"),
        *("Where the data lie, who sees them, how long", "The consent, word by word"),
        *("Withdrawal and erasure", "What is published", "Open questions"),
    ]
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == parts
    # What people read is there word by word, and nothing of it for other platforms.
    for words in (
        "> - Name no real person, and do not write about yourself.",
        "> - Unrelated: it makes no sense here, or has nothing to do with the group.",
        "> - You are paid 0.50 USD for each task.",
        "> - Who we are. This study is carried out by the Academy.",
        "> - How you write. For each text we count the keys that you press",
        "These are the texts that a new round shows.",
        "curation rounds withdraw PERSON --erase --releases",
        "- Contact for people who take part: ask@example.invalid",
    ):
        assert words in text
    # 150 s for 0.50 are 12.00 an hour; 45 s for 0.10 are 8.00.
    assert "| Writing sentences with a gap | 150 | 0.50 | 12.00 | no limit | – |" in text
    assert "| Labelling sentences | 45 | 0.10 | 8.00 | no limit | – |" in text
    assert "Label Studio asks" not in text
    assert "Already built" not in text
    assert len(sheet.open) == len(set(sheet.open)) == 27


def test_without_a_study_its_facts_are_open(tmp_path: Path) -> None:
    sheet = ethics_sheet(made(tmp_path / "c", study="# nothing yet\n"))
    text = checked(sheet)
    asked = " ".join(sheet.open)
    for words in ("Which institution", "Which board decides", "Whom can people ask"):
        assert words in asked
    assert "Who we are" not in text


CHANGES: list[tuple[dict[str, dict[str, Any]], str]] = [
    ({"campaign": {"name": "Cermin *"}}, "# Cermin \\*: information for an ethics board"),
    ({"domains": {"faith": {}}}, "about these domains: profession, faith."),
    ({"rounds": {"pay_review": 0.25}}, "| Judging terms | 30 | 0.25 | 30.00 |"),
    ({"rounds": {"pay_write": 0.75}}, "You are paid 0.75 USD for each task."),
    ({"rounds": {"pay_label": 0.2}}, "| Labelling sentences | 45 | 0.20 | 16.00 |"),
    ({"rounds": {"currency": "IDR"}}, "| task | seconds | pay (IDR) |"),
    ({"rounds": {"budget": 3000}}, "may cost 3,000.00 USD"),
    ({"rounds": {"wage_floor": 15}}, "at least 15.00 USD an hour"),
    ({"rounds": {"wage_floor": 9}}, "OPEN: The pay for «Labelling sentences» is below the floor"),
    ({"rounds": {"per_person_review": 6}}, "| Judging terms | 30 | 0.00 | – | 6 | 3 |"),
    ({"rounds": {"per_person_write": 10}}, "| 150 | 0.50 | 12.00 | 10 | 25 |"),
    ({"rounds": {"per_person_label": 50}}, "| 45 | 0.10 | 8.00 | 50 | 38 |"),
    ({"rounds": {"pause_after": 7}}, "After 7 tasks in one sitting"),
    ({"rounds": {"pause_minutes": 2.5}}, "rest for 2.5 minutes"),
    ({"rounds": {"training_pass": 0.6}}, "need 60 % of them right"),
    ({"rounds": {"training_tries": 3}}, "in 3 tries"),
    ({"rounds": {"instruction_checks": 20}}, "one page in 20 tasks says which labels"),
    ({"rounds": {"consent": False}}, "OPEN: How do people consent?"),
    ({"rounds": {"consent": False}}, "Its own pages ask for consent all the same."),
    ({"rounds": {"write_seconds": 25}}, "less than 25 seconds to write or 3 to label"),
    ({"rounds": {"label_seconds": 4}}, "less than 10 seconds to write or 4 to label"),
    ({"people": {"validation": {"countries": ["ID"]}}}, "| they live in Indonesia | not set |"),
    ({"people": {"review": {"first_languages": ["jv"]}}}, "their first language is Javanese"),
    ({"people": {"validation": {"approval_rate": 97}}}, "at least 97 % of their work"),
    ({"people": {"validation": {"qualification": "nurses"}}}, "| nurses | not set |"),
    ({"people": {"intrasentence": {"people": 40}}}, "| no requirement is set | 40 |"),
    ({"release": {"licence": "CC0 1.0"}}, "open data with the licence CC0 1.0"),
    ({"release": {"hide": "all"}}, "the texts and labels are hidden"),
    ({"release": {"hide": "labels"}}, "the labels are hidden"),
]


@pytest.mark.parametrize(("tables", "words"), CHANGES, ids=str)
def test_a_setting_changes_the_sheet(
    new: Campaign, tables: dict[str, dict[str, Any]], words: str
) -> None:
    before = checked(ethics_sheet(new))
    after = checked(ethics_sheet(changed(new, **tables)))
    assert words in after
    assert words not in before


GONE: list[tuple[dict[str, Any], str]] = [
    ({"typing_counts": False}, "how texts came about"),
    ({"training_pass": 0}, "they try examples for training"),
    ({"training_pass": 0}, "| examples for training: the share that was right"),
    ({"write_seconds": 0, "label_seconds": 0}, "and what took less than"),
    ({"pause_after": 0}, "asked to rest"),
    ({"instruction_checks": 0}, "instruction checks:"),
    ({"pay_write": 0, "pay_label": 0}, "pay lists by id"),
    ({"wage_floor": 15}, "OPEN: No least pay for an hour"),
    ({"consent": False}, "An answer of somebody who has not consented is refused"),
]


@pytest.mark.parametrize(("rounds", "words"), GONE, ids=str)
def test_what_is_turned_off_is_not_in_the_sheet(
    new: Campaign, rounds: dict[str, Any], words: str
) -> None:
    assert words in checked(ethics_sheet(new))
    assert words not in checked(ethics_sheet(changed(new, rounds=rounds)))


def test_platform_people_from_prolific_and_kinds(new: Campaign) -> None:
    text = checked(ethics_sheet(new, platform="label_studio"))
    assert "People work on Label Studio, on a server of the team." in text
    assert "OPEN: An account on Label Studio can do what the owner can" in text
    assert "The pages set one cookie" not in text
    assert "how texts came about" not in text
    tables = checked(ethics_sheet(new, platform="files"))
    assert "OPEN: How are tables sent to people and back" in tables
    crowd = checked(ethics_sheet(new, prolific=True))
    assert "made for them, or their number at Prolific and that of their submission." in crowd
    assert "numbers of the person and the submission at Prolific, when people came" in crowd
    neutral = checked(ethics_sheet(new, kinds=["neutral"]))
    assert "> Content warning. You will read stereotypes about groups of people." in neutral
    assert "You are asked to write down stereotypes" not in neutral
    told = "The neutral texts and their labels are not in the dataset."
    assert told in neutral
    assert told not in crowd
    assert "Prolific" not in tables
    only = ethics_sheet(new, kinds=["validation"]).text
    assert re.findall(r"^### (.+)$", only, re.MULTILINE) == ["Labelling sentences"]
    for wrong in ({"platform": "mturk"}, {"kinds": ["reviews"]}):
        with pytest.raises(CurationError, match=r"no (platform|kind)"):
            ethics_sheet(new, **wrong)  # type: ignore[arg-type]


def test_the_teams_answers_take_the_place_of_questions(new: Campaign) -> None:
    before = ethics_sheet(new)
    keys = ["harm", "groups", "personal_data", "recruitment", "pay", "funding", "team", "access"]
    new.folder("release").mkdir()
    lines = ['description = "A mirror. | # <b>"', "[answers]"]
    lines += [f'{key} = "Told of {key}."' for key in keys]
    (new.folder("release") / "statement.toml").write_text("\n".join(lines), "utf-8")
    after = ethics_sheet(new)
    text = checked(after)
    assert all(f"** Told of {key}." in text for key in keys)
    assert "**The dataset.** A mirror. \\| \\# &lt;b&gt;" in text
    assert len(after.open) == len(before.open) - len(keys) - 1
    assert set(after.open) < set(before.open)


def test_own_words_are_shown_and_another_licence_is_asked_about(tmp_path: Path) -> None:
    words = f'{STUDY}licence = "CC BY 4.0"\n[content_warning]\nlabel = "**Careful** here."\n'
    words += '[consent]\nlines = ["Only this, under {licence}."]\n'
    sheet = ethics_sheet(made(tmp_path / "c", study=words))
    text = checked(sheet)
    assert "> Careful here." in text
    assert "> - Only this, under CC BY 4.0." in text
    assert "People agree to the licence «CC BY 4.0», and the release is to have «CC BY-SA 4.0»" in (
        " ".join(sheet.open)
    )
    # Their own consent has no line on counts, so nothing is counted.
    assert "how texts came about" not in text


@pytest.mark.parametrize(
    ("language", "words", "rtl"),
    [("id", "Sebutkan", False), ("ja", "実在の人の名前", False), ("ar", "لا تذكر", True)],
)
def test_texts_are_those_of_the_campaigns_language(
    tmp_path: Path, language: str, words: str, rtl: bool
) -> None:
    sheet = ethics_sheet(made(tmp_path / "c", campaign={"language": language}))
    text = checked(sheet)
    assert f"The texts are in the language `{language}`." in text
    assert "Name no real person" not in text
    quoted = [line for line in text.splitlines() if line.startswith("> ")]
    assert len(quoted) > 50
    assert text.count('<div dir="rtl">') == text.count("</div>") == (rtl and text.count("<div"))
    assert sum("Which native speaker has read" in question for question in sheet.open) == 4


def test_a_language_without_texts_is_an_error_with_its_fix(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c", study="", campaign={"language": "sw"})
    (campaign.folder("rounds") / "text.toml").unlink()
    with pytest.raises(CurationError, match="no texts in the language 'sw'") as error:
        ethics_sheet(campaign)
    assert "curation rounds texts sw" in error.value.fix


# --- the command, and a campaign with rounds -----------------------------------------------------


def test_the_command_prints_or_writes_a_new_file(cli: Any, new: Campaign, tmp_path: Path) -> None:
    said = cli("rounds", "ethics", "-c", new.root)
    assert (said.code, said.out) == (0, ethics_sheet(new).text)
    assert said.err == "27 questions are open: look for OPEN\n"
    to = tmp_path / "board" / "sheet.md"
    assert cli("rounds", "ethics", "-c", new.root, "--to", to).out == ""
    assert to.read_text("utf-8") == said.out
    to.write_text("edited", "utf-8")
    again = cli("rounds", "ethics", "-c", new.root, "--to", to)
    assert (again.code, to.read_text("utf-8")) == (1, "edited")
    assert "exists already" in again.err
    assert cli("rounds", "ethics", "-c", new.root, "--kind", "x").code == 1
    # The commands of the sheet are real.
    commands = said.out.split("```sh\n")[1].split("```")[0].splitlines()
    assert len(commands) == 3
    for command in commands:
        done = cli(*command.replace("PERSON", "p-0").split()[1:], "-c", new.root)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("error: "), done.err


def test_a_round_shows_its_own_texts_pay_and_times(forked: Any, tmp_path: Path) -> None:
    desk = written(forked, tmp_path / "c", "baker", "potter")
    (desk.rounds / "text.toml").write_text(STUDY.replace("the Academy", "Others"), "utf-8")
    desk.set(pay_write=2.0)
    text = checked(ethics_sheet(desk.campaign, kinds=["intrasentence"]))
    assert "These are the texts of the round w." in text
    assert "- Institution: the Academy" in text
    assert "Others" not in text
    assert "People work on workbooks or tables" in text
    # Everybody took 60 seconds; the round's pay is still 0.
    assert "| Writing sentences with a gap | 60 | 0.00 | – |" in text
    assert "- Seconds for writing sentences with a gap: median of 4 answers." in text
    (desk.rounds / "annotators.csv").write_text("person,group\nann,x\n", "utf-8")
    assert "the group of a person" in checked(ethics_sheet(desk.campaign))


def test_nothing_secret_is_in_the_sheet(
    forked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = ("PROLIFIC_TOKEN", "LABEL_STUDIO_API_KEY", "OPENAI_API_KEY", "CURATION_ENDPOINT_KEY")
    for name in tokens:
        monkeypatch.setenv(name, f"secret-{name}")
    desk = Desk.make(forked, tmp_path / "c", ["baker", "potter"])
    desk.say("rounds", "open", "intrasentence", "--name", "r")
    desk.does("rounds", "links", "r", "--people", desk.listed("ann@example.invalid"))
    campaign = changed(
        open_campaign(desk.root),
        terms={"contact": "private@example.invalid", "endpoint": "https://wiki.invalid/sparql"},
        decisions={"leave_out": ["item-secret"]},
    )
    (row,) = read_csv(next(desk.rounds.glob("links-*.csv")))
    secrets = {value.rsplit("/", 1)[-1] for value in row.values() if value}
    secrets |= {*map("secret-{}".format, tokens), "private@", "wiki.invalid", "item-secret"}
    secrets |= {campaign.settings.campaign.id, "ann@", str(tmp_path)}
    key = key_path(campaign.settings.campaign.id).read_bytes()
    secrets |= {key.hex(), key.decode("latin-1").strip()}
    assert len(secrets) >= 10
    text = checked(ethics_sheet(campaign, prolific=True))
    assert [secret for secret in secrets if secret in text] == []
    assert "These are the texts of the round r." in text
    assert (
        json.loads((desk.rounds / "r" / "round.json").read_text("utf-8"))["kind"] in "intrasentence"
    )
