"""A made-up set of four CATs, and files with it in every layout that is read."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

GOLD = ("anti-stereotype", "stereotype", "unrelated")  # as Hugging Face numbers them
VALUES = (*GOLD, "related")
Json = dict[str, Any]


def _item(number: int, target: str, context: str, *texts: str) -> Json:
    return {
        "id": f"cat-{number}",
        "target": target,
        "bias_type": "profession",
        "context": context,
        "sentences": [
            {
                "id": f"cat-{number}-{label}",
                "sentence": context.replace("BLANK", text) if "BLANK" in context else text,
                "gold_label": label,
                "labels": [{"label": label, "human_id": f"p{person}"} for person in range(5)],
            }
            for label, text in zip(GOLD, texts, strict=True)
        ],
    }


def items() -> list[Json]:
    """Two intrasentence items and two intersentence ones, in StereoSet's form."""
    return [
        _item(1, "baker", "The baker starts to work BLANK on weekdays.", "late", "early", "green"),
        _item(2, "gardener", "A gardener likes BLANK mornings.", "dry", "mild", "algebraic"),
        _item(3, "baker", "The baker lives next door.", "He wakes at noon.", "He wakes early.",
              "Rivers flow downhill."),
        _item(4, "pilot", "She is a pilot.", "She stays at home.", "She travels a lot.",
              "The soup is warm."),
    ]  # fmt: skip


def by_kind(chosen: Sequence[Json]) -> dict[str, list[Json]]:
    """Items by their kind."""
    return {
        kind: [item for item in chosen if ("BLANK" in item["context"]) == (kind[:5] == "intra")]
        for kind in ("intrasentence", "intersentence")
    }


def stereoset(chosen: Sequence[Json]) -> Json:
    """StereoSet's JSON."""
    return {"version": "1", "data": by_kind(chosen)}


def two_rows() -> list[Json]:
    """A row for the items of each kind."""
    return [{"version": "1", "data": part} for part in by_kind(items()).values()]


def as_struct(item: Json, *, integers: bool = True) -> Json:
    """An item of the Hugging Face layout: its sentences are a struct of lists."""
    sentences = item["sentences"]

    def label(name: str, order: Sequence[str]) -> int | str:
        return order.index(name) if integers else name

    return {
        **item,
        "sentences": {
            "sentence": [s["sentence"] for s in sentences],
            "id": [s["id"] for s in sentences],
            "labels": [
                {
                    "label": [label(vote["label"], VALUES) for vote in s["labels"]],
                    "human_id": [vote["human_id"] for vote in s["labels"]],
                }
                for s in sentences
            ],
            "gold_label": [label(s["gold_label"], GOLD) for s in sentences],
        },
    }


def features(order: Sequence[str] = GOLD) -> bytes:
    """The note on integer labels that Hugging Face writes into a Parquet file's schema."""
    gold = {"feature": {"names": list(order), "_type": "ClassLabel"}, "_type": "List"}
    votes = {"label": {"feature": {"names": list(VALUES), "_type": "ClassLabel"}, "_type": "List"}}
    sentences = {"labels": {"feature": votes, "_type": "List"}, "gold_label": gold}
    return json.dumps({"info": {"features": {"sentences": sentences}}}).encode()


def numbered(item: Json, *, words: bool = False) -> Json:
    """A row with the columns of stereotypes-multi."""
    row = {name: item[name] for name in ("id", "target", "bias_type", "context")}
    for number, sentence in enumerate(item["sentences"], 1):
        row |= {f"c{number}_{name}": value for name, value in sentence.items()}
        if words:
            before, after = item["context"].split("BLANK")
            text = sentence["sentence"].removeprefix(before).removesuffix(after)
            row[f"c{number}_word"] = text
    return row | {"target_original": f"{item['target']} (en)"}


def by_label(item: Json) -> Json:
    """An item of EditBias."""
    data = {s["gold_label"]: {"sentence": s["sentence"], "id": s["id"]} for s in item["sentences"]}
    return {**{name: item[name] for name in ("id", "target", "bias_type", "context")}, "data": data}


