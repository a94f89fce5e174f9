"""``curation scores models`` and ``rules``: what is shown is what is on disk; a model's failure."""

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from filelock import FileLock

from curation.files import read_records
from curation.models import tiny
from curation.models.forward import Runner
from curation.models.rules import PROFILES, RULES, SOURCES, Family
from curation.records import Cat
from curation.scores import running
from curation.scores.commands.tables import values
from curation.stats.metrics import METRICS
from curation.terminal import console
from support.cats import cat, intra
from support.commands import Ran
from support.models import bert_pretrained
from support.scored import write_gold

Score = Callable[..., Ran]
Models = dict[Family, Path]
TERMS = ("baker", "potter", "fiddler")
WORDS = (("kind", "grumpy", "square"), ("early", "late", "blue"), ("patient", "hasty", "salty"))


def of(number: int) -> dict[str, str]:
    return {"domain": "profession" if number % 3 else "gender", "target": TERMS[number % 3]}


def about(number: int, *words: str) -> Cat:
    """A made-up intrasentence CAT; the words replace its own."""
    context = f"The {TERMS[number % 3]} of house {number} is BLANK."
    return intra(context, *words or WORDS[number % 3], name=f"intra-{number}-", **of(number))


def inter(number: int) -> Cat:
    """A made-up intersentence CAT."""
    said = ("She helps us.", "She helps nobody.", "Clouds drift by.")
    context = f"My {TERMS[number % 3]} has house {number}."
    return cat(context, *said, name=f"inter-{number}-", **of(number))


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    folder = tmp_path_factory.mktemp("models")
    texts = [a.sentence for n in range(6) for a in about(n).associations]
    made: Models = {}
    for family in ("causal", "masked"):
        made[family] = tiny.make(folder / f"tiny-{family}", texts, family=family, steps=10)
    return made


@pytest.fixture
def causal(models: Models) -> Path:
    return models["causal"]


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return write_gold(
        tmp_path / "gold.json", [make(n) for n in range(6) for make in (about, inter)]
    )


@pytest.fixture
def score(forked: Score, gold: Path, tmp_path: Path) -> Score:
    """``curation scores models`` on the gold file."""

    def run(*args: str | Path) -> Ran:
        ran = forked("scores", "models", *args, "--gold", gold, "--scores", tmp_path / "scores")
        assert "Traceback" not in ran.err
        return ran

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the scores of the causal model are kept."""
    return tmp_path / "scores" / "tiny-causal" / "ll-bos_conditional"


def results(folder: Path) -> Any:
    """A model's results on test."""
    return json.loads((folder / "results.json").read_bytes())["splits"]["test"]


def cells(cell: dict[str, Any]) -> list[Any]:
    flag = "*" if cell.get("few_terms") else ""
    sizes = [cell["cats"], f"{cell['terms']}{flag}", cell["ties"]]
    return [*sizes, *values(cell, list(METRICS.values()))]


def shown(result: dict[str, Any]) -> list[list[str]]:
    """The rows of the tables that a model's results must be shown as."""
    rows = []
    for part in result["kinds"].values():
        rows += [[domain, *cells(cell)] for domain, cell in part["domains"].items()]
        rows.append(["all", *cells(part["overall"])])
    if len(result["kinds"]) > 1:
        rows.append(["all", *cells(result["overall"])])
    return [[console.show(cell) for cell in row] for row in rows]


def rows(out: str) -> list[list[str]]:
    """The rows of the tables in an output."""
    parts = [line.split() for line in out.splitlines()]
    return [row for row in parts if len(row) == 10 and row[1].isdigit()]


# --- what is shown ------------------------------------------------------------------------------


def test_every_value_shown_is_that_of_results_json(
    score: Score, models: Models, folder: Path, tmp_path: Path
) -> None:
    code, out, err = score(*models.values())
    assert (code, err) == (0, "")
    wanted = []
    for place in (folder, tmp_path / "scores" / "tiny-masked" / "pll-word-l2r"):
        assert list(json.loads((place / "results.json").read_bytes())["splits"]) == ["test"]
        found = results(place)
        assert found["overall"]["cats"] == 12
        # two kinds of two domains and a line for all, and one for both kinds
        assert len(shown(found)) == 7
        wanted += shown(found)
        assert f"{place.parent.name}, {place.name}, intersentence" in out
    assert rows(out) == wanted
    causal, masked = (line for line in out.splitlines() if "associations scored" in line)
    assert causal == (
        "tiny-causal (causal): 36 associations scored; intrasentence ll-bos, intersentence "
        f"conditional; in {folder}"
    )
    assert "tiny-masked (masked): 36 associations scored; intrasentence pll-word-l2r" in masked
    # A second time nothing is scored, and the same is shown.
    code, again, err = score(models["causal"], "--profile", "default")
    assert (code, err) == (0, "")
    assert "0 associations scored, 36 were there;" in again
    assert rows(again) == rows(out)[:7]
    _, official, _ = score(models["causal"], "--ties", "official")
    assert "0 associations scored, 36 were there;" in official  # figures cost no scoring


