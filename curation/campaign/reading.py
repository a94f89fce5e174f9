"""A campaign to read from, as in a notebook: it says whether what it gives is out of date."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from curation.campaign.step import MAKERS, is_up_to_date
from curation.campaign.store import Campaign, open_campaign
from curation.work.reporter import QUIET, Reporter


class Reading(Campaign):
    """A campaign that warns if a dataset is out of date when it is asked for. It runs nothing.

    Under its lock it is silent: who writes brings up to date what is read.
    """

    def __init__(self, campaign: Campaign, reporter: Reporter = QUIET) -> None:
        super().__init__(campaign.root, campaign.settings)
        object.__setattr__(self, "_reporter", reporter)
        object.__setattr__(self, "_is_silent", False)

    _reporter: Reporter
    _is_silent: bool

    def __getitem__(self, dataset: Any) -> Any:
        step = MAKERS.get(dataset)
        if step and not self._is_silent:
            with self._silent():
                is_new = is_up_to_date(self, step)
            if not is_new:
                self._reporter.warn(
                    f"{dataset.name}: out of date, or made from what is; «curation status» says "
                    "what has changed, and «curation run» computes it again"
                )
        return super().__getitem__(dataset)

    @contextmanager
    def lock(self, *, wait: float = 0) -> Iterator[None]:
        """As every campaign; see ``Campaign.lock``."""
        with super().lock(wait=wait), self._silent():
            yield

    @contextmanager
    def _silent(self) -> Iterator[None]:
        object.__setattr__(self, "_is_silent", True)
        try:
            yield
        finally:
            object.__setattr__(self, "_is_silent", False)

    def reload(self) -> "Reading":
        """The campaign opened again, with its settings as they are now."""
        return Reading(open_campaign(self.root), self._reporter)
