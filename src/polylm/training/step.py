"""One step of training: a function of the state and a batch."""

import warnings
from collections.abc import Iterable
from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from polylm.training.batches import Batch
from polylm.training.distributed import Ranks
from polylm.training.graph import StepGraph
from polylm.training.lesson import Lesson
from polylm.training.schedule import Values
from polylm.training.state import RunState


class Step:
    """Steps of one model: made anew when the state has another."""

    def __init__(self, state: RunState, ranks: Ranks) -> None:
        self.state, self.ranks = state, ranks
        self.is_new = True  # its first step is compiled, and says nothing of how long a step takes
        model, device = state.model, state.device
        encoders = [part for part in (model.c_d, model.c_p) if part is not None]
        self._random = any(getattr(part, "random", True) for part in encoders)
        self._r, self._lambda = (torch.ones((), device=device) for _ in range(2))
        self._learner: nn.Module = model
        if state.teacher is not None:
            self._learner = Lesson(model, state.teacher, sharpness=state.config.reading.reading_sharpness)
        self._schedule = {"r": self._r, "lambda_m": self._lambda} if state.teacher is None else {}
        if ranks.n_ranks > 1:
            devices = [device.index] if device.type == "cuda" else None
            with warnings.catch_warnings():  # newer versions of torch have another name for broadcast_buffers
                warnings.simplefilter("ignore", FutureWarning)
                self._learner = DistributedDataParallel(
                    self._learner, device_ids=devices, broadcast_buffers=False, gradient_as_bucket_view=True
                )
        can_record = state.compiled and device.type == "cuda" and ranks.n_ranks == 1
        can_record &= all(getattr(part, "static", False) for part in encoders)
        self._graph = StepGraph() if can_record else None

    def __call__(self, batches: Iterable[Batch], now: Values) -> Tensor:
        """The terms of the loss and the gradient's norm, left on the device until somebody looks."""
        state = self.state
        if self._random:
            torch.manual_seed(state.config.seed * 1_000_003 + state.step * 1009 + self.ranks.rank)
        self._r.fill_(now.r)
        self._lambda.fill_(now.lambda_m)
        state.optimizer.set_rate(now.rate)
        parts = list(batches)
        result = self._compute(parts) if self._graph is None else self._graph(self._compute, parts)
        state.update_means()
        self.is_new = False
        return result

    def forget_recording(self) -> None:
        """Let go of a recorded step and its memory."""
        self._graph = None

    def _compute(self, batches: list[Batch]) -> Tensor:
        """What a step does with its batch: nothing here depends on numbers that the processor would have to know."""
        state, ranks = self.state, self.ranks
        sums = torch.zeros(3, device=state.device)
        for part, batch in enumerate(batches):
            last = part == len(batches) - 1
            wait = nullcontext() if last or ranks.n_ranks == 1 else self._learner.no_sync()  # type: ignore[operator]
            with wait:
                with torch.autocast(state.device.type, torch.bfloat16, enabled=state.autocast):
                    losses = self._learner(*batch.texts, **batch.about, **self._schedule, totals=batch.totals)
                # Processes average their gradients; each has its share of one sum.
                (losses.total * ranks.n_ranks).backward()
            sums += torch.stack(losses.parts).detach()
        norm = state.optimizer.step()
        state.optimizer.zero_grad()
        waiting = state.model.share_sums()
        if waiting is not None:
            ranks.sum_(waiting)
            state.model.update_shares()
        return torch.cat((sums, norm.detach().reshape(1)))
