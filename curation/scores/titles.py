"""What titles and captions say about the CATs of a table."""

from collections.abc import Mapping
from typing import Any

from curation.scores.tiers import tier_text
from curation.stats.metrics import BOTH
from curation.text.wording import amount


def conditions(report: Mapping[str, Any], kind: str = BOTH) -> list[str]:
    """The conditions under which results were computed, as titles show them.

    Args:
        report: what a command of scores writes to the file of ``--json``: ``tier``,
            ``original_targets`` and ``partial``, or ``cats`` and ``left_out``, are read.
        kind: of the table's CATs.

    >>> conditions({"tier": 4, "original_targets": {"cats": 9, "own": 0}, "partial": None})
    ['CATs of tier 4 or more', 'by original target']
    >>> conditions({"cats": 1199, "left_out": 1})
    ['1,199 of 1,200 CATs']
    """
    texts = [tier_text(report.get("tier"))]
    texts.append("by original target" if report.get("original_targets") else "")
    partial = report.get("partial")
    if partial:  # of predictions
        counts = partial if kind == BOTH else partial["kinds"][kind]
        left_out, of = counts["left_out"], counts["of"]
        texts.append(_some(of - left_out, of) if left_out else "")
    elif "cats" in report and report["left_out"]:  # of a comparison
        texts.append(_some(report["cats"], report["cats"] + report["left_out"]))
    return [text for text in texts if text]


def _some(cats: int, of: int) -> str:
    return f"{cats:,} of {amount(of, 'CAT')}"


def suffix(report: Mapping[str, Any], kind: str = BOTH) -> str:
    """``conditions`` as the end of a title: each after a comma; or ""."""
    return "".join(f", {text}" for text in conditions(report, kind))
