"""Run a measure on a campaign's groups and keep its results: what all ``trust`` commands share."""

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from curation import __version__
from curation.bias import Bias, Evidence
from curation.campaign import Campaign
from curation.records import Rejection
from curation.steps.reporter import QUIET, Reporter
from curation.steps.trust import runs
from curation.steps.trust.runs import TrustRun
from curation.trust.framework import Policies, outside
from curation.trust.groups import Groups
from curation.trust.protocol.stability import Again, stability
from curation.wording import amount, some

ALGORITHM = 1
WAIT = 600.0  # seconds for another command to end, so that results are not lost


@dataclass(frozen=True)
class Measured:
    """What a measure returns to ``measure_groups``.

    Attributes:
        biases: one per target, in the order of the targets.
        about: fields for ``run.json``: counts, missing words, software.
        again: the measure with other words or policies, without intervals, for the evidence of
            content validity and sensitivity; None if it cannot be computed again.
        evidence: more evidence, such as the agreement of annotators.
        groups: the groups with those words only that the measure found, for ``again``; None if
            all were found.
        refused: rows of the input that do not count, for ``rejected.jsonl``.
    """

    biases: Sequence[Bias]
    about: Mapping[str, Any] = field(default_factory=dict)
    again: Again | None = None
    evidence: Sequence[Evidence] = ()
    groups: Groups | None = None
    refused: Sequence[Rejection] = ()


def policies(campaign: Campaign) -> Policies:
    """The policies of ``[trust]``."""
    trust = campaign.settings.trust
    return Policies(trust.normalise, trust.negative, trust.divergences)


def common_identity(campaign: Campaign, groups: Groups) -> dict[str, Any]:
    """What identifies every run on these groups: their words, policies, settings, the seed."""
    own, trust = policies(campaign), campaign.settings.trust
    return {
        "algorithm": ALGORITHM,
        "groups": list(groups.names),
        "words": {name: list(words) for name, words in groups.words.items()},
        "targets": {name: list(words) for name, words in groups.targets.items()},
        "references": {name: list(shares) for name, shares in (groups.references or {}).items()},
        "policies": {**own._asdict(), "divergences": list(own.divergences)},
        "confidence": trust.confidence,
        "samples": trust.samples,
        "seed": campaign.settings.campaign.seed,
    }


def measure_groups(
    campaign: Campaign,
    groups: Groups,
    measure: str,
    source: str,
    work: Callable[[], Measured],
    *,
    identity: Mapping[str, Any],
    checks: Sequence[str] = (),
    reporter: Reporter = QUIET,
    warned: set[str] | None = None,
) -> tuple[TrustRun, bool]:
    """Measure, unless the run is there already, and keep the results.

    The campaign must not be locked: measuring may take long, and only writing takes the lock.

    Args:
        campaign: the campaign.
        groups: the groups and targets.
        measure: the measure's name.
        source: the name of what is measured.
        work: computes the results.
        identity: what identifies the run beside groups and policies: input files with their
            sha256, options, versions of software that matters.
        checks: evidence without which a run is measured again.
        reporter: where progress and warnings go.
        warned: why targets of these groups have no result, as other measures' warnings said; the
            same is not said again.

    Returns:
        The run, and whether it was measured now.

    Raises:
        CurationError: the run's folder belongs to groups of another name, or another command has
            the campaign's lock for more than ten minutes after measuring.
        PermissionError: the campaign may not be written to.
    """
    folder = runs.run_folder(campaign, measure, groups.name, source)
    own = policies(campaign)
    whole = {**common_identity(campaign, groups), **identity}
    runs.refuse_other_groups(folder, groups.name)
    known = runs.current(folder, whole)
    if known and {*checks} <= {each.check for each in known.evidence}:
        return known, False
    if not os.access(campaign.root, os.W_OK):  # measuring may take hours
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(campaign.root))
    found = work()
    evidence = list(found.evidence)
    if found.again is not None:
        evidence += stability(
            found.again,
            found.groups or groups,
            own,
            draws=campaign.settings.trust.samples,
            seed=campaign.settings.campaign.seed,
            confidence=campaign.settings.trust.confidence,
        )
    about = {"curation": __version__, **found.about}
    with campaign.lock(wait=WAIT):
        run = runs.write_run(
            folder,
            groups=groups.name,
            identity=whole,
            biases=found.biases,
            evidence=evidence,
            about=about,
            refused=found.refused,
        )
    missing: dict[str, list[str]] = {}
    for each in run.biases:
        if each.undefined:
            missing.setdefault(each.undefined, []).append(each.target)
    if missing:
        why = "; ".join(
            f"{code} {len(names)} ({some(names, 5)})" for code, names in missing.items()
        )
        if warned is None or why not in warned:
            reporter.warn(
                f"{run.name}: no result for {sum(map(len, missing.values()))} of "
                f"{amount(len(run.biases), 'target')}: {why}. docs/trust.md has the codes"
            )
        if warned is not None:
            warned.add(why)
    if own.negative == "raw" and own.normalise == "sum":
        _warn_of_raw(run, reporter)
    return run, True


def _warn_of_raw(run: TrustRun, reporter: Reporter) -> None:
    """Warn of targets whose result is not a divergence of distributions."""
    found = outside(run.biases)
    if found.negative:
        reporter.warn(
            f"{run.name}: {found.negative} of {len(run.biases)} targets have a negative "
            f"association. L1 of {found.beyond} is above its maximum, up to {found.largest:.1f}; "
            "see docs/trust.md, Negative associations"
        )
