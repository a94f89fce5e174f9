"""The data model: the records of a campaign, of bias measures, and of models asked in words."""

from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic import model_validator as check_model

from curation.kinds import ITEMS, Direction, Gold, Kind, RoundKindName
from curation.reasons import REASONS

Value = Literal["stereotype", "anti-stereotype", "unrelated", "related"]
PlatformName = Literal["web", "label_studio", "files"]
FlagName = Literal["objective", "ungrammatical", "unknown_target"]
Source = Literal["stereoset", "answers", "forms", "web", "label_studio", "erased"]
Severity = Literal["block", "warn", "note"]
SplitName = Literal["dev", "test"]
Fields = dict[str, Any]
"""Plain data by name: the fields of a record or a report, as JSON has them."""
Id = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Text = Annotated[str, StringConstraints(min_length=1)]
Qid = Annotated[str, StringConstraints(pattern=r"^Q[1-9]\d*$", max_length=20)]
Property = Annotated[str, StringConstraints(pattern=r"^P[1-9]\d*$", max_length=20)]
CountryCode = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]
LanguageCode = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}$")]
Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*$", max_length=300)]
Timestamp = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")]

VALUES: tuple[Value, ...] = get_args(Value)
SIZE = Field(
    min_length=min(kind.size for kind in ITEMS.values()),
    max_length=max(kind.size for kind in ITEMS.values()),
)
"""How many associations an item has; its kind says it exactly."""
ONLY_IF_GIVEN = Field(exclude_if=lambda value: value is None)
"""A field that most records lack: files have no null for it."""
Complete = TypeVar("Complete", "Item", "Cat")
FLAGS: tuple[FlagName, ...] = get_args(FlagName)


class Record(BaseModel):
    """A frozen record that refuses unknown fields, and text in place of a number."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Event(Record):
    """One answer as its source sent it, in ``raw/``; it is never changed.

    ``id`` is a digest of source and payload, so that a repeated delivery is recognised.
    ``position`` is the position in its file; it orders answers without a time. An erased answer
    keeps only its id and position.
    """

    id: Id
    source: Source
    position: Annotated[int, Field(ge=0)]
    payload: dict[str, Any]


class Count(Record):
    """The number of subjects in Wikidata that state an object by one property of a domain."""

    domain: Id
    property: Property
    item: Qid
    count: Annotated[int, Field(ge=0)]


class Entity(Record):
    """Wikidata's facts about an item that may become a term, or about an ancestor of one.

    ``labels`` has the requested languages. ``parents`` is P279, ``classes`` is P31. Aliases,
    demonyms (P1549) and the feminine (P2521) and masculine (P3321) forms are in the campaign's
    language; ``title`` is that of the item's article in it. A mere class has only its parents.
    """

    id: Qid
    labels: dict[str, str] = {}
    aliases: tuple[str, ...] = ()
    description: str | None = None
    parents: tuple[Qid, ...] = ()
    classes: tuple[Qid, ...] = ()
    sitelinks: int = 0
    title: str | None = None
    demonyms: tuple[str, ...] = ()
    feminine: tuple[str, ...] = ()
    masculine: tuple[str, ...] = ()


class Term(Record):
    """A target term. Renaming changes ``text``, never ``id``. A family is in one split.

    ``names`` has other texts that answers may use for it: old names, second spellings of a word
    list, and terms that were merged into it. ``count`` is the number of statements, including those
    of terms that were merged into it.
    """

    id: Id
    text: Text
    domain: Id
    family: str | None = None
    wikidata: tuple[Qid, ...] = ()
    count: int | None = None
    parents: tuple[Qid, ...] = ()
    names: tuple[Text, ...] = ()
    status: Literal["kept", "merged", "dropped"] = "kept"
    reason: str | None = None


class Association(Record):
    """One of an item's options: the whole sentence, the intent, the published gold label."""

    id: Id
    sentence: Text
    intent: Gold | None = None
    published_gold: Value | None = None


