"""Show plants to the trust report, and say which of them each check must refuse.

``support.plants`` makes the plants and knows nothing of the report; here they become its inputs.
A scene is a function that shows the report one plant and returns the verdicts of some checks. A
scene of measures has a reference, too: equal shares, a file of shares, or p of another run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from curation.campaign.settings import TrustSettings
from curation.records import VALUES, Bias, Criterion, Status
from curation.stats import correlations
from curation.stats.artefacts import Artefact
from curation.stats.correlations import rank_power
from curation.trust.measure.again import stability
from curation.trust.measure.framework import DEFAULT, Policies, biases
from curation.trust.measure.groups import Groups
from curation.trust.measure.human import Passages
from curation.trust.protocol import content
from curation.trust.protocol.cases import (
    DatasetCase,
    DatasetInput,
    MeasureRun,
    MeasureValues,
    PitfallCount,
    Retest,
    Rule,
    RuleGroup,
    ScoresCase,
)
from curation.trust.protocol.content import judged
from curation.trust.protocol.table import dataset_criteria, measure_criteria, rows_of, table
from support import plants
from support.judged import INTER, INTRA, cats, dataset, run
from support.plants import FAULTS, IDEAL, Floats, Ints
from support.written import beside

DRAWS = 20  # of lists of words, and of halves
SETTINGS = TrustSettings(samples=DRAWS)
GENDER = Groups("gender", {"female": ("she",), "male": ("he",)}, {})
OTHER = "other"  # a fault of some checks only; see OTHERS
EQUAL = plants.REFERENCES[0]
Rows = list[Criterion]
Verdicts = dict[str, list[Status]]
"""The verdicts of each check; one with several rows has several."""


def seeded(scene: str, plant: str, seed: int) -> np.random.Generator:
    """The random numbers of a plant in a scene."""
    return np.random.default_rng([seed, *f"{scene} {plant}".encode()])


@contextmanager
def only(*names: str) -> Iterator[None]:
    """Only the rows of these checks «criterion name», or criteria: others take time."""
    checks, none = table()
    own = tuple(c for c in checks if {c.criterion, f"{c.criterion} {c.name}"} & {*names})
    with patch("curation.trust.protocol.table.table", lambda: (own, none)):
        yield


# --- measures -----------------------------------------------------------------------------------


def names(count: int) -> list[str]:
    return [f"t{place}" for place in range(count)]


def by_target(shares: Floats | None) -> dict[str, tuple[float, ...]] | None:
    """Shares of groups, shape (targets, groups), by target."""
    if shares is None:
        return None
    return dict(zip(names(len(shares)), map(tuple, shares.tolist()), strict=True))


def run_of(
    strengths: Floats,
    name: str,
    *,
    groups: Sequence[str] = GENDER.names,
    reference: Floats | None = None,
    half: Floats | None = None,
    documents: Ints | None = None,
    **fields: Any,
) -> MeasureRun:
    """A run of one of the measures of the paper, by default with equal shares as reference."""
    count, k = strengths.shape
    ends = None
    if half is not None:
        p = strengths / strengths.sum(axis=1, keepdims=True)
        p = p - (1 / k if reference is None else reference)
        ends = np.stack([p - half[:, None], p + half[:, None]], axis=2)
    listed, targets = dict.fromkeys(groups, ()), dict.fromkeys(names(count), ())
    found = biases(
        Groups("gender", listed, targets, by_target(reference)),
        strengths,
        n=strengths.sum(axis=1).astype(int).clip(1).tolist(),
        intervals=ends,
        units=None if documents is None else documents.tolist(),
    )
    return MeasureRun(name, name.partition("/")[0], "gender", tuple(found), **fields)


def prior_run(values: Floats, name: str) -> MeasureRun:
    """A run of a prior measure."""
    found = [
        Bias(target=target, groups=GENDER.names, value=float(value))
        for target, value in zip(names(len(values)), values, strict=True)
    ]
    return MeasureRun(name, name.partition("/")[0], "gender", tuple(found))


def rows_about(
    *runs: MeasureRun, settings: TrustSettings = SETTINGS, **fields: Any
) -> list[Criterion]:
    """The rows of runs on groups with these anchors, outcomes or history."""
    groups = Groups("gender", {name: (name,) for name in runs[0].group_names}, {}, **fields)
    return measure_criteria(runs, {"gender": groups}, settings, seed=1)


def verdicts(rows: Sequence[Criterion], *checks: str, name: str = "") -> Verdicts:
    """The verdicts of the checks «criterion name», of the subject of this name."""
    found: Verdicts = {check: [] for check in checks}
    for each in rows:
        check = f"{each.criterion} {each.check.partition(':')[0]}"
        if check in found and name in ("", each.name):
            found[check].append(each.status)
    return found


WORLD = plants.both_shares(0.5 + 0.9 * np.roll(plants.LEAN, 3))
"""The shares in the world of the eight targets; texts do not follow them."""


def anchors(plant: str, seed: int, reference: str = EQUAL) -> Verdicts:
    """Eight anchors; or a hundred, if the plant is «other»."""
    rng = seeded("anchors", plant, seed)
    counts, signs = plants.anchors(plant, rng), plants.SIGNS
    world = WORLD
    if plant == OTHER:
        counts, signs = plants.many_signs(rng, right=0.59)
        world = plants.both_shares(rng.uniform(0.02, 0.98, len(signs)))
    sides = {f"t{at}": GENDER.names[int(sign < 0)] for at, sign in enumerate(signs)}
    own = plants.references(reference, world, rng)
    rows = rows_about(run_of(counts, "text-automated/gender-x", reference=own), anchors=sides)
    return verdicts(rows, "face anchors")


def people(plant: str, seed: int, reference: str = EQUAL) -> Verdicts:
    """Automated counts beside people's answers about eight targets."""
    rng = seeded("people", plant, seed)
    human, counted = plants.people_and_counts(plant, rng)
    own = plants.references(reference, WORLD, rng)
    runs = [
        run_of(counts, name, reference=own)
        for counts, name in ((human, "text-human/gender-x"), (counted, "text-automated/gender-x"))
    ]
    return verdicts(rows_about(*runs), "convergent text-human", name="text-automated/gender-x")


