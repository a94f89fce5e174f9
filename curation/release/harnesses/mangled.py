"""CATs that another harness misreads: what is wrong with each, and what the harness does."""

from typing import Literal, NamedTuple

Effect = Literal["stops", "misread", "not_counted"]

EFFECTS: dict[Effect, str] = {
    "stops": "the harness stops with an error, also for all other CATs",
    "misread": "the harness scores another text, or gives the CAT another result",
    "not_counted": "the CAT is read correctly, but some of the harness's values lack or mix it",
}
"""What a harness does with such a CAT. CATs that are only ``not_counted`` are never left out."""


class Mangled(NamedTuple):
    """One thing that a harness gets wrong in a CAT.

    Attributes:
        cat: the CAT's id.
        option: the association's id; None if the whole CAT is meant.
        code: a reason code.
        detail: a sentence that quotes the text.
        effect: what the harness does.
    """

    cat: str
    option: str | None
    code: str
    detail: str
    effect: Effect = "misread"
