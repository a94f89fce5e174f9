"""A complete release folder, written by hand: nothing of it comes from the code that builds one."""

import csv
import hashlib
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from curation.release.facts import Author, Facts, Hidden, Licence, Size, Statement

CANARY = "6f1c6f3e-0c52-4d8e-9a55-3f3f2f6a9b10"
GOLDS = ("stereotype", "anti-stereotype", "unrelated")
CLASSES = ("anti-stereotype", "stereotype", "unrelated", "related")
TERMS = (("baker", "dev"), ("florist", "dev"), ("pilot", "test"), ("sailor", "test"))
WORDS = {
    "baker": ("early", "late", "magnetic"),
    "florist": ("gentle", "rough", "hexagonal"),
    "pilot": ("calm", "nervous", "soluble"),
    "sailor": ("brave", "timid", "decimal"),
}
SENTENCES = {
    "baker": ("He gets up at four.", "He sleeps until noon.", "The lake froze over."),
    "florist": ("She spoke softly to all.", "She shouted at everybody.", "Seven is odd."),
    "pilot": ("They kept their nerve well.", "They panicked in the wind.", "Bread is on sale."),
    "sailor": ("He laughed at the storm.", "He hid below the deck.", "Chess needs a board."),
}
CONTEXTS = {
    "baker": "The baker on our street is BLANK.",
    "florist": "I heard that a florist must be BLANK.",
    "pilot": "During landing the pilot seemed BLANK.",
    "sailor": "Every sailor whom we met was BLANK.",
}
OPENINGS = {
    "baker": "My neighbour works as a baker.",
    "florist": "A florist arranged tulips for us.",
    "pilot": "We waved to the pilot.",
    "sailor": "There was a sailor at the bar.",
}
PEOPLE = tuple(f"p-{n:016x}" for n in range(5))
CARD = """
# Made-up jobs

> Content warning: these texts state stereotypes.

Contact: team@example.org. Limits: a pool of annotators is not a population.
Canary: {canary}. Canonical hash: {canonical}.
"""


def cats() -> list[dict[str, Any]]:
    """Eight CATs as items in StereoSet's form, with ``kind`` and ``split``."""
    items = []
    for target, split in TERMS:
        for kind in ("intersentence", "intrasentence"):
            name = f"{target}-{kind[:5]}"
            intra = kind == "intrasentence"
            context = CONTEXTS[target] if intra else OPENINGS[target]
            texts = [context.replace("BLANK", w) for w in WORDS[target]]
            texts = texts if intra else list(SENTENCES[target])
            order = [(n + len(items)) % 3 for n in range(3)]
            items.append(
                {
                    "id": name,
                    "kind": kind,
                    "split": split,
                    "target": target,
                    "bias_type": "profession",
                    "context": context,
                    "tier": 4,
                    "sentences": [
                        {
                            "id": f"{name}-{place}",
                            "sentence": texts[n],
                            "labels": labels(GOLDS[n]),
                            "gold_label": GOLDS[n],
                        }
                        for place, n in enumerate(order)
                    ],
                }
            )
    return items


def labels(gold: str) -> list[dict[str, str]]:
    """Five labels, four of them the gold label."""
    other = "related" if gold != "unrelated" else "stereotype"
    return [{"label": gold if n else other, "human_id": p} for n, p in enumerate(PEOPLE)]


def hidden(item: dict[str, Any], number: int) -> dict[str, Any]:
    """The public side of a hidden CAT: random ids, no gold labels."""
    digests = [hashlib.sha256(f"{number} {n}".encode()).hexdigest()[:20] for n in range(4)]
    sentences = [
        {"id": f"o-{digest}", "sentence": s["sentence"], "labels": [], "gold_label": "hidden"}
        for digest, s in zip(digests[1:], item["sentences"], strict=True)
    ]
    sentences.sort(key=lambda s: s["id"])
    return {**item, "id": f"c-{digests[0]}", "tier": None, "sentences": sentences}


