"""The step ``trust``: ``6-trust/report.json`` and ``report.md``; the same for gold files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ValidationError

from curation.campaign.dataset import ANSWERED, Dataset, in_json, shipped_file
from curation.campaign.datasets import CATS, DECISIONS, LABELS, PLANS, SCORES, TASKS, TERMS
from curation.campaign.manifest import digests
from curation.campaign.settings import TrustSettings
from curation.campaign.source import Source, campaign_source
from curation.campaign.step import Out, step, versions
from curation.campaign.store import Campaign
from curation.decisions.steps import AGREEMENT_REPORT
from curation.files import CurationError, dump_json, read_json, writing
from curation.measures.steps import PITFALL_REPORT, SENTIMENT_SCORES
from curation.records import Criterion
from curation.scores.run_folder import COMPARISONS
from curation.text.times import now
from curation.trust.measure.groups import Groups
from curation.trust.protocol import report
from curation.trust.protocol.attested import (
    Answers,
    attested,
    is_past,
    open_questions,
    read_answers,
    write_template,
)
from curation.trust.protocol.checks import CHECKS
from curation.trust.runs.files import (
    BIAS,
    DIRECTED,
    GROUPS,
    TRUST_RUNS,
    TrustRun,
    group_file,
    reference_run,
    run_files,
)
from curation.version import __version__
from curation.work.reporter import QUIET, Reporter

REPORT, PAGE, ATTEST = "report.json", "report.md", "attest.toml"
_GOLD_SEED = 1  # as in a new campaign
_ALL = "all"  # the name of rows about all measures, or all sets of rules
_OF_CAMPAIGNS = ("known-directions", "measure", "unequal", "leading", "share", "nearer")
"""Checks of scores that need what only a campaign has: groups, runs of measures, settings."""
_IN_A_CAMPAIGN = "in a campaign («curation import stereoset FILE»)"


class TrustReport(BaseModel):
    """A trust report.

    Attributes:
        rows: its criteria, in order.
        counts: how many rows have each status; see ``report.counts``.
        thresholds: the settings in ``[trust]``.
        open: the keys of the questions in ``attest.toml`` that nobody answered.
        left_out: runs that it does not use, and why.
        path: ``report.json``; ``report.md`` is beside it.
    """

    rows: list[Criterion]
    counts: dict[str, int] = {}
    thresholds: dict[str, Any] = {}
    open: tuple[str, ...] = ()
    left_out: dict[str, str] = {}
    path: Path


def place(campaign: Campaign) -> Path:
    """The report of a campaign; it need not exist."""
    return campaign.folder("trust") / REPORT


def attest_file(campaign: Campaign) -> Path:
    """The file with people's answers; it need not exist."""
    return campaign.folder("trust") / ATTEST


ATTESTED: Dataset[Mapping[str, str]] = Dataset(
    "attested",
    lambda campaign: [attest_file(campaign)],
    lambda campaign: MappingProxyType(read_answers(attest_file(campaign))),
    by_value=True,
)
"""What people answered; a file without answers counts as a missing one."""
DUE = Dataset(
    "review is due",
    lambda campaign: [attest_file(campaign)],
    lambda campaign: is_past(campaign[ATTESTED], _today()),
    by_value=True,
)
"""Whether the day of the review has passed: then the report is out of date."""
CHECKED = shipped_file(*CHECKS)
TRUST_REPORT = in_json("trust", REPORT)


# --- the step -----------------------------------------------------------------------------------


def applies(campaign: Campaign) -> bool:
    """Whether somebody uses stage 6 here: there are groups, runs, answers or a report."""
    there = place(campaign).exists() or attest_file(campaign).exists()
    return there or bool(campaign.settings.groups or run_files(campaign))


def alone(campaign: Campaign) -> bool:
    """Whether there is no dataset: then the report is about measures only."""
    return not campaign.round_names()


