"""``curation trust probe``: bias in a model's representations, by a trained classifier."""

from pathlib import Path
from typing import Annotated

import typer

from curation.campaign import open_campaign
from curation.cli import console, model_options
from curation.cli.model_options import EngineName
from curation.cli.options import FILE, Json, Language, Where
from curation.cli.trust_options import Field, Files, GroupNames, Layer, Model, Source
from curation.cli.trust_tables import show_runs
from curation.cli.trust_text import Window
from curation.files import CurationError


def probe(
    model: Model,
    files: Files,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Train on people's labels: a table (CSV, .jsonl) with the columns passage, text, "
            "target, group, annotator, submitted_at.",
            show_default=False,
            **FILE,
        ),
    ] = None,
    automatic: Annotated[
        bool,
        typer.Option("--automatic", help="Train on automatic labels of passages of the files."),
    ] = False,
    groups: GroupNames = None,
    source: Source = "",
    per_target: Annotated[
        bool,
        typer.Option("--per-target", help="A probe per target, as in the paper; default: one."),
    ] = False,
    every_mention: Annotated[
        bool,
        typer.Option("--every-mention", help="Read all mentions, as in the paper; default: first."),
    ] = False,
    layer: Layer = None,
    most: Annotated[
        int, typer.Option(min=1, help="Passages of each target, a random sample.")
    ] = 1_000,
    window: Window = None,
    language: Language = "",
    field: Field = "text",
    device: model_options.Device = "auto",
    dtype: model_options.Dtype = "auto",
    batch_tokens: model_options.BatchTokens = None,
    revision: model_options.Revision = "",
    trust_remote_code: model_options.Remote = False,
    engine: model_options.EngineOption = EngineName.local,
    workers: model_options.Workers = None,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Measure the bias of targets in a model's representations by a linear classifier.

    The classifier learns from labelled passages which group a target is associated with, or none.
    The strength of association is the number of further passages for which it predicts the group.
    By default one classifier learns from all targets, as in the paper's code, because a target has
    few labels; the paper's text has one for each (--per-target). A passage with several mentions of
    the target counts once, also with --every-mention. Give --labels or --automatic. If the command
    is interrupted, run it again: it goes on where it stopped.
    """
    from curation.models.states import StatesSpec
    from curation.steps.trust.probe import measure_probe

    if automatic is (labels is not None):
        raise CurationError(
            "the probe needs labels: give either --labels or --automatic",
            "use --labels FILE for people's labels, or --automatic",
        )
    spec = StatesSpec(
        model, device, dtype, revision or None, trust_remote_code, layer, batch_tokens
    )
    runs = measure_probe(
        open_campaign(campaign),
        spec,
        files,
        labels=labels,
        names=groups or (),
        source=source,
        most=most,
        window=window,
        per_target=per_target,
        every_mention=every_mention,
        language=language,
        field=field,
        **model_options.options_of_work(engine, workers, device),
        reporter=console,
    )
    show_runs(runs, as_json=as_json)
    if not as_json:
        rows = [
            [run.groups, name, *(found[key] for key in ("accuracy", "majority", "control"))]
            for run, _ in runs
            for name, found in run.about.get("probes", {}).items()
        ]
        heads = ["groups", "probe of", "accuracy", "commonest label", "shuffled labels"]
        console.table("Accuracy by cross-validation over documents", heads, rows)
