"""Similar texts are found as by comparing all pairs, in time proportional to their number."""

from random import Random

import pytest
from rapidfuzz import fuzz

from curation.checks import similar as module
from curation.checks.similar import similar

Pairs = dict[tuple[str, str], float]


def found(some: list[str], others: list[str], similarity: float) -> tuple[Pairs, int]:
    """The pairs that are found, and how many were compared."""
    pairs: Pairs = {}
    compared = 0
    for part in similar(some, others, similarity=similarity):
        for at, other, percent in zip(*(column.tolist() for column in part[:3]), strict=True):
            assert (some[at], others[other]) not in pairs, "found twice"
            pairs[some[at], others[other]] = percent
        compared += part.compared
    return pairs, compared


def slowly(some: list[str], others: list[str], similarity: float) -> Pairs:
    every = {(a, b): fuzz.ratio(a, b) for a in some for b in others}
    return {pair: ratio for pair, ratio in every.items() if ratio >= 100 * similarity}


def changed(text: str, letters: str, rng: Random) -> str:
    """A text with one to four letters replaced, added or left out."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice([rng.choice(letters), ""]) + text[at + rng.randint(0, 1) :]
    return text


def made_up(letters: str, longest: int, count: int, rng: Random) -> list[str]:
    """Texts of all lengths, some of them with changes of others, in random order."""
    texts = ["".join(rng.choices(letters, k=rng.randint(0, longest))) for _ in range(count)]
    texts += [changed(text, letters, rng) for text in texts]
    return sorted(set(texts), key=lambda _: rng.random())


LATIN = "eeeettaaooiinn shrdlu"
SCRIPTS = {
    "Latin": (LATIN, 90),
    "two letters": ("ab", 12),
    "Chinese": ("".join(chr(0x4E00 + 7 * n) for n in range(300)), 30),
    "Arabic": ("ابتثجحخدذرزسشصضطظعغفقكلمنهوي ", 60),
    "beyond 16 bits": ("😀😁😂🤣😃😄😅😆 𝒜𝒞", 40),
}


@pytest.mark.parametrize("similarity", [0.9, 0.95])
@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("small", [0, module.SMALL])
def test_the_same_pairs_are_found_as_slowly(
    script: str, similarity: float, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SMALL", small)
    texts = made_up(*SCRIPTS[script], 150, Random(1))
    others = made_up(*SCRIPTS[script], 50, Random(2)) + texts[::3]
    for known in (texts, list(dict.fromkeys(others))):
        expected = slowly(texts, known, similarity)
        pairs, _ = found(texts, known, similarity)
        assert pairs == pytest.approx(expected)
        assert len(expected) > len(set(texts) & set(known))


def test_no_texts_and_empty_ones() -> None:
    assert found([], ["a"], 0.9)[0] == found(["a"], [], 0.9)[0] == {}
    assert found(["", "a"], ["", "b"], 0.9)[0] == {("", ""): 100}


def test_all_similar_texts_of_few_changes_are_found_among_many() -> None:
    """Six thousand texts are too many to compare all; no change damages more than one piece."""
    rng = Random(3)
    words = ["".join(rng.choices(LATIN.replace(" ", ""), k=rng.randint(2, 9))) for _ in range(2000)]
    shares = [1 / n for n in range(1, len(words) + 1)]

    def text() -> str:
        return f"The {' '.join(rng.choices(words, shares, k=7))}."

    texts = list(dict.fromkeys(text() for _ in range(6000)))
    planted = {}
    for one in texts[:300]:
        # A change of a letter is of two.
        damaged = set(rng.sample(range(len(one)), len(one) // 20))
        planted["".join("#" if at in damaged else c for at, c in enumerate(one))] = one
    pairs, _ = found([*texts, *planted], [*texts, *planted], 0.9)
    assert [pair for pair in planted.items() if pair not in pairs] == []


TEMPLATE = (
    "The baker with the name of {} is kind, and has lived in the village by the sea for long."
)


@pytest.mark.parametrize("template", ["{}", TEMPLATE])
def test_comparisons_grow_with_texts(template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if each text is similar to each other: then to those of the limit."""
    monkeypatch.setattr(module, "SMALL", 0)
    monkeypatch.setattr(module, "TEXTS", 20)
    rng = Random(4)

    def text() -> str:
        return template.format("".join(rng.choices(LATIN, k=12)))

    for count in (500, 1000, 2000):
        texts = list(dict.fromkeys(text() for _ in range(count)))
        pairs, compared = found(texts, texts, 0.9)
        assert compared <= module.PIECES * module.TEXTS * len(texts)
        if template == TEMPLATE:
            assert {a for a, b in pairs if a != b} == set(texts)


def test_a_long_text_among_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SMALL", 0)
    rng = Random(5)
    long = "".join(rng.choices(LATIN, k=20_000))
    texts = [long, long[:9_000] + "#" + long[9_000:], *made_up(LATIN, 40, 50, rng)]
    pairs, _ = found(texts, texts, 0.95)
    assert (texts[0], texts[1]) in pairs
