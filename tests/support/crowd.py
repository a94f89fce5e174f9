"""A crowd at the web platform: simulated people, lost responses, a server that is killed.

``simulate`` runs the real server in a process of its own, kills it, and starts it again. Its people
send an answer again, with the same id, until it is acknowledged. ``benchmarks/web.py`` shows its
figures, and a small crowd is a test.
"""

import asyncio
import json
import math
import random
import re
import resource
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import uuid4

from curation.rounds.answers.people import pseudonyms
from curation.rounds.platforms.web.store import Store
from support import web
from support.label_studio import free_port

ROUND = "validation-1"
SERVER = """
import sys
from pathlib import Path
from curation.rounds.answers.people import pseudonyms
from curation.rounds.platforms.web import server
from curation.rounds.platforms.web.forms import Services
folder = Path(sys.argv[1])
server.run(
    folder / "web.sqlite", Services(pseudonyms(b"k" * 32), lambda person: False),
    host="127.0.0.1", port=int(sys.argv[2]), lock=folder / ".web.lock", ready=lambda: None,
)
"""
TOO_MANY = """
WITH came AS (SELECT task, count(*) AS n FROM answers WHERE counts GROUP BY task),
     live AS (SELECT task, count(*) AS n FROM leases WHERE until > ? GROUP BY task)
SELECT t.id FROM tasks t LEFT JOIN came c ON c.task = t.id LEFT JOIN live l ON l.task = t.id
WHERE coalesce(c.n, 0) + coalesce(l.n, 0) > t.asked OR coalesce(c.n, 0) != t.answered
"""


class Crowd(NamedTuple):
    """How many people do what.

    Attributes:
        people: how many people.
        seconds: for how long they work while the server runs.
        think: the mean time that they look at a task, in seconds; some take five times as long.
        kills: how often the server is killed.
        dropped: the share of responses that are lost; half of them after they were sent whole.
        tasks: how many tasks there are.
        asked: how many answers each task is asked for.
        lease: how long a task is kept, in seconds.
    """

    people: int
    seconds: float
    think: float
    kills: int
    dropped: float = 0.3
    tasks: int = 1000
    asked: int = 5
    lease: float = 30.0


class Result(NamedTuple):
    """What became of it.

    Attributes:
        acknowledged: by answer id, the task and the person.
        kept: how often each answer id is in the database.
        wrong: acknowledged answers that are not there exactly once, under their task and person.
        too_many: tasks that had more live leases plus counted answers than asked, at any look.
        looks: how often a second connection looked.
        times: the seconds of each request that a running server answered.
        statuses: how many responses had each status.
        sent_again: how often an answer was sent again.
        late: how many answers are marked as late.
        done: how many answers count.
        kills: how often the server was killed.
        generator_cpu: the seconds of CPU of the people together.
        server_cpu: those of the server.
        seconds: how long it took.
    """

    acknowledged: dict[str, tuple[str, str]]
    kept: Counter[str]
    wrong: list[str]
    too_many: list[str]
    looks: int
    times: list[float]
    statuses: Counter[int]
    sent_again: int
    late: int
    done: int
    kills: int
    generator_cpu: float
    server_cpu: float
    seconds: float


class LostError(Exception):
    """A response did not arrive."""


class Someone:
    """A person with a browser: one connection, one cookie."""

    def __init__(self, crowd: "_Running", id: str, secret: str, seed: int) -> None:
        self.crowd, self.id, self.secret = crowd, id, secret
        self.random = random.Random(seed)
        self.cookie = self.csrf = ""
        self.wires: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(self, path: str, form: dict[str, str] | None = None) -> tuple[int, str, str]:
        """The status, the cookie that was set, and the body.

        Raises:
            LostError: the server is not there, or the network lost the response.
        """
        body = urlencode({"csrf": self.csrf, **form}) if form is not None else ""
        lines = [
            f"{'GET' if form is None else 'POST'} {path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.crowd.port}",
            f"Cookie: curation={self.cookie}",
            "Accept: application/json",
            "Content-Type: application/x-www-form-urlencoded",
            f"Content-Length: {len(body)}",
        ]
        lost = self.random.random() < self.crowd.plan.dropped
        try:
            if self.wires is None:
                self.wires = await asyncio.open_connection("127.0.0.1", self.crowd.port)
            reader, writer = self.wires
            begun = time.perf_counter()
            writer.write("\r\n".join([*lines, "", body]).encode())
            await writer.drain()
            if lost and self.random.random() < 0.5:
                raise LostError
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = re.search(r"(?im)^content-length: (\d+)", head)
            content = await reader.readexactly(int(length[1]) if length else 0)
        except (OSError, EOFError, LostError):
            self.hang_up()
            raise LostError from None
        self.crowd.times.append(time.perf_counter() - begun)
        status = int(head.split(" ", 2)[1])
        self.crowd.statuses[status] += 1
        if re.search(r"(?im)^connection: close", head):
            self.hang_up()
        if lost:
            raise LostError
        cookie = re.search(r"(?im)^set-cookie: curation=([^;]*)", head)
        return status, cookie[1] if cookie else "", content.decode()

    def hang_up(self) -> None:
        if self.wires:
            self.wires[1].close()
            self.wires = None

    async def surely(self, path: str, form: dict[str, str] | None = None) -> tuple[int, str, str]:
        """A request that is sent until its response arrives."""
        for _ in range(10_000):
            with suppress(LostError):
                return await self.request(path, form)
            self.crowd.sent_again += bool(form and "answer_id" in form)
            # As people do: the pages' script sends again when somebody asks it to.
            await asyncio.sleep(max(self.crowd.plan.think * self.random.uniform(0.1, 0.5), 0.05))
        raise AssertionError(f"{path}: no response")

    async def live(self) -> None:
        """Enter, agree, and work until the time is over."""
        _, self.cookie, _ = await self.surely(f"/p/{self.secret}")
        _, _, page = await self.surely(f"/r/{ROUND}")
        token = re.search(r'name="csrf" value="(\w+)"', page)
        assert token, page
        self.csrf = token[1]
        await self.surely(f"/r/{ROUND}", {"agree": "yes"})
        go = ""
        while time.monotonic() < self.crowd.end:
            if "/t/" not in go:
                await asyncio.sleep(self.random.uniform(0, 0.2))
                status, _, said = await self.surely(f"/r/{ROUND}/next", {})
                go = json.loads(said)["go"] if status == 200 else ""
                if "/t/" not in go:
                    await asyncio.sleep(1)
                    continue
            path, go = go.partition("?")[0], ""
            status, _, _ = await self.surely(path)
            if status == 200:
                go = await self.answer(path)
        self.hang_up()

    async def answer(self, path: str) -> str:
        """Think, and answer, skip or leave; where the server sends the person next."""
        think = self.crowd.plan.think * self.random.uniform(0.5, 1.5)
        kind = self.random.random()
        await asyncio.sleep(think * 5 if kind < 0.05 else think)
        if kind > 0.97:
            return ""  # they look at another page
        form = {"answer_id": uuid4().hex, "seconds": "12", "seen": f"{time.time() - 12:.0f}"}
        if kind > 0.95:
            form["reason"], path = "other", f"{path}/skip"
        else:
            form |= web.WRITTEN["validation"]
        status, _, said = await self.surely(path, form)
        if status != 200:
            return ""
        task = path.removesuffix("/skip").rpartition("/")[2]
        self.crowd.acknowledged[form["answer_id"]] = (task, self.id)
        return str(json.loads(said)["go"])


