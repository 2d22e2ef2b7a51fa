"""What a word means in its context: a vector that can be compared, and the words that could stand for it."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from polylm.errors import UserError
from polylm.explore.substitution import best_of_kind, weights_of_words
from polylm.reading.layers import AUTO, Layers, ReadOut
from polylm.reading.reader import Reader
from polylm.reading.targets import marked, tag_of, text_of
from polylm.reading.windows import Text
from polylm.senses.lexicon import Lexicon, several
from polylm.text.lemmatizer import own_forms

GAP = 0.6  # what could stand in the place of a word, beside what the word means there: LOG.md, meanings in context
TOGETHER = 32  # so many that all words in their places do not take much memory
FOCUSES = 1024  # texts that are sorted by length together
Span = tuple[int, int]


class Focus(NamedTuple):
    """A word of a text as the network reads it."""

    word: int | None  # its number; none for a word that the model does not know
    q: NDArray[np.float32]  # (k,) its senses
    y_p: NDArray[np.float32]  # (d,) y^P where it is masked


class Embedder:
    """Reads words in their contexts."""

    def __init__(self, reader: Reader, lexicon: Lexicon) -> None:
        self.reader, self.lexicon = reader, lexicon

    def embed(self, text: str, *, span: Span | None = None, read_out: ReadOut | Layers = AUTO) -> NDArray[np.float32]:
        """(d,) the meaning of the word in brackets, of length one: `He sat on the [bank]`. Comparable across words.

        Without brackets `span` says from which character to which the word goes, as a token's `start` and `end` do.

        It is made of the word's senses, weighted by their probabilities, and a part of the senses that could stand in
        its place, all without the component that they share. So occurrences of one sense differ, as their contexts do.
        Of a word that the model does not know there is only what could stand in its place.
        """
        vector: NDArray[np.float32] = self._vectors([self._focus(text, span, ReadOut.of(read_out))])[0]
        return vector

    def embed_many(
        self,
        texts: Sequence[str],
        *,
        spans: Sequence[Span] | None = None,
        read_out: ReadOut | Layers = AUTO,
        strict: bool = True,
    ) -> NDArray[np.float32]:
        """(n, d) the same for many texts, several times as fast; with `spans`, one for each.

        If not `strict`, a text in which no word is marked has a row of NaN, instead of an error.
        """
        several(texts, "embed_many", "use embed for one text")
        texts = list(texts)
        if spans is not None:
            spans = list(spans)
            if len(spans) != len(texts):
                raise UserError(f"there are {len(texts)} texts and {len(spans)} spans: give one for each")
        embedded = np.full((len(texts), self.reader.network.config.d_model), np.nan, dtype=np.float32)
        focuses = self._focuses(texts, spans, ReadOut.of(read_out), strict=strict)
        while together := list(islice(focuses, TOGETHER)):
            numbers, group = zip(*together, strict=True)
            embedded[list(numbers)] = self._vectors(group)
        return embedded

    def substitutes(
        self,
        text: str,
        topn: int = 10,
        *,
        span: Span | None = None,
        read_out: ReadOut | Layers = AUTO,
        inflected: bool = True,
    ) -> list[tuple[str, float]]:
        """Words that could stand for the one in brackets or at `span`, with their shares: likely there, and near to it.

        Of nouns, verbs, adjectives and adverbs they have the part of speech and the form (*ran* for *bolted*), or if
        not `inflected` are lemmas; for names, and where a model reads words as they stand, all words may be. Words of
        the text itself are left out, since what fits a gap is often said beside it. A share is of the weights of all
        other words (`substitution.py`), those that are not shown included.
        """
        if topn < 1:
            raise UserError(f"topn must be at least 1, not {topn}")
        target, network = marked(text, span), self.reader.network
        encoded = text_of([target], self.reader.pipeline)
        (focus,) = self._read([encoded], ReadOut.of(read_out).of_network(network))
        index, vocabulary = self.lexicon.index, self.lexicon.vocabulary
        cosines = None
        if focus.word is not None:
            cosines = torch.from_numpy(self.lexicon.vectors.vectors @ self._meaning(focus))
        senses = network.inventory.word_of_sense.cpu()[index.of_words]
        weights = weights_of_words(self._expected([focus])[0], cosines, senses, torch.tensor(vocabulary.counts))
        weights[torch.from_numpy(np.unique(encoded.ids).astype(np.int64))] = 0
        if focus.word is not None:
            weights[focus.word] = 0
        weights /= weights.sum().clamp(min=1e-30)
        tag = tag_of(target, self.reader.pipeline)
        own = own_forms(vocabulary.words[focus.word]) if focus.word is not None and tag else ()
        best = best_of_kind(weights, vocabulary.words, tag, in_form=inflected, without=own)
        return [(word, round(weight, 4)) for word, weight in islice(best, topn)]

    def _focus(self, text: str, span: Span | None = None, read_out: ReadOut = AUTO) -> Focus:
        """The word in brackets, or at `span`."""
        read_out = read_out.of_network(self.reader.network)
        (focus,) = self._read([text_of([marked(text, span)], self.reader.pipeline)], read_out)
        return focus

    def _focuses(
        self, texts: Sequence[str], spans: Sequence[Span] | None, read_out: ReadOut, *, strict: bool
    ) -> Iterator[tuple[int, Focus]]:
        """Texts' numbers and what is read of their focuses, in order."""
        read_out = read_out.of_network(self.reader.network)
        numbers: list[int] = []
        encoded: list[Text] = []
        for number, text in enumerate(texts):
            try:
                encoded.append(text_of([marked(text, None if spans is None else spans[number])], self.reader.pipeline))
                numbers.append(number)
            except UserError as error:
                if strict:
                    raise UserError(f"{error} (text {number}, counting from 0)") from None
            if len(encoded) == FOCUSES or number == len(texts) - 1:
                yield from zip(numbers, self._read(encoded, read_out), strict=True)
                numbers, encoded = [], []

    def _read(self, texts: Sequence[Text], read_out: ReadOut) -> list[Focus]:
        windows, (q, y_p) = self.reader.places(texts, read_out)
        assert y_p is not None
        is_word = self.lexicon.index.is_word
        words = [word if is_word[word] else None for word in windows.target.tolist()]
        return [Focus(*one) for one in zip(words, q, y_p, strict=True)]

    def _vectors(self, focuses: Sequence[Focus]) -> NDArray[np.float32]:
        """(n, d) of length one."""
        vectors = np.stack([self._meaning(focus) for focus in focuses]) + GAP * self._gaps(focuses)
        unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def _meaning(self, focus: Focus) -> NDArray[np.float32]:
        """(d,) the mixture of its senses, as a direction; zeros for a word that the model does not know."""
        vectors = self.lexicon.vectors
        if focus.word is None:
            return np.zeros(vectors.vectors.shape[1], dtype=np.float32)
        rows = self.lexicon.index.rows(focus.word)
        own = self.reader.network.embeddings.detach()[rows.start : rows.stop].float().cpu()
        meaning: NDArray[np.float32] = vectors.common.removed(torch.from_numpy(focus.q[: len(rows)]) @ own).numpy()
        return meaning

    def _expected(self, focuses: Sequence[Focus]) -> torch.Tensor:
        """(n, S) the probability of each sense of `vectors` in the place of each focus."""
        network = self.reader.network
        with torch.no_grad():
            y_p = torch.from_numpy(np.stack([focus.y_p for focus in focuses]))
            p = network.sense_probs(y_p.to(network.embeddings.device, network.embeddings.dtype))
        return p.float().cpu()[:, self.lexicon.index.of_words]

    def _gaps(self, focuses: Sequence[Focus]) -> NDArray[np.float32]:
        """(n, d) the mean directions of what could stand here, of length one; roots: more than the best counts."""
        directions = self._expected(focuses).sqrt().numpy() @ self.lexicon.vectors.vectors
        gaps: NDArray[np.float32] = directions / np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-9)
        return gaps