def outcomes(plant: str, seed: int, reference: str = EQUAL) -> Verdicts:
    """A measure of text, and the world, for a hundred professions."""
    rng = seeded("outcomes", plant, seed)
    of = plants.professions("documents" if plant == OTHER else plant, rng)
    own = plants.references(reference, of.world, rng)
    return verdicts(rows_beside_world(of, "text-automated/gender-x", own), *PREDICTIVE)


PREDICTIVE = ("predictive signed", "predictive unsigned")


def rows_beside_world(
    of: plants.Predicted, name: str, reference: Floats | None = None
) -> list[Criterion]:
    """The rows of a measure whose shares in the world are known."""
    groups = GENDER.names if of.world.shape[1] == 2 else ("white", "hispanic", "asian")
    how: dict[str, Any] = {"groups": groups, "reference": reference, "documents": of.documents}
    return rows_about(run_of(of.strengths, name, **how), outcomes=by_target(of.world))


def table_5(rho: float, groups: int, seed: int) -> list[Status]:
    """The verdicts of «predictive signed» on a measure with a correlation of Table 5."""
    rng = seeded("table 5", f"{rho} {groups}", seed)
    of = plants.correlated_professions(rho, groups, rng)
    return verdicts(rows_beside_world(of, "vectors/gender-x"), *PREDICTIVE)["predictive signed"]


def years(plant: str, seed: int, reference: str = EQUAL) -> Verdicts:
    """Word vectors of ten decades."""
    rng = seeded("years", plant, seed)
    made = plants.decades("walk" if plant == OTHER else plant, rng)
    own = plants.references(reference, plants.both_shares(made.world.mean(axis=0)), rng)
    runs, history, frequencies = [], {}, {}
    for at, year in enumerate(made.years):
        found = tuple(quick(plants.both_shares(made.p[at]), GENDER.names, own))
        runs.append(MeasureRun(f"vectors/gender-x+{year}", "vectors", "gender", found, year=year))
        history[year] = {f"t{t}": (share, 1 - share) for t, share in enumerate(made.world[at])}
        frequencies[year] = {f"t{t}": each for t, each in enumerate(made.frequencies[at])}
    rows = rows_about(*runs, history=history, frequencies_by_year=frequencies)
    return verdicts(rows, "predictive diachronic-sizes", "predictive diachronic-signed")


