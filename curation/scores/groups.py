"""Which runs are compared: those of one profile, or those under the same rules."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from curation.files import CurationError
from curation.models.rules import profiles_of, rules_name
from curation.scores.runs import Run

ENSEMBLE = "ensemble"  # the family of an ensemble
Sort = Literal["profile", "rules", "alone"]
Key = tuple[Sort, str]


class Group(NamedTuple):
    """Runs that are ranked together, at most one a model.

    ``sort`` says what they share: a profile, the rules of each kind, or nothing (a run alone whose
    rules are not known or not one). ``name`` is that of the profile or the rules, with the variant
    after a «+»; of a run alone its own. ``title`` says the same to a reader; of a run alone, why it
    is alone. ``runs`` are numbers of runs.
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
    """The profiles that a run fits, and its rules by name; both with its variant.

    An ensemble fits what all of its members fit. A run whose rules are not known fits nothing.

    Args:
        run: the run.
        there: runs by name, to find the members of an ensemble that does not say their rules.
    """
    if run.family == ENSEMBLE:
        return frozenset.intersection(*(keys(one, {}) for one in _members(run, there)))
    names: list[Key] = [("profile", name) for name in profiles_of(run.family, run.rules)]
    if run.profile:
        names.append(("profile", run.profile))
    if run.rules:
        names.append(("rules", rules_name(run.rules)))
    behind = f"+{run.variant}" if run.variant else ""
    return frozenset((sort, name + behind) for sort, name in names)


def member_runs(members: Sequence[Run]) -> dict[str, dict[str, Any]]:
    """What an ensemble keeps of the runs that it is made of: by name family, rules and variant.

    Of members that are ensembles those which they are made of.
    """
    found: dict[str, dict[str, Any]] = {}
    for run in members:
        if run.family == ENSEMBLE:
            found |= run.about.get("member_runs", {})
        else:
            found[run.name] = {"family": run.family, "rules": run.rules, "variant": run.variant}
    return found


def _members(run: Run, there: Mapping[str, Run]) -> list[Run]:
    """The runs that an ensemble is made of; one without rules where they are not known."""
    kept = run.about.get("member_runs")
    if kept:
        return [Run(name, "", about.get("variant", ""), {}, about) for name, about in kept.items()]
    nothing = Run("", "", "", {})
    found = [there.get(name, nothing) for name in run.about.get("members", ())]
    return [nothing if one.family == ENSEMBLE else one for one in found] or [nothing]


def groups(
    runs: Sequence[Run],
    *,
    profile: str = "",
    rule: str = "",
    every: Sequence[Run] = (),
    skipped: Callable[[str], None] = lambda _: None,
) -> list[Group]:
    """Sort runs into groups that are each ranked for itself.

    A run stands in the group of each profile that it fits; if it fits none, in that of its rules.
    A run whose rules are not known stands alone. Groups with more models come first, of equal ones
    ``default``, then by name; profiles before rules, those before groups of a variant, and runs
    alone last.

    Args:
        runs: the runs.
        profile: only the group of this profile (``NAME`` or ``NAME+VARIANT``).
        rule: only the runs under this rule for each kind that it serves, or under these rules
            (``INTRA_INTER``); also with ``+VARIANT``.
        every: where members of ensembles are looked up, if not among the runs.
        skipped: called with a message for each second run of one model in a group.

    Raises:
        CurationError: both a profile and a rule; no run has it (names those that are there).
    """
    there = {run.name: run for run in (*every, *runs)}
    fits = [keys(run, there) for run in runs]
    if profile and rule:
        raise CurationError("both a profile and a rule are given", "give one of them")
    if profile or rule:
        wanted: Key = ("profile", profile) if profile else ("rules", rule)
        if any(wanted in one for one in fits):
            return [_group(wanted, runs, fits, skipped)]
        here = [f"--{sort.removesuffix('s')} {name}" for sort, name in sorted(set().union(*fits))]
        raise CurationError(
            f"no model has scores under the {wanted[0]} «{wanted[1]}»",
            f"use one of: {', '.join(here)}" if here else "declare the rules of --predictions",
        )
    found: set[Key] = set()
    for one in fits:
        profiles = {key for key in one if key[0] == "profile"}
        found |= profiles or one
    made = [_group(key, runs, fits, skipped) for key in found]
    made.sort(key=_order)
    alone = [
        Group("alone", run.name, _why(run), (number,))
        for number, (run, one) in enumerate(zip(runs, fits, strict=True))
        if not one
    ]
    return made + alone


def _group(
    key: Key,
    runs: Sequence[Run],
    fits: Sequence[frozenset[Key]],
    skipped: Callable[[str], None],
) -> Group:
    """The runs of one key: of two of one model that in the folder named after its rules."""
    sort, name = key
    plain, _, variant = name.partition("+")
    title = f"{'profile' if sort == 'profile' else 'rules'} {plain}"
    title += f", texts altered: {variant}" if variant else ""
    own: dict[str, int] = {}
    of = [number for number, one in enumerate(fits) if key in one]
    for number in sorted(of, key=lambda n: runs[n].rule != rules_name(runs[n].rules)):
        run = runs[number]
        if (first := own.setdefault(run.model, number)) != number:
            skipped(
                f"{run.where or run.name}: {runs[first].name} has scores of this model for the "
                f"same {title}; this run is left out of it"
            )
    return Group(sort, name, title, tuple(sorted(own.values())))


def _order(group: Group) -> tuple[Any, ...]:
    return (
        bool(group.variant),
        group.sort != "profile",
        -len(group.runs),
        group.name.partition("+")[0] != "default",
        group.name,
    )


def _why(run: Run) -> str:
    if run.family == ENSEMBLE:
        return "its members are scored by different rules, or theirs are not known"
    return "rule not declared"


def single(runs: Sequence[Run], chosen: Sequence[int]) -> list[int]:
    """Of the chosen runs those that are not ensembles.

    Correlations and means over models are over these: an ensemble is made of the others, so it
    would count them twice.
    """
    return [number for number in chosen if runs[number].family != ENSEMBLE]


def profiles_in(groups: Sequence[Group], number: int) -> list[str]:
    """The profiles whose groups a run stands in."""
    return [group.name for group in groups if group.sort == "profile" and number in group.runs]
