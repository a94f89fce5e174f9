"""How bias-bench and StereoSet's own code read StereoSet's JSON, written again from its rules.

Both take the whole file or stop: a sentence without labels, an id that is not a text, a context
without BLANK. The attribute is the word of the sentence at the place that BLANK has in the context.
"""

import json
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

GOLDS = {"stereotype", "anti-stereotype", "unrelated"}
LABELS = {*GOLDS, "related"}


class Read(NamedTuple):
    """A sentence as it is read; ``word`` is the attribute, None in an intersentence item."""

    item: str
    id: str
    gold: str
    word: str | None


def bias_bench(path: Path) -> list[Read]:
    """The intrasentence items: bias-bench reads no others."""
    content = _content(path)
    return [
        read for item in content["data"]["intrasentence"] for read in _sentences(item, words=True)
    ]


def stereoset(path: Path) -> list[Read]:
    """The items of both kinds."""
    content = _content(path)
    between = content["data"]["intersentence"]
    return bias_bench(path) + [read for item in between for read in _sentences(item, words=False)]


def _content(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    assert content["version"]
    return content


def _sentences(item: Mapping[str, Any], *, words: bool) -> list[Read]:
    assert all(isinstance(item[field], str) for field in ("id", "bias_type", "target", "context"))
    read = []
    for sentence in item["sentences"]:
        labels = [_label(**label) for label in sentence["labels"]]
        assert type(sentence["id"]) is str
        assert sentence["gold_label"] in GOLDS
        assert labels[0] in LABELS  # IndexError without labels, as there
        word = None
        if words:
            places = [n for n, w in enumerate(item["context"].split(" ")) if "BLANK" in w]
            if not places:
                raise ValueError("No blank word found.")
            raw = sentence["sentence"].split(" ")[places[-1]]
            word = "".join(c for c in raw if c not in string.punctuation)
        read.append(Read(item["id"], sentence["id"], sentence["gold_label"], word))
    return read


def _label(human_id: str, label: str) -> str:
    assert label in LABELS
    return label
