"""The names of the files in a release's folder, which several modules write or read."""

import re
from pathlib import PurePath

from curation.records import KINDS, SplitName

CARD, STATEMENT, LICENSE, CITATION = "README.md", "STATEMENT.md", "LICENSE", "CITATION.cff"
FACTS = "release.json"
"""Everything that the release says about itself: ``facts.Facts``."""
CROISSANT, DATAPACKAGE = "croissant.json", "datapackage.json"
SUMS = "SHA256SUMS"
STEREOSET = ("dev.json", "test.json")
ANNOTATIONS, TERMS, ERRATA = "annotations.csv", "terms.jsonl", "errata.jsonl"
SEALED = "sealed.jsonl"
"""The commitments of a test set whose texts are hidden; a release has it or ``test.json``."""
REVEAL = "reveal.jsonl"
"""The proofs in a revealed folder."""
TASKS = "lm-eval"
"""The folder of the tasks for lm-evaluation-harness."""
CONFIGS = (*reversed(KINDS), "cats", "hidden", "annotations", "terms")
"""The folders of Parquet files: the Hub's configurations, in the order of a card."""
WHOLE = "full"
"""The split of a table that has no splits; datasets refuses "all" as the name of one."""
DESCRIBED = (CARD, STATEMENT, LICENSE, CITATION, FACTS, CROISSANT, DATAPACKAGE, SUMS)
"""Files about the data."""
PATTERNS = (
    *(*DESCRIBED, *STEREOSET, ANNOTATIONS, TERMS, ERRATA, SEALED, "cats/*.jsonl", f"{TASKS}/*"),
    *(f"{config}/*.parquet" for config in CONFIGS),
)
"""Patterns of the paths that a release may have."""
_SPLITS: dict[str, SplitName] = {
    "dev": "dev", "development": "dev", "validation": "dev", "valid": "dev", "val": "dev",
    "test": "test",
}  # fmt: skip
_WORDS = re.compile(r"[^a-z]+")


def split_of(path: PurePath) -> SplitName | None:
    """The split that the name of a file says, or None.

    >>> names = ("validation-00000-of-00001.parquet", "my_test.json.gz")
    >>> [split_of(PurePath(name)) for name in names]
    ['dev', 'test']
    >>> split_of(PurePath("cats.json")), split_of(PurePath("dev_and_test.json"))
    (None, None)
    """
    words = _WORDS.split(path.name.lower())
    splits = {_SPLITS[word] for word in words if word in _SPLITS}
    return splits.pop() if len(splits) == 1 else None
