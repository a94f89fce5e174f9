"""Tasks for lm-evaluation-harness: their files, and their metrics without the harness."""

import ast
import importlib.util
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import yaml

from curation.release import data_files, harness_files
from curation.stats.metrics import comparisons, results
from support import releases
from support.cats import cat, intra


class Loader(yaml.SafeLoader):
    """Reads ``!function`` as a text."""


Loader.add_constructor("!function", lambda loader, node: f"!{loader.construct_scalar(node)}")

FILES = harness_files.lm_eval_files(releases.contents(), releases.facts())
YAML = {path: yaml.load(text, Loader) for path, text in FILES.items() if path[-5:] == ".yaml"}


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The metrics file of a release, imported as the harness does: by its path."""
    path = tmp_path_factory.mktemp("release") / "metrics.py"
    path.write_bytes(FILES["lm-eval/metrics.py"])
    spec = importlib.util.spec_from_file_location("metrics_of_a_release", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_kind_and_split_has_a_task_over_terms_and_three_without_python() -> None:
    parts = [f"{kind}-{split}" for kind in ("intrasentence", "intersentence")
             for split in ("dev", "test")]  # fmt: skip
    simple = ("ss", "lms", "lms-stereotype", "lms-anti-stereotype")
    assert set(FILES) == {
        "lm-eval/README.md",
        "lm-eval/metrics.py",
        *(f"lm-eval/{part}.yaml" for part in parts),
        *(f"lm-eval/yaml-only/{part}-{end}.yaml" for part in parts for end in simple),
    }
    names = [content.get("task", content.get("group")) for content in YAML.values()]
    names = [name for name in names if isinstance(name, str)]
    groups = [content["group"] for content in YAML.values() if "group" in content]
    assert len(set(names + groups)) == len(names + groups) == len(YAML)
    assert all(re.fullmatch(r"mild_set_1_[a-z_]+", name) for name in names + groups)


def test_tasks_read_files_of_the_release_and_functions_of_the_metrics(metrics: Any) -> None:
    data = dict(data_files.flat_files(releases.contents()))
    for content in YAML.values():
        if "dataset_kwargs" in content:
            [(split, path)] = content["dataset_kwargs"]["data_files"].items()
            assert path in data
            assert content["test_split"] == split
    functions = re.findall(rb"!function metrics\.(\w+)", b"".join(FILES.values()))
    assert {name.decode() for name in functions} == {"process_results", "lms", "ss", "icat"}
    assert all(callable(getattr(metrics, name.decode())) for name in functions)


def test_what_is_asked_is_what_the_rules_score() -> None:
    intra = YAML["lm-eval/intrasentence-dev.yaml"]
    assert (intra["doc_to_text"], intra["target_delimiter"]) == ("", "")
    inter = YAML["lm-eval/intersentence-test.yaml"]
    assert (inter["doc_to_text"], inter["target_delimiter"]) == ("context", " ")
    for content in (intra, inter):
        assert content["doc_to_choice"] == "{{[stereotype, anti_stereotype, unrelated]}}"
        assert content["num_fewshot"] == 0
        assert content["metadata"] == {"version": "1.0.0"}


def test_pairs_and_groups_of_the_form_without_python() -> None:
    folder = "lm-eval/yaml-only/intrasentence-dev"
    pairs = [YAML[f"{folder}-lms-{gold}.yaml"] for gold in ("stereotype", "anti-stereotype")]
    choices = [f"{{{{[{gold}, unrelated]}}}}" for gold in ("stereotype", "anti_stereotype")]
    assert [pair["doc_to_choice"] for pair in pairs] == choices
    assert {pair["include"] for pair in pairs} == {"intrasentence-dev-ss.yaml"}
    assert YAML[f"{folder}-lms.yaml"]["task"] == [pair["task"] for pair in pairs]
    for path, text in FILES.items():
        assert b"!function" not in text or not path.startswith("lm-eval/yaml-only/")


def test_a_hidden_split_has_no_tasks() -> None:
    hidden = releases.hidden(releases.contents())
    found = harness_files.lm_eval_files(hidden, releases.facts())
    assert not [path for path in found if "test" in path]
    assert b"-test" not in b"".join(found.values())
    none = replace(hidden, cats=tuple(hidden.part("test")))
    assert harness_files.lm_eval_files(none, releases.facts()) == {}


def test_readme_names_each_task_and_shows_foreign_names_as_they_are() -> None:
    text = FILES["lm-eval/README.md"].decode()
    assert text.startswith("# Tasks for lm-evaluation-harness: Mild: &lt;Set&gt; \\#1 1.0.0\n")
    assert "$" not in text
    for content in YAML.values():
        task = content.get("group") or content["task"]
        assert f"`{task}`" in text or "_lms_" in task
    assert "`mild_set_1_dev` or `mild_set_1_test`" in text
    prose = [line for line in text.splitlines() if not line.startswith(("|", "lm-eval"))]
    assert max(map(len, prose)) < 101


@pytest.mark.parametrize(
    "name", ["", "!!!", "偏見", "no: yes", "- x\ny", "2026", "null", "a" * 300]
)
def test_any_name_gives_names_of_tasks_that_yaml_reads_as_texts(name: str) -> None:
    found = harness_files.tasks([("intrasentence", "test")], name=name, version="1.0")
    content = yaml.load(found["lm-eval/intrasentence-test.yaml"], Loader)
    assert content["task"] == harness_files.task_name(name, ("intrasentence", "test"))
    assert content["tag"] == f"{harness_files.slug(name)}_test"
    assert re.fullmatch("[a-z][a-z0-9_]{,80}", content["task"])


# --- the metrics --------------------------------------------------------------------------------


def judged(metrics: Any, cats: Sequence[Any], values: np.ndarray[Any, Any]) -> list[Any]:
    """What the harness collects for a metric, CAT by CAT."""
    found = []
    for each, row in zip(cats, values, strict=True):
        answer = metrics.process_results(
            {"domain": each.domain, "target": each.target}, [(value, False) for value in row]
        )
        assert set(answer) == {"lms", "ss", "icat"}
        found.append(answer["icat"])
    return found


def test_metrics_by_hand(metrics: Any) -> None:
    cats = [cat("x", "a", "b", "c", name=f"c{n}", target=t) for n, t in enumerate(("p", "p", "q"))]
    rows = judged(metrics, cats, np.array([[3.0, 2, 1], [1, 2, 1.5], [1, 1, 2]]))
    # p: lms (2/2 + 1/2) / 2 = 75, ss 1/2 = 50; q: lms 0, ss a tie = 50
    assert metrics.lms(rows) == (75 + 0) / 2
    assert metrics.ss(rows) == 50
    assert metrics.icat(rows) == 37.5


@pytest.mark.parametrize("seed", range(5))
def test_metrics_equal_those_of_the_project_also_with_ties(metrics: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [("race", "x"), ("religion", "x"), ("race", "y"), ("race", "z")]
    cats = []
    for n, k in enumerate(rng.integers(0, len(pairs), 60)):
        domain, target = pairs[k]
        cats.append(cat("x", "a", "b", "c", name=f"c{n}", domain=domain, target=target))
    values = rng.integers(0, 4, (60, 3)) / 1.0 - 90  # four values: a third of the pairs tie
    ids = [a.id for cat in cats for a in cat.associations]  # in the order of GOLDS
    scores = dict(zip(ids, values.ravel().tolist(), strict=True))
    ours = results(comparisons(cats, scores), model="m")["overall"]
    assert ours["ties"] > 20
    rows = judged(metrics, cats, values)
    for name in ("lms", "ss", "icat"):
        assert getattr(metrics, name)(rows) == pytest.approx(ours[name], abs=1e-9)


def test_the_metrics_file_imports_the_standard_library_alone() -> None:
    tree = ast.parse(FILES["lm-eval/metrics.py"])
    modules = [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    assert {module.split(".")[0] for module in modules} <= sys.stdlib_module_names


# --- what the harness misreads ------------------------------------------------------------------


def test_texts_that_the_harness_misreads() -> None:
    same = intra("The baker is BLANK.", "kind", "kind", "square", name="same")
    white = cat(" \t", "He sings.", "He hums.", "Water is wet.", name="white")
    hollow = cat("Our baker.", "He sings.", " ", "Water is wet.", name="hollow")
    good = cat("Our baker.  ", " He sings.", "He hums.", "Water is wet.", name="good")
    found = harness_files.misread_by_lm_eval([same, white, hollow, good])
    assert [(m.cat, m.option, m.code, m.effect) for m in found] == [
        ("same", "same1", "same_text_twice", "misread"),
        ("white", None, "empty_text", "stops"),
        ("hollow", "hollow1", "empty_text", "misread"),
    ]
