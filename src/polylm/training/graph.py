"""A step as one CUDA graph: what the processor would launch a thousand times a step is recorded once and replayed.

The first steps run as they are, so that everything is compiled and allocated; then one is recorded. Whatever changes
from step to step is in tensors that keep their place: the batch, r, lambda_M and the learning rates.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from polylm.training.batches import Batch

WARM_UP = 3
Work = Callable[[list[Batch]], Tensor]


class StepGraph:
    """Calls `work(batches)`, which gives a tensor; recorded after a few calls."""

    def __init__(self) -> None:
        self._calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._batches: list[Batch] = []
        self._result = torch.zeros(0)

    def __call__(self, work: Work, batches: list[Batch]) -> Tensor:
        """A step with these batches. `work` is not kept: who calls this would never be let go."""
        if self._graph is None and self._calls < WARM_UP:
            self._calls += 1
            return self._warm(work, batches)
        if self._graph is None:
            self._record(work, batches)
        else:
            for recorded, new in zip(self._batches, batches, strict=True):
                _copy(recorded, new)
        assert self._graph is not None
        self._graph.replay()
        return self._result.clone()

    def _warm(self, work: Work, batches: list[Batch]) -> Tensor:
        """On a stream of its own, as recording will be."""
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            result = work(batches)
        torch.cuda.current_stream().wait_stream(stream)
        return result

    def _record(self, work: Work, batches: list[Batch]) -> None:
        self._batches = [_cloned(batch) for batch in batches]
        torch.cuda.empty_cache()  # the recording has a pool of its own
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._result = work(self._batches)
        self._graph = graph


def _cloned(batch: Batch) -> Batch:
    changes: dict[str, Any] = {}
    for field in fields(batch):
        value = getattr(batch, field.name)
        changes[field.name] = tuple(t.clone() for t in value) if isinstance(value, tuple) else value
        if isinstance(value, Tensor):
            changes[field.name] = value.clone()
    return replace(batch, **changes)


def _copy(mine: Batch, new: Batch) -> None:
    for field in fields(mine):
        old, value = getattr(mine, field.name), getattr(new, field.name)
        if isinstance(old, Tensor):
            old.copy_(value)
        elif isinstance(old, tuple):
            for a, b in zip(old, value, strict=True):
                a.copy_(b)
