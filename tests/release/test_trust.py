"""The trust report in a release: brought up to date, shown, without hidden labels."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import open_campaign
from curation.files import CurationError
from curation.records import Criterion
from curation.release.facts import TrustFacts, TrustRow
from curation.release.hidden.numbers import FEW, _trust
from curation.release.texts.card import trust as card_lines
from curation.steps.release import hidden
from curation.steps.step import QUIET
from curation.trust.protocol import table
from curation.work.manifest import Results
from support.desk import Desk
from support.labelled import set_to, shas

ROW: dict[str, Any] = {
    "subject": "scores",
    "name": "ll",
    "criterion": "sensitivity",
    "check": "padding",
    "status": "fail",
    "value": 0.4712345,
    "ci": (0.25123, 0.5),
    "n": 150,
    "unit": "terms",
    "computed": "the rank correlation of 150 terms",
    "change": "another rule",
}
DATASET: dict[str, Any] = {**ROW, "subject": "dataset", "name": "made-up", "criterion": "content"}
CONTROL: dict[str, Any] = {**ROW, "check": "length rule", "status": "pass", "kind": "control"}


@pytest.fixture
def desk(forked: Any, labelled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    rows = [Criterion.model_validate(row) for row in (ROW, CONTROL, DATASET)]
    monkeypatch.setattr(table, "dataset_criteria", lambda *given, **how: rows)
    return Desk(forked, Path(shutil.copytree(labelled, tmp_path / "c")))


def built(desk: Desk) -> tuple[dict[str, Any], str]:
    folder = desk.root / "7-release" / "0.1.0"
    return (
        json.loads((folder / "release.json").read_bytes()),
        (folder / "README.md").read_text("utf-8"),
    )


def test_a_build_brings_the_report_up_to_date(desk: Desk) -> None:
    assert desk.run("trust", "report").code == 0
    path = desk.root / "6-trust" / "report.json"
    report = path.read_bytes()
    path.write_bytes(report.replace(b'"fail"', b'"pass"', 1))
    assert desk.run("release", "build", "--anonymous").code == 0
    assert path.read_bytes() == report

    path.with_name("attest.toml").write_text('owner = "Ada Example"\n', "utf-8")
    assert desk.run("release", "build").code == 0
    assert path.read_bytes() != report
    state = json.loads(desk.run("status", "--json").out)
    assert {s["state"] for s in state["steps"] if s["step"] == "trust"} == {"up to date"}
    facts, card = built(desk)
    assert "Ada Example" not in card + json.dumps(facts)
    rows = facts["trust"]["rows"]
    assert Counter(row["subject"] for row in rows) == {"dataset": 4, "scores": 4}
    assert facts["trust"]["thresholds"]["alpha"] == 0.05
    section = card.split("## Trust report")[1].split("\n## ")[0]
    assert "There is no overall verdict" in section
    assert "| scores ll | sensitivity | padding | fail |" in section
    assert "0.471 (0.251 to 0.5) | 150 terms |" in section
    assert "length rule" in section.split("Negative controls")[1]
    assert "10 questions are open" in section
    checked = desk.forked("release", "check", desk.root / "7-release" / "0.1.0")
    assert "facts_damaged" not in checked.out
    assert "maybe_personal" not in checked.out


def test_answers_that_cannot_be_read_stop_a_build_until_they_are_corrected(desk: Desk) -> None:
    assert desk.run("trust", "report").code == 0
    answers = desk.root / "6-trust" / "attest.toml"
    answers.write_text("owner =\n", "utf-8")
    for command in (("release", "build"), ("run",)):
        assert f"{answers}: " in desk.run(*command).err
    answers.unlink()  # a missing file is one without answers
    assert desk.run("release", "build").code == 0
    assert not answers.exists()


def test_the_test_set_stays_hidden_if_the_report_was_out_of_date(desk: Desk) -> None:
    for name in ("w", "v"):
        desk.say("rounds", "close", name)
    assert desk.run("trust", "report").code == 0
    (desk.root / "6-trust" / "attest.toml").write_text('owner = "Ada Example"\n', "utf-8")
    assert desk.run("release", "build", "--hide", "labels").code == 0
    version = desk.root / "7-release" / "0.1.0"
    before = shas(version)
    assert '"hidden"' in (version / "test.json").read_text("utf-8")
    assert desk.say("status")["next"] == "curation run"  # keywords are not computed yet
    assert desk.run("run").code == 0
    assert shas(version) == before
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    assert desk.run("run").code == 0
    assert '"hidden"' in (version.with_name("0.2.0") / "test.json").read_text("utf-8")


def test_without_a_report_a_release_says_nothing_of_it(desk: Desk) -> None:
    path = desk.root / "6-trust" / "report.json"
    assert desk.run("trust", "report").code == 0
    path.unlink()
    assert desk.run("release", "build").code == 0
    facts, card = built(desk)
    assert facts["trust"] is None
    assert "## Trust report" not in card
    state = json.loads(desk.run("status", "--json").out)
    assert next(s for s in state["steps"] if s["step"] == "trust")["state"] == "out of date"


def test_a_report_that_curation_did_not_write_is_replaced(desk: Desk) -> None:
    path = desk.root / "6-trust" / "report.json"
    path.parent.mkdir()
    path.write_text('{"checked": "by hand"}', "utf-8")
    assert desk.run("release", "build").code == 0
    assert built(desk)[0]["trust"]["rows"]


def test_status_says_to_build_if_only_the_report_and_the_release_are_missing(desk: Desk) -> None:
    for name in ("w", "v"):
        desk.say("rounds", "close", name)
    assert desk.run("trust", "report").code == 0
    for name in ("statistics", "sentiment", "keywords", "pitfalls"):
        assert desk.run("measures", name).code == 0
    (desk.root / "6-trust" / "attest.toml").write_text('owner = "Ada Example"\n', "utf-8")
    state = json.loads(desk.run("status", "--json").out)
    assert state["next"] == "curation scores models MODEL, then curation release build"


def test_run_leaves_the_report_out_if_nobody_uses_it(desk: Desk) -> None:
    for name in ("w", "v"):
        desk.say("rounds", "close", name)
    done = desk.run("run")
    assert "trust         left out" in done.out
    assert not (desk.root / "6-trust").exists()
    state = json.loads(desk.run("status", "--json").out)
    assert next(s for s in state["steps"] if s["step"] == "trust")["state"] == "not yet"
    assert "curation run" not in state["next"]


# --- hidden gold labels -------------------------------------------------------------------------


def facts_of(*rows: dict[str, Any]) -> TrustFacts:
    return TrustFacts(rows=tuple(TrustRow.model_validate(row) for row in rows))


def test_rows_about_hidden_labels_are_rounded_or_left_out() -> None:
    measure = {**ROW, "subject": "measure", "n": 8}
    stated = {**ROW, "subject": "dataset", "criterion": "consequential", "status": "attested"}
    few = {**ROW, "n": FEW - 1}
    labels = {**ROW, "unit": "labels", "n": 900}  # may be of a few CATs
    pitfalls = {**ROW, "subject": "dataset", "criterion": "content"}
    points = {**ROW, "value": 61.2345, "ci": (51.2345, 71.0), "p": 0.01234}
    report = facts_of(measure, stated, few, labels, pitfalls, ROW, points)
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
    stated = {**ROW, "subject": "dataset", "criterion": "consequential", "status": "attested"}
    rows = [{**ROW, "criterion": name} for name in ("face", "content", "agreement", "retest")]
    measure = {**ROW, "subject": "measure"}
    other = {"status": "pass", "value": -0.3, "ci": None, "n": 900, "computed": "c-12 is wrong"}
    before = facts_of(measure, stated, *rows)
    after = facts_of(measure, stated, *({**row, **other} for row in rows))
    assert _trust(before, enough=False) == _trust(after, enough=False)


def test_the_card_says_how_many_rows_are_left_out() -> None:
    class Given:
        trust = _trust(facts_of(ROW), enough=False)

    given: Any = Given
    lines = "\n".join(card_lines(given))
    assert "1 row is not published" in lines
    assert "It has no rows." in lines


def test_a_release_with_few_hidden_cats_has_no_row_about_them(desk: Desk) -> None:
    assert desk.run("trust", "report").code == 0
    assert desk.run("release", "build", "--hide", "labels").code == 0
    facts, card = built(desk)
    assert facts["trust"]["rows"] == []
    assert facts["trust"]["left_out"] == 8
    assert "8 rows are not published" in card


def test_a_row_that_names_a_hidden_cat_stops_the_build(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    cat = json.loads((desk.root / "3-decisions/cats.jsonl").read_text("utf-8").splitlines()[0])
    set_to(desk, 'hide = ""', 'hide = "labels"')
    named = cat["id"]

    class Before:
        def part(self, split: str) -> list[Any]:
            return [type("C", (), {"id": named})]

    class After:
        hidden = True

    class Given:
        trust = facts_of({**ROW, "name": named})

    given: Any = (Given, Before(), After)
    with pytest.raises(CurationError, match="names 1 CAT whose gold labels"):
        hidden.public_facts(open_campaign(desk.root), *given, [], Results(desk.root), QUIET)
