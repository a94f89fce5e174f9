"""The interchange format: read and write files in StereoSet's format.

A dataset is ``{"version", "data": {"intrasentence": [...], "intersentence": [...]}}``, each item
``{id, target, bias_type, context, sentences: [{id, sentence, gold_label, labels: [{label,
human_id}]}]}``. A release also has ``curation``: how its CATs were checked.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from curation.files import CurationError, read_json
from curation.records import GOLDS, KINDS, VALUES, Cat, CatAssociation, Kind
from curation.rules import Votes, read_label, stable_id, tier

if TYPE_CHECKING:
    import pandas as pd


class FileSettings(BaseModel):
    """The field ``curation`` of a release's file: how its CATs were checked.

    Attributes:
        language: language code of the texts; empty if it is not known.
        blank_alone: whether BLANK must not touch a letter.
        name_target: whether a context must name its target.
        names: by domain and target, older texts and spellings that contexts use instead.
        without_votes: number of the file's CATs whose gold labels nobody's votes confirm: they are
            those of the data that the CATs were published in before.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    language: Annotated[str, StringConstraints(pattern=r"^([a-z]{2,3}(-[A-Za-z0-9]+)*)?$")] = ""
    blank_alone: bool = True
    name_target: bool = True
    names: dict[str, dict[str, list[str]]] = {}
    without_votes: Annotated[int, Field(ge=0)] = 0


def read_settings(path: Path) -> FileSettings:
    """The settings in a file in StereoSet's format; the defaults if it has none.

    Raises:
        CurationError: the file is not JSON, or its field ``curation`` is damaged.
    """
    content = read_json(path)
    given = content.get("curation", {}) if isinstance(content, dict) else {}
    if not isinstance(given, dict):
        raise CurationError(f"{path}, curation: is not an object", "restore the file")
    try:
        return FileSettings.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, ("curation", *first["loc"])))
        raise CurationError(
            f"{path}, {where}: {first['msg']}", "restore the file; see docs/formats.md"
        ) from None


class Entry(NamedTuple):
    """One item of a file, unchanged, and its place in the file."""

    kind: Kind
    where: str
    item: dict[str, Any]


def read_entries(path: Path) -> list[Entry]:
    """The items of a StereoSet file, unchecked.

    Raises:
        CurationError: the file is not JSON or not in this format; the message names the place.
    """
    content = read_json(path)
    data = content.get("data") if isinstance(content, dict) else None
    if not isinstance(data, dict) or not set(KINDS) & set(data):
        raise CurationError(
            f"{path}: not a StereoSet file: no «data» with «intrasentence» or «intersentence»",
            "see docs/formats.md for the format",
        )
    entries = []
    for kind in KINDS:
        items = data.get(kind, [])
        if not isinstance(items, list):
            raise CurationError(f"{path}: data.{kind} is not a list", "see docs/formats.md")
        for index, item in enumerate(items):
            where = f"{path.name} data.{kind}[{index}]"
            if not isinstance(item, dict):
                raise CurationError(f"{where}: not an object", "see docs/formats.md")
            entries.append(Entry(kind, where, item))
    if not entries:
        raise CurationError(f"{path}: contains no items", "check that it is the right file")
    return entries


def votes(sentence: dict[str, Any]) -> Votes:
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
    """The CATs of a gold file: every item must have one association of each gold label.

    Such a file has no families and splits: each target is its own family, and all CATs are test.
    The tier is the item's field ``tier``, which releases have, or else comes from its labels.

    Raises:
        CurationError: an item is not a CAT, or an id occurs twice; the message names place and id.
    """
    cats: list[Cat] = []
    seen: dict[str, str] = {}
    for kind, where, item in read_entries(path):
        place = f"{where} (id {item.get('id')})"
        try:
            options = tuple(
                CatAssociation.model_validate(
                    {
                        "id": s["id"],
                        "sentence": s["sentence"],
                        "gold": read_label(s["gold_label"]),
                    }
                )
                for s in item["sentences"]
            )
            domain, target = item["bias_type"], item["target"]
            cat = Cat.model_validate(
                {
                    "id": item["id"],
                    "kind": kind,
                    "domain": domain,
                    "term": stable_id("term", domain, target),
                    "target": target,
                    "family": target,
                    "split": "test",
                    "context": item["context"],
                    "associations": options,
                    "tier": _tier(item, options),
                    "target_original": item.get("target_original") or None,
                }
            )
        except KeyError as error:
            raise CurationError(f"{place}: no field {error}", "see docs/formats.md") from None
        except (TypeError, AttributeError, ValueError):
            raise CurationError(
                f"{place}: not a CAT with three sentences and their gold labels",
                "use a gold file, which has only validated CATs; see docs/formats.md",
            ) from None
        if {a.gold for a in options} != set(GOLDS):
            raise CurationError(
                f"{place}: the gold labels are not one stereotype, one anti-stereotype, "
                "one unrelated",
                "use a gold file, which has only validated CATs",
            )
        for name in (cat.id, *(a.id for a in options)):
            if name in seen:
                raise CurationError(
                    f"{place}: the id {name} is already used in {seen[name]}",
                    "make ids unique in the gold file",
                )
            seen[name] = where
        cats.append(cat)
    return cats


def association_table(cats: Iterable[Cat]) -> "pd.DataFrame":
    """CATs as a pandas table, one row per association.

    Returns:
        The columns cat and association (ids), kind, domain, target, family, split, tier (missing if
        the votes are not known), context, sentence (the filled sentence, or the association without
        its context for intersentence CATs) and gold.
    """
    import pandas as pd

    columns = [
        *("cat", "association", "kind", "domain", "target", "family", "split", "tier"),
        *("context", "sentence", "gold"),
    ]
    rows = [
        (
            *(cat.id, a.id, cat.kind, cat.domain, cat.target, cat.family, cat.split, cat.tier),
            *(cat.context, a.sentence, a.gold),
        )
        for cat in cats
        for a in cat.associations
    ]
    return pd.DataFrame(rows, columns=columns).astype({"tier": "Int64"})


def _tier(item: dict[str, Any], options: Iterable[CatAssociation]) -> int | None:
    own = item.get("tier")
    if type(own) is int:
        return own
    return tier([votes(s) for s in item["sentences"]], [option.gold for option in options])


def dataset(
    cats: Iterable[Cat],
    labels: Mapping[str, Iterable[tuple[str, str]]],
    *,
    version: str,
    settings: FileSettings | None = None,
) -> dict[str, Any]:
    """The content of a file in StereoSet's format.

    Args:
        cats: the CATs, in this order.
        labels: the (annotator, value) pairs of each association, by its id.
        version: the version to write into the file.
        settings: how the CATs were checked.

    Returns:
        ``{"version", "curation", "data": {kind: [item]}}``, to be written as JSON; ``curation``
        only with settings.
    """
    data: dict[str, list[dict[str, Any]]] = {kind: [] for kind in reversed(KINDS)}
    for cat in cats:
        sentences = [
            {
                "id": a.id,
                "sentence": a.sentence,
                "labels": [
                    {"label": value, "human_id": annotator}
                    for annotator, value in labels.get(a.id, ())
                ],
                "gold_label": a.gold,
            }
            for a in cat.associations
        ]
        data[cat.kind].append(
            {
                "id": cat.id,
                "target": cat.target,
                **({"target_original": cat.target_original} if cat.target_original else {}),
                "bias_type": cat.domain,
                "context": cat.context,
                "tier": cat.tier,
                "sentences": sentences,
            }
        )
    checked = {"curation": settings.model_dump()} if settings else {}
    return {"version": version, **checked, "data": data}
