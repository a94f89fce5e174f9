"""Who is told of warnings, notes and progress."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[..., None]
Tell = Callable[[str, int, int], None]


class Counter(Protocol):
    """A progress bar that learns at its beginning how much is done already."""

    def begin(self, done: int, total: int) -> None:
        """Report how much there is, and how much of it was done before."""

    def advance(self, n: int = 1) -> None:
        """Report that ``n`` more are done."""


class Reporter(Protocol):
    """The functions that steps call to report; ``curation.terminal.console`` has them."""

    def warn(self, text: str) -> None:
        """Warn of something that the user should check."""

    def note(self, text: str) -> None:
        """Say what is happening, so that users know why they wait."""

    def tracked(
        self, title: str, total: int, *, bytes: bool = False
    ) -> AbstractContextManager[Advance]:
        """A progress bar for ``total`` units or bytes; yields a function that advances it by n."""

    def stages(self) -> AbstractContextManager[Tell]:
        """A progress bar for work in stages; yields a function (stage, done, total)."""

    def counted(self, title: str) -> AbstractContextManager[Counter]:
        """A progress bar for work that may be partly done already."""


class Quiet:
    """A reporter that shows no progress; warnings become Python warnings."""

    def warn(self, text: str) -> None:
        """Give a ``UserWarning`` at the line that called curation.

        Python shows a warning once per line. Given inside curation, a second call would be silent.
        """
        frame, level = sys._getframe(), 1
        while frame.f_back and f"{frame.f_globals.get('__name__', '')}.".startswith("curation."):
            frame, level = frame.f_back, level + 1
        warnings.warn(text, UserWarning, stacklevel=level)

    def note(self, text: str) -> None:
        """Do nothing."""

    @contextmanager
    def tracked(self, title: str, total: int, *, bytes: bool = False) -> Iterator[Advance]:
        """Show nothing."""
        yield lambda n=1: None

    @contextmanager
    def stages(self) -> Iterator[Tell]:
        """Show nothing."""
        yield lambda stage, done, total: None

    @contextmanager
    def counted(self, title: str) -> Iterator[Counter]:
        """Show nothing."""
        yield _NoBar()


class _NoBar:
    def begin(self, done: int, total: int) -> None:
        """Show nothing."""

    def advance(self, n: int = 1) -> None:
        """Show nothing."""


QUIET = Quiet()
