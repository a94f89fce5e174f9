"""Probe: a linear classifier that reads the associated group from a target's state (section 4.3).

The probe is a softmax regression with a class for each group and one for none. It is trained on
states of labelled passages. Strength of association is the number of further passages for which it
predicts the group; a passage of the training set is never counted. Features are standardised. The
penalty on the weights is fixed, because the data are usually separable; without one there would be
no best weights.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.bias import Bias, Pair
from curation.files import CurationError
from curation.stats.intervals import share_interval
from curation.trust import framework
from curation.trust.contextual.sampling import draw
from curation.trust.framework import Policies
from curation.trust.groups import Groups
from curation.trust.protocol.again import labelled_order

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
        states: shape (passages, width).
        targets: the number of each passage's target, shape (passages,).
        labels: the number of its group; the number of groups for none. Further passages have −1.
        documents: the document of each passage.
    """

    states: Floats
    targets: Ints
    labels: Ints
    documents: tuple[str, ...]

    def where(self, chosen: NDArray[np.bool_]) -> "Examples":
        """Some of the passages."""
        documents = tuple(
            name for name, own in zip(self.documents, chosen.tolist(), strict=True) if own
        )
        return Examples(self.states[chosen], self.targets[chosen], self.labels[chosen], documents)


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

    def predict(self, states: Floats) -> Ints:
        """The likeliest class of each state; of equal ones, the first."""
        features = (states - self.center) / self.scale
        scores = features @ self.weights[:-1] + self.weights[-1]
        return np.asarray(scores.argmax(axis=1), dtype=np.int64)


class Probed(NamedTuple):
    """What a probe found.

    Attributes:
        biases: the results, one per target.
        counts: further passages by target and predicted group, the last for none.
        about: accuracies and numbers of passages, for ``run.json``.
    """

    biases: list[Bias]
    counts: Ints
    about: dict[str, Any]


def fit(states: Floats, labels: Ints, *, classes: int, start: Floats | None = None) -> Classifier:
    """Train a softmax regression by L-BFGS; nothing is random.

    Args:
        states: shape (n, width).
        labels: shape (n,).
        classes: the number of classes; one that no label has is never predicted.
        start: weights to begin with, for a quicker end.
    """
    from scipy.optimize import minimize  # here, so that commands without statistics start fast

    center, scale = states.mean(axis=0), states.std(axis=0)
    scale[scale < 1e-12] = 1.0
    features = np.column_stack([(states - center) / scale, np.ones(len(states))])
    present = np.unique(labels)
    one = (labels[:, None] == present).astype(float)
    shape = features.shape[1], len(present)

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(shape)
        scores = features @ weights
        scores -= scores.max(axis=1, keepdims=True)
        norms = np.log(np.exp(scores).sum(axis=1, keepdims=True))
        free = weights.copy()
        free[-1] = 0  # the intercept is not penalised
        value = float((norms[:, 0] - (scores * one).sum(axis=1)).sum())
        slope = features.T @ (np.exp(scores - norms) - one) + PENALTY * free
        return (value + PENALTY / 2 * float((free**2).sum())) / len(one), slope.ravel() / len(one)

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
    names = np.array(training.documents, dtype=object)
    documents = sorted(set(training.documents), key=lambda name: (draw(seed, "fold", name), name))
    folds = min(FOLDS, len(documents))
    if folds < 2:
        return dict.fromkeys(("accuracy", "majority", "control", "selectivity"), None) | {
            "folds": 0
        }
    fold_of = {name: number % folds for number, name in enumerate(documents)}
    fold = np.array([fold_of[name] for name in names])
    shuffled = np.random.default_rng(seed).permutation(training.labels)
    right, majority, control = 0, 0, 0
    for number in range(folds):
        inside, outside = fold != number, fold == number
        for labels, is_control in ((training.labels, False), (shuffled, True)):
            model = fit(training.states[inside], labels[inside], classes=classes)
            hits = int((model.predict(training.states[outside]) == labels[outside]).sum())
            right, control = (right, control + hits) if is_control else (right + hits, control)
        commonest = np.bincount(training.labels[inside], minlength=classes).argmax()
        majority += int((training.labels[outside] == commonest).sum())
    total = len(training.labels)
    shares = [hits / total for hits in (right, majority, control)]
    return {
        **dict(zip(("accuracy", "majority", "control"), shares, strict=True)),
        "selectivity": shares[0] - shares[2],
        "folds": folds,
    }


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
    policies = framework.of_counts(policies)
    numbers = range(len(groups.targets)) if per_target else (None,)
    undefined: dict[int, str] = {}
    predicted = np.full(len(further.targets), -1)
    replicates = np.full((BLOCKS, len(further.targets)), -1)
    scores: dict[str, Any] = {}
    for number, name in zip(numbers, groups.targets if per_target else ("all",), strict=True):
        own, read = training, np.ones(len(further.targets), dtype=bool)
        if number is not None:
            own, read = training.where(training.targets == number), further.targets == number
        problem = untrainable(_names(own, groups), groups)
        if problem and number is None:
            raise problem[1]
        if problem:
            undefined[int(number or 0)] = problem[0]
            continue
        model = fit(own.states, own.labels, classes=classes)
        predicted[read] = model.predict(further.states[read])
        blocks = list(_without_blocks(own, seed))
        for block, rest in enumerate(blocks):
            again = fit(rest.states, rest.labels, classes=classes, start=_finite(model.weights))
            replicates[block, read] = again.predict(further.states[read])
        if len(blocks) < BLOCKS:  # fewer documents than blocks
            replicates[len(blocks) :, read] = -2
        scores[name] = accuracies(own, classes=classes, seed=seed)
    counts = _counts(predicted, further.targets, len(groups.targets), classes)
    biases = []
    for number, target in enumerate(groups.targets):
        chosen = further.targets == number
        soa = counts[number, :-1].astype(float)
        reference = groups.reference(target)
        ci = None
        if reference is not None and number not in undefined and soa.sum():
            ci = _intervals(
                predicted[chosen],
                replicates[:, chosen],
                [name for name, own in zip(further.documents, chosen, strict=True) if own],
                reference=reference,
                policies=policies,
                confidence=framework.simultaneous(confidence, len(groups.words)),
            )
        code = undefined.get(number, "") if chosen.any() else "missing_target"
        biases.append(
            framework.bias(
                target,
                soa.tolist(),
                groups=groups.names,
                reference=reference,
                policies=policies,
                n=int(chosen.sum()),
                ci=ci,
                undefined=code,
            )
        )
    labels = np.bincount(training.labels, minlength=classes).tolist()
    about = {
        "training_passages": len(training.labels),
        "training_labels": dict(zip((*groups.names, "none"), labels, strict=True)),
        "further_passages": len(further.targets),
        "predicted": {
            target: dict(zip((*groups.names, "none"), row, strict=True))
            for target, row in zip(groups.targets, counts.tolist(), strict=True)
        },
        "probes": scores,
    }
    return Probed(biases, counts, about)


