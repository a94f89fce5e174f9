"""A complete release folder, written by hand: nothing of it comes from the code that builds one."""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import orjson

from curation.released.facts import Facts
from support.catsets import GOLD, VALUES, as_struct, by_kind, features, write_parquet
from support.desk import write_csv
from support.written import beside, files

MADE = beside(__file__, "folders.toml")
GOLDS = ("stereotype", "anti-stereotype", "unrelated")
KINDS = ("intersentence", "intrasentence")
JOBS = MADE["jobs"]
PEOPLE = tuple(f"p-{n:016x}" for n in range(5))


def cats() -> list[dict[str, Any]]:
    """Eight CATs as items in StereoSet's form, with ``kind`` and ``split``."""
    items: list[dict[str, Any]] = []
    for target, job in JOBS.items():
        for kind in KINDS:
            context, *texts = job[kind]
            if kind == "intrasentence":
                texts = [context.replace("BLANK", word) for word in texts]
            name = f"{target}-{kind[:5]}"
            order = ((n + len(items)) % 3 for n in range(3))
            sentences = [
                {"id": f"{name}-{place}", "sentence": texts[n], "labels": labels(GOLDS[n]),
                 "gold_label": GOLDS[n]}
                for place, n in enumerate(order)
            ]  # fmt: skip
            items.append(
                {"id": name, "kind": kind, "split": job["split"], "target": target,
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
             "wikidata": [], "names": [], "split": job["split"],
             **{kind: counts[target, kind] for kind in reversed(KINDS)}}
            for target, job in JOBS.items()
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
    sizes = [
        {"domain": domain, "kind": kind, "split": split, "terms": 2, "cats": count}
        for (domain, kind, split), count in sorted(cells.items())
    ]
    counted = {"tiers": {"4": known}, "annotations": 15 * known, "counted": 15 * known}
    hidden = {"split": "test", "cats": 4, "terms": 2} if hide else None
    canonical = hashlib.sha256(whole).hexdigest()
    about = {"sizes": sizes, "hidden": hidden, "canonical": canonical, **counted}
    return Facts.model_validate({**MADE["facts"], **about})


def _texts(folder: Path, facts: Facts) -> None:
    texts = {"canary": facts.canary, "canonical": facts.canonical}
    put(folder / "README.md", MADE["card"].format(**texts))
    put(folder / "STATEMENT.md", "# Data statement\n")
    put(folder / "LICENSE", "You may share and adapt it.\n")
    put(folder / "CITATION.cff", MADE["citation"])
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
