"""Compare the runs of a folder: rankings, differences, terms, rules."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.campaign.counted import read_counted
from curation.campaign.datasets import FLAGS
from curation.campaign.source import Source
from curation.campaign.step import current
from curation.campaign.store import Campaign
from curation.catsets.stereoset import read_cat_entries
from curation.decisions import steps as decisions
from curation.decisions.steps import agreement_report, flag_counts
from curation.files import CurationError, read_json, read_text
from curation.formats.tables import read_csv
from curation.records import Cat, Fields
from curation.scores import compare
from curation.scores.answer_report import answers_row
from curation.scores.boards import Board, board
from curation.scores.compare import Sizes, mechanisms
from curation.scores.ensemble import scored_since
from curation.scores.groups import Comparison, Ranking, groups, mark_heads, profiles_in
from curation.scores.results import (
    common_runs,
    current_runs,
    pair_baselines,
    read_runs,
    warn_if_outdated,
    warn_of_turned,
)
from curation.scores.run_folder import (
    CHOICE,
    asked_differently,
    read_run,
)
from curation.scores.runs import Run, find_runs, model_of
from curation.scores.tables import SIZES
from curation.scores.terms import Agreement, published_agreement
from curation.stats.metrics import Ties, of_one_kind, pooled_kinds
from curation.text.wording import amount
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from curation.decisions.agreement import TermAgreement


def read_answers(scores: Path, *, only: Collection[str] = ()) -> list[Fields]:
    """The answers of every chat model that has a run in a folder of scores.

    Args:
        scores: the folder of MODEL/RULE/choice.json.
        only: if not empty, only runs whose RULE is all of these.

    Returns:
        Rows of ``answer_report.answers_row``, by the name of the run.

    Raises:
        CurationError: a file is not a report of answers; names the file.
    """
    paths = sorted(scores.glob(f"*/*/{CHOICE}"))
    rows = [_row(path) for path in paths if set(only) <= {path.parent.name}]
    return sorted(rows, key=lambda row: str(row["run"]))


def _row(path: Path) -> Fields:
    report, folder = read_json(path), path.parent
    model = model_of(folder, read_run(folder))
    try:
        return answers_row(report, run=f"{model}/{folder.name}", model=model)
    except ValueError:
        raise CurationError(
            f"{path}: is not a report of a chat model's answers",
            "run «curation scores models» for this model again: it writes the file again, and asks "
            "nothing twice",
        ) from None


def all_without_score(
    scores: Path, answers: Sequence[Mapping[str, Any]], *, reporter: Reporter = QUIET
) -> bool:
    """Whether a folder has answers of chat models, and no run that has a score.

    Args:
        scores: the folder.
        answers: of ``read_answers``.
        reporter: receives a warning for each other run, if there is no score.
    """
    if not any(row["no_score"] for row in answers):
        return False
    left_out: list[str] = []
    if not all(row["no_score"] for row in answers) or find_runs(scores, skipped=left_out.append):
        return False
    for message in left_out:
        reporter.warn(message)
    return True


def compare_runs(
    source: Source,
    *,
    predictions: Sequence[str] = (),
    lower_is_likelier: Sequence[str] = (),
    partial: bool = False,
    profile: str = "",
    rule: str = "",
    tier: int | None = None,
    ties: Ties = "half",
    sizes: Path | None = None,
    terms_of: str = "",
    terms: int = 1,
    power: float | None = None,
    reporter: Reporter = QUIET,
) -> Comparison:
    """Compare all models that have scores in a source's folder.

    How far annotators agree on each term is read from the campaign's ``agreement.json``. Bring the
    step agreement up to date first; without the file, the terms have no agreement.

    Args:
        source: the CATs to compare on, and the folder of scores.
        predictions: files of predictions to compare, too: ``NAME=FILE`` or ``NAME@RULES=FILE``.
        lower_is_likelier: the NAMEs of predictions that are perplexities or losses.
        partial: accept predictions without scores for some of the CATs of their kinds. These CATs
            are left out for all models.
        profile: only the models scored under this profile.
        rule: only the models scored by this rule, or by INTRA_INTER.
        tier: the lowest tier of the CATs, which is copied to the report.
        ties: how ties count, as in ``metrics.comparisons``.
        sizes: a CSV file with the columns model, parameters, corpus_gb.
        terms_of: a model, or one of its runs (MODEL/RULE), whose terms are listed.
        terms: how many most and least stereotyped terms of it are listed per domain.
        power: report how many terms a difference of this many points needs.
        reporter: receives progress and warnings.

    Returns:
        The comparison; ``curation scores compare --json`` writes it as ``tables.compact`` makes it.
        ``overall`` of a run is None if it lacks a kind, and if the source is of one kind.

    Raises:
        CurationError: there are no runs of these CATs, a file is not valid, or an argument names
            a model, rule or profile that is not there.
    """
    if power is not None and not power > 0:
        raise CurationError(
            f"--power {power:g}: the difference must be above 0", "give points, such as 2"
        )
    known_sizes = read_sizes(sizes) if sizes else {}
    agreement = read_agreement(source)
    scores = source.scores if source.scores.exists() or not predictions else None
    if scores and source.gold and not scores.exists():
        raise CurationError(f"{scores}: no such folder", "name the folder of scores with --scores")
    answers = read_answers(scores, only={profile, rule} - {""}) if scores else []
    about = Comparison(
        source.split,
        source.kind,
        tier,
        source.original_targets,
        ties,
        len(source.cats),
        answers=answers,
    )
    if scores and not predictions and all_without_score(scores, answers, reporter=reporter):
        return about
    every = read_runs(
        scores, predictions, lower_is_likelier=lower_is_likelier, partial=partial, reporter=reporter
    )
    runs = mark_heads(current_runs(every, source.cats, reporter=reporter), source.cats)
    warn_if_outdated(source, reporter)
    shown: Sequence[int] = range(len(runs))
    if profile or rule:  # a run that is not shown does not decide on which CATs others are compared
        shown = [n for group in groups(runs, profile=profile, rule=rule) for n in group.runs]
    common = common_runs(
        [runs[number] for number in shown], source.cats, partial=partial, reporter=reporter
    )
    left_out = len(source.cats) - len(common.cats)
    kinds = set(pooled_kinds(cat.kind for cat in source.cats))
    source = replace(source, cats=common.cats)
    runs = [run for run in runs if run.name not in common.left_out]
    run_board = board(source.cats, runs, ties=ties, skipped=reporter.warn)
    all_groups = groups(run_board.runs, every=runs)
    chosen = groups(run_board.runs, profile=profile, rule=rule, every=runs, skipped=reporter.warn)
    results = []
    with reporter.tracked("models", len(run_board.runs)) as advance:
        for number, run in enumerate(run_board.runs):
            profiles = profiles_in(all_groups, number)
            lacks = common.missing.get(run.name)
            results.append(
                compare.run_results(
                    run_board,
                    number,
                    profiles=profiles,
                    sizes=known_sizes,
                    missing=len(lacks.cats) if lacks else 0,
                )
            )
            advance()
    reports = [
        compare.compare_group(run_board, group, results, agreement=agreement, power=power)
        for group in chosen
    ]
    if others := sorted(set(known_sizes) - {result["model"] for result in results}):
        reporter.warn(f"{sizes}: these are not among the compared models: {', '.join(others)}")
    _warn(run_board, source.cats, runs, reports, reporter, ties=ties)
    for run, result in zip(run_board.runs, results, strict=True):
        if run.refused is None:
            lower = run.lower_is_likelier
            warn_of_turned(run.name, result, lower=lower, reporter=reporter, run=run.model)
    names = {group.name for group in chosen}
    return about._replace(
        cats=len(source.cats),
        left_out=left_out,
        runs=[
            of_one_kind(result) if source.kind or not kinds <= result["kinds"].keys() else result
            for result in results
        ],
        groups=reports,
        mechanisms=[row for row in mechanisms(results, all_groups) if names & {row["a"], row["b"]}],
        shifts=compare.shifts(run_board, chosen),
        flagged=compare.without_flagged(run_board, source.cats, _flagged(source)),
        model_terms=compare.terms_of(terms_of, results, reports, count=terms, agreement=agreement),
        baselines=pair_baselines(source.cats, language=source.language, ties=ties),
    )


def _flagged(source: Source) -> Mapping[str, int]:
    """How many validators flagged each of a campaign's items; gold files do not say."""
    if source.campaign is None or not any(FLAGS.files(source.campaign)):
        return {}
    items = source.campaign.items
    return flag_counts(source.campaign, read_counted(source.campaign, items, alone=True))


