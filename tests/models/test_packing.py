"""Layouts: nothing is read twice, nothing is lost, and who sees whom is right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.models.forward import Layout, Text, batches, blocks, padded, tries

TOKENS = st.lists(st.integers(0, 3), min_size=1, max_size=7)


def read_all(ids: list[int]) -> Text:
    """A text in which every token but the first is read at the one before it."""
    return Text(ids, [(place - 1, ids[place]) for place in range(1, len(ids))])


def seen(layout: Layout) -> dict[int, tuple[tuple[int, ...], int]]:
    """By slot: the tokens, by position, that the read position sees, and the token asked for."""
    found = {}
    for row in layout.rows:
        mask = row.mask()
        for place, token, slot in row.reads:
            visible = np.flatnonzero(mask[place])
            positions = [row.positions[v] for v in visible]
            assert sorted(positions) == list(range(len(positions))), "a position twice, or a gap"
            order = [row.ids[v] for _, v in sorted(zip(positions, visible, strict=True))]
            found[slot] = (tuple(order), token)
    return found


@given(st.lists(TOKENS, max_size=8), st.integers(1, 12))
def test_in_a_trie_each_read_sees_its_own_text_alone(ids: list[list[int]], width: int) -> None:
    layout = tries([read_all(one) for one in ids], row=width)
    shown = seen(layout)
    assert len(layout.slots) == len(ids)
    for one, slots in zip(ids, layout.slots, strict=True):
        assert [shown[slot] for slot in slots] == [
            (tuple(one[:place]), one[place]) for place in range(1, len(one))
        ]


def test_a_trie_reads_shared_tokens_once() -> None:
    # 0 1 2 3 and 0 1 2 4: inputs are 0, 1, 2 for both (the last token is never an input), and the
    # reads are 1, 2, and at token 2 both 3 and 4: three inputs for eight tokens, four reads.
    layout = tries([read_all([0, 1, 2, 3]), read_all([0, 1, 2, 4])])
    assert [row.ids for row in layout.rows] == [[0, 1, 2]]
    assert layout.size == 4
    assert layout.slots[0][:2] == layout.slots[1][:2]


def test_a_row_closes_when_the_next_text_does_not_fit_and_a_longer_one_has_its_own() -> None:
    layout = tries([read_all([0, 1, 2, 3]), read_all([5, 6, 7, 8])], row=4)
    assert [row.ids for row in layout.rows] == [[0, 1, 2], [5, 6, 7]]
    layout = tries([read_all(list(range(10))), read_all([3, 4])], row=4)
    assert sorted(len(row) for row in layout.rows) == [1, 9]


@given(st.lists(TOKENS, max_size=8), st.integers(1, 12))
def test_in_blocks_a_text_sees_all_of_itself_and_no_other(ids: list[list[int]], width: int) -> None:
    texts = [Text(one, [(0, 9), (len(one) - 1, 8)]) for one in ids]
    layout = blocks(texts, row=width)
    for row in layout.rows:
        assert len(row) <= max(width, max(map(len, ids)))
        mask = row.mask()
        for start, end in zip(row.starts, [*row.starts[1:], len(row)], strict=True):
            inside = np.zeros(len(row), dtype=bool)
            inside[start:end] = True
            assert (mask[start:end] == inside).all()
            assert row.positions[start:end] == list(range(end - start))
    own = {}
    for row in layout.rows:
        bounds = [*row.starts, len(row)]
        for place, token, slot in row.reads:
            n = int(np.searchsorted(bounds, place, side="right")) - 1
            own[slot] = (tuple(row.ids[bounds[n] : bounds[n + 1]]), place - bounds[n], token)
    for text, slots in zip(texts, layout.slots, strict=True):
        wanted = [(tuple(text.ids), place, token) for place, token in text.reads]
        assert [own[slot] for slot in slots] == wanted


@pytest.mark.parametrize("lay", [blocks, padded])
def test_equal_texts_are_read_once(lay: object) -> None:
    layout = lay([Text([1, 2], [(0, 5)]), Text([1, 2], [(1, 6), (0, 5)])])  # type: ignore[operator]
    assert sum(map(len, layout.rows)) == 2
    assert layout.size == 2
    assert layout.slots[0][0] == layout.slots[1][1]


def test_equal_tokens_in_other_segments_are_other_texts() -> None:
    layout = padded([Text([1, 2], [(0, 5)], [0, 0]), Text([1, 2], [(0, 5)], [0, 1])])
    assert len(layout.rows) == 2


def test_blocks_fill_rows() -> None:
    # Lengths 3, 3, 2, 2 into rows of 5: 3 + 2 and 3 + 2, nothing left over.
    texts = [Text([n] * size, [(0, 0)]) for n, size in enumerate((3, 2, 3, 2))]
    assert [len(row) for row in blocks(texts, row=5).rows] == [5, 5]


def test_batches_hold_rows_of_like_length() -> None:
    rows = padded([Text([n] * size, []) for n, size in enumerate((1, 4, 2, 4))]).rows
    # Of 8 tokens: two rows of 4; then the first has 2, so up to four of them.
    assert [[len(row) for row in part] for part in batches(rows, tokens=8)] == [[4, 4], [2, 1]]
    # A row longer than the batch goes alone.
    assert [[len(row) for row in part] for part in batches(rows, tokens=1)] == [[4], [4], [2], [1]]


def test_nothing_lays_out_as_nothing() -> None:
    for lay in (tries, blocks, padded):
        assert lay([]) == Layout([], [], packed=lay is not padded)
        empty = lay([Text([1, 2], [])])
        assert (empty.size, empty.slots) == (0, [[]])
