"""A campaign: its settings (``campaign.toml``), its folder's layout, its lock."""

import difflib
import json
import os
import re
import secrets
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic import model_validator as check_model

from curation.files import CurationError, now, read_text, sweep, writing

SETTINGS = "campaign.toml"
Name = Annotated[
    str, StringConstraints(pattern=r"^[^\x00-\x20/\x7f][^\x00-\x1f/\x7f]*$", max_length=100)
]
RoundName = Annotated[str, StringConstraints(pattern=r"^\w[\w-]*$", max_length=100)]
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
    language: Annotated[
        str,
        Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$", description="language code of the texts"),
    ] = "en"
    domains: Annotated[
        tuple[Name, ...], Field(min_length=1, description="the kinds of group that terms belong to")
    ] = ("gender", "profession", "race", "religion")
    seed: Annotated[
        int, Field(ge=0, description="start of every random draw; same seed, same results")
    ] = 1

    @check_model(mode="after")
    def _names_each_once(self) -> "CampaignSettings":
        if len(set(self.domains)) < len(self.domains):
            raise ValueError("a domain is named twice")
        return self


class RoundSettings(Section):
    """Which of writers' items are let in."""

    name_target: Annotated[
        bool, Field(description="refuse a context that does not name its target")
    ] = True
    blank_alone: Annotated[bool, Field(description="refuse a BLANK that touches a letter")] = True


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
    resamples: Annotated[
        int, Field(ge=100, description="bootstrap resamples behind each interval")
    ] = 1000
    confidence: Annotated[float, Field(gt=0.5, lt=1, description="width of the intervals")] = 0.95


class SplitSettings(Section):
    """How CATs are divided."""

    dev: Annotated[
        float, Field(gt=0, lt=1, description="share of each domain's terms that goes to dev")
    ] = 0.25


class ReleaseSettings(Section):
    """What is published."""

    version: Annotated[Version, Field(description="version, and name of the release's folder")] = (
        "0.1.0"
    )
    licence: Annotated[str, Field(description="licence of the published data")] = "CC BY-SA 4.0"


class Settings(Section):
    """All of ``campaign.toml``."""

    campaign: CampaignSettings
    rounds: RoundSettings = RoundSettings()
    decisions: DecisionSettings = DecisionSettings()
    agreement: AgreementSettings = AgreementSettings()
    split: SplitSettings = SplitSettings()
    release: ReleaseSettings = ReleaseSettings()


@dataclass(frozen=True)
class Campaign:
    """A campaign's folder and its settings."""

    root: Path
    settings: Settings

    @property
    def terms(self) -> Path:
        """Folder of stage 1."""
        return self.root / "1-terms"

    @property
    def rounds(self) -> Path:
        """Folder of stage 2."""
        return self.root / "2-rounds"

    @property
    def decisions(self) -> Path:
        """Folder of stage 3."""
        return self.root / "3-decisions"

    @property
    def releases(self) -> Path:
        """Folder of stage 7."""
        return self.root / "7-release"

    def round_names(self) -> list[str]:
        """The rounds that have answers: raw ones, or items and labels made of them."""
        raw = (path.parents[1].name for path in self.rounds.glob("*/raw/*.jsonl"))
        made = (path.parent.name for path in self.rounds.glob("*/items.jsonl"))
        return sorted({*raw, *made})

    def relative(self, path: Path) -> str:
        """A path as the manifests write it."""
        return path.relative_to(self.root).as_posix()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the campaign, so that no two commands write it at once.

        Raises:
            CurationError: another command holds it; says which, and since when.
        """
        lock, holder = FileLock(self.root / ".lock"), self.root / ".lock-holder"
        try:
            lock.acquire(timeout=0)
        except Timeout:
            who = holder.read_text("utf-8").strip() if holder.exists() else "another command"
            raise CurationError(
                f"{self.root}: in use by {who}", "wait until it has ended, then run this again"
            ) from None
        except PermissionError:
            raise CurationError(
                f"{self.root}: may not be written", "give yourself the right to write there"
            ) from None
        try:
            sweep(self.root)
            command = " ".join(["curation", *sys.argv[1:]])
            with writing(holder) as file:
                file.write(f"«{command}» (process {os.getpid()}, since {now()})".encode())
            yield
        finally:
            holder.unlink(missing_ok=True)
            lock.release()


def open_campaign(root: Path) -> Campaign:
    """Read a campaign's settings.

    Raises:
        CurationError: there is no campaign, or a setting is wrong; names the line and the mend.
    """
    path = root / SETTINGS
    if not path.exists():
        raise CurationError(
            f"{root.resolve()}: no {SETTINGS} here", "go to a campaign, or «curation init DIR»"
        )
    return Campaign(root, read_settings(path))


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
        keys = [str(key) for key in first["loc"]]
        message = first["msg"].removeprefix("Value error, ")
        mend = "see docs/settings.md"
        if first["type"] == "extra_forbidden":
            message = "no such setting"
            near = difflib.get_close_matches(keys[-1], _known(keys[:-1]), 1)
            mend = f"did you mean {near[0]!r}?" if near else mend
        raise CurationError(
            f"{path}{_line(text, keys)}, {'.'.join(keys)}: {message}", mend
        ) from None


def _known(keys: list[str]) -> list[str]:
    section: Any = Settings.model_fields[keys[0]].annotation if keys else Settings
    return list(section.model_fields)


def _line(text: str, keys: list[str]) -> str:
    """Where a setting stands in the file, as « line N»."""
    wanted, section = keys[:2], ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[([^\]]+)\]", line):
            section = header.group(1).strip()
            if wanted == [section]:
                return f" line {number}"
        elif [s for s in [section] if s] == wanted[:-1] and re.match(
            rf"\s*{re.escape(wanted[-1])}\s*=", line
        ):
            return f" line {number}"
    return ""


def new_id() -> str:
    """A fresh campaign id."""
    return "c-" + secrets.token_hex(6)


def settings_text(settings: Settings) -> str:
    """A commented ``campaign.toml``: every setting with its value and its meaning."""
    lines = ["# Settings of a curation campaign. docs/settings.md tells more of each.", ""]
    for name in Settings.model_fields:
        section: Section = getattr(settings, name)
        lines += [f"[{name}]  # {(section.__doc__ or '').strip()}"]
        for key, field in type(section).model_fields.items():
            value = json.dumps(getattr(section, key), ensure_ascii=False)
            lines += [f"# {field.description}", f"{key} = {value}"]
        lines += [""]
    return "\n".join(lines)


IGNORED = """# what people sent, as they sent it, stays on this machine
2-rounds/*/raw/
2-rounds/*/rejected.jsonl
.lock*
.*.tmp
"""


def create_campaign(root: Path, settings: Settings) -> Campaign:
    """Make a campaign's folder.

    Raises:
        CurationError: there is a campaign already, or the folder cannot be written.
    """
    if (root / SETTINGS).exists():
        raise CurationError(
            f"{root}: is a campaign already", f"edit its {SETTINGS}, or choose another folder"
        )
    try:
        root.mkdir(parents=True, exist_ok=True)
        ignored = root / ".gitignore"
        before = ignored.read_text("utf-8").rstrip() + "\n\n" if ignored.exists() else ""
        with writing(ignored) as file:
            file.write((before + IGNORED).encode())
        with writing(root / SETTINGS) as file:
            file.write(settings_text(settings).encode())
    except (PermissionError, NotADirectoryError, FileExistsError) as error:
        raise CurationError(
            f"{root}: cannot be written ({error.strerror})", "choose a folder of your own"
        ) from None
    return Campaign(root, settings)
