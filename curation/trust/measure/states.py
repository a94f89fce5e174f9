"""Contextual representations: the states that a model gives to words of a corpus (section 4.3).

The contexts of a word are a random sample of the different texts that mention it, or all of them.
The sample does not depend on how the files are cut, nor on how many processes read them: each text
has a random number that follows from the seed, the word and the text, and the texts with the
smallest numbers are kept.

States are read in units of work, which are cut from the list of contexts alone. So results do not
depend on how many processes there are, and a command that was killed can go on.

**Reduction** makes word vectors of them: the vector of a word is the mean of its states, and
strength of association is the cosine of the mean vector of a target's words with that of a group's.
Intervals are over documents: the documents are put into blocks, and each block is left out once
(the jackknife). They have the sampling error of the corpus, given the lists of words.

The **probe** is a linear classifier that reads the associated group from a target's state, a
softmax regression with a class for each group and one for none. It is trained on states of labelled
passages. Strength of association is the number of further passages for which it predicts the group;
a passage of the training set is never counted. A passage has one state, or one of each mention of
its target. Then each state is an example with the label of the passage, and a passage counts for
the class with the highest sum of its states' scores (unnormalised log chances). Features are
standardised. The penalty on the weights is fixed, because the data are usually separable; without
one there would be no best weights.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from heapq import nsmallest
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.files import CurationError
from curation.formats.word_vectors import Vectors
from curation.records import Bias
from curation.stats.intervals import t_quantile
from curation.trust.measure import framework
from curation.trust.measure.again import labelled_order
from curation.trust.measure.automated import Span, count_biases, document_name, effective_number
from curation.trust.measure.cosine import mean_vectors, soa, vector_biases
from curation.trust.measure.framework import Floats, Policies
from curation.trust.measure.groups import Groups
from curation.trust.measure.scanning import Batches, Texts, scanner

if TYPE_CHECKING:
    from curation.models.states import Place, StatesSpec


Ints = NDArray[np.int64]
UNIT = 512
"""Contexts of a unit; a text is never cut apart."""
Key = tuple[int, int]
_PIECES = 1 << 20  # workers to cut for: the smallest shards, however many workers there are


class Context(NamedTuple):
    """A word in a text.

    Attributes:
        word: the word, as its list has it.
        text: the sentence or sentences.
        spans: the (start, end) characters of each occurrence of the word in the text.
        document: the document of the text; of several, the first in alphabetical order.
        first: the number of the first sentence in the document.
    """

    word: str
    text: str
    spans: tuple[Span, ...]
    document: str
    first: int = 0

    @property
    def place(self) -> "Place":
        """What a model's states are read of."""
        from curation.models.states import Place

        return Place(self.text, self.spans)


class Sample(NamedTuple):
    """Contexts of words.

    Attributes:
        contexts: the contexts of all words; those of the same text follow each other.
        found: how many contexts the corpus has of each word; words without any are left out.
    """

    contexts: list[Context]
    found: dict[str, int]


def draw(seed: int, *names: str) -> int:
    """A random number from 0 to 2⁶⁴ − 1 that follows from a seed and names.

    >>> draw(1, "baker", "a text") == draw(1, "baker", "a text") != draw(2, "baker", "a text")
    True
    """
    whole = "\0".join((str(seed), *names)).encode()
    return int.from_bytes(blake2b(whole, digest_size=8).digest(), "big")


def blocks_of(documents: Iterable[str], most: int, seed: int, *kind: str) -> dict[str, int]:
    """The block of each document: a block of its own, or one of ``most`` random ones."""
    names = sorted(set(documents), key=lambda name: (draw(seed, *kind, name), name))
    return {name: number % most for number, name in enumerate(names)}


