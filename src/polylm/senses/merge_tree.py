"""Which senses of a word are one: confusion counted on text, merged as far as a granularity says.

Over the occurrences of a word let G_st = E[q_s q_t] and n_s = E[q_s]. Two senses are confused when they are used alike,
c = G_st / sqrt(G_ss G_tt), and share occurrences more often than by chance, l = G_st / (n_s n_t). The pair with the
largest min(1, sqrt(c min(l, 2))) is merged, its rows and columns added, and so on. That order does not depend on the
granularity, which only says when to stop: at 1.0 nothing is merged, and a lower value merges what a higher one does
and more.
"""

from collections.abc import Iterable
from itertools import chain, repeat
from numbers import Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from polylm.errors import UserError
from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM
from polylm.reading.layers import BOTH
from polylm.reading.readout import sense_distributions


def count_confusion(
    model: PolyLM,
    texts: Iterable[Tensor | tuple[Tensor, Tensor]],
    mask: int,
    *,
    around: Iterable[Tensor | tuple[Tensor, Tensor]] = (),
    words: Tensor | None = None,
) -> "MergeTree":
    """The merge tree of a model, counted with both layers: of read-outs in one pass the groups are not as good.

    `texts` are (B, T) word ids, or pairs of them with the segments that keep padding and packed lines apart. Of texts
    `around` some words (P,), chosen for their sake, these alone are counted.
    """
    confusion = Confusion(model.inventory)
    was_training = model.training
    model.eval()
    try:
        for text, only in chain(zip(texts, repeat(None)), zip(around, repeat(words))):
            ids, segments = text if isinstance(text, tuple) else (text, None)
            q = sense_distributions(model, ids, mask, read_out=BOTH, segments=segments)
            counted = torch.ones_like(ids, dtype=torch.bool) if segments is None else segments > 0
            if only is not None:
                counted &= torch.isin(ids, only)
            confusion.add(ids[counted], q[counted])
    finally:
        model.train(was_training)
    return confusion.merge_tree()


class Confusion:
    """Running sums of q q^T for each word of several senses."""

    def __init__(self, inventory: SenseInventory) -> None:
        self.inventory = inventory
        k, n = inventory.max_senses, len(inventory.poly_words)
        device = inventory.n_senses.device
        self.products = torch.zeros(n, k, k, dtype=torch.float64, device=device)  # sums of q_s q_t, by polysemous word
        self.sums = torch.zeros(n, k, dtype=torch.float64, device=device)  # sums of q_s
        self._place = torch.full((inventory.n_words,), -1, dtype=torch.int64, device=device)
        self._place[inventory.poly_words] = torch.arange(n, device=device)

    def add(self, words: Tensor, q: Tensor) -> None:
        """Occurrences of words (n,) with their distributions q (n, k); words of one sense are passed over."""
        device = self.sums.device
        words, q = words.flatten().to(device), q.flatten(0, -2).to(device)
        place = self._place[words]
        q, place = q[place >= 0].double(), place[place >= 0]
        self.products.index_add_(0, place, q.unsqueeze(-1) * q.unsqueeze(-2))
        self.sums.index_add_(0, place, q)

    def merge_tree(self) -> "MergeTree":
        """Means over occurrences; a word that never occurred keeps all its senses apart."""
        n = self.sums.sum(dim=-1)
        scale = 1 / n.clamp(min=1e-12)
        return MergeTree(
            self.inventory, (self.products * scale[:, None, None]).float(), (self.sums * scale[:, None]).float()
        )


