"""How pitfalls are shown: the table by code, and places on request."""

from collections.abc import Sequence

from curation.checks.codes import PITFALLS
from curation.cli import console
from curation.files import CurationError
from curation.measures.pitfalls import Report, sample

WARNING = "Content warning: these texts state stereotypes, and some are offensive."
QUOTE = 90  # characters shown of what a finding quotes


def show(
    report: Report,
    *,
    codes: Sequence[str] = (),
    places: int = 10,
    seed: int = 0,
    every: bool = False,
    accept: Sequence[str] = (),
) -> None:
    """Print how often each pitfall was found, and places of those that are asked for.

    Args:
        report: what was found.
        codes: the pitfalls of which places are shown.
        places: how many of each, drawn at random; 0 shows all, in the order of the file.
        seed: of the draw.
        accept: pitfalls that a release may have.
        every: also show what was looked for and not found.

    Raises:
        CurationError: a code is none.
    """
    if unknown := [code for code in codes if code not in PITFALLS]:
        raise CurationError(f"{unknown[0]!r} is no pitfall", f"the codes are {', '.join(PITFALLS)}")
    rows = [
        (
            row.code,
            row.severity,
            row.unit,
            row.count,
            row.of,
            _percent(row.rate),
            _percent(row.stereoset),
        )
        for row in report.table
        if row.count or (every and row.count == 0)
    ]
    heads = ["pitfall", "severity", "of", "found", "of all", "%", "StereoSet dev %"]
    console.table(f"Pitfalls in {report.cats} CATs", heads, rows)
    clean = [row.code for row in report.table if row.count == 0]
    if clean and not every:
        console.say(f"Not found: {', '.join(clean)}.")
    reasons: dict[str, list[str]] = {}
    for row in report.table:
        if row.why is not None:
            reasons.setdefault(row.why, []).append(row.code)
    for why, missed in reasons.items():
        console.say(f"Not checked: {', '.join(missed)} ({why}).")
    if stopping := report.blocking(accept):
        console.warn(f"these block a release: {', '.join(stopping)}")
    if codes:
        console.say(f"\n{WARNING}")
    for code in codes:
        _examples(report, code, places, seed)


def _examples(report: Report, code: str, places: int, seed: int) -> None:
    about = PITFALLS[code]
    found = sample(report, code, places, seed=seed)
    console.heading(f"\n{code}: {about.says}; {about.fix}")
    for one in found:
        quote = one.detail if len(one.detail) <= QUOTE else f"{one.detail[:QUOTE]}…"
        console.say(f"  {one.where}{f' {one.association}' if one.association else ''}: {quote}")
    if not found:
        console.say("  none")


def _percent(rate: float | None) -> float | None:
    return None if rate is None else 100 * rate