def sample_contexts(
    texts: Texts,
    words: Sequence[str],
    *,
    most: int | None,
    seed: int,
    repeats: bool = False,
    tell: Callable[[int], None] | None = None,
) -> Sample:
    """A random sample of the contexts of each word.

    Args:
        texts: the corpus; a context has as many sentences as its ``window``.
        words: the words.
        most: the number of contexts of each word at most; None for all.
        seed: of the sample.
        repeats: count a text as often as it occurs. By default texts that are the same count once
            for a word: most of them are boilerplate.
        tell: called with the number of bytes of each shard that was read.

    Raises:
        CurationError: a file is missing, empty, damaged, or of an unknown type.
    """
    found, kept = Counter[str](), defaultdict[str, list[Context]](list)
    pick = partial(_smallest, most=most, seed=seed, repeats=repeats)
    work = partial(_found, corpus=texts, words=tuple(words), repeats=repeats, pick=pick)
    for _, part in texts.read(work, tell=tell, pieces=_PIECES):
        for word, (number, contexts) in part.items():
            found[word] += number
            kept[word] += contexts
    every = [context for contexts in kept.values() for context in pick(contexts)]
    return Sample(sorted(every, key=lambda each: (each.text, each.word, each.document)), found)


def _found(
    batches: Batches,
    *,
    corpus: Texts,
    words: tuple[str, ...],
    repeats: bool,
    pick: Callable[[Iterable[Context]], list[Context]],
) -> dict[str, tuple[int, list[Context]]]:
    """How many contexts of each word documents have, and a sample of them."""
    window = corpus.window
    found = scanner(words, corpus.language, wanted=None, window=window)
    contexts = defaultdict[str, dict[object, Context]](dict)
    for texts in batches:
        for position in found.scan(texts).hits:
            text, own = texts[position], defaultdict[tuple[int, int], list[Span]](list)
            spans, places = found.locate(text)
            for number, word, start, end in places:
                last = min(number, len(spans) - window)
                for first in range(max(number - window + 1, 0), last + 1):
                    own[word, first].append((start - spans[first][0], end - spans[first][0]))
            document = document_name(text)
            for (number, first), at in own.items():
                part = text[spans[first][0] : spans[first + window - 1][1]]
                context = Context(found.lexicon.names[number], part, tuple(at), document, first)
                known = contexts[context.word]
                known.setdefault(len(known) if repeats else (part, document), context)
    return {word: (len(own), pick(own.values())) for word, own in contexts.items()}


def _smallest(
    contexts: Iterable[Context], *, most: int | None, seed: int, repeats: bool
) -> list[Context]:
    """The contexts with the smallest numbers, each text once unless repeats count."""
    if not repeats:  # of several documents, the first in alphabetical order is the last here
        ordered = sorted(contexts, key=lambda each: each.document, reverse=True)
        contexts = {each.text: each for each in ordered}.values()
    every = list(contexts)
    if most is None or len(every) <= most:
        return every

    def number(each: Context) -> int:
        own = (each.document, str(each.first)) if repeats else ()
        return draw(seed, each.word, each.text, *own)

    return nsmallest(most, every, key=number)


class Unit(NamedTuple):
    """Words in contexts, and the key under which the state of each is added up."""

    spec: "StatesSpec"
    places: "tuple[Place, ...]"
    keys: tuple[Key, ...]


class Part(NamedTuple):
    """Sums of states by key.

    Attributes:
        keys: shape (n, 2).
        values: the sum of the states of each key, shape (n, width).
        counts: the number of states of each key, shape (n,).
        refused: how many contexts have no state, by reason code.
    """

    keys: NDArray[np.int64]
    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    refused: dict[str, int]


def units(spec: "StatesSpec", places: "Sequence[Place]", keys: Sequence[Key]) -> Iterator[Unit]:
    """Cut contexts into units; places of the same text must follow each other."""
    start = 0
    for end in range(1, len(places) + 1):
        if end == len(places) or (end - start >= UNIT and places[end].text != places[end - 1].text):
            yield Unit(spec, tuple(places[start:end]), tuple(keys[start:end]))
            start = end


