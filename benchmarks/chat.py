"""Measure how fast a chat model is asked, and that a killed command asks nothing twice.

Makes 1,000 CATs from a seed and starts the chat endpoint of the tests in a process of its own
(``benchmarks/chat_server.py``). First asks all questions of these CATs, 6,000 requests, in three
ways, with 1, 8 and 32 requests under way, and with a server that answers at once or after 20 ms:

* «ours»: ``score_model``, with all that belongs to it: each reply is written to disk as it comes,
  and the results are computed at the end.
* «requests»: a plain loop with the library requests, one session and thread for each request under
  way. It keeps the letters in memory and does nothing else.
* «bare»: the same requests through plain sockets, without reading the replies: what the server can
  do.

«ratio» is our rate divided by that of requests. If a way would take minutes because the server
waits, it asks a part of the questions.

Then starts the command ``curation scores models``, kills it (SIGKILL) when a third of the replies
are there, runs it again, and counts what the server was asked. At most the requests that were under
way at the kill may have been asked twice.

    python benchmarks/chat.py [--cats 1000] [--seconds 15]
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import local
from typing import Any
from urllib.parse import urlsplit

import requests

from curation.campaign.source import gold_source
from curation.files import dump_json, shipped
from curation.models.chat import ChatSpec, read_prompts
from curation.models.scoring import ModelSpec
from curation.scores.asking import chat_questions
from curation.scores.models import score_model

ROOT = Path(__file__).parents[1]
MODEL = "chatty"
MAX_TOKENS = 64
UNDER_WAY = (1, 8, 32)
PAUSES = (0.0, 0.02)  # seconds
TERMS = ("baker", "potter", "fiddler", "sailor", "gardener", "tailor", "miller", "weaver")
WORDS = (("kind", "grumpy", "square"), ("early", "late", "blue"), ("patient", "hasty", "salty"))
GOLDS = ("stereotype", "anti-stereotype", "unrelated")


def write_gold(path: Path, cats: int) -> None:
    """Write made-up CATs as a gold file; no two questions about them are the same."""
    rng = random.Random(1)
    items = []
    for number in range(cats):
        target, words = rng.choice(TERMS), rng.choice(WORDS)
        context = f"The {target} who lives in house number {number} is BLANK today."
        sentences = [
            {
                "id": f"c{number}-{gold[0]}",
                "sentence": context.replace("BLANK", word),
                "gold_label": gold,
                "labels": [],
            }
            for gold, word in zip(GOLDS, words, strict=True)
        ]
        items.append(
            {
                "id": f"c{number}",
                "target": target,
                "bias_type": "profession",
                "context": context,
                "sentences": sentences,
            }
        )
    path.write_bytes(dump_json({"version": "1", "data": {"intrasentence": items}}))


@contextmanager
def serving(pause: float, log: Path | None = None) -> Iterator[str]:
    """The address of a chat endpoint in a process of its own."""
    quirks = json.dumps({"pause": pause, "tops": 0})
    command = [
        *(sys.executable, ROOT / "benchmarks" / "chat_server.py"),
        *("--answer", "prefers:kind:early:patient:grumpy:late:hasty", "--quirks", quirks),
        *(("--log", log) if log else ()),
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


def body(text: str) -> dict[str, Any]:
    """The content of a request."""
    message = {"role": "user", "content": text}
    return {"model": MODEL, "messages": [message], "temperature": 0, "max_tokens": MAX_TOKENS}


def ours(url: str, gold: Path, folder: Path, cats: int, under_way: int) -> float:
    """Seconds of our way."""
    source = gold_source([gold], scores=folder)
    source = type(source)(**{**vars(source), "cats": source.cats[:cats]})
    prompts = shipped("data", "prompts", "en.toml")
    how = ChatSpec(prompts, max_tokens=MAX_TOKENS, concurrency=under_way)
    start = time.perf_counter()
    scored = score_model(ModelSpec(MODEL, url=url, chat=how), source)
    seconds = time.perf_counter() - start
    assert scored.counts["asked"] == 6 * cats
    assert scored.report["splits"]["test"]["overall"]["ss"] == 100
    return seconds


def plain_loop(url: str, texts: Sequence[str], under_way: int) -> float:
    """Seconds of a plain loop with requests."""
    own = local()

    def ask(text: str) -> str:
        if not hasattr(own, "session"):
            own.session = requests.Session()
            own.session.trust_env = False
        answer = own.session.post(f"{url}/chat/completions", json=body(text), timeout=60)
        answer.raise_for_status()
        return str(answer.json()["choices"][0]["message"]["content"])

    start = time.perf_counter()
    with ThreadPoolExecutor(under_way) as pool:
        letters = list(pool.map(ask, texts))
    assert {letter.strip() for letter in letters} == {"A", "B"}
    return time.perf_counter() - start


def bare(url: str, texts: Sequence[str], under_way: int) -> float:
    """Seconds of plain sockets that send prepared requests and only count the replies."""
    parts = urlsplit(url)
    prepared = []
    for text in texts:
        content = json.dumps(body(text)).encode()
        head = (
            f"POST {parts.path}/chat/completions HTTP/1.1\r\nHost: {parts.netloc}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        prepared.append(head.encode() + content)
    left = iter(prepared)

    async def one() -> None:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        for request in left:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            await reader.readexactly(int(head.lower().split(b"content-length:")[1].split()[0]))
        writer.close()

    async def everything() -> None:
        await asyncio.gather(*(one() for _ in range(under_way)))

    start = time.perf_counter()
    asyncio.run(everything())
    return time.perf_counter() - start


def speeds(gold: Path, folder: Path, cats: int, seconds: float) -> None:
    """Print the rates of all ways."""
    prompts = read_prompts(shipped("data", "prompts", "en.toml"))
    all_cats = gold_source([gold]).cats
    texts = [question.text for cat in all_cats for question in chat_questions(cat, prompts)]
    assert len(set(texts)) == len(texts) == 6 * cats
    print(f"{cats:,} CATs, {len(texts):,} questions; requests per second")
    heads = ("server", "under way", "requests", "ours", "requests/s", "bare", "ratio", "of bare")
    print("".join(f"{head:>11}" for head in heads))
    for number, (pause, under_way) in enumerate(itertools.product(PAUSES, UNDER_WAY)):
        part = cats
        if pause:  # so that no way takes longer than about --seconds
            part = min(cats, max(1, int(seconds / pause * under_way / 6)))
        some = texts[: 6 * part]
        with serving(pause) as url:
            limit = len(some) / bare(url, some, under_way)
            theirs = len(some) / plain_loop(url, some, under_way)
            own = len(some) / ours(url, gold, folder / f"speed-{number}", part, under_way)
        print(
            f"{f'{1000 * pause:.0f} ms':>11}{under_way:>11}{len(some):>11,}{own:11,.0f}"
            f"{theirs:11,.0f}{limit:11,.0f}{own / theirs:11.2f}{own / limit:11.2f}",
            flush=True,
        )


def killed(gold: Path, folder: Path, cats: int, under_way: int = 8) -> None:
    """Kill the command, run it again, and print what was asked twice."""
    log, scores = folder / "asked.jsonl", folder / "killed"
    replies = scores / MODEL / "choice" / "replies.jsonl"
    total = 6 * cats
    with serving(0.005, log) as url:
        command = [
            *(sys.executable, "-m", "curation", "scores", "models", f"chat:{MODEL}"),
            *("--endpoint", url, "--gold", gold, "--scores", scores),
            *("--concurrency", str(under_way)),
        ]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        first = subprocess.Popen(
            command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while lines(replies) < total // 3:
            assert first.poll() is None, "the command ended before it was killed"
            time.sleep(0.01)
        first.send_signal(signal.SIGKILL)
        first.wait()
        kept, asked = lines(replies), lines(log)
        again = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        before = lines(log)
        subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        assert lines(log) == before, "a third command asked again"
    counts = Counter(map(json.loads, log.read_text("utf-8").splitlines()))
    assert len(counts) == total
    twice = sum(counts.values()) - total
    print(f"\nKilled after {asked:,} requests, {kept:,} replies on disk; then run again:")
    print(next(line for line in again.stdout.splitlines() if "asked" in line).partition("; in")[0])
    print(
        f"{sum(counts.values()):,} requests for {total:,} questions: {twice} asked twice, with "
        f"{under_way} under way; a third command asked 0"
    )
    assert twice <= 2 * under_way  # under way, or just arrived


def lines(path: Path) -> int:
    """The number of whole lines of a file."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cats", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=15.0, help="for one way with 20 ms")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        gold = Path(name) / "gold.json"
        write_gold(gold, args.cats)
        speeds(gold, Path(name), args.cats, args.seconds)
        killed(gold, Path(name), args.cats)


if __name__ == "__main__":
    main()
