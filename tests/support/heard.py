"""A reporter that keeps what it is told."""

from curation.work.reporter import Quiet


class Heard(Quiet):
    """Keeps warnings and notes."""

    def __init__(self) -> None:
        self.warnings, self.notes = list[str](), list[str]()

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def note(self, text: str) -> None:
        self.notes.append(text)
