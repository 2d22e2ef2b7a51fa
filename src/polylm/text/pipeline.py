"""TextPipeline: raw text to what the model reads, and back.

One text at a time, with offsets: which characters an id came from, and which word a character is in. `analyzer.py`
gives the same ids for millions of lines, without the way back. The settings are saved with everything made from them
(`text.json` beside a corpus or a model), so that training and use cannot disagree.
"""

import os
import threading
import weakref
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polylm.errors import UserError
from polylm.symbols import LINE, UNKNOWN
from polylm.text.analyzer import Analyzer
from polylm.text.lemmatizer import Lemmatizer
from polylm.text.settings import TextSettings
from polylm.text.tagger import CompactTagger, SpacyTagger, Tagger
from polylm.text.tokenizer import Token, from_words, iter_tokens

_MAX_REMEMBERED = 200_000  # distinct words that a pipeline in use keeps


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


_PIPELINES: "weakref.WeakSet[TextPipeline]" = weakref.WeakSet()


def _unlock() -> None:
    """In a forked process nobody is left to unlock what another thread held."""
    for pipeline in _PIPELINES:
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
        self.tagger: Tagger | None = None
        self.lemmatizer: Lemmatizer | None = None
        if settings.lemmatize:
            self.tagger = _load_tagger(settings.tagger)
            self.lemmatizer = Lemmatizer()
            if settings.tagger_sha256 not in (None, self.tagger.sha256):
                raise UserError(
                    f"this was made with another {settings.tagger!r} tagger ({settings.tagger_sha256[:12]}) than "
                    f"the one installed ({self.tagger.sha256[:12]}): use the version of polylm that made it"
                )
            settings = TextSettings(True, settings.tagger, self.tagger.sha256)
        self.settings = settings
        self._lock = threading.Lock()
        _PIPELINES.add(self)

    def analyze(self, text: str | Sequence[str]) -> list[Word]:
        """The words with their tags, lemmas and markers. Lines (`\\n`) do not see each other."""
        tokens = list(iter_tokens(text)) if isinstance(text, str) else from_words(text)
        if self.tagger is None or self.lemmatizer is None:
            return [Word(t.text, t.start, t.end, None, t.norm.lower(), None) for t in tokens]
        with self._lock:  # the tagger numbers words as they come
            if len(self.tagger) > _MAX_REMEMBERED:
                self.tagger.forget()
            tags = self._tag(tokens, text if isinstance(text, str) else "")
        words = []
        for token, tag in zip(tokens, tags, strict=True):
            lemma, marker = self.lemmatizer(token.norm, tag)
            words.append(Word(token.text, token.start, token.end, tag, lemma, marker))
        return words

    def encode(self, text: str | Sequence[str]) -> Tokens:
        """The ids of a text, aligned with its characters; where a line ends inside the text stands the line mark."""
        if self.vocabulary is None:
            raise UserError("this pipeline has no vocabulary: it can analyze text, not encode it")
        unknown, line = self.vocabulary[UNKNOWN], self.vocabulary[LINE]
        words = self.analyze(text)
        source = text if isinstance(text, str) else " ".join(text)
        breaks = set(_line_starts(words, source))
        ids: list[int] = []
        id_of_word: list[int] = []
        for index, word in enumerate(words):
            if index in breaks and index:
                ids.append(line)
            id_of_word.append(len(ids))
            for symbol in (word.lemma, word.marker) if word.marker else (word.lemma,):
                ids.append(self.vocabulary.get(symbol, unknown))
        return Tokens(source, words, np.array(ids, dtype=np.int32), np.array(id_of_word, dtype=np.int32))

    def analyzer(self) -> Analyzer:
        """The same reading for many lines at once, without offsets. It numbers words itself: the tagger is its own."""
        if not self.settings.lemmatize:
            return Analyzer(None, None)
        return Analyzer(_load_tagger(self.settings.tagger), Lemmatizer())

    def _tag(self, tokens: list[Token], text: str) -> list[str]:
        starts = _line_starts(tokens, text)
        lines = [
            [token.norm for token in tokens[start:end]]
            for start, end in zip(starts, [*starts[1:], len(tokens)], strict=True)
        ]
        assert self.tagger is not None
        return [tag for line in self.tagger.tag(lines) for tag in line]


def _load_tagger(name: str) -> Tagger:
    return SpacyTagger() if name == "spacy" else CompactTagger()


def _line_starts(tokens: Sequence[Token] | Sequence[Word], text: str) -> list[int]:
    """Which tokens are the first of a line; there is always a first line."""
    starts = [0]
    if "\n" in text:
        starts += [i for i in range(1, len(tokens)) if "\n" in text[tokens[i - 1].end : tokens[i].start]]
    return starts
