"""The trust report: its rows, its texts, what it depends on, and people's answers."""

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest
from markdown_it import MarkdownIt

from curation.campaign.settings import GroupSettings, settings_text
from curation.campaign.step import current
from curation.campaign.store import Campaign, open_campaign
from curation.files import dump_json, shipped
from curation.pipeline import BY_NAME, bring_up_to_date, read_status
from curation.records import CRITERIA, Bias, Criterion, Status
from curation.trust import steps as step
from curation.trust.protocol import report, table
from curation.trust.protocol.attested import (
    Answers,
    attested,
    is_past,
    open_questions,
    questions,
    read_answers,
    write_template,
)
from curation.trust.protocol.checks import words
from curation.trust.runs import files, measuring
from curation.trust.runs.files import read_groups
from support.commands import Ran, run, set_to
from support.expected import fails
from support.heard import Heard
from support.scored import CATS, write_gold

QUESTIONS = [question for question in questions().asked if not question.after_yes]


def row(**fields: Any) -> Criterion:
    given = {"subject": "scores", "name": "ll", "criterion": "sensitivity", "check": "padding"}
    return Criterion.model_validate({**given, "status": "pass", **fields})


ROWS = [
    row(status="fail", check="length", value=-0.25, ci=(-0.5, 0.125), n=1200, unit="terms"),
    row(subject="measure", name="vectors/gender-w2v", criterion="face", check="sign", p=0.00001),
    row(subject="measure", name="manzini/gender-w2v", criterion="content", kind="control"),
    row(subject="dataset", name="mild", criterion="agreement", status="inconclusive", power=0.44),
    row(subject="measure", name="vectors/gender-w2v", criterion="content", status="not_run"),
]
WHOLE = {q.key: "made up" for q in QUESTIONS} | {"review_date": "2030-01-31", "objective": "no"}


# --- the rows -----------------------------------------------------------------------------------


def test_rows_are_ordered_and_have_the_sha256_of_their_settings() -> None:
    made = report.ordered(ROWS, settings={"alpha": 0.05})
    assert [(r.subject, r.criterion, r.kind == "control") for r in made] == [
        ("measure", "content", True),  # «manzini» comes before «vectors»
        ("measure", "face", False),
        ("measure", "content", False),
        ("dataset", "agreement", False),
        ("scores", "sensitivity", False),
    ]
    assert report.ordered(ROWS[::-1], settings={"alpha": 0.05}) == made
    (sha,) = {r.settings for r in made}
    assert len(sha) == 12
    (other,) = {r.settings for r in report.ordered(ROWS, settings={"alpha": 0.01})}
    assert other != sha
    assert report.ordered([row(settings="mine")], settings={})[0].settings == "mine"


def test_counts_leave_controls_out() -> None:
    failed = row(kind="control", status="fail")
    counts = report.counts([*ROWS, failed])
    # The control that was rejected is not among those that pass.
    expected = dict.fromkeys(("pass", "fail", "inconclusive", "not_run", "controls_failed"), 1)
    assert counts.items() >= (expected | {"controls": 2}).items()
    assert report.failed([*ROWS, failed]) == [ROWS[0]]
    broken = row(kind="software", status="broken")
    assert report.failed([broken, row(kind="software", status="holds")]) == [broken]
    assert report.counts([broken])["software_broken"] == 1
    assert {*words().statuses, "holds", "broken"} == {*get_args(Status)}
    assert {*words().criteria} == {*words().what_holds} == {*CRITERIA}


# --- report.md ----------------------------------------------------------------------------------


def written(rows: list[Criterion], answers: Answers = WHOLE, **more: Any) -> str:
    given = {"title": "Mild", "thresholds": {"alpha": 0.05}, "left_out": {}, **more}
    return report.markdown(report.ordered(rows, settings={}), answers=answers, **given)


