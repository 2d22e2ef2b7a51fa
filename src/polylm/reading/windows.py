"""Texts as windows of ids that the network can read, and windows of like length as batches. Needs numpy alone.

A text longer than the network reads is cut into windows that overlap. What is read at a place of the text is read in
the window where that place is furthest from the edges.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polylm.symbols import LINE_ID

if TYPE_CHECKING:
    from polylm.text.pipeline import Tokens

OVERLAP = 32  # ids that two windows share: a place has at least half as many on either side


class Text(NamedTuple):
    """A text between line marks, as ids, and what is to be read of it."""

    ids: Sequence[int] | NDArray[np.int64]
    places: Sequence[int] | NDArray[np.int64]  # (n,) where
    targets: Sequence[int] | NDArray[np.int64]  # (n,) the id of the word that is meant there; -1: not known


class Batch(NamedTuple):
    """Windows that are read together."""

    ids: NDArray[np.int64]  # (B, T)
    segments: NDArray[np.int64] | None  # (B, T) 1 for text, 0 for what fills it up; none where nothing does
    members: NDArray[np.int64]  # (m,) which places are in these windows
    row: NDArray[np.int64]  # (m,) and in which of them each is


@dataclass(frozen=True)
class Windows:
    """Windows of ids, and the places in them that are read."""

    ids: NDArray[np.int32]  # all windows, one after the other
    starts: NDArray[np.int64]  # (windows + 1,)
    window: NDArray[np.int64]  # (n,) of each place
    position: NDArray[np.int64]  # (n,) in its window
    target: NDArray[np.int64]  # (n,) the id of the word that is meant; -1 where it is not known
    n_words: int  # of the vocabulary they were made with

    def __len__(self) -> int:
        return len(self.window)

    @property
    def known(self) -> NDArray[np.bool_]:
        """(n,) whose word is in the vocabulary."""
        return self.target >= 0

    def batches(self, n_ids: int) -> Iterator[Batch]:
        """Windows of like length, so that little is filled up; about `n_ids` at a time."""
        lengths = np.diff(self.starts)
        order = np.argsort(lengths, kind="stable")
        by_window = np.argsort(self.window, kind="stable")
        sorted_windows = self.window[by_window]
        for part in _alike(order, lengths, n_ids):
            sizes = lengths[part]
            ids = np.zeros((len(part), sizes.max()), dtype=np.int64)
            segments = (np.arange(ids.shape[1]) < sizes[:, None]).astype(np.int64)
            ids[segments > 0] = np.concatenate([self.ids[self.starts[w] : self.starts[w + 1]] for w in part])
            first, last = (np.searchsorted(sorted_windows, part, side=side) for side in ("left", "right"))
            members = np.concatenate([by_window[a:b] for a, b in zip(first, last, strict=True)])
            row = np.repeat(np.arange(len(part)), last - first)
            yield Batch(ids, None if sizes.min() == sizes.max() else segments, members, row)


def _alike(order: NDArray[np.int64], lengths: NDArray[np.int64], n_ids: int) -> Iterator[NDArray[np.int64]]:
    """Windows, given by rising length, as many as are read together."""
    first = 0
    while first < len(order):
        last, shortest = first + 1, int(lengths[order[first]])
        while last < len(order):
            size = int(lengths[order[last]])
            if (last + 1 - first) * size > n_ids or (size > shortest + 8 and size > 1.1 * shortest):
                break
            last += 1
        yield order[first:last]
        first = last


def cut(texts: Iterable[Text], length: int, n_words: int) -> Windows:
    """Texts in windows of at most `length` ids; only those windows in which something is read."""
    pieces: list[NDArray[np.int32]] = []
    windows, positions, targets = ([np.zeros(0, dtype=np.int64)] for _ in range(3))
    for text in texts:
        ids, places = np.asarray(text.ids, dtype=np.int32), np.asarray(text.places, dtype=np.int64)
        starts, owner = spread(len(ids), places, length)
        used, number = np.unique(owner, return_inverse=True)
        windows.append(len(pieces) + number)
        positions.append(places - starts[owner])
        targets.append(np.asarray(text.targets, dtype=np.int64))
        pieces += [ids[starts[one] : starts[one] + length] for one in used]
    sizes = np.array([len(piece) for piece in pieces], dtype=np.int64)
    return Windows(
        np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int32),
        np.concatenate(([0], np.cumsum(sizes))),
        np.concatenate(windows),
        np.concatenate(positions),
        np.concatenate(targets),
        n_words,
    )


def spread(n: int, places: NDArray[np.int64], length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the windows of a text of n ids begin, at even distances; and in which of them each place is read."""
    if n <= length:
        return np.zeros(1, dtype=np.int64), np.zeros(len(places), dtype=np.int64)
    overlap = min(OVERLAP, length // 2)
    n_windows = -(-(n - overlap) // (length - overlap))
    starts = np.linspace(0, n - length, n_windows).round().astype(np.int64)
    middles = starts[:-1] + (starts[1:] - starts[:-1] + length) / 2  # where one window hands over to the next
    return starts, np.searchsorted(middles, places, side="right")


def whole_text(tokens: "Tokens") -> Text:
    """Every word of a text."""
    if not len(tokens.ids):
        return Text((), (), ())
    places = tokens.id_of_word.astype(np.int64) + 1
    ids = np.concatenate(([LINE_ID], tokens.ids, [LINE_ID])).astype(np.int64)
    return Text(ids, places, ids[places])
