"""Our model as a system that gives senses to focus words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from polylm.evaluation.instances import Instance
from polylm.reading.layers import AUTO, Layers, ReadOut
from polylm.reading.reader import Reader, Readings
from polylm.reading.targets import Report
from polylm.reading.windows import Windows
from polylm.senses.lexicon import Lexicon

if TYPE_CHECKING:
    from polylm.model.inventory import SenseInventory
    from polylm.senses.merge_tree import MergeTree


class ModelLike(Protocol):
    """A `polylm.Model`, or whatever has these two."""

    reader: Reader
    lexicon: Lexicon


class PolyLMSystem:
    """Our model with a read-out; senses merged as the granularity says."""

    def __init__(
        self,
        model: ModelLike,
        *,
        read_out: ReadOut | Layers = AUTO,
        granularity: float | None = None,
        report: Report | None = None,
        reading: Report | None = None,
    ) -> None:
        self.reader, self.lexicon = model.reader, model.lexicon
        self.read_out = ReadOut.of(read_out).of_network(self.reader.network)
        self.granularity = self.lexicon.at(granularity)
        self.report, self.reading = report, reading  # of the network, and of the text

    def encode(self, instances: Sequence[Instance]) -> Windows:
        """The instances as ids, which can be read elsewhere."""
        return self.reader.encode([instance.as_target() for instance in instances], report=self.reading)

    def read(self, windows: Windows, *, output: bool = False) -> Readings:
        """Distributions (n, k) over all senses; and y^P (n, d), if asked for."""
        return self.reader.read(windows, self.read_out, output=output, report=self.report)

    def merged(self, q: NDArray[np.float32], windows: Windows) -> NDArray[np.float32]:
        """Distributions with the senses added up that are one at the granularity."""
        return merged(q, windows, self.lexicon.merge_tree, self.granularity)

    def sense_probs(self, instances: Sequence[Instance]) -> list[dict[str, float]]:
        """Labels are `lemma.pos.k`, k the number of the sense: bank.n.3 is bank#3."""
        windows = self.encode(instances)
        return self.labelled(self.read(windows).q, windows, instances, self.granularity)

    def labelled(
        self, q: NDArray[np.float32], windows: Windows, instances: Sequence[Instance], granularity: float
    ) -> list[dict[str, float]]:
        """The same for distributions that were read before, at any granularity."""
        inventory = self.reader.network.inventory
        return labelled(q, windows, inventory, instances, self.lexicon.merge_tree, granularity)


def merged(
    q: NDArray[np.float32], windows: Windows, tree: "MergeTree | None", granularity: float
) -> NDArray[np.float32]:
    """Distributions (n, k) with the senses that count as one at this granularity added up."""
    return q if tree is None else tree.merge_arrays(np.maximum(windows.target, 0), q, granularity)


def labelled(
    q: NDArray[np.float32],
    windows: Windows,
    inventory: "SenseInventory",
    instances: Sequence[Instance],
    tree: "MergeTree | None",
    granularity: float,
) -> list[dict[str, float]]:
    """Distributions (n, k), merged, with the names of the senses, most probable first; nothing for unknown lemmas."""
    tables = inventory.first, inventory.n_senses, inventory.numbers
    first, counts, numbers = (table.cpu().tolist() for table in tables)
    answers: list[dict[str, float]] = []
    rows = zip(merged(q, windows, tree, granularity), windows.target.tolist(), instances, strict=True)
    for row, target, instance in rows:
        names = numbers[first[target] : first[target] + counts[target]] if target >= 0 else []
        pairs = sorted(zip(row[: len(names)].tolist(), names, strict=True), key=lambda pair: (-pair[0], pair[1]))
        answers.append({f"{instance.target}.{number}": probability for probability, number in pairs if probability > 0})
    return answers
