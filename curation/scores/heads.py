"""Which runs may be ranked together by their next-sentence heads.

ACL §6.1 trains identical heads on identical datasets for all models (A.5). ``head_training`` of
``run.json`` says how a head was trained (``nsp_heads.training_of``).
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from curation.models.rules import PROFILES, TRAINED_HEADS
from curation.records import KINDS, Cat
from curation.scores.groups import groups
from curation.scores.runs import Run

OWN, NO_RECORD = "own", "no record"
_SAYS = {
    OWN: "the model's own next-sentence head",
    NO_RECORD: "no record of how the next-sentence head was trained",
}


def head_of(run: Run) -> str:
    """How a run's next-sentence head was trained, as JSON; or ``OWN`` or ``NO_RECORD``."""
    training, own = run.about.get("head_training"), run.about.get("own_head")
    if isinstance(training, Mapping) and not own:
        return json.dumps(training, sort_keys=True)
    about: Any = run.about
    for key in ("opened", "nsp", "next_sentence", "head"):
        about = about.get(key) if isinstance(about, Mapping) else None
    return OWN if own or about == OWN else NO_RECORD


def mark_heads(runs: Sequence[Run], cats: Sequence[Cat]) -> list[Run]:
    """The runs; ``about`` has in ``other_head`` how the training of the head differs, in words.

    Runs of one profile, or of the same rules, are compared. Those whose heads were trained as most
    of them were have "", and are ranked together; if two trainings have equally many, it is that of
    the first run. A head without a record of its training is never ranked. A model's own head
    counts as different only under the profiles that need a trained one.

    Args:
        runs: the runs.
        cats: those to compare on. Without an intersentence CAT that a run has scored by ``nsp``,
            its head does not matter.
    """
    inter = [cat for cat in cats if cat.kind == KINDS[1]]
    marked = list(runs)
    for group in groups(runs):
        strict = group.sort == "profile" and group.name.partition("+")[0] in TRAINED_HEADS
        heads = {n: head_of(runs[n]) for n in group.runs if _reads_head(runs[n], inter)}
        trained = Counter(head for head in heads.values() if head not in _SAYS)
        ranked = max(trained, key=trained.__getitem__, default="")  # the first of the largest
        for number, head in heads.items():
            if strict or head != OWN:
                about = {"other_head": _SAYS.get(head) or _difference(head, ranked)}
                marked[number] = replace(runs[number], about={**runs[number].about, **about})
    return marked


def _reads_head(run: Run, inter: Sequence[Cat]) -> bool:
    """Whether a run has scored intersentence CATs by ``nsp``, or by a profile that does."""
    rules: Any = run.rules or PROFILES.get(run.profile, {}).get("masked", {})
    return rules.get(KINDS[1]) == "nsp" and any(map(run.has, inter))


def _difference(head: str, ranked: str) -> str:
    """In what two trainings differ, in words; of a sha256 the first digits."""
    own, other = json.loads(head), json.loads(ranked)
    changed = [
        f"{name.replace('_', ' ')} {str(own.get(name))[:12]} instead of {str(value)[:12]}"
        for name, value in other.items()
        if own.get(name) != value
    ]
    return f"next-sentence head trained with {', '.join(changed)}" if changed else ""
