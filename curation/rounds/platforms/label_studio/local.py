"""A Label Studio of the campaign's own on this machine: installed, started and stopped.

In Label Studio everybody who can log in can see everything. So writers and validators each get a
server with a folder of its own, people can only join by invitation, and nothing is sent elsewhere.
"""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from filelock import FileLock
from platformdirs import user_data_path

from curation.files import CurationError, open_plain, read_bytes, read_json, shipped, writing
from curation.kinds import ROUNDS, RoundKindName
from curation.records import Round
from curation.text.wording import hide_secrets

if TYPE_CHECKING:
    from curation.rounds.platforms.label_studio.client import LabelStudio


SERVERS = "CURATION_SERVERS"  # environment variable: the folder of servers' data
KEY = "LABEL_STUDIO_API_KEY"  # the name that label-studio-sdk uses
ROLES = {"writers": 8090, "validators": 8091}
"""The two roles with their default ports."""


def servers_home() -> Path:
    """The folder of all servers: ``$CURATION_SERVERS``, or a folder in the user's data folder."""
    folder = os.environ.get(SERVERS)
    return Path(folder) if folder else user_data_path("curation") / "servers"


def server_folder(campaign_id: str, role: str) -> Path:
    """The folder of a campaign's own server for a role."""
    return servers_home() / campaign_id / role


def role_of(kind: RoundKindName) -> str:
    """The role whose server a kind of round runs on."""
    return "validators" if ROUNDS[kind].work == "label" else "writers"


def own_address(campaign_id: str, kind: RoundKindName) -> str:
    """Where the campaign's own server for a kind of round was last started; empty if never."""
    path = server_folder(campaign_id, role_of(kind)) / "address"
    return read_bytes(path).decode("utf-8", "replace").strip() if path.exists() else ""


def own_key(campaign_id: str, kind: RoundKindName) -> str:
    """The owner's key of the campaign's own server for a kind of round; empty if there is none."""
    owner = server_folder(campaign_id, role_of(kind)) / "owner.json"
    return read_owner(owner)["key"] if owner.exists() else ""


def read_owner(path: Path) -> dict[str, str]:
    """The account of the owner of a campaign's own server: email, password and key.

    Raises:
        CurationError: the file is damaged.
    """
    kept = read_json(path)
    fields = ("email", "password", "key")
    if isinstance(kept, dict) and all(isinstance(kept.get(name), str) for name in fields):
        return {name: kept[name] for name in fields}
    raise CurationError(f"{path}: does not hold the owner's account", "restore it from a backup")


def open_server(
    campaign_id: str, round: Round, *, title: str, url: str, tell: Callable[[str], None]
) -> "LabelStudio":
    """Connect to the Label Studio that a round runs on, or is to run on.

    Args:
        campaign_id: the campaign's id.
        round: the round.
        title: the title of the round's project.
        url: the server's address; empty for the round's, or else the campaign's own server.
        tell: called with a line when a request is tried again.

    Raises:
        CurationError: no address or no key is known, the server does not answer as it should, or
            the project with the round's number is not the round's.
    """
    from curation.rounds.platforms.label_studio import client

    own = own_address(campaign_id, round.kind)
    address = (url or round.server or own).rstrip("/")
    if not address:
        raise CurationError(
            "no Label Studio is named",
            "name one with --url and set its key in LABEL_STUDIO_API_KEY, start one of the "
            "campaign's own with «curation rounds serve», or use --platform files",
        )
    role = role_of(round.kind).upper()
    if address == own:
        key = own_key(campaign_id, round.kind)
    else:  # a server of somebody else's; there may be a key for each role
        key = os.environ.get(f"{KEY}_{role}") or os.environ.get(KEY, "")
    if not key:
        raise CurationError(
            f"no key for {address}",
            f"set {KEY}, or {KEY}_{role}, to the key that «Account & Settings» shows there",
        )
    server = client.connect(address, key, tell=tell)
    if round.project is not None and not server.has_project(round.project, title):
        raise CurationError(
            f"{address} has no project {round.project} of round {round.name}",
            "check that it is the right server; if the project is gone, use "
            "«curation rounds close --offline»",
        )
    return server


