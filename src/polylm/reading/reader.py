"""Reader: windows to distributions, for whole texts and for single words of them. Every user of a model reads so."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from polylm.errors import UserError
from polylm.model.polylm import PolyLM
from polylm.reading.layers import AUTO, ReadOut
from polylm.reading.readout import distributions_at, read_places, tokens_together
from polylm.reading.targets import Report, Target, encode
from polylm.reading.windows import Batch, Text, Windows, cut
from polylm.symbols import MASK_ID

if TYPE_CHECKING:
    from polylm.reading.encoding import Encoder
    from polylm.text.pipeline import TextPipeline


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

    def encoder(self, asked: NDArray[np.int64] | None = None) -> "Encoder":
        """What makes windows of texts: of all their words, or of those with the numbers `asked` for."""
        from polylm.reading.encoding import Encoder

        return Encoder(self.pipeline, self.length, asked)

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
        return self.begin(windows, read_out, whole=whole, output=output, report=report)()

    def begin(
        self,
        windows: Windows,
        read_out: ReadOut = AUTO,
        *,
        whole: bool = False,
        output: bool = False,
        report: Report | None = None,
    ) -> Callable[[], Readings]:
        """As `read`, but a GPU is not waited for until what is returned is called."""
        n_words = self.network.inventory.n_words
        if windows.n_words != n_words:
            raise UserError(
                f"the text was encoded with {windows.n_words} words and the model has {n_words}: "
                "encode it with the vocabulary of the model"
            )
        was_training = self.network.training
        self.network.eval()
        parts: list[_Part] = []
        done = 0
        for batch in windows.batches(tokens_together(self.network.embeddings.device)):
            parts.append(
                self._whole(windows, batch, read_out) if whole else self._some(windows, batch, read_out, output)
            )
            done += len(batch.members)
            if report:
                report(done, len(windows))
        self.network.train(was_training)
        return partial(self._gathered, windows, parts, output, self._mark())

    def _whole(self, windows: Windows, batch: Batch, read_out: ReadOut) -> "_Part":
        """All words: those of several senses are read."""
        at = self._several(batch)
        place = batch.row * batch.ids.shape[1] + windows.position[batch.members]
        own = self._n_senses[windows.target[batch.members]] > 1
        q = None
        if own.any():
            ids, segments, places = map(self._sent, (batch.ids, batch.segments, at))
            assert ids is not None
            assert places is not None
            found = distributions_at(self.network, ids, places, MASK_ID, read_out=read_out, segments=segments)
            q = _received(found)
        return _Part(batch.members[own], q, None, np.searchsorted(at, place[own]))

    def _some(self, windows: Windows, batch: Batch, read_out: ReadOut, output: bool) -> "_Part":
        arrays = batch.ids, batch.row, windows.position[batch.members], batch.segments, self._several(batch)
        ids, row, position, segments, several = map(self._sent, arrays)
        assert ids is not None
        assert row is not None
        assert position is not None
        reading = read_places(
            self.network, ids, row, position, MASK_ID, read_out=read_out, segments=segments, output=output,
            several=several,
        )  # fmt: skip
        y_p = None if reading.y_p is None or not output else _received(reading.y_p)
        return _Part(batch.members, _received(reading.q), y_p, slice(None))

    def _several(self, batch: Batch) -> NDArray[np.int64]:
        """The places in a batch of words of several senses."""
        return np.flatnonzero(self._n_senses[batch.ids] > 1)

    @cached_property
    def _n_senses(self) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = self.network.inventory.n_senses.cpu().numpy()
        return counts

    def _sent(self, array: NDArray[np.int64] | None) -> torch.Tensor | None:
        """On the network's device, without waiting."""
        if array is None:
            return None
        tensor, device = torch.from_numpy(array), self.network.embeddings.device
        return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)

    def _mark(self) -> torch.cuda.Event | None:
        """To wait for all that a GPU was told until now."""
        device = self.network.embeddings.device
        if device.type != "cuda":
            return None
        event = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record(torch.cuda.current_stream(device))
        return event

    def _gathered(
        self, windows: Windows, parts: Sequence["_Part"], output: bool, end: torch.cuda.Event | None
    ) -> Readings:
        if end is not None:
            end.synchronize()
        q = np.zeros((len(windows), self.network.inventory.max_senses), dtype=np.float32)
        q[:, 0] = 1  # of words that have one sense
        y_p = np.zeros((len(windows), self.network.config.d_model), dtype=np.float32) if output else None
        for part in parts:
            if part.q is not None:
                q[part.members] = part.q.numpy()[part.of]
            if y_p is not None and part.y_p is not None:
                y_p[part.members] = part.y_p.numpy()[part.of]
        q[~windows.known] = 0
        return Readings(q, y_p)


class _Part(NamedTuple):
    """What was read of some places, perhaps on its way."""

    members: NDArray[np.int64]  # (m,) which places
    q: torch.Tensor | None  # (n, k)
    y_p: torch.Tensor | None  # (n, d)
    of: NDArray[np.int64] | slice  # (m,) which of the n each is


def _received(tensor: torch.Tensor) -> torch.Tensor:
    """On the processor, in float32; from a GPU it is on its way."""
    tensor = tensor.float()
    if not tensor.is_cuda:
        return tensor.cpu()
    return torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True).copy_(tensor, non_blocking=True)
