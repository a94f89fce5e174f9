"""Everything that a release says about itself, as one record; ``release.json`` has it.

The card, the data statement and all metadata only put these facts into words. So each number is
computed once, and every number in a text is in ``release.json``, too. What only the team
can say is in ``Statement``, which comes from ``7-release/statement.toml``.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from curation.kinds import ITEMS, METRIC_NAMES

Interval = tuple[float, float] | None


class Part(BaseModel):
    """A frozen part of the facts."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Author(Part):
    """A person or an institution that made the dataset."""

    name: str
    affiliation: str = ""
    email: str = ""
    orcid: str = ""


class Hub(Part):
    """The dataset's place on the Hugging Face Hub, and who may download it.

    ``gated`` is empty if everybody may. ``prompt`` is what people read before they ask for access,
    and ``fields`` what they are asked for: a text, or a checkbox.
    """

    id: str = ""
    gated: Literal["", "auto", "manual"] = ""
    prompt: str = ""
    fields: dict[str, Literal["text", "checkbox", "country"]] = {}


class Statement(Part):
    """What only the team can say; ``answers`` has the answers by the key of their question."""

    description: str = ""
    authors: tuple[Author, ...] = ()
    contact: str = ""
    takedown: str = ""
    homepage: str = ""
    repository: str = ""
    paper: str = ""
    doi: str = ""
    hub: Hub = Hub()
    answers: dict[str, str] = {}

    def answer(self, key: str) -> Any:
        """The answer to a question: a text, or a tuple of authors; empty if there is none."""
        fields = type(self).model_fields
        return getattr(self, key) if key in fields else self.answers.get(key, "").strip()


class Licence(Part):
    """The licence of the data.

    ``spdx`` is empty if the licence is not in the list of SPDX; ``hub`` is then "other". ``text``
    is the whole text, which the file LICENSE has; ``release.json`` leaves it out.
    """

    name: str
    spdx: str = ""
    hub: str = "other"
    url: str = ""
    text: Annotated[str, Field(exclude=True)] = ""


class Size(Part):
    """How many CATs and terms a domain has, of a kind in a split."""

    domain: str
    kind: str
    split: str
    terms: int
    cats: int


class TermCount(Part):
    """How many terms a domain has in a split, over both kinds of CAT."""

    domain: str
    split: str
    terms: int


class Lengths(Part):
    """The mean length of the texts of a kind, or of "both": context and association together."""

    kind: str
    words: float | None
    characters: float | None


class Reading(Part):
    """A part of what people read in a round: a heading and its lines, without markup."""

    heading: str
    lines: tuple[str, ...]


class RoundFacts(Part):
    """One round: how many people answered when, what they read, what they were paid.

    ``kind`` is that of the round, or "import" for answers that were imported without a plan.
    ``people`` are those with an accepted answer; ``first`` and ``last`` are days, as YYYY-MM-DD.
    ``required`` says what people had to be. ``published`` says whether it has items that were
    published before.
    """

    name: str
    kind: str
    platform: str = ""
    required: tuple[str, ...] = ()
    people: int
    answers: int
    refused: int
    first: str | None = None
    last: str | None = None
    consent: str | None = None
    pay: float | None = None
    currency: str = ""
    published: bool = False
    read: tuple[Reading, ...] = ()
    consent_text: tuple[str, ...] = ()


class Agreement(Part):
    """One coefficient of agreement over all CATs or items (``scope``: kept or decided).

    ``ci`` is an interval with this ``confidence``.
    """

    scope: str
    classes: str
    measure: str
    value: float | None
    ci: Interval
    cats: int
    labels: int
    few: bool
    confidence: float = 0.95


class Retention(Part):
    """The share of decided items that were kept, in per cent; None if nothing is decided.

    ``domain`` and ``kind`` may be "all". ``open`` items have too few labels to be decided; they
    are not among ``items``.
    """

    domain: str
    kind: str
    items: int
    kept: int
    share: float | None
    open: int = 0


