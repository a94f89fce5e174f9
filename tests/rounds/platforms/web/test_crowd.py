"""Many people at once, while the server is killed and responses are lost: nothing is lost."""

from pathlib import Path

import pytest

from support.crowd import Crowd, simulate

pytestmark = pytest.mark.long


def test_every_acknowledged_answer_is_there_exactly_once(tmp_path: Path) -> None:
    """As ``benchmarks/web.py``, which has 200 people; here nobody thinks, and leases are short."""
    small = Crowd(people=20, seconds=6, think=0.05, kills=3, tasks=60, asked=5, lease=2.0)
    result = simulate(small, tmp_path)
    assert len(result.acknowledged) > 50
    assert result.sent_again > 10
    assert result.kills == 3
    assert result.wrong == []
    assert result.too_many == []
    assert result.looks > 10
    assert result.done <= 60 * 5
    # 410: the place was taken before the page was opened. 409 would be a second answer.
    assert set(result.statuses) <= {200, 303, 410}
