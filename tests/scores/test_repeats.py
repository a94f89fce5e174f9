"""An endpoint that does not repeat its log-probabilities is refused; honest noise is not."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from curation.models.connection import KEYS
from curation.models.echoes import BOUND, Echo, drift
from curation.models.rules import Refusal
from curation.models.scoring import ModelSpec, open_scorer
from curation.records import Cat
from curation.scores import running
from curation.scores.run_folder import note
from curation.scores.running import Job, conclude, draw, job, score_cats
from support.cats import cat, intra
from support.completions import Completions, Quirks, serving, tiny
from support.expected import fails

SENTENCES = ("She helps everybody.", "She helps nobody.", "Clouds drift over the hills.")
INTER = [
    cat(f"The baker of house {n} sings about the sea.", *SENTENCES, name=f"inter-{n}-")
    for n in range(4)
]
INTRA = [
    intra(f"Our baker {n} is BLANK now.", "old", "new", "red", name=f"intra-{n}-") for n in range(2)
]
CATS = [*INTRA, *INTER]


MODEL = cache(tiny)


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Completions]:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(running, "SHARD", 2)
    with serving(MODEL()) as found:
        yield found
    open_scorer.cache_clear()


Run = Callable[..., Job]


@pytest.fixture
def run(endpoint: Completions, tmp_path: Path) -> Run:
    def score(cats: list[Cat] = CATS, **settings: Any) -> Job:
        open_scorer.cache_clear()  # each is a command of its own
        endpoint.bodies.clear()
        work = job(ModelSpec("tiny", url=endpoint.url), tmp_path)
        score_cats(work, cats, **settings)
        return work

    return score


def about(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "run.json").read_bytes()))


def scored(folder: Path) -> dict[str, float]:
    lines = (folder / "scores.jsonl").read_text("utf-8").splitlines()
    found = {line["association"]: line["value"] for line in map(json.loads, lines)}
    assert len(found) == len(lines)
    return found


def test_a_cache_of_prefixes_is_refused(endpoint: Completions, run: Run, tmp_path: Path) -> None:
    endpoint.quirks = Quirks(caches=True)
    says = "if it gets the same texts again: up to"
    with fails(says, fix="--no-enable-prefix-caching") as error:
        run()
    (folder,) = tmp_path.glob("tiny/*")
    assert not (folder / "scores.jsonl").exists()
    (aside,) = folder.glob("superseded/*")
    assert str(aside) in error.value.what
    assert about(aside)["unsteady"] == running.UNSTEADY
    assert about(aside)["repeats"]["largest"] > BOUND
    # The first shard, two intersentence CATs, was sent three times before any other text.
    assert {name.rpartition("-")[0] for name in scored(aside)} <= {c.id[:-1] for c in INTER}
    assert len(scored(aside)) == 6
    assert len(endpoint.prompts) == 2 + 3 * 6

    endpoint.quirks = Quirks()
    wanted = run(INTER[:1])
    assert len(scored(wanted.folder)) == 3, "nothing of the refused run is used again"
    assert "unsteady" not in about(wanted.folder)


def test_honest_noise_passes_and_is_written(endpoint: Completions, run: Run) -> None:
    endpoint.quirks = Quirks(bf16=True)
    work = run(seed=5)
    found = about(work.folder)["repeats"]
    assert found == {"texts": 18, "largest": found["largest"], "bound": BOUND, "seed": 5}
    assert 0.01 < found["largest"] < BOUND / 2
    assert len(endpoint.prompts) == 2 + 3 * 18
    assert conclude(work, CATS, ties="half")["run"]["repeats"] == found
    run()
    assert endpoint.prompts == [], "what was compared is not sent again"


def test_a_run_that_goes_on_repeats_what_is_new(endpoint: Completions, run: Run) -> None:
    run(INTER[:1])
    work = run(INTER[:2])
    assert len(endpoint.prompts) == 2 + 3 * 3
    assert about(work.folder)["repeats"] == {"texts": 6, "largest": 0, "bound": BOUND, "seed": 1}


def test_a_later_defect_takes_scores_away(endpoint: Completions, run: Run, tmp_path: Path) -> None:
    def fail(_: int) -> None:
        endpoint.quirks = Quirks(caches=True)

    with fails("the scores are now in"):
        run(tell=fail)
    (aside,) = tmp_path.glob("tiny/*/superseded/*")
    assert len(scored(aside)) == 12
    assert not (aside.parents[1] / "scores.jsonl").exists()


def test_a_command_killed_before_the_scores_were_moved(run: Run) -> None:
    work = run(INTER[:1])
    note(work.folder, unsteady=running.UNSTEADY)
    said: list[str] = []
    run(INTER[:1], notice=said.append)
    assert "another answer of the endpoint to the same texts; the earlier scores are" in said[0]
    assert len(scored(work.folder)) == 3


def test_a_seeded_sample_half_of_it_first(
    endpoint: Completions, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "CATS", 2)
    drawn = draw(INTER, seed=3)
    assert len(drawn) == 2
    assert draw(INTER, seed=3) == drawn
    assert {tuple(sorted(draw(INTER, seed=seed))) for seed in range(20)} > {tuple(sorted(drawn))}
    run(INTER, seed=3)
    sent = endpoint.prompts[2:]
    often = {text for text in sent if sent.count(text) == 3}
    assert len(sent) == 12 + 2 * 6
    early, later = ({each.id: each for each in INTER}[name] for name in drawn)
    assert often == {f"{cat.context} {a.sentence}" for cat in (early, later)
                     for a in cat.associations}  # fmt: skip
    assert early.context in sent[0]


def test_drift_by_hand() -> None:
    one = Echo(["A", "b", "c", "!"], [None, -1.0, -2.0, -9.0], [], 1)
    # (0 + 0.5 + 1) / 3; the generated token does not count.
    assert drift(one, Echo(["A", "b", "c", "?"], [None, -1.5, -3.0, 0.0], [], 1)) == 0.5
    never = Echo(["A", "b", "c"], [None, float("nan"), -2.0], [], 0)
    assert drift(never, never) == 0
    assert drift(one, never) == 9999 / 3
    for other in (Refusal("too_long", ""), Echo(["A", "x", "c"], [None, -1, -2], [], 0)):
        assert drift(one, other) == 9999
    assert drift(one, Echo(["A", "b"], [None, -1.0], [], 0)) == 9999
