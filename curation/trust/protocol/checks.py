"""The engine of the trust report: checks, what they look at and find, and judges.

It knows no criterion. A check is an entry of ``data/trust/checks.toml``. It names the function that
looks at a ``Case`` (a run of a measure, a series of runs, a dataset, or the scores under one set of
rules), the judge that decides, the threshold and where it comes from, and has all texts. The
function returns what it ``Found``; ``table`` turns both into a row of the report.

A judge says when a result passes, fails, or is inconclusive. Pass means that the data could have
shown the opposite. Power is that at the threshold, never at the observed value, which would only
repeat p.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict

from curation.campaign.settings import TrustSettings
from curation.files import shipped
from curation.formats.toml_files import read_toml
from curation.records import CriterionName, Status, Subject

CHECKS = "data", "trust", "checks.toml"
"""The table of checks, among the files that come with curation."""
Kind = Literal["test", "control", "software"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Sort = Literal["measure", "series", "dataset", "scores"]
FEWEST = 5  # with fewer targets than this, a rank correlation says nothing
ALONE = 0.9  # a third value with this rank correlation orders the units alone
_LEAST = 0.0005  # a smaller change is shown as 0, and may be rounding


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is tested: one subject of the report, and everything that its checks look at.

    Attributes:
        sort: which functions apply to it.
        subject: measure, dataset or scores.
        name: of the run, the series, the dataset, or the set of rules.
        settings: ``[trust]``: the thresholds.
        seed: of random draws.
        files: the files with the numbers, by criterion; those under "" belong to all.
        silent: runs of models whose lms is not surely above chance. A test that rests on one of
            them decides nothing.
    """

    sort: Sort
    subject: Subject
    name: str
    settings: TrustSettings
    seed: int = 0
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a check found; each becomes a row.

    Attributes:
        name: what distinguishes this row from others of the check, such as a model; or "".
        value: the statistic; None if it could not be computed.
        ci: its interval.
        n: how many units.
        p: of the hypothesis that there is no effect.
        power: the probability of a significant result if the true value were at the threshold.
        threshold: if it is not that of the check.
        limit: the same.
        reason: the key of the check's reason why nothing can be judged.
        status: of what cannot be judged for a reason that the function words itself.
        why: these words.
        facts: what the texts of the check name in braces.
        runs: the names of the runs of models that it rests on.
        evidence: the files or runs with its numbers, beside those of the case.
    """

    name: str = ""
    value: float | None = None
    ci: Sequence[float] | None = None
    n: int = 0
    p: float | None = None
    power: float | None = None
    threshold: float | None = None
    limit: str = ""
    reason: str = ""
    status: Status | None = None
    why: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


class Entry(BaseModel):
    """A part of the table of checks; a key that is not known is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Reason(Entry):
    """Why a check judges nothing: the row's status and text, and what would change it."""

    status: Status = "not_run"
    why: str
    advice: str = ""


class Check(Entry):
    """An entry of the table of checks.

    Texts may name facts in braces, as ``str.format`` does, and ``value``, ``n``, ``p``, ``power``,
    ``threshold`` and settings. A fact that is None or missing reads "not defined".

    Attributes:
        criterion: the criterion that it belongs to.
        name: the check's name in the report; ``Found.name`` follows after a colon.
        of: for each sort of case to which it applies, its function as MODULE.FUNCTION, or
            "evidence" for what the run of a measure computed under the check's name.
        given: for a sort of case, further arguments of its function.
        statistic: what the value is.
        unit: what ``n`` counts.
        judge: the function of this module that decides the status.
        threshold: a number, or the name of a setting in ``[trust]``.
        limit: where the value must be: at_least or at_most the threshold, or above it; within it
            on both sides of 0; near it; or no_change, if it is the value without a change.
        source: where the threshold comes from.
        computed: what was computed.
        verdicts: the words of a status, if they are not those of all checks (``Words.verdicts``).
        says: for each status, what the result shows.
        advice: for each status, what would change it.
        reasons: why it may judge nothing. «needs» is the reason if the function finds nothing;
            without it there is then no row.
        kind: a test; a negative control, which must fail; a check of the software, for what holds
            by construction and so shows nothing; or a property, which is a check of the software if
            it holds, and a test that fails if it does not.
        silenced: the verdicts that a model without meaning cannot give.
    """

    criterion: CriterionName
    name: str
    of: dict[Sort, str]
    given: dict[Sort, dict[str, Any]] = {}
    statistic: str = ""
    unit: str = ""
    judge: str = ""
    threshold: float | str | None = None
    limit: str = ""
    source: str = ""
    computed: str = ""
    verdicts: dict[Status, str] = {}
    says: dict[Status, str] = {}
    advice: dict[Status, str] = {}
    reasons: dict[str, Reason] = {}
    kind: Literal["test", "control", "software", "property"] = "test"
    silenced: tuple[Status, ...] = ("pass", "fail", "grew", "fell", "moved")


