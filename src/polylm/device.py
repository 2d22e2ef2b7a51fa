"""Where a network runs, and with how many threads."""

import os
from typing import Literal

import torch

from polylm.errors import UserError

Device = Literal["auto", "cpu", "cuda"]
_process = os.getpid()


def choose_device(name: str) -> torch.device:
    """auto: the GPU where there is one."""
    if name not in ("auto", "cpu", "cuda"):
        raise UserError(f"{name!r} is not a device: choose auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("there is no CUDA device on this machine: choose the processor ({device})", device="cpu")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def one_thread_if_forked() -> None:
    """Before torch is used: in a forked process the threads that it would wait for are not there."""
    global _process  # noqa: PLW0603
    if os.getpid() != _process:
        _process = os.getpid()
        torch.set_num_threads(1)
