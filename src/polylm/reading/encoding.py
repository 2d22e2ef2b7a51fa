"""Texts to words and windows of ids, in this process or in others: what is to be done before a network reads."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polylm.reading.windows import Windows, cut_many
from polylm.text.analyzer import Words
from polylm.text.pipeline import TextPipeline

Texts = Sequence[str] | Sequence[Sequence[str]]


@dataclass(frozen=True)
class Encoded:
    """Words of some texts, and the windows that they are read in; `windows.target` are their numbers."""

    words: Words
    windows: Windows


@dataclass(frozen=True)
class Encoder:
    """A pipeline, and the words that are asked for: all, or those with some numbers. It can go to another process."""

    pipeline: TextPipeline
    length: int  # how many ids the network reads at once
    asked: NDArray[np.int64] | None = None

    def __call__(self, texts: Texts) -> Encoded:
        """The words of texts, or of lists of words, that are asked for."""
        encoded = self.pipeline.encode_many(texts)
        words, places = encoded.words, encoded.id_of_word
        targets = encoded.ids[places].astype(np.int64)
        if self.asked is not None:
            wanted = np.isin(targets, self.asked)
            words, places, targets = words.select(wanted), places[wanted], targets[wanted]
        vocabulary = self.pipeline.vocabulary
        assert vocabulary is not None
        windows = cut_many(encoded.ids, encoded.starts, places, targets, self.length, len(vocabulary))
        return Encoded(words.compact(), windows)
