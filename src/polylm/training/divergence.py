"""Is the run still learning? A loss that is not a number, or leaps up, stops it; no such state is saved or split."""

import math
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from polylm.errors import UserError
from polylm.training import checkpoints
from polylm.training.distributed import Ranks

SPIKE = 1.5  # nats above the best mean so far
ENOUGH = 1000  # targets that such a mean is of
EARLY = 0.02  # share of the run in which losses may leap


class Means(NamedTuple):
    """Three terms of the loss and the gradient's norm over some steps; the first term is the one that must fall."""

    terms: tuple[float, float, float]
    gradient: float


class LossWatch:
    """Gathers what steps give, on their device, until somebody looks."""

    def __init__(self, targets_per_step: float, out: Path) -> None:
        self.targets_per_step, self.out = targets_per_step, out
        self.best = math.inf
        self._window: list[Tensor] = []  # what steps since the last look gave
        self._loss, self._steps = 0.0, 0  # of means that were of too few targets

    def add(self, losses: Tensor) -> None:
        """The terms of the loss and the gradient's norm of a step."""
        self._window.append(losses)

    def begin_again(self) -> None:
        """Another loss from now on: what the last one was says nothing of it."""
        self.best, self._window, self._loss, self._steps = math.inf, [], 0.0, 0

    def look(self, step: int, share: float, ranks: Ranks) -> Means | None:
        """Means since the last look, if there was a step; the run stops if they are not numbers, or far too high."""
        if not self._window:
            return None
        means, n_steps = torch.stack(self._window).mean(dim=0), len(self._window)
        self._window = []
        ranks.sum_(means[:3])  # each process has its part
        *terms, norm = means.tolist()
        found = Means((terms[0], terms[1], terms[2]), norm)
        self.check(found, n_steps, step, share)
        return found

    def check(self, means: Means, n_steps: int, step: int, share: float) -> None:
        """Stop the run if there is reason to."""
        lm, norm = means.terms[0], means.gradient
        if not (math.isfinite(lm) and math.isfinite(norm)):
            self._stop(f"or its gradient is not a number ({lm}, {norm})", step)
        # Means of few targets vary by chance: they are put together until there are enough.
        self._loss, self._steps = self._loss + lm * n_steps, self._steps + n_steps
        if self._steps * self.targets_per_step < ENOUGH:
            return
        lm = self._loss / self._steps
        self._loss, self._steps = 0.0, 0
        if lm > self.best + SPIKE and share > EARLY:
            self._stop(f"rose to {lm:.2f}, from {self.best:.2f} at best", step)
        self.best = min(self.best, lm)

    def _stop(self, what: str, step: int) -> None:
        last = checkpoints.latest(self.out)
        kept = f"the last good state is {last}" if last else "there is no earlier state"
        raise UserError(
            f"the loss {what} at step {step}: the run was stopped, {kept}. "
            "Go on from it with {resume} and a lower {learning_rate} (in the last phase a lower reading_rate)",
            resume=True,
            learning_rate=None,
        )
