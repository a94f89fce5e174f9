"""Reads releases with the libraries of their users; runs in an environment that has these.

A request is one line of JSON: ``{"do": NAME, ...}``; so is the answer. Nothing of curation is
imported here: what is read is what any user of these libraries reads.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any


def load(folder: str, config: str) -> Any:
    """The rows of a config by split, as ``datasets.load_dataset`` gives them."""
    import datasets

    loaded = datasets.load_dataset(folder, config)
    return {split: list(rows) for split, rows in loaded.items()}


def load_as_stereoset(folder: str, kind: str, split: str) -> Any:
    """CATs read by code that was written for McGill-NLP/stereoset."""
    import datasets

    rows = datasets.load_dataset(folder, kind)[split]
    gold = rows.features["sentences"]["gold_label"].feature
    label = rows.features["sentences"]["labels"].feature["label"].feature
    return {
        "classes": [gold.names, label.names],
        "cats": [
            {
                **{name: row[name] for name in ("id", "target", "bias_type", "context")},
                "options": [
                    [
                        row["sentences"]["id"][n],
                        row["sentences"]["sentence"][n],
                        gold.int2str(number) if number >= 0 else None,
                        [label.int2str(x) for x in row["sentences"]["labels"][n]["label"]],
                        row["sentences"]["labels"][n]["human_id"],
                    ]
                    for n, number in enumerate(row["sentences"]["gold_label"])
                ],
            }
            for row in rows
        ],
    }


def schema(files: list[str], rewritten: str) -> Any:
    """Whether datasets writes the same schema for a Parquet file's rows, and its own features."""
    import datasets
    from pyarrow import parquet

    same = []
    for file in files:
        rows = datasets.Dataset.from_parquet(file, keep_in_memory=True)
        rows.to_parquet(rewritten)
        ours, theirs = parquet.read_schema(file), parquet.read_schema(rewritten)
        features = datasets.Features.from_arrow_schema
        equal = ours.remove_metadata().equals(theirs.remove_metadata())
        same.append(equal and features(ours) == features(theirs) == rows.features)
    return same


def croissant(file: str) -> Any:
    """The records of all record sets as mlcroissant reads them, and its complaints."""
    import mlcroissant

    try:
        dataset = mlcroissant.Dataset(file)
    except mlcroissant.ValidationError as error:
        return {"errors": [str(error)]}
    metadata = dataset.metadata
    return {
        "errors": sorted(map(str, metadata.ctx.issues.errors)),
        "warnings": sorted(map(str, metadata.ctx.issues.warnings)),
        "version": str(metadata.conforms_to or metadata.ctx.conforms_to),
        "creators": [creator.name for creator in metadata.creators],
        "rai": {
            name: _plain(getattr(metadata, name))
            for name in (
                *("data_collection", "data_collection_timeframe", "data_manipulation_protocol"),
                *("data_annotation_protocol", "annotations_per_item", "annotator_demographics"),
                *("data_biases", "data_limitations", "data_use_cases", "data_social_impact"),
                *("personal_sensitive_information", "data_release_maintenance_plan"),
            )
        },
        "records": {
            records.uuid: [_plain(record) for record in dataset.records(records.uuid)]
            for records in metadata.record_sets
        },
    }


def _plain(value: Any) -> Any:
    """A value without numpy and bytes; fields have the last part of their names."""
    if isinstance(value, dict):
        return {name.rpartition("/")[2]: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, bytes):
        return value.decode()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return value.item() if hasattr(value, "item") else str(value)


def frictionless(file: str) -> Any:
    """The report of frictionless, and the number of rows of each table."""
    import frictionless as library

    report = library.validate(file)
    errors = [*report.errors, *(error for task in report.tasks for error in task.errors)]
    rows = {task.name: task.stats.get("rows") for task in report.tasks}
    notes = [[error.type, error.note] for error in errors]
    return {"valid": report.valid, "errors": notes, "rows": rows}


def pandas(folder: str) -> Any:
    """Rows of the flat files and of Parquet by pandas."""
    import pandas as library

    root = Path(folder)
    flat = {
        path.relative_to(root).as_posix(): library.read_json(path, lines=True, dtype=False)
        for path in [*sorted(root.glob("cats/*.jsonl")), root / "terms.jsonl"]
    }
    flat["annotations.csv"] = library.read_csv(root / "annotations.csv", dtype={"tier": "Int64"})
    parquet = library.concat(map(library.read_parquet, sorted(root.glob("int*/*.parquet"))))
    rows = {name: len(table) for name, table in flat.items()}
    return {"rows": rows, "ids": sorted(parquet["id"])}


def cite(text: str) -> Any:
    """A CITATION.cff as cffconvert validates and converts it."""
    from cffconvert import Citation

    citation = Citation(text)
    try:
        citation.validate()
    except Exception as error:
        return {"error": str(error).splitlines()[0]}
    forms = {"bibtex": citation.as_bibtex(), "apa": citation.as_apalike()}
    return {"error": None, **forms, "zenodo": json.loads(citation.as_zenodo())}


def inspect(code: str, folder: str, prefers: list[str]) -> Any:
    """What a program for inspect_ai finds out about a model that prefers these sentences.

    The model names its usage, because inspect_ai downloads a tokenizer to count it.
    """
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def answer(messages: Any, *_: Any) -> ModelOutput:
        lines = messages[-1].text.splitlines()
        letter = next((x[0] for x in lines if x[1:3] == ") " and x[3:] in prefers), "?")
        output = ModelOutput.from_content("mockllm", f"ANSWER: {letter}")
        output.usage = ModelUsage()
        return output

    os.chdir(folder)
    names: dict[str, Any] = {"model": get_model("mockllm/model", custom_outputs=answer)}
    exec(code, names)
    (log,) = names["logs"]
    if log.status != "success":
        raise RuntimeError(log.error.message if log.error else log.status)
    (score,) = log.results.scores
    return {name: metric.value for name, metric in score.metrics.items()}


KNOWN = (load, load_as_stereoset, schema, croissant, frictionless, pandas, cite, inspect)
ANSWERS = {answer.__name__: answer for answer in KNOWN}


def main() -> None:
    """Answer requests until there are none; other output goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = ANSWERS[request.pop("do")](**request)
        except Exception as error:
            answer = {"raised": f"{type(error).__name__}: {error}"}
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
