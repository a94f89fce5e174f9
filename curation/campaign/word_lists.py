"""The files and packages that pitfalls in words depend on."""

from pathlib import Path

from curation.campaign.dataset import Dataset, shipped_file
from curation.campaign.settings import Settings
from curation.campaign.step import splitters
from curation.campaign.store import Campaign

META_TEXT = shipped_file("data", "words", "meta_text.csv")
PITFALL_TABLES = (
    shipped_file("data", "words", "pitfalls.csv"),
    shipped_file("data", "checks", "pitfalls.toml"),
)
RATES = shipped_file("data", "rates", "stereoset_dev.json")
PACKAGES = ("wordfreq", "simplemma", "lemminflect", "better-profanity", "Faker", "rapidfuzz")


def _own_words(campaign: Campaign) -> Path:
    return campaign.folder("measures") / "words.csv"


OWN_WORDS: Dataset[Path | None] = Dataset(
    "own words",
    lambda campaign: [_own_words(campaign)],
    lambda campaign: path if (path := _own_words(campaign)).exists() else None,
)
"""The file of a team's own word lists for pitfalls, if there is one."""


def word_packages(settings: Settings) -> tuple[str, ...]:
    """The packages that pitfalls in words depend on."""
    return (*PACKAGES, *splitters(settings.campaign.language))
