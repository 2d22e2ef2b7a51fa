"""How well do the model's senses agree with WordNet's in SemCor? A large set for sense induction.

    python benchmarks/semcor.py SEMCOR [--model DIR] [--every 2] [--least 20]

Nouns, verbs and adjectives that the model has several senses of, and SemCor two or more with two occurrences each.
Scores are those of one's own data (means over words); a row a granularity, so that models can be compared at the one
each has by default.
"""

import argparse
from collections import Counter, defaultdict
from pathlib import Path

import polylm
from polylm.evaluation.baselines import OneCluster
from polylm.evaluation.instances import Instance, WSIDataset
from polylm.evaluation.systems import PolyLMSystem
from polylm.evaluation.wsd import read_semcor
from polylm.evaluation.wsi import evaluate, judge

GRANULARITIES = (1.0, 0.4, 0.35, 0.3, 0.26, 0.24, 0.22, 0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("semcor", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--every", type=int, default=2, help="take each n-th document")
    parser.add_argument("--least", type=int, default=20, help="occurrences of a word in them")
    options = parser.parse_args()
    model = polylm.load(options.model)
    dataset = induction_set(model, options.semcor, options.every, options.least)
    parts = Counter(instance.pos for instance in dataset.instances)
    print(f"{len(dataset.gold)} words, {len(dataset.instances)} occurrences ({dict(parts)})", flush=True)
    system = PolyLMSystem(model)
    windows = system.encode(dataset.instances)
    q = model.reader.read(windows).q
    baseline = evaluate(dataset, OneCluster(), baselines=False).scores.totals
    print("granularity\t" + "\t".join(baseline))
    print("one sense a word\t" + "\t".join(f"{100 * value:.1f}" for value in baseline.values()))
    for granularity in sorted({*GRANULARITIES, model.granularity}, reverse=True):
        probs = system.labelled(q, windows, dataset.instances, granularity)
        totals = judge(dataset, probs, baselines=False).scores.totals
        print(f"{granularity:g}\t" + "\t".join(f"{100 * value:.1f}" for value in totals.values()), flush=True)


def induction_set(model: polylm.Model, semcor: Path, every: int, least: int) -> WSIDataset:
    """The occurrences of useful words, in the order of the text, with their first label as gold."""
    found = read_semcor(semcor)
    documents = sorted({_document(instance) for instance in found.instances})
    kept = set(documents[::every])
    rows = [
        (instance, senses[0])
        for instance, senses in zip(found.instances, found.senses, strict=True)
        if _document(instance) in kept
    ]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for instance, sense in rows:
        counts[instance.target][sense] += 1
    n_senses = model.network.inventory.n_senses
    useful = {
        instance.target
        for instance, _ in rows
        if instance.pos in "nvj"
        and (word := model.vocabulary.get(instance.lemma)) is not None
        and int(n_senses[word]) > 1
        and counts[instance.target].total() >= least
        and sum(count > 1 for count in counts[instance.target].values()) > 1
    }
    gold: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    for instance, sense in rows:
        if instance.target in useful:
            gold[instance.target][instance.id] = {sense: 1.0}
    return WSIDataset("semcor", "own", [instance for instance, _ in rows if instance.target in useful], gold)


def _document(instance: Instance) -> str:
    return instance.id.partition(".")[0]


if __name__ == "__main__":
    main()
