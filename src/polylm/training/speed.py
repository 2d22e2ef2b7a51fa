"""How much arithmetic a step is, and how much the device can do."""

import time

import torch

from polylm.model.config import ModelConfig
from polylm.training.schedule import READING


def flops_per_token(config: ModelConfig, n_senses: int, mask_rate: float, *, phase: int = 2) -> float:
    """Arithmetic that a token of training takes: three times forward; products of matrices and attention alone."""
    d, length = config.d_model, config.max_length
    layer = 2 * (4 * d * d + 2 * d * config.d_filter) + 4 * length * d
    encoders = config.n_layers_p * layer
    if phase > 1 and config.disambiguation:
        encoders += 2 * config.n_layers_d * layer
    if phase == READING:  # the teacher, forward alone; and the network, which runs C^P on both texts
        return encoders + 3 * (encoders + config.n_layers_p * layer)
    return 3 * (encoders + mask_rate * 2 * d * n_senses)


def measured_peak(device: torch.device) -> float:
    """FLOP/s of a large product of matrices on this device, in the precision that training uses there."""
    n, dtype = (8192, torch.bfloat16) if device.type == "cuda" else (1024, torch.float32)
    a = torch.randn(n, n, device=device, dtype=dtype)
    for _ in range(3):
        a @ a
    synchronize(device)
    started, n_done = time.perf_counter(), 0
    while time.perf_counter() - started < 0.15:
        for _ in range(5):
            a @ a
        synchronize(device)
        n_done += 5
    return 2 * n**3 * n_done / (time.perf_counter() - started)


def synchronize(device: torch.device) -> None:
    """Wait until the device has done what it was told."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
