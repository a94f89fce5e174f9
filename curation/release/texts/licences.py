"""The licence of a release: its identifiers, and its whole text for the file LICENSE.

The usual licences for data, with their texts, are in ``data/licences/``. The text of another
licence comes from the team.
"""

import difflib
from collections.abc import Sequence
from typing import NamedTuple

from curation.files import CurationError, read_text, shipped
from curation.formats.toml_files import read_toml
from curation.released.facts import Licence
from curation.text.rules import licence_name

OWN = "LICENSE.txt"
"""The file in ``7-release`` that has the text of a licence that is not shipped."""
_HOLDERS = "[year] [fullname]"  # the place for the copyright holders in the text of MIT


class Known(NamedTuple):
    """A licence whose text is shipped; ``names`` are what people call it."""

    spdx: str
    hub: str
    url: str
    names: tuple[str, ...]


_TABLE = read_toml(shipped("data", "licences", "licences.toml"), fix="see its first lines")
KNOWN = tuple(
    Known(spdx, entry["hub"], entry["url"], tuple(entry["names"])) for spdx, entry in _TABLE.items()
)
_BY_NAME = {licence_name(name): known for known in KNOWN for name in (known.spdx, *known.names)}


def check_given(name: str) -> None:
    """Check that a licence is named.

    Raises:
        CurationError: the name is empty.
    """
    if not name.strip():
        raise CurationError(
            "[release] licence is empty; nobody may use data without a licence",
            'name the licence, such as licence = "CC BY-SA 4.0"',
        )


def licence(
    name: str, own_text: str = "", *, holders: Sequence[str] = (), year: str = ""
) -> Licence:
    """The licence with this name, and its text.

    Args:
        name: the licence in ``[release]``.
        own_text: the text of ``7-release/LICENSE.txt``; empty if there is no such file.
        holders: names of the copyright holders, which are the authors. MIT's text names them.
        year: the year of the release, which MIT's text names too.

    Raises:
        CurationError: the name is empty; the licence's text is neither shipped nor given, or it is
            both; or it has a place for the copyright holders and nobody is named.
    """
    check_given(name)
    known = _BY_NAME.get(licence_name(name))
    if known is None:
        return _own(name.strip(), own_text)
    if own_text.strip():
        raise CurationError(
            f"7-release/{OWN}: the text of {name!r} is shipped, so there are two texts",
            f"delete 7-release/{OWN}; or, if it is another licence, set its own name as licence in "
            "[release]",
        )
    text = read_text(shipped("data", "licences", f"{known.spdx}.txt"))
    if _HOLDERS in text and not (holders and year):
        raise CurationError(
            f"the text of the licence {name!r} names the copyright holders, and no author is named",
            "name the authors in 7-release/statement.toml, or choose a licence for data",
        )
    text = text.replace(_HOLDERS, f"{year} {', '.join(' '.join(h.split()) for h in holders)}")
    return Licence(name=name.strip(), spdx=known.spdx, hub=known.hub, url=known.url, text=text)


def _own(name: str, text: str) -> Licence:
    if text.strip():
        return Licence(name=name, text=text.strip() + "\n")
    names = {licence_name(known.names[0]): known.names[0] for known in KNOWN}
    near = difflib.get_close_matches(licence_name(name), names, 1)
    fix = f"did you mean {names[near[0]]!r}? Else " if near else ""
    raise CurationError(
        f"[release] licence: the text of {name!r} is not shipped with curation",
        f"{fix}save the licence's whole text as 7-release/{OWN}",
    )
