"""Words that describe senses, saved with a model in one small file: what is counted or looked up once, for all."""

import zlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from polylm.errors import UserError

N_SUBSTITUTES = 6


@dataclass(frozen=True)
class WordLists:
    """Tables (S, n) of word ids, in the order of a model's senses; 0, which is no word, fills up what is shorter."""

    labels: NDArray[np.integer[Any]] | None = None  # words that it is like, from which its label is chosen
    substitutes: NDArray[np.integer[Any]] | None = None  # the words it is most often interchangeable with

    def to_bytes(self, n_words: int) -> bytes:
        """The content of the file."""
        kind = np.uint16 if n_words <= 1 << 16 else np.uint32
        buffer = BytesIO()
        tables: dict[str, Any] = {name: table.astype(kind) for name, table in self.tables().items()}
        np.savez_compressed(buffer, **tables)
        return buffer.getvalue()

    @classmethod
    def load(cls, path: Path, n_senses: int, n_words: int) -> "WordLists":
        """Those of a model; none at all where there is no such file."""
        if not path.exists():
            return cls()
        try:
            with np.load(path, allow_pickle=False) as stored:
                tables = {name: stored[name] for name in ("labels", "substitutes") if name in stored}
        except (ValueError, EOFError, OSError, BadZipFile, KeyError, TypeError, RuntimeError, zlib.error):
            raise UserError(f"{path} is damaged: remove it, and the model works, but says less of its senses") from None
        for table in tables.values():
            if table.ndim != 2 or len(table) != n_senses or table.dtype.kind != "u" or table.max(initial=0) >= n_words:
                raise UserError(f"{path} does not belong to this model: remove it, and the model works")
        return cls(**tables)

    def select(self, kept: NDArray[np.bool_]) -> "WordLists":
        """The same for a model without the senses where `kept` (S,) does not hold."""
        return WordLists(**{name: table[kept] for name, table in self.tables().items()})

    def tables(self) -> dict[str, NDArray[np.integer[Any]]]:
        """Those that are there."""
        tables = {"labels": self.labels, "substitutes": self.substitutes}
        return {name: table for name, table in tables.items() if table is not None}
