"""Batches made on the device: random windows of a text that lies there whole, a fixed number of targets a window.

Everything random is a function of the seed and of the number of the step alone, and is drawn for the whole batch of all
devices, of which each takes its rows. So a run that was stopped goes on as if it had not been, and two devices see what
one would have seen.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from polylm.corpus.shards import PreparedCorpus
from polylm.errors import UserError
from polylm.model.inventory import SenseInventory
from polylm.symbols import LINE_ID, MASK_ID, SPECIAL
from polylm.training.config import BatchConfig
from polylm.training.distributed import Ranks
from polylm.training.pieces import cut_windows

_BLOCK = 8192  # ids that are held out together
_READ_ROWS = 256  # windows that are read at a time where nothing is learned
_LOOK = 1 << 24  # ids that are looked through at a time


@dataclass(frozen=True)
class Batch:
    """What `PolyLM.forward` takes. n targets a row; `weights` 0 where fewer are wanted."""

    masked: Tensor  # (B, T)
    words: Tensor  # (B, T)
    targets: Tensor  # (B n,) places in B * T
    weights: Tensor  # (B n,)
    segments: Tensor | None  # (B, T), where lines are respected, or some windows are cut into pieces
    totals: tuple[Tensor, Tensor]  # targets and polysemous targets of the whole step

    @property
    def texts(self) -> tuple[Tensor, Tensor, Tensor]:
        """What a model takes by position."""
        return self.masked, self.words, self.targets

    @property
    def about(self) -> dict[str, Tensor | None]:
        """And by name."""
        return {"weights": self.weights, "segments": self.segments}


class Text:
    """The ids of a corpus, on a device where they fit, else in pinned memory; some blocks are held out."""

    def __init__(self, train: Tensor, held: Tensor) -> None:
        self.train, self.held = train, held

    @classmethod
    def load(cls, corpus: PreparedCorpus, held_out: float, length: int, device: torch.device) -> "Text":
        """Blocks are held out at even distances, so that every source is among them."""
        ids = np.concatenate([np.asarray(shard) for shard in corpus.shards]) if corpus.shards else np.zeros(0, "<u2")
        block = min(_BLOCK, max(length, len(ids) // 64))
        n_blocks = len(ids) // block
        n_held = min(max(round(n_blocks * held_out), 1), n_blocks // 2) if held_out else 0
        if held_out and not n_held:
            raise UserError(f"{corpus.folder} has {len(ids):,} ids, too few for windows of {length}: prepare more text")
        held = np.zeros(len(ids), dtype=bool)
        for number in range(n_held):
            start = (2 * number + 1) * n_blocks // (2 * n_held) * block
            held[start : start + block] = True
        if (~held).sum() < length + 1:
            raise UserError(f"{corpus.folder} has {len(ids):,} ids, too few for windows of {length}: prepare more text")
        return cls(_placed(ids[~held], device), _placed(ids[held], device))

    def windows(self, starts: Tensor, length: int, device: torch.device, *, held: bool = False) -> Tensor:
        """(n, length) ids as int64, from where each window begins."""
        source = self.held if held else self.train
        places = starts.to(source.device).unsqueeze(1) + torch.arange(length, device=source.device)
        return _whole(source[places].to(device, non_blocking=True))

    def ids(self, part: slice) -> Tensor:
        """Some of the training text, as int64."""
        return _whole(self.train[part])


def _whole(ids: Tensor) -> Tensor:
    return ids.to(torch.int64) & (0xFFFF if ids.dtype == torch.int16 else -1)


def _placed(ids: np.ndarray, device: torch.device) -> Tensor:
    """uint16 is kept as int16 of the same bits: torch can index it everywhere."""
    tensor = torch.from_numpy(ids.view(np.int16) if ids.dtype.itemsize == 2 else ids.astype(np.int32))
    if device.type != "cuda":
        return tensor
    free, _ = torch.cuda.mem_get_info(device)
    return tensor.to(device) if tensor.nbytes < free / 2 else tensor.pin_memory()


class Batches:
    """The batch of each step. `rank` of `n_ranks` devices takes its share of the rows."""

    def __init__(
        self,
        text: Text,
        config: BatchConfig,
        *,
        seed: int,
        length: int,
        inventory: SenseInventory,
        device: torch.device,
        counts: Sequence[int] | None = None,
        ranks: Ranks = Ranks(),  # noqa: B008  (it cannot be changed)
        ends: Tensor | None = None,  # (V,) after which words a window may be cut; none: after line marks
    ) -> None:
        self.text, self.config, self.length, self.seed, self.device = text, config, length, seed, device
        self.n_words, self.rank, self.n_ranks = inventory.n_words, ranks.rank, ranks.n_ranks
        self.set_senses(inventory)
        self.predicted = inventory.predicted[inventory.first].to(device)  # (V,)
        self.ends = (torch.arange(self.n_words) == LINE_ID if ends is None else ends).to(device)
        self.chances = _chances(config.subsample, counts, self.predicted)
        self.n_rows = max(config.batch_tokens // length, 1)
        parts = self.n_ranks * config.accumulate
        if self.n_rows % parts:
            raise UserError(
                f"a batch of {self.n_rows} windows cannot be cut into {parts} equal parts: change batch_tokens"
            )
        highest = max(config.mask_rate, config.mask_rate_start or 0)
        self.n_targets = max(round(length * highest), 1)
        self._epoch, self._order = -1, torch.zeros(0, dtype=torch.int64)
        self.n_windows = (len(text.train) - 1) // length  # of every epoch, whatever its offset
        if self.n_windows < 1:
            raise UserError("the text is shorter than one window: prepare more of it")

    def set_senses(self, inventory: SenseInventory) -> None:
        """Which words have several senses now: after the split others do."""
        self.polysemous = (inventory.n_senses > 1).to(self.device)  # (V,)

    def generator(self, *numbers: int) -> torch.Generator:
        """One stream for each purpose and step."""
        seed = int(np.random.SeedSequence([self.seed, *numbers]).generate_state(1, np.uint64)[0]) >> 1
        return torch.Generator(self.device).manual_seed(seed)

    def starts(self, step: int) -> Tensor:
        """Where the windows of a step begin: every epoch has another offset and another order."""
        at, end = step * self.n_rows, (step + 1) * self.n_rows
        parts: list[Tensor] = []
        while at < end:
            epoch, index = divmod(at, self.n_windows)
            parts.append(self._order_of(epoch)[index : index + end - at])
            at += len(parts[-1])
        return torch.cat(parts)

    def _order_of(self, epoch: int) -> Tensor:
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed(int(self.generator(0, epoch).initial_seed()))
            room = len(self.text.train) - self.n_windows * self.length
            offset = int(torch.randint(room + 1, (), generator=generator))
            order = torch.randperm(self.n_windows, generator=generator) * self.length + offset
            self._epoch, self._order = epoch, order.to(self.device)
        return self._order

    def step(self, step: int, mask_rate: float, *, to_read: bool = False, pieces: float = 0.0) -> Iterator[Batch]:
        """The parts of a step's batch, of this device: as many as gradients are accumulated over.

        `to_read`: targets are words of several senses alone, and all of them are masked. `pieces`: this share of the
        windows is cut into short texts.
        """
        words = self.text.windows(self.starts(step), self.length, self.device)
        generator = self.generator(1, step)
        segments = _segments(words) if self.config.respect_lines else None
        if pieces > 0:
            words, segments = cut_windows(words, self.ends, pieces, generator, segments)
        places, masked, weights = self._mask(words, mask_rate, generator, to_read=to_read)
        at = torch.gather(words, 1, places)  # (rows, n)
        counted = weights * self.predicted[at]
        totals = counted.sum(), (counted * self.polysemous[at]).sum()
        n = self.n_rows // (self.n_ranks * self.config.accumulate)
        for part in range(self.config.accumulate):
            first = (self.rank * self.config.accumulate + part) * n
            rows = slice(first, first + n)
            flat = (places[rows] + torch.arange(n, device=self.device).unsqueeze(1) * self.length).flatten()
            yield Batch(
                masked[rows],
                words[rows],
                flat,
                weights[rows].flatten(),
                None if segments is None else segments[rows],
                totals,
            )

    def _mask(
        self, words: Tensor, mask_rate: float, generator: torch.Generator, *, to_read: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Places (rows, n) of targets, the text with 80 / 10 / 10 of them changed, and weights (rows, n)."""
        n = max(round(self.length * mask_rate), 1) if to_read else self.n_targets
        eligible = self.predicted & self.polysemous if to_read else self.predicted
        lots = torch.rand(words.shape, generator=generator, device=self.device)
        if self.chances is not None:  # the first of exponential clocks: without replacement, in proportion
            lots = -torch.log1p(-lots) / self.chances[words]
        lots = lots.masked_fill(~eligible[words], torch.inf)  # line marks come last, and have no weight
        places = lots.topk(n, dim=1, largest=False).indices
        wanted = self.length * mask_rate
        chance = torch.rand((), generator=generator, device=self.device)
        number = torch.arange(n, device=self.device)
        used = (number + chance < wanted).expand_as(places)  # on average `wanted` of them, or all
        used = used & torch.gather(lots, 1, places).isfinite()
        what = torch.rand(places.shape, generator=generator, device=self.device)
        other = torch.randint(len(SPECIAL), self.n_words, places.shape, generator=generator, device=self.device)
        now = torch.gather(words, 1, places)
        new = torch.where(what < 0.8, MASK_ID, torch.where(what < 0.9, now, other))
        if to_read:
            new = torch.full_like(now, MASK_ID)
        masked = words.scatter(1, places, torch.where(used, new, now))
        return places, masked, used.float()

    def held_out(self, n_tokens: int, *, to_read: bool = False) -> Iterator[Batch]:
        """Held-out text, every seventh word or so masked, always the same; or words of several senses alone."""
        rows = min(len(self.text.held) // self.length, max(n_tokens // self.length, 1))
        per_part = min(self.n_rows, _READ_ROWS)
        n = max(round(self.length * 0.15), 1)  # whatever the rate of training
        generator = self.generator(2)
        for first in range(0, rows, per_part):
            starts = torch.arange(first, min(first + per_part, rows)) * self.length
            words = self.text.windows(starts, self.length, self.device, held=True)
            lots = torch.rand(words.shape, generator=generator, device=self.device)
            lots = lots.masked_fill(~(self.predicted & self.polysemous if to_read else self.predicted)[words], 2.0)
            places = lots.topk(n, dim=1, largest=False).indices
            weights = (torch.gather(lots, 1, places) < 1.5).float()
            masked = words.scatter(1, places, MASK_ID)
            flat = (places + torch.arange(len(words), device=self.device).unsqueeze(1) * self.length).flatten()
            segments = _segments(words) if self.config.respect_lines else None
            totals = weights.sum(), (weights * self.polysemous[torch.gather(words, 1, places)]).sum()
            yield Batch(masked, words, flat, weights.flatten(), segments, totals)

    def windows(self, n_tokens: int, purpose: int) -> Iterator[Tensor | tuple[Tensor, Tensor]]:
        """Random windows of training text, for a purpose: the split (1), confusions (2), substitutes (3), ranges (5).

        With their segments where lines are respected. How many at a time does not depend on the number of devices.
        """
        generator = self.generator(3, purpose)
        rows = min(self.n_rows, _READ_ROWS)
        for _ in range(max(n_tokens // (rows * self.length), 1)):
            starts = torch.randint(
                len(self.text.train) - self.length + 1, (rows,), generator=generator, device=self.device
            )
            words = self.text.windows(starts, self.length, self.device)
            yield (words, _segments(words)) if self.config.respect_lines else words

    def windows_with(self, words: Tensor, n: int) -> Iterator[Tensor | tuple[Tensor, Tensor]]:
        """Windows of training text around up to n occurrences of each of some words (P,), in random order."""
        train, length, generator = self.text.train, self.length, self.generator(3, 6)
        wanted = torch.zeros(self.n_words, dtype=torch.bool, device=train.device)
        wanted[words.to(train.device)] = True
        found = []
        for first in range(0, len(train), _LOOK):
            ids = self.text.ids(slice(first, first + _LOOK))
            at = wanted[ids].nonzero().flatten()
            found.append(torch.stack((ids[at], at + first)))
        word, place = torch.cat(found, dim=1).to(self.device)
        mixed = torch.randperm(len(word), generator=generator, device=self.device)
        word, place = word[mixed], place[mixed]
        word, order = torch.sort(word, stable=True)
        chosen = torch.arange(len(word), device=self.device) - torch.searchsorted(word, word) < n
        starts = (place[order][chosen] - length // 2).clamp(0, len(train) - length)
        starts = starts[torch.randperm(len(starts), generator=generator, device=self.device)]
        for some in torch.split(starts, min(self.n_rows, _READ_ROWS)):
            ids = self.text.windows(some, length, self.device)
            yield (ids, _segments(ids)) if self.config.respect_lines else ids


def _chances(subsample: float | None, counts: Sequence[int] | None, predicted: Tensor) -> Tensor | None:
    """(V,) how often a word is a target beside others, as word2vec chooses its words; none: all alike."""
    if subsample is None or counts is None:
        return None
    own = torch.as_tensor(counts).to(predicted.device).float() * predicted
    frequency = own / own.sum().clamp(min=1)
    return (subsample / frequency.clamp(min=1e-12)).sqrt().clamp(max=1)


def _segments(words: Tensor) -> Tensor:
    """(B, T) numbers from 1: a line mark belongs to the line that it ends."""
    ends = (words == LINE_ID).to(torch.int64)
    return torch.cumsum(ends, dim=1) - ends + 1
