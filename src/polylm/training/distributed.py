"""One process, or several under torchrun: who am I, and sums over all."""

import os
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from polylm.errors import UserError


@dataclass(frozen=True)
class Ranks:
    """This process among all."""

    rank: int = 0
    n_ranks: int = 1
    local_rank: int = 0

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def sum_(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        if self.n_ranks > 1:
            dist.all_reduce(tensor)
        return tensor

    def highest(self, value: int, device: torch.device) -> int:
        """The largest of all processes' numbers."""
        tensor = torch.tensor([value], device=device)
        dist.all_reduce(tensor, dist.ReduceOp.MAX)
        return int(tensor.item())

    def from_first(self, values: list[float]) -> list[float]:
        """What the first process says."""
        if self.n_ranks == 1:
            return values
        device = "cuda" if dist.get_backend() == "nccl" else "cpu"
        tensor = torch.tensor(values, dtype=torch.float64, device=device)
        dist.broadcast(tensor, 0)
        return [float(value) for value in tensor.tolist()]

    def barrier(self) -> None:
        """Wait for all processes."""
        if self.n_ranks > 1:
            dist.barrier()


def start(device: str) -> Ranks:
    """Join the others, if torchrun started this process; `device` is cpu or cuda."""
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        return Ranks()
    ranks = Ranks(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), int(os.environ.get("LOCAL_RANK", "0")))
    if device == "cuda" and ranks.local_rank >= torch.cuda.device_count():
        raise UserError(f"there are {torch.cuda.device_count()} GPUs here, too few for process {ranks.local_rank}")
    if device == "cuda":
        torch.cuda.set_device(ranks.local_rank)
    if ranks.n_ranks > 1 and not dist.is_initialized():
        # The first process counts confusions and substitutes while the others wait at the end.
        dist.init_process_group("nccl" if device == "cuda" else "gloo", timeout=timedelta(hours=2))
    return ranks


def stop() -> None:
    """Leave the others."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()
