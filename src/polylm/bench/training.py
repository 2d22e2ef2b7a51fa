"""How fast is a training step here? Ours, beside the paper's equations as they read, on the same batches.

Naive is eager, with bf16 autocast on a GPU, C^D called twice, full logits at the targets, and AdamW that is not fused.
Without a corpus the words are drawn from Zipf's law; the arithmetic does not care.
"""

import hashlib
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from polylm.corpus.shards import write_manifest
from polylm.device import choose_device
from polylm.model.config import ModelConfig
from polylm.model.loss import losses
from polylm.symbols import SPECIAL
from polylm.text.settings import TEXT
from polylm.text.vocabulary import VOCABULARY
from polylm.training.config import TrainConfig, defaults_for
from polylm.training.schedule import Values, values
from polylm.training.speed import flops_per_token, measured_peak, synchronize
from polylm.training.trainer import Trainer


class Naive:
    """The same model, batches and losses without any of the care."""

    def __init__(self, trainer: Trainer) -> None:
        self.run, self.model = trainer.run, trainer.run.state.model
        self.model.compile_parts(False)
        self.model.compute_dtype, self.model.fused_senses = None, False
        self.adam = torch.optim.AdamW(self.model.parameters(), lr=1e-4, betas=(0.9, 0.98), foreach=False, fused=False)

    def _senses(self, words: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        rows, mask = self.model.inventory.rows(words)
        e = self.model.embeddings[rows]
        scores = torch.einsum("...kd,...d->...k", e, y.to(e.dtype)) + self.model.bias[rows]
        return scores.masked_fill(~mask, -torch.inf), e

    def step(self, number: int, now: Values) -> None:
        """Equations 5 to 10, the losses, a step."""
        model, device = self.model, self.run.device
        assert model.c_d is not None
        half = partial(torch.autocast, device.type, torch.bfloat16, enabled=device.type == "cuda")
        for batch in self.run.batches.step(number, now.mask_rate):
            at = batch.words.flatten()[batch.targets]
            with half():
                scores, e = self._senses(batch.masked, model.c_d(F.embedding(batch.masked, model.word_vectors())))
                x_p = torch.einsum("...k,...kd->...d", scores.softmax(-1), e)
                y = model.c_p(x_p).flatten(0, 1)[batch.targets]
                logits = y @ model.embeddings.T
                y_d = model.c_d(F.embedding(batch.words, model.word_vectors())).flatten(0, 1)[batch.targets]
            log_z = torch.logsumexp(logits.float() + model.output_bias(), -1)
            scores_p, q_d = self._senses(at, y)[0], self._senses(at, y_d)[0].log_softmax(-1)
            polysemous = model.inventory.n_senses[at] > 1
            total = losses(
                scores_p.float(),
                log_z,
                q_d.float(),
                polysemous,
                r=now.r,
                lambda_m=now.lambda_m,
                weights=batch.weights,
                totals=batch.totals,
            ).total
            total.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.adam.step()
        self.adam.zero_grad()


def measure(
    data: Path | None,
    sizes: tuple[str, ...],
    *,
    device: str = "auto",
    seconds: float = 4.0,
    naive: bool = True,
    phases: tuple[int, ...] = (1, 2),
    after: Callable[[str, Callable[[int], None]], None] | None = None,
) -> list[dict[str, Any]]:
    """A row for each size and phase, and one for the naive step; `after` may look closer at a step."""
    kind = choose_device(device).type
    peak = measured_peak(torch.device(kind))
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        corpus = data or _zipf(Path(folder) / "corpus", 119_000 if kind == "cuda" else 36_000)
        for size in sizes:
            for phase in phases:
                begun = time.perf_counter()
                start = "split" if phase == 1 else "senses"
                config = TrainConfig.flat(steps=10**6, start=start, **defaults_for(size, kind))
                out = Path(folder) / f"{size}-{phase}"
                trainer = Trainer(corpus, out, getattr(ModelConfig, size)(), config, device=kind)
                now = values(config, 0.5)

                def step(number: int, trainer: Trainer = trainer, now: Values = now) -> None:
                    trainer.run.state.step = number
                    trainer.step(trainer.run.batches.step(number, now.mask_rate), now)

                step(0)
                synchronize(trainer.run.device)
                first = time.perf_counter() - begun
                tokens, memory = _measure(step, trainer, seconds)
                n = trainer.run.state.model.inventory.n_rows
                needed = flops_per_token(trainer.run.shape, n, now.mask_rate, phase=phase)
                about = {"size": size, "senses": n, "batch_tokens": config.batches.batch_tokens, "device": kind}
                row = {**about, "what": f"phase {phase}", "tokens_per_s": round(tokens), "memory_gib": memory}
                rows.append({**row, "of_bound": tokens * needed / peak, "first_step_s": round(first, 1)})
                if after is not None:
                    after(f"{size}, phase {phase}", step)
                if phase == 2 and naive:
                    trainer.step.forget_recording()
                    slow, memory = _measure(partial(Naive(trainer).step, now=now), trainer, seconds)
                    row = {**about, "what": "naive", "tokens_per_s": round(slow), "memory_gib": memory}
                    rows.append({**row, "ours_is_times": tokens / slow})
                del trainer, step
    return rows


COLUMNS = ("size", "what", "senses", "tokens/s", "of the bound", "GiB", "s to first step", "ours is times")


def rows_for_people(rows: list[dict[str, Any]]) -> list[list[str]]:
    """The rows under COLUMNS, for people."""
    return [
        [
            row["size"],
            row["what"],
            f"{row['senses']:,}",
            f"{row['tokens_per_s']:,}",
            f"{row['of_bound']:.1%}" if "of_bound" in row else "",
            f"{row['memory_gib']:.1f}" if row["memory_gib"] else "",
            f"{row['first_step_s']:.0f}" if "first_step_s" in row else "",
            f"{row['ours_is_times']:.1f}" if "ours_is_times" in row else "",
        ]
        for row in rows
    ]


def _measure(step: Callable[[int], None], trainer: Trainer, seconds: float) -> tuple[float, float]:
    """Median tokens/s over groups of steps, and the memory that torch holds, GiB."""
    device, number = trainer.run.device, 0
    cuda = device.type == "cuda"
    for _ in range(6 if cuda else 1):
        step(number)
        number += 1
    synchronize(device)
    if cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    rates: list[float] = []
    started = time.perf_counter()
    while time.perf_counter() - started < seconds or len(rates) < 2:
        n = 10 if cuda else 1
        begun = time.perf_counter()
        for _ in range(n):
            step(number)
            number += 1
        synchronize(device)
        rates.append(n * trainer.run.config.batches.batch_tokens / (time.perf_counter() - begun))
    memory = torch.cuda.max_memory_reserved() / 2**30 if cuda else 0.0  # graphs have pools of their own
    return sorted(rates)[len(rates) // 2], round(memory, 1)


def _zipf(folder: Path, n_senses: int) -> Path:
    """A corpus whose words have the frequencies of a language, and as many senses as asked for."""
    n_poly = n_senses // 16
    n_words = n_senses - 7 * n_poly
    rng = np.random.default_rng(0)
    ranks = np.exp(rng.random(4_000_000) * np.log(n_words - 4)).astype(np.int64)
    ids = (ranks + 3).clip(4, n_words - 1).astype("<u4" if n_words > 1 << 16 else "<u2")
    folder.mkdir(parents=True)
    (folder / "shard-00000.bin").write_bytes(ids.tobytes())
    names = [*SPECIAL, *(f"w{n}" for n in range(n_words - len(SPECIAL)))]
    senses = [8 if 4 <= n < 4 + n_poly else 1 for n in range(n_words)]
    text = "".join(f"{name}\t1\t{k}\n" for name, k in zip(names, senses, strict=True))
    (folder / VOCABULARY).write_text(text)
    (folder / TEXT).write_text('{"lemmatize": false}\n')
    shard = {"file": "shard-00000.bin", "ids": len(ids), "sha256": hashlib.sha256(ids.tobytes()).hexdigest()}
    manifest = {
        **{"format": 1, "polylm": "", "settings": {}, "sources": [], "words": len(ids), "vocabulary": {}},
        **{"dtype": ids.dtype.str, "shards": [shard], "files": []},
    }
    write_manifest(folder, manifest)
    return folder
