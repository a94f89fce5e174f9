"""The front matter of a release's card: what the Hugging Face Hub reads, as YAML.

Only PyYAML writes it, so no name can break it.
"""

import re
from collections.abc import Sequence
from typing import Any

import yaml

from curation.release.contents import DataFile
from curation.release.data.parquet_files import configs
from curation.release.facts import Facts, Hub

TAGS = ("stereoset", "stereotypes", "social-bias", "context-association-test")
SENSITIVE = "not-for-all-audiences"
"""The tag with which the Hub asks people before it shows rows of a dataset."""
_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
)
DEFAULT = "cats"


def header(facts: Facts, data: Sequence[DataFile]) -> str:
    """The front matter with its two lines of ``---``.

    Args:
        facts: what the release says about itself.
        data: the files of the release; their paths become the configurations of the Hub.
    """
    licence = facts.licence
    base = facts.language.split("-")[0]
    fields: dict[str, Any] = {
        "pretty_name": facts.name,
        "language": [base],
        **({"language_bcp47": [facts.language]} if base != facts.language else {}),
        "license": licence.hub,
    }
    if licence.hub == "other":
        fields["license_name"] = re.sub(r"[^a-z0-9.]+", "-", licence.name.casefold()).strip("-")
        fields["license_link"] = "LICENSE"
    fields |= {
        "size_categories": [_size(sum(size.cats for size in facts.sizes))],
        "task_categories": ["multiple-choice", "text-classification"],
        "tags": [*TAGS, SENSITIVE],
        **_gate(facts.statement.hub),
        "configs": _configs(data),
    }
    text = yaml.safe_dump(fields, allow_unicode=True, sort_keys=False, width=1000)
    return f"---\n{text}---\n"


def _size(cats: int) -> str:
    return next((name for bound, name in _SIZES if cats < bound), "n>1M")


def _gate(hub: Hub) -> dict[str, Any]:
    """The fields of a gated dataset; nothing if everybody may download it."""
    if not hub.gated:
        return {}
    return {
        "extra_gated_heading": "Ask for access to this dataset",
        **({"extra_gated_prompt": hub.prompt} if hub.prompt else {}),
        **({"extra_gated_fields": dict(hub.fields)} if hub.fields else {}),
    }


def _configs(data: Sequence[DataFile]) -> list[dict[str, Any]]:
    """The parts that ``datasets.load_dataset`` can load, each with its file for each split.

    They are the Parquet files, because ``datasets`` reads only one format in a dataset. Hidden
    CATs have other columns than public ones, so they are a part of their own.

    ``datasets`` keeps what it loaded from a folder under the folder's name and these values. The
    hashes in the descriptions are there so that it never takes another release for this one.
    """
    hashes = {file.path: file.sha256 for file in data if file.rows != 0}
    return [
        {
            "config_name": name,
            "description": "; ".join(f"{split} sha256 {hashes[of[split]]}" for split in of),
            "data_files": [{"split": split, "path": path} for split, path in of.items()],
        }
        | ({"default": True} if name == DEFAULT else {})
        for name, of in configs(hashes).items()
    ]