class MergeTree:
    """Which senses of every word are one below which granularity.

    From G (P, k, k) and n (P, k) in the order of the inventory's polysemous words.
    """

    def __init__(self, inventory: SenseInventory, products: Tensor, shares: Tensor) -> None:
        self.counted_on = inventory  # the very object: another order of the senses has another inventory
        self.inventory = SenseInventory(  # on the CPU, wherever the model goes
            inventory.n_senses.cpu(), excluded=inventory.excluded, numbers=inventory.numbers.cpu()
        )
        inventory = self.inventory
        self.products, self.shares = products.float().cpu(), shares.float().cpu()
        self._representatives: dict[float, Tensor] = {}
        self._merges = _merge_trees(self.products.double(), self.shares.double(), inventory.poly_mask)

    def select(self, kept: Tensor, inventory: SenseInventory) -> "MergeTree":
        """The same for a model without the senses where `kept` (S,) does not hold, whose inventory is given."""
        kept = kept.cpu()
        k = inventory.max_senses
        of_word = {word: place for place, word in enumerate(self.inventory.poly_words.tolist())}
        several = inventory.poly_words.tolist()
        products, shares = torch.zeros(len(several), k, k), torch.zeros(len(several), k)
        for place, word in enumerate(several):
            first, n = int(self.inventory.first[word]), int(self.inventory.n_senses[word])
            left = kept[first : first + n].nonzero().flatten()
            old = of_word[word]
            products[place, : len(left), : len(left)] = self.products[old][left][:, left]
            shares[place, : len(left)] = self.shares[old][left]
        return MergeTree(inventory, products, shares)

    def merges(self, word: int) -> list[tuple[int, int, float]]:
        """The tree of a word: (kept, merged into it, granularity below which), places among its senses, in order."""
        place = (self.inventory.poly_words == word).nonzero().flatten().tolist()
        if not place:
            return []
        kept, gone, heights = (table[place[0]].tolist() for table in self._merges)
        return [(a, b, h) for a, b, h in zip(kept, gone, heights, strict=True) if h > 0]

    def representatives(self, granularity: float) -> Tensor:
        """(S,) for each row the row that it is counted as: the first of the senses merged with it.

        A finished model has its senses in order, so the first is the commonest.
        """
        found = self._representatives.get(granularity)
        if found is None:  # people choose one and leave it
            found = self._merge_below(granularity)
            self._representatives = {granularity: found}
        return found

    def _merge_below(self, granularity: float) -> Tensor:
        inventory = self.inventory
        kept, gone, heights = self._merges
        n, k = self.shares.shape
        target = torch.arange(k).expand(n, k).clone()  # places
        for step in range(kept.shape[1]):
            happens = heights[:, step] > granularity
            a, b = kept[:, step, None], gone[:, step, None]
            target = torch.where(happens[:, None] & (target == b), a, target)
        rows = torch.arange(inventory.n_rows)
        poly_rows, mask = inventory.poly_rows, inventory.poly_mask
        rows[poly_rows[mask]] = torch.gather(poly_rows, 1, target)[mask]
        return rows

    def merge(self, words: Tensor, q: Tensor, granularity: float) -> Tensor:
        """Distributions q (..., k) of words (...) with the shares of merged senses added to their representative."""
        here = words.cpu()
        rows, mask = self.inventory.rows(here)
        first = self.inventory.first[here].unsqueeze(-1)
        place = torch.where(mask, self.representatives(granularity)[rows] - first, 0)
        return torch.zeros_like(q).scatter_add(-1, place.to(q.device), q * mask.to(q.device))

    def merge_arrays(
        self, words: NDArray[np.integer[Any]], q: NDArray[np.float32], granularity: float
    ) -> NDArray[np.float32]:
        """The same for numpy's arrays; at 1 nothing is merged."""
        if granularity >= 1:
            return q
        found = self.merge(torch.from_numpy(words.astype(np.int64)), torch.from_numpy(q), granularity)
        array: NDArray[np.float32] = found.numpy()
        return array


def _merge_trees(products: Tensor, shares: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """All words at once: which place is kept, which merged into it, and below which granularity; (P, k - 1) each.

    Heights never rise: merging stops at the first merge that is not above it, so a later one counts no more than it.
    """
    n, k = shares.shape
    products, shares, alive = products.clone(), shares.clone(), mask.clone()
    word = torch.arange(n)
    height = torch.ones(n, dtype=products.dtype)
    steps = []
    for _ in range(max(k - 1, 0)):
        scores = _scores(products, shares, alive)  # (P, k, k)
        best, pair = scores.flatten(1).max(dim=1)
        a, b = pair // k, pair % k  # a < b: the first gives the name, which is the commonest once senses are in order
        height = torch.minimum(height, best.clamp(min=0))
        steps.append((a, b, height))
        merged = best > 0
        w, a, b = word[merged], a[merged], b[merged]
        products[w, a] += products[w, b]
        products[w, :, a] += products[w, :, b]
        shares[w, a] += shares[w, b]
        products[w, b] = 0
        products[w, :, b] = 0
        shares[w, b] = 0
        alive[w, b] = False
    if not steps:
        return (torch.zeros(n, 0, dtype=torch.int64),) * 2 + (torch.zeros(n, 0),)
    kept, gone, heights = (torch.stack(column, dim=1) for column in zip(*steps, strict=True))
    return kept, gone, heights


_NEGLIGIBLE = 1e-12  # G_ss of a sense that is never meant: float32 would lose it, and it has nothing to merge


def _scores(products: Tensor, shares: Tensor, alive: Tensor) -> Tensor:
    """min(1, sqrt(c min(l, 2))) of every pair of living senses, 0 elsewhere."""
    own = products.diagonal(dim1=-2, dim2=-1)
    alive = alive & (own > _NEGLIGIBLE)
    alike = products / (own.unsqueeze(-1) * own.unsqueeze(-2)).sqrt().clamp(min=1e-300)
    chance = products / (shares.unsqueeze(-1) * shares.unsqueeze(-2)).clamp(min=1e-300)
    scores = (alike * chance.clamp(max=2)).sqrt().clamp(max=1)
    upper = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return torch.where(upper & alive.unsqueeze(-1) & alive.unsqueeze(-2), scores, -1.0)


def checked_granularity(granularity: float, tree: MergeTree | None) -> float:
    """From 0 to 1; below 1 only for a model that knows which of its senses are confused."""
    if isinstance(granularity, bool) or not isinstance(granularity, Real) or not 0 <= granularity <= 1:
        raise UserError(f"a granularity of {granularity!r} is not between 0 and 1")
    if granularity < 1 and tree is None:
        raise UserError("this model was saved without the confusions of its senses: its granularity is 1")
    return float(granularity)