def test_cats_without_a_score(score: Score, causal: Path, gold: Path, folder: Path) -> None:
    long = about(1, "bread " * 150, "late", "blue")
    write_gold(gold, [about(0), long, about(2)])
    code, out, err = score(causal)
    assert code == 0
    assert err == (
        "warning: 1 CAT of test left out because an association has no score; "
        f"see {folder / 'rejected.jsonl'}\n"
    )
    assert "8 associations scored, 1 refused;" in out
    assert results(folder)["left_out"] == 1
    assert rows(out) == shown(results(folder))
    for content, options, says in (
        ([long], [], "error: tiny-causal: no CAT has a score for each of its associations"),
        ([long], ["--rule", "conditional"], "the rule is for intersentence CATs, and there are no"),
        ([], [], "gold.json: contains no items"),
    ):
        write_gold(gold, content)
        code, out, err = score(causal, *options)
        assert (code, rows(out)) == (1, [])
        assert says in err
    gold.unlink()
    assert "gold.json: no such file" in score(causal).err


def test_an_own_head_under_acl_ll_is_marked_in_every_table(score: Score, tmp_path: Path) -> None:
    model = bert_pretrained(tmp_path / "bert")
    code, out, err = score(model, "--profile", "acl-ll", "--accept-own-head")
    assert (code, err) == (0, "")
    assert [line.strip() for line in out.splitlines() if line.startswith("bert, ")] == [
        f"bert, attribute-acl_nsp, own next-sentence head§, {what}, test split: {cats} of {cats} "
        "CATs"
        for what, cats in (("intrasentence", 6), ("intersentence", 6), ("both kinds", 12))
    ]
    run = json.loads((tmp_path / "scores/bert/attribute-acl_nsp/results.json").read_bytes())["run"]
    assert run["own_head"] is True


def test_the_list_of_rules_has_all(forked: Score) -> None:
    code, out, _ = forked("scores", "rules")
    assert code == 0
    lines = [line.split() for line in out.splitlines() if line.split()]
    assert set(RULES) | set(PROFILES) <= {line[0] for line in lines}
    for text in (*(rule.says for rule in RULES.values()), *SOURCES.values()):
        assert text in out
    profile_rows = [line for line in lines if len(line) == 5 and line[0] in PROFILES]
    assert ["default", "masked", "pll-word-l2r", "pll-word-l2r", "pll-shared"] in profile_rows
    families = [line[1] for line in profile_rows]
    assert families == sorted(families, key=get_args(Family).index)  # a family's rules together


# --- names --------------------------------------------------------------------------------------