def write(folder: Path, *, hide: bool = False, items: list[dict[str, Any]] | None = None) -> Path:
    """Write the release folder and its checksums."""
    items = cats() if items is None else items
    if hide:
        items = [hidden(i, n) if i["split"] == "test" else i for n, i in enumerate(items)]
    for split in ("dev", "test"):
        own = [item for item in items if item["split"] == split]
        data = {
            kind: [_plain(item) for item in own if item["kind"] == kind]
            for kind in ("intersentence", "intrasentence")
        }
        document = {"version": "1.0.0", "curation": {"language": "en"}, "data": data}
        put(folder / f"{split}.json", document)
        for kind in ("intersentence", "intrasentence"):
            rows = [item for item in own if item["kind"] == kind]
            name = "validation" if split == "dev" else "test"
            _parquet(folder / kind / f"{name}-00000-of-00001.parquet", rows)
            lines = b"".join(orjson.dumps(_flat(item)) + b"\n" for item in rows)
            put(folder / "cats" / f"{kind}-{split}.jsonl", lines)
    _annotations(folder, items)
    _terms(folder, items)
    facts = _facts(folder, items, hide=hide)
    put(folder / "release.json", facts.model_dump(mode="json"))
    _texts(folder, facts)
    sums(folder)
    return folder


