"""People have keyed pseudonyms, and the key is safe."""

import hashlib
import hmac
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import Campaign
from curation.files import CurationError
from curation.rounds.people import fingerprint, key_path, make_key, pseudonyms, read_key


@pytest.fixture
def own_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "own" / "keys"
    monkeypatch.setenv("CURATION_KEYS", str(folder))
    return folder


def test_a_key_is_made_once_for_its_owner_alone(own_keys: Path) -> None:
    path = make_key("c-1234")
    assert path == own_keys / "c-1234.key" == key_path("c-1234")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(own_keys.stat().st_mode) == 0o700
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
        with pytest.raises(CurationError, match="others can read the key") as caught:
            read_key("c-1234")
        assert caught.value.fix == f"chmod 600 {path}"


def test_a_key_cut_short_is_refused(own_keys: Path) -> None:
    path = make_key("c-1234")
    for size in (0, 31):  # an empty key would make everybody's pseudonym guessable
        path.write_bytes(b"k" * size)
        with pytest.raises(CurationError, match=str(path)):
            read_key("c-1234")


def test_a_key_that_is_not_there(own_keys: Path) -> None:
    with pytest.raises(CurationError, match="key is not here") as caught:
        read_key("c-1234")
    assert "CURATION_KEYS" in caught.value.fix


def test_a_pseudonym_is_the_keyed_digest_of_the_person() -> None:
    mac = hmac.new(b"key", b"worker 1", hashlib.sha256).hexdigest()
    assert pseudonyms(b"key")(" worker 1\n") == f"p-{mac[:16]}"
    assert pseudonyms(b"other")("worker 1") != pseudonyms(b"key")("worker 1")
    assert fingerprint(b"key") != fingerprint(b"other")


def test_a_lost_key_is_an_error_and_no_new_key(
    forked: Any, small: Any, campaign: Campaign, own_keys: Path, untouched: Any
) -> None:
    root = campaign.root
    assert forked("import", "answers", small.writers, "-c", root).code == 0
    (key,) = own_keys.iterdir()
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


def test_another_key_is_noticed(
    forked: Any, small: Any, campaign: Campaign, own_keys: Path
) -> None:
    root = campaign.root
    assert forked("import", "answers", small.writers, "-c", root).code == 0
    before = (campaign.rounds / "main" / "items.jsonl").read_bytes()
    (key,) = own_keys.iterdir()
    key.unlink()
    make_key(key.stem)
    steps = json.loads(forked("status", "--json", "-c", root).out)["steps"]
    assert {s["step"]: s["state"] for s in steps}["answers"] == "out of date"
    # Everybody has another name now: visible, not silent.
    forked("run", "-c", root)
    assert (campaign.rounds / "main" / "items.jsonl").read_bytes() != before


def people_of(folder: Path) -> list[bytes]:
    """The platform's ids of all people in the example's tables."""
    found = set()
    for name, delimiter, column in (("writers.csv", ",", 1), ("validators.csv", ";", 2)):
        for line in (folder / name).read_text("utf-8-sig").splitlines()[1:]:
            cells = line.split(delimiter)
            found |= {cells[column].strip()}
    for line in (folder / "pilot.jsonl").read_text("utf-8").splitlines():
        found |= {json.loads(line)["annotator"].strip()}
    return sorted(name.encode() for name in found if name)


def test_no_platform_id_leaves_the_raw_answers(example: Path, example_data: Path) -> None:
    names = people_of(example_data)
    assert len(names) >= 20
    raw = b"".join(path.read_bytes() for path in example.glob("2-rounds/*/raw/*"))
    assert all(name in raw for name in names)
    results = [*example.glob("2-rounds/*/items.jsonl"), *example.glob("2-rounds/*/labels.jsonl")]
    results += [path for path in example.glob("[37]-*/**/*") if path.is_file()]
    assert len(results) > 12
    for path in results:
        data = path.read_bytes()
        assert [name for name in names if name in data] == [], path


def test_no_platform_id_is_in_a_file_that_git_would_take(example: Path, example_data: Path) -> None:
    # .gitignore of a campaign: «raw answers name people: they stay here».
    ignored = (example / ".gitignore").read_text()
    assert "2-rounds/*/raw/\n" in ignored
    assert "tasks/\n" in ignored
    names = people_of(example_data)
    kept = (p for p in example.rglob("*") if p.is_file() and not {"raw", "tasks"} & set(p.parts))
    for path in kept:
        data = path.read_bytes()
        assert [name for name in names if name in data] == [], path


def test_published_human_ids_stay(example: Path) -> None:
    text = (example / "2-rounds" / "published" / "labels.jsonl").read_text("utf-8")
    annotators = {json.loads(line)["annotator"] for line in text.splitlines()}
    assert annotators
    assert all(name.startswith("earlier-human-") for name in annotators)
