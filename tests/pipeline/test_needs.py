"""A step runs the steps that it needs and no others, and what it reads is declared."""

import copy
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from curation.campaign.dataset import AnyDataset, OfRounds
from curation.campaign.datasets import SCORES, TERMS
from curation.campaign.source import open_source
from curation.campaign.step import (
    MAKERS,
    Given,
    Out,
    Step,
    UndeclaredError,
    current,
    last_run,
    run_steps,
    step,
    with_needs,
)
from curation.campaign.store import Campaign, open_campaign
from curation.decisions.steps import agreement_report
from curation.files import dump_json, read_json
from curation.pipeline import BY_NAME, ON_DEMAND, STEPS, bring_up_to_date, made_steps
from curation.rounds.steps import fold_answers
from curation.scores.comparing import read_agreement
from curation.work.reporter import QUIET
from support.commands import set_to
from support.expected import fails


def steps_read(campaign: Campaign, step: Step) -> set[str]:
    """The steps that wrote a step's inputs, by the manifests of a finished campaign."""
    wrote = {
        campaign.relative(other.folder(campaign) / name): other.name
        for other in STEPS
        for run in [last_run(campaign, other)]
        if run
        for name in run.outputs
    }
    return {wrote[name] for name in step.state(campaign)["inputs"] if name in wrote}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_a_step_reads_what_it_needs_and_its_files_are_listed(example: Path, step: Step) -> None:
    needed = {MAKERS[each].name for each in (*step.reads, *step.if_made) if each in MAKERS}
    read_from = steps_read(open_campaign(example), step)
    if step.name == "pages":  # it shows results as they are, also old ones
        assert needed == set()
        assert last_run(open_campaign(example), step)
        assert read_from >= {"agreement", "statistics", "trust", "release"}
        return
    assert read_from == needed
    page = (Path(__file__).parents[2] / "docs" / "campaign.md").read_text("utf-8")
    listed = set(re.findall(r"^ {4}(?:[A-Z]+/)?([\w.]+) ", page, re.MULTILINE))
    run = last_run(open_campaign(example), step)
    assert run, "the example campaign does not run this step: add its command to cli/demo.py"
    if step.name != "release":  # its files are listed with docs/formats.md#a-release
        assert {Path(name).name for name in run.outputs} <= listed


BEFORE = ["select", "answers", "filter"]


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("select", []),
        ("item_pitfalls", ["select", "answers"]),
        ("split", BEFORE),
        ("agreement", BEFORE),
        ("keywords", [*BEFORE, "split"]),
        ("trust", [*BEFORE, "agreement", "split", "pitfalls"]),
        ("release", [*BEFORE, "agreement", "split", "statistics", "sentiment", "pitfalls"]),
    ],
)
def test_needs_of_needs_count(name: str, needed: list[str]) -> None:
    assert [step.name for step in with_needs(BY_NAME[name])] == [*needed, name]


def test_only_what_is_needed_is_run(finished: Path) -> None:
    campaign = open_campaign(finished)
    for name in ("decisions.jsonl", "agreement.json", "cats.jsonl"):
        (campaign.folder("decisions") / name).unlink()
    (campaign.folder("measures") / "statistics.json").unlink()
    ran: list[tuple[str, bool]] = []
    bring_up_to_date(campaign, "sentiment", tell=lambda step, did: ran.append((step.name, did)))
    assert ran == [
        *(("select", False), ("answers", False), ("filter", True), ("split", True)),
        ("sentiment", False),  # the CATs came out the same
    ]
    for path in (
        campaign.folder("decisions") / "agreement.json",
        campaign.folder("measures") / "statistics.json",
    ):
        assert not path.exists()


def test_a_comparison_shows_the_agreement_of_the_present_decisions(finished: Path) -> None:
    made = read_agreement(open_source(finished))
    (finished / "3-decisions" / "agreement.json").unlink()
    assert made
    assert read_agreement(open_source(finished)) == made
    set_to(finished, "needed = 3", "needed = 4")
    bring_up_to_date(open_campaign(finished), "agreement")
    set_to(finished, "needed = 4", "needed = 3")
    bring_up_to_date(open_campaign(finished), "split")  # now agreement.json is of other decisions
    assert read_agreement(open_source(finished)) == made


