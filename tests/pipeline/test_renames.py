"""Renames, merges and imports in any order: every later command works, and no answer is lost."""

import contextlib
import random
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.settings import (
    CampaignSettings,
    DomainSettings,
    Settings,
    TermSettings,
    new_id,
)
from curation.campaign.store import Campaign, create_campaign, open_campaign
from curation.files import CurationError, dump_line
from curation.pipeline import bring_up_to_date, read_status
from curation.records import Count, Entity
from curation.rounds.importing import import_answers
from curation.terms.explain import explain_term, outcome
from curation.terms.steps import selection

ITEMS = {
    "Q1": Entity(id="Q1", labels={"en": "actor", "ms": "pelakon"}),  # not in Indonesian
    "Q2": Entity(id="Q2", labels={"id": "pemeran"}, masculine=("aktor",), feminine=("aktris",)),
    "Q3": Entity(id="Q3", labels={"id": "tukang roti"}),
    "Q4": Entity(id="Q4", labels={"id": "Tukang Roti"}),
    "Q6": Entity(id="Q6", labels={"id": "juru masak"}),
}
TEXTS = [
    *("actor", "aktor", "pemeran", "aktris", "tukang roti", "Tukang Roti", "juru masak", "koki"),
    *("guru", "pengajar"),  # a word of a list, with a second spelling
]
COLUMNS = "item_id,domain,target,context,stereotype,anti_stereotype,unrelated\n"


def make(root: Path, *, gendered: bool) -> Campaign:
    about: Any = {"properties": ("P106",), "words": ("jobs.csv",), "min_count": 2}
    settings = Settings(
        campaign=CampaignSettings(id=new_id(), language="id"),
        terms=TermSettings(fallbacks=("en",)),
        domains={"profession": DomainSettings(**about, gendered=gendered)},
    )
    campaign = create_campaign(root, settings)
    campaign.folder("terms").mkdir(exist_ok=True)
    (campaign.folder("terms") / "jobs.csv").write_text(
        "term,also,language\nguru,pengajar,id\n", "utf-8"
    )
    counts = [
        Count(domain="profession", property="P106", item=item, count=n)
        for item, n in zip(ITEMS, (30, 20, 9, 5, 1), strict=True)  # the last is below the threshold
    ]
    (campaign.folder("terms") / "counts.jsonl").write_bytes(b"".join(map(dump_line, counts)))
    (campaign.folder("terms") / "entities.jsonl").write_bytes(
        b"".join(map(dump_line, ITEMS.values()))
    )
    return campaign


