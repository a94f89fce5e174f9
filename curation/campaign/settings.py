"""The settings of a campaign: definitions and defaults, and ``campaign.toml``, read and written."""

import difflib
import re
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic import model_validator as check_model

from curation.files import CurationError, read_text, writing
from curation.formats.requirements import names
from curation.formats.toml_files import line_of, read_toml, toml_key, toml_value, with_setting
from curation.records import FlagName, Property, Qid, Requirements, RoundKind
from curation.text.words import AFFIXING, base

NAME = r"^[^\x00-\x20/\x7f][^\x00-\x1f/\x7f]*$"
Name = Annotated[str, StringConstraints(pattern=NAME, max_length=100)]
RoundName = Annotated[str, StringConstraints(pattern=r"^\w[\w-]*$", max_length=100)]
LanguageCode = Annotated[
    str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$", max_length=35)
]
Version = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+-]*$", max_length=40)]
Cap = Annotated[int, Field(ge=0, le=1_000_000_000)]
Words = Annotated[str, StringConstraints(max_length=300)]
Place = Annotated[str, StringConstraints(max_length=4000)]  # a path, a URL or a name on the hub
ListFile = Annotated[str, StringConstraints(pattern=r"^[^/\\]+$", max_length=250)]
"""A file in a stage's folder, or one that comes with curation."""
MaybeFile = Annotated[str, StringConstraints(pattern=r"^[^/\\]*$", max_length=250)]
Count = Annotated[int, Field(le=1_000_000_000)]
Few = Annotated[int, Field(le=1000)]  # items on a term, people, votes
Seconds = Annotated[float, Field(le=86_400)]  # at most a day
Minutes = Annotated[float, Field(le=1440)]  # at most a day
Amount = Annotated[float, Field(le=1_000_000_000)]
T = TypeVar("T")
Many = Annotated[tuple[T, ...], Field(max_length=100_000)]