def _complete(record: Complete) -> Complete:
    """The record, if it has the texts of its kind: an association for each role, and a context."""
    needed, there = ITEMS[record.kind].size, len(record.associations)
    if there != needed:
        raise ValueError(
            f"an item of the kind {record.kind} has {needed} associations, not {there}"
        )
    if bool(record.context) != bool(ITEMS[record.kind].context):
        needs = "no context" if record.context else "a context"
        raise ValueError(f"an item of the kind {record.kind} has {needs}")
    return record


class Item(Record):
    """One writer's answer: a context about a target, with an association for each role of its kind.

    ``target_original`` is the target of the dataset from which a published item was translated.
    """

    id: Id
    kind: Kind
    term: Id
    context: Text
    associations: Annotated[tuple[Association, ...], SIZE]
    round: Id
    writer: str | None = None
    submitted_at: Timestamp | None = None
    seconds: float | None = None
    target_original: Text | None = None

    @check_model(mode="after")
    def _has_its_associations(self) -> "Item":
        return _complete(self)


class Shown(Record):
    """One text that a task shows, under an opaque id; ``association`` is its real id."""

    id: Id
    text: Text
    association: Id


class Task(Record):
    """One task of a round. It stays in the campaign: people see only a part, and never the intent.

    ``item`` and ``shown`` are for validation and for neutral rounds; ``shown`` has the associations
    in the order that people see. ``choices`` has the terms into which a review may merge the term.
    ``wanted`` is the number of answers that are requested first. A ``full`` task always gets all
    answers that count; agreement is computed from these tasks. ``barred`` is the pseudonym of the
    item's writer, ``also_barred`` that of the writer beside whose item a neutral association is.
    """

    id: Id
    term: Id
    domain: Id
    target: Text
    item: Id | None = None
    context: str | None = None
    shown: tuple[Shown, ...] = ()
    choices: tuple[Id, ...] = ()
    wanted: Annotated[int, Field(ge=1)]
    full: bool = True
    barred: str | None = None
    also_barred: str | None = None

    @property
    def writers(self) -> set[str]:
        """Pseudonyms of the people whose words the task shows; they must not answer it."""
        return {who for who in (self.barred, self.also_barred) if who}


class Requirements(Record):
    """What people must be to take part in a round of one kind (ACL §9.1, §9.3; arXiv A.2)."""

    countries: Annotated[
        tuple[CountryCode, ...],
        Field(max_length=300, description="codes of their countries; empty: any"),
    ] = ()
    first_languages: Annotated[
        tuple[LanguageCode, ...],
        Field(max_length=300, description="codes of their first languages; empty: any"),
    ] = ()
    approval_rate: Annotated[
        int, Field(ge=0, le=100, description="least share of their work that was accepted, in %")
    ] = 0
    qualification: Annotated[Line, Field(description="what else they must be; empty: nothing")] = ""
    people: Annotated[int, Field(ge=0, le=1_000_000, description="number of people; 0: any")] = 0


class Round(Record):
    """A round's ``round.json``: its plan and its state.

    ``answers`` is the final number of answers per task. With ``labels`` "needed", fewer are
    requested first, and more only if the decision is still open. ``server`` and ``project`` say
    where it runs. ``domains``, ``terms`` and ``of`` are its options. ``people`` says who may take
    part, and ``reward`` what its study on Prolific pays each person who finishes. The items of a
    ``pilot`` become CATs only if the settings say so.
    """

    name: Id
    kind: RoundKindName
    platform: PlatformName
    state: Literal["planned", "open", "closed"]
    seed: Annotated[int, Field(ge=0, lt=1 << 63)]
    labels: Literal["all", "needed"]
    answers: Annotated[int, Field(ge=1, le=1000)]
    consent: str
    pay: Annotated[float, Field(ge=0, le=1_000_000_000)]
    server: str | None = None
    project: int | None = None
    domains: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    people: Requirements = Requirements()
    reward: Annotated[float, Field(ge=0, le=1_000_000_000)] | None = None
    pilot: bool = False
    opened_at: Timestamp | None = None
    closed_at: Timestamp | None = None


