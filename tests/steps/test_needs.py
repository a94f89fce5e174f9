"""A step runs the steps that it needs and no others, and what it reads is declared."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import AnyDataset, Campaign, open_campaign
from curation.files import dump_json, read_json
from curation.steps import read
from curation.steps.decisions import agreement_report
from curation.steps.pipeline import BY_NAME, STEPS, bring_up_to_date, made_steps
from curation.steps.rounds.fold import fold_answers
from curation.steps.scores.compare import read_agreement
from curation.steps.source import open_source
from curation.steps.step import (
    MAKERS,
    QUIET,
    Reporter,
    Step,
    current,
    last_run,
    run_steps,
    with_needs,
)
from curation.work.manifest import Results
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
    names = [campaign.relative(path) for path in step.inputs(campaign)]
    return {wrote[name] for name in names if name in wrote}


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


def test_steps_come_in_order_and_after_those_that_they_need() -> None:
    for number, step in enumerate(STEPS):
        read = (MAKERS[each] for each in (*step.reads, *step.if_made) if each in MAKERS)
        assert {*read} <= {*STEPS[:number]}


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


ELSE = {
    "select": {"rejected.jsonl"},  # its own results: what it has said before is not said again
    "answers": {"standing.jsonl"},  # the sha256 of who is out is in its settings
    "statistics": {"reference"},  # the place of the file, not what is in it
    "sentiment": {"reference"},
    "trust": {"attested"},  # a file without answers counts as missing
    "release": {"built.jsonl", "versions", "statement"},  # what was built before; the same
}
"""What a step asks for and does not declare as a dataset."""
NOT_ASKED = {
    "pitfalls": {"decisions.jsonl"},  # asked only with trust_gold
    "trust": {"agreement.json"},  # the report names the file
    "release": {"report.json", "sentiment_scores.json"},  # read by functions for gold files, too
}
"""What a step declares, and does not ask for in the example."""


def test_each_step_asks_for_what_it_declares(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, depth, get = set[AnyDataset](), 0, Campaign.__getitem__

    def heard(campaign: Campaign, dataset: Any) -> Any:
        nonlocal depth
        if not depth:  # what a dataset is made of is its own
            asked.add(dataset)
        depth += 1
        try:
            return get(campaign, dataset)
        finally:
            depth -= 1

    monkeypatch.setattr(Campaign, "__getitem__", heard)
    for step in (each for each in STEPS if each.name != "pages"):
        asked.clear()
        campaign = open_campaign(finished)
        results = Results(step.folder(campaign))
        try:
            step.work(campaign, results, QUIET)
        finally:
            results.discard()
        declared = {*step.reads, *step.if_made, *step.as_it_is}
        more = {each.name for each in asked - declared}
        unasked = {each.name for each in declared - asked}
        assert (more, unasked) == (ELSE.get(step.name, set()), NOT_ASKED.get(step.name, set())), (
            step
        )


# --- score runs as inputs -----------------------------------------------------------------------


def count_scores(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    files = [path for path in read.run_files(campaign) if path.name == "scores.jsonl"]
    results.json("count.json", sum(path.read_bytes().count(b"\n") for path in files))
    return {"runs": len(files)}


COUNT = Step(
    "count", "how many scores there are", lambda c: c.root / "count", "release.build",
    lambda c: {}, count_scores, files=read.run_files,
)  # fmt: skip


def test_a_step_that_reads_scores_is_out_of_date_when_a_run_changes(campaign: Campaign) -> None:
    def runs() -> bool:
        ran: list[bool] = []
        run_steps(campaign, COUNT, tell=lambda _, did: ran.append(did))
        assert current(campaign, COUNT)
        return ran == [True]

    def write(name: str, content: Any) -> None:
        path = campaign.folder("scores") / "gpt" / "ll" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    assert runs()
    assert not runs()
    write("run.json", dump_json({"model": "gpt"}))
    write("scores.jsonl", b"{}\n")
    assert not current(campaign, COUNT)
    assert runs()
    assert read_json(campaign.root / "count" / "count.json") == 1
    write("results.json", b"{}")  # made of the scores; nothing reads it
    assert current(campaign, COUNT)
    write("scores.jsonl", b"{}\n{}\n")
    assert runs()
    assert read_json(campaign.root / "count" / "count.json") == 2
    write("run.json", dump_json({"model": "gpt", "revision": "b"}))
    assert runs()
    assert not runs()


def test_a_file_that_changes_while_a_step_reads_it_is_an_error(finished: Path) -> None:
    campaign, split = open_campaign(finished), BY_NAME["split"]
    decisions, cats = (finished / "3-decisions" / f"{n}.jsonl" for n in ("decisions", "cats"))
    before = cats.read_bytes()
    cats.unlink()

    def meanwhile(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
        counts = split.work(campaign, results, reporter)
        decisions.write_bytes(decisions.read_bytes() + b"\n")
        return counts

    with fails("decisions.jsonl: has changed while the step split read it", fix="run this again"):
        run_steps(campaign, replace(split, work=meanwhile, reads=(), as_it_is=split.reads))
    assert not cats.exists()
    decisions.write_bytes(decisions.read_bytes()[:-1])
    run_steps(campaign, split)
    assert cats.read_bytes() == before
