"""``curation scores compare`` and ``ensemble``: models side by side, and together."""

import csv
import io
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curation.campaign import open_campaign
from curation.cli import console, side_by_side
from curation.cli.gold import (
    GoldFiles,
    JsonFile,
    OfCampaign,
    Scores,
    Seed,
    TieRule,
    Ties,
    campaign_cats,
    of_split,
    read_gold,
    write_json,
)
from curation.cli.options import FILE, Where
from curation.files import CurationError, dump_json, dump_line, read_json, writing
from curation.records import Cat, Score

if TYPE_CHECKING:
    from curation.scores.compare import Agreement
    from curation.scores.runs import Run


class Aim(StrEnum):
    """What an ensemble is fitted for."""

    icat = "icat"
    lms = "lms"


def compare(
    campaign: Where = Path(),
    gold: GoldFiles = None,
    scores: Scores = Path("scores"),
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            "--predictions", metavar="NAME=FILE",
            help="Also a model's file of predictions; may be repeated.",
        ),
    ] = None,
    split: OfCampaign = None,
    rule: Annotated[
        str, typer.Option(help="Compare models under this rule or profile only.")
    ] = "",
    ties: Ties = TieRule.half,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples, at least.")] = 1000,
    seed: Seed = 1,
    power: Annotated[
        float | None,
        typer.Option(
            metavar="D", show_default=False,
            help="Say how many terms a difference of D points between two models needs.",
        ),
    ] = None,
    csv_file: Annotated[
        Path | None,
        typer.Option("--csv", help="Also write all figures to one long table.", **FILE),
    ] = None,
    latex: Annotated[
        Path | None, typer.Option("--latex", help="Also write the models as LaTeX.", **FILE)
    ] = None,
    json_file: JsonFile = None,
) -> None:  # fmt: skip
    """Compare models: figures with intervals, which differences hold, terms, kinds, rules.

    Each model stands with the rule or profile that most models have; its other rules and variants
    are held against that one. Differences are from a paired bootstrap over target terms, with
    Holm's correction over all pairs.
    """
    from curation.scores import compare as stage
    from curation.scores import tables
    from curation.scores.differences import differences, enough_resamples
    from curation.scores.power import power_report
    from curation.scores.runs import board as lay_out

    if power is not None and not power > 0:
        raise CurationError(f"--power {power:g}: no difference", "give points above 0, such as 2")
    cats, root, agreement = _read(campaign, gold, scores)
    cats, of = of_split(cats, split, gold)
    runs = _current(_read_runs(root, predictions or [], bool(gold)), cats)
    board = lay_out(cats, runs, ties=ties.value, skipped=console.warn)
    chosen = stage.leading(board.runs, rule=rule or None)
    knobs: dict[str, Any] = {"resamples": resamples, "seed": seed}
    with console.tracked("models", len(board.runs)) as advance:
        every = []
        for number in range(len(board.runs)):
            every.append(stage.run_results(board, number, **knobs))
            advance()
    chosen = sorted(chosen, key=lambda number: -every[number]["overall"]["icat"])
    found = [every[number] for number in chosen]
    alone = stage.single(board, chosen)
    pairs = len(chosen) * (len(chosen) - 1) // 2
    report: dict[str, Any] = {
        "split": of,
        "ties": ties.value,
        "resamples": resamples,
        "resamples_of_differences": enough_resamples(pairs, resamples),
        "cats": len(cats),
        "models": [board.runs[number].name for number in chosen],
        "runs": every,
        "differences": differences(board, chosen, **knobs),
        "correlations": stage.correlations([every[number] for number in alone]),
        "terms": stage.by_term(board, alone, agreement=agreement, **knobs),
        "shifts": stage.shifts(board, chosen, **knobs),
        "power": power_report(board, chosen, power) if power else None,
    }
    if csv_file:
        rows = [tables.COLUMNS, *tables.tidy(every, split=of)]
        _write(csv_file, _csv_text(rows).encode())
    if latex:
        _write(latex, _latex(found, of, ties.value).encode())
    write_json(json_file, report)
    side_by_side.warn(board, chosen, cats, runs)
    side_by_side.show(report, found)


