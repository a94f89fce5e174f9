"""Work on shards in this process, in several processes and on Ray; errors arrive unchanged."""

import math
import os
import pickle
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from curation.files import CurationError
from curation.work.engine import Engine, map_shards
from support.expected import fails

RAY = pytest.mark.ray
ENGINES = ["local", pytest.param("ray", marks=RAY)]


def square(number: int) -> tuple[int, int]:
    time.sleep(0.1 / (number + 1))  # the first ends last
    return number * number, os.getpid()


def fail_at_two(number: int) -> int:
    if number == 2:
        raise CurationError("file 2 is bad", "fetch it again")
    return number


def odd_one_out(number: int) -> int:
    return [0, 1][number]


def die(number: int) -> int:
    if number:
        os._exit(1)
    return number


def linger(folder: Path) -> None:
    if folder.name == "quick":
        raise CurationError("no", "way")
    (folder / "began").touch()
    time.sleep(60)


@pytest.mark.parametrize("engine", ENGINES)
def test_results_come_in_the_order_of_the_shards_and_all_are_reported(engine: Engine) -> None:
    reported: list[int] = []
    found = map_shards(square, range(5), engine=engine, workers=2, tell=reported.append)
    alone = map_shards(square, range(5), workers=1)
    assert [result for result, _ in found] == [result for result, _ in alone] == [0, 1, 4, 9, 16]
    assert sorted(reported) == [0, 1, 2, 3, 4]
    assert os.getpid() not in {process for _, process in found}
    assert len({process for _, process in found}) == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_one_shard_or_one_worker_stays_in_this_process(engine: Engine) -> None:
    reported: list[int] = []
    assert map_shards(square, [3], engine=engine, tell=reported.append) == [(9, os.getpid())]
    assert {p for _, p in map_shards(square, range(3), engine=engine, workers=1)} == {os.getpid()}
    assert reported == [0]
    assert map_shards(square, [], engine=engine) == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_arrives_with_its_fix(engine: Engine, workers: int) -> None:
    with fails("file 2 is bad", fix="fetch it again") as caught:
        map_shards(fail_at_two, range(4), engine=engine, workers=workers)
    assert type(caught.value) is CurationError


@pytest.mark.parametrize("engine", ENGINES)
def test_any_other_error_arrives_as_it_is(engine: Engine) -> None:
    with pytest.raises(IndexError, match="list index out of range") as caught:
        map_shards(odd_one_out, range(4), engine=engine, workers=2)
    assert type(caught.value) is IndexError


@pytest.mark.parametrize("engine", ENGINES)
def test_a_dead_worker_is_reported_as_dead(engine: Engine) -> None:
    with fails("a worker process died", fix="fewer workers"):
        map_shards(die, range(2), engine=engine, workers=2)


def test_after_an_error_nobody_waits_for_the_others(tmp_path: Path) -> None:
    start = time.monotonic()
    (tmp_path / "slow").mkdir()
    with fails("no"):
        map_shards(linger, [tmp_path / "slow", tmp_path / "quick"], workers=2)
    assert time.monotonic() - start < 30


@RAY
def test_ray_does_not_take_the_handling_of_signals() -> None:
    before = signal.getsignal(signal.SIGTERM)
    seen: list[Any] = []
    map_shards(
        square, range(2), engine="ray", workers=2,
        tell=lambda _: seen.append(signal.getsignal(signal.SIGTERM)),
    )  # fmt: skip
    assert seen == [before, before]


def test_without_ray_the_fix_is_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with fails("Ray is not installed", fix="pip install 'curation[ray]'"):
        map_shards(square, range(2), engine="ray", workers=2)


@RAY
def test_a_connection_of_the_callers_own_stays() -> None:
    import ray

    ray.init(
        address="local", num_cpus=2, include_dashboard=False, log_to_driver=False,
        _node_ip_address="127.0.0.1",
    )  # fmt: skip
    try:
        assert map_shards(math.factorial, range(5), engine="ray") == [1, 1, 2, 6, 24]
        assert ray.is_initialized()
    finally:
        ray.shutdown()


def test_no_workers_is_refused() -> None:
    for workers in (0, -1):
        with fails("workers"):
            map_shards(square, range(5), workers=workers)


def test_an_error_keeps_its_fix_when_pickled() -> None:
    again = pickle.loads(pickle.dumps(CurationError("what", "fix")))
    assert (str(again), again.what, again.fix) == ("what", "what", "fix")
