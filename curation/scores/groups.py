"""Groups of runs that can be compared, and the records of their comparison.

Runs of one profile can be compared, or runs under the same rules. ``compare`` fills the records.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from curation.files import CurationError
from curation.kinds import MetricName
from curation.models.rules import PROFILES, RULES, TRAINED_HEADS, profiles_of, rules_name
from curation.records import Cat, Fields
from curation.scores.run_folder import ENSEMBLE
from curation.scores.runs import Run
from curation.stats.intervals import Interval
from curation.stats.metrics import BOTH, Ties
from curation.stats.tests import Needed

Sort = Literal["profile", "rules", "alone"]
Key = tuple[Sort, str]


class Group(NamedTuple):
    """Runs that are ranked together, at most one per model.

    ``sort`` is what they share: a profile, the rules of each kind, or nothing (a run «alone», whose
    rules are not known or not the same for all members of an ensemble). ``name`` is that of the
    profile or the rules, with the variant after a «+»; for a run alone it is the run's name.
    ``title`` describes the group in tables; for a run alone, it is the reason why it is alone.
    ``runs`` are numbers of runs. If their next-sentence heads were trained otherwise than those of
    the ranked runs (``mark_heads``), name and title end with the difference.
    """

    sort: Sort
    name: str
    title: str
    runs: tuple[int, ...]

    @property
    def variant(self) -> str:
        """How the texts were altered, or ""."""
        return "" if self.sort == "alone" else self.name.partition("+")[2]


def keys(run: Run, there: Mapping[str, Run]) -> frozenset[Key]:
    """The profiles that a run fits, and the name of its rules; both with its variant.

    An ensemble fits what all of its members fit. A run whose rules are not known fits nothing.

    Args:
        run: the run.
        there: runs by name, to find the members of an ensemble whose ``run.json`` lacks their
            rules.
    """
    if run.family == ENSEMBLE:
        return frozenset.intersection(*(keys(member, {}) for member in _members(run, there)))
    names: list[Key] = [("profile", name) for name in profiles_of(run.family, run.rules)]
    if run.profile:
        names.append(("profile", run.profile))
    if run.rules:
        names.append(("rules", rules_name(run.rules)))
    behind = f"+{run.variant}" if run.variant else ""
    return frozenset((sort, name + behind) for sort, name in names)


def member_runs(members: Sequence[Run]) -> dict[str, Fields]:
    """The family, rules and variant of the runs that an ensemble is made of, by name.

    A member that is itself an ensemble is replaced by its own members.
    """
    kept: dict[str, Fields] = {}
    for run in members:
        if run.family == ENSEMBLE:
            kept |= run.about.get("member_runs", {})
        else:
            kept[run.name] = {"family": run.family, "rules": run.rules, "variant": run.variant}
    return kept


def _members(run: Run, there: Mapping[str, Run]) -> list[Run]:
    """The runs that an ensemble is made of. An unknown run is given as one without rules."""
    kept = run.about.get("member_runs")
    if kept:
        return [Run(name, "", about.get("variant", ""), {}, about) for name, about in kept.items()]
    unknown = Run("", "", "", {})
    members = [there.get(name, unknown) for name in run.about.get("members", ())]
    return [unknown if run.family == ENSEMBLE else run for run in members] or [unknown]


def groups(
    runs: Sequence[Run],
    *,
    profile: str = "",
    rule: str = "",
    every: Sequence[Run] = (),
    skipped: Callable[[str], None] = lambda _: None,
) -> list[Group]:
    """Sort runs into groups, each with a ranking of its own.

    A run is in the group of each profile that it fits. If it fits none, it is in the group of its
    rules. If its rules are not known, it is alone. Runs whose next-sentence heads were trained
    otherwise than the ranked ones are in groups of their own. Profiles come before rules, these
    before groups of a variant, and runs alone come last. Within these, groups with more models come
    first; of equal ones ``default``, then by name.

    Args:
        runs: the runs.
        profile: only the group of this profile (``NAME`` or ``NAME+VARIANT``).
        rule: only the runs under this rule for each kind that it is for, or under these rules
            (``INTRA_INTER``); also with ``+VARIANT``.
        every: where to look up members of ensembles that are not among the runs.
        skipped: called with a message for each second run of one model in a group.

    Raises:
        CurationError: both a profile and a rule are given, or no run has it (lists what runs have).
    """
    there = {run.name: run for run in (*every, *runs)}
    fits = [keys(run, there) for run in runs]
    if profile and rule:
        raise CurationError("both a profile and a rule are given", "give one of them")
    if profile or rule:
        wanted: Key = ("profile", profile) if profile else ("rules", rule)
        if any(wanted in keys_of_run for keys_of_run in fits):
            return _groups(wanted, runs, fits, skipped)
        here = [f"--{sort.removesuffix('s')} {name}" for sort, name in sorted(set().union(*fits))]
        raise CurationError(
            f"no model has scores under the {wanted[0]} «{wanted[1]}»",
            f"use one of: {', '.join(here)}"
            if here
            else "declare the rules of each file: --predictions NAME@RULES=FILE",
        )
    shared: set[Key] = set()
    for keys_of_run in fits:
        profiles = {key for key in keys_of_run if key[0] == "profile"}
        shared |= profiles or keys_of_run
    ranked = [group for key in shared for group in _groups(key, runs, fits, skipped)]
    ranked.sort(key=_order)
    alone = [
        Group("alone", run.name, _why_alone(run), (number,))
        for number, (run, keys_of_run) in enumerate(zip(runs, fits, strict=True))
        if not keys_of_run
    ]
    return ranked + alone


def _groups(
    key: Key, runs: Sequence[Run], fits: Sequence[frozenset[Key]], skipped: Callable[[str], None]
) -> list[Group]:
    """The runs of one key, by the difference of their heads; that of the ranked ones is first.

    Of two runs of one model in a group, it has that in the folder named after its rules.
    """
    sort, name = key
    plain, _, variant = name.partition("+")
    title = f"{'profile' if sort == 'profile' else 'rules'} {plain}"
    title += f", texts altered: {variant}" if variant else ""
    by_head: dict[str, dict[str, int]] = {}
    fitting = [number for number, keys_of_run in enumerate(fits) if key in keys_of_run]
    for number in sorted(fitting, key=lambda n: runs[n].rule != rules_name(runs[n].rules)):
        run = runs[number]
        own = by_head.setdefault(str(run.about.get("other_head") or ""), {})
        if (first := own.setdefault(run.model, number)) != number:
            skipped(
                f"{run.where or run.name}: left out of {title}, because {runs[first].name} has "
                "this model's scores under it, too"
            )
    return [
        Group(sort, name + behind, title + behind, tuple(sorted(by_head[head].values())))
        for head in sorted(by_head)
        for behind in (f" ({head})" if head else "",)
    ]


def _order(group: Group) -> tuple[Any, ...]:
    return (
        bool(group.variant),
        group.sort != "profile",
        -len(group.runs),
        group.name.partition("+")[0] != "default",
        group.name,
    )


def _why_alone(run: Run) -> str:
    if run.family == ENSEMBLE:
        return "its members are scored by different rules, or their rules are not known"
    return "rule not declared"


def single(runs: Sequence[Run], chosen: Sequence[int]) -> list[int]:
    """The chosen runs that are not ensembles.

    Correlations and means over models use these only: an ensemble is made of other models, which
    would count twice.
    """
    return [number for number in chosen if runs[number].family != ENSEMBLE]


def profiles_in(groups: Sequence[Group], number: int) -> list[str]:
    """The profiles whose groups a run is in."""
    own = [group for group in groups if group.sort == "profile" and number in group.runs]
    return [group.name.partition(" (")[0] for group in own]


OWN, NO_RECORD = "own", "no record"
_SAYS = {
    OWN: "the model's own next-sentence head",
    NO_RECORD: "no record of how the next-sentence head was trained",
}


def head_of(run: Run) -> str:
    """How a run's next-sentence head was trained, as JSON; or ``OWN`` or ``NO_RECORD``."""
    training, own = run.about.get("head_training"), run.about.get("own_head")
    if isinstance(training, Mapping) and not own:
        return json.dumps(training, sort_keys=True)
    return OWN if own or run.opened_head == OWN else NO_RECORD


