"""Measure the time of pulling answers from Label Studio, and of its own export.

Starts a Label Studio on this machine and makes 10,000 tasks with five answers each. Then measures,
in one run: the platform's own JSON export, our full pull with its archive and index, and our pull
of 50 changed answers. Prints one table. Targets: the full pull is not slower than the export, and
50 changes take less than a second. import_labels.py measures the work after a pull.

    python benchmarks/pull.py [TASKS]

CURATION_LABEL_STUDIO names an installed Label Studio. Without it, Label Studio is installed into
an environment of its own at first use (about 1 GB).
"""

import random
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import requests

from curation.records import Shown, Task
from curation.rounds.answers import archive
from curation.rounds.platforms import pages
from curation.rounds.platforms.label_studio import client, local, platform
from curation.rounds.platforms.label_studio.connection import OVERLAP
from curation.rounds.platforms.label_studio.local import servers_home

PEOPLE, EDITS, BATCH = 5, 50, 500
LABELS = ("stereotype", "anti-stereotype", "unrelated")


def result(rng: random.Random) -> list[dict[str, Any]]:
    """The content of an answer, as the editor sends it."""
    marks = [
        {
            "id": f"{rng.getrandbits(40):010x}", "from_name": f"label_{n}", "to_name": f"text_{n}",
            "type": "choices", "origin": "manual", "value": {"choices": [rng.choice(LABELS)]},
        }
        for n in (1, 2, 3)
    ]  # fmt: skip
    consent = {"from_name": "consent", "to_name": "target", "type": "choices", "origin": "manual"}
    return [*marks, {**consent, "value": {"choices": ["1"]}}]


def sign_up(url: str, link: str, number: int) -> None:
    """Make an annotator's account."""
    person = requests.Session()
    person.get(link, timeout=60)
    form = {
        "email": f"p-{number}@example.invalid", "password": "a-long-enough-1",
        "allow_newsletters": "false", "csrfmiddlewaretoken": person.cookies["csrftoken"],
    }  # fmt: skip
    person.post(link, data=form, headers={"Referer": link}, timeout=60).raise_for_status()


def tasks(number: int) -> Iterator[Task]:
    """Made-up validation tasks."""
    for n in range(number):
        one, two, three = (
            Shown(id=f"a-{n}-{k}", text=f"Sentence {k} of item {n}.", association=f"as-{n}-{k}")
            for k in range(3)
        )
        yield Task(
            id=f"t-{n:06d}", term=f"term-{n % 300}", domain="profession", target=f"word {n % 300}",
            item=f"item-{n}", context=f"Context {n}.", shown=(one, two, three), wanted=5,
        )  # fmt: skip


def fill(server: client.LabelStudio, key: str, project: int, planned: list[Task]) -> None:
    """Put tasks there together with their answers, as a restored backup would."""
    rng = random.Random(1)
    people = [u for u, email in server.people().items() if email.startswith("p-")]
    texts = pages.texts("en", None)
    session = requests.Session()
    session.headers["Authorization"] = f"Token {key}"
    for start in range(0, len(planned), BATCH):
        body = [
            {
                "data": pages.task_data(task, "validation", texts=texts),
                "annotations": [
                    {"completed_by": p, "result": result(rng), "ground_truth": False,
                     "lead_time": rng.uniform(10, 90)}
                    for p in people
                ],
            }
            for task in planned[start : start + BATCH]
        ]  # fmt: skip
        url = f"{server.url}/api/projects/{project}/import"
        session.post(url, json=body, timeout=600).raise_for_status()
        print(f"\rfilling {start + len(body)} of {len(planned)}", end="", file=sys.stderr)
    print(file=sys.stderr)


def export(url: str, key: str, project: int) -> tuple[float, float]:
    """For comparison: seconds and MB of the platform's own JSON export."""
    start = time.perf_counter()
    answer = requests.get(
        f"{url}/api/projects/{project}/export", params={"exportType": "JSON"},
        headers={"Authorization": f"Token {key}"}, timeout=1200,
    )  # fmt: skip
    answer.raise_for_status()
    content = answer.json()
    assert sum(len(task["annotations"]) for task in content) > 0
    return time.perf_counter() - start, len(answer.content) / 1e6


def pull(server: client.LabelStudio, project: int, folder: Path) -> tuple[float, int]:
    """Ours: seconds of a pull with archive and index, and how many answers it brought."""
    start = time.perf_counter()
    raw, index = folder / "raw", folder / "pulled.json"
    before = platform.read_seen(raw, index)
    fetched = server.pull(project, before.since, before.known)
    for batch in fetched.batches:
        archive.deliver(raw, "label_studio", batch)
        for payload in batch:
            platform.note_seen(before.known, payload)
    platform.keep_seen(raw, index, platform.Seen(fetched.since, before.known))
    return time.perf_counter() - start, fetched.new + fetched.changed


def edit(url: str, key: str, project: int, number: int) -> None:
    """Change one answer on each of ``number`` tasks."""
    session = requests.Session()
    session.headers["Authorization"] = f"Token {key}"
    rng = random.Random(2)
    page = session.get(
        f"{url}/api/tasks", params={"project": project, "page_size": number, "fields": "all"},
        timeout=600,
    ).json()  # fmt: skip
    for task in page["tasks"]:
        one = task["annotations"][0]["id"]
        body = {"result": result(rng)}
        session.patch(f"{url}/api/annotations/{one}/", json=body, timeout=60).raise_for_status()


def free_port() -> int:
    """A free port."""
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        return int(end.getsockname()[1])


def main() -> None:
    """Print the table."""
    planned = list(tasks(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
    executable = local.prepare(servers_home(), print)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = local.Place("benchmark", folder / "server", free_port())
        instance = local.start(place, executable=executable)
        try:
            server = client.connect(instance.url, instance.key)
            link = server.invite()
            for number in range(PEOPLE):
                sign_up(instance.url, link, number)
            project = server.make_project(
                "benchmark", config=pages.config("validation", pages.texts("en", None)),
                instruction="", answers=PEOPLE,
            )  # fmt: skip
            fill(server, instance.key, project, planned)
            theirs, size = export(instance.url, instance.key, project)
            ours, answers = pull(server, project, folder)
            assert answers == len(planned) * PEOPLE
            # A pull looks back one minute from the last change: here that covers all answers.
            time.sleep(OVERLAP.total_seconds() + 1)
            edit(instance.url, instance.key, project, 1)
            pull(server, project, folder)
            edit(instance.url, instance.key, project, EDITS)
            few, changed = pull(server, project, folder)
            assert changed == EDITS
        finally:
            instance.stop()
    print(f"{len(planned):,} tasks, {answers:,} answers, {size:.0f} MB exported")
    print(f"{'what':44}{'seconds':>9}{'ratio':>15}")
    print(f"{'JSON export of the platform':44}{theirs:9.1f}{1:15.2f}")
    print(f"{'our full pull, archived and indexed':44}{ours:9.1f}{ours / theirs:15.2f}")
    print(f"{f'our pull of {EDITS} changed answers':44}{few:9.2f}{few / theirs:15.3f}")


if __name__ == "__main__":
    main()
