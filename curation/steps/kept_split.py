"""The splits of terms in earlier versions, which the split keeps if ``[split] keep`` names one."""

from collections.abc import Iterable
from pathlib import Path

from curation.campaign import Campaign
from curation.files import CurationError
from curation.records import SplitName, Term


def inputs(campaign: Campaign) -> list[Path]:
    """The files of the versions that are read; none if the setting is empty."""
    from curation.release.contents import TERMS
    from curation.release.differences import data_files
    from curation.steps.release.hidden.golds import gold_file

    return [
        path
        for folder in _folders(campaign)
        for path in (*data_files(folder), folder / TERMS, gold_file(campaign, folder.name))
        if path.is_file()
    ]


def splits(campaign: Campaign, terms: Iterable[Term]) -> dict[str, SplitName]:
    """The splits of terms in the version that ``keep`` names and in those before it, by their ids.

    The last version that has a term decides. The test terms of a sealed version are those of its
    private gold file.

    Args:
        campaign: the campaign.
        terms: its terms; their ids are used for versions without ``terms.jsonl``.

    Raises:
        CurationError: there is no such version, or one of them is damaged.
    """
    from curation.release.differences import read_version
    from curation.steps.release.hidden.golds import gold_file, read_golds

    own = {(term.domain, term.text): term.id for term in terms}
    found: dict[str, SplitName] = {}
    for folder in _folders(campaign):
        if not folder.is_dir():
            raise CurationError(
                f"[split] keep names version {folder.name}, which is not in {campaign.releases}",
                "put its folder back, or name another built version",
            )
        version = read_version(folder)
        ids = version.terms or own
        for cat in version.cats:
            if (cat.domain, cat.target) in ids:
                found[ids[cat.domain, cat.target]] = cat.split
        if version.sealed:
            known = {**own, **ids}
            for gold in read_golds(gold_file(campaign, folder.name)):
                if term := known.get((gold.bias_type, gold.target)):
                    found[term] = "test"
    return found


def _folders(campaign: Campaign) -> list[Path]:
    """The folders of the version that ``keep`` names and of those before it, oldest first."""
    from curation.steps.release import changes

    name = campaign.settings.split.keep
    if not name:
        return []
    folder = campaign.releases / name
    earlier = changes.earlier(campaign)
    return earlier[: earlier.index(folder) + 1] if folder in earlier else [folder]
