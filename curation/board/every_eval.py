"""The rows of a board as Every Eval Ever's JSON: one file for each row.

Every Eval Ever is a schema in which results of many frameworks are compared (arXiv 2606.14516). The
files have the layout of its data store, ``data/DATASET/DEVELOPER/MODEL/UUID.json``.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

from curation.files import dump_json
from curation.formats.toml_files import shipped_table
from curation.records import Fields
from curation.text.rules import stable_id

FOLDER = "results/every_eval_ever/data"
_SAME = shipped_table("board", "every_eval.toml")
_SAFE = re.compile(
    r"(?!(?:aux|con|data|nul|prn|com\d|lpt\d)(?:\.|$))[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9_-])?",
    re.ASCII | re.IGNORECASE,
)
"""Names that are one folder on every system; the data store keeps «data» for itself."""


def files(content: Fields) -> Iterator[tuple[str, bytes]]:
    """The path in the board's folder of each row's file, and what is in it.

    Args:
        content: that of ``results/board.json`` (``building.standings``).
    """
    for test_set in content["sets"]:
        for ranking in test_set["rankings"]:
            for row in ranking["rows"]:
                developer, _, model = row["model"].rpartition("/")
                parts = test_set["dataset"].replace(" ", "-"), developer or "unknown", model
                safe = (each if _SAFE.fullmatch(each) else stable_id("x", each) for each in parts)
                uuid = str(UUID(hex=row["submission"][:32], version=4))
                made = _file(content, test_set, {**row, "profile": ranking["profile"]}, uuid)
                yield "/".join((FOLDER, *safe, f"{uuid}.json")), dump_json(made)


def _file(board: Fields, test_set: Fields, row: Fields, uuid: str) -> Fields:
    recheck: Fields = row["recheck"] or {}
    made = _seconds(recheck.get("date") or row["date"])
    about = {key: row[key] for key in ("state", "by", "link", "how", "submission")}
    about |= {"scored_by": _SAME[test_set["hide"]]["scored_by"]}
    about |= {"board": board["id"], "contact": board["contact"]}
    about |= {f"recheck_{key}": value for key, value in recheck.items()}
    model = {"name": row["model"], "id": row["model"]}
    if "/" in row["model"]:
        model["developer"] = row["model"].split("/")[0]
    details = _texts(_SAME["model"], revision=row["revision"], dtype=row["format"])
    source = {"source_name": board["name"], "source_organization_name": board["name"]}
    return {
        "schema_version": _SAME["schema_version"],
        "evaluation_id": f"{_name(test_set)} {uuid}/{row['model']}/{made}",
        "evaluation_timestamp": _seconds(row["date"]),
        "retrieved_timestamp": made,
        "source_metadata": {**source, **_SAME["source"], "additional_details": _texts(about)},
        "eval_library": {"name": "curation", "version": board["curation"]},
        "model_info": {**model, "additional_details": details},
        "evaluation_results": list(_results(test_set, row)),
    }


def _results(test_set: Fields, row: Fields) -> Iterator[Fields]:
    """The metrics of all CATs, and of the kinds and domains that the row shows."""
    names = ("version", "language", "cats", "terms", "opened", "closed")
    about = {key: test_set[key] for key in names}
    hidden = _SAME[test_set["hide"]]["hidden"]
    data = {"dataset_name": test_set["dataset"], "source_type": "other"}
    data |= {"additional_details": _texts(about, split="test", hidden=hidden)}
    rules = {f"rule_{kind}": rule for kind, rule in row["rules"].items()}
    config = {"additional_details": _texts(rules, profile=row["profile"])}
    values = row["values"]
    domains = {f"domain {domain}": cell for domain, cell in values["domains"].items()}
    for part, cell in {"all": values["overall"], **values["kinds"], **domains}.items():
        counts = _texts({key: cell[key] for key in ("cats", "terms")})
        for metric, says in _SAME["metrics"].items():
            if cell[metric] is None:
                continue
            score: Fields = {"score": cell[metric], "details": counts}
            if ends := cell[f"{metric}_ci"]:
                interval = {**says["interval"], "lower": ends[0], "upper": ends[1]}
                score["uncertainty"] = {"confidence_interval": interval}
            result = {"evaluation_name": f"{_name(test_set)}, {part}", "source_data": data}
            result |= {"metric_config": says["metric_config"], "score_details": score}
            result |= {"generation_config": config, "evaluation_result_id": f"{part}/{metric}"}
            yield result


def _name(test_set: Fields) -> str:
    return f"{test_set['dataset']} {test_set['version']}"


def _seconds(day: str) -> str:
    return str(int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()))


def _texts(values: Fields, **more: str) -> dict[str, str]:
    """Further details, which the schema wants as texts; those that are empty are left out."""
    given = {key: value for key, value in (values | more).items() if value not in ("", None)}
    return {key: v if isinstance(v, str) else json.dumps(v) for key, v in given.items()}
