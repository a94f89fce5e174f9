"""«curation board check»: the place of files, and the check of a forge on proposals, attacked."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

import curation
from curation.board.submitting import check_files
from support.commands import run, well
from support.hosting import Hosted, host, submission, submit
from support.rows import refused

WORKFLOW = Path(curation.__file__).parent / "board" / "templates" / "check.yml"


@pytest.fixture
def hosted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosted:
    hosted = host(tmp_path, cats=4, terms=2)
    monkeypatch.chdir(hosted.board.root)
    return hosted


def codes(hosted: Hosted, *names: str) -> dict[str, list[str]]:
    found = check_files(hosted.board, names, proposal=True)
    return {name: [error.code for error in errors] for name, errors in found.items()}


def test_a_file_is_accepted_or_refused_with_the_exit_status(hosted: Hosted) -> None:
    good, bad = submit(hosted, submission(hosted, hosted.scores()), submission(hosted, None))
    os.chdir("/")  # the board is found from the file
    assert "001.json: accepted" in well("board", "check", good).out
    ran = run("board", "check", good, bad)
    assert ran.code == 1
    assert "002.json line 1: there is no «scores», and the test set has 12 assoc" in ran.err
    assert "(no_scores)" in ran.err
    assert "(already_submitted)" in ran.err
    assert "1 of 2 files would be refused" in ran.err


def test_a_proposal_may_only_add_files_of_submissions(hosted: Hosted, tmp_path: Path) -> None:
    submit(hosted, submission(hosted, hosted.scores()))
    folder = hosted.board.submissions
    good = (folder / "001.json").read_bytes()
    (folder / "link.json").symlink_to(folder / "001.json")
    (folder / "folder.json").mkdir()
    os.mkfifo(folder / "pipe.json")
    (folder / "below").mkdir()
    for name in ("below/a.json", ".hidden.json", "a b.json", "a.JSON", "a.json\n", "ä.json"):
        (folder / name).write_bytes(good)
    names = sorted(str(path.relative_to(hosted.board.root)) for path in folder.rglob("*"))
    assert codes(hosted, *names, "submissions", "submissions/gone.json", "submissions/\0.json") == {
        "submissions": ["outside"],
        "submissions/.hidden.json": ["not_plain"],
        "submissions/001.json": [],
        "submissions/a b.json": ["not_plain"],
        "submissions/a.JSON": ["not_plain"],
        "'submissions/a.json\\n'": ["not_plain"],
        "submissions/below": ["not_plain"],
        "submissions/below/a.json": ["outside"],
        "submissions/folder.json": ["not_plain"],
        "submissions/gone.json": ["removed"],
        "'submissions/\\x00.json'": ["removed"],
        "submissions/link.json": ["not_plain"],
        "submissions/pipe.json": ["not_plain"],
        "submissions/ä.json": ["not_plain"],
    }
    (tmp_path / "001.json").write_bytes(good)
    outside = ("board.toml", "../001.json", "submissions/../submissions/001.json", "/etc/passwd")
    workflow = ".github/workflows/check.yml"
    results = codes(hosted, *outside, workflow, "results/log.jsonl", "--help", "-")
    assert set(map(tuple, results.values())) == {("outside",)}
    assert len(results) == 8
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert codes(hosted, "submissions/001.json") == {"submissions/001.json": ["not_plain"]}


def test_what_the_log_has_may_not_change(hosted: Hosted) -> None:
    about = submission(hosted, hosted.scores())
    path, other = submit(hosted, about, about | {"model": "other"})
    digest = sha256(path.read_bytes()).hexdigest()
    hosted.board.append([refused(path.name, "not_approved", submission=digest)])
    names = "submissions/001.json", "submissions/002.json"
    assert codes(hosted, *names) == {name: [] for name in names}
    path.write_bytes(path.read_bytes() + b"\n")
    other.write_text(json.dumps(about))
    assert codes(hosted, *names) == {names[0]: ["changed"], names[1]: []}


def test_two_files_of_one_model_are_one_too_many(hosted: Hosted) -> None:
    about = submission(hosted, hosted.scores())
    submit(hosted, about, about | {"by": "Ben Example"}, about | {"revision": "2"})
    names = [f"submissions/00{n}.json" for n in (1, 2, 3)]
    found = check_files(hosted.board, names, proposal=True)
    assert [[error.code for error in errors] for errors in found.values()] == [
        *([], ["already_submitted"], [])
    ]
    assert "submissions/002.json and 001.json: another file has" in found[names[1]][0].what


def test_nonsense_of_200_mb_is_refused_unread(hosted: Hosted) -> None:
    path = hosted.board.submissions / "large.json"
    with path.open("wb") as file:
        file.truncate(200_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert codes(hosted, "submissions/large.json") == {"submissions/large.json": ["too_large"]}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KB


def steps() -> list[dict[str, Any]]:
    (job,) = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    assert job["defaults"]["run"]["shell"] == "bash"  # with pipefail
    return list(job["steps"])


def test_the_workflow_has_no_secret_and_may_not_write() -> None:
    content = yaml.safe_load(WORKFLOW.read_text())
    assert content[True] == "pull_request"  # YAML reads the key «on» as true
    assert content["permissions"] == {"contents": "read"}
    python, install, checkout, check = steps()
    assert checkout["with"]["persist-credentials"] is False
    for step in (python, checkout):  # a commit, which nobody can move as a tag
        assert len(step["uses"].partition("@")[2]) == 40
    assert install["env"] == {"CURATION": ""}
    assert "curation==" not in WORKFLOW.read_text()
    for value, code in (("", 1), ("curation @ https://a.example/curation-1.whl#sha256=0", 0)):
        ran = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", f'pip() {{ echo "$@"; }}; {install["run"]}'],
            env={"CURATION": value, "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (min(ran.returncode, 1), ran.stdout) == (code, f"install {value}\n" if value else "")
    assert "secrets" not in WORKFLOW.read_text().replace("has secrets", "")
    assert "${{" not in install["run"] + check["run"]  # nothing of a proposal becomes shell


def git(*words: str) -> str:
    about = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    ran = subprocess.run(["git", *about, *words], check=True, capture_output=True, text=True)
    return ran.stdout.strip()


def propose(files: Sequence[tuple[str, bytes]], **commits: str) -> Any:
    """What the workflow's check says of a proposal that adds these files."""
    git("checkout", "-q", "-B", "proposal", "main")
    for name, content in files:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    git("add", "-A")
    git("commit", "-qm", "proposal")
    tool = Path(".git/tool/curation")
    tool.parent.mkdir(exist_ok=True)
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m curation "$@"\n')
    tool.chmod(0o755)
    place = {"PATH": f"{tool.parent.resolve()}:{os.environ['PATH']}", "PYTHONSAFEPATH": "1"}
    place |= {"PYTHONPATH": str(Path(curation.__file__).parents[1])}
    place |= {"BASE": git("rev-parse", "main"), "HEAD": git("rev-parse", "proposal")}
    return subprocess.run(  # as GitHub runs «shell: bash»
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", steps()[-1]["run"]],
        env={**os.environ, **place, **commits},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_shell_of_the_workflow_is_safe_from_names_of_files(
    hosted: Hosted, tmp_path: Path
) -> None:
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "board")
    good = json.dumps(submission(hosted, hosted.scores())).encode()
    ran = propose([("submissions/a.json", good)])
    assert (ran.returncode, ran.stdout) == (0, "submissions/a.json: accepted\n")
    assert propose([("submissions/b.json", good)], BASE="0" * 40).returncode == 128  # git's
    hostile = [
        *("submissions/$(touch ../pwned).json", "submissions/`touch ..pwned`.json"),
        *("submissions/a\n::warning::x.json", "submissions/a b.json", "-rf", "--help", "--"),
        *("submissions/'\"; touch pwned; '.json", "submissions/--board=x.json", "curation.py"),
        *(".github/workflows/check.yml", ".gitattributes", "submissions/\x1b[2J.json"),
    ]
    settings = ("board.toml", Path("board.toml").read_bytes() + b"# mine\n")
    ran = propose([*((name, good) for name in hostile), settings])
    assert ran.returncode == 123  # of xargs, if a command failed
    assert ran.stdout == ""
    assert f"{len(hostile) + 1} of {len(hostile) + 1} files would be refused" in ran.stderr
    assert not [line for line in ran.stderr.splitlines() if line.startswith("::")]
    assert not list(tmp_path.rglob("*pwned"))
