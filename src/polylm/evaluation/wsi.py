"""Word sense induction: a system's distributions to answers, answers to scores, for any data set of focus words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polylm.errors import UserError
from polylm.evaluation import metrics
from polylm.evaluation.baselines import Baseline, OneCluster, OnePerInstance, RandomSenses, SenseSystem
from polylm.evaluation.instances import Instance, WSIDataset
from polylm.evaluation.keys import Key

# Of each task: its measures; where there are several, the first two have the AVG.
MEASURES = {
    "semeval2010": (metrics.paired_fscore, metrics.v_measure),
    "semeval2013": (metrics.fuzzy_bcubed, metrics.fuzzy_nmi),
    "own": (metrics.paired_fscore, metrics.v_measure, metrics.bcubed, metrics.adjusted_rand),
    "semcor-wsi": (metrics.bcubed,),
}
THRESHOLD = 0.2  # SemEval-2013: every sense above it is an answer, and the best one always


@dataclass(frozen=True)
class Scores:
    """Totals, and the same for each lemma and part of speech: measures by name, their parts, and `avg`."""

    totals: dict[str, float]
    per_lemma: dict[str, dict[str, float]]
    per_pos: dict[str, dict[str, float]]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**self.totals, "per_lemma": self.per_lemma, "per_pos": self.per_pos}


@dataclass(frozen=True)
class Evaluation:
    """A system on a data set: its scores, its key, and the baselines beside it."""

    dataset: WSIDataset
    scores: Scores
    key: dict[str, dict[str, dict[str, float]]]
    unknown: list[str]  # lemmas that the system does not know; they are answered with one sense
    baselines: dict[str, Scores]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "dataset": self.dataset.name,
            "instances": len(self.dataset.instances),
            **self.scores.to_dict(),
            "unknown": self.unknown,
            "baselines": {name: scores.totals for name, scores in self.baselines.items()},
        }


def evaluate(dataset: WSIDataset, system: SenseSystem, *, baselines: bool = True) -> Evaluation:
    """Ask a system about every instance, and score what it says."""
    return judge(dataset, system.sense_probs(dataset.instances), baselines=baselines)


def judge(dataset: WSIDataset, probs: Sequence[Mapping[str, float]], *, baselines: bool = True) -> Evaluation:
    """Score distributions, one an instance. The baselines answer the instances of the gold key alone."""
    if len(probs) != len(dataset.instances):
        raise ValueError(f"the system gave {len(probs)} distributions for {len(dataset.instances)} instances")
    graded = dataset.task == "semeval2013"
    seen = set()
    for instance in dataset.instances:
        if (instance.target, instance.id) in seen:
            raise UserError(f"{instance.id} of {instance.target} is in the data set twice")
        seen.add((instance.target, instance.id))
    key = answers(dataset.instances, probs, graded=graded)
    unknown = {instance.target: None for instance, q in zip(dataset.instances, probs, strict=True) if not q}
    in_gold = [i for i in dataset.instances if i.id in dataset.gold.get(i.target, {})]
    others: list[Baseline] = [OneCluster(), OnePerInstance(), RandomSenses(4)] if baselines else []
    beside = {other.name: answers(in_gold, other.sense_probs(in_gold), graded=graded) for other in others}
    return Evaluation(
        dataset,
        score(dataset.task, key, dataset.gold),
        key,
        list(unknown),
        {name: score(dataset.task, answered, dataset.gold) for name, answered in beside.items()},
    )


def answers(
    instances: Sequence[Instance], probs: Sequence[Mapping[str, float]], *, graded: bool
) -> dict[str, dict[str, dict[str, float]]]:
    """The best sense; graded, also every other above 0.2, with their probabilities. Unknown words have sense 1.

    Probabilities have the four digits that key files have, so that a file scores as what it was written from.
    """
    key: dict[str, dict[str, dict[str, float]]] = {}
    for instance, q in zip(instances, probs, strict=True):
        ranked = sorted(q.items(), key=lambda item: -item[1]) or [(f"{instance.target}.1", 1.0)]
        chosen = [ranked[0], *(item for item in ranked[1:] if item[1] > THRESHOLD)] if graded else [(ranked[0][0], 1.0)]
        key.setdefault(instance.target, {})[instance.id] = {label: max(round(p, 4), 1e-4) for label, p in chosen}
    return key


def score(task: str, key: Key, gold: Key) -> Scores:
    """Score a key, anybody's, against the gold key."""
    if task not in MEASURES:
        raise UserError(f"there is no task {task!r}: choose from {', '.join(MEASURES)}")
    if not any(instance in key.get(lemma, {}) for lemma, instances in gold.items() for instance in instances):
        raise UserError("the key answers no instance of the gold key: do the two belong to one data set?")
    if task == "own":  # one sentence is no clustering, and would be right whatever is said
        gold = {lemma: instances for lemma, instances in gold.items() if len(instances) > 1} or gold
    measures = [measure(gold, key) for measure in MEASURES[task]]
    per_lemma = {
        lemma: _with_avg(measures, [measure.per_lemma[lemma] for measure in measures]) for lemma in sorted(gold)
    }
    per_pos = {pos: _over(task, measures, lemmas, per_lemma) for pos, lemmas in metrics.by_pos(gold).items()}
    totals = _over(task, measures, list(gold), per_lemma)
    return Scores(_only_scores(measures, totals), per_lemma, per_pos)


def _over(
    task: str,
    measures: Sequence[metrics.Measure],
    lemmas: Sequence[str],
    per_lemma: Mapping[str, Mapping[str, float]],
) -> dict[str, float]:
    """Scores over some lemmas: by the task's own rule, or the plain mean of everything."""
    if task in ("own", "semcor-wsi"):
        names = per_lemma[lemmas[0]]
        return {name: sum(per_lemma[lemma][name] for lemma in lemmas) / len(lemmas) for name in names}
    return _with_avg(measures, [measure.over(lemmas) for measure in measures])


def _with_avg(measures: Sequence[metrics.Measure], values: Sequence[Mapping[str, float]]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for measure, value in zip(measures, values, strict=True):
        scores[measure.name] = value["score"]
        scores |= {f"{measure.name}_{part}": value[part] for part in measure.parts}
    if len(measures) > 1:
        scores["avg"] = metrics.geometric_mean(*(scores[measure.name] for measure in measures[:2]))
    return scores


def _only_scores(measures: Sequence[metrics.Measure], totals: Mapping[str, float]) -> dict[str, float]:
    parts = {f"{measure.name}_{part}" for measure in measures for part in measure.parts}
    return {name: value for name, value in totals.items() if name not in parts}