class Review(Record):
    """One reviewer's verdict on a term."""

    id: Id
    term: Id
    annotator: Id
    action: Literal["keep", "merge", "drop"]
    into: Id | None = None
    name: str | None = None
    note: str = ""
    round: Id
    submitted_at: Timestamp | None = None


class Flag(Record):
    """A validator's remark on an item, in addition to the labels."""

    item: Id
    annotator: Id
    flag: FlagName
    round: Id


class Answer(Record):
    """One person's answer to one task; ``code`` is the reason code if it was refused."""

    task: Id
    annotator: Id
    submitted_at: Timestamp | None = None
    seconds: float | None = None
    code: str | None = None


class FieldTyping(Record):
    """How the text of one field was written: counts, and nothing of the text itself.

    ``keys`` were pressed to write or delete, ``pasted`` characters came from elsewhere in one
    piece (pasted or dropped), the window was ``left`` this often, and the field had the focus for
    ``seconds``. ``characters`` is the length of the text that was sent.
    """

    keys: Annotated[int, Field(ge=0, le=1_000_000)]
    pasted: Annotated[int, Field(ge=0, le=1_000_000)]
    left: Annotated[int, Field(ge=0, le=100_000)]
    seconds: Annotated[float, Field(ge=0, le=7 * 86_400)]
    characters: Annotated[int, Field(ge=0)] = 0


class Typing(Record):
    """How the texts of an answer came about, by field. It is private, and in no release."""

    task: Id
    annotator: Id
    submitted_at: Timestamp | None = None
    fields: dict[str, FieldTyping]


class InstructionChecks(Record):
    """How many instruction checks a person got in a round, and how many of them failed."""

    annotator: Id
    shown: Annotated[int, Field(ge=1)]
    failed: Annotated[int, Field(ge=0)]


FAILS = 2
"""A person who has failed this number of instruction checks in a round gets no more tasks there."""


class Person(Record):
    """A person who answered or consented, under a pseudonym, with the number of answers."""

    id: Id
    consent: str | None = None
    consented_at: Timestamp | None = None
    answers: int = 0
    refused: int = 0


class Standing(Record):
    """A line of ``standing.jsonl``: a decision about a person. The last decision applies.

    ``released`` has the versions of the release that held items or labels of the person then, each
    with the sha256 of its ``SHA256SUMS``; ``delete_releases`` says that these are deleted. After an
    erasure ``called`` is the pseudonym of the name with which it was asked for, so that the command
    can be repeated when the name itself is gone.
    """

    person: Id
    action: Literal["exclude", "readmit", "withdraw", "erase"]
    reason: str
    at: Timestamp
    released: dict[str, str] = {}
    delete_releases: bool = False
    called: str = ""


class Correction(Record):
    """A line of ``corrections.jsonl``: a text of an item that the team has changed, and why.

    ``association`` is the association's id; None for the context. ``by`` is the pseudonym of who
    changed it, ``writer`` that of the item's writer, and ``round`` the item's round.
    """

    item: Id
    round: Id
    association: Id | None = None
    text: Text
    by: Id
    why: Text
    at: Timestamp
    writer: str | None = None


class Dealing(Record):
    """A line of ``dealt.jsonl``: tasks that went out in a table, or that were taken back.

    ``holder`` is a person's pseudonym, or the table's name if it is for anybody. ``tasks`` has the
    number of answers by task id, and ``came`` the answers that had come before, if there were any.
    The action ``correct`` is a sheet of refused answers that went back: ``refused`` has the place
    of each in the archive.
    """

    action: Literal["deal", "recall", "correct"]
    table: Id
    holder: Id
    tasks: dict[Id, Annotated[int, Field(ge=1)]]
    came: dict[Id, Annotated[int, Field(ge=1)]] = {}
    refused: dict[Id, str] = {}
    at: Timestamp