PAIR = ("text-automated/gender-after", "text-automated/gender-before")


NO_BIAS = plants.both_shares(0.5 - 0.5 * plants.LEAN)
"""Shares of the eight targets from which a bias may double and still be a share."""


def counted_pair(
    made: plants.Change,
    after: Floats,
    before: Floats,
    hypothesis: str,
    *,
    reference: Floats | None,
    no_intervals_after: bool = False,
) -> Rows:
    """The rows of two runs that count contexts, and whose pair is compared."""
    halves = [made.half_widths(counts) for counts in (after, before)]
    halves = [None if no_intervals_after else halves[0], halves[1]]
    runs = [
        run_of(counts, name, half=half, reference=reference)
        for counts, name, half in zip((after, before), PAIR, halves, strict=True)
    ]
    return rows_about(*runs, settings=SETTINGS.model_copy(update={hypothesis: (PAIR,)}))


def unbiased_share(reference: Floats | None) -> Floats | float:
    """The first group's share that is no bias."""
    return 0.5 if reference is None else reference[:, 0]


def process(plant: str, seed: int, reference: str = EQUAL) -> Verdicts:
    """Eight targets before and after a process; with «other», few contexts without intervals."""
    found: Verdicts = {}
    for check, ideal in (("amplification towards", "moved"), ("amplification l1", "grown")):
        rng = seeded(check, plant, seed)
        p0 = plants.references(reference, NO_BIAS, rng)
        own = {IDEAL: ideal, OTHER: "contexts"}.get(plant, plant)
        made = plants.process(own, rng, unbiased=unbiased_share(p0))
        how: dict[str, Any] = {"reference": p0, "no_intervals_after": plant == OTHER}
        rows = counted_pair(made, made.after, made.before, "amplification", **how)
        found |= verdicts(rows, check, name=PAIR[0])
    return found


def mitigation(plant: str, seed: int, reference: str = EQUAL) -> Verdicts:
    """A method that reduces bias in word vectors; or text with more contexts after it."""
    rng = seeded("mitigation", plant, seed)
    p0 = plants.references(reference, NO_BIAS, rng)
    unbiased = unbiased_share(p0)
    if plant == "contexts":
        made = plants.process(plant, rng, unbiased=unbiased)  # few contexts before, many after
        rows = counted_pair(made, made.before, made.after, "mitigation", reference=p0)
        return verdicts(rows, "mitigation independent")
    vectors = plants.debiased("held out" if plant == OTHER else plant, rng, unbiased=unbiased)
    ours, optimised, words = vectors.ours, vectors.optimised, vectors.words
    fitted = vectors.fitted
    runs = [
        run_of(ours[0], "vectors/gender-x", reference=p0, words=words),
        run_of(ours[1], "vectors/gender-x+less", reference=p0, words=words, fitted=fitted),
        prior_run(optimised[0], "bolukbasi/gender-x"),
        prior_run(optimised[1], "bolukbasi/gender-x+less"),
    ]
    pair = ("bolukbasi/gender-x+less", "bolukbasi/gender-x")
    rows = rows_about(*runs, settings=SETTINGS.model_copy(update={"mitigation": (pair,)}))
    return {
        **verdicts(rows, "mitigation optimised", name=pair[0]),
        **verdicts(rows, "mitigation independent", name="vectors/gender-x+less"),
    }


# --- people's labels of passages ----------------------------------------------------------------


def counted(given: Ints, classes: int) -> Ints:
    """Votes, shape (units, classes), from answers of shape (units, annotators)."""
    votes = np.zeros((len(given), classes), np.int64)
    np.add.at(votes, (np.arange(len(given))[:, None], given), 1)
    return votes


