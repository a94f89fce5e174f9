"""A check finds what is wrong with a release: one change at a time, in a folder that is right."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from curation.campaign.store import Campaign
from curation.files import CurationError
from curation.release.check_privacy import PHONE
from curation.release.checking import check, check_release, named_folder
from curation.released.findings import CODES, Finding, in_order, strictly
from curation.released.folder import list_files
from support import folders
from support.catsets import by_kind
from support.commands import ROOT, set_to
from support.desk import read_csv, write_csv
from support.expected import fails
from support.labelled import Desk
from support.mutate import mutate
from support.written import beside, items, lines, read

Change = Callable[[Path], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folders.write(tmp_path_factory.mktemp("made") / "1.0.0")


@pytest.fixture(scope="module")
def made_hidden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folders.write(tmp_path_factory.mktemp("hidden") / "1.0.0", hide=True)


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "1.0.0"))


def codes(findings: list[Finding], severity: str = "") -> set[str]:
    return {finding.code for finding in findings if severity in ("", finding.severity)}


def findings_of(folder: Path, code: str = "") -> list[Finding]:
    return [finding for finding in check(folder)[1] if code in ("", finding.code)]


# --- changes ----------------------------------------------------------------------------------


def change(act: Callable[..., object]) -> Callable[..., Change]:
    """Call what it decorates without the folder: gives the change, after which checksums hold."""

    def given(*args: Any, listed: bool = True, **how: Any) -> Change:
        def make(folder: Path) -> None:
            act(folder, *args, **how)
            if listed:
                folders.sums(folder)

        return make

    return given


@change
def edit(folder: Path, name: str, act: Callable[[Any], object]) -> None:
    """Change what a file of JSON, of lines of JSON, or a table holds."""
    path = folder / name
    content = {".csv": read_csv, ".jsonl": lines}.get(path.suffix, read)(path)
    act(content)
    {".csv": write_csv, ".jsonl": folders.put_lines}.get(path.suffix, folders.put)(path, content)


GONE = object()


def at(name: str, place: str, value: Any = GONE) -> Change:
    """Set what is at a place such as ``data.intersentence.0.id``; without a value it is removed."""
    *above, last = (int(part) if part.lstrip("-").isdigit() else part for part in place.split("."))

    def act(content: Any) -> None:
        for part in above:
            content = content[part]
        if value is GONE:
            del content[last]
        else:
            content[last] = value

    return edit(name, act)


@change
def edit_text(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text("utf-8")
    assert old in text
    folders.put(folder / name, text.replace(old, new))


@change
def add(folder: Path, name: str, content: str = "x\n") -> None:
    folders.put(folder / name, content)


def remove(name: str, place: str = "", **how: bool) -> Change:
    return at(name, place) if place else change(lambda folder: (folder / name).unlink())(**how)


@change
def cut(folder: Path, name: str) -> None:
    data = (folder / name).read_bytes()
    folders.put(folder / name, data[: len(data) // 2])


@change
def everywhere(folder: Path, act: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the CATs in all forms alike, so only other files tell."""
    cats = folders.cats()
    act(cats)
    folders.write(folder, items=cats)


def list_line(line: str) -> Change:
    def make(folder: Path) -> None:
        with (folder / "SHA256SUMS").open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    return make


def flip(item: dict[str, Any]) -> None:
    """Exchange two gold labels of a CAT."""
    a, b = item["sentences"][:2]
    a["gold_label"], b["gold_label"] = b["gold_label"], a["gold_label"]


def flip_first(content: Any) -> None:
    flip(content["data"]["intersentence"][0])


def change_after(folder: Path) -> None:
    folders.put(folder / "STATEMENT.md", "changed\n")


def number_ids(content: Any) -> None:
    numbers = iter(range(100))
    for kind in folders.KINDS:
        for item in content["data"][kind]:
            for sentence in item["sentences"]:
                sentence["id"] = f"o-{next(numbers)}"


def annotate_hidden(folder: Path) -> None:
    at("annotations.csv", "0.cat_id", items(folder / "test.json")[0]["id"])(folder)


