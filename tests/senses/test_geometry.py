"""Whitening: what all vectors share is gone, and directions vary more alike."""

import torch

from polylm.senses.geometry import WHITENING, common, directions


def test_whitened():
    torch.manual_seed(0)
    vectors = torch.randn(500, 6) @ torch.diag(torch.tensor([30.0, 5, 1, 1, 0.5, 0.1])) + 7
    shared = common(vectors)
    white = (vectors - shared.mean) @ shared.whitener
    torch.testing.assert_close(white.mean(0), torch.zeros(6), atol=1e-3, rtol=0)
    before, after = (torch.linalg.eigvalsh(x.T @ x) for x in (vectors - vectors.mean(0), white))
    spread = (before[-1] / before[4]) ** (1 - WHITENING)  # of the two largest; the ridge holds the smallest back
    torch.testing.assert_close(after[-1] / after[4], spread, rtol=0.1, atol=0)
    assert after[-1] / after[0] < 0.2 * before[-1] / before[0]
    torch.testing.assert_close(directions(vectors).norm(dim=1), torch.ones(500))


def test_few_vectors_and_equal_ones():
    assert directions(torch.ones(3, 4)).isfinite().all()
    assert directions(torch.randn(2, 16)).isfinite().all()
    assert (directions(torch.randn(2, 16))[0] @ directions(torch.randn(2, 16))[1]).isfinite()
