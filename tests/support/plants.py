"""Plants: measures, datasets and models that are right, or have a known fault, drawn from a seed.

Nothing here knows the trust report: everything is plain numpy. ``support.verdicts`` shows the
plants to the report and says which of them each check must refuse.

The faults of a measure (for models and datasets, see ``Scores`` and ``Labels``):

- random: its values have nothing to do with the targets
- constant: all targets have the same value
- reversed: the directions are exchanged
- group size: it follows how large the groups are, and not what is said about the targets
- contexts: it is unbiased, and the targets whose shares in the world are extreme have few contexts
- fitted: bias was reduced by the words that it is then measured with
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Random = np.random.Generator

FAULTS = ("random", "constant", "reversed", "group size", "contexts", "fitted")
IDEAL = "ideal"
REFERENCES = ("equal shares", "a file", "run:…")
"""What is called unbiased: a measure's p is compared with equal shares, with shares in the world,
which differ between targets, or with p of another run, which has few contexts."""
LEAN = np.array([-0.45, 0.17, -0.11, 0.37, -0.40, -0.45, -0.30, 0.45])
"""How far the eight targets lean to the first group: about the first column of Table 3."""
EIGHT = len(LEAN)
SIGNS = np.array([-1, 1, 1, 1, -1, -1, -1, 1])
"""The known directions of the eight; the third, librarians, is an exception in the paper's texts"""
PROFESSIONS = 100  # Table 5 has 104, of which word vectors know 100
WORDS = 20  # of a list (A.1)


def references(kind: str, world: Floats, rng: Random) -> Floats | None:
    """The reference of each target, shape (targets, groups); None for equal shares.

    Args:
        kind: one of ``REFERENCES``.
        world: the shares in the world, which a file has; another run finds them in 60 contexts.
        rng: of the contexts.
    """
    if kind == "equal shares":
        return None
    return world if kind == "a file" else rng.multinomial(60, world) / 60


def both_shares(first: Floats) -> Floats:
    """The shares of two groups, shape (targets, 2), from that of the first."""
    return np.column_stack([first, 1 - first])


# --- measures that count contexts ---------------------------------------------------------------


def true_shares(plant: str, lean: Floats, rng: Random, *, unbiased: Floats | float = 0.5) -> Floats:
    """The share of the first group that a measure would find in endless contexts.

    ``unbiased`` is the share without bias; what does not know the targets does not know it either.
    """
    count = len(lean)
    return {
        "random": lambda: rng.uniform(0.1, 0.9, count),
        "constant": lambda: np.full(count, 0.6),
        "reversed": lambda: unbiased - lean,
        "group size": lambda: np.clip(0.75 + 0.05 * rng.standard_normal(count), 0.05, 0.95),
        "contexts": lambda: np.full(count, unbiased),
    }.get(plant, lambda: unbiased + lean)()


def contexts(plant: str, lean: Floats, rng: Random, *, usual: float) -> Ints:
    """How many contexts each target has; if that is the fault, few where the world is extreme."""
    if plant == "constant":
        return np.full(len(lean), int(usual))
    spread = usual * np.exp(0.3 * rng.standard_normal(len(lean)))
    fewer = (1 - 1.8 * np.abs(lean)) ** 2 if plant == "contexts" else 1.0
    return np.maximum(4, np.round(spread * fewer)).astype(np.int64)


def count(plant: str, shares: Floats, n: Ints, rng: Random) -> Floats:
    """The contexts of each target with each of two groups, shape (targets, 2)."""
    first = np.round(n * shares) if plant == "constant" else rng.binomial(n, shares)
    return np.column_stack([first, n - first]).astype(float)


def anchors(plant: str, rng: Random) -> Floats:
    """Counts of the eight targets, of which the ideal measure finds seven signs right."""
    lean = 0.25 * SIGNS * np.where(np.arange(EIGHT) == 2, -1, 1)
    n = np.full(EIGHT, 5) if plant == "contexts" else contexts(plant, lean, rng, usual=40)
    return count(plant, true_shares(plant, lean, rng), n, rng)


def many_signs(rng: Random, *, right: float) -> tuple[Floats, Ints]:
    """Counts of 100 targets, of which this share has the right sign; and the signs."""
    signs = np.where(np.arange(100) % 2 == 0, 1, -1)
    found = np.where(rng.permutation(100) < round(100 * right), signs, -signs)
    return np.where(found[:, None] > 0, [30.0, 10.0], [10.0, 30.0]), signs


