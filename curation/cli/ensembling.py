"""``curation scores ensemble``: a model of models."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.gold import (
    GoldFiles,
    Scores,
    TieRule,
    Ties,
    campaign_cats,
    current_runs,
    read_gold,
    write_file,
)
from curation.cli.options import FILE, Where
from curation.files import CurationError, dump_json, dump_line, read_json
from curation.records import Cat, Score

if TYPE_CHECKING:
    from curation.scores.runs import Run


class Aim(StrEnum):
    """What an ensemble is fitted for."""

    lms = "lms"
    icat = "icat"


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
    ] = Aim.lms,
    ties: Ties = TieRule.half,
    name: Annotated[str, typer.Option(help="Under which name it is kept.")] = "ensemble",
    seed: Annotated[int, typer.Option(min=0, help="Of the search of four members or more.")] = 1,
) -> None:  # fmt: skip
    """Fit an ensemble on dev: a weighted sum of models' standardised scores, a model of its own.

    No weight is below 0, and their sum is 1. They maximise lms of the dev CATs: the paper's
    ensemble is the strongest language model (ACL §7). The figures on dev are flattered by that:
    compare it on test. It is kept beside the models, and «curation scores compare» shows it.
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
    """Fit, apply, write and report."""
    from curation import __version__
    from curation.cli.scores import HEADS, cells, show_marks, show_notes
    from curation.scores import ensemble as stage
    from curation.scores.flags import marked
    from curation.scores.groups import keys
    from curation.scores.runs import Run, digests, folder_name

    cats = [cat for part in splits.values() for cat in part]
    runs = current_runs(runs, cats)
    chosen = stage.choose(runs, names)
    if not name.strip() or folder_name(name).startswith("."):
        raise CurationError(f"--name {name!r}: not a name", "give letters, such as ensemble")
    home = root / folder_name(name)
    _free(home, name, runs)
    if any(run.model == name for run in chosen):
        raise CurationError(
            f"the ensemble «{name}» cannot be its own member", "give another --name"
        )
    fitted = stage.fit(splits["dev"], chosen, objective=objective.value, ties=ties.value, seed=seed)
    values, left_out = stage.apply(fitted, cats, chosen)
    knobs = {"ties": ties.value, "seed": seed, "left_out": len(left_out)}
    about = stage.about(name, fitted, chosen, versions={"curation": __version__}, **knobs)
    rule = stage.folder(about)
    found = stage.split_results(splits, values, model=f"{name}, {rule}", ties=ties.value)
    folder = home / rule
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
    write_file(folder / "scores.jsonl", b"".join(lines))
    write_file(folder / "run.json", dump_json(about))
    figures = {"run": about, "ties": ties.value, "splits": found}
    write_file(folder / "results.json", dump_json(figures))
    dev = about["dev"]
    flags = {name: _flags(found, about)}
    for run in chosen:
        own = stage.split_results(splits, run.scores, model=run.name, ties=ties.value)
        flags[run.name] = _flags(own, run.about)
    rows: list[list[Any]] = [
        [marked(run.name, flags[run.name]), weight, dev["members"][run.name]]
        for run, weight in zip(chosen, fitted.weights, strict=True)
    ]
    rows += [["even weights", None, dev["even_weights"]], [name, None, dev["ensemble"]]]
    heads = ["member", "weight", f"{objective.value} on dev"]
    console.table(f"{name}, fitted on {len(fitted.dev_cats)} dev CATs", heads, rows)
    rows = [[split, *cells(result["overall"])] for split, result in found.items()]
    console.table(f"{marked(name, flags[name])}, both kinds", ["CATs of", *HEADS], rows)
    show_notes(result["overall"] for result in found.values())
    show_marks(flags.values())
    if not keys(Run(name, rule, about["variant"], {}, about), {}):
        console.warn("the members share no profile or rules: compare does not rank this ensemble")
    if left_out:
        console.warn(f"{len(left_out)} CATs are left out: a member lacks a score of them")
    console.say(f"Written to {folder}. The figures on dev are flattered by the fit.")


def _flags(splits: Mapping[str, Any], about: Mapping[str, Any]) -> list[str]:
    """What tables say of a model by its results on each split."""
    from curation.scores.flags import flags_of

    return list(dict.fromkeys(f for result in splits.values() for f in flags_of(result, about)))


def _free(home: Path, name: str, runs: "Sequence[Run]") -> None:
    """Raise where an ensemble of this name would lie in another model's folder, or bear its name.

    Two names may have one folder: ``a/b`` and ``a--b``.
    """
    from curation.scores.groups import ENSEMBLE
    from curation.scores.runs import folder_name

    taken = [
        (run.where, run.model, run.about.get("family"))
        for run in runs
        if folder_name(run.model) == home.name
    ]
    for path in sorted(home.glob("*/run.json")):  # also of a model without scores yet
        about = read_json(path)
        kept = about if isinstance(about, dict) else {}
        taken.append((str(path.parent), str(kept.get("model", home.name)), kept.get("family")))
    for where, model, family in taken:
        if family != ENSEMBLE or model != name:
            raise CurationError(f"{where}: is a model «{model}»", "give another --name")