class Section(BaseModel):
    """One table of ``campaign.toml``."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class GroupSettings(Section):
    """Groups that targets may be associated with, for the measures of bias in 6-trust/."""

    lists: Annotated[
        dict[Name, ListFile],
        Field(
            min_length=2,
            max_length=100,
            description="file of words of each group, in order; in 6-trust/ or included",
        ),
    ]
    domain: Annotated[Words, Field(description="domain whose target terms are measured")] = ""
    targets: Annotated[
        MaybeFile, Field(description="file of targets to measure; empty: the terms of the domain")
    ] = ""
    reference: Annotated[
        Annotated[str, StringConstraints(pattern=r"^(run:.*|[^/\\]+)$", max_length=4000)],
        Field(min_length=1, description="uniform, a CSV file of shares, or a run (run:MEASURE/…)"),
    ] = "uniform"
    anchors: Annotated[
        MaybeFile,
        Field(description="CSV file of targets and the group that each is known to favour"),
    ] = ""
    outcomes: Annotated[
        MaybeFile, Field(description="CSV file of targets and shares of the groups in the world")
    ] = ""
    history: Annotated[
        MaybeFile, Field(description="the same with a column year, for vectors of several years")
    ] = ""
    frequencies: Annotated[
        MaybeFile, Field(description="CSV file of how often targets occur in what is measured")
    ] = ""


class TrustSettings(Section):
    """The measures of bias, and the criteria of the trust report."""

    normalise: Annotated[
        Literal["sum", "softmax"], Field(description="how associations become a distribution")
    ] = "sum"
    negative: Annotated[
        Literal["undefined", "raw", "clip", "shift"],
        Field(
            description="negative associations: undefined, raw, clip (to 0), shift ((1 + x) / 2)"
        ),
    ] = "undefined"
    divergences: Annotated[
        Many[Literal["l2", "linf", "kl", "js", "tv"]],
        Field(description="divergences beside L1: l2, linf, kl, js, tv"),
    ] = ()
    window: Annotated[Few, Field(ge=1, description="sentences of a context in text")] = 3
    confidence: Annotated[
        float, Field(gt=0.5, lt=1, description="confidence of the intervals of bias")
    ] = 0.95
    alpha: Annotated[float, Field(gt=0, lt=0.5, description="p up to which a test counts")] = 0.05
    power: Annotated[
        float, Field(gt=0, lt=1, description="power below which a missing effect is inconclusive")
    ] = 0.8
    face: Annotated[
        float, Field(ge=0.5, le=1, description="share of anchors that must have the expected sign")
    ] = 0.75
    convergent: Annotated[
        float, Field(ge=0, le=1, description="rank correlation that two measures must reach")
    ] = 0.7
    predictive: Annotated[
        float, Field(ge=0, le=1, description="rank correlation with outcomes that must be exceeded")
    ] = 0.0
    agreement: Annotated[
        float, Field(ge=0, le=1, description="alpha that annotators must reach")
    ] = 0.667
    sensitivity: Annotated[
        float, Field(ge=0, le=1, description="rank correlation after a change of a parameter")
    ] = 0.8
    margin: Annotated[
        float, Field(gt=0, le=100, description="points by which a change may move ss")
    ] = 5.0
    reliability: Annotated[
        float, Field(ge=0, le=1, description="reliability of split halves and of a retest")
    ] = 0.7
    samples: Annotated[
        Few, Field(ge=20, description="random draws of word lists, halves and resamples")
    ] = 200
    amplification: Annotated[
        Many[Many[Words]], Field(description='pairs of runs to compare: [["AFTER", "BEFORE"], …]')
    ] = ()
    mitigation: Annotated[
        Many[Many[Words]], Field(description="the same, before and after bias was reduced")
    ] = ()

    @check_model(mode="after")
    def _has_pairs(self) -> "TrustSettings":
        for name in ("amplification", "mitigation"):
            if any(len(pair) != 2 for pair in getattr(self, name)):
                raise ValueError(f'{name} needs pairs of runs, such as [["AFTER", "BEFORE"]]')
        return self


class CampaignSettings(Section):
    """The benchmark."""

    id: Annotated[
        str,
        Field(
            pattern=r"^[0-9a-z-]{4,40}$",
            description="permanent id; it names the key that makes the pseudonyms",
        ),
    ]
    name: Annotated[Name, Field(description="name of the benchmark, as published")] = "My benchmark"
    language: Annotated[LanguageCode, Field(description="language code of the texts")] = "en"
    seed: Annotated[
        int,
        Field(ge=0, lt=1 << 63, description="seed of all random draws; same seed, same results"),
    ] = 1


class TermSettings(Section):
    """Where target terms come from."""

    contact: Annotated[
        Words, Field(description="your e-mail address or web page, which Wikidata requires")
    ] = ""
    endpoint: Annotated[
        Place, Field(min_length=1, description="query service: wdqs, qlever, or a URL")
    ] = "wdqs"
    fallbacks: Annotated[
        Many[LanguageCode],
        Field(description="languages whose labels are shown, but not used, if one is missing"),
    ] = ("en",)
    least: Annotated[
        Count,
        Field(ge=1, description="items stated by fewer subjects are counted but not looked up"),
    ] = 5
    head: Annotated[
        Literal["auto", "last", "first", "none"],
        Field(description="position of a label's head word; auto: by language"),
    ] = "auto"
    generic: Annotated[
        Many[Qid], Field(description="items too general to be a term, such as Q5 (human)")
    ] = ("Q5", "Q35120", "Q215627", "Q488383")


class DomainSettings(Section):
    """One kind of group: the sources of its terms, and which of them are kept."""

    properties: Annotated[
        Many[Property],
        Field(description="Wikidata properties whose objects become terms; empty: none"),
    ] = ()
    population: Annotated[
        Many[Annotated[str, StringConstraints(pattern=r"^P[1-9]\d*=Q[1-9]\d*$", max_length=40)]],
        Field(
            description='people whose statements count, as "P27=Q252" (citizens of Indonesia)',
        ),
    ] = ()
    roots: Annotated[
        Many[Qid], Field(description="a term must be below one of these items; empty: any")
    ] = ()
    exclude: Annotated[
        Many[Qid], Field(description="a term must not be one of these items or below one")
    ] = ()
    places: Annotated[bool, Field(description="allow countries and other places")] = False
    form: Annotated[
        Literal["name", "demonym", "both"],
        Field(description="for an item with a demonym: its name (the place), the demonym, or both"),
    ] = "name"
    gendered: Annotated[
        bool, Field(description="feminine and masculine forms are separate terms")
    ] = False
    min_count: Annotated[
        Count, Field(ge=0, description="number of statements that a term needs")
    ] = 0
    top: Annotated[Count, Field(ge=0, description="keep this many, the most frequent; 0: all")] = 0
    coverage: Annotated[
        float,
        Field(
            gt=0,
            le=1,
            description="keep the most frequent until they have this share of statements",
        ),
    ] = 1.0
    merge: Annotated[
        Literal["all", "rare", "none"],
        Field(description="specific terms to merge; all needs a known head word, else as rare"),
    ] = "rare"
    words: Annotated[
        Many[ListFile],
        Field(description="word lists, in 1-terms/ or included in the tool"),
    ] = ()

    @check_model(mode="after")
    def _counts_once(self) -> "DomainSettings":
        if len(set(self.properties)) < len(self.properties):
            raise ValueError("a property is given twice")
        return self


PAPER: dict[str, dict[str, Any]] = {
    "gender": {"words": ("gender.csv",)},
    "profession": {
        "properties": ("P106",),
        "roots": ("Q28640", "Q12737077", "Q4164871"),
        "top": 120,
        "merge": "all",
    },
    "race": {
        "properties": ("P172", "P27"),
        "exclude": ("Q3024240",),
        "places": True,
        "form": "both",
        "top": 149,
    },
    "religion": {"properties": ("P140",), "form": "both", "top": 12, "merge": "all"},
}
"""StereoSet's domains (ACL §4.1; Table 1: the numbers of terms).

