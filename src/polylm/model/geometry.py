"""Sense vectors as directions that can be compared.

The rows of E share a large common component, which says how common a word is rather than what it means. Without their
mean and their three main directions, similarity is about meaning.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Common(NamedTuple):
    """What all vectors share."""

    mean: Tensor  # (d,)
    axes: Tensor  # (d, n)

    def removed(self, vectors: Tensor) -> Tensor:
        """Vectors (..., d) without it, of length one."""
        vectors = vectors - self.mean
        vectors = vectors - (vectors @ self.axes) @ self.axes.T
        length: Tensor = vectors.norm(dim=-1, keepdim=True).clamp(min=1e-9)
        return vectors / length


def common(vectors: Tensor, n_axes: int = 3) -> Common:
    """The mean and the main directions of vectors (n, d)."""
    mean = vectors.mean(dim=0)
    centred = vectors - mean
    _, axes = torch.linalg.eigh(centred.T @ centred)  # in rising order
    return Common(mean, axes[:, max(axes.shape[1] - n_axes, 0) :])


def directions(vectors: Tensor, n_axes: int = 3) -> Tensor:
    """Vectors (n, d) without what they share, of length one."""
    return common(vectors, n_axes).removed(vectors)