def test_the_page_says_what_was_computed_and_what_would_change_it() -> None:
    texts = {"computed": "the rank correlation", "source": "ours", "change": "about 12 more terms"}
    text = written([*ROWS, row(value=0.5, **texts)])
    assert "There is no overall verdict." in text
    assert "Computed: the rank correlation. Threshold: ours. What would change it: about 12" in text
    line = next(line for line in text.splitlines() if "length" in line and line.startswith("|"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:3] == ["Sensitivity", "length", "fail"]
    assert cells[4:7] == ["-0.25", "-0.5 to 0.125", "1,200 terms"]
    assert "<0.0001" in text
    controls = text.split("## Negative controls")[1].split("\n## ")[0]
    assert "manzini/gender-w2v" in controls
    assert "manzini" not in text.split("## Negative controls")[0]
    assert "| `alpha` | 0.05 |" in text
    sha = report.ordered(ROWS, settings={})[0].settings
    assert text.count(sha) == 1  # not in every row


def test_the_page_shows_answers_open_questions_and_runs_that_are_not_used() -> None:
    assert "nothing to test yet" in written([])
    text = written(ROWS, {"owner": "Ada Example"}, left_out={"vectors/x": "other words"})
    assert "Ada Example" in text
    assert text.count("Open question.") == len(QUESTIONS) - 1
    assert "- vectors/x: other words." in text
    assert "objective_where" not in text
    assert "objective_where" in written(ROWS, {"objective": "yes"})


def change(criterion: str, name: str, check: str, status: str, **more: Any) -> Criterion:
    return row(criterion=criterion, name=name, check=check, status=status, value=0.1, **more)


COMPARED = [
    change("mitigation", "less", "independent:v/a", "grew"),
    change("mitigation", "ll", "nearer:m/r;n/r", "fell"),
    change("amplification", "b", "l1:a", "fell"),
    change("amplification", "b", "towards:she:a", "moved", verdict="moved towards she"),
    change("amplification", "c", "l1:a", "not_shown"),
]


def test_what_grew_is_never_among_what_holds() -> None:
    first, held, refuted, *_ = report.sentences(COMPARED, open=0)
    assert (held, refuted) == (
        "All tests that ran pass: nothing.",
        "At least one test fails: nothing.",
    )
    assert first.startswith("The data decide 0 tests: 0 pass and 0 fail.")
    for text in (
        "bias grew: mitigation of less compared with v/a; ",
        "bias fell: mitigation of m/r compared with n/r, amplification of b compared with a; ",
        "not shown: amplification of c compared with a; ",
        "associations or ss moved: amplification of b compared with a.",
    ):
        assert text in first
    assert "bias grew" not in report.sentences(ROWS, open=0)[0]
    text = written(COMPARED)
    lines = [line for line in text.splitlines() if line.startswith("| Hypothesis")]
    assert [line.split("|")[3].strip() for line in lines] == [
        *("bias fell", "moved towards she"),
        *("not shown", "bias grew", "bias fell"),
    ]
    assert "pass" not in "".join(lines)
    assert report.failed(COMPARED) == COMPARED[:1]


def test_a_threshold_names_its_side_and_rows_that_do_not_apply_are_a_count() -> None:
    rows = [
        row(status="fail", check="a", value=24.5, limit="at_least", threshold=40),
        row(status="fail", check="b", value=90.5, limit="at_most", threshold=60),
        row(status="not_applicable", check="c", value=0.98, verdict="no verdict"),
        *(row(status="not_applicable", check=f"d{n}", computed="a reason") for n in range(3)),
    ]
    text = written(rows)
    assert "| at least 40 |" in text
    assert "| at most 60 |" in text
    assert "| no verdict |" in text
    assert "Not applicable here: 3 more checks." in text
    assert "a reason" not in text


def test_foreign_texts_in_the_page_are_no_markup() -> None:
    def tokens(text: str) -> list[str]:
        names = dict.fromkeys(("name", "check", "statistic", "unit", "computed", "change"), text)
        rows = [row(**names, evidence=(text,)), row(**names, kind="control")]
        answers = {q.key: text for q in QUESTIONS} | {"objective": "no"}
        page = written(rows, answers, title=text, left_out={text: text})
        return [token.type for token in MarkdownIt("commonmark").enable("table").parse(page)]

    for text in ("a | <b>b</b> `c` # d", "<b>- x", "- <b>x"):
        assert tokens(text) == tokens("plain")


# --- answers ------------------------------------------------------------------------------------


def test_the_template_has_every_question_and_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "6-trust" / "attest.toml"
    assert write_template(path)
    text = path.read_text("utf-8")
    assert all(f"\n{key} = " in text for key in [q.key for q in questions().asked])
    assert read_answers(path) == {}
    path.write_text(text + "# mine\n", "utf-8")
    assert not write_template(path)
    assert path.read_text("utf-8").endswith("# mine\n")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('owner = "a"\nonwer = "b"\n', "line 2, onwer: no such question"),
        ("\nowner = 3\n", "line 2, owner: is not a text"),
        ('objective = "perhaps"\n', "line 1, objective: 'perhaps' is not an answer"),
        ('review_date = "31.1.2030"\n', "line 1, review_date: '31.1.2030' is not a day"),
        ('review_date = "2030-02-30"\n', "line 1, review_date: '2030-02-30' is not a day"),
        ("review_date = 2030-01-31\n", "line 1, review_date: is not a text"),
        ('owner = "\\u0007"\n', "line 1, owner: it has a control character"),
        ("owner = \n", "(at line 1"),
        ('[owner]\nx = "a"\n', "line 1, owner: is not a text"),
    ],
)
def test_an_error_in_the_answers_names_its_line(tmp_path: Path, text: str, where: str) -> None:
    path = tmp_path / "attest.toml"
    path.write_text(text, "utf-8")
    with fails(str(path), where):
        read_answers(path)