def passages(plant: str, seed: int, reference: str = EQUAL) -> Verdicts:
    """Five people who label passages about eight targets, twice."""
    rng = seeded("passages", plant, seed)
    plant = "targets" if plant == OTHER else plant
    count = plants.EIGHT if plant == "contexts" else plants.PASSAGES
    first = plants.answers(plant, count, rng, targets=True)
    second = plants.again(plant, first, rng)
    targets = {f"t{place}": (f"t{place}",) for place in range(plants.EIGHT)}
    units = tuple((f"p{place}", f"t{place % plants.EIGHT}") for place in range(count))
    references = by_target(plants.references(reference, WORLD, rng))
    of = Passages(
        Groups("gender", GENDER.words, targets, references),
        units,
        counted(first, 3),
        counted(np.column_stack([first.ravel(), second.ravel()]), 3),
        tuple(np.repeat(np.arange(count), plants.ANNOTATORS).tolist()),
        0,
        plants.ANNOTATORS,
    )
    evidence = tuple(of.evidence(DEFAULT, confidence=0.95, seed=seed))
    run = MeasureRun("text-human/gender-x", "text-human", "gender", tuple(of.biases()), evidence)
    return verdicts(rows_about(run), "agreement annotators", "retest annotators")


# --- lists of words, and negative cosines --------------------------------------------------------


def word_lists(plant: str, seed: int, reference: str = EQUAL) -> Verdicts:
    """A measure of word vectors that is computed again with other words."""
    rng = seeded("word lists", plant, seed)
    made = plants.word_lists("one word" if plant == OTHER else plant, rng)
    p0 = plants.references(reference, WORLD, rng)
    words = {
        name: tuple(f"{name}{place}" for place in range(len(own)))
        for name, own in zip(("f", "m"), made.lists, strict=True)
    }
    targets = {f"t{place}": (f"t{place}",) for place in range(8)}
    groups = Groups("gender", words, targets, by_target(p0))

    def again(groups: Groups, policies: Policies) -> list[Bias]:
        own = list(groups.words.items())
        if len(own) > 2 or not own[0][1][0].startswith("f"):
            return []  # another number of groups, or another order, as the structure asks for
        places = [[int(word[1:]) for word in words] for _, words in own]
        return quick(made.strengths(*places), groups.names, p0)

    evidence = stability(again, groups, DEFAULT, draws=DRAWS, seed=seed)
    found = tuple(again(groups, DEFAULT))
    run = MeasureRun("vectors/gender-x", "vectors", "gender", found, tuple(evidence))
    return verdicts(rows_about(run), *WORD_CHECKS)


NOTHING: dict[str, Any] = {
    **dict.fromkeys(("ci", "l1_ci", "value", "value_ci", "undefined")),
    "divergences": {},
}


def quick(strengths: Floats, groups: Sequence[str], reference: Floats | None = None) -> list[Bias]:
    """The results of two groups with positive strengths, without the checks of a record."""
    p = strengths / strengths.sum(axis=1, keepdims=True)
    p0 = np.full(p.shape, 0.5) if reference is None else reference
    rows = zip(strengths.tolist(), p.tolist(), p0.tolist(), strict=True)
    return [
        Bias.model_construct(
            target=f"t{place}",
            groups=groups,
            soa=tuple(own),
            reference=tuple(against),
            p=tuple(share),
            signed=(share[0] - against[0], share[1] - against[1]),
            l1=2 * abs(share[0] - against[0]),
            n=8,
            **NOTHING,
        )
        for place, (own, share, against) in enumerate(rows)
    ]


def negative(plant: str, seed: int, reference: str = EQUAL) -> Verdicts:
    """Cosines of three groups, some of them below 0."""
    rng = seeded("negative", plant, seed)
    made = plants.signed_cosines(plant, rng)
    p0 = plants.references(reference, made.world, rng)
    return verdicts(rows_beside_world(made, "vectors/gender-x", p0), "sensitivity negative")


# --- scores -------------------------------------------------------------------------------------


@cache
def development_set() -> DatasetInput:
    """CATs of the size of StereoSet's development set."""
    of = cats(plants.TERMS, 2 * plants.OF_KIND, kinds=(INTRA, INTER), domains=plants.DOMAINS)
    return dataset(of)


def blind_rules(rng: np.random.Generator) -> tuple[Rule, ...]:
    """A rule that understands nothing, on both kinds of CAT: lms and ss are 50 on average."""
    data = development_set()
    lms = 50.0 * (rng.random((2, len(data.cats))) < 0.5).sum(axis=0)
    own = [(kind, data.kinds == kind) for kind in (INTRA, INTER)]
    rule = Artefact("OddLM", "odd words are likelier", {})
    return tuple(
        Rule(rule, kind, np.where(has, lms, np.nan), np.where(has, 50.0, np.nan))
        for kind, has in own
    )


