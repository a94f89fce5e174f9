"""``curation scores train-nsp`` and ``curation measures train-sentiment``.

Options:
    out (DIR): Folder for the trained model.
    restart: Delete what an earlier run left in DIR, and start again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from curation.files import CurationError
from curation.models.train.settings import (
    PAPER,
    NextSentenceSettings,
    Progress,
    SentimentSettings,
    Tell,
)
from curation.terminal import console
from curation.text.wording import amount

_LINES = 50  # lines about the loss in the whole training


def train_nsp(
    *,
    corpus: list[Path],
    out: Path,
    running_text: bool = False,
    field: str = "text",
    settings: NextSentenceSettings,
    restart: bool = False,
) -> None:
    """Train a next-sentence head, and the model below it, for the rule nsp.

    The defaults of length, batch, learning rate and epochs are the paper's values. If the
    command was stopped, run it again: it continues from the last checkpoint. Afterwards, use the
    folder of --out as MODEL in «curation scores models».

    Options:
        corpus (FILE|DIR): Articles: .txt (a sentence per line, an empty line between articles),
            .jsonl ({"text": …} or {"sentences": […]}), both also as .gz or .bz2, .parquet, or a
            folder with such files or with WikiExtractor's output (AA/wiki_00 …). Repeatable.
        running_text: Lines of .txt are running text: split them into sentences.
        field: Name of the field with the text in .jsonl and .parquet.
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
        f"{amount(articles.articles, 'article')}, {amount(articles.sentences, 'sentence')}; left "
        f"out: {amount(articles.single, 'article')} with fewer than two sentences, "
        f"{articles.repeated} repeated articles"
    )
    with models_extra():
        from curation.models.train.next_sentence import train

    with shown(settings.epochs) as tell:
        report = train(settings, articles, out, restart=restart, tell=tell)
    console.say(
        f"held-out accuracy {report['held_out_accuracy']:.1f} % on {report['pairs_held_out']} "
        f"pairs (the paper's heads: {PAPER[0]} to {PAPER[1]} %); the trained model is in {out}"
    )


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
    *,
    reviews: list[Path],
    out: Path,
    test: list[Path] | None = None,
    settings: SentimentSettings,
    restart: bool = False,
) -> None:
    """Fine-tune a sentiment classifier on reviews, as the paper did with BERT.

    The defaults of length, batch, learning rate and epochs are the paper's values. The paper uses
    the Large Movie Review data (--reviews aclImdb), with an accuracy of 92 % on its test set. For
    other languages, give reviews in the language of the sentences that you want to classify. If the
    command was stopped, run it again: it continues from the last checkpoint. Afterwards, use the
    folder of --out as --model in «curation measures sentiment». You can also open it with
    transformers.

    Options:
        reviews (FILE|DIR): Reviews: .jsonl, .csv or .tsv, also as .gz or .bz2, with a column text,
            review or sentence, and a column label or sentiment (negative, neutral, positive; 0, 1)
            or stars or rating (1 to 5). Or a folder such as aclImdb, with folders pos and neg of
            text files, directly or in train. Repeatable.
        test (FILE|DIR): Reviews to test on, in any format of --reviews. Default: the folder test
            next to the folder train of --reviews, if there is one. Repeatable.
    """
    from curation.models.train.reviews import Reviews, has_test, read_reviews

    test_paths = test or [path for path in reviews if has_test(path)]
    held: Reviews | None = None
    if test_paths:
        held = read_reviews(test_paths, classes=settings.classes, part="test")
    corpus = read_reviews(reviews, classes=settings.classes, test=held)
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

    with shown(settings.epochs) as tell:
        report = train(settings, corpus, out, restart=restart, tell=tell)
    measure = "held-out accuracy" if held is None else "accuracy on the test set"
    console.say(
        f"{measure} {report['held_out_accuracy']:.1f} % on "
        f"{amount(report['reviews_held_out'], 'review')} (the paper's classifier on its test set: "
        f"{report['paper_held_out_accuracy']:.0f} %; always the commonest class: "
        f"{report['commonest_class_held_out']:.1f} %); the trained model is in {out}"
    )
