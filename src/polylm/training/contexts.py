"""Contexts of words: what the prediction layer makes of places where they are masked."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from polylm.model.polylm import PolyLM

PART = 1 << 24  # ids of a corpus that are looked at together
RATE = 0.15  # of the words of a text are masked at a time


class Contexts(NamedTuple):
    """y^P where each of P words is masked."""

    words: Tensor  # (P,)
    vectors: Tensor  # (P, n, d)
    counts: Tensor  # (P,) how many of the n each has

    def select(self, chosen: Tensor) -> "Contexts":
        """Those of some of the words."""
        return Contexts(self.words[chosen], self.vectors[chosen], self.counts[chosen])


@torch.no_grad()
def collect(
    model: PolyLM,
    texts: Iterable[Tensor | tuple[Tensor, Tensor]],
    words: Tensor,
    n_vectors: int,
    mask: int,
    rate: float = RATE,
    most: int | None = None,
) -> Contexts:
    """Up to `n_vectors` contexts of each word; `most`: no more ids are read.

    Of every text, words that have too few yet are masked, at most as many as in training, evenly.
    """
    device = model.embeddings.device
    words = words.to(device)
    place = torch.full((model.inventory.n_words,), -1, dtype=torch.int64, device=device)
    place[words] = torch.arange(len(words), device=device)
    kind = torch.float16 if device.type == "cuda" else torch.float32  # of many words it is gigabytes
    outputs = torch.zeros(len(words), n_vectors, model.config.d_model, device=device, dtype=kind)
    counts = torch.zeros(len(words), dtype=torch.int64, device=device)
    if not len(words):
        return Contexts(words, outputs, counts)
    n_read = 0
    for number, text in enumerate(texts):
        ids, segments = text if isinstance(text, tuple) else (text, None)
        of = place[ids]  # (B, T)
        wanted = (of >= 0) & (counts[of.clamp(min=0)] < n_vectors)
        rows = wanted.any(dim=1).nonzero().flatten()  # the others need not be read
        if most is not None and n_read > most:
            break
        if not len(rows):
            if bool((counts >= n_vectors).all()):
                break
            continue
        n_read += len(rows) * ids.shape[1]
        ids, of, wanted = ids[rows], of[rows], wanted[rows]
        segments = None if segments is None else segments[rows]
        n = max(round(ids.shape[1] * rate), 1)
        lots = _lots(ids, number).masked_fill(~wanted, 2.0)
        chosen = lots.argsort(dim=1)[:, :n]  # (B, n)
        used = torch.gather(lots, 1, chosen) < 1.5
        now = torch.gather(ids, 1, chosen)
        masked = ids.scatter(1, chosen, torch.where(used, mask, now))
        at = (chosen + torch.arange(len(ids), device=device).unsqueeze(1) * ids.shape[1])[used]
        more = torch.cat((at, at.new_zeros(-len(at) % 64)))  # few shapes, for each of which something is made and kept
        vectors = model.outputs_at(masked, more, segments)[: len(at)].to(kind)
        which = place[now[used]]  # (m,)
        order = torch.argsort(which, stable=True)
        which, vectors = which[order], vectors[order]
        first = torch.searchsorted(which, which)  # where each word's run begins
        slot = counts[which] + torch.arange(len(which), device=device) - first
        fits = slot < n_vectors
        outputs[which[fits], slot[fits]] = vectors[fits]
        counts.index_add_(0, which[fits], torch.ones_like(which[fits]))
    return Contexts(words, outputs, counts)


def _lots(words: Tensor, number: int) -> Tensor:
    generator = torch.Generator(words.device).manual_seed(7919 + number)
    return torch.rand(words.shape, generator=generator, device=words.device)


def until_met(
    texts: Iterable[Tensor | tuple[Tensor, Tensor]], words: Tensor, n: int, *, n_words: int, most: int
) -> Iterator[Tensor | tuple[Tensor, Tensor]]:
    """Of texts the rows that have one of some words (P,) which was met less than n times, until `most` ids were read.

    There are `n_words` words in all.
    """
    n_read, met = 0, torch.zeros(n_words, dtype=torch.int64, device=words.device)
    lacking = torch.zeros(n_words, dtype=torch.bool, device=words.device)
    lacking[words] = True
    for text in texts:
        if n_read >= most or not bool(lacking.any()):
            return
        ids, segments = text if isinstance(text, tuple) else (text, None)
        rows = lacking[ids].any(dim=1).nonzero().flatten()
        if not len(rows):
            continue
        ids = ids[rows]
        n_read += ids.numel()
        met += torch.bincount(ids.flatten(), minlength=n_words)
        lacking &= met < n
        yield ids if segments is None else (ids, segments[rows])


def windows_with(
    ids: NDArray[Any], words: NDArray[np.int64], n: int, length: int, *, rate: float = RATE, together: int = 48
) -> Iterator[Tensor]:
    """Windows (B, length) of a text that hold each word n times, or as often as it occurs; hardly more than needed.

    The rarest words choose first, and what comes along with them counts, as far as `collect` can mask it.
    """
    rng, most = np.random.default_rng(0), max(round(length * rate), 1)
    grid = ids[: len(ids) // length * length].reshape(-1, length)
    text = grid.reshape(-1)
    place = np.full(int(max(ids.max(initial=0), words.max(initial=0))) + 1, -1, dtype=np.int32)
    place[words] = np.arange(len(words))
    parts = range(0, len(text), PART)
    at = np.concatenate([np.zeros(0, np.int64), *(b + np.flatnonzero(place[text[b : b + PART]] >= 0) for b in parts)])
    rng.shuffle(at)
    of = place[text[at]]
    order = np.argsort(of, kind="stable")
    rows = (at[order] // length).astype(np.int64)
    starts = np.searchsorted(of[order], np.arange(len(words) + 1))
    chosen = np.zeros(len(grid), dtype=bool)
    found = np.zeros(len(words), dtype=np.int64)
    for word in np.argsort(np.diff(starts), kind="stable").tolist():
        lacking = n - int(found[word])
        if lacking <= 0:
            continue
        own = rows[starts[word] : starts[word + 1]]
        new = np.unique(own[~chosen[own]][:lacking])
        chosen[new] = True
        held = place[grid[new]]
        lots = np.where(held >= 0, rng.random(held.shape), 2.0)
        held = np.take_along_axis(held, np.argsort(lots, axis=1)[:, :most], axis=1)
        np.add.at(found, held[held >= 0], 1)
    used = np.flatnonzero(chosen)
    rng.shuffle(used)
    for first in range(0, len(used), together):
        yield torch.from_numpy(grid[used[first : first + together]].astype(np.int64))
