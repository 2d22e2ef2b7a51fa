"""Model: a network with the text pipeline, vocabulary and granularity that belong to it; what `polylm.load` returns."""

from pathlib import Path
from typing import Literal

import torch

from polylm.corpus.vocabulary import MASK, Vocabulary
from polylm.errors import UserError
from polylm.model.checkpoint import Precision, from_pretrained, save_pretrained
from polylm.model.granularity import Granularity
from polylm.model.polylm import PolyLM
from polylm.text.pipeline import TextPipeline, TextSettings

Device = Literal["auto", "cpu", "cuda"]
VOCABULARY, TEXT = "vocabulary.tsv", "text.json"


class Model:
    """Reads text. `granularity` is the dial: 1.0 keeps every sense apart, lower values merge what is confused."""

    def __init__(
        self,
        network: PolyLM,
        vocabulary: Vocabulary,
        settings: TextSettings | None = None,
        *,
        merging: Granularity | None = None,
        granularity: float | None = None,
        device: Device = "auto",
    ) -> None:
        if network.inventory.n_words != len(vocabulary):
            raise UserError(
                f"the vocabulary has {len(vocabulary)} words and the network {network.inventory.n_words}: "
                "they do not belong together"
            )
        self.device = choose_device(device)
        self.network = network.to(self.device).eval()
        self.vocabulary = vocabulary
        self.pipeline = TextPipeline(vocabulary, settings)
        self.merging = merging
        self.granularity = checked_dial(granularity if granularity is not None else default_dial(merging), merging)

    @property
    def mask(self) -> int:
        """The id of `[MASK]`."""
        return self.vocabulary[MASK]

    def save_pretrained(self, folder: str | Path, *, precision: Precision = "float32") -> None:
        """Write everything that `polylm.load` needs."""
        if self.merging is not None:
            self.merging.dial = self.granularity
        files = {VOCABULARY: self.vocabulary.to_bytes(), TEXT: self.pipeline.settings.to_bytes()}
        save_pretrained(self.network, folder, granularity=self.merging, precision=precision, files=files)


def load(path: str | Path | None = None, *, device: Device = "auto", granularity: float | None = None) -> Model:
    """The model in a folder."""
    if path is None:
        raise UserError("no English model is bundled yet: name the folder of a model")
    folder = Path(path)
    network, merging = from_pretrained(folder)
    if not (folder / VOCABULARY).exists() or not (folder / TEXT).exists():
        raise UserError(f"{folder} holds a network without its {VOCABULARY} or {TEXT}: it cannot read text")
    vocabulary = Vocabulary.load(folder / VOCABULARY)
    settings = TextSettings.load(folder / TEXT)
    return Model(network, vocabulary, settings, merging=merging, granularity=granularity, device=device)


def choose_device(name: str) -> torch.device:
    """auto: the GPU where there is one."""
    if name not in ("auto", "cpu", "cuda"):
        raise UserError(f"{name!r} is not a device: choose auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("there is no CUDA device on this machine: use --device cpu")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def default_dial(merging: Granularity | None) -> float:
    """What a model says of itself; 1.0, every sense, where it says nothing."""
    return merging.dial if merging is not None else 1.0


def checked_dial(dial: float, merging: Granularity | None) -> float:
    """A granularity from 0 to 1; below 1 only for a model that knows which of its senses are confused."""
    if not 0 <= dial <= 1:
        raise UserError(f"a granularity of {dial} is not between 0 and 1")
    if dial < 1 and merging is None:
        raise UserError("this model was saved without the confusions of its senses: its granularity is 1")
    return dial
