"""``curation scores train-nsp`` and ``curation measures train-sentiment``."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from curation.cli import console
from curation.cli.options import FILE_OR_FOLDER
from curation.files import CurationError
from curation.models.train.settings import (
    PAPER,
    NextSentenceSettings,
    Progress,
    SentimentSettings,
    Tell,
    TrainingSettings,
)
from curation.text.wording import amount

Settings = TypeVar("Settings", bound=TrainingSettings)
_LINES = 50  # lines about the loss in the whole training


# Options of both training commands.
Model = Annotated[str, typer.Argument(help="Model to start from: a name on the hub or a folder.")]
Out = Annotated[Path, typer.Option(help="Folder for the trained model.", metavar="DIR")]
Accumulate = Annotated[
    int, typer.Option(min=1, help="Split each batch into this many parts, to use less memory.")
]
Rate = Annotated[float, typer.Option(min=0.0, help="Highest learning rate.")]
Warmup = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Steps until the learning rate is highest. Default: a tenth of all steps, but at "
        "least 50 and at most 500.",
    ),
]
Epochs = Annotated[int, typer.Option(min=1, help="Number of passes over the training data.")]
InPrecision = Annotated[
    Literal["auto", "float32", "bfloat16", "float16"],
    typer.Option(
        help="auto: mixed 16-bit precision on a GPU, float32 elsewhere. Or float32, bfloat16, "
        "float16."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random draws.")]
CheckpointEvery = Annotated[int, typer.Option(min=1, help="Steps between checkpoints.")]
Device = Annotated[str, typer.Option(help="Device: auto, cpu, cuda, cuda:1 …")]
Revision = Annotated[str, typer.Option(help="Branch, tag or commit on the hub.")]
Trust = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
]
Restart = Annotated[
    bool,
    typer.Option("--restart", help="Delete what an earlier run left in DIR, and start again."),
]


def train_nsp(
    model: Model,
    corpus: Annotated[
        list[Path],
        typer.Option(
            help="Articles: .txt (a sentence per line, an empty line between articles), .jsonl "
            '({"text": …} or {"sentences": […]}), both also as .gz or .bz2, .parquet, or a folder '
            "with such files or with WikiExtractor's output (AA/wiki_00 …). Repeatable.",
            **FILE_OR_FOLDER,
        ),
    ],
    out: Out,
    running_text: Annotated[
        bool,
        typer.Option(
            "--running-text", help="Lines of .txt are running text: split them into sentences."
        ),
    ] = False,
    field: Annotated[
        str, typer.Option(help="Name of the field with the text in .jsonl and .parquet.")
    ] = "text",
    length: Annotated[int, typer.Option(min=8, help="Maximum number of tokens in a pair.")] = 256,
    batch: Annotated[int, typer.Option(min=1, help="Pairs in one step.")] = 80,
    accumulate: Accumulate = 1,
    lr: Rate = 1e-5,
    warmup: Warmup = None,
    epochs: Epochs = 10,
    held_out: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.9,
            help="Share of the articles to test on. Has no effect with --test-pairs.",
        ),
    ] = 0.05,
    test_pairs: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Test on exactly this many pairs (in the paper 3500000).",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Maximum number of pairs in an epoch (in the paper 9500000) and, without "
            "--test-pairs, in the test.",
        ),
    ] = None,
    optimizer: Annotated[
        Literal["adamw", "bertadam"],
        typer.Option(help="adamw, or bertadam as in the paper: without bias correction."),
    ] = "adamw",
    freeze: Annotated[bool, typer.Option("--freeze", help="Train the head only.")] = False,
    precision: InPrecision = "auto",
    seed: Seed = 1,
    checkpoint_every: CheckpointEvery = 500,
    device: Device = "auto",
    revision: Revision = "",
    trust_remote_code: Trust = False,
    restart: Restart = False,
) -> None:
    """Train a next-sentence head, and the model below it, for the rule nsp.

    The defaults of length, batch, learning rate and epochs are the paper's values. If the
    command was stopped, run it again: it continues from the last checkpoint. Afterwards, use the
    folder of --out as MODEL in «curation scores models».
    """
    from curation.models.train.corpus import read_corpus

    options = locals()
    with console.stages() as tell_read:
        articles = read_corpus(
            corpus,
            running=running_text,
            field=field,
            tell=lambda done, total: tell_read("reading", done, total),
        )
    console.note(
        f"{amount(articles.articles, 'article')}, {amount(articles.sentences, 'sentence')}; left "
        "out: "
        f"{amount(articles.single, 'article')} with fewer than two sentences, {articles.repeated} "
        "repeated "
        "articles"
    )
    with models_extra():
        from curation.models.train.next_sentence import train

    settings = settings_of(NextSentenceSettings, options)
    with shown(epochs) as tell:
        report = train(settings, articles, out, restart=restart, tell=tell)
    console.say(
        f"held-out accuracy {report['held_out_accuracy']:.1f} % on {report['pairs_held_out']} "
        f"pairs (the paper's heads: {PAPER[0]} to {PAPER[1]} %); the trained model is in {out}"
    )


def settings_of(kind: type[Settings], options: dict[str, Any]) -> Settings:
    """The settings of a training: the options of a command that have the same names."""
    given = {field.name: options[field.name] for field in fields(kind)}
    return kind(**{**given, "revision": given["revision"] or None})


@contextmanager
def models_extra() -> Iterator[None]:
    """Wrap an import that needs the extra ``models``; the error says how to install it."""
    try:
        yield
    except ImportError as error:
        raise CurationError(
            f"models cannot be trained: {error}", "pip install 'curation[models]'"
        ) from None


@contextmanager
def shown(epochs: int) -> Iterator[Tell]:
    """Show the progress of a training with this many epochs: a bar, and lines."""
    losses: list[float] = []
    with console.counted("training") as bar:

        def tell(progress: Progress) -> None:
            if progress.accuracy is not None:
                console.note(
                    f"epoch {progress.epoch} of {epochs}: loss {progress.loss:.4f}, "
                    f"held-out accuracy {progress.accuracy:.1f} %"
                )
            elif progress.loss is None:
                bar.begin(progress.step, progress.steps)
                if progress.step:
                    console.note(f"continues at step {progress.step} of {progress.steps}")
            else:
                bar.advance()
                losses.append(progress.loss)
                if progress.step % max(progress.steps // _LINES, 1) == 0:
                    mean = sum(losses) / len(losses)
                    console.note(f"step {progress.step} of {progress.steps}: loss {mean:.4f}")
                    losses.clear()

        yield tell


def train_sentiment(
    model: Model,
    reviews: Annotated[
        list[Path],
        typer.Option(
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
            help="Reviews to test on, in any format of --reviews. Default: the folder test next to "
            "the folder train of --reviews, if there is one. Repeatable.",
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
        ),
    ] = None,
    precision: InPrecision = "auto",
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

    options = locals()
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

    settings = settings_of(SentimentSettings, options)
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
