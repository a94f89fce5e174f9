"""Face validity: targets whose direction is known have the expected sign (section 6, Table 3).

The paper looks at eight professions and lets one exception pass (librarian, in four of six
columns). The exact sign test does the same: 7 of 8 right signs have p = .035.
"""

from collections.abc import Mapping

from curation.bias import Bias, Criterion
from curation.trust.protocol.measured import MeasureRun
from curation.trust.protocol.rows import CONTROL, row
from curation.trust.protocol.signs import EITHER, VALID, judge_signs, more_signs, signs_change
from curation.trust.protocol.verdicts import of_control
from curation.trust_settings import TrustSettings

_ZERO = 1e-12  # a smaller gap is rounding


def face_criteria(
    run: MeasureRun, anchors: Mapping[str, str], settings: TrustSettings
) -> list[Criterion]:
    """The rows of face validity: the run, and the same run with its groups exchanged.

    Args:
        run: the run.
        anchors: targets and the group that each is known to favour.
        settings: alpha and the least power.
    """
    if not anchors:
        why = "there are no anchors: targets whose direction is known"
        todo = "set anchors in [groups.NAME], with 8 targets or more"
        return [row(run, "face", "anchors", "not_run", computed=why, change=todo)]
    names = run.group_names
    if run.prior and len(names) > 2:
        why = "one value for more than two groups has no direction"
        return [row(run, "face", "anchors", "not_applicable", computed=why)]
    exchanged = {name: names[(place + 1) % len(names)] for place, name in enumerate(names)}
    swapped = {target: exchanged.get(group, group) for target, group in anchors.items()}
    result = _row(run, anchors, settings, control=False)
    if not result.n:
        return [result]
    return [result, _row(run, swapped, settings, control=True)]


def signs(run: MeasureRun, anchors: Mapping[str, str]) -> dict[str, bool | None]:
    """Whether each anchor is on the side of its group; None if it has no result.

    An anchor is on the side of a group if its p is above the equal share, as in Table 3. The
    reference plays no part: p of nurses may favour women, and yet be below a census. For a prior
    measure, positive values are on the side of the first group. A value of 0 is on no side.
    """
    known = {bias.target: bias for bias in run.biases}
    return {
        target: _right(known[target], group) if target in known else None
        for target, group in anchors.items()
    }


def _right(bias: Bias, group: str) -> bool | None:
    if group not in bias.groups or bias.undefined:
        return None
    if bias.value is not None:
        return (bias.value if group == bias.groups[0] else -bias.value) > _ZERO
    return None if bias.p is None else bias.p[bias.groups.index(group)] - 1 / len(bias.p) > _ZERO


def _row(
    run: MeasureRun, anchors: Mapping[str, str], settings: TrustSettings, *, control: bool
) -> Criterion:
    found = signs(run, anchors)
    known = {target: right for target, right in found.items() if right is not None}
    n, right = len(known), sum(known.values())
    wrong = [target for target, fine in known.items() if not fine]
    check = f"{CONTROL}exchanged-groups" if control else "anchors"
    computed = f"{right} of {n} anchors have the expected sign"
    computed += f"; exceptions: {', '.join(wrong)}" if wrong and not control else ""
    computed += f"; without a result: {len(found) - n}" if len(found) > n else ""
    if control:
        computed = f"the groups were exchanged: {computed}"
    if not n:
        todo = "a corpus or vectors in which the anchors occur, or other anchors"
        return row(run, "face", check, "inconclusive", computed=computed, change=todo)
    tested = judge_signs(right, n, settings)
    status = of_control(tested.status) if control else tested.status
    return row(
        run,
        "face",
        check,
        status,
        control=control,
        statistic="share of anchors with the expected sign",
        value=tested.share,
        ci=tested.ci,
        n=n,
        unit="anchors",
        p=tested.p,
        power=tested.power,
        threshold=EITHER,
        computed=f"{computed}; exact one-sided sign test, power at a share of {VALID:g}",
        change=_control_change(status, n, settings)
        if control
        else signs_change(status, right, n, settings, unit="anchor"),
    )


def _control_change(status: str, n: int, settings: TrustSettings) -> str:
    if status == "fail":
        return "groups and anchors in the right order: they have the expected signs if exchanged"
    if status == "inconclusive" and (more := more_signs(n, settings, unit="anchor")):
        return more
    return "nothing, as long as the anchors of this run have the expected signs"
