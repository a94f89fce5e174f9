"""A step's results are written together; the manifest says how they were made."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from curation.files import CurationError
from curation.work.manifest import Results, digests, is_current, read_manifest, run_step

STATE: dict[str, Any] = {"algorithm": 1, "settings": {"k": [1]}, "inputs": {"a": "sha"}}
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2


def work(results: Results) -> dict[str, int]:
    results.lines("one.txt", [b"a", b"bc"])
    results.json("deep/two.json", {"x": 1})
    return {"in": 2, "out": 2}


def files(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_a_step_leaves_its_results_and_how_they_came_about(tmp_path: Path) -> None:
    run = run_step(tmp_path / "3", "step", work, **STATE)
    assert files(tmp_path / "3") == ["deep/two.json", "manifest.json", "one.txt"]
    assert run == read_manifest(tmp_path / "3").steps["step"]
    assert run.outputs["one.txt"] == ABC
    assert (run.counts, run.settings, run.inputs) == (
        {"in": 2, "out": 2},
        STATE["settings"],
        STATE["inputs"],
    )
    assert is_current(tmp_path / "3", "step", **STATE)


@pytest.mark.parametrize(
    "change", [{"algorithm": 2}, {"settings": {}}, {"inputs": {"a": "other"}}, {"inputs": {}}]
)
def test_any_change_makes_it_out_of_date(tmp_path: Path, change: dict[str, Any]) -> None:
    run_step(tmp_path, "step", work, **STATE)
    assert not is_current(tmp_path, "step", **(STATE | change))


@pytest.mark.parametrize("harm", [lambda p: p.unlink(), lambda p: p.write_bytes(b"abd")])
def test_a_lost_or_damaged_result_makes_it_out_of_date(tmp_path: Path, harm: Any) -> None:
    run_step(tmp_path, "step", work, **STATE)
    harm(tmp_path / "one.txt")
    assert not is_current(tmp_path, "step", **STATE)


def test_what_was_never_run_is_not_current(tmp_path: Path) -> None:
    assert not is_current(tmp_path, "step", **STATE)
    assert not is_current(tmp_path / "nowhere", "step", **STATE)


def test_a_step_that_fails_leaves_the_last_results(tmp_path: Path) -> None:
    run_step(tmp_path, "step", work, **STATE)
    before = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}

    def fails(results: Results) -> dict[str, int]:
        results.lines("one.txt", [b"new"])
        raise CurationError("no")

    with pytest.raises(CurationError):
        run_step(tmp_path, "step", fails, **STATE)
    assert {name: (tmp_path / name).read_bytes() for name in files(tmp_path)} == before


def test_a_source_that_fails_in_the_middle_leaves_nothing_hidden(tmp_path: Path) -> None:
    def lines() -> Any:
        yield b"first"
        raise ZeroDivisionError

    def fails(results: Results) -> dict[str, int]:
        results.lines("one.txt", lines())
        return {}

    with pytest.raises(ZeroDivisionError):
        run_step(tmp_path, "step", fails, **STATE)
    assert files(tmp_path) == []


def into_a_folder(results: Results, *, fails: bool = False) -> dict[str, int]:
    folder = results.new_folder("v1")
    (folder / "one.txt").write_bytes(b"abc")
    (folder / "deep").mkdir()
    (folder / "deep" / "two.txt").write_bytes(b"abc")
    if fails:
        raise CurationError("no")
    return {}


def test_a_folder_appears_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(CurationError):
        run_step(tmp_path, "step", lambda results: into_a_folder(results, fails=True), **STATE)
    assert list(tmp_path.iterdir()) == []
    run = run_step(tmp_path, "step", into_a_folder, **STATE)
    assert files(tmp_path) == ["manifest.json", "v1/deep/two.txt", "v1/one.txt"]
    assert run.outputs == {"v1/deep/two.txt": ABC, "v1/one.txt": ABC}
    assert is_current(tmp_path, "step", **STATE)


def test_a_folder_that_exists_only_gets_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1" / "one.txt").write_bytes(b"mine")
    run_step(tmp_path, "step", into_a_folder, **STATE)
    assert (tmp_path / "v1" / "one.txt").read_bytes() == b"mine"
    assert (tmp_path / "v1" / "deep" / "two.txt").read_bytes() == b"abc"
    assert files(tmp_path) == ["manifest.json", "v1/deep/two.txt", "v1/one.txt"]


def test_steps_share_a_folder(tmp_path: Path) -> None:
    run_step(tmp_path, "b", work, **STATE)
    run_step(tmp_path, "a", lambda results: {}, **STATE)
    assert list(read_manifest(tmp_path).steps) == ["a", "b"]
    assert is_current(tmp_path, "b", **STATE)


@pytest.mark.parametrize("data", [b"", b"{", b'{"steps": {"a": 1}}', b'{"stages": {}}', b"\xff"])
def test_a_damaged_manifest_is_an_error_with_a_fix(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(data)
    with pytest.raises(CurationError, match=r"manifest.json[:,] ") as caught:
        read_manifest(tmp_path)
    assert caught.value.fix == "delete the file; the steps will run again"


@pytest.mark.parametrize("data", [b"{}", b'{"steps": 1}', b'{"Steps": {}}'])
def test_a_damaged_manifest_without_steps_names_their_field(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(data)
    with pytest.raises(CurationError, match=r"manifest\.json, field '[Ss]teps': not a valid"):
        read_manifest(tmp_path)


def test_a_damaged_manifest_names_the_step_and_the_field(tmp_path: Path) -> None:
    run_step(tmp_path, "one", work, **STATE)
    path = tmp_path / "manifest.json"
    good = json.loads(path.read_bytes())

    def named(change: Callable[[dict[str, Any]], object]) -> str:
        content = copy.deepcopy(good)
        change(content)
        path.write_text(json.dumps(content), "utf-8")
        with pytest.raises(CurationError) as caught:
            read_manifest(tmp_path)
        return caught.value.what.removeprefix(str(path))

    assert named(lambda c: c.update(steps=[])).startswith(", field 'steps': not a valid")
    assert named(lambda c: c["steps"].update(one=1)).startswith(", step 'one': not a valid")
    assert named(lambda c: c["steps"]["one"].pop("counts")).startswith(
        ", step 'one', field 'counts': not a valid manifest: Field required"
    )
    assert named(lambda c: c["steps"]["one"]["inputs"].update(a=5)).startswith(
        ", step 'one', field 'inputs.a': not a valid manifest: Input should be a valid string"
    )
    assert named(lambda c: c["steps"]["one"]["outputs"].update({"../mine.txt": ""})).startswith(
        ", step 'one', field 'outputs': '../mine.txt' is not the name of a file in this folder"
    )


@pytest.mark.parametrize("name", ["", "/etc/x", "..", "a/../../x", "x" * 300, "a\0b"])
def test_results_are_files_of_the_folder(tmp_path: Path, name: str) -> None:
    """Otherwise an erasure could delete any file."""
    run_step(tmp_path, "one", work, **STATE)
    path = tmp_path / "manifest.json"
    content = json.loads(path.read_bytes())
    content["steps"]["one"]["outputs"][name] = ""
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(CurationError, match="step 'one', field 'outputs'"):
        read_manifest(tmp_path)


def test_a_result_that_is_a_folder_is_not_current(tmp_path: Path) -> None:
    run_step(tmp_path, "one", work, **STATE)
    for name in list(read_manifest(tmp_path).steps["one"].outputs):
        (tmp_path / name).unlink()
        (tmp_path / name).mkdir()
    assert not is_current(tmp_path, "one", **STATE)


def test_digests_are_by_name_and_empty_for_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    found = digests({"z": tmp_path / "none", "a": tmp_path / "x"})
    assert json.dumps(found) == json.dumps({"a": ABC, "z": ""})
