"""People who answer on a Label Studio, also in a browser, and a line to it that can be cut."""

import re
import secrets
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import Retry

PASSWORD = "a-long-enough-1"
CONFIG = """<View><Text name="t" value="$target"/><Choices name="d" toName="t">
<Choice value="a"/><Choice value="b"/></Choices></View>"""
"""A form that asks for one choice, for tests in which no form matters."""
Mood = Callable[[str, str], str | int]
FIELD = "[data-testid=textarea-input]:visible"
SUBMIT = re.compile("^Submit$")
INSTRUCTIONS, OBJECTION = ".lsf-modal-ls__body", ".ant-modal-confirm-content"


def free_port() -> int:
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        return int(end.getsockname()[1])


class Annotator:
    """Somebody with an account on the server, who does what the editor does."""

    def __init__(self, url: str, link: str, email: str) -> None:
        self.url, self.email = url, email
        browser = private_session()
        send_sign_up(browser, link, email).raise_for_status()
        who = browser.get(f"{url}/api/current-user/whoami", timeout=60)
        who.raise_for_status()
        self.id = int(who.json()["id"])
        key = browser.get(f"{url}/api/current-user/token", timeout=60).json()["token"]
        self.session = private_session()
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
        self, task: int, result: list[dict[str, Any]], lead_time: float = 60.0, skip: bool = False
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

    def stream(self, project: int, result: Any, most: int = 9999) -> list[str]:
        """Answer what is served with a result, or with what it makes of a task's data.

        Returns:
            Which tasks of ours that was.
        """
        served = []
        while len(served) < most and (task := self.next(project)):
            served.append(str(task["data"]["task_id"]))
            self.answer(task["id"], result(task["data"]) if callable(result) else result)
        return served


def browser_of(browser: Any, link: str, email: str, **how: Any) -> Any:
    """The browser of a person who signs up with an invite link."""
    context = browser.new_context(**how)
    page = context.new_page()
    fill_sign_up(page, link, email)
    page.wait_for_url(re.compile("/(projects|$)"))
    page.close()
    return context


def fill_sign_up(page: Any, link: str, email: str) -> None:
    """Sign up on the page to which an invite link leads."""
    page.goto(link)
    page.fill("input[name=email]", email)
    page.fill("input[name=password]", PASSWORD)
    page.locator("form button[type=submit], form input[type=submit]").first.click()


class Form:
    """A page of a browser with the form of a round."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def open(self, address: str, *, read: bool = True) -> None:
        """Go to a round's stream, and close its instructions if they are read."""
        self.page.goto(address)
        self.page.locator(INSTRUCTIONS).wait_for()
        if read:
            self.away(INSTRUCTIONS)
        self.page.locator(".cur").wait_for()

    def away(self, what: str) -> None:
        """Close what covers the page; it ignores keys while it still appears."""
        for _ in range(100):
            if not self.page.locator(what).count():
                return
            self.page.keyboard.press("Escape")
            self.page.wait_for_timeout(200)
        raise AssertionError("it stays")

    def submit(self) -> None:
        """Press Submit."""
        self.page.locator("button", has_text=SUBMIT).click()

    def refused(self) -> str:
        """Press Submit. Returns the form's error."""
        self.submit()
        said = str(self.page.locator(OBJECTION).inner_text())
        self.away(OBJECTION)
        return said

    def tick(self, text: str | re.Pattern[str], number: int = 0) -> None:
        """Tick a choice by its text."""
        self.page.locator(".cur label").filter(has_text=text).nth(number).click()

    def write(self, *texts: str) -> None:
        """Fill all fields of text."""
        for field, text in zip(self.page.locator(FIELD).all(), texts, strict=True):
            field.fill(text)


