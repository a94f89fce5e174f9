"""How StereoSet's own code and bias-bench read a file, in our own lines.

Both take ``version`` and ``data`` as they are, build a label from exactly ``human_id`` and
``label``, need at least one label of each sentence and ids that are texts, and take as the filler
of BLANK one word of the sentence. bias-bench reads intrasentence CATs only.
"""

import json
import string
from pathlib import Path
from typing import Any, NamedTuple

GOLDS = ("stereotype", "anti-stereotype", "unrelated")
LABELS = (*GOLDS, "related")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


class ReadSentence(NamedTuple):
    """A sentence as these programs have it; ``word`` is the filler, None if there is no BLANK."""

    id: str
    sentence: str
    gold: str
    labels: tuple[tuple[str, str], ...]
    word: str | None


class ReadCat(NamedTuple):
    """A CAT as these programs have it."""

    id: str
    bias_type: str
    target: str
    context: str
    sentences: tuple[ReadSentence, ...]


def stereoset(path: Path) -> dict[str, list[ReadCat]]:
    """The CATs of both kinds, as StereoSet's ``dataloader.py`` reads them."""
    return _read(path, ("intrasentence", "intersentence"))


def bias_bench(path: Path) -> list[ReadCat]:
    """The intrasentence CATs, as bias-bench's ``dataloader.py`` reads them."""
    return _read(path, ("intrasentence",))["intrasentence"]


def _read(path: Path, kinds: tuple[str, ...]) -> dict[str, list[ReadCat]]:
    content = json.loads(path.read_text("utf-8"))
    assert content["version"]
    return {kind: [_cat(item, kind) for item in content["data"][kind]] for kind in kinds}


def _cat(item: dict[str, Any], kind: str) -> ReadCat:
    place = None
    if kind == "intrasentence":
        (*_, place) = (n for n, word in enumerate(item["context"].split(" ")) if "BLANK" in word)
    sentences = tuple(_sentence(sentence, place) for sentence in item["sentences"])
    return ReadCat(item["id"], item["bias_type"], item["target"], item["context"], sentences)


def _sentence(sentence: dict[str, Any], place: int | None) -> ReadSentence:
    labels = tuple(_label(**label) for label in sentence["labels"])
    assert type(sentence["id"]) is str
    assert sentence["gold_label"] in GOLDS
    assert labels[0]
    word = None
    if place is not None:
        word = sentence["sentence"].split(" ")[place].translate(_NO_PUNCTUATION)
    return ReadSentence(
        *(sentence["id"], sentence["sentence"], sentence["gold_label"], labels, word)
    )


def _label(human_id: str, label: str) -> tuple[str, str]:
    assert label in LABELS
    return human_id, label
