"""gensim and curation read each other's files of word vectors; gensim has an environment."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from curation.formats.word_vectors import blocks, read_vectors, write_vectors
from support import environments

pytestmark = pytest.mark.environment
WORDS = ["baker", "New_York", "naïve", "面包师"]
ROWS = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
SCRIPT = """
import sys
from gensim.models import KeyedVectors
source, target = sys.argv[1:]
vectors = KeyedVectors.load_word2vec_format(source, binary=source.endswith(".bin"))
vectors.save_word2vec_format(target, binary=target.endswith(".bin"))
"""


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of an environment with gensim."""
    return environments.python("gensim", ("gensim==4.4.0",), named="CURATION_GENSIM")


@pytest.mark.parametrize("form", [".bin", ".vec"])
def test_what_curation_writes_goes_through_gensim(python: Path, tmp_path: Path, form: str) -> None:
    source, target = tmp_path / f"source{form}", tmp_path / f"target{form}"
    write_vectors(source, [(WORDS, ROWS)])
    subprocess.run([python, "-c", SCRIPT, source, target], check=True)
    found = read_vectors(target)
    assert found.words == tuple(WORDS)
    assert (found.array == ROWS).all()
    assert [len(words) for words, _ in blocks(target)] == [4]