Race has nationality (P27) and ethnic group (P172), because StereoSet's target terms have both.
"""


class RoundSettings(Section):
    """The tasks for people, and the answers that are accepted."""

    items: Annotated[Few, Field(ge=1, description="items to write for each term, of each kind")] = 5
    reviewers: Annotated[Few, Field(ge=1, description="number of reviewers of each term")] = 3
    labels: Annotated[
        Literal["all", "needed"],
        Field(description="all: every item gets all labels; needed: only labels that can matter"),
    ] = "all"
    sample: Annotated[
        float,
        Field(gt=0, le=1, description="with needed: share of items that get all labels anyway"),
    ] = 0.15
    per_person_review: Annotated[Cap, Field(description="most reviews by a person; 0: any")] = 0
    per_person_write: Annotated[Cap, Field(description="most items by a person; 0: any")] = 0
    per_person_label: Annotated[Cap, Field(description="most items a person labels; 0: any")] = 0
    per_term_review: Annotated[Cap, Field(description="a person's reviews of a term; 0: any")] = 0
    per_term_write: Annotated[Cap, Field(description="a person's items on a term; 0: any")] = 0
    per_term_label: Annotated[Cap, Field(description="items on a term a person labels; 0: any")] = 0
    consent: Annotated[bool, Field(description="refuse answers of people without consent")] = True
    write_seconds: Annotated[
        Seconds, Field(ge=0, description="an item written in fewer seconds is refused")
    ] = 10.0
    label_seconds: Annotated[
        Seconds, Field(ge=0, description="labels given in fewer seconds are refused")
    ] = 3.0
    near: Annotated[
        float,
        Field(gt=0, le=1, description="similarity from which an item repeats another on its term"),
    ] = 0.95
    name_target: Annotated[
        bool, Field(description="refuse a context that does not name its target")
    ] = True
    blank_alone: Annotated[bool, Field(description="refuse a BLANK that touches a letter")] = True
    keep_deleted: Annotated[bool, Field(description="count answers deleted on a platform")] = False
    accept_times: Annotated[
        Many[Words], Field(description="rounds whose answers may be dated at impossible times")
    ] = ()
    lease_minutes: Annotated[
        Minutes, Field(gt=0, description="our pages: how long a task is kept for a person")
    ] = 30.0
    pause_after: Annotated[
        Few, Field(ge=0, description="our pages: tasks before a pause; 0: no pause")
    ] = 25
    pause_minutes: Annotated[
        Minutes, Field(gt=0, description="our pages: how long a pause lasts")
    ] = 5.0
    training_pass: Annotated[
        float,
        Field(ge=0, le=1, description="our pages: share of training to get right; 0: no training"),
    ] = 0.7
    training_tries: Annotated[
        Few, Field(ge=1, description="our pages: how often a person may try the training")
    ] = 2
    typing_counts: Annotated[
        bool, Field(description="our pages: count keystrokes and pasted characters of texts")
    ] = True
    instruction_checks: Annotated[
        Few,
        Field(
            ge=0, description="our pages: one instruction check in this number of tasks; 0: none"
        ),
    ] = 0
    pay_review: Annotated[Amount, Field(ge=0, description="pay for a review of a term")] = 0.0
    pay_write: Annotated[Amount, Field(ge=0, description="pay for an item")] = 0.0
    pay_label: Annotated[Amount, Field(ge=0, description="pay for one item's labels")] = 0.0
    currency: Annotated[Words, Field(description="currency of the pay")] = "USD"
    budget: Annotated[Amount, Field(ge=0, description="what all rounds may cost; 0: no budget")] = (
        0.0
    )
    wage_floor: Annotated[
        Amount, Field(ge=0, description="least pay for an hour of work; 0: no floor")
    ] = 0.0

    @check_model(mode="after")
    def _has_few_checks(self) -> "RoundSettings":
        if 0 < (tasks := self.instruction_checks) < 12:
            raise ValueError(f"instruction_checks = {tasks} is more than one check in 12 tasks")
        return self


class PeopleSettings(Requirements):
    """Who may take part in a round of one kind. No requirement is checked here."""

    model_config = ConfigDict(strict=False)

    @check_model(mode="after")
    def _knows_its_countries(self) -> "PeopleSettings":
        for code in self.countries:
            if code not in names()["countries"]:
                raise ValueError(f"{code!r} is not the code of a country in ISO 3166")
        return self


class DecisionSettings(Section):
    """The rules by which an item becomes a CAT."""

    needed: Annotated[Few, Field(ge=1, description="votes that a gold label needs")] = 3
    of: Annotated[
        Few, Field(ge=1, description="labels that count for an association: the first submitted")
    ] = 5
    count_writer: Annotated[
        bool, Field(description="the writer's intent counts as the first of these labels")
    ] = False
    match_intent: Annotated[
        bool, Field(description="keep a CAT only if each gold label is what the writer meant")
    ] = False
    count_repeats: Annotated[
        bool,
        Field(description="count an annotator's second label on an association (as StereoSet did)"),
    ] = False
    trust_gold: Annotated[
        bool,
        Field(description="published items that nobody labelled here keep their gold labels"),
    ] = False
    rounds: Annotated[
        Many[Words], Field(description="rounds whose labels count; empty: all of them")
    ] = ()
    leave_out: Annotated[
        Many[Words], Field(description="ids of items that must not become CATs")
    ] = ()
    pilots: Annotated[bool, Field(description="items of pilot rounds may become CATs")] = False
    drop_flagged: Annotated[
        Few, Field(ge=0, description="validators whose flags drop an item; 0: flags drop nothing")
    ] = 0
    flags: Annotated[
        Many[FlagName],
        Field(min_length=1, description="these flags: objective, ungrammatical, unknown_target"),
    ] = ("objective",)

    @check_model(mode="after")
    def _is_majority(self) -> "DecisionSettings":
        if not self.of / 2 < self.needed <= self.of:
            raise ValueError(f"needed = {self.needed} is not a majority of of = {self.of}")
        return self


class AgreementSettings(Section):
    """The report of agreement."""

    measures: Annotated[
        Many[Literal["alpha", "fleiss", "ac1"]],
        Field(min_length=1, description="agreement measures: alpha, fleiss, ac1"),
    ] = ("alpha", "fleiss", "ac1")
    confidence: Annotated[float, Field(gt=0.5, lt=1, description="confidence of intervals")] = 0.95


class SplitSettings(Section):
    """The division into dev and test."""

    dev: Annotated[float, Field(gt=0, lt=1, description="share of each domain's terms in dev")] = (
        0.25
    )
    keep: Annotated[
        Version | Literal[""],
        Field(description="built version whose terms stay in their split; empty: draw all terms"),
    ] = ""


class MeasureSettings(Section):
    """The measures of the collected CATs."""

    tokenizer: Annotated[
        Place, Field(description="model (hub or folder) whose tokens are counted too")
    ] = ""
    sentiment: Annotated[
        Place, Field(min_length=1, description="vader, or a classifier (hub or folder)")
    ] = "vader"
    classes: Annotated[
        Literal[2, 3],
        Field(description="2: neutral counts as positive, as in the paper; 3: neutral is separate"),
    ] = 2
    labels: Annotated[
        Many[Words],
        Field(description="meaning of a classifier's outputs, if their names do not tell it"),
    ] = ()
    reference: Annotated[
        Place,
        Field(min_length=1, description="wordfreq, or a file made by curation measures count"),
    ] = "wordfreq"
    smoothing: Annotated[
        Amount, Field(gt=0, description="smoothing of simple maths; higher favours common words")
    ] = 10.0
    least: Annotated[Count, Field(ge=1, description="CATs in which a keyword must occur")] = 2
    keywords: Annotated[Count, Field(ge=1, description="keywords listed per group")] = 100


class ScoreSettings(Section):
    """The marks of chat models in tables."""

    no_answer: Annotated[
        float,
        Field(ge=0, le=1, description="share of questions without an answer that marks a model"),
    ] = 0.05
    one_letter: Annotated[
        float,
        Field(
            gt=0.5,
            le=1,
            description="share of one letter from which a chat model has no score; 1: if always",
        ),
    ] = 0.95


Hide = Literal["", "labels", "all"]
"""What a release hides of the test set: nothing, its gold labels, or its texts, too."""


class ReleaseSettings(Section):
    """The published release."""

    version: Annotated[
        Version, Field(description="version; also the name of the release's folder")
    ] = "0.1.0"
    licence: Annotated[Words, Field(description="licence of the published data")] = "CC BY-SA 4.0"
    accept: Annotated[
        Many[Words], Field(description="codes of pitfalls that must not block the release")
    ] = ()
    hide: Annotated[
        Hide,
        Field(description="labels: hide the gold labels of test; all: its texts, too; empty: none"),
    ] = ""
    hide_terms: Annotated[
        bool, Field(description="if hide is all: also hide the target terms of the test set")
    ] = True
    show: Annotated[
        Many[Words],
        Field(
            description="models and baselines whose ss on hidden CATs is published; empty: models"
        ),
    ] = ()

    @check_model(mode="after")
    def _has_a_folder_of_its_own(self) -> "ReleaseSettings":
        if self.version.endswith(("-anonymous", "-revealed")):
            raise ValueError(f"version = {self.version!r} must not end in -anonymous or -revealed")
        return self


class Settings(Section):
    """The whole of ``campaign.toml``."""

    campaign: CampaignSettings
    terms: TermSettings = TermSettings()
    domains: Annotated[dict[Name, DomainSettings], Field(min_length=1, max_length=100)] = Field(
        default_factory=lambda: {n: DomainSettings.model_validate(d) for n, d in PAPER.items()}
    )
    rounds: RoundSettings = RoundSettings()
    people: dict[RoundKind, PeopleSettings] = Field(default_factory=dict)
    decisions: DecisionSettings = DecisionSettings()
    agreement: AgreementSettings = AgreementSettings()
    split: SplitSettings = SplitSettings()
    measures: MeasureSettings = MeasureSettings()
    scores: ScoreSettings = ScoreSettings()
    groups: Annotated[dict[Name, GroupSettings], Field(max_length=100)] = Field(
        default_factory=dict
    )
    trust: TrustSettings = TrustSettings()
    release: ReleaseSettings = ReleaseSettings()

    @check_model(mode="before")
    @classmethod
    def _begin_from_the_paper(cls, given: Any) -> Any:
        """Fill in the paper's values for domains that have a name of the paper's domains."""
        domains = given.get("domains") if isinstance(given, dict) else None
        if not isinstance(domains, dict):
            return given
        whole = {
            name: {**PAPER.get(name, {}), **values} if isinstance(values, dict) else values
            for name, values in domains.items()
        }
        return {**given, "domains": whole}


FIELDS: dict[str, tuple[str, ...]] = {
    "rounds.caps": tuple(
        f"per_{of}_{work}" for of in ("person", "term") for work in ("review", "write", "label")
    ),
    "rounds.form": ("name_target", "blank_alone"),
    "rounds.letting_in": (
        *("consent", "write_seconds", "label_seconds", "near"),
        *("name_target", "blank_alone", "keep_deleted", "accept_times"),
    ),
    "rounds.published": tuple(
        name
        for name in RoundSettings.model_fields
        if name not in ("pay_review", "pay_write", "pay_label", "wage_floor", "budget")
    ),
    "terms.selecting": ("fallbacks", "least", "head", "generic"),
    "release.building": ("version", "licence", "accept", "hide_terms", "show"),
    "measures.classifying": ("sentiment", "classes", "labels"),
    "measures.comparing": ("reference", "smoothing", "least", "keywords"),
}
"""Settings of a section that go together, by the name under which a step declares them.

