"""A training step: tokens/s, memory and share of the arithmetic bound, beside a naive implementation in the same run.

    python benchmarks/train.py CORPUS [--sizes base,small,large] [--profile]

Naive is the paper's equations as they read: eager, bf16 autocast on a GPU, C^D called twice, full logits at the
targets, AdamW that is not fused. Both train on the same batches.
"""

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F

from polylm.model.config import ModelConfig
from polylm.model.loss import losses
from polylm.training.config import TrainConfig, defaults_for
from polylm.training.monitor import flops_per_token, measured_peak, synchronize
from polylm.training.schedule import values
from polylm.training.trainer import Trainer


class Naive:
    """The same model, batches and losses without any of the care."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer, self.model = trainer, trainer.model
        self.model.compute_dtype, self.model.fused_senses = None, False
        self.adam = torch.optim.AdamW(self.model.parameters(), lr=1e-4, betas=(0.9, 0.98), foreach=False, fused=False)

    def senses(self, words, y):
        rows, mask = self.model.inventory.rows(words)
        e = self.model.embeddings[rows]
        scores = torch.einsum("...kd,...d->...k", e, y.to(e.dtype)) + self.model.bias[rows]
        return scores.masked_fill(~mask, -torch.inf), e

    def step(self, number, now):
        model, device = self.model, self.trainer.device
        for batch in self.trainer.batches.step(number, now.mask_rate):
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                scores, e = self.senses(batch.masked, model.c_d(F.embedding(batch.masked, model.word_vectors())))
                x_p = torch.einsum("...k,...kd->...d", scores.softmax(-1), e)
                at = batch.words.flatten()[batch.targets]
                y = model.c_p(x_p).flatten(0, 1)[batch.targets]
                logits = y @ model.embeddings.T
            log_z = torch.logsumexp(logits.float() + model.output_bias(), -1)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                y_d = model.c_d(F.embedding(batch.words, model.word_vectors())).flatten(0, 1)[batch.targets]
            own, q_d = self.senses(at, y)[0], self.senses(at, y_d)[0].log_softmax(-1)
            total = losses(
                own.float(), log_z, q_d.float(), model.inventory.n_senses[at] > 1,
                r=now.r, lambda_m=now.lambda_m, weights=batch.weights, totals=batch.totals,
            ).total  # fmt: skip
            total.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.adam.step()
        self.adam.zero_grad()


def measure(work, device, batch_tokens, seconds=4.0):
    """Median tokens/s over groups of steps, and the peak of memory."""
    number = 0
    for _ in range(3):
        work(number)
        number += 1
    synchronize(device)
    rates, started = [], time.perf_counter()
    while time.perf_counter() - started < seconds or len(rates) < 2:
        n = 10 if device.type == "cuda" else 1
        begun = time.perf_counter()
        for _ in range(n):
            work(number)
            number += 1
        synchronize(device)
        rates.append(n * batch_tokens / (time.perf_counter() - begun))
    peak = torch.cuda.max_memory_reserved() / 2**30 if device.type == "cuda" else 0.0  # graphs have pools of their own
    return sorted(rates)[len(rates) // 2], peak


def make(corpus, size, phase, batch_tokens, **changes):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    settings = {**defaults_for(size, device), "steps": 10**6, "start": "split" if phase == 1 else "senses", **changes}
    if batch_tokens:
        settings["batch_tokens"] = batch_tokens
    config = TrainConfig(**settings)
    out = tempfile.mkdtemp()
    return Trainer(corpus, out, getattr(ModelConfig, size)(), config, quiet=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--sizes", default="base,small,large" if torch.cuda.is_available() else "tiny")
    parser.add_argument("--batch-tokens", type=int)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--no-naive", action="store_true")
    parser.add_argument("--phases", default="2,1")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    peak = measured_peak(device)
    print(f"{peak / 1e12:.1f} TFLOP/s by a product of matrices", flush=True)
    rows = []
    for size in options.sizes.split(","):
        for phase in map(int, options.phases.split(",")):
            begun = time.perf_counter()
            trainer = make(options.corpus, size, phase, options.batch_tokens)
            now = values(trainer.config, 0.5)

            def step(number, trainer=trainer, now=now):
                trainer.step = number
                trainer._train_step(now)

            for number in range(5 if device.type == "cuda" else 1):  # the fourth is recorded, and the first replayed
                step(number)
                if number == 0:
                    synchronize(device)
                    first = time.perf_counter() - begun
            synchronize(device)
            if device.type == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            tokens, memory = measure(step, device, trainer.config.batch_tokens)
            n = trainer.model.inventory.n_rows
            of = tokens * flops_per_token(trainer.model_config, n, now.mask_rate, phase_one=phase == 1) / peak
            rows.append(
                (size, f"phase {phase}", f"{n:,}", f"{tokens:,.0f}", f"{of:.1%}", f"{memory:.1f}", f"{first:.0f}")
            )
            print(*rows[-1], flush=True)
            if options.profile:
                profile(step, f"{size}-{phase}")
            if phase == 2 and not options.no_naive:
                for part in (trainer.model.c_d, trainer.model.c_p):
                    part.compiled = False
                if device.type == "cuda":
                    trainer._work = trainer._compute
                    torch.cuda.empty_cache()
                    torch.cuda.reset_peak_memory_stats()
                naive_step = partial(Naive(trainer).step, now=now)
                tokens, memory = measure(naive_step, device, trainer.config.batch_tokens)
                rows.append((size, "naive", f"{n:,}", f"{tokens:,.0f}", "", f"{memory:.1f}", ""))
                print(*rows[-1], flush=True)
            del trainer, step
            if device.type == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
    print("\n| size | | senses | tokens/s | of the bound | GiB | s to the first step |\n|---|---|---|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


def profile(step, name):
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


if __name__ == "__main__":
    sys.exit(main())
