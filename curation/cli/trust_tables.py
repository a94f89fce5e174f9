"""Tables of the measures of bias."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from curation.cli import console

if TYPE_CHECKING:
    from curation.bias import Bias
    from curation.steps.trust.runs import TrustRun


def show_runs(runs: Sequence[tuple["TrustRun", bool]], *, as_json: bool) -> None:
    """Print runs of a measure: a table for each, or all as JSON.

    Args:
        runs: each with whether it was measured now.
        as_json: print JSON and nothing else.
    """
    if as_json:
        console.say_json(
            {
                "runs": [
                    {
                        "run": run.name,
                        "folder": str(run.folder),
                        "measured": measured,
                        "biases": [bias.model_dump() for bias in run.biases],
                    }
                    for run, measured in runs
                ]
            }
        )
        return
    for run, measured in runs:
        names = run.biases[0].groups if run.biases else ()
        heads = ["target", "n", *(f"p {name}" for name in names)]
        heads += [f"{name} − p0" for name in names[:1]]
        console.table(
            f"{run.name}", [*heads, "L1", "interval", "undefined"], [_row(b) for b in run.biases]
        )
        console.say(
            f"{'run' if measured else 'measured before, and nothing changed'}: {run.folder}"
        )


def _row(bias: "Bias") -> list[Any]:
    p = bias.p or (None,) * len(bias.groups)
    signed = None if bias.signed is None else bias.signed[0]
    return [bias.target, bias.n, *p, signed, bias.l1, bias.l1_ci, bias.undefined]