@step(
    "what is known about whether results may be trusted",
    folder="trust",
    version=6,
    makes=(TRUST_REPORT,),
    reads=(LABELS, DECISIONS, AGREEMENT_REPORT, CATS, PITFALL_REPORT),
    if_made=(TERMS, SENTIMENT_SCORES),
    as_it_is=(
        TASKS,
        PLANS,
        ANSWERED,
        SCORES,
        GROUPS,
        TRUST_RUNS,
        DIRECTED,
        ATTESTED,
        DUE,
        CHECKED,
    ),
    settings=(
        "campaign.name",
        "campaign.language",
        "campaign.seed",
        "trust",
        "groups",
        "measures.sentiment",
    ),
    packages=lambda settings: ("numpy", "scipy"),
    applies=applies,
    alone=alone,
)
def trust(campaign: Campaign, out: Out) -> dict[str, int]:
    """Write the trust report of a campaign."""
    from curation.trust import dataset
    from curation.trust.protocol.table import dataset_criteria
    from curation.trust.runs.measuring import known_runs

    own = campaign.settings
    known = known_runs(campaign)
    left_out = {f"[groups.{name}]": why for name, why in known.problems.items()} | known.left_out
    for name, why in left_out.items():
        out.warn(f"{name} is not in the trust report: {why}")
    source = None if alone(campaign) else campaign_source(campaign)
    answers = campaign[ATTESTED]
    rows: list[Criterion] = []
    with out.stages() as tell:
        if known.runs:
            rows += _of_measures(campaign, known.runs, known.groups)
        if source and source.cats:
            values = dataset.measure_values(known.runs)
            data = dataset.dataset_input(source, groups=known.groups, measures=values, reporter=out)
            rows += dataset_criteria(data, own.trust, seed=own.campaign.seed, tell=tell)
    for text in _pairs_without_runs(own.trust, rows):
        out.warn(text)
    content, text = _composed(
        rows,
        answers,
        campaign.relative(attest_file(campaign)),
        title=own.campaign.name,
        due=campaign[DUE],
        settings={
            "trust": own.trust.model_dump(mode="json"),
            "groups": {name: group.model_dump(mode="json") for name, group in own.groups.items()},
            **{name: getattr(own.campaign, name) for name in ("name", "seed", "language")},
            "versions": out.noted["settings"]["versions"],
        },
        inputs={name: sha for name, sha in out.noted["inputs"].items() if sha and "/" in name},
        left_out=left_out,
    )
    out.json(REPORT, content)
    out.lines(PAGE, [text.encode()])
    counts = {"runs": len(known.runs), "runs_left_out": len(known.left_out)}
    return {**content["counts"], **counts, "open_questions": len(content["open"])}


def _of_measures(
    campaign: Campaign, runs: Sequence[TrustRun], groups: Mapping[str, Groups]
) -> list[Criterion]:
    """The criteria of the measures of bias, from their runs and the groups of these runs."""
    from curation.trust.measure.framework import Policies
    from curation.trust.protocol.cases import MeasureRun
    from curation.trust.protocol.table import measure_criteria

    measured, files = [], dict[str, list[str]]()
    for run in runs:
        own = campaign.settings.groups[run.groups]
        files[run.name] = [campaign.relative(run.folder / BIAS)]
        used = {"face": [own.anchors], "predictive": [own.outcomes, own.frequencies]}
        if run.about.get("year"):
            used["predictive"] = [own.history, own.frequencies]
        for criterion, names in used.items():
            paths = [campaign.relative(group_file(campaign, name)) for name in names if name]
            files[f"{criterion} {run.name}"] = paths
            files[f"{criterion} {run.name.partition('+')[0]}"] = paths
        words = (word for own in run.identity["words"].values() for word in own)
        measured.append(
            MeasureRun(
                run.name,
                run.measure,
                run.groups,
                run.biases,
                run.evidence,
                policies=Policies(**run.identity["policies"]),
                words=frozenset(words),
                fitted=frozenset(run.about.get("debiased", {}).get("fitted", ())),
                year=run.about.get("year"),
                reference=reference_run(own),
            )
        )
    own_seed = campaign.settings.campaign.seed
    rows = measure_criteria(measured, groups, campaign.settings.trust, seed=own_seed)
    return [row.model_copy(update={"evidence": _files(row, files)}) for row in rows]


