"""``curation measures train-sentiment``: fine-tune a sentiment classifier."""

from pathlib import Path
from typing import Annotated

import typer

from curation.cli import console
from curation.cli.options import FILE_OR_FOLDER
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
from curation.models.train.settings import SentimentSettings
from curation.text.wording import amount


def train_sentiment(
    model: Model,
    reviews: Annotated[
        list[Path],
        typer.Option(
            "--reviews",
            help="Reviews: .jsonl, .csv or .tsv, also as .gz or .bz2, with a column text, review "
            "or sentence, and a column label or sentiment (negative, neutral, positive; 0, 1) or "
            "stars or rating (1 to 5). Or a folder such as aclImdb, with folders pos and neg of "
            "text files, directly or in train. Repeatable.",
            **FILE_OR_FOLDER,
        ),
    ],
    out: Out,
    test: Annotated[
        list[Path] | None,
        typer.Option(
            "--test",
            help="Reviews to test on, in any format of --reviews. Default: the folder test next to "
            "the folder train of --reviews, if there is one. Repeatable.",
            show_default=False,
            **FILE_OR_FOLDER,
        ),
    ] = None,
    classes: Annotated[
        int,
        typer.Option(
            min=2,
            max=3,
            help="2: negative and positive, without neutral reviews. 3: neutral is a class, too.",
        ),
    ] = 2,
    length: Annotated[
        int,
        typer.Option(min=8, help="Maximum number of tokens; longer reviews are cut off."),
    ] = 256,
    batch: Annotated[int, typer.Option(min=1, help="Reviews in one step.")] = 32,
    accumulate: Accumulate = 1,
    lr: Rate = 1e-4,
    warmup: Warmup = None,
    epochs: Epochs = 7,
    held_out: Annotated[
        float,
        typer.Option(
            min=0.0, max=0.9, help="Share of each class to test on. Has no effect with a test set."
        ),
    ] = 0.1,
    limit: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Maximum number of reviews in an epoch, and in the test.",
            show_default=False,
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
    """Fine-tune a sentiment classifier on reviews, as the paper did with BERT.

    The defaults of length, batch, learning rate and epochs are the paper's values. The paper uses
    the Large Movie Review data (--reviews aclImdb), with an accuracy of 92 % on its test set. For
    other languages, give reviews in the language of the sentences that you want to classify. If the
    command was stopped, run it again: it continues from the last checkpoint. Afterwards, use the
    folder of --out as --model in «curation measures sentiment». You can also open it with
    transformers.
    """
    from curation.models.train.reviews import Reviews, has_test, read_reviews

    test_paths = test or [path for path in reviews if has_test(path)]
    held: Reviews | None = None
    if test_paths:
        held = read_reviews(test_paths, classes=classes, part="test")
    corpus = read_reviews(reviews, classes=classes, test=held)
    console.note(
        f"{amount(len(corpus.numbers), 'review')}; left out: {corpus.neutral} neutral, "
        f"{corpus.unlabelled} "
        f"without a sentiment, {corpus.repeated} repeated, {corpus.contradictory} whose text has "
        f"two sentiments, {corpus.in_test} whose text is in the test set"
    )
    if held is not None:
        console.note(
            f"test set: {amount(len(held.numbers), 'review')}; left out: {held.neutral} neutral, "
            f"{held.repeated} repeated, {held.contradictory} whose text has two sentiments"
        )
    with models_extra():
        from curation.models.train.sentiment import train

    settings = SentimentSettings(
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
        report = train(settings, corpus, out, restart=restart, tell=tell)
    measure = "held-out accuracy" if held is None else "accuracy on the test set"
    console.say(
        f"{measure} {report['held_out_accuracy']:.1f} % on "
        f"{amount(report['reviews_held_out'], 'review')} "
        f"(the paper's classifier on its test set: {report['paper_held_out_accuracy']:.0f} %; "
        f"always the commonest class: {report['commonest_class_held_out']:.1f} %); the trained "
        f"model is in {out}"
    )
