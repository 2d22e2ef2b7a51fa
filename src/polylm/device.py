"""Where a network runs, and with how many threads."""

import os
from functools import cache
from typing import Literal

import torch

from polylm.errors import UserError

Device = Literal["auto", "cpu", "cuda"]


def choose_device(name: str) -> torch.device:
    """auto: the GPU where there is one."""
    if name not in ("auto", "cpu", "cuda"):
        raise UserError(f"{name!r} is not a device: choose auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("there is no CUDA device on this machine: choose the processor ({device})", device="cpu")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


@cache
def one_thread_in_forks() -> None:
    """From now on: in a forked process the threads that torch would wait for are not there, so it has one."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))
