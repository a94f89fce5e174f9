"""The files that a board begins with, and what its owner reads about opening and closing sets."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from curation.board.about import SETTINGS, BoardSettings, SetFacts
from curation.files import CurationError, read_bytes
from curation.formats.toml_files import shipped_table, toml_value

TEMPLATES = Path(__file__).parent / "templates"
CHECK, README = ".github/workflows/check.yml", "README.md"
_WHEEL = re.compile(
    r"https://[\w.:-]+/([\w.~%+@!=:-]+/)*curation-[\w.+-]+\.whl#sha256=[0-9a-f]{64}", re.ASCII
)
_TEXTS = shipped_table("board", "owner.toml")


def says(name: str, **values: Any) -> str:
    """A text of ``data/board/owner.toml`` with these values."""
    return str(_TEXTS["says"][name]).format(**values)


def refused(code: str, **values: Any) -> CurationError:
    """An error of ``data/board/owner.toml`` with these values."""
    return CurationError(*(text.format(**values) for text in _TEXTS["refused"][code]))


def files(
    settings: BoardSettings, facts: SetFacts, *, wheel: str = ""
) -> Iterator[tuple[str, bytes]]:
    """Settings, README, the check for a forge, what git leaves out: path and content of each.

    Args:
        settings: of the board.
        facts: of its test set.
        wheel: address and sha256 of the wheel of curation that the check installs; without it, the
            check fails and says so.

    Raises:
        CurationError: ``wheel`` is not one.
    """
    if wheel and not _WHEEL.fullmatch(wheel):
        raise refused("wheel", wheel=wheel)
    yield SETTINGS, rendered(SETTINGS, settings, facts)
    yield README, rendered(README, settings, facts)
    source = f'CURATION: "curation @ {wheel}"' if wheel else 'CURATION: ""'
    yield CHECK, read_bytes(TEMPLATES / "check.yml").replace(b'CURATION: ""', source.encode())
    yield ".gitignore", b"/scores/\n.*.tmp\n"  # scores of submitters, files of killed commands


def rendered(name: str, settings: BoardSettings, facts: SetFacts) -> bytes:
    """A file from its template. The README depends on whether the test set is sealed."""
    from curation.pages.report import environment

    template = environment(TEMPLATES).get_template(f"{name}.jinja")
    return f"{template.render(settings=settings, facts=facts, toml=toml_value)}\n".encode()
