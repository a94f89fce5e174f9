"""``curation trust contextual``: bias in a model's representations, by reduction to vectors."""

from pathlib import Path
from typing import Annotated

import typer

from curation.campaign import open_campaign
from curation.cli import console, model_options
from curation.cli.model_options import EngineName
from curation.cli.options import Json, Language, Where
from curation.cli.trust_options import Field, Files, GroupNames, Layer, Model, Source
from curation.cli.trust_tables import show_runs


def contextual(
    model: Model,
    files: Files,
    groups: GroupNames = None,
    source: Source = "",
    layer: Layer = None,
    most: Annotated[
        int, typer.Option(min=0, help="Contexts of each word, at random; 0: all, as in the paper.")
    ] = 1_000,
    repeats: Annotated[
        bool,
        typer.Option("--repeats", help="Count repeated contexts, as in the paper; default: once."),
    ] = False,
    window: Annotated[int, typer.Option(min=1, max=1000, help="Sentences of a context.")] = 1,
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
    """Measure the bias of targets in a model's representations of words in a corpus.

    A word's vector is the mean of its states over its contexts in the files: by default over at
    most 1,000 different ones, with --most 0 --repeats over all, as in the paper. The strength of
    association is the cosine of the mean vectors of the target's words and of the group's words.
    Intervals are over documents. If the command is interrupted, run it again: it goes on where it
    stopped.
    """
    from curation.models.states import StatesSpec
    from curation.steps.trust.contextual import measure_contextual

    spec = StatesSpec(
        model, device, dtype, revision or None, trust_remote_code, layer, batch_tokens
    )
    runs = measure_contextual(
        open_campaign(campaign),
        spec,
        files,
        names=groups or (),
        source=source,
        most=most or None,
        repeats=repeats,
        window=window,
        language=language,
        field=field,
        **model_options.options_of_work(engine, workers, device),
        reporter=console,
    )
    show_runs(runs, as_json=as_json)
