"""Many lines of text to symbols, at speed: what `pipeline.py` does for one text, without offsets.

Text repeats itself, so each step asks first whether it has seen the piece before: a piece of text between two spaces
is cut into words once, a word's letters are looked at once, a (word, tag) is lemmatised once. What is left for every
word is a few numpy gathers and the tagger's matrix products. A symbol is a string that may become a word of the
vocabulary: a lemma or surface form in lower case, an inflection marker, or the mark that ends a line.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polylm.symbols import LINE
from polylm.text.lemmatizer import INFLECTIONS, MARKERS, Lemmatizer
from polylm.text.tagger import Tagger
from polylm.text.tokenizer import cut

_KINDS = (None, *INFLECTIONS)  # what the lemma of a word depends on: an inflectional tag, or none


class _Numbering(dict[str, int]):
    """Numbers new keys as they are looked up."""

    def __missing__(self, key: str) -> int:
        number = self[key] = len(self)
        return number


class _Column:
    """A growing one-dimensional array."""

    def __init__(self, dtype: Any) -> None:
        self._data = np.zeros(1024, dtype=dtype)
        self._length = 0

    def extend(self, values: Sequence[int] | NDArray[Any]) -> None:
        end = self._length + len(values)
        if end > len(self._data):
            self._data = np.concatenate([self._data, np.zeros(max(end, len(self._data)), dtype=self._data.dtype)])
        self._data[self._length : end] = values
        self._length = end

    @property
    def values(self) -> NDArray[Any]:
        return self._data[: self._length]


class Analyzer:
    """Turns lines into arrays of symbol numbers; `symbols` has the strings.

    Without a tagger words are read as they stand, in lower case. `max_remembered` bounds the memory: when more distinct
    pieces are known at the start of a call, or very long ones, everything is forgotten, and symbols are numbered anew.
    """

    def __init__(self, tagger: Tagger | None, lemmatizer: Lemmatizer | None, max_remembered: int = 400_000) -> None:
        if (tagger is None) != (lemmatizer is None):
            raise ValueError("a tagger and a lemmatizer go together")
        self._tagger = tagger
        self._lemmatizer = lemmatizer
        self._max_remembered = max_remembered
        if tagger is not None:
            self._kind_of_tag = np.array(
                [_KINDS.index(tag) if tag in INFLECTIONS else 0 for tag in tagger.tags], dtype=np.intp
            )
        self._marker_of_kind = np.array(
            [0] + [1 + MARKERS.index(marker) for marker, _ in INFLECTIONS.values()], dtype=np.int32
        )
        self._forget()

    def _forget(self) -> None:
        self._symbol_of = _Numbering()
        for fixed in (LINE, *MARKERS):
            self._symbol_of[fixed]
        self._piece_of = _Numbering()
        self._n_characters = 0  # of all pieces
        self._n_pieces = 0  # those below this number have been cut
        self._piece_start = _Column(np.int64)  # a piece's words are words[start : start + length]
        self._piece_length = _Column(np.int64)
        self._words = _Column(np.int32)  # rows of the tagger; symbols where there is none
        self._norms: list[str] = []  # by row
        self._splits = _Column(np.bool_)  # by row: may have a marker
        self._symbol = np.full((1024, len(_KINDS)), -1, dtype=np.int32)  # by row and kind; -1: not asked yet
        if self._tagger is not None:
            self._tagger.forget()

    @property
    def symbols(self) -> list[str]:
        """The strings, in the order of their numbers, that the last call used."""
        return list(self._symbol_of)

    def __call__(self, lines: Iterable[str]) -> NDArray[np.int32]:
        """The symbols of the lines that hold any, each line ended by symbol 0."""
        if len(self._piece_of) > self._max_remembered or self._n_characters > 40 * self._max_remembered:
            self._forget()
        parts = [self._analyze(batch) for batch in _batches(lines)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)

    def _analyze(self, lines: list[list[str]]) -> NDArray[np.int32]:
        lookup: Callable[[str], int] = self._piece_of.__getitem__
        n_pieces = np.array([len(line) for line in lines])
        pieces = np.fromiter(map(lookup, chain.from_iterable(lines)), dtype=np.intp, count=int(n_pieces.sum()))
        self._cut_new_pieces()

        lengths = self._piece_length.values[pieces]
        ends = np.cumsum(lengths)
        within = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
        words = self._words.values[np.repeat(self._piece_start.values[pieces], lengths) + within]
        line_lengths = np.add.reduceat(lengths, np.cumsum(n_pieces) - n_pieces)
        line_of_word = np.repeat(np.arange(len(lines)), line_lengths)
        if self._tagger is None:
            symbols = np.zeros(len(words) + len(lines), dtype=np.int32)
            symbols[np.arange(len(words)) + line_of_word] = words
            return symbols

        kinds = self._kind_of_tag[self._tagger.tag_rows(words, line_lengths)]
        kinds[~self._splits.values[words]] = 0
        lemmas = self._symbol[words, kinds]
        if (lemmas < 0).any():
            self._lemmatize_new(words[lemmas < 0], kinds[lemmas < 0])
            lemmas = self._symbol[words, kinds]
        marked = kinds > 0
        symbols = np.zeros(len(words) + int(marked.sum()) + len(lines), dtype=np.int32)
        places = np.arange(len(words)) + np.cumsum(marked) - marked + line_of_word
        symbols[places] = lemmas
        symbols[places[marked] + 1] = self._marker_of_kind[kinds[marked]]
        return symbols

    def _cut_new_pieces(self) -> None:
        if len(self._piece_of) == self._n_pieces:
            return
        new = list(self._piece_of)[self._n_pieces :]
        self._n_characters += sum(map(len, new))
        norms = [[token.norm for token in cut(piece)] for piece in new]
        lengths = np.array([len(words) for words in norms])
        flat = list(chain.from_iterable(norms))
        self._piece_start.extend(len(self._words.values) + np.cumsum(lengths) - lengths)
        self._piece_length.extend(lengths)
        self._n_pieces = len(self._piece_of)
        if self._tagger is None:
            self._words.extend([self._symbol_of[norm.lower()] for norm in flat])
            return
        rows = self._tagger.rows(flat)
        self._words.extend(rows)
        n_known = len(self._norms)
        new_norms = dict(pair for pair in zip(rows, flat, strict=True) if pair[0] >= n_known)
        self._norms.extend(new_norms.values())
        self._splits.extend(np.array([norm.lower().isalpha() for norm in new_norms.values()], dtype=np.bool_))
        if len(self._norms) > len(self._symbol):
            more = np.full((len(self._norms), len(_KINDS)), -1, dtype=np.int32)
            self._symbol = np.concatenate([self._symbol, more])

    def _lemmatize_new(self, words: NDArray[Any], kinds: NDArray[Any]) -> None:
        assert self._lemmatizer is not None
        for key in np.unique(words.astype(np.int64) * len(_KINDS) + kinds).tolist():
            word, kind = divmod(key, len(_KINDS))
            lemma, _ = self._lemmatizer(self._norms[word], _KINDS[kind] or "")
            self._symbol[word, kind] = self._symbol_of[lemma]


def _batches(lines: Iterable[str], n_pieces: int = 50_000) -> Iterator[list[list[str]]]:
    """Lines cut at white space, empty ones left out, some ten thousands of pieces at a time."""
    batch: list[list[str]] = []
    total = 0
    for line in lines:
        pieces = line.split()
        if pieces:
            batch.append(pieces)
            total += len(pieces)
            if total >= n_pieces:
                yield batch
                batch, total = [], 0
    if batch:
        yield batch
