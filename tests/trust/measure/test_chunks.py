"""Codes read from bytes, many at once, are those of each chunk examined in full."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from curation.trust.measure import scanning
from curation.trust.measure.matching import Lexicon
from curation.trust.measure.scanning import MARK, SPACE, Chunks

LISTED = ["I", "he", "him", "ox", "nurse", "maker's", "x1", "3d", "weaver-like", "naïve", "ırmak"]
LISTED += ["counterrevolutionary", "Īda"]
ASCII = "".join(map(chr, range(1, 128)))
OTHER = "éÉıİſK’·“”»«…。։;\xad\u0301\u0307\xa0\x85\u2003\u2028\u3000ßσΣა中𝐀"
TEXTS = st.lists(
    st.one_of(
        st.sampled_from([*LISTED, *map(str.upper, LISTED), *" \n .,;'-_(\"", "\0", f" {MARK} "]),
        st.text(ASCII + OTHER, max_size=5),
    ),
    max_size=40,
).map("".join)


@given(TEXTS, st.sampled_from(["en", "tr", "el", "ka", "de"]))
@example("nurse,nurse;nurse/nurse nurse_nurse 1nurse nurse1 nurse's nurse-", "en")
@example("a\u2003b\u2028nurse", "en")
@example("İ I ı IRMAK aI, Ix", "tr")
def test_codes_are_those_of_each_chunk(text: str, language: str) -> None:
    table = Chunks(Lexicon(LISTED, language), wanted=[2, 4])
    each = [table[chunk.encode()] for chunk in text.split()]
    assert table.codes(text).tolist() == each
    assert not any(code & SPACE for code in each)


def test_few_chunks_are_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Chunks(Lexicon(["nurse", "he"], "en"), wanted=[0, 1])
    codes = table.codes("Here a nurse, hers, and 3 nursery (or so) theres nursed heaven, he said.")
    assert set(table) == {b"nurse,", b"(or", b"he", b"said."}
    assert len(codes) == 14
    monkeypatch.setattr(scanning, "DISTINCT", 3)
    table.limit()
    assert not table
    assert np.array_equal(table.codes("a nurse,"), [codes[1], codes[2]])