def read_agreement(source: Source) -> dict[str, Agreement]:
    """How far annotators agree on each term, by ``domain/target``; terms not known are left out.

    A campaign has it in 3-decisions/agreement.json; if that file is missing or older than the
    decisions, it is computed from the campaign's labels. For gold files it is computed from the
    labels that they hold. By original targets it is known for gold files only.
    """
    if source.campaign is None:
        entries = [e for path in source.gold for e in read_cat_entries(path)]
        return published_agreement(entries, original=source.original_targets is not None)
    if source.original_targets:
        return {}
    return {
        f"{row['domain']}/{row['term']}": Agreement(row["agreement"], row["stereotype"])
        for row in _terms_of_campaign(source.campaign)
    }


def _terms_of_campaign(campaign: Campaign) -> "list[TermAgreement]":
    """The rows of terms of ``agreement.json``, for the decisions that the campaign has now."""
    if current(campaign, decisions.filter) and not current(campaign, decisions.agreement):
        return list(agreement_report(campaign, measures=(), by=())["terms"])
    path = campaign.folder("decisions") / "agreement.json"
    return list(read_json(path)["terms"]) if path.exists() else []


def _warn(
    run_board: Board,
    cats: Sequence[Cat],
    runs: Sequence[Run],
    reports: Sequence[Ranking],
    reporter: Reporter,
    *,
    ties: Ties,
) -> None:
    """Warn of runs that lack scores, declare no rules, were fitted on the CATs or are outdated."""
    names = {name for report in reports for name in report.models}
    shown = [(number, run) for number, run in enumerate(run_board.runs) if run.name in names]
    for report in reports:
        if report.one_kind_only:
            reporter.warn(
                f"{report.title}: these runs have CATs of one kind only, and are in no table of "
                f"both kinds: {', '.join(report.one_kind_only)}; to compare all runs on one "
                "kind, give --kind"
            )
        asked = [run for run in runs if run.by_choice and run.name in report.models]
        read_from = {
            run.name: "probabilities"
            if any(o.probable for o in run.comparisons.values())
            else "text"
            for run in asked
        }
        if differences := asked_differently({run.name: run.about for run in asked}, read_from):
            reporter.warn(
                f"{report.title}: these models were not asked in the same way, so their values "
                f"may differ for that reason, too: {'; '.join(differences)}"
            )
        if ties == "official" and "text" in read_from.values():
            reporter.warn(
                f"{report.title}: with --ties official, answers that change with the order "
                "count as lost, so a chat model that answers at random has lms 25 and ss 25; use "
                "--ties half for chat models"
            )
    lacking = [f"{run.name} {count}" for n, run in shown if (count := run_board.lacking(n)[1])]
    if lacking:
        reporter.warn(
            f"these runs lack scores of some of the {amount(len(cats), 'CAT')}, which are left "
            f"out: {', '.join(lacking)}; two models are compared on the CATs that both have"
        )
    for _, run in shown:
        fitted = set(run.about.get("dev_cats", ())) & {cat.id for cat in cats}
        if fitted:
            reporter.warn(
                f"{run.name} was fitted on {len(fitted)} of these {amount(len(cats), 'CAT')}, so "
                "its values are too high"
            )
        if others := scored_since(run, runs):
            reporter.warn(
                f"{run.name} was made of older scores of {', '.join(others)}: fit the ensemble "
                "again"
            )
    if unknown := [run.name for _, run in shown if not (run.rules or run.profile)]:
        reporter.warn(
            f"the rule of these runs is not declared, so they are not ranked: "
            f"{', '.join(unknown)}; declare it with --predictions NAME@PROFILE=FILE"
        )


