"""The scorers of word sense induction, equal to the official ones: functions on keys, numpy only.

SemEval-2010 Task 14 has the paired F-score and V-measure, on one label an instance (the first one); SemEval-2013 Task
13 fuzzy B-cubed and fuzzy NMI, on weighted labels. B-cubed and the adjusted Rand index, on one label, are for other
data. Each takes gold and key, `{lemma: {instance: {label: weight}}}`, and gives a `Measure`: every lemma of the gold,
and totals over any set of them.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polylm.errors import UserError
from polylm.evaluation.keys import Key, Labels

Array = NDArray[Any]

_BLOCK = 1 << 22  # cells of an instance-by-instance table that are looked at together


@dataclass(frozen=True)
class Measure:
    """One measure on every lemma of a gold key. `per_lemma[lemma]` has `score`, and its parts where it has parts."""

    name: str
    parts: tuple[str, ...]  # what a lemma has beside its score: precision and recall, or the like
    per_lemma: dict[str, dict[str, float]]
    sizes: dict[str, int] = field(repr=False)  # instances of each lemma in the gold
    rule: Literal["weighted", "mean", "harmonic"] = "mean"

    @property
    def total(self) -> float:
        """Over all lemmas."""
        return self.over(self.per_lemma)["score"]

    def over(self, lemmas: Iterable[str]) -> dict[str, float]:
        """Score and parts over some lemmas: means, weighted by instances or not, or the F of mean parts."""
        chosen = list(lemmas)
        if not chosen:
            raise ValueError("there are no lemmas to take the mean of")
        weights = np.array([self.sizes[lemma] if self.rule == "weighted" else 1 for lemma in chosen], dtype=float)
        names = ("score", *self.parts)
        table = np.array([[self.per_lemma[lemma][name] for name in names] for lemma in chosen])
        means = dict(zip(names, (weights @ table / weights.sum()).tolist(), strict=True))
        if self.rule == "harmonic":
            means["score"] = _harmonic(*(means[name] for name in self.parts))
        return means


def by_pos(lemmas: Iterable[str]) -> dict[str, list[str]]:
    """Lemmas such as `access.n` by their part of speech, nouns first; those without one are left out."""
    groups: dict[str, list[str]] = {}
    for lemma in lemmas:
        word, dot, pos = lemma.rpartition(".")
        if word and dot:
            groups.setdefault(pos, []).append(lemma)
    order = "nvjar"
    return dict(sorted(groups.items(), key=lambda item: (order.find(item[0]) % (len(order) + 1), item[0])))


def geometric_mean(a: float, b: float) -> float:
    """The AVG of the paper: of an F-like and an information-like score."""
    return math.sqrt(max(a, 0.0) * max(b, 0.0))


# SemEval-2010 Task 14: one label an instance


def paired_fscore(gold: Key, key: Key) -> Measure:
    """Pairs of instances in one cluster against pairs in one sense; an instance alone in its class is one pair."""

    def score(table: Array) -> tuple[float, ...]:
        senses, clusters = table.sum(axis=1), table.sum(axis=0)
        alone = (table == 1) & (senses[:, None] == 1) & (clusters == 1)
        together = _pairs(table).sum() + alone.sum()
        precision = float(together / np.maximum(_pairs(clusters), 1).sum())
        recall = float(together / np.maximum(_pairs(senses), 1).sum())
        return _harmonic(precision, recall), precision, recall

    return _hard("paired_fscore", ("precision", "recall"), gold, key, score, "weighted")


def v_measure(gold: Key, key: Key) -> Measure:
    """How much clusters and senses tell of each other: homogeneity and completeness."""

    def score(table: Array) -> tuple[float, ...]:
        joint = table / table.sum()
        senses, clusters = _entropy(joint.sum(axis=1)), _entropy(joint.sum(axis=0))
        both = _entropy(joint)
        homogeneity = 1 - (both - clusters) / senses if senses > 0 else 1.0
        completeness = 1 - (both - senses) / clusters if clusters > 0 else 1.0
        homogeneity, completeness = (min(max(value, 0.0), 1.0) for value in (homogeneity, completeness))
        return _harmonic(homogeneity, completeness), homogeneity, completeness

    return _hard("v_measure", ("homogeneity", "completeness"), gold, key, score, "weighted")


# Other data: one label an instance, every lemma alike


def bcubed(gold: Key, key: Key) -> Measure:
    """B-cubed: the mean over instances of the purity of their cluster; an instance is its own neighbour too."""

    def score(table: Array) -> tuple[float, ...]:
        n = table.sum()
        precision = float((table**2 / np.maximum(table.sum(axis=0), 1)).sum() / n)
        recall = float((table**2 / np.maximum(table.sum(axis=1, keepdims=True), 1)).sum() / n)
        return _harmonic(precision, recall), precision, recall

    return _hard("bcubed", ("precision", "recall"), gold, key, score, "mean")


def adjusted_rand(gold: Key, key: Key) -> Measure:
    """The adjusted Rand index: pairs that agree, with what chance would give taken away."""

    def score(table: Array) -> tuple[float, ...]:
        together, senses, clusters = (
            float(_pairs(counts).sum()) for counts in (table, table.sum(axis=1), table.sum(axis=0))
        )
        n = table.sum()
        expected = senses * clusters / max(float(_pairs(n)), 1.0)
        largest = (senses + clusters) / 2
        return (1.0 if largest == expected else (together - expected) / (largest - expected),)

    return _hard("adjusted_rand", (), gold, key, score, "mean")


def _hard(
    name: str,
    parts: tuple[str, ...],
    gold: Key,
    key: Key,
    score: Callable[[Array], tuple[float, ...]],
    rule: Literal["weighted", "mean", "harmonic"],
) -> Measure:
    """Apply a score to the table (senses, clusters) of each lemma."""
    scores = {
        lemma: dict(zip(("score", *parts), score(_contingency(instances, key.get(lemma, {}))), strict=True))
        for lemma, instances in gold.items()
    }
    return Measure(name, parts, scores, _sizes(gold), rule)


def _check(*sides: Mapping[str, Labels]) -> None:
    """A label that is a string would be read letter by letter."""
    for instance, labels in (pair for side in sides for pair in side.items()):
        if not isinstance(labels, Mapping) or not labels:
            raise UserError(f"{instance}: labels have weights, {{'shore': 1.0}}; these are {labels!r}")


def _contingency(gold: Mapping[str, Labels], key: Mapping[str, Labels]) -> Array:
    """Counts (senses, clusters) of first labels. Instances that the key leaves out are one more cluster."""
    _check(gold, key)
    clusters: dict[str | None, int] = {}
    senses: dict[str, int] = {}
    row = [senses.setdefault(next(iter(labels)), len(senses)) for labels in gold.values()]
    column = [
        clusters.setdefault(next(iter(key[instance])) if instance in key else None, len(clusters)) for instance in gold
    ]
    table = np.zeros((len(senses), len(clusters)), dtype=np.float64)
    np.add.at(table, (row, column), 1)
    return table


def _pairs(counts: Any) -> Any:
    return counts * (counts - 1) / 2


# SemEval-2013 Task 13: weighted labels


def fuzzy_bcubed(gold: Key, key: Key) -> Measure:
    """Fuzzy B-cubed. Two instances agree by the sum over shared labels of 1 - |difference of weights|."""
    scores = {}
    for lemma, instances in gold.items():
        precision, recall = _fuzzy_bcubed(instances, key.get(lemma, {}))
        scores[lemma] = {"score": _harmonic(precision, recall), "precision": precision, "recall": recall}
    return Measure("fuzzy_bcubed", ("precision", "recall"), scores, _sizes(gold), "harmonic")


def fuzzy_nmi(gold: Key, key: Key) -> Measure:
    """Fuzzy normalised mutual information: how much each side's graded senses tell of the other's."""
    scores = {lemma: {"score": _fuzzy_nmi(instances, key.get(lemma, {}))} for lemma, instances in gold.items()}
    return Measure("fuzzy_nmi", (), scores, _sizes(gold), "mean")


@dataclass(frozen=True)
class _Members:
    """The graded classes of one side: for each label, which instances (numbers) have it, and with which weight."""

    instances: list[Array]
    weights: list[Array]


def _members(side: Mapping[str, Labels], number_of: Mapping[str, int]) -> _Members:
    """Weights are divided by the instance's largest. A label of weight 0 is shared, but nothing is agreed on in it."""
    members: dict[str, tuple[list[int], list[float]]] = {}
    for instance, labels in side.items():
        largest = max(labels.values())
        for label, weight in labels.items():
            numbers, weights = members.setdefault(label, ([], []))
            numbers.append(number_of[instance])
            weights.append(weight / largest)
    return _Members(
        [np.array(numbers, dtype=np.intp) for numbers, _ in members.values()],
        [np.array(weights, dtype=np.float64) for _, weights in members.values()],
    )


