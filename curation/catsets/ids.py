"""Ids for items and sentences of files that have none."""

from collections import Counter
from typing import Any

from curation.catsets.entries import Entry, sentences_of
from curation.rules import stable_id

MADE = "made from the texts"
"""How the note of ``with_ids`` ends."""


def with_ids(entries: list[Entry], notes: list[str]) -> list[Entry]:
    """The items with ids; if no item or no sentence of a file has one, they are made.

    The same content always gives the same ids; what is there twice gets different ones.
    """
    no_items = entries and all(entry.item.get("id") is None for entry in entries)
    all_sentences = [s for entry in entries for s in sentences_of(entry.item)]
    no_sentences = all_sentences and all(s.get("id") is None for s in all_sentences)
    if not no_items and not no_sentences:
        return entries
    made = [word for word, lacks in (("items", no_items), ("sentences", no_sentences)) if lacks]
    notes.append(f"no ids of {' and '.join(made)}: {MADE}")
    seen: Counter[str] = Counter()
    complete = []
    for entry in entries:
        item = dict(entry.item)
        if no_items:
            item["id"] = _new_id("cat", seen, entry.kind, *_texts(item))
        if no_sentences and isinstance(item.get("sentences"), list):
            item["sentences"] = [
                {**s, "id": _new_id("sentence", seen, str(item.get("id")), *_words(s))}
                if isinstance(s, dict)
                else s
                for s in item["sentences"]
            ]
        complete.append(entry._replace(item=item))
    return complete


def in_order_of_ids(entry: Entry) -> Entry:
    """An item with its sentences in an order that says nothing about their gold labels.

    For layouts that name sentences by their gold labels: a fixed order would make the first
    sentence of each item the same label's, which models and baselines must not see.
    """
    sentences = entry.item.get("sentences")
    if not isinstance(sentences, list) or len(sentences_of(entry.item)) < len(sentences):
        return entry
    ordered = sorted(sentences, key=lambda sentence: stable_id("order", str(sentence.get("id"))))
    return entry._replace(item={**entry.item, "sentences": ordered})


def _new_id(prefix: str, seen: Counter[str], *parts: str) -> str:
    name = stable_id(prefix, *parts)
    seen[name] += 1
    return name if seen[name] == 1 else stable_id(prefix, *parts, str(seen[name]))


def _texts(item: dict[str, Any]) -> list[str]:
    own = [str(item.get(name)) for name in ("bias_type", "target", "context")]
    return [*own, *sorted("\x1e".join(_words(sentence)) for sentence in sentences_of(item))]


def _words(sentence: dict[str, Any]) -> tuple[str, str]:
    return str(sentence.get("gold_label")), str(sentence.get("sentence"))