INTER, HIDDEN = "data.intersentence.0", "cats/intrasentence-test.jsonl"
CHANGES: dict[str, tuple[Change, str, str]] = {
    "a file is changed after its checksums": (change_after, "file_changed", "STATEMENT.md"),
    "a link": (lambda f: (f / "notes.txt").symlink_to("/etc/hostname"), "not_plain", "notes.txt"),
    "a pipe": (lambda f: os.mkfifo(f / "pipe.json"), "not_plain", "pipe.json"),
    "a link to itself": (lambda f: (f / "loop").symlink_to("."), "not_plain", "loop"),
    "a name that is no text": (
        lambda f: (f / os.fsdecode(b"caf\xe9.json")).write_text("{}"),
        "not_plain", "caf\\udce9.json"),
    "gold labels differ in one form": (
        edit("dev.json", flip_first), "forms_differ", "baker-inter"),
    "gold labels against the votes": (
        everywhere(lambda cats: flip(cats[0])), "gold_undecided", "fewer than 3 votes"),
    "a tier against the votes": (
        everywhere(lambda cats: [cat.update(tier=5) for cat in cats]),
        "gold_undecided", "baker-inter has 5"),
    "a term in both splits": (
        everywhere(lambda cats: cats[4].update(split="dev")),
        "term_in_both", "1 of 2 terms of test: pilot"),
    "a family in both splits": (
        edit("terms.jsonl", lambda rows: [row.update(family="jobs") for row in rows]),
        "family_in_both", "jobs"),
    "only its owner may read a file": (
        lambda folder: (folder / "LICENSE").chmod(0o600), "mode", "LICENSE"),
}  # fmt: skip
HIDDEN_CHANGES: dict[str, tuple[Change, str, str]] = {
    "annotations": (annotate_hidden, "hidden_leak", "annotations.csv"),
    "numbered ids": (edit("test.json", number_ids), "hidden_order", ""),
    "the same commitment": (
        edit(HIDDEN, lambda rows: [row.update(commitment="0" * 64) for row in rows]),
        "commitment", "the same"),
}  # fmt: skip
ACTS = {
    "set": at,
    "remove": remove,
    "replace": edit_text,
    "write": add,
    "cut": cut,
    "sums": list_line,
}
for what, row in beside(__file__, "findings.toml").items():
    changes = HIDDEN_CHANGES if row.pop("hidden", False) else CHANGES
    code, detail = row.pop("finds", ("", ""))
    listed = {"listed": row.pop("listed")} if "listed" in row else {}
    ((act, args),) = row.items()
    changes[what] = (ACTS[act](*args, **listed), code, detail)


def test_a_release_that_is_right_has_no_findings(made: Path, made_hidden: Path) -> None:
    assert check_release(made) == []
    notes = [(f.code, f.severity, f.where) for f in check_release(made_hidden)]
    assert notes == [("not_read", "note", "hidden CATs")]


@pytest.mark.parametrize("what", [*CHANGES, *HIDDEN_CHANGES])
def test_a_change_is_found(made: Path, made_hidden: Path, tmp_path: Path, what: str) -> None:
    change, code, detail = (CHANGES | HIDDEN_CHANGES)[what]
    folder = Path(shutil.copytree(made if what in CHANGES else made_hidden, tmp_path / "1.0.0"))
    change(folder)
    found = findings_of(folder, code)
    if not code:  # it is no fault
        assert found == []
        return
    assert any(detail in f"{f.where} {f.detail}" for f in found), findings_of(folder)
    assert all(f.fix for f in found)
    assert found[0].severity == CODES[code].severity


PHONES = ("+44 20 7946 0958", "(202) 555-0123", "555-123-4567", "+12025550123")
NO_PHONES = ("2019 2020 1234", "from 1999-2000", "10 000 000", "c-1234567890", "item-123-456-7890")