class Words(Entry):
    """The words of the report.

    Attributes:
        no_verdict: why there is no overall verdict.
        sentences: the sentences on top.
        compared: what is added to the first of them if two runs were compared.
        statuses: what each status of a test means. A negative control passes if its criterion
            rejected it. A check of the software «holds» or is «broken»: what holds by construction
            shows nothing.
        verdicts: the words of a status, if they are not the status itself.
        of_controls: those of a negative control.
        no_verdict_here: those of a value that shows nothing.
        limits: how a threshold reads, by ``Check.limit``.
        subjects: the titles of the report's parts, in order.
        criteria: the titles of the criteria.
        what_holds: each criterion within a sentence, as what holds or does not.
        apart: title and text of the parts for rows that are no tests.
        folded: what stands for the checks of a subject that do not apply to it.
    """

    no_verdict: str
    sentences: list[str]
    compared: str
    statuses: dict[Status, str]
    verdicts: dict[str, str]
    of_controls: dict[Status, str]
    no_verdict_here: str
    limits: dict[str, str]
    subjects: dict[Subject, str]
    criteria: dict[CriterionName, str]
    what_holds: dict[CriterionName, str]
    apart: dict[Kind, tuple[str, str]]
    folded: str

    def verdict(self, status: str) -> str:
        """A status as people read it."""
        return self.verdicts.get(status, status.replace("_", " "))


@cache
def shipped_table() -> dict[str, Any]:
    """The content of the table of checks, as it is in the file."""
    return read_toml(shipped(*CHECKS), fix="see checks.py for its keys")


@cache
def words() -> Words:
    """The words of the report, from the table of checks."""
    return Words.model_validate(shipped_table()["words"])


# --- judges -------------------------------------------------------------------------------------


