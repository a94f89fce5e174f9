"""The columns of tables of CATs, and the names that published files give them."""

import re
import unicodedata
from collections.abc import Iterable, Mapping

from curation.rules import read_label

NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("cat_id", "cluster_id", "item_id", "context_id"),
    "kind": ("dataset_type", "task_type", "test_type"),
    "domain": ("bias_type",),
    "target": ("term", "target_term"),
    "target_original": ("original_target",),
    "context": ("prompt",),
    "sentences": (),
    "data": (),
    "choices": (),
    "sentence_id": (),
    "sentence": (),
    "word": (),
    "gold_label": ("gold", "label"),
    "labels": (),
    "tier": (),
    "stereotype": ("stereotype_sentence", "stereotype_word"),
    "anti_stereotype": ("anti_stereotype_sentence", "anti_stereotype_word"),
    "unrelated": ("unrelated_sentence", "unrelated_word", "meaningless", "meaningless_sentence"),
    **{
        f"c{number}_{name}": ()
        for number in (1, 2, 3)
        for name in ("id", "sentence", "word", "gold_label", "labels")
    },
}
"""Our name of each column, and other names of it; compared without case, spaces and signs."""
OPTIONS = {"stereotype": "stereotype", "anti_stereotype": "anti-stereotype"}
OPTIONS["unrelated"] = "unrelated"
IN_SENTENCES = ("sentence_id", "sentence", "word", "gold_label", "labels")
"""Columns that layouts with a list of sentences have inside each sentence."""


def plain(heading: str) -> str:
    """A heading as it is compared.

    >>> plain("Anti-stereotype Sentence") == plain("anti_stereotype_sentence")
    True
    """
    return re.sub(r"[\s_‐‑–—-]+", "", unicodedata.normalize("NFKC", heading)).casefold()


_PLAIN = {
    name: [plain(name), *(plain(other) for other in others)] for name, others in NAMES.items()
}


def resolve(columns: Iterable[str], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The column of the file for each of our names, as far as it has one.

    Args:
        columns: the columns of the file.
        given: the column for each of our names in a mapping file; these go before.

    >>> resolve(["Bias Type", "ID", "notes"])
    {'id': 'ID', 'domain': 'Bias Type'}
    """
    by_plain: dict[str, str] = {}
    for column in columns:
        by_plain.setdefault(plain(column), column)
    given = given or {}
    taken = {column for name, column in given.items() if name != "target_original"}
    chosen = {}
    for name, others in _PLAIN.items():
        if name in given:
            chosen[name] = given[name]
            continue
        for other in others:
            if other in by_plain and by_plain[other] not in taken:
                chosen[name] = by_plain[other]
                taken.add(by_plain[other])
                break
    return chosen


def is_by_label(value: object) -> bool:
    """Whether a value is an object whose keys are gold labels."""
    return (
        isinstance(value, dict)
        and 0 < len(value) <= 4
        and all(isinstance(key, str) and read_label(key) for key in value)
    )
