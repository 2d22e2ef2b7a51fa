"""Which rows of E are the senses of which words: keys, shares, and what is one at a granularity."""

from collections.abc import Sequence
from functools import cached_property

import torch

from polylm.corpus.vocabulary import Vocabulary
from polylm.errors import UserError
from polylm.explore.neighbours import word_of
from polylm.model.granularity import Granularity
from polylm.model.polylm import PolyLM
from polylm.text.lemmatizer import is_word


class SenseIndex:
    """Look-ups by word number, row and key. Tables are Python lists, made when they are first asked for."""

    def __init__(self, network: PolyLM, vocabulary: Vocabulary, merging: Granularity | None) -> None:
        self.network, self.vocabulary, self.merging = network, vocabulary, merging

    @cached_property
    def is_word(self) -> list[bool]:
        """Of each symbol of the vocabulary: it is no marker, special symbol or punctuation."""
        return list(map(is_word, self.vocabulary.words))

    @cached_property
    def of_words(self) -> torch.Tensor:
        """(S,) which rows are senses of words."""
        return torch.tensor(self.is_word)[self.network.inventory.word_of_sense.cpu()]

    @cached_property
    def first(self) -> list[int]:
        """The first row of each word."""
        return self.network.inventory.first.tolist()

    @cached_property
    def n_senses(self) -> list[int]:
        """How many rows each word has."""
        return self.network.inventory.n_senses.tolist()

    @cached_property
    def shares(self) -> list[float]:
        """How often each row is meant when its word occurs."""
        return self.network.shares().tolist()

    @cached_property
    def _word_of_row(self) -> list[int]:
        return self.network.inventory.word_of_sense.tolist()

    @cached_property
    def _numbers(self) -> list[int]:
        return self.network.inventory.numbers.tolist()

    def words(self) -> list[str]:
        """All words that have senses, the commonest first."""
        return [word for word, is_word in zip(self.vocabulary.words, self.is_word, strict=True) if is_word]

    def key(self, row: int) -> str:
        return f"{self.vocabulary.words[self._word_of_row[row]]}#{self._numbers[row]}"

    def keys(self, word: int) -> list[str]:
        """Those of a word, in the order of its rows."""
        return [self.key(row) for row in self.rows(word)]

    def rows(self, word: int) -> range:
        return range(self.first[word], self.first[word] + self.n_senses[word])

    def row(self, key: str) -> int:
        for form in (key, key.lower()):
            number = self.vocabulary.get(word_of(form))
            keys = [] if number is None else self.keys(number)
            if number is not None and form in keys:
                return self.first[number] + keys.index(form)
        raise UserError(f"{key} is not a sense{f'; {word_of(key)} has ' + ', '.join(keys) if keys else ''}")

    def is_ambiguous(self, key: str) -> bool:
        """Whether a sense is one of several."""
        return self.n_senses[self._word_of_row[self.row(key)]] > 1

    def heads(self, word: int, dial: float) -> Sequence[int]:
        """For each row of a word the row that it is counted as at a granularity."""
        rows = self.rows(word)
        if len(rows) == 1 or dial >= 1 or self.merging is None:
            return rows
        return self.merging.representatives(dial)[rows.start : rows.stop].tolist()

    def are_heads(self, dial: float) -> torch.Tensor | None:
        """(n,) which senses of words (those of `SenseVectors`) there are at a granularity; none: all."""
        if dial >= 1 or self.merging is None:
            return None
        heads = self.merging.representatives(dial)
        return (heads == torch.arange(len(heads)))[self.of_words]

    def groups(self, word: int, dial: float) -> list[tuple[list[int], float]]:
        """The rows of a word that are one at a granularity, the commonest first, and the share of each group."""
        members: dict[int, list[int]] = {}
        for row, head in zip(self.rows(word), self.heads(word, dial), strict=True):
            members.setdefault(head, []).append(row)
        groups = [
            (sorted(rows, key=lambda row: (row != head, -self.shares[row])), sum(self.shares[row] for row in rows))
            for head, rows in members.items()
        ]
        return sorted(groups, key=lambda group: -group[1])