def _read(
    campaign: Path, gold: Sequence[Path] | None, scores: Path
) -> "tuple[list[Cat], Path, dict[str, Agreement]]":
    """The CATs, the folder of their scores, and the agreement on each term."""
    from curation.scores import compare as stage
    from curation.stereoset import read_entries

    if gold:
        cats = read_gold(gold)
        entries = [entry for path in gold for entry in read_entries(path)]
        return cats, scores, stage.published_agreement(entries)
    opened = open_campaign(campaign)
    path = opened.decisions / "agreement.json"
    terms = read_json(path)["terms"] if path.exists() else []
    told = {
        # Without «agreement» the report is of an earlier version, which had another formula.
        f"{row['domain']}/{row['term']}": stage.Agreement(row.get("agreement"), row["stereotype"])
        for row in terms
    }
    return campaign_cats(opened), opened.scores, told


def _read_runs(root: Path, predictions: Sequence[str], free: bool) -> "list[Run]":
    """All runs; with predictions of gold files the folder of scores need not be there."""
    from curation.scores.runs import read_predictions_run, read_runs

    given = [read_predictions_run(named) for named in predictions]
    if given and not root.exists():
        return given
    if free and not root.exists():
        raise CurationError(f"{root}: no such folder", "name the folder of scores with --scores")
    return [*read_runs(root, skipped=console.warn), *given]


def _current(runs: "Sequence[Run]", cats: Sequence[Cat]) -> "list[Run]":
    """The runs, without scores of what has changed; says so."""
    from curation.scores.runs import current

    found, lost = current(runs, cats)
    for name, count in lost.items():
        console.warn(f"{name}: {count} scores are of texts that have changed since; score it again")
    return found


def _write(path: Path, content: bytes) -> None:
    with writing(path) as file:
        file.write(content)


