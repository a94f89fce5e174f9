"""Reduction: word vectors from contexts, whatever is cut or killed in between."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from curation.campaign.store import Campaign
from curation.models import tiny
from curation.models.states import Place, StatesSpec, open_states
from curation.records import Bias
from curation.trust.measure import states as units
from curation.trust.measure.cosine import mean_vectors, soa
from curation.trust.measure.framework import Floats, Policies, distributions
from curation.trust.measure.groups import Groups
from curation.trust.measure.scanning import Texts
from curation.trust.measure.states import Sample, Sums, blocks_of, reduced_biases, vectors_of
from curation.trust.runs import contextual as reading
from curation.trust.runs.contextual import measure_contextual
from curation.trust.runs.files import TrustRun, read_groups
from support import trust
from support.expected import fails

SHIFT = Policies(negative="shift")


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> StatesSpec:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    model = tiny.make(folder, trust.texts(), family="masked", steps=0, width=16)
    return StatesSpec(str(model), device="cpu", batch_tokens=200)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return trust.write_texts(tmp_path_factory.mktemp("texts"), documents=6)


Measured = Callable[..., TrustRun]


@pytest.fixture
def measure(grouped: Campaign, spec: StatesSpec, files: list[Path]) -> Measured:
    """Measure the campaign's groups in these files, or in others, with a model of these options."""

    def one(*others: Path, model: Any = None, **options: Any) -> TrustRun:
        own = dataclasses.replace(spec, **(model or {}))
        [(run, measured)] = measure_contextual(grouped, own, others or files, **options)
        assert measured  # the identity has the options
        return run

    return one


def strengths(run: TrustRun) -> Floats:
    return np.array([bias.soa for bias in run.biases], float)


def cosine(one: Floats, other: Floats) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def sample_contexts(files: Sequence[Path], words: Sequence[str], **options: Any) -> Sample:
    return units.sample_contexts(Texts(files, window=1, workers=1), words, **{"seed": 1, **options})


def test_a_sample_has_the_texts_with_the_smallest_numbers(files: list[Path]) -> None:
    whole = sample_contexts(files, ["baker", "shore", "nobody"], most=None)
    assert whole.found == {"baker": 6, "shore": 3}
    bakers = [each.text for each in whole.contexts if each.word == "baker"]
    assert len(bakers) == len(set(bakers))
    for each in whole.contexts:
        assert {each.text[start:end].lower() for start, end in each.spans} == {each.word}
    small = sample_contexts(files, ["baker"], most=2)
    assert len(small.contexts) == 2
    assert set(small.contexts) <= set(whole.contexts)
    turned = sample_contexts(files[::-1], ["baker"], most=2)
    assert [each.text for each in turned.contexts] == [each.text for each in small.contexts]
    others = [sample_contexts(files, ["baker"], most=2, seed=n).contexts for n in range(2, 9)]
    assert any(other != small.contexts for other in others)


def test_a_word_vector_is_the_mean_over_contexts(
    measure: Measured, grouped: Campaign, spec: StatesSpec, files: list[Path]
) -> None:
    run = measure()
    assert run.name == "contextual/people-tiny-texts-0"
    reader, (groups,) = open_states(spec), read_groups(grouped)
    listed = [w for own in (*groups.words.values(), *groups.targets.values()) for w in own]
    means = {}
    for word in listed:
        contexts = sample_contexts(files, [word], most=None).contexts
        if contexts:
            places = [Place(each.text, each.spans) for each in contexts]
            means[word] = reader.states(places).vectors.mean(axis=0)

    def mean(words: Sequence[str]) -> Floats:
        return np.asarray(np.mean([means[w] for w in words if w in means], axis=0))

    for bias in run.biases:
        target = mean(groups.targets[bias.target])
        cosines = [cosine(target, mean(own)) for own in groups.words.values()]
        assert bias.soa == pytest.approx(cosines, abs=1e-6)
        assert bias.n > 0
    assert run.about["missing_words"] == [word for word in listed if word not in means]
    used = {each.text for each in sample_contexts(files, ["baker"], most=None).contexts}
    assert run.about["words"]["baker"] == {"contexts": 6, "used": len(used)}
    assert not (run.folder / "parts").exists()
    [(_, again)] = measure_contextual(grouped, spec, files)
    assert not again


