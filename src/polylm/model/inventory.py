"""SenseInventory: which rows of E are the senses of which word.

Words are numbers, 0 to V - 1; a word's senses are consecutive rows. The number of senses is ragged, but every look-up
has static shapes: the rows of a word are padded to the largest number of senses, with a mask.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from polylm.errors import UserError


class SenseInventory(nn.Module):
    """Word -> rows of E. A module without parameters, so that its tables move to the device with the model.

    `n_senses[w]` is the number of senses of word w. `excluded` words (mask, pad, line marks) are never predicted.
    `numbers[s]` is what a sense is called, the 3 of bank#3; by default they count from 1 within a word.
    """

    n_senses: Tensor  # (V,)
    first: Tensor  # (V,) a word's first row
    word_of_sense: Tensor  # (S,)
    numbers: Tensor  # (S,)
    predicted: Tensor  # (S,) bool
    poly_words: Tensor  # (P,) words of several senses
    poly_rows: Tensor  # (P, k) their rows
    poly_mask: Tensor  # (P, k) bool
    poly_places: Tensor  # (m,) where the mask holds, of P * k
    poly_flat: Tensor  # (m,) the rows there

    def __init__(
        self,
        n_senses: Sequence[int] | Tensor,
        *,
        excluded: Sequence[int] = (),
        numbers: Sequence[int] | Tensor | None = None,
    ) -> None:
        super().__init__()
        counts = torch.as_tensor(n_senses, dtype=torch.int64)
        if counts.ndim != 1 or not len(counts) or int(counts.min()) < 1:
            raise UserError("an inventory needs at least one word, and each word at least one sense")
        self.n_words, self.n_rows, self.max_senses = len(counts), int(counts.sum()), int(counts.max())
        first = torch.cumsum(counts, 0) - counts
        word_of_sense = torch.repeat_interleave(torch.arange(self.n_words), counts)
        if numbers is None:
            numbers = torch.arange(self.n_rows) - first[word_of_sense] + 1
        named = torch.as_tensor(numbers, dtype=torch.int64)
        if named.shape != word_of_sense.shape:
            raise UserError(f"{len(named)} sense numbers were given for {self.n_rows} senses")
        predicted = torch.ones(self.n_rows, dtype=torch.bool)
        self.excluded = tuple(sorted(set(excluded)))
        for word in self.excluded:
            if not 0 <= word < self.n_words:
                raise UserError(f"word {word} cannot be excluded: there are {self.n_words} words")
            predicted[first[word] : first[word] + counts[word]] = False
        if not predicted.any():
            raise UserError("every word is excluded: there is nothing to predict")
        tables = {"n_senses": counts, "first": first, "word_of_sense": word_of_sense, "numbers": named}
        for name, table in {**tables, "predicted": predicted}.items():
            self.register_buffer(name, table, persistent=False)
        poly_words = torch.nonzero(counts > 1).flatten()
        poly_rows, poly_mask = self.rows(poly_words)
        tables = {"poly_words": poly_words, "poly_rows": poly_rows, "poly_mask": poly_mask}
        tables["poly_places"] = torch.nonzero(poly_mask.flatten()).flatten()
        tables["poly_flat"] = poly_rows.flatten()[tables["poly_places"]]
        for name, table in tables.items():
            self.register_buffer(name, table, persistent=False)

    def rows(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Rows (..., k) of the senses of words (...), and which of the k are senses; the others repeat the first."""
        place = torch.arange(self.max_senses, device=words.device)
        mask = place < self.n_senses[words].unsqueeze(-1)  # (..., k)
        return self.first[words].unsqueeze(-1) + place * mask, mask

    def select(self, kept: Tensor) -> "SenseInventory":
        """The inventory of the rows where `kept` (S,) holds. Numbers stay; every word must keep a sense."""
        counts = torch.zeros_like(self.n_senses).index_add_(0, self.word_of_sense, kept.long())
        if int(counts.min()) < 1:
            raise UserError("every word must keep at least one sense")
        return SenseInventory(counts.cpu(), excluded=self.excluded, numbers=self.numbers[kept].cpu())

    def extra_repr(self) -> str:
        """What `repr` shows."""
        return f"{self.n_words} words, {self.n_rows} senses, at most {self.max_senses} a word"

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, SenseInventory)
            and self.excluded == other.excluded
            and torch.equal(self.n_senses.cpu(), other.n_senses.cpu())
            and torch.equal(self.numbers.cpu(), other.numbers.cpu())
        )

    __hash__ = nn.Module.__hash__
