"""Each row of a board is a file of Every Eval Ever, which its package accepts.

The package asks for Python 3.12 and for more packages than its command needs, so it is installed
alone, with those that the command imports, in an environment of its own (about 60 MB).
``$CURATION_EVERY_EVAL_EVER`` names the python of another one.
"""

import json
import subprocess
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from jsonschema import Draft7Validator

from curation import __version__
from curation.board import every_eval
from curation.board.building import build
from curation.board.scoring import score
from curation.campaign.settings import Hide
from support import environments
from support.hosting import BOARD_ID, TODAY, host, score_here, submission, submit
from support.rows import made, rechecked, scored

PACKAGE = ("every-eval-ever==0.3.0",)
NEEDED = ("pydantic==2.14.4", "PyYAML==6.0.4", "requests==2.34.2", "rich==14.3.4")

LINE = scored("made-up/tiny", 72, revision="1f", format="float16", submission="ab" * 32)
BOARD = made(LINE, rechecked(LINE), hide="labels", rows=3)
SET = BOARD["sets"][0]
ROW = SET["rankings"][0]["rows"][0]
CELL = ROW["values"]["overall"]


def content(*rows: dict[str, Any], **about: Any) -> dict[str, Any]:
    """What ``results/board.json`` has, with one test set and these rows."""
    rankings = [{"profile": "default", "ranked": len(rows), "rows": [ROW | row for row in rows]}]
    return {**BOARD, "sets": [{**SET, "rankings": rankings, **about}]}


def sealed(*rows: dict[str, Any]) -> dict[str, Any]:
    """The same for a sealed test set, whose rows have kinds and domains."""
    parts = {"kinds": {"intrasentence": CELL}, "domains": {"hobby": CELL | {"icat_ci": None}}}
    values = {"values": {"overall": CELL, **parts}, "recheck": None, "state": "run-by-owner"}
    return content(*({**values, **row} for row in rows), hide="all")


