"""SenseIndex: which rows of E are the senses of which words; keys, shares, and what is one at a granularity."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from polylm.errors import UnknownKeyError
from polylm.model.polylm import PolyLM
from polylm.senses.keys import make_key, split_key, word_of
from polylm.senses.merge_tree import MergeTree
from polylm.senses.vectors import unknown_key
from polylm.text.lemmatizer import is_word
from polylm.text.vocabulary import Vocabulary


class SenseArrays(NamedTuple):
    """What an index knows of words, by their numbers, as arrays."""

    first: NDArray[np.int64]  # a word's first row
    n_senses: NDArray[np.int64]
    is_word: NDArray[np.bool_]


class SenseIndex:
    """Look-ups by word number, row and key, in Python lists."""

    def __init__(self, network: PolyLM, vocabulary: Vocabulary, merge_tree: MergeTree | None) -> None:
        self.network, self.vocabulary, self.merge_tree = network, vocabulary, merge_tree
        inventory = network.inventory
        self.first: list[int] = inventory.first.tolist()  # of each word, its first row
        self.n_senses: list[int] = inventory.n_senses.tolist()  # and how many it has
        self.numbers: list[int] = inventory.numbers.tolist()  # of each row, the 3 of bank#3
        self._n_heads: tuple[float, list[int]] = (-1.0, [])
        self._keys: dict[int, str] = {}  # those that were asked for
        self._word_of_row: list[int] = inventory.word_of_sense.tolist()

    @cached_property
    def is_word(self) -> list[bool]:
        """Of each symbol of the vocabulary: it is no marker, special symbol or punctuation."""
        return list(map(is_word, self.vocabulary.words))

    @cached_property
    def arrays(self) -> SenseArrays:
        """For many words at once."""
        return SenseArrays(*map(np.array, (self.first, self.n_senses, self.is_word)))

    @cached_property
    def of_words(self) -> torch.Tensor:
        """(S,) which rows are senses of words."""
        return torch.tensor(self.is_word)[self.network.inventory.word_of_sense.cpu()]

    @cached_property
    def shares(self) -> list[float]:
        """How often each row is meant when its word occurs."""
        return self.network.shares().tolist()

    def words(self) -> list[str]:
        """All words that have senses, the commonest first."""
        return [word for word, is_word in zip(self.vocabulary.words, self.is_word, strict=True) if is_word]

    def key(self, row: int) -> str:
        """The name of a row."""
        key = self._keys.get(row)
        if key is None:
            key = self._keys[row] = make_key(self.vocabulary.words[self._word_of_row[row]], self.numbers[row])
        return key

    def keys(self, word: int) -> list[str]:
        """Those of a word, in the order of its rows."""
        return [self.key(row) for row in self.rows(word)]

    def rows(self, word: int) -> range:
        """The rows of a word."""
        return range(self.first[word], self.first[word] + self.n_senses[word])

    def row(self, key: str) -> int:
        """The row that a key names, in capitals too."""
        if not isinstance(key, str):
            raise UnknownKeyError(f"a sense is named by a string such as bank#1, not by {key!r}")
        known: list[str] = []
        for form in (key, key.lower()):
            word, parts = self.vocabulary.get(word_of(form)), split_key(form)
            if word is None:
                continue
            for row in self.rows(word):
                if parts is not None and self.numbers[row] == parts.number:
                    return row
            known = self.keys(word)
        raise unknown_key(key, known, self.words())

    def word_of_row(self, row: int) -> int:
        """The number of the word that a row is a sense of."""
        return self._word_of_row[row]

    def is_ambiguous(self, key: str) -> bool:
        """Whether a sense is one of several."""
        return self.n_senses[self._word_of_row[self.row(key)]] > 1

    def heads(self, word: int, granularity: float) -> Sequence[int]:
        """For each row of a word the row that it is counted as at a granularity."""
        rows = self.rows(word)
        if len(rows) == 1 or granularity >= 1 or self.merge_tree is None:
            return rows
        return self.merge_tree.representatives(granularity)[rows.start : rows.stop].tolist()

    def are_heads(self, granularity: float) -> torch.Tensor | None:
        """(n,) which senses of words (those of `SenseVectors`) there are at a granularity; none: all."""
        if granularity >= 1 or self.merge_tree is None:
            return None
        heads = self.merge_tree.representatives(granularity)
        return (heads == torch.arange(len(heads)))[self.of_words]

    def n_heads(self, granularity: float) -> list[int]:
        """How many senses each word has at a granularity."""
        if self.merge_tree is None or granularity >= 1:
            return self.n_senses
        at, counts = self._n_heads
        if at != granularity:  # people choose one and leave it
            heads = self.merge_tree.representatives(granularity).unique()  # type: ignore[no-untyped-call]
            words = self.network.inventory.word_of_sense.cpu()[heads]
            counts = torch.bincount(words, minlength=len(self.first)).tolist()
            self._n_heads = granularity, counts  # both at once: threads may ask for different ones
        return counts

    def groups(self, word: int, granularity: float) -> list[tuple[list[int], float]]:
        """The rows of a word that are one at a granularity, the commonest first, and the share of each group."""
        members: dict[int, list[int]] = {}
        for row, head in zip(self.rows(word), self.heads(word, granularity), strict=True):
            members.setdefault(head, []).append(row)
        groups = [
            (sorted(rows, key=lambda row: (row != head, -self.shares[row])), sum(self.shares[row] for row in rows))
            for head, rows in members.items()
        ]
        return sorted(groups, key=lambda group: -group[1])

    def group(self, key: str, granularity: float) -> list[str]:
        """The senses that one stands for at a granularity, itself first; where another stands for it, it alone."""
        row = self.row(key)
        for rows, _ in self.groups(self._word_of_row[row], granularity):
            if rows[0] == row:
                return [self.key(member) for member in rows]
        return [self.key(row)]
