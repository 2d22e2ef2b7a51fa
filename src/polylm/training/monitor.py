"""What is seen of a run: a line now and then, JSONL always, TensorBoard where it is installed.

Also what can be computed of a model in passing: how many senses are alive, and the neighbours of watched words.
"""

import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from polylm.atomic import write_bytes
from polylm.model.config import ModelConfig
from polylm.model.geometry import directions
from polylm.model.polylm import PolyLM
from polylm.symbols import SPECIAL

LOG = "log.jsonl"


class Monitor:
    """Writes records. On a terminal the progress line is rewritten; in a pipe a line is printed every few seconds."""

    def __init__(self, out: Path, *, quiet: bool = False, interval: float = 10.0, board: bool = True) -> None:
        self.path = out / LOG
        self.quiet = quiet
        self._interval = interval
        self._last = -math.inf
        self._live = sys.stderr.isatty()
        self._board = _tensorboard(out) if board else None

    def go_on_from(self, step: int, *, split: bool) -> None:
        """Forget what was logged after a step, and a split that is not in its state: they will be done again."""
        if not self.path.exists():
            return
        kept = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
                if record.get("step", 0) < step or (record.get("step") == step and (split or not record.get("split"))):
                    kept.append(line + "\n")
            except (ValueError, AttributeError):
                continue  # cut off by a kill
        write_bytes(self.path, "".join(kept).encode())

    def log(self, record: dict[str, Any]) -> None:
        """One record, a line of JSON; numbers that are not finite are null."""
        clean = {key: _plain(value) for key, value in record.items()}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(clean) + "\n")
        if self._board is not None:
            for key, value in clean.items():
                if isinstance(value, int | float) and key != "step":
                    self._board.add_scalar(key, value, clean.get("step", 0))

    def show(self, text: str, *, always: bool = False) -> None:
        """A line for people, on standard error."""
        now = time.monotonic()
        if self.quiet or (not always and not self._live and now - self._last < self._interval):
            return
        if not always:  # what is said anyway does not put off the line that is due
            self._last = now
        if self._live:
            print(f"\r\x1b[K{text}", end="\n" if always else "", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._live and not self.quiet:
            print(file=sys.stderr)
        if self._board is not None:
            self._board.close()


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _tensorboard(out: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(out / "tensorboard"))


@torch.no_grad()
def sense_counts(model: PolyLM) -> dict[str, float]:
    """Effective senses of a word of several, and how many senses are dead."""
    several = model.inventory.poly_words
    if not len(several):
        return {"effective_senses": 1.0, "dead_senses": 0.0}
    return {
        "effective_senses": model.mean_effective_senses(),
        "dead_senses": float(model.dead_senses().sum()) / max(int(model.inventory.n_senses[several].sum()), 1),
    }


@torch.no_grad()
def neighbours(model: PolyLM, word: int, words: Sequence[str], topn: int = 5) -> list[str]:
    """For each living sense of a word its share and the nearest senses of other words."""
    inventory = model.inventory
    vectors = directions(model.embeddings.detach().float())
    shares, dead = model.shares(), model.dead_senses()
    first, n = int(inventory.first[word]), int(inventory.n_senses[word])
    usable = ~dead & inventory.predicted
    usable[: int(inventory.first[len(SPECIAL)])] = False
    lines = []
    for row in sorted(range(first, first + n), key=lambda row: -float(shares[row])):
        if dead[row]:
            continue
        similarity: Tensor = (vectors @ vectors[row]).masked_fill(~usable, -1)
        similarity[first : first + n] = -1
        near: list[str] = []
        for other in similarity.topk(min(topn * 4, len(similarity))).indices.tolist():
            name = words[int(inventory.word_of_sense[other])]
            if name not in near and len(near) < topn:
                near.append(name)
        lines.append(f"{words[word]}#{row - first + 1} {float(shares[row]):.0%}: {' '.join(near)}")
    return lines


def flops_per_token(config: ModelConfig, n_senses: int, mask_rate: float, *, phase_one: bool = False) -> float:
    """Arithmetic that a token of training takes: three times forward; products of matrices and attention alone."""
    d, length = config.d_model, config.max_length
    layer = 2 * (4 * d * d + 2 * d * config.d_filter) + 4 * length * d
    encoders = config.n_layers_p * layer
    if not phase_one and config.disambiguation:
        encoders += 2 * config.n_layers_d * layer
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