def _csv_text(rows: Sequence[Sequence[Any]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _latex(found: Sequence[dict[str, Any]], split: str, ties: str) -> str:
    from curation.scores.tables import latex, way

    ways = sorted({way(one) for one in found})
    several = len(ways) > 1
    said = "each model's rule in brackets" if several else f"rule {ways[0]}"
    caption = f"lms, ss and icat by domain and overall ({split}; {said}; ties {ties})."
    return latex(found, caption=caption, ways=several)


def ensemble(
    members: Annotated[
        list[str],
        typer.Argument(help="Two or more, as MODEL/RULE or MODEL/RULE+VARIANT.", metavar="MEMBER…"),
    ],
    campaign: Where = Path(),
    gold: GoldFiles = None,
    dev: Annotated[
        list[Path] | None,
        typer.Option(
            "--dev", show_default=False,
            help="With --gold: a gold file to fit the weights on; may be repeated.", **FILE,
        ),
    ] = None,
    scores: Scores = Path("scores"),
    objective: Annotated[
        Aim, typer.Option(help="What the weights maximise on the dev CATs, both kinds pooled.")
    ] = Aim.icat,
    ties: Ties = TieRule.half,
    name: Annotated[str, typer.Option(help="Under which name it is kept.")] = "ensemble",
    seed: Annotated[int, typer.Option(min=0, help="Of the search of four members or more.")] = 1,
) -> None:  # fmt: skip
    """Fit an ensemble on dev: a weighted sum of models' standardised scores, a model of its own.

    Weights are none below 0 and 1 together; they maximise icat (or lms) of the dev CATs. The
    figures on dev are flattered by that: compare it on test. It lies beside the models, and
    «curation scores compare» shows it.
    """
    from curation.scores.runs import read_runs

    if gold:
        if not dev:
            raise CurationError("--gold without --dev", "name the file to fit the weights on")
        rest, fitted = read_gold(gold), read_gold(dev)
        both = {cat.id for cat in rest} & {cat.id for cat in fitted}
        if both:
            raise CurationError(
                f"CAT {min(both)} stands in --gold and in --dev", "fit on CATs that are not scored"
            )
        splits = {"gold": rest, "dev": fitted}
        _ensemble(
            read_runs(scores, skipped=console.warn),
            members,
            splits,
            scores,
            objective,
            ties,
            name,
            seed,
        )
        return
    if dev:
        raise CurationError("--dev without --gold", "a campaign knows its dev CATs")
    opened = open_campaign(campaign)
    cats, root = campaign_cats(opened), opened.scores
    splits = {key: [cat for cat in cats if cat.split == key] for key in ("test", "dev")}
    with opened.lock():
        _ensemble(
            read_runs(root, skipped=console.warn),
            members,
            splits,
            root,
            objective,
            ties,
            name,
            seed,
        )


def _ensemble(
    runs: "Sequence[Run]",
    names: Sequence[str],
    splits: dict[str, list[Cat]],
    root: Path,
    objective: Aim,
    ties: TieRule,
    name: str,
    seed: int,
) -> None:
    """Fit, apply, write and tell."""
    from curation import __version__
    from curation.cli.scores import HEADS, cells
    from curation.scores import ensemble as stage
    from curation.scores.runs import digests, folder_name

    cats = [cat for part in splits.values() for cat in part]
    runs = _current(runs, cats)
    chosen = stage.choose(runs, names)
    if not name.strip() or folder_name(name).startswith("."):
        raise CurationError(f"--name {name!r}: no name", "give letters, such as ensemble")
    home = root / folder_name(name)
    _free(home, name, runs)
    if any(run.model == name for run in chosen):
        raise CurationError(
            f"the ensemble «{name}» cannot be its own member", "give another --name"
        )
    fitted = stage.fit(splits["dev"], chosen, objective=objective.value, ties=ties.value, seed=seed)
    values, left_out = stage.apply(fitted, cats, chosen)
    rule = stage.way(chosen)
    found = stage.split_results(splits, values, model=f"{name}, {rule}", ties=ties.value)
    folder = home / rule
    knobs = {"ties": ties.value, "seed": seed, "left_out": len(left_out)}
    about = stage.about(name, fitted, chosen, versions={"curation": __version__}, **knobs)
    asked = digests(cats, variant=about["variant"])
    kinds = {one.id: cat.kind for cat in cats for one in cat.associations}
    lines = [
        dump_line(
            Score(
                model=name,
                rule=about["rules"][kinds[key]],
                association=key,
                value=value,
                asked=asked.get(key, ""),
            )
        )
        for key, value in values.items()
    ]
    _write(folder / "scores.jsonl", b"".join(lines))
    _write(folder / "run.json", dump_json(about))
    figures = {"run": about, "ties": ties.value, "splits": found}
    _write(folder / "results.json", dump_json(figures))
    told = about["dev"]
    rows: list[list[Any]] = [
        [run.name, weight, told["members"][run.name]]
        for run, weight in zip(chosen, fitted.weights, strict=True)
    ]
    rows += [["even weights", None, told["even_weights"]], [name, None, told["ensemble"]]]
    heads = ["member", "weight", f"{objective.value} on dev"]
    console.table(f"{name}, fitted on {len(fitted.dev_cats)} dev CATs", heads, rows)
    rows = [[split, *cells(result["overall"])] for split, result in found.items()]
    console.table(f"{name}, both kinds", ["CATs of", *HEADS], rows)
    if left_out:
        console.warn(f"{len(left_out)} CATs are left out: a member lacks a score of them")
    console.say(f"Written to {folder}. The figures on dev are flattered by the fit.")


def _free(home: Path, name: str, runs: "Sequence[Run]") -> None:
    """Raise where an ensemble of this name would lie in another model's folder, or bear its name.

    Two names may have one folder: ``a/b`` and ``a--b``.
    """
    from curation.scores.ensemble import FAMILY
    from curation.scores.runs import folder_name

    taken = [
        (run.where, run.model, run.about.get("family"))
        for run in runs
        if folder_name(run.model) == home.name
    ]
    for path in sorted(home.glob("*/run.json")):  # also of a model without scores yet
        about = read_json(path)
        told = about if isinstance(about, dict) else {}
        taken.append((str(path.parent), str(told.get("model", home.name)), told.get("family")))
    for where, model, family in taken:
        if family != FAMILY or model != name:
            raise CurationError(f"{where}: is a model «{model}»", "give another --name")
