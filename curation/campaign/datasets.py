"""The datasets of a campaign that several stages read."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from curation.campaign.dataset import (
    ANSWERED,
    Dataset,
    RoundDataset,
    answer_files,
    in_file,
    in_files,
    of_round,
    shipped_file,
)
from curation.files import CurationError, read_json, read_records, read_table
from curation.formats.table_words import Sections, wrong_text
from curation.kinds import RoundKindName
from curation.records import (
    Answer,
    Cat,
    Correction,
    Decision,
    Flag,
    InstructionChecks,
    Item,
    Label,
    Person,
    Pitfall,
    Rejection,
    Round,
    Standing,
    Task,
    Term,
    Typing,
)

if TYPE_CHECKING:
    import pandas as pd

    from curation.campaign.store import Campaign


def not_in_copy(path: Path) -> CurationError:
    """The error if a private file of a round is missing, as in a clone of a repository."""
    return CurationError(
        f"{path}: is not in this copy of the campaign",
        "copy tasks.jsonl and items.jsonl of every round from the machine that has the raw answers "
        "(docs/campaign.md, Privacy): they are private, so .gitignore leaves them out",
    )


def _read_tasks(path: Path) -> tuple[Task, ...]:
    if not path.exists():
        raise not_in_copy(path)
    return tuple(read_records(path, Task))


def _read_texts(path: Path) -> Sections | None:
    if not path.exists():
        return None
    texts = read_json(path)
    if not isinstance(texts, dict):
        raise CurationError(f"{path}: not a JSON object", "put the file back as it was")
    if field := wrong_text(texts):
        raise CurationError(
            f"{path}, field {field!r}: not a text of a round", "put the file back as it was"
        )
    return texts


TASKS = RoundDataset("tasks.jsonl", _read_tasks)
TEXTS = RoundDataset("texts.json", _read_texts)
ANSWERS = of_round("answers.jsonl", Answer)
REJECTED = of_round("rejected.jsonl", Rejection)
ITEM_PITFALLS = of_round("pitfalls.jsonl", Pitfall)
FLAGS = of_round("flags.jsonl", Flag)
CHECKS = of_round("checks.jsonl", InstructionChecks)
TYPING = of_round("typing.jsonl", Typing)


def _opened(campaign: "Campaign") -> list[Path]:
    return sorted(campaign.folder("rounds").glob("*/round.json"))


def _read_rounds(campaign: "Campaign") -> tuple[Round, ...]:
    rounds = [campaign.round(path.parent.name) for path in _opened(campaign)]
    return tuple(sorted(rounds, key=lambda each: (each.opened_at or "9", each.name)))


ROUNDS: Dataset[tuple[Round, ...]] = Dataset("rounds", _opened, _read_rounds)


class Plan(NamedTuple):
    """What a round that was opened here has decided, whatever becomes of it later."""

    name: str
    kind: RoundKindName
    opened_at: str | None
    consent: str
    pilot: bool
    of: tuple[str, ...]
    labels: str | None


def _read_plans(campaign: "Campaign") -> Mapping[str, Plan]:
    answered = campaign.round_names()
    opened = (each for each in campaign.rounds if each.name in answered)
    plans = (Plan(**{name: getattr(each, name) for name in Plan._fields}) for each in opened)
    return MappingProxyType({plan.name: plan for plan in plans})


PLANS: Dataset[Mapping[str, Plan]] = Dataset(
    "plans", lambda c: [*_opened(c), *answer_files(c)], _read_plans, by_value=True
)
"""The plans of the rounds that were opened here and have answers, by name, oldest first."""


def _planned_files(campaign: "Campaign") -> list[Path]:
    answered = campaign.round_names()
    return [path for path in _opened(campaign) if path.parent.name in answered]


def _read_planned(campaign: "Campaign") -> tuple[Round, ...]:
    answered = campaign.round_names()
    return tuple(each for each in campaign.rounds if each.name in answered)


PLANNED = Dataset("planned rounds", _planned_files, _read_planned, reads=(ANSWERED,))
"""The rounds that were opened here and have answers, as they are now, oldest first."""
CONSENTS: Dataset[frozenset[str]] = Dataset(
    "consents", _opened, lambda c: frozenset(each.consent for each in c[ROUNDS]), by_value=True
)
"""The versions of the consent text that the rounds have shown."""


def neutral_rounds(rounds: Iterable[Round | Plan]) -> dict[str, bool]:
    """The neutral ones among rounds, and those that label their associations, by name.

    Returns:
        Whether each is a round of labels.
    """
    rounds = list(rounds)
    written = {round.name for round in rounds if round.kind == "neutral"}
    return {
        round.name: round.kind == "validation"
        for round in rounds
        if round.name in written or not written.isdisjoint(round.of)
    }


def _of_rounds(name: str, *, neutral: bool = False) -> "Callable[[Campaign], list[Path]]":
    """The files of this name of all rounds that count for the data, or of neutral ones."""

    def files(campaign: "Campaign") -> list[Path]:
        apart, every = campaign.neutral_rounds, campaign.round_names()
        mine = [each for each in every if (each in apart) == neutral]
        return [campaign.folder("rounds") / each / name for each in mine]

    return files


TERMS: Dataset[Mapping[str, Term]] = Dataset(
    "terms",
    lambda campaign: [campaign.folder("terms") / "targets.jsonl"],
    lambda campaign: MappingProxyType(
        {t.id: t for t in read_records(campaign.folder("terms") / "targets.jsonl", Term)}
    ),
)
_WHICH = (PLANS, ANSWERED)
"""What says which rounds count for the data, and which are neutral."""
ITEMS = in_files("items", Item, _of_rounds("items.jsonl"), _WHICH)
LABELS: "Dataset[pd.DataFrame]" = Dataset(
    "labels",
    _of_rounds("labels.jsonl"),
    lambda campaign: read_table([p for p in LABELS.files(campaign) if p.exists()], Label),
    give=lambda table: table.copy(deep=False),  # with copy-on-write, nobody changes what others get
    reads=_WHICH,
)
NEUTRAL_ITEMS = in_files("neutral items", Item, _of_rounds("items.jsonl", neutral=True), _WHICH)
NEUTRAL_LABELS = in_files("neutral labels", Label, _of_rounds("labels.jsonl", neutral=True), _WHICH)
PEOPLE = in_file("rounds", "people.jsonl", Person)
DECISIONS = in_file("decisions", "decisions.jsonl", Decision)
CATS = in_file("decisions", "cats.jsonl", Cat)
STANDING = in_file("rounds", "standing.jsonl", Standing)
CORRECTIONS = in_file("rounds", "corrections.jsonl", Correction)


def run_files(campaign: "Campaign") -> list[Path]:
    """Every score run's description, scores, comparisons and refusals."""
    names = ("run.json", "scores.jsonl", "comparisons.jsonl", "rejected.jsonl")
    return [
        path for name in names for path in sorted(campaign.folder("scores").glob(f"*/*/{name}"))
    ]


SCORES: Dataset[tuple[Path, ...]] = Dataset(
    "score runs", run_files, lambda campaign: tuple(run_files(campaign))
)
"""The files of score runs that steps read."""
META_TEXT = shipped_file("data", "words", "meta_text.csv")
PITFALL_TABLES = (
    shipped_file("data", "words", "pitfalls.csv"),
    shipped_file("data", "checks", "pitfalls.toml"),
)
RATES = shipped_file("data", "rates", "stereoset_dev.json")


def _own_words(campaign: "Campaign") -> Path:
    return campaign.folder("measures") / "words.csv"


OWN_WORDS: Dataset[Path | None] = Dataset(
    "own words",
    lambda campaign: [_own_words(campaign)],
    lambda campaign: path if (path := _own_words(campaign)).exists() else None,
)
"""The file of a team's own word lists for pitfalls, if there is one."""
