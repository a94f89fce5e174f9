"""The built wheel, in a fresh environment, without the checkout: the whole flow runs from it."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WEB = "curation/rounds/platforms/web"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT],
        check=True,
        capture_output=True,
    )
    return next(out.glob("*.whl"))


def test_the_wheel_carries_what_the_tool_needs(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("schemas", "annotation_configs", "data"):
        files = [p for p in (ROOT / folder).rglob("*") if p.is_file()]
        assert files
        assert {f"curation/_shipped/{p.relative_to(ROOT).as_posix()}" for p in files} <= names
    assert "curation/release/lm_eval_metrics.py" in names
    pages = [p for p in (ROOT / WEB).rglob("*") if p.suffix in {".html", ".css", ".js"}]
    assert {path.suffix for path in pages} == {".html", ".css", ".js"}
    assert {path.relative_to(ROOT).as_posix() for path in pages} <= names
    assert any("/data/licences/" in name for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("licenses/NOTICE") for name in names)
    assert not [name for name in names if name.startswith("tests/")]


@pytest.mark.environment
def test_a_pipeline_runs_from_the_wheel_in_a_fresh_environment(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    env["CURATION_KEYS"] = str(tmp_path / "keys")

    def run(program: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [home / "bin" / program, *words],
            cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done

    install = ("install", "--quiet", "-c", ROOT / "constraints.txt")
    run("pip", *install, wheel)
    done = run("curation", "demo", "made")
    assert "\nNo release is built: a release has Parquet files, which need pyarrow" in done.stdout
    again = run("curation", "run", "-c", "made", "--json")
    assert '"ran": true' not in again.stdout
    assert "release: a release has Parquet files" in " ".join(again.stderr.split())
    run("pip", *install, f"{wheel}[parquet]")
    run("curation", "release", "build", "-c", "made")
    assert (tmp_path / "made/7-release/0.1.0/SHA256SUMS").exists()
