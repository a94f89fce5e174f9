"""The files that a board begins with, and what its owner reads of the two kinds of test sets."""

from collections.abc import Iterator
from pathlib import Path

from curation.formats.toml_files import shipped_table, toml_value
from curation.pages.board.about import SETTINGS, BoardSettings, SetFacts

HERE = Path(__file__).parent / "templates"
CHECK = ".github/workflows/check.yml"
README = "README.md"


def choice() -> list[str]:
    """The two kinds of test sets, and which one to choose, in five sentences."""
    return list(shipped_table("board", "choice.toml")["sentences"])


def files(settings: BoardSettings, facts: SetFacts) -> Iterator[tuple[str, bytes]]:
    """The settings, the README and the check for a forge: path and content of each.

    The README depends on the kind of the test set.
    """
    yield SETTINGS, _rendered(SETTINGS, settings, facts)
    yield README, readme(settings, facts)
    yield CHECK, (HERE / "check.yml").read_bytes()


def readme(settings: BoardSettings, facts: SetFacts) -> bytes:
    """What a submitter does, for a test set of this kind."""
    return _rendered(README, settings, facts)


def _rendered(name: str, settings: BoardSettings, facts: SetFacts) -> bytes:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["toml"] = lambda value: Markup(toml_value(value))  # noqa: S704
    template = made.get_template(f"{name}.jinja")
    return template.render(settings=settings, facts=facts).encode()
