"""Do the words that have several senses in a dictionary have several here, and those that have one, one?

    python benchmarks/coverage.py WORDNET [--model DIR] [--granularity 1 0.24] [--least 300] [--share 0.02]

Words in lower case that occurred so often in training; of senses, as they are at a granularity, those that are meant in
at least this share of a word's occurrences. By bands of frequency.
"""

import argparse
import re
from itertools import pairwise
from pathlib import Path

import polylm
from polylm.wordnet import WordNet

BANDS = (300, 900, 2_000, 5_000, 20_000, 10**12)


def living_senses(model: polylm.Model, word: int, granularity: float, share: float) -> int:
    """How many senses of a word are used."""
    groups = model.lexicon.index.groups(word, granularity)
    return sum(part >= share for _, part in groups)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("wordnet", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--granularity", type=float, nargs="+")
    parser.add_argument("--least", type=int, default=300)
    parser.add_argument("--share", type=float, default=0.02)
    chosen = parser.parse_args()
    model, wordnet = polylm.load(chosen.model), WordNet(chosen.wordnet)
    vocabulary = model.vocabulary
    words = []  # number, count, synsets
    for number, (word, count) in enumerate(zip(vocabulary.words, vocabulary.counts, strict=True)):
        if count >= chosen.least and re.fullmatch(r"[a-z]{3,}", word):
            synsets = {synset for _, synset in wordnet.of_word(word)}
            if synsets:
                words.append((number, count, len(synsets)))
    print("granularity\toccurrences\tseveral in WordNet\tseveral here\tone in WordNet\tone here")
    for granularity in chosen.granularity or [model.granularity]:
        found = [(n, c, living_senses(model, number, granularity, chosen.share)) for number, c, n in words]
        bands = [*pairwise(BANDS), (chosen.least, BANDS[-1])]
        for least, below in bands:
            several = [k > 1 for n, c, k in found if n > 1 and least <= c < below]
            one = [k == 1 for n, c, k in found if n == 1 and least <= c < below]
            shares = [f"{100 * sum(rows) / max(len(rows), 1):.1f} %" for rows in (several, one)]
            name = f"{least:,} and more" if below == BANDS[-1] else f"{least:,} to {below - 1:,}"
            print(f"{granularity:g}\t{name}\t{len(several):,}\t{shares[0]}\t{len(one):,}\t{shares[1]}", flush=True)


if __name__ == "__main__":
    main()