def read_unit(unit: Unit) -> Part:
    """The sums of a unit; each process opens the model only once.

    Raises:
        CurationError: the model cannot be opened, or memory ran out.
    """
    from curation.models.states import open_states

    vectors, refused = open_states(unit.spec).states(unit.places)
    has = [number for number in range(len(vectors)) if number not in refused]
    keys, counts = np.array(unit.keys, np.int64)[has], np.ones(len(has), np.int64)
    return joined([Part(keys, vectors[has], counts, Counter(refused.values()))])


def joined(parts: Sequence[Part]) -> Part:
    """The sums of several parts, in the order of the keys."""
    keys, of = np.unique(np.concatenate([part.keys for part in parts]), axis=0, return_inverse=True)
    values = np.zeros((len(keys), parts[0].values.shape[1]))
    counts = np.zeros(len(keys), dtype=np.int64)
    np.add.at(values, of.ravel(), np.concatenate([part.values for part in parts]))
    np.add.at(counts, of.ravel(), np.concatenate([part.counts for part in parts]))
    refused = sum((Counter(part.refused) for part in parts), Counter[str]())
    return Part(keys, values, counts, dict(sorted(refused.items())))


BLOCKS = 100
"""The largest number of blocks of documents; each block is left out once."""


class Sums(NamedTuple):
    """Sums of states by word and block of documents.

    Attributes:
        words: the words.
        values: shape (words, blocks, width).
        counts: the number of contexts, shape (words, blocks).
    """

    words: Sequence[str]
    values: Floats
    counts: Ints


def keys_of(contexts: Sequence[Context], words: Sequence[str], *, seed: int) -> list[Key]:
    """The word and the block of each context, as numbers: where its state is added."""
    place = {word: number for number, word in enumerate(words)}
    blocks = blocks_of((context.document for context in contexts), BLOCKS, seed)
    return [(place[each.word], blocks[each.document]) for each in contexts]


def sums_of(part: Part, words: Sequence[str]) -> Sums:
    """The sums of a part that has all contexts, with the keys of ``keys_of``."""
    blocks = int(part.keys[:, 1].max(initial=0)) + 1
    values = np.zeros((len(words), blocks, part.values.shape[1]))
    counts = np.zeros((len(words), blocks), dtype=np.int64)
    at = part.keys[:, 0], part.keys[:, 1]
    values[at], counts[at] = part.values, part.counts
    return Sums(words, values, counts)


def word_vectors(words: Sequence[str], values: Floats, counts: Ints) -> Vectors:
    """The mean vector of each word; words without contexts are missing.

    Args:
        words: the words.
        values: sums of states, shape (words, width).
        counts: the number of contexts, shape (words,).
    """
    known = counts > 0
    has, lacks = (tuple(compress(words, which.tolist())) for which in (known, ~known))
    return Vectors(has, values[known] / counts[known, None], missing=lacks)


def vectors_of(sums: Sums) -> Vectors:
    """The mean vector of each word over its contexts."""
    vectors = word_vectors(sums.words, sums.values.sum(axis=1), sums.counts.sum(axis=1))
    return replace(vectors, array=vectors.array.astype(np.float32))


def reduced_biases(
    vectors: Vectors, sums: Sums, groups: Groups, policies: Policies, *, confidence: float
) -> list[Bias]:
    """The results of all targets, with intervals over documents.

    Args:
        vectors: from ``vectors_of``.
        sums: of all contexts.
        groups: targets and groups.
        policies: how strengths become a distribution.
        confidence: of the intervals of L1, and of those of p − p0 together.

    Returns:
        One result per target. ``n`` is the number of the target's contexts, and ``units`` the
        effective number of documents, or of blocks if there are more than ``BLOCKS`` documents.
    """
    own = _contexts(sums, groups)
    how: dict[str, Any] = {"n": own.sum(axis=1).tolist(), "units": [*map(effective_number, own)]}
    ends = intervals(sums, groups, policies, confidence=confidence)
    return vector_biases(vectors, groups, policies, ends=ends, **how)


