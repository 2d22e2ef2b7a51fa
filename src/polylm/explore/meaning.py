"""What a word means in its context: a vector that can be compared, and the words that could stand for it."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from polylm.explore.disambiguate import Focus
from polylm.model.substitutes import NEARNESS

if TYPE_CHECKING:
    from polylm.explore.model import Model

GAP = 0.6  # what could stand in the place of a word, beside what the word means there: LOG.md, meanings in context


def embedding(model: "Model", focus: Focus) -> NDArray[np.float32]:
    """(d,) of length one: the focus' senses by their probabilities, and a part of what could stand in its place."""
    vector = _meaning(model, focus) + GAP * _gap(model, focus)
    embedded: NDArray[np.float32] = vector / np.linalg.norm(vector)
    return embedded


def substitutes(model: "Model", focus: Focus, topn: int) -> list[tuple[str, float]]:
    """Words with their shares.

    A sense of another word counts with its probability in the gap times exp(8 c), c its cosine to the meaning of the
    focus; the shares of a word's senses are added up, and those of all words are one.
    """
    inventory = model.network.inventory
    cosines = torch.from_numpy(model.vectors.vectors @ _meaning(model, focus))
    likely_and_near = _expected(model, focus) * (NEARNESS * cosines).exp()
    weights = torch.zeros(inventory.n_words, dtype=torch.float64)
    weights.index_add_(0, inventory.word_of_sense.cpu()[model.index.of_words], likely_and_near.double())
    weights[focus.word] = 0
    weights /= weights.sum().clamp(min=1e-30)
    best = weights.topk(min(topn, len(weights)))
    words = model.vocabulary.words
    return [(words[i], round(v, 4)) for v, i in zip(best.values.tolist(), best.indices.tolist(), strict=True) if v > 0]


def _meaning(model: "Model", focus: Focus) -> NDArray[np.float32]:
    """(d,) the mixture of its senses, as a direction."""
    first, n = model.index.first[focus.word], model.index.n_senses[focus.word]
    own = model.network.embeddings.detach()[first : first + n].float().cpu()
    meaning: NDArray[np.float32] = model.vectors.common.removed(torch.from_numpy(focus.q[:n]) @ own).numpy()
    return meaning


def _expected(model: "Model", focus: Focus) -> torch.Tensor:
    """(n,) the probability of each sense of `vectors` in the place of the focus."""
    with torch.no_grad():
        p = model.network.sense_probs(focus.y_p.to(model.network.embeddings.dtype))
    return p.float().cpu()[model.index.of_words]


def _gap(model: "Model", focus: Focus) -> NDArray[np.float32]:
    """(d,) the mean direction of what could stand here, of length one; roots, so that more than the best counts."""
    direction = _expected(model, focus).sqrt().numpy() @ model.vectors.vectors
    gap: NDArray[np.float32] = direction / max(float(np.linalg.norm(direction)), 1e-9)
    return gap