def known(data: DatasetInput) -> DatasetInput:
    """The same dataset, knowing what ``development_set`` has computed of its CATs."""
    base = development_set()
    for name in ("terms", "codes", "targets", "domains", "kinds", "kinds_there", "golds"):
        getattr(base, name)
    data.__dict__.update({k: v for k, v in base.__dict__.items() if k not in data.__dict__})
    return data


SS = dict.fromkeys(
    (
        *("face known-directions", "convergent rules", "convergent kinds", "convergent measure"),
        *("predictive unequal", "predictive leading"),
        *("amplification share", "amplification distance", "mitigation nearer"),
        *("sensitivity normalisation", "sensitivity text", "sensitivity rule"),
        *("sensitivity terms", "sensitivity domains", "split_half terms"),
        *("face meaningful", "content above-artefacts", "sensitivity normalisation-lms"),
    ),
    "m",
) | {
    **{"convergent kinds": "k", "sensitivity domains": "d", "mitigation nearer": "m-"},
    **dict.fromkeys(("amplification share", "amplification distance"), "m+"),
    **{"face meaningful": "n", "content above-artefacts": "n"},
    "sensitivity normalisation-lms": "n",
}
"""The model of each check of scores."""
PAIRS = SETTINGS.model_copy(
    update={
        "amplification": (("m+/ll-acl", "m/ll-acl"),),
        "mitigation": (("m-/ll-acl", "m/ll-acl"),),
    }
)


def models(plant: str, seed: int) -> Verdicts:
    """Models on CATs of the size of StereoSet's development set, under several sets of rules."""
    rng = seeded("models", plant, seed)
    made = plants.scores("lms only" if plant == OTHER else plant, rng)
    runs = []
    for name, (lms, ss) in made.runs.items():
        model, _, under = name.partition("/")
        rule, _, variant = under.partition("+")
        runs.append(run(model, rule, lms, ss, variant=variant))
    words = {"first": ("first",), "second": ("second",)}
    world = {f"t{t}": (share, 1 - share) for t, share in enumerate(made.share)}
    base = development_set()
    data = dataset(
        base.cats,
        *runs,
        tables={"census": Groups("census", words, {}, outcomes=world)},
        measures=[MeasureValues("vectors", {f"t{t}": v for t, v in enumerate(made.measure)})],
        directions={f"t{t}": prefers for t, prefers in made.prefers.items()},
    )
    data = known(data)
    rules = blind_rules(rng)
    shared: dict[str, Any] = {"settings": PAIRS, "seed": 1, "data": data, "rules": rules}
    whole = DatasetCase(name="made", **shared)
    silent = frozenset(each.name for each in runs if not content.informative(whole, each))
    wanted = SS if plant not in ("fitted", OTHER) else {"mitigation nearer": "m-"}
    found: Verdicts = {}
    for check, model in wanted.items():
        place = next(at for at, each in enumerate(runs) if each.name == f"{model}/ll-acl")
        own = {"sort": "scores", "subject": "scores", "group": RuleGroup("ll-acl", (place,))}
        case = ScoresCase(name="ll-acl", silent=silent, **own, **shared)
        with only(check):
            found[check] = [each.status for each in rows_of(case)]
    return found


# --- a dataset ----------------------------------------------------------------------------------


@cache
def small_set() -> DatasetInput:
    """CATs whose labels are known: 20 terms with 10 CATs."""
    return dataset(cats(20, 10))


def labels(plant: str, seed: int) -> Verdicts:
    """Five people who label the associations of 200 CATs, twice; 8 CATs if contexts are few."""
    rng = seeded("labels", plant, seed)
    count = 8 if plant == "contexts" else 200
    data = small_set()
    of = dataset(data.cats[:count])
    first = plants.answers(plant, 3 * count, rng)
    if plant in (IDEAL, "contexts", "reversed"):  # gold labels are those that people give
        first = (first + (np.arange(3 * count)[:, None] - true_of(first))) % 3
    votes = counted(first, len(VALUES))
    second = plants.again(plant, first[:, 0][:, None].repeat(5, axis=1), rng)[:, 0]
    again = Retest(
        "the same annotator", np.arange(3 * count) // 3, np.column_stack([first[:, 0], second])
    )
    blocking = PitfallCount("odd", "block", "cat", 3 if plant == OTHER else 0, count)
    of = DatasetInput(of.name, of.cats, "en", votes=votes, retests=[again], pitfalls=[blocking])
    return verdicts(dataset_criteria(of, SETTINGS, seed=seed), *LABEL_CHECKS, "content pitfalls")


