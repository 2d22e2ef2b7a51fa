"""Text with a sense for every word.

A text longer than the network reads is cut into windows that overlap; a word is read in the window where it is furthest
from the edges. Windows of many texts are read together, those of like length at a time.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import index as index_of
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from polylm.errors import UserError
from polylm.model.readout import Source, read_focuses, sense_distributions
from polylm.text.analyzer import LINE
from polylm.text.lemmatizer import is_word
from polylm.text.pipeline import Tokens

if TYPE_CHECKING:
    from polylm.explore.model import Model

OVERLAP = 32  # ids that two windows share: a word has at least half as many on either side
TOKENS = {"cpu": 2048, "cuda": 65536}  # ids that are read together
TEXTS = 1 << 16  # ids of texts that are sorted together
FOCUSES = 1024  # texts with a focus that are sorted together
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
        return {name: getattr(self, name) for name in _FIELDS}


_FIELDS = tuple(one.name for one in fields(TaggedToken))


def tag_many(
    model: "Model",
    texts: Iterable[str | Sequence[str]],
    *,
    source: Source = "both",
    weight: float = 0.6,
    granularity: float | None = None,
) -> Iterator[list[TaggedToken]]:
    """The tagged words of each text, in order. Texts are taken as they come, some at a time."""
    check_several(texts, "tag_many takes several texts: give a list, or use tag for one text")
    if not _is_list(texts):
        raise UserError(f"texts are a list, a column or a generator of strings, not {type(texts).__name__}")
    _check_read_out(model, source, weight)
    dial = model.dial(granularity)
    return _groups(model, texts, source, weight, dial)


def _groups(
    model: "Model", texts: Iterable[str | Sequence[str]], source: Source, weight: float, dial: float
) -> Iterator[list[TaggedToken]]:
    group: list[Tokens] = []
    n_ids = n_texts = 0
    limit = TOKENS.get(model.device.type, TEXTS)  # the first answers come soon; then more and more is read together
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
        said = _complaint(text)
        if said is not None:
            wrong = UserError(said + (f" (text {n_texts}, counting from 0)" if n_texts else ""))
            break
        n_texts += 1
        group.append(model.pipeline.encode(text))
        n_ids += len(group[-1].ids) + 1  # an empty line is held too
        if n_ids >= limit:
            yield from _tag(model, group, source, weight, dial)
            group, n_ids, limit = [], 0, min(2 * limit, TEXTS)
    if group:
        yield from _tag(model, group, source, weight, dial)
    if wrong is not None:
        raise wrong


def _check_read_out(model: "Model", source: object, weight: object) -> None:
    if source not in ("both", "prediction", "disambiguation"):
        raise UserError(f"there is no read-out {source!r}: choose both, prediction or disambiguation")
    if not isinstance(weight, int | float) or not 0 <= weight <= 1:
        raise UserError(f"a weight of {weight} is not between 0 and 1")
    if source == "disambiguation" and model.network.c_d is None:
        raise UserError("this model has no disambiguation layer: read it with prediction")


def check_several(things: object, otherwise: str) -> None:
    """A string where a list is meant would be read letter by letter."""
    if isinstance(things, str):
        raise UserError(otherwise)


def _is_list(things: object) -> bool:
    is_table = isinstance(things, Mapping) or hasattr(things, "columns")  # their names would be read
    return isinstance(things, Iterable) and not isinstance(things, bytes | bytearray | memoryview) and not is_table


def _complaint(text: object) -> str | None:
    """What is wrong with a text that is neither a string nor a list of words."""
    if isinstance(text, str):
        return None
    if not _is_list(text):
        return f"a text is a string, or a list of words, not {type(text).__name__}"
    if isinstance(text, Sequence):
        sentence = next((word for word in text if isinstance(word, str) and len(word.split()) > 1), None)
        if sentence is not None:
            return f"{sentence[:40]!r} is not one word: for several texts use tag_many"
    return None


@dataclass(frozen=True)
class _Window:
    text: int
    ids: NDArray[np.int64]
    words: NDArray[np.int64]  # numbers of the words that are read here
    places: NDArray[np.int64]  # and where they stand


def _tag(
    model: "Model", texts: list[Tokens], source: Source, weight: float, dial: float
) -> Iterator[list[TaggedToken]]:
    network = model.network
    q = [np.zeros((len(tokens.words), network.inventory.max_senses), dtype=np.float32) for tokens in texts]
    windows = [window for number, tokens in enumerate(texts) for window in _windows(model, number, tokens)]
    windows.sort(key=lambda window: len(window.ids))
    for part in _parts(windows, TOKENS.get(model.device.type, 16384)):
        ids, segments = _together(model, part)
        read = sense_distributions(network, ids, model.mask, source=source, weight=weight, segments=segments)
        if dial < 1 and model.merging is not None:
            read = model.merging.merge(ids, read, dial)
        found = read.float().cpu().numpy()
        for row, window in enumerate(part):
            q[window.text][window.words] = found[row, window.places]
    for tokens, own in zip(texts, q, strict=True):
        yield _tokens(model, tokens, own)


def focus_of(text: str) -> tuple[str, int, int]:
    """The text without the brackets around its one focus, `a [word] in a text`, and where the focus begins and ends."""
    found = list(re.finditer(r"\[([^\[\]]+)\]", text))
    if len(found) != 1 or not found[0][1].strip():
        raise UserError(
            "mark one word with brackets, He sat on the [bank] of the river, or say with span where it stands"
        )
    (match,) = found
    inside = match[1]
    start = match.start() + len(inside) - len(inside.lstrip())
    return text[: match.start()] + inside + text[match.end() :], start, start + len(inside.strip())


@dataclass(frozen=True)
class Focus:
    """A word of a text as the network reads it."""

    word: int | None  # its number; none for a word that the model does not know
    q: NDArray[np.float32]  # (k,) its senses
    y_p: "torch.Tensor"  # (d,) y^P where it is masked


def read_focus(
    model: "Model", text: str, *, span: tuple[int, int] | None = None, source: Source = "both", weight: float = 0.6
) -> Focus:
    """The word in brackets, or at `span`, read in the window where it is furthest from the edges."""
    _check_read_out(model, source, weight)
    (focus,) = _read([_find(model, text, span)], model, source, weight)
    return focus


def read_many(
    model: "Model",
    texts: Sequence[str],
    *,
    spans: Sequence[tuple[int, int]] | None = None,
    source: Source = "both",
    weight: float = 0.6,
    strict: bool = True,
) -> Iterator[tuple[int, Focus]]:
    """Texts' numbers and what is read of their focuses, in order; those of like length together.

    Of a text that has no focus there is a complaint or, if not `strict`, nothing.
    """
    _check_read_out(model, source, weight)
    windows: list[_Window] = []
    for number, text in enumerate(texts):
        try:
            windows.append(_find(model, text, None if spans is None else spans[number], number))
        except UserError as error:
            if strict:
                raise UserError(f"{error} (text {number}, counting from 0)") from None
        if len(windows) == FOCUSES or number == len(texts) - 1:
            found = _read(windows, model, source, weight)
            yield from zip((window.text for window in windows), found, strict=True)
            windows = []


def _find(model: "Model", text: str, span: tuple[int, int] | None, number: int = 0) -> _Window:
    """The window in which the focus is read, it alone."""
    if not isinstance(text, str):
        raise UserError(f"a text is a string, not {type(text).__name__}")
    plain, start, end = focus_of(text) if span is None else (text, *_numbers(span))
    if not 0 <= start < end <= len(plain):
        raise UserError(f"there is nothing from {start} to {end} in a text of {len(plain)} characters")
    tokens = model.pipeline.encode(plain)
    index = tokens.word_at(start)
    if index is None:
        raise UserError(f"there is no word {'between the brackets' if span is None else f'at character {start}'}")
    marked = "the brackets cut" if span is None else f"{start} to {end} cuts"
    inside = [word.text for word in tokens.words[index:] if word.start < end and is_word(word.text)]
    if len(inside) > 1 and not all(other.startswith(("'", "’")) for other in inside[1:]):  # the bank's
        raise UserError(f"{plain[start:end]!r} is read as {', '.join(inside)}: mark one word of them")
    whole = tokens.words[index]
    if whole.start < start or whole.end > end:
        raise UserError(f"{marked} through a word: mark {whole.text!r} as a whole")
    if not is_word(whole.text):
        raise UserError(f"{whole.text!r} is not a word")
    window = next(window for window in _windows(model, number, tokens) if index in window.words)
    own = window.words == index
    return replace(window, words=window.words[own], places=window.places[own])


def _numbers(span: tuple[int, int]) -> tuple[int, int]:
    """Of whatever kind: numpy's will do."""
    try:
        start, end = map(index_of, span)
    except (TypeError, ValueError):
        raise UserError(f"a span is two numbers, where the word begins and ends, not {span!r}") from None
    return start, end


