"""The power of the runs of a board, by hand."""

import math

from curation.records import GOLDS, Cat, CatAssociation
from curation.scores.boards import Board, board
from curation.scores.compare import pair_spread, power_report
from curation.scores.runs import Run
from curation.stats.power import CATS_A_TERM, detectable, needed_terms

Z2 = 2.8015852**2  # (1.9599640 + 0.8416212)²


def lay(values: dict[str, tuple[tuple[float, ...], ...]]) -> Board:
    """Runs by name, of each the scores of CATs c0, c1, …, two a term."""
    count = len(next(iter(values.values())))
    cats = [
        Cat(
            id=f"c{i}", kind="intrasentence", domain="race", term=f"t{i // 2}",
            target=f"t{i // 2}", family="f", split="test", context="-",
            associations=tuple(
                CatAssociation(id=f"c{i}{g[0]}", sentence=g, gold=g) for g in GOLDS
            ),
        )
        for i in range(count)
    ]  # fmt: skip
    runs = [
        Run(name, "r", "", {f"c{i}{g[0]}": float(v) for i, three in enumerate(of)
                            for g, v in zip(GOLDS, three, strict=True)})
        for name, of in values.items()
    ]  # fmt: skip
    return board(cats, runs)


S, A, U = (3, 2, 1), (2, 3, 1), (3, 1, 2)  # s > a > u; a > s > u; s > u > a


def test_spread_of_a_pair_and_of_one_model_against_fifty() -> None:
    laid = lay({"m": (S, A, S, S), "n": (A, A, S, U)})
    # ss: m 100 0 100 100, n 0 0 100 100: differences 100 0 | 0 0, means 50 and 0.
    ss = pair_spread(laid, (0, 1), "ss")
    assert ss is not None
    assert (ss.mean, ss.of_means, ss.within) == (25.0, 1250.0, 2500.0)  # 2 · 50² over 4 − 2
    # lms: only n's last CAT loses one of two: differences 0 0 | 0 50.
    lms = pair_spread(laid, (0, 1), "lms")
    assert lms is not None
    assert (lms.mean, lms.within) == (12.5, 625.0)
    # m against 50: 50 −50 | 50 50, means 0 and 50.
    alone = pair_spread(laid, (0, None), "ss")
    assert alone is not None
    assert (alone.mean, alone.of_means, alone.within) == (25.0, 1250.0, 2500.0)
    assert pair_spread(lay({"m": (S, A)}), (0, None), "ss") is None  # one term


def test_report_of_pairs_takes_the_median_and_the_hardest() -> None:
    laid = lay({"m": (S, A, S, S), "n": (A, A, S, U), "o": (S, S, A, A)})
    report = power_report(laid, [0, 1, 2], 5.0)
    assert [part.figure for part in report.figures] == ["lms", "ss"]
    ss = report.figures[1]
    spreads = [pair_spread(laid, pair, "ss") for pair in ((0, 1), (0, 2), (1, 2))]
    least = sorted(detectable(of) for of in spreads if of)
    assert (ss.pairs, ss.detectable, ss.detectable_hardest) == (3, least[1], least[2])
    for row, cats in zip(ss.needed, CATS_A_TERM, strict=True):
        found = sorted(needed_terms(of, 5.0, cats) or 0 for of in spreads if of)
        assert (row.terms, row.terms_hardest) == (found[1], found[2])
        assert row.cats == row.terms * cats


def test_report_of_one_model_and_of_models_that_never_differ() -> None:
    laid = lay({"m": (S, A, S, S), "n": (S, A, S, S)})
    alone = power_report(laid, [0], 5.0)
    assert alone.against == "50"
    assert [part.figure for part in alone.figures] == ["ss"]
    # within 2500 and between 1250 − 2500/2 = 0: ⌈0.31396 · 2500⌉, and two more for Student's t
    needed = alone.figures[0].needed[0]
    assert needed.terms == math.ceil(Z2 / 25 * 2500) + 2
    assert 0.8 <= needed.power < 0.801
    same = power_report(laid, [0, 1], 5.0)
    assert {part.detectable for part in same.figures} == {None}
    assert {row.terms for part in same.figures for row in part.needed} == {None}
    assert power_report(lay({"m": (S, A)}), [0], 5.0).figures == []
