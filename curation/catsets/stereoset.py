"""The interchange format: read and write files in StereoSet's format, and read other layouts.

A dataset is ``{"version", "data": {"intrasentence": [...], "intersentence": [...]}}``, each item
``{id, target, bias_type, context, sentences: [{id, sentence, gold_label, labels: [{label,
human_id}]}]}``. A release also has ``curation``: how its CATs were checked. ``catsets`` reads the
other layouts in which such datasets are published, as items of this form.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from curation.catsets.entries import (
    HIDDEN,
    Dataset,
    Entry,
    Part,
    hidden_error,
    how_to_declare,
    is_hidden,
    sentences_of,
    undeclared_gap,
)
from curation.catsets.reading import read_dataset
from curation.files import CurationError
from curation.formats.table_words import read_label
from curation.kinds import GOLDS, ITEMS, KINDS, Kind
from curation.records import VALUES, Cat, CatAssociation, Fields
from curation.text.rules import Votes, stable_id, tier
from curation.text.wording import amount, in_words, some

if TYPE_CHECKING:
    import pandas as pd


SHOWN = 8  # ids of items that an error names
Labels = Mapping[str, Iterable[tuple[str, str]]]
"""The (annotator, value) pairs of each association, by its id."""


class FileSettings(BaseModel):
    """The field ``curation`` of a release's file: how its CATs were checked.

    Attributes:
        language: language code of the texts; empty if it is not known.
        blank_alone: whether BLANK must not touch a letter.
        name_target: whether a context must name its target.
        names: by domain and target, old names and spellings that contexts use instead.
        without_votes: number of the file's CATs whose gold labels nobody's votes confirm: they are
            those of the data that the CATs were published in before.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    language: Annotated[str, StringConstraints(pattern=r"^([a-z]{2,3}(-[A-Za-z0-9]+)*)?$")] = ""
    blank_alone: bool = True
    name_target: bool = True
    names: dict[str, dict[str, list[str]]] = {}
    without_votes: Annotated[int, Field(ge=0)] = 0


def _settings(path: Path, dataset: Dataset) -> FileSettings:
    given = dataset.curation
    if not isinstance(given, dict):
        raise CurationError(f"{path}, curation: is not an object", "restore the file")
    try:
        return FileSettings.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, ("curation", *first["loc"])))
        raise CurationError(
            f"{path}, {where}: {first['msg']}", "restore the file; see docs/datasets.md"
        ) from None


def read_entries(path: Path) -> list[Entry]:
    """The items of a file in a known layout or of a mapping file, unchecked.

    Raises:
        CurationError: the file cannot be read or is of no known layout; the message names the
            place.
    """
    return read_dataset(path).entries


def read_cat_entries(path: Path) -> list[Entry]:
    """The items of a gold file that are CATs; ``read_entries`` also has those left out by «skip».

    Raises:
        CurationError: as for ``read_cats``.
    """
    return _cats(path, read_dataset(path))[1]


def votes(sentence: Fields) -> Votes:
    """The votes of a sentence from its labels in the file.

    All labels count, also an annotator's second one, because the file's gold labels are based on
    all of them. A label outside the vocabulary is ignored.
    """
    labels = sentence.get("labels")
    values = [
        read_label(str(label.get("label")))
        for label in (labels if isinstance(labels, list) else ())
        if isinstance(label, dict)
    ]
    s, a, u, r = (values.count(value) for value in VALUES)
    return s, a, u, r


def read_cats(path: Path) -> list[Cat]:
    """The CATs of a gold file: every item must have one association of each role of its kind.

    Such a file has no families and splits: each target is its own family, and all CATs are test.
    The tier is the item's field ``tier``, which releases have, or else comes from its labels.

    Raises:
        CurationError: items are not CATs, or an id occurs twice, and no mapping file says to leave
            such items out; the message names the place and id of the first, and the other ids.
    """
    return _cats(path, read_dataset(path))[0]


class GoldFile(NamedTuple):
    """A gold file: its CATs, how they were checked, and notes on how the file was read."""

    cats: list[Cat]
    settings: FileSettings
    notes: tuple[str, ...]


def read_gold_file(path: Path, content: tuple[list[Part], Any] | None = None) -> GoldFile:
    """A gold file with its settings and notes.

    Args:
        path: the file.
        content: what ``content.read_parts`` gave of it, if it was read already.

    Raises:
        CurationError: as for ``read_cats``; or the field ``curation`` is damaged.
    """
    dataset = read_dataset(path, content)
    cats, entries = _cats(path, dataset)
    skipped = len(dataset.entries) - len(entries)
    bad = f"{path.name}: {amount(skipped, 'item')} left out by «skip», not CATs or repeated"
    notes = (*dataset.notes, *([bad] if skipped else ()))
    return GoldFile(cats, _settings(path, dataset), notes)


