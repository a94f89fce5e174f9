"""The whole data model on one screen.

Every line that the tool writes to disk is one of these records; ``schemas/`` holds their JSON
Schemas, generated from here. Few and whole records (Term, Item, Decision, Cat) travel as models;
many and small ones (Label, Score, Annotation) travel as pandas tables with the same columns.

Ids are permanent: an id is given once, when a thing is first seen, and no later edit of its text
changes it. Times are UTC strings of one width, so that they sort as text.
"""

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Kind = Literal["intrasentence", "intersentence"]
Gold = Literal["stereotype", "anti-stereotype", "unrelated"]
Value = Literal["stereotype", "anti-stereotype", "unrelated", "related"]
RoundKind = Literal["review", "intrasentence", "intersentence", "validation"]
FlagName = Literal["objective", "ungrammatical", "unknown_target"]
Source = Literal["stereoset", "answers", "forms", "label_studio", "erased"]
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

REASONS: dict[str, str] = {
    # what does not become a term (terms)
    "unreadable_line": "a line of the dump cannot be read",
    "no_label": "the item has no label in the campaign's language",
    "odd_label": "the label looks vandalised or mistaken",
    "generic_term": "the item is too general: a root of its domain, above one, or named generic",
    "outside_roots": "the item lies under none of the domain's roots",
    "excluded_class": "the item lies under what the domain excludes",
    "is_place": "the item is a place, and the domain lets none in",
    "no_demonym": "the item is a place without a demonym, and the domain takes demonyms",
    "too_rare": "fewer statements than the domain's thresholds ask for",
    "same_label": "merged: another item of the domain has the same label",
    "variant": "merged: a plural, capital or spelling variant of another term",
    "other_form": "merged: another demonym of the same item",
    "too_fine": "merged: too fine-grained a kind of another term",
    "edited": "people said so in edits.csv",
    "unknown_term": "edits.csv names a term that is not there",
    # an answer that does not become an item or a label (rounds)
    "missing_field": "a field that the record needs is not there",
    "bad_value": "a field holds something that cannot be read: an unknown kind, a time, a number",
    "unknown_domain": "the domain is not one of the campaign's",
    "unknown_target": "the target is not among the campaign's terms",
    "wrong_association_count": "an item has not exactly three associations",
    "empty_text": "a text is empty or only white space",
    "blank_missing": "an intrasentence context without BLANK",
    "blank_twice": "an intrasentence context with more than one BLANK",
    "blank_glued": "BLANK is glued to a letter, so that no word can fill it",
    "target_missing": "the context does not name the target",
    "template_not_reproduced": "a sentence is not the context with BLANK filled",
    "same_text_twice": "two associations of one item have the same text",
    "duplicate_item": "an item with the same target, context and associations came before",
    "near_duplicate": "nearly the same as an item on the same term that came before",
    "meta_text": "a text speaks of the task, or of nothing, and not of the target",
    "too_fast": "the answer took less time than reading does",
    "duplicate_label": "the same answer was delivered before",
    "clashing_id": "the id already stands for something else",
    "superseded": "the same person later sent another version of this answer",
    "unknown_label": "the label is outside the vocabulary",
    "unknown_item": "the label is for an item that is not there, or was refused",
    "unknown_association": "the label is for an association that its item does not have",
    "text_changed": "the writer changed the words after this label was given",
    "own_item": "the validator wrote the item",
    "skipped": "the person passed the task on without an answer",
    "unknown_task": "the answer is for a task that its round does not have",
    "second_answer": "the same person had already answered this task",
    "over_person_cap": "the person had already given as many answers as one may in a round",
    "over_term_cap": "the person had already given as many answers on this term as one may",
    "edited_by_other": "somebody else changed the answer on the platform",
    "deleted": "the answer was deleted on the platform",
    "no_consent": "the person has not consented to take part",
    "excluded": "the person is excluded from the campaign",
    "withdrawn": "the person withdrew from the campaign",
    # a label that is not counted (decisions)
    "round_not_counted": "the label's round is not among the rounds that count",
    "repeated_annotator": "the same annotator had already labelled this association",
    "surplus_label": "the association already had all the labels that count",
    # an item that does not become a CAT (decisions)
    "too_few_labels": "labels are missing that could still change the outcome",
    "no_majority": "an association has no label with enough votes",
    "majority_related": "the majority called an association merely related, which is never gold",
    "two_of_a_kind": "the gold labels are not one stereotype, one anti-stereotype, one unrelated",
    "intent_mismatch": "a gold label differs from what the writer meant",
}


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

    ``names`` are other texts under which answers may name it: what it was called before, and what
    people merged into it. ``count`` is of statements, with those of what was merged into it.
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
    """A kept Context Association Test, ready to publish."""

    id: Id
    kind: Kind
    domain: Id
    term: Id
    target: Text
    family: str
    split: SplitName
    context: Text
    associations: tuple[CatAssociation, CatAssociation, CatAssociation]


class Annotation(Record):
    """One row of a release's long table of annotations."""

    cat_id: Id
    association_id: Id
    annotator: Id
    label: Value
    round: Id
    counted: bool


class Score(Record):
    """What one model gave one association under one rule; higher means likelier."""

    model: Id
    rule: Id
    association: Id
    value: float


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
    *(Standing, Decision, Cat, Annotation, Score, Rejection, Manifest),
)
