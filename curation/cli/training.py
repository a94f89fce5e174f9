"""``curation scores train-nsp``: train a next-sentence head."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from curation.cli import console
from curation.cli.options import FILE_OR_FOLDER
from curation.files import CurationError
from curation.models.train.settings import PAPER, Tell, Told, Training

_LINES = 50  # lines about the loss, in all


class Precision(StrEnum):
    """Precision of the arithmetic."""

    auto = "auto"
    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"


class Optimizer(StrEnum):
    """What changes the weights."""

    adamw = "adamw"
    bertadam = "bertadam"


# Options of both training commands.
Model = Annotated[str, typer.Argument(help="The model to begin from: a hub name or a folder.")]
Out = Annotated[Path, typer.Option("--out", help="Folder of the trained model.", metavar="DIR")]
Accumulate = Annotated[
    int, typer.Option(min=1, help="Run each batch in this many parts, to need less memory.")
]
Rate = Annotated[float, typer.Option(min=0.0, help="The highest learning rate.")]
Warmup = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Steps until the learning rate is at its highest; default a tenth of all, "
        "within 50 and 500.",
        show_default=False,
    ),
]
Epochs = Annotated[int, typer.Option(min=1, help="How many times to go through the corpus.")]
InPrecision = Annotated[
    Precision, typer.Option(help="auto: mixed 16-bit precision on a GPU, float32 elsewhere.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random draws.")]
CheckpointEvery = Annotated[int, typer.Option(min=1, help="Steps between checkpoints.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1 …")]
Revision = Annotated[str, typer.Option(help="A branch, tag or commit on the hub.")]
Trust = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
]
Restart = Annotated[
    bool, typer.Option("--restart", help="Delete what an earlier run left in DIR, and begin again.")
]


def train_nsp(
    model: Model,
    corpus: Annotated[
        list[Path],
        typer.Option(
            "--corpus",
            help="Articles: .txt (a sentence a line, an empty line between articles), .jsonl "
            '({"text": …} or {"sentences": […]}), either also .gz or .bz2, .parquet, or a folder '
            "of these or of WikiExtractor's output (AA/wiki_00 …); may be repeated.",
            **FILE_OR_FOLDER,
        ),
    ],
    out: Out,
    running_text: Annotated[
        bool,
        typer.Option("--running-text", help="Lines of .txt are running text: split sentences."),
    ] = False,
    field: Annotated[
        str, typer.Option(help="Name of the text in .jsonl, and of its column in .parquet.")
    ] = "text",
    length: Annotated[int, typer.Option(min=8, help="The most tokens of a pair.")] = 256,
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
            help="Share of the articles to test on; no effect with --test-pairs.",
        ),
    ] = 0.05,
    test_pairs: Annotated[
        int | None,
        typer.Option(
            min=2, help="Test on exactly this many pairs (paper: 3500000).", show_default=False
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="The most pairs of an epoch (paper: 9500000), and without --test-pairs the most "
            "to test on.",
            show_default=False,
        ),
    ] = None,
    optimizer: Annotated[
        Optimizer, typer.Option(help="bertadam is the paper's; adamw has bias correction.")
    ] = Optimizer.adamw,
    freeze: Annotated[bool, typer.Option("--freeze", help="Train the head only.")] = False,
    precision: InPrecision = Precision.auto,
    seed: Seed = 1,
    checkpoint_every: CheckpointEvery = 500,
    device: Device = "auto",
    revision: Revision = "",
    trust_remote_code: Trust = False,
    restart: Restart = False,
) -> None:
    """Train a next-sentence head, and the model below it, for the rule nsp.

    Length, batch, learning rate and epochs have the paper's values by default. If a run was
    stopped, give the same command again: it continues from the last checkpoint. Afterwards use DIR
    as MODEL in «curation scores models».
    """
    from curation.models.train.corpus import read_corpus

    with console.stages() as tell_read:
        articles = read_corpus(
            corpus,
            running=running_text,
            field=field,
            tell=lambda done, total: tell_read("reading", done, total),
        )
    console.note(
        f"{articles.articles} articles, {articles.sentences} sentences; left out: "
        f"{articles.single} articles of fewer than two sentences, {articles.repeated} repeated ones"
    )
    with models_extra():
        from curation.models.train.next_sentence import train

    wanted = Training(
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
        test_pairs=test_pairs,
        optimizer=optimizer.value,
        freeze=freeze,
        precision=precision.value,
        seed=seed,
        checkpoint_every=checkpoint_every,
        device=device,
        trust_remote_code=trust_remote_code,
    )
    with shown(epochs) as tell:
        report = train(wanted, articles, out, restart=restart, tell=tell)
    console.say(
        f"held-out accuracy {report['held_out_accuracy']:.1f} % on {report['pairs_held_out']} "
        f"pairs (the paper's heads: {PAPER[0]} to {PAPER[1]} %); trained model in {out}"
    )


@contextmanager
def models_extra() -> Iterator[None]:
    """Wrap an import that needs the extra ``models``: if it is missing, the error says so."""
    try:
        yield
    except ImportError as error:
        raise CurationError(
            f"models cannot be trained: {error}", "pip install 'curation[models]'"
        ) from None


@contextmanager
def shown(epochs: int) -> Iterator[Tell]:
    """Show the progress of a training of so many epochs: a bar, and lines."""
    losses: list[float] = []
    with console.counted("training") as bar:

        def tell(told: Told) -> None:
            if told.accuracy is not None:
                console.note(
                    f"epoch {told.epoch} of {epochs}: loss {told.loss:.4f}, "
                    f"held-out accuracy {told.accuracy:.1f} %"
                )
            elif told.loss is None:
                bar.begin(told.step, told.steps)
                if told.step:
                    console.note(f"continues at step {told.step} of {told.steps}")
            else:
                bar.advance()
                losses.append(told.loss)
                if told.step % max(told.steps // _LINES, 1) == 0:
                    mean = sum(losses) / len(losses)
                    console.note(f"step {told.step} of {told.steps}: loss {mean:.4f}")
                    losses.clear()

        yield tell
