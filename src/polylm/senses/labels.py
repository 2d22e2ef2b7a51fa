"""Three words that say what a sense is like, and tell it from the other senses of its word.

They are chosen from its neighbours and its substitutes. A word that says as much of a commoner sense says little:
*cricket* is like football in most of its senses, and among insects in one.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from polylm.senses.keys import word_of
from polylm.senses.vectors import SenseVectors
from polylm.text.lemmatizer import own_forms

LENGTH = 3  # words of a label
LISTED = 8  # words that a label is chosen from
CANDIDATES = 12  # nearest senses that they are chosen from
TOLD_APART = 0.65  # how much a word loses of what it is worth to a commoner sense
# Cosines: from where on a neighbour or a substitute says something, and from where on it counts in full.
FAR_OFF, NEAR = 0.25, 0.4
FAR_FROM_IT, LIKE_IT = 0.2, 0.5
LEAST = 0.5  # the least that a substitute counts


def label_words(
    vectors: SenseVectors, keys: Sequence[str], substitutes: Sequence[Sequence[str]]
) -> Iterator[list[str]]:
    """For each sense up to LISTED words that are far up in both lists, the best first.

    Senses that have no near neighbours have odd ones, so these count by how near they are. Substitutes do too: what is
    common fits many places.
    """
    rows = [vectors.index(key) for key in keys]
    forms: dict[str, set[str]] = {}
    near = vectors.nearest(rows, CANDIDATES)
    for key, row, neighbours, others in zip(keys, rows, near, substitutes, strict=True):
        chances: defaultdict[str, float] = defaultdict(float)
        own = forms.get(word_of(key)) or forms.setdefault(word_of(key), own_forms(word_of(key)))
        for rank, (other, cosine) in enumerate(neighbours):
            chances[word_of(other)] += (_rise(cosine, FAR_OFF, NEAR) if others else 1.0) / (rank + 3)
        for rank, (word, cosine) in enumerate(zip(others, _cosines(vectors, row, others), strict=True)):
            chances[word] += max(_rise(cosine, FAR_FROM_IT, LIKE_IT), LEAST) / (rank + 3)
        yield [word for word in sorted(chances, key=lambda word: -chances[word]) if word not in own][:LISTED]


def _rise(value: float, start: float, end: float) -> float:
    return min(max((value - start) / (end - start), 0.0), 1.0)


def _cosines(vectors: SenseVectors, row: int, words: Sequence[str]) -> list[float]:
    """How near the nearest sense of each word is to a sense."""
    rows = [vectors.rows_of_word[word] for word in words]
    if not rows:
        return []
    cosines = vectors.vectors[[one for own in rows for one in own]] @ vectors.vectors[row]
    nearest: list[float] = np.maximum.reduceat(cosines, np.cumsum([0, *map(len, rows[:-1])])).tolist()
    return nearest


def contrasted(lists: Sequence[Sequence[str]], shares: Sequence[float]) -> list[list[str]]:
    """For each sense of a word, from its list of words, the best first, and from its share, the words of its label.

    The commonest sense has its best words. What is worth something to a commoner sense is worth less to a rarer one.
    """
    order = sorted(range(len(lists)), key=lambda place: -shares[place])
    labels: list[list[str]] = [[] for _ in lists]
    said: dict[str, float] = {}  # how much each word is worth to the senses before
    for place in order:
        chances = {word: 1 / (rank + 3) for rank, word in enumerate(lists[place])}
        worth = {word: chance - TOLD_APART * said.get(word, 0.0) for word, chance in chances.items()}
        labels[place] = sorted(chances, key=lambda word: -worth[word])[:LENGTH]
        said |= {word: max(chance, said.get(word, 0.0)) for word, chance in chances.items()}
    return labels
