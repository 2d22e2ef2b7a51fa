"""Three words that say what a sense is like: the best of its neighbours and of its substitutes."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from polylm.senses.keys import word_of
from polylm.senses.vectors import SenseVectors

LENGTH = 3  # words of a label
CANDIDATES = 12  # nearest senses that they are chosen from
FAR_OFF, NEAR = 0.25, 0.4  # cosines: from where on a neighbour says something, and from where on it counts in full


def label_words(
    vectors: SenseVectors, keys: Sequence[str], substitutes: Sequence[Sequence[str]]
) -> Iterator[list[str]]:
    """For each sense the words that are far up in both lists.

    Senses that have no near neighbours have odd ones, so these count by how near they are.
    """
    near = vectors.nearest([vectors.index(key) for key in keys], CANDIDATES)
    for neighbours, others in zip(near, substitutes, strict=True):
        chances: defaultdict[str, float] = defaultdict(float)
        for rank, (other, cosine) in enumerate(neighbours):
            weight = min(max((cosine - FAR_OFF) / (NEAR - FAR_OFF), 0.0), 1.0) if others else 1.0
            chances[word_of(other)] += weight / (rank + 3)
        for rank, word in enumerate(others):
            chances[word] += 1 / (rank + 3)
        yield sorted(chances, key=lambda word: -chances[word])[:LENGTH]
