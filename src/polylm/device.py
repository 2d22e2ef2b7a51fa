"""Where a network runs."""

from typing import Literal

import torch

from polylm.errors import UserError

Device = Literal["auto", "cpu", "cuda"]


def choose_device(name: str) -> torch.device:
    """auto: the GPU where there is one."""
    if name not in ("auto", "cpu", "cuda"):
        raise UserError(f"{name!r} is not a device: choose auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("there is no CUDA device on this machine: choose cpu (--device cpu)")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")