def test_agreement_is_not_computed_from_outdated_decisions(finished: Path) -> None:
    decisions = finished / "3-decisions" / "decisions.jsonl"
    decisions.write_bytes(b"".join(decisions.read_bytes().splitlines(keepends=True)[:-1]))
    with fails("decisions.jsonl: the items have changed since"):
        agreement_report(open_campaign(finished), measures=["alpha"])


def test_several_steps_at_once(finished: Path) -> None:
    ran: list[str] = []
    campaign = open_campaign(finished)
    bring_up_to_date(campaign, "split", "item_pitfalls", tell=lambda step, _: ran.append(step.name))
    assert ran == ["select", "answers", "item_pitfalls", "filter", "split"]


def test_before_answers_terms_are_selected_and_no_step_after_them(campaign: Campaign) -> None:
    with fails("no answers yet; the terms are selected"):
        bring_up_to_date(campaign, "filter")
    assert [step.name for step in STEPS if last_run(campaign, step)] == ["select"]
    assert current(campaign, BY_NAME["select"])
    assert not current(campaign, BY_NAME["answers"])


def test_without_raw_answers_a_step_that_was_never_run_is_left_out(finished: Path) -> None:
    for raw in (finished / "2-rounds").glob("*/raw"):
        shutil.rmtree(raw)
    path = finished / "2-rounds" / "manifest.json"
    manifest = read_json(path)
    del manifest["steps"]["item_pitfalls"]  # of a version that had no such step
    path.write_bytes(dump_json(manifest))
    fold_answers(open_campaign(finished))
    assert read_json(path) == manifest


def test_the_fewest_steps_that_bring_all_up_to_date(example: Path, campaign: Campaign) -> None:
    assert made_steps(campaign) == [BY_NAME["answers"]]
    bring_up_to_date(campaign, "select")
    assert made_steps(campaign) == [BY_NAME["answers"]]
    made = [step for step in STEPS if not step.fixed]  # only its own command builds a release
    needed = {other for step in made for other in step.needs}
    last = [step for step in made if step not in needed]
    assert {"item_pitfalls", "statistics", "trust"} <= {step.name for step in last}
    assert made_steps(open_campaign(example)) == last


def test_what_is_deleted_if_a_person_leaves_is_the_folder_of_no_other_step() -> None:
    assert [step.name for step in ON_DEMAND if not step.lasting] == ["private"]
    others = {step.folder_name for step in STEPS}
    assert not [step for step in ON_DEMAND if not step.lasting and step.folder_name in others]


NOT_ASKED = {
    "statistics": {"tokenizer model"},  # these are files that other functions open
    "sentiment": {"sentiment model"},
    "keywords": {"reference"},  # asked only for a corpus of one's own
    "pitfalls": {"decisions.jsonl"},  # asked only with trust_gold
    "trust": {
        *("agreement.json", "groups", "trust runs"),  # files that functions open
        *("score runs", "sentiment_scores.json"),  # read by functions for gold files, too
        "terms",  # asked only for groups of a domain
    },
    "release": {
        *("report.json", "sentiment_scores.json", "score runs"),
        *("earlier versions", "standing.jsonl"),  # asked only if the version is not there
    },
}
"""What a step declares, and does not ask for in the example."""


def copied(value: Any, campaign: Campaign) -> Any:
    table = value.to_dict("list") if isinstance(value, pd.DataFrame) else value
    table = dict(table) if isinstance(table, Mapping) else table
    return copy.deepcopy(table, {id(campaign): campaign})  # no campaign can be copied


