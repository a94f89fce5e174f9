"""lm-eval itself runs the exported tasks: the same log-likelihoods, and the same lms, ss, icat."""

import json
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from curation.catsets.stereoset import read_cats
from curation.kinds import CAT_KINDS, GOLDS, Kind
from curation.models.rules import ScoringRequest
from curation.models.scoring import ModelSpec, Scorer
from curation.models.tiny import make
from curation.records import Cat, SplitName
from curation.release import harness_files
from curation.released.contents import SPLITS, Contents, published
from curation.stats.metrics import comparisons, results
from support import peers as environment
from support import releases
from support.cats import REAL, cat, development_set, intra
from support.environments import Process
from support.models import MAKERS
from support.peers import Worker
from support.written import lines, read

SCRIPT = Path(releases.__file__).with_name("lm_eval_process.py")
RULES: dict[Kind, str] = {"intrasentence": "ll-bos", "intersentence": "conditional"}
GOLD_FIELDS = ("stereotype", "anti_stereotype", "unrelated")
TARGETS = ("baker", "lamplighter", "wheelwright", "potter", "fiddler")
WORDS = (
    *("kind", "strict", "square", "very patient", "well-read", "sunny", "early", "late", "blue"),
    *("cheerful", "grumpy", "wooden", "punctual", "tardy", "magnetic", "neat", "untidy", "oval"),
)


class Answer(NamedTuple):
    """What lm-eval wrote: values by task, and each sample by task."""

    values: dict[str, dict[str, Any]]
    samples: dict[str, list[dict[str, Any]]]


