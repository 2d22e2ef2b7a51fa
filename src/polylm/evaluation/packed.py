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
from polylm.evaluation.encoding import Encoded, Report, encode, read
from polylm.evaluation.instances import Instance, WSIDataset
from polylm.evaluation.systems import labelled, merged
from polylm.evaluation.wsi import Evaluation, judge

if TYPE_CHECKING:
    from polylm.model.granularity import Granularity
    from polylm.model.polylm import PolyLM
    from polylm.model.readout import Source
    from polylm.text.pipeline import TextPipeline

_NUMBERS = ("mask", "n_words")


@dataclass(frozen=True)
class Packed:
    """A data set whose instances have no text any more, and their windows."""

    dataset: WSIDataset
    encoded: Encoded

    @classmethod
    def make(cls, dataset: WSIDataset, pipeline: "TextPipeline", length: int) -> "Packed":
        """Read the text of every instance."""
        bare = [Instance(i.id, i.lemma, i.pos, "", 0, 0) for i in dataset.instances]
        nameless = WSIDataset(dataset.name, dataset.task, bare, dataset.gold)
        return cls(nameless, encode(dataset.instances, pipeline, length))

    def save(self, path: str | Path) -> None:
        """Write it as .npz."""
        described = {
            "name": self.dataset.name,
            "task": self.dataset.task,
            "instances": [(i.id, i.lemma, i.pos) for i in self.dataset.instances],
            "gold": self.dataset.gold,
        }
        arrays: dict[str, Any] = {field.name: getattr(self.encoded, field.name) for field in fields(Encoded)}
        with replacing(path) as file:
            np.savez_compressed(file, dataset=np.frombuffer(json.dumps(described).encode(), dtype=np.uint8), **arrays)

    @classmethod
    def load(cls, path: str | Path) -> "Packed":
        """What `save` wrote."""
        try:
            with np.load(path, allow_pickle=False) as arrays:
                described = json.loads(arrays["dataset"].tobytes())
                values: dict[str, Any] = {field.name: arrays[field.name] for field in fields(Encoded)}
            instances = [Instance(name, lemma, pos, "", 0, 0) for name, lemma, pos in described["instances"]]
            dataset = WSIDataset(described["name"], described["task"], instances, described["gold"])
            return cls(dataset, Encoded(**{**values, **{name: int(values[name]) for name in _NUMBERS}}))
        except (ValueError, KeyError, TypeError, AttributeError, OSError, EOFError, zipfile.BadZipFile) as error:
            what = "there is no file" if isinstance(error, FileNotFoundError) else "this is no packed test set:"
            raise UserError(f"{what} {path}") from None

    def evaluate(
        self,
        network: "PolyLM",
        *,
        merging: "Granularity | None" = None,
        granularity: float = 1.0,
        source: "Source" = "both",
        weight: float = 0.6,
        baselines: bool = False,
        report: Report | None = None,
    ) -> Evaluation:
        """What a network makes of it."""
        if not 0 <= granularity <= 1 or (granularity < 1 and merging is None):
            raise UserError(f"a granularity of {granularity} needs the confusions of the model, and is from 0 to 1")
        q, _ = read(network, self.encoded, source=source, weight=weight, report=report)
        q = merged(q, self.encoded, merging, granularity)
        probs = labelled(q, self.encoded, network.inventory, self.dataset.instances)
        return judge(self.dataset, probs, baselines=baselines)
