"""Vocabulary: the symbols that a corpus and a model share, and their ids; `vocabulary.tsv`. Needs Python alone."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from polylm.errors import UserError
from polylm.symbols import SPECIAL

VOCABULARY = "vocabulary.tsv"


class Vocabulary(Mapping[str, int]):
    """Symbol -> id, with the count and the number of senses of each."""

    def __init__(self, words: Sequence[str], counts: Sequence[int], n_senses: Sequence[int]) -> None:
        if not len(words) == len(counts) == len(n_senses):
            raise ValueError("words, counts and numbers of senses must be of one length")
        if tuple(words[: len(SPECIAL)]) != SPECIAL:
            raise ValueError(f"a vocabulary begins with {' '.join(SPECIAL)}")
        self.words = list(words)
        self.counts = list(counts)
        self.n_senses = list(n_senses)
        self._id_of = {word: index for index, word in enumerate(self.words)}
        if len(self._id_of) != len(self.words):
            twice = next(word for index, word in enumerate(self.words) if self._id_of[word] != index)
            raise ValueError(f"{twice!r} is in the vocabulary twice")

    def __getitem__(self, word: str) -> int:
        return self._id_of[word]

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def count(self, word: str) -> int:
        """How often a word of the vocabulary occurs in the text it was made from."""
        return self.counts[self._id_of[word]]

    def to_bytes(self) -> bytes:
        """`word<TAB>count<TAB>senses` a line, the id being the line's number from 0."""
        rows = zip(self.words, self.counts, self.n_senses, strict=True)
        return "".join(f"{word}\t{count}\t{senses}\n" for word, count, senses in rows).encode("utf-8", "surrogatepass")

    @property
    def sha256(self) -> str:
        """Of the file, as manifests name it."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @classmethod
    def load(cls, path: str | Path) -> "Vocabulary":
        """Read a `vocabulary.tsv`."""
        try:
            lines = Path(path).read_bytes().decode("utf-8", "surrogatepass").split("\n")
            rows = [line.split("\t") for line in lines if line]
            return cls([row[0] for row in rows], [int(row[1]) for row in rows], [int(row[2]) for row in rows])
        except (OSError, ValueError, IndexError) as error:
            raise UserError(f"{path} could not be read as a vocabulary: {error}") from None
