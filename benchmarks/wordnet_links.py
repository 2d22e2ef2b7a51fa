"""How often is the WordNet link of a sense right? Counted through SemCor, which links nothing and was not learned from.

    python benchmarks/wordnet_links.py SEMCOR WORDNET [--model DIR] [--documents 80] [--source both]

Each labelled word of SemCor falls to a sense of the model; a link is right if it is the synset that most of the words
of its sense have. Senses of at least five words count whose word has several synsets. The weights of the linker were
chosen on one half of the words (`chosen`); the other half is the honest figure.
"""

import argparse
import random
from collections import Counter, defaultdict
from pathlib import Path

import polylm
from polylm.evaluation.systems import PolyLMSystem
from polylm.evaluation.wsd import read_semcor
from polylm.explore.links import Linker
from polylm.senses.keys import make_key, word_of
from polylm.wordnet import WordNet


def synsets_met(
    model: polylm.Model, semcor: Path, wordnet: WordNet, documents: int, read_out: str
) -> dict[str, Counter[str]]:
    """Which synsets the words of each sense have in some of SemCor's documents, at the model's granularity."""
    synset_of = dict(pair for senses in wordnet.senses.values() for pair in senses)
    labelled = read_semcor(semcor)
    names = sorted({instance.id.partition(".")[0] for instance in labelled.instances})
    random.Random(0).shuffle(names)
    kept = set(names[:documents])
    pairs = [
        (instance, senses)
        for instance, senses in zip(labelled.instances, labelled.senses, strict=True)
        if instance.id.partition(".")[0] in kept
    ]
    probs = PolyLMSystem(model, read_out=read_out).sense_probs([instance for instance, _ in pairs])
    met: dict[str, Counter[str]] = defaultdict(Counter)
    for (instance, senses), distribution in zip(pairs, probs, strict=True):
        synset = synset_of.get(senses[0])
        if synset and distribution:
            number = max(distribution, key=lambda name: distribution[name]).rpartition(".")[2]
            met[make_key(instance.lemma, int(number))][synset] += 1
    return met


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("semcor", type=Path)
    parser.add_argument("wordnet", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--documents", type=int, default=80, help="of SemCor's 352, by lot")
    parser.add_argument("--read-out", default="both")
    options = parser.parse_args()
    model, wordnet = polylm.load(options.model), WordNet(options.wordnet)
    met = synsets_met(model, options.semcor, wordnet, options.documents, options.read_out)
    senses = [key for key, n in met.items() if n.total() >= 5 and len(wordnet.of_word(word_of(key))) > 1]
    words = sorted({word_of(key) for key in senses})
    random.Random(1).shuffle(words)
    linker = Linker(model, wordnet)
    groups = [[sense.members for sense in found] for found in model.lexicon.senses(words, topn=1, as_is=True)]
    links = {
        group[0]: link
        for own, found in zip(groups, linker.many(list(zip(words, groups, strict=True))), strict=True)
        for group, link in zip(own, found, strict=True)
    }
    print("words\tconfidence\tsenses\tright\tfirst synset\toccurrences\tright")
    for name, half in (("chosen", set(words[: len(words) // 2])), ("other", set(words[len(words) // 2 :]))):
        for least in (0.0, 0.5, 0.7, 0.9):
            mine = [k for k in senses if word_of(k) in half and k in links and links[k].confidence >= least]
            right = sum(links[key].synset == met[key].most_common(1)[0][0] for key in mine)
            first = sum(wordnet.of_word(word_of(key))[0][1] == met[key].most_common(1)[0][0] for key in mine)
            total, hit = sum(met[key].total() for key in mine), sum(met[key][links[key].synset] for key in mine)
            print(
                f"{name}\t{least}\t{len(mine)}\t{right / max(len(mine), 1):.1%}\t{first / max(len(mine), 1):.1%}\t"
                f"{total}\t{hit / max(total, 1):.1%}"
            )


if __name__ == "__main__":
    main()