class Label(Record):
    """One annotator's label of one association."""

    id: Id
    item: Id
    association: Id
    annotator: Id
    value: Value
    round: Id
    submitted_at: Timestamp | None = None
    seconds: float | None = None
    source: str


class Verdict(Record):
    """An association's gold label (or null), and its counted votes in the order of ``VALUES``."""

    id: Id
    gold: Gold | None
    votes: tuple[int, int, int, int]


class Decision(Record):
    """The decision whether an item is kept as a CAT, with the reason if not."""

    item: Id
    kept: bool
    reason: str | None
    verdicts: Annotated[tuple[Verdict, ...], SIZE]


class CatAssociation(Record):
    """One association of a kept CAT with its gold label."""

    id: Id
    sentence: Text
    gold: Gold


class Cat(Record):
    """A kept Context Association Test, ready to publish.

    ``tier`` is the smallest number of votes of its gold labels (``rules.tier``): 3, 4 or 5; None if
    an association does not have five counted labels.
    ``context`` is empty if the kind has none. ``direction`` is that of a pair of CrowS-Pairs: its
    stereotype is shown of a disadvantaged group, or its anti-stereotype violates it of one.
    ``target_original`` is as in ``Item``.
    """

    id: Id
    kind: Kind
    domain: Id
    term: Id
    target: Text
    family: str
    split: SplitName
    context: str
    associations: Annotated[tuple[CatAssociation, ...], SIZE]
    tier: int | None = None
    target_original: Text | None = None
    direction: Annotated[Direction | None, ONLY_IF_GIVEN] = None

    @check_model(mode="after")
    def _has_its_associations(self) -> "Cat":
        return _complete(self)


class Annotation(Record):
    """One row of a release's table of annotations; ``tier`` is the tier of the CAT."""

    cat_id: Id
    association_id: Id
    annotator: Id
    label: Value
    round: Id
    counted: bool
    tier: int | None = None


class Score(Record):
    """The score that a model gave an association under a rule; higher means more likely.

    ``asked`` is a digest of the scored text: an association whose words change later is scored
    again. It is empty if the text is not known.
    """

    model: Id
    rule: Id
    association: Id
    value: Annotated[float, Field(allow_inf_nan=False)]
    asked: str = ""


class Pitfall(Record):
    """One place where a dataset has a known pitfall of such data.

    ``code`` is in ``checks.codes.PITFALLS``. Without an ``item`` it concerns the whole dataset or
    the term ``target``; without an ``association``, the whole item. ``where`` is the place as a
    person finds it, ``detail`` says what is wrong there, and ``fix`` what to do.
    """

    code: Id
    severity: Severity
    item: Id | None = None
    association: Id | None = None
    target: str | None = None
    where: str
    detail: str
    fix: str


class Rejection(Record):
    """A record that a step refused, with the reason and its origin."""

    code: Literal[tuple(REASONS)]  # type: ignore[valid-type]
    detail: str
    where: str
    record: dict[str, Any]


class StepRun(Record):
    """How one step's results were made; it shows whether they are up to date."""

    algorithm: int
    settings: dict[str, Any]
    inputs: dict[str, str]
    outputs: dict[str, str]
    counts: dict[str, int]
    warnings: tuple[str, ...] = ()
    curation: str
    finished_at: Timestamp


class Manifest(Record):
    """A folder's ``manifest.json``: every step that wrote into the folder."""

    steps: dict[str, StepRun]