class SentimentShare(Part):
    """The share of negative associations with a gold label, in per cent, over all CATs."""

    kind: str
    label: str
    cats: int
    share: float
    ci: Interval


class PitfallCount(Part):
    """How often a known pitfall was found; ``count`` is None if it was not checked, see ``why``.

    ``unit`` is what is counted: cat, option, target, domain or dataset.
    """

    code: str
    says: str
    severity: str
    count: int | None
    of: int | None
    stereoset: float | None
    why: str | None
    accepted: bool = False
    unit: str = "cat"


class ScoreRow(Part):
    """The metrics of a model or a baseline on one split, for one kind or "both".

    A metric is None if it is not published, or if CATs of this kind do not have it. ``rules`` is
    empty for a baseline. ``few`` says that there are too few terms for the interval.
    ``flags`` says what is wrong with the result, if anything is.
    """

    model: str
    rules: str = ""
    split: str
    kind: str
    cats: int
    terms: int
    lms: float | None = None
    lms_ci: Interval = None
    ss: float | None = None
    ss_ci: Interval = None
    icat: float | None = None
    icat_ci: Interval = None
    few: bool = False
    flags: tuple[str, ...] = ()


class Baseline(Part):
    """A baseline: its rule, why it could not be computed, and where it is beyond chance."""

    model: str
    says: str = ""
    why: str = ""
    beyond: tuple[str, ...] = ()
    rows: tuple[ScoreRow, ...] = ()


class Changes(Part):
    """How a release differs from the version before it: numbers of CATs, and of terms moved.

    ``fields`` has the number of CATs in which each field changed. ``hidden`` counts CATs whose gold
    labels are hidden in one of the versions, so nobody can compare them. ``listed`` counts the CATs
    in ``errata.jsonl``. ``sealed`` says that the texts of one of the test sets are hidden, so the
    test sets are not compared.
    """

    previous: str
    added: int = 0
    removed: int = 0
    changed: int = 0
    relabelled: int = 0
    moved: int = 0
    renumbered: int = 0
    hidden: int = 0
    listed: int = 0
    sealed: bool = False
    fields: dict[str, int] = {}
    terms_to_dev: tuple[str, ...] = ()
    terms_to_test: tuple[str, ...] = ()


class Near(Part):
    """How many test CATs nearly repeat public CATs of a place: dev, a version or a file."""

    place: str
    cats: int
    similarity: float


class Hidden(Part):
    """The split whose gold labels are hidden, and how many CATs and terms it has.

    ``sealed`` is the sha256 of ``sealed.jsonl`` if the texts are hidden, too; else it is empty.
    ``left_out`` has the names of values about these gold labels that are not published, because
    too many would give the labels away.
    """

    split: str
    cats: int
    terms: int
    sealed: str = ""
    left_out: tuple[str, ...] = ()


class TrustRow(Part):
    """One test of one subject, from the trust report; its fields are those of ``Criterion``.

    ``verdict`` and ``limit`` are as people read them, such as "bias grew" and "at least 0.7".
    """

    subject: str
    name: str
    criterion: str
    check: str
    status: str
    verdict: str = ""
    kind: str = "test"
    statistic: str = ""
    value: float | None = None
    ci: Interval = None
    n: int = 0
    unit: str = ""
    p: float | None = None
    power: float | None = None
    threshold: float | None = None
    limit: str = ""
    computed: str = ""
    change: str = ""


class TrustFacts(Part):
    """The trust report: its rows, and the settings in ``[trust]`` that they were judged by.

    ``open`` has the keys of the questions that nobody answered. ``left_out`` counts the rows that
    are not published, because they would say too much about hidden gold labels.
    """

    rows: tuple[TrustRow, ...]
    thresholds: dict[str, Any] = {}
    open: tuple[str, ...] = ()
    left_out: int = 0