def again(counts: Ints, base: Groups) -> Callable[[Groups, Policies], list[Bias]]:
    """The measure with groups in another order, or other policies, without intervals.

    Word lists play no part in a trained probe (Table 8), so other lists are not possible
    (``labelled_order``).

    Args:
        counts: from ``probe``.
        base: the groups that were measured.
    """
    rows = {target: number for number, target in enumerate(base.targets)}

    def compute(groups: Groups, policies: Policies) -> list[Bias]:
        order = labelled_order(groups, base)
        found = []
        for target in groups.targets:
            own = counts[rows[target]]
            found.append(
                framework.bias(
                    target,
                    own[order].astype(float).tolist(),
                    groups=groups.names,
                    reference=groups.reference(target),
                    policies=framework.of_counts(policies),
                    n=int(own.sum()),
                    undefined="" if own.sum() else "missing_target",
                )
            )
        return found

    return compute


def _names(training: Examples, groups: Groups) -> list[str | None]:
    """The label of each passage; None for no group."""
    names = (*groups.names, None)
    return [names[label] for label in training.labels]


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


def _without_blocks(training: Examples, seed: int) -> Iterator[Examples]:
    """The passages without each block of documents; nothing if there is one document."""
    documents = sorted(set(training.documents), key=lambda name: (draw(seed, "block", name), name))
    blocks = min(BLOCKS, len(documents))
    of = {name: number % blocks for number, name in enumerate(documents)}
    block = np.array([of[name] for name in training.documents])
    for number in range(blocks if blocks > 1 else 0):
        yield training.where(block != number)


def _finite(weights: Floats) -> Floats:
    return np.where(np.isfinite(weights), weights, 0.0)


def _counts(predicted: Ints, targets: Ints, rows: int, classes: int) -> Ints:
    counts = np.zeros((rows, classes), dtype=np.int64)
    known = predicted >= 0
    np.add.at(counts, (targets[known], predicted[known]), 1)
    return counts


def _intervals(
    predicted: Ints,
    replicates: Ints,
    documents: Sequence[str],
    *,
    reference: Sequence[float],
    policies: Policies,
    confidence: float,
) -> list[Pair] | None:
    """An interval for each entry of p − p0; None if p is not a share of the counts (softmax)."""
    if policies.normalise != "sum":
        return None
    names, of = np.unique(np.array(documents, dtype=object), return_inverse=True)
    blocks = [row for row in replicates if not (row == -2).any()]
    classes = len(reference)
    by_document = np.zeros((len(names), classes))
    counted = predicted < classes
    np.add.at(by_document, (of[counted], predicted[counted]), 1)
    shares = np.array([_shares(row, classes) for row in blocks]).reshape(len(blocks), classes)
    if len(blocks) < 2 or np.isnan(shares).any():
        return None
    spread = ((shares - shares.mean(axis=0)) ** 2).sum(axis=0) * (len(blocks) - 1) / len(blocks)
    total = by_document.sum(axis=1)
    has = total > 0
    found = []
    for number, p0 in enumerate(reference):
        ends = share_interval(
            by_document[has, number],
            total[has],
            observations=int(has.sum()),  # documents: the passages of one are alike
            confidence=confidence,
            extra=float(spread[number]),
        )
        if ends is None:
            return None
        found.append((ends[0] - p0, ends[1] - p0))
    return found


def _shares(predicted: Ints, classes: int) -> Floats:
    counts = np.bincount(predicted[predicted < classes], minlength=classes).astype(float)
    return counts / counts.sum() if counts.sum() else np.full(classes, np.nan)
