"""The trust report as one list of criteria: its order, its counts, and the settings of its rows.

There is no overall verdict. A value may be trusted for one use and not for another, and the rows
say what is known for each criterion.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from curation.bias import CRITERIA, Criterion, Status, Subject
from curation.files import dump_json
from curation.trust.protocol.checks import KINDS

ALGORITHM = 2

STATUSES: dict[Status, str] = {
    "pass": "the result reaches the threshold and is significant, or its whole interval does; a "
    "change or a distance must stay within the threshold",
    "fail": "the whole interval is beyond the threshold; or the value is below the threshold and "
    "not significant, although the power at the threshold is high enough",
    "inconclusive": "the data do not decide; «What would change it» says what would",
    "not_applicable": "the criterion does not apply to this subject",
    "attested": "people answered for it; nothing was computed",
    "not_run": "the data, runs or answers that it needs are missing",
}
"""What each status of a test means. A negative control passes if its criterion rejected it. A check
of the software «holds» or is «broken»: what holds by construction shows nothing."""
SUBJECTS: dict[Subject, str] = {
    "measure": "Measures of bias",
    "dataset": "The dataset",
    "scores": "lms, ss and icat, by set of scoring rules",
}
"""The titles of the report's parts, in order."""
ASPECTS: dict[str, str] = {
    "face": "Face validity",
    "content": "Content validity",
    "convergent": "Convergent validity",
    "predictive": "Predictive validity",
    "amplification": "Hypothesis validity: amplification",
    "mitigation": "Hypothesis validity: mitigation",
    "consequential": "Consequential validity",
    "agreement": "Agreement of annotators",
    "sensitivity": "Sensitivity",
    "split_half": "Split halves",
    "retest": "Retest",
}
"""The titles of the criteria."""
_FAILED = {("test", "fail"), ("software", "broken")}
NO_VERDICT = (
    "There is no overall verdict. Each row is one test of one subject; whether a value may be "
    "trusted depends on what it is used for."
)


def ordered(rows: Sequence[Criterion], *, settings: Mapping[str, Any]) -> list[Criterion]:
    """The rows in the order of the report, each with the sha256 of the settings that it used.

    Args:
        rows: the criteria, in any order.
        settings: the thresholds, the seed, versions and so on.
    """
    sha = hashlib.sha256(dump_json(dict(settings))).hexdigest()[:12]
    subjects = get_args(Subject)

    def place(row: Criterion) -> tuple[Any, ...]:
        return (
            subjects.index(row.subject),
            row.name,
            KINDS.index(row.kind),
            CRITERIA.index(row.criterion),
            row.check,
        )

    filled = (row if row.settings else row.model_copy(update={"settings": sha}) for row in rows)
    return sorted(filled, key=place)


def counts(rows: Sequence[Criterion]) -> dict[str, int]:
    """How many rows have each status; negative controls are counted apart.

    ``controls`` is their number, ``controls_failed`` counts those that their criterion accepted;
    the same of checks of the software.
    """
    tally = Counter(row.status for row in rows if row.kind == "test")
    controls = [row for row in rows if row.kind == "control"]
    return {
        **{status: tally[status] for status in STATUSES},
        "controls": len(controls),
        "controls_failed": sum(row.status == "fail" for row in controls),
        "software": sum(row.kind == "software" for row in rows),
        "software_broken": sum(row.status == "broken" for row in rows),
    }


def by_subject(rows: Sequence[Criterion]) -> dict[tuple[Subject, str], dict[Status, int]]:
    """How many rows have each status, for each subject and name; negative controls do not count."""
    tally: dict[tuple[Subject, str], Counter[Status]] = {}
    for row in rows:
        if row.kind == "test":
            tally.setdefault((row.subject, row.name), Counter())[row.status] += 1
    return {key: {status: own[status] for status in STATUSES} for key, own in tally.items()}


def failed(rows: Sequence[Criterion]) -> list[Criterion]:
    """The tests that fail, and the checks of the software that are broken."""
    return [row for row in rows if (row.kind, row.status) in _FAILED]
