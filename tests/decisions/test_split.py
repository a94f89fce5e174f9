"""The split: shares, families, seeds, and that dev and test share no term."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from curation.decisions.split import assign, wanted_terms
from curation.records import Term


def term(domain: str, text: str, family: str | None = None) -> Term:
    return Term(id=f"{domain}/{text}", text=text, domain=domain, family=family or text)


def in_dev(terms: list[Term], **options: float) -> set[str]:
    side = assign(terms, **options)  # type: ignore[arg-type]
    return {t.id for t in terms if side[t.id] == "dev"}


def test_a_quarter_of_each_domain() -> None:
    # The paper's sizes: 40 · 0.25 = 10; 149 · 0.25 = 37.25, so 37; 120 gives 30; 12 gives 3.
    sizes = {"gender": 40, "race": 149, "profession": 120, "religion": 12}
    terms = [term(domain, f"{domain}{i}") for domain, n in sizes.items() for i in range(n)]
    dev = in_dev(terms)
    found = {d: sum(name.startswith(d) for name in dev) for d in sizes}
    assert found == {"gender": 10, "race": 37, "profession": 30, "religion": 3}


families = st.lists(
    st.tuples(st.sampled_from(["gender", "race"]), st.sampled_from("pqrstuvw")), max_size=40
)


@given(families, st.integers(0, 5))
def test_families_are_not_split_and_shares_are_met(pairs: list[tuple[str, str]], seed: int) -> None:
    terms = [term(domain, f"t{i}", family) for i, (domain, family) in enumerate(pairs)]
    side = assign(terms, seed=seed)
    assert set(side) == {t.id for t in terms}
    sides, sizes = defaultdict(set), defaultdict(int)
    for t in terms:
        sides[t.family].add(side[t.id])
        sizes[t.domain, t.family] += 1
    assert all(len(s) == 1 for s in sides.values())
    single_domain = len({t.domain for t in terms}) == 1
    if single_domain:
        got = sum(s == "dev" for s in side.values())
        gap = abs(got - wanted_terms(len(terms), 0.25))
        # No family on its own could have brought the domain nearer.
        assert gap <= max(sizes.values()) / 2 or all(
            abs(got + n - wanted_terms(len(terms), 0.25)) >= gap
            for (_, family), n in sizes.items()
            if sides[family] == {"test"}
        )


def test_a_family_across_domains_stays_together() -> None:
    terms = [term(domain, f"t{i}") for domain in ("race", "religion") for i in range(8)]
    pair = [term("race", "x", "X"), term("religion", "y", "X")]
    for seed in range(30):
        side = assign([*terms, *pair], seed=seed)
        assert side["race/x"] == side["religion/y"]


def test_the_seed_decides_and_a_new_term_moves_few() -> None:
    terms = [term("race", f"t{i}") for i in range(40)]
    assert in_dev(terms, seed=1) == in_dev(terms, seed=1)
    assert in_dev(terms, seed=1) != in_dev(terms, seed=2)
    # One more term can push out at most one other: the order of the draw stays.
    before, after = in_dev(terms, seed=1), in_dev([*terms, term("race", "new")], seed=1)
    assert len(before - after) <= 1


def test_a_share_that_is_whole_but_for_the_last_bit_is_whole() -> None:
    assert wanted_terms(100, 0.07) == 7  # 100 · 0.07 is 7.000000000000001
    assert wanted_terms(50, 0.07) == 4  # 3.5, a half goes up


def test_a_big_family_is_taken_where_that_comes_nearer() -> None:
    # Two families of three: 6 · 0.25 = 1.5, so 2 wanted. Three is nearer to two than none.
    terms = [term("race", f"t{i}", f"f{i // 3}") for i in range(6)]
    assert len(in_dev(terms)) == 3
    # Two families of four: 2 wanted; four and none are as far, and nothing is taken.
    terms = [term("race", f"t{i}", f"f{i // 4}") for i in range(8)]
    assert len(in_dev(terms)) == 0


def test_kept_terms_stay_and_new_ones_are_drawn() -> None:
    old = [term("race", f"t{i}") for i in range(16)]
    before = assign(old)
    new = [term("race", f"n{i}") for i in range(24)]
    side = assign([*old, *new], seed=7, keep=before)
    assert {t: side[t] for t in before} == before
    assert sum(split == "dev" for split in side.values()) == 10
    assert assign([*new, *old], seed=7, keep=before) == side
    # Fewer terms: dev has more than its share, and nothing moves.
    left = [t for t in old if before[t.id] == "dev"]
    assert set(assign(left, keep=before).values()) == {"dev"}


def test_a_family_that_joins_kept_terms_of_both_splits_goes_to_dev() -> None:
    family = [term("race", name, "F") for name in ("a", "b", "c")]
    side = assign(family, keep={"race/a": "test", "race/b": "dev"})
    assert set(side.values()) == {"dev"}
    assert set(assign(family, keep={"race/a": "test"}).values()) == {"test"}
