"""A complete release folder, written by hand: nothing of it comes from the code that builds one."""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import yaml

from curation.release.facts import Author, Facts, Hidden, Licence, Size, Statement
from support.catsets import GOLD, VALUES, as_struct, by_kind, features, write_parquet
from support.desk import write_csv
from support.written import files

CANARY = "6f1c6f3e-0c52-4d8e-9a55-3f3f2f6a9b10"
GOLDS = ("stereotype", "anti-stereotype", "unrelated")
KINDS = ("intersentence", "intrasentence")
JOBS = {
    "baker": (
        "dev", "The baker on our street is BLANK.", ("early", "late", "magnetic"),
        "My neighbour works as a baker.",
        ("He gets up at four.", "He sleeps until noon.", "The lake froze over."),
    ),
    "florist": (
        "dev", "I heard that a florist must be BLANK.", ("gentle", "rough", "hexagonal"),
        "A florist arranged tulips for us.",
        ("She spoke softly to all.", "She shouted at everybody.", "Seven is odd."),
    ),
    "pilot": (
        "test", "During landing the pilot seemed BLANK.", ("calm", "nervous", "soluble"),
        "We waved to the pilot.",
        ("They kept their nerve well.", "They panicked in the wind.", "Bread is on sale."),
    ),
    "sailor": (
        "test", "Every sailor whom we met was BLANK.", ("brave", "timid", "decimal"),
        "There was a sailor at the bar.",
        ("He laughed at the storm.", "He hid below the deck.", "Chess needs a board."),
    ),
}  # fmt: skip
"""By target: its split; a context and its fillers; another context and its sentences."""
PEOPLE = tuple(f"p-{n:016x}" for n in range(5))
CARD = """
# Made-up jobs

> Content warning: these texts state stereotypes.

Contact: team@example.org. Limits: a pool of annotators is not a population.
Canary: {canary}. Canonical hash: {canonical}.
"""


def cats() -> list[dict[str, Any]]:
    """Eight CATs as items in StereoSet's form, with ``kind`` and ``split``."""
    items: list[dict[str, Any]] = []
    for target, (split, template, words, opening, following) in JOBS.items():
        filled = tuple(template.replace("BLANK", word) for word in words)
        for kind, context, texts in zip(
            KINDS, (opening, template), (following, filled), strict=True
        ):
            name = f"{target}-{kind[:5]}"
            order = ((n + len(items)) % 3 for n in range(3))
            sentences = [
                {"id": f"{name}-{place}", "sentence": texts[n], "labels": labels(GOLDS[n]),
                 "gold_label": GOLDS[n]}
                for place, n in enumerate(order)
            ]  # fmt: skip
            items.append(
                {"id": name, "kind": kind, "split": split, "target": target,
                 "bias_type": "profession", "context": context, "tier": 4, "sentences": sentences}
            )  # fmt: skip
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
    for split, name in (("dev", "validation"), ("test", "test")):
        parts = by_kind([item for item in items if item["split"] == split])
        data = {kind: [*map(_plain, part)] for kind, part in parts.items()}
        about = {"version": "1.0.0", "curation": {"language": "en"}}
        put(folder / f"{split}.json", {**about, "data": data})
        for kind, part in parts.items():
            put_lines(folder / "cats" / f"{kind}-{split}.jsonl", map(_flat, part))
            _parquet(folder / kind / f"{name}-00000-of-00001.parquet", data[kind])
    votes = [
        {"cat_id": item["id"], "association_id": sentence["id"], "annotator": row["human_id"],
         "label": row["label"], "round": "main", "counted": True, "tier": 4}
        for item in items
        for sentence in item["sentences"]
        for row in sentence["labels"]
    ]  # fmt: skip
    write_csv(folder / "annotations.csv", votes)
    counts = Counter((item["target"], item["kind"]) for item in items)
    put_lines(
        folder / "terms.jsonl",
        (
            {"id": f"term-{target}", "text": target, "domain": "profession", "family": None,
             "wikidata": [], "names": [], "split": split,
             **{kind: counts[target, kind] for kind in reversed(KINDS)}}
            for target, (split, *_) in JOBS.items()
        ),
    )  # fmt: skip
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


def put_lines(path: Path, rows: Any) -> None:
    """Write JSON, one row a line."""
    put(path, b"".join(orjson.dumps(row) + b"\n" for row in rows))


def sums(folder: Path) -> None:
    """Write SHA256SUMS over all files."""
    (folder / "SHA256SUMS").unlink(missing_ok=True)
    every = sorted(files(folder).items())
    lines = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in every]
    put(folder / "SHA256SUMS", "".join(lines))


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in ("kind", "split")}


