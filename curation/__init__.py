"""curation: from a list of social groups to a published, validated, scored benchmark."""

from os import PathLike
from typing import TYPE_CHECKING

from curation.version import __version__

if TYPE_CHECKING:
    from curation.campaign.store import Campaign

__all__ = ["__version__", "open_campaign"]


def open_campaign(folder: str | PathLike[str]) -> "Campaign":
    """Open a campaign: ``open_campaign("my-campaign").items``.

    What is out of date gives a warning when it is read.

    Args:
        folder: the campaign's folder.

    Raises:
        CurationError: the folder has no campaign, or a setting is wrong; the message names the
            line.
    """
    from pathlib import Path

    from curation import pipeline  # noqa: F401  (so that all steps are known)
    from curation.campaign import store
    from curation.campaign.step import Reading

    return Reading(store.open_campaign(Path(folder)))
