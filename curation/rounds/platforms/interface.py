"""The interface of platforms: what the rest of the code may ask of the place where people work.

A platform object belongs to one round. Opening it reaches no network: only a verb does. What
differs between platforms is in the verbs and in the attributes ``exchanges_tables``,
``takes_tables``, ``can_pull``, ``can_train`` and ``study``. Before a round is there, other code
asks ``PLATFORMS`` in ``opening.py``.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from curation.campaign.settings import Settings
from curation.kinds import ROUNDS, RoundKindName
from curation.records import Decision, Flag, Item, Record, Round, Task
from curation.rounds.answers.archive import Sent
from curation.rounds.platforms.pages import TrainingExample
from curation.text.rules import Caps
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.rounds.quality import PersonQuality

NOTHING: Mapping[str, int] = MappingProxyType({})


class Reporter(Protocol):
    """Receives a platform's warnings and progress; ``work.reporter.Reporter`` has both."""

    def warn(self, text: str) -> None:
        """Report something that the user should look at."""

    def tracked(self, title: str, total: int) -> AbstractContextManager[Callable[..., None]]:
        """Show a progress bar for ``total`` units; yields a function that advances it by n."""


class RoundAccess(Protocol):
    """What a platform may ask of the campaign, for one round.

    A platform calls these only when a verb needs them, so that opening it reads no file.
    """

    def texts(self) -> dict[str, Any]:
        """Every string that annotators see."""

    def tasks(self) -> Sequence[Task]:
        """The round's tasks, as they are on disk now."""

    def task_data(self, tasks: Sequence[Task]) -> list[dict[str, Any]]:
        """What annotators may see of each of some tasks."""

    def pseudonyms(self) -> Callable[[str], str]:
        """The function from a person's id on the platform to the pseudonym."""

    def erased(self) -> "Callable[[Sent], bool]":
        """The predicate that tells whether an answer must not be kept at all."""

    def writing_rounds(self, url: str) -> list[str]:
        """Names of the rounds of writing on the server at an address."""

    def save(self, round: Round) -> None:
        """Write a changed round to disk."""

    def settings(self) -> Settings:
        """The campaign's settings."""

    def caps(self) -> Caps:
        """How many answers of a person count in a round of this kind."""

    def earlier(self, *, without: str = "") -> dict[str, list[str]]:
        """By term, the gists of the campaign's items of this kind, as from ``content.gist``.

        Empty for other rounds than those of writing. ``without`` is the pseudonym of a writer whose
        items are left out.
        """

    def training(self) -> tuple[TrainingExample, ...]:
        """The questions of the training before a round of this kind; empty if there are none."""


class Demand(NamedTuple):
    """The state of a round's tasks, as ``top_up`` needs it. All mappings go by task id.

    Attributes:
        tasks: the round's tasks.
        asked: how many answers each task was asked for in all.
        received: how many of these came in, valid or not.
        lack: how many valid answers each task still lacks.
        void: the tasks that no answer can serve any more.
        held: how many answers people hold in tables; empty if there are no tables.
    """

    tasks: Sequence[Task]
    asked: Mapping[str, int]
    received: Mapping[str, int]
    lack: Mapping[str, int]
    void: set[str]
    held: Mapping[str, int] = NOTHING

    def to_ask(self) -> dict[str, int]:
        """By id of tasks that need more answers than were asked for, how many to ask for in all.

        A second call before an answer comes gives the same result, so nothing is asked for twice.
        """
        return {
            id: self.received.get(id, 0) + n
            for id, n in self.lack.items()
            if n > max(self._coming(id), self.held.get(id, 0), 0)
        }

    def to_deal(self) -> dict[str, int]:
        """By id of tasks that wait for answers which nobody holds, how many; for the next tables.

        These answers were asked for, and the task still lacks them.
        """
        waits = {id: min(self._coming(id), n) - self.held.get(id, 0) for id, n in self.lack.items()}
        return {id: n for id, n in waits.items() if n > 0}

    def _coming(self, id: str) -> int:
        return self.asked.get(id, 0) - self.received.get(id, 0)


class Published(NamedTuple):
    """A round whose tasks are on its platform; addresses are empty if there are none.

    Attributes:
        round: the round, with what the platform says of it.
        address: where annotators work.
        sign_up: where they sign up first. It has a token, which messages hide.
        is_dead: whether nobody can open links to the round yet, because its server never ran.
        is_study: whether the address is that of a study on a crowd platform.
    """

    round: Round
    address: str = ""
    sign_up: str = ""
    is_dead: bool = False
    is_study: bool = False


class TopUp(NamedTuple):
    """What a top-up asked for: by task id, answers in addition and answers in all."""

    more: dict[str, int]
    totals: dict[str, int]


