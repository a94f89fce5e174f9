"""The libraries of its users read a release, offline, and find in it what was published."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyarrow.parquet import read_table

from curation.kinds import CAT_KINDS
from curation.release.metadata import citation
from curation.released.facts import Licence, Statement
from support import releases
from support.catsets import GOLD, VALUES
from support.commands import ROOT
from support.desk import read_csv
from support.environments import Process
from support.written import lines, read

HUB = {"dev": "validation", "test": "test"}
ODD: tuple[dict[str, Any], ...] = (
    {"statement": Statement()},
    {"anonymous": True, "statement": Statement(), "rounds": (), "agreement": (), "baselines": ()},
    {"name": "- x: [y]\n#\t«\u202e»🙂", "language": "ja"},
    {"licence": Licence(name="Our own", url="not an address")},
    {"statement": Statement(doi="no doi", paper="in press", repository="git@x:y")},
)
"""Facts that other programs could stumble on."""


BUILT = (
    *("example_release", "example_hidden", "example_sealed", "example_anonymous"),
    *("arabic_release", "japanese_release"),
)
"""The fixtures of releases that ``curation release build`` made."""


@pytest.fixture(scope="module", params=["made up", *BUILT])
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up release with odd texts, and those that the command builds."""
    if request.param == "made up":
        folder = tmp_path_factory.mktemp("release") / "1.0.0"
        return releases.write(folder, releases.contents(), releases.facts())
    return Path(request.getfixturevalue(request.param))


@pytest.fixture
def copy(example_release: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(example_release, tmp_path / "copy"))


def published(folder: Path) -> dict[str, dict[str, Any]]:
    """The CATs by id as StereoSet's JSON has them, with kind and split."""
    return {
        item["id"]: {**item, "kind": kind, "split": path.stem}
        for path in (folder / "dev.json", folder / "test.json")
        if path.exists()
        for kind, items in read(path)["data"].items()
        for item in items
    }


