"""A small Hugging Face Hub on this machine: the endpoints that an upload really calls."""

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_made_up"
LARGE = ".parquet"


@dataclass
class Repo:
    """A dataset: its commits, each with all files; tags; who sees it."""

    private: bool
    commits: list[dict[str, bytes]] = field(
        default_factory=lambda: [{".gitattributes": b"*.parquet"}]
    )
    messages: list[str] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    gated: Any = False

    @property
    def head(self) -> str:
        return commit_id(len(self.commits) - 1)

    @property
    def files(self) -> dict[str, bytes]:
        return self.commits[-1]

    @property
    def own_files(self) -> dict[str, bytes]:
        """The files that were sent."""
        return {name: data for name, data in self.files.items() if name != ".gitattributes"}

    def at(self, revision: str) -> dict[str, bytes]:
        revision = self.tags.get(revision, revision)
        ids = [commit_id(n) for n in range(len(self.commits))]
        return self.commits[ids.index(revision)] if revision in ids else self.files


def commit_id(number: int) -> str:
    return hashlib.sha1(str(number).encode()).hexdigest()


class Hub(ThreadingHTTPServer):
    """The server; ``fail`` has (method, part of the path), and what to answer: a status or text."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repos: dict[str, Repo] = {}
        self.large: dict[str, bytes] = {}
        self.fail: dict[tuple[str, str], list[int | str]] = {}
        self.calls: list[tuple[str, str]] = []
        self.ignored: set[str] = set()
        self.address = f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving() -> Iterator[Hub]:
    """A hub that is empty."""
    with Hub() as hub:
        thread = Thread(target=hub.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()


class Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16  # headers and content at once: a client waits for the rest

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        method = self.command
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        if self.headers.get("Transfer-Encoding") == "chunked":
            while length := int(self.rfile.readline(), 16):
                body += self.rfile.read(length)
                self.rfile.readline()
            self.rfile.readline()
        path = unquote(urlsplit(self.path).path)
        self.server.calls.append((method, path))
        for (verb, part), answers in self.server.fail.items():
            if verb == method and part in path and answers:
                status = answers.pop(0)
                if status == "cut":
                    self.close_connection = True
                    self.connection.close()
                    return
                if isinstance(status, str):
                    self._send(status.encode(), 200)
                    return
                self._say({"error": "made up"}, status)
                return
        if self.headers.get("Authorization") != f"Bearer {TOKEN}" and "/large/" not in path:
            self._say({"error": "Invalid credentials"}, 401)
            return
        self._say(*self._reply(method, path, body))

    do_POST = do_PUT = do_GET  # noqa: N815

    def _say(self, content: Any, status: int = 200) -> None:
        self._send(json.dumps(content).encode(), status)

    def _send(self, data: bytes, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status == 401:
            self.send_header("X-Error-Message", "Invalid credentials in Authorization header")
        if status == 404:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.end_headers()
        self.wfile.write(data)

    def _reply(self, method: str, path: str, body: bytes) -> tuple[Any, int]:
        hub = self.server
        if path == "/api/whoami-v2":
            return {"name": "ann", "type": "user"}, 200
        if path == "/api/validate-yaml":
            return {"errors": [], "warnings": []}, 200
        if path == "/api/repos/create":
            given = json.loads(body)
            name = f"{given['organization']}/{given['name']}"
            assert given["type"] == "dataset"
            if name in hub.repos:
                return {"error": "You already created this dataset repo"}, 409
            hub.repos[name] = Repo(private=given.get("visibility") == "private")
            return {"url": f"{hub.address}/datasets/{name}", "name": name}, 200
        if path.startswith("/large/"):
            assert hashlib.sha256(body).hexdigest() == path.removeprefix("/large/")
            hub.large[path.removeprefix("/large/")] = body
            return {}, 200
        if path.endswith(".git/info/lfs/objects/batch"):
            objects = [*map(self._large, json.loads(body)["objects"])]
            return {"transfer": "basic", "objects": objects}, 200
        parts = path.removeprefix("/api/datasets/").split("/")
        repo = hub.repos.get("/".join(parts[:2]))
        if repo is None:
            return {"error": "Repository not found"}, 404
        return self._of_repo(method, repo, "/".join(parts[:2]), parts[2:], body)

    def _large(self, given: dict[str, Any]) -> dict[str, Any]:
        if given["oid"] in self.server.large:
            return given
        href = f"{self.server.address}/large/{given['oid']}"
        return {**given, "actions": {"upload": {"href": href}}}

    def _of_repo(
        self, method: str, repo: Repo, name: str, rest: list[str], body: bytes
    ) -> tuple[Any, int]:
        match rest:
            case [] | ["revision", *_]:
                revision = rest[1] if rest else "main"
                sha = repo.tags.get(revision, repo.head)
                return {"id": name, "sha": sha, "private": repo.private, "siblings": []}, 200
            case ["tree", revision, *_]:
                return [entry(path, data) for path, data in repo.at(revision).items()], 200
            case ["refs"]:
                tags = [ref("tags", tag, commit) for tag, commit in repo.tags.items()]
                main = ref("heads", "main", repo.head)
                return {"branches": [main], "converts": [], "tags": tags}, 200
            case ["preupload", _]:
                files = [
                    {"path": path, "uploadMode": "lfs" if path.endswith(LARGE) else "regular",
                     "shouldIgnore": path in self.server.ignored}
                    for path in (given["path"] for given in json.loads(body)["files"])
                ]  # fmt: skip
                return {"files": files}, 200
            case ["commit", _]:
                return self._commit(repo, name, body)
            case ["tag", revision]:
                given = json.loads(body)
                if given["tag"] in repo.tags:
                    return {"error": "Reference already exists"}, 409
                repo.tags[given["tag"]] = revision
                return {}, 200
            case ["settings"]:
                given = json.loads(body)
                repo.gated = given.get("gated", repo.gated)
                if "visibility" in given:
                    repo.private = given["visibility"] == "private"
                return given, 200
        return {"error": f"{method} {rest}"}, 500

    def _commit(self, repo: Repo, name: str, body: bytes) -> tuple[Any, int]:
        files = dict(repo.files)
        for line in body.splitlines():
            given = json.loads(line)
            value = given["value"]
            match given["key"]:
                case "header":
                    if value.get("parentCommit", repo.head) != repo.head:
                        return {"error": "The branch has changed"}, 412
                    repo.messages.append(value["summary"])
                case "file":
                    files[value["path"]] = base64.b64decode(value["content"])
                case "lfsFile":
                    files[value["path"]] = self.server.large[value["oid"]]
                case "deletedFile":
                    del files[value["path"]]
        repo.commits.append(files)
        address = f"{self.server.address}/datasets/{name}/commit/{repo.head}"
        return {"commitUrl": address, "commitOid": repo.head}, 200


def ref(kind: str, name: str, commit: str) -> dict[str, str]:
    return {"name": name, "ref": f"refs/{kind}/{name}", "targetCommit": commit}


def entry(path: str, data: bytes) -> dict[str, Any]:
    """A file as the hub lists it."""
    git = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    listed: dict[str, Any] = {"type": "file", "path": path, "size": len(data), "oid": git}
    if path.endswith(LARGE):
        sha = hashlib.sha256(data).hexdigest()
        listed["lfs"] = {"oid": sha, "size": len(data), "pointerSize": 130}
    return listed
