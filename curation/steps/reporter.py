"""How a step reports warnings, notes and progress: through a reporter that the caller passes in.

Steps never print. The command line passes ``curation.cli.console``, which shows everything on a
terminal. In Python you can leave the reporter out: ``QUIET`` shows no progress and turns warnings
into ``UserWarning``.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[..., None]
Tell = Callable[[str, int, int], None]


class Reporter(Protocol):
    """The functions that steps call to report; ``curation.cli.console`` has them."""

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


class Quiet:
    """A reporter that shows no progress; warnings become Python warnings."""

    def warn(self, text: str) -> None:
        """Raise a ``UserWarning``."""
        warnings.warn(text, UserWarning, stacklevel=3)

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


QUIET = Quiet()