def _cats(path: Path, dataset: Dataset) -> tuple[list[Cat], list[Entry]]:
    """The CATs of a gold file and their items, without those that its mapping file leaves out."""
    cats: list[Cat] = []
    entries: list[Entry] = []
    bad: list[tuple[str, CurationError]] = []
    seen: dict[tuple[str, str], str] = {}
    for entry in dataset.entries:
        try:
            cat = _cat(entry)
            names = [("CAT", cat.id), *(("sentence", a.id) for a in cat.associations)]
            _check_new(names, seen, f"{entry.where} (id {cat.id})")
        except CurationError as error:
            bad.append((str(entry.item.get("id")), error))
            continue
        seen |= dict.fromkeys(names, entry.where)
        cats.append(cat)
        entries.append(entry)
    if bad and not (dataset.skip_bad and cats):
        raise _not_cats(path, bad, kept={cat.id for cat in cats})
    return cats, entries


def _cat(entry: Entry) -> Cat:
    kind, where, item = entry
    place = f"{where} (id {item.get('id')})"
    _check_texts(item, place)
    if gap := undeclared_gap(kind, item):
        raise CurationError(f"{place}, context: its gap is «{gap}», not BLANK", how_to_declare(gap))
    foreign = [
        s["gold_label"] for s in sentences_of(item) if not _is_label(s.get("gold_label", ""))
    ]
    if foreign:
        if is_hidden(foreign[0]):
            raise hidden_error(place)
        shown = str(foreign[0])[:60]
        raise CurationError(
            f"{place}, gold_label: {shown!r} is not a label",
            f'correct it, or map it in a mapping file: [labels] "{shown}" = "…", which is one of '
            f"{', '.join(GOLDS)}",
        )
    try:
        options = tuple(
            CatAssociation.model_validate(
                {"id": _id(s), "sentence": s["sentence"], "gold": read_label(s["gold_label"])}
            )
            for s in item["sentences"]
        )
        domain, target = item["bias_type"], item["target"]
        cat = Cat.model_validate(
            {
                "id": _id(item),
                "kind": kind,
                "domain": domain,
                "term": stable_id("term", domain, target),
                "target": target,
                "family": target,
                "split": "test",
                "context": item["context"] if ITEMS[kind].context else item.get("context", ""),
                "associations": options,
                "tier": _tier(item, options),
                "target_original": item.get("target_original") or None,
                "direction": item.get("direction") or None,
            }
        )
    except KeyError as error:
        raise CurationError(f"{place}: no field {error}", "see docs/datasets.md") from None
    except (TypeError, AttributeError, ValueError) as error:
        size = ITEMS[kind].size
        problem = f": not a CAT with {in_words(size)} sentences and their gold labels"
        if isinstance(error, ValidationError) and len(item["sentences"]) == size:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"])) or "context"
            problem = f", field {field!r}: {first['msg'].removeprefix('Value error, ')}"
        raise CurationError(
            f"{place}{problem}",
            "use a gold file, which has only validated CATs; see docs/datasets.md",
        ) from None
    if len({option.sentence.strip() for option in options}) == 1 and not cat.context:
        raise CurationError(
            f"{place}: the sentences of the pair are the same", "correct one of them"
        )
    roles = ITEMS[kind].roles
    if {a.gold for a in options} != set(roles):
        raise CurationError(
            f"{place}: the gold labels are not {', '.join(f'one {role}' for role in roles)}",
            "use a gold file, which has only validated CATs",
        )
    return cat


def _check_texts(item: Fields, place: str) -> None:
    """Refuse an item whose target, domain, context or sentences are there and are not texts."""
    sentences = [(sentence, "sentence") for sentence in sentences_of(item)]
    for record, name in [(item, "target"), (item, "bias_type"), (item, "context"), *sentences]:
        value = record.get(name, "")
        if not isinstance(value, str):
            shown = str(value)[:60]
            raise CurationError(f"{place}, {name}: {shown!r} is not a text", "write a text there")


def _id(record: Mapping[str, Any]) -> Any:
    """An id as a text; some files have numbers."""
    own = record["id"]
    return str(own) if type(own) is int else own


def _is_label(value: Any) -> bool:
    """Whether a gold label is known, or has no value that a mapping file could name."""
    return not isinstance(value, str | int) or value == "" or bool(read_label(str(value)))


def _check_new(
    names: Iterable[tuple[str, str]], seen: Mapping[tuple[str, str], str], place: str
) -> None:
    """Refuse an id that is used twice among CATs, or among sentences."""
    here: set[tuple[str, str]] = set()
    for name in names:
        if name in seen or name in here:
            raise CurationError(
                f"{place}: the id {name[1]} is already used in {seen.get(name, 'the same item')}",
                "make ids unique in the gold file",
            )
        here.add(name)


