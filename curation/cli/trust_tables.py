"""Tables of the measures of bias."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from curation.cli import console

if TYPE_CHECKING:
    from curation.bias import Bias
    from curation.steps.trust.runs import TrustRun


COUNTS = {"text-automated", "text-human", "probe"}
"""Measures whose strengths are counts; those of no group, or of several, are not in p."""

FACTS = [
    "signed",
    "unit",
    "pairs",
    "alignment",
    "mean",
    "mean_absolute",
    "direct_bias",
    "mac",
    "weat",
]
"""The fields of ``run.json`` of a prior measure that JSON has, too."""


def show_runs(runs: Sequence[tuple["TrustRun", bool]], *, as_json: bool) -> None:
    """Print runs of a measure: a table for each, or all as JSON.

    Args:
        runs: each with whether it was measured now.
        as_json: print JSON and nothing else.
    """
    if as_json:
        rows = [
            {"run": run.name, "folder": str(run.folder), "measured": measured}
            | {name: run.about[name] for name in FACTS if name in run.about}
            | {"biases": [bias.model_dump() for bias in run.biases]}
            for run, measured in runs
        ]
        console.say_json({"runs": rows})
        return
    for run, measured in runs:
        names = run.biases[0].groups if run.biases else ()
        counts = run.measure in COUNTS
        heads = ["target", "n", *["in p"] * counts, *(f"p {name}" for name in names)]
        heads += [*(f"{name} − p0" for name in names[:1]), "L1", "interval", "undefined"]
        console.table(run.name, heads, [_row(each, counts=counts) for each in run.biases])
        console.say(
            f"{'run' if measured else 'measured before, and nothing changed'}: {run.folder}"
        )


def _row(bias: "Bias", *, counts: bool) -> list[Any]:
    p = bias.p or (None,) * len(bias.groups)
    signed = None if bias.signed is None else bias.signed[0]
    used = [round(sum(each or 0 for each in bias.soa))] * counts
    return [bias.target, bias.n, *used, *p, signed, bias.l1, bias.l1_ci, bias.undefined]
