"""The front matter of a release's card: what the Hugging Face Hub reads, as YAML.

Only PyYAML writes it, so no name can break it.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from curation.records import KINDS
from curation.release.contents import HUB_SPLITS, SPLITS, DataFile
from curation.release.facts import Facts, Hub

WHOLE = "full"
"""The only split of a table without splits. ``datasets`` refuses "all" as the name of a split."""
TAGS = ("stereoset", "stereotypes", "social-bias", "context-association-test")
SENSITIVE = "not-for-all-audiences"
"""The tag with which the Hub asks people before it shows rows of a dataset."""
_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
)
_FLAT = {
    **dict.fromkeys(("id", "kind", "split", "domain", "target", "target_original"), "string"),
    **dict.fromkeys(("context", "stereotype", "anti_stereotype", "unrelated"), "string"),
    "tier": "int64",
}
_ANNOTATIONS = {
    **dict.fromkeys(("cat_id", "association_id", "annotator", "label", "round"), "string"),
    "counted": "bool",
    "tier": "int64",
}
_TERMS: dict[str, Any] = {
    **dict.fromkeys(("id", "text", "domain", "family"), "string"),
    **{key: ["string"] for key in ("wikidata", "names")},
    "split": "string",
    **dict.fromkeys(KINDS, "int64"),
}


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
    configs = _configs(facts, data)
    fields |= {
        "size_categories": [_size(sum(size.cats for size in facts.sizes))],
        "task_categories": ["multiple-choice", "text-classification"],
        "tags": [*TAGS, SENSITIVE],
        **_gate(facts.statement.hub),
        "configs": configs,
        "dataset_info": _features(config["config_name"] for config in configs),
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


def _configs(facts: Facts, data: Sequence[DataFile]) -> list[dict[str, Any]]:
    """The parts that ``datasets.load_dataset`` can load, each with its files by split.

    Hidden CATs have other columns than public ones, so they are in a part of their own.
    """
    there = {file.path for file in data if file.rows != 0}
    hidden = facts.hidden.split if facts.hidden else ""
    configs = [
        _config(kind, {HUB_SPLITS[s]: [_parquet(kind, HUB_SPLITS[s])] for s in SPLITS})
        for kind in reversed(KINDS)
    ]
    flat = {split: [f"cats/{kind}-{split}.jsonl" for kind in KINDS] for split in SPLITS}
    configs.append(_config("cats", {s: paths for s, paths in flat.items() if s != hidden}))
    configs[-1]["default"] = True
    if hidden:
        configs.append(_config("hidden", {s: paths for s, paths in flat.items() if s == hidden}))
    configs.append(_config("annotations", {WHOLE: ["annotations.csv"]}))
    configs.append(_config("terms", {WHOLE: ["terms.jsonl"]}))
    kept = []
    for config in configs:
        files = [
            {"split": part["split"], "path": paths[0] if len(paths) == 1 else paths}
            for part in config["data_files"]
            if (paths := [path for path in part["path"] if path in there])
        ]
        if files:
            kept.append({**config, "data_files": files})
    return kept


def _parquet(kind: str, split: str) -> str:
    return f"{kind}/{split}-00000-of-00001.parquet"


def _config(name: str, files: dict[str, list[str]]) -> dict[str, Any]:
    parts = [{"split": split, "path": paths} for split, paths in files.items()]
    return {"config_name": name, "data_files": parts}


def _features(names: Iterable[str]) -> list[dict[str, Any]]:
    """The columns of the tables that are not Parquet.

    Without them, a column that is empty in the first file would have no type.
    """
    tables: dict[str, dict[str, Any]] = {
        "cats": _FLAT,
        "annotations": _ANNOTATIONS,
        "terms": _TERMS,
    }
    return [
        {
            "config_name": name,
            "features": [
                {"name": column, "sequence": kind[0]}
                if isinstance(kind, list)
                else {"name": column, "dtype": kind}
                for column, kind in tables[name].items()
            ],
        }
        for name in names
        if name in tables
    ]