def test_a_model_can_have_a_display_name(score: Score, causal: Path, tmp_path: Path) -> None:
    place = tmp_path / "steps=10"
    place.symlink_to(causal)
    # A link is called as what it points to; a label goes before the first sign only.
    code, out, _ = score(f"mine/first={causal}", f"second={place}", place)
    assert code == 0
    scores = tmp_path / "scores"
    assert {path.name for path in scores.iterdir()} == {"mine--first", "second", "tiny-causal"}
    assert "mine/first (causal)" in out
    first, second = (scores / name / "ll-bos_conditional" for name in ("mine--first", "second"))
    assert results(first)["overall"] == results(second)["overall"]
    line, *_ = (second / "scores.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["model"] == "second"


def test_every_model_has_a_folder_of_its_own(score: Score, causal: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "tiny-causal"
    other.mkdir(parents=True)
    for names, message in (
        ([causal, causal], "2 models have the name «tiny-causal»"),
        ([other, causal], "2 models have the name «tiny-causal»"),
        ([f"x/y={causal}", f"x--y={causal}"], "2 models have the name «x--y»"),
        ([f"..={causal}"], "«..» cannot be the name of a model"),
        ([f".={causal}"], "«.» cannot be the name of a model"),
        (["x" * 256 + f"={causal}"], f"«{'x' * 40}…» cannot be the name of a model"),
        ([f"a\nb={causal}"], "«a\nb» cannot be the name of a model"),
    ):
        code, out, err = score(*names)
        assert (code, out) == (1, "")
        assert f"error: {message}" in err
        assert "LABEL=MODEL" in err
    assert not (tmp_path / "scores").exists()


# --- what can be wrong --------------------------------------------------------------------------


def test_a_wrong_option_leaves_nothing(score: Score, causal: Path, folder: Path) -> None:
    for options, says, fix in (
        (["--rule", "pll"], "the rule «pll» is not for causal models", "ll-bos"),
        (["--profile", "acl-ll"], "acl-ll needs a next-sentence head", "--accept-own-head"),
        (["--variant", "upside"], "there is no variant «upside»", "lower, capital"),
        (["--dtype", "float7"], "no dtype «float7»", "bfloat16"),
        (["--device", "abacus"], "no device «abacus»", "auto, cpu"),
        (["--engine", "ray", "--device", "map"], "--device map with --engine ray", ""),
        (["--engine", "ray", "--device", "cuda:1"], "--device cuda:1 with --engine ray", ""),
        (["--family", "masked"], "tiny-causal", ""),
    ):
        assert not folder.parents[1].exists()
        code, out, err = score(causal, *options)
        assert (code, out) == (1, "")
        first, second, *_ = err.splitlines()
        assert first.startswith("error: ")
        assert says in first
        assert second.startswith("fix:   ")
        assert fix in second
        of = f"1 of 1 model could not be scored completely: {causal}"
        assert of in err or "ray" in options
    code, _, err = score(causal, "--family", "guess")
    assert code == 2
    assert "is not one of causal" in " ".join(err.replace("│", " ").split())
    # It does not cost the scores that were there.
    score(causal)
    before = (folder / "scores.jsonl").read_bytes()
    for options in (("--device", "abacus"), ("--device", "cuda:77"), ("--family", "masked")):
        assert score(causal, *options).code == 1
    code, out, _ = score(causal)
    assert code == 0
    assert "0 associations scored, 36 were there;" in out
    assert (folder / "scores.jsonl").read_bytes() == before


def test_a_model_that_fails_half_way_is_reported_and_the_others_go_on(
    score: Score, models: Models, folder: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    causal, masked, none = models["causal"], models["masked"], tmp_path / "none"
    monkeypatch.setattr(running, "SHARD", 2)
    original, calls = Runner._batch, [0]

    def batch(self: Runner, rows: list[Any], *args: Any, **settings: Any) -> None:
        if self.loaded.name == "tiny-causal":
            calls[0] += 1
            if calls[0] > 2:
                raise TypeError("forward() got an unexpected keyword argument 'use_cache'")
        original(self, rows, *args, **settings)

    monkeypatch.setattr(Runner, "_batch", batch)
    code, out, err = score(causal, none, masked, "--plain")
    assert code == 1
    assert f"error: {causal}: TypeError: forward() got an unexpected" in err
    assert f"error: {none}: no such folder" in err
    assert f"2 of 3 models could not be scored completely: {causal}, {none}" in err
    assert rows(out) == shown(results(tmp_path / "scores" / "tiny-masked" / "pll-word-l2r"))
    kept = (folder / "scores.jsonl").read_bytes().count(b"\n")
    assert 0 < kept < 36
    monkeypatch.undo()
    code, out, err = score(causal, "--plain")
    assert (code, err) == (0, "")
    assert f"{36 - kept} associations scored, {kept} were there;" in out


def test_a_folder_or_a_disk_that_cannot_hold_scores_is_named(
    score: Score, models: Models, folder: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def full(path: Path, lines: list[bytes]) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    def fails(*says: str) -> None:
        code, out, err = score(*models.values())
        assert (code, rows(out)) == (1, [])
        for text in says:
            assert text in err
        assert "not be supported" not in err  # it is not the model's fault

    (tmp_path / "scores").write_text("a file", "utf-8")
    fails(str(tmp_path / "scores"))
    (tmp_path / "scores").unlink()
    monkeypatch.setattr(running, "append_lines", full)
    fails("the disk is full; no file was left half written", "free some space")
    with FileLock(folder / ".lock"):
        fails(f"error: {folder}: another command is scoring here")


def test_engine_and_workers(score: Score, causal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    original = running.score_cats

    def spy(*args: Any, engine: str, workers: int | None, **settings: Any) -> Any:
        seen.append((engine, workers))
        return original(*args, **settings)

    monkeypatch.setattr("curation.scores.models.score_cats", spy)
    for options, wanted in (
        ([], ("local", 1)),
        (["--workers", "3"], ("local", 3)),
        (["--engine", "ray"], ("ray", None)),  # not 1: that would not leave this process
        (["--engine", "ray", "--workers", "2"], ("ray", 2)),
    ):
        assert score(causal, *options).code == 0
        assert seen.pop() == wanted
    assert score(causal, "--workers", "0").code == 2
    assert score(causal, "--batch-tokens", "0").code == 2


# --- campaigns ----------------------------------------------------------------------------------


def test_a_campaigns_cats_are_scored_and_both_splits_kept(
    forked: Score, causal: Path, finished: Path
) -> None:
    run = ("scores", "models", causal, "-c", finished, "--rule", "ll-arxiv", "--variant", "lower")
    code, out, err = forked(*run)
    assert (code, err) == (0, "")
    cats = read_records(finished / "3-decisions" / "cats.jsonl", Cat)
    path = finished / "5-scores" / "tiny-causal" / "ll-arxiv+lower" / "results.json"
    found = json.loads(path.read_bytes())["splits"]
    assert set(found) == {"dev", "test"}
    for split, result in found.items():
        assert result["overall"]["cats"] == sum(cat.split == split for cat in cats) > 0
    assert rows(out) == shown(found["test"])  # dev is for choosing, test for telling
    assert f"{3 * len(cats)} associations scored;" in out
    with FileLock(finished / ".lock"):
        code, _, err = forked(*run)
    assert code == 1
    assert "in use by" in err
