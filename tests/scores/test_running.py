"""Scoring that is killed, disturbed, spread out or begun with other means gives the same scores."""

import errno
import json
import random
import resource
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock

from curation.catsets.stereoset import dataset
from curation.files import CurationError, dump_json
from curation.models import tiny
from curation.models.forward import Runner
from curation.models.nsp import training_of
from curation.models.scoring import ModelSpec, open_scorer
from curation.models.train.corpus import read_corpus
from curation.models.train.next_sentence import NextSentenceTrainer
from curation.models.train.settings import NextSentenceSettings
from curation.records import Cat
from curation.scores import run_folder, running
from curation.scores.running import Job, Shard, conclude, job, score_cats
from curation.stats.metrics import comparisons, results
from curation.work.run_folder import append_lines
from support.cats import reworded
from support.expected import fails
from support.killer import killed
from support.talkers import made_up
from support.topics import write_corpus

RAY = pytest.mark.ray
INTRA, INTER = made_up(7), made_up(6, kind="intersentence")
CATS = [*INTRA, *INTER]
DEV = [cat.model_copy(update={"split": "dev"}) for cat in made_up(23)[20:]]
LONG = " ".join(["bread"] * 200)  # tokens beyond the models' window of 128
ALL = {"scored": 39, "before": 0, "refused": 0}
Make = Callable[[str], Path]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Make:
    folder = tmp_path_factory.mktemp("models")
    texts = [text for c in CATS for a in c.associations for text in (c.context, a.sentence)]

    def make(family: Any) -> Path:
        place = folder / f"tiny-{family}"
        return place if place.exists() else tiny.make(place, texts, family=family, steps=10)

    return make


@pytest.fixture
def causal(made: Make) -> Path:
    return made("causal")


@pytest.fixture
def work(causal: Path, tmp_path: Path) -> Job:
    """A run of the causal model under its own rules."""
    return job(ModelSpec(str(causal)), tmp_path)


