"""A training step in detail: what `polylm bench train` measures, and where the time of a step goes on a GPU.

python benchmarks/train.py [CORPUS] [--sizes base,small,large] [--phases 1,2] [--no-naive] [--profile]
"""

import argparse
import sys
from pathlib import Path

import torch

from polylm.bench.training import measure


def profile(name, step) -> None:
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiler

    with profiler(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as recorded:
        for number in range(100, 105):
            step(number)
        torch.cuda.synchronize()
    events = [e for e in recorded.key_averages() if e.device_type.name == "CUDA"]
    total = sum(e.self_device_time_total for e in events)
    print(f"-- {name}: {total / 5000:.2f} ms of kernels a step")
    for e in sorted(events, key=lambda e: -e.self_device_time_total)[:28]:
        print(f"{e.self_device_time_total / 5000:8.3f} ms {e.count / 5:6.1f} x  {e.key[:95]}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("--sizes", default="base,small,large" if torch.cuda.is_available() else "tiny")
    parser.add_argument("--phases", default="1,2")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--no-naive", action="store_true")
    options = parser.parse_args()
    rows = measure(
        options.corpus,
        tuple(options.sizes.split(",")),
        naive=not options.no_naive,
        phases=tuple(map(int, options.phases.split(","))),
        after=profile if options.profile else None,
    )
    for row in rows:
        print(row)


if __name__ == "__main__":
    sys.exit(main())
