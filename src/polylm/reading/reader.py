"""Reader: windows to distributions, for whole texts and for single words of them. Every user of a model reads so."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from polylm.errors import UserError
from polylm.model.polylm import PolyLM
from polylm.reading.layers import AUTO, ReadOut
from polylm.reading.readout import read_places, sense_distributions, tokens_together
from polylm.reading.targets import Report, Target, encode
from polylm.reading.windows import Text, Windows, cut, whole_text
from polylm.symbols import MASK_ID

if TYPE_CHECKING:
    from polylm.text.pipeline import TextPipeline, Tokens


class Readings(NamedTuple):
    """What is read at n places."""

    q: NDArray[np.float32]  # (n, k) the senses of each word; zeros where it is not known
    y_p: NDArray[np.float32] | None  # (n, d) y^P where the word is masked, if it was asked for


class Reader:
    """A network, and the text pipeline that belongs to it where there is text to read."""

    def __init__(self, network: PolyLM, pipeline: "TextPipeline | None" = None) -> None:
        self.network, self._pipeline = network, pipeline

    @property
    def pipeline(self) -> "TextPipeline":
        """How text is read."""
        if self._pipeline is None:
            raise ValueError("this reader has no text pipeline: it reads windows alone")
        return self._pipeline

    @property
    def length(self) -> int:
        """How many ids the network reads at once."""
        return self.network.config.max_length

    @property
    def texts_together(self) -> int:
        """How many ids make a batch."""
        return tokens_together(self.network.embeddings.device)

    def texts(
        self,
        texts: Sequence["Tokens"],
        read_out: ReadOut = AUTO,
        *,
        asked: Sequence[NDArray[np.intp]] | None = None,
    ) -> NDArray[np.float32]:
        """(words, k) the senses of every word of all texts, one after the other; or of those `asked` for in each."""
        whole = list(map(whole_text, texts))
        if asked is not None:
            whole = [
                Text(text.ids, np.asarray(text.places)[some], np.asarray(text.targets)[some])
                for text, some in zip(whole, asked, strict=True)
            ]
        windows = cut(whole, self.length, self.network.inventory.n_words)
        return self.read(windows, read_out, whole=asked is None).q

    def places(self, texts: Sequence[Text], read_out: ReadOut = AUTO) -> tuple[Windows, Readings]:
        """Some places of texts that are encoded already, with y^P."""
        windows = cut(texts, self.length, self.network.inventory.n_words)
        return windows, self.read(windows, read_out, output=True)

    def encode(self, targets: Sequence[Target], *, report: Report | None = None) -> Windows:
        """The targets as ids, which can be read elsewhere."""
        return encode(targets, self.pipeline, self.length, report=report)

    def read(
        self,
        windows: Windows,
        read_out: ReadOut = AUTO,
        *,
        whole: bool = False,
        output: bool = False,
        report: Report | None = None,
    ) -> Readings:
        """The places of windows. `whole`: they are all words of their texts. `output`: y^P too (not of whole texts)."""
        n_words = self.network.inventory.n_words
        if windows.n_words != n_words:
            raise UserError(
                f"the text was encoded with {windows.n_words} words and the model has {n_words}: "
                "encode it with the vocabulary of the model"
            )
        device = self.network.embeddings.device
        was_training = self.network.training
        self.network.eval()
        q = np.zeros((len(windows), self.network.inventory.max_senses), dtype=np.float32)
        y_p = np.zeros((len(windows), self.network.config.d_model), dtype=np.float32) if output else None
        done = 0
        for batch in windows.batches(tokens_together(device)):
            ids, row = (torch.from_numpy(array).to(device) for array in (batch.ids, batch.row))
            position = torch.from_numpy(windows.position[batch.members]).to(device)
            segments = None if batch.segments is None else torch.from_numpy(batch.segments).to(device)
            if whole:
                distributions = sense_distributions(self.network, ids, MASK_ID, read_out=read_out, segments=segments)
                q[batch.members] = _numpy(distributions[row, position])
            else:
                reading = read_places(
                    self.network, ids, row, position, MASK_ID, read_out=read_out, segments=segments, output=output
                )
                q[batch.members] = _numpy(reading.q)
                if y_p is not None and reading.y_p is not None:
                    y_p[batch.members] = _numpy(reading.y_p)
            done += len(batch.members)
            if report:
                report(done, len(windows))
        self.network.train(was_training)
        q[~windows.known] = 0
        return Readings(q, y_p)


def _numpy(tensor: torch.Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.float().cpu().numpy()
    return array
