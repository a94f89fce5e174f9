"""``curation scores train-nsp``: train a next-sentence head."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from curation.cli import console
from curation.cli.options import FILE
from curation.files import CurationError
from curation.models.training_settings import PAPER, Tell, Told, Training

_LINES = 50  # lines about the loss, on the whole


class Precision(StrEnum):
    """Of the arithmetic."""

    auto = "auto"
    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"


# What both commands that train take alike.
Model = Annotated[str, typer.Argument(help="A name on the hub, or a folder.")]
Out = Annotated[Path, typer.Option("--out", help="Where the trained model goes.", metavar="DIR")]
Accumulate = Annotated[
    int, typer.Option(min=1, help="Run each batch in so many parts, which need less memory.")
]
Rate = Annotated[float, typer.Option(min=0.0, help="The highest learning rate.")]
Warmup = Annotated[
    int | None,
    typer.Option(min=0, help="Steps until then; default a tenth, 50 to 500.", show_default=False),
]
Epochs = Annotated[int, typer.Option(min=1, help="How often the corpus is gone through.")]
InPrecision = Annotated[
    Precision, typer.Option(help="auto: mixed, with 16 bits, on a GPU; else float32.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of all that is drawn.")]
CheckpointEvery = Annotated[int, typer.Option(min=1, help="Steps between checkpoints.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1 …")]
Revision = Annotated[str, typer.Option(help="A branch, tag or commit on the hub.")]
Trust = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
]
Restart = Annotated[
    bool, typer.Option("--restart", help="Throw away what an earlier run left in DIR.")
]


def train_nsp(
    model: Model,
    corpus: Annotated[
        list[Path],
        typer.Option(
            "--corpus",
            help="Articles: .txt (a sentence a line, an empty line between articles) or .jsonl "
            '({"text": …} or {"sentences": […]}), also .gz; may be repeated.',
            **FILE,
        ),
    ],
    out: Out,
    running_text: Annotated[
        bool,
        typer.Option("--running-text", help="Lines of .txt are running text: split sentences."),
    ] = False,
    length: Annotated[int, typer.Option(min=8, help="The most tokens of a pair.")] = 256,
    batch: Annotated[int, typer.Option(min=1, help="Pairs of a step.")] = 80,
    accumulate: Accumulate = 1,
    lr: Rate = 1e-5,
    warmup: Warmup = None,
    epochs: Epochs = 10,
    held_out: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of the articles to test on.")
    ] = 0.05,
    limit: Annotated[
        int | None, typer.Option(min=2, help="The most pairs of an epoch.", show_default=False)
    ] = None,
    freeze: Annotated[bool, typer.Option("--freeze", help="Train the head alone.")] = False,
    precision: InPrecision = Precision.auto,
    seed: Seed = 1,
    checkpoint_every: CheckpointEvery = 500,
    device: Device = "auto",
    revision: Revision = "",
    trust_remote_code: Trust = False,
    restart: Restart = False,
) -> None:
    """Train a next-sentence head, and the model below it, for the rule nsp.

    The paper's settings are the defaults. A run that was stopped goes on at its last checkpoint
    when the same command is given again. DIR then serves as MODEL in «curation scores models».
    """
    from curation.models.corpus import read_corpus

    articles = read_corpus(corpus, running=running_text)
    console.note(
        f"{articles.articles} articles, {articles.sentences} sentences; left out: "
        f"{articles.single} articles of one sentence, {articles.repeated} that stand there already"
    )
    with models_extra():
        from curation.models.training import train

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
    """Around an import that needs the extra ``models``: without it an error says so."""
    try:
        yield
    except ImportError as error:
        raise CurationError(
            f"models cannot be trained: {error}", "pip install 'curation[models]'"
        ) from None


@contextmanager
def shown(epochs: int) -> Iterator[Tell]:
    """What tells a person how far a training of so many epochs is: a bar, and lines."""
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
                    console.note(f"goes on at step {told.step} of {told.steps}")
            else:
                bar.advance()
                losses.append(told.loss)
                if told.step % max(told.steps // _LINES, 1) == 0:
                    mean = sum(losses) / len(losses)
                    console.note(f"step {told.step} of {told.steps}: loss {mean:.4f}")
                    losses.clear()

        yield tell