class _Running:
    """A crowd that runs: what its people share."""

    def __init__(self, plan: Crowd, folder: Path) -> None:
        self.plan, self.folder, self.port = plan, folder, free_port()
        self.times: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.acknowledged: dict[str, tuple[str, str]] = {}
        self.sent_again = self.looks = self.kills = 0
        self.too_many: list[str] = []
        self.end = math.inf
        self.over = threading.Event()

    def look(self) -> None:
        """Look from a second connection, again and again, for tasks with too many answers."""
        with closing(sqlite3.connect(self.folder / "web.sqlite", timeout=30)) as db:
            while not self.over.wait(0.25):
                self.too_many += [row[0] for row in db.execute(TOO_MANY, (time.time(),))]
                self.looks += 1

    def serve(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", SERVER, str(self.folder), str(self.port)]
        return subprocess.Popen(command)

    async def run(self, secrets: dict[str, str]) -> None:
        server = self.serve()
        people = [Someone(self, id, secret, n) for n, (id, secret) in enumerate(secrets.items())]
        work = asyncio.gather(*(one.live() for one in people))
        try:
            for n in range(self.plan.kills + 1):
                if n:
                    server.kill()
                    server.wait()
                    self.kills += 1
                    server = self.serve()
                before = len(self.times)
                while len(self.times) == before and not work.done():
                    await asyncio.sleep(0.1)  # until it runs
                await asyncio.sleep(self.plan.seconds / (self.plan.kills + 1))
            self.end = time.monotonic()
            await work
        finally:
            server.terminate()
            server.wait(30)


def simulate(plan: Crowd, folder: Path) -> Result:
    """Let a crowd work, and look at what is there in the end.

    Args:
        plan: the crowd.
        folder: an empty folder.
    """
    running, begun = _Running(plan, folder), time.monotonic()
    with closing(Store(folder / "web.sqlite")) as store:
        made = web.plan("validation", lease=plan.lease, training=())
        web.put(store, made, plan.tasks, asked=plan.asked)
        name = pseudonyms(b"k" * 32)
        people = [store.add_person(name, [ROUND], at=time.time()) for _ in range(plan.people)]
        secrets = {person.id: store.secret_of(person.id) for person in people}
    used = _cpu(resource.RUSAGE_SELF), _cpu(resource.RUSAGE_CHILDREN)
    looking = threading.Thread(target=running.look)
    looking.start()
    try:
        asyncio.run(running.run(secrets))
    finally:
        running.over.set()
        looking.join()
    generator, servers = _cpu(resource.RUSAGE_SELF), _cpu(resource.RUSAGE_CHILDREN)
    with closing(Store(folder / "web.sqlite")) as store:
        payloads = [line.payload for line in store.lines(ROUND, all=True)]
        loads = store.loads(ROUND).values()
    rows = {p["answer_id"]: (p.get("task_id"), p["annotator"]) for p in payloads}
    kept = Counter(payload["answer_id"] for payload in payloads)
    return Result(
        acknowledged=running.acknowledged,
        kept=kept,
        wrong=[
            id for id, pair in running.acknowledged.items() if kept[id] != 1 or rows.get(id) != pair
        ],
        too_many=running.too_many,
        looks=running.looks,
        times=running.times,
        statuses=running.statuses,
        sent_again=running.sent_again,
        late=sum(bool(payload.get("late")) for payload in payloads),
        done=sum(load.answered for load in loads),
        kills=running.kills,
        generator_cpu=generator - used[0],
        server_cpu=servers - used[1],
        seconds=time.monotonic() - begun,
    )


def _cpu(who: int) -> float:
    usage: Any = resource.getrusage(who)
    return float(usage.ru_utime + usage.ru_stime)
