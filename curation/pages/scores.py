"""What the report says of models: their values, tests of differences, baselines, printed rows.

All of it is computed by the functions behind ``curation scores compare``, ``baselines`` and
``published``; here it gets the form that pages need, where nothing is computed any more.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from curation.files import CurationError
from curation.records import Fields
from curation.scores.run_folder import has_runs, read_run
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from curation.campaign.source import Source
    from curation.scores.groups import Comparison, Difference, Ranking

LEAST_P = 0.001  # a smaller p is shown as smaller than this
ALPHA = 0.05  # a difference holds if its p is not above this, after Holm's correction
ENDS = 5  # the most and the least stereotyped terms of a domain that are shown


def numbers(source: "Source", reporter: Reporter = QUIET) -> dict[str, Any]:
    """The files of numbers about models, by name.

    Args:
        source: a campaign or gold files. A campaign's test CATs are used, or all of its CATs if it
            has no test CAT.
        reporter: receives a warning for each part that cannot be computed, with the reason.

    Returns:
        ``scores``: what ``curation scores compare --json`` has, in the form of ``_scores``.
        ``baselines``: ``{"rows"}``, what ``curation scores baselines --json`` has, without terms.
        ``published``: what ``curation scores published --json`` has, if the CATs are StereoSet's
        and a run is of a printed model. A part that is not there is missing.
    """
    from curation.scores.comparing import compare_runs
    from curation.scores.tables import rounded

    if not source.cats:
        return {}
    try:
        shown = source.in_split(None)
    except CurationError:
        shown = source.in_split("all")
    parts: dict[str, Callable[[], Any]] = {"baselines": lambda: _baselines(shown, reporter)}
    if has_runs(source.scores):
        parts |= {
            "scores": lambda: _scores(compare_runs(shown, partial=True, reporter=reporter)),
            "published": lambda: _published(shown),
        }
    made = {}
    for name, make in parts.items():
        try:
            made[name] = rounded(make())
        except CurationError as error:
            reporter.warn(f"the report has no {name}: {error.what}")
    return {name: content for name, content in made.items() if content}


def _scores(report: "Comparison") -> Fields:
    """A comparison in the form that pages need.

    Returns:
        The fields of ``Comparison`` but ``model_terms`` and ``baselines``; ``alpha``, ``least_p``;
        and ``marks``, what the marks of models mean. ``runs`` is an object by the run's name, each
        with ``label`` (the model), ``mark`` and ``rule_text``; terms of single kinds are left out
        if both are there.
    """
    from curation.scores.flags import MARKS, notes
    from curation.scores.tables import rule_text

    flagged = [row["flags"] for row in (*report.runs, *report.answers)]
    runs = {}
    for run in report.runs:
        kinds = {
            kind: part if run["overall"] is None else {**part, "terms": {}}
            for kind, part in run["kinds"].items()
        }
        about = {"label": run["model"], "mark": "".join(MARKS[flag] for flag in run["flags"])}
        runs[run["run"]] = {**run, **about, "rule_text": rule_text(run), "kinds": kinds}
    whole = report._asdict()
    del whole["model_terms"], whole["baselines"]
    return whole | {
        "alpha": ALPHA,
        "least_p": LEAST_P,
        "marks": [{"mark": MARKS[flag], "says": says} for flag, says in notes(flagged).items()],
        "runs": runs,
        "groups": [made for group in report.groups for made in _groups(group, runs)],
    }


def _groups(group: "Ranking", runs: Mapping[str, Fields]) -> Iterator[Fields]:
    """A ranking by both kinds of CAT; or by each kind, if no model has both."""
    from curation.stats.metrics import BOTH

    ranked = [model for model in group.models if model not in group.one_kind_only]
    if ranked:
        yield _group(group, BOTH if len(group.kinds) > 1 else group.kinds[0], ranked)
    for kind in () if ranked else group.kinds:
        yield _group(group, kind, [m for m in group.models if kind in runs[m]["kinds"]])


def _group(group: "Ranking", kind: str, ranked: list[str]) -> Fields:
    """A ranking, whose differences are laid out by pair.

    Returns:
        The fields of ``Ranking``; ``kind``, the kind of its main values, or «both»; ``ranked``, the
        runs that have such values, the highest icat first;
        ``pairs`` of ``_pairs`` instead of ``differences``; ``tests``, how many pairs of this kind
        have each verdict, by measure; and ``ends``, the most and the least stereotyped terms, each
        with ``label`` and ``few_cats``.
    """
    from curation.scores.terms import most_and_least
    from curation.stats.intervals import FEW_CATS
    from curation.stats.metrics import METRICS

    pairs = _pairs(group.differences, group.models)
    own = [pair for pair in pairs if pair["kind"] == kind]
    tests = {
        metric: {
            verdict: sum(p[metric]["verdict"] == verdict for p in own if metric in p)
            for verdict in VERDICTS
        }
        for metric in METRICS
    }
    whole = group._asdict()
    del whole["differences"]
    return whole | {
        "kind": kind,
        "ranked": ranked,
        "pairs": pairs,
        "tests": tests,
        "ends": [
            {**row, "label": row["term"], "few_cats": row["cats"] < FEW_CATS}
            for row in most_and_least(group.terms, count=ENDS)
        ],
    }


VERDICTS = ("holds", "unsure", "open")
"""The verdicts of a test: p is small; p is small and may be wrong; p is not small."""


def _pairs(rows: Sequence["Difference"], models: Sequence[str]) -> list[Fields]:
    """Every pair of a kind, with the test of each measure, and whether it is next in the ranking.

    Returns:
        ``{"a", "b", "kind", "cats", "terms", "few_terms", "near"}``, and for each measure the
        ``difference``, ``ci``, ``p``, ``p_holm``, ``unsure`` and ``verdict``, one of ``VERDICTS``.
    """
    near, pairs = set(pairwise(models)), dict[tuple[str, str, str], Fields]()
    for row in rows:
        about = {name: getattr(row, name) for name in ("cats", "terms", "few_terms")}
        own = pairs.setdefault(
            (row.kind, row.a, row.b),
            {"a": row.a, "b": row.b, "kind": row.kind, **about, "near": (row.a, row.b) in near},
        )
        fields = ("difference", "ci", "p", "p_holm", "unsure")
        small = row.p_holm is not None and row.p_holm <= ALPHA
        verdict = VERDICTS[int(row.unsure)] if small else VERDICTS[-1]
        own[row.figure] = {name: getattr(row, name) for name in fields} | {"verdict": verdict}
    return list(pairs.values())


def _baselines(source: "Source", reporter: Reporter) -> Fields:
    """The baselines, each with ``label``, and how often one of them is ``beyond`` chance."""
    from curation.scores.results import compute_baselines

    found = compute_baselines(source, overall=True, reporter=reporter)
    beyond = sum(len(row.get("beyond_chance", ())) for row in found)
    rows = [{**row, "label": row["model"]} for row in found]
    return {"split": source.split, "cats": len(source.cats), "beyond": beyond, "rows": rows}


def _published(source: "Source") -> Fields | None:
    """Runs beside the papers' printed rows; None if the CATs or models are not the papers'."""
    from curation.scores.flags import MARKS
    from curation.scores.published import by_split, choose, printed_name
    from curation.scores.results import beside_printed
    from curation.scores.runs import Run, model_of
    from curation.stats.metrics import BOTH

    known = {path: read_run(path) for path in source.scores.glob("*/*/")}
    runs = (Run(model_of(at, about), at.name, "", {}, about) for at, about in known.items())
    if not any(map(printed_name, runs)):  # scores need not be read again
        return None
    try:
        by_split(source.cats)
    except CurationError:
        return None
    report = beside_printed(choose([]), source, scores=source.scores)
    for row in report["rows"]:
        row["mark"] = "".join(MARKS[flag] for flag in row["flags"])
        kinds = "both kinds" if row["kind"] == BOTH else row["kind"]
        row |= {"label": row["model"], "reasons": "; ".join(row["why"])}
        row["table"] = f"{row['source']}, {row['split']}, {kinds}"
        for figure in row["figures"].values():
            figure["value_ci"] = figure["ci"]
    return report if report["rows"] else None