class Serving(ThreadingHTTPServer):
    """A server in this process; use it in a ``with`` statement."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class SilentHandler(BaseHTTPRequestHandler):
    """Handles requests without printing them."""

    def log_message(self, *_: object) -> None:
        pass


class Meddler(Serving):
    """A proxy before a server that does to a request what ``mood`` says.

    ``mood(method, path)`` gives "pass", "before" (cut the line, nothing is sent on), "after" (send
    it on, and cut the line instead of answering), "late" (cut the line, and send it on when
    ``deliver`` is called), "twice" (send it on twice, and give the second answer, as Label Studio
    does if its database is locked), or a status to answer with.
    """

    def __init__(self, target: str, mood: Mood) -> None:
        self.target, self.mood = target, mood
        self.seen: list[tuple[str, str]] = []
        self.late: list[Callable[[], requests.Response]] = []
        super().__init__(_Meddling)

    def deliver(self) -> None:
        """Send on what is late."""
        while self.late:
            self.late.pop(0)().raise_for_status()


class _Meddling(SilentHandler):
    server: Meddler

    def act(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((self.command, self.path))
        said = self.server.mood(self.command, self.path)
        self.close_connection = True
        if said == "before":
            return
        if isinstance(said, int):
            self.send_response(said)
            self.end_headers()
            return
        kept = {k: v for k, v in self.headers.items() if k.lower() != "host"}
        send = partial(_send, self.command, self.server.target + self.path, kept, body)
        if said == "late":
            self.server.late.append(send)
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


def in_turn(wanted: Callable[[str, str], bool], *moods: str | int | Callable[[], str]) -> Mood:
    """These moods for the requests in question, one after another; everything else passes."""
    left = iter(moods)

    def mood(method: str, path: str) -> str | int:
        said = next(left, "pass") if wanted(method, path) else "pass"
        return said() if callable(said) else said

    return mood


def _send(method: str, url: str, headers: dict[str, str], body: bytes) -> requests.Response:
    with private_session() as session:
        return session.request(method, url, headers=headers, data=body, timeout=60)


def private_session() -> requests.Session:
    """A session that takes nothing, such as a proxy, from the environment, and tries again."""
    session = requests.Session()
    session.trust_env = False
    # Under load, its SQLite is sometimes locked.
    again = Retry(5, backoff_factor=0.5, status_forcelist=(500,), allowed_methods=("GET",))
    session.mount("http://", HTTPAdapter(max_retries=again))
    return session


def send_sign_up(session: requests.Session, link: str, email: str, **how: Any) -> requests.Response:
    """Send the form to which an invite link leads."""
    session.get(link, timeout=60)
    form = {
        "email": email,
        "password": PASSWORD,
        "allow_newsletters": "false",
        "csrfmiddlewaretoken": session.cookies.get("csrftoken", ""),
    }
    return session.post(link, data=form, headers={"Referer": link}, timeout=60, **how)


def choices(name: str, to: str, *chosen: str) -> dict[str, Any]:
    """A result of a Choices control."""
    value = {"choices": list(chosen)}
    return {"from_name": name, "to_name": to, "type": "choices", "value": value}


def data(*ids: str) -> list[dict[str, str]]:
    """The data of tasks for ``CONFIG``."""
    return [{"task_id": id, "target": "Teapot"} for id in ids]


def labels(data: Mapping[str, Any], golds: Mapping[str, str] | Iterable[str]) -> list[Any]:
    """An answer to a task of validation, with consent; ``golds`` are by text, or in order."""
    texts = [data[f"text_{n}"] for n in (1, 2, 3)]
    said = [golds[text] for text in texts] if isinstance(golds, Mapping) else golds
    marks = [choices(f"label_{n}", f"text_{n}", gold) for n, gold in enumerate(said, 1)]
    return [*marks, choices("consent", "target", data["consent_version"])]


def project_of(opened: Mapping[str, Any]) -> int:
    """The number of the project of a round that was opened."""
    return int(opened["address"].split("/projects/")[1].split("/")[0])


def new_person(url: str, key: str, email: str | None = None) -> Annotator:
    """Sign up on a server by its invite link."""
    made_up = email or f"p-{secrets.token_hex(5)}@example.invalid"
    return Annotator(url, invite_link(url, key), made_up)


def invite_link(url: str, key: str) -> str:
    """A server's invite link, as its owner is told it."""
    with private_session() as session:
        session.headers["Authorization"] = f"Token {key}"
        answer = session.get(f"{url}/api/invite", timeout=60)
        answer.raise_for_status()
    return f"{url}/user/signup/?token={answer.json()['token']}"
