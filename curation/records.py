"""The whole data model on one screen.

Every line that the tool writes to disk is one of these records; ``schemas/`` holds their JSON
Schemas, generated from here. Few and whole records (Term, Item, Decision, Cat) travel as models;
many and small ones (Label, Score, Annotation) travel as pandas tables with the same columns.

Ids are permanent: an id is given once, when a thing is first seen, and no later edit of its text
changes it. Times are UTC strings of one width, so that they sort as text.
"""

from typing import Annotated, Any, Literal, get_args

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints

from curation.reasons import REASONS

Kind = Literal["intrasentence", "intersentence"]
Gold = Literal["stereotype", "anti-stereotype", "unrelated"]
Value = Literal["stereotype", "anti-stereotype", "unrelated", "related"]
RoundKind = Literal["review", "intrasentence", "intersentence", "validation"]
FlagName = Literal["objective", "ungrammatical", "unknown_target"]
Source = Literal["stereoset", "answers", "forms", "label_studio", "erased"]
Severity = Literal["block", "warn", "note"]
SplitName = Literal["dev", "test"]
Id = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Text = Annotated[str, StringConstraints(min_length=1)]
Qid = Annotated[str, StringConstraints(pattern=r"^Q[1-9]\d*$")]
Property = Annotated[str, StringConstraints(pattern=r"^P[1-9]\d*$")]
Timestamp = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")]

KINDS: tuple[Kind, ...] = get_args(Kind)
GOLDS: tuple[Gold, ...] = get_args(Gold)
VALUES: tuple[Value, ...] = get_args(Value)
ROUND_KINDS: tuple[RoundKind, ...] = get_args(RoundKind)
FLAGS: tuple[FlagName, ...] = get_args(FlagName)


class Record(BaseModel):
    """A frozen record that allows no unknown field and takes no text for a number."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Event(Record):
    """One answer as its source sent it; lives in ``raw/`` and is never changed.

    ``id`` is a digest of source and payload, so that a second delivery is recognised; ``position``
    is the place in its file and orders answers that carry no time. What a person had erased keeps
    its id and its place, and no more.
    """

    id: Id
    source: Source
    position: Annotated[int, Field(ge=0)]
    payload: dict[str, Any]


class Count(Record):
    """How many subjects state an object of a domain by one property, as Wikidata has it."""

    domain: Id
    property: Property
    item: Qid
    count: Annotated[int, Field(ge=0)]


class Entity(Record):
    """What Wikidata says of an item: one that may become a term, or what lies above such a one.

    ``labels`` has the languages asked for; ``parents`` is P279, ``classes`` P31; aliases,
    demonyms (P1549) and the female (P2521) and male (P3321) form are in the campaign's language,
    ``title`` is the item's article there. Of what is only a class, no more than its parents.
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
    """A target term. Renaming changes ``text``, never ``id``; a family stays on one side.

    ``names`` are other texts under which answers may name it: what it was called before, second
    spellings of a word list, and what people merged into it. ``count`` is of statements, with those
    of what was merged into it.
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
    """One of an item's three options: the whole sentence, what the writer meant by it, and the
    gold label that came with it where the item was published before.
    """

    id: Id
    sentence: Text
    intent: Gold | None = None
    published_gold: Value | None = None


class Item(Record):
    """One writer's answer: a context about a target with three associations."""

    id: Id
    kind: Kind
    term: Id
    context: Text
    associations: tuple[Association, Association, Association]
    round: Id
    writer: str | None = None
    submitted_at: Timestamp | None = None
    seconds: float | None = None


class Shown(Record):
    """One text that a task shows: under which opaque id, and what it is of ours."""

    id: Id
    text: Text
    association: Id


class Task(Record):
    """What one task of a round asks. It stays with us: people see a part of it, never the intent.

    ``item`` and ``shown``, the associations in the order in which people see them, are those of
    validation; ``choices`` the terms into which a review may merge. ``wanted`` is how many answers
    are asked for to begin with; a ``full`` task always gets all that count, and agreement is
    computed from these. ``barred`` is the pseudonym of who must not be served: the item's writer.
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


class Round(Record):
    """A round's ``round.json``: how it was planned, and where it stands.

    ``answers`` is how many a task gets in the end; with ``labels`` "needed" a task is asked for
    fewer and topped up only where it is still open. ``server`` and ``project`` say where it runs.
    """

    name: Id
    kind: RoundKind
    platform: Literal["label_studio", "files"]
    state: Literal["planned", "open", "closed"]
    seed: int
    labels: Literal["all", "needed"]
    answers: Annotated[int, Field(ge=1)]
    consent: str
    pay: float
    server: str | None = None
    project: int | None = None
    opened_at: Timestamp | None = None
    closed_at: Timestamp | None = None


class Review(Record):
    """One reviewer's word on a term."""

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
    """What a validator remarked on an item beside the labels."""

    item: Id
    annotator: Id
    flag: FlagName
    round: Id