class PullCounts(NamedTuple):
    """How many answers a pull brought: new, changed, and deleted on the platform.

    Skips are among them; consents are not.
    """

    new: int
    changed: int
    deleted: int


WAITS = "AWAITING REVIEW"
"""The status of a submission that Prolific waits for somebody to approve."""


class Submission(NamedTuple):
    """A person's part in a study on a crowd platform: what it says of it, and what we know.

    Attributes:
        id: the submission's id on the crowd platform.
        participant: the person's id there.
        pseudonym: their pseudonym in the campaign.
        study: the study's id there.
        status: what the crowd platform said last; empty if it was never asked.
        standing: ``unchecked``, ``checked``, ``forged``, ``returned`` (also timed out or rejected),
            or ``unknown``: nobody came to our pages with it.
        outcome: ``finished``, ``no_consent``, ``screened_out`` (training) or ``failed``
            (instruction checks); empty while under way.
        answered: the tasks of the round that the person answered.
        arrived: when they came to our pages, in ISO 8601; empty if never.
        ended: when the outcome was known, in ISO 8601; empty while under way.
    """

    id: str
    participant: str
    pseudonym: str
    study: str
    status: str
    standing: str
    outcome: str
    answered: int
    arrived: str
    ended: str


class Attendance(NamedTuple):
    """Whether people can come to a round, and who has ended, as far as is known without a network.

    Attributes:
        entrance: the command without which nobody can enter; empty if people can.
        complete: how many submissions can be approved, by what the crowd platform said last.
        is_full: whether all places for people from a crowd platform are taken, and all have ended.
    """

    entrance: str = ""
    complete: int = 0
    is_full: bool = False


class Platform(Protocol):
    """A round's platform. Every verb can be called again after it was stopped half-way."""

    @property
    def exchanges_tables(self) -> bool:
        """Whether tasks are exported and answers imported as tables, by hand."""

    @property
    def takes_tables(self) -> bool:
        """Whether answers may come back as tables: all of them, or those that people correct."""

    @property
    def can_pull(self) -> bool:
        """Whether ``pull`` can fetch answers now; False before the round is published there."""

    @property
    def can_train(self) -> bool:
        """Whether people try the examples of ``RoundAccess.training`` before their first task."""

    def publish(self, tasks: Sequence[Task], asked: Mapping[str, int]) -> Published:
        """Put tasks where people work, and ask for answers. Tasks that are there stay as they are.

        Args:
            tasks: all tasks of the round.
            asked: by task id, how many answers are asked for in all; void tasks are not in it.

        Returns:
            The round with what the platform says of it, and the addresses for annotators.

        Raises:
            CurationError: the platform cannot be reached, or does not accept the tasks.
        """

    def entrance(self, *, reset: bool = False) -> Published:
        """The addresses for annotators, as ``publish`` returns them.

        Args:
            reset: if people sign up, make a new link for that; old ones stop working.

        Raises:
            CurationError: the round is not published yet, people enter it by no link, or the
                platform cannot be reached.
        """

    def pull(self, *, full: bool = False) -> PullCounts:
        """Fetch what is new into the round's archive; what the archive has is not added again.

        Args:
            full: look at every task, and not only at those that changed since the last pull.

        Raises:
            CurationError: answers of this round are not pulled (the error says how they come
                in), the round is not published yet, or the platform cannot be reached.
        """

    def pulled_at(self) -> str:
        """When answers were last pulled, in ISO 8601; empty if never. Reaches no network."""

    def waiting(self) -> int:
        """How many answers wait to be pulled, as far as this is known without a network."""
        return 0

    def attendance(self, excluded: Collection[str]) -> Attendance:
        """Whether people can come, and who has ended; people in ``excluded`` are not approved."""
        return Attendance()

    def top_up(self, demand: Demand) -> TopUp:
        """Ask for the answers that are missing and not on their way. A second call asks for none.

        Raises:
            CurationError: the round is not published yet, or the platform cannot be reached.
        """

    def stop(self) -> None:
        """Serve none of the round's tasks any more; ``publish`` or ``top_up`` starts again.

        Raises:
            CurationError: the platform cannot be reached.
        """

    def named(self, who: str) -> str:
        """The pseudonym of a person whom only the platform knows by this name; empty if none.

        Raises:
            CurationError: it is the name of several people.
        """
        return ""

    def codes(self, people: Collection[str]) -> dict[str, str]:
        """The code that each person is shown at the end of the round; empty if there are none.

        Args:
            people: their ids on the platform.
        """
        return {}

    def erase(self, person: str) -> int:
        """Erase a person's answers on the platform, and their words from tasks there.

        The words must be erased from the round's own tasks first.

        Args:
            person: the pseudonym.

        Returns:
            How many answers and tasks were changed.

        Raises:
            CurationError: the platform cannot be reached.
        """

    @property
    def study(self) -> "CrowdStudy | None":
        """What brings people from a crowd platform to the round; None if nothing can."""
        return None


