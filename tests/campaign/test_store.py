"""``campaign.toml`` is validated; a campaign's folder is made once and locked by one command."""

import inspect
import tomllib
from pathlib import Path

import pytest

from curation.campaign.datasets import ITEMS
from curation.campaign.settings import (
    PAPER,
    CampaignSettings,
    DecisionSettings,
    DomainSettings,
    Settings,
    TermSettings,
    new_id,
    read_settings,
    settings_text,
)
from curation.campaign.store import Campaign, create_campaign, open_campaign
from curation.files import CurationError
from support.written import beside

# Lines 1 to 7; what a test adds begins at line 8.
TOP = "[domains.b]\ntop = 1\n"
GROUPS = "[groups.b]\nlists = {x = 'x.txt', y = 'y.txt'}\n"
HEAD = """[campaign]
id = "c-1234"
name = "n"
language = "en"
seed = 3
[domains.a]

"""


def read(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "campaign.toml"
    path.write_text(text, "utf-8")
    return read_settings(path)


def wrong(tmp_path: Path, text: str) -> CurationError:
    with pytest.raises(CurationError) as caught:
        read(tmp_path, text)
    assert caught.value.what.startswith(str(tmp_path / "campaign.toml"))
    assert caught.value.fix
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "key", "fix"),
    [
        ("[decisions]\n\nneded = 3\n", 10, "decisions.neded", "did you mean 'needed'?"),
        ("[decisons]\nneeded = 3\n", 8, "decisons", "did you mean 'decisions'?"),
        ("[agreement]\nconfident = 0.9\n", 9, "agreement.confident", "did you mean 'confidence'?"),
        ("[split]\nxyz = 1\n", 9, "split.xyz", "see docs/settings.md"),
        ("[release]  # comment\nlicense = 'x'\n", 9, "release.license", "did you mean 'licence'?"),
        ("[terms]\nfallback = ['en']\n", 9, "terms.fallback", "did you mean 'fallbacks'?"),
        ("[domains.b]\n\nmincount = 3\n", 10, "domains.b.mincount", "did you mean 'min_count'?"),
        (f"{TOP}[domains.c]\nroot = []\n", 11, "domains.c.root", "did you mean 'roots'?"),
        ('[domains."b c"]\ntop = 1\nroot = []\n', 10, "domains.b c.root", "did you mean 'roots'?"),
    ],
)
def test_an_unknown_setting(tmp_path: Path, text: str, line: int, key: str, fix: str) -> None:
    error = wrong(tmp_path, HEAD + text)
    assert error.what.endswith(f" line {line}, {key}: no such setting")
    assert error.fix == fix


@pytest.mark.parametrize(
    ("text", "line", "key", "says"), beside(__file__, "settings_out_of_range.toml")["wrong"]
)
def test_a_setting_out_of_range(tmp_path: Path, text: str, line: int, key: str, says: str) -> None:
    error = wrong(tmp_path, HEAD + text)
    assert f" line {line}, {key}: " in error.what
    assert says in error.what
    advice = "use " if says == "is not valid" else "see docs/settings.md"
    assert error.fix.startswith(advice)
    for table, folder in (("[groups.", "6-trust/"), ("words", "1-terms/")):
        assert (folder in error.fix) == (table in text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\nneeded = 3\n" + HEAD, " line 2, needed: no such setting"),
        (HEAD.replace('"c-1234"', '"No Id"'), " line 2, campaign.id: "),
        (HEAD.replace('"en"', '"English"'), " line 4, campaign.language: "),
        (HEAD.replace("seed = 3", "seed = -1"), " line 5, campaign.seed: "),
        # As it was written once.
        (HEAD.replace("seed = 3", 'domains = ["a", "b"]'), " line 5, campaign.domains: "),
        (HEAD.replace("[domains.a]", "[domains]"), " line 6, domains: "),
        (HEAD.replace("[domains.a]", '[domains."b/c"]'), " line 6, domains.b/c: "),
        (HEAD.replace("id = ", "# "), "campaign.id: Field required"),
        ("[split]\ndev = 0.5\n", "campaign: Field required"),
        (" \n", "is empty"),
    ],
)
def test_a_file_that_is_not_that_of_a_campaign(tmp_path: Path, text: str, says: str) -> None:
    assert says in wrong(tmp_path, text).what


def test_broken_toml(tmp_path: Path) -> None:
    error = wrong(tmp_path, HEAD + "[split]\ndev = \n")
    assert "line 9" in error.what
    assert error.fix == "see docs/settings.md for the format"


def test_what_is_written_reads_back_and_explains_every_setting(tmp_path: Path) -> None:
    made = Settings(
        campaign=CampaignSettings(id=new_id(), name='«B» "x" \\ é'),
        domains={
            "a": DomainSettings(properties=("P106",), population=("P27=Q252",), coverage=0.5),
            'b «c» "d"': DomainSettings(),
            "race": DomainSettings(),  # not what the paper has, and yet read back as written
        },
        terms=TermSettings(contact="a@example.org", generic=()),
        decisions=DecisionSettings(needed=4, rounds=("r 1",), match_intent=True),
    )
    text = settings_text(made)
    assert read(tmp_path, text) == made
    tables = tomllib.loads(text)
    domains = tables.pop("domains")
    assert list(domains) == list(made.domains)
    sections = [*((getattr(made, name), table) for name, table in tables.items())]
    sections += [(made.domains[name], table) for name, table in domains.items()]
    for section, table in sections:
        fields = type(section).model_fields
        assert list(table) == list(fields)
        for field in fields.values():
            assert text.count(f"# {field.description}\n") == 1  # a domain's at the first