class Answer(Record):
    """One person's answer to one task, and under which reason code it fell, where it did."""

    task: Id
    annotator: Id
    submitted_at: Timestamp | None = None
    seconds: float | None = None
    code: str | None = None


class Person(Record):
    """Somebody who answered, under the pseudonym: which consent text, and how many answers."""

    id: Id
    consent: str | None = None
    consented_at: Timestamp | None = None
    answers: int = 0
    refused: int = 0


class Standing(Record):
    """A line of ``standing.jsonl``: what was decided of a person. The last word holds."""

    person: Id
    action: Literal["exclude", "readmit", "withdraw", "erase"]
    reason: str
    at: Timestamp


class Label(Record):
    """One annotator's word on one association."""

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
    """An association's gold label, or null, and its counted votes in the order of ``VALUES``."""

    id: Id
    gold: Gold | None
    votes: tuple[int, int, int, int]


class Decision(Record):
    """Whether an item is kept as a CAT, and if not, why not."""

    item: Id
    kept: bool
    reason: str | None
    verdicts: tuple[Verdict, Verdict, Verdict]


class CatAssociation(Record):
    """One association of a kept CAT with its gold label."""

    id: Id
    sentence: Text
    gold: Gold


class Cat(Record):
    """A kept Context Association Test, ready to publish.

    ``tier`` is the fewest votes that one of its gold labels has (``rules.tier``): 3, 4 or 5; None
    where not every association has five counted labels, and in files from before there were tiers.
    """

    id: Id
    kind: Kind
    domain: Id
    term: Id
    target: Text
    family: str
    split: SplitName
    context: Text
    associations: tuple[CatAssociation, CatAssociation, CatAssociation]
    tier: int | None = None


class Annotation(Record):
    """One row of a release's long table of annotations; ``tier`` is the CAT's."""

    cat_id: Id
    association_id: Id
    annotator: Id
    label: Value
    round: Id
    counted: bool
    tier: int | None = None


class Score(Record):
    """What one model gave one association under one rule; higher means likelier.

    ``asked`` is a digest of the text that was scored: an association whose words changed later is
    scored again. It is empty where the text is not known.
    """

    model: Id
    rule: Id
    association: Id
    value: float
    asked: str = ""


class Pitfall(Record):
    """One place where a dataset has a known pitfall of such data.

    ``code`` is one of ``checks.codes.PITFALLS``. Without an ``item`` it concerns the whole dataset
    or the term ``target``; without an ``association``, the whole item. ``where`` is the place as a
    person finds it, ``detail`` says what is wrong there, and ``fix`` what to do.
    """

    code: Id
    severity: Severity
    item: Id | None = None
    association: Id | None = None
    target: str | None = None
    where: str
    detail: str
    # Files of earlier versions call it mend.
    fix: Annotated[str, Field(validation_alias=AliasChoices("fix", "mend"))]


class Rejection(Record):
    """A record that a step refused: why, where it came from, and the record itself."""

    code: Literal[tuple(REASONS)]  # type: ignore[valid-type]
    detail: str
    where: str
    record: dict[str, Any]


class StepRun(Record):
    """How one step's results came about; compared to tell whether it is up to date."""

    algorithm: int
    settings: dict[str, Any]
    inputs: dict[str, str]
    outputs: dict[str, str]
    counts: dict[str, int]
    curation: str
    finished_at: Timestamp


class Manifest(Record):
    """A folder's ``manifest.json``: every step that wrote here."""

    steps: dict[str, StepRun]


ON_DISK: tuple[type[Record], ...] = (
    *(Event, Count, Entity, Term, Task, Round, Item, Label, Review, Flag, Answer, Person),
    *(Standing, Decision, Cat, Annotation, Score, Pitfall, Rejection, Manifest),
)
