"""Computes measures and debiased vectors with wefe; runs in an environment that has it.

A request is one line of JSON: ``{"do": NAME, ...}``; so is the answer. Nothing of curation is
imported here. ``vectors`` maps words to vectors.
"""

import json
import os
import sys
import warnings
from typing import Any


def model(vectors: dict[str, list[float]]) -> Any:
    """The vectors as wefe wants them."""
    import numpy as np
    from gensim.models import KeyedVectors
    from wefe.word_embedding_model import WordEmbeddingModel

    words = list(vectors)
    keyed = KeyedVectors(len(vectors[words[0]]))
    keyed.add_vectors(words, np.array([vectors[word] for word in words], np.float32))
    return WordEmbeddingModel(keyed, "made up")


def measure(
    name: str,
    vectors: dict[str, list[float]],
    targets: list[list[str]],
    attributes: list[list[str]],
    options: dict[str, Any],
) -> Any:
    """The result of a metric: numbers, and tables of numbers by word."""
    import wefe.metrics
    from wefe.query import Query

    found = getattr(wefe.metrics, name)().run_query(
        Query(targets, attributes), model(vectors), **options
    )
    return json.loads(json.dumps(found, default=float))


def debias(
    name: str, vectors: dict[str, list[float]], fit: dict[str, Any], options: dict[str, Any]
) -> dict[str, list[float]]:
    """The vectors after a method of ``wefe.debias``."""
    from wefe.debias import hard_debias, multiclass_hard_debias

    classes = {
        "HardDebias": hard_debias.HardDebias,
        "MulticlassHardDebias": multiclass_hard_debias.MulticlassHardDebias,
    }
    own = model(vectors)
    method = classes[name](pca_args={"n_components": options.pop("dimensions")})
    changed = method.fit(own, **fit).transform(own, **options)
    return {word: [float(x) for x in changed[word]] for word in vectors}


ANSWERS = {"measure": measure, "debias": debias}


def main() -> None:
    """Answer requests until there are none; other output goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer: Any = ANSWERS[request.pop("do")](**request)
        except Exception as error:
            answer = {"raised": f"{type(error).__name__}: {error}"}
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
