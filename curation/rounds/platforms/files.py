"""The platform ``files``: tasks leave as tables, and answers come back as tables.

It fits any platform that takes and gives tables, and people who work in a spreadsheet. The verbs
that need a server do nothing or say what to do instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from curation.files import CurationError
from curation.records import Round, Task
from curation.rounds.platforms.interface import Demand, Platform, Published, PullCounts, TopUp


@dataclass(frozen=True)
class Files(Platform):
    """A round that is exported and imported; see ``interface.Platform``."""

    round: Round
    exchanges_tables: bool = True
    takes_tables: bool = True
    can_pull: bool = False
    can_train: bool = False

    def publish(self, tasks: Sequence[Task], asked: Mapping[str, int]) -> Published:
        """Nothing to do: ``curation rounds export`` writes the tables."""
        return Published(self.round)

    def entrance(self, *, reset: bool = False) -> Published:
        """Raise an error that names the command which writes tables.

        Raises:
            CurationError: always.
        """
        raise CurationError(
            f"round {self.round.name} runs on tables, so it has no links",
            f"«curation rounds export {self.round.name}» writes the tables",
        )

    def pull(self, *, full: bool = False) -> PullCounts:
        """Raise an error that names the command which imports answers.

        Raises:
            CurationError: always.
        """
        raise CurationError(
            f"round {self.round.name} runs on tables, so there is nothing to pull",
            f"«curation rounds import {self.round.name} FILE» imports its answers",
        )

    def pulled_at(self) -> str:
        """Empty: nothing is pulled."""
        return ""

    def top_up(self, demand: Demand) -> TopUp:
        """Count what the next export asks for in addition: what nobody holds."""
        got, held = demand.received, demand.held
        totals = demand.to_ask()
        more = {
            task: total - max(demand.asked[task], got.get(task, 0) + held.get(task, 0))
            for task, total in totals.items()
        }
        return TopUp(more, totals)

    def stop(self) -> None:
        """Nothing to do: tables that were sent out cannot be called back."""

    def erase(self, person: str) -> int:
        """Nothing to do here: only you know where tables went."""
        return 0
