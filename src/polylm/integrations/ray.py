"""polylm on a Ray cluster (`polylm[ray]`): text is prepared by tasks on the cluster's nodes."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from polylm.corpus.engine import Engine
from polylm.errors import UserError


def ray_engine(workers: int | None = None) -> Engine:
    """An engine for `prepare`: the cluster of RAY_ADDRESS, or one started on this machine.

    `workers` is how many chunks are under way at a time; by default as many as the cluster has cores. The nodes need
    polylm installed, not the corpus: this process reads it and writes the results.
    """
    try:
        import ray
    except ImportError:
        raise UserError("the ray engine needs Ray: pip install 'polylm[ray]'") from None
    if workers is not None and workers < 1:
        raise UserError(f"{workers} workers cannot do anything: give --workers 1 or more")

    def run(function: Callable[[bytes], bytes], items: Iterable[bytes]) -> Iterator[bytes]:
        started_here = not ray.is_initialized()
        if started_here:
            environment = {"env_vars": {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}}
            try:
                ray.init(log_to_driver=False, include_dashboard=False, runtime_env=environment)
            except (ValueError, RuntimeError, ConnectionError) as error:
                reason = str(error).strip().splitlines()[0]
                raise UserError(f"no Ray cluster could be reached or started ({reason}): check RAY_ADDRESS") from None
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        n_ahead = 2 * (workers or int(resources.get("CPU", 1)))

        @ray.remote(num_cpus=1)
        def task(item: bytes) -> bytes:
            return function(item)

        under_way: deque[ray.ObjectRef[bytes]] = deque()
        try:
            for item in items:
                under_way.append(task.remote(item))
                if len(under_way) >= n_ahead:
                    yield ray.get(under_way.popleft())
            while under_way:
                yield ray.get(under_way.popleft())
        finally:
            for reference in under_way:
                ray.cancel(reference, force=False)
            if started_here:
                ray.shutdown()

    return run
