"""Texts to words and symbols, at speed: the one way in which text is read.

Text repeats itself, so each step asks first whether it has seen the piece before: a piece of text between two spaces
is cut into words once, a word's letters are looked at once, a (word, tag) is lemmatised once. What is left for every
word is a few numpy gathers and the tagger's matrix products. A symbol is a string that may become a word of the
vocabulary: a lemma or surface form in lower case, an inflection marker, or the mark that ends a line.

`Analyzer.read` gives words with their places in the text, for whoever tags it; calling an `Analyzer` gives symbols
alone, for corpora.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polylm.symbols import LINE
from polylm.text.lemmatizer import INFLECTIONS, MARKERS, Lemmatizer
from polylm.text.tagger import Tagger
from polylm.text.tokenizer import Token, cut

_KINDS = (None, *INFLECTIONS)  # what the lemma of a word depends on: an inflectional tag, or none
_WHITE = np.array([chr(code).isspace() for code in range(0x3002)])  # as str.split has it; there is none beyond


@dataclass(frozen=True)
class Words:
    """The words of some texts as columns, one text after the other; all but `per_text` are (n,)."""

    per_text: NDArray[np.int64]  # how many words each text has
    start: NDArray[np.int32]  # where a word begins and ends, in characters of its text
    end: NDArray[np.int32]
    begins_line: NDArray[np.bool_]
    tag: NDArray[np.uint8] | None  # number of the tagger's tag; none in surface mode
    lemma: NDArray[np.int32]  # numbers of symbols
    marker: NDArray[np.int32]  # 0: none
    symbols: list[str]

    def __len__(self) -> int:
        return len(self.start)

    def select(self, chosen: NDArray[np.bool_]) -> "Words":
        """Some of the words."""
        text = np.repeat(np.arange(len(self.per_text)), self.per_text)[chosen]
        columns = {name: getattr(self, name)[chosen] for name in ("start", "end", "begins_line", "lemma", "marker")}
        tag = None if self.tag is None else self.tag[chosen]
        return replace(self, per_text=np.bincount(text, minlength=len(self.per_text)), tag=tag, **columns)

    def compact(self) -> "Words":
        """The same with no more symbols than are used, to be sent elsewhere."""
        used = np.zeros(len(self.symbols), dtype=bool)
        used[: len(MARKERS) + 1] = True
        used[self.lemma] = True
        numbers = np.flatnonzero(used)
        renumbered = np.zeros(len(used), dtype=np.int32)
        renumbered[numbers] = np.arange(len(numbers))
        return replace(self, lemma=renumbered[self.lemma], symbols=[self.symbols[number] for number in numbers])


class _Numbering(dict[str, int]):
    """Numbers new keys as they are looked up; `in_order` has them by number."""

    def __init__(self) -> None:
        super().__init__()
        self.in_order: list[str] = []

    def __missing__(self, key: str) -> int:
        number = self[key] = len(self)
        self.in_order.append(key)
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
    """Turns text into arrays of symbol numbers; `symbols` has the strings.

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
        self.forget()

    def forget(self) -> None:
        """Drop all that is remembered."""
        self._symbol_of = _Numbering()
        for fixed in (LINE, *MARKERS):
            self._symbol_of[fixed]
        self._piece_of = _Numbering()
        self._n_characters = 0  # of all pieces and words
        self._n_pieces = 0  # those below this number have been cut
        self._piece_start = _Column(np.int64)  # a piece's words are words[start : start + length]
        self._piece_length = _Column(np.int64)
        self._words = _Column(np.int32)  # rows of the tagger; symbols where there is none
        self._word_start = _Column(np.int32)  # where in its piece a word begins and ends
        self._word_end = _Column(np.int32)
        self._norms: list[str] = []  # by row
        self._splits = _Column(np.bool_)  # by row: may have a marker
        self._symbol = np.full((1024, len(_KINDS)), -1, dtype=np.int32)  # by row and kind; -1: not asked yet
        if self._tagger is not None:
            self._tagger.forget()

    @contextmanager
    def _remembering(self) -> Iterator[None]:
        """Room for what is new; and what is half remembered, because reading was interrupted, is forgotten."""
        most = self._max_remembered
        n_words = max(len(self._norms), len(self._symbol_of))  # some of texts that came as words
        if len(self._piece_of) > most or self._n_characters > 40 * most or n_words > 2 * most:
            self.forget()
        try:
            yield
        except BaseException:
            self.forget()
            raise

    @property
    def symbols(self) -> list[str]:
        """The strings, in the order of their numbers, that the last call used. Later calls may add to them."""
        return self._symbol_of.in_order

    # Symbols of lines

    def __call__(self, lines: Iterable[str]) -> NDArray[np.int32]:
        """The symbols of the lines that hold any, each line ended by symbol 0."""
        with self._remembering():
            parts = [self._symbols_of(batch) for batch in _batches(lines)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)

    def _symbols_of(self, lines: list[list[str]]) -> NDArray[np.int32]:
        n_pieces = np.array([len(line) for line in lines])
        pieces = self._numbers_of(chain.from_iterable(lines), int(n_pieces.sum()))
        lengths = self._piece_length.values[pieces]
        words = self._words.values[self._places_of(pieces, lengths)]
        line_lengths = np.add.reduceat(lengths, np.cumsum(n_pieces) - n_pieces)
        line_of_word = np.repeat(np.arange(len(lines)), line_lengths)
        _, lemmas, markers = self._tagged(words, line_lengths)
        marked = markers > 0
        symbols = np.zeros(len(words) + int(marked.sum()) + len(lines), dtype=np.int32)
        places = np.arange(len(words)) + np.cumsum(marked) - marked + line_of_word
        symbols[places] = lemmas
        symbols[places[marked] + 1] = markers[marked]
        return symbols

    # Words of texts

    def read(self, texts: Sequence[str]) -> Words:
        """The words of texts. Lines (`\\n`) do not see each other."""
        with self._remembering():
            return self._read(texts)

    def _read(self, texts: Sequence[str]) -> Words:
        joined = "\n".join(texts)
        sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        first = np.cumsum(sizes + 1) - sizes - 1  # of each text in them all
        piece_starts, line_of_piece = _pieces(joined)
        pieces = self._numbers_of(joined.split(), len(piece_starts))
        lengths = self._piece_length.values[pieces]
        places = self._places_of(pieces, lengths)
        text_of_piece = np.searchsorted(first, piece_starts, side="right") - 1
        base = np.repeat((piece_starts - first[text_of_piece]).astype(np.int32), lengths)
        return self._columns(
            np.bincount(np.repeat(text_of_piece, lengths), minlength=len(texts)),
            self._words.values[places],
            np.repeat(line_of_piece, lengths),
            base + self._word_start.values[places],
            base + self._word_end.values[places],
        )

    def read_tokens(self, texts: Sequence[Sequence[Token]]) -> Words:
        """The same for texts that are cut into words already; each is a line."""
        with self._remembering():
            return self._read_tokens(texts)

    def _read_tokens(self, texts: Sequence[Sequence[Token]]) -> Words:
        per_text = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        tokens = list(chain.from_iterable(texts))
        return self._columns(
            per_text,
            np.array(self._rows_of([token.norm for token in tokens]), dtype=np.int32),
            np.repeat(np.arange(len(texts)), per_text),
            np.array([token.start for token in tokens], dtype=np.int32),
            np.array([token.end for token in tokens], dtype=np.int32),
        )

    def _columns(
        self,
        per_text: NDArray[np.int64],
        words: NDArray[np.int32],
        line_of_word: NDArray[np.int64],
        start: NDArray[np.int32],
        end: NDArray[np.int32],
    ) -> Words:
        begins_line = np.ones(len(words), dtype=bool)
        begins_line[1:] = line_of_word[1:] != line_of_word[:-1]
        lines = np.flatnonzero(begins_line)
        tags, lemmas, markers = self._tagged(words, np.diff(np.append(lines, len(words))))
        return Words(per_text, start, end, begins_line, tags, lemmas, markers, self.symbols)

    # What both ask

    def _numbers_of(self, pieces: Iterable[str], n: int) -> NDArray[np.intp]:
        lookup: Callable[[str], int] = self._piece_of.__getitem__
        numbers = np.fromiter(map(lookup, pieces), dtype=np.intp, count=n)
        self._cut_new_pieces()
        return numbers

    def _places_of(self, pieces: NDArray[np.intp], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the words of pieces are remembered."""
        if not len(pieces):
            return np.zeros(0, dtype=np.int64)
        ends = np.cumsum(lengths)
        within = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
        places: NDArray[np.int64] = np.repeat(self._piece_start.values[pieces], lengths) + within
        return places

    def _tagged(
        self, words: NDArray[np.int32], line_lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8] | None, NDArray[np.int32], NDArray[np.int32]]:
        """Tags, lemmas and markers of words given by their rows, the lines one after the other."""
        if self._tagger is None:
            return None, words, np.zeros(len(words), dtype=np.int32)
        tags = self._tagger.tag_rows(words, line_lengths)
        kinds = self._kind_of_tag[tags]
        kinds[~self._splits.values[words]] = 0
        lemmas = self._symbol[words, kinds]
        if (lemmas < 0).any():
            self._lemmatize_new(words[lemmas < 0], kinds[lemmas < 0])
            lemmas = self._symbol[words, kinds]
        return tags, lemmas, self._marker_of_kind[kinds]

    def _cut_new_pieces(self) -> None:
        new = self._piece_of.in_order[self._n_pieces :]
        if not new:
            return
        self._n_characters += sum(map(len, new))
        tokens = [cut(piece) for piece in new]
        lengths = np.array([len(words) for words in tokens])
        flat = list(chain.from_iterable(tokens))
        self._piece_start.extend(len(self._words.values) + np.cumsum(lengths) - lengths)
        self._piece_length.extend(lengths)
        self._n_pieces = len(self._piece_of)
        self._words.extend(self._rows_of([token.norm for token in flat]))
        self._word_start.extend([token.start for token in flat])
        self._word_end.extend([token.end for token in flat])

    def _rows_of(self, norms: Sequence[str]) -> list[int]:
        """Rows of the tagger, which learns new words; symbols where there is no tagger."""
        if self._tagger is None:
            n_symbols = len(self._symbol_of)
            symbols = [self._symbol_of[norm.lower()] for norm in norms]
            self._n_characters += sum(map(len, self._symbol_of.in_order[n_symbols:]))
            return symbols
        rows = self._tagger.rows(norms)
        n_known = len(self._norms)
        new_norms = dict(pair for pair in zip(rows, norms, strict=True) if pair[0] >= n_known)
        self._norms.extend(new_norms.values())
        self._n_characters += sum(map(len, new_norms.values()))
        self._splits.extend(np.array([norm.lower().isalpha() for norm in new_norms.values()], dtype=np.bool_))
        if len(self._norms) > len(self._symbol):
            grown = np.full((max(len(self._norms), 2 * len(self._symbol)), len(_KINDS)), -1, dtype=np.int32)
            grown[: len(self._symbol)] = self._symbol
            self._symbol = grown
        return rows

    def _lemmatize_new(self, words: NDArray[Any], kinds: NDArray[Any]) -> None:
        assert self._lemmatizer is not None
        for key in np.unique(words.astype(np.int64) * len(_KINDS) + kinds).tolist():
            word, kind = divmod(key, len(_KINDS))
            lemma, _ = self._lemmatizer(self._norms[word], _KINDS[kind] or "")
            self._symbol[word, kind] = self._symbol_of[lemma]


def _pieces(text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where what stands between white space begins, and in which line each of it is."""
    if text.isascii():
        codes: NDArray[Any] = np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    else:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    white = np.ones(len(codes) + 1, dtype=bool)
    white[1:] = _WHITE.take(codes, mode="clip")
    starts = np.flatnonzero(white[:-1] & ~white[1:])
    return starts, np.searchsorted(np.flatnonzero(codes == ord("\n")), starts)


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
