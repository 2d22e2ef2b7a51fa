"""A look at the senses of a model in training: how many are in use, and what is near to those of some words."""

from collections.abc import Sequence

import torch
from torch import Tensor

from polylm.model.polylm import PolyLM
from polylm.model.pruning import dead_senses
from polylm.senses.geometry import directions
from polylm.senses.keys import make_key
from polylm.symbols import SPECIAL


@torch.no_grad()
def sense_counts(model: PolyLM) -> dict[str, float]:
    """Effective senses of a word of several, and how many senses are dead."""
    several = model.inventory.poly_words
    if not len(several):
        return {"effective_senses": 1.0, "dead_senses": 0.0}
    return {
        "effective_senses": model.mean_effective_senses(),
        "dead_senses": float(dead_senses(model).sum()) / max(int(model.inventory.n_senses[several].sum()), 1),
    }


@torch.no_grad()
def neighbours(model: PolyLM, word: int, words: Sequence[str], topn: int = 5) -> list[str]:
    """For each living sense of a word its share and the nearest senses of other words."""
    inventory = model.inventory
    vectors = directions(model.embeddings.detach().float())
    shares, dead = model.shares(), dead_senses(model)
    first, n = int(inventory.first[word]), int(inventory.n_senses[word])
    usable = ~dead & inventory.predicted
    usable[: int(inventory.first[len(SPECIAL)])] = False
    lines = []
    for row in sorted(range(first, first + n), key=lambda row: -float(shares[row])):
        if dead[row]:
            continue
        similarity: Tensor = (vectors @ vectors[row]).masked_fill(~usable, -1)
        similarity[first : first + n] = -1
        near: list[str] = []
        for other in similarity.topk(min(topn * 4, len(similarity))).indices.tolist():
            name = words[int(inventory.word_of_sense[other])]
            if name not in near and len(near) < topn:
                near.append(name)
        key = make_key(words[word], row - first + 1)
        lines.append(f"{key} {float(shares[row]):.0%}: {' '.join(near)}")
    return lines
