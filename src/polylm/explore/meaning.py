"""What a word means in its context: a vector that can be compared, and the words that could stand for it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from polylm.explore.disambiguate import Focus
from polylm.model.substitutes import NEARNESS

if TYPE_CHECKING:
    from polylm.explore.model import Model

GAP = 0.6  # what could stand in the place of a word, beside what the word means there: LOG.md, meanings in context
TOGETHER = 32  # so many that all words in their places do not take much memory


def embeddings(model: "Model", focuses: Iterable[tuple[int, Focus]]) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
    """Numbers and their vectors (n, d), of length one, some at a time.

    Each focus' senses by their probabilities, and a part of what could stand in its place.
    """
    remaining = iter(focuses)
    while group := list(islice(remaining, TOGETHER)):
        own = [focus for _, focus in group]
        vectors = np.stack([_meaning(model, focus) for focus in own]) + GAP * _gaps(model, own)
        yield [number for number, _ in group], vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def substitutes(model: "Model", focus: Focus, topn: int) -> list[tuple[str, float]]:
    """Words with their shares.

    A sense of another word counts with its probability in the gap times exp(8 c), c its cosine to the meaning of the
    focus (0 for a word that the model does not know); the shares of a word's senses are added up, and those of all
    words are one.
    """
    inventory = model.network.inventory
    cosines = torch.from_numpy(model.vectors.vectors @ _meaning(model, focus))
    likely_and_near = _expected(model, [focus])[0] * (NEARNESS * cosines).exp()
    weights = torch.zeros(inventory.n_words, dtype=torch.float64)
    weights.index_add_(0, inventory.word_of_sense.cpu()[model.index.of_words], likely_and_near.double())
    if focus.word is not None:
        weights[focus.word] = 0
    weights /= weights.sum().clamp(min=1e-30)
    best = weights.topk(min(topn, len(weights)))
    words = model.vocabulary.words
    return [(words[i], round(v, 4)) for v, i in zip(best.values.tolist(), best.indices.tolist(), strict=True) if v > 0]


def _meaning(model: "Model", focus: Focus) -> NDArray[np.float32]:
    """(d,) the mixture of its senses, as a direction; zeros for a word that the model does not know."""
    if focus.word is None:
        return np.zeros(model.vectors.vectors.shape[1], dtype=np.float32)
    first, n = model.index.first[focus.word], model.index.n_senses[focus.word]
    own = model.network.embeddings.detach()[first : first + n].float().cpu()
    meaning: NDArray[np.float32] = model.vectors.common.removed(torch.from_numpy(focus.q[:n]) @ own).numpy()
    return meaning


def _expected(model: "Model", focuses: Sequence[Focus]) -> torch.Tensor:
    """(n, S) the probability of each sense of `vectors` in the place of each focus."""
    with torch.no_grad():
        y_p = torch.stack([focus.y_p for focus in focuses])
        p = model.network.sense_probs(y_p.to(model.network.embeddings.dtype))
    return p.float().cpu()[:, model.index.of_words]


def _gaps(model: "Model", focuses: Sequence[Focus]) -> NDArray[np.float32]:
    """(n, d) the mean directions of what could stand here, of length one; roots, so that more than the best counts."""
    directions = _expected(model, focuses).sqrt().numpy() @ model.vectors.vectors
    gaps: NDArray[np.float32] = directions / np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-9)
    return gaps
