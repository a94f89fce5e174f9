"""The settings of a campaign (``campaign.toml``): definitions and defaults."""

import re
import secrets
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints
from pydantic import model_validator as check_model

from curation.records import Property, Qid
from curation.setting_types import (
    NAME,
    Amount,
    Cap,
    Count,
    Few,
    LanguageCode,
    ListFile,
    Many,
    Name,
    Place,
    Seconds,
    Section,
    Version,
    Words,
)
from curation.trust_settings import GroupSettings, TrustSettings


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
    per_person: Annotated[Cap | None, Field(description="earlier name of per_person_…")] = None
    per_term: Annotated[Cap | None, Field(description="earlier name of per_term_…")] = None
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
    pay_review: Annotated[Amount, Field(ge=0, description="pay for a review of a term")] = 0.0
    pay_write: Annotated[Amount, Field(ge=0, description="pay for an item")] = 0.0
    pay_label: Annotated[Amount, Field(ge=0, description="pay for one item's labels")] = 0.0
    currency: Annotated[Words, Field(description="currency of the pay")] = "USD"


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

    @check_model(mode="before")
    @classmethod
    def _without_resamples(cls, given: Any) -> Any:
        """Ignore ``resamples``, a setting of earlier versions; nothing is resampled now."""
        if isinstance(given, dict):
            return {key: value for key, value in given.items() if key != "resamples"}
        return given


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


def new_id() -> str:
    """A new campaign id."""
    return "c-" + secrets.token_hex(6)


def is_name(text: str) -> bool:
    """Whether a domain can have this name."""
    return bool(re.fullmatch(NAME, text)) and len(text) <= 100
