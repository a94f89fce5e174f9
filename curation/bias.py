"""The records of bias measures and of the trust report.

A bias measure compares how strongly a target is associated with several groups with a reference
(Bommasani & Liang 2022, section 3). The trust report says, criterion by criterion, what is known
about whether a measure, a dataset or scores may be trusted.
"""

from typing import Annotated, Literal, get_args

from pydantic import Field
from pydantic import model_validator as check_model

from curation.records import Id, Record, Text, Timestamp

Pair = tuple[float, float]
Share = Annotated[float, Field(ge=0, le=1)]
Subject = Literal["measure", "dataset", "scores"]
Status = Literal[
    "pass",
    "fail",
    "inconclusive",
    "not_applicable",
    "attested",
    "not_run",
    "holds",
    "broken",
]
CriterionName = Literal[
    "face",
    "content",
    "convergent",
    "predictive",
    "amplification",
    "mitigation",
    "consequential",
    "agreement",
    "sensitivity",
    "split_half",
    "retest",
]
CRITERIA: tuple[CriterionName, ...] = get_args(CriterionName)
"""The eight criteria of Bommasani & Liang 2022, Table 2, with hypothesis validity as its two parts
(amplification and mitigation), and two that the paper lacks: split half and retest."""


class Passage(Record):
    """A text that mentions a target, for people or a probe to label.

    ``document`` names the document that it was cut from; passages of a document may overlap.
    """

    id: Id
    text: Text
    target: Id
    document: Id | None = None


class GroupLabel(Record):
    """An annotator's answer: the group with which the target is associated in a passage.

    ``group`` is None if the target is associated with no group, or with several.
    """

    passage: Id
    target: Id
    group: Id | None
    annotator: Id
    submitted_at: Timestamp


class Bias(Record):
    """How far a target's associations diverge from the reference; a line of ``bias.jsonl``.

    All vectors are in the order of ``groups``. ``p`` is the normalised ``soa``, ``signed`` is
    p − reference, ``l1`` the sum of its absolute values. ``ci`` has an interval for each entry of
    ``signed``. ``n`` is the number of contexts (text, probe) or of group words found (vectors).
    ``divergences`` has the others that were asked for. If there is no result, ``undefined`` has the
    reason code, and p, signed and l1 are None: no evidence is not zero bias.

    A prior measure has one signed ``value`` instead of p, signed and l1; its ``soa`` is empty.
    """

    target: Id
    groups: tuple[Id, ...]
    soa: tuple[float | None, ...] = ()
    reference: tuple[Share, ...] = ()
    p: tuple[float, ...] | None = None
    signed: tuple[float, ...] | None = None
    ci: tuple[Pair | None, ...] | None = None
    l1: float | None = None
    l1_ci: Pair | None = None
    divergences: dict[str, float] = Field(default_factory=dict)
    value: float | None = None
    value_ci: Pair | None = None
    n: Annotated[int, Field(ge=0)] = 0
    undefined: str | None = None

    @check_model(mode="after")
    def _has_a_value_for_each_group(self) -> "Bias":
        for name in ("soa", "reference", "p", "signed", "ci"):
            if (given := getattr(self, name)) and len(given) != len(self.groups):
                raise ValueError(f"{name} has {len(given)} values for {len(self.groups)} groups")
        return self


class Evidence(Record):
    """A number that a run of a measure computed for a criterion; in ``run.json``.

    It has no verdict: the report compares it with the campaign's thresholds. ``check`` names the
    test, ``statistic`` what ``value`` is. ``n`` is the number of units, ``unit`` what they are.
    ``facts`` has what the report's texts name, ``detail`` says why there is no value.
    """

    criterion: CriterionName
    check: Id
    statistic: Text
    value: float | None
    ci: Pair | None = None
    p: Share | None = None
    n: Annotated[int, Field(ge=0)] = 0
    unit: str = "targets"
    detail: str = ""
    facts: dict[str, float | int | str | None] = Field(default_factory=dict)


class Criterion(Record):
    """One test of one subject; a row of the trust report.

    ``name`` is the subject's name: a run of a measure, the dataset, or a set of scoring rules.
    ``kind`` says that the row is a test, a negative control (which must fail this criterion; its
    status is "pass" if it was rejected), or a check of the software, which "holds" or is "broken"
    and shows nothing. ``power`` is the probability of a significant result if the true value were
    at the threshold, and ``source`` says where the threshold comes from. ``evidence`` names the
    files, ``computed`` says in words what was computed and what it shows, ``change`` what would
    change the verdict.
    """

    subject: Subject
    name: Id
    criterion: CriterionName
    check: Id
    status: Status
    kind: Literal["test", "control", "software"] = "test"
    statistic: str = ""
    value: float | None = None
    ci: Pair | None = None
    n: Annotated[int, Field(ge=0)] = 0
    unit: str = ""
    p: Share | None = None
    power: Share | None = None
    threshold: float | None = None
    source: str = ""
    computed: str = ""
    change: str = ""
    evidence: tuple[str, ...] = ()
    settings: str = ""


ON_DISK: tuple[type[Record], ...] = (Passage, GroupLabel, Bias, Evidence, Criterion)
