"""What models have scored: runs of a folder, files of predictions, baselines, published tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from curation.campaign.source import Source
from curation.campaign.step import is_up_to_date
from curation.decisions import steps as decisions
from curation.files import CurationError, read_json
from curation.formats.predictions import check_complete, read_predictions, scores_of, turn_signs
from curation.kinds import ITEMS, KINDS, Kind, MetricName
from curation.measures import steps as measures
from curation.measures.steps import VADER
from curation.records import Cat, Fields
from curation.scores import boards, published
from curation.scores.boards import Common, Missing, left_out, missing_cats, scored
from curation.scores.flags import flags_of
from curation.scores.groups import mark_heads
from curation.scores.published import Printed, models
from curation.scores.run_folder import again
from curation.scores.runs import Run, drop_outdated, find_runs, read_predictions_run
from curation.stats.artefacts import MIRRORED, Artefact, artefacts
from curation.stats.metrics import (
    SHARES,
    Ties,
    cat_columns,
    comparisons,
    may_be_ideal,
    metrics_in,
    of_one_kind,
    results,
)
from curation.text.wording import amount
from curation.text.words import Sentiment
from curation.work.reporter import QUIET, Reporter


def read_runs(
    scores: Path | None,
    predictions: Sequence[str] = (),
    *,
    lower_is_likelier: Sequence[str] = (),
    partial: bool = False,
    reporter: Reporter = QUIET,
) -> list[Run]:
    """Read all runs of a folder, and files of predictions as runs.

    Args:
        scores: the folder of MODEL/RULE/scores.jsonl; None reads the predictions only.
        predictions: ``NAME=FILE`` or ``NAME@RULES=FILE``, as in ``runs.read_predictions_run``.
        lower_is_likelier: the NAMEs of predictions that are perplexities or losses.
        partial: leave out predictions that are not finite numbers.
        reporter: receives a warning for each run that is left out.

    Raises:
        CurationError: the folder has no runs, or all are left out; a file is not valid, such as
            one with two scores for an association (names file and line); or ``lower_is_likelier``
            has a name that no predictions have.
    """
    declared = [
        read_predictions_run(named, lower_is_likelier=lower_is_likelier, partial=partial)
        for named in predictions
    ]
    names = dict.fromkeys(run.model for run in declared)
    known = {*names, *(f"{name}@{kind}" for name in names for kind in KINDS)}
    if others := [name for name in lower_is_likelier if name not in known]:
        raise CurationError(
            f"--lower-is-likelier {others[0]}: no predictions have this name",
            f"use one of: {', '.join(names)}"
            if names
            else "name a file with --predictions NAME=FILE",
        )
    if scores is None:
        return declared
    warnings: list[str] = []
    runs = find_runs(scores, skipped=warnings.append)
    for warning in warnings:
        reporter.warn(warning)
    if not runs and warnings:
        raise CurationError(
            f"{scores}: no run in this folder has results",
            "the warnings say why; score a model, or ask it again",
        )
    if not runs:
        raise CurationError(
            f"{scores}: no scores here (MODEL/RULE/scores.jsonl)",
            "run «curation scores models MODEL», or name the folder of the scores",
        )
    return [*runs, *declared]


def current_runs(
    runs: Sequence[Run], cats: Sequence[Cat], *, reporter: Reporter = QUIET
) -> list[Run]:
    """The runs without the scores of texts that have changed since.

    Args:
        runs: from ``read_runs``.
        cats: the CATs as they are now.
        reporter: receives a warning for each run with outdated scores.
    """
    kept, outdated = drop_outdated(runs, cats)
    by_choice = {run.name for run in runs if run.by_choice}
    for name, count in outdated.items():
        texts, since = (
            (amount(count, "CAT"), "the model was asked")
            if name in by_choice
            else (amount(count, "score"), "they were scored")
        )
        reporter.warn(f"{name}: the texts of {texts} changed since {since}; score this model again")
    return kept


def common_runs(
    runs: Sequence[Run], cats: Sequence[Cat], *, partial: bool = False, reporter: Reporter = QUIET
) -> Common:
    """The runs to compare, and the CATs on which they can be compared.

    Args:
        runs: from ``current_runs``.
        cats: the CATs as they are now.
        partial: accept predictions that lack CATs of a kind that they have.
        reporter: receives a warning for each run that lacks CATs, and one that counts the CATs
            that are left out.

    Raises:
        CurationError: the runs have no CAT in common; or predictions lack CATs, and ``partial`` is
            not set.
    """
    common = boards.common(cats, runs)
    for run in () if partial else common.runs:
        lacks = common.missing.get(run.name)
        if lacks and run.refused is None:
            first = next(
                a.id
                for cat in cats
                for a in cat.associations
                if cat.id in lacks.cats and a.id not in run.scores
            )
            raise CurationError(
                f"{run.where}: no prediction for id {first} ({len(lacks.cats)} of "
                f"{amount(lacks.of, 'CAT')} have a sentence without one)",
                "score every sentence, or give --partial to compare all models on the CATs that "
                "all of them have",
            )
    warn_of_older(common.runs, common.missing, reporter=reporter)
    by_name = {run.name: run for run in runs}
    for name in common.left_out:
        lacks = common.missing[name]
        reporter.warn(
            f"{name} is left out: it has scores of only {lacks.of - len(lacks.cats)} of {lacks.of} "
            f"CATs; {_again(by_name[name])}"
        )
    if len(common.cats) < len(cats):
        reporter.warn(
            f"the models are compared on {len(common.cats)} of {len(cats)} CATs: those that a run "
            "marked ¶ lacks are left out for all models"
        )
    return common


def warn_of_older(
    runs: Sequence[Run], missing: Mapping[str, Missing], *, reporter: Reporter = QUIET
) -> None:
    """Warn of runs that lack CATs, with the command that scores them again.

    Args:
        runs: the runs.
        missing: the CATs that runs lack, by name, as in ``boards.common``.
        reporter: receives the warnings.
    """
    for run in runs:
        lacks = missing.get(run.name)
        if lacks and run.refused is None:
            numbers = f", {lacks.bad} of them because a score is not a finite number"
            reporter.warn(
                f"{run.name} has no complete scores of {len(lacks.cats)} of {lacks.of} CATs"
                + (numbers if lacks.bad else "")
            )
        elif lacks:
            reporter.warn(
                f"{run.name} has no scores of {len(lacks.cats)} of {lacks.of} CATs: they were "
                f"added or changed after it was scored, or scoring has not ended; {_again(run)}"
            )


def _again(run: Run) -> str:
    return f"score it again: {again({'model': run.model, 'rules': run.rules, **run.about})}"


HINT_BELOW = 45.0
"""Scores of a kind of CAT may be turned around if the interval of its lms is below this.

