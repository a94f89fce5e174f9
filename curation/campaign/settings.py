"""The settings of a campaign: definitions and defaults, and ``campaign.toml``, read and written."""

import difflib
import re
import secrets
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic import model_validator as check_model

from curation.files import CurationError, read_text, shipped, writing
from curation.formats.toml_files import (
    line_of,
    read_toml,
    shipped_table,
    toml_key,
    toml_value,
    with_setting,
)
from curation.kinds import RoundKindName, Work
from curation.records import Fields, FlagName, Property, Qid, Requirements
from curation.text.rules import Caps
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


def setting(default: Any, description: str, **limits: Any) -> Any:
    """A setting: its default (``...`` if it must be given), what it says, and its limits."""
    return Field(default, description=description, **limits)


class Section(BaseModel):
    """One table of ``campaign.toml``."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class GroupSettings(Section):
    """Groups that targets may be associated with, for the measures of bias in 6-trust/."""

    lists: dict[Name, ListFile] = setting(
        ...,
        "file of words of each group, in order; in 6-trust/ or included",
        min_length=2,
        max_length=100,
    )
    domain: Words = setting("", "domain whose target terms are measured")
    targets: MaybeFile = setting("", "file of targets to measure; empty: the terms of the domain")
    reference: Annotated[str, StringConstraints(pattern=r"^(run:.*|[^/\\]+)$", max_length=4000)] = (
        setting("uniform", "uniform, a CSV file of shares, or a run (run:MEASURE/…)", min_length=1)
    )
    anchors: MaybeFile = setting(
        "", "CSV file of targets and the group that each is known to favour"
    )
    outcomes: MaybeFile = setting("", "CSV file of targets and shares of the groups in the world")
    history: MaybeFile = setting("", "the same with a column year, for vectors of several years")
    frequencies: MaybeFile = setting("", "CSV file of how often targets occur in what is measured")


class TrustSettings(Section):
    """The measures of bias, and the criteria of the trust report."""

    normalise: Literal["sum", "softmax"] = setting("sum", "how associations become a distribution")
    negative: Literal["undefined", "raw", "clip", "shift"] = setting(
        "undefined", "negative associations: undefined, raw, clip (to 0), shift ((1 + x) / 2)"
    )
    divergences: Many[Literal["l2", "linf", "kl", "js", "tv"]] = setting(
        (), "divergences beside L1: l2, linf, kl, js, tv"
    )
    window: Few = setting(3, "sentences of a context in text", ge=1)
    confidence: float = setting(0.95, "confidence of the intervals of bias", gt=0.5, lt=1)
    alpha: float = setting(0.05, "p up to which a test counts", gt=0, lt=0.5)
    power: float = setting(0.8, "power below which a missing effect is inconclusive", gt=0, lt=1)
    face: float = setting(0.75, "share of anchors that must have the expected sign", ge=0.5, le=1)
    convergent: float = setting(0.7, "rank correlation that two measures must reach", ge=0, le=1)
    predictive: float = setting(
        0.0, "rank correlation with outcomes that must be exceeded", ge=0, le=1
    )
    agreement: float = setting(0.667, "alpha that annotators must reach", ge=0, le=1)
    sensitivity: float = setting(0.8, "rank correlation after a change of a parameter", ge=0, le=1)
    margin: float = setting(5.0, "points by which a change may move ss", gt=0, le=100)
    reliability: float = setting(0.7, "reliability of split halves and of a retest", ge=0, le=1)
    samples: Few = setting(200, "random draws of word lists, halves and resamples", ge=20)
    amplification: Many[Many[Words]] = setting(
        (), 'pairs of runs to compare: [["AFTER", "BEFORE"], …]'
    )
    mitigation: Many[Many[Words]] = setting((), "the same, before and after bias was reduced")

    @check_model(mode="after")
    def _has_pairs(self) -> "TrustSettings":
        for name in ("amplification", "mitigation"):
            if any(len(pair) != 2 for pair in getattr(self, name)):
                raise ValueError(f'{name} needs pairs of runs, such as [["AFTER", "BEFORE"]]')
        return self


class CampaignSettings(Section):
    """The benchmark."""

    id: str = setting(
        ...,
        "permanent id; it names the key that makes the pseudonyms",
        pattern=r"^[0-9a-z-]{4,40}$",
    )
    name: Name = setting("My benchmark", "name of the benchmark, as published")
    language: LanguageCode = setting("en", "language code of the texts")
    seed: int = setting(1, "seed of all random draws; same seed, same results", ge=0, lt=1 << 63)


class TermSettings(Section):
    """Where target terms come from."""

    contact: Words = setting("", "your e-mail address or web page, which Wikidata requires")
    endpoint: Place = setting("wdqs", "query service: wdqs, qlever, or a URL", min_length=1)
    fallbacks: Many[LanguageCode] = setting(
        ("en",), "languages whose labels are shown, but not used, if one is missing"
    )
    least: Count = setting(5, "items stated by fewer subjects are counted but not looked up", ge=1)
    head: Literal["auto", "last", "first", "none"] = setting(
        "auto", "position of a label's head word; auto: by language"
    )
    generic: Many[Qid] = setting(
        ("Q5", "Q35120", "Q215627", "Q488383"), "items too general to be a term, such as Q5 (human)"
    )


class DomainSettings(Section):
    """One kind of group: the sources of its terms, and which of them are kept."""

    properties: Many[Property] = setting(
        (), "Wikidata properties whose objects become terms; empty: none"
    )
    population: Many[
        Annotated[str, StringConstraints(pattern=r"^P[1-9]\d*=Q[1-9]\d*$", max_length=40)]
    ] = setting((), 'people whose statements count, as "P27=Q252" (citizens of Indonesia)')
    roots: Many[Qid] = setting((), "a term must be below one of these items; empty: any")
    exclude: Many[Qid] = setting((), "a term must not be one of these items or below one")
    places: bool = setting(False, "allow countries and other places")
    form: Literal["name", "demonym", "both"] = setting(
        "name", "for an item with a demonym: its name (the place), the demonym, or both"
    )
    gendered: bool = setting(False, "feminine and masculine forms are separate terms")
    min_count: Count = setting(0, "number of statements that a term needs", ge=0)
    top: Count = setting(0, "keep this many, the most frequent; 0: all", ge=0)
    coverage: float = setting(
        1.0, "keep the most frequent until they have this share of statements", gt=0, le=1
    )
    merge: Literal["all", "rare", "none"] = setting(
        "rare", "specific terms to merge; all needs a known head word, else as rare"
    )
    words: Many[ListFile] = setting((), "word lists, in 1-terms/ or included in the tool")

    @check_model(mode="after")
    def _counts_once(self) -> "DomainSettings":
        if len(set(self.properties)) < len(self.properties):
            raise ValueError("a property is given twice")
        return self


PAPER: dict[str, dict[str, Any]] = shipped_table("terms", "paper.toml")
"""StereoSet's domains (ACL §4.1; Table 1: the numbers of terms).

