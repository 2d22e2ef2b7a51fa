"""Which words could stand where a sense stands: counted on text.

The mean of y^P over the occurrences of a sense is its typical gap. What is likely in that gap, and near in meaning to
the sense, are the words it is most often interchangeable with. A sense s of another word w counts with

    p(s)^0.4 exp(20 c(s)) / f(w)^0.3

p its probability in the gap, c its cosine to the sense, f how often w occurs. With p as it is the commonest words that
fit the gap would win, whatever they mean; the weights were chosen for gaps of single sentences (LOG.md, substitutes
in a text). (The mean of log p would give the same order as log p of the mean, but for one constant: scores are linear
in y^P.)
"""

from collections.abc import Iterable

import torch
from torch import Tensor

from polylm.model.polylm import PolyLM
from polylm.reading.readout import read_places
from polylm.senses.geometry import common

RATE = 0.25  # of the words are masked at a time, before common ones are thinned
LIKELY, NEAR, COMMON = 0.4, 20.0, 0.3  # how much p, c and f count
LEAST = 0.5  # occurrences, without which nothing is said of a sense
_CHUNK = 512  # senses that are looked at together


@torch.no_grad()
def count_substitutes(
    model: PolyLM,
    texts: Iterable[Tensor | tuple[Tensor, Tensor]],
    mask: int,
    is_word: Tensor,
    n: int,
    *,
    chances: Tensor | None = None,
    generator: torch.Generator | None = None,
    occurrences: Tensor | None = None,
) -> Tensor:
    """(S, n) the ids of each sense's substitutes, the best first; 0, which is no word, where there are none.

    `texts` are (B, T) word ids, or pairs of them with their segments; `is_word` (V,) says what may be a substitute,
    `chances` (V,), from 0 to 1, how often a word is looked at beside others, `occurrences` (V,) how common words are.
    """
    gaps, counts = mean_gaps(model, texts, mask, chances=chances, generator=generator)
    return nearest_in_gaps(model, gaps, counts, is_word, n, occurrences)


@torch.no_grad()
def mean_gaps(
    model: PolyLM,
    texts: Iterable[Tensor | tuple[Tensor, Tensor]],
    mask: int,
    *,
    chances: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean y^P (S, d) of every sense, and how many occurrences (S,) it was taken over."""
    inventory = model.inventory
    device = model.embeddings.device
    sums = torch.zeros(inventory.n_rows, model.config.d_model, device=device)
    counts = torch.zeros(inventory.n_rows, device=device)
    looked_at = inventory.predicted[inventory.first].float() * RATE  # (V,)
    if chances is not None:
        looked_at = looked_at * chances.to(device)
    for text in texts:
        words, segments = text if isinstance(text, tuple) else (text, None)
        lots = torch.rand(words.shape, generator=generator, device=device)
        chosen = lots < looked_at[words]
        if segments is not None:
            chosen &= segments > 0
        row, position = chosen.nonzero(as_tuple=True)
        if not len(row):
            continue
        reading = read_places(model, words, row, position, mask, segments=segments, output=True, turns=1)
        assert reading.y_p is not None
        rows, is_sense = inventory.rows(words[row, position])
        q = reading.q.float() * is_sense
        counts.index_add_(0, rows.flatten(), q.flatten())
        sums.index_add_(0, rows.flatten(), (q.unsqueeze(-1) * reading.y_p.float().unsqueeze(-2)).flatten(0, 1))
    return sums / counts.clamp(min=1e-9).unsqueeze(-1), counts


@torch.no_grad()
def nearest_in_gaps(
    model: PolyLM, gaps: Tensor, counts: Tensor, is_word: Tensor, n: int, occurrences: Tensor | None = None
) -> Tensor:
    """(S, n) word ids from the mean gaps (S, d) of all senses. Without `occurrences` all words are equally common."""
    inventory = model.inventory
    device = gaps.device
    word_of_sense = inventory.word_of_sense
    candidate = is_word.to(device)[word_of_sense] & inventory.predicted  # (S,)
    vectors = model.embeddings.detach().float()
    directions = torch.zeros_like(vectors)
    substitutes = torch.zeros(inventory.n_rows, n, dtype=torch.int64, device=device)
    asked = (candidate & (counts >= LEAST)).nonzero().flatten()
    n = min(n, inventory.n_words)
    common_words = torch.zeros(inventory.n_rows, device=device)
    if occurrences is not None:
        common_words = COMMON * occurrences.to(device).double().clamp(min=1).log().float()[word_of_sense]
    with torch.autocast(device.type, enabled=False):
        directions[candidate] = common(vectors[candidate]).removed(vectors[candidate])
        for rows in torch.split(asked, _CHUNK):
            log_p = gaps[rows] @ vectors.T + model.output_bias().float()
            scores = LIKELY * log_p + NEAR * (directions[rows] @ directions.T) - common_words
            weights = scores.masked_fill(~candidate, -torch.inf).softmax(dim=-1)
            by_word = weights.new_zeros(len(rows), inventory.n_words).index_add_(1, word_of_sense, weights)
            by_word[torch.arange(len(rows), device=device), word_of_sense[rows]] = 0
            best = by_word.topk(n, dim=1)
            substitutes[rows, :n] = best.indices.masked_fill(best.values <= 0, 0)
    return substitutes