class Facts(Part):
    """Everything that a release says about itself. ``seed`` and ``versions`` say how it was made.

    ``date`` is the day of the first build, as YYYY-MM-DD. ``canary`` is the GUID in every card.
    ``canonical`` is the sha256 of the files in ``cats/``, one after the other in order of name.
    ``open`` has the keys of the questions that the team has not answered. ``tiers`` has numbers of
    CATs by tier, or "unknown". ``people`` has numbers of people by what they did: "review", a kind
    of CAT that they wrote, or "validation". ``not_counted`` has numbers of labels of the campaign
    that do not count, and ``not_kept`` of its items that are no CATs, by reason code.
    ``failed_checks`` says what changes without people who failed instruction checks.
    ``sentiment_why`` says why there is no sentiment, and ``unscored`` why each chat model without a
    score has none.
    """

    name: str
    version: str
    language: str
    date: str
    canary: str
    warning: str
    licence: Licence
    other_licences: dict[str, int] = {}
    statement: Statement = Statement()
    open: tuple[str, ...] = ()
    sizes: tuple[Size, ...]
    terms: tuple[TermCount, ...] = ()
    lengths: tuple[Lengths, ...] = ()
    tiers: dict[str, int]
    without_votes: int = 0
    translated: int = 0
    originals_in_both: int = 0
    annotations: int
    annotators: int
    counted: int
    people: dict[str, int] = {}
    not_counted: dict[str, int] = {}
    not_kept: dict[str, int] = {}
    rounds: tuple[RoundFacts, ...] = ()
    decisions: dict[str, Any]
    rounds_settings: dict[str, Any] = {}
    agreement: tuple[Agreement, ...] = ()
    retention: tuple[Retention, ...] = ()
    failed_checks: str = ""
    sentiment: tuple[SentimentShare, ...] = ()
    sentiment_by: str = ""
    sentiment_why: str = ""
    pitfalls: tuple[PitfallCount, ...] = ()
    baselines: tuple[Baseline, ...] = ()
    scores: tuple[ScoreRow, ...] = ()
    unscored: tuple[str, ...] = ()
    seed: int
    dev: float
    keep: str = ""
    versions: dict[str, str] = {}
    changes: Changes | None = None
    near: tuple[Near, ...] = ()
    hidden: Hidden | None = None
    trust: TrustFacts | None = None
    anonymous: bool = False
    canonical: str = ""

    @property
    def total(self) -> int:
        """How many CATs there are."""
        return sum(size.cats for size in self.sizes)

    @property
    def metrics(self) -> list[str]:
        """The metrics of its kinds of CATs, in the order of tables."""
        kinds = {size.kind for size in self.sizes}
        own = {name for kind in ITEMS.values() if kind.name in kinds for name in kind.metrics}
        return [name for name in METRIC_NAMES if name in own]

    @property
    def imported(self) -> tuple[RoundFacts, ...]:
        """The rounds whose answers were imported without a plan."""
        return tuple(made for made in self.rounds if made.kind == "import")

    @property
    def days(self) -> list[str]:
        """The days on which rounds began or ended, in order."""
        return sorted(day for made in self.rounds for day in (made.first, made.last) if day)

    @property
    def main_scores(self) -> list[ScoreRow]:
        """The rows of both kinds of CAT together, and of models that have one kind only."""
        both = {(row.model, row.rules, row.split) for row in self.scores if row.kind == "both"}
        rows = ((row, (row.model, row.rules, row.split)) for row in self.scores)
        return [row for row, key in rows if row.kind == "both" or key not in both]

    @property
    def hides_labels(self) -> bool:
        """Whether gold labels of published texts are hidden, so that few numbers are public."""
        return bool(self.hidden and not self.hidden.sealed)

    @property
    def is_sealed(self) -> bool:
        """Whether the texts of the test set are hidden, so that all its numbers are public."""
        return bool(self.hidden and self.hidden.sealed)