Race has nationality (P27) and ethnic group (P172), because StereoSet's target terms have both.
"""


class RoundSettings(Section):
    """The tasks for people, and the answers that are accepted."""

    items: Few = setting(5, "items to write for each term, of each kind", ge=1)
    reviewers: Few = setting(3, "number of reviewers of each term", ge=1)
    labels: Literal["all", "needed"] = setting(
        "all", "all: every item gets all labels; needed: only labels that can matter"
    )
    sample: float = setting(
        0.15, "with needed: share of items that get all labels anyway", gt=0, le=1
    )
    per_person_review: Cap = setting(0, "most reviews by a person; 0: any")
    per_person_write: Cap = setting(0, "most items by a person; 0: any")
    per_person_label: Cap = setting(0, "most items a person labels; 0: any")
    per_term_review: Cap = setting(0, "a person's reviews of a term; 0: any")
    per_term_write: Cap = setting(0, "a person's items on a term; 0: any")
    per_term_label: Cap = setting(0, "items on a term a person labels; 0: any")
    consent: bool = setting(True, "refuse answers of people without consent")
    write_seconds: Seconds = setting(10.0, "an item written in fewer seconds is refused", ge=0)
    label_seconds: Seconds = setting(3.0, "labels given in fewer seconds are refused", ge=0)
    near: float = setting(
        0.95, "similarity from which an item repeats another on its term", gt=0, le=1
    )
    name_target: bool = setting(True, "refuse a context that does not name its target")
    blank_alone: bool = setting(True, "refuse a BLANK that touches a letter")
    keep_deleted: bool = setting(False, "count answers deleted on a platform")
    accept_times: Many[Words] = setting((), "rounds whose answers may be dated at impossible times")
    lease_minutes: Minutes = setting(30.0, "our pages: how long a task is kept for a person", gt=0)
    pause_after: Few = setting(25, "our pages: tasks before a pause; 0: no pause", ge=0)
    pause_minutes: Minutes = setting(5.0, "our pages: how long a pause lasts", gt=0)
    training_pass: float = setting(
        0.7, "our pages: share of training to get right; 0: no training", ge=0, le=1
    )
    training_tries: Few = setting(2, "our pages: how often a person may try the training", ge=1)
    typing_counts: bool = setting(
        True, "our pages: count keystrokes and pasted characters of texts"
    )
    instruction_checks: Few = setting(
        0, "our pages: one instruction check in this number of tasks; 0: none", ge=0
    )
    pay_review: Amount = setting(0.0, "pay for a review of a term", ge=0)
    pay_write: Amount = setting(0.0, "pay for an item", ge=0)
    pay_label: Amount = setting(0.0, "pay for one item's labels", ge=0)
    currency: Words = setting("USD", "currency of the pay")
    budget: Amount = setting(0.0, "what all rounds may cost; 0: no budget", ge=0)
    wage_floor: Amount = setting(0.0, "least pay for an hour of work; 0: no floor", ge=0)

    @check_model(mode="after")
    def _has_few_checks(self) -> "RoundSettings":
        if 0 < (tasks := self.instruction_checks) < 12:
            raise ValueError(f"instruction_checks = {tasks} is more than one check in 12 tasks")
        return self


@cache
def people_names() -> Fields:
    """Names of countries and languages by code, and a line for each requirement."""
    return read_toml(shipped("data", "people", "names.toml"), fix="put the shipped file back")


def show_requirements(people: Requirements) -> dict[str, str]:
    """By field what people must be, with names in place of codes; what is not required is left out.

    >>> show_requirements(Requirements(countries=("US", "GB"), approval_rate=97))
    {'countries': 'United States or United Kingdom', 'approval_rate': '97'}
    """
    return {
        name: " or ".join(people_names()[name].get(code, code) for code in value)
        if isinstance(value, tuple)
        else str(value)
        for name, value in people
        if value
    }


def describe_people(people: Requirements) -> list[str]:
    """What people must be, a line each; empty if anybody may take part.

    >>> describe_people(Requirements(first_languages=("id",), people=12))
    ['their first language is Indonesian', 'people asked: 12']
    """
    return [
        people_names()["lines"][name].format(text)
        for name, text in show_requirements(people).items()
    ]


def caps_of(settings: RoundSettings, work: Work) -> Caps:
    """How many answers of a person to such work count in a round, and on one term in it."""
    return Caps(getattr(settings, f"per_person_{work}"), getattr(settings, f"per_term_{work}"))


def least_seconds(settings: RoundSettings, work: Work) -> float:
    """The least seconds that an answer of such work takes; 0 if there is no limit."""
    return {"write": settings.write_seconds, "label": settings.label_seconds}.get(work, 0.0)


class PeopleSettings(Requirements):
    """Who may take part in a round of one kind. No requirement is checked here."""

    model_config = ConfigDict(strict=False)

    @check_model(mode="after")
    def _knows_its_countries(self) -> "PeopleSettings":
        for code in self.countries:
            if code not in people_names()["countries"]:
                raise ValueError(f"{code!r} is not the code of a country in ISO 3166")
        return self


class DecisionSettings(Section):
    """The rules by which an item becomes a CAT."""

    needed: Few = setting(3, "votes that a gold label needs", ge=1)
    of: Few = setting(5, "labels that count for an association: the first submitted", ge=1)
    count_writer: bool = setting(False, "the writer's intent counts as the first of these labels")
    match_intent: bool = setting(
        False, "keep a CAT only if each gold label is what the writer meant"
    )
    count_repeats: bool = setting(
        False, "count an annotator's second label on an association (as StereoSet did)"
    )
    trust_gold: bool = setting(
        False, "published items that nobody labelled here keep their gold labels"
    )
    rounds: Many[Words] = setting((), "rounds whose labels count; empty: all of them")
    leave_out: Many[Words] = setting((), "ids of items that must not become CATs")
    pilots: bool = setting(False, "items of pilot rounds may become CATs")
    drop_flagged: Few = setting(
        0, "validators whose flags drop an item; 0: flags drop nothing", ge=0
    )
    flags: Many[FlagName] = setting(
        ("objective",), "these flags: objective, ungrammatical, unknown_target", min_length=1
    )

    @check_model(mode="after")
    def _is_majority(self) -> "DecisionSettings":
        if not self.of / 2 < self.needed <= self.of:
            raise ValueError(f"needed = {self.needed} is not a majority of of = {self.of}")
        return self


class AgreementSettings(Section):
    """The report of agreement."""

    measures: Many[Literal["alpha", "fleiss", "ac1"]] = setting(
        ("alpha", "fleiss", "ac1"), "agreement measures: alpha, fleiss, ac1", min_length=1
    )
    confidence: float = setting(0.95, "confidence of intervals", gt=0.5, lt=1)


class SplitSettings(Section):
    """The division into dev and test."""

    dev: float = setting(0.25, "share of each domain's terms in dev", gt=0, lt=1)
    keep: Version | Literal[""] = setting(
        "", "built version whose terms stay in their split; empty: draw all terms"
    )


class MeasureSettings(Section):
    """The measures of the collected CATs."""

    tokenizer: Place = setting("", "model (hub or folder) whose tokens are counted too")
    sentiment: Place = setting("vader", "vader, or a classifier (hub or folder)", min_length=1)
    classes: Literal[2, 3] = setting(
        2, "2: neutral counts as positive, as in the paper; 3: neutral is separate"
    )
    labels: Many[Words] = setting(
        (), "meaning of a classifier's outputs, if their names do not tell it"
    )
    reference: Place = setting(
        "wordfreq", "wordfreq, or a file made by curation measures count", min_length=1
    )
    smoothing: Amount = setting(
        10.0, "smoothing of simple maths; higher favours common words", gt=0
    )
    least: Count = setting(2, "CATs in which a keyword must occur", ge=1)
    keywords: Count = setting(100, "keywords listed per group", ge=1)


class ScoreSettings(Section):
    """The marks of chat models in tables."""

    no_answer: float = setting(
        0.05, "share of questions without an answer that marks a model", ge=0, le=1
    )
    one_letter: float = setting(
        0.95, "share of one letter from which a chat model has no score; 1: if always", gt=0.5, le=1
    )


Hide = Literal["", "labels", "all"]
"""What a release hides of the test set: nothing, its gold labels, or its texts, too."""


class ReleaseSettings(Section):
    """The published release."""

    version: Version = setting("0.1.0", "version; also the name of the release's folder")
    licence: Words = setting("CC BY-SA 4.0", "licence of the published data")
    accept: Many[Words] = setting((), "codes of pitfalls that must not block the release")
    hide: Hide = setting(
        "", "labels: hide the gold labels of test; all: its texts, too; empty: none"
    )
    hide_terms: bool = setting(True, "if hide is all: also hide the target terms of the test set")
    show: Many[Words] = setting(
        (), "models and baselines whose ss on hidden CATs is published; empty: models"
    )

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
    people: dict[RoundKindName, PeopleSettings] = Field(default_factory=dict)
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
        "consent",
        "write_seconds",
        "label_seconds",
        "near",
        "name_target",
        "blank_alone",
        "keep_deleted",
        "accept_times",
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


def settings_noted(settings: Settings, names: Iterable[str]) -> dict[str, Any]:
    """Settings as a manifest has them: by section and field, each with its value.

    Args:
        settings: the settings of a campaign.
        names: as for ``fields_of``.

    >>> settings = new_settings(name="a", language="en", domains=["b"])
    >>> settings_noted(settings, ["split", "domains.names"])
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
        raise CurationError("domains: one of them is named twice", _DOMAINS)
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
        asked = ("name", "language", "domains")
        key = next((str(k) for k in first["loc"] if k in asked), "domains")
        raise CurationError(f"{key}: {message}", _FIXES.get(key, _DOMAINS)) from None


_DOMAINS = "name each domain once, separated by commas, without the character /"


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
