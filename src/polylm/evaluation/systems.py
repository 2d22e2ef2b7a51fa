"""Whatever gives senses to focus words: our model, baselines, and any system that is to be compared with them.

The protocol is one method: for each instance a mapping of labels to probabilities. `wsi.evaluate` does the rest.
"""

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from polylm.evaluation.encoding import Encoded, Report, encode, read
from polylm.evaluation.instances import Instance

if TYPE_CHECKING:
    from polylm.explore.model import Model
    from polylm.model.granularity import Granularity
    from polylm.model.inventory import SenseInventory
    from polylm.model.readout import Source


class SenseSystem(Protocol):
    """Probabilities over senses for focus words. Labels are the system's own, and are compared within a lemma."""

    def sense_probs(self, instances: Sequence[Instance]) -> Sequence[Mapping[str, float]]:
        """One mapping an instance, in order; empty for a word that the system does not know."""
        ...


class Baseline(SenseSystem, Protocol):
    """A system with a name of its own."""

    name: str


class PolyLMSystem:
    """Our model with a read-out: `prediction` (the paper's), `disambiguation`, or `both`; senses merged as it says."""

    def __init__(
        self,
        model: "Model",
        *,
        source: "Source" = "both",
        weight: float = 0.6,
        granularity: float | None = None,
        report: Report | None = None,
        reading: Report | None = None,
    ) -> None:
        from polylm.explore.model import checked_dial

        self.model, self.source, self.weight = model, source, weight
        self.reading, self.report = reading, report  # of the text, and of the network
        self.granularity = checked_dial(model.granularity if granularity is None else granularity, model.merging)

    def encode(self, instances: Sequence[Instance]) -> Encoded:
        """The instances as ids, which can be read elsewhere."""
        return encode(instances, self.model.pipeline, self.model.network.config.max_length, report=self.reading)

    def sense_probs(self, instances: Sequence[Instance]) -> list[dict[str, float]]:
        """Labels are `lemma.pos.k`, k the number of the sense: bank.n.3 is bank#3."""
        network, encoded = self.model.network, self.encode(instances)
        q, _ = read(network, encoded, source=self.source, weight=self.weight, report=self.report)
        q = merged(q, encoded, self.model.merging, self.granularity)
        return labelled(q, encoded, network.inventory, instances)


def merged(q: NDArray[np.float32], encoded: Encoded, merging: "Granularity | None", dial: float) -> NDArray[np.float32]:
    """Distributions (n, k) with the senses that count as one at this granularity added up."""
    import torch

    if merging is None or dial >= 1:
        return q
    words = torch.from_numpy(np.maximum(encoded.target, 0))
    together: NDArray[np.float32] = merging.merge(words, torch.from_numpy(q), dial).numpy()
    return together


def labelled(
    q: NDArray[np.float32], encoded: Encoded, inventory: "SenseInventory", instances: Sequence[Instance]
) -> list[dict[str, float]]:
    """Distributions (n, k) with the names of the senses, most probable first; nothing for unknown lemmas."""
    tables = inventory.first, inventory.n_senses, inventory.numbers
    first, counts, numbers = (table.cpu().tolist() for table in tables)
    answers: list[dict[str, float]] = []
    for row, target, known, instance in zip(q, encoded.target.tolist(), encoded.known, instances, strict=True):
        if not known:
            answers.append({})
            continue
        names = numbers[first[target] : first[target] + counts[target]]
        pairs = sorted(zip(row[: len(names)].tolist(), names, strict=True), key=lambda pair: (-pair[0], pair[1]))
        answers.append({f"{instance.target}.{number}": probability for probability, number in pairs if probability > 0})
    return answers


class OneCluster:
    """Every instance of a lemma has one sense."""

    name = "one cluster per lemma"

    def sense_probs(self, instances: Sequence[Instance]) -> list[dict[str, float]]:
        return [{f"{instance.target}.1": 1.0} for instance in instances]


class OnePerInstance:
    """Every instance has a sense of its own."""

    name = "one cluster per instance"

    def sense_probs(self, instances: Sequence[Instance]) -> list[dict[str, float]]:
        return [{f"{instance.target}.{number}": 1.0} for number, instance in enumerate(instances, 1)]


class RandomSenses:
    """One of k senses, by lot."""

    def __init__(self, k: int, seed: int = 0) -> None:
        self.k, self.seed = k, seed
        self.name = f"random, {k} clusters"

    def sense_probs(self, instances: Sequence[Instance]) -> list[dict[str, float]]:
        rng = random.Random(self.seed)
        return [{f"{instance.target}.{rng.randint(1, self.k)}": 1.0} for instance in instances]
