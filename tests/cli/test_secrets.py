"""Passwords and keys are planted wherever they can be given, and nothing shows or stores them."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import GROUPS, Campaign
from curation.catsets.stereoset import dataset
from curation.cli import COMMANDS, module_of
from curation.files import dump_json
from support.desk import Desk
from support.scored import CATS

SECRET = "Xq7-plum-Secret"
BASIC = base64.b64encode(f"ann:{SECRET}".encode()).decode()
LABEL_STUDIO = ("--platform", "label_studio")
MODES = ("redirect", "relative", "refuse", "bad", "good")
TOML = """
[campaign]
id = "c-query"
[terms]
contact = "me@example.org"
least = 1
[domains.profession]
properties = ["P106"]
"""


class Leaky(ThreadingHTTPServer):
    """A server that repeats in its answers all that it was sent."""

    daemon_threads = True
    mode = "redirect"

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Leaky

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        named = f"http://ann:{SECRET}@other.invalid/login?token={SECRET}&next=%2F"
        echo = f"{self.path} {self.headers.as_string()} see {named}"
        refusal = json.dumps({"error": {"message": echo}, "detail": echo})
        status, body = {
            "redirect": (302, f'<a href="/login?token={SECRET}">Found</a> {echo}'),
            "relative": (302, echo),
            "refuse": (403, refusal),
            "bad": (400, refusal),
            "good": (200, json.dumps({"head": {}, "results": {"bindings": []}})),
        }[self.server.mode]
        self.send_response(status)
        if status == 302:
            relative = self.server.mode == "relative"
            self.send_header("Location", f"/login?token={SECRET}" if relative else named)
        self.end_headers()
        self.wfile.write(body.encode())

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def leaky() -> Iterator[Leaky]:
    server = Leaky(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def check_hidden(done: Any, root: Path) -> None:
    """Check that no secret is in what a command said, nor in a name or the content of a file."""
    assert "Traceback" not in done.err, done.err
    shown = {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    shown |= {str(path): b"" for path in root.rglob("*") if path.is_dir()}
    for name, content in (*shown.items(), ("out", done.out.encode()), ("err", done.err.encode())):
        assert SECRET not in name
        assert SECRET.encode() not in content, name
        assert BASIC.encode() not in content, name


@pytest.mark.parametrize("mode", MODES)
def test_a_query_service(forked: Any, campaign: Campaign, leaky: Leaky, mode: str) -> None:
    (campaign.root / "campaign.toml").write_text(TOML, "utf-8")
    leaky.mode = mode
    for login in (f"ann:{SECRET}@", ""):
        url = f"http://{login}{leaky.place}/sparql?key={SECRET}"
        done = forked("terms", "query", "--endpoint", url, "-c", campaign.root)
        assert done.code == (0 if mode == "good" else 1), done.err
        check_hidden(done, campaign.root)


def test_a_password_in_the_settings_is_refused(forked: Any, campaign: Campaign) -> None:
    text = TOML.replace("least", f'endpoint = "https://ann:{SECRET}@example.org/sparql"\nleast')
    (campaign.root / "campaign.toml").write_text(text, "utf-8")
    said = Desk(forked, campaign.root).refused("terms", "query")
    assert "campaign.toml, terms.endpoint: the address has a user name or a password" in said
    assert SECRET not in said


@pytest.mark.parametrize(
    "url", [f"ftp://ann:{SECRET}@x.org", f"ann:{SECRET}@x.org", f"//{SECRET}@"]
)
def test_what_is_not_an_address(forked: Any, campaign: Campaign, url: str) -> None:
    (campaign.root / "campaign.toml").write_text(TOML, "utf-8")
    for words in (
        ("terms", "query", "--endpoint", url),
        ("rounds", "open", "intrasentence", *LABEL_STUDIO, "--url", url),
        ("scores", "models", "m", "--endpoint", url),
    ):
        done = forked(*words, "-c", campaign.root)
        assert done.code == 1, done.err
        check_hidden(done, campaign.root)


@pytest.fixture(scope="module")
def desk(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk.make(forked, tmp_path_factory.mktemp("desk") / "campaign")


@pytest.mark.parametrize("mode", MODES)
def test_a_label_studio(
    desk: Desk, leaky: Leaky, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", SECRET)
    leaky.mode = mode
    copy = desk.copy(tmp_path / "campaign")
    opening = ("rounds", "open", "intrasentence", "--name", "w", *LABEL_STUDIO)
    for part in (f"ann:{SECRET}@{leaky.place}", f"{leaky.place}/?token={SECRET}"):
        done = copy.run(*opening, "--url", f"http://{part}")
        assert done.code == 1
        assert "the key is read from LABEL_STUDIO_API_KEY" in done.err
        check_hidden(done, copy.root)
    assert not (copy.rounds / "w").exists()  # refused before anything is planned
    done = copy.run(*opening, "--url", f"http://{leaky.place}")
    assert done.code == 1
    check_hidden(done, copy.root)


def test_a_proxy_that_cannot_be_used(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", SECRET)
    monkeypatch.setenv("ALL_PROXY", f"strange://ann:{SECRET}@proxy.invalid")
    url = ("--url", "http://server.invalid")
    refused = desk.refused("rounds", "open", "intrasentence", *LABEL_STUDIO, *url)
    assert "the environment names a proxy that cannot be used" in refused
    assert SECRET not in refused


@pytest.mark.parametrize("mode", MODES)
def test_an_endpoint(
    forked: Any, leaky: Leaky, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gold = tmp_path / "gold.json"
    gold.write_bytes(dump_json(dataset(CATS, {}, version="1")))
    leaky.mode = mode
    for login, key in ((f"ann:{SECRET}@", ""), ("", SECRET)):
        monkeypatch.setenv("CURATION_ENDPOINT_KEY", key)
        url = f"http://{login}{leaky.place}/v1?version={SECRET}"
        words = ("scores", "models", "m", "--endpoint", url, "--gold", gold)
        done = forked(*words, "--scores", tmp_path / "scores")
        assert done.code == 1
        check_hidden(done, tmp_path)


def test_the_holder_of_the_lock_shows_no_arguments(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["curation", "rounds", "open", "validation", "--url", f"http://ann:{SECRET}@x.org"]
    monkeypatch.setattr("sys.argv", words)
    holder = campaign.root / ".lock-holder"
    with campaign.lock():
        assert holder.read_text("utf-8").startswith("«curation rounds open» (process ")
        assert holder.stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr("sys.argv", ["/usr/bin/curation", "demo", SECRET])
    with campaign.lock():
        assert holder.read_text("utf-8").startswith("«curation demo» (process ")


def test_a_fault_shows_no_password(forked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise RuntimeError(f"no answer from https://ann:{SECRET}@x.org?key={SECRET}")

    monkeypatch.setattr("curation.cli.start.open_campaign", fail)
    done = forked("status")
    assert done.code == 1
    assert "RuntimeError: no answer from https://x.org?key=…" in done.err
    assert SECRET not in done.err


def test_groups_of_commands_are_known() -> None:
    assert {name for name in COMMANDS if hasattr(module_of(name), "app")} == GROUPS
