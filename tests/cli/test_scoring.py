"""``curation scores models`` and ``rules``: what is shown is what is on disk; a model's failure."""

import errno
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from filelock import FileLock

import curation.cli
from curation.campaign import Campaign
from curation.cli import console
from curation.cli.score_tables import cells
from curation.files import dump_json, read_records
from curation.models import tiny
from curation.models.forward import Runner
from curation.models.rules import PROFILES, RULES, SOURCES, Family
from curation.records import Cat
from curation.scores import running
from support.models import bert_pretrained

CommandResult = tuple[int, str, str]
Curation = Callable[..., CommandResult]
TERMS = ("baker", "potter", "fiddler")
WORDS = (("kind", "grumpy", "square"), ("early", "late", "blue"), ("patient", "hasty", "salty"))


def item(number: int, kind: str = "intrasentence") -> dict[str, Any]:
    """A made-up item of a gold file."""
    target = TERMS[number % 3]
    context = f"The {target} of house {number} is BLANK."
    sentences = [context.replace("BLANK", word) for word in WORDS[number % 3]]
    if kind == "intersentence":
        context = f"My {target} has house {number}."
        sentences = ["She helps us.", "She helps nobody.", "Clouds drift by."]
    golds = ("stereotype", "anti-stereotype", "unrelated")
    return {
        "id": f"{kind}-{number}",
        "target": target,
        "bias_type": "profession" if number % 3 else "gender",
        "context": context,
        "sentences": [
            {"id": f"{kind}-{number}-{gold[0]}", "sentence": text, "gold_label": gold, "labels": []}
            for text, gold in zip(sentences, golds, strict=True)
        ],
    }


