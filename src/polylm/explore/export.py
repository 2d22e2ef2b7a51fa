"""Senses for other programs: word2vec files, in text or binary, that gensim and its kin open."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from polylm.atomic import replacing
from polylm.errors import UserError
from polylm.explore.neighbours import SenseVectors

Kind = Literal["text", "binary"]


def word2vec(vectors: SenseVectors, path: str | Path, *, kind: Kind | None = None) -> None:
    """The directions of all senses under their keys; binary where the name ends with .bin, unless said otherwise."""
    binary = (Path(path).suffix == ".bin") if kind is None else kind == "binary"
    if kind not in (None, "text", "binary"):
        raise UserError(f"{kind!r} is no kind of word2vec file: choose text or binary")
    with replacing(path) as file:
        n, d = vectors.vectors.shape
        file.write(f"{n} {d}\n".encode())
        for key, row in _rows(vectors.keys, vectors.vectors):
            if binary:
                file.write(key.encode() + b" " + row.astype("<f4").tobytes() + b"\n")
            else:
                file.write(f"{key} {' '.join(f'{x:.6g}' for x in row.tolist())}\n".encode())


def _rows(keys: Sequence[str], vectors: NDArray[np.float32]) -> "zip[tuple[str, NDArray[np.float32]]]":
    for key in keys:
        if any(character.isspace() for character in key):
            raise UserError(f"{key!r} has white space in it, which word2vec files cannot hold")
    return zip(keys, vectors, strict=True)
