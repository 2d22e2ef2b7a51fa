"""Text with a sense for every word."""

import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from polylm.corpus.engine import local
from polylm.errors import UserError
from polylm.explore.columns import TaggedColumns, TaggedToken
from polylm.reading.encoding import Encoded
from polylm.reading.layers import AUTO, Layers, ReadOut
from polylm.reading.reader import Reader, Readings
from polylm.senses.lexicon import Lexicon, several
from polylm.text.lemmatizer import forms_of
from polylm.text.tokenizer import from_words

T = TypeVar("T")
TEXTS = 1 << 16  # ids of texts that are sorted together, at least


class _Asked(NamedTuple):
    """Words that are asked for: their numbers, and how they may look."""

    numbers: NDArray[np.int64]
    pattern: re.Pattern[str]

    def may_be_in(self, text: str) -> bool:
        """Whether one of them may be in a text. What is not ASCII may be read as other letters."""
        return not text.isascii() or bool(self.pattern.search(text))


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
        workers: int = 1,
    ) -> Iterator[list[TaggedToken]]:
        """The words of many texts, in order, read together: several times as fast. The texts may be a stream.

        `words`: only these, in whatever form; a text without any has none. Texts without are passed over quickly. With
        `both` and `prediction` only these are masked then, so probabilities differ a little from those of all words.
        `workers`: processes that prepare text for the network, which a GPU needs; with 1 none is started.
        """
        several(texts, "tag_many", "use tag for one text")
        return _listed(self._columns(texts, _text, self._asked(words), read_out, granularity, workers))

    def tag_many_tokens(
        self,
        texts: Iterable[Sequence[str]],
        *,
        words: Iterable[str] | None = None,
        read_out: ReadOut | Layers = AUTO,
        granularity: float | None = None,
        workers: int = 1,
    ) -> Iterator[list[TaggedToken]]:
        """The same for texts whose words are tokens already."""
        several(texts, "tag_many_tokens", "use tag for a text")
        return _listed(self._columns(texts, _tokens, self._asked(words), read_out, granularity, workers))

    def tag_columns(
        self,
        texts: Iterable[str],
        *,
        words: Iterable[str] | None = None,
        read_out: ReadOut | Layers = AUTO,
        granularity: float | None = None,
        workers: int = 1,
    ) -> Iterator[TaggedColumns]:
        """As `tag_many`, but some thousands of texts at a time as columns, without an object for every word."""
        several(texts, "tag_columns", "use tag for one text")
        return self._columns(texts, _text, self._asked(words), read_out, granularity, workers)

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

    def _columns(
        self,
        texts: Iterable[Any],
        checked: Callable[[Any], Any],
        asked: "_Asked | None",
        read_out: ReadOut | Layers,
        granularity: float | None,
        workers: int,
    ) -> Generator[TaggedColumns]:
        if not _is_list(texts):
            raise UserError(f"texts must be a list, a column or a generator of strings, not {type(texts).__name__}")
        read_out = ReadOut.of(read_out).of_network(self.reader.network)
        granularity, engine = self.lexicon.at(granularity), local(workers, ahead=2 * workers)
        groups = _Groups(texts, checked, asked, self.reader.texts_together)

        def columns() -> Generator[TaggedColumns]:
            encoder = self.reader.encoder(None if asked is None else asked.numbers)
            ahead = 1 if self.reader.network.embeddings.is_cuda else 0  # a GPU reads while its last answers are named
            under_way: deque[tuple[_Group, Encoded, Callable[[], Readings]]] = deque()
            with closing(engine(encoder, groups)) as done:
                for encoded in done:
                    begun = self.reader.begin(encoded.windows, read_out, whole=asked is None)
                    under_way.append((groups.waiting.popleft(), encoded, begun))
                    if len(under_way) > ahead:
                        yield self._named(*under_way.popleft(), granularity)
            while under_way:
                yield self._named(*under_way.popleft(), granularity)
            if groups.wrong is not None:
                raise groups.wrong

        return columns()

    def _named(
        self, group: "_Group", encoded: Encoded, begun: Callable[[], Readings], granularity: float
    ) -> TaggedColumns:
        numbers, q, index = encoded.windows.target, begun().q, self.lexicon.index
        if self.lexicon.merge_tree is not None:
            of_several = index.arrays.n_senses[numbers] > 1
            q[of_several] = self.lexicon.merge_tree.merge_arrays(numbers[of_several], q[of_several], granularity)
        return TaggedColumns.of(group.first, group.texts, encoded.words, numbers, q, index)


def _listed(blocks: Generator[TaggedColumns]) -> Generator[list[TaggedToken]]:
    """Text by text; who closes it ends the workers."""
    with closing(blocks):
        for block in blocks:
            yield from block.tokens()


class _Group(NamedTuple):
    """Texts that are read together."""

    first: int  # the number of the first
    texts: list[str]


class _Groups:
    """A stream of texts in groups, as they go to an encoder; those that have not come back are `waiting`.

    The first answers come soon; then more and more is read together. A text that is none ends the stream, and
    `wrong` says why when those before it have been answered.
    """

    def __init__(
        self, texts: Iterable[Any], checked: Callable[[Any], Any], asked: "_Asked | None", together: int
    ) -> None:
        self.waiting: deque[_Group] = deque()
        self.wrong: Exception | None = None
        self._texts, self._checked, self._asked, self._together = texts, checked, asked, together

    def __iter__(self) -> Iterator[list[Any]]:
        limit, most = self._together, max(TEXTS, 4 * self._together)
        first, size = 0, 0
        group: list[Any] = []
        sources: list[str] = []
        for text in self._until_wrong():
            is_plain = isinstance(text, str)
            source = text if is_plain else " ".join(text)
            wanted = self._asked is None or self._asked.may_be_in(source)
            group.append(text if wanted else text[:0])
            sources.append(source)
            n_ids = (len(group[-1]) // 4 if is_plain else len(group[-1])) + 2  # about
            size += max(n_ids, len(source) // 64)  # what is passed over is held too
            if size >= limit:
                self.waiting.append(_Group(first, sources))
                yield group
                first += len(group)
                group, sources, size, limit = [], [], 0, min(2 * limit, most)
        if group:
            self.waiting.append(_Group(first, sources))
            yield group

    def _until_wrong(self) -> Iterator[Any]:
        number, things = 0, iter(self._texts)
        try:
            for number, thing in enumerate(things):
                try:
                    text = self._checked(thing)
                except UserError as error:
                    where = f" (text {number}, counting from 0)" if number else ""
                    raise UserError(f"{error}{where}") from None
                yield text
        except Exception as error:  # a line that cannot be read, too: those before it are not lost
            self.wrong = error


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


def _text(text: object) -> str:
    """A text, if it is one."""
    if isinstance(text, str):
        return text
    raise UserError(_kind(text) + ("; for texts of tokens use tag_many_tokens" if _is_list(text) else ""))


def _tokens(words: Any) -> list[str]:
    """A list of words, if it is one."""
    if isinstance(words, str) or not _is_list(words):
        raise UserError(f"a text is a list of words, not {type(words).__name__}")
    listed = list(words)
    sentence = next((word for word in listed if isinstance(word, str) and len(word.split()) > 1), None)
    if sentence is not None:
        raise UserError(f"{sentence[:40]!r} is not one word: for several texts use tag_many")
    from_words(listed)
    return listed
