"""Made-up reviews in which one word says the sentiment."""

import random
from pathlib import Path

from curation.models.train.reviews import Reviews

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


def write_folder(root: Path, count: int, *, first: int = 0) -> Path:
    """Such reviews in the folders ``neg`` and ``pos``, a file each, named as aclImdb's are."""
    draw = random.Random(1)
    texts = list[str]()
    while len(texts) < first + count:  # reviews before ``first`` are another part's
        text = sentence(draw, draw.choice((BAD, GOOD)[len(texts) % 2]))
        if text not in texts:
            texts.append(text)
    for number, text in enumerate(texts[first:], first):
        folder = root / ("neg", "pos")[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        rating = (2, 9)[number % 2]
        (folder / f"{number}_{rating}.txt").write_text(text, "utf-8")
    return root


def found(reviews: Reviews) -> list[tuple[str, str]]:
    """Texts that were read and the names of their classes, in order."""
    return [
        (reviews.text(int(number)), reviews.names[sort])
        for number, sort in zip(reviews.numbers, reviews.classes, strict=True)
    ]
