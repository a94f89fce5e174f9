"""Whatever a TOML file that people write contains, its error names the file and the line."""

from pathlib import Path
from typing import Any

import pytest

from curation.campaign.settings import Settings, read_settings, write_setting
from curation.files import CurationError
from curation.formats.toml_files import with_setting
from curation.rounds.platforms.pages import read_own
from support.expected import fails

HEAD = '[campaign]\nid = "c-1234"\n'  # what a test adds begins at line 3
LONG = "9" * 5000

ABSURD = {
    "20 digits": (f"seed = {'9' * 20}\n", " line 3, campaign.seed: "),
    "20 digits of a count": (f"[terms]\nleast = {'9' * 20}\n", " line 4, terms.least: "),
    "5,000 digits": (f"seed = {LONG}\n", " line 3: a number has over 1000 digits"),
    "5,000 digits behind others": (f"[terms]\n\nleast = 1{LONG}\n", " line 5: a number has"),
    "deep arrays": (f"[terms]\ngeneric = {'[' * 5000}{']' * 5000}\n", " line 4"),
    "deep tables": (f"[terms]\ngeneric = {'{a=' * 3000}1{'}' * 3000}\n", " line 4"),
    "not a number": ("[rounds]\nwrite_seconds = nan\n", " line 4, rounds.write_seconds: "),
    "infinite": ("[rounds]\npay_label = inf\n", " line 4, rounds.pay_label: "),
    "a large float": ("[measures]\nsmoothing = 1e300\n", " line 4, measures.smoothing: "),
    "many votes": ("[decisions]\nof = 2000000000\n", " line 4, decisions.of: "),
    "a long text": (f'[rounds]\ncurrency = "{"x" * 999}"\n', " line 4, rounds.currency: "),
    "a long list": (f"[release]\naccept = [{'1,' * 100_001}]\n", " line 4, release.accept"),
    "a long item": (f'[terms]\ngeneric = ["Q{LONG}"]\n', " line 4"),
    "many domains": ("".join(f"[domains.d{n}]\n" for n in range(101)), ", domains: "),
    "a large file": ("# comment\n" * 200_000, ": has more than 1 MiB"),
    "a zero byte": ('name = "a\0b"\n', "line 3"),
    "the same key twice": ("seed = 1\nseed = 2\n", "line 4"),
    "no such day": ("seed = 2026-13-45\n", "line 3"),
}


@pytest.mark.parametrize(("text", "place"), ABSURD.values(), ids=ABSURD.keys())
def test_absurd_settings_are_one_clear_error(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text(HEAD + text, "utf-8")
    with fails(place) as caught:
        read_settings(path)
    assert caught.value.what.startswith(str(path))
    assert len(caught.value.what) < 1000
    assert caught.value.fix


def unbounded(schema: Any, where: str = "") -> list[str]:
    """The parts of a JSON Schema that have no largest value or length."""
    if isinstance(schema, list):
        return [name for part in schema for name in unbounded(part, where)]
    if not isinstance(schema, dict):
        return []
    number = {"maximum", "exclusiveMaximum"}
    limits = {"integer": number, "number": number, "string": {"maxLength", "pattern"},
              "array": {"maxItems"}}.get(str(schema.get("type")), set())  # fmt: skip
    named = limits and not (limits | {"enum", "const"}) & schema.keys()
    return [where] * bool(named) + [
        name for key, part in schema.items() for name in unbounded(part, f"{where}/{key}")
    ]


def test_every_setting_has_a_largest_value_or_length() -> None:
    assert unbounded(Settings.model_json_schema()) == []


def test_texts_for_annotators_are_read_by_the_same_reader(tmp_path: Path) -> None:
    path = tmp_path / "text.toml"
    for text in (f"a = {LONG}\n", f"a = {'[' * 5000}"):
        path.write_text(f"[page]\n{text}", "utf-8")
        with pytest.raises(CurationError, match=r"text\.toml line 2: "):
            read_own("en", path)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('[release]  # r\nhide = "" # h\n', '[release]  # r\nhide = "labels" # h\n'),
        ("[release]\n# hide = \"\"\nhide = ''", '[release]\n# hide = ""\nhide = "labels"'),
        ('[release]\nhide = """\n"""\n', '[release]\nhide = "labels"\n'),
        ("[ release ]\nversion = '1'\n", "[ release ]\nversion = '1'\nhide = \"labels\"\n"),
        ('["release"]\r\nn = 1\r\n', '["release"]\r\nn = 1\r\nhide = "labels"\r\n'),
        ("[a]\nb = 1 # last", '[a]\nb = 1 # last\n[release]\nhide = "labels"\n'),
        ("release = { n = 1 }\n[a]\n", 'release = { n = 1, hide = "labels"}\n[a]\n'),
        ("release = {}\n", 'release = {hide = "labels"}\n'),
        ("release.n = 1\n[a]\n", 'release.n = 1\nrelease.hide = "labels"\n[a]\n'),
        ('[a]\nt = """\n[release]\n"""\n',
         '[a]\nt = """\n[release]\n"""\n\n[release]\nhide = "labels"\n'),
    ],
)  # fmt: skip
def test_a_setting_is_written_and_nothing_else_changes(before: str, after: str) -> None:
    assert with_setting(before, "release", "hide", "labels") == after
    assert with_setting(after, "release", "hide", "labels") == after


def test_a_setting_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text("[release]\n", "utf-8")
    path.symlink_to(path.rename(tmp_path / "elsewhere.toml"))
    fix = 'add hide = "labels" to [release] yourself, then run this again'
    with fails('hide = "labels" in [release] could not be', fix=fix):
        write_setting(path, "release", "hide", "labels")
    assert path.read_text("utf-8") == "[release]\n"
