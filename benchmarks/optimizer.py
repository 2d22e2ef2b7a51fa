"""Muon for the matrices of the encoders: ours, stacked by shape, beside torch's, which goes through them one by one.

python benchmarks/optimizer.py [--size base] [--device cpu]
"""

import argparse
import time

import torch

from polylm.model.config import ModelConfig
from polylm.model.contextualizer import make_contextualizer
from polylm.training.optimizer import Muon
from polylm.training.speed import synchronize


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", default="base")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    device = torch.device(options.device)
    config = getattr(ModelConfig, options.size)()
    encoders = torch.nn.ModuleDict(
        {"c_d": make_contextualizer(config, config.n_layers_d), "c_p": make_contextualizer(config, config.n_layers_p)}
    ).to(device)
    matrices = {name: p for name, p in encoders.named_parameters() if p.ndim == 2}
    for parameter in matrices.values():
        parameter.grad = torch.randn_like(parameter)
    rate = torch.full((), 1e-4, device=device)
    ours = Muon(matrices)
    theirs = torch.optim.Muon(matrices.values(), lr=1e-4, adjust_lr_fn="match_rms_adamw")
    print(f"{len(matrices)} matrices, {sum(p.numel() for p in matrices.values()):,} numbers, {device}")
    for name, step in (("ours", lambda: ours.step(rate)), ("torch.optim.Muon", theirs.step)):
        step()
        synchronize(device)
        times = []
        for _ in range(7):
            begun = time.perf_counter()
            step()
            synchronize(device)
            times.append(time.perf_counter() - begun)
        print(f"{name:18s} {1e3 * sorted(times)[3]:8.2f} ms a step")


if __name__ == "__main__":
    main()