def made_up() -> list[Cat]:
    """CATs on five targets, some with more than others, in two domains."""
    found = []
    for n in range(27):
        target, words = TARGETS[min(n // 3, n % 5)], [WORDS[(n * k + k) % 18] for k in (1, 5, 7)]
        named: dict[str, Any] = {"target": target, "domain": ("profession", "race")[n % 2]}
        if len(set(words)) < 3:
            continue
        found.append(intra(f"The {target} is BLANK today.", *words, name=f"a{n}", **named))
        sentences = (f"They are {word}, I heard ({n})." for word in words)
        found.append(cat(f"I met a {target}!", *sentences, name=f"b{n}", **named))
    return found


@pytest.fixture(scope="module")
def runner(peers: Worker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """lm-eval's command line, in the environment of the peers."""
    cache = str(tmp_path_factory.mktemp("cache"))
    own = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": cache, "TQDM_DISABLE": "1"}
    with Process([environment.python(), "-P", SCRIPT], own) as process:
        yield process


def run(
    runner: Process, folder: Path, command: str, model: Path, *, defaults: bool = False
) -> Answer:
    """A command of a release's ``lm-eval/README.md``, in the release's folder."""
    out = folder.parent / f"out-{model.name}"
    first, *words = shlex.split(command.replace("MODEL", str(model)))
    assert first == "lm-eval"
    more = ("--device", "cpu", "--batch_size", "32", "--log_samples", "--output_path", str(out))
    answer = runner.ask({"folder": str(folder), "words": [*words, *more], "defaults": defaults})
    assert answer == 0, answer
    [results_file] = out.rglob("results_*.json")
    samples = {
        path.name.removeprefix("samples_").rpartition("_")[0]: lines(path)
        for path in out.rglob("samples_*.jsonl")
    }
    return Answer(read(results_file)["results"], samples)


def command(*tasks: str) -> str:
    return (
        "lm-eval run --model hf --model_args pretrained=MODEL,dtype=float32 "
        f"--include_path lm-eval --tasks {','.join(tasks)}"
    )


def export(folder: Path, contents: Contents) -> list[str]:
    """Write the flat files and the tasks of a release; the names of the tasks of both forms."""
    releases.write(folder, contents, releases.facts(name="Mild"))
    parts = {(cat.kind, cat.split) for cat in contents.cats}
    names = [harness_files.task_name("Mild", part) for part in sorted(parts)]
    return [task for name in names for task in (name, f"{name}_ss", f"{name}_lms")]


def ours(cats: Sequence[Cat], model: Path) -> dict[str, float]:
    """The score of each association by the rule of its kind."""
    scorer, found = Scorer(ModelSpec(str(model))), {}
    for kind in CAT_KINDS:
        asked = [(cat, a) for cat in cats if cat.kind == kind for a in cat.associations]
        requests = [ScoringRequest(kind, cat.context, a.sentence) for cat, a in asked]
        for (_, a), value in zip(asked, scorer.score(RULES[kind], requests), strict=True):
            assert isinstance(value, float), value
            found[a.id] = value
    return found


def logged(samples: Sequence[Mapping[str, Any]], cats: Sequence[Cat]) -> dict[str, float]:
    """The log-likelihood of each association, from the samples of a task over terms."""
    by_id = {cat.id: cat for cat in cats}
    found = {}
    for sample in samples:
        for gold, (value, _) in zip(GOLDS, sample["filtered_resps"], strict=True):
            [option] = [a for a in by_id[sample["doc"]["id"]].associations if a.gold == gold]
            found[option.id] = float(value)
    return found


def check(
    answer: Answer, cats: Sequence[Cat], model: Path, split: SplitName, release: str = "Mild"
) -> dict[str, int]:
    """Log-likelihoods, the means over terms, and the means over CATs of the pure-YAML form.

    Returns:
        How many comparisons of each kind tie.
    """
    mine, ties = ours(cats, model), {}
    for kind in CAT_KINDS:
        of_kind = [cat for cat in cats if cat.kind == kind]
        task = harness_files.task_name(release, (kind, split))
        theirs = logged(answer.samples[task], of_kind)
        assert len(theirs) == 3 * len(of_kind)
        for name, value in theirs.items():
            assert mine[name] == pytest.approx(value, abs=1e-4)
        means = results(comparisons(of_kind, theirs), model="m")["kinds"][kind]["overall"]
        own = results(comparisons(of_kind, mine), model="m")["kinds"][kind]["overall"]
        ties[kind] = means["ties"]
        for metric in ("lms", "ss", "icat"):
            value = answer.values[task][f"{metric},none"]
            assert value == pytest.approx(means[metric], abs=1e-9)
            if not means["ties"]:
                assert value == pytest.approx(own[metric], abs=1e-9)
        rows = np.array([[float(v) for v, _ in s["filtered_resps"]] for s in answer.samples[task]])
        stereotype, anti, unrelated = rows.T
        # The first of two equal sentences wins there.
        ss = float((stereotype >= anti).mean())
        lms = float(((stereotype >= unrelated).mean() + (anti >= unrelated).mean()) / 2)
        assert answer.values[f"{task}_ss"]["acc,none"] == pytest.approx(ss, abs=1e-9)
        assert answer.values[f"{task}_lms"]["acc,none"] == pytest.approx(lms, abs=1e-9)
    return ties


@pytest.mark.parametrize("name", ["llama", "qwen2"])
def test_exported_tasks_give_our_scores(name: str, runner: Process, tmp_path: Path) -> None:
    """With BOS by itself, and without any BOS but an end of text."""
    cats = made_up()
    contents = replace(releases.contents(), cats=tuple(map(published, cats)))
    every = export(tmp_path / "r", contents)
    made = MAKERS[name](tmp_path / name)
    answer = run(runner, tmp_path / "r", command(*every), made)
    assert check(answer, cats, made, "test") == {"intrasentence": 0, "intersentence": 0}
    tasks = ("mild_intrasentence_test", "mild_intersentence_test")
    assert any(  # terms have unequal numbers of CATs
        answer.values[task][f"{metric},none"]
        != pytest.approx(100 * answer.values[f"{task}_{metric}"]["acc,none"])
        for task in tasks
        for metric in ("lms", "ss")
    )


def test_a_built_release_is_run_by_the_command_of_its_readme(
    runner: Process, example_release: Path, tmp_path: Path
) -> None:
    """GPT-2 adds no BOS by itself; the split is small, so some comparisons may tie."""
    made = MAKERS["gpt2"](tmp_path / "gpt2")
    folder = Path(shutil.copytree(example_release, tmp_path / "r"))
    text = (folder / "lm-eval" / "README.md").read_text("utf-8")
    [line] = [line for line in text.splitlines() if line.startswith("lm-eval run ")]
    [first] = re.findall(r"--tasks (\w+)$", line)
    assert run(runner, folder, line, made, defaults=True).values.keys() == {first}
    every = ",".join(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    (folder.parent / "out-gpt2").rename(folder.parent / "out-first")
    answer = run(runner, folder, line.removesuffix(first) + every, made)
    for split in SPLITS:
        cats = read_cats(folder / f"{split}.json")
        check(answer, cats, made, split, "Mild example")


def test_odd_texts_reach_the_model_as_they_are_and_ties_count_as_documented(
    runner: Process, tmp_path: Path
) -> None:
    contents = releases.contents()
    tied = cat("We met a potter.", "They sing.", "They sing.", "It rains.", name="tied")
    every = replace(contents, cats=(*contents.cats, published(tied)))
    tasks = export(tmp_path / "r", every)
    made = MAKERS["gpt2"](tmp_path / "gpt2")
    answer = run(runner, tmp_path / "r", command(*tasks), made)
    asked = {
        (sample["doc"]["id"], *arguments.values())
        for task, samples in answer.samples.items()
        for sample in samples
        if task.endswith(("dev", "test"))
        for arguments in sample["arguments"].values()
    }
    wanted = {
        (cat.id, *((cat.context, f" {o.sentence}") if between else ("", o.sentence)))
        for cat in every.cats
        for between in [cat.kind == "intersentence"]
        for o in cat.options
    }
    assert asked == wanted
    # Two equal sentences: half a CAT in the means over terms; the first one wins without Python.
    task = "mild_intersentence_test"
    halves, firsts = (
        next(sample for sample in answer.samples[name] if sample["doc"]["id"] == "tied")
        for name in (task, f"{task}_ss")
    )
    assert halves["ss"][:2] == ["profession/baker", 0.5]
    assert firsts["acc"] == 1.0


@pytest.mark.realdata
@pytest.mark.skipif(not REAL.exists(), reason="no StereoSet data")
def test_stereosets_development_set(runner: Process, tmp_path: Path) -> None:
    every = development_set()
    cats = every[:150] + every[-150:]
    texts = [a.sentence for cat in cats for a in cat.associations]
    made = make(tmp_path / "gpt2", [*texts, *(cat.context for cat in cats)], steps=20)
    contents = replace(releases.contents(), cats=tuple(map(published, cats)))
    tasks = export(tmp_path / "r", contents)
    check(run(runner, tmp_path / "r", command(*tasks), made), cats, made, "test")


def test_only_a_token_that_straddles_the_join_makes_a_difference(
    peers: Worker, tmp_path: Path
) -> None:
    made = MAKERS["gpt2"](tmp_path / "gpt2")
    content = json.loads((made / "tokenizer.json").read_text("utf-8"))
    vocabulary, merges = content["model"]["vocab"], content["model"]["merges"]
    vocabulary["!Ġ"] = vocabulary.pop("".join(merges.pop()))  # «!» and the space after it
    merges.insert(0, ["!", "Ġ"])
    content["pre_tokenizer"]["use_regex"] = False
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(content)), bos_token="<|endoftext|>"
    )
    tokenizer.save_pretrained(made)
    sentences = ("They sing in a choir.", "We are kind to them.", "It is late.")
    cats = [cat(f"I met a baker{end}", *sentences, name=f"c{end}") for end in "!."]
    mine = ours(cats, made)
    peers.open("lm-eval", made)
    theirs = peers.score([(c.context, a.sentence) for c in cats for a in c.associations]).values
    differs = [abs(a - b) > 1e-4 for a, b in zip(mine.values(), theirs, strict=True)]
    assert differs == [True] * 3 + [False] * 3
