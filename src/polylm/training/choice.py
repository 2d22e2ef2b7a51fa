"""Which words are used in several ways, told from their contexts and from nothing that was said of them.

    u_w = 0.5 log n_w + 0.8 log(p_w + 0.002) - 0.6 |m_w| + 0.4 log h_w, each standardised over the words in question

with n_w the occurrences of a word, p_w the share of them in its second commonest part of speech (as far as inflections
show it: bumps and bumped), m_w the mean of its contexts y^P, which is short where they agree little, and h_w half the
distance between the centres of two clusters of them. The weights were chosen so that words of several WordNet senses
have more than words of one, and made-up words that stand for two real ones more than these (LOG.md).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from polylm.text.lemmatizer import INFLECTIONS, is_word
from polylm.training.contexts import PART, Contexts
from polylm.training.split import cluster

_WEIGHTS = (0.5, 0.8, -0.6, 0.4)


def candidates(words: Sequence[str], occurrences: Tensor, least: int) -> Tensor:
    """(V,) which words occur often enough; words of letters alone, not of one letter."""
    spelled = torch.tensor([len(word) > 1 and word.isalpha() and is_word(word) for word in words])
    return spelled.to(occurrences.device) & (occurrences >= least)


def number_of_senses(occurrences: Tensor, least: int, most: int) -> Tensor:
    """How many senses words (P,) of several ways of use get: 3 for the rarest, one more for each doubling."""
    doublings = (occurrences.double().clamp(min=1) / least).log2().round().long()
    return (3 + doublings).clamp(min=min(3, most), max=most)


def count(ids: NDArray[Any], n_words: int) -> NDArray[np.int64]:
    """(V,) how often each word occurs."""
    parts = (np.bincount(ids[first : first + PART], minlength=n_words) for first in range(0, len(ids), PART))
    return sum(parts, np.zeros(n_words, dtype=np.int64))


def second_part_of_speech(ids: NDArray[Any], vocabulary: Mapping[str, int]) -> NDArray[np.float64]:
    """(V,) in what share of its occurrences a word is inflected as the second commonest of its parts of speech."""
    by_part: dict[str, NDArray[np.int64]] = {}
    for marker, part in dict(INFLECTIONS.values()).items():
        if marker in vocabulary:
            inflected = ids[:-1][ids[1:] == vocabulary[marker]]  # the word that a marker belongs to stands before it
            kind = {"ADV": "ADJ"}.get(part, part)
            by_part[kind] = by_part.get(kind, 0) + count(inflected, len(vocabulary))
    if len(by_part) < 2:
        return np.zeros(len(vocabulary))
    second = np.sort(np.stack(list(by_part.values())), axis=0)[-2]
    shares: NDArray[np.float64] = second / np.maximum(count(ids, len(vocabulary)), 1)
    return shares


def ways_of_use(contexts: Contexts, occurrences: Tensor, second_part: Tensor) -> Tensor:
    """u (P,): the higher, the likelier is a word used in several ways. The last two are of the P words too."""
    two = torch.full_like(contexts.counts, 2)
    clusters = cluster(contexts.vectors, contexts.counts, two, lead=1.0, seed=0)
    half = (clusters.centres[:, 1] - clusters.centres[:, 0]).norm(dim=-1) / 2
    measures = torch.stack(
        (
            occurrences.to(half).clamp(min=1).log(),
            (second_part.to(half) + 0.002).log(),
            clusters.means.norm(dim=-1),
            half.clamp(min=1e-6).log(),
        ),
        dim=1,
    )
    spread = measures.std(dim=0, unbiased=False).clamp(min=1e-6)
    return ((measures - measures.mean(dim=0)) / spread) @ torch.tensor(_WEIGHTS).to(half)
