"""Made-up reviews in which one word says the sentiment."""

import random
from pathlib import Path

GOOD, BAD = ("lovely", "fine", "kind", "fresh"), ("awful", "dull", "rude", "stale")
PLAIN = ("round", "early", "small", "plain")
THINGS = ("the bread", "the soup", "a song", "the fair", "this boat", "a map", "the jester")
ENDS = ("here", "today", "in town", "by the lake", "again", "as we saw", "at noon")
ALL = " ".join((*GOOD, *BAD, *PLAIN, *THINGS, *ENDS, "was", "and"))


def sentence(draw: random.Random, word: str) -> str:
    """A sentence that says this of something."""
    return f"{draw.choice(THINGS)} was {word} {draw.choice(ENDS)} and {draw.choice(ENDS)}"


def write_reviews(path: Path, count: int, *, three: bool = False) -> Path:
    """Reviews in which one word says the sentiment; one negative one for each positive one."""
    draw = random.Random(1)
    sorts = [(BAD, "negative"), (GOOD, "positive"), *([(PLAIN, "neutral")] if three else [])]
    rows = set[tuple[str, str]]()
    while len(rows) < count:
        words, sort = sorts[len(rows) % len(sorts)]
        rows.add((sentence(draw, draw.choice(words)), sort))
    path.write_text("text,label\n" + "".join(f"{t},{s}\n" for t, s in sorted(rows)), "utf-8")
    return path