def true_of(given: Ints) -> Ints:
    """The most frequent answer on each unit, shape (units, 1)."""
    return counted(given, 3).argmax(axis=1)[:, None]


def surface(plant: str, seed: int) -> Verdicts:
    """Rules that read the surface of texts."""
    made = plants.surface(plant, seeded("surface", plant, seed))
    base = development_set()
    ids = [a.id for cat in base.cats for a in cat.associations]
    kept = np.repeat(made.kept, 3)

    def by_id(values: Floats) -> dict[str, float]:
        return {
            name: value
            for name, value, there in zip(ids, values.ravel().tolist(), kept, strict=True)
            if there
        }

    rules = [Artefact("OddLM", "odd words are likelier", by_id(made.scores))]
    rules.append(Artefact("UnigramLM", "frequent words are likelier", by_id(made.means)))
    data = DatasetInput(base.name, base.cats, "en", artefacts=rules, unigram=by_id(made.sums))
    data = known(data)
    odd = judged(replace(data, artefacts=rules[:1]))
    shared = {"subject": "dataset", "name": data.name, "settings": SETTINGS, "rules": odd}
    case = DatasetCase(sort="dataset", data=replace(data, artefacts=rules[1:]), **shared)
    checks = ("content artefact", "sensitivity normalisation-UnigramLM")
    with only(*checks):
        return verdicts(list(rows_of(case)), *checks)


# --- what each check must refuse ----------------------------------------------------------------

WORD_CHECKS = ("sensitivity words-3", "sensitivity words-5", "split_half words")
LABEL_CHECKS = ("agreement all-labels", "agreement stereotype-or-anti", "retest labels")
SCENES: dict[str, tuple[Callable[..., Verdicts], tuple[str, ...]]] = {
    "anchors": (anchors, ("face anchors",)),
    "people": (people, ("convergent text-human",)),
    "outcomes": (outcomes, PREDICTIVE),
    "years": (years, ("predictive diachronic-sizes", "predictive diachronic-signed")),
    "process": (process, ("amplification towards", "amplification l1")),
    "mitigation": (mitigation, ("mitigation optimised", "mitigation independent")),
    "passages": (passages, ("agreement annotators", "retest annotators")),
    "word lists": (word_lists, WORD_CHECKS),
    "negative": (negative, ("sensitivity negative",)),
    "models": (models, tuple(SS)),
    "labels": (labels, (*LABEL_CHECKS, "content pitfalls")),
    "surface": (surface, ("content artefact", "sensitivity normalisation-UnigramLM")),
}
"""The scenes with the checks that they show, in the order of the table."""
OF_DATASETS = ("models", "labels", "surface")
"""The scenes that have no reference."""
ANSWERED = (
    "amplification towards",
    "amplification l1",
    "amplification share",
    "amplification distance",
    "mitigation independent",
)
"""The checks of a question that has two answers; a fault must give neither."""

_FAULTS = beside(__file__)
CANNOT_SEE: Mapping[str, Mapping[str, str]] = _FAULTS["cannot_see"]
NOT_THERE: Mapping[str, Mapping[str, str]] = _FAULTS["not_there"]
WITH_METHOD = ("mitigation optimised", "mitigation independent", "mitigation nearer")
OTHERS: Mapping[str, str] = _FAULTS["others"]


def applies(check: str, fault: str) -> bool:
    """Whether a check is meant to see a fault."""
    if fault == OTHER:
        return check in OTHERS
    if fault == "fitted":
        return check in WITH_METHOD
    return not any(fault in of.get(check, {}) for of in (CANNOT_SEE, NOT_THERE))


