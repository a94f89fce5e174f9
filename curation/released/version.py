"""A version of a dataset, as it is compared and kept."""

from collections.abc import Mapping
from dataclasses import dataclass

from curation.released.contents import PublishedCat, SealedCat

TermKey = tuple[str, str]
"""The domain and the text of a term."""


@dataclass(frozen=True)
class Version:
    """A version of a dataset.

    Attributes:
        name: what messages call it.
        cats: its CATs; ids are distinct.
        terms: the id of each term, by domain and text; None if there is no table of terms.
        has_splits: whether it says which split a CAT is in.
        has_ids: whether CATs and associations have ids; if not, they were made from the texts.
        sealed: its test CATs if their texts are not public.
    """

    name: str
    cats: tuple[PublishedCat, ...]
    terms: Mapping[TermKey, str] | None = None
    has_splits: bool = True
    has_ids: bool = True
    sealed: tuple[SealedCat, ...] = ()
