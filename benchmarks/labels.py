"""Do the three words of a label say what a sense is, and do they tell it from the others of its word?

    python benchmarks/labels.py SEMCOR WORDNET [--model DIR] [--documents 80]

Each labelled word of SemCor falls to a sense of the model. Of the label of a sense of at least five words, how many
words are about the synset that most of them have (its members, relatives and gloss), and how many stand in the label of
another sense of the same word? Labels are those at the model's granularity.
"""

import argparse
from pathlib import Path

import numpy as np
from wordnet_links import synsets_met

import polylm
from polylm.explore.links import Linker
from polylm.senses.keys import word_of
from polylm.wordnet import WordNet


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("semcor", type=Path)
    parser.add_argument("wordnet", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--documents", type=int, default=80, help="of SemCor's 352, by lot")
    options = parser.parse_args()
    model, wordnet = polylm.load(options.model), WordNet(options.wordnet)
    met = synsets_met(model, options.semcor, wordnet, options.documents, "disambiguation")
    linker = Linker(model, wordnet)
    about, shared = [], []
    for key, counts in sorted(met.items()):
        word = word_of(key)
        if counts.total() < 5 or not model.label(key):
            continue
        label = model.label(key).split()
        right = linker.words_about(counts.most_common(1)[0][0], word)
        about.append(np.mean([other in right for other in label]))
        others = [
            model.label(sense.key).split() for sense in model.senses(word, topn=1, as_is=True) if sense.key != key
        ]
        if others:
            shared.append(np.mean([any(one in label_of_other for label_of_other in others) for one in label]))
    print(f"senses\t{len(about)}\nwords about the synset\t{100 * np.mean(about):.1f} %")
    print(f"words that another sense of the word has too\t{100 * np.mean(shared):.1f} %")


if __name__ == "__main__":
    main()
