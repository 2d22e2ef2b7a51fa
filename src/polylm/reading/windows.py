"""Texts as windows of ids that the network can read, and windows of like length as batches. Needs numpy alone.

A text longer than the network reads is cut into windows that overlap. What is read at a place of the text is read in
the window where that place is furthest from the edges.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
        first_place = np.searchsorted(self.window[by_window], np.arange(len(lengths) + 1))
        for part in _alike(order, lengths, n_ids):
            sizes = lengths[part]
            ids = np.zeros((len(part), sizes.max()), dtype=np.int64)
            segments = (np.arange(ids.shape[1]) < sizes[:, None]).astype(np.int64)
            ids[segments > 0] = self.ids[_ranges(self.starts[part], sizes)]
            n_places = first_place[part + 1] - first_place[part]
            members = by_window[_ranges(first_place[part], n_places)]
            row = np.repeat(np.arange(len(part)), n_places)
            yield Batch(ids, None if sizes.min() == sizes.max() else segments, members, row)


def _ranges(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """start, start + 1, ... of each range, one after the other."""
    ends = np.cumsum(sizes)
    ranges: NDArray[np.int64] = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)
    return ranges


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
    parts = list(texts)
    ids, places, targets = (
        np.concatenate([np.zeros(0, dtype=np.int64), *(np.asarray(part[column], dtype=np.int64) for part in parts)])
        for column in range(3)
    )
    starts = np.cumsum([0, *(len(text.ids) for text in parts)])
    in_all = places + np.repeat(starts[:-1], [len(text.places) for text in parts])
    return cut_many(ids.astype(np.int32), starts, in_all, targets, length, n_words)


def cut_many(
    ids: NDArray[np.int32],
    starts: NDArray[np.int64],
    places: NDArray[np.int64],
    targets: NDArray[np.int64],
    length: int,
    n_words: int,
) -> Windows:
    """The same for texts that follow one another in `ids`; `places` count from the beginning of them all.

    The windows of a text begin at even distances.
    """
    sizes = np.diff(starts)
    overlap = min(OVERLAP, length // 2)
    per_text = np.where(sizes > length, -(-(sizes - overlap) // (length - overlap)), 1)
    text = np.repeat(np.arange(len(sizes)), per_text)
    number = _ranges(np.zeros_like(per_text), per_text)  # of a window in its text
    step = (sizes - length) / np.maximum(per_text - 1, 1)
    is_last = number == per_text[text] - 1
    within = np.where(is_last, np.maximum(sizes - length, 0)[text], (number * step[text]).round()).astype(np.int64)
    begins = starts[text] + within
    ends = np.minimum(begins + length, starts[text + 1])
    # One window hands over to the next in the middle of what they share, and the last of a text where the text ends.
    hands_over = ends.astype(np.float64)
    inner = np.flatnonzero(~is_last)
    hands_over[inner] = begins[inner] + (begins[inner + 1] - begins[inner] + length) / 2
    owner = np.searchsorted(hands_over, places, side="right")
    used, window = np.unique(owner, return_inverse=True)
    kept = ids if len(used) == len(begins) == len(sizes) else ids[_ranges(begins[used], (ends - begins)[used])]
    edges = np.concatenate(([0], np.cumsum((ends - begins)[used])))
    return Windows(kept, edges, window, places - begins[owner], targets, n_words)
