"""What ``curation measures pitfalls`` shows: a table by code, and places on request."""

from collections.abc import Sequence

from curation.checks.codes import PITFALLS
from curation.cli import console
from curation.files import CurationError
from curation.measures.pitfalls import Report as Pitfalls
from curation.measures.pitfalls import sample
from curation.text.wording import amount

QUOTE = 90  # characters shown of a text that a pitfall quotes


def show(
    report: Pitfalls,
    *,
    codes: Sequence[str] = (),
    places: int = 10,
    seed: int = 0,
    every: bool = False,
    accept: Sequence[str] = (),
) -> None:
    """Print how often each pitfall was found, and places of some of them.

    Args:
        report: the pitfalls.
        codes: the pitfalls whose places are shown.
        places: how many of each, drawn at random; 0 shows all, in the order of the file.
        seed: seed of the draw.
        every: also list pitfalls that were not found.
        accept: pitfalls that a release may have.

    Raises:
        CurationError: a code is not that of a pitfall.
    """
    if unknown := [code for code in codes if code not in PITFALLS]:
        raise CurationError(
            f"{unknown[0]!r} is not a pitfall", f"the codes are {', '.join(PITFALLS)}"
        )
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
    heads = ["pitfall", "severity", "unit", "found", "checked", "%", "StereoSet dev %"]
    console.table(f"Pitfalls in {amount(report.cats, 'CAT')}", heads, rows)
    clean = [row.code for row in report.table if row.count == 0]
    if clean and not every:
        console.say(f"Not found: {', '.join(clean)}.")
    reasons: dict[str, list[str]] = {}
    for row in report.table:
        if row.why is not None:
            reasons.setdefault(row.why, []).append(row.code)
    for reason, unchecked in reasons.items():
        console.say(f"Not checked: {', '.join(unchecked)} ({reason}).")
    if blocking := report.blocking(accept):
        console.warn(f"these pitfalls block a release: {', '.join(blocking)}")
    if codes:
        console.say(f"\n{console.CONTENT_WARNING}")
    for code in codes:
        _examples(report, code, places, seed)


def _examples(report: Pitfalls, code: str, places: int, seed: int) -> None:
    about = PITFALLS[code]
    hits = sample(report, code, places, seed=seed)
    console.heading(f"\n{code}: {about.says}; {about.fix}")
    for pitfall in hits:
        detail = pitfall.detail
        quote = detail if len(detail) <= QUOTE else f"{detail[:QUOTE]}…"
        association = f" {pitfall.association}" if pitfall.association else ""
        console.say(f"  {pitfall.where}{association}: {quote}")
    if not hits:
        console.say("  none")


def _percent(rate: float | None) -> float | None:
    return None if rate is None else 100 * rate
