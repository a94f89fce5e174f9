"""The chat endpoint of the tests in a process of its own, for ``benchmarks/chat.py``.

The first line of its output is its address.

    python benchmarks/chat_server.py [--answer prefers:kind] [--quirks JSON] [--log FILE]
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.chat_answers import Said, prefers
from support.chats import Chats, Quirks
from support.servers import serve


def main() -> None:
    """Serve until the process is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answer", default="", help="prefers:WORD:WORD…; by default at random")
    parser.add_argument("--quirks", type=json.loads, default={}, help="JSON: fields of Quirks")
    parser.add_argument("--log", type=Path, help="the texts of questions go there, JSON lines")
    args = parser.parse_args()
    answer = prefers(*args.answer.split(":")[1:])

    def logged(text: str) -> Said:
        with args.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(text) + "\n")
        return answer(text)

    server = Chats(logged if args.log else answer, Quirks(**args.quirks))
    asyncio.run(serve(server, lambda: print(server.url, flush=True)))


if __name__ == "__main__":
    main()
