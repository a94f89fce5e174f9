"""The made-up campaign, texts and vectors of these tests are what they say."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from curation.campaign import Campaign, open_campaign
from curation.steps.trust.files import read_groups
from curation.trust.framework import distributions
from curation.trust.groups import Groups
from support import trust


def test_the_campaign_can_be_opened_and_its_groups_read(grouped: Campaign) -> None:
    (groups,) = read_groups(open_campaign(grouped.root))
    assert groups.words == {name: trust.GROUPS[name] for name in ("hill", "lake")}
    assert groups.targets["baker"] == ("baker", "bakers")
    assert groups.anchors["sailor"] == "lake"
    assert groups.outcomes["potter"] == pytest.approx((0.8, 0.2))


@pytest.mark.parametrize("k", [2, 3])
def test_texts_and_vectors_have_the_lean_of_each_job(
    k: int, people: Callable[[int], Groups]
) -> None:
    groups = people(k)
    every = trust.texts(k)
    words, array = trust.vectors(k)
    index = dict(zip(words, array, strict=True))
    lakes = []
    for job in trust.LEAN:
        counts = Counter(
            name
            for text in every
            for name, own in groups.words.items()
            if f" {job} " in text and any(f" {word} " in text for word in own)
        )
        found = [counts[name] / 20 for name in groups.names]
        assert found == pytest.approx(trust.shares(job, k), abs=0.026)
        means = [np.mean([index[w] for w in own], axis=0) for own in groups.words.values()]
        cosines = np.array(
            [index[job] @ m / np.linalg.norm(index[job]) / np.linalg.norm(m) for m in means]
        )
        assert (cosines > 0).all()
        lakes.append(distributions(cosines[None])[0][1])
    assert lakes == sorted(lakes)


def test_a_file_of_vectors_has_a_line_for_each_word(tmp_path: Path) -> None:
    lines = trust.write_glove(tmp_path / "made.txt").read_text("utf-8").splitlines()
    assert [line.split()[0] for line in lines] == trust.vectors()[0]
    assert len(trust.write_texts(tmp_path / "texts")) == 2
