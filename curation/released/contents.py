"""What a release publishes: CATs, annotations, terms. Every data file is written from these.

A hidden CAT has no gold labels, no tier and no annotations; its options are in random order, and
its ids say nothing. ``commitment`` then proves later that its gold labels were not changed. Of a
sealed CAT, the texts are not published either.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from curation.catsets.stereoset import FileSettings
from curation.kinds import CAT_KINDS, ITEMS, Kind, find_item_kind
from curation.records import Cat, SplitName, Term, Value
from curation.text.rules import same_text

if TYPE_CHECKING:
    import pandas as pd


SPLITS: tuple[SplitName, ...] = ("dev", "test")
HUB_SPLITS: dict[SplitName, str] = {"dev": "validation", "test": "test"}
"""What the splits are called on the Hugging Face Hub, as in ``McGill-NLP/stereoset``."""


Texts = tuple[object, ...]
"""What makes a CAT the same for a reader as another."""


class PublishedOption(NamedTuple):
    """One association of a published CAT; ``gold`` is None if it is hidden.

    ``labels`` are (annotator, label), if they were read with it.
    """

    id: str
    sentence: str
    gold: str | None
    labels: tuple[tuple[str, str], ...] = ()


class PublishedCat(NamedTuple):
    """One published CAT, in the order and with the ids of the files.

    A CAT that ``seen`` has read as a file has it may be faulty: its fields may be empty or any
    text, also kind, split and gold labels. ``where`` is then its place in the file, and ``fields``
    are the names of all its fields there.

    ``commitment`` is None for a CAT whose gold labels are published.
    """

    id: str
    kind: Kind
    domain: str
    target: str
    target_original: str | None
    split: SplitName
    context: str
    tier: int | None
    options: tuple[PublishedOption, ...]
    commitment: str | None = None
    where: str = ""
    fields: frozenset[str] = frozenset()

    @property
    def hidden(self) -> bool:
        """Whether its gold labels are hidden."""
        return self.commitment is not None or any(o.gold is None for o in self.options)

    @property
    def has_texts(self) -> bool:
        """Whether it has a kind, a context and a sentence, so that its texts can be compared."""
        return self.kind in ITEMS and bool(self.context and any(o.sentence for o in self.options))

    @property
    def labelled(self) -> bool:
        """Whether it has options, and each has a gold label."""
        return bool(self.options) and all(o.gold for o in self.options)

    @property
    def has_all_options(self) -> bool:
        """Whether it has as many options as its kind has roles."""
        kind = find_item_kind(self.kind)
        return kind is not None and len(self.options) == kind.size

    @property
    def complete(self) -> bool:
        """Whether it has all options and all texts."""
        texts = (self.id, self.domain, self.target, self.context)
        sentences = (option.sentence for option in self.options)
        return self.has_all_options and all(texts) and all(sentences)

    @property
    def whole(self) -> bool:
        """Whether it is complete, and has an option with each gold label of its kind."""
        golds = {option.gold for option in self.options}
        return self.complete and golds == {*ITEMS[self.kind].roles}

    @property
    def content(self) -> tuple[object, ...]:
        """What all forms must have in the same way."""
        options = sorted((option.gold or "", option.sentence) for option in self.options)
        return (self.kind, self.domain, self.target, self.context, *options)

    @property
    def texts(self) -> Texts:
        """What makes it the same CAT for a reader as another, whatever ids and labels are."""
        return texts(self.kind, self.context, (option.sentence for option in self.options))


def texts(kind: str, context: str, sentences: Iterable[str]) -> Texts:
    """What makes two CATs the same for a reader, without case, spaces and order."""
    return (kind, same_text(context), *sorted(map(same_text, sentences)))


class SealedCat(NamedTuple):
    """What is published of a CAT whose texts are hidden, too: a line of ``sealed.jsonl``."""

    id: str
    kind: Kind
    domain: str
    commitment: str


class PublishedTerm(NamedTuple):
    """One target term that has CATs, and how many of them by kind."""

    term: Term
    split: SplitName
    cats: Mapping[Kind, int]


@dataclass(frozen=True)
class Contents:
    """What a release publishes.

    Attributes:
        version: the release's version.
        cats: the CATs, in the order of the files.
        annotations: rows of ``records.Annotation`` of the CATs that are not hidden.
        terms: the terms of these CATs, in the order of their domain and text.
        settings: how the CATs were checked.
        without_votes: ids of CATs that have no votes.
        sealed: the CATs of the test set if their texts are hidden; they are not in ``cats``.
    """

    version: str
    cats: tuple[PublishedCat, ...]
    annotations: "pd.DataFrame"
    terms: tuple[PublishedTerm, ...]
    settings: FileSettings
    without_votes: frozenset[str] = frozenset()
    sealed: tuple[SealedCat, ...] = ()

    def part(self, split: SplitName, kind: Kind | None = None) -> list[PublishedCat]:
        """The CATs of a split, of one kind or of all, in order."""
        return [cat for cat in self.cats if cat.split == split and kind in (None, cat.kind)]

    @property
    def kinds(self) -> list[Kind]:
        """The kinds of its CATs."""
        there = {cat.kind for cat in self.cats}
        return [kind for kind in CAT_KINDS if kind in there]

    @property
    def in_stereoset(self) -> bool:
        """Whether StereoSet's format has its CATs."""
        return all(ITEMS[kind].in_stereoset for kind in self.kinds)

    def labels(self) -> dict[str, list[tuple[str, Value]]]:
        """The (annotator, label) pairs that were counted, by the id of their association."""
        labels: dict[str, list[tuple[str, Value]]] = defaultdict(list)
        counted = self.annotations[self.annotations["counted"]]
        once: dict[tuple[str, Value], tuple[str, Value]] = {}  # equal pairs are the same object
        pairs = zip(counted["annotator"], counted["label"], strict=True)
        for association, pair in zip(counted["association_id"], pairs, strict=True):
            labels[association].append(once.setdefault(pair, pair))
        return labels