def most_faults(seeds: int) -> int:
    """How many of these seeds may pass a fault: 16 of 200, what a test at 5 % has by chance.

    5 % of n and 1.95 standard errors: 10 + 1.95 · 3.08 = 16.0.
    """
    return int(seeds * 0.05 + 1.95 * np.sqrt(seeds * 0.05 * 0.95))


def least_ideal(seeds: int) -> int:
    """How many must pass the ideal: 172 of 200, what a power of 90 % has by chance.

    90 % of n less 1.95 standard errors: 180 − 1.95 · 4.24 = 171.7.
    """
    return int(np.ceil(seeds * 0.9 - 1.95 * np.sqrt(seeds * 0.9 * 0.1)))


@contextmanager
def fewer_orders() -> Iterator[None]:
    """Rank correlations of more than eight units get their p from 999 random orders, not 9,999."""
    whole = correlations.spearman

    def spearman(first: Any, second: Any, *, draws: int, seed: int) -> dict[str, Any]:
        return whole(first, second, draws=min(draws, 999), seed=seed)

    with patch.object(correlations, "spearman", spearman):
        yield


def references_of(scene: str) -> tuple[str, ...]:
    """The references of a scene; "–" for a dataset, which has none."""
    return ("–",) if scene in OF_DATASETS else plants.REFERENCES


def is_shown(check: str, status: Status) -> bool:
    """Whether a verdict says that a check holds, or that its question is answered."""
    return status in ("pass", "fell") or (check in ANSWERED and status in ("grew", "moved"))


Passes = dict[tuple[str, str], dict[str, int]]
"""How often the ideal and each fault passes, by check and reference."""


@fewer_orders()
def passes(seeds: int, scene: str, reference: str) -> Passes:
    """How many seeds pass each check, with the ideal and with each fault that it must see.

    A check with several rows passes the ideal if all with a verdict pass, and a fault if any does.
    """
    found: Passes = {}
    show, checks = SCENES[scene]
    criteria = {check.partition(" ")[0] for check in checks}  # with their controls
    about = () if scene in OF_DATASETS else (reference,)
    for plant in (IDEAL, *FAULTS, OTHER):
        seen = [each for each in checks if plant == IDEAL or applies(each, plant)]
        for seed in range(seeds) if seen else ():
            with only(*criteria):
                shown = show(plant, seed, *about)
            for check in seen:
                good = [is_shown(check, each) for each in shown[check] if each != "not_applicable"]
                passed = bool(good) and (all(good) if plant == IDEAL else any(good))
                counts = found.setdefault((check, reference), {})
                counts[plant] = counts.get(plant, 0) + passed
    return found


def broken(found: Passes, seeds: int) -> Iterator[str]:
    """The bounds that are broken, in words."""
    for (check, reference), counts in found.items():
        for plant, count in counts.items():
            ideal = plant == IDEAL
            if count < least_ideal(seeds) if ideal else count > most_faults(seeds):
                yield f"{check}, {reference}: {plant} passes {count} of {seeds}"


TABLE_5 = {"ours, gender": (0.42, 2), "ours, race": (0.369, 3), "Garg (cosine), gender": (0.633, 2)}
"""Correlations of Table 5 with the number of groups."""


class Predicted(NamedTuple):
    """How often «predictive signed» passes a correlation, and how often by its power.

    The power is that of the strictest of Holm's tests and that of a single one: with others that
    are significant, the check has one between.
    """

    share: float
    least: float
    most: float
    error: float

    @property
    def fits(self) -> bool:
        """Whether the share is within 1.96 standard errors, and .03 of the formula of power."""
        return self.least - self.error <= self.share <= self.most + self.error


@fewer_orders()
@only("predictive")
def table_5_power(rho: float, groups: int, seeds: int) -> Predicted:
    """The share of passes of a correlation, over the rows of all groups."""
    found = [status == "pass" for seed in range(seeds) for status in table_5(rho, groups, seed)]
    tests = 2 if groups == 2 else groups + 1
    powers = [rank_power(rho, plants.PROFESSIONS, alpha=0.05 / by) for by in (tests, 1)]
    middle = sum(powers) / 2
    error = 1.96 * np.sqrt(middle * (1 - middle) / seeds) + 0.03
    return Predicted(sum(found) / len(found), powers[0], powers[1], float(error))