def read(board: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {path: json.loads(data) for path, data in every_eval.files(board)}


def test_a_row_says_what_was_measured_by_whom_and_how() -> None:
    ((path, file),) = read(content({})).items()
    place = "results/every_eval_ever/data/Made-up/made-up/tiny/"
    assert path == f"{place}abababab-abab-4bab-abab-abababababab.json"
    assert file["schema_version"] == "0.3.0"
    assert file["evaluation_timestamp"] == "1796083200"  # 1 December 2026
    assert file["retrieved_timestamp"] == "1796169600"  # the day of the recheck
    assert file["source_metadata"] == {
        "source_name": "A made-up board",
        "source_organization_name": "A made-up board",
        "source_type": "documentation",
        "evaluator_relationship": "other",
        "additional_details": {
            "state": "rechecked",
            "by": "Ann Example",
            "link": "https://example.org/tiny",
            "how": "with curation",
            "submission": "ab" * 32,
            "scored_by": "the submitter",
            "board": BOARD_ID,
            "contact": "board@example.org",
            "recheck_date": "2026-12-02",
            "recheck_agrees": "true",
            "recheck_cats": "59",
            "recheck_orders": "0",
            "recheck_beyond": "0",
            "recheck_largest": "1.2e-06",
            "recheck_revision": "1f",
        },
    }
    assert file["eval_library"] == {"name": "curation", "version": __version__}
    assert file["model_info"]["id"] == file["model_info"]["name"] == "made-up/tiny"
    assert file["model_info"]["developer"] == "made-up"
    about = file["model_info"]["additional_details"]
    assert (about["revision"], about["dtype"]) == ("1f", "float16")


def test_each_metric_has_its_interval_and_says_what_is_better() -> None:
    (file,) = read(content({})).values()
    found = {each["evaluation_result_id"]: each for each in file["evaluation_results"]}
    assert list(found) == ["all/lms", "all/ss", "all/icat"]
    for name, ideal in {"lms": "100", "ss": "50", "icat": "100"}.items():
        result = found[f"all/{name}"]
        assert result["evaluation_name"] == "Made up 0.1.0, all"
        assert result["score_details"]["score"] == CELL[name]
        assert result["score_details"]["details"] == {"cats": "200", "terms": "20"}
        interval = result["score_details"]["uncertainty"]["confidence_interval"]
        assert [interval["lower"], interval["upper"]] == CELL[f"{name}_ci"]
        assert interval["confidence_level"] == 0.95
        metric = result["metric_config"]
        assert (metric["min_score"], metric["max_score"]) == (0, 100)
        assert metric["additional_details"]["ideal"] == ideal
        assert ("polarity" in metric["additional_details"]) is (name == "ss")
        assert result["generation_config"]["additional_details"] == {
            "rule_intrasentence": "ll-bos",
            "rule_intersentence": "conditional",
            "profile": "default",
        }
        assert result["source_data"]["additional_details"] == {
            **{"version": "0.1.0", "language": "en", "cats": "200", "terms": "20"},
            **{"opened": "2026-11-26", "split": "test", "hidden": "labels"},
        }


def test_a_sealed_row_also_has_kinds_and_domains() -> None:
    (file,) = read(sealed({})).values()
    found = {each["evaluation_result_id"]: each for each in file["evaluation_results"]}
    parts = ("all", "intrasentence", "domain hobby")
    assert list(found) == [f"{part}/{name}" for part in parts for name in ("lms", "ss", "icat")]
    assert "uncertainty" not in found["domain hobby/icat"]["score_details"]
    assert file["source_metadata"]["additional_details"]["scored_by"] == "the owner of the board"
    assert file["source_metadata"]["additional_details"]["state"] == "run-by-owner"
    assert file["retrieved_timestamp"] == file["evaluation_timestamp"]


ODD = ("../../../etc/passwd", "a/..", "con/nul.x", "data/data", "a/b.", "ſ/x", "a\\b/<b>", "A/" * 9)


def test_no_name_leads_out_of_the_folder() -> None:
    names = [*ODD, "", "x" * 5000, "日本語/模型"]
    rows = [{"model": name, "submission": f"{n:032x}" * 2} for n, name in enumerate(names)]
    board = content(*rows, dataset="../日本語")
    paths = list(read(board))
    assert len(set(paths)) == len(names)
    for path in paths:
        parts = PurePosixPath(path).parts
        assert parts[:3] == ("results", "every_eval_ever", "data")
        assert len(parts) == 7
        assert all(part.isascii() and part not in (".", "..", "con") for part in parts)
        assert all(len(part) <= 100 and not part.endswith(".") for part in parts)


def test_the_same_board_gives_the_same_bytes() -> None:
    board = content({}, {"submission": "cd" * 32})
    assert list(every_eval.files(board)) == list(every_eval.files(deepcopy(board)))


# --- the package ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def theirs() -> Path:
    named = "CURATION_EVERY_EVAL_EVER"
    return environments.python("every-eval-ever", NEEDED, named=named, alone=PACKAGE)


def validate(python: Path, root: Path, files: dict[str, dict[str, Any]]) -> tuple[int, list[Any]]:
    """The status of the package's own command, and what it says of each file."""
    for path, file in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(json.dumps(file), "utf-8")
    command = [python, "-P", "-m", "every_eval_ever", "validate", "--format", "json"]
    paths = [str(root / path) for path in files]
    done = subprocess.run([*command, *paths], capture_output=True, encoding="utf-8", check=False)
    return done.returncode, json.loads(done.stdout)


def boards() -> dict[str, dict[str, Any]]:
    """The files of a board with hidden labels and of a sealed one."""
    differs = {"submission": "cd" * 32, "recheck": ROW["recheck"] | {"agrees": False}}
    plain = {"submission": "ef" * 32, "recheck": None, "link": "", "how": ""}
    return read(content({}, differs, plain)) | read(sealed({"submission": "12" * 32}))


@pytest.mark.environment
def test_the_package_accepts_each_file(theirs: Path, tmp_path: Path) -> None:
    status, reports = validate(theirs, tmp_path, boards())
    assert [(each["valid"], each["errors"], each["warnings"]) for each in reports] == (
        [(True, [], [])] * 4
    )
    assert status == 0


@pytest.mark.environment
def test_the_package_warns_that_a_model_names_no_organization(theirs: Path, tmp_path: Path) -> None:
    status, (report,) = validate(theirs, tmp_path, read(content({"model": "tiny"})))
    assert status == 2
    assert (report["valid"], report["errors"]) == (True, [])
    (warning,) = report["warnings"]
    assert "model_info.developer is required" in warning["msg"]


@pytest.mark.environment
def test_the_schema_of_the_package_accepts_each_file(theirs: Path) -> None:
    code = "from every_eval_ever.schema import schema_text; print(schema_text())"
    done = subprocess.run([theirs, "-P", "-c", code], capture_output=True, check=True)
    schema = json.loads(done.stdout)
    assert schema["version"] == "0.3.0"
    check = Draft7Validator(schema)
    for file in boards().values():
        assert [error.message for error in check.iter_errors(file)] == []
        for plant, _ in FAULTS[:-1]:
            changed = deepcopy(file)
            plant(changed)
            assert not check.is_valid(changed)


def put(value: Any, *place: str | int) -> Callable[[Any], None]:
    def plant(file: Any) -> None:
        for name in place[:-1]:
            file = file[name]
        file[place[-1]] = value

    return plant


FIRST = ("evaluation_results", 0)
FAULTS: tuple[tuple[Callable[[Any], None], str], ...] = (
    (put("nobody", "source_metadata", "evaluator_relationship"), "first_party"),
    (put(200, *FIRST, "score_details", "details", "cats"), "string"),
    (put({"lower_is_better": False, "score_type": "continuous"}, *FIRST, "metric_config"), "min_"),
    (put(1, "more"), "not permitted"),
    (put(100.1, *FIRST, "score_details", "score"), "is outside [min_score=0, max_score=100]"),
)
"""Faults, and what the package says of each; its schema knows of all but the last."""


@pytest.mark.environment
def test_the_package_refuses_planted_faults(theirs: Path, tmp_path: Path) -> None:
    rows = [{"submission": f"{number:032x}" * 2} for number in range(len(FAULTS))]
    files = read(content(*rows))
    for (plant, _), file in zip(FAULTS, files.values(), strict=True):
        plant(file)
    status, reports = validate(theirs, tmp_path, files)
    assert status == 1
    for (_, says), report in zip(FAULTS, reports, strict=True):
        assert report["valid"] is False
        assert says in " ".join(error["msg"] for error in report["errors"])


@pytest.mark.environment
@pytest.mark.parametrize("hide", ["labels", "all"])
def test_the_package_accepts_the_files_of_a_built_board(
    theirs: Path, tmp_path: Path, hide: Hide
) -> None:
    hosted = host(tmp_path, hide=hide)
    for seed, model in enumerate(("org/one", "org/two")):
        scores = hosted.scores(seed)
        submit(hosted, submission(hosted, scores if hide == "labels" else None, model=model))
        if hide == "all":
            score_here(hosted, scores, model=model)
    score(hosted.board, hosted.campaign, today=TODAY)
    build(hosted.board)
    files = sorted(map(str, (hosted.board.root / every_eval.FOLDER).rglob("*.json")))
    assert len(files) == 2
    command = [str(theirs), "-P", "-m", "every_eval_ever", "validate", *files]
    assert subprocess.run(command, check=False).returncode == 0