@pytest.mark.parametrize("text", [*PHONES, *NO_PHONES])
def test_phone_numbers(text: str) -> None:
    assert bool(PHONE.search(f"Call {text} now.")) == (text in PHONES)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_lines_of_what_is_personal_do_not_depend_on_blocks(
    folder: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    lines = ["“é”", "555-123-", "4567", "٢٠٢-555-0123", "/home/ann", "a@b.org (202) 555-0123", ""]
    lines += ["https://ann:x@b.org/~ann", "+1 202-555-0123"]
    (folder / "more.csv").write_bytes("\n".join(lines).encode(encoding))

    def found() -> list[str]:
        return [f.detail for f in findings_of(folder) if f.where == "more.csv"]

    whole = found()
    for size in (1, 9, 40):
        monkeypatch.setattr("curation.released.folder.BLOCK", size)
        assert found() == whole
    assert whole[-5:] == [
        "a folder of somebody's computer: line 5",
        "e-mail addresses: line 6, line 8",
        "addresses with a name or a password: line 8",
        "phone numbers: line 4, line 6, line 9",
        "pages of people: line 8",
    ]


def test_an_anonymous_release_names_nobody(folder: Path) -> None:
    at("release.json", "anonymous", True)(folder)
    places = [f for f in check_release(folder) if f.code == "not_anonymous"]
    assert [f.where for f in places] == ["release.json", "the files"]
    assert "A. Team" in places[0].detail


# --- texts ----------------------------------------------------------------------------------------


def test_pitfalls_and_near_repeats_are_found(tmp_path: Path) -> None:
    cats = folders.cats()
    cats[3]["context"] = "No target here is BLANK."
    for sentence, word in zip(cats[3]["sentences"], "abc", strict=True):
        sentence["sentence"] = f"No target here is {word}."
    pilot = next(cat for cat in cats if cat["id"] == "pilot-inter")
    long = "My neighbour, whom I have known since we were at school together, and whose garden is "
    long += "next to mine, has worked for many years as a"
    cats[0]["context"], pilot["context"] = f"{long} baker.", f"{long} pilot."
    _, *texts = folders.JOBS["baker"]["intersentence"]
    for sentence, text in zip(pilot["sentences"], texts, strict=True):
        sentence["sentence"] = text
    found = check_release(folders.write(tmp_path / "x", items=cats))
    assert [f.where for f in found if f.code == "pitfall_blocks"] == ["target_missing"]
    near = next(f for f in found if f.code == "near_repeat")
    assert "pilot-inter and baker-inter" in near.detail
    assert codes(found, "block") == {"pitfall_blocks"}


def test_public_cats_that_the_test_set_repeats(folder: Path, tmp_path: Path) -> None:
    public = tmp_path / "public.json"
    shutil.copy(folder / "test.json", public)
    found = check_release(folder, against=[public, folder / "dev.json"])
    assert [(f.code, f.where) for f in found] == [("near_public", str(public))]
    assert found[0].detail.startswith("4 CATs: ")
    with fails("no such file"):
        check_release(folder, against=[tmp_path / "none.json"])


# --- another's release --------------------------------------------------------------------------


def test_another_release_in_the_layout_of_the_hub(made: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for kind in folders.KINDS:
        shutil.copytree(made / kind, other / kind)
    folders.put(other / "README.md", "---\nlicense: mit\n---\n# Cats\n")
    release, found = check(other)
    assert not release.ours
    assert {f.severity for f in found} == {"warn", "note"}
    assert {"no_checksums", "no_config", "card_incomplete", "part_missing"} <= codes(found)
    assert len(release.main) == 8


def test_another_release_as_a_repository(made: Path, tmp_path: Path) -> None:
    other = tmp_path / "repository"
    other.mkdir()
    shutil.copy(made / "dev.json", other / "dev.json")
    (other / "code.py").write_text("print()\n")
    folders.put(other / "predictions.json", {"intrasentence": [{"id": "a", "score": 1.0}]})
    release, found = check(other)
    assert len(release.main) == 4
    assert not codes(found, "block")
    assert any(f.code == "not_read" and f.where == "predictions.json" for f in found)
    at("dev.json", f"{INTER}.sentences.-1")(other)
    assert "not_a_cat" in codes(findings_of(other))


def test_votes_against_the_gold_label_are_a_warning(made: Path, tmp_path: Path) -> None:
    shutil.copy(made / "dev.json", tmp_path / "dev.json")
    edit("dev.json", flip_first)(tmp_path)
    found = findings_of(tmp_path, "gold_outvoted")[0]
    assert (found.severity, found.detail[:22]) == ("warn", "2 of 12 associations: ")


# --- what is no release -------------------------------------------------------------------------


def test_what_is_not_a_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with fails("is a file, not a folder"):
        check(folder / "dev.json")
    with fails("no such folder"):
        check(tmp_path / "none")
    with fails("the folder is empty"):
        check(tmp_path / "empty")
    with pytest.raises(CurationError, match=r"may not be read|no such folder"):
        check(Path("a\0b"))


def test_a_folder_without_cats(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    assert codes(findings_of(tmp_path), "block") == {"no_cats"}


DAMAGED = (
    *(b"", b"\xff\xfe", b"[" * 5000, b"{}", b"[1, 2]", b'"x"', b"null", b"\0"),
    *(b"---\n: :\n---\n", b"---\n1: 2030-99-99\n---\n", b"{}\n{}\n", b'{"data": {"x": [1]}}'),
)


@pytest.mark.parametrize("turn", range(2))
def test_damaged_files_are_findings(folder: Path, turn: int) -> None:
    """Every file in turn: a finding, and never a traceback."""
    names = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    for number, name in enumerate(names):
        before = (folder / name).read_bytes()
        content = DAMAGED[(5 * turn + number) % len(DAMAGED)]
        for damaged in (content, mutate(Random(f"{turn} {name}"), before, name.name)):
            (folder / name).write_bytes(damaged)
            found = findings_of(folder)
            assert found or damaged is not content, name
            assert all(f.fix and "\n" not in f.where for f in found)
        (folder / name).write_bytes(before)


# --- the table of codes, and the command ------------------------------------------------------


def test_every_code_is_in_the_docs_and_every_change_has_a_code() -> None:
    text = (ROOT / "docs" / "release.md").read_text("utf-8")
    section = text.split("## Check a release")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+?) \| .+ \|$", section, re.M)
    assert rows == [(code, a.severity, a.says) for code, a in CODES.items()]


def test_findings_are_sorted_and_strict_blocks_open_questions(folder: Path) -> None:
    at("release.json", "open", ["pay"])(folder)
    at("release.json", "annotations", 9)(folder)
    found = in_order(findings_of(folder))
    severities = [f.severity for f in found]
    assert severities == sorted(severities, key=["block", "warn", "note"].index)
    assert "open_question" in codes(strictly(found), "block")


def test_the_command(folder: Path, forked: Any) -> None:
    ran = forked("release", "check", folder)
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "0 findings: 0 block, 0 warn, 0 note")
    at("release.json", "open", ["pay"])(folder)
    assert forked("release", "check", folder).code == 0
    assert forked("release", "check", folder, "--strict").code == 1
    change_after(folder)
    ran = forked("release", "check", folder, "--json")
    told = json.loads(ran.out)
    assert (ran.code, told["counts"]) == (1, {"block": 1, "warn": 1, "note": 0})
    assert told["findings"][0]["code"] == "file_changed"
    ran = forked("release", "check", folder / "none")
    assert ran.code == 1
    assert "no such folder" in ran.err
    ran = forked("release", "check", folder, "--public", folder / "none")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"error: {folder / 'none'}: no such folder\nfix:   check the path\n"


def test_a_release_is_named_by_its_folder_or_its_version(
    campaign: Campaign, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    assert named_folder(str(folder), campaign.root) == folder
    assert named_folder("1.0.0", campaign.root) == Path("1.0.0")
    with fails("version 0.1.0 is not built"):
        named_folder("", campaign.root)
    shutil.copytree(folder, campaign.folder("release") / "0.1.0")
    assert named_folder("", campaign.root) == named_folder("0.1.0", campaign.root)
    with pytest.raises(CurationError, match=r"2\.0: no such folder, and .* no campaign\.toml"):
        named_folder("2.0", folder)


def test_files_of_version_control_are_left_out(folder: Path) -> None:
    folders.put(folder / ".git" / "HEAD", "x")
    release, _ = check(folder)
    assert ".git/HEAD" not in release.files
    assert list(list_files(release)) == []


def test_yaml_that_grows_without_end_is_read_in_time(folder: Path) -> None:
    """Each line has the line before nine times: as a text, the last has a billion letters."""
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    front = "\n".join((*lines, "license: *a9", "language: *a9", "configs: *a9"))
    folders.put(folder / "README.md", f"---\n{front}\n---\n# Cats\n")
    folders.put(folder / "CITATION.cff", "\n".join((*lines, "title: *a9")))
    assert {"licence_differs", "citation"} <= codes(findings_of(folder))


@pytest.mark.parametrize(
    "value", ["!!bool x", "!!timestamp x", '!!int ""', "2001-12-14t21:59:43-99:99", "!!python/x y"]
)
def test_values_that_yaml_cannot_read_are_findings(folder: Path, value: str) -> None:
    folders.put(folder / "README.md", f"---\nlicense: {value}\n---\n# Cats\n")
    folders.put(folder / "CITATION.cff", f"title: {value}")
    found = [f for f in findings_of(folder) if f.code in ("card_yaml", "citation")]
    assert [f.detail.startswith("not YAML") for f in found] == [True, True]


def test_paths_of_a_card_that_grow_without_end_are_read_in_time(folder: Path) -> None:
    paths = ",".join(f"x{n}" for n in range(4000))
    every = ",".join(["*b"] * 6000)
    front = f"a: &a [{paths}]\nb: &b {{data_files: *a}}\nconfigs: [{every}]"
    folders.put(folder / "README.md", f"---\n{front}\n---\n# Cats\n")
    assert "file_missing" in codes(findings_of(folder))


def test_an_anonymous_release_with_damaged_parquet_or_long_words_is_searched(folder: Path) -> None:
    at("release.json", "anonymous", True)(folder)
    (folder / "x.parquet").write_bytes(b"PAR1")
    (folder / "long.txt").write_text("x" * 50_000 + "\n/home/somebody/x\n", "utf-8")
    (place,) = [f for f in check_release(folder) if f.where == "the files"]
    assert "long.txt line 2: /home/somebody/x" in place.detail


def test_the_language_is_a_releases_else_a_campaigns(
    forked: Any, campaign: Campaign, tmp_path: Path
) -> None:
    items = folders.cats()[:2]
    for item in items:
        item["sentences"][0]["sentence"] += " A orange is a fruit."
    folder, gold = tmp_path / "theirs", tmp_path / "theirs" / "dev.json"
    set_to(campaign.root, 'language = "en"', 'language = "id"')

    def english(about: Any, where: Path) -> bool:
        folders.put(gold, {"version": "1", "curation": about, "data": by_kind(items)})
        found = check_release(folder, campaign=where)
        return "article_wrong" in next(f.detail for f in found if f.code == "pitfalls")

    assert english({}, tmp_path)  # no campaign is here
    assert english({"language": "en"}, campaign.root)
    assert not english({"language": "id"}, tmp_path)
    assert not english({}, campaign.root)
    assert "article_wrong" not in forked("release", "check", folder, "-c", campaign.root).out


def test_parquet_without_pyarrow_is_a_note(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curation.released.folder.find_spec", lambda name: None)
    found = findings_of(folder)
    assert {(f.code, f.severity) for f in found} == {("not_read", "note")}
    assert {f.fix for f in found} == {"pip install 'curation[parquet]'"}


# --- what we build --------------------------------------------------------------------------------

ACTIONS = {"pitfalls", "baseline", "open_question", "no_address", "card_incomplete", "near_repeat"}
"""Findings about texts and answers of the team; everything else would be a fault of the build."""

outside = pytest.mark.outside  # six releases are built


@outside
@pytest.mark.parametrize(
    "name",
    [
        *("example_release", "example_hidden", "example_anonymous"),
        *("arabic_release", "japanese_release"),
    ],
)
def test_built_releases(demo: object, request: pytest.FixtureRequest, name: str) -> None:
    _, findings = check(request.getfixturevalue(name))
    assert {f.code for f in findings if f.severity != "note"} <= ACTIONS


@outside
def test_revealed_gold_labels_are_checked_as_the_release_was(
    forked: Any, example_hidden: Path, tmp_path: Path
) -> None:
    desk = Desk(forked, example_hidden.parents[1]).copy(tmp_path / "c")
    desk.reveal()
    # It is right also with targets that contexts name by old names.
    done = desk.free("release", "check", desk.revealed, "--public", example_hidden, "--json")
    found = {row["code"] for row in json.loads(done.out)["findings"] if row["severity"] != "note"}
    assert found <= {"pitfalls", "baseline"}


@outside
def test_a_file_that_is_there_twice_is_named(arabic_release: Path, tmp_path: Path) -> None:
    for name in ("dev.json", "dev-copy.json"):
        shutil.copyfile(arabic_release / "dev.json", tmp_path / name)
    _, findings = check(tmp_path)
    (found,) = (f for f in findings if f.code == "file_repeated")
    assert found.severity == "warn"
    assert found.where == "dev-copy.json and dev.json"
