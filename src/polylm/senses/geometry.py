"""Sense vectors as directions that can be compared.

The rows of E share a large common component, and the few directions in which they vary most say how common a word is
and what part of speech it has rather than what it means. Without their mean, and with directions made more alike in how
much they vary (whitened, three quarters of the way), similarity is about meaning.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

WHITENING = 0.75  # 0: directions as they are; 1: all vary alike, which is better for the nearest and worse for the rest
RIDGE = 1e-3  # of the mean variance: directions without any stay small


class Common(NamedTuple):
    """What all vectors share: a mean, and how much they vary in each direction."""

    mean: Tensor  # (d,)
    whitener: Tensor  # (d, d)

    def removed(self, vectors: Tensor) -> Tensor:
        """Vectors (..., d) without it, of length one."""
        found = torch.empty_like(vectors)
        flat, out = vectors.reshape(-1, vectors.shape[-1]), found.view(-1, vectors.shape[-1])
        for part in _parts(len(flat)):
            white = (flat[part] - self.mean) @ self.whitener
            out[part] = white / white.norm(dim=-1, keepdim=True).clamp(min=1e-9)
        return found


def common(vectors: Tensor) -> Common:
    """The mean of vectors (n, d), and a power of their inverse covariance."""
    mean = vectors.mean(dim=0)
    covariance = torch.zeros(len(mean), len(mean), dtype=vectors.dtype, device=vectors.device)
    for part in _parts(len(vectors)):
        centred = vectors[part] - mean
        covariance += centred.T @ centred / max(len(vectors), 1)
    variances, axes = torch.linalg.eigh(covariance)
    floor = RIDGE * variances.mean().clamp(min=1e-12)
    return Common(mean, axes * (variances.clamp(min=0) + floor) ** (-WHITENING / 2) @ axes.T)


def _parts(n: int, size: int = 8192) -> Iterator[slice]:
    """Some rows at a time: no second copy of all vectors is held."""
    return (slice(first, first + size) for first in range(0, n, size))


def directions(vectors: Tensor) -> Tensor:
    """Vectors (n, d) without what they share, of length one."""
    return common(vectors).removed(vectors)