def read_sizes(path: Path) -> dict[str, Sizes]:
    """Sizes by model, from a CSV file with the columns model, parameters, corpus_gb, architecture.

    Cells may be empty, and columns other than the first may be missing.

    Returns:
        What the file gives for each model: ``parameters`` (how many), ``corpus_gb``, and
        ``architecture``, a text.

    Raises:
        CurationError: a column is missing or unknown, a model is named twice or not at all, or a
            size is not a number above 0. Names file and line.
    """
    columns, rows = read_csv(read_text(path), path)
    if "model" not in columns or not set(columns) <= {"model", *SIZES, "architecture"}:
        raise CurationError(
            f"{path} line 1: the columns are {', '.join(columns)}",
            f"use the columns model, {', '.join(SIZES)}, architecture",
        )
    sizes: dict[str, Sizes] = {}
    for number, row in rows:
        where = f"{path} line {number}"
        model = row.get("model", "").strip()
        if not model or model in sizes:
            problem = f"the model «{model}» is there twice" if model else "no model"
            raise CurationError(f"{where}: {problem}", "give each model one line")
        if "" in row:
            raise CurationError(f"{where}: more cells than columns", "give each column one cell")
        cells = {size: row.get(size, "").strip() for size in SIZES}
        sizes[model] = {size: _number(cell, size, where) for size, cell in cells.items() if cell}
        if architecture := row.get("architecture", "").strip():
            sizes[model]["architecture"] = architecture
    return sizes


def _number(cell: str, size: str, where: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise CurationError(
            f"{where}: {size} is «{cell}», not a number above 0",
            "write for example 110000000 parameters, or 16 GB",
        )
    return value
