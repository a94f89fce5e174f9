"""Compare a campaign's test CATs with CATs that are public: of dev, of other versions, of files."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from curation.campaign import Campaign
from curation.catsets.entries import sentences_of
from curation.catsets.stereoset import read_entries
from curation.files import CurationError
from curation.records import KINDS
from curation.release.contents import PublishedCat
from curation.release.facts import Near
from curation.release.near import Pair, Texts, near, texts_of
from curation.steps.release.hidden.hiding import as_built
from curation.steps.release.versions import is_hidden_item, items_of


def near_public(
    campaign: Campaign,
    cats: Sequence[PublishedCat],
    *,
    versions: Iterable[str] = (),
    files: Iterable[Path] = (),
) -> tuple[tuple[Near, ...], list[Pair]]:
    """How many test CATs nearly repeat CATs of each public place, and the pairs.

    The places are dev of the same release, versions, and files. The dev CATs of a version count.
    Its test CATs with gold labels count too if the test CATs are to be hidden, and all of its test
    CATs with texts if they are to be sealed.

    Args:
        campaign: the campaign.
        cats: the CATs of the release with the ids of the campaign, both splits.
        versions: the names of folders in ``7-release``, such as 0.1.0 or 0.1.0-revealed.
        files: files with CATs, in any layout.

    Raises:
        CurationError: a file cannot be read.
    """
    places = {"dev": [texts_of(cat) for cat in cats if cat.split == "dev"]}
    hide = as_built(campaign).settings.release.hide
    for name in versions:
        place = campaign.releases / name
        items = items_of(place, ["dev"])
        if hide:
            test = items_of(place, ["test"])
            items += [item for item in test if hide == "all" or not is_hidden_item(item)]
        places[name] = [texts for item in items if (texts := _texts(item["kind"], item))]
    for path in files:
        entries = read_entries(path)
        places[str(path)] = [texts for e in entries if (texts := _texts(e.kind, e.item))]
        if not places[str(path)]:
            raise CurationError(
                f"{path}: no item has a context and sentences", "see docs/datasets.md"
            )
    return near([texts_of(cat) for cat in cats if cat.split == "test"], places)


def _texts(kind: Any, item: dict[str, Any]) -> Texts | None:
    """What is compared of an item of a file; None if it has no context or no sentences."""
    context = item.get("context")
    given = [sentence.get("sentence") for sentence in sentences_of(item)]
    sentences = tuple(sentence for sentence in given if isinstance(sentence, str))
    if kind not in KINDS or not isinstance(context, str) or not sentences:
        return None
    return Texts(str(item.get("id")), kind, context, sentences)