def intervals(sums: Sums, groups: Groups, policies: Policies, *, confidence: float) -> Floats:
    """Intervals of p − p0 over documents.

    Each block of documents is left out once (jackknife). The quantiles are those of Student's t;
    the degrees of freedom are the number of blocks that mention the target, minus 1. With more than
    two groups, the intervals of a target hold at the same time.

    Args:
        sums: of all contexts.
        groups: targets and groups.
        policies: how strengths become a distribution.
        confidence: of the intervals of a target.

    Returns:
        Shape (targets, groups, 2); NaN for a target that only one block mentions, or whose result
        is undefined without one of the blocks.
    """
    values, counts = sums.values.sum(axis=1), sums.counts.sum(axis=1)
    blocks = sums.counts.shape[1]

    def shares(own_values: Floats, own_counts: Ints) -> Floats:
        """The p of all targets, shape (targets, groups)."""
        vectors = word_vectors(sums.words, own_values, own_counts)
        targets, means = (mean_vectors(vectors, own) for own in (groups.targets, groups.words))
        return framework.distributions(soa(targets, means), policies)

    whole = shares(values, counts)
    left = np.stack(
        [shares(values - sums.values[:, n], counts - sums.counts[:, n]) for n in range(blocks)]
    )
    error = np.sqrt((blocks - 1) / blocks * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    level = framework.simultaneous(confidence, len(groups.words))
    mentioned = (_contexts(sums, groups) > 0).sum(axis=1).tolist()
    quantiles = [t_quantile(level, units - 1) if units > 1 else np.nan for units in mentioned]
    return framework.around(whole, error * np.reshape(quantiles, (-1, 1)), groups, policies)


def _contexts(sums: Sums, groups: Groups) -> Ints:
    """The number of contexts of each target in each block, shape (targets, blocks)."""
    place = {word: number for number, word in enumerate(sums.words)}
    rows = ([place[word] for word in own if word in place] for own in groups.targets.values())
    return np.array([sums.counts[of].sum(axis=0) for of in rows])


# --- the probe ------------------------------------------------------------------------------------

PENALTY = 1.0
"""The L2 penalty: half of it times the squared weights is added to the summed cross-entropy."""
FOLDS = 5
"""Folds of the cross-validation, over documents."""
RETRAINED = 10
"""Blocks of training documents; the probe is trained again without each of them."""


class Examples(NamedTuple):
    """Passages and the states of their targets.

    Attributes:
        states: shape (states, width); a passage has one or more.
        of: the passage of each state, shape (states,).
        targets: the number of each passage's target, shape (passages,).
        labels: the number of its group; the number of groups for none. Further passages have −1.
        documents: the document of each passage.
    """

    states: Floats
    of: Ints
    targets: Ints
    labels: Ints
    documents: NDArray[np.object_]

    def where(self, chosen: NDArray[np.bool_]) -> "Examples":
        """Some of the passages."""
        own, number = chosen[self.of], np.cumsum(chosen) - 1
        of_passages = (self.targets[chosen], self.labels[chosen], self.documents[chosen])
        return Examples(self.states[own], number[self.of[own]], *of_passages)

    def parts(self, most: int, seed: int, kind: str) -> Ints:
        """The part of each passage, if documents are cut into ``most`` random parts or fewer."""
        names = self.documents.tolist()
        part = blocks_of(names, min(most, len(set(names))), seed, kind)
        return np.array([part[name] for name in names], np.int64)


class Classifier(NamedTuple):
    """A trained softmax regression.

    Attributes:
        weights: shape (width + 1, classes); the last row is the intercept.
        center: the mean of each feature in training.
        scale: its standard deviation; 1 if it does not vary.
    """

    weights: Floats
    center: Floats
    scale: Floats

    def predict(self, examples: Examples) -> Ints:
        """The likeliest class of each passage; of equal ones, the first."""
        features = (examples.states - self.center) / self.scale
        scores = np.zeros((len(examples.targets), self.weights.shape[1]))
        np.add.at(scores, examples.of, features @ self.weights[:-1] + self.weights[-1])
        return np.asarray(scores.argmax(axis=1), dtype=np.int64)


class Probed(NamedTuple):
    """What a probe found.

    Attributes:
        groups: the targets and groups.
        biases: the results, one per target.
        counts: further passages by target and predicted group, the last for none.
        about: accuracies and numbers of passages, for ``run.json``.
    """

    groups: Groups
    biases: list[Bias]
    counts: Ints
    about: dict[str, Any]

    def again(self, groups: Groups, policies: Policies) -> list[Bias]:
        """The measure with groups in another order, or other policies, without intervals.

        Word lists play no part in a trained probe (Table 8), so other lists are not possible
        (``labelled_order``).
        """
        rows = list(self.groups.targets)
        own = self.counts[[rows.index(target) for target in groups.targets]]
        soa = own[:, labelled_order(groups, self.groups)].astype(float)
        return count_biases(groups, soa, policies, n=own.sum(axis=1).tolist())


def fit(training: Examples, *, classes: int, start: Floats | None = None) -> Classifier:
    """Train a softmax regression by L-BFGS; nothing is random.

    Args:
        training: labelled passages.
        classes: the number of classes; one that no label has is never predicted.
        start: weights to begin with, for a quicker end.
    """
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    states, labels = training.states, training.labels[training.of]
    center, scale = states.mean(axis=0), states.std(axis=0)
    scale[scale < 1e-12] = 1.0
    features = np.column_stack([(states - center) / scale, np.ones(len(states))])
    present = np.unique(labels)
    one = (labels[:, None] == present).astype(float)
    shape = features.shape[1], len(present)

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(shape)
        logs = log_softmax(features @ weights, axis=1)
        free = weights.copy()
        free[-1] = 0  # the intercept is not penalised
        value = PENALTY / 2 * float((free**2).sum()) - float((logs * one).sum())
        slope = features.T @ (np.exp(logs) - one) + PENALTY * free
        return value / len(one), slope.ravel() / len(one)

    first = np.zeros(shape) if start is None else start[:, present]
    found = minimize(
        loss, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 2000, "gtol": 1e-6}
    )
    weights = np.zeros((shape[0], classes))
    weights[-1] = -np.inf
    weights[:, present] = found.x.reshape(shape)
    return Classifier(weights, center, scale)


