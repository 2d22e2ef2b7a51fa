"""Which parameter goes to Muon, which to AdamW; and both with their state by the parameters' names, for checkpoints.

Muon (Jordan et al. 2024) moves a matrix in the direction of the nearest orthogonal one to its mean gradient. It is for
the encoders' matrices; E, biases, lambda and norms are AdamW's. torch's own Muon goes through the matrices one by one;
ours stacks those of one shape, so that a step has few kernels and can be recorded, has its rate in a tensor, and takes
queries, keys and values apart. `benchmarks/optimizer.py` measures both: on a CPU torch's is the faster one.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from polylm.training.config import OptimizationConfig

_NS = (3.4445, -4.7750, 2.0315)  # Jordan's coefficients of the quintic iteration


class Muon:
    """Stacked by shape. An update has entries of about 0.2 times the rate, whatever the shape."""

    def __init__(self, parameters: Mapping[str, nn.Parameter], *, momentum: float = 0.95, decay: float = 0.01) -> None:
        self.parameters = dict(parameters)
        self.momentum, self.decay = momentum, decay
        self._places: dict[tuple[int, int], list[tuple[str, int, bool]]] = {}  # shape -> (name, third, transposed)
        for name, parameter in self.parameters.items():
            rows, columns = parameter.shape
            thirds = 3 if name.endswith("qkv.weight") else 1
            rows //= thirds
            for third in range(thirds):
                shape = (min(rows, columns), max(rows, columns))
                self._places.setdefault(shape, []).append((name, third, rows > columns))
        self.buffers = {
            shape: torch.zeros(len(places), *shape, device=self._device()) for shape, places in self._places.items()
        }

    def _device(self) -> torch.device:
        return next(iter(self.parameters.values())).device

    def _block(self, tensor: Tensor, name: str, third: int, transposed: bool) -> Tensor:
        if name.endswith("qkv.weight"):
            tensor = tensor.chunk(3)[third]
        return tensor.T if transposed else tensor

    @torch.no_grad()
    def step(self, rate: Tensor) -> None:
        """`rate` is a tensor, so that a recorded step can be replayed with another."""
        for shape, places in self._places.items():
            gradients = torch.stack(
                [self._block(_gradient(self.parameters[name]), name, third, flip) for name, third, flip in places]
            )
            buffer = self.buffers[shape]
            buffer.lerp_(gradients, 1 - self.momentum)
            updates = orthogonalized(gradients.lerp_(buffer, self.momentum))  # Nesterov
            updates = updates.to(gradients.dtype) * (rate * (-0.2 * max(shape) ** 0.5))
            blocks = [self._block(self.parameters[name], name, third, flip) for name, third, flip in places]
            torch._foreach_mul_(blocks, 1 - rate * self.decay)
            torch._foreach_add_(blocks, list(updates.unbind()))

    def state(self) -> dict[str, Tensor]:
        """Momentum by parameter, in the parameter's shape."""
        state = {name: torch.zeros_like(parameter) for name, parameter in self.parameters.items()}
        for shape, places in self._places.items():
            for buffer, (name, third, flip) in zip(self.buffers[shape], places, strict=True):
                self._block(state[name], name, third, flip).copy_(buffer)
        return {f"muon.{name}": tensor for name, tensor in state.items()}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Take up what `state` gave; what is not in it begins anew."""
        for shape, places in self._places.items():
            for buffer, (name, third, flip) in zip(self.buffers[shape], places, strict=True):
                if f"muon.{name}" in state:  # blocks that C^P does not have begin anew after a split
                    buffer.copy_(self._block(state[f"muon.{name}"].to(buffer.device), name, third, flip))


def _gradient(parameter: nn.Parameter) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


def orthogonalized(matrices: Tensor, steps: int = 5) -> Tensor:
    """(n, rows, columns), rows <= columns: about U V^T of each, by a Newton-Schulz iteration; bfloat16 on a GPU."""
    x = matrices.bfloat16() if matrices.is_cuda else matrices.clone()
    x /= x.norm(dim=(1, 2), keepdim=True) + 1e-7
    a, b, c = _NS
    for _ in range(steps):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


class Adam:
    """torch's AdamW, fused, with its state by name."""

    def __init__(self, parameters: Mapping[str, nn.Parameter], config: OptimizationConfig) -> None:
        self.parameters = dict(parameters)
        decayed = [p for name, p in self.parameters.items() if _decays(name, p)]
        others = [p for name, p in self.parameters.items() if not _decays(name, p)]
        groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
        betas = (config.beta1, config.beta2)
        on_cuda = next(iter(self.parameters.values())).is_cuda
        self.adam = torch.optim.AdamW(
            [group for group in groups if group["params"]],
            lr=torch.zeros((), device=next(iter(self.parameters.values())).device),
            betas=betas,
            eps=1e-8,
            fused=True,
            capturable=on_cuda,
        )

    def set_rate(self, rate: Tensor) -> None:
        """The tensor that holds the learning rate from now on."""
        for group in self.adam.param_groups:
            group["lr"] = rate

    def step(self) -> None:
        """One step with the gradients that are there."""
        self.adam.step()

    def state(self) -> dict[str, Tensor]:
        """By kind and parameter."""
        state: dict[str, Tensor] = {}
        for name, parameter in self.parameters.items():
            for key, value in self.adam.state.get(parameter, {}).items():
                state[f"adam.{key}.{name}"] = value
        return state

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Take up what `state` gave; what is not in it begins anew."""
        for name, parameter in self.parameters.items():
            if f"adam.exp_avg.{name}" not in state:
                continue
            values: dict[str, Any] = {}
            for key in ("exp_avg", "exp_avg_sq"):
                values[key] = state[f"adam.{key}.{name}"].to(parameter.device, parameter.dtype).clone()
            values["step"] = state[f"adam.step.{name}"].to(parameter.device, torch.float32).reshape(()).clone()
            self.adam.state[parameter] = values


def _decays(name: str, parameter: nn.Parameter) -> bool:
    """Matrices of the encoders; not E, biases, lambda or norms."""
    return parameter.ndim >= 2 and name.startswith(("c_d.", "c_p."))


def _is_muons(name: str, parameter: nn.Parameter) -> bool:
    """Matrices of the encoders, but not learned positions, which are looked up."""
    return _decays(name, parameter) and parameter.ndim == 2 and "positions" not in name


class Optimizer:
    """Both together, over the parameters of a model."""

    def __init__(self, model: nn.Module, config: OptimizationConfig) -> None:
        self.config = config
        named = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
        self.parameters = list(named.values())
        of_muon = {name: p for name, p in named.items() if config.optimizer == "muon" and _is_muons(name, p)}
        self.muon = Muon(of_muon, decay=config.weight_decay) if of_muon else None
        self.adam = Adam({name: p for name, p in named.items() if name not in of_muon}, config)
        self._adam_rate, self._muon_rate = (torch.zeros((), device=self.parameters[0].device) for _ in range(2))
        self.adam.set_rate(self._adam_rate)

    def set_rate(self, rate: float) -> None:
        """`rate` times the learning rates, for the steps that follow."""
        self._adam_rate.fill_(rate * self.config.learning_rate)
        own = self.config.muon_rate
        self._muon_rate.fill_(rate * (self.config.learning_rate if own is None else own))

    def step(self) -> Tensor:
        """One step; the norm of the gradient, before it was clipped."""
        norm = nn.utils.clip_grad_norm_(self.parameters, self.config.clip, foreach=True)
        self.adam.step()
        if self.muon is not None:
            self.muon.step(self._muon_rate)
        return norm

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    def state(self) -> dict[str, Tensor]:
        """By kind and parameter."""
        return {**self.adam.state(), **(self.muon.state() if self.muon is not None else {})}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Take up what `state` gave; what is not in it begins anew."""
        self.adam.load(state)
        if self.muon is not None:
            self.muon.load(state)
