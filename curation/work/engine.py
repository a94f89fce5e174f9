"""Run the same work on many shards: in this process, in several processes, or on a Ray cluster."""

import gc
import importlib
import logging
import multiprocessing as mp
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from multiprocessing import resource_tracker
from typing import Any, Literal, TypeVar

from curation.files import CurationError
from curation.work.interrupts import handlers_kept, held, is_command

S = TypeVar("S")
T = TypeVar("T")
Engine = Literal["local", "ray"]


def map_shards(
    work: Callable[[S], T],
    shards: Sequence[S],
    *,
    engine: Engine = "local",
    workers: int | None = None,
    tell: Callable[[int], None] | None = None,
) -> list[T]:
    """Apply ``work`` to each shard, and return all results.

    Args:
        work: as in ``each_shard``.
        shards: the shards.
        engine: "local" or "ray", as in ``each_shard``.
        workers: how many shards are processed at once.
        tell: called with the index of each shard when it is done, in any order.

    Returns:
        The results in the order of the shards.

    Raises:
        CurationError: as in ``each_shard``.

    >>> map_shards(len, ["a", "bcd"], workers=1)
    [1, 3]
    """
    results = {}
    with closing(each_shard(work, shards, engine=engine, workers=workers)) as each:
        for index, result in each:
            results[index] = result
            if tell:
                tell(index)
    return [results[index] for index in range(len(shards))]


def each_shard(
    work: Callable[[S], T],
    shards: Sequence[S],
    *,
    engine: Engine = "local",
    workers: int | None = None,
    gpus: float = 0,
) -> Generator[tuple[int, T], None, None]:
    """Apply ``work`` to each shard, and yield each result when it is ready.

    Close it if you do not read it to the end (``contextlib.closing``), so that its processes end.
    If there is only one shard or one worker, the work runs in this process with either engine.

    Args:
        work: takes a shard; the function, the shards and the results must be picklable.
        shards: the shards.
        engine: "local" for processes of this machine. "ray" for the Ray cluster at ``RAY_ADDRESS``;
            without this variable, a cluster is started on this machine and stopped at the end.
        workers: how many shards are processed at once; by default one per processor, or as many as
            the cluster at ``RAY_ADDRESS`` accepts.
        gpus: the number of GPUs of each Ray worker.

    Yields:
        The index of a shard and its result, in the order in which the shards are done.

    Raises:
        CurationError: a worker died, Ray is not installed or reachable, or ``workers`` is below 1.
        Exception: the first exception of ``work``; the other workers are stopped.
    """
    if workers is not None and workers < 1:
        raise CurationError(f"{workers} workers: there must be at least one", "use 1 or more")
    if len(shards) < 2 or workers == 1:
        yield from ((index, work(shard)) for index, shard in enumerate(shards))
    elif engine == "ray":
        yield from _on_ray(work, shards, workers, gpus)
    else:
        yield from _in_processes(work, shards, workers)


def in_own_process(work: Callable[[S], T], shard: S) -> T:
    """Apply ``work`` to one shard in a process of its own, so that no other thread here waits.

    Only in the command, for the reason of ``own_workers``; elsewhere it runs in this process.

    Raises:
        CurationError: the process died.
        Exception: the exception of ``work``.
    """
    if not is_command():
        return work(shard)
    with closing(_in_processes(work, [shard], 1)) as each:
        return next(each)[1]


def check_device(engine: Engine, device: str) -> None:
    """Check that an engine can give its workers this device of torch, for a model of their own.

    Raises:
        CurationError: Ray cannot.
    """
    if engine == "ray" and (device == "map" or device.startswith("cuda:")):
        raise CurationError(
            f"--device {device} with --engine ray: Ray gives each worker a GPU of its own",
            "use --device cuda",
        )


def own_workers() -> int:
    """The workers if nobody chose them: in the command one per processor, at most 8, else 1.

    A new process imports the program again, and a script may lack ``if __name__ == "__main__"``.
    """
    return min(os.cpu_count() or 1, 8) if is_command() else 1


# --- processes of this machine --------------------------------------------------------------


def _in_processes(
    work: Callable[[S], T], shards: Sequence[S], workers: int | None
) -> Generator[tuple[int, T], None, None]:
    workers = min(workers or os.cpu_count() or 1, len(shards))
    others = set(mp.active_children())
    # Spawn instead of fork: a fork can hang if the caller has threads.
    context = mp.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_prepare_worker)
    try:
        resource_tracker.ensure_running()  # otherwise it would unblock the signals in between
        with held():  # a process that is half started would not be ended
            waiting = {pool.submit(work, shard): index for index, shard in enumerate(shards)}
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                index = waiting.pop(future)
                yield index, _result(future)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(mp.active_children()) - others:  # their results are no longer needed
            child.terminate()
        raise
    finally:
        pool.shutdown()


def _prepare_worker() -> None:
    """Let a worker end with the command, also if that is killed.

    Ctrl-C stays blocked: it reaches all processes, and the command ends its workers. The command
    may have work of its own, which no worker can take over, so that it goes first.
    """
    os.nice(5)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    parent = mp.parent_process()

    def watch() -> None:
        if parent:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _result(future: "Future[T]") -> T:
    try:
        return future.result()
    except BrokenProcessPool:
        raise _died() from None


def _died() -> CurationError:
    return CurationError(
        "a worker process died, probably because memory ran out",
        "use fewer workers, or smaller files",
    )


# --- Ray ------------------------------------------------------------------------------------


def _on_ray(
    work: Callable[[S], T], shards: Sequence[S], workers: int | None, gpus: float
) -> Generator[tuple[int, T], None, None]:
    with _cluster(min(workers or os.cpu_count() or 1, len(shards))) as ray:

        def run(shard: S) -> T:  # Ray accepts only plain functions, not partial() or builtins
            return work(shard)

        task = ray.remote(num_cpus=1, num_gpus=gpus)(run)
        waiting: dict[Any, int] = {}
        for index, shard in enumerate(shards):
            if workers and len(waiting) >= workers:
                yield from _next(ray, waiting)
            waiting[task.remote(shard)] = index
        while waiting:
            yield from _next(ray, waiting)


def _next(ray: Any, waiting: dict[Any, int]) -> Iterator[tuple[int, Any]]:
    for done in ray.wait(list(waiting))[0]:
        try:
            result = ray.get(done)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None  # the exception of the work, without Ray's wrapper
        except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError):
            raise _died() from None
        index = waiting.pop(done)
        yield index, result


@contextmanager
def _cluster(workers: int) -> Iterator[Any]:
    """A connection to Ray; a cluster that was started for it is stopped at the end."""
    address = os.environ.get("RAY_ADDRESS", "local")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # do not send usage statistics
    if address == "local":  # do not listen on all addresses of the machine
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise CurationError("Ray is not installed", "pip install 'curation[ray]'") from None
    if ray.is_initialized():
        yield ray
        return
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address == "local":
        quiet |= {
            "num_cpus": workers,
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",
            # Ray's processes must find the same modules as this one.
            "runtime_env": {"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}},
        }
    try:
        with handlers_kept():  # Ray would answer SIGTERM itself
            ray.init(address=address, **quiet)
        yield ray
    except ConnectionError as error:
        if ray.is_initialized():
            raise
        raise CurationError(
            f"no Ray cluster at {address}: {error}",
            "check RAY_ADDRESS, or unset it to use this machine",
        ) from None
    finally:
        ray.shutdown()


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause garbage collection: records have no reference cycles, and it takes a quarter longer."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