def _fuzzy_bcubed(gold: Mapping[str, Labels], key: Mapping[str, Labels]) -> tuple[float, float]:
    number_of = {instance: number for number, instance in enumerate({**gold, **key})}
    n = len(number_of)
    sides = _members(gold, number_of), _members(key, number_of)
    rows = max(1, _BLOCK // n)
    precision = recall = 0.0
    for start in range(0, n, rows):
        end = min(start + rows, n)
        (a_gold, near_gold), (a_key, near_key) = (_agreement(side, n, start, end) for side in sides)
        least = np.minimum(a_gold, a_key)
        precision += _mean_share(least, a_gold, near_gold)
        recall += _mean_share(least, a_key, near_key)
    return precision / len(gold), recall / len(gold)


def _agreement(side: _Members, n: int, start: int, end: int) -> tuple[Array, Array]:
    """a(i, j) for i from start to end and all j but i; and whether the two share a label."""
    agreement = np.zeros((end - start, n))
    near = np.zeros((end - start, n), dtype=bool)
    for numbers, weights in zip(side.instances, side.weights, strict=True):
        if len(numbers) < 2:
            continue
        here = (numbers >= start) & (numbers < end)
        cells = np.ix_(numbers[here] - start, numbers)
        agreement[cells] += 1 - np.abs(weights[here][:, None] - weights)
        near[cells] = True
    itself = np.arange(end - start)
    agreement[itself, itself + start] = 0
    near[itself, itself + start] = False
    return agreement, near


def _mean_share(least: Array, agreement: Array, near: Array) -> float:
    """The sum over instances of the mean of least / agreement over those near; 0 for one that has none near."""
    share = np.divide(least, agreement, out=np.zeros_like(least), where=agreement > 0)
    return float((share.sum(axis=1) / np.maximum(near.sum(axis=1), 1)).sum())


def _fuzzy_nmi(gold: Mapping[str, Labels], key: Mapping[str, Labels]) -> float:
    number_of = {instance: number for number, instance in enumerate({**gold, **key})}
    n = len(number_of)
    a, b = (_Graded(_members(side, number_of), n) for side in (gold, key))
    h_a, h_b = a.entropies.sum(), b.entropies.sum()
    if not max(h_a, h_b) > 0:
        return 0.0
    left_a, left_b = _unexplained(a, b)
    return float((h_a - left_a + h_b - left_b) / 2 / max(h_a, h_b))


class _Graded:
    """Classes as vectors over n instances in ten bins, (0.1 or less, …, above 0.9), of which the first is the rest."""

    _EDGES = np.array([k / 10 for k in range(1, 11)])

    def __init__(self, members: _Members, n: int) -> None:
        self.n = n
        self.n_classes = len(members.instances)
        cells: list[Array] = []  # the filled bins but the first, of all classes: which instances are in it
        owners: list[int] = []
        self.members = np.zeros((self.n_classes, n), dtype=np.float32)
        for number, (instances, weights) in enumerate(zip(members.instances, members.weights, strict=True)):
            self.members[number, instances[weights > 0]] = 1
            bins = np.minimum(np.searchsorted(self._EDGES, weights), 9)
            for bin_ in np.unique(bins[bins > 0]):
                cells.append(instances[bins == bin_])
                owners.append(number)
        self.bins = np.zeros((len(cells), n), dtype=np.float32)  # (filled bins, n)
        for row, instances in enumerate(cells):
            self.bins[row, instances] = 1
        self.owner = np.zeros((self.n_classes, len(cells)))  # (classes, filled bins)
        self.owner[owners, np.arange(len(cells))] = 1
        self.counts = self.bins.sum(axis=1, dtype=np.float64)
        first = n - self.owner @ self.counts  # what is in no other bin
        self.entropies = self.owner @ _plogp(self.counts / n) + _plogp(first / n)  # bits


def _unexplained(a: _Graded, b: _Graded) -> tuple[float, float]:
    """The sums of H(class of one side | the other side), each the least over the other's classes that may be used."""
    if not a.n_classes or not b.n_classes:
        return float(a.entropies.sum()), float(b.entropies.sum())
    n = a.n
    both = (a.bins @ b.bins.T).astype(np.float64)  # (bins of a, bins of b): instances in both
    first_b = a.counts[:, None] - both @ b.owner.T  # (bins of a, classes of b): in b's first bin
    first_a = b.counts[None, :] - a.owner @ both  # (classes of a, bins of b)
    rest = n - a.owner @ (both @ b.owner.T) - a.owner @ first_b - first_a @ b.owner.T
    joint = (
        a.owner @ _plogp(both / n) @ b.owner.T
        + a.owner @ _plogp(first_b / n)
        + _plogp(first_a / n) @ b.owner.T
        + _plogp(rest / n)
    )  # (classes of a, classes of b) bits
    yes_yes = (a.members @ b.members.T).astype(np.float64) / n
    size_a = a.members.sum(axis=1, dtype=np.float64)[:, None] / n
    size_b = b.members.sum(axis=1, dtype=np.float64)[None, :] / n
    agree = _plogp(yes_yes) + _plogp(1 - size_a - size_b + yes_yes)
    differ = _plogp(size_a - yes_yes) + _plogp(size_b - yes_yes)
    usable = agree >= differ  # else the class would be explained by its opposite
    given_b = np.where(usable, joint - b.entropies[None, :], np.inf).min(axis=1)
    given_a = np.where(usable, joint - a.entropies[:, None], np.inf).min(axis=0)
    return (
        float(np.where(np.isinf(given_b), a.entropies, given_b).sum()),
        float(np.where(np.isinf(given_a), b.entropies, given_a).sum()),
    )


def _plogp(p: Any) -> Any:
    """-p log2 p, 0 at 0 (and where rounding left a trace below it)."""
    return -p * np.log2(np.maximum(p, 1e-300)) * (p > 1e-12)


def _entropy(p: Array) -> float:
    return float(_plogp(p).sum())


def _harmonic(a: float, b: float) -> float:
    return 2 * a * b / (a + b) if a + b > 0 else 0.0


def _sizes(gold: Key) -> dict[str, int]:
    if not gold:
        raise ValueError("the gold key is empty")
    return {lemma: len(instances) for lemma, instances in gold.items()}