def people_and_counts(plant: str, rng: Random) -> tuple[Floats, Floats]:
    """People's answers and automated counts of the same texts; the fault is in the counts.

    People read 40 contexts of each target. Counts find 100 and take one of five for the other
    group, so that their shares are nearer to one half.
    """
    people = count(IDEAL, 0.5 + LEAN, np.full(EIGHT, 40), rng)
    shares = true_shares(plant, 0.6 * LEAN, rng)
    return people, count(plant, shares, contexts(plant, LEAN, rng, usual=100), rng)


class Predicted(NamedTuple):
    """Strengths of association and shares in the world, both of shape (targets, groups).

    ``documents``: how many documents the contexts of each target are in; None for one in each.
    """

    strengths: Floats
    world: Floats
    documents: Ints | None = None


def professions(plant: str, rng: Random) -> Predicted:
    """Counts for 100 professions, and the shares of two groups in them.

    The fault «documents»: there is no bias; all contexts of a document are of one group, and the
    targets whose shares in the world are extreme have as many contexts as others in few documents.
    """
    first = rng.uniform(0.02, 0.98, PROFESSIONS)
    lean = first - 0.5
    if plant == "documents":
        documents = np.maximum(3, np.round(50 * (1 - 1.9 * np.abs(lean)) ** 2)).astype(np.int64)
        found = both_shares(rng.binomial(documents, 0.5) / documents)
        n = contexts(IDEAL, lean, rng, usual=100)
        return Predicted(np.round(n[:, None] * found), both_shares(first), documents)
    shares = true_shares(plant, 0.6 * lean, rng)
    if plant == IDEAL:
        shares = np.clip(shares + 0.1 * rng.standard_normal(PROFESSIONS), 0.02, 0.98)
    n = contexts(plant, lean, rng, usual=100)
    return Predicted(count(plant, shares, n, rng), both_shares(first))


def correlated_professions(rho: float, groups: int, rng: Random) -> Predicted:
    """A measure whose directions have this rank correlation with the shares in the world.

    Both are normal, and then Pearson's correlation is 2 sin(π rho / 6). With two groups, the second
    share is the rest; with more, each share has the correlation.
    """
    r = 2 * np.sin(np.pi * rho / 6)
    x = rng.standard_normal((PROFESSIONS, groups))
    y = r * x + np.sqrt(1 - r * r) * rng.standard_normal((PROFESSIONS, groups))
    if groups == 2:
        x[:, 1], y[:, 1] = -x[:, 0], -y[:, 0]
    x, y = (values - values.mean(axis=1, keepdims=True) for values in (x, y))
    return Predicted(1 / groups + 0.02 * x, 1 / groups + 0.05 * y)


# --- ten decades --------------------------------------------------------------------------------


class Decades(NamedTuple):
    """p of the first group, its share in the world, and frequencies: shape (10, targets)."""

    years: tuple[int, ...]
    p: Floats
    world: Floats
    frequencies: Floats


def decades(plant: str, rng: Random) -> Decades:
    """A measure of word vectors of ten decades, in which the first group's share mostly grows.

    Its changes differ from decade to decade: with equal changes, nothing could tell a measure that
    follows the world from one that happens to grow.

    The fault «contexts»: texts of early decades are few, so that values vary more when the shares
    in the world were most unequal. The fault «walk» has no part in the world, but each decade's
    value is near that of the decade before.
    """
    number, size = 10, PROFESSIONS
    steps = rng.permutation(np.linspace(-0.06, 0.12, number - 1))
    mean = np.cumsum([0.12, *steps])[:, None]
    world = np.clip(mean + 0.08 * rng.standard_normal((number, size)), 0.01, 0.49)
    logs = 7 + rng.standard_normal((1, size)) + 0.3 * rng.standard_normal((number, 1))
    noise = rng.standard_normal((number, size))
    by_decade = rng.standard_normal((number, 1))
    p = 0.5 + 0.2 * (world - 0.5) + 0.02 * noise + 0.002 * by_decade
    if plant == "random":
        p = 0.5 + 0.02 * noise * np.exp(0.3 * by_decade)
    elif plant == "constant":
        p = np.tile(0.45 + 0.02 * noise[:1], (number, 1))
    elif plant == "reversed":
        p = 1 - p
    elif plant == "group size":
        p = 0.4 + 0.03 * by_decade + 0.02 * noise
    elif plant == "walk":
        p = 0.4 + 0.01 * np.cumsum(by_decade, axis=0) + 0.01 * noise
    elif plant == "contexts":
        logs = logs + np.linspace(-2, 2, number)[:, None]
        p = 0.5 + noise / np.sqrt(np.exp(logs))
    years = tuple(range(1910, 2010, 10))
    return Decades(years, np.clip(p, 0.01, 0.99), world, np.exp(logs))