def put(path: Path, content: Any) -> None:
    """Write bytes, a text, or anything else as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        content = content.encode()
    path.write_bytes(content if isinstance(content, bytes) else orjson.dumps(content))


def sums(folder: Path) -> None:
    """Write SHA256SUMS over all files."""
    (folder / "SHA256SUMS").unlink(missing_ok=True)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n"
        for path in files
    ]
    put(folder / "SHA256SUMS", "".join(lines))


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in ("kind", "split")}


def _flat(item: dict[str, Any]) -> dict[str, Any]:
    row = {
        "id": item["id"],
        "kind": item["kind"],
        "split": item["split"],
        "domain": item["bias_type"],
        "target": item["target"],
        "target_original": None,
        "context": item["context"],
    }
    golds = {s["gold_label"]: s["sentence"] for s in item["sentences"]}
    if "hidden" in golds:
        options = [{"id": s["id"], "sentence": s["sentence"]} for s in item["sentences"]]
        commitment = hashlib.sha256(item["id"].encode()).hexdigest()
        return {**row, "options": options, "commitment": commitment}
    texts = {gold.replace("-", "_"): golds[gold] for gold in GOLDS}
    return {**row, **texts, "tier": item["tier"]}


def _parquet(path: Path, items: list[dict[str, Any]]) -> None:
    rows = []
    for item in items:
        s = item["sentences"]
        rows.append(
            {
                "id": item["id"],
                "target": item["target"],
                "bias_type": item["bias_type"],
                "context": item["context"],
                "sentences": {
                    "sentence": [x["sentence"] for x in s],
                    "id": [x["id"] for x in s],
                    "labels": [
                        {
                            "label": [CLASSES.index(y["label"]) for y in x["labels"]],
                            "human_id": [y["human_id"] for y in x["labels"]],
                        }
                        for x in s
                    ],
                    "gold_label": [
                        -1 if x["gold_label"] == "hidden" else CLASSES.index(x["gold_label"])
                        for x in s
                    ],
                },
            }
        )
    label = {"names": list(CLASSES), "_type": "ClassLabel"}
    gold = {"names": list(CLASSES[:3]), "_type": "ClassLabel"}
    features = {"sentences": {"labels": {"label": label}, "gold_label": gold}}
    about = json.dumps({"info": {"features": features}})
    text, whole = pa.string(), pa.int64()
    kind = pa.struct(
        [
            ("sentence", pa.list_(text)),
            ("id", pa.list_(text)),
            (
                "labels",
                pa.list_(pa.struct([("label", pa.list_(whole)), ("human_id", pa.list_(text))])),
            ),
            ("gold_label", pa.list_(whole)),
        ]
    )
    names = ("id", "target", "bias_type", "context")
    schema = pa.schema([*((name, text) for name in names), ("sentences", kind)])
    table = pa.Table.from_pylist(rows, schema=schema.with_metadata({"huggingface": about}))
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def _annotations(folder: Path, items: list[dict[str, Any]]) -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = ("cat_id", "association_id", "annotator", "label", "round", "counted", "tier")
    writer.writerow(columns)
    for item in items:
        for sentence in item["sentences"]:
            for row in sentence["labels"]:
                writer.writerow(
                    (item["id"], sentence["id"], row["human_id"], row["label"], "main", True, 4)
                )
    put(folder / "annotations.csv", out.getvalue())


def _terms(folder: Path, items: list[dict[str, Any]]) -> None:
    rows = [
        {
            "id": f"term-{target}",
            "text": target,
            "domain": "profession",
            "family": None,
            "wikidata": [],
            "names": [],
            "split": split,
            "intrasentence": sum(
                i["target"] == target and i["kind"] == "intrasentence" for i in items
            ),
            "intersentence": sum(
                i["target"] == target and i["kind"] == "intersentence" for i in items
            ),
        }
        for target, split in TERMS
    ]
    put(folder / "terms.jsonl", b"".join(orjson.dumps(row) + b"\n" for row in rows))


def _facts(folder: Path, items: list[dict[str, Any]], *, hide: bool) -> Facts:
    cells = Counter((i["bias_type"], i["kind"], i["split"]) for i in items)
    sizes = tuple(
        Size(domain=d, kind=k, split=s, terms=2, cats=count)
        for (d, k, s), count in sorted(cells.items())
    )
    whole = hashlib.sha256()
    for path in sorted((folder / "cats").iterdir()):
        whole.update(path.read_bytes())
    known = [item for item in items if item["tier"] is not None]
    return Facts(
        name="Made-up jobs",
        version="1.0.0",
        language="en",
        date="2026-01-02",
        canary=CANARY,
        warning="These texts state stereotypes.",
        licence=Licence(name="CC BY 4.0", spdx="CC-BY-4.0", hub="cc-by-4.0"),
        statement=Statement(authors=(Author(name="A. Team"),), contact="team@example.org"),
        sizes=sizes,
        tiers={"4": len(known)},
        annotations=15 * len(known),
        annotators=5,
        counted=15 * len(known),
        decisions={"needed": 3, "of": 5, "count_writer": False},
        seed=0,
        dev=0.5,
        hidden=Hidden(split="test", cats=4, terms=2) if hide else None,
        canonical=whole.hexdigest(),
    )


def _texts(folder: Path, facts: Facts) -> None:
    configs = [
        {
            "config_name": kind,
            "data_files": [
                {"split": "validation", "path": f"{kind}/validation-*.parquet"},
                {"split": "test", "path": f"{kind}/test-*.parquet"},
            ],
        }
        for kind in ("intersentence", "intrasentence")
    ]
    configs += [
        {
            "config_name": "cats",
            "data_files": [
                {"split": split, "path": f"cats/*-{split}.jsonl"} for split in ("dev", "test")
            ],
        },
        {"config_name": "annotations", "data_files": "annotations.csv"},
        {"config_name": "terms", "data_files": ["terms.jsonl"]},
    ]
    front = yaml.safe_dump({"license": "cc-by-4.0", "language": ["en"], "configs": configs})
    text = CARD.format(canary=facts.canary, canonical=facts.canonical)
    put(folder / "README.md", f"---\n{front}---\n{text}")
    put(folder / "STATEMENT.md", "# Data statement\n")
    put(folder / "LICENSE", "You may share and adapt it.\n")
    cited = {
        "cff-version": "1.2.0",
        "message": "Please cite it.",
        "title": facts.name,
        "authors": [{"name": "A. Team"}],
    }
    put(folder / "CITATION.cff", yaml.safe_dump(cited))
    data = [n for n in folder.rglob("*") if n.suffix in (".parquet", ".jsonl", ".csv")]
    named = [(path.relative_to(folder).as_posix(), path.read_bytes()) for path in sorted(data)]
    put(
        folder / "croissant.json",
        {
            "url": "https://doi.org/10.1234/jobs",
            "distribution": [
                {
                    "@type": "cr:FileObject",
                    "contentUrl": name,
                    "contentSize": f"{len(content)} B",
                    "sha256": hashlib.sha256(content).hexdigest(),
                }
                for name, content in named
            ],
        },
    )
    put(
        folder / "datapackage.json",
        {
            "licenses": [{"name": "CC-BY-4.0"}],
            "resources": [
                {
                    "path": name,
                    "bytes": len(content),
                    "hash": f"sha256:{hashlib.sha256(content).hexdigest()}",
                }
                for name, content in named
            ],
        },
    )
