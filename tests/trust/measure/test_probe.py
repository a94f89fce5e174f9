"""The probe: what it learns, what it counts, and what its intervals are of."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from curation.campaign.store import Campaign
from curation.models import tiny
from curation.models.states import StatesSpec
from curation.trust.measure.automated import passages
from curation.trust.measure.framework import DEFAULT, Policies
from curation.trust.measure.groups import Groups
from curation.trust.measure.scanning import Texts
from curation.trust.measure.states import PENALTY, Examples, Probed, accuracies, fit, probe
from curation.trust.runs.contextual import _split, _unseen, measure_probe, read_labelled
from curation.trust.runs.files import TrustRun, read_groups
from support import trust
from support.commands import Ran, run
from support.expected import fails

GROUPS = Groups("two", {"a": ("a1", "a2"), "b": ("b1",)}, {"s": ("s",), "t": ("t",)})
HEAD = "passage,text,target,group,annotator,submitted_at"


def examples(n: int, *, seed: int, lean: float = 0.75, noise: float = 0.5) -> Examples:
    """Passages whose label shows in their state; s leans to a, t to b by the same share."""
    rng = np.random.default_rng(seed)
    targets = np.arange(n) % 2
    toward = rng.random(n) < lean
    labels = np.where(toward, targets, 1 - targets)
    labels[rng.random(n) < 0.2] = 2
    states = np.eye(3, 6)[labels] * 2 + rng.normal(0, noise, size=(n, 6)) + 10
    documents = np.array([f"d{number}" for number in rng.integers(0, n // 3, size=n)], object)
    return Examples(states, np.arange(n), targets, labels, documents)


def test_the_weights_are_the_best_ones() -> None:
    given = examples(60, seed=1)
    found = fit(given, classes=3)
    features = (given.states - given.states.mean(axis=0)) / given.states.std(axis=0)
    features = np.column_stack([features, np.ones(60)])

    def loss(flat: Any) -> float:
        weights = flat.reshape(7, 3)
        scores = features @ weights
        log = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        entropy = -log[np.arange(60), given.labels].sum()
        return float(entropy + PENALTY / 2 * (weights[:-1] ** 2).sum())

    slow = minimize(loss, np.zeros(21), method="BFGS", options={"gtol": 1e-4})
    assert loss(found.weights) == pytest.approx(slow.fun, rel=1e-5)
    assert (found.predict(given) == given.labels).mean() > 0.9
    assert np.array_equal(found.weights, fit(given, classes=3).weights)
    assert np.allclose(fit(given, classes=3, start=found.weights).weights, found.weights, atol=1e-3)
    # A class without passages is never predicted.
    assert set(fit(given.where(given.labels != 1), classes=3).predict(given)) == {0, 2}


TRAINING, FURTHER = examples(300, seed=1), examples(200, seed=2)


def test_the_probe_counts_further_passages_only() -> None:
    training, further = examples(300, seed=1), examples(400, seed=2)
    found = probe(training, further, GROUPS, DEFAULT, seed=1)
    expected = [
        [int(((further.targets == t) & (further.labels == label)).sum()) for label in range(3)]
        for t in range(2)
    ]
    assert np.abs(found.counts - expected).max() <= 6
    s, t = found.biases
    assert [s.n, t.n] == [200, 200]
    assert s.soa == tuple(found.counts[0, :2])
    (s_signed, _), (t_signed, _) = s.signed or (0, 0), t.signed or (0, 0)
    assert 0.15 < s_signed < 0.35
    assert -0.35 < t_signed < -0.15
    low, high = (s.ci or ())[0] or (0, 0)
    assert low < 0.25 < high < 0.5
    about = found.about["probes"]["all"]
    assert about["accuracy"] > 0.9 > 0.6 > about["control"]
    assert about["majority"] < 0.6
    assert about["selectivity"] == pytest.approx(about["accuracy"] - about["control"])
    labels = zip(("a", "b", "none"), np.bincount(training.labels).tolist(), strict=True)
    assert found.about["training_labels"] == dict(labels)


def test_states_without_information_are_no_better_than_the_control() -> None:
    blind = FURTHER._replace(states=np.random.default_rng(0).normal(size=(200, 6)))
    assert abs(accuracies(blind, classes=3, seed=1)["selectivity"] or 1) < 0.15


def test_folds_keep_documents_whole() -> None:
    one = examples(40, seed=1)._replace(documents=np.array(["d"] * 40, object))
    assert accuracies(one, classes=3, seed=1)["folds"] == 0
    # A document's passages are alike and their labels random: within it the probe could cheat.
    rng = np.random.default_rng(0)
    centers, labels = rng.normal(size=(60, 30)), rng.integers(0, 3, size=60)
    of = np.repeat(np.arange(60), 5)
    documents = np.array([f"d{n}" for n in of], object)
    copies = Examples(centers[of], np.arange(300), of % 2, labels[of], documents)
    assert (accuracies(copies, classes=3, seed=1)["accuracy"] or 1) < 0.55


def test_intervals_include_the_training() -> None:
    further = examples(2000, seed=2)
    width = {}
    for size in (30, 600):
        found = probe(examples(size, seed=1, noise=1.5), further, GROUPS, DEFAULT, seed=1)
        low, high = (found.biases[0].ci or ())[0] or (0, 0)
        width[size] = high - low
    assert width[30] > 1.5 * width[600] > 0


def test_a_probe_for_each_target() -> None:
    only = TRAINING.where((TRAINING.targets == 0) | (TRAINING.labels == 1))
    nothing = TRAINING.where(TRAINING.targets == 0)
    codes = [
        [
            b.undefined
            for b in probe(given, FURTHER, GROUPS, DEFAULT, per_target=True, seed=1).biases
        ]
        for given in (only, nothing)
    ]
    assert codes == [[None, "one_class"], [None, "no_training"]]


def test_targets_without_passages_or_predictions_are_undefined() -> None:
    some = probe(TRAINING, FURTHER.where(FURTHER.targets == 0), GROUPS, DEFAULT).biases
    assert (some[1].undefined, some[1].n) == ("missing_target", 0)
    none = FURTHER.where((FURTHER.targets == 1) | (FURTHER.labels == 2))
    [s, _] = probe(TRAINING, none, GROUPS, DEFAULT).biases
    assert s.undefined in ("no_evidence", None)
    assert s.n > 0
    blank = none._replace(states=np.tile(np.eye(3, 6)[2] * 2 + 10, (len(none.targets), 1)))
    [s, _] = probe(TRAINING, blank, GROUPS, DEFAULT).biases
    assert (s.undefined, s.soa) == ("no_evidence", (0.0, 0.0))


def test_one_class_only_is_an_error_that_says_which() -> None:
    given = examples(30, seed=1)
    with fails("training passages (30) is «none»"):
        probe(given._replace(labels=np.full(30, 2)), given, GROUPS, DEFAULT)
    with fails("no labelled passages"):
        probe(given.where(given.targets == 9), given, GROUPS, DEFAULT)


def test_again_knows_other_orders_and_policies_but_no_other_words() -> None:
    compute = Probed(GROUPS, [], np.array([[30, 10, 5], [0, 0, 4]]), {}).again
    assert compute(GROUPS, DEFAULT)[0].p == (0.75, 0.25)
    assert compute(GROUPS, DEFAULT)[1].undefined == "no_evidence"
    for words in ({"b": ("b1",), "a": ("a1", "a2")}, {"a": ("b1",), "b": ("a1", "a2")}):
        other = Groups("two", words, GROUPS.targets)  # turned, and with exchanged lists
        assert compute(other, DEFAULT)[0].p == (0.25, 0.75)
    assert compute(GROUPS, Policies("softmax"))[0].p == pytest.approx((1, 0), abs=1e-6)
    with fails("labels are of groups"):
        compute(Groups("two", {"a": ("a1",), "b": ("b1",)}, GROUPS.targets), DEFAULT)


def test_a_passage_with_several_mentions_counts_once() -> None:
    training, further = examples(200, seed=1), examples(100, seed=2)
    whole = probe(training, further, GROUPS, DEFAULT, seed=1)
    assert whole.counts.sum() == 100
    # Each mention twice: the sums of scores are doubled, so every passage keeps its class.
    twice = {"states": np.repeat(further.states, 2, axis=0), "of": np.repeat(further.of, 2)}
    again_read = further._replace(**twice)
    assert (probe(training, again_read, GROUPS, DEFAULT, seed=1).counts == whole.counts).all()
    # A mention that says little (the mean of all states) does not outvote one that is clear.
    vague = np.tile(training.states.mean(axis=0), (100, 1))
    states = np.concatenate([further.states, vague])
    more = further._replace(states=states, of=np.tile(further.of, 2))
    model = fit(training, classes=3)
    assert (model.predict(more) == model.predict(further)).mean() > 0.95
    some = again_read.where(further.labels == 1)
    assert len(some.states) == 2 * len(some.targets)
    assert set(some.of.tolist()) == set(range(len(some.targets)))


# --- with a model and a corpus ------------------------------------------------------------------


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> StatesSpec:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    tiny.make(folder, trust.texts(), family="masked", steps=0, width=32)
    return StatesSpec(str(folder), device="cpu")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return trust.write_texts(tmp_path_factory.mktemp("texts"), documents=20, files=1)


Measured = Callable[..., TrustRun]
Table = Callable[..., Path]
People = Callable[[int], Groups]


@pytest.fixture
def measure(grouped: Campaign, spec: StatesSpec, files: list[Path]) -> Measured:
    """Measure the campaign's groups in these files, or in others."""

    def one(*others: Path, **options: Any) -> TrustRun:
        [(run, measured)] = measure_probe(grouped, spec, others or files, **options)
        assert measured  # the identity has the options
        return run

    return one