"rounds.letting_in" decides, with the caps, which answers are let in; the others plan rounds.
"""


def fields_of(name: str) -> tuple[str, ...]:
    """The settings that a name stands for: a section, one of its fields, or a group of ``FIELDS``.

    Returns:
        Names of fields of the section; none for the names of the tables in it, as in
        "domains.names".

    >>> fields_of("rounds.form"), fields_of("campaign.seed"), fields_of("split")
    (('name_target', 'blank_alone'), ('seed',), ('dev', 'keep'))
    """
    section, _, field = name.partition(".")
    if section in _TABLES:
        return ()
    if field:
        return FIELDS.get(name, (field,))
    return tuple(_known([section]))


def noted(settings: Settings, names: Iterable[str]) -> dict[str, Any]:
    """Settings as a manifest has them: by section and field, each with its value.

    Args:
        settings: the settings of a campaign.
        names: as for ``fields_of``.

    >>> noted(new_settings(name="a", language="en", domains=["b"]), ["split", "domains.names"])
    {'split.dev': 0.25, 'split.keep': '', 'domains': ['b']}
    """
    made: dict[str, Any] = {}
    for name in names:
        section, _, field = name.partition(".")
        own = getattr(settings, section)
        if section in _TABLES:
            made[section] = [*own]
            if not field:
                made |= {f"{section}.{key}": table.model_dump() for key, table in own.items()}
        made |= {f"{section}.{each}": getattr(own, each) for each in fields_of(name)}
    return made


def new_id() -> str:
    """A new campaign id."""
    return "c-" + secrets.token_hex(6)


def new_settings(*, name: str, language: str, domains: Sequence[str]) -> Settings:
    """The settings of a new campaign, with an id of its own.

    Where a language joins affixes to words, a context may join them to BLANK (``blank_alone``).

    Args:
        name: the benchmark's name.
        language: language code of the texts.
        domains: the names of the domains; those of the paper have its properties and word lists.

    Raises:
        CurationError: one of these is not valid.
    """
    if len(set(domains)) < len(domains):
        raise CurationError("domains: one of them is named twice", _HINTS["domains"])
    try:
        return Settings.model_validate(
            {
                "campaign": {"id": new_id(), "name": name, "language": language},
                "domains": {domain: {} for domain in domains},
                "rounds": {"blank_alone": base(language) not in AFFIXING},
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"].removeprefix("Value error, ")
        if first["type"] == "string_pattern_mismatch":
            message = f"{first['input']!r} is not valid"
        key = next((str(k) for k in first["loc"] if k in _HINTS), "domains")
        raise CurationError(f"{key}: {message}", _HINTS[key]) from None


_HINTS = {
    "name": "use printable characters only",
    "language": "use a language code such as en, de or pt-BR",
    "domains": "name each domain once, separated by commas, without the character /",
}


def is_name(text: str) -> bool:
    """Whether a domain can have this name."""
    return bool(re.fullmatch(NAME, text)) and len(text) <= 100


_FILE = "use the name of a file in the folder {}, without / and \\"
_FIXES = {
    "version": "use letters, digits and the characters . + -, and begin with a letter or a digit, "
    'such as "0.1.0"',
    "name": "use printable characters without /",
    "language": 'use a language code, such as "en" or "pt-BR"',
    "properties": 'use properties of Wikidata, such as "P106"',
    "population": 'use a property and an item of Wikidata, such as "P27=Q252"',
    "words": _FILE.format("1-terms/"),
    **dict.fromkeys(("countries", "first_languages"), 'use codes such as "GB" or "en"'),
    **dict.fromkeys(
        ("lists", "targets", "reference", "anchors", "outcomes", "history", "frequencies"),
        _FILE.format("6-trust/"),
    ),
    **dict.fromkeys(("generic", "roots", "exclude"), 'use items of Wikidata, such as "Q5"'),
}
"""How to write a setting whose text does not have the right form."""
_TABLES: dict[str, type[BaseModel]] = {
    "domains": DomainSettings,
    "people": PeopleSettings,
    "groups": GroupSettings,
}
"""The settings of which there is a table for each name, such as ``[domains.NAME]``."""


def read_settings(path: Path) -> Settings:
    """Read a ``campaign.toml``.

    Raises:
        CurationError: the file is not TOML, or a setting is unknown or out of range; the message
            names the line.
    """
    content = read_toml(path, fix="see docs/settings.md for the format")
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        keys = [str(key) for key in first["loc"] if key != "[key]"]
        message = first["msg"].removeprefix("Value error, ")
        fix = "see docs/settings.md"
        if first["type"] == "extra_forbidden":
            message = "no such setting"
            near = difflib.get_close_matches(keys[-1], _known(keys[:-1]), 1)
            fix = f"did you mean {near[0]!r}?" if near else fix
        elif first["type"] == "string_pattern_mismatch":
            message = f"{str(first['input'])[:100]!r} is not valid"
            fix = next((_FIXES[key] for key in reversed(keys) if key in _FIXES), fix)
        line = line_of(read_text(path), keys, depth=2 if keys[0] in _TABLES else 1)
        raise CurationError(f"{path}{line}, {'.'.join(keys)[:200]}: {message}", fix) from None


def write_setting(path: Path, table: str, key: str, value: str | list[str]) -> None:
    """Write a setting into a ``campaign.toml``; comments, order and other settings stay.

    Args:
        path: the file.
        table: the name of the table.
        key: the setting.
        value: its new value.

    Raises:
        CurationError: the file is a link or cannot be written; the message has the line to add.
    """
    line = f"{key} = {toml_value(value)}"
    try:
        new = with_setting(read_text(path), table, key, value)
        with writing(path, private=not path.stat().st_mode & 0o77) as file:
            file.write(new.encode())
    except CurationError as error:
        raise CurationError(
            f"{path}: {line} in [{table}] could not be added: {error.what}",
            f"add {line} to [{table}] yourself, then run this again",
        ) from None


def _known(keys: list[str]) -> list[str]:
    if keys and keys[0] in _TABLES:
        return list(_TABLES[keys[0]].model_fields)
    section: Any = Settings.model_fields[keys[0]].annotation if keys else Settings
    return list(section.model_fields)


def settings_text(settings: Settings) -> str:
    """A ``campaign.toml`` with every setting, its value and a comment that explains it."""
    lines = ["# Settings of a curation campaign. docs/settings.md describes each of them.", ""]
    explained: set[type] = set()
    for name in Settings.model_fields:
        value = getattr(settings, name)
        tables = value if isinstance(value, dict) else {"": value}
        for part, section in tables.items():
            head = name if not part else f"{name}.{toml_key(part)}"
            new, kind = type(section) not in explained, type(section)
            explained.add(kind)
            lines += [f"[{head}]" + (f"  # {(kind.__doc__ or '').strip()}" if new else "")]
            for key, field in kind.model_fields.items():
                text = toml_value(getattr(section, key))
                lines += [f"# {field.description}"] if new else []
                lines += [f"{key} = {text}"]
            lines += [""]
    return "\n".join(lines)