@pytest.fixture(autouse=True)
def closed_models() -> Iterator[None]:
    """A folder's weights may change between tests; what was opened is opened anew."""
    yield
    open_scorer.cache_clear()


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "SHARD", 2)
    monkeypatch.setattr(running, "_SLOW", 2)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The associations that are put to a model, in their order."""
    found: list[str] = []
    original = running.score_shard

    def spy(shard: Shard) -> Any:
        found.extend(question.association for question in shard.questions)
        return original(shard)

    monkeypatch.setattr(running, "score_shard", spy)
    return found


def scored(work: Job, cats: Sequence[Cat]) -> tuple[tuple[int, int, int], list[str]]:
    """How many associations are scored, were scored before, are refused; and the notices."""
    notices: list[str] = []
    counts = score_cats(work, cats, notice=notices.append)
    return (counts["scored"], counts["before"], counts["refused"]), notices


def lines(folder: Path, name: str = "scores.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]


def values(folder: Path) -> dict[str, float]:
    found = lines(folder)
    assert len({line["association"] for line in found}) == len(found), "an association stands twice"
    return {line["association"]: line["value"] for line in found}


def ids(cats: Sequence[Cat]) -> list[str]:
    return sorted(a.id for each in cats for a in each.associations)


def close(found: dict[str, float], wanted: dict[str, float], allowed: float) -> bool:
    assert found.keys() == wanted.keys()
    return all(abs(found[name] - wanted[name]) <= allowed for name in wanted)


def figures(work: Job, cats: Sequence[Cat], ties: Any = "half") -> dict[str, Any]:
    return conclude(work, cats, ties=ties)


def superseded(work: Job) -> list[Path]:
    return sorted(work.folder.glob("superseded/*"))


def run_json(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "run.json").read_bytes()))


# --- what a run leaves --------------------------------------------------------------------------


def test_how_a_head_was_trained_is_in_run_json(made: Make, tmp_path: Path) -> None:
    model, head = made("masked"), tmp_path / "head"
    corpus = read_corpus([write_corpus(tmp_path / "a.txt", 10, 6)])
    wanted = NextSentenceSettings(
        str(model), length=32, batch=16, epochs=1, held_out=0.2, seed=7, freeze=True
    )
    NextSentenceTrainer.train(wanted, corpus, head)
    work = job(ModelSpec(str(model), nsp=str(head)), tmp_path / "scores", rule="nsp")
    assert score_cats(work, CATS)["scored"] == 18
    # Two of ten articles are held out: 8 · 5 pairs, 3 steps, and at most half of them to warm up.
    assert run_json(work.folder)["head_training"] == {
        "corpus": corpus.identity, "pairs_an_epoch": 40, "articles_held_out": 2, "epochs": 1,
        "length": 32, "batch": 16, "optimizer": "adamw", "lr": 1e-5, "warmup_steps": 1,
        "freeze": True, "seed": 7,
    }  # fmt: skip
    (head / "training.json").unlink()
    assert training_of(head) is None


@pytest.mark.usefixtures("small_shards")
def test_scores_are_on_disk_as_shards_end(work: Job) -> None:
    there, begun = [], []

    def tell(cats: int) -> None:
        there.append((cats, len(lines(work.folder))))

    assert score_cats(work, CATS, tell=tell, begin=lambda *told: begun.append(told)) == ALL
    # Seven intrasentence CATs make shards of 2, 2, 2, 1; six intersentence ones 2, 2, 2.
    assert there == [(2, 6), (2, 12), (2, 18), (1, 21), (2, 27), (2, 33), (2, 39)]
    assert begun == [(0, 13)]
    assert sorted(values(work.folder)) == ids(CATS)
    assert not (work.folder / "rejected.jsonl").exists()
    found = {(line["association"][:5], line["rule"], line["model"]) for line in lines(work.folder)}
    assert found == {("intra", "ll-bos", "tiny-causal"), ("inter", "conditional", "tiny-causal")}


def test_run_json_says_what_scored(causal: Path, tmp_path: Path) -> None:
    work = job(ModelSpec(str(causal), label="mine/own"), tmp_path, variant="lower")
    assert work.folder == tmp_path / "mine--own" / "ll-bos_conditional+lower"
    score_cats(work, INTRA[:1])
    run = run_json(work.folder)
    wanted = {
        "model": "mine/own", "family": "causal", "dtype": "float32", "device": "cpu",
        "variant": "lower", "rules": {"intrasentence": "ll-bos", "intersentence": "conditional"},
    }  # fmt: skip
    assert run | wanted == run
    assert run["revision"].startswith("sha256:")
    assert set(run["versions"]) == {"curation", "torch", "transformers", "tokenizers"}
    assert run["opened"]["architecture"] == "GPT2LMHeadModel"
    assert run["opened"]["tokenizer"]


def test_figures_are_those_of_the_scores_split_by_split(work: Job) -> None:
    score_cats(work, [*CATS, *DEV])
    found = figures(work, [*CATS, *DEV], "official")
    assert json.loads((work.folder / "results.json").read_bytes()) == json.loads(dump_json(found))
    assert found["left_out"] == {"test": 0, "dev": 0}
    assert (found["ties"], found["run"]["model"]) == ("official", "tiny-causal")
    assert list(found["splits"]) == ["test", "dev"]
    for split, part in (("test", CATS), ("dev", DEV)):
        table = comparisons(part, values(work.folder), ties="official")
        own = results(table, model="tiny-causal, ll-bos_conditional")
        assert found["splits"][split] == {**own, "left_out": 0}


def test_a_rule_leaves_cats_of_the_other_kind_alone(causal: Path, tmp_path: Path) -> None:
    work = job(ModelSpec(str(causal)), tmp_path, rule="conditional")
    score_cats(work, CATS)
    assert sorted(values(work.folder)) == ids(INTER)
    found = figures(work, CATS)
    assert list(found["splits"]["test"]["kinds"]) == ["intersentence"]
    assert found["left_out"] == {"test": 0}  # it is not for the others, so they lack nothing
    with fails("is for intersentence CATs, and there are none"):
        score_cats(work, INTRA)


# --- going on where it was ----------------------------------------------------------------------


def test_what_is_scored_is_not_asked_again(work: Job, asked: list[str]) -> None:
    score_cats(work, INTRA[:3])
    before = (work.folder / "scores.jsonl").read_bytes()
    assert sorted(asked) == ids(INTRA[:3])
    asked.clear()
    begun: list[tuple[int, int]] = []
    counts = score_cats(work, INTRA, begin=lambda *told: begun.append(told))
    assert sorted(asked) == ids(INTRA[3:])  # only those that came later
    assert (counts, begun) == ({"scored": 12, "before": 9, "refused": 0}, [(3, 7)])
    assert (work.folder / "scores.jsonl").read_bytes().startswith(before)
    asked.clear()
    assert scored(work, INTRA) == ((0, 21, 0), [])
    assert asked == superseded(work) == []
    # CATs that are gone keep their scores.
    assert scored(work, INTRA[2:4])[0] == (0, 6, 0)
    assert sorted(values(work.folder)) == ids(INTRA)
    assert figures(work, INTRA[2:4])["splits"]["test"]["overall"]["cats"] == 2


@pytest.mark.parametrize("keep", [0.02, 0.5, 0.98])
def test_a_torn_line_is_scored_again(work: Job, asked: list[str], keep: float) -> None:
    score_cats(work, INTRA)
    whole = values(work.folder)
    path = work.folder / "scores.jsonl"
    first, second, third, *_ = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second + third[: round(keep * (len(third) - 1))])
    asked.clear()
    assert scored(work, INTRA) == ((19, 2, 0), [])
    assert len(asked) == 19  # of the CAT that has two scores, the third alone
    assert close(values(work.folder), whole, 1e-5)  # sums of float32 in other batches


def test_lines_in_the_middle_that_are_no_scores_are_named(work: Job) -> None:
    score_cats(work, INTRA[:1])
    path = work.folder / "scores.jsonl"
    first, rest = path.read_bytes().split(b"\n", 1)
    path.write_bytes(first + b'\n{"model": "m", "value": "much"}\n' + rest)
    with pytest.raises(CurationError, match=r"scores\.jsonl line 2, field '\w+'"):
        score_cats(work, INTRA[:1])


def test_a_changed_text_is_scored_again_and_the_old_score_kept(work: Job, asked: list[str]) -> None:
    score_cats(work, INTRA[:3])
    figures(work, INTRA[:3])
    before, old = (work.folder / "scores.jsonl").read_bytes(), values(work.folder)
    changed = reworded(INTRA[1], "The potter of house 1 is punctual today.")
    now = [INTRA[0], changed, INTRA[2]]
    name = changed.associations[0].id
    asked.clear()
    counts, [notice] = scored(work, now)
    assert (asked, counts) == ([name], (1, 8, 0))
    (aside,) = superseded(work)
    assert (aside / "scores.jsonl").read_bytes() == before
    assert (aside / "results.json").exists()  # figures of other texts do not stay
    assert not (work.folder / "results.json").exists()
    assert "texts have changed" in notice
    assert str(aside) in notice
    new = values(work.folder)
    assert new.keys() == old.keys()
    assert [key for key in new if new[key] != old[key]] == [name]
    assert scored(work, now) == ((0, 9, 0), [])
    assert asked == [name]


@pytest.mark.parametrize("other", ["dtype", "revision", "versions", "rules"])
def test_scores_made_otherwise_never_join(
    causal: Path, tmp_path: Path, other: str, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    model = Path(shutil.copytree(causal, tmp_path / "model"))
    first = job(ModelSpec(str(model)), tmp_path)
    score_cats(first, INTRA[:2])
    figures(first, INTRA[:2])
    before = {path.name: path.read_bytes() for path in first.folder.iterdir() if path.is_file()}
    old = values(first.folder)
    if other == "revision":
        texts = [a.sentence for c in INTRA for a in c.associations]
        tiny.make(model, texts, steps=0, seed=2)
        open_scorer.cache_clear()
    if other == "versions":
        monkeypatch.setattr("curation.models.loading.versions", lambda: {"torch": "9.9"})
    dtype = "bfloat16" if other == "dtype" else "auto"
    second = job(ModelSpec(str(model), dtype=dtype), tmp_path)
    if other == "rules":  # as when a later version's default is another rule
        second.rules = {"intrasentence": "ll-arxiv", "intersentence": "conditional"}
    assert second.folder == first.folder
    asked.clear()
    _, notices = scored(second, INTRA[:2])
    assert sorted(asked) == ids(INTRA[:2])
    (aside,) = superseded(second)
    for name in ("run.json", "scores.jsonl", "results.json"):
        assert (aside / name).read_bytes() == before[name]
    assert not (second.folder / "results.json").exists()
    assert [text for text in notices if f"another {other}" in text and str(aside) in text]
    assert (values(second.folder) == old) == (other == "versions")
    # Just what was set aside is wanted again: nothing is lost, nothing is scored twice.
    if other == "dtype":
        asked.clear()
        _, notices = scored(first, INTRA[:2])
        assert (asked, values(first.folder)) == ([], old)
        assert "used again" in notices[1]
        assert run_json(first.folder)["dtype"] == "float32"
        (aside,) = (path for path in superseded(first) if (path / "run.json").exists())
        assert run_json(aside)["dtype"] == "bfloat16"


def test_scores_that_nothing_says_whose_they_are_are_set_aside(work: Job, asked: list[str]) -> None:
    score_cats(work, INTRA[:1])
    (work.folder / "run.json").unlink()
    asked.clear()
    _, notices = scored(work, INTRA[:1])
    assert sorted(asked) == ids(INTRA[:1])
    assert "there is no run.json to identify these scores" in notices[0]
    assert (superseded(work)[0] / "scores.jsonl").exists()


def test_a_damaged_run_json_is_named_and_two_commands_do_not_score_in_one_folder(work: Job) -> None:
    work.folder.mkdir(parents=True)
    path = work.folder / "run.json"
    contents = {"[]": "is not a JSON object", "{": "ends in the middle", "": "is empty"}
    for content, says in contents.items():
        path.write_text(content, "utf-8")
        with fails("run.json", says):
            score_cats(work, INTRA[:1])
    path.unlink()
    with FileLock(work.folder / ".lock"), fails("another command"):
        score_cats(work, INTRA[:1])
    assert score_cats(work, INTRA[:1])["scored"] == 3


# --- refusals -----------------------------------------------------------------------------------


def test_what_is_refused_is_written_and_counted_once(work: Job, asked: list[str]) -> None:
    long = reworded(INTRA[1], f"The potter of house 1 is {LONG} today.")
    rest = [INTRA[0], *INTRA[2:5]]
    cats = [INTRA[0], long, *INTRA[2:5]]
    assert scored(work, cats)[0] == (14, 0, 1)
    (rejection,) = lines(work.folder, "rejected.jsonl")
    assert (rejection["code"], rejection["where"]) == ("too_long", "tiny-causal")
    assert rejection["detail"].endswith("the window is 128")
    record = rejection["record"]
    assert (record["association"], record["rule"]) == (long.associations[0].id, "ll-bos")
    assert long.associations[0].sentence not in record.values()  # words that may be erased
    found = figures(work, cats)
    # CAT 1 lacks one score of three and is out; the others are as if it had never been.
    assert found["left_out"] == {"test": 1}
    assert found["splits"]["test"]["overall"]["cats"] == 4
    table = comparisons(rest, values(work.folder))
    alone = results(table, model="tiny-causal, ll-bos_conditional")
    assert found["splits"]["test"] == {**alone, "left_out": 1}
    asked.clear()
    assert scored(work, cats)[0] == (0, 15, 0)
    assert asked == []
    # Shortened, it is asked again, and the refusal goes.
    score_cats(work, INTRA[:5])
    assert asked == [long.associations[0].id]
    assert not (work.folder / "rejected.jsonl").exists()
    assert len(lines(superseded(work)[0], "rejected.jsonl")) == 1
    assert figures(work, INTRA[:5])["left_out"] == {"test": 0}


def test_what_has_no_token_to_score_is_refused(causal: Path, tmp_path: Path) -> None:
    # ll-arxiv does not score the first token, and «.» is only one.
    work = job(ModelSpec(str(causal)), tmp_path, rule="ll-arxiv")
    cats = [*INTRA, reworded(DEV[0], ".")]
    assert score_cats(work, cats)["refused"] == 1
    assert lines(work.folder, "rejected.jsonl")[0]["code"] == "nothing_to_score"
    found = figures(work, cats)
    assert (list(found["splits"]), found["left_out"]) == (["test"], {"test": 0, "dev": 1})


def test_a_model_that_gives_no_numbers_is_an_error(causal: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    model = Path(shutil.copytree(causal, tmp_path / "nan"))
    broken: Any = AutoModelForCausalLM.from_pretrained(causal)
    broken.transformer.wte.weight.data[:] = float("nan")
    broken.save_pretrained(model)
    work = job(ModelSpec(str(model), plain=True), tmp_path)
    assert scored(work, INTRA[:2])[0] == (0, 0, 6)
    assert {line["code"] for line in lines(work.folder, "rejected.jsonl")} == {"not_finite"}
    with fails("nan: no CAT has a score for each", fix="rejected.jsonl"):
        figures(work, INTRA[:2])
    written = json.loads((work.folder / "results.json").read_bytes())
    assert (written["splits"], written["left_out"]) == ({}, {"test": 2})


# --- killed -------------------------------------------------------------------------------------


def test_killed_at_any_moment_gives_the_same_scores(causal: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.json"
    gold.write_bytes(dump_json(dataset(INTRA, {}, version="1")))
    command = ["scores", "models", str(causal), "--gold", str(gold), "--plain", "--scores"]
    moments = sorted(random.Random(1).uniform(0, 1) for _ in range(4))
    place = tmp_path / "runs"
    count, ends = killed(command, place, [(signal.SIGKILL, moment) for moment in moments], shard=2)
    assert count >= 12  # lock, run.json, four shards, results.json
    assert {(end.code, end.again) for end in ends} == {(-9, 0)}, ends

    def read(name: str) -> tuple[dict[str, float], dict[str, Any]]:
        folder = place / name / "tiny-causal" / "ll-bos_conditional"
        assert list(folder.rglob(".*.tmp")) == []
        assert not (folder / "superseded").exists()
        return values(folder), json.loads((folder / "results.json").read_bytes())["splits"]

    scores, splits = read("whole")
    assert sorted(scores) == ids(INTRA)
    for number in range(len(moments)):
        again, figures_again = read(str(number))
        assert close(again, scores, 1e-6)
        assert figures_again == splits


# --- spread out ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=RAY)])
def test_two_workers_give_the_scores_of_one(made: Make, tmp_path: Path, engine: Any) -> None:
    wanted = ModelSpec(str(made("masked")), plain=True)
    one, two = (job(wanted, tmp_path / part, rule="pll") for part in ("one", "two"))
    score_cats(one, CATS)
    told: list[int] = []
    assert score_cats(two, CATS, engine=engine, workers=2, tell=told.append) == ALL
    assert sum(told) == 13
    assert close(values(two.folder), values(one.folder), 1e-6)
    assert figures(two, CATS)["splits"] == figures(one, CATS)["splits"]


def test_what_every_worker_says_is_told_once(work: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    original = running.score_shard
    monkeypatch.setattr(running, "SHARD", 1)
    monkeypatch.setattr(
        running, "score_shard", lambda s: original(s)._replace(notices=["slow", f"{s.rule}"])
    )
    assert scored(work, CATS)[1] == ["slow", "ll-bos", "conditional"]


# --- want of memory and room --------------------------------------------------------------------


def test_a_text_that_does_not_fit_alone_is_an_error_and_what_is_scored_stays(
    causal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Runner._batch

    def scarce(self: Runner, rows: list[Any], *args: Any, **settings: Any) -> None:
        if len(rows) * max(map(len, rows)) > 50:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        original(self, rows, *args, **settings)

    monkeypatch.setattr(Runner, "_batch", scarce)
    monkeypatch.setattr(running, "SHARD", 1)
    # «bread» was not learnt and is about a token a letter; the window is 128.
    cats = [*INTRA[:-1], reworded(INTRA[-1], f"The fiddler of house 6 is {LONG[:72]} today.")]
    work = job(ModelSpec(str(causal), plain=True), tmp_path)
    says = r"tiny-causal: not enough memory for one text of \d+ tokens"
    with pytest.raises(CurationError, match=says):
        score_cats(work, cats)
    kept = values(work.folder)
    assert 0 < len(kept) < 21
    monkeypatch.undo()
    assert score_cats(work, cats)["before"] == len(kept)


def test_a_full_disk_leaves_no_half_line(work: Job) -> None:
    score_cats(work, INTRA[:1])
    path = work.folder / "scores.jsonl"
    before = path.read_bytes()
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 40, usual[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            append_lines(path, [b"x" * 30 + b"\n"] * 4)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))
    assert path.read_bytes() == before
    assert score_cats(work, INTRA[:2])["scored"] == 3


def test_set_aside_twice_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curation.work.run_folder.now", lambda: "2026-01-01T00:00:00.000Z")
    for content in ("first", "second"):
        (tmp_path / "scores.jsonl").write_text(content, "utf-8")
        run_folder.set_aside_run(tmp_path)
    kept = [path.read_text("utf-8") for path in sorted(tmp_path.glob("superseded/*/scores.jsonl"))]
    assert kept == ["first", "second"]


def test_a_run_with_something_more_is_another(tmp_path: Path) -> None:
    place = tmp_path / "run.json"
    place.write_text('{"model": "m", "nsp": "sha256:1", "started_at": "t", "opened": {}}', "utf-8")
    assert run_folder._changed(tmp_path, {"model": "m"}) == ["nsp"]
    assert run_folder._changed(tmp_path, {"model": "m", "nsp": "sha256:1"}) == []