def accuracies(training: Examples, *, classes: int, seed: int) -> dict[str, float | int | None]:
    """The probe's accuracy by cross-validation over documents, and what to compare it with.

    Returns:
        ``accuracy``; ``majority``, that of the commonest label of the other folds; ``control``,
        that of a probe of shuffled labels (Hewitt & Liang 2019); ``selectivity``, accuracy −
        control; ``folds``. The values are None with fewer than two documents.
    """
    fold = training.parts(FOLDS, seed, "fold")
    folds = len(set(fold.tolist()))
    names = ("accuracy", "majority", "control", "selectivity")
    if folds < 2:
        return {**dict.fromkeys(names), "folds": 0}
    shuffled = np.random.default_rng(seed).permutation(training.labels)
    hits = np.zeros(3)
    for number in range(folds):
        inside, outside = fold != number, fold == number
        for at, every in ((0, training), (2, training._replace(labels=shuffled))):
            model, rest = fit(every.where(inside), classes=classes), every.where(outside)
            hits[at] += (model.predict(rest) == rest.labels).sum()
        commonest = np.bincount(training.labels[inside], minlength=classes).argmax()
        hits[1] += (training.labels[outside] == commonest).sum()
    shares = (hits / len(training.labels)).tolist()
    return {**dict(zip(names, (*shares, shares[0] - shares[2]), strict=True)), "folds": folds}