class CrowdStudy(Protocol):
    """The studies of a round on a crowd platform, and the submissions to them."""

    @property
    def can_approve(self) -> bool:
        """Whether submissions can be asked for and approved: a token is set."""

    def submissions(self, *, ask: bool) -> list[Submission]:
        """The submissions with which people came, in order of arrival.

        Those that are only known to the crowd platform come last.

        Args:
            ask: ask the crowd platform first, and keep what it says; needs a token.

        Raises:
            CurationError: the round is not published yet, or the crowd platform cannot be asked.
        """

    def approve(self, ids: Collection[str]) -> dict[str, str]:
        """Approve submissions. By id the status that each has then, or why it has not changed.

        Raises:
            CurationError: there is no token, or the crowd platform cannot be asked.
        """

    def link(self) -> str:
        """The address of a study, with its parameters; empty if people may not enter with it."""

    def codes(self) -> dict[str, str]:
        """By outcome the code with which people end their submission."""

    def add(self, id: str) -> None:
        """Add a study of this round: submissions of other studies are then refused."""


# --- what owners see of their rounds --------------------------------------------------------------


class Progress(NamedTuple):
    """The progress of a round.

    Attributes:
        round: the round's name.
        kind: its kind.
        state: planned, open or closed.
        tasks: how many tasks it has.
        void: tasks that no answer can serve any more.
        done: tasks that lack no answer and are not void.
        decided: items with enough labels to decide; for other kinds than validation, ``done``.
        people: people with an answer that counts.
        answers: answers that came in.
        refused: how many of these were refused.
        labels_per_item: labels per item that count; None for other kinds than validation.
        asked: answers that were asked for in all.
        remaining: valid answers that tasks still lack.
        out: answers on their way: people have been asked for them, and they have not come in; and
            refused ones that people correct.
        missing: answers that tasks lack and that are not on their way.
        per_day: answers per day; None before there is a pace.
        done_at: when the last answer comes in at this pace; None before there is a pace.
        cost: pay for the answers that came in.
        cost_in_all: pay for these and for the remaining answers; a closed round gets no more.
    """

    round: str
    kind: RoundKindName
    state: str
    tasks: int
    void: int
    done: int
    decided: int
    people: int
    answers: int
    refused: int
    labels_per_item: float | None
    asked: int
    remaining: int
    out: int
    missing: int
    per_day: float | None
    done_at: str | None
    cost: float
    cost_in_all: float

    @property
    def decides(self) -> bool:
        """Whether people label items in it, which are decided by that."""
        return ROUNDS[self.kind].work == "label"


class RoundFigures(NamedTuple):
    """What a round's owner looks at.

    Attributes:
        progress: its progress.
        next: what to do next, in a line.
        refused: by reason code, how many of ``Progress.answers`` were refused; most first.
        flagged: by flag, the items that at least two people gave it.
    """

    progress: Progress
    next: str
    refused: dict[str, int]
    flagged: Mapping[str, list[str]]


class Overview(NamedTuple):
    """The rounds of a campaign, by the answers that are folded.

    Attributes:
        campaign: the campaign's name.
        currency: the currency of its pay.
        budget: what all rounds may cost; 0 for no budget.
        rounds: each round's figures by its name, oldest first.
        people: by round each person's figures and marks, people with marks first.
        at: when the files were read, in ISO 8601.
        problem: why there are no figures of people; empty if there are.
        is_old: newer ones are being computed.
    """

    campaign: str
    currency: str
    budget: float
    rounds: dict[str, RoundFigures]
    people: "dict[str, list[PersonQuality]]"
    at: str
    problem: str = ""
    is_old: bool = False


class ItemFacts(Record):
    """An item with all that people said of it.

    Attributes:
        item: the item.
        target: its term's text, and the domain.
        decision: whether its labels make it a CAT now, with the votes that count.
        labels: each label: the person, the association's text, and the value.
        flags: validators' flags.
        pitfalls: codes of its known pitfalls.
    """

    item: Item
    target: str
    decision: Decision
    labels: list[tuple[str, str, str]]
    flags: list[Flag]
    pitfalls: list[str]


def came(waiting: int, round: str) -> str:
    """How many answers wait to be pulled, and the command for it."""
    return f"{amount(waiting, 'answer')} came after the last pull: curation rounds pull {round}"
