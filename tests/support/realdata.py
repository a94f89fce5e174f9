"""Real data beside the checkout: where it is, and the marks of tests that read it."""

import gzip
from functools import cache
from pathlib import Path

import pytest

from support import cats
from support.cats import REAL

SHARED = REAL.parent
LABELLED = REAL / "dev_labelled.json.gz"
"""StereoSet's development set with its labels."""
GENDER = REAL / "dev_intrasentence_gender.json"
RELIGION = REAL / "dev_intrasentence_religion_labelled.json"
TEST = REAL / "test_sample_intrasentence_labelled.json"
PREDICTIONS = {
    "gpt2@arxiv": "gpt2_ModelNSP_GPT2LM",
    "bert@arxiv": "bert-base-cased_BertNextSentence_BertLM",
    "xlnet@arxiv": "xlnet-base-cased_ModelNSP_XLNetLM",
    "roberta@arxiv": "roberta-base_ModelNSP_RoBERTaLM",
    "sentiment": "SentimentModel",
}
"""The authors' predictions: a name of ours, and that of the file."""
development_set = cache(cats.development_set)


def needs(*paths: Path) -> list[pytest.MarkDecorator]:
    """The marks of tests that read these files or folders: skipped where one is not there."""
    missing = [str(path) for path in paths if not path.exists()]
    reason = f"the real data is not at {', '.join(missing)}"
    return [pytest.mark.realdata, pytest.mark.skipif(bool(missing), reason=reason)]


def labelled(folder: Path) -> Path:
    """StereoSet's development set with its labels, unpacked into a folder."""
    path = folder / "dev.json"
    path.write_bytes(gzip.decompress(LABELLED.read_bytes()))
    return path


def predictions() -> list[str]:
    """The authors' predictions, as the command line takes them: NAME=FILE."""
    folder = REAL / "predictions"
    return [f"{name}={folder / f'predictions_{file}.json'}" for name, file in PREDICTIONS.items()]
