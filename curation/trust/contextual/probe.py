"""Probe: a linear classifier that reads the associated group from a target's state (section 4.3).

The probe is a softmax regression with a class for each group and one for none. It is trained on
states of labelled passages. Strength of association is the number of further passages for which it
predicts the group; a passage of the training set is never counted. A passage has one state, or one
of each mention of its target. Then each state is an example with the label of the passage, and a
passage counts for the class with the highest sum of its states' scores (unnormalised log chances).
Features are standardised. The penalty on the weights is fixed, because the data are usually
separable; without one there would be no best weights.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.files import CurationError
from curation.records import Bias
from curation.trust.contextual.contexts import blocks_of
from curation.trust.framework import Policies
from curation.trust.groups import Groups
from curation.trust.protocol.again import labelled_order
from curation.trust.text.automated import count_biases

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PENALTY = 1.0
"""The L2 penalty: half of it times the squared weights is added to the summed cross-entropy."""
FOLDS = 5
"""Folds of the cross-validation, over documents."""
BLOCKS = 10
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
    # Here, so that commands without statistics start fast.
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
    replicates = np.full((BLOCKS, len(further.targets)), -1)
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
        blocks = own.parts(BLOCKS, seed, "block")
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
