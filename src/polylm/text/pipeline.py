"""TextPipeline: raw text to what the model reads, and back.

Texts are read by an `Analyzer`, as corpora are, and then have ids: with offsets, so that one knows which characters an
id came from, and which word a character is in. The settings are saved with everything made from them (`text.json`
beside a corpus or a model), so that training and use cannot disagree.
"""

import os
import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polylm.errors import UserError
from polylm.symbols import LINE, UNKNOWN
from polylm.text.analyzer import Analyzer, Words
from polylm.text.lemmatizer import Lemmatizer
from polylm.text.settings import TextSettings
from polylm.text.tagger import CompactTagger, SpacyTagger, Tagger
from polylm.text.tokenizer import from_words

_MAX_REMEMBERED = 200_000  # distinct pieces of text that a pipeline in use keeps


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text: where it stands, its Penn tag (none in surface mode), and what the model reads for it."""

    text: str
    start: int
    end: int
    tag: str | None
    lemma: str
    marker: str | None


@dataclass(frozen=True)
class Tokens:
    """A text as ids. A word has one id, or two where an inflection marker follows; line marks belong to no word."""

    text: str
    words: list[Word]
    ids: NDArray[np.int32]
    id_of_word: NDArray[np.int32]  # position of the word's first id

    def word_at(self, character: int) -> int | None:
        """The word that the character (a code point of `text`) is in; none for white space."""
        index = bisect_right(self.words, character, key=lambda word: word.start) - 1
        return index if index >= 0 and character < self.words[index].end else None

    def ids_of(self, word: int) -> slice:
        """Where the ids of a word stand."""
        first = int(self.id_of_word[word])
        return slice(first, first + (2 if self.words[word].marker else 1))


@dataclass(frozen=True)
class EncodedTexts:
    """Many texts as ids, one after the other. A text that has words stands between line marks."""

    words: Words
    ids: NDArray[np.int32]
    starts: NDArray[np.int64]  # (texts + 1,) where each text's ids begin
    id_of_word: NDArray[np.int64]  # (words,) place of the word's first id in `ids`


_PIPELINES: "weakref.WeakSet[TextPipeline]" = weakref.WeakSet()


def _unlock() -> None:
    """In a forked process nobody is left to unlock what another thread held, or to finish what it remembered."""
    for pipeline in _PIPELINES:
        if pipeline._lock.locked():
            pipeline._analyzer.forget()
        pipeline._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


class TextPipeline:
    """Text, or words that are tokens already, to `Word`s and ids.

    `vocabulary` maps a symbol to its id and has `[UNK]` and `[LINE]`; without one a pipeline can `analyze` only.
    """

    def __init__(self, vocabulary: Mapping[str, int] | None = None, settings: TextSettings | None = None) -> None:
        settings = settings or TextSettings()
        self.vocabulary = vocabulary
        self._tagger: Tagger | None = None
        if settings.lemmatize:
            self._tagger = _load_tagger(settings.tagger)
            if settings.tagger_sha256 not in (None, self._tagger.sha256):
                raise UserError(
                    f"this was made with another {settings.tagger!r} tagger ({settings.tagger_sha256[:12]}) than "
                    f"the one installed ({self._tagger.sha256[:12]}): use the version of polylm that made it"
                )
            settings = TextSettings(True, settings.tagger, self._tagger.sha256)
        self.settings = settings
        self._analyzer = Analyzer(self._tagger, Lemmatizer() if settings.lemmatize else None, _MAX_REMEMBERED)
        self._ids = _SymbolIds({} if vocabulary is None else vocabulary)
        self._lock = threading.Lock()  # the analyzer remembers what it reads
        _PIPELINES.add(self)

    def __reduce__(self) -> tuple[Callable[..., "TextPipeline"], tuple[Any, ...]]:
        return TextPipeline, (self.vocabulary, self.settings)

    def analyze(self, text: str | Sequence[str]) -> list[Word]:
        """The words with their tags, lemmas and markers. Lines (`\\n`) do not see each other."""
        with self._lock:
            words = self._read([text])
        return self._listed(words, _source(text))

    def encode(self, text: str | Sequence[str]) -> Tokens:
        """The ids of a text, aligned with its characters; where a line ends inside the text stands the line mark."""
        encoded = self.encode_many([text])
        source = _source(text)
        id_of_word = (encoded.id_of_word - 1).astype(np.int32)
        return Tokens(source, self._listed(encoded.words, source), encoded.ids[1:-1], id_of_word)

    def encode_many(self, texts: Sequence[str] | Sequence[Sequence[str]]) -> EncodedTexts:
        """The same for many texts, or many lists of words, as columns: many times as fast."""
        if self.vocabulary is None:
            raise UserError("this pipeline has no vocabulary: it can analyze text, not encode it")
        with self._lock:
            words = self._read(texts)
            of_symbol = self._ids.of(words.symbols)
        line = self.vocabulary[LINE]
        marked = words.marker > 0
        ends_text = np.cumsum(words.per_text[words.per_text > 0]) - 1
        after = np.zeros(len(words), dtype=np.int64)  # line marks after a word that ends a text
        after[ends_text] = 1
        n_ids = 1 + marked + words.begins_line + after
        ends = np.cumsum(n_ids)
        first = ends - n_ids + words.begins_line
        ids = np.full(int(n_ids.sum()), line, dtype=np.int32)
        ids[first] = of_symbol[words.lemma]
        ids[first[marked] + 1] = of_symbol[words.marker[marked]]
        starts = np.concatenate(([0], ends))[np.concatenate(([0], np.cumsum(words.per_text)))]
        return EncodedTexts(words, ids, starts, first)

    def analyzer(self) -> Analyzer:
        """The same reading for the lines of a corpus, which have no offsets. It remembers words on its own."""
        if not self.settings.lemmatize:
            return Analyzer(None, None)
        return Analyzer(_load_tagger(self.settings.tagger), Lemmatizer())

    def _read(self, texts: Sequence[str] | Sequence[Sequence[str]]) -> Words:
        if all(isinstance(text, str) for text in texts):
            return self._analyzer.read(texts)  # type: ignore[arg-type]
        return self._analyzer.read_tokens(list(map(from_words, texts)))

    def _listed(self, words: Words, text: str) -> list[Word]:
        symbols = words.symbols
        names: list[str | None] = [None] * len(words)
        if self._tagger is not None and words.tag is not None:
            names = [self._tagger.tags[tag] for tag in words.tag.tolist()]
        numbers = (column.tolist() for column in (words.start, words.end, words.lemma, words.marker))
        return [
            Word(text[start:end], start, end, tag, symbols[lemma], symbols[marker] if marker else None)
            for tag, start, end, lemma, marker in zip(names, *numbers, strict=True)
        ]


class _SymbolIds:
    """The ids of an analyzer's symbols, which grow in number, and are numbered anew when it forgets."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._symbols: list[str] = []
        self._ids = np.zeros(0, dtype=np.int32)

    def of(self, symbols: list[str]) -> NDArray[np.int32]:
        if symbols is not self._symbols:
            self._symbols, self._ids = symbols, np.zeros(0, dtype=np.int32)
        if len(symbols) > len(self._ids):
            unknown = self._vocabulary[UNKNOWN]
            new = [self._vocabulary.get(symbol, unknown) for symbol in symbols[len(self._ids) :]]
            self._ids = np.concatenate((self._ids, np.array(new, dtype=np.int32)))
        return self._ids


def _source(text: str | Sequence[str]) -> str:
    return text if isinstance(text, str) else " ".join(text)


def _load_tagger(name: str) -> Tagger:
    return SpacyTagger() if name == "spacy" else CompactTagger()