# --- two runs of a measure ----------------------------------------------------------------------


class Change(NamedTuple):
    """Counts before and after a process, shape (8, 2), and the half-widths of their intervals."""

    before: Floats
    after: Floats

    @staticmethod
    def half_widths(counts: Floats) -> Floats:
        """1.96 standard errors of the first share, by (k + 1) / (n + 2)."""
        n = counts.sum(axis=1)
        p = (counts[:, 0] + 1) / (n + 2)
        return np.asarray(1.96 * np.sqrt(p * (1 - p) / n))


def process(plant: str, rng: Random, *, unbiased: Floats | float = 0.5) -> Change:
    """What a process does to a measure. «moved» adds to the first group, «grown» doubles a bias.

    With a fault, the process changes nothing: the measure's fault is the same in both runs. If it
    has few contexts, there are 10 of each target after the process, and 400 before.

    Args:
        plant: what is made.
        rng: of all draws.
        unbiased: the share of the first group that is no bias.
    """
    lean = 0.4 * LEAN
    n = np.full(EIGHT, 400)
    fixed = 0.75 + 0.05 * rng.standard_normal(EIGHT)
    before = fixed
    if plant != "group size":
        before = true_shares(plant, lean, rng, unbiased=unbiased)
    after = {
        "moved": lambda: before + 0.12 + 0.05 * rng.standard_normal(EIGHT),
        "grown": lambda: unbiased + lean * (2 + 0.3 * rng.standard_normal(EIGHT)),
        "random": lambda: true_shares(plant, lean, rng),
        "reversed": lambda: unbiased - 2 * lean,
    }.get(plant, lambda: before)()
    few = np.full(EIGHT, 10) if plant in ("contexts", "fewer contexts") else n
    shares = [np.clip(each, 0.02, 0.98) for each in (before, after)]
    return Change(count(plant, shares[0], n, rng), count(plant, shares[1], few, rng))


class Debiased(NamedTuple):
    """Word vectors before and after bias was reduced, and what was measured.

    Attributes:
        ours: cosines of the targets with the means of the two lists, before and after.
        optimised: the metric that the method optimises, before and after: shape (8,).
        words: the words that ours was measured with.
        fitted: the words that the method was fitted on.
    """

    ours: tuple[Floats, Floats]
    optimised: tuple[Floats, Floats]
    words: frozenset[str]
    fitted: frozenset[str]


def debiased(plant: str, rng: Random, *, unbiased: Floats | float = 0.5) -> Debiased:
    """A method that takes a direction out of all targets, and trains the vectors a little again.

    What the vectors show is added to ``unbiased``, the share of the first group that is no bias.

    The words of each list differ along one direction that all have, or, for the faults «fitted» and
    «held out», along another one in each half of the lists. The method takes out the direction of
    the first half and makes the words of this half equal. The ideal method takes out all
    directions. Ours is measured with the first half («fitted»: the same words), else with the
    second half, on which bias remains if the directions differ.
    """
    half, width = WORDS // 2, 40
    common, first, second = np.eye(width)[:3]
    two = plant in ("fitted", "held out")
    lean = LEAN[:, None]
    targets = common + 0.5 * lean * first + 0.5 * lean * (second if two else 0)
    targets = targets + 0.08 * rng.standard_normal((EIGHT, width))
    lists = []
    for sign in (1, -1):
        ways = np.repeat([first, second if two else first], half, axis=0)
        lists.append(common + 0.6 * sign * ways + 0.05 * rng.standard_normal((WORDS, width)))
    direction = (lists[0][:half] - lists[1][:half]).mean(axis=0)
    direction /= np.linalg.norm(direction)

    def without(vectors: Floats) -> Floats:
        return vectors - np.outer(vectors @ direction, direction)

    changed = without(targets) + 0.02 * rng.standard_normal((EIGHT, width))
    equal = [own.copy() for own in lists]
    middle = without((lists[0][:half] + lists[1][:half]) / 2)
    for own in equal:
        own[:half] = middle
    chosen = slice(0, half) if plant == "fitted" else slice(half, WORDS)
    pairs = [
        np.column_stack([cosines(vectors, own[chosen].mean(axis=0)) for own in words])
        for vectors, words in ((targets, lists), (changed, equal))
    ]
    ours = tuple(both_shares(own[:, 0] / own.sum(axis=1) - 0.5 + unbiased) for own in pairs)
    if plant in ("random", "constant", "group size"):  # ours does not depend on the vectors
        fixed = 0.75 + 0.05 * rng.standard_normal(EIGHT)
        if plant == "group size":
            shares = [fixed + 0.01 * rng.standard_normal(EIGHT) for _ in range(2)]
        else:
            shares = [true_shares(plant, LEAN, rng) for _ in range(2)]
        ours = tuple(map(both_shares, shares))
    elif plant == "reversed":
        ours = tuple(each[:, ::-1] for each in ours)
    optimised = (targets @ direction, changed @ direction)
    names = [f"{name}{place}" for place in range(WORDS) for name in "fm"]
    fitted, others = frozenset(names[:WORDS]), frozenset(names[WORDS:])  # of each half
    used = fitted if plant == "fitted" else others
    return Debiased((ours[0], ours[1]), optimised, used, fitted)