def _flat(item: dict[str, Any]) -> dict[str, Any]:
    row = {name: item[name] for name in ("id", "kind", "split")}
    row |= {"domain": item["bias_type"], "target": item["target"], "target_original": None}
    row["context"] = item["context"]
    golds = {s["gold_label"]: s["sentence"] for s in item["sentences"]}
    if "hidden" in golds:
        options = [{"id": s["id"], "sentence": s["sentence"]} for s in item["sentences"]]
        commitment = hashlib.sha256(item["id"].encode()).hexdigest()
        return {**row, "options": options, "commitment": commitment}
    texts = {gold.replace("-", "_"): golds[gold] for gold in GOLDS}
    return {**row, **texts, "tier": item["tier"]}


def _parquet(path: Path, items: list[dict[str, Any]]) -> None:
    """The layout of StereoSet on the hub: labels are integers, -1 is a hidden one."""
    rows = [as_struct({**item, "tier": None}, integers=False) for item in items]
    for row in rows:
        del row["tier"]
        golds = row["sentences"]["gold_label"]
        row["sentences"]["gold_label"] = [GOLD.index(g) if g in GOLD else -1 for g in golds]
        for votes in row["sentences"]["labels"]:
            votes["label"] = [*map(VALUES.index, votes["label"])]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_parquet(path, rows, {b"huggingface": features()})


def _facts(folder: Path, items: list[dict[str, Any]], *, hide: bool) -> Facts:
    cells = Counter((i["bias_type"], i["kind"], i["split"]) for i in items)
    whole = b"".join(path.read_bytes() for path in sorted((folder / "cats").iterdir()))
    known = sum(item["tier"] is not None for item in items)
    return Facts(
        name="Made-up jobs", version="1.0.0", language="en", date="2026-01-02", canary=CANARY,
        warning="These texts state stereotypes.",
        licence=Licence(name="CC BY 4.0", spdx="CC-BY-4.0", hub="cc-by-4.0"),
        statement=Statement(authors=(Author(name="A. Team"),), contact="team@example.org"),
        sizes=tuple(
            Size(domain=domain, kind=kind, split=split, terms=2, cats=count)
            for (domain, kind, split), count in sorted(cells.items())
        ),
        tiers={"4": known}, annotations=15 * known, annotators=5, counted=15 * known,
        decisions={"needed": 3, "of": 5, "count_writer": False}, seed=0, dev=0.5,
        hidden=Hidden(split="test", cats=4, terms=2) if hide else None,
        canonical=hashlib.sha256(whole).hexdigest(),
    )  # fmt: skip


def _texts(folder: Path, facts: Facts) -> None:
    def config(name: str, files: Any) -> dict[str, Any]:
        return {"config_name": name, "data_files": files}

    def parts(**paths: str) -> list[dict[str, str]]:
        return [{"split": split, "path": path} for split, path in paths.items()]

    configs = [
        config(kind, parts(**{s: f"{kind}/{s}-*.parquet" for s in ("validation", "test")}))
        for kind in KINDS
    ]
    configs.append(config("cats", parts(dev="cats/*-dev.jsonl", test="cats/*-test.jsonl")))
    configs += [config("annotations", "annotations.csv"), config("terms", ["terms.jsonl"])]
    front = yaml.safe_dump({"license": "cc-by-4.0", "language": ["en"], "configs": configs})
    text = CARD.format(canary=facts.canary, canonical=facts.canonical)
    put(folder / "README.md", f"---\n{front}---\n{text}")
    put(folder / "STATEMENT.md", "# Data statement\n")
    put(folder / "LICENSE", "You may share and adapt it.\n")
    cited = {"cff-version": "1.2.0", "message": "Please cite it.", "title": facts.name}
    put(folder / "CITATION.cff", yaml.safe_dump({**cited, "authors": [{"name": "A. Team"}]}))
    described, resources = [], []
    for name, content in sorted(files(folder).items()):
        if name.endswith((".parquet", ".jsonl", ".csv")):
            sha, size = hashlib.sha256(content).hexdigest(), len(content)
            place = {"@type": "cr:FileObject", "contentUrl": name, "contentSize": f"{size} B"}
            described.append({**place, "sha256": sha})
            resources.append({"path": name, "bytes": size, "hash": f"sha256:{sha}"})
    about = {"url": "https://doi.org/10.1234/jobs", "distribution": described}
    put(folder / "croissant.json", about)
    licences = [{"name": "CC-BY-4.0"}]
    put(folder / "datapackage.json", {"licenses": licences, "resources": resources})