def statuses(answers: Answers, today: str = "2030-01-31") -> dict[str, str]:
    subjects: Any = [("measure", "all"), ("dataset", "mild"), ("scores", "all")]
    rows = attested(answers, subjects, due=is_past(answers, today))
    assert all(r.computed and r.change for r in rows)
    assert "pass" not in {r.status for r in rows}
    return {f"{r.subject} {r.criterion} {r.check}": r.status for r in rows}


def test_answers_are_attested_and_never_pass() -> None:
    made = statuses(WHOLE)
    assert {*made.values()} == {"attested"}
    assert [*made] == [
        *("measure consequential uses", "measure consequential objective"),
        *("measure content construct", "dataset consequential uses"),
        *("dataset content construct", "dataset consequential notice"),
        *("scores consequential uses", "scores consequential objective"),
    ]
    assert {*statuses({}).values()} == {"not_run"}
    few = statuses(WHOLE | {"owner": "", "power": ""})
    assert [name for name, status in few.items() if status == "not_run"] == [
        *("measure consequential uses", "measure content construct"),
        *("dataset consequential uses", "dataset content construct", "scores consequential uses"),
    ]


def test_a_review_that_is_due_and_a_measure_that_is_a_target_are_inconclusive() -> None:
    late = statuses(WHOLE, today="2030-02-01")
    every: set[Any] = {"measure", "dataset", "scores"}
    open_now = {name for name, status in late.items() if status == "inconclusive"}
    assert open_now == {f"{subject} consequential uses" for subject in every}
    target = WHOLE | {"objective": "yes"}
    assert statuses(target)["scores consequential objective"] == "inconclusive"
    assert [question.key for question in open_questions(target, every)] == ["objective_where"]
    assert open_questions(WHOLE, every) == []
    measures = {question.key for question in open_questions({}, {"measure"})}
    assert {q.key for q in QUESTIONS} - measures == {"notice"}  # it is about users of a dataset


class Gold(NamedTuple):
    """A gold file, and the folder of the report on it."""

    file: Path
    out: Path

    def report(self, *words: str, code: int = 0) -> Ran:
        done = run("trust", "report", "--gold", self.file, "--out", self.out, *words)
        assert done.code == code, done.err
        return done


@pytest.fixture
def gold(tmp_path: Path) -> Gold:
    return Gold(write_gold(tmp_path / "dev.json", CATS), tmp_path / "out")


# --- the step -----------------------------------------------------------------------------------