def test_automatic_labels(
    measure: Measured, grouped: Campaign, spec: StatesSpec, files: list[Path]
) -> None:
    run = measure()
    assert run.name == "probe/people-tiny-texts-0"
    about = json.loads((run.folder / "run.json").read_text("utf-8"))
    assert about["training_passages"] + about["further_passages"] == 82
    assert 52 <= about["training_passages"] <= 62
    assert about["probes"]["all"]["accuracy"] > about["probes"]["all"]["majority"]
    assert sum(bias.n for bias in run.biases) == about["further_passages"]
    assert not (run.folder / "parts").exists()
    [(_, again)] = measure_probe(grouped, spec, files)
    assert not again


def test_every_mention_is_read(measure: Measured, tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    lines = [
        f"No {n}. The baker and the baker went to the {('hill', 'lake')[n % 2]}. The baker sang."
        for n in range(30)
    ]
    path.write_text("\n".join(lines), "utf-8")
    first = measure(path, source="mentions")
    every = measure(path, every_mention=True, source="mentions")
    assert "mentions" not in first.about
    assert every.about["mentions"] == 90  # three in each passage
    for each in (first, every):
        assert each.about["training_passages"] + each.about["further_passages"] == 30
        assert sum(bias.n for bias in each.biases) == each.about["further_passages"]


def test_training_and_further_passages_share_no_text(files: list[Path], people: People) -> None:
    sample = passages(Texts(files, window=1, workers=1), people(2), most=100, seed=1)
    split = _split(sample, seed=1)
    for name in ("document", "text"):
        first, second = ({getattr(each.passage, name) for each in part} for part in split)
        assert not first & second
    assert 0.65 < len(split[0]) / len(sample) < 0.75
    training, further = _unseen(split[0][:20], sample)
    assert not {each.passage.text for each in training} & {each.passage.text for each in further}
    assert len(further) == len(sample) - 20


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table of labels with these rows."""

    def write(*rows: str) -> Path:
        path = tmp_path / "labels.csv"
        path.write_text("\n".join([HEAD, *rows]) + "\n", "utf-8")
        return path

    return write


def row(n: int, group: str, *, job: str = "baker", who: str = "w1", day: int = 1) -> str:
    return f"p{n},The {job} sang in year {n}.,{job},{group},{who},2026-01-{day:02}T10:00:00Z"


def rows(n: int, *groups: str) -> list[str]:
    """The labels of several people of one passage."""
    return [row(n, group, who=who) for who, group in zip("abc", groups, strict=False)]


def test_labels_of_people_are_those_of_the_majority(table: Table, people: People) -> None:
    path = table(
        *rows(1, "lake", "lake", "hill"),
        *rows(2, "lake", "none", "hill"),
        *rows(3, "lake", ""),
        row(4, "hill", who="a", day=2),
        row(4, "lake", who="a", day=1),
        row(5, "lake", job="nobody"),
        "p6,He sang.,baker,lake,w1,2026-01-01T10:00:00Z",
        "p7,,baker,lake,w1,2026-01-01T10:00:00Z",
        row(8, "sea"),
    )
    found, refused = read_labelled(path, people(2), language="en")
    majority = {"p1": "lake", "p2": None, "p3": None, "p4": "lake"}
    assert {each.passage.id: each.group for each in found} == majority
    spans = [each.passage.text[start:end] for each in found for start, end in each.spans]
    assert set(spans) == {"baker"}
    assert sorted((each.code, each.where) for each in refused) == [
        ("missing_field", str(path)),
        ("target_missing", "labels.csv line 13"),
        ("unknown_group", "labels.csv line 15"),
        ("unlisted_target", "labels.csv line 12"),
    ]


def test_a_table_without_a_usable_label_says_why(table: Table, people: People) -> None:
    with fails("labels.csv line 2: there is no group 'sea'"):
        read_labelled(table(row(1, "sea")), people(2), language="en")
    path = table()
    path.write_text("passage,target,group,annotator,submitted_at\n", "utf-8")
    with fails("no column «text»"):
        read_labelled(path, people(2), language="en")
    with fails("nowhere.csv: no such file"):
        read_labelled(path.with_name("nowhere.csv"), people(2), language="en")


def test_people_and_corpus(
    measure: Measured, grouped: Campaign, files: list[Path], table: Table
) -> None:
    sample = passages(Texts(files, workers=1), read_groups(grouped)[0], most=5, seed=4)
    said = (
        f"{each.passage.id},{each.passage.text},{each.passage.target},{each.group or 'none'},"
        "w1,2026-01-01T10:00:00Z"
        for each in sample
    )
    run = measure(labels=table(*said), source="people")
    assert run.about["training_passages"] == len(sample)
    assert run.about["further_passages"] == 82 - len(sample)


def test_commands(grouped: Campaign, spec: StatesSpec, files: list[Path]) -> None:
    def said(measure: str, *more: str, code: int = 0) -> Ran:
        words = (measure, spec.name, *files, "-c", grouped.root, "--device", "cpu", *more)
        done = run("trust", *words)
        assert done.code == code, done.err
        return done

    told = said("contextual", "--most", "5", "--repeats").out
    assert "contextual/people-tiny-texts-0" in told
    assert "Accuracy by cross-validation" in said("probe", "--automatic").out
    told = said("probe", "--automatic", "--json", "--every-mention").out
    assert len(json.loads(told)["runs"][0]["biases"]) == 8
    assert "give either --labels or --automatic" in said("probe", code=1).err
    assert "has no layer 7" in said("contextual", "--layer", "7", code=1).err
