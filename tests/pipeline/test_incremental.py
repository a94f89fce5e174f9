"""Old results play no part: after any edits, bringing up to date gives what a clean start gives."""

import shutil
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, get_args

import pytest
from filelock import FileLock

from curation.campaign.settings import Settings
from curation.measures import keywords
from curation.text import times
from support import edits

HERE, OUTSIDE = range(3), range(3, 35)
"""Seeds of ``make test`` and ``make test-outside``; ``benchmarks/incremental.py`` plays others."""
KEPT = (
    *("campaign.toml", ".*", "1-terms/edits.csv", "1-terms/trades.txt", "1-terms/facts.json"),
    *(f"1-terms/{name}.jsonl" for name in ("counts", "entities", "imported", "unreadable")),
    *("2-rounds/text.toml", "2-rounds/segments.json", "2-rounds/*/raw/*.jsonl"),
    *(f"2-rounds/*/{name}" for name in ("round.json", "tasks.jsonl", "texts.json", "asked.json")),
    *("2-rounds/*/dealt.jsonl", "2-rounds/*/consent-*.md", "4-measures/counts.tsv", "5-scores/*"),
    *("6-trust/*.csv", "6-trust/*.txt", "6-trust/attest.toml", "6-trust/runs/*", "tasks/*"),
    *("7-release/statement.toml", "7-release/built.jsonl", "7-release/0.1.0/*"),
)
"""Inputs and history: all that a clean start may have."""


@pytest.fixture(scope="module")
def built(shared: Path, keys: Path) -> Path:
    """The campaign, built once for all workers."""
    folder, ready = shared / "edited", shared / "edited.ready"
    with FileLock(shared / "edited.lock"):
        if not ready.exists():
            shutil.rmtree(folder, ignore_errors=True)
            (folder / "keys").mkdir(parents=True)
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("CURATION_KEYS", str(folder / "keys"))
                edits.build(folder / "campaign")
            ready.touch()
    return folder / "campaign"


@pytest.fixture
def played(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> edits.Edited:
    """A copy of the campaign, without edits."""
    monkeypatch.setenv("CURATION_KEYS", str(built.with_name("keys")))
    edits.commands.load()
    return edits.Edited(built, tmp_path, 0)


@pytest.mark.long
@pytest.mark.parametrize(
    "seed", [*HERE, *(pytest.param(seed, marks=pytest.mark.outside) for seed in OUTSIDE)]
)
def test_incremental_equals_clean(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv("CURATION_KEYS", str(built.with_name("keys")))
    edits.play(built, tmp_path, seed)


@pytest.mark.long
def test_a_step_that_reads_what_it_does_not_declare_is_found(
    played: edits.Edited, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = keywords.keywords

    def timed(*args: Any, **how: Any) -> Any:
        return {**measure(*args, **how), "day": times.now()[:10]}

    monkeypatch.setattr(keywords, "keywords", timed)
    (played.root / "4-measures" / "keywords.json").unlink()
    for name in ("all", "time"):
        played.do(name, edits.EDITS[name][0])
    with pytest.raises(AssertionError) as failed:
        played.check()
    says = str(failed.value)
    assert says.startswith("seed 0: differ: 4-measures/keywords.json")
    assert '"day": "2026-06-02"' in says
    assert "after these edits:\n  1. all \n  2. time " in says


@pytest.mark.long
@pytest.mark.parametrize("way", [lambda data: data[: len(data) // 2], lambda data: b"{\n"])
def test_all_results_may_be_damaged(played: edits.Edited, way: Callable[[bytes], bytes]) -> None:
    for name, data in edits.files(played.root, edits.RESULTS).items():
        (played.root / name).write_bytes(way(data))
    played.check()
    assert not played.error


def test_a_clean_start_has_inputs_and_history_only(played: edits.Edited) -> None:
    edits.strip(played.root, [*edits.RESULTS, edits.MANIFESTS])
    there = [p.relative_to(played.root).as_posix() for p in played.root.rglob("*") if p.is_file()]
    assert not [name for name in there if not any(fnmatch(name, kept) for kept in KEPT)]


def test_every_setting_is_edited_or_has_a_reason() -> None:
    every, tables = set[tuple[str, str]](), ("domains", "groups", "people")
    for name, field in Settings.model_fields.items():
        section: Any = get_args(field.annotation)[1] if name in tables else field.annotation
        every |= {(name, key) for key in section.model_fields}
    edited = (*edits.CHANGES["settings"], *edits.CHANGES["idle"], *edits.NOT_CHANGED)
    parts = [name.split(".") for name in edited]
    assert {
        (first, last) for first, *_, last in parts if last not in ("religion", "sport", "villages")
    } == every