@pytest.fixture
def measured(campaign: Campaign) -> Campaign:
    """A campaign without answers, with groups and a run of a measure on them."""
    groups = GroupSettings(lists={"a": "a.txt", "b": "b.txt"}, targets="t.txt")
    settings = campaign.settings.model_copy(update={"groups": {"two": groups}})
    (campaign.root / "campaign.toml").write_text(settings_text(settings), "utf-8")
    campaign.folder("trust").mkdir()
    for name, own in (("a", "ann"), ("b", "ben"), ("t", "baker\npotter")):
        (campaign.folder("trust") / f"{name}.txt").write_text(own + "\n", "utf-8")
    opened = open_campaign(campaign.root)
    (two,) = read_groups(opened)
    found = [
        Bias(target="baker", groups=two.names, soa=(1, 3), n=4),
        Bias(target="potter", groups=two.names, undefined="missing_target"),
    ]
    made = files.Measured(found)
    job = measuring.Job(opened, "vectors", "w", lambda _: made, dict, reporter=Heard())
    measuring.measure_groups(job, two)
    return opened


def made(campaign: Campaign, reporter: Heard | None = None) -> step.TrustReport:
    opened = open_campaign(campaign.root)
    with opened.lock():
        bring_up_to_date(opened, "trust", reporter=reporter or Heard())
    return step.read_report(step.place(opened))


def is_current(campaign: Campaign) -> bool:
    return current(open_campaign(campaign.root), BY_NAME["trust"])


