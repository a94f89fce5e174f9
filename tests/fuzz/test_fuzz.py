"""Damaged files of every kind that is read: no traceback, no hang, no flood of memory.

Every input is made by a seed from a valid file of a small campaign. ``--fuzz N`` sets the number of
inputs in all; a failure names the file that shows it.
"""

import functools
import os
import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from curation.files import LONGEST, CurationError
from curation.records import Event
from support import arena, commands
from support.child import Flaw, Tell, in_a_child, timed
from support.mutate import PLACE, mutate
from support.readers import FUNCTIONS
from support.written import beside

pytestmark = pytest.mark.long
SECONDS = 5  # an input hangs if it computes for longer,
WAIT = 60  # or if it waits for longer
OFTEN = 15  # functions get more inputs than commands: they are quick

COMMANDS: dict[str, list[str]]
"""Files below the arena, and the commands that read them."""
COMMANDS, REFUSALS = (beside(__file__, f"{name}.toml") for name in ("commands", "refusals"))
WHOLE, OTHER = (re.compile("|".join(REFUSALS[name])) for name in ("whole", "other"))
DEVICES = (
    *("c/campaign.toml", "c/2-rounds/*/raw/*.jsonl", "c/7-release/*/SHA256SUMS", "labels.xlsx"),
    *("dump.json.gz", "published.json", "vectors.bin", "vectors.npz", "counts.tsv.gz"),
    *("reviews.jsonl", "articles.txt", "texts.parquet", "catsets/*.parquet", "catsets/map.toml"),
)
"""Files of each reader that opens files by itself."""
UNLOCKED = ("labels", "writers", "validators", "published", "catsets", "reviews.csv")
"""Files of answers: whatever is in them, later commands must work."""