VERSION = "1.23.2"
EXECUTABLE = "CURATION_LABEL_STUDIO"  # if it is set, nothing is installed
OWNER = "owner@curation.invalid"  # not in use: Label Studio only needs something like an address
LOCK = 1800  # seconds that a task is reserved for somebody who opened it
PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "SYSTEMROOT")
KEPT = 20  # lines of the log that a message shows
SETTINGS_MODULE = "curation_settings"
# Label Studio's own settings let a transaction fail at once if another one is writing, and then
# handle the whole request again: one request makes two projects, or puts tasks there twice.
SETTINGS = f"""import os

# Label Studio asks for its settings while it still defines them.
os.environ["DJANGO_SETTINGS_MODULE"] = "label_studio.core.settings.label_studio"
from label_studio.core.settings.label_studio import *

os.environ["DJANGO_SETTINGS_MODULE"] = "{SETTINGS_MODULE}"

# A transaction waits for the lock when it begins, for at most 30 seconds.
DATABASES["default"]["OPTIONS"] = {{"timeout": 30, "transaction_mode": "IMMEDIATE"}}
MIDDLEWARE = [name for name in MIDDLEWARE if not name.endswith("DatabaseIsLockedRetryMiddleware")]
TEMPLATES[0]["DIRS"] = [os.environ["CURATION_PAGES"], *TEMPLATES[0]["DIRS"]]
"""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Place:
    """A server's name, folder and port."""

    name: str
    folder: Path
    port: int

    @property
    def log(self) -> Path:
        """The server's log."""
        return self.folder / "server.log"

    @property
    def settings(self) -> Path:
        """The folder of the server's Django settings."""
        return self.folder / "settings"


@dataclass(frozen=True)
class Instance:
    """A running server, and its owner's account."""

    place: Place
    url: str
    key: str
    email: str
    password: str
    process: "subprocess.Popen[bytes]"

    def stop(self, *, patience: float = 10) -> None:
        """Stop it and all processes that it started; can be called twice."""
        for end in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, end)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(patience)
                break
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)  # children that outlived the server
        (self.place.folder / "server.pid").unlink(missing_ok=True)


def prepare(home: Path, tell: Tell) -> Path:
    """The executable of Label Studio; the first call installs it.

    It gets its own environment, because it needs other versions of packages that we use. A call
    that was stopped half-way can be repeated, and goes on from there.

    Args:
        home: the folder of the environment.
        tell: called with lines about the progress of the installation.

    Raises:
        CurationError: it cannot be installed, or ``$CURATION_LABEL_STUDIO`` is not an executable.
    """
    if named := os.environ.get(EXECUTABLE):
        if not os.access(named, os.X_OK) or Path(named).is_dir():
            raise CurationError(
                f"${EXECUTABLE} is {named!r}, which is not an executable",
                f"set it to the label-studio of an environment, or unset {EXECUTABLE}",
            )
        return Path(named)
    home.mkdir(parents=True, exist_ok=True)
    where = home / f"label-studio-{VERSION}"
    executable, ready = where / "bin" / "label-studio", where / "ready"
    with FileLock(home / "install.lock"):
        if ready.exists() and executable.exists():
            return executable
        tell(f"installing Label Studio {VERSION} into {where}: about 1 GB, once")
        if not (where / "bin" / "python").exists():
            _install([sys.executable, "-m", "venv", str(where)], tell)
        python = str(where / "bin" / "python")
        pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        _install([*pip, "--progress-bar", "off", f"label-studio=={VERSION}"], tell)
        if not executable.exists():
            raise CurationError(
                f"{executable}: it was not installed", f"delete {where} and try again"
            )
        ready.touch()
    return executable


def _install(command: list[str], tell: Tell) -> None:
    """Run one step of an installation, and report every tenth package."""
    last, packages = "", 0
    with subprocess.Popen(  # noqa: S603 — our own interpreter
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, encoding="utf-8", errors="replace",
    ) as process:  # fmt: skip
        try:
            for line in process.stdout or ():
                last = line.strip() or last
                if line.startswith("Collecting "):
                    packages += 1
                    if packages % 10 == 0:
                        tell(f"{packages} packages so far")
                elif line.startswith("Installing collected"):
                    tell(f"unpacking {packages} packages")
        except BaseException:  # interrupted: the installation must not go on alone
            process.terminate()
            raise
    if process.returncode:
        raise CurationError(
            f"Label Studio could not be installed: {last}",
            "check the network and the free space and run this again: it goes on from there; or "
            f"set {EXECUTABLE} to a label-studio that is installed",
        )


