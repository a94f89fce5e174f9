"""Optional packages that come and go: what they changed is made again, and nothing good is lost."""

import json
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from curation.campaign.settings import CampaignSettings, Settings, new_id
from curation.campaign.step import current
from curation.campaign.store import Campaign, create_campaign, open_campaign
from curation.measures import keywords
from curation.measures.steps import word_packages
from curation.pipeline import BY_NAME, bring_up_to_date, read_status
from curation.rounds.importing import import_stereoset
from curation.status import OUT_OF_DATE, UP_TO_DATE
from curation.text import words
from support.commands import set_to
from support.heard import Heard
from support.scored import CATS, write_gold

STEPS = ("statistics", "sentiment", "keywords")
SLOW = ("simplemma", "lemminflect", "faker", "better_profanity")  # take seconds to load


def forget() -> None:
    """Forget what was read from packages, as a new process would."""
    keywords.wordfreq.cache_clear()
    words.frequencies.cache_clear()
    words._lemmatizer.cache_clear()
    words._lemma.cache_clear()


@pytest.fixture
def block(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes imports fail, as if the packages were not installed."""

    def block(*modules: str) -> None:
        parts = [n for n in sys.modules if n.startswith(tuple(f"{name}." for name in modules))]
        for name in (*modules, *parts):
            monkeypatch.setitem(sys.modules, name, None)
        forget()

    yield block
    forget()


def measured(folder: Path, language: str, *steps: str) -> Campaign:
    """A campaign of published items, with these steps up to date."""
    settings = Settings(campaign=CampaignSettings(id=new_id(), language=language))
    domains = dict.fromkeys(("craft", "sport"), settings.domains["profession"])
    campaign = create_campaign(folder, settings.model_copy(update={"domains": domains}))
    content = json.loads(write_gold(folder / "gold.json", CATS[:8]).read_bytes())
    for item in (item for items in content["data"].values() for item in items):
        for sentence in item["sentences"]:
            label = sentence["gold_label"]
            sentence["labels"] = [{"label": label, "human_id": f"h{n}"} for n in range(5)]
    (folder / "gold.json").write_text(json.dumps(content), "utf-8")
    import_stereoset(campaign, folder / "gold.json")
    with campaign.lock():
        bring_up_to_date(campaign, *steps)
    return open_campaign(folder)


def reports(campaign: Campaign) -> dict[str, Any]:
    names = ("sentiment", "keywords")
    return {
        name: json.loads((campaign.folder("measures") / f"{name}.json").read_bytes())
        for name in names
    }


def states(campaign: Campaign) -> dict[str, str]:
    return {step.step: step.state for step in read_status(campaign).steps if step.step in STEPS}


def test_what_was_not_checked_is_checked_once_the_package_is_there(
    tmp_path: Path, block: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    block("wordfreq", "vaderSentiment", *SLOW)
    campaign = measured(tmp_path / "c", "en", *STEPS)
    before = reports(campaign)
    assert before["sentiment"]["not_checked"].keys() == {"sentiment"}
    assert before["keywords"]["not_checked"].keys() == {"keywords"}
    assert set(states(campaign).values()) == {UP_TO_DATE}
    monkeypatch.undo()  # as pip install does
    block(*SLOW)
    assert states(campaign)["sentiment"] == states(campaign)["keywords"] == OUT_OF_DATE
    with campaign.lock():
        bring_up_to_date(campaign, *STEPS)
    after = reports(campaign)
    assert after["sentiment"]["not_checked"] == after["keywords"]["not_checked"] == {}


def test_results_stay_without_a_package_until_input_changes(tmp_path: Path, block: Any) -> None:
    block(*SLOW)
    campaign = measured(tmp_path / "c", "en", *STEPS)
    before = reports(campaign)
    block("wordfreq", "vaderSentiment")
    assert set(states(campaign).values()) == {UP_TO_DATE}
    notes = {step.step: step.note for step in read_status(campaign).steps if step.note}
    assert notes.keys() >= {"sentiment", "keywords", "item_pitfalls"}
    assert notes["sentiment"].startswith("made with vaderSentiment 3")
    reporter = Heard()
    with campaign.lock():
        bring_up_to_date(campaign, *STEPS, reporter=reporter)
    assert (reports(campaign), reporter.warnings) == (before, [])
    set_to(campaign.root, "classes = 2", "classes = 3")
    campaign = open_campaign(campaign.root)
    with campaign.lock():
        bring_up_to_date(campaign, *STEPS, reporter=reporter)
    (warning,) = reporter.warnings
    assert warning.startswith("sentiment: the last results were made with vaderSentiment, which")
    assert "pip install" in warning
    assert reports(campaign)["sentiment"]["not_checked"]
    assert reports(campaign)["keywords"] == before["keywords"]


def test_splitters_of_other_languages_are_not_part_of_the_state() -> None:
    settings = Settings(campaign=CampaignSettings(id=new_id(), language="en"))
    assert not {*word_packages(settings)} & {"jieba", "ipadic", "mecab-python3"}


@pytest.mark.parametrize(
    ("language", "modules"), [("ja", ("MeCab", "ipadic")), ("zh-TW", ("jieba",))]
)
def test_a_splitter_of_words_is_part_of_the_state(
    tmp_path: Path, block: Any, monkeypatch: pytest.MonkeyPatch, language: str, modules: Any
) -> None:
    block(*modules)
    campaign = measured(tmp_path / "c", language, *STEPS, "pitfalls")
    assert all(current(campaign, BY_NAME[step]) for step in (*STEPS, "pitfalls", "item_pitfalls"))
    for name in modules:  # as pip install 'wordfreq[cjk]' does
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        monkeypatch.setitem(sys.modules, name, module)
    for step in ("statistics", "keywords", "pitfalls", "item_pitfalls"):
        assert not current(campaign, BY_NAME[step]), step
