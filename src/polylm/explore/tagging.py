"""Text with a sense for every word."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from polylm.errors import UserError
from polylm.reading.layers import AUTO, Layers, ReadOut
from polylm.reading.reader import Reader
from polylm.senses.lexicon import Lexicon, several
from polylm.text.lemmatizer import forms_of
from polylm.text.pipeline import Tokens, Word

T = TypeVar("T")
TEXTS = 1 << 16  # ids of texts that are sorted together
LEAST = 0.001  # a smaller probability is not listed


@dataclass(frozen=True, slots=True)
class TaggedToken:
    """A word of a text and its sense. `sense` is none for punctuation and words that the model does not know."""

    text: str
    start: int
    end: int
    lemma: str
    marker: str | None
    sense: str | None
    probability: float | None
    distribution: dict[str, float] = field(default_factory=dict)  # sense keys, most probable first

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: getattr(self, name) for name in _FIELDS}


_FIELDS = tuple(one.name for one in fields(TaggedToken))


class _Asked(NamedTuple):
    """Words that are asked for: their numbers, and how they may look."""

    numbers: NDArray[np.int64]
    pattern: re.Pattern[str]

    def may_be_in(self, text: str | Sequence[str]) -> bool:
        """Whether one of them may be in a text, or among words. What is not ASCII may be read as other letters."""
        whole = text if isinstance(text, str) else " ".join(map(str, text))
        return not whole.isascii() or bool(self.pattern.search(whole))


class Tagger:
    """Reads texts and names what was read. One text at a time, or many together, which is faster."""

    def __init__(self, reader: Reader, lexicon: Lexicon) -> None:
        self.reader, self.lexicon = reader, lexicon

    def tag(
        self, text: str, *, read_out: ReadOut | Layers = AUTO, granularity: float | None = None
    ) -> list[TaggedToken]:
        """The words of a text, each with its sense."""
        if not isinstance(text, str):
            instead = "for words that are tokens already use tag_tokens, for several texts tag_many"
            raise UserError(f"tag takes one text: {instead if _is_list(text) else _kind(text)}")
        return next(self.tag_many([text], read_out=read_out, granularity=granularity))

    def tag_tokens(
        self, words: Sequence[str], *, read_out: ReadOut | Layers = AUTO, granularity: float | None = None
    ) -> list[TaggedToken]:
        """Words that are tokens already, each with its sense."""
        several(words, "tag_tokens", "use tag for a text")
        return next(self.tag_many_tokens([words], read_out=read_out, granularity=granularity))

    def tag_many(
        self,
        texts: Iterable[str],
        *,
        words: Iterable[str] | None = None,
        read_out: ReadOut | Layers = AUTO,
        granularity: float | None = None,
    ) -> Iterator[list[TaggedToken]]:
        """The words of many texts, in order, read together: several times as fast. The texts may be a stream.

        `words`: only these, in whatever form; a text without any has none. Texts without are passed over quickly. With
        `both` and `prediction` only these are masked then, so probabilities differ a little from those of all words.
        """
        several(texts, "tag_many", "use tag for one text")
        return self._tag(texts, _no_text, read_out, granularity, self._asked(words))

    def tag_many_tokens(
        self,
        texts: Iterable[Sequence[str]],
        *,
        words: Iterable[str] | None = None,
        read_out: ReadOut | Layers = AUTO,
        granularity: float | None = None,
    ) -> Iterator[list[TaggedToken]]:
        """The same for texts whose words are tokens already."""
        several(texts, "tag_many_tokens", "use tag for a text")
        return self._tag(texts, _no_tokens, read_out, granularity, self._asked(words))

    def _asked(self, words: Iterable[str] | None) -> "_Asked | None":
        if words is None:
            return None
        several(words, "words", "give one word as a list of one")
        resolved = self.lexicon.lookup.every(list(words))
        of_sense = next((one for one in resolved if one.key is not None), None)
        if of_sense is not None:
            raise UserError(
                f"words are asked for, not senses: {of_sense.word} instead of {of_sense.typed} ({{words}})", words=None
            )
        forms = {one.word for one in resolved}
        if self.reader.pipeline.settings.lemmatize:
            forms = {form for word in forms for form in forms_of(word)}
        pattern = re.compile("|".join(map(re.escape, sorted(forms))) if forms else r"(?!)", re.IGNORECASE)
        return _Asked(np.array(sorted({one.number for one in resolved}), dtype=np.int64), pattern)

    def _tag(
        self,
        texts: Iterable[Any],
        complaint: Callable[[Any], str | None],
        read_out: ReadOut | Layers,
        granularity: float | None,
        asked: "_Asked | None" = None,
    ) -> Iterator[list[TaggedToken]]:
        if not _is_list(texts):
            raise UserError(f"texts must be a list, a column or a generator of strings, not {type(texts).__name__}")
        read_out = ReadOut.of(read_out).of_network(self.reader.network)
        return self._groups(texts, complaint, read_out, self.lexicon.at(granularity), asked)

    def _groups(
        self,
        texts: Iterable[Any],
        complaint: Callable[[Any], str | None],
        read_out: ReadOut,
        granularity: float,
        asked: "_Asked | None",
    ) -> Iterator[list[TaggedToken]]:
        group: list[Tokens] = []
        n_ids = n_texts = 0
        limit = self.reader.texts_together  # the first answers come soon; then more and more is read together
        wrong: UserError | None = None
        things = iter(texts)
        while True:
            try:
                text = next(things)
            except StopIteration:
                break
            except UserError as error:  # a line that cannot be read: those before it are not lost
                wrong = error
                break
            problem = complaint(text)
            if problem is not None:
                wrong = UserError(problem + (f" (text {n_texts}, counting from 0)" if n_texts else ""))
                break
            n_texts += 1
            group.append(self.reader.pipeline.encode(text if asked is None or asked.may_be_in(text) else ""))
            n_ids += len(group[-1].ids) + 1  # an empty line is held too
            if n_ids >= limit:
                yield from self._named(group, read_out, granularity, asked)
                group, n_ids, limit = [], 0, min(2 * limit, TEXTS)
        if group:
            yield from self._named(group, read_out, granularity, asked)
        if wrong is not None:
            raise wrong

    def _named(
        self, texts: list[Tokens], read_out: ReadOut, granularity: float, asked: "_Asked | None"
    ) -> Iterator[list[TaggedToken]]:
        numbers = [tokens.ids[tokens.id_of_word] for tokens in texts]
        words: list[Sequence[Word]] = [tokens.words for tokens in texts]
        places = None
        if asked is not None:
            places = [np.isin(of_text, asked.numbers).nonzero()[0] for of_text in numbers]
            numbers = [of_text[some] for of_text, some in zip(numbers, places, strict=True)]
            words = [[tokens.words[place] for place in some] for tokens, some in zip(texts, places, strict=True)]
        q = self.reader.texts(texts, read_out, asked=places)
        if self.lexicon.merge_tree is not None:
            q = self.lexicon.merge_tree.merge_arrays(np.concatenate(numbers), q, granularity)
        first = 0
        for own, word_numbers in zip(words, numbers, strict=True):
            rows = zip(own, word_numbers.tolist(), q[first : first + len(word_numbers)], strict=True)
            first += len(word_numbers)
            yield [self._token(word, number, row) for word, number, row in rows]

    def _token(self, word: Word, number: int, q: NDArray[np.float32]) -> TaggedToken:
        senses = self.lexicon.index
        sense, probability, distribution = None, None, {}
        if senses.is_word[number]:
            keys = senses.keys(number)
            if len(keys) == 1:
                sense, probability, distribution = keys[0], 1.0, {keys[0]: 1.0}
            else:
                probs = q[: len(keys)]
                order = np.argsort(-probs, kind="stable").tolist()
                distribution = {keys[i]: round(float(probs[i]), 4) for i in order if probs[i] >= LEAST or i == order[0]}
                sense, probability = keys[order[0]], round(float(probs[order[0]]), 4)
        return TaggedToken(word.text, word.start, word.end, word.lemma, word.marker, sense, probability, distribution)


def beside(tag: Callable[[Iterator[Any]], Iterator[T]], items: Iterable[Any], text_of: Callable[[Any], Any]) -> Any:
    """Each item with what `tag` makes of its text: for streams, of which no more is held than is read together."""
    waiting: deque[Any] = deque()  # those whose words are not there yet

    def texts() -> Iterator[Any]:
        for item in items:
            waiting.append(item)
            yield text_of(item)

    return ((waiting.popleft(), tokens) for tokens in tag(texts()))


def _kind(text: object) -> str:
    return f"a text is a string, not {type(text).__name__}"


def _is_list(things: object) -> bool:
    is_table = isinstance(things, Mapping) or hasattr(things, "columns")  # their names would be read
    return isinstance(things, Iterable) and not isinstance(things, bytes | bytearray | memoryview) and not is_table


def _no_text(text: object) -> str | None:
    """What is wrong with something that is no text."""
    if isinstance(text, str):
        return None
    return _kind(text) + ("; for texts of tokens use tag_many_tokens" if _is_list(text) else "")


def _no_tokens(words: object) -> str | None:
    """What is wrong with something that is no list of words."""
    if isinstance(words, str) or not _is_list(words):
        return f"a text is a list of words, not {type(words).__name__}"
    if isinstance(words, Sequence):
        sentence = next((word for word in words if isinstance(word, str) and len(word.split()) > 1), None)
        if sentence is not None:
            return f"{sentence[:40]!r} is not one word: for several texts use tag_many"
    return None
