"""The owner's page of a large round, while people work.

    python benchmarks/owner.py [--people 200] [--items 4000] [--seconds 30]

Makes a campaign with a round of validation on our own pages, in which 200 people have given 20,000
answers, and pulls them. Then people with 10 seconds of thinking go on labelling on the real server,
which is one process, and the owner opens the page each second. The benchmark fails if a page takes a
second or more: the first one, which reads the campaign, included.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
os.environ.setdefault("CURATION_KEYS", tempfile.mkdtemp())

from curation.campaign import open_campaign  # noqa: E402
from curation.steps.importing import import_answers  # noqa: E402
from curation.steps.rounds import running, serving  # noqa: E402
from support.desk import Desk, word  # noqa: E402


def make(folder: Path, people: int, items: int) -> Desk:
    """A campaign with an open round of validation, all of whose answers are pulled but 500."""
    terms = [word("term", n) for n in range(max(items // 20, 1))]
    desk = Desk.make(None, folder, terms=terms, pause_after=0, training_pass=0.0)
    campaign = open_campaign(desk.root)
    rows = []
    for n in range(items):
        target, words = terms[n % len(terms)], [word(n, k) for k in range(4)]
        given = dict(zip(("stereotype", "anti_stereotype", "unrelated"), words, strict=False))
        context = f"In {words[3]} the {target} is BLANK."
        own = {"domain": "profession", "target": target, "context": context}
        rows.append(own | given | {"annotator": f"writer-{n % 40}"})
    path = desk.out / "items.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    import_answers(campaign, path)
    with campaign.lock():
        running.open_round(campaign, "validation", name="v", common_link=True)
    return desk


def fill(desk: Desk, people: int, *, leave: int) -> None:
    """People label everything, but some tasks."""
    campaign, rng = open_campaign(desk.root), random.Random(1)
    golds = desk.golds()
    pseudonym = serving.services(campaign).pseudonym
    with serving.opened_store(campaign) as store:
        them = [store.add_person(pseudonym, ["v"], at=time.time()) for _ in range(people)]
        for person in them:
            store.consent(person.id, "v", at=time.time())
        begun = time.time() - 2 * 24 * 3600
        tasks = store.rows("SELECT id, data FROM tasks ORDER BY place")
        plan = store.plan("v")
        assert plan is not None
        rows = []
        for n, task in enumerate(tasks[: len(tasks) - leave]):
            shown = json.loads(task["data"])
            for k in range(5):
                who = them[(n * 5 + k) % people]
                rows.append(answer(rng, golds, shown, task["id"], who.id, plan.consent, begun, n))
        with store.change() as db:
            db.executemany(
                "INSERT INTO answers (id, form, person, round, task, at, counts, payload) "
                "VALUES (?, 'answer', ?, 'v', ?, ?, 1, ?)",
                rows,
            )
            db.execute(
                "INSERT INTO leases (round, task, person, until) "
                "SELECT round, task, person, -2.0 FROM answers WHERE form = 'answer'"
            )


def answer(rng, golds, shown, task, who, consent, begun, n):  # type: ignore[no-untyped-def]
    from datetime import UTC, datetime

    from curation.text.times import timestamp

    at = begun + n * 40 + rng.random() * 40
    id = uuid.UUID(int=rng.getrandbits(128)).hex
    labels = {
        f"label_{k}": golds[shown[f"text_{k}"]]
        if rng.random() < 0.85
        else rng.choice(["stereotype", "anti-stereotype", "unrelated"])
        for k in (1, 2, 3)
    }
    sent = timestamp(datetime.fromtimestamp(at, UTC))
    payload = {
        "annotator": who, "answer_id": id, "submitted_at": sent, "task_id": task,
        "seconds": round(rng.uniform(8, 60), 1), "order": [1, 2, 3], "consent": consent, **labels,
    }  # fmt: skip
    return id, who, task, at, json.dumps(payload).encode()