def write_gold(path: Path, *items: dict[str, Any]) -> Path:
    kinds = {
        kind: [each for each in items if each["id"].startswith(kind)]
        for kind in ("intrasentence", "intersentence")
    }
    path.write_bytes(dump_json({"version": "1", "data": kinds}))
    return path


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A causal and a masked model."""
    folder = tmp_path_factory.mktemp("models")
    texts = [s["sentence"] for n in range(6) for s in item(n)["sentences"]]
    return tuple(  # type: ignore[return-value]
        tiny.make(folder / f"tiny-{family}", texts, family=family, steps=10)
        for family in ("causal", "masked")
    )


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    items = [item(n, kind) for n in range(6) for kind in ("intrasentence", "intersentence")]
    return write_gold(tmp_path / "gold.json", *items)


@pytest.fixture
def score(forked: Curation, gold: Path, tmp_path: Path) -> Curation:
    """``curation scores models`` on the gold file."""

    def run(*args: str | Path) -> CommandResult:
        options = ("--gold", gold, "--scores", tmp_path / "scores")
        return forked("scores", "models", *args, *options)

    return run


def results(tmp_path: Path, model: str, label: str = "ll-bos_conditional") -> Any:
    return json.loads((tmp_path / "scores" / model / label / "results.json").read_bytes())


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
    score: Curation, models: tuple[Path, Path], tmp_path: Path
) -> None:
    code, out, err = score(*models)
    assert (code, err) == (0, "")
    wanted = []
    for model, folder in (("tiny-causal", "ll-bos_conditional"), ("tiny-masked", "pll-word-l2r")):
        found = results(tmp_path, model, folder)
        assert list(found["splits"]) == ["test"]
        assert found["splits"]["test"]["overall"]["cats"] == 12
        # two kinds of two domains and a line for all, and one for both kinds
        assert len(shown(found["splits"]["test"])) == 7
        wanted += shown(found["splits"]["test"])
        assert f"{model}, {folder}, intersentence" in out
    assert rows(out) == wanted
    causal, masked = (line for line in out.splitlines() if "associations scored" in line)
    assert causal == (
        "tiny-causal (causal): 36 associations scored; intrasentence ll-bos, intersentence "
        f"conditional; in {tmp_path / 'scores' / 'tiny-causal' / 'll-bos_conditional'}"
    )
    assert "tiny-masked (masked): 36 associations scored; intrasentence pll-word-l2r" in masked


def test_a_second_time_nothing_is_scored_and_the_same_is_shown(
    score: Curation, models: tuple[Path, Path]
) -> None:
    _, first, _ = score(models[0])
    code, again, err = score(models[0])
    assert (code, err) == (0, "")
    assert "0 associations scored, 36 were there;" in again
    assert rows(again) == rows(first) != []
    _, official, _ = score(models[0], "--ties", "official")
    assert "0 associations scored, 36 were there;" in official  # figures cost no scoring


def test_rule_and_variant_have_a_folder_of_their_own(
    score: Curation, models: tuple[Path, Path], tmp_path: Path
) -> None:
    assert score(models[0], "--rule", "ll-arxiv", "--variant", "lower")[0] == 0
    assert score(models[0], "--profile", "default")[0] == 0
    folder = tmp_path / "scores" / "tiny-causal"
    assert sorted(path.name for path in folder.iterdir()) == [
        "ll-arxiv+lower",
        "ll-bos_conditional",
    ]
    run = json.loads((folder / "ll-arxiv+lower" / "run.json").read_bytes())
    assert run["rules"] == {"intrasentence": "ll-arxiv", "intersentence": "ll-arxiv"}


def test_cats_without_a_score_are_left_out_with_a_warning(
    score: Curation, models: tuple[Path, Path], gold: Path, tmp_path: Path
) -> None:
    long = item(1)
    long["sentences"][0]["sentence"] = f"The potter of house 1 is {'bread ' * 150}."
    write_gold(gold, item(0), long, item(2))
    code, out, err = score(models[0])
    assert code == 0
    path = tmp_path / "scores" / "tiny-causal" / "ll-bos_conditional" / "rejected.jsonl"
    assert err == (
        f"warning: 1 CAT of test left out because an association has no score; see {path}\n"
    )
    assert "8 associations scored, 1 refused;" in out
    assert results(tmp_path, "tiny-causal")["splits"]["test"]["left_out"] == 1
    assert rows(out) == shown(results(tmp_path, "tiny-causal")["splits"]["test"])
    write_gold(gold, long)
    code, out, err = score(models[0])
    assert code == 1
    assert "error: tiny-causal: no CAT has a score for each of its associations" in err
    assert rows(out) == []


def test_another_dtype_sets_scores_aside_with_a_note(
    score: Curation, models: tuple[Path, Path], tmp_path: Path
) -> None:
    score(models[0])
    code, _, err = score(models[0], "--dtype", "bfloat16")
    assert code == 0
    (aside,) = (tmp_path / "scores" / "tiny-causal" / "ll-bos_conditional" / "superseded").iterdir()
    assert f"run.json: another dtype; the earlier scores are now in {aside}" in err


def test_an_own_head_under_acl_ll_is_marked_in_every_table(score: Curation, tmp_path: Path) -> None:
    model = bert_pretrained(tmp_path / "bert")
    code, out, err = score(model, "--profile", "acl-ll")
    assert (code, rows(out)) == (1, [])
    assert (
        "acl-ll needs a next-sentence head that is trained in the same way for every model" in err
    )
    assert "train-nsp" in err
    assert not (tmp_path / "scores").exists()
    code, out, err = score(model, "--profile", "acl-ll", "--accept-own-head")
    assert (code, err) == (0, "")
    titles = [line.strip() for line in out.splitlines() if line.startswith("bert, ")]
    name = "bert, attribute-acl_nsp, own next-sentence head§"
    assert titles == [
        f"{name}, {what}" for what in ("intrasentence", "intersentence", "both kinds")
    ]
    assert results(tmp_path, "bert", "attribute-acl_nsp")["run"]["own_head"] is True


def test_the_list_of_rules_has_all(forked: Curation) -> None:
    code, out, _ = forked("scores", "rules")
    assert code == 0
    first = {line.split()[0] for line in out.splitlines() if line.split()}
    assert set(RULES) | set(PROFILES) <= first
    for rule in RULES.values():
        assert rule.says in out
    for message in SOURCES.values():
        assert message in out
    lines = [line.split() for line in out.splitlines()]
    profile_rows = [line for line in lines if len(line) == 4 and line[0] in PROFILES]
    assert ["default", "masked", "pll-word-l2r", "pll-word-l2r"] in profile_rows
    families = [line[1] for line in profile_rows]
    assert families == sorted(families, key=get_args(Family).index)  # a family's rules together


def test_the_command_line_does_not_import_torch() -> None:
    code = "import sys, curation.cli; sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))"
    root = Path(curation.cli.__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


# --- names --------------------------------------------------------------------------------------


def test_a_model_can_have_a_display_name(
    score: Curation, models: tuple[Path, Path], tmp_path: Path
) -> None:
    code, out, _ = score(f"mine/first={models[0]}", f"second={models[0]}")
    assert code == 0
    assert sorted(path.name for path in (tmp_path / "scores").iterdir()) == [
        "mine--first",
        "second",
    ]
    assert "mine/first (causal)" in out
    assert (
        results(tmp_path, "mine--first")["splits"]["test"]["overall"]
        == results(tmp_path, "second")["splits"]["test"]["overall"]
    )
    line = (
        (tmp_path / "scores/second/ll-bos_conditional/scores.jsonl")
        .read_text("utf-8")
        .splitlines()[0]
    )
    assert json.loads(line)["model"] == "second"


def test_a_folder_with_an_equals_sign_is_a_folder(
    score: Curation, models: tuple[Path, Path], tmp_path: Path
) -> None:
    place = tmp_path / "steps=10"
    place.symlink_to(models[0])
    # A link is called as what it points to; a label goes before the first sign only.
    assert score(place)[0] == 0
    assert score(f"x={place}")[0] == 0
    assert sorted(path.name for path in (tmp_path / "scores").iterdir()) == ["tiny-causal", "x"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["M", "M"], "2 models have the name «tiny-causal»"),
        (["OTHER", "M"], "2 models have the name «tiny-causal»"),
        (["x/y=M", "x--y=M"], "2 models have the name «x--y»"),
        (["..=M"], "«..» cannot be the name of a model"),
        ([".=M"], "«.» cannot be the name of a model"),
        (["x" * 256 + "=M"], f"«{'x' * 40}…» cannot be the name of a model"),
        (["a\nb=M"], "«a\nb» cannot be the name of a model"),
    ],
)
def test_every_model_has_a_folder_of_its_own_within_the_folder(
    score: Curation, models: tuple[Path, Path], tmp_path: Path, names: list[str], message: str
) -> None:
    other = tmp_path / "other" / "tiny-causal"
    other.mkdir(parents=True)
    given = [n.replace("OTHER", str(other)).replace("M", str(models[0])) for n in names]
    code, out, err = score(*given)
    assert (code, out) == (1, "")
    assert f"error: {message}" in err
    assert "LABEL=MODEL" in err
    assert not (tmp_path / "scores").exists()


# --- what can be wrong --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message", "fix"),
    [
        (["--rule", "pll"], "the rule «pll» is not for causal models", "ll-bos"),
        (["--rule", "guess"], "there is no rule «guess»", "ll-bos"),
        (["--profile", "guess"], "there is no profile «guess»", "acl-ll"),
        (["--profile", "acl-ll"], "acl-ll needs a next-sentence head", "--accept-own-head"),
        (["--rule", "ll-bos", "--profile", "default"], "both a rule and a profile", "one of them"),
        (["--variant", "upside"], "there is no variant «upside»", "lower, capital"),
        (["--dtype", "float7"], "no dtype «float7»", "bfloat16"),
        (["--device", "abacus"], "no device «abacus»", "auto, cpu"),
        (["--family", "masked"], "tiny-causal", ""),
    ],
)
def test_a_wrong_option_is_an_error_and_leaves_nothing(
    score: Curation, models: tuple[Path, Path], tmp_path: Path,
    options: list[str], message: str, fix: str,
) -> None:  # fmt: skip
    code, out, err = score(models[0], *options)
    assert (code, out) == (1, "")
    first, second, *_ = err.splitlines()
    assert first.startswith("error: ")
    assert message in first
    assert second.startswith("fix:   ")
    assert fix in second
    assert f"1 of 1 model could not be scored completely: {models[0]}" in err
    assert "Traceback" not in err
    if options[0] != "--family":
        assert not (tmp_path / "scores").exists()


def test_a_failing_option_does_not_cost_the_scores_that_were_there(
    score: Curation, models: tuple[Path, Path], tmp_path: Path
) -> None:
    score(models[0])
    place = tmp_path / "scores" / "tiny-causal" / "ll-bos_conditional" / "scores.jsonl"
    before = place.read_bytes()
    for options in (("--device", "abacus"), ("--device", "cuda:77"), ("--family", "masked")):
        code, _, _ = score(models[0], *options)
        assert code == 1
    code, out, _ = score(models[0])
    assert code == 0
    assert "0 associations scored, 36 were there;" in out
    assert place.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "gold.json: is empty"),
        ("{", "gold.json line 1 column"),
        ('{"data": {}}', "gold.json: not a StereoSet file"),
        ('{"data": {"intrasentence": []}}', "gold.json: contains no items"),
    ],
)
def test_a_gold_file_without_cats_is_named(
    score: Curation, models: tuple[Path, Path], gold: Path, content: str, message: str
) -> None:
    gold.write_text(content, "utf-8")
    code, out, err = score(models[0])
    assert (code, out) == (1, "")
    assert message in err
    gold.unlink()
    assert "gold.json: no such file" in score(models[0])[2]


def test_a_family_that_there_is_not_is_an_error(score: Curation, models: tuple[Path, Path]) -> None:
    code, _, err = score(models[0], "--family", "guess")
    assert code == 2
    assert "is not one of causal" in " ".join(err.replace("│", " ").split())


def test_no_cat_for_the_rule(score: Curation, models: tuple[Path, Path], gold: Path) -> None:
    write_gold(gold, item(0))
    code, _, err = score(models[0], "--rule", "conditional")
    assert code == 1
    assert "error: the rule is for intersentence CATs, and there are none" in err


def test_a_model_that_fails_half_way_is_reported_and_the_others_go_on(
    score: Curation, models: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "SHARD", 2)
    original, calls = Runner._batch, [0]

    def batch(self: Runner, rows: list[Any], *args: Any, **settings: Any) -> None:
        if self.loaded.name == "tiny-causal":
            calls[0] += 1
            if calls[0] > 2:
                raise TypeError("forward() got an unexpected keyword argument 'use_cache'")
        original(self, rows, *args, **settings)

    monkeypatch.setattr(Runner, "_batch", batch)
    code, out, err = score(models[0], tmp_path / "none", models[1], "--plain")
    assert code == 1
    assert f"error: {models[0]}: TypeError: forward() got an unexpected" in err
    assert f"error: {tmp_path / 'none'}: no such folder" in err
    assert f"2 of 3 models could not be scored completely: {models[0]}, {tmp_path / 'none'}" in err
    assert "Traceback" not in err
    assert rows(out) == shown(results(tmp_path, "tiny-masked", "pll-word-l2r")["splits"]["test"])
    kept = (
        (tmp_path / "scores/tiny-causal/ll-bos_conditional/scores.jsonl").read_bytes().count(b"\n")
    )
    assert 0 < kept < 36
    monkeypatch.undo()
    code, out, err = score(models[0], "--plain")
    assert (code, err) == (0, "")
    assert f"{36 - kept} associations scored, {kept} were there;" in out


def test_a_full_disk_is_reported(
    score: Curation, models: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, lines: list[bytes]) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(running, "append_lines", full)
    code, out, err = score(models[0], models[1])
    assert (code, rows(out)) == (1, [])
    assert "the disk is full; no file was left half written" in err
    assert "free some space" in err
    assert "not be supported" not in err  # it is not the model's fault
    assert "Traceback" not in err


def test_a_folder_that_cannot_hold_scores_is_named(
    score: Curation, models: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "scores").write_text("a file", "utf-8")
    code, _, err = score(models[0])
    assert code == 1
    assert str(tmp_path / "scores") in err
    assert "not be supported" not in err
    assert "Traceback" not in err


def test_another_command_in_the_folder_is_an_error(
    score: Curation, models: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "scores" / "tiny-causal" / "ll-bos_conditional"
    folder.mkdir(parents=True)
    with FileLock(folder / ".lock"):
        code, _, err = score(models[0])
    assert code == 1
    assert f"error: {folder}: another command is scoring here" in err


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ([], ("local", 1)),
        (["--workers", "3"], ("local", 3)),
        (["--engine", "ray"], ("ray", None)),  # not 1: that would not leave this process
        (["--engine", "ray", "--workers", "2"], ("ray", 2)),
    ],
)
def test_engine_and_workers(
    score: Curation, models: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch,
    options: list[str], wanted: tuple[str, int | None],
) -> None:  # fmt: skip
    seen = []
    original = running.score_cats

    def spy(*args: Any, engine: str, workers: int | None, **settings: Any) -> Any:
        seen.append((engine, workers))
        return original(*args, **settings)

    monkeypatch.setattr("curation.steps.scores.models.score_cats", spy)
    assert score(models[0], *options)[0] == 0
    assert seen == [wanted]
    assert score(models[0], "--workers", "0")[0] == 2
    assert score(models[0], "--batch-tokens", "0")[0] == 2


# --- campaigns ----------------------------------------------------------------------------------


def test_a_campaigns_cats_are_scored_and_both_splits_kept(
    forked: Curation, models: tuple[Path, Path], finished: Path
) -> None:
    options = ("-c", finished, "--rule", "ll-arxiv")
    code, out, err = forked("scores", "models", models[0], *options)
    assert (code, err) == (0, "")
    cats = read_records(finished / "3-decisions" / "cats.jsonl", Cat)
    folder = finished / "5-scores" / "tiny-causal" / "ll-arxiv"
    found = json.loads((folder / "results.json").read_bytes())
    assert set(found["splits"]) == {"dev", "test"}
    for split, result in found["splits"].items():
        assert result["overall"]["cats"] == sum(cat.split == split for cat in cats) > 0
    assert rows(out) == shown(found["splits"]["test"])  # dev is for choosing, test for telling
    assert f"{3 * len(cats)} associations scored;" in out
    with FileLock(finished / ".lock"):
        code, _, err = forked("scores", "models", models[0], *options)
    assert code == 1
    assert "in use by" in err


def test_a_campaign_without_cats_is_an_error(
    forked: Curation, models: tuple[Path, Path], campaign: Campaign, tmp_path: Path
) -> None:
    code, out, err = forked("scores", "models", models[0], "-c", campaign.root)
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert "fix:   " in err
    assert not (campaign.root / "5-scores").exists()
    code, _, err = forked("scores", "models", models[0], "-c", tmp_path)
    assert code == 1
    assert "no campaign.toml here" in err


@pytest.mark.parametrize("device", ["map", "cuda:1"])
def test_a_device_that_a_worker_cannot_have_is_refused(
    score: Curation, models: tuple[Path, Path], device: str
) -> None:
    code, _, err = score(models[0], "--engine", "ray", "--device", device)
    assert code == 1
    assert f"--device {device} with --engine ray" in err
