"""The trust report in a release: brought up to date, shown, without hidden labels."""

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from curation.campaign.versions import History
from curation.records import Criterion
from curation.release import hiding as hidden
from curation.release.texts.card import statement
from curation.released.facts import TrustFacts, TrustRow
from curation.released.numbers import FEW, _trust
from curation.trust.protocol import table
from support.expected import fails
from support.labelled import Desk
from support.releases import facts
from support.written import shas

ROW: dict[str, Any] = {
    "subject": "scores", "name": "ll", "criterion": "sensitivity", "check": "padding",
    "status": "fail", "value": 0.4712345, "ci": (0.25123, 0.5), "n": 150, "unit": "terms",
    "computed": "the rank correlation of 150 terms", "change": "another rule",
}  # fmt: skip
DATASET: dict[str, Any] = {**ROW, "subject": "dataset", "name": "made-up", "criterion": "content"}
CONTROL: dict[str, Any] = {**ROW, "check": "length rule", "status": "pass", "kind": "control"}
STATED: dict[str, Any] = {**DATASET, "criterion": "consequential", "status": "attested"}


@pytest.fixture
def desk(ready: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    rows = [Criterion.model_validate(row) for row in (ROW, CONTROL, DATASET)]
    monkeypatch.setattr(table, "dataset_criteria", lambda *given, **how: rows)
    return ready.copy(tmp_path / "c")


@pytest.fixture
def closed(desk: Desk) -> Desk:
    """The campaign after its rounds were closed."""
    for name in ("w", "v"):
        desk.say("rounds", "close", name)
    return desk


def report_of(desk: Desk) -> Path:
    return desk.root / "6-trust" / "report.json"


def attest(desk: Desk, text: str = 'owner = "Ada Example"\n') -> Path:
    path = desk.root / "6-trust" / "attest.toml"
    path.write_text(text, "utf-8")
    return path


def state(desk: Desk) -> str:
    """What ``status`` says of the step «trust»."""
    return next(s["state"] for s in desk.say("status")["steps"] if s["step"] == "trust")


def test_a_build_brings_the_report_up_to_date(desk: Desk) -> None:
    desk.done("trust", "report")
    path = report_of(desk)
    report = path.read_bytes()
    path.write_bytes(report.replace(b'"fail"', b'"pass"', 1))
    desk.build("--anonymous")
    assert path.read_bytes() == report

    attest(desk)
    desk.build()
    assert path.read_bytes() != report
    assert state(desk) == "up to date"
    facts, card, stated = desk.facts(), desk.card(), desk.statement()
    assert "Ada Example" not in card + stated + json.dumps(facts)
    counts = Counter(row["subject"] for row in facts["trust"]["rows"])
    assert counts == {"dataset": 4, "scores": 4}
    assert facts["trust"]["thresholds"]["alpha"] == 0.05
    assert "There is no overall verdict" in card
    assert "10 questions are open" in card
    section = stated.split("**May the results be trusted?**")[1].split("\n## ")[0]
    assert "| scores ll | sensitivity | padding | fail |" in section
    assert "0.471 (0.251 to 0.5) | 150 terms |" in section
    assert "length rule" in section.split("Negative controls")[1]
    checked = desk.forked("release", "check", desk.first).out
    assert "facts_damaged" not in checked
    assert "maybe_personal" not in checked


def test_answers_that_cannot_be_read_stop_a_build_until_they_are_corrected(desk: Desk) -> None:
    desk.done("trust", "report")
    answers = attest(desk, "owner =\n")
    for command in (("release", "build"), ("run",)):
        assert f"{answers}: " in desk.run(*command).err
    answers.unlink()  # a missing file is one without answers
    desk.build()
    assert not answers.exists()


def test_the_test_set_stays_hidden_if_the_report_was_out_of_date(closed: Desk) -> None:
    closed.done("trust", "report")
    attest(closed)
    closed.build("--hide", "labels")
    before = shas(closed.first)
    assert '"hidden"' in (closed.first / "test.json").read_text("utf-8")
    (closed.root / "4-measures/keywords.json").unlink()
    assert closed.say("status")["next"] == "curation run"
    closed.done("run")
    assert shas(closed.first) == before
    closed.set(version="0.2.0")
    closed.done("run")
    assert '"hidden"' in (closed.second / "test.json").read_text("utf-8")


def test_without_a_report_a_release_says_nothing_of_it(desk: Desk) -> None:
    desk.done("trust", "report")
    report_of(desk).unlink()
    desk.build()
    assert desk.facts()["trust"] is None
    assert "rust report" not in desk.card()
    assert "May the results be trusted?" not in desk.statement()
    assert state(desk) == "out of date"


def test_a_report_that_curation_did_not_write_is_replaced(desk: Desk) -> None:
    report_of(desk).parent.mkdir()
    report_of(desk).write_text('{"checked": "by hand"}', "utf-8")
    desk.build()
    assert desk.facts()["trust"]["rows"]


def test_status_says_to_build_if_only_the_report_and_the_release_are_missing(closed: Desk) -> None:
    closed.done("trust", "report")
    attest(closed)
    then = "curation scores models MODEL, then curation release build"
    assert closed.say("status")["next"] == then


def test_run_leaves_the_report_out_if_nobody_uses_it(closed: Desk) -> None:
    assert "trust         left out" in closed.run("run").out
    assert not report_of(closed).parent.exists()
    assert state(closed) == "not yet"
    assert "curation run" not in closed.say("status")["next"]


# --- hidden gold labels -------------------------------------------------------------------------


def facts_of(*rows: dict[str, Any]) -> TrustFacts:
    return TrustFacts(rows=tuple(TrustRow.model_validate(row) for row in rows))


def test_rows_about_hidden_labels_are_rounded_or_left_out() -> None:
    measure = {**ROW, "subject": "measure", "n": 8}
    few = {**ROW, "n": FEW - 1}
    labels = {**ROW, "unit": "labels", "n": 900}  # may be of a few CATs
    points = {**ROW, "value": 61.2345, "ci": (51.2345, 71.0), "p": 0.01234}
    report = facts_of(measure, STATED, few, labels, DATASET, ROW, points)
    made = _trust(report, enough=True)
    assert made.left_out == 3
    assert [row.subject for row in made.rows] == ["measure", "dataset", "scores", "scores"]
    assert made.rows[0] == report.rows[0]
    public, percent = made.rows[2:]
    assert (public.value, public.ci) == (0.47, (0.25, 0.5))
    assert (public.computed, public.change) == ("", "")
    assert (percent.value, percent.ci, percent.p) == (61.2, (51.2, 71.0), 0.01)
    assert [row.subject for row in _trust(report, enough=False).rows] == ["measure", "dataset"]


def test_the_smallest_domain_is_not_published_and_points_have_one_decimal() -> None:
    domains = {**ROW, "check": "domains:m", "statistic": "largest change of ss, in points"}
    change = {**ROW, "statistic": "change of ss (signed), in points", "ci": (-0.567, 0.789)}
    made = _trust(facts_of(domains, change), enough=True)
    (row,) = made.rows
    assert (row.value, row.ci, made.left_out) == (0.5, (-0.6, 0.8), 1)


def test_other_hidden_labels_give_the_same_rows_of_a_small_test_set() -> None:
    rows = [{**ROW, "criterion": name} for name in ("face", "content", "agreement", "retest")]
    same = ({**ROW, "subject": "measure"}, STATED)
    other = {"status": "pass", "value": -0.3, "ci": None, "n": 900, "computed": "c-12 is wrong"}
    before, after = (facts_of(*same, *({**row, **new} for row in rows)) for new in ({}, other))
    assert _trust(before, enough=False) == _trust(after, enough=False)


def test_the_statement_says_how_many_rows_are_left_out() -> None:
    said = statement(facts(trust=_trust(facts_of(ROW), enough=False))).decode()
    assert "1 row is not published" in said
    assert "It has no rows." in said


def test_a_release_with_few_hidden_cats_has_no_row_about_them(desk: Desk) -> None:
    desk.done("trust", "report")
    desk.build("--hide", "labels")
    facts = desk.facts()
    assert facts["trust"]["rows"] == []
    assert facts["trust"]["left_out"] == 8
    assert "8 rows are not published" in desk.statement()


def test_a_row_that_names_a_hidden_cat_stops_the_build(desk: Desk) -> None:
    name = desk.cats()[0].id
    desk.set(hide="labels")
    trust = facts_of({**ROW, "name": name})
    contents: Any = SimpleNamespace(part=lambda split: [SimpleNamespace(id=name)])
    with fails("names 1 CAT whose gold labels"):
        hidden.check_trust(History(desk.campaign), trust, contents)
