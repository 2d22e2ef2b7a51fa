"""Who does the work: this process, several processes, or (in `integrations/ray.py`) a cluster.

An engine is an ordered map with a bounded number of items under way, so that memory does not grow with the corpus.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any, ClassVar, Protocol, TypeVar

from polylm.errors import UserError

T = TypeVar("T")
R = TypeVar("R")


class Engine(Protocol):
    """An ordered map."""

    def __call__(self, function: Callable[[T], R], items: Iterable[T]) -> Generator[R]:
        """`function(item)` for each item, in their order."""
        ...


def n_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def local(workers: int | None = None, *, ahead: int | None = None) -> Engine:
    """As many processes as there are cores, or as told; with one worker everything happens in this process.

    `ahead`: how many items are under way, by default three a worker and sixteen at least.
    """
    workers = n_cores() if workers is None else workers
    if workers < 1:
        raise UserError(f"there must be at least one worker, not {workers} ({{workers}})", workers=None)

    def run(function: Callable[[T], R], items: Iterable[T]) -> Generator[R]:
        if workers == 1:
            yield from map(function, items)
            return
        # Sixteen chunks are as much text as a large bzip3 block, whose decompression would leave workers idle.
        n_ahead = max(16, 3 * workers) if ahead is None else ahead
        with _OneThreadEach():
            pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start_worker, (function,))
            n_done = 0
            try:
                under_way: deque[Future[R]] = deque()
                for item in items:
                    under_way.append(pool.submit(_work, item))
                    while under_way and (len(under_way) >= n_ahead or under_way[0].done()):
                        yield under_way.popleft().result()  # as early as can be: what is done is kept
                        n_done += 1
                while under_way:
                    yield under_way.popleft().result()
                    n_done += 1
            except BrokenProcessPool:
                if not n_done:
                    raise UserError(
                        "the workers could not start, or were killed at once: a script that starts several must do so "
                        'below `if __name__ == "__main__":`; with one worker no process is started'
                    ) from None
                raise UserError(
                    "a worker process was killed, most likely because memory ran out: use fewer workers ({workers})",
                    workers=None,
                ) from None
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    return run


class _OneThreadEach:
    """Workers, not threads, fill the cores; numpy's libraries read these when a worker starts.

    The environment is what it was before when the last of those that overlap has ended.
    """

    _NAMES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    _lock = threading.Lock()
    _n_open = 0
    _before: ClassVar[dict[str, str | None]] = {}

    def __enter__(self) -> None:
        with _OneThreadEach._lock:
            if not _OneThreadEach._n_open:
                _OneThreadEach._before = {name: os.environ.get(name) for name in self._NAMES}
            _OneThreadEach._n_open += 1
            os.environ.update(dict.fromkeys(self._NAMES, "1"))

    def __exit__(self, *_: object) -> None:
        with _OneThreadEach._lock:
            _OneThreadEach._n_open -= 1
            if not _OneThreadEach._n_open:
                self._restore()

    def _restore(self) -> None:
        for name, value in _OneThreadEach._before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


_FUNCTION: Callable[[Any], Any] | None = None  # of a worker: it is sent once, and what it remembers is kept


def _work(item: Any) -> Any:
    assert _FUNCTION is not None
    return _FUNCTION(item)


def _start_worker(function: Callable[[Any], Any]) -> None:
    """Ctrl-C is the parent's to handle; and a worker whose parent was killed must not stay behind."""
    global _FUNCTION  # noqa: PLW0603
    _FUNCTION = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