Of 54 public files of predictions none is so for every kind, as published. With the opposite sign 39
are. Below 50 these would be 1 and 44.
"""

_OTHER_IDS = (
    "give the gold file that these predictions are for; if a gold file has no ids, they are made "
    "from its texts, and only predictions made with it have them"
)


def score_predictions(
    path: Path,
    source: Source,
    *,
    kind: Kind | None = None,
    tier: int | None = None,
    ties: Ties = "half",
    lower_is_likelier: bool | Kind = False,
    partial: bool = False,
    model: str = "",
    reporter: Reporter = QUIET,
) -> Fields:
    """lms, ss and icat of a file of predictions.

    Args:
        path: the predictions.
        source: the CATs that the predictions are for.
        kind: only the CATs of this kind; needed if the file has scores of one kind only.
        tier: only CATs of this tier or above. All CATs need a score, also those of lower tiers.
        ties: how ties count, as in ``metrics.comparisons``.
        lower_is_likelier: the scores, or those of this kind, are perplexities or losses.
        partial: leave out CATs if a sentence has no score, or one that is not a finite number.
        model: the model's name; by default the file's name without «predictions_».
        reporter: receives warnings.

    Returns:
        ``metrics.results`` with ``flags``, ``tier``, ``kind``, ``lower_is_likelier``, ``partial``
        (of ``boards.left_out``; None without the argument ``partial``) and ``original_targets``
        (of the source). With ``kind``, ``overall`` is None, and ``domains`` and ``terms`` are
        empty. With pairs also ``baselines``, of ``pair_baselines``.

    Raises:
        CurationError: a prediction is repeated, missing or not a finite number; the file has no
            score of a kind; no CAT is of the tier. The message names the id or the kind.
    """
    pairs = list(read_predictions(path, source.cats))
    asked = source.of_kind(kind)
    known = {a.id for cat in source.cats for a in cat.associations}
    wanted = {a.id for cat in asked.cats for a in cat.associations}
    unknown = sum(name not in known for name, _ in pairs)
    if unknown:
        number = amount(unknown, "prediction has an id that is", "predictions have ids that are")
        reporter.warn(f"{path}: {number} not in the gold file")
    scores = scores_of(
        pairs,
        where=str(path),
        wanted=wanted,
        lower_is_likelier=lower_is_likelier is True,
        partial=partial,
    )
    if not isinstance(lower_is_likelier, bool):
        scores = scores._replace(values=turn_signs(scores.values, source.cats, lower_is_likelier))
    _check_kinds(path, asked, source, {name for name, _ in pairs})
    has_all = scored(asked.cats, scores.values)
    whole = [cat for cat, has in zip(asked.cats, has_all, strict=True) if has]
    if not partial:
        fix = (
            "score every sentence of the gold file, give the gold file that these predictions are "
            f"for, or give --partial to use the {len(whole):,} of "
            f"{amount(len(asked.cats), 'CAT')} that have all their scores"
            if whole
            else _OTHER_IDS
        )
        check_complete(asked.cats, scores, where=str(path), fix=fix)
    shown = asked.in_tier(tier, reporter)
    there = {cat.id for cat in whole}
    cats = [cat for cat in shown.cats if cat.id in there]
    if not cats:
        raise CurationError(
            f"{path}: none of the {amount(len(shown.cats), 'CAT')} has a score of each sentence",
            _OTHER_IDS,
        )
    result = results(
        comparisons(cats, scores.values, ties=ties),
        model=model or path.stem.removeprefix("predictions_"),
    )
    if kind:
        result = of_one_kind(result)
    if baselines := pair_baselines(cats, language=source.language, ties=ties):
        result = {**result, "baselines": baselines}
    gone = left_out(shown.cats, cats, bad=scores.bad) if partial else None
    warn_of_turned(str(path), result, lower=lower_is_likelier, reporter=reporter)
    return {
        **result,
        "flags": flags_of(result, older=bool(gone and gone["left_out"])),
        "tier": tier,
        "kind": kind,
        "lower_is_likelier": lower_is_likelier,
        "partial": gone,
        "original_targets": shown.original_targets,
    }


def _check_kinds(path: Path, asked: Source, source: Source, ids: set[str]) -> None:
    """Raise if a file has no score of a kind that was asked for, and has scores of the other."""
    of_kind = {kind: [cat for cat in source.cats if cat.kind == kind] for kind in KINDS}
    there = [
        k for k, own in of_kind.items() if any(a.id in ids for c in own for a in c.associations)
    ]
    for kind in dict.fromkeys(cat.kind for cat in asked.cats):
        if kind not in there and there:
            raise CurationError(
                f"{path}: has no score of the {amount(len(of_kind[kind]), f'{kind} CAT')}",
                f"give --kind {there[0]} to show the results of {there[0]} CATs alone",
            )


def warn_of_turned(
    name: str, result: Mapping[str, Any], *, lower: bool | Kind, reporter: Reporter, run: str = ""
) -> None:
    """Warn if the scores of predictions, or of one kind of CAT, seem to have the opposite sign.

    Args:
        name: the file or the run.
        result: of ``metrics.results``.
        lower: whether the sign was changed, or the kind for which it was.
        reporter: receives the warning.
        run: the NAME that the option needs, if there are several files.
    """
    cells = {kind: part["overall"] for kind, part in result["kinds"].items()}
    low = {k for k, cell in cells.items() if (cell.get("lms_ci") or [HINT_BELOW])[-1] < HINT_BELOW}
    if not low:
        return
    shown = " and ".join(f"{cells[kind]['lms']:.1f} ({kind})" for kind in cells if kind in low)
    now = {kind for kind in cells if lower in (True, kind)}
    right = now ^ low  # the kinds whose sign is to be changed
    only = "" if right == set(cells) else "".join(right)
    option = f"--lower-is-likelier {'@'.join(filter(None, (run, only)))}".rstrip()
    fix = f"give {option}" if right else "leave --lower-is-likelier out"
    likelier = "lower" if low - now else "higher"
    reporter.warn(
        f"{name}: lms is {shown}, far below the 50 of chance. Are {likelier} scores likelier? "
        f"Then {fix}"
    )


EXPECTED: dict[str, dict[MetricName, float | None]] = {
    "IdealLM": {"lms": 1.0, "ss": 0.5},
    "StereotypedLM": {"lms": None, "ss": 1.0},
    "RandomLM": {"lms": 0.5, "ss": 0.5},
}
"""The probability of winning each comparison of a metric; None: not defined."""


def expected_baselines(cats: Sequence[Cat], *, overall: bool = False) -> list[Fields]:
    """What the three baselines score on these CATs, in the form of ``metrics.results``.

    Every comparison counts with the probability that the baseline wins it, so the values are
    expectations and have no interval. StereotypedLM is not defined for unrelated associations: its
    lms is None. Its icat is 0 whatever its lms would be.

    Args:
        cats: the CATs.
        overall: as for ``metrics.results``.
    """
    expected = []
    for model, wins in EXPECTED.items():
        won = {m.column: len(m.pairs) * (wins[m.name] or 0.0) for m in SHARES}
        result = results(cat_columns(cats).assign(**won, ties=0), model=model, overall=overall)
        for cell in _cells(result):
            cell["too_wide"] = []
            for metric in metrics_in([cell]):
                cell[f"{metric.name}_ci"] = None
                if metric.name in wins and wins[metric.name] is None:
                    cell[metric.name] = None
        expected.append(result)
    return expected


def _cells(result: Fields) -> list[Fields]:
    parts = [result, *result["kinds"].values()]
    return [
        cell
        for part in parts
        for name in ("domains", "directions", "terms")
        for cell in part.get(name, {}).values()
    ] + [part["overall"] for part in parts]


CLEAR_LMS = 60.0  # a rule that is surely above it finds the meaningful by its surface


def measured_baselines(
    cats: Sequence[Cat],
    artefacts: Sequence[Artefact],
    *,
    ties: Ties = "half",
    overall: bool = False,
) -> list[Fields]:
    """What artefact baselines score on these CATs.

    Args:
        cats: the CATs.
        artefacts: of ``artefacts.artefacts`` on the same CATs.
        ties: as in ``metrics.comparisons``.
        overall: as for ``metrics.results``.

    Returns:
        One per baseline: ``metrics.results``, with ``says`` (its rule), ``why`` (why it was not
        checked, or "") and ``beyond_chance`` (from the function ``beyond_chance``, with ties half
        won; an ss that only mirrors another baseline's is not repeated). If a baseline was not
        checked, ``kinds`` is empty and ``overall`` None. ``overall`` is also None if a rule is for
        one kind of CAT, since it cannot be compared with values of both kinds.
    """
    measured = []
    for artefact in artefacts:
        result: Fields = {"model": artefact.name, "kinds": {}, "overall": None}
        beyond: list[Fields] = []
        if artefact.scores is not None:
            scores = artefact.scores
            own = [cat for cat in cats if cat.associations[0].id in scores]
            won = comparisons(own, scores, ties=ties)
            result = results(won, model=artefact.name, overall=overall)
            fair = result
            if ties != "half":
                # Lost ties move coarse scores away from 50, which is not an artefact of the texts.
                fair = results(comparisons(own, scores), model=artefact.name, overall=True)
            beyond = [
                row
                for row in beyond_chance(fair)
                if row["figure"] != "ss" or artefact.name not in MIRRORED  # ss is listed already
            ]
            if len(own) < len(cats):
                result["overall"] = None
        about = {"says": artefact.says, "why": artefact.why, "beyond_chance": beyond}
        measured.append({**result, **about})
    return measured


KNOW_NOTHING = ("UnigramLM", "LongestLM")
"""The baselines that are shown beside models on pairs: by frequency and by length."""


def pair_baselines(cats: Sequence[Cat], *, language: str, ties: Ties = "half") -> list[Fields]:
    """What rules by frequency and by length score on pairs, to be shown beside models.

    Args:
        cats: the CATs; those of other kinds do not count.
        language: language code of their texts.
        ties: as in ``metrics.comparisons``.

    Returns:
        Of ``measured_baselines``; none without pairs.
    """
    own = [cat for cat in cats if ITEMS[cat.kind].per_item]
    rules = artefacts(own, language=language, only=KNOW_NOTHING) if own else []
    return measured_baselines(own, rules, ties=ties)


def beyond_chance(result: Fields) -> list[Fields]:
    """The values at which a baseline that understands nothing differs clearly from chance.

    For each kind of CAT these are an lms whose interval is above 60, and an ss whose interval does
    not contain 50. Cells with fewer than five terms and values without an interval are skipped.

    Args:
        result: of ``metrics.results``, with ties half won.

    Returns:
        Rows ``{"kind", "figure", "value", "ci"}``; ``figure`` is lms or ss. A row of pairs of one
        direction has it as ``direction``.
    """
    rows = []
    for kind in filter(result["kinds"].__contains__, KINDS):
        part = result["kinds"][kind]
        cells = [({"kind": kind}, part["overall"])]
        for direction, cell in part.get("directions", {}).items():
            cells.append(({"kind": kind, "direction": direction}, cell))
        for about, cell in cells:
            for metric in () if cell["few_terms"] else SHARES:
                name, bounds = metric.name, cell.get(f"{metric.name}_ci")
                if bounds is None:
                    continue
                if bounds[0] > CLEAR_LMS if name == "lms" else not may_be_ideal(name, bounds):
                    rows.append({**about, "figure": name, "value": cell[name], "ci": bounds})
    return rows


def read_sentiment(path: Path, cats: Sequence[Cat], *, reporter: Reporter = QUIET) -> Sentiment:
    """The sentiment of each association, from a file of predictions.

    ``by`` is the classifier that the report beside a campaign's own file names; of other files it
    is the file's name.

    Args:
        path: the file.
        cats: the CATs.
        reporter: receives a warning if the file has ids that are not in these CATs.

    Raises:
        CurationError: the file does not give the sentiment of each association.
    """
    wanted = {a.id for cat in cats for a in cat.associations}
    scores = scores_of(read_predictions(path), where=str(path), wanted=wanted)
    check_complete(cats, scores, where=str(path))
    if scores.unknown:
        reporter.warn(
            f"{path}: {amount(scores.unknown, 'score')} with ids that are not in these CATs"
        )
    return Sentiment(_measured_by(path), dict(scores.values))


def _measured_by(path: Path) -> str:
    report = path.with_name("sentiment.json")
    if path.name != "sentiment_scores.json" or not report.exists():
        return path.name
    by = (read_json(report).get("by") or {}).get("model", path.name)
    return "VADER" if by == VADER else str(by)


def baseline_results(
    cats: Sequence[Cat],
    *,
    language: str,
    ties: Ties = "half",
    sentiment: Sentiment | None = None,
    overall: bool = False,
) -> list[Fields]:
    """The results of each baseline, with their flags.

    Args:
        cats: the CATs.
        language: language code of their texts.
        ties: how ties count, as in ``metrics.comparisons``.
        sentiment: as for ``artefacts.artefacts``.
        overall: as for ``metrics.results``.
    """
    surface = artefacts(cats, language=language, sentiment=sentiment)
    measured = measured_baselines(cats, surface, ties=ties, overall=overall)
    return [
        {**result, "flags": flags_of(result)}
        for result in (*expected_baselines(cats, overall=overall), *measured)
    ]


def warn_if_outdated(source: Source, reporter: Reporter) -> None:
    """Warn if a campaign's CATs are older than its answers or settings.

    Commands that compare models do not run steps, and so they read the CATs as they are.
    """
    if source.campaign and not is_up_to_date(source.campaign, decisions.split):
        reporter.warn(
            f"{source.campaign.folder('decisions') / 'cats.jsonl'}: the CATs are out of date: run "
            "«curation run», then score the models again"
        )


def compute_baselines(
    source: Source,
    *,
    tier: int | None = None,
    ties: Ties = "half",
    sentiment: Path | None = None,
    overall: bool = False,
    reporter: Reporter = QUIET,
) -> list[Fields]:
    """IdealLM, StereotypedLM, RandomLM, and baselines that use the surface of texts only.

    Args:
        source: the CATs.
        tier: the lowest tier of the CATs, which is copied to the results.
        ties: how ties count, as in ``metrics.comparisons``.
        sentiment: a file of predictions with the sentiment of each sentence, higher being more
            positive. By default the scores that the step sentiment kept, if the campaign's settings
            name a classifier; otherwise VADER, for English.
        overall: as for ``metrics.results``.
        reporter: receives warnings.

    Returns:
        One per baseline: ``metrics.results``, ``flags``, ``tier`` and ``original_targets`` (of the
        source). Baselines that use the surface also have ``says``, ``why`` and ``beyond_chance``,
        as in ``measured_baselines``.

    Raises:
        CurationError: the file does not give the sentiment of each sentence, or the sentiment that
            the step kept is out of date.
    """
    warn_if_outdated(source, reporter)
    if source.campaign and not sentiment and source.campaign.settings.measures.sentiment != VADER:
        kept = source.campaign.folder("measures") / "sentiment_scores.json"
        sentiment = kept if kept.exists() else None
        if sentiment and not is_up_to_date(source.campaign, measures.sentiment):
            raise CurationError(
                f"{kept}: the sentiment of the sentences is out of date",
                "run «curation measures sentiment», or give a file with --sentiment",
            )
    values = read_sentiment(sentiment, source.cats, reporter=reporter) if sentiment else None
    found = baseline_results(
        source.cats, language=source.language, ties=ties, sentiment=values, overall=overall
    )
    about = {"tier": tier, "original_targets": source.original_targets}
    return [{**result, **about} for result in found]


def beside_printed(
    rows: Sequence[Printed],
    source: Source,
    *,
    scores: Path | None = None,
    predictions: Sequence[str] = (),
    lower_is_likelier: Sequence[str] = (),
    split: str = "",
    tier: int | None = None,
    ties: Ties = "official",
    reporter: Reporter = QUIET,
) -> Fields:
    """Runs on StereoSet beside the printed rows of the same model, split, kind and domain.

    Args:
        rows: printed rows, from ``published.choose``.
        source: StereoSet's CATs.
        scores: the folder of your runs.
        predictions: files of predictions, ``NAME=FILE`` or ``NAME@RULES=FILE``.
        lower_is_likelier: the NAMEs of predictions that are perplexities or losses.
        split: dev or test; by default it is found from the target terms.
        tier: only CATs of this tier or above.
        ties: how ties count; StereoSet's evaluator counts ``official``.
        reporter: receives warnings, and a note about models that are not printed.

    Returns:
        ``{"ties", "tier", "rows", "why"}``: rows of ``published.beside``, and the meaning of the
        codes in their ``why``.

    Raises:
        CurationError: there are no runs, or a target is not one of StereoSet's terms.
    """
    runs = read_runs(scores, predictions, lower_is_likelier=lower_is_likelier, reporter=reporter)
    runs = mark_heads(current_runs(runs, source.cats, reporter=reporter), source.cats)
    older = {
        run.name: lacks
        for part in published.by_split(source.cats, split=split).values()
        for run in runs
        if (lacks := missing_cats(run, part)).cats
    }
    warn_of_older(runs, older, reporter=reporter)
    cats = source.in_tier(tier, reporter).cats
    pairs = published.beside(
        rows,
        published.by_split(cats, split=split),
        runs,
        whole=published.by_split(source.cats, split=split),
        ties=ties,
        older=older.keys(),
        skipped=reporter.warn,
    )
    others = sorted({run.model for run in runs if published.printed_name(run) is None})
    if others:
        reporter.note(
            f"These models are not in the printed tables: {', '.join(others)}. The tables have "
            f"{', '.join(models())}; use LABEL=MODEL or NAME=FILE to give a run one of these names."
        )
    return {"ties": ties, "tier": tier, "rows": pairs, "why": published.WHY}