def label_lists(chosen: Sequence[Json]) -> Json:
    """A list for each gold label, as in unlearning_bias: ``id`` is the CAT's."""
    same = ("id", "target", "bias_type", "context")
    return {
        label: [
            {**{name: item[name] for name in same}, "sentence": s["sentence"], "label": number}
            for item in chosen
            for s in item["sentences"]
            if s["gold_label"] == label
        ]
        for number, label in enumerate(GOLD)
    }


def option_row(item: Json) -> Json:
    """A row with a column for each option."""
    texts = {s["gold_label"]: s["sentence"] for s in item["sentences"]}
    return {
        "Domain": item["bias_type"], "Target": item["target"], "Context": item["context"],
        **{f"{gold.capitalize()} Sentence": texts[gold]
           for gold in ("unrelated", "anti-stereotype", "stereotype")},
    }  # fmt: skip


def sentence_rows(chosen: Sequence[Json]) -> list[Json]:
    """A row for each sentence, with a translation in other columns."""
    return [
        {
            "dataset_type": "intrasentence" if "BLANK" in item["context"] else "intersentence",
            "cluster_id": item["id"], "bias_type": item["bias_type"], "target": item["target"],
            "context": item["context"], "sentence": s["sentence"], "gold_label": s["gold_label"],
            "sentence_id": s["id"], "context_xx": f"{item['context']} (xx)",
            "sentence_xx": f"{s['sentence']} (xx)",
        }
        for item in chosen
        for s in item["sentences"]
    ]  # fmt: skip


# --- files ----------------------------------------------------------------------------------------


def mapping(folder: Path, text: str) -> Path:
    """A mapping file."""
    path = folder / "map.toml"
    path.write_text(text, "utf-8")
    return path


def write_json(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    return path


def write_lines(path: Path, rows: Sequence[Json]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def write_csv(path: Path, rows: Sequence[Json], *, delimiter: str = ",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0].keys(), delimiter=delimiter)
        table.writeheader()
        table.writerows(rows)
    return path


def write_parquet(
    path: Path, rows: Sequence[Json], metadata: Mapping[bytes, bytes] | None = None
) -> Path:
    table = pyarrow.Table.from_pylist(list(rows))
    pyarrow.parquet.write_table(table.replace_schema_metadata(metadata or {}), path)
    return path


def each(make: Callable[[Json], Json]) -> list[Json]:
    """All items in another form."""
    return [make(item) for item in items()]


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "stereoset.json": lambda p: write_json(p, stereoset(items())),
    "bare.json": lambda p: write_json(p, items()),
    "kinds.json": lambda p: write_json(p, by_kind(items())),
    "data_list.json": lambda p: write_json(p, {"version": "1", "data": items()}),
    "two_rows.json": lambda p: write_json(p, two_rows()),
    "two_rows.jsonl": lambda p: write_lines(p, two_rows()),
    "two_rows.parquet": lambda p: write_parquet(p, two_rows()),
    "hf.json": lambda p: write_json(p, each(as_struct)),
    "hf.jsonl": lambda p: write_lines(p, each(as_struct)),
    "hf_words.jsonl": lambda p: write_lines(p, [as_struct(i, integers=False) for i in items()]),
    "hf.parquet": lambda p: write_parquet(p, each(as_struct), {b"huggingface": features()}),
    "multi.parquet": lambda p: write_parquet(p, each(numbered)),
    "editbias.json": lambda p: write_json(p, each(by_label)),
    "unlearning.json": lambda p: write_json(p, label_lists(items())),
    "options.csv": lambda p: write_csv(p, each(option_row)),
    "options.jsonl": lambda p: write_lines(p, each(option_row)),
    "sentences.csv": lambda p: write_csv(p, sentence_rows(items())),
}
"""A file in each layout, and what writes it."""
