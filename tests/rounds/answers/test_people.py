"""People have keyed pseudonyms, and the key is safe."""

import hashlib
import hmac
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import Campaign
from curation.rounds.answers.people import key_path, make_key, pseudonyms, read_key
from support.expected import fails


@pytest.fixture
def own_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "own" / "keys"
    monkeypatch.setenv("CURATION_KEYS", str(folder))
    return folder


def test_a_key_is_made_once_for_its_owner_alone(own_keys: Path) -> None:
    path = make_key("c-1234")
    assert path == own_keys / "c-1234.key" == key_path("c-1234")
    modes = [stat.S_IMODE(place.stat().st_mode) for place in (path, own_keys)]
    assert modes == [0o600, 0o700]
    key = read_key("c-1234")
    assert len(key) == 32
    make_key("c-1234")
    assert read_key("c-1234") == key
    assert [p.name for p in own_keys.iterdir()] == ["c-1234.key"]
    assert read_key(make_key("c-5678").stem) != key


def test_a_key_that_others_can_read_is_refused(own_keys: Path) -> None:
    path = make_key("c-1234")
    for mode in (0o640, 0o604, 0o620):
        path.chmod(mode)
        with fails("others can read the key", fix=f"chmod 600 {path}"):
            read_key("c-1234")


def test_a_key_cut_short_is_refused(own_keys: Path) -> None:
    path = make_key("c-1234")
    for size in (0, 31):  # an empty key would make everybody's pseudonym guessable
        path.write_bytes(b"k" * size)
        with fails(str(path)):
            read_key("c-1234")


def test_a_key_that_is_not_there(own_keys: Path) -> None:
    with fails("key is not here", fix="CURATION_KEYS"):
        read_key("c-1234")


def test_a_pseudonym_is_the_keyed_digest_of_the_person() -> None:
    mac = hmac.new(b"key", b"worker 1", hashlib.sha256).hexdigest()
    assert pseudonyms(b"key")(" worker 1\n") == f"p-{mac[:16]}"
    assert pseudonyms(b"other")("worker 1") != pseudonyms(b"key")("worker 1")


@pytest.fixture
def imported(forked: Any, small: Any, campaign: Campaign, own_keys: Path) -> Path:
    """The key of a campaign with answers."""
    assert forked("import", "answers", small.writers, "-c", campaign.root).code == 0
    (key,) = own_keys.iterdir()
    return key


def test_a_lost_key_is_an_error_and_no_new_key(
    forked: Any, small: Any, campaign: Campaign, imported: Path, own_keys: Path, untouched: Any
) -> None:
    root, key = campaign.root, imported
    hidden = key.rename(own_keys.parent / "hidden")
    before = untouched(root)
    for command in (("import", "answers", small.validators), ("run",)):
        done = forked(*command, "-c", root)
        assert done.code == 1
        assert f"{key}: the campaign's key is not here" in done.err
        assert "copy it from where the first answers were imported" in done.err
        assert list(own_keys.iterdir()) == []
    results = [name for name in before if "/raw/" not in name]
    assert {name: untouched(root)[name] for name in results} == {n: before[n] for n in results}
    hidden.rename(key)
    assert forked("import", "answers", small.validators, "-c", root).code == 0


def test_another_key_is_noticed(forked: Any, campaign: Campaign, imported: Path) -> None:
    before = (campaign.folder("rounds") / "main" / "items.jsonl").read_bytes()
    imported.unlink()
    make_key(imported.stem)
    steps = json.loads(forked("status", "--json", "-c", campaign.root).out)["steps"]
    assert {s["step"]: s["state"] for s in steps}["answers"] == "out of date"
    # Everybody has another name now: visible, not silent.
    forked("run", "-c", campaign.root)
    assert (campaign.folder("rounds") / "main" / "items.jsonl").read_bytes() != before


def people_of(folder: Path) -> list[bytes]:
    """The platform's ids of all people in the example's tables."""
    found = {json.loads(x)["annotator"] for x in (folder / "pilot.jsonl").open(encoding="utf-8")}
    for name, delimiter, column in (("writers.csv", ",", 1), ("validators.csv", ";", 2)):
        lines = (folder / name).read_text("utf-8-sig").splitlines()[1:]
        found |= {line.split(delimiter)[column] for line in lines}
    return sorted({name.strip().encode() for name in found} - {b""})


def test_no_platform_id_is_in_a_file_that_git_would_take(example: Path, example_data: Path) -> None:
    names = people_of(example_data)
    assert len(names) >= 20
    raw = b"".join(path.read_bytes() for path in example.glob("2-rounds/*/raw/*"))
    assert all(name in raw for name in names)
    # .gitignore of a campaign: «raw answers name people: they stay here».
    ignored = (example / ".gitignore").read_text()
    assert "2-rounds/*/raw/\n" in ignored
    assert "tasks/\n" in ignored
    files = [path for path in example.rglob("*") if path.is_file()]
    kept = [path for path in files if not {"raw", "tasks"} & set(path.parts)]
    results = [*example.glob("2-rounds/*/items.jsonl"), *example.glob("2-rounds/*/labels.jsonl")]
    results += [path for path in example.glob("[37]-*/**/*") if path.is_file()]
    assert len(results) > 12
    assert set(results) <= set(kept)
    for path in kept:
        data = path.read_bytes()
        assert [name for name in names if name in data] == [], path


def test_published_human_ids_stay(example: Path) -> None:
    text = (example / "2-rounds" / "published" / "labels.jsonl").read_text("utf-8")
    names = [json.loads(line)["annotator"] for line in text.splitlines()]
    assert {name.startswith("earlier-human-") for name in names} == {True}