def _read(windows: Sequence[_Window], model: "Model", source: Source, weight: float) -> list[Focus]:
    """The focus of each window, in order."""
    found: dict[int, Focus] = {}
    by_length = sorted(windows, key=lambda window: len(window.ids))
    for part in _parts(by_length, TOKENS.get(model.device.type, 16384)):
        ids, segments = _together(model, part)
        row = torch.arange(len(part), device=model.device)
        position = torch.tensor([int(window.places[0]) for window in part], device=model.device)
        reading = read_focuses(
            model.network, ids, row, position, model.mask, source=source, weight=weight, segments=segments, output=True
        )
        assert reading.y_p is not None
        q, y_p = reading.q.float().cpu().numpy(), reading.y_p.float()
        for window, own_q, own_y in zip(part, q, y_p, strict=True):
            word = int(window.ids[window.places[0]])
            found[window.text] = Focus(word if model.has_senses(word) else None, own_q, own_y)
    return [found[window.text] for window in windows]


def _together(model: "Model", part: list[_Window]) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Windows of like length, the longest last, as one tensor of ids; and where they are text, if some are shorter."""
    longest = len(part[-1].ids)
    words = np.zeros((len(part), longest), dtype=np.int64)
    for row, window in enumerate(part):
        words[row, : len(window.ids)] = window.ids
    ids = torch.from_numpy(words).to(model.device)
    return ids, None if len(part[0].ids) == longest else (ids != model.pad).long()


def _windows(model: "Model", number: int, tokens: Tokens) -> Iterator[_Window]:
    """The text between line marks, whole or in windows."""
    if not len(tokens.ids):
        return
    line, length = model.vocabulary[LINE], model.network.config.max_length
    ids = np.concatenate(([line], tokens.ids, [line])).astype(np.int64)
    places = tokens.id_of_word.astype(np.int64) + 1
    if len(ids) <= length:
        yield _Window(number, ids, np.arange(len(places)), places)
        return
    overlap = min(OVERLAP, length // 2)
    n = -(-(len(ids) - overlap) // (length - overlap))
    starts = np.linspace(0, len(ids) - length, n).round().astype(np.int64)
    middles = starts[:-1] + (starts[1:] - starts[:-1] + length) / 2  # where one window hands over to the next
    of_window = np.searchsorted(middles, places, side="right")
    for window, start in enumerate(starts):
        mine = np.flatnonzero(of_window == window)
        if len(mine):
            yield _Window(number, ids[start : start + length], mine, places[mine] - start)


def _parts(windows: list[_Window], n_tokens: int) -> Iterator[list[_Window]]:
    """Windows of like length, as many as are read together."""
    first = 0
    while first < len(windows):
        last = first + 1
        shortest = len(windows[first].ids)
        while last < len(windows):
            size = len(windows[last].ids)
            if (last + 1 - first) * size > n_tokens or (size > shortest + 8 and size > 1.1 * shortest):
                break
            last += 1
        yield windows[first:last]
        first = last


def _tokens(model: "Model", tokens: Tokens, q: NDArray[np.float32]) -> list[TaggedToken]:
    tagged = []
    for index, word in enumerate(tokens.words):
        number = int(tokens.ids[tokens.id_of_word[index]])
        sense, probability, distribution = None, None, {}
        if model.has_senses(number):
            keys = model.keys_of(number)
            if len(keys) == 1:
                sense, probability, distribution = keys[0], 1.0, {keys[0]: 1.0}
            else:
                own = q[index, : len(keys)]
                order = np.argsort(-own, kind="stable").tolist()
                distribution = {keys[i]: round(float(own[i]), 4) for i in order if own[i] >= LEAST or i == order[0]}
                sense, probability = keys[order[0]], round(float(own[order[0]]), 4)
        tagged.append(
            TaggedToken(word.text, word.start, word.end, word.lemma, word.marker, sense, probability, distribution)
        )
    return tagged
