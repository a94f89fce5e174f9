"""``curation scores train-nsp``: train a next-sentence head."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from curation.cli import console
from curation.cli.options import FILE

_LINES = 50  # lines about the loss, on the whole


class Precision(StrEnum):
    """Of the arithmetic."""

    auto = "auto"
    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"


def train_nsp(
    model: Annotated[str, typer.Argument(help="A name on the hub, or a folder.")],
    corpus: Annotated[
        list[Path],
        typer.Option(
            "--corpus",
            help="Articles: .txt (a sentence a line, an empty line between articles) or .jsonl "
            '({"text": …} or {"sentences": […]}), also .gz; may be repeated.',
            **FILE,
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", help="Where the trained model goes.", metavar="DIR")
    ],
    running_text: Annotated[
        bool,
        typer.Option("--running-text", help="Lines of .txt are running text: split sentences."),
    ] = False,
    length: Annotated[int, typer.Option(min=8, help="The most tokens of a pair.")] = 256,
    batch: Annotated[int, typer.Option(min=1, help="Pairs of a step.")] = 80,
    accumulate: Annotated[
        int, typer.Option(min=1, help="Run each batch in so many parts, which need less memory.")
    ] = 1,
    lr: Annotated[float, typer.Option(min=0.0, help="The highest learning rate.")] = 1e-5,
    warmup: Annotated[
        int | None,
        typer.Option(
            min=0, help="Steps until then; default a tenth, 50 to 500.", show_default=False
        ),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="How often the corpus is gone through.")] = 10,
    held_out: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of the articles to test on.")
    ] = 0.05,
    limit: Annotated[
        int | None, typer.Option(min=2, help="The most pairs of an epoch.", show_default=False)
    ] = None,
    freeze: Annotated[bool, typer.Option("--freeze", help="Train the head alone.")] = False,
    precision: Annotated[
        Precision, typer.Option(help="auto: mixed, with 16 bits, on a GPU; else float32.")
    ] = Precision.auto,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is drawn.")] = 1,
    checkpoint_every: Annotated[int, typer.Option(min=1, help="Steps between checkpoints.")] = 500,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1 …")] = "auto",
    revision: Annotated[str, typer.Option(help="A branch, tag or commit on the hub.")] = "",
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Throw away what an earlier run left in DIR.")
    ] = False,
) -> None:
    """Train a next-sentence head, and the model below it, for the rule nsp.

    The paper's settings are the defaults. A run that was stopped goes on at its last checkpoint
    when the same command is given again. DIR then serves as MODEL in «curation scores models».
    """
    from curation.models.corpus import read_corpus
    from curation.models.training_settings import PAPER, Told, Training

    articles = read_corpus(corpus, running=running_text)
    console.note(
        f"{articles.articles} articles, {articles.sentences} sentences; left out: "
        f"{articles.single} articles of one sentence, {articles.repeated} that stand there already"
    )
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

        report = train(wanted, articles, out, restart=restart, tell=tell)
    console.say(
        f"held-out accuracy {report['held_out_accuracy']:.1f} % on {report['pairs_held_out']} "
        f"pairs (the paper's heads: {PAPER[0]} to {PAPER[1]} %); trained model in {out}"
    )