def test_each_step_asks_for_what_it_declares(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, kept, get = set[AnyDataset](), dict[Any, Any](), Given.__getitem__

    def heard(given: Given, dataset: Any) -> Any:
        found = get(given, dataset)
        if dataset not in asked and not isinstance(found, OfRounds):
            kept[dataset] = copied(found, given._whole)
        asked.add(dataset)
        return found

    monkeypatch.setattr(Given, "__getitem__", heard)
    unasked = {}
    for made in STEPS:
        asked.clear()
        kept.clear()
        campaign = open_campaign(finished)
        out = Out(made.folder(campaign), QUIET, made.state(campaign))
        try:
            made.run(campaign, out)
        finally:
            out.discard()
        for dataset, before in kept.items():  # nobody can change what others get
            now = copied(campaign[dataset], campaign)
            assert repr(now) == repr(before), (made.name, dataset.name)
        left = {each.name for each in {*made.datasets, *made.history} - asked}
        if names := {name for name in left if not name.startswith("data/")}:
            unasked[made.name] = names
    assert unasked == NOT_ASKED


def test_a_step_gets_nothing_that_it_does_not_declare(finished: Path) -> None:
    campaign = open_campaign(finished)

    @step("a step that asks for more", folder="decisions", version=1, reads=(TERMS,))
    def asking(campaign: Campaign, out: Out) -> dict[str, int]:
        assert campaign.terms
        return {"items": len(campaign.items)}

    with pytest.raises(UndeclaredError, match="the step asking does not declare 'items'"):
        run_steps(campaign, asking)
    names = ["campaign.seed", "domains.names", "split"]
    folder = campaign.folder("decisions")
    given = Given(campaign, "asking", [], names, folder)
    assert given.manifest(folder).steps
    with pytest.raises(UndeclaredError, match="the step asking reads the manifest of 1-terms"):
        given.manifest(campaign.folder("terms"))
    settings = given.settings
    assert (settings.campaign.seed, settings.split) == (1, campaign.settings.split)
    assert tuple(settings.domains) == tuple(campaign.settings.domains)
    for ask in (
        lambda: settings.campaign.name,
        lambda: settings.decisions.of,
        lambda: settings.domains["gender"].words,  # the names alone are declared
    ):
        with pytest.raises((UndeclaredError, TypeError)):
            ask()


# --- score runs as inputs -----------------------------------------------------------------------


@step("how many scores there are", folder="boards", version=1, as_it_is=(SCORES,))
def count(campaign: Campaign, out: Out) -> dict[str, int]:
    files = [path for path in campaign[SCORES] if path.name == "scores.jsonl"]
    out.json("count.json", sum(path.read_bytes().count(b"\n") for path in files))
    return {"runs": len(files)}


def test_a_step_that_reads_scores_is_out_of_date_when_a_run_changes(campaign: Campaign) -> None:
    def runs() -> bool:
        ran: list[bool] = []
        run_steps(campaign, count, tell=lambda _, did: ran.append(did))
        assert current(campaign, count)
        return ran == [True]

    def write(name: str, content: Any) -> None:
        path = campaign.folder("scores") / "gpt" / "ll" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    assert runs()
    assert not runs()
    write("run.json", dump_json({"model": "gpt"}))
    write("scores.jsonl", b"{}\n")
    assert not current(campaign, count)
    assert runs()
    assert read_json(count.folder(campaign) / "count.json") == 1
    write("results.json", b"{}")  # made of the scores; nothing reads it
    assert current(campaign, count)
    write("scores.jsonl", b"{}\n{}\n")
    assert runs()
    assert read_json(count.folder(campaign) / "count.json") == 2
    write("run.json", dump_json({"model": "gpt", "revision": "b"}))
    assert runs()
    assert not runs()


def test_a_file_that_changes_while_a_step_reads_it_is_an_error(finished: Path) -> None:
    campaign, split = open_campaign(finished), BY_NAME["split"]
    decisions, cats = (finished / "3-decisions" / f"{n}.jsonl" for n in ("decisions", "cats"))
    before = cats.read_bytes()
    cats.unlink()

    def meanwhile(campaign: Campaign, out: Out) -> dict[str, int]:
        counts = split.work(campaign, out)
        decisions.write_bytes(decisions.read_bytes() + b"\n")
        return counts

    with fails("decisions.jsonl: has changed while the step split read it", fix="run this again"):
        run_steps(
            campaign,
            replace(split, work=meanwhile, reads=(), as_it_is=(*split.reads, *split.as_it_is)),
        )
    assert not cats.exists()
    decisions.write_bytes(decisions.read_bytes()[:-1])
    run_steps(campaign, split)
    assert cats.read_bytes() == before