def test_settings_have_defaults_and_domains_begin_as_in_the_paper(tmp_path: Path) -> None:
    read_back = read(tmp_path, '[campaign]\nid = "c-1234"\n')
    assert read_back == Settings(campaign=CampaignSettings(id="c-1234"))
    domains = read(tmp_path, HEAD + "[domains.profession]\ntop = 50\n[domains.gender]\n").domains
    assert list(domains) == ["a", "profession", "gender"]
    # 120 professions in the paper, of P106; one value is changed, all others stay.
    assert domains["profession"] == DomainSettings.model_validate(PAPER["profession"] | {"top": 50})
    assert domains["profession"].properties == ("P106",)
    assert domains["gender"].words == ("gender.csv",)
    assert domains["a"] == DomainSettings()
    # ACL §4.1, Table 1: target terms by domain; the words of gender are a list.
    domains = read(tmp_path, HEAD.replace("[domains.a]", "")).domains
    assert {name: domain.top for name, domain in domains.items()} == {
        "gender": 0, "profession": 120, "race": 149, "religion": 12,
    }  # fmt: skip


# --- the folder ---------------------------------------------------------------------------------


def test_what_people_sent_stays_out_of_git(campaign: Campaign) -> None:
    ignored = (campaign.root / ".gitignore").read_text().splitlines()
    names = ("tasks.jsonl", "items.jsonl", "rejected.jsonl")  # texts of people, and what they meant
    assert {f"2-rounds/*/{name}" for name in ("raw/", *names)} <= set(ignored)


def lock(campaign: Campaign) -> None:
    with campaign.lock():
        pass


def test_the_lines_that_an_older_campaign_lacks_are_added(campaign: Campaign) -> None:
    path = campaign.root / ".gitignore"
    before = b"secrets.env\n2-rounds/*/raw/\n!2-rounds/*/items.jsonl\n\xff"
    path.write_bytes(before)
    lock(campaign)
    after = path.read_bytes()
    assert after.startswith(before)
    added = after.removeprefix(before).decode().split()
    assert "2-rounds/*/tasks.jsonl" in added
    assert "2-rounds/*/raw/" not in added
    assert "2-rounds/*/items.jsonl" not in added  # the team wants it in its repository
    lock(campaign)
    assert path.read_bytes() == after
    path.unlink()
    lock(campaign)
    assert "2-rounds/*/items.jsonl" in path.read_text("utf-8").splitlines()


def test_the_modes_of_private_files_are_repaired(campaign: Campaign, tmp_path: Path) -> None:
    folder = campaign.folder("rounds") / "main"
    (folder / "raw").mkdir(parents=True)
    private = [*(folder / f"{name}.jsonl" for name in ("tasks", "items", "rejected", "raw/x"))]
    private += [campaign.folder("rounds") / f"{name}.jsonl" for name in ("people", "standing")]
    shared, elsewhere = folder / "labels.jsonl", tmp_path / "elsewhere"
    for path in (*private, shared, elsewhere):
        path.write_bytes(b"")
        path.chmod(0o644)
    (folder / "pitfalls.jsonl").symlink_to(elsewhere)
    lock(campaign)
    assert {path.stat().st_mode & 0o777 for path in private} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (shared, elsewhere)} == {0o644}


def test_no_campaign_here(tmp_path: Path) -> None:
    with pytest.raises(CurationError, match=r"no campaign\.toml here") as caught:
        open_campaign(tmp_path)
    assert str(tmp_path) in caught.value.what
    assert "curation init DIR" in caught.value.fix


def test_a_file_where_the_folder_should_be(tmp_path: Path, campaign: Campaign) -> None:
    (tmp_path / "file").write_text("x")
    for place in (tmp_path / "file", tmp_path / "file" / "sub"):
        with pytest.raises(CurationError, match="cannot be written") as caught:
            create_campaign(place, campaign.settings)
        assert caught.value.fix == "choose a folder that you can write to"


def test_the_lock_is_held_by_one_and_given_back_after_a_failure(campaign: Campaign) -> None:
    other = open_campaign(campaign.root)
    with campaign.lock():
        with pytest.raises(CurationError, match="in use by «a Python program»"):
            lock(other)
        assert (campaign.root / ".lock-holder").exists()
    lock(other)
    assert not (campaign.root / ".lock-holder").exists()
    with pytest.raises(ZeroDivisionError), campaign.lock():
        raise ZeroDivisionError
    lock(campaign)


def test_rounds_are_those_with_answers(campaign: Campaign) -> None:
    assert campaign.round_names() == []
    for name in ("b/raw/x.jsonl", "a/items.jsonl"):
        path = campaign.folder("rounds") / name
        path.parent.mkdir(parents=True)
        path.touch()
    (campaign.folder("rounds") / "empty" / "raw").mkdir(parents=True)
    assert campaign.round_names() == ["a", "b"]


def test_tools_can_look_at_the_class() -> None:
    assert Campaign.items is ITEMS
    assert {"items", "tasks"} <= dict(inspect.getmembers(Campaign)).keys()


def test_ids_of_campaigns_are_new_and_valid() -> None:
    assert len({CampaignSettings(id=new_id()).id for _ in range(50)}) == 50