def mark_heads(runs: Sequence[Run], cats: Sequence[Cat]) -> list[Run]:
    """The runs; ``about`` has in ``other_head`` how the training of the head differs, in words.

    Runs of one profile, or of the same rules, are compared. Those whose heads were trained as most
    of them were have "", and are ranked together; if two trainings have equally many, it is that of
    the first run. A head without a record of its training is never ranked. A model's own head
    counts as different only under the profiles that need a trained one.

    Args:
        runs: the runs.
        cats: those to compare on. Without an intersentence CAT that a run has scored by ``nsp``,
            its head does not matter.
    """
    inter = [cat for cat in cats if cat.kind in RULES["nsp"].kinds]
    marked = list(runs)
    for group in groups(runs):
        strict = group.sort == "profile" and group.name.partition("+")[0] in TRAINED_HEADS
        heads = {n: head_of(runs[n]) for n in group.runs if _reads_head(runs[n], inter)}
        trained = Counter(head for head in heads.values() if head not in _SAYS)
        ranked = max(trained, key=trained.__getitem__, default="")  # the first of the largest
        for number, head in heads.items():
            if strict or head != OWN:
                about = {"other_head": _SAYS.get(head) or _difference(head, ranked)}
                marked[number] = replace(runs[number], about={**runs[number].about, **about})
    return marked


