"""Do the vectors of `Model.embed` tell meanings apart? Occurrences in WiC and SemCor.

    python benchmarks/meaning.py WIC SEMCOR WORDNET [--model DIR] [--documents 8] [--pairs 20000]

WiC and SemCor's pairs of one word: the area under the curve of the cosine, same meaning or not (0.5 is chance).
SemCor's pairs of different words: the rank correlation of the cosine with WordNet's path similarity of the labels.
"""

import argparse
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import polylm
from polylm.evaluation.instances import Instance
from polylm.evaluation.wic import read_pairs
from polylm.evaluation.wsd import read_semcor
from polylm.wordnet import WordNet

Vectors = dict[int, NDArray[np.float32]]  # of those that have one
PARTS = {"nouns": "n", "verbs": "v"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wic", type=Path)
    parser.add_argument("semcor", type=Path)
    parser.add_argument("wordnet", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--documents", type=int, default=8, help="of SemCor's 352, by lot")
    parser.add_argument("--pairs", type=int, default=20000, help="of SemCor's words, by lot")
    options = parser.parse_args()
    model = polylm.load(options.model)
    print("pairs\tmeasure\tvalue\tnumber")
    for name, pairs in read_pairs(options.wic).items():
        if name == "test":  # not for choosing
            continue
        vectors = embedded(model, pairs.instances)
        known = [i for i in range(len(pairs.same)) if 2 * i in vectors and 2 * i + 1 in vectors]
        cosines = np.array([vectors[2 * i] @ vectors[2 * i + 1] for i in known])
        print(f"WiC {name}\tarea\t{area(cosines, pairs.same[known]):.3f}\t{len(known)}", flush=True)
    wordnet = WordNet(options.wordnet)
    synset_of = dict(pair for senses in wordnet.senses.values() for pair in senses)
    similarity = path_similarity(wordnet)
    labelled = read_semcor(options.semcor)
    documents = sorted({instance.id.partition(".")[0] for instance in labelled.instances})
    kept = set(random.Random(0).sample(documents, min(options.documents, len(documents))))
    found = [
        (instance, synset_of[senses[0]])
        for instance, senses in zip(labelled.instances, labelled.senses, strict=True)
        if instance.id.partition(".")[0] in kept and senses[0] in synset_of
    ]
    vectors = embedded(model, [instance for instance, _ in found])
    for part, letter in PARTS.items():
        own = [i for i in vectors if found[i][0].pos == letter]
        lemmas, synsets = {i: found[i][0].lemma for i in own}, {i: found[i][1] for i in own}
        one = list(of_one_word(own, lemmas, synsets, options.pairs))
        cosines = np.array([vectors[a] @ vectors[b] for a, b in one])
        same = np.array([synsets[a] == synsets[b] for a, b in one])
        print(f"SemCor, one word, {part}\tarea\t{area(cosines, same):.3f}\t{len(one)}")
        two = list(of_different_words(own, lemmas, options.pairs))
        cosines = np.array([vectors[a] @ vectors[b] for a, b in two])
        near = np.array([similarity(synsets[a], synsets[b]) for a, b in two])
        correlation = np.corrcoef(ranks(cosines), ranks(near))[0, 1]
        print(f"SemCor, different words, {part}\trank correlation\t{correlation:.3f}\t{len(two)}", flush=True)


def embedded(model: polylm.Model, instances: Sequence[Instance]) -> Vectors:
    """The vectors of those whose focus is one word."""
    spans = [(instance.start, instance.end) for instance in instances]
    vectors = model.embed_many([instance.text for instance in instances], spans=spans, strict=False)
    return {number: vector for number, vector in enumerate(vectors) if not np.isnan(vector[0])}


def area(values: NDArray[np.floating], same: NDArray[np.bool_]) -> float:
    """Under the curve: how often a pair that is the same has the higher value."""
    places, n_same = ranks(values)[same], int(same.sum())
    return float((places.sum() - n_same * (n_same + 1) / 2) / (n_same * (len(same) - n_same)))


def ranks(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """From 1 on; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    places: NDArray[np.float64] = np.cumsum(counts) - (counts - 1) / 2
    return places[inverse]


def of_one_word(
    own: list[int], lemmas: dict[int, str], synsets: dict[int, str], n_pairs: int
) -> Iterator[tuple[int, int]]:
    """Two occurrences each of a word that has several labels."""
    by_lemma = defaultdict(list)
    for i in own:
        by_lemma[lemmas[i]].append(i)
    several = [members for members in by_lemma.values() if len({synsets[i] for i in members}) > 1]
    chance = random.Random(1)
    for _ in range(n_pairs):
        a, b = chance.sample(chance.choice(several), 2)
        yield a, b


def of_different_words(own: list[int], lemmas: dict[int, str], n_pairs: int) -> Iterator[tuple[int, int]]:
    chance = random.Random(2)
    while n_pairs:
        a, b = chance.choice(own), chance.choice(own)
        if lemmas[a] != lemmas[b]:
            n_pairs -= 1
            yield a, b


def path_similarity(wordnet: WordNet) -> Callable[[str, str], float]:
    """1 / (1 + the steps between two synsets, over what is above both); 0 where nothing is."""

    @cache
    def above(synset: str) -> dict[str, int]:
        steps, reached = {synset: 0}, [synset]
        while reached:
            upward = [
                (steps[one], target)
                for one in reached
                for kind, target in wordnet.synsets[one].pointers
                if kind in ("@", "@i")
            ]
            reached = []
            for far, target in upward:
                if target not in steps:
                    steps[target] = far + 1
                    reached.append(target)
        return steps

    def similarity(a: str, b: str) -> float:
        ours, theirs = above(a), above(b)
        common = [far + theirs[synset] for synset, far in ours.items() if synset in theirs]
        return 1 / (1 + min(common)) if common else 0.0

    return similarity


if __name__ == "__main__":
    main()
