"""Tokens as servers write them, laid on the text that was sent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.models.echoes import align, by_offsets
from support.written import beside

CASES = beside(__file__)


@pytest.mark.parametrize(("tokens", "text", "spans"), CASES["laid"])
def test_every_way_of_writing(tokens: list[str], text: str, spans: list[list[int]]) -> None:
    assert align(tokens, text) == [tuple(span) for span in spans]


def test_half_a_character_as_json_can_bring() -> None:
    assert align(["\ud800"], "\ud800") == [(0, 1)]


@pytest.mark.parametrize(("tokens", "text"), CASES["other"])
def test_what_does_not_make_up_a_text_is_not_laid_on_it(tokens: list[str], text: str) -> None:
    assert align(tokens, text) is None


def test_generated_tokens_fall_away() -> None:
    assert align(["A", " cat", " sat"], "A cat", generated=1) == [(0, 1), (1, 5)]
    # three written as nothing for the two bytes of é: the last one may be generated
    assert align(["", "", ""], "é", generated=1) == [(0, 1), (0, 1)]
    assert align(["", "", ""], "é", generated=0) == [(0, 1)] * 3
    # the end token is not always among them
    assert align(["A", " cat"], "A cat", generated=1) == [(0, 1), (1, 5)]


def pieces(text: str, data: st.DataObject) -> list[bytes]:
    """Its bytes, cut at up to eight places."""
    raw = text.encode()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(raw)), max_size=8)) - {len(raw)})
    return [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20), st.data())
def test_any_cut_of_any_text(text: str, data: st.DataObject) -> None:
    """Whichever bytes the tokens are: written as OpenAI writes them, they lie where they lay."""
    parts = pieces(text, data)
    place = [n for n, char in enumerate(text) for _ in char.encode()]
    ends = [sum(map(len, parts[: n + 1])) for n in range(len(parts))]
    wanted = [
        (place[end - len(part)], place[end - 1] + 1) for part, end in zip(parts, ends, strict=True)
    ]
    escaped = ["bytes:" + "".join(f"\\x{byte:02x}" for byte in part) for part in parts]
    assert align(escaped, text) == wanted


@given(st.text(st.sampled_from("ab é🙂."), min_size=1, max_size=20), st.data())
def test_lossy_writing_keeps_the_boundary_of_an_association(text: str, data: st.DataObject) -> None:
    """U+FFFD for parts of characters: where letters or spaces tell, nothing moves."""
    parts = pieces(text, data)
    spans = align([part.decode("utf-8", "replace") for part in parts], text)
    assert spans is not None
    assert len(spans) == len(parts)
    for part, (start, end) in zip(parts, spans, strict=True):
        if part.isascii():
            assert text[start:end].encode() == part
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)


def test_offsets_serve_where_the_tokenizer_changes_the_text() -> None:
    # "A CAT": 0 to 1, 1 to 5
    assert by_offsets(["A", " CAT"], [0, 1], "a cat") == [(0, 1), (1, 5)]
    assert by_offsets(["A", " CAT", "!"], [0, 1, 5], "a cat", generated=1) == [(0, 1), (1, 5)]
    assert by_offsets(["A", "", " CAT"], [0, 1, 1], "a cat") == [(0, 1), (1, 2), (1, 5)]


@pytest.mark.parametrize(
    "offsets",
    [[1, 2], [0, 2], [-1, -1], [0, None], [], [1, 0]],
    ids=["begin late", "end late", "unsaid", "half said", "none", "backwards"],
)
def test_offsets_that_do_not_fit_are_not_taken(offsets: list[int | None]) -> None:
    assert by_offsets(["A", " CAT"], offsets, "a cat") is None
