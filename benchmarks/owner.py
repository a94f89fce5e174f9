"""The owner's page of a large round, while people work.

    python benchmarks/owner.py [--people 200] [--items 4100] [--seconds 40]

Makes a campaign with a round of validation on our own pages, in which 200 people have given 20,000
answers, and pulls them. Then the same people, with 10 seconds of thinking, label what is left on
the real server, which is one process, and the owner opens both pages each second. Half-way, a pull
brings the new answers in, so that all figures are computed again. The benchmark fails if a page of
the owner takes a second or more. People run in this process, and share the machine.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import warnings
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
os.environ.setdefault("CURATION_KEYS", tempfile.mkdtemp())

from curation.across import serving  # noqa: E402
from curation.campaign.store import open_campaign  # noqa: E402
from curation.kinds import GOLD_COLUMNS, GOLDS  # noqa: E402
from curation.rounds import running  # noqa: E402
from curation.rounds.importing import import_answers  # noqa: E402
from curation.rounds.platforms.web.store import Person, Store  # noqa: E402
from curation.text.times import timestamp  # noqa: E402
from support.desk import Desk, word  # noqa: E402
from support.serving import serving as served  # noqa: E402
from support.web import Site, Someone  # noqa: E402

LIMIT, LABELS, THINK = 1.0, 5, 10.0
INSERT = (
    "INSERT INTO answers (id, form, person, round, task, at, counts, payload) "
    "VALUES (?, 'answer', ?, 'v', ?, ?, 1, ?)"
)
DONE = (
    "INSERT INTO leases (round, task, person, until) "
    "SELECT round, task, person, -2.0 FROM answers WHERE form = 'answer'"
)


def make(folder: Path, items: int) -> Desk:
    """A campaign with an open round of validation on our own pages."""
    terms = [word("term", n) for n in range(max(items // 20, 1))]
    desk = Desk.make(
        None, folder, terms=terms, pause_after=0, training_pass=0.0, accept_times=("v",)
    )
    lines = []
    for n in range(items):
        target, (*words, here) = terms[n % len(terms)], (word(n, k) for k in range(4))
        item = {"domain": "profession", "target": target, "annotator": f"writer-{n % 40}"}
        item["context"] = f"In {here} the {target} is BLANK."
        lines.append(json.dumps(item | dict(zip(GOLD_COLUMNS, words, strict=True))))
    path = desk.out / "items.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    campaign = open_campaign(desk.root)
    import_answers(campaign, path)
    with campaign.lock():
        running.open_round(campaign, "validation", name="v", common_link=True)
    return desk


def fill(desk: Desk, store: Store, people: int, leave: int) -> list[Person]:
    """People label all tasks but the last ones, in two days, mostly as the writers meant."""
    rng, golds, rows = random.Random(1), desk.golds(), []
    pseudonym = serving.services(open_campaign(desk.root)).pseudonym
    them = [store.add_person(pseudonym, ["v"], at=time.time()) for _ in range(people)]
    for person in them:
        store.consent(person.id, "v", at=time.time())
    tasks = store.rows("SELECT id, data FROM tasks ORDER BY place")[:-leave]
    for n, task in enumerate(tasks):
        shown = json.loads(task["data"])
        for k in range(LABELS):
            who, id = them[(n * LABELS + k) % people].id, uuid.UUID(int=rng.getrandbits(128)).hex
            at = time.time() - 48 * 3600 * (1 - n / len(tasks))
            payload = {"annotator": who, "answer_id": id, "task_id": task["id"]}
            payload |= {"submitted_at": timestamp(datetime.fromtimestamp(at, UTC))}
            payload |= {"seconds": rng.uniform(8, 60), "order": [1, 2, 3]}
            for place in (1, 2, 3):
                meant = golds[shown[f"text_{place}"]]
                payload[f"label_{place}"] = meant if rng.random() < 0.85 else rng.choice(GOLDS)
            rows.append((id, who, task["id"], at, json.dumps(payload).encode()))
    with store.change() as db:
        db.executemany(INSERT, rows)
        db.execute(DONE)
    return them


def work(someone: Someone, until: float, rng: random.Random, times: list[float]) -> None:
    """A person labels until the time is over or nothing is left."""
    time.sleep(rng.random() * THINK)
    someone.get(someone.link)
    path = someone.next("v")
    while time.time() < until and "/t/" in path:
        begun = time.perf_counter()
        someone.get(path)
        path = someone.answer(path, id=uuid.uuid4().hex, follow=False).headers["location"]
        times.append((time.perf_counter() - begun) / 2)
        time.sleep(rng.expovariate(1 / THINK))


def measure(desk: Desk, people: int, items: int, seconds: float) -> bool:
    """Print the times; whether a page of the owner took too long."""
    site, seen, times = Site(desk.rounds), dict[str, list[float]](), list[float]()
    them = fill(desk, site.store, people, items // 40)
    campaign = open_campaign(desk.root)
    with campaign.lock():
        running.pull_round(campaign, campaign.round("v"))
    with served("rounds", "serve", "-c", desk.root) as server:
        site.url, until = server.url, time.time() + seconds
        owner = Someone(site)
        owner.get(f"/owner/{site.store.owner_secret()}", allow_redirects=False)
        crowd = [Someone(site, f"/p/{site.store.secret_of(each.id)}", each.id) for each in them]
        threads = [
            threading.Thread(target=work, args=(each, until, random.Random(n), times))
            for n, each in enumerate(crowd)
        ]
        for thread in threads:
            thread.start()
        pull = None
        while time.time() < until:
            for path in ("/owner", "/owner/r/v"):
                begun = time.perf_counter()
                page = owner.get(path)
                seen.setdefault(path, []).append(time.perf_counter() - begun)
                assert page.status_code == 200
            if pull is None and time.time() > until - seconds / 2:
                command = [sys.executable, "-m", "curation", "rounds", "pull", "v", "-c", desk.root]
                pull = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT)
            time.sleep(1)
        for thread in threads:
            thread.join()
        assert pull is not None
        assert pull.wait() == 0
    count = site.store.one("SELECT count(*) FROM answers WHERE form = 'answer'")
    print(f"{people} people, {count:,} answers, {os.cpu_count()} cores, load {os.getloadavg()[0]}")
    for name, each in (*seen.items(), ("a person's page", times)):
        quick, middle, slow = min(each), statistics.median(each), max(each)
        print(f"{name}: {len(each)} times, {quick:.3f} to {slow:.3f} s, median {middle:.3f} s")
    return max(map(max, seen.values())) >= LIMIT


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--items", type=int, default=4100)
    parser.add_argument("--seconds", type=float, default=40.0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        desk = make(Path(folder) / "c", given.items)
        failed = measure(desk, given.people, given.items, given.seconds)
    if failed:
        print(f"FAILED: a page of the owner took {LIMIT:g} s or more")
    return failed


if __name__ == "__main__":
    sys.exit(main())