def test_a_report_on_measures_alone(measured: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def of_measures(found: Any, groups: Any, settings: Any, **how: Any) -> list[Criterion]:
        given.append(([run.name for run in found], [*groups], settings.alpha, how["seed"]))
        name = "vectors/two-w"
        return [row(subject="measure", name=name, criterion="face", value=0.5, evidence=(name,))]

    monkeypatch.setattr(table, "measure_criteria", of_measures)
    found = made(measured)
    assert given == [(["vectors/two-w"], ["two"], 0.05, 1)]
    assert [(r.subject, r.check, r.status) for r in found.rows] == [
        *(("measure", "construct", "not_run"), ("measure", "objective", "not_run")),
        *(("measure", "uses", "not_run"), ("measure", "padding", "pass")),
    ]
    assert found.rows[-1].evidence == ("6-trust/runs/vectors/two-w/bias.jsonl",)
    assert len(found.open) == len(QUESTIONS) - 1  # notice is about a dataset
    content = json.loads(found.path.read_bytes())
    assert {"6-trust/a.txt", "6-trust/runs/vectors/two-w/run.json"} <= {*content["inputs"]}
    assert str(measured.root) not in found.path.read_text("utf-8")


def test_the_same_input_gives_the_same_files(measured: Campaign) -> None:
    files = [made(measured).path.with_name(name) for name in ("report.json", "report.md")]
    before = [path.read_bytes() for path in files]
    for path in files:
        path.unlink()
    made(measured)
    assert [path.read_bytes() for path in files] == before


def test_what_makes_it_out_of_date(measured: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    made(measured)
    assert is_current(measured)
    path = step.attest_file(measured)
    write_template(path)
    assert is_current(measured)  # a file without answers is as good as none
    path.write_text('owner = "Ada Example"\nreview_date = "2030-01-31"\n', "utf-8")
    assert not is_current(measured)
    assert "Ada Example" not in made(measured).path.read_text("utf-8")
    assert is_current(measured)
    monkeypatch.setattr(step, "_today", lambda: "2030-02-01")
    assert not is_current(measured)
    assert [r.status for r in made(measured).rows if r.check == "uses"] == ["not_run"]
    set_to(measured.root, "alpha = 0.05", "alpha = 0.01")
    assert not is_current(measured)
    assert made(measured).thresholds["alpha"] == 0.01


def test_a_run_of_other_words_is_left_out_and_status_says_so(measured: Campaign) -> None:
    (measured.folder("trust") / "a.txt").write_text("ada\n", "utf-8")
    reporter = Heard()
    found = made(measured, reporter)
    again = "curation trust vectors FILE --groups two --source w"
    why = (
        f"it was measured with other words; measure again: «{again}», with the same options as "
        "before"
    )
    assert found.left_out == {"vectors/two-w": why}
    assert reporter.warnings == [f"vectors/two-w is not in the trust report: {why}"]
    state = read_status(open_campaign(measured.root))
    (seen,) = state.trust
    assert (seen.measure, seen.source, seen.targets, seen.undefined) == ("vectors", "two-w", 2, 1)
    assert (seen.state, seen.why, seen.again) == ("not used", why, again)
    assert state.next.startswith(f"{again}, then curation trust report; or, for a dataset, ")


def test_status_says_what_to_do_next_in_a_campaign_without_answers(measured: Campaign) -> None:
    def following(campaign: Campaign) -> str:
        return read_status(open_campaign(campaign.root)).next.partition("; or, for a dataset, ")[0]

    assert following(measured) == "curation trust report"
    made(measured)
    assert following(measured) == "read 6-trust/report.md"
    shutil.rmtree(measured.folder("trust") / "runs")
    assert following(measured) == "curation trust text FILE, or another measure (curation trust -h)"


def test_a_pair_of_runs_that_do_not_exist_is_a_warning(measured: Campaign) -> None:
    pairs = '[["vectors/two-x", "vectors/two-y"], ["vectors/two-w", "vectors/two-y"]]'
    set_to(measured.root, "amplification = []", f"amplification = {pairs}")
    reporter = Heard()
    rows = made(measured, reporter).rows
    assert [w.partition(" is a run")[0] for w in reporter.warnings] == [
        "[trust] amplification: neither vectors/two-x nor vectors/two-y"
    ]
    assert any("there is no run vectors/two-y" in row.computed for row in rows)


def test_rows_that_need_a_campaign_say_so(gold: Gold, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = [row(status="not_run", check=c, change="do it") for c in ("share", "rule")]
    monkeypatch.setattr(table, "dataset_criteria", lambda *given, **how: missing)
    gold.report()
    changes = {r.check: r.change for r in step.read_report(gold.out / "report.json").rows}
    assert changes["share"] == "in a campaign («curation import stereoset FILE»), do it"
    assert changes["rule"] == "do it"


@pytest.mark.parametrize("harm", ["cut", "no such groups", "lost list", "shipped list"])
def test_a_run_that_cannot_be_used_does_not_stop_the_report(measured: Campaign, harm: str) -> None:
    folder = files.run_folder(measured, "vectors", "two", "w")
    if harm == "cut":
        path = folder / "bias.jsonl"
        path.write_bytes(path.read_bytes()[:20])
    elif harm == "lost list":
        (measured.folder("trust") / "a.txt").unlink()
    elif harm == "shipped list":  # the one that comes with curation has other groups
        set_to(measured.root, 'anchors = ""', 'anchors = "anchors.csv"')
    else:
        set_to(measured.root, "[groups.two]", "[groups.other]")
    found = made(measured, Heard())
    lost = {name: ["[groups.two]"] for name in ("lost list", "shipped list")}
    lost["no such groups"] = ["[groups.two]", "[groups.other]"]
    assert {*found.left_out} - {"vectors/two-w"} <= {*lost.get(harm, [])}
    assert str(measured.root) not in found.left_out["vectors/two-w"]
    text = found.path.read_text("utf-8")
    assert str(shipped("data", "groups")) not in text
    assert ("data/groups/anchors.csv line 2: there is no group" in text) == (harm[:4] == "ship")
    (seen,) = read_status(open_campaign(measured.root)).trust
    assert seen.state == "not used"


def trust_step(campaign: Campaign) -> str:
    """The state of the step, as ``status`` says it."""
    state = json.loads(run("status", "--json", "-c", campaign.root).out)
    return str(next(s for s in state["steps"] if s["step"] == "trust")["state"])


def test_status_shows_the_step_and_the_runs(measured: Campaign) -> None:
    made(measured)
    assert "Measures of bias" in run("status", "-c", measured.root).out
    state = json.loads(run("status", "--json", "-c", measured.root).out)
    assert [each["state"] for each in state["trust"]] == ["up to date"]
    assert trust_step(measured) == "up to date"
    (measured.folder("trust") / "a.txt").unlink()
    assert run("status", "-c", measured.root).out.count("a.txt: no such list of words") == 1


def test_a_step_that_does_not_apply_is_not_run(campaign: Campaign) -> None:
    assert not BY_NAME["trust"].applies(campaign)
    (campaign.root / "6-trust").mkdir()
    assert not BY_NAME["trust"].applies(campaign)
    write_template(step.attest_file(campaign))
    assert BY_NAME["trust"].applies(campaign)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ([], ": is not a trust report"),
        ({"rows": {}}, ", field 'rows': Input should be a valid array"),
        ({"rows": [row().model_dump(), {"subject": "x"}]}, ", row 2, field 'subject'"),
    ],
)
def test_a_damaged_report_names_the_place(tmp_path: Path, content: Any, where: str) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(dump_json(content))
    with fails(f"{path}{where}"):
        step.read_report(path)


# --- the command --------------------------------------------------------------------------------


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [*ROWS, row(kind="control", status="fail", check="swapped")]

    monkeypatch.setattr(table, "dataset_criteria", lambda *given, **how: list(rows))


@pytest.mark.usefixtures("failing")
def test_gold_files_have_a_report_of_their_own(gold: Gold) -> None:
    told = gold.report("--all").out
    assert {path.name for path in gold.out.iterdir()} == {"report.json", "report.md", "attest.toml"}
    for text in (
        "lms, ss and icat, by set of scoring rules: ll",
        "Negative controls",
        "There is no overall verdict.",
        "11 questions of attest.toml have no answer",
        "open in ",
    ):
        assert text in told
    said = json.loads(gold.report("--json").out)
    assert said["counts"]["fail"] == 1
    assert len(said["rows"]) == len(ROWS) + 1 + 8  # eight rows for people's answers


@pytest.mark.usefixtures("failing")
def test_the_command_prints_what_fails_or_is_inconclusive(gold: Gold) -> None:
    told = gold.report().out
    for text in (
        "The data decide 2 tests: 1 pass and 1 fail.",
        "by set of scoring rules: ll",  # its row fails
        "The dataset: mild",  # its row is inconclusive
        "All tests that ran pass: face validity of vectors/gender-w2v.",
        "Not tested, because something is missing",
        "swapped",  # a control that did not fail
        "2 negative controls (wrong on purpose): 1 rejected, 1 accepted",
        "--all prints the other rows, too",
    ):
        assert text in told
    assert "Measures of bias: vectors" not in told


@pytest.mark.usefixtures("failing")
def test_strict_fails_if_a_criterion_fails_and_names_it(gold: Gold) -> None:
    err = gold.report("--strict", code=1).err
    assert err.strip() == "warning: sensitivity: fail: scores ll, length"
    assert (gold.out / "report.json").exists()


def test_strict_is_0_if_nothing_fails(measured: Campaign) -> None:
    assert run("trust", "report", "--strict", "-c", measured.root).code == 0


@pytest.mark.parametrize(
    "words",
    [("--scores", "x"), ("--predictions", "a=b"), ("--out", "x"), ("--language", "de")],
    ids=" ".join,
)
def test_options_of_gold_files_need_them(campaign: Campaign, words: tuple[str, ...]) -> None:
    done = run("trust", "report", *words, "-c", campaign.root)
    assert done.code == 1
    assert f"error: {words[0]} is only for gold files" in done.err


def test_the_first_report_of_a_campaign_asks_its_questions(campaign: Campaign) -> None:
    done = run("trust", "report", "-c", campaign.root)
    assert done.code == 0, done.err
    assert "nothing to test yet" in done.out
    assert step.attest_file(campaign).exists()
    step.attest_file(campaign).write_text("owner = \n", "utf-8")
    done = run("trust", "report", "-c", campaign.root)
    assert done.code == 1
    assert f"error: {step.attest_file(campaign)}: " in done.err
    assert trust_step(campaign).startswith("cannot run")
