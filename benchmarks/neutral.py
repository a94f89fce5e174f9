"""What «decisions neutral» reports of made-up people, and how often its intervals are right.

    python benchmarks/neutral.py     a minute or two; prints the table of docs/decisions.md

Five people read each neutral association. How they read it differs between terms and between the
associations of a term (Dirichlet, of the given weights). The true share is the mean over terms.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

import numpy as np  # noqa: E402

from curation.decisions.neutral import Reading, report  # noqa: E402
from curation.kinds import GOLDS  # noqa: E402
from curation.records import Association, Item, Label, Term  # noqa: E402

CROWDS = {
    "mostly one of the two, more often the stereotype": (0.5, 0.2, 0.3),
    "mostly one of the two, both alike": (0.35, 0.35, 0.3),
    "mostly unrelated": (0.1, 0.1, 0.8),
}
BETWEEN, WITHIN, OF = 12.0, 6.0, 5  # weights of the two Dirichlet distributions; labels of each
SIZES = ((10, 5), (40, 5), (40, 1))  # terms, and associations of each
CAMPAIGNS = 500


def campaign(shares: Sequence[float], terms: int, each: int, rng: np.random.Generator) -> Reading:
    """How all neutral associations of a campaign with one domain were read."""
    items, labels = [], []
    known = {f"t{n}": Term(id=f"t{n}", text=f"t{n}", domain="made up") for n in range(terms)}
    for term in known:
        views = rng.dirichlet(np.array(shares) * BETWEEN)
        for place in range(each):
            id = f"{term}-{place}"
            a, b, c = (Association(id=f"{id}-{part}", sentence="x") for part in "san")
            about = {"kind": "intersentence", "term": term, "context": "x", "round": "n"}
            items.append(Item(id=id, associations=(a, b, c), **about))
            own = rng.dirichlet(views * WITHIN + 1e-3)
            given = {"item": id, "association": c.id, "annotator": "p", "round": "v"}
            labels += [
                Label(id="l", value=GOLDS[value], source="forms", **given)
                for value in rng.choice(3, OF, p=own)
            ]
    return report(items, labels, known, needed=3).readings[0]


def main() -> None:
    """Print the table."""
    print("| people read it as | terms × associations | stereotype | anti-stereotype | unrelated |",
          "several on one side | ± | holds the true share |\n" + "|---" * 8 + "|")  # fmt: skip
    for name, shares in CROWDS.items():
        for terms, each in SIZES:
            rng = np.random.default_rng(1)
            rows = [campaign(shares, terms, each, rng) for _ in range(CAMPAIGNS)]
            means = [np.mean([row.shares[gold] for row in rows]) for gold in GOLDS]
            ends = np.array([row.intervals["stereotype"] for row in rows])
            hits = (ends[:, 0] <= 100 * shares[0]) & (100 * shares[0] <= ends[:, 1])
            values = [*means, np.mean([row.several for row in rows]), np.diff(ends).mean() / 2]
            cells = [f"{value:.1f}" for value in (*values, 100 * hits.mean())]
            print(f"| {name} | {terms} × {each} | {' | '.join(cells)} % |")


if __name__ == "__main__":
    main()