def _reads_head(run: Run, inter: Sequence[Cat]) -> bool:
    """Whether a run has scored intersentence CATs by ``nsp``, or by a profile that does."""
    rules: Any = run.rules or PROFILES.get(run.profile, {}).get("masked", {})
    return "nsp" in rules.values() and any(map(run.has, inter))


def _difference(head: str, ranked: str) -> str:
    """In what two trainings differ, in words; of a sha256 the first digits."""
    own, other = json.loads(head), json.loads(ranked)
    changed = [
        f"{name.replace('_', ' ')} {str(own.get(name))[:12]} instead of {str(value)[:12]}"
        for name, value in other.items()
        if own.get(name) != value
    ]
    return f"next-sentence head trained with {', '.join(changed)}" if changed else ""


Result = Mapping[str, Any]
"""What ``compare.run_results`` gives."""


def overall_cell(result: Result, kind: str) -> Any:
    """The cell of all CATs of a kind, or of «both»; None for both if the run lacks a kind."""
    return (result if kind == BOTH else result["kinds"][kind])["overall"]


class Difference(NamedTuple):
    """The difference of two runs in one metric, the first run less the second.

    Attributes:
        a, b: names of the runs.
        kind: of the CATs, or "both".
        ``figure`` to ``unsure``: the fields of ``PairedTest``.
        cats: how many CATs both runs have.
        terms: how many terms these have.
        few_terms: whether these are fewer than five.
        p_holm: p with Holm's correction over the pairs of a group, metric and kind.
        what: of ``shifts``: «rule» or «variant».
    """

    a: str
    b: str
    kind: str
    figure: MetricName
    a_value: float
    b_value: float
    difference: float
    ci: Interval | None
    p: float | None
    unsure: bool
    cats: int
    terms: int
    few_terms: bool
    p_holm: float | None = None
    what: str = ""


class MetricPower(NamedTuple):
    """What it takes to show a difference in lms or ss (``figure``), over ``pairs`` of models.

    ``detectable`` is the least difference that the present terms and CATs show for the median pair.
    ``between`` and ``within`` are medians of ``Spread``. Values are None if they are not
    defined, for example if two models differ by the same amount on all terms.
    """

    figure: str
    pairs: int
    detectable: float | None
    detectable_hardest: float | None
    terms: int
    cats: int
    between: float
    within: float | None
    needed: list[Needed]


class Power(NamedTuple):
    """What it takes to show a difference between two models; ``against`` "each other" or "50"."""

    difference: float
    alpha: float
    power: float
    against: str
    figures: list[MetricPower]


class Ranking(NamedTuple):
    """One group's models, the best one first, and what is computed over them.

    Attributes:
        group, sort, title: of ``groups.Group``; ``group`` is its name.
        kinds: of the CATs that the models which are compared have scored.
        models: names of runs, the best one first, by icat if the kinds have it.
        one_kind_only: those that lack a kind of CAT which others have; they are in no result of
            both kinds.
        differences: of ``differences``. Holm's correction is over the pairs of this group.
        correlations, sizes, terms: of the functions with these names, and ``terms.by_term``; over
            the models that are not ensembles.
        power: of ``power_report``, if it was asked for.
    """

    group: str
    sort: Sort
    title: str
    kinds: list[str]
    models: list[str]
    one_kind_only: list[str]
    differences: list[Difference]
    correlations: list[Fields]
    sizes: list[Fields]
    terms: list[Fields]
    power: Power | None


class ModelTerms(NamedTuple):
    """``terms.model_terms`` of a run, beside the means of its group."""

    run: str
    group: str
    rows: list[Fields]


class Comparison(NamedTuple):
    """All models that have scores of the same CATs, side by side.

    Attributes:
        split, kind, tier, original_targets, cats: which CATs, and how many; see ``Source``.
        ties: how ties count.
        left_out: how many CATs a run lacks; no value includes them.
        runs: of ``run_results``; ``overall`` is None for a run that lacks a kind.
        groups: of ``compare_group``.
        mechanisms, shifts, model_terms: of ``mechanisms``, ``shifts`` and ``terms_of``.
        flagged: of ``compare.without_flagged``: without CATs that validators flagged.
        answers: of ``comparing.read_answers``: of all chat models, also of those without
            a score. If no run has a score, only these are there.
        baselines: of ``results.pair_baselines``.
    """

    split: str
    kind: str | None
    tier: int | None
    original_targets: Mapping[str, int] | None
    ties: Ties
    cats: int
    left_out: int = 0
    runs: Sequence[Result] = ()
    groups: Sequence[Ranking] = ()
    mechanisms: Sequence[Fields] = ()
    shifts: Sequence[Difference] = ()
    model_terms: Sequence[ModelTerms] = ()
    flagged: Sequence[Fields] = ()
    answers: Sequence[Mapping[str, Any]] = ()
    baselines: Sequence[Fields] = ()