class DataFile(NamedTuple):
    """A file of a release as metadata describe it.

    ``rows`` is the number of CATs, annotations or terms in it; None for a file without rows.
    """

    path: str
    sha256: str
    size: int
    rows: int | None

    @classmethod
    def of(cls, path: str, content: bytes, rows: int | None = None) -> "DataFile":
        """The description of a file's content; ``path`` is relative to the release."""
        return cls(path, hashlib.sha256(content).hexdigest(), len(content), rows)


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


def published(cat: Cat) -> PublishedCat:
    """A CAT as it is published if nothing of it is hidden."""
    options = tuple(PublishedOption(a.id, a.sentence, a.gold) for a in cat.associations)
    own = {name: getattr(cat, name) for name in PublishedCat._fields if name in Cat.model_fields}
    return PublishedCat(**own, options=options)


CARD, STATEMENT, LICENSE, CITATION = "README.md", "STATEMENT.md", "LICENSE", "CITATION.cff"
FACTS = "release.json"
"""Everything that the release says about itself: ``facts.Facts``."""
CROISSANT, DATAPACKAGE = "croissant.json", "datapackage.json"
SUMS = "SHA256SUMS"
STEREOSET = ("dev.json", "test.json")
ANNOTATIONS, TERMS, ERRATA = "annotations.csv", "terms.jsonl", "errata.jsonl"
SEALED = "sealed.jsonl"
"""The commitments of a test set whose texts are hidden; a release has it or ``test.json``."""
REVEAL = "reveal.jsonl"
"""The proofs in a revealed folder."""
TASKS = "lm-eval"
"""The folder of the tasks for lm-evaluation-harness."""
CONFIGS = (*reversed(CAT_KINDS), "cats", "hidden", "annotations", "terms")
"""The folders of Parquet files: the Hub's configurations, in the order of a card."""
WHOLE = "full"
"""The split of a table that has no splits; datasets refuses "all" as the name of one."""
DESCRIBED = (CARD, STATEMENT, LICENSE, CITATION, FACTS, CROISSANT, DATAPACKAGE, SUMS)
"""Files about the data."""
PATTERNS = (
    *DESCRIBED,
    *STEREOSET,
    ANNOTATIONS,
    TERMS,
    ERRATA,
    SEALED,
    "cats/*.jsonl",
    f"{TASKS}/*",
    *(f"{config}/*.parquet" for config in CONFIGS),
)
"""Patterns of the paths that a release may have."""
_SPLITS: dict[str, SplitName] = {
    "dev": "dev", "development": "dev", "validation": "dev", "valid": "dev", "val": "dev",
    "test": "test",
}  # fmt: skip
_WORDS = re.compile(r"[^a-z]+")


def split_of(path: PurePath) -> SplitName | None:
    """The split that the name of a file says, or None.

    >>> names = ("validation-00000-of-00001.parquet", "my_test.json.gz")
    >>> [split_of(PurePath(name)) for name in names]
    ['dev', 'test']
    >>> split_of(PurePath("cats.json")), split_of(PurePath("dev_and_test.json"))
    (None, None)
    """
    words = _WORDS.split(path.name.lower())
    splits = {_SPLITS[word] for word in words if word in _SPLITS}
    return splits.pop() if len(splits) == 1 else None


def flat_path(kind: str, split: str) -> str:
    """The file of the CATs of a kind and a split.

    >>> flat_path("intrasentence", "dev")
    'cats/intrasentence-dev.jsonl'
    """
    return f"cats/{kind}-{split}.jsonl"


def parquet_path(config: str, split: str) -> str:
    """The file of a configuration and a split.

    >>> parquet_path("intersentence", "validation")
    'intersentence/validation-00000-of-00001.parquet'
    """
    return f"{config}/{split}-00000-of-00001.parquet"


def configs(paths: Iterable[str]) -> dict[str, dict[str, str]]:
    """The configurations among the files of a release: the file of each split, by name.

    >>> configs(["README.md", parquet_path("terms", "full")])
    {'terms': {'full': 'terms/full-00000-of-00001.parquet'}}
    """
    there = set(paths)
    files_of: dict[str, dict[str, str]] = {}
    for config, split in product(CONFIGS, ("dev", "validation", "test", WHOLE)):
        if (file := parquet_path(config, split)) in there:
            files_of.setdefault(config, {})[split] = file
    return files_of
