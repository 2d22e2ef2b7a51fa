"""TaggedColumns: texts with a sense for every word, as arrays, and as Arrow tables for pandas, polars and Parquet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polylm.errors import UserError
from polylm.senses.index import SenseIndex
from polylm.text.analyzer import Words

if TYPE_CHECKING:
    import pyarrow

LEAST = 0.001  # a smaller probability is not listed


@dataclass(frozen=True, slots=True)
class TaggedToken:
    """A word of a text and its sense. `sense` is none for punctuation and words that the model does not know."""

    text: str
    start: int
    end: int
    lemma: str
    marker: str | None
    sense: str | None
    probability: float | None
    distribution: dict[str, float] = field(default_factory=dict)  # sense keys, most probable first

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: getattr(self, name) for name in _FIELDS}


_FIELDS = tuple(one.name for one in fields(TaggedToken))


@dataclass(frozen=True)
class TaggedColumns:
    """Some texts of a stream, with a sense for every word, or for every word that was asked for; n words in all."""

    first_text: int  # the number of the first of these texts, counting from 0
    texts: Sequence[str]  # where words are tokens already, they are joined by single spaces
    words: Words  # where each word is, its lemma and marker
    numbers: NDArray[np.int64]  # (n,) of the words in the vocabulary
    q: NDArray[np.float32]  # (n, k) distributions over the senses of each word
    senses: NDArray[np.int64]  # (n,) the most probable one, as a row of E; -1 where there is none
    index: SenseIndex

    @classmethod
    def of(
        cls,
        first_text: int,
        texts: Sequence[str],
        words: Words,
        numbers: NDArray[np.int64],
        q: NDArray[np.float32],
        index: SenseIndex,
    ) -> "TaggedColumns":
        """With the most probable senses."""
        senses = np.where(index.arrays.is_word[numbers], index.arrays.first[numbers] + q.argmax(axis=1), -1)
        return cls(first_text, texts, words, numbers, q, senses, index)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def text(self) -> NDArray[np.int64]:
        """(n,) which text each word is of."""
        return self.first_text + np.repeat(np.arange(len(self.texts)), self.words.per_text)

    @property
    def probability(self) -> NDArray[np.float32]:
        """(n,) of the sense; not a number where there is none."""
        highest = np.where(self._several, self.q.max(axis=1), 1)
        return np.where(self.senses >= 0, highest, np.nan).astype(np.float32)

    @property
    def _several(self) -> NDArray[np.bool_]:
        several: NDArray[np.bool_] = self.index.arrays.n_senses[self.numbers] > 1
        return several

    def tokens(self) -> Iterator[list[TaggedToken]]:
        """For each text its words."""
        words, symbols, key = self.words, self.words.symbols, self.index.key
        order = np.argsort(-self.q, axis=1, kind="stable")
        q = np.take_along_axis(self.q, order, axis=1)
        listed = zip(
            words.start.tolist(),
            words.end.tolist(),
            words.lemma.tolist(),
            words.marker.tolist(),
            self.senses.tolist(),
            self.index.arrays.first[self.numbers].tolist(),
            self._several.tolist(),
            order.tolist(),
            q.astype(np.float64).round(4).tolist(),
            (q >= LEAST).sum(axis=1).tolist(),
            strict=True,
        )
        for text, n in zip(self.texts, words.per_text.tolist(), strict=True):
            tokens = []
            for _ in range(n):
                start, end, lemma, marker, row, first, several, places, probabilities, n_listed = next(listed)
                sense, probability, distribution = None, None, {}
                if row >= 0:
                    sense, probability = key(row), probabilities[0] if several else 1.0
                    distribution = {sense: probability}
                    for place in range(1, n_listed if several else 1):
                        distribution[key(first + places[place])] = probabilities[place]
                mark = symbols[marker] if marker else None
                tokens.append(
                    TaggedToken(text[start:end], start, end, symbols[lemma], mark, sense, probability, distribution)
                )
            yield tokens

    def to_arrow(self) -> "pyarrow.Table":
        """A row a word: `text` (its number), `start`, `end`, `token`, `lemma`, `marker`, `sense`, `probability`.

        Lemmas, markers and senses are dictionary-encoded.
        """
        try:
            import pyarrow
        except ImportError:
            raise UserError("Arrow tables need pyarrow: pip install 'polylm[corpus]'") from None
        words = self.words
        begins, ends = words.start.tolist(), words.end.tolist()
        places = zip(np.repeat(np.arange(len(self.texts)), words.per_text).tolist(), begins, ends, strict=True)
        rows, sense = np.unique(np.maximum(self.senses, 0), return_inverse=True)
        return pyarrow.table(
            {
                "text": pyarrow.array(self.text),
                "start": pyarrow.array(words.start),
                "end": pyarrow.array(words.end),
                "token": _strings([self.texts[text][start:end] for text, start, end in places]),
                "lemma": _named(words.lemma, words.symbols),
                "marker": _named(words.marker, words.symbols, words.marker == 0),
                "sense": _named(sense, [self.index.key(row) for row in rows.tolist()], self.senses < 0),
                "probability": pyarrow.array(self.probability, mask=self.senses < 0),
            }
        )


def _named(numbers: NDArray[Any], names: Sequence[str], missing: NDArray[np.bool_] | None = None) -> Any:
    import pyarrow

    there = np.zeros(len(names), dtype=bool)
    there[numbers if missing is None else numbers[~missing]] = True
    used, place = _strings([names[number] for number in np.flatnonzero(there).tolist()]), np.cumsum(there) - 1
    once = used.dictionary_encode()  # names that differ in half characters alone may be one now
    indices = np.asarray(once.indices)[place[numbers].clip(0)] if len(used) else np.zeros(len(numbers), np.int32)
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array(indices, mask=missing), once.dictionary)


def _strings(strings: Sequence[str]) -> Any:
    import pyarrow

    try:
        return pyarrow.array(strings, pyarrow.string())
    except UnicodeEncodeError:  # half a character, which UTF-8 does not have
        whole = [string.encode("utf-8", "replace").decode() for string in strings]
        return pyarrow.array(whole, pyarrow.string())