def test_repeats_give_the_mean_of_all(measure: Measured, spec: StatesSpec, tmp_path: Path) -> None:
    # The hill is in three contexts: twice in the same sentence, once in another.
    lines = ["The baker saw the hill. It rained.", "The baker saw the hill.", "A hill! A lake."]
    path = tmp_path / "some.txt"
    path.write_text("\n".join(lines), "utf-8")
    places = [
        Place("The baker saw the hill.", ((18, 22),)),
        Place("A hill!", ((2, 6),)),
        Place("A lake.", ((2, 6),)),
        Place("The baker saw the hill.", ((4, 9),)),
    ]
    first, second, lake, baker = open_states(spec).states(places).vectors
    means = {False: (first + second) / 2, True: (first + first + second) / 3}
    identities = []
    for repeats, hill in means.items():
        run = measure(path, most=None, repeats=repeats, source="repeats")
        identities.append(run.about["identity"].get("repeats"))
        [bias] = [each for each in run.biases if each.target == "baker"]
        assert bias.n == 1 + repeats
        assert bias.soa == pytest.approx([cosine(baker, own) for own in (hill, lake)], abs=1e-6)
    assert identities == [None, True]


def test_batches_change_nothing(measure: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    def soa(**model: Any) -> Floats:
        return strengths(measure(source="again", model=model))

    first = soa(batch_tokens=200)
    assert np.allclose(soa(batch_tokens=30), first, atol=1e-6)
    monkeypatch.setattr(units, "UNIT", 7)
    assert np.allclose(soa(batch_tokens=31), first, atol=1e-6)
    assert not np.allclose(soa(layer=1), first, atol=1e-4)


@pytest.mark.environment  # two processes import torch
def test_workers_change_nothing(measure: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "UNIT", 20)
    one, two = (measure(source=f"by-{n}", workers=n).biases for n in (1, 2))
    assert one == two


def test_a_killed_command_goes_on_where_it_stopped(
    measure: Measured, grouped: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = measure(source="whole")
    monkeypatch.setattr(units, "UNIT", 20)
    read = units.read_unit
    seen: list[int] = []

    def fail_at(number: int) -> Callable[[units.Unit], units.Part]:
        def one(unit: units.Unit) -> units.Part:
            if len(seen) == number:
                raise KeyboardInterrupt
            seen.append(len(unit.places))
            return read(unit)

        return one

    monkeypatch.setattr(reading, "read_unit", fail_at(2))
    with pytest.raises(KeyboardInterrupt):
        measure(source="killed")
    folder = grouped.folder("trust") / "runs" / "contextual" / "people-killed"
    assert len(list((folder / "parts").glob("*.npz"))) == 2
    (folder / "parts" / "000001.npz").write_bytes(b"half a f")  # a damaged part is read again
    monkeypatch.setattr(reading, "read_unit", fail_at(-1))
    seen.clear()
    run = measure(source="killed")
    assert sum(seen) == run.about["contexts"] - 20
    assert np.allclose(strengths(run), strengths(whole), atol=1e-6)
    assert not (folder / "parts").exists()


def test_parts_of_other_work_are_not_used(
    grouped: Campaign, spec: StatesSpec, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = grouped.folder("trust") / "runs" / "contextual" / "people-other"
    places = [Place("The baker sang.", ((4, 9),))]
    first = reading.Corpus(grouped, spec, Texts(files, window=1, workers=1), most=None)
    other = dataclasses.replace(first, spec=dataclasses.replace(spec, layer=0))
    reading.read_states(first, folder, places, [(0, 0)])
    calls: list[int] = []
    read = units.read_unit

    def counted(unit: units.Unit) -> units.Part:
        calls.append(1)
        return read(unit)

    monkeypatch.setattr(reading, "read_unit", counted)
    reading.read_states(first, folder, places, [(0, 0)])
    assert calls == []
    reading.read_states(other, folder, places, [(0, 0)])
    assert calls == [1]


def random_sums(rng: Any, words: int, blocks: int, width: int = 4) -> Sums:
    counts = rng.integers(0, 4, size=(words, blocks))
    values = rng.normal(2, 1, size=(words, blocks, width)) * counts[:, :, None]
    return Sums(WORDS, values, counts)


GROUPS = Groups("two", {"a": ("a1", "a2"), "b": ("b1",)}, {"t": ("t1", "t2"), "none": ("gone",)})
WORDS = ["a1", "a2", "b1", "t1", "t2", "gone"]


def results(sums: Sums, policies: Policies = SHIFT) -> list[Bias]:
    return reduced_biases(vectors_of(sums), sums, GROUPS, policies, confidence=0.95)


def share(sums: Sums) -> float:
    """The first target's share of the first group, from the vectors."""
    vectors = vectors_of(sums)
    strengths = soa(mean_vectors(vectors, GROUPS.targets), mean_vectors(vectors, GROUPS.words))
    return float(distributions(strengths, SHIFT)[0, 0])


def test_intervals_are_those_of_the_jackknife() -> None:
    sums = random_sums(np.random.default_rng(0), 6, 12)
    sums.counts[5], sums.values[5] = 0, 0
    [bias, missing] = results(sums)
    assert missing.undefined == "missing_target"
    assert (missing.n, missing.ci) == (0, None)
    assert bias.n == sums.counts[3:5].sum()

    def p(keep: Sequence[int]) -> float:
        return share(Sums(WORDS, sums.values[:, keep], sums.counts[:, keep]))

    left = [p([n for n in range(12) if n != out]) for out in range(12)]
    error = (11 / 12 * sum((each - np.mean(left)) ** 2 for each in left)) ** 0.5
    df = int((sums.counts[3:5].sum(axis=0) > 0).sum()) - 1
    half = t.ppf(0.975, df) * error
    signed = (bias.signed or (0,))[0]
    assert (bias.ci or (None,))[0] == pytest.approx((signed - half, signed + half))
    assert signed == pytest.approx(p(range(12)) - 0.5)


def test_intervals_cover_the_truth() -> None:
    rng = np.random.default_rng(3)
    centers = rng.normal(2, 1, size=(6, 4))
    aim = share(Sums(WORDS, centers[:, None], np.ones((6, 1), dtype=np.int64))) - 0.5
    held = 0
    for _ in range(100):
        counts = np.ones((6, 30), dtype=np.int64)
        values = centers[:, None] + rng.normal(0, 1, size=(6, 30, 4))
        [bias, _] = results(Sums(WORDS, values, counts))
        low, high = (bias.ci or ())[0] or (0, 0)
        held += low <= aim <= high
    assert held >= 90


def test_a_target_in_one_document_has_no_interval() -> None:
    sums = random_sums(np.random.default_rng(1), 6, 5)
    sums.counts[3:5, 1:], sums.values[3:5, 1:] = 0, 0
    sums.counts[3, 0], sums.values[3, 0] = 2, 1.0
    [bias, _] = results(sums)
    assert (bias.p is None, bias.ci) == (False, None)


def test_negative_cosines_are_undefined_unless_a_policy_says_how() -> None:
    values = np.array([[1.0, 0], [1, 0], [-1, 0.1], [1, 0.2], [1, 0.2], [0, 0]])[:, None]
    sums = Sums(WORDS, values, np.array([[1], [1], [1], [1], [1], [0]]))
    undefined, raw, clip, shift = (
        results(sums, Policies(negative=policy))[0]  # type: ignore[arg-type]
        for policy in ("undefined", "raw", "clip", "shift")
    )
    assert undefined.undefined == "negative_soa"
    assert clip.p == (1.0, 0.0)
    assert (raw.p or (0,))[0] > 1
    assert 0.9 < (shift.p or (0,))[0] < 1


def test_at_most_a_hundred_blocks_of_documents() -> None:
    documents = [f"d{n}" for n in range(250)]
    blocks = blocks_of(documents, 100, 1)
    assert len(blocks) == 250
    assert set(blocks.values()) == set(range(100))
    assert blocks != blocks_of(documents, 100, 2)


def test_bad_input_names_what_to_do(measure: Measured, grouped: Campaign, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("Nothing of that sort.\nThe baker slept.\n", "utf-8")
    with fails("no word of the group «hill» is in the files: hill,"):
        measure(other)
    other.write_text("Nothing of that sort.\n", "utf-8")
    with fails("no word of the group «hill» is in the files"):
        measure(other)
    assert not (grouped.folder("trust") / "runs").exists()  # the model read nothing
    with fails("nowhere.txt"):
        measure(tmp_path / "nowhere.txt")
    with fails("has no layer 9"):
        measure(*trust.write_texts(tmp_path, documents=1), model={"layer": 9})


def test_no_file_is_an_error(grouped: Campaign, spec: StatesSpec) -> None:
    with fails("no file to measure"):
        measure_contextual(grouped, spec, [])


def test_a_target_in_no_text_is_missing(
    measure: Measured, files: list[Path], tmp_path: Path
) -> None:
    lines, others = (file.read_text("utf-8") for file in files)
    text = "\n".join(line for line in lines.splitlines() if "baker" not in line)
    part = tmp_path / "part.txt"
    part.write_text(text + "\n" + others.replace("baker", "farrier"), "utf-8")
    with pytest.warns(UserWarning, match="no result for 1 of 8 targets"):
        run = measure(part)
    [baker] = [bias for bias in run.biases if bias.target == "baker"]
    assert (baker.undefined, baker.n, baker.p) == ("missing_target", 0, None)
    assert "baker" in json.loads((run.folder / "run.json").read_text("utf-8"))["missing_words"]