class Course:
    """A campaign, its lines of edits.csv, and how many rows were imported."""

    def __init__(self, root: Path, *, gendered: bool = False) -> None:
        self.campaign = make(root, gendered=gendered)
        self.lines, self.rows = "domain,term,action,into\n", 0

    def edit(self, line: str) -> None:
        self.lines += f"profession,{line}\n"
        (self.campaign.folder("terms") / "edits.csv").write_text(self.lines, "utf-8")

    def bring(self, target: str) -> Any:
        """Import an item on a term."""
        n, self.rows = self.rows, self.rows + 1
        draw = random.Random(n)
        here, *words = ("".join(draw.choices("bdfgklmnprst", k=9)) for _ in range(4))
        row = f"i{n},profession,{target},Di {here} {target} itu BLANK.,{','.join(words)}\n"
        table = self.campaign.root.with_suffix(f".{n}.csv")
        table.write_text(COLUMNS + row, "utf-8")
        return import_answers(self.campaign, table)

    def look(self) -> dict[str, str]:
        """Use what later commands use. Returns the text of the term of each item."""
        self.campaign = open_campaign(self.campaign.root)
        outcome(self.campaign)
        for text in {candidate.text for candidate in selection(self.campaign).candidates}:
            assert explain_term(self.campaign, text)
        assert not any("cannot run" in step.state for step in read_status(self.campaign).steps)
        if not self.campaign.round_names():
            return {}
        kept = self.campaign.terms
        return {item.id: kept[item.term].text for item in self.campaign.items}


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return Course(tmp_path / "c")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", range(12))
def test_any_order_of_renames_merges_and_imports_works(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    course = Course(tmp_path / "c", gendered=seed % 2 == 1)
    for _ in range(7):
        if draw.random() < 0.5:
            course.bring(draw.choice(TEXTS))
        else:
            action = draw.choice(["rename"] * 4 + ["merge"] * 2 + ["keep", "add", ""])
            term, into = draw.choice([*TEXTS, *ITEMS]), draw.choice([*TEXTS, "aktor baru"])
            if term != into:
                course.edit(f"{term},{action},{into if action in ('rename', 'merge') else ''}")
    course.bring(draw.choice(TEXTS))
    assert len(course.look()) == course.rows
    kept = [*course.campaign.terms.values()]
    texts = [term.text for term in kept]
    assert len({*texts}) == len({term.id for term in kept}) == len(kept)
    others = Counter(name for term in kept for name in {*term.names} - {*texts})
    assert max(others.values(), default=1) == 1  # every name is that of one term


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "steps",
    [
        ["Q1,rename,aktor", "aktor", "actor"],
        ["Q1,rename,aktor", "actor", "aktor"],
        ["actor", "Q1,rename,aktor", "aktor"],
        ["actor", "actor,rename,aktor", "actor", "aktor"],
    ],
)
def test_old_and_new_names_are_of_one_term(course: Course, steps: list[str]) -> None:
    for step in steps:
        if "," in step:
            course.edit(step)
        else:
            course.bring(step)
            course.look()
    assert {*course.look().values()} == {"aktor"}
    for name in ("actor", "aktor", "Q1", "pelakon"):
        stories = explain_term(course.campaign, name)
        assert "aktor" in {story["term"] for story in stories}
        edits = [edit for story in stories for edit in story["edits"]]
        found = {(edit["line"], edit["action"], edit["into"]) for edit in edits}
        assert found == {(2, "rename", "aktor")}


def test_a_rename_to_a_term_that_answers_made_is_reported(course: Course) -> None:
    for text in ("actor", "aktor"):
        course.bring(text)
    course.edit("Q1,rename,aktor")
    with pytest.warns(UserWarning, match="line 2: not applied: renames 'Q1' to 'aktor'"):
        course.bring("aktor")
    assert sorted({*course.look().values()}) == ["actor", "aktor"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was reported
        course.bring("actor")
    (warning,) = read_status(course.campaign).warnings
    assert "1-terms/edits.csv line 2: not applied" in warning
    assert "choose another name, or use the action merge" in warning
    (story,) = explain_term(course.campaign, "Q1")
    assert "another term already" in story["edits"][0]["not_applied"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_terms_that_swap_their_texts_keep_their_ids(course: Course) -> None:
    course.bring("aktris")
    before = {term.text: term.id for term in course.campaign.terms.values()}
    course.edit("aktris,rename,guru")
    course.edit("guru,rename,aktris")
    for text in ("aktris", "guru"):
        course.bring(text)
        course.look()
        after = {term.text: term.id for term in course.campaign.terms.values()}
        assert (after["aktris"], after["guru"]) == (before["guru"], before["aktris"])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_status_names_lines_that_are_not_applied(course: Course) -> None:
    for n in range(8):
        course.edit(f"nobody {n},drop,")
    course.bring("guru")
    with contextlib.suppress(CurationError), course.campaign.lock():
        bring_up_to_date(course.campaign)  # no item is kept, so nothing can be released
    status = read_status(course.campaign)
    assert "more labels for 1 item" in status.next
    *shown, more = status.warnings
    assert [f"line {n}: " in warning for n, warning in enumerate(shown, 2)] == [True] * 5
    assert more == "3 more lines of 1-terms/edits.csv not applied: curation terms select"
    course.edit("guru,rename,dosen")
    again = read_status(open_campaign(course.campaign.root))
    assert "more labels for 1 item" in again.next
    assert {step.step: step.state for step in again.steps}["select"] == "out of date"