def probe(
    training: Examples,
    further: Examples,
    groups: Groups,
    policies: Policies,
    *,
    per_target: bool = False,
    confidence: float = 0.95,
    seed: int = 0,
) -> Probed:
    """Train on labelled passages, and count the predictions for further ones.

    The intervals have two parts: how the further documents differ, and how the predictions change
    if a block of training documents is left out. They do not have the error of the labels.

    Args:
        training: labelled passages.
        further: passages of other texts, without labels.
        groups: targets and groups.
        policies: how counts become a distribution.
        per_target: train a probe for each target on its own passages only.
        confidence: of the intervals of L1, and of those of p − p0 together.
        seed: of folds, blocks and shuffled labels.

    Raises:
        CurationError: there is no training passage, or all have the same label.
    """
    classes = len(groups.words) + 1
    every = range(len(groups.targets))
    probes = {name: [n] for n, name in enumerate(groups.targets)} if per_target else {"all": every}
    undefined: dict[str, str] = {}
    predicted = np.full(len(further.targets), -1)
    replicates = np.full((RETRAINED, len(further.targets)), -1)
    scores: dict[str, Any] = {}
    for name, numbers in probes.items():
        own = training.where(np.isin(training.targets, numbers))
        read = np.isin(further.targets, numbers)
        labels = [(*groups.names, None)[label] for label in own.labels]
        if problem := untrainable(labels, groups):
            if not per_target:
                raise problem[1]
            undefined[name] = problem[0]
            continue
        rest, model = further.where(read), fit(own, classes=classes)
        predicted[read] = model.predict(rest)
        start = np.where(np.isfinite(model.weights), model.weights, 0.0)
        blocks = own.parts(RETRAINED, seed, "block")
        for block in range(blocks.max() + 1 if blocks.any() else 0):  # none of one document only
            part = own.where(blocks != block)
            replicates[block, read] = fit(part, classes=classes, start=start).predict(rest)
        scores[name] = accuracies(own, classes=classes, seed=seed)
    counts = np.zeros((len(every), classes), np.int64)
    known = predicted >= 0
    np.add.at(counts, (further.targets[known], predicted[known]), 1)
    units, extra = {}, {}
    for number, target in enumerate(groups.targets):
        of = further.targets == number
        spread = _spread([row for row in replicates[:, of] if (row >= 0).all()], classes)
        if spread is not None:
            names, document = np.unique(further.documents[of], return_inverse=True)
            won = np.zeros((len(names), classes))
            np.add.at(won, (document, predicted[of]), 1)
            units[target], extra[target] = won[:, :-1], spread
    biases = count_biases(
        groups,
        counts[:, :-1].astype(float),
        policies,
        n=np.bincount(further.targets, minlength=len(every)).tolist(),
        units=units,
        extra=extra,
        confidence=confidence,
        undefined=undefined,
    )
    given = np.bincount(training.labels, minlength=classes).tolist()
    about = {
        "training_passages": len(training.labels),
        "training_labels": dict(zip((*groups.names, "none"), given, strict=True)),
        "further_passages": len(further.targets),
        "predicted": {
            target: dict(zip((*groups.names, "none"), row, strict=True))
            for target, row in zip(groups.targets, counts.tolist(), strict=True)
        },
        "probes": scores,
    }
    return Probed(groups, biases, counts, about)


def untrainable(labels: Sequence[str | None], groups: Groups) -> tuple[str, CurationError] | None:
    """Why passages with these labels cannot train a probe; None if they can.

    Returns:
        A reason code and an error.
    """
    if len(set(labels)) > 1:
        return None
    if not labels:
        return "no_training", CurationError(
            f"[groups.{groups.name}]: there are no labelled passages to train the probe on",
            "label passages of these targets, or use more text",
        )
    return "one_class", CurationError(
        f"[groups.{groups.name}]: the only label of the training passages ({len(labels)}) is "
        f"«{labels[0] or 'none'}», so there is nothing to learn",
        "label more passages, or use more text",
    )


def _spread(replicates: Sequence[Ints], classes: int) -> Floats | None:
    """The variance of the shares by the jackknife; None if a share is undefined."""
    counts = np.array([np.bincount(row, minlength=classes)[:-1] for row in replicates], float)
    if (n := len(counts)) < 2 or not counts.any(axis=1).all():
        return None
    shares = counts / counts.sum(axis=1, keepdims=True)
    return np.asarray(((shares - shares.mean(axis=0)) ** 2).sum(axis=0) * (n - 1) / n)