def reached(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """Pass if the whole interval is at the threshold or above, fail if it is wholly below."""
    if found.value is None or found.ci is None:
        return "inconclusive"
    if found.ci[0] >= threshold:
        return "pass"
    return "fail" if found.ci[1] < threshold else "inconclusive"


def exceeded(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """As ``reached``, but an interval that ends at the threshold fails, too."""
    if found.ci is not None and found.ci[1] <= threshold:
        return "fail"
    return reached(found, threshold, settings)


def shorter(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """As ``enough``, of lists cut to ``size`` words; without a verdict if few words are left out.

    Results of more than half of the words of a list are near those of all, for a random measure,
    too. So the ``shortest`` list must have twice as many words.
    """
    if found.facts["shortest"] < 2 * found.facts["size"]:
        return "not_applicable"
    return enough(found, threshold, settings)


def enough(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """As ``reached``, for a rank correlation over targets; fewer than five decide nothing."""
    return "inconclusive" if found.n < FEWEST else reached(found, threshold, settings)


def refuted(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """Fail if the value is below the threshold. At or above it there is no verdict.

    It is for a value that a random measure reaches, too, so that reaching it shows nothing.
    """
    low = found.n >= FEWEST and found.value is not None and found.value < threshold
    return "fail" if low else "not_applicable"


def significant(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """Pass if the estimate reaches the threshold and p is at most alpha.

    Fail if the whole interval is below the threshold; or if the estimate is below it and not
    significant, although the power at the threshold is high enough to see such an effect.
    """
    value, p = found.value, found.p
    if value is None or p is None:
        return "inconclusive"
    if found.ci is not None and found.ci[1] < threshold:
        return "fail"
    if value >= threshold:
        return "pass" if p <= settings.alpha else "inconclusive"
    seen = found.power is not None and found.power >= settings.power
    return "fail" if p > settings.alpha and seen else "inconclusive"


def partialled(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """As ``significant``, but passes only if the correlation remains without that of a third value.

    The facts ``partial`` and ``partial_p`` are of the correlation with the number of contexts
    partialled out; None if that number is not known. ``counted`` is the correlation of the sizes
    with that number. If it is near ±1, the number alone orders the sizes, and what remains is a few
    exchanged ranks, whose p is too small; so that does not pass.
    """
    status = significant(found, threshold, settings)
    rest, p, counted = (found.facts[name] for name in ("partial", "partial_p", "counted"))
    remains = rest is not None and rest >= threshold and p is not None and p <= settings.alpha
    alone = counted is None or abs(counted) >= ALONE
    return "inconclusive" if status == "pass" and (alone or not remains) else status


def followed(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """As ``significant`` or ``partialled``, over years; passes only if changes correlate, too.

    Years follow each other: two trends correlate, whatever the reason. The facts ``steps`` and
    ``steps_p`` are of the changes from each year to the next.
    """
    judge = partialled if "partial" in found.facts else significant
    status = judge(found, threshold, settings)
    steps, p = found.facts["steps"], found.facts["steps_p"]
    follow = steps is not None and steps >= threshold and p is not None and p <= settings.alpha
    return "inconclusive" if status == "pass" and not follow else status


def clear(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """Pass if the estimate reaches the threshold and its interval is above 0."""
    if found.value is not None and found.ci is not None:
        if found.value >= threshold and found.ci[0] > 0:
            return "pass"
        if found.ci[1] < threshold:
            return "fail"
    return "inconclusive"


def within(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """Pass if the interval of a change is inside ± the threshold, fail if it is wholly outside.

    The margin is fixed. A margin that grows with the interval would reward noise.
    """
    if found.ci is None:
        return "inconclusive"
    low, high = found.ci
    if low > threshold or high < -threshold:
        return "fail"
    return "pass" if -threshold <= low and high <= threshold else "inconclusive"


def changed(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """Whether bias grew or fell: on which side of the threshold the whole interval is."""
    low, high = found.ci or (-math.inf, math.inf)
    if low <= threshold <= high or abs((found.value or 0.0) - threshold) < _LEAST:
        return "not_shown"
    return "grew" if low > threshold else "fell"


def moved(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """As ``changed``, of a change that is not one of bias; the row says which way it went."""
    return "not_shown" if changed(found, threshold, settings) == "not_shown" else "moved"


def signs(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """Pass if the share of right signs reaches the threshold and p is at most alpha.

    It does not pass if a direction has too few signs (the fact ``lacking``). It fails if the whole
    interval is below the threshold; or if at most half of the signs are right, although there are
    enough of them to show a valid measure.
    """
    if found.value is None or found.p is None or found.ci is None:
        return "inconclusive"
    if found.value >= threshold and found.p <= settings.alpha:
        return "inconclusive" if found.facts["lacking"] else "pass"
    seen = (found.power or 0) >= settings.power and found.value <= 0.5
    return "fail" if found.ci[1] < threshold or seen else "inconclusive"


def given(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """The verdict that the check's function reached from several values: ``facts["verdict"]``."""
    status: Status = found.facts["verdict"]
    return status


def nothing(found: Found, threshold: float, settings: TrustSettings) -> Status:
    """No verdict: the value is shown, and a random measure has such a value, too."""
    return "not_applicable"


def worst(*statuses: Status) -> Status:
    """The worst of several verdicts: fail, then inconclusive, then pass.

    >>> worst("pass", "fail", "inconclusive")
    'fail'
    """
    order: tuple[Status, ...] = ("pass", "inconclusive", "fail")
    return max(statuses, key=order.index)
