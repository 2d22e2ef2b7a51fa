"""One chunk of text as numbers: the unit of work that workers share and that a stopped run keeps."""

import io
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polylm.corpus.sources import chunk_lines
from polylm.errors import UserError
from polylm.symbols import UNKNOWN
from polylm.text.analyzer import Analyzer
from polylm.text.lemmatizer import MARKERS
from polylm.text.pipeline import TextPipeline
from polylm.text.settings import TextSettings
from polylm.text.vocabulary import Vocabulary


def analyze_chunk(settings: TextSettings, chunk: bytes) -> bytes:
    """What is kept of a chunk: its symbols as numbers of its own table, the table, and how often each occurs."""
    analyzer = _analyzer(settings)
    numbers = analyzer(chunk_lines(chunk))
    table = analyzer.symbols
    counts = np.bincount(numbers, minlength=len(table))
    used = np.flatnonzero(counts)
    renumbered = np.zeros(len(table), dtype=np.uint16 if len(used) <= 1 << 16 else np.uint32)
    renumbered[used] = np.arange(len(used))
    strings = np.frombuffer("\n".join(table[i] for i in used).encode("utf-8"), dtype=np.uint8)
    file = io.BytesIO()
    n_words = counts[1 + len(MARKERS) :].sum()  # the mark of a line and the inflection markers come first, and are none
    np.savez(file, numbers=renumbered[numbers], table=strings, counts=counts[used], n_words=n_words)
    return file.getvalue()


@lru_cache(maxsize=1)
def _analyzer(settings: TextSettings) -> Analyzer:
    """One for each process: what it remembers makes it fast."""
    return TextPipeline(settings=settings).analyzer()


@dataclass(frozen=True)
class Chunk:
    """The analysis of a chunk on disk."""

    path: Path

    def counts(self) -> list[tuple[str, int]]:
        """Its symbols and how often each occurs."""
        table, counts = self._read("table", "counts")
        return list(zip(_strings(table), counts.tolist(), strict=True))

    def n_words(self) -> int:
        """How many words of text it holds."""
        return int(self._read("n_words")[0])

    def encode(self, vocabulary: Vocabulary) -> NDArray[Any]:
        """Its ids."""
        table, numbers = self._read("table", "numbers")
        unknown = vocabulary[UNKNOWN]
        ids = np.array([vocabulary.get(word, unknown) for word in _strings(table)], dtype=np.uint32)
        encoded: NDArray[Any] = ids[numbers]
        return encoded

    def _read(self, *names: str) -> list[NDArray[Any]]:
        try:
            with np.load(self.path) as arrays:
                return [arrays[name] for name in names]
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile):
            self.path.unlink()
            raise UserError(f"{self.path} was damaged and has been deleted: run it again") from None


def _strings(table: NDArray[Any]) -> list[str]:
    return table.tobytes().decode("utf-8").split("\n") if len(table) else []
