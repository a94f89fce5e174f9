"""Which files a step touches, and which of them no dataset of it is made of.

A step runs in a process of its own under the hooks of ``hooks/sitecustomize.py``, workers included.
What its datasets touch when they are read is theirs. So are the step's own folder, imports,
installed packages, temporary files, and files that come with curation, which ``shipped`` has.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from curation.campaign.dataset import RoundDataset, with_reads
from curation.campaign.step import Out, Step
from curation.campaign.store import Campaign, open_campaign
from curation.cli import COMMANDS, module_of
from curation.files import CurationError
from curation.pipeline import PRIVATE_PAGES, STEPS
from curation.rounds.answers.people import KEYS
from curation.text import times
from curation.work.reporter import QUIET
from support.commands import ROOT

HOOKS = Path(__file__).parent / "hooks"
MARK = "/the-step-begins"
BY_NAME = {each.name: each for each in (*STEPS, PRIVATE_PAGES)}
for each in COMMANDS:  # what commands import is not counted as touched
    module_of(each)
SHIPPED = ("data", "annotation_configs", "schemas")
OUTSIDE = tuple(
    f"{os.path.realpath(place)}/"
    for place in (sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), tempfile.gettempdir())
)
ABOVE = {above for each in (str(HOOKS / "x"), *OUTSIDE) for above in Path(each).parents}
MACHINE = ("/dev/", "/etc/", "/proc/", "/sys/", "/usr/")


class Noted(Campaign):
    """A campaign that knows what its datasets hold that are noted by value: the state of its
    rounds depends on the time, and whether a review is due on the day.
    """

    values: ClassVar[dict[Any, Any]] = {}

    def __getitem__(self, dataset: Any) -> Any:
        return self.values[dataset] if dataset in self.values else super().__getitem__(dataset)


class Touched(NamedTuple):
    """Paths that no dataset of a step is made of, and files that come with curation.

    Of these, what is read when programs are imported does not count.
    """

    undeclared: list[str]
    shipped: list[str]


def touched(folder: Path, name: str, more: str = "") -> Touched:
    """What a step touches in a finished campaign, beside its datasets.

    Args:
        folder: the campaign.
        name: the step's name.
        more: Python that is run before it, with the name ``steps``: a dict of all steps.
    """
    log = folder.with_name(f"{folder.name}-{name}.touched")
    path = os.pathsep.join(map(str, (HOOKS, ROOT, ROOT / "tests")))
    environment = {**os.environ, "TOUCHED": str(log), "PYTHONPATH": path}
    command = [sys.executable, "-W", "ignore", "-m", "support.touched", str(folder), name, more]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    _, before, after = (set(p.splitlines()) for p in log.read_text("utf-8").split(f"{MARK}\n"))
    log.unlink()
    campaign, step = open_campaign(folder), BY_NAME[name]
    files = {str(path) for each in with_reads(step.datasets) for path in each.files(campaign)}
    found = sorted(p for p in after - before if not is_outside(p, folder))
    own = f"{step.folder(campaign)}/"
    ours = tuple(f"{ROOT / place}/" for place in SHIPPED)
    shipped = [p for p in sorted(before | after) if p.startswith(ours) and Path(p).is_file()]
    return Touched(
        [p.removeprefix(f"{folder}/") for p in found if not f"{p}/".startswith((own, *ours))],
        [path.removeprefix(f"{ROOT}/") for path in shipped if path not in files],
    )


def is_outside(path: str, folder: Path) -> bool:
    """Whether a path is part of Python, of a package, of the machine, or a program."""
    if path.startswith(f"{folder}/"):
        return "/<frozen " in path
    program = path.endswith((".py", ".pyc")) or f"{path}/".startswith(f"{ROOT / 'curation'}/")
    return program or f"{path}/".startswith((*MACHINE, *OUTSIDE)) or Path(path) in ABOVE


def read(campaign: Campaign, step: Step) -> None:
    """Read all that a step declares, from its files."""
    for each in with_reads((*step.datasets, *step.history)):
        for path in each.files(campaign):
            path.exists()
            path.parent.exists()
        if isinstance(each, RoundDataset):
            for name in campaign.round_names():
                with suppress(CurationError):  # a round that was not opened here has no tasks
                    campaign[each][name]
        else:
            campaign[each]


def forbid() -> None:
    """Make the clock, the network and the variables of curation raise from now on; not the key."""

    def refuse(*asked: object) -> Any:
        raise AssertionError(f"a step asks for the time, the network or the environment: {asked}")

    def connects(event: str, arguments: tuple[object, ...]) -> None:
        if event == "socket.connect":
            refuse(*arguments)

    class Environment(type(os.environ)):  # type: ignore[misc]
        def __getitem__(self, name: str) -> str:
            if name.startswith("CURATION_") and name != KEYS:
                refuse(name)
            return str(super().__getitem__(name))

    real = times.now
    for module in list(sys.modules.values()):
        if vars(module).get("now") is real:
            vars(module)["now"] = refuse
    os.environ.__class__ = Environment
    sys.addaudithook(connects)


def main(folder: Path, name: str, more: str) -> None:
    """Read what a step declares, then run it on the results of the others as they are."""
    exec(more, {"steps": BY_NAME})
    campaign, step = open_campaign(folder), BY_NAME[name]
    whole = Noted(folder, campaign.settings)
    Path(MARK).exists()
    state = step.state(campaign)
    read(campaign, step)
    Path(MARK).exists()
    out = Out(step.folder(whole), QUIET, state)
    whole.values.update({each: whole[each] for each in step.datasets if each.by_value})
    forbid()
    try:
        step.run(whole, out)
    finally:
        out.discard()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
