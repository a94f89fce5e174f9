"""Fits Dawid and Skene's model with crowd-kit; runs in an environment that has it.

A request is one line of JSON with ``task``, ``worker`` and ``label``, three lists of numbers, and
``steps``; the answer has ``chance`` (by task), ``share`` and ``errors`` (by worker: label, class).
Nothing of curation is imported here.
"""

import json
import sys


def main() -> None:
    """Answer requests until there are no more."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    for line in sys.stdin:
        request = json.loads(line)
        steps = request.pop("steps")
        model = DawidSkene(n_iter=steps, tol=float("-inf")).fit(pd.DataFrame(request))
        workers, classes = sorted(set(request["worker"])), sorted(set(request["label"]))
        full = pd.MultiIndex.from_product([workers, classes])
        errors = model.errors_.reindex(full, fill_value=1e-10)[classes].to_numpy()
        answer = {
            "chance": model.probas_.sort_index()[classes].to_numpy().tolist(),
            "share": model.priors_[classes].tolist(),
            "errors": errors.reshape(len(workers), len(classes), len(classes)).tolist(),
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
