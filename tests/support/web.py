"""A web platform to try: rounds of each kind over one database, and its server in a thread."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import requests

from curation.kinds import ROUND_KINDS, RoundKindName
from curation.records import Shown, Task
from curation.rounds.answers.people import pseudonyms
from curation.rounds.platforms import pages
from curation.rounds.platforms.web import server
from curation.rounds.platforms.web.forms import Services
from curation.rounds.platforms.web.rounds import Example, Plan, WebTask
from curation.rounds.platforms.web.store import Store
from support.label_studio import free_port

STUDY = {"institution": "the Academy", "ethics": "board 7", "contact": "study@example.org"}
TERMS = ("librarian", "baker", "florist", "plumber", "tailor", "roofer")
TEXTS = ("She hardly ever speaks.", "She sang until dawn.", "Copper turns green in the rain.")
WRITTEN: dict[RoundKindName, dict[str, str]] = {
    "intrasentence": {
        "stereotype": "quiet",
        "anti_stereotype": "boisterous",
        "unrelated": "rectangular",
        "template": "The {} was BLANK at the party.",
    },
    "intersentence": {
        "context": "The {} came to our party.",
        "stereotype": "She sat in a corner and hardly spoke.",
        "anti_stereotype": "She sang until the neighbours knocked.",
        "unrelated": "Copper slowly turns green in the rain.",
    },
    "validation": {"label_1": "stereotype", "label_2": "anti-stereotype", "label_3": "unrelated"},
    "review": {"decision": "keep"},
    "neutral": {"neutral": "He left at ten."},
}
"""A right answer to the tasks here; {} is the target."""
EXAMPLES = (
    Example("librarian", "", "Librarians are quiet.", "stereotype", "Many people say so."),
    Example("librarian", "", "Librarians are loud.", "anti-stereotype", "It is the opposite."),
    Example("librarian", "", "Librarians are cubes.", "unrelated", "It makes no sense."),
)


def texts(**changes: str) -> dict[str, Any]:
    """The English texts of pages."""
    return pages.texts("en", None, study=STUDY | changes)


def said(key: str) -> str:
    """A text of the pages."""
    return str(texts()["web"][key])


def title(response: requests.Response) -> str:
    """The heading of a page."""
    found = re.search(r"<h1>\s*(.*?)\s*</h1>", response.text, re.DOTALL)
    assert found, response.text
    return re.sub(r"<[^>]+>", "", found[1])


def plan(kind: RoundKindName, **changes: Any) -> Plan:
    """A plan of a round that is called after its kind."""
    said = changes.pop("texts", None) or texts()
    consent = pages.consent_version(said)
    given = {"name": f"{kind}-1", "kind": kind, "language": "en", "texts": said}
    return Plan(**(given | {"consent": consent, "seed": 7} | changes))


def tasks(plan: Plan, count: int = len(TERMS), *, barred: str | None = None) -> list[WebTask]:
    """Tasks of a round, each on a term of its own."""
    made = []
    shown = tuple(Shown(id=f"s{n}", text=t, association=f"a{n}") for n, t in enumerate(TEXTS))
    for n in range(count):
        name = TERMS[n % len(TERMS)]
        task = Task(
            id=f"t-{n + 1}", term=f"term-{name}", domain="profession", target=name, wanted=1,
            context=f"My neighbour works as a {name}.", shown=shown,
        )  # fmt: skip
        choices = [(f"term-{other}", other) for other in TERMS[:3] if other != name]
        data = pages.task_data(
            task, plan.kind, texts=plan.texts, info="a job; 25 statements", choices=choices
        )
        made.append(WebTask(task.id, task.term, barred, data))
    return made


def put(store: Store, made: Plan, count: int = len(TERMS), asked: int = 2, **how: Any) -> str:
    """Open a round with some tasks; returns the token of its common link."""
    them = tasks(made, count, **how)
    return store.put_round(made, them, {task.id: asked for task in them})


class Site:
    """A running server, and its database."""

    def __init__(self, folder: Path, **services: Any) -> None:
        self.folder, self.out = folder, set[str]()
        self.database, self.lock = folder / "web.sqlite", folder / ".web.lock"
        self.store = Store(self.database)
        self.pseudonym = pseudonyms(b"k" * 32)
        given = {"pseudonym": self.pseudonym, "is_out": self.out.__contains__}
        self.services = Services(**(given | {"findings": lambda code, item: []} | services))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    @contextmanager
    def served(self, host: str = "127.0.0.1") -> Iterator["Site"]:
        """Run the server in a thread."""
        ready, stop = threading.Event(), threading.Event()
        run = threading.Thread(
            target=server.run,
            args=(self.database, self.services),
            kwargs={
                "host": host, "port": self.port, "lock": self.lock,
                "ready": ready.set, "stop": stop,
            },
        )  # fmt: skip
        run.start()
        try:
            assert ready.wait(20)
            yield self
        finally:
            stop.set()
            run.join(20)

    def person(self, *rounds: str, name: str = "") -> "Someone":
        """A person with a personal link to some rounds, in a browser of their own."""
        person = self.store.add_person(self.pseudonym, rounds, name=name, at=0.0)
        return Someone(self, f"{self.url}/p/{self.store.secret_of(person.id)}", person.id)


class Someone:
    """Somebody at a plain browser: it keeps cookies, and fills in forms."""

    def __init__(self, site: Site, link: str = "", id: str = "") -> None:
        self.site, self.link, self.id = site, link, id
        self.session = requests.Session()
        self.session.trust_env = False

    def get(self, path: str, **how: Any) -> requests.Response:
        address = path if path.startswith("http") else self.site.url + path
        return self.session.get(address, timeout=30, **how)

    def post(self, path: str, csrf: str | None = None, **form: Any) -> requests.Response:
        """Send a form, with the token of the last page by default."""
        headers = form.pop("headers", {})
        follow = form.pop("follow", True)
        token = self.csrf if csrf is None else csrf
        return self.session.post(
            self.site.url + path, data={"csrf": token} | form, headers=headers,
            timeout=30, allow_redirects=follow,
        )  # fmt: skip

    @property
    def csrf(self) -> str:
        return self.site.store.csrf(self.session.cookies.get("curation", ""))

    def begin(self, round: str) -> "Someone":
        """Open the link, and agree."""
        assert self.get(self.link).status_code == 200
        assert self.post(f"/r/{round}", agree="yes").status_code == 200
        return self

    def next(self, round: str) -> str:
        """Take the next task; returns its path."""
        response = self.post(f"/r/{round}/next", follow=False)
        assert response.status_code == 303
        return response.headers["location"]

    def answer(self, path: str, id: str = "", **changes: Any) -> requests.Response:
        """Answer a task rightly, except for changes."""
        _, _, round, _, task = path.split("/")
        made = self.site.store.plan(round)
        assert made is not None
        number = int(re.sub(r"\D", "", task)) - 1
        fields = {k: v.format(TERMS[number % len(TERMS)]) for k, v in WRITTEN[made.kind].items()}
        own = {"answer_id": id or sha256(f"{self.id}{path}".encode()).hexdigest()[:32]}
        return self.post(path, **({"seconds": "12"} | own | fields | changes))


def every_round(
    store: Store, change: Callable[[RoundKindName], dict[str, Any]] = lambda _: {}
) -> None:
    """Open a round of each kind."""
    for kind in ROUND_KINDS:
        put(store, plan(kind, **change(kind)))
