"""Short trainings of a classifier of sentiment, unless a file makes its own fixtures."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A masked model over the words of the reviews, untrained."""
    from curation.models.tiny import make
    from support.reviews import ALL

    return make(tmp_path_factory.mktemp("base") / "tiny-bert", [ALL], family="masked", steps=0)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> object:
    """24 reviews: 18 to learn from, so batches of 8, 8 and 2, 3 steps an epoch, and 6 held out."""
    from curation.models.train.reviews import read_reviews
    from support.reviews import write_reviews

    return read_reviews([write_reviews(tmp_path_factory.mktemp("small") / "a.csv", 24)])


@pytest.fixture
def run(bert: Path, small: object, tmp_path: Path) -> object:
    """A ``support.trainings.Training`` of this model on these reviews."""
    from support.trainings import of_sentiment

    return of_sentiment(bert, small, tmp_path)