def _files(row: Criterion, files: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The evidence of a row as files: those of its runs, and of the tables of groups it used."""
    tables = files.get(f"{row.criterion} {row.name}", ()) if row.value is not None else ()
    runs = [path for name in row.evidence for path in files.get(name, (name,))]
    return tuple(dict.fromkeys((*runs, *tables)))


def _pairs_without_runs(settings: TrustSettings, rows: Sequence[Criterion]) -> list[str]:
    """What is wrong with pairs in ``[trust]`` that no row is about: neither run exists."""
    known = {row.name for row in rows}
    return [
        f"[trust] {name}: neither {after} nor {before} is a run that can be used; name runs as in "
        "6-trust/runs/ or 5-scores/"
        for name in ("amplification", "mitigation")
        for after, before in getattr(settings, name)
        if not known & {after, before} and not any(f"{after};{before}" in r.check for r in rows)
    ]


def _composed(
    rows: Sequence[Criterion],
    answers: Answers,
    answered_in: str,
    *,
    title: str,
    due: bool,
    settings: Mapping[str, Any],
    inputs: Mapping[str, str],
    left_out: Mapping[str, str],
) -> tuple[dict[str, Any], str]:
    """The content of ``report.json``, and the text of ``report.md``, with people's answers."""
    subjects = {row.subject: row.name if row.subject == "dataset" else _ALL for row in rows}
    said = attested(answers, subjects.items(), due=due, evidence=[answered_in])
    ordered = report.ordered([*rows, *said], settings=settings)
    content: dict[str, Any] = {
        "curation": __version__,
        "name": title,
        "inputs": inputs,
        "settings": {key: value for key, value in settings.items() if key != "trust"},
        "thresholds": settings["trust"],
        "counts": report.counts(ordered),
        "open": [question.key for question in open_questions(answers, subjects.keys())],
        "left_out": dict(left_out),
        "rows": [row.model_dump(mode="json") for row in ordered],
    }
    text = report.markdown(
        ordered, title=title, thresholds=settings["trust"], answers=answers, left_out=left_out
    )
    return content, text


def _today() -> str:
    return now()[:10]


# --- gold files ---------------------------------------------------------------------------------


def gold_report(
    source: Source,
    folder: Path,
    *,
    predictions: Sequence[str] = (),
    lower_is_likelier: Sequence[str] = (),
    reporter: Reporter = QUIET,
) -> TrustReport:
    """Write the trust report of gold files and of scores on them.

    Args:
        source: the CATs of gold files, with the folder of their models' runs.
        folder: where ``report.json``, ``report.md`` and ``attest.toml`` are; it is made if needed.
        predictions: ``NAME=FILE``, as in ``scores.results.read_runs``.
        lower_is_likelier: the NAMEs of predictions that are perplexities or losses.
        reporter: where warnings and progress go.

    Raises:
        CurationError: a file is damaged, or the folder cannot be written to.
    """
    from curation.trust import dataset
    from curation.trust.protocol.table import dataset_criteria

    thresholds = TrustSettings()  # those of a new campaign
    write_template(folder / ATTEST)
    answers = read_answers(folder / ATTEST)
    with reporter.stages() as tell:
        data = dataset.dataset_input(
            source, predictions=predictions, lower_is_likelier=lower_is_likelier, reporter=reporter
        )
        rows = dataset_criteria(data, thresholds, seed=_GOLD_SEED, tell=tell)
    rows = [
        row.model_copy(update={"change": f"{_IN_A_CAMPAIGN}, {row.change}"})
        if row.status == "not_run" and row.check in _OF_CAMPAIGNS
        else row
        for row in rows
    ]
    files = [Path(named.partition("=")[2]) for named in predictions]
    names = ("run.json", "scores.jsonl", COMPARISONS)
    scored = (path for path in sorted(source.scores.glob("*/*/*.json*")) if path.name in names)
    paths = [*source.gold, *files, *scored]
    how = {"trust": thresholds.model_dump(mode="json"), "seed": _GOLD_SEED}
    how |= {"language": source.language, "versions": versions("numpy", "scipy")}
    read = {path.as_posix(): path for path in paths}
    content, text = _composed(
        rows,
        answers,
        ATTEST,
        title=source.split,
        due=is_past(answers, _today()),
        settings=how,
        inputs=digests(read),
        left_out={},
    )
    for name, made in ((PAGE, text.encode()), (REPORT, dump_json(content))):
        with writing(folder / name) as file:
            file.write(made)
    return read_report(folder / REPORT)


# --- reading ------------------------------------------------------------------------------------


def read_report(path: Path) -> TrustReport:
    """Read a ``report.json``.

    Raises:
        CurationError: it is missing, or is not a trust report; the message names the row and field.
    """
    fix = "delete it, then run «curation trust report»"
    if not path.exists():
        raise CurationError(f"{path}: there is no trust report", "run «curation trust report»")
    content = read_json(path)
    try:
        read = TrustReport.model_validate_json(dump_json({**content, "path": str(path)}))
    except TypeError:  # such as a list, or lists within lists, too deep to be written again
        raise CurationError(f"{path}: is not a trust report: not a JSON object", fix) from None
    except ValidationError as error:
        first = error.errors()[0]
        part, *row = first["loc"]
        where = f", row {int(row.pop(0)) + 1}" if row and part == "rows" else ""
        field = ".".join(map(str, row or [part]))
        raise CurationError(f"{path}{where}, field {field!r}: {first['msg']}", fix) from None
    return read.model_copy(update={"counts": report.counts(read.rows)})
