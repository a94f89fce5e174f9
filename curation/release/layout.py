"""The names of the files in a release's folder, which several modules write or read."""

from curation.records import KINDS

CARD, STATEMENT, LICENSE, CITATION = "README.md", "STATEMENT.md", "LICENSE", "CITATION.cff"
FACTS = "release.json"
"""Everything that the release says about itself: ``facts.Facts``."""
CROISSANT, DATAPACKAGE = "croissant.json", "datapackage.json"
SUMS = "SHA256SUMS"
STEREOSET = ("dev.json", "test.json")
ANNOTATIONS, TERMS, ERRATA = "annotations.csv", "terms.jsonl", "errata.jsonl"
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
    *(*DESCRIBED, *STEREOSET, ANNOTATIONS, TERMS, ERRATA, "cats/*.jsonl", f"{TASKS}/*"),
    *(f"{config}/*.parquet" for config in CONFIGS),
)
"""Patterns of the paths that a release may have."""
