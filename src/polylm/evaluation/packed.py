"""A test set encoded for one vocabulary, in one file: text is read here, the network runs and is scored elsewhere.

Where the network runs needs torch and numpy alone. The file holds ids of words, names of instances and the gold key.
"""

import json
import zipfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polylm.atomic import replacing
from polylm.errors import UserError
from polylm.evaluation.instances import Instance, WSIDataset
from polylm.evaluation.wsi import Evaluation, judge
from polylm.reading.targets import Report, encode
from polylm.reading.windows import Windows

if TYPE_CHECKING:
    from polylm.model.polylm import PolyLM
    from polylm.reading.layers import Layers, ReadOut
    from polylm.senses.merge_tree import MergeTree
    from polylm.text.pipeline import TextPipeline


@dataclass(frozen=True)
class Packed:
    """A data set whose instances have no text any more, and their windows."""

    dataset: WSIDataset
    windows: Windows

    @classmethod
    def make(cls, dataset: WSIDataset, pipeline: "TextPipeline", length: int) -> "Packed":
        """Read the text of every instance."""
        bare = [Instance(i.id, i.lemma, i.pos, "", 0, 0) for i in dataset.instances]
        nameless = WSIDataset(dataset.name, dataset.task, bare, dataset.gold)
        return cls(nameless, encode([i.as_target() for i in dataset.instances], pipeline, length))

    def save(self, path: str | Path) -> None:
        """Write it as .npz."""
        described = {
            "name": self.dataset.name,
            "task": self.dataset.task,
            "instances": [(i.id, i.lemma, i.pos) for i in self.dataset.instances],
            "gold": self.dataset.gold,
        }
        arrays: dict[str, Any] = {field.name: getattr(self.windows, field.name) for field in fields(Windows)}
        with replacing(path) as file:
            np.savez_compressed(file, dataset=np.frombuffer(json.dumps(described).encode(), dtype=np.uint8), **arrays)

    @classmethod
    def load(cls, path: str | Path) -> "Packed":
        """What `save` wrote."""
        try:
            with np.load(path, allow_pickle=False) as arrays:
                described = json.loads(arrays["dataset"].tobytes())
                values: dict[str, Any] = {field.name: arrays[field.name] for field in fields(Windows)}
            instances = [Instance(name, lemma, pos, "", 0, 0) for name, lemma, pos in described["instances"]]
            dataset = WSIDataset(described["name"], described["task"], instances, described["gold"])
            return cls(dataset, Windows(**{**values, "n_words": int(values["n_words"])}))
        except (ValueError, KeyError, TypeError, AttributeError, OSError, EOFError, zipfile.BadZipFile) as error:
            is_missing = isinstance(error, FileNotFoundError)
            raise UserError(f"there is no file {path}" if is_missing else f"{path} is not a packed test set") from None

    def evaluate(
        self,
        network: "PolyLM",
        *,
        merge_tree: "MergeTree | None" = None,
        granularity: float = 1.0,
        read_out: "ReadOut | Layers" = "auto",
        baselines: bool = False,
        report: Report | None = None,
    ) -> Evaluation:
        """What a network makes of it."""
        from polylm.evaluation.systems import labelled
        from polylm.reading.layers import ReadOut
        from polylm.reading.reader import Reader
        from polylm.senses.merge_tree import checked_granularity

        granularity = checked_granularity(granularity, merge_tree)
        q, _ = Reader(network).read(self.windows, ReadOut.of(read_out), report=report)
        probs = labelled(q, self.windows, network.inventory, self.dataset.instances, merge_tree, granularity)
        return judge(self.dataset, probs, baselines=baselines)