@pytest.fixture(scope="module")
def ring(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The arena. Copy it before changing anything."""
    return arena.build(forked, tmp_path_factory.mktemp("arena"))


@pytest.fixture(scope="module")
def each(request: pytest.FixtureRequest) -> int:
    """The number of inputs for each command."""
    total: int = request.config.getoption("--fuzz")
    return -(-total // (len(COMMANDS) + OFTEN * len(FUNCTIONS)))


def check(work: Callable[[Tell], None], seconds: int) -> None:
    flaws = in_a_child(work, seconds=seconds)
    assert not flaws, "\n\n".join(f"{flaw.input}\n{flaw.what}" for flaw in flaws[:10])


@pytest.mark.parametrize("name", [*COMMANDS, *FUNCTIONS])
def test_a_damaged_file_is_refused_or_read(
    ring: Path, each: int, tmp_path: Path, name: str, untouched: Any
) -> None:
    before = untouched(ring)
    each *= OFTEN if name in FUNCTIONS else 1
    check(lambda tell: try_all(ring, name, each, tmp_path, tell), WAIT + each * SECONDS)
    assert untouched(ring) == before, "a command writes into files that are there"


@pytest.mark.parametrize("name", DEVICES)
def test_a_link_to_a_device_is_refused(ring: Path, tmp_path: Path, name: str) -> None:
    check(lambda tell: try_all(ring, name, 1, tmp_path, tell, device="/dev/zero"), WAIT)


def try_all(
    ring: Path,
    name: str,
    each: int,
    folder: Path,
    tell: Tell,
    *,
    read: Callable[[Path], object] | None = None,
    seconds: float = SECONDS,
    wait: float = WAIT,
    device: str = "",
) -> None:
    """Damage a file of the arena many times, and note what is wrong with how each is read.

    Args:
        ring: the arena.
        name: the file; a pattern of which a file is drawn.
        each: how many times.
        folder: where the damaged files are kept that were not treated well.
        tell: notes a flaw.
        read: what reads it; by default what the tables above say.
        seconds: how long an input may compute.
        wait: how long it may take in all.
        device: instead of damaging the file, make it a link to this.
    """
    for number in range(each):
        random = Random(f"{name} {number}")
        copy = folder / f"{number}"
        # Files are linked, because whatever is written replaces a file: the caller checks it.
        shutil.copytree(ring, copy, copy_function=os.link, ignore=_needed(name, ring))
        os.chdir(copy)
        path = random.choice(sorted(Path().glob(name)))
        before = path.read_bytes()
        after = before if device else mutate(random, before, name)
        path.unlink()
        if device:
            path.symlink_to(device)
        else:
            path.write_bytes(after)
        act = functools.partial(_read, name, path, after, read or FUNCTIONS.get(name))
        flaw = timed(act, seconds=seconds, wait=wait)
        os.chdir(folder)
        if flaw:
            tell(Flaw(str(copy / path), flaw))
        else:
            shutil.rmtree(copy)


def _needed(name: str, ring: Path) -> Callable[[str, list[str]], set[str]]:
    """What ``copytree`` leaves out: locks, and for functions what they do not read."""
    needed = {Path(name).parts[0], *(("c",) if name == "page.json" else ("answer.json",))}

    def left_out(folder: str, names: list[str]) -> set[str]:
        kept = set(names) if name in COMMANDS or Path(folder) != ring else needed
        return {name for name in names if name.startswith(".lock") or name not in kept}

    return left_out


def _read(name: str, path: Path, after: bytes, read: Callable[[Path], object] | None) -> str:
    """What is wrong with how a file is read; empty if nothing."""
    if read:
        try:
            read(path)
        except CurationError as error:
            return _unclear(path, error.what, error.fix)
        return ""
    if "/raw/" in name:
        Path("c/2-rounds/manifest.json").unlink()
        Path("c/2-rounds/segments.json").unlink()
    for number, command in enumerate(COMMANDS[name]):
        words = [word.replace("{}", str(path)) for word in command.split()]
        own = [] if "--gold" in words else ["-c", "c"]
        ran = commands.run(*words, *own)
        if flaw := _flawed(path, ran):
            return f"$ curation {' '.join(words)}\n{flaw}"
        works = (number and name.startswith(UNLOCKED)) or ("/raw/" in name and _are_events(after))
        if ran.code and works:
            return f"$ curation {' '.join(words)}\nfails from now on: {ran.err}"
    return ""


def _flawed(path: Path, ran: commands.Ran) -> str:
    if "Traceback" in ran.err or ran.code not in (0, 1):
        return f"exit code {ran.code}: {ran.err[-3000:]}"
    if ran.code == 0:
        return ""
    match = re.search(r"^error: (.*?)(?:\nfix: +(.*))?\Z", ran.err, re.DOTALL | re.MULTILINE)
    return _unclear(path, match[1], match[2] or "") if match else f"no error: {ran.err!r}"


def _unclear(path: Path, text: str, fix: str) -> str:
    """What a refusal lacks: the file, a place in it, a fix."""
    if fix and OTHER.search(text):
        return ""
    has = {
        "the file": path.name in "".join(text.split()),
        "the place": PLACE.search(text) or WHOLE.search(text),
        "a fix": fix,
        "an end": len(text) <= LONGEST + 100,
    }
    lacks = [name for name, there in has.items() if not there]
    return f"lacks {' and '.join(lacks)}: {text[:500]!r}, fix: {fix[:200]!r}" if lacks else ""


def _are_events(data: bytes) -> bool:
    """Whether each line is an event, and none is there twice."""
    try:
        ids = [Event.model_validate_json(line).id for line in data.splitlines() if line.strip()]
    except ValueError:
        return False
    return len(set(ids)) == len(ids)


# --- the fuzz test finds what it looks for --------------------------------------------------------


def _refuse(what: str, fix: str) -> Callable[[Path], object]:
    def read(path: Path) -> object:
        raise CurationError(what, fix)

    return read


@pytest.mark.parametrize(
    ("read", "shown"),
    [
        (lambda path: {}["x"], "KeyError: 'x'"),
        (lambda path: any(iter(lambda: 0, 1)), "more than 0.2 s"),
        (lambda path: time.sleep(60), "more than 0.2 s"),
        (lambda path: bytearray(2 << 30), "MemoryError"),
        (lambda path: os.kill(os.getpid(), signal.SIGKILL), "ended with -9"),
        (_refuse("line 3: is bad", "write another"), "lacks the file:"),
        (_refuse("a.json: is bad", "write another"), "lacks the place:"),
        (_refuse("a.json line 3: is bad", ""), "lacks a fix:"),
        (_refuse("a.json line 3: is bad", "write another"), ""),
        (Path.read_bytes, ""),
    ],
)
def test_a_fault_is_found(tmp_path: Path, read: Callable[[Path], object], shown: str) -> None:
    ring, folder = tmp_path / "ring", tmp_path / "inputs"
    ring.mkdir()
    folder.mkdir()
    (ring / "a.json").write_text("{}", "utf-8")
    flaws = in_a_child(
        lambda tell: try_all(ring, "a.json", 1, folder, tell, read=read, seconds=0.2, wait=0.5),
        seconds=10,
    )
    assert bool(flaws) == bool(shown)
    assert all(shown in flaw.what for flaw in flaws), flaws
