"""A campaign's settings (``campaign.toml``): what can be set, its defaults, reading and writing."""

import difflib
import json
import re
import secrets
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic import model_validator as check_model

from curation.files import CurationError, read_text
from curation.records import Property, Qid

Name = Annotated[
    str, StringConstraints(pattern=r"^[^\x00-\x20/\x7f][^\x00-\x1f/\x7f]*$", max_length=100)
]
RoundName = Annotated[str, StringConstraints(pattern=r"^\w[\w-]*$", max_length=100)]
LanguageCode = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$")]
Version = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+-]*$", max_length=40)]


class Section(BaseModel):
    """One table of ``campaign.toml``."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CampaignSettings(Section):
    """What is being built."""

    id: Annotated[
        str,
        Field(
            pattern=r"^[0-9a-z-]{4,40}$",
            description="permanent id; names the key under which people get their pseudonyms",
        ),
    ]
    name: Annotated[Name, Field(description="the benchmark's name, as it is published")] = (
        "My benchmark"
    )
    language: Annotated[LanguageCode, Field(description="language code of the texts")] = "en"
    seed: Annotated[
        int, Field(ge=0, description="start of every random draw; same seed, same results")
    ] = 1


class TermSettings(Section):
    """Where target terms come from."""

    contact: Annotated[
        str, Field(description="your mail address or page; Wikidata answers nobody without one")
    ] = ""
    endpoint: Annotated[
        str, Field(min_length=1, description="query service: wdqs, qlever, or a URL")
    ] = "wdqs"
    fallbacks: Annotated[
        tuple[LanguageCode, ...],
        Field(description="languages shown for what has no label in the campaign's, never taken"),
    ] = ("en",)
    least: Annotated[
        int, Field(ge=1, description="what fewer subjects state is counted and not looked up")
    ] = 5
    head: Annotated[
        Literal["auto", "last", "first", "none"],
        Field(description="where a label's head word stands; auto: as known of the language"),
    ] = "auto"
    generic: Annotated[
        tuple[Qid, ...], Field(description="items too general for a term, such as Q5 (human)")
    ] = ("Q5", "Q35120", "Q215627", "Q488383")


class DomainSettings(Section):
    """One kind of group: where its terms come from, and which are taken."""

    properties: Annotated[
        tuple[Property, ...],
        Field(description="Wikidata properties whose objects are terms; empty: not from Wikidata"),
    ] = ()
    population: Annotated[
        tuple[Annotated[str, StringConstraints(pattern=r"^P[1-9]\d*=Q[1-9]\d*$")], ...],
        Field(description='whose statements count, as "P27=Q252" (citizens of Indonesia)'),
    ] = ()
    roots: Annotated[
        tuple[Qid, ...], Field(description="a term lies under one of these items; empty: anywhere")
    ] = ()
    exclude: Annotated[
        tuple[Qid, ...], Field(description="a term lies under none of these items")
    ] = ()
    places: Annotated[bool, Field(description="let countries and other places in")] = False
    form: Annotated[
        Literal["name", "demonym", "both"],
        Field(description="of what has a demonym: its name (the place), the demonym, or both"),
    ] = "name"
    gendered: Annotated[bool, Field(description="female and male forms are terms of their own")] = (
        False
    )
    min_count: Annotated[int, Field(ge=0, description="statements that a term needs")] = 0
    top: Annotated[int, Field(ge=0, description="take so many, the most frequent; 0: all")] = 0
    coverage: Annotated[
        float,
        Field(gt=0, le=1, description="take the most frequent that hold this share of statements"),
    ] = 1.0
    merge: Annotated[
        Literal["all", "rare", "none"],
        Field(description="which finer terms merge upward; all needs a known head, else as rare"),
    ] = "rare"
    words: Annotated[
        tuple[Annotated[str, StringConstraints(pattern=r"^[^/\\]+$")], ...],
        Field(description="word lists, in 1-terms/ or shipped with the tool"),
    ] = ()

    @check_model(mode="after")
    def _counts_once(self) -> "DomainSettings":
        if len(set(self.properties)) < len(self.properties):
            raise ValueError("a property is named twice")
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
"""StereoSet's domains (ACL §4.1; Table 1: the numbers of terms). Nationality (P27) stands beside
ethnic group (P172), for that is what its list of target terms holds.
"""


class RoundSettings(Section):
    """What people are asked, and which answers are let in."""

    items: Annotated[int, Field(ge=1, description="items of each kind written on a term")] = 5
    reviewers: Annotated[int, Field(ge=1, description="people who review each term")] = 3
    labels: Annotated[
        Literal["all", "needed"],
        Field(description="all: every item gets all labels; needed: those that can still decide"),
    ] = "all"
    sample: Annotated[
        float,
        Field(gt=0, le=1, description="with needed, share of items that get all labels anyway"),
    ] = 0.15
    per_person: Annotated[
        int, Field(ge=0, description="answers that a person may give in a round; 0: no limit")
    ] = 0
    per_term: Annotated[
        int, Field(ge=0, description="answers that a person may give on a term in a round; 0: any")
    ] = 0
    consent: Annotated[
        bool, Field(description="refuse answers of people who have not consented to the round")
    ] = True
    write_seconds: Annotated[
        float, Field(ge=0, description="an item written in less time is refused")
    ] = 10.0
    label_seconds: Annotated[
        float, Field(ge=0, description="an answer of labels given in less time is refused")
    ] = 3.0
    near: Annotated[
        float,
        Field(gt=0, le=1, description="likeness at which an item repeats another on its term"),
    ] = 0.95
    name_target: Annotated[
        bool, Field(description="refuse a context that does not name its target")
    ] = True
    blank_alone: Annotated[bool, Field(description="refuse a BLANK that touches a letter")] = True
    keep_deleted: Annotated[
        bool, Field(description="count answers that were deleted on the platform")
    ] = False
    pay_review: Annotated[float, Field(ge=0, description="pay for a review of a term")] = 0.0
    pay_write: Annotated[float, Field(ge=0, description="pay for an item")] = 0.0
    pay_label: Annotated[float, Field(ge=0, description="pay for one item's labels")] = 0.0
    currency: Annotated[str, Field(description="what pay is counted in")] = "USD"


class DecisionSettings(Section):
    """When an item becomes a CAT."""

    needed: Annotated[
        int, Field(ge=1, description="votes that make a label an association's gold label")
    ] = 3
    of: Annotated[
        int, Field(ge=1, description="labels that count for an association; the first ones sent")
    ] = 5
    count_writer: Annotated[
        bool, Field(description="the writer's intent counts as the first of these labels")
    ] = False
    match_intent: Annotated[
        bool, Field(description="keep a CAT only where each gold label is what the writer meant")
    ] = False
    count_repeats: Annotated[
        bool,
        Field(description="count an annotator's second label on an association (as StereoSet did)"),
    ] = False
    rounds: Annotated[
        tuple[str, ...], Field(description="rounds whose labels count; empty: all of them")
    ] = ()
    leave_out: Annotated[
        tuple[str, ...], Field(description="ids of items that shall not become CATs")
    ] = ()

    @check_model(mode="after")
    def _is_majority(self) -> "DecisionSettings":
        if not self.of / 2 < self.needed <= self.of:
            raise ValueError(f"needed = {self.needed} is not a majority of of = {self.of}")
        return self


class AgreementSettings(Section):
    """How agreement is reported."""

    measures: Annotated[
        tuple[Literal["alpha", "fleiss", "ac1"], ...],
        Field(min_length=1, description="agreement measures: alpha, fleiss, ac1"),
    ] = ("alpha", "fleiss", "ac1")
    confidence: Annotated[float, Field(gt=0.5, lt=1, description="width of the intervals")] = 0.95

    @check_model(mode="before")
    @classmethod
    def _without_resamples(cls, given: Any) -> Any:
        """Campaigns of earlier versions say how often to resample; nothing is resampled now."""
        if isinstance(given, dict):
            return {key: value for key, value in given.items() if key != "resamples"}
        return given


class SplitSettings(Section):
    """How CATs are divided."""

    dev: Annotated[
        float, Field(gt=0, lt=1, description="share of each domain's terms that goes to dev")
    ] = 0.25


class MeasureSettings(Section):
    """How what was collected is measured."""

    tokenizer: Annotated[
        str, Field(description="a model, on the hub or a folder, whose tokens are counted, too")
    ] = ""
    sentiment: Annotated[
        str, Field(min_length=1, description="vader, or a classifier's name on the hub or folder")
    ] = "vader"
    classes: Annotated[
        Literal[2, 3],
        Field(description="2: neutral counts as positive, as in the paper; 3: it is on its own"),
    ] = 2
    labels: Annotated[
        tuple[str, ...],
        Field(description="what a classifier's outputs mean, where its own names do not say it"),
    ] = ()
    reference: Annotated[
        str, Field(min_length=1, description="wordfreq, or a file of curation measures count")
    ] = "wordfreq"
    smoothing: Annotated[
        float, Field(gt=0, description="what simple maths adds; higher favours commoner words")
    ] = 10.0
    least: Annotated[int, Field(ge=1, description="CATs in which a keyword stands at least")] = 2
    keywords: Annotated[int, Field(ge=1, description="keywords kept of each group")] = 100


class ReleaseSettings(Section):
    """What is published."""

    version: Annotated[Version, Field(description="version, and name of the release's folder")] = (
        "0.1.0"
    )
    licence: Annotated[str, Field(description="licence of the published data")] = "CC BY-SA 4.0"
    accept: Annotated[
        tuple[str, ...], Field(description="pitfalls that block a release, and shall not")
    ] = ()


class Settings(Section):
    """All of ``campaign.toml``."""

    campaign: CampaignSettings
    terms: TermSettings = TermSettings()
    domains: Annotated[dict[Name, DomainSettings], Field(min_length=1)] = Field(
        default_factory=lambda: {n: DomainSettings.model_validate(d) for n, d in PAPER.items()}
    )
    rounds: RoundSettings = RoundSettings()
    decisions: DecisionSettings = DecisionSettings()
    agreement: AgreementSettings = AgreementSettings()
    split: SplitSettings = SplitSettings()
    measures: MeasureSettings = MeasureSettings()
    release: ReleaseSettings = ReleaseSettings()

    @check_model(mode="before")
    @classmethod
    def _begin_from_the_paper(cls, given: Any) -> Any:
        """A domain of the paper's name has the paper's values where it says nothing else."""
        domains = given.get("domains") if isinstance(given, dict) else None
        if not isinstance(domains, dict):
            return given
        whole = {
            name: {**PAPER.get(name, {}), **said} if isinstance(said, dict) else said
            for name, said in domains.items()
        }
        return {**given, "domains": whole}


def read_settings(path: Path) -> Settings:
    """Read a ``campaign.toml``.

    Raises:
        CurationError: it is no TOML, or a setting is unknown or out of range.
    """
    text = read_text(path)
    try:
        return Settings.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise CurationError(f"{path}: {error}", "see docs/settings.md for the form") from None
    except ValidationError as error:
        first = error.errors()[0]
        keys = [str(key) for key in first["loc"] if key != "[key]"]
        message = first["msg"].removeprefix("Value error, ")
        fix = "see docs/settings.md"
        if first["type"] == "extra_forbidden":
            message = "no such setting"
            near = difflib.get_close_matches(keys[-1], _known(keys[:-1]), 1)
            fix = f"did you mean {near[0]!r}?" if near else fix
        raise CurationError(
            f"{path}{_line(text, keys)}, {'.'.join(keys)}: {message}", fix
        ) from None


def _known(keys: list[str]) -> list[str]:
    if keys[:1] == ["domains"]:
        return list(DomainSettings.model_fields)
    section: Any = Settings.model_fields[keys[0]].annotation if keys else Settings
    return list(section.model_fields)


def _line(text: str, keys: list[str]) -> str:
    """Where a setting stands in the file, as « line N»."""
    depth = 2 if keys[0] == "domains" else 1
    table, key, section = _plain(".".join(keys[:depth])), "".join(keys[depth : depth + 1]), ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[([^\]]+)\]", line):
            section = _plain(header.group(1))
            if not key and section == table:
                return f" line {number}"
        elif (section == table and _is_key(line, key)) or (not section and _is_key(line, keys[0])):
            return f" line {number}"
    return ""


def _plain(header: str) -> str:
    return re.sub(r"[\"'\s]", "", header)


def _is_key(line: str, key: str) -> bool:
    return bool(re.match(rf"\s*{re.escape(key)}\s*=", line))


def new_id() -> str:
    """A fresh campaign id."""
    return "c-" + secrets.token_hex(6)


def settings_text(settings: Settings) -> str:
    """A commented ``campaign.toml``: every setting with its value and its meaning."""
    lines = ["# Settings of a curation campaign. docs/settings.md tells more of each.", ""]
    explained: set[type] = set()
    for name in Settings.model_fields:
        value = getattr(settings, name)
        tables = value if isinstance(value, dict) else {"": value}
        for part, section in tables.items():
            head = name if not part else f"{name}.{_toml_key(part)}"
            new, kind = type(section) not in explained, type(section)
            explained.add(kind)
            lines += [f"[{head}]" + (f"  # {(kind.__doc__ or '').strip()}" if new else "")]
            for key, field in kind.model_fields.items():
                said = json.dumps(getattr(section, key), ensure_ascii=False)
                lines += [f"# {field.description}"] if new else []
                lines += [f"{key} = {said}"]
            lines += [""]
    return "\n".join(lines)


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