def in_rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """datasets gives a list of records as a record of lists."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def options(item: dict[str, Any]) -> list[Any]:
    """Id, text, gold label (None if it is hidden), labels and people of each sentence."""
    return [
        [
            *(s["id"], s["sentence"], s["gold_label"] if s["gold_label"] != "hidden" else None),
            *([vote[name] for vote in s["labels"]] for name in ("label", "human_id")),
        ]
        for s in item["sentences"]
    ]


def ask(process: Process, task: str, **request: Any) -> Any:
    answer = process.ask({"do": task, **request})
    assert "raised" not in answer, answer
    return answer


def annotations(folder: Path) -> list[dict[str, Any]]:
    rows = read_csv(folder / "annotations.csv")
    for row in rows:
        row["counted"] = row["counted"] == "True"
        row["tier"] = int(row["tier"]) if row["tier"] else None
    return rows


def parts(folder: Path) -> list[tuple[str, str]]:
    """The kinds and splits that have CATs."""
    found = {(cat["kind"], cat["split"]) for cat in published(folder).values()}
    return [(kind, split) for kind in CAT_KINDS for split in HUB if (kind, split) in found]


def header(folder: Path) -> Any:
    return yaml.safe_load((folder / "README.md").read_text("utf-8").split("---\n")[1])


# --- datasets -------------------------------------------------------------------------------------


def test_datasets_loads_every_config_as_it_was_published(release: Path, consumers: Process) -> None:
    names = [config["config_name"] for config in header(release)["configs"]]
    loaded = {name: ask(consumers, "load", folder=str(release), config=name) for name in names}
    flat: dict[str, list[Any]] = {}
    for kind, split in parts(release):
        flat.setdefault(split, []).extend(lines(release / f"cats/{kind}-{split}.jsonl"))
    hidden = loaded.pop("hidden", {})
    for row in (row for rows in hidden.values() for row in rows):
        row["options"] = in_rows(row["options"])
    assert {**loaded.pop("cats"), **hidden} == flat
    assert loaded.pop("annotations", {"full": []})["full"] == annotations(release)
    assert loaded.pop("terms")["full"] == lines(release / "terms.jsonl")
    kinds = {kind: {HUB[s] for k, s in parts(release) if k == kind} for kind, _ in parts(release)}
    assert {kind: set(splits) for kind, splits in loaded.items()} == kinds


def test_datasets_never_gives_the_rows_of_another_release_of_the_same_name(
    consumers: Process, tmp_path: Path
) -> None:
    made = releases.contents()
    first, *cats = made.cats
    term, *terms = made.terms
    other_term = term._replace(term=term.term.model_copy(update={"names": ("another",)}))
    labels = made.annotations.assign(round="another")
    releases_of_one_name = {
        "the first": made,
        "other CATs": replace(made, cats=(first._replace(context="So BLANK."), *cats)),
        "other labels": replace(made, annotations=labels),
        "other terms": replace(made, terms=(other_term, *terms)),
        "hidden": releases.hidden(made),
    }
    rebuilt = tmp_path / "rebuilt/0.1.0"
    for name, content in releases_of_one_name.items():
        about = releases.facts(statement=Statement())
        own = releases.write(tmp_path / name / "0.1.0", content, about)
        shutil.rmtree(rebuilt, ignore_errors=True)
        for folder in (own, Path(shutil.copytree(own, rebuilt))):
            for config in header(folder)["configs"]:
                paths = {file["split"]: folder / file["path"] for file in config["data_files"]}
                there = {split: read_table(path).to_pylist() for split, path in paths.items()}
                place = {"folder": str(folder), "config": config["config_name"]}
                assert ask(consumers, "load", **place) == there, (name, place)


def test_code_for_stereoset_on_the_hub_reads_it(release: Path, consumers: Process) -> None:
    cats = published(release)
    seen = set()
    for kind, split in parts(release):
        place = {"folder": str(release), "kind": kind, "split": HUB[split]}
        answer = ask(consumers, "load_as_stereoset", **place)
        assert answer["classes"] == [[*GOLD], [*VALUES]]
        for row in answer["cats"]:
            item = cats[row["id"]]
            assert (item["kind"], item["split"]) == (kind, split)
            for name in ("target", "bias_type", "context"):
                assert row[name] == item[name]
            assert row["options"] == options(item)
            seen.add(row["id"])
    assert seen == set(cats)


def test_datasets_writes_the_same_schema(release: Path, consumers: Process, tmp_path: Path) -> None:
    files = [str(path) for path in release.glob("*/*.parquet")]
    assert files
    rewritten = str(tmp_path / "rewritten.parquet")
    answer = ask(consumers, "schema", files=files, rewritten=rewritten)
    assert answer == [True] * len(files)


def test_pandas_reads_every_table(release: Path, consumers: Process) -> None:
    answer = ask(consumers, "pandas", folder=str(release))
    assert answer["ids"] == sorted(published(release))
    assert answer["rows"]["annotations.csv"] == len(annotations(release))
    assert sum(n for name, n in answer["rows"].items() if "cats/" in name) == len(answer["ids"])


# --- mlcroissant ----------------------------------------------------------------------------------


def croissant(folder: Path, consumers: Process) -> Any:
    return consumers.ask({"do": "croissant", "file": str(folder / "croissant.json")})


def test_mlcroissant_reads_every_record(release: Path, consumers: Process) -> None:
    answer = croissant(release, consumers)
    assert (answer.get("raised"), answer["errors"], answer["warnings"]) == (None, [], [])
    assert "1.1" in answer["version"]
    rai = answer["rai"]
    assert all(value for name, value in rai.items() if name != "data_collection_timeframe"), rai
    dated = read(release / "croissant.json").get(
        "rai:dataCollectionTimeFrame", []
    )  # missing if no answer has a time
    assert [day[:10] for day in rai["data_collection_timeframe"] or []] == dated
    records, cats = answer["records"], published(release)
    for kind, split in parts(release):
        rows = records.pop(f"{kind}-{HUB[split]}")
        wanted = [c for c in cats.values() if (c["kind"], c["split"]) == (kind, split)]
        assert [row["id"] for row in rows] == [item["id"] for item in wanted]
        for row, item in zip(rows, wanted, strict=True):
            for name in ("target", "bias_type", "context"):
                assert row[name] == item[name]
            own = row["sentences"]
            golds = [VALUES[n] if n >= 0 else None for n in own["gold_label"]]
            votes = [[VALUES[n] for n in numbers] for numbers in own["label"]]
            columns = (own["id"], own["sentence"], golds, votes, own["human_id"])
            assert list(map(list, zip(*columns, strict=True))) == options(item)
        rows = records.pop(f"cats-{kind}-{split}")
        assert rows == lines(release / "cats" / f"{kind}-{split}.jsonl")
    assert records.pop("annotations", []) == annotations(release)
    assert records.pop("terms") == lines(release / "terms.jsonl")
    if (release / "sealed.jsonl").exists():
        assert records.pop("sealed") == lines(release / "sealed.jsonl")
    assert not records


def test_mlcroissant_refuses_a_changed_file(copy: Path, consumers: Process) -> None:
    assert "raised" not in croissant(copy, consumers)
    path = copy / "annotations.csv"
    path.write_bytes(path.read_bytes() + b"\n")
    assert "annotations.csv" in croissant(copy, consumers)["raised"]


@pytest.mark.parametrize("changes", ODD)
def test_metadata_of_odd_facts_are_read_without_a_warning(
    consumers: Process, changes: dict[str, Any], tmp_path: Path
) -> None:
    folder = releases.write(tmp_path / "1", releases.contents(), releases.facts(**changes))
    answer = croissant(folder, consumers)
    assert (answer.get("raised"), answer["errors"], answer["warnings"]) == (None, [], [])
    assert len(answer["records"]) == 10
    assert frictionless(folder, consumers)["errors"] == []


# --- frictionless ---------------------------------------------------------------------------------


def frictionless(folder: Path, consumers: Process) -> Any:
    return ask(consumers, "frictionless", file=str(folder / "datapackage.json"))


def test_frictionless_validates_every_file(release: Path, consumers: Process) -> None:
    answer = frictionless(release, consumers)
    assert (answer["valid"], answer["errors"]) == (True, [])
    rows = {name: number for name, number in answer["rows"].items() if number is not None}
    assert rows.pop("annotations", 0) == len(annotations(release))
    assert rows.pop("terms") == len(lines(release / "terms.jsonl"))
    if (release / "sealed.jsonl").exists():
        assert rows.pop("sealed") == len(lines(release / "sealed.jsonl")) > 0
    assert sum(rows.values()) == len(published(release))
    assert answer["rows"]["dev.json"] is None  # a file, not a descriptor of a package


@pytest.mark.parametrize(
    ("name", "before", "after", "kinds"),
    [
        ("cats/intrasentence-dev.jsonl", '"intrasentence"', '"somewhere"', {"constraint-error"}),
        ("cats/intersentence-test.jsonl", '"target":"', '"target":"x', {"foreign-key"}),
        ("annotations.csv", ",stereotype,", ",stereotypes,", {"constraint-error"}),
        ("dev.json", '"target"', '"target" ', {"byte-count", "hash-count"}),
    ],
)
def test_frictionless_finds_what_was_changed(
    copy: Path, consumers: Process, name: str, before: str, after: str, kinds: set[str]
) -> None:
    path = copy / name
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), "utf-8")
    answer = frictionless(copy, consumers)
    assert not answer["valid"]
    assert kinds | {"hash-count"} <= {kind for kind, _ in answer["errors"]}


# --- inspect_ai -----------------------------------------------------------------------------------


def test_inspect_ai_finds_what_the_scores_are(example_release: Path, consumers: Process) -> None:
    (code,) = re.findall(
        r"(?s)### inspect_ai\n.*?```python\n(.*?)```", (ROOT / "docs/release.md").read_text("utf-8")
    )
    code = re.sub(r"(?m)^eval\((.*), model=.*\)$", r"logs = eval(\1, model=model)", code)
    cats = lines(example_release / "cats/intersentence-dev.jsonl")
    # A model that prefers every second stereotype.
    prefers = [cat["anti_stereotype" if n % 2 else "stereotype"] for n, cat in enumerate(cats)]
    place = {"code": code, "folder": str(example_release), "prefers": prefers}
    of: dict[str, list[bool]] = {}
    for cat, sentence in zip(cats, prefers, strict=True):
        of.setdefault(cat["target"], []).append(sentence == cat["stereotype"])
    share = {target: sum(own) / len(own) for target, own in of.items()}
    share["all"] = sum(share.values()) / len(share)
    assert ask(consumers, "inspect", **place) == pytest.approx(share)


# --- cffconvert -----------------------------------------------------------------------------------


def test_cffconvert_reads_the_citation(release: Path, citations: Process) -> None:
    answer = ask(citations, "cite", text=(release / "CITATION.cff").read_text("utf-8"))
    assert answer["error"] is None
    about = read(release / "croissant.json")
    assert about["name"] in answer["bibtex"]
    assert about["name"] in answer["apa"]
    assert answer["zenodo"]["title"] == about["name"]
    assert answer["zenodo"]["version"] == about["version"]
    assert len(answer["zenodo"]["creators"]) == len(about["creator"])


@pytest.mark.parametrize("changes", ODD)
def test_cffconvert_reads_odd_citations(citations: Process, changes: dict[str, Any]) -> None:
    text = citation(releases.facts(**changes)).decode()
    assert ask(citations, "cite", text=text)["error"] is None


def test_cffconvert_refuses_another_file(citations: Process) -> None:
    assert ask(citations, "cite", text="cff-version: 1.2.0\ntitle: x\n")["error"]