def _not_cats(path: Path, bad: list[tuple[str, CurationError]], kept: set[str]) -> CurationError:
    """The error of items that are not CATs, with the lines that leave them out.

    An id in ``skip`` leaves out every item that has it, so it cannot leave out a repeated one.
    """
    first, names = bad[0][1], [name for name, _ in bad]
    repeated = not kept.isdisjoint(names)
    shown = some((f'"{name}"' for name in names), SHOWN)
    wrong = "are not CATs or repeat an id" if repeated else "are not CATs"
    others = f"; {len(names)} items {wrong}: {shown}" if len(names) > 1 else ""
    mapped = path.suffix.lower() == ".toml"
    files = "" if mapped else f'files = ["{path.name}"] and '
    named = f"{path.name}: " if mapped else ""
    skip = 'skip = "bad"' if repeated or len(names) > SHOWN else f"skip = [{shown}]"
    return CurationError(
        f"{named}{first.what}{others}",
        f"{first.fix}; or leave out: a mapping file with {files}{skip}",
    )


def association_table(cats: Iterable[Cat]) -> "pd.DataFrame":
    """CATs as a pandas table, one row per association.

    Returns:
        The columns cat and association (ids), kind, domain, target, family, split, tier (missing if
        the votes are not known), context, sentence (the filled sentence, or the association without
        its context if that has no gap) and gold.
    """
    import pandas as pd

    of_cat = ("kind", "domain", "target", "family", "split", "tier", "context")
    rows = []
    for cat in cats:
        values = [getattr(cat, name) for name in of_cat]
        rows += [(cat.id, a.id, *values, a.sentence, a.gold) for a in cat.associations]
    columns = ["cat", "association", *of_cat, "sentence", "gold"]
    return pd.DataFrame(rows, columns=columns).astype({"tier": "Int64"})


def _tier(item: Fields, options: Iterable[CatAssociation]) -> int | None:
    own = item.get("tier")
    if type(own) is int:
        return own
    return tier([votes(s) for s in item["sentences"]], [option.gold for option in options])


def dataset(
    cats: Iterable[Cat], labels: Labels, *, version: str, settings: FileSettings | None = None
) -> Fields:
    """The content of a file in StereoSet's format.

    Args:
        cats: the CATs, in this order.
        labels: the labels of their associations.
        version: the version to write into the file.
        settings: how the CATs were checked.

    Returns:
        As ``document``.
    """
    items = (
        (cat.kind, item_of(cat, ((a.id, a.sentence, a.gold) for a in cat.associations), labels))
        for cat in cats
    )
    return document(items, version=version, settings=settings)


def document(
    items: Iterable[tuple[Kind, Fields]], *, version: str, settings: FileSettings | None = None
) -> Fields:
    """The content of a file in StereoSet's format, from items with their kinds.

    Returns:
        ``{"version", "curation", "data": {kind: [item]}}``, to be written as JSON; ``curation``
        only with settings.
    """
    data: dict[str, list[Fields]] = {
        kind: [] for kind in reversed(KINDS) if ITEMS[kind].in_stereoset
    }
    for kind, item in items:
        data.setdefault(kind, []).append(item)
    if settings is None:
        return {"version": version, "data": data}
    checked = settings.model_dump(exclude=None if settings.without_votes else {"without_votes"})
    return {"version": version, "curation": checked, "data": data}


def item_of(
    cat: Any, options: Iterable[tuple[str, str, str | None]], labels: Labels, **more: Any
) -> Fields:
    """A CAT as an item in StereoSet's form.

    Args:
        cat: anything with the fields of ``Cat`` that are not about its associations.
        options: id, sentence and gold label of each association; None is a hidden gold label.
        labels: the labels of the associations.
        more: other fields of the item.
    """
    sentences = [
        {
            "id": option,
            "sentence": sentence,
            "labels": [
                {"label": value, "human_id": annotator}
                for annotator, value in labels.get(option, ())
            ],
            "gold_label": gold or HIDDEN,
        }
        for option, sentence, gold in options
    ]
    original = {"target_original": cat.target_original} if cat.target_original else {}
    if direction := getattr(cat, "direction", None):
        more["direction"] = direction
    return {
        "id": cat.id,
        "target": cat.target,
        **original,
        "bias_type": cat.domain,
        "context": cat.context,
        "tier": cat.tier,
        **more,
        "sentences": sentences,
    }


# --- tiers ----------------------------------------------------------------------------------


def of_tier(cats: Sequence[Cat], tier: int | None) -> tuple[list[Cat], int]:
    """The CATs of a tier or above (ACL footnote 2: a stricter set has four or more agree).

    Args:
        cats: the CATs.
        tier: the lowest tier; None keeps all CATs.

    Returns:
        The CATs, and how many are left out because their votes are not known.

    Raises:
        CurationError: no CAT is of that tier or above.
    """
    if tier is None:
        return list(cats), 0
    kept = [cat for cat in cats if cat.tier is not None and cat.tier >= tier]
    unknown = sum(cat.tier is None for cat in cats)
    if not kept:
        raise CurationError(
            f"no CAT of {len(cats):,} has tier {tier} or more"
            + (f"; the votes of {unknown} are not known" if unknown else ""),
            "give a lower --tier, or leave it out",
        )
    return kept, unknown


def tier_text(tier: int | None) -> str:
    """The tier in titles and captions, or "".

    >>> tier_text(4), tier_text(None)
    ('CATs of tier 4 or more', '')
    """
    return "" if tier is None else f"CATs of tier {tier} or more"
