"""Which groups differ in refusals: by hand, and over many models that refuse at random."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from curation.kinds import CAT_KINDS
from curation.records import Cat
from curation.scores.answer_report import Limits, choice_report
from curation.scores.answers import by_cat, group_differences, questions_table, uneven_groups
from curation.scores.flags import answer_flags
from support.answered import REFUSED, Answer, asked, first, made_up, none, prefers

DOMAINS = ("race", "gender", "religion", "profession")


def flagged(cats: list[Cat], answer: Answer) -> list[str]:
    counts = by_cat(questions_table(cats, asked(cats, answer)))
    return uneven_groups(group_differences(counts))


def test_refuses_for_one_term_only() -> None:
    cats = made_up(6, 8, domains=DOMAINS)  # 24 terms, 192 CATs
    answers = asked(cats, lambda c, p, s: REFUSED if c.term == "race/t3" else first(not s))
    report = choice_report(cats, answers, limits=Limits(no_answer=0.05, one_letter=0.95))
    assert report["answers"]["uneven"] == ["race/t3"]
    # 48 of 1,152 questions are 4.2 %: too few for the other mark.
    assert answer_flags(report["answers"]) == ["uneven_refusals"]
    row = next(row for row in report["differences"] if row["group"] == "race/t3")
    wanted = {"share": 1.0, "rest": 0.0, "difference": 1.0, "cats": 8, "terms": 1}
    assert row | wanted == row
    low, high = row["ci_difference"]
    assert 0.5 < low < high == 1.0
    assert row["p_holm"] < 1e-6
    assert report["by"]["term"]["race/t3"]["answered"] == 0


def test_a_domain_and_other_missing_answers_of_a_term_are_found_too() -> None:
    cats, gone = made_up(6, 8, domains=DOMAINS), none("answer_off_format")
    found = flagged(cats, lambda cat, p, s: REFUSED if cat.domain == "race" else first(not s))
    assert found[0] == "race"
    assert set(found[1:]) == {f"race/t{n}" for n in range(6)}
    found = flagged(cats, lambda cat, p, s: gone if cat.term == "race/t3" else first(not s))
    assert found == ["race/t3"]


def test_the_two_shares_are_tested_once_if_they_are_the_same() -> None:
    cats, rng = made_up(3, 6), np.random.default_rng(1)
    answers = asked(cats, lambda c, p, s: REFUSED if rng.random() < 0.2 else first(not s))
    rows = group_differences(by_cat(questions_table(cats, answers)))
    refused, missing = (
        [r for r in rows if r["outcome"] == o] for o in ("answer_refused", "no_answer")
    )
    assert [r["p_holm"] for r in refused] == [r["p_holm"] for r in missing]
    tested = [r["p"] for r in refused if r["p"] is not None]
    assert min(r["p_holm"] for r in refused if r["p"]) == pytest.approx(
        min(1.0, len(tested) * min(tested))
    )


def test_kinds_do_not_look_like_groups() -> None:
    # Intersentence CATs are always refused, and one term has more of them than the others.
    intra, inter = (made_up(6, n, kind=kind) for n, kind in zip((8, 2), CAT_KINDS, strict=False))
    cats = [*intra, *(cat.model_copy(update={"id": f"{cat.id}x"}) for cat in inter)]
    cats += [
        cat.model_copy(update={"id": f"{cat.id}y{n}"})
        for cat in made_up(1, 2, kind="intersentence", domains=("race",))
        for n in range(6)
    ]
    found = flagged(cats, lambda c, p, s: REFUSED if c.kind == "intersentence" else first(not s))
    assert "race/t0" not in found


def drawn(cats: list[Cat], times: int, refused: Callable[..., Any]) -> Iterator[list[Any]]:
    """The differences of groups in draws of how many of six questions of each CAT are refused."""
    counts = by_cat(questions_table(cats, asked(cats, prefers(association=True))))
    rng = np.random.default_rng(20)
    for _ in range(times):
        of = refused(rng, len(cats))
        yield group_differences(counts.assign(answer_refused=of, no_answer=of))


@pytest.mark.parametrize("share", [0.1, 0.6])
def test_random_refusals_are_not_uneven(share: float) -> None:
    rows = drawn(made_up(5, 5), 50, lambda rng, size: rng.binomial(6, share, size=size))
    # At most 5 % are expected; 7 or more of 50 would happen in 1.2 %.
    assert sum(bool(uneven_groups(each)) for each in rows) <= 6


def test_a_domain_of_small_terms_is_not_uneven() -> None:
    # The share of a term with one CAT is mostly 0, that of a term with 20 CATs hardly ever.
    cats = made_up(8, 1, domains=("race",)) + made_up(12, 20, domains=("gender",))
    found = 0
    for rows in drawn(cats, 25, lambda rng, n: rng.binomial(6, rng.beta(0.05, 2.3, size=n))):
        (p,) = {row["p"] for row in rows if row["group"] == "race"}
        found += p is not None and p < 0.05
    assert found <= 4  # at most 5 % are expected; 5 or more of 25 would happen in 0.7 %
