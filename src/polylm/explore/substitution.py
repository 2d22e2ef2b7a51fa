"""Which words could stand in the place of a word: likely there, near to what it means there, and of its kind.

Senses of other words count as they do for the substitutes of a sense (`senses/substitutes.py`), but the gap is this
one, and the meaning that of the word in this text. Words of another part of speech are passed over: *settlement* for a
verb.
"""

from collections.abc import Container, Iterator

import torch
from torch import Tensor

from polylm.senses.substitutes import COMMON, LIKELY, NEAR
from polylm.text.lemmatizer import can_have, inflected


def weights_of_words(p: Tensor, cosines: Tensor | None, word_of_sense: Tensor, counts: Tensor) -> Tensor:
    """(V,) what the senses of each word weigh together, from p (S,) and c (S,); all weights are 1 together.

    Of a word whose meaning is not known (no cosines) there is only what is likely in its place.
    """
    log_weights = p.double().clamp(min=1e-30).log()
    if cosines is not None:
        log_weights = LIKELY * log_weights + NEAR * cosines - COMMON * counts.double().clamp(min=1).log()[word_of_sense]
    return torch.zeros(len(counts), dtype=torch.float64).index_add_(0, word_of_sense, log_weights.softmax(dim=0))


def best_of_kind(
    weights: Tensor, words: list[str], tag: str, *, in_form: bool, without: Container[str] = ()
) -> Iterator[tuple[str, float]]:
    """Words and their weights, the heaviest first: those of the part of speech of a Penn tag, without a tag all.

    `in_form`: as the tag wants them, instead of as lemmas. None of `without`.
    """
    best = weights.sort(descending=True)
    said = set()
    for weight, number in zip(best.values.tolist(), best.indices.tolist(), strict=True):
        if weight <= 0:
            return
        if words[number] in without or (tag and not can_have(words[number], tag)):
            continue
        word = inflected(words[number], tag) if in_form else words[number]
        if word not in said:
            said.add(word)
            yield word, weight