# --- lists of words -----------------------------------------------------------------------------


def cosines(vectors: Floats, other: Floats) -> Floats:
    """The cosine of each vector with another one."""
    norms = np.linalg.norm(vectors, axis=-1) * np.linalg.norm(other, axis=-1)
    return np.asarray((vectors * other).sum(axis=-1) / norms)


class Lists(NamedTuple):
    """Word vectors: of the targets, shape (8, w), and of the words of two groups.

    ``adds``: the measure adds the cosines with the words of a list, so that longer lists have more.
    """

    targets: Floats
    lists: tuple[Floats, Floats]
    adds: bool = False
    backwards: bool = False

    def strengths(self, *places: list[int]) -> Floats:
        """The measure with the words at these places of each list: shape (8, 2)."""
        columns = []
        for own, chosen in zip(self.lists, places, strict=True):
            words = own[chosen]
            if self.adds:
                columns.append(sum(cosines(self.targets, word) for word in words))
            else:
                columns.append(cosines(self.targets, words.mean(axis=0)))
        found = np.column_stack(columns)
        return found[:, ::-1] if self.backwards else found


def word_lists(plant: str, rng: Random) -> Lists:
    """Eight targets and two lists of 20 words, with a direction between the lists.

    The fault «random»: neither words nor targets lean to a group. «one word»: the same, and the
    first list has one word. «group size»: the second list has 12 words, cosines are added, and
    nothing leans to a group. «contexts»: the targets do not lean, and have noise; the words do.
    """
    width = 40
    common, way = np.eye(width)[:2]
    blind = plant in ("random", "group size", "one word")
    apart = 0.0 if blind else 0.6
    first = 1 if plant == "one word" else WORDS
    lists = [
        common + sign * apart * way + 0.12 * rng.standard_normal((count, width))
        for sign, count in ((1, first), (-1, 12 if plant == "group size" else WORDS))
    ]
    even = rng.permutation(np.linspace(-0.7, 0.7, EIGHT))[:, None]
    lean = 0.0 if blind or plant == "contexts" else even
    targets = common + lean * way + 0.08 * rng.standard_normal((EIGHT, width))
    if plant == "constant":
        targets = np.tile(targets[:1], (EIGHT, 1))
    return Lists(
        targets, (lists[0], lists[1]), adds=plant == "group size", backwards=plant == "reversed"
    )


def signed_cosines(plant: str, rng: Random) -> Predicted:
    """Cosines of 100 targets with three groups, of which few of the ideal measure are below 0.

    The fault «random»: cosines about 0, of which 28 in 100 targets have one below 0.
    """
    world = rng.dirichlet([3.0, 3.0, 3.0], PROFESSIONS)
    if plant == "random":  # 1 − .9¹ᐟ³ … Φ(1.255)³ = .72
        cosine = 0.1 + 0.1 / 1.255 * rng.standard_normal((PROFESSIONS, 3))
    elif plant == "constant":
        cosine = np.full((PROFESSIONS, 3), 0.2)
    elif plant == "group size":
        cosine = np.array([0.4, 0.2, 0.1]) + 0.02 * rng.standard_normal((PROFESSIONS, 3))
        cosine[:3, 2] = -0.01
    else:
        sign = -1 if plant == "reversed" else 1
        cosine = 0.3 + 0.3 * sign * (world - 1 / 3) + 0.03 * rng.standard_normal((PROFESSIONS, 3))
        cosine[:3, 2] = -0.01
    return Predicted(cosine, world)


