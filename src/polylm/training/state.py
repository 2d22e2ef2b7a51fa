"""RunState: all that a run is at a step. It is saved whole and loaded whole."""

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from polylm.model.config import ModelConfig
from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM
from polylm.training.clock import Clock
from polylm.training.config import TrainConfig
from polylm.training.divergence import LossWatch
from polylm.training.lesson import teacher_of
from polylm.training.optimizer import Optimizer
from polylm.training.schedule import READING


class RunState:
    """The model, the optimizer, the mean of weights, where the run stands, and the best loss so far."""

    def __init__(self, model: PolyLM, config: TrainConfig, device: torch.device, out: Path, *, phase: int) -> None:
        self.config, self.device = config, device
        self.step, self.phase = 0, phase
        self.split_at: float | None = None  # share of the run, once it is done
        self.clock = Clock(config)
        self.losses = LossWatch(config.batches.batch_tokens * config.batches.mask_rate, out)
        self.teacher: PolyLM | None = None  # in the last phase: the network as it was before
        self.adopt(model)

    def adopt(self, model: PolyLM) -> None:
        """Train this model from now on: precision, compilation, a new optimizer."""
        config, device = self.config, self.device
        self.model = model.to(device).train()
        model.defer_shares = True
        _choose_trained(model, "all" if self.teacher is None else config.reading.reading_trains)
        half = config.machine.precision == "bfloat16" or (config.machine.precision == "auto" and device.type == "cuda")
        follows = getattr(model.c_p, "follows_dtype", False)
        model.compute_dtype = torch.bfloat16 if half and follows else None
        self.autocast = half and not follows
        self.compiled = device.type == "cuda" if config.machine.compile is None else config.machine.compile
        if self.compiled:
            model.compile_parts()
        optimization, rate = config.optimization, config.reading.reading_rate
        if self.teacher is not None:
            optimization = replace(optimization, learning_rate=rate, muon_rate=rate)
        self.optimizer = Optimizer(model, optimization)
        has_means = config.optimization.ema > 0
        self.means = {name: p.detach().clone() for name, p in model.named_parameters()} if has_means else {}

    def begin_reading(self) -> None:
        """The last phase: from now on the network as it is teaches itself to read words that are not masked."""
        self.teacher, self.phase = teacher_of(self.model), READING
        self.model.config = replace(self.model.config, reads_unmasked=True)
        self.losses.begin_again()
        self.adopt(self.model)

    @property
    def share(self) -> float:
        """How far the run is, from 0 to 1."""
        return self.clock.share(self.step)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """The model as it reads text: no dropout, no gradient, no compilation for other shapes."""
        self.model.eval()
        stance = torch.compiler.set_stance("force_eager") if hasattr(torch.compiler, "set_stance") else nullcontext()
        with torch.no_grad(), stance, torch.autocast(self.device.type, torch.bfloat16, enabled=self.autocast):
            yield
        self.model.train()

    @torch.no_grad()
    def update_means(self) -> None:
        """The running mean of weights, after a step."""
        if not self.means:
            return
        step_share = self.clock.share_per_step if self.config.steps is None else 1 / self.config.steps
        weight = min(step_share / self.config.optimization.ema, 1.0) if step_share else 1.0
        named = dict(self.model.named_parameters())
        torch._foreach_lerp_(list(self.means.values()), [named[name].detach() for name in self.means], weight)

    def use_means(self) -> None:
        """Let the means be the weights, at the end of a run."""
        for name, parameter in self.model.named_parameters():
            if name in self.means:
                parameter.data.copy_(self.means[name])

    def tensors(self) -> dict[str, Tensor]:
        """What a checkpoint holds in tensors."""
        parts = {"model": self.model.state_dict(), "optimizer": self.optimizer.state(), "ema": self.means}
        parts["inventory"] = {"n_senses": self.model.inventory.n_senses}
        if self.teacher is not None:
            parts["teacher"] = self.teacher.state_dict()
        return {f"{part}.{name}": tensor for part, own in parts.items() for name, tensor in own.items()}

    def facts(self) -> dict[str, Any]:
        """And in numbers."""
        best = self.losses.best
        return {
            "step": self.step,
            "phase": self.phase,
            "elapsed": self.clock.elapsed,
            "share": self.share,
            "share_per_step": self.clock.share_per_step,
            "split_at": self.split_at,
            "best_loss": best if math.isfinite(best) else None,
        }

    def restore(
        self, tensors: dict[str, Tensor], facts: dict[str, Any], shape: ModelConfig, inventory: SenseInventory
    ) -> None:
        """Be what was saved; after a split the model has another shape than at the start."""
        split_since = self.phase == 1 and facts["phase"] > 1
        if split_since:
            learned = tensors.get("inventory.n_senses", inventory.n_senses)
            self.adopt(PolyLM(shape, SenseInventory(learned, excluded=inventory.excluded)))
        if facts["phase"] == READING:
            self.model.load_state_dict(_part(tensors, "teacher."))
            self.begin_reading()
        self.step, self.phase, self.split_at = facts["step"], facts["phase"], facts["split_at"]
        self.model.load_state_dict(_part(tensors, "model."))
        self.optimizer.load(_part(tensors, "optimizer."))
        for name, mean in _part(tensors, "ema.").items():
            self.means[name].copy_(mean)
        self.losses.best = math.inf if facts["best_loss"] is None else facts["best_loss"]
        self.clock.elapsed = facts["elapsed"]
        self.clock.base_step, self.clock.base_share = self.step, facts["share"]
        self.clock.share_per_step = facts["share_per_step"]


def _choose_trained(model: PolyLM, trained: str) -> None:
    """Which weights learn: `all`, the `encoders`, or of these the one of the `prediction` layer."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(
            trained == "all" or name.startswith("c_p.") or (trained == "encoders" and name.startswith("c_d."))
        )
    if trained == "all":
        model.lambda_logits.requires_grad_(len(model.inventory.poly_words) > 0)


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
