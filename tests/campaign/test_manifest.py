"""A step's results are written together; the manifest says how they were made."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.manifest import Results, changes, digests, read_manifest, run_step
from curation.files import CurationError
from support.expected import fails

STATE: dict[str, Any] = {"algorithm": 1, "settings": {"k": [1]}, "inputs": {"a": "sha"}}
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2


def work(results: Results) -> dict[str, int]:
    results.lines("one.txt", [b"a", b"bc"])
    results.json("deep/two.json", {"x": 1})
    return {"in": 2, "out": 2}


def changed(folder: Path, step: str = "step", **change: Any) -> list[str]:
    """What has changed since a step ran, in alphabetical order."""
    return sorted(changes(read_manifest(folder).steps[step], folder, **(STATE | change)))


def files(folder: Path) -> dict[str, bytes]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_a_step_leaves_its_results_and_how_they_came_about(tmp_path: Path) -> None:
    folder = tmp_path / "3"
    assert read_manifest(folder).steps == {}  # never run
    run = run_step(Results(folder), "step", work, **STATE)
    assert list(files(folder)) == ["deep/two.json", "manifest.json", "one.txt"]
    assert run == read_manifest(folder).steps["step"]
    assert (run.outputs["one.txt"], run.counts) == (ABC, {"in": 2, "out": 2})
    assert (run.settings, run.inputs) == (STATE["settings"], STATE["inputs"])
    assert changed(folder) == []


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"algorithm": 2}, ["the step itself"]),
        ({"settings": {}}, ["k"]),
        ({"settings": {"k": [1], "more": None}}, ["more"]),
        ({"inputs": {"a": "other"}}, ["a"]),
        ({"inputs": {"b": ""}}, ["a", "b"]),
    ],
)
def test_any_change_makes_it_out_of_date(
    tmp_path: Path, change: dict[str, Any], names: list[str]
) -> None:
    run_step(Results(tmp_path), "step", work, **STATE)
    assert changed(tmp_path, **change) == names


@pytest.mark.parametrize(
    "harm",
    [lambda p: p.unlink(), lambda p: p.write_bytes(b"abd"), lambda p: (p.unlink(), p.mkdir())],
)
def test_a_lost_or_damaged_result_makes_it_out_of_date(tmp_path: Path, harm: Any) -> None:
    run_step(Results(tmp_path), "step", work, **STATE)
    harm(tmp_path / "one.txt")
    assert changed(tmp_path) == [f"{tmp_path.name}/one.txt"]


def test_a_step_that_fails_leaves_the_last_results_and_nothing_hidden(tmp_path: Path) -> None:
    def lines() -> Any:
        yield b"first"
        raise ZeroDivisionError

    def failing(results: Results) -> dict[str, int]:
        results.lines("one.txt", lines())
        return {}

    def refusing(results: Results) -> dict[str, int]:
        results.lines("one.txt", [b"new"])
        raise CurationError("no", "try again")

    with pytest.raises(ZeroDivisionError):
        run_step(Results(tmp_path), "step", failing, **STATE)
    assert files(tmp_path) == {}
    run_step(Results(tmp_path), "step", work, **STATE)
    before = files(tmp_path)
    with fails("no"):
        run_step(Results(tmp_path), "step", refusing, **STATE)
    assert files(tmp_path) == before


def into_a_folder(results: Results, *, stops: bool = False) -> dict[str, int]:
    folder = results.new_folder("v1")
    (folder / "one.txt").write_bytes(b"abc")
    (folder / "deep").mkdir()
    (folder / "deep" / "two.txt").write_bytes(b"abc")
    if stops:
        raise CurationError("no", "try again")
    return {}


def test_a_folder_appears_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    with fails("no"):
        run_step(
            Results(tmp_path), "step", lambda results: into_a_folder(results, stops=True), **STATE
        )
    assert list(tmp_path.iterdir()) == []
    run = run_step(Results(tmp_path), "step", into_a_folder, **STATE)
    assert list(files(tmp_path)) == ["manifest.json", "v1/deep/two.txt", "v1/one.txt"]
    assert run.outputs == {"v1/deep/two.txt": ABC, "v1/one.txt": ABC}
    assert changed(tmp_path) == []


def test_a_folder_that_exists_only_gets_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1" / "one.txt").write_bytes(b"mine")
    run_step(Results(tmp_path), "step", into_a_folder, **STATE)
    assert files(tmp_path / "v1") == {"deep/two.txt": b"abc", "one.txt": b"mine"}


def test_steps_share_a_folder(tmp_path: Path) -> None:
    run_step(Results(tmp_path), "b", work, **STATE)
    run_step(Results(tmp_path), "a", lambda results: {}, **STATE)
    assert list(read_manifest(tmp_path).steps) == ["a", "b"]
    assert changed(tmp_path, "b") == []


@pytest.mark.parametrize(
    ("data", "says"),
    [
        *((data, "manifest.json") for data in (b"", b"{", b'{"steps": {"a": 1}}', b'{"stages": {}}',
                                               b"\xff")),
        *((data, "manifest.json, field 'steps': not a valid")
          for data in (b"{}", b'{"steps": 1}', b'{"Steps": {}}')),
    ],
)  # fmt: skip
def test_a_damaged_manifest_is_an_error_with_a_fix(tmp_path: Path, data: bytes, says: str) -> None:
    (tmp_path / "manifest.json").write_bytes(data)
    with fails(says, fix="delete the file; the steps will run again"):
        read_manifest(tmp_path)


TEXT = "not a valid manifest: Input should be a valid string"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: c.update(steps=[]), ", field 'steps': not a valid"),
        (lambda c: c["steps"].update(one=1), ", step 'one': not a valid"),
        (lambda c: c["steps"]["one"].pop("counts"),
         ", step 'one', field 'counts': not a valid manifest: Field required"),
        (lambda c: c["steps"]["one"]["inputs"].update(a=5),
         f", step 'one', field 'inputs.a': {TEXT}"),
        # Results are files of the folder: otherwise an erasure could delete any file.
        (lambda c: c["steps"]["one"]["outputs"].update({"../mine.txt": ""}),
         ", step 'one', field 'outputs': '../mine.txt' is not the name of a file in this folder"),
        *((lambda c, name=name: c["steps"]["one"]["outputs"].update({name: ""}),
           ", step 'one', field 'outputs': ")
          for name in ("", "/etc/x", "..", "a/../../x", "x" * 300, "a\0b")),
    ],
)  # fmt: skip
def test_damage_names_step_and_field(
    tmp_path: Path, change: Callable[[Any], object], says: str
) -> None:
    run_step(Results(tmp_path), "one", work, **STATE)
    path = tmp_path / "manifest.json"
    content = json.loads(path.read_bytes())
    change(content)
    path.write_text(json.dumps(content), "utf-8")
    with fails(f"{path}{says}"):
        read_manifest(tmp_path)


def test_digests_are_by_name_and_empty_for_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    found = digests({"z": tmp_path / "none", "a": tmp_path / "x"})
    assert json.dumps(found) == json.dumps({"a": ABC, "z": ""})
