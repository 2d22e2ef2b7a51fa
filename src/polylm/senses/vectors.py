"""Sense vectors to look things up in: one row a sense, `bank#3` its name; never a mean over senses."""

import time
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from polylm.errors import UnknownKeyError, UserError
from polylm.senses.geometry import common
from polylm.senses.keys import word_of

if TYPE_CHECKING:
    from torch import Tensor

_NOT = -2.0
MANY = 4096  # rows from which neighbours are looked for in half precision first


class SenseVectors:
    """Directions of senses: without the component that all share, of length one, so a product is a cosine.

    `keys[i]` names row i of `vectors` (n, d); `shares[i]` says how often its word has this sense.
    """

    def __init__(self, keys: Sequence[str], embeddings: "Tensor", shares: NDArray[np.float32]) -> None:
        self.keys = list(keys)
        self.common = common(embeddings)
        self.vectors: NDArray[np.float32] = self.common.removed(embeddings).numpy()
        self.shares = shares

    @cached_property
    def key_to_index(self) -> dict[str, int]:
        """The row of each key."""
        return {key: index for index, key in enumerate(self.keys)}

    @cached_property
    def rows_of_word(self) -> dict[str, list[int]]:
        """The rows of each word's senses."""
        rows: dict[str, list[int]] = {}
        for row, key in enumerate(self.keys):
            rows.setdefault(word_of(key), []).append(row)
        return rows

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and (key in self.key_to_index or key.lower() in self.key_to_index)

    def __getitem__(self, key: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.vectors[self.index(key)]
        return vector

    def index(self, key: str) -> int:
        """The row of a sense."""
        if not isinstance(key, str):
            raise UnknownKeyError(f"a sense is named by a string such as bank#1, not by {key!r}")
        for form in (key, key.lower()):
            if form in self.key_to_index:
                return self.key_to_index[form]
        word = word_of(key)
        own = [other for other in self.keys if word_of(other) in (word, word.lower())]
        raise unknown_key(key, own, map(word_of, self.keys))

    def similarity(self, a: str, b: str) -> float:
        """The cosine of two senses."""
        return float(self[a] @ self[b])

    def most_similar(
        self, what: str | NDArray[np.float32], topn: int = 10, *, among: "Tensor | None" = None
    ) -> list[tuple[str, float]]:
        """The nearest senses of other words to a sense, or to a vector as `__getitem__` or an embedding gives it.

        `among` (n,) says which senses count.
        """
        if isinstance(what, str):
            return self.nearest([self.index(what)], topn, among=among)[0]
        vector = np.asarray(what, dtype=np.float32)
        scores = torch.from_numpy(self.vectors @ (vector / max(float(np.linalg.norm(vector)), 1e-9)))
        return self._best(_only(scores[None], among), [None], topn)[0]

    def nearest(
        self, rows: Sequence[int], topn: int = 10, *, among: "Tensor | None" = None
    ) -> list[list[tuple[str, float]]]:
        """The same for many rows at once."""
        neighbours: list[list[tuple[str, float]]] = []
        every = torch.from_numpy(self.vectors)
        half = every.bfloat16() if len(rows) >= MANY and _half_is_faster() else None
        for first in range(0, len(rows), 256):
            part = list(rows[first : first + 256])
            if half is None:
                neighbours += self._best(_only(every[part] @ every.T, among), part, topn)
                continue
            n = min(len(every), 8 * topn + 64)  # more than enough
            near = _only(half[part] @ half.T, among).topk(n, dim=1).indices
            cosines = torch.einsum("md,mnd->mn", every[part], every[near])
            if among is not None:
                cosines[~among[near]] = _NOT
            order = cosines.argsort(dim=1, descending=True)
            ranked = cosines.gather(1, order).tolist(), near.gather(1, order).tolist()
            for values, indices, row in zip(*ranked, part, strict=True):
                nearest_of_row = self._different_words(values, indices, row, topn)
                if len(nearest_of_row) < topn:  # many senses of few words
                    nearest_of_row = self._best(_only(every[[row]] @ every.T, among), [row], topn)[0]
                neighbours.append(nearest_of_row)
        return neighbours

    def _best(self, table: "Tensor", rows: Sequence[int | None], topn: int) -> list[list[tuple[str, float]]]:
        """Of cosines (m, n) the best senses, one a word, none of the row's own word."""
        if topn < 1:
            raise UserError(f"topn must be at least 1, not {topn}")
        n = min(table.shape[1], 4 * topn + 16)
        best = table.topk(n, dim=1)
        neighbours = []
        for i, row in enumerate(rows):
            nearest_of_row = self._different_words(best.values[i].tolist(), best.indices[i].tolist(), row, topn)
            if len(nearest_of_row) < topn and n < table.shape[1]:  # many senses of few words
                ranked = table[i].sort(descending=True)
                nearest_of_row = self._different_words(ranked.values.tolist(), ranked.indices.tolist(), row, topn)
            neighbours.append(nearest_of_row)
        return neighbours

    def _different_words(
        self, cosines: list[float], indices: list[int], row: int | None, topn: int
    ) -> list[tuple[str, float]]:
        words = set() if row is None else {word_of(self.keys[row])}
        chosen: list[tuple[str, float]] = []
        for cosine, index in zip(cosines, indices, strict=True):
            word = word_of(self.keys[index])
            if cosine > _NOT and word not in words:
                words.add(word)
                chosen.append((self.keys[index], cosine))
            if len(chosen) == topn:
                break
        return chosen

    def to_gensim(self) -> Any:
        """gensim's KeyedVectors of the same directions."""
        try:
            from gensim.models import KeyedVectors
        except ImportError:
            raise UserError("gensim is not installed: pip install 'polylm[gensim]'") from None
        vectors = KeyedVectors(self.vectors.shape[1])
        vectors.add_vectors(self.keys, self.vectors)
        return vectors


def _only(cosines: "Tensor", among: "Tensor | None") -> "Tensor":
    """Cosines (m, n), less than any can be where a sense does not count."""
    return cosines if among is None else cosines.masked_fill_(~among, _NOT)


def _half_is_faster() -> bool:
    """Whether this processor multiplies bfloat16 faster than float32; some have no instructions for it, and crawl."""
    a, b = torch.rand(256, 256), torch.rand(256, 4096)
    seconds = []
    for left, right in ((a, b), (a.bfloat16(), b.bfloat16())):
        left @ right
        began = time.perf_counter()
        left @ right
        seconds.append(time.perf_counter() - began)
    return seconds[1] < 0.6 * seconds[0]


def unknown_key(key: str, own: Sequence[str], words: Iterable[str]) -> UnknownKeyError:
    """What there is instead: senses of the word, or words like it."""
    word = word_of(key)
    if own:
        return UnknownKeyError(f"{key} is not a sense; {word} has {', '.join(own)}")
    return UnknownKeyError(f"{word!r} is not a word that the model has senses of{suggestion(word.lower(), words)}")


def suggestion(word: str, known: Iterable[str]) -> str:
    """Words that may have been meant, of those that are known, the commonest first: one slip away, else alike."""
    known = dict.fromkeys(known)
    slips = _one_slip(word) if len(word) < 40 else set()
    near = [other for other in known if other in slips][:3] if len(word) > 2 else []
    near = near or get_close_matches(word, known, n=3, cutoff=0.75)
    return f": did you mean {', '.join(near)}?" if near else ""


def _one_slip(word: str) -> set[str]:
    """What is left if a letter is lost, doubled or added, mistaken, or two are swapped."""
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    letters = "abcdefghijklmnopqrstuvwxyz'-"
    return {
        *(a + b[1:] for a, b in cuts if b),
        *(a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1),
        *(a + c + b[1:] for a, b in cuts if b for c in letters),
        *(a + c + b for a, b in cuts for c in letters),
    }