# --- labels -------------------------------------------------------------------------------------

ANNOTATORS = 5
PASSAGES = 160
"""Twenty for each of the eight targets. With the 40 of the paper, an alpha of .78 has an interval
above .667 in 24 of 100 cases; with 104 in 86, with 160 in 98."""


def answers(
    plant: str,
    units: int,
    rng: Random,
    *,
    right: float = 0.89,
    labels: int = 3,
    targets: bool = False,
) -> Ints:
    """Five answers on each unit, shape (units, 5); the units are of the eight targets in turn.

    An annotator chooses the unit's label with the probability ``right`` and else at random, so that
    alpha is about right². The fault «group size»: four of five answers are the largest group's.
    «reversed»: all annotators exchange two labels. «targets»: all passages of a target have one
    label, which all annotators give.
    """
    true = rng.integers(labels, size=(units, 1))
    if targets:  # one in five passages has no group
        lean = LEAN[np.arange(units) % EIGHT][:, None]
        if plant == "targets":
            return np.repeat((lean > 0).astype(np.int64), ANNOTATORS, axis=1)
        true = np.where(rng.random((units, 1)) < 0.2, 2, rng.random((units, 1)) >= 0.5 + lean)
    given = np.where(
        rng.random((units, ANNOTATORS)) < right, true, rng.integers(labels, size=(units, 5))
    )
    if plant == "random":
        given = rng.integers(labels, size=given.shape)
    elif plant == "constant":
        given = np.zeros_like(given)
    elif plant == "group size":
        given = np.where(rng.random(given.shape) < 0.8, 0, rng.integers(labels, size=given.shape))
    elif plant == "reversed":
        given = np.array([1, 0, *range(2, labels)])[given]
    elif plant == "contexts":  # all agree, but for one answer
        given = np.repeat(true, ANNOTATORS, axis=1)
        given[0, 0] = (given[0, 0] + 1) % labels
    return given


def again(plant: str, first: Ints, rng: Random, *, right: float = 0.95, labels: int = 3) -> Ints:
    """The same annotators' second answers: the first one with the probability ``right``."""
    if plant == "targets":
        return first
    if plant in ("random", "constant", "group size"):
        return answers(plant, len(first), rng, labels=labels)
    if plant == "contexts":
        second = first.copy()
        second[1, 1] = (second[1, 1] + 1) % labels
        return second
    return np.where(rng.random(first.shape) < right, first, rng.integers(labels, size=first.shape))


# --- scores of models on CATs -------------------------------------------------------------------

TERMS, OF_KIND, DOMAINS = 79, 26, 4  # about StereoSet's development set
BEFORE, FALL = 62, 7  # ss of the models, and by how much a good method reduces it
PLACE = np.repeat(np.arange(TERMS), 2 * OF_KIND)
"""The term of each CAT; CATs of a term are in turn of each kind."""
FIRST_KIND = np.arange(len(PLACE)) % 2 == 0
ONE_OF_KIND = np.arange(len(PLACE)) % (2 * OF_KIND) < 2
"""The CATs that are left if contexts are few: one of each kind for a term."""


class Scores(NamedTuple):
    """Models' lms and ss of each CAT, by MODEL/RULE, and what is known about the terms.

    The model m differs from the ideal in its ss, n in its lms, k in the ss of one kind of CAT, and
    d in the ss of one domain. m+ is m after a process that adds to ss, m- after a method that
    brings ss nearer to 50.

    Faults, of the first set of rules: random (chance), constant (ties only), reversed, group size
    (it follows how frequent the terms' groups are), contexts (one CAT of each kind for a term, and
    differences that are 0, or as large as the margin), fitted (a method that brings ss nearer to 50
    and loses meaning), and «lms only» (a method that changes lms and not ss).
    """

    runs: dict[str, tuple[Floats, Floats]]
    share: Floats
    measure: Floats
    prefers: dict[int, str]


