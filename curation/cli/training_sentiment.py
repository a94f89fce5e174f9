"""``curation measures train-sentiment``: fine-tune a classifier of sentiment."""

from pathlib import Path
from typing import Annotated

import typer

from curation.cli import console
from curation.cli.options import FILE
from curation.cli.training import (
    Accumulate,
    CheckpointEvery,
    Device,
    Epochs,
    InPrecision,
    Model,
    Out,
    Precision,
    Rate,
    Restart,
    Revision,
    Seed,
    Trust,
    Warmup,
    models_extra,
    shown,
)
from curation.models.training_settings import SentimentTraining


def train_sentiment(
    model: Model,
    reviews: Annotated[
        list[Path],
        typer.Option(
            "--reviews",
            help="Reviews: .jsonl, .csv or .tsv, also .gz, with a column text, review or sentence "
            "and one of label or sentiment (negative, neutral, positive; 0, 1) or of stars or "
            "rating (1 to 5); may be repeated.",
            **FILE,
        ),
    ],
    out: Out,
    classes: Annotated[
        int,
        typer.Option(
            min=2,
            max=3,
            help="2: negative and positive, neutral reviews are left out. 3: neutral is a class.",
        ),
    ] = 2,
    length: Annotated[
        int, typer.Option(min=8, help="The most tokens of a review; longer ones lose their end.")
    ] = 256,
    batch: Annotated[int, typer.Option(min=1, help="Reviews of a step.")] = 32,
    accumulate: Accumulate = 1,
    lr: Rate = 1e-4,
    warmup: Warmup = None,
    epochs: Epochs = 7,
    held_out: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of each class to test on.")
    ] = 0.1,
    limit: Annotated[
        int | None,
        typer.Option(
            min=2, help="The most reviews of an epoch, and of those held out.", show_default=False
        ),
    ] = None,
    precision: InPrecision = Precision.auto,
    seed: Seed = 1,
    checkpoint_every: CheckpointEvery = 500,
    device: Device = "auto",
    revision: Revision = "",
    trust_remote_code: Trust = False,
    restart: Restart = False,
) -> None:
    """Fine-tune a classifier of sentiment on reviews, as the paper did with BERT.

    The paper's settings are the defaults; its classifier tells 92 % of held-out reviews rightly.
    Give reviews in the language of the sentences that are to be classified. A run that was stopped
    goes on at its last checkpoint when the same command is given again. DIR is then a classifier
    that transformers opens, and what measures of sentiment take by its path.
    """
    from curation.models.reviews import read_reviews

    corpus = read_reviews(reviews, classes=classes)
    console.note(
        f"{len(corpus.numbers)} reviews; left out: {corpus.neutral} neutral ones, "
        f"{corpus.repeated} that stand there already, {corpus.contradictory} whose text has "
        "another label, too"
    )
    with models_extra():
        from curation.models.training_sentiment import train

    wanted = SentimentTraining(
        model=model,
        revision=revision or None,
        length=length,
        batch=batch,
        accumulate=accumulate,
        lr=lr,
        warmup=warmup,
        epochs=epochs,
        held_out=held_out,
        limit=limit,
        precision=precision.value,
        seed=seed,
        checkpoint_every=checkpoint_every,
        device=device,
        trust_remote_code=trust_remote_code,
        classes=classes,
    )
    with shown(epochs) as tell:
        report = train(wanted, corpus, out, restart=restart, tell=tell)
    console.say(
        f"held-out accuracy {report['held_out_accuracy']:.1f} % on {report['reviews_held_out']} "
        f"reviews (the paper's classifier: {report['paper_held_out_accuracy']:.0f} %; always the "
        f"commonest class: {report['commonest_class_held_out']:.1f} %); trained model in {out}"
    )
