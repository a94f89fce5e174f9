"""Four CATs on three terms, and runs that say which association they like best."""

from curation.kinds import GOLDS, Kind
from curation.records import Cat, CatAssociation
from curation.scores.boards import Board, board
from curation.scores.runs import Run

Three = tuple[float, float, float]
S, A, U = (3, 2, 1), (2, 3, 1), (2, 1, 3)  # s > a > u; a > s > u; u > s > a


def cat(name: str, target: str, domain: str = "race", kind: Kind = "intrasentence") -> Cat:
    a, b, c = (CatAssociation(id=f"{name}{g[0]}", sentence=g, gold=g) for g in GOLDS)
    return Cat(
        id=name, kind=kind, domain=domain, term=f"{domain}/{target}", target=target,
        family=target, split="test", context="-", associations=(a, b, c),
    )  # fmt: skip


def run(model: str, rule: str = "r", variant: str = "", **of: Three) -> Run:
    """A run by the scores of each CAT's stereotype, anti-stereotype and unrelated association."""
    scores = {
        f"{name}{gold[0]}": float(value)
        for name, three in of.items()
        for gold, value in zip(GOLDS, three, strict=True)
    }
    return Run(model, rule, variant, scores)


CATS = [
    cat("p", "x"), cat("q", "x", kind="intersentence"), cat("r", "y"), cat("t", "x", "gender"),
]  # fmt: skip


def laid(*runs: Run) -> Board:
    """The runs beside ``CATS``."""
    return board(CATS, list(runs))
