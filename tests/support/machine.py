"""A throw-away copy of this machine, in which a test may install packages and be root."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

PROXIES = ("http_proxy", "https_proxy", "no_proxy")
KEPT = (*PROXIES, *map(str.upper, PROXIES))
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # of root on Debian


class Machine:
    """What is written goes into a layer above this machine's files, which stay as they are.

    Args:
        folder: where the layer is kept.
        network: whether commands can reach the network. If not, the copy has ports of its own.
    """

    def __init__(self, folder: Path, *, network: bool) -> None:
        self.root = folder / "root"
        layers = [folder / name for name in ("upper", "work")]
        for path in (self.root, *layers):
            path.mkdir(exist_ok=True)
        mounts = [
            f"mount -t overlay overlay -o lowerdir=/,upperdir={layers[0]},workdir={layers[1]}"
        ]
        mounts[0] += f" {self.root}"
        mounts += [f"mount --rbind /{name} {self.root}/{name}" for name in ("dev", "proc", "sys")]
        own = [] if network else ["--net"]
        up = "true" if network else "ip link set lo up"
        script = " && ".join([*mounts, up, "echo ready && exec sleep 1800"])
        self._holder = subprocess.Popen(
            ["unshare", "--mount", *own, "sh", "-c", script],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
        )  # fmt: skip
        assert self._holder.stdout is not None
        if (said := self._holder.stdout.readline()) != "ready\n":
            self._holder.wait()
            raise OSError(f"no copy of this machine: {said.strip()}")
        self._enter = ["nsenter", "--target", str(self._holder.pid), "--mount"]
        self._enter += [*(own or ()), "chroot", str(self.root), "bash", "-c"]
        self._started: list[subprocess.Popen[bytes]] = []

    def run(self, command: str, *, folder: str = "/root") -> str:
        """Run a command line as root, and give what it prints.

        Raises:
            AssertionError: it fails; with what it printed.
        """
        done = subprocess.run(
            [*self._enter, f"cd {folder} && {command}"],
            env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            encoding="utf-8", errors="replace", check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        return done.stdout

    def start(self, command: str, log: str) -> None:
        """Start a command that runs until the end; what it prints goes into a file."""
        line = f"exec >{log} 2>&1; {command}"
        self._started.append(
            subprocess.Popen([*self._enter, line], env=_environment(), start_new_session=True)
        )

    def close(self) -> None:
        """End all that was started; the layer stays."""
        for process in self._started:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)
        self._holder.kill()
        self._holder.wait()


def _environment() -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    kept |= {name: os.environ[name] for name in KEPT if name in os.environ}
    kept |= {"PIP_NO_COMPILE": "1", "DEBIAN_FRONTEND": "noninteractive"}  # quicker, and silent
    return kept | {"HOME": "/root", "PATH": PATH, "LANG": "C.UTF-8"}


@contextmanager
def machine(folder: Path, *, network: bool) -> Iterator[Machine]:
    """A copy that is closed at the end."""
    made = Machine(folder, network=network)
    try:
        yield made
    finally:
        made.close()