def start(
    place: Place,
    *,
    executable: Path,
    host: str = "127.0.0.1",
    tell: Tell = lambda _: None,
    patience: float = 240,
) -> Instance:
    """Start a server and wait until it answers.

    The first start makes the folder, the database and the owner's account; later starts use them.
    The server listens on ``host`` only.

    Args:
        place: the server's name, folder and port.
        executable: Label Studio, from ``prepare``.
        host: the address on which it listens.
        tell: called with a line if this is the first start, which takes longer.
        patience: seconds within which it must answer.

    Raises:
        CurationError: the port is in use, or the server ends or does not answer.
    """
    from curation.rounds.platforms.label_studio import connection

    if connection.taken(host, place.port):
        raise CurationError(
            f"port {place.port} of {host} is in use{_port_user(place)}",
            f"stop the process that uses it, or choose another port for the {place.name}",
        )
    place.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    place.folder.chmod(0o700)  # people's accounts and answers are in it
    if not (place.folder / "owner.json").exists():
        tell(f"first start for the {place.name}: this makes a database, in about half a minute")
    owner = _owner(place)
    place.settings.mkdir(exist_ok=True, mode=0o700)
    with writing(place.settings / f"{SETTINGS_MODULE}.py", private=True) as file:
        file.write(SETTINGS.encode())
    command = [str(executable), "start", "--no-browser", "--internal-host", host]
    with open_plain(place.log, "ab") as log:
        place.log.chmod(0o600)
        process = subprocess.Popen(  # noqa: S603 — the executable is the user's own choice
            [*command, "--port", str(place.port)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=place.folder,
            env=_environment(place, owner), start_new_session=True, umask=0o077,
        )  # fmt: skip
    url = f"http://{host}:{place.port}"
    instance = Instance(place, url, owner["key"], owner["email"], owner["password"], process)
    try:
        with writing(place.folder / "server.pid", private=True) as file:
            file.write(f"{process.pid}\n".encode())
        _wait(instance, patience)
    except BaseException:
        instance.stop()
        raise
    return instance


def _wait(instance: Instance, patience: float) -> None:
    from curation.rounds.platforms.label_studio import connection

    end = time.monotonic() + patience
    while not connection.healthy(instance.url):
        code = instance.process.poll()
        if code is not None or time.monotonic() > end:
            problem = f"ended with code {code}" if code is not None else "does not answer"
            log = read_bytes(instance.place.log).decode("utf-8", "replace")
            log = hide_secrets(log, instance.password, instance.key)
            lines = log.splitlines()[-KEPT:]
            raise CurationError(
                f"Label Studio for the {instance.place.name} {problem}:\n" + "\n".join(lines),
                f"see the whole log, {instance.place.log}",
            )
        time.sleep(0.2)


def _owner(place: Place) -> dict[str, str]:
    """The owner's account: made at the first start, known only to the user of this machine."""
    path = place.folder / "owner.json"
    if path.exists():
        return read_owner(path)
    owner = {"email": OWNER, "password": secrets.token_urlsafe(18), "key": secrets.token_hex(20)}
    with writing(path, private=True) as file:
        file.write(orjson.dumps(owner, option=orjson.OPT_INDENT_2))
    return owner


def _environment(place: Place, owner: dict[str, str]) -> dict[str, str]:
    """The server's environment. Few variables of ours: Label Studio reads HOST, PORT and more."""
    own = {
        "BASE_DATA_DIR": str((place.folder / "data").absolute()),
        "USERNAME": owner["email"],
        "PASSWORD": owner["password"],
        "USER_TOKEN": owner["key"],
        "ENABLE_LEGACY_API_TOKEN": "true",  # a key that does not expire
        "DISABLE_SIGNUP_WITHOUT_LINK": "true",
        "TASK_LOCK_TTL": str(LOCK),
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
        "CORS_ALLOW_ALL_ORIGINS": "false",
    }
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    passed["PYTHONPATH"] = str(place.settings.absolute())
    passed["DJANGO_SETTINGS_MODULE"] = SETTINGS_MODULE
    passed["CURATION_PAGES"] = str(shipped("annotation_configs", "label_studio") / "pages")
    return {**passed, **{f"LABEL_STUDIO_{name}": value for name, value in own.items()}}


def _port_user(place: Place) -> str:
    """What may use a server's port: the server of an earlier run; empty if there is none."""
    with suppress(CurationError, OSError, ValueError):
        pid = int(read_bytes(place.folder / "server.pid"))
        os.kill(pid, 0)
        return f", perhaps by the {place.name}' server of an earlier run (process {pid})"
    return ""
