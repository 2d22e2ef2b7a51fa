"""The protocol of whatever gives senses to focus words, and the baselines that stand beside every result.

The protocol is one method: for each instance a mapping of labels to probabilities. `wsi.evaluate` does the rest.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Protocol

from polylm.evaluation.instances import Instance


class SenseSystem(Protocol):
    """Probabilities over senses for focus words. Labels are the system's own, and are compared within a lemma."""

    def sense_probs(self, instances: Sequence[Instance]) -> Sequence[Mapping[str, float]]:
        """One mapping an instance, in order; empty for a word that the system does not know."""
        ...


class Baseline(SenseSystem, Protocol):
    """A system with a name of its own."""

    name: str


class OneCluster:
    """Every instance of a lemma has one sense."""

    name = "one cluster per lemma"

    def sense_probs(self, instances: Sequence[Instance]) -> list[dict[str, float]]:
        """One sense for each instance."""
        return [{f"{instance.target}.1": 1.0} for instance in instances]


class OnePerInstance:
    """Every instance has a sense of its own."""

    name = "one cluster per instance"

    def sense_probs(self, instances: Sequence[Instance]) -> list[dict[str, float]]:
        """One sense for each instance."""
        return [{f"{instance.target}.{number}": 1.0} for number, instance in enumerate(instances, 1)]


class RandomSenses:
    """One of k senses, by lot."""

    def __init__(self, k: int, seed: int = 0) -> None:
        self.k, self.seed = k, seed
        self.name = f"random, {k} clusters"

    def sense_probs(self, instances: Sequence[Instance]) -> list[dict[str, float]]:
        """One sense for each instance."""
        rng = random.Random(self.seed)
        return [{f"{instance.target}.{rng.randint(1, self.k)}": 1.0} for instance in instances]
