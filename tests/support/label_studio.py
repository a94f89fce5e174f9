"""People who answer on a Label Studio, and a line to it that can be cut."""

import secrets
import socket
import threading
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import requests

PASSWORD = "a-long-enough-1"


def free_port() -> int:
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        return int(end.getsockname()[1])


class Annotator:
    """Somebody with an account on the server, who does what the editor does."""

    def __init__(self, url: str, link: str, email: str, password: str) -> None:
        self.url, self.email, self.password = url, email, password
        browser = requests.Session()
        browser.trust_env = False
        page = browser.get(link, timeout=60)
        page.raise_for_status()
        form = {
            "email": email,
            "password": password,
            "allow_newsletters": "false",
            "csrfmiddlewaretoken": browser.cookies["csrftoken"],
        }
        done = browser.post(link, data=form, headers={"Referer": link}, timeout=60)
        done.raise_for_status()
        who = browser.get(f"{url}/api/current-user/whoami", timeout=60)
        who.raise_for_status()
        self.id = int(who.json()["id"])
        key = browser.get(f"{url}/api/current-user/token", timeout=60).json()["token"]
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.headers["Authorization"] = f"Token {key}"

    def next(self, project: int) -> dict[str, Any] | None:
        """The task that the label stream serves; None at its end."""
        answer = self.session.get(f"{self.url}/api/projects/{project}/next", timeout=60)
        if answer.status_code == 404:
            return None
        answer.raise_for_status()
        task: dict[str, Any] = answer.json()
        return task

    def answer(
        self,
        task: int,
        result: list[dict[str, Any]],
        lead_time: float = 60.0,
        *,
        skip: bool = False,
    ) -> dict[str, Any]:
        """Submit an answer, or pass the task on; gives the annotation."""
        body = {"result": result, "lead_time": lead_time, "was_cancelled": skip}
        return self.call("POST", f"tasks/{task}/annotations/", body)

    def edit(self, annotation: int, result: list[dict[str, Any]]) -> dict[str, Any]:
        """Change an answer, one's own or another's."""
        return self.call("PATCH", f"annotations/{annotation}/", {"result": result})

    def delete(self, annotation: int) -> None:
        """Delete an answer, one's own or another's."""
        self.call("DELETE", f"annotations/{annotation}/")

    def call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Ask the server's API as this person."""
        answer = self.session.request(method, f"{self.url}/api/{path}", json=body, timeout=60)
        answer.raise_for_status()
        content: dict[str, Any] = answer.json() if answer.content else {}
        return content

    def stream(self, project: int, result: list[dict[str, Any]]) -> list[str]:
        """Answer all that is served, and say which tasks of ours that was."""
        served = []
        while task := self.next(project):
            served.append(str(task["data"]["task_id"]))
            self.answer(task["id"], result)
        return served


class Meddler:
    """A proxy before a server that does to a request what ``mood`` says.

    ``mood(method, path)`` gives "pass", "before" (cut the line, nothing is sent on), "after" (send
    it on, and cut the line instead of answering), "late" (cut the line, and send it on when
    ``deliver`` is called), "twice" (send it on twice, and give the second answer, as Label Studio
    does if its database is locked), or a status to answer with.
    """

    def __init__(self, target: str, mood: Callable[[str, str], str | int]) -> None:
        self.seen: list[tuple[str, str]] = []
        self.late: list[Callable[[], requests.Response]] = []
        meddler = self

        class Handler(BaseHTTPRequestHandler):
            def act(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                meddler.seen.append((self.command, self.path))
                said = mood(self.command, self.path)
                self.close_connection = True
                if said == "before":
                    return
                if isinstance(said, int):
                    self.send_response(said)
                    self.end_headers()
                    return
                kept = {k: v for k, v in self.headers.items() if k.lower() != "host"}
                send = partial(_send, self.command, target + self.path, kept, body)
                if said == "late":
                    meddler.late.append(send)
                    return
                if said == "twice":
                    send()
                got = send()
                if said == "after":
                    return
                self.send_response(got.status_code)
                self.send_header("Content-Type", got.headers.get("Content-Type", ""))
                self.end_headers()
                self.wfile.write(got.content)

            do_GET = do_POST = do_PATCH = do_DELETE = act  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def deliver(self) -> None:
        """Send on what is late."""
        while self.late:
            self.late.pop(0)().raise_for_status()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def _send(method: str, url: str, headers: dict[str, str], body: bytes) -> requests.Response:
    with requests.Session() as session:
        session.trust_env = False
        return session.request(method, url, headers=headers, data=body, timeout=60)


def choices(name: str, to: str, *chosen: str) -> dict[str, Any]:
    """A result of a Choices control."""
    value = {"choices": list(chosen)}
    return {"from_name": name, "to_name": to, "type": "choices", "value": value}


def text(name: str, to: str, *said: str) -> dict[str, Any]:
    """A result of a TextArea control."""
    return {"from_name": name, "to_name": to, "type": "textarea", "value": {"text": list(said)}}


def new_person(url: str, key: str, email: str | None = None) -> Annotator:
    """Sign up on a server by its invite link."""
    made_up = email or f"p-{secrets.token_hex(5)}@example.invalid"
    return Annotator(url, invite_link(url, key), made_up, PASSWORD)


def invite_link(url: str, key: str) -> str:
    """A server's invite link, as its owner is told it."""
    with requests.Session() as session:
        session.trust_env = False
        answer = session.get(
            f"{url}/api/invite", headers={"Authorization": f"Token {key}"}, timeout=60
        )
        answer.raise_for_status()
    return f"{url}/user/signup/?token={answer.json()['token']}"