Interval = tuple[float, float]
Share = Annotated[float, Field(ge=0, le=1)]
Subject = Literal["measure", "dataset", "scores"]
Status = Literal[
    "pass",
    "fail",
    "inconclusive",
    "grew",
    "fell",
    "moved",
    "not_shown",
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
    ``units`` is the effective number of documents, or of passages for people's labels: it is small
    if most contexts of one group are in few of them.
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
    ci: tuple[Interval | None, ...] | None = None
    l1: float | None = None
    l1_ci: Interval | None = None
    divergences: dict[str, float] = Field(default_factory=dict)
    value: float | None = None
    value_ci: Interval | None = None
    n: Annotated[int, Field(ge=0)] = 0
    units: Annotated[float, Field(ge=0)] | None = None
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
    ci: Interval | None = None
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
    and shows nothing. ``verdict`` has the words that readers see if they are not those of the
    status, such as "lms fell". ``limit`` says on which side of the threshold a value must be.
    ``power`` is the probability of a significant result if the true value were at the threshold,
    and ``source`` says where the threshold comes from. ``evidence`` names the files, ``computed``
    says in words what was computed and what it shows, ``change`` what would change the verdict.
    """

    subject: Subject
    name: Id
    criterion: CriterionName
    check: Id
    status: Status
    verdict: str = ""
    kind: Literal["test", "control", "software"] = "test"
    statistic: str = ""
    value: float | None = None
    ci: Interval | None = None
    n: Annotated[int, Field(ge=0)] = 0
    unit: str = ""
    p: Share | None = None
    power: Share | None = None
    limit: Literal["", "at_least", "at_most", "above", "within", "near", "no_change"] = ""
    threshold: float | None = None
    source: str = ""
    computed: str = ""
    change: str = ""
    evidence: tuple[str, ...] = ()
    settings: str = ""


Pair = Literal["stereotype/unrelated", "anti-stereotype/unrelated", "stereotype/anti-stereotype"]

PAIRS: tuple[Pair, ...] = get_args(Pair)
"""The three comparisons of a CAT, in the order of ``metrics.judge``: the first two make lms, the
third makes ss."""


class Reply(Record):
    """A line of ``replies.jsonl``: one answer of a model, as it came. Lines are never changed.

    ``swapped``: the second association of the pair was shown first. ``prompt`` is the name of the
    prompt, and ``sample`` counts from 0 if a question is asked several times. ``second``: it is the
    reply to the second question, after one that named no letter. ``asked`` is a digest of the texts
    that were sent. ``status`` is the HTTP status, and 0 for a model on this machine or if there was
    no response. ``body`` is the reply.
    """

    cat: Id
    pair: Pair
    swapped: bool
    prompt: Id
    sample: Annotated[int, Field(ge=0)]
    second: bool = False
    asked: str
    at: Timestamp
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    status: Annotated[int, Field(ge=0)]
    body: dict[str, Any]


class Comparison(Record):
    """A line of ``comparisons.jsonl``: one of the three comparisons of a CAT.

    A replicate is one prompt in one sample, asked in both orders. ``won`` is the share of
    replicates in which the first association of the pair was preferred. ``split`` is the share in
    which neither was, because the answer changed with the order. ``p`` is the mean probability of
    the first association; None if the model gave no probabilities. ``asked`` is a digest of the
    CAT's texts.
    """

    model: Id
    rule: Id
    cat: Id
    pair: Pair
    won: Share
    split: Share
    p: Share | None = None
    replicates: Annotated[int, Field(ge=1)]
    asked: str


ON_DISK: tuple[type[Record], ...] = (
    Event,
    Count,
    Entity,
    Term,
    Task,
    Round,
    Item,
    Label,
    Review,
    Flag,
    Answer,
    Typing,
    InstructionChecks,
    Person,
    Standing,
    Dealing,
    Decision,
    Cat,
    Annotation,
    Score,
    Pitfall,
    Rejection,
    Manifest,
    Correction,
    Passage,
    GroupLabel,
    Bias,
    Evidence,
    Criterion,
    Reply,
    Comparison,
)
