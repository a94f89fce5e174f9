"""``curation scores ensemble``: a model of models."""

from collections.abc import Sequence
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curation.cli import console
from curation.cli.options import FILE, Where
from curation.cli.results import HEADS, cells, kinds_text, show_marks, show_notes
from curation.cli.score_options import GoldFiles, Scores, TieRule, Ties
from curation.files import CurationError
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.steps.scores.ensemble import FittedEnsemble


class Aim(StrEnum):
    """What an ensemble is fitted for."""

    lms = "lms"
    icat = "icat"


def ensemble(
    members: Annotated[
        list[str],
        typer.Argument(
            help="Two or more runs, as MODEL/RULE or MODEL/RULE+VARIANT.", metavar="MEMBER…"
        ),
    ],
    campaign: Where = Path(),
    gold: GoldFiles = None,
    dev: Annotated[
        list[Path] | None,
        typer.Option(
            "--dev", show_default=False,
            help="With --gold: a gold file to fit the weights on; repeatable.", **FILE,
        ),
    ] = None,
    scores: Scores = Path("scores"),
    objective: Annotated[
        Aim, typer.Option(help="What the weights maximise on the dev CATs, both kinds pooled.")
    ] = Aim.lms,
    ties: Ties = TieRule.half,
    name: Annotated[str, typer.Option(help="The name of the ensemble.")] = "ensemble",
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the search, with four members or more.")
    ] = 1,
) -> None:  # fmt: skip
    """Fit an ensemble on dev: a weighted sum of models' standardised scores.

    The weights are 0 or more and sum to 1. By default they maximise lms on the dev CATs, because
    the paper's ensemble is the strongest language model (ACL §7). The values on dev are too high,
    because the weights were fitted there: compare the ensemble on test. The ensemble is saved
    beside the models, and «curation scores compare» shows it as a model.
    """
    from curation.steps.scores.ensemble import ensemble_splits, fit_ensemble
    from curation.steps.source import open_source

    if gold and not dev:
        raise CurationError("--gold needs --dev", "name the gold file to fit the weights on")
    if dev and not gold:
        raise CurationError(
            "--dev needs --gold", "leave --dev out: a campaign has its own dev CATs"
        )
    source = open_source(campaign, gold=gold, scores=scores, reporter=console)
    splits = ensemble_splits(source, dev, reporter=console)
    with source.campaign.lock() if source.campaign else nullcontext():
        fitted = fit_ensemble(
            members,
            splits,
            source.scores,
            name=name,
            objective=objective.value,
            ties=ties.value,
            seed=seed,
            reporter=console,
        )
        _show(fitted)


def _show(fitted: "FittedEnsemble") -> None:
    """Print the weights, the results by split, and what the marks mean."""
    from curation.scores.flags import marked

    about = fitted.about
    name, dev = about["model"], about["dev"]
    rows: list[Sequence[Any]] = [
        [marked(member, fitted.flags[member]), weight, dev["members"][member]]
        for member, weight in fitted.weights.items()
    ]
    rows += [["even weights", None, dev["even_weights"]], [name, None, dev["ensemble"]]]
    heads = ["member", "weight", f"{about['objective']} on dev"]
    console.table(f"{name}, fitted on {amount(dev['cats'], 'dev CAT')}", heads, rows)
    rows = [[split, *cells(result["overall"])] for split, result in fitted.results.items()]
    kinds = {kind for result in fitted.results.values() for kind in result["kinds"]}
    title = f"{marked(name, fitted.flags[name])}, {kinds_text(kinds)}"
    console.table(title, ["CATs of", *HEADS], rows)
    show_notes(result["overall"] for result in fitted.results.values())
    show_marks(fitted.flags.values())
    console.say(
        f"Saved to {fitted.folder}. The values on dev are too high: the weights were fitted there."
    )