def scores(plant: str, rng: Random) -> Scores:
    """Models on 79 terms with 26 CATs of each kind, whose ss differ by 18 points (SD)."""
    lean = 18 * rng.standard_normal(TERMS)
    frequent = rng.standard_normal(TERMS)
    usual = own = np.clip(BEFORE + lean, 2, 98)
    meaning = np.full(TERMS, 90.0)
    other = usual
    few = plant == "contexts"
    lms_n = lms_other = meaning
    if plant == "random":
        own = other = lms_n = lms_other = meaning = np.full(TERMS, 50.0)
    elif plant == "reversed":
        own, lms_n = 100 - usual, 100 - meaning
    elif plant == "group size":
        own = BEFORE + 30 * np.sign(frequent)
        lms_n = 50 + 30 * np.sign(frequent)
    elif few:
        own = lms_n = np.full(TERMS, 50.0)
        other = lms_other = np.full(TERMS, 55.0)
    # Left out, one domain of four changes ss by a fourth of its distance: 5 points, or 10.
    far = {"contexts": 20, "group size": 40}.get(plant, 0) * (np.arange(TERMS) % DOMAINS == 0)
    by_domain = BEFORE + 0.6 * (own - BEFORE) + far

    def drawn(lms: Floats, ss: Floats) -> tuple[Floats, Floats]:
        if plant == "constant":
            return np.full(len(PLACE), 50.0), np.full(len(PLACE), 50.0)
        wins = rng.random((2, len(PLACE))) < lms[PLACE] / 100
        prefers = rng.random(len(PLACE)) < (ss[PLACE] if len(ss) == TERMS else ss) / 100
        values = 50.0 * wins.sum(axis=0), 100.0 * prefers
        if few:
            values[0][~ONE_OF_KIND] = values[1][~ONE_OF_KIND] = np.nan
        return values

    by_kind = np.where(FIRST_KIND, own[PLACE], other[PLACE] if plant != IDEAL else own[PLACE])
    more = np.clip(own + 10, 0, 100) if plant in (IDEAL, "reversed") else own
    nearer = {IDEAL: own - FALL, "fitted": own - FALL, "reversed": usual}.get(plant, own)
    nearer_lms = {"fitted": meaning - 12, "lms only": meaning + 8}.get(plant, meaning)
    return Scores(
        {
            "m/ll-acl": drawn(meaning, own),
            "m+/ll-acl": drawn(meaning, more),
            "m-/ll-acl": drawn(nearer_lms, nearer),
            "n/ll-acl": drawn(lms_n, usual),
            "k/ll-acl": drawn(meaning, by_kind),
            "d/ll-acl": drawn(meaning, by_domain),
            "m/ll-code": drawn(meaning, other),
            "n/ll-code": drawn(lms_other, usual),
            "m/pll": drawn(meaning, other),
            "m/ll-acl+lower": drawn(meaning, other),
        },
        share=np.clip(0.75 + 0.01 * lean + 0.05 * rng.standard_normal(TERMS), 0.5, 1.0),
        measure=lean + 8 * rng.standard_normal(TERMS),
        prefers={
            **dict.fromkeys(np.argsort(lean)[-EIGHT // 2 :].tolist(), "stereotype"),
            **dict.fromkeys(np.argsort(lean)[: EIGHT // 2].tolist(), "anti-stereotype"),
        },
    )


# --- a dataset ----------------------------------------------------------------------------------


class Surface(NamedTuple):
    """What a rule that reads the surface makes of a dataset: scores of shape (CATs, 3).

    Attributes:
        scores: of stereotype, anti-stereotype and unrelated.
        sums: word frequencies by their sum, and ``means`` by their mean: the same shape.
        means: see ``sums``.
    """

    scores: Floats
    sums: Floats
    means: Floats
    kept: NDArray[np.bool_]


def surface(plant: str, rng: Random) -> Surface:
    """Texts whose surface says nothing, or where a rule sees the stereotype in 60 of 100 CATs.

    Faults: group size (stereotypes, and options, are longer), reversed (they are shorter), contexts
    (one CAT of each kind for a term, and a rule that sees the stereotype in 55 of 100).
    """
    shape = (len(PLACE), 3)
    chance = {"group size": 0.6, "reversed": 0.4, "contexts": 0.55}.get(plant, 0.5)
    pair = np.sort(rng.random((len(PLACE), 2)), axis=1)
    first = rng.random(len(PLACE)) < chance
    found = rng.random(shape)
    found[:, :2] = np.where(first[:, None], pair[:, ::-1], pair)
    if plant == "constant":
        found = np.ones(shape)
    base = -5 - rng.random(shape)
    # Words of the unrelated option: a sum of more words is lower, and its mean is not.
    changes = {"group size": 0.4, "reversed": -0.4, "contexts": 0.1}
    longer = np.array([0, 0, changes.get(plant, 0.0)])
    kept = ONE_OF_KIND if plant == "contexts" else np.ones(len(PLACE), bool)
    return Surface(found, base - longer, base + 0.01 * rng.random(shape), kept)
