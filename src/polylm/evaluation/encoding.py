"""Focus words as the network reads them: text to windows of ids here, windows to distributions wherever torch is.

The two halves are apart. `encode` needs the text pipeline; `read` needs torch and numpy alone, and what passes between
them is a few arrays. Nothing but numpy is imported here.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polylm.errors import UserError
from polylm.evaluation.instances import Instance

if TYPE_CHECKING:
    import torch

    from polylm.model.polylm import PolyLM
    from polylm.model.readout import Source
    from polylm.text.pipeline import TextPipeline, Tokens, Word

Report = Callable[[int, int], None]  # done, total


@dataclass(frozen=True)
class Encoded:
    """Windows of ids, and where in them each focus is."""

    ids: NDArray[np.int32]  # all windows, one after the other
    starts: NDArray[np.int64]  # (windows + 1,)
    window: NDArray[np.int64]  # (n,) of each focus
    position: NDArray[np.int64]  # (n,) in its window
    target: NDArray[np.int64]  # (n,) the id of its lemma; -1 where it is not known
    mask: int  # the id of [MASK]
    n_words: int  # of the vocabulary it was made with

    def __len__(self) -> int:
        return len(self.window)

    @property
    def known(self) -> NDArray[np.bool_]:
        """(n,) whose lemma is in the vocabulary."""
        return self.target >= 0


def encode(
    instances: Sequence[Instance], pipeline: "TextPipeline", length: int, *, report: Report | None = None
) -> Encoded:
    """Every instance in its window. Instances that follow one another in one text share the text, and its windows."""
    from polylm.corpus.vocabulary import MASK

    vocabulary = pipeline.vocabulary
    if vocabulary is None:
        raise UserError("this pipeline has no vocabulary: it cannot encode text")
    windows: list[Sequence[int]] = []
    window, position, target = (np.full(len(instances), -1, dtype=np.int64) for _ in range(3))
    done = 0
    for group in _by_text(instances):
        ids, places, lemmas = _read_text(group, pipeline)
        for (start, end), members in _windows(len(ids), places, length):
            for member in members:
                window[done + member] = len(windows)
                position[done + member] = places[member] - start
            windows.append(ids[start:end])
        target[done : done + len(group)] = lemmas
        done += len(group)
        if report:
            report(done, len(instances))
    sizes = [len(ids) for ids in windows]
    flat = np.fromiter((i for ids in windows for i in ids), dtype=np.int32, count=sum(sizes))
    starts = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return Encoded(flat, starts, window, position, target, vocabulary[MASK], len(vocabulary))


def read(
    model: "PolyLM",
    encoded: Encoded,
    *,
    source: "Source" = "both",
    weight: float = 0.6,
    output: bool = False,
    batch_tokens: int | None = None,
    report: Report | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """q (n, k) of every focus, zeros where its lemma is not known; and y^P (n, d) if `output` is asked for.

    Windows of like length go together, so that little is padded.
    """
    import torch

    from polylm.model.readout import TOKENS, read_focuses

    if encoded.n_words != model.inventory.n_words:
        raise UserError(
            f"the text was encoded with {encoded.n_words} words and the model has {model.inventory.n_words}: "
            "encode it with the vocabulary of the model"
        )
    device = model.embeddings.device
    was_training = model.training
    model.eval()
    q = np.zeros((len(encoded), model.inventory.max_senses), dtype=np.float32)
    y = np.zeros((len(encoded), model.config.d_model), dtype=np.float32) if output else None
    done, total = 0, len(encoded)
    for words, segments, members, row in _batches(encoded, batch_tokens or TOKENS.get(device.type, 16384)):
        reading = read_focuses(
            model,
            torch.from_numpy(words).to(device),
            torch.from_numpy(row).to(device),
            torch.from_numpy(encoded.position[members]).to(device),
            encoded.mask,
            source=source,
            weight=weight,
            segments=None if segments is None else torch.from_numpy(segments).to(device),
            output=output,
        )
        q[members] = _numpy(reading.q)
        if y is not None and reading.y_p is not None:
            y[members] = _numpy(reading.y_p)
        done += len(members)
        if report:
            report(done, total)
    model.train(was_training)
    q[~encoded.known] = 0
    return q, y


def _numpy(tensor: "torch.Tensor") -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.float().cpu().numpy()
    return array


def _batches(
    encoded: Encoded, batch_tokens: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64] | None, NDArray[np.int64], NDArray[np.int64]]]:
    """Texts (B, T), segments, which focuses are in them, and in which row."""
    lengths = np.diff(encoded.starts)
    order = np.argsort(lengths, kind="stable")
    by_window = np.argsort(encoded.window, kind="stable")
    sorted_windows = encoded.window[by_window]
    at = 0
    while at < len(order):
        size = max(1, batch_tokens // int(lengths[order[min(at + 1, len(order) - 1)]]))
        while size > 1 and size * int(lengths[order[min(at + size, len(order)) - 1]]) > batch_tokens:
            size -= max(1, size // 16)
        chosen = order[at : at + size]
        at += size
        n = int(lengths[chosen].max())
        words = np.zeros((len(chosen), n), dtype=np.int64)
        segments = np.zeros_like(words)
        members, rows = [], []
        for row, window in enumerate(chosen):
            ids = encoded.ids[encoded.starts[window] : encoded.starts[window + 1]]
            words[row, : len(ids)] = ids
            segments[row, : len(ids)] = 1
            first, last = np.searchsorted(sorted_windows, [window, window + 1])
            members.append(by_window[first:last])
            rows.append(np.full(last - first, row, dtype=np.int64))
        yield words, None if segments.all() else segments, np.concatenate(members), np.concatenate(rows)


def _by_text(instances: Sequence[Instance]) -> Iterator[Sequence[Instance]]:
    first = 0
    for index in range(1, len(instances) + 1):
        if index == len(instances) or instances[index].text is not instances[first].text:
            yield instances[first:index]
            first = index


def _read_text(group: Sequence[Instance], pipeline: "TextPipeline") -> tuple[list[int], list[int], list[int]]:
    """The ids of a text between line marks, where each focus is in them, and its lemma's id (-1: not known).

    A focus that the pipeline reads otherwise (colour, or waiting as a noun) is put right: the data set's lemma counts.
    """
    from polylm.text.analyzer import LINE
    from polylm.text.pipeline import UNKNOWN

    vocabulary = pipeline.vocabulary
    assert vocabulary is not None
    text = group[0].text
    tokens = pipeline.encode(text)
    words_of_focus = [_focus_word(tokens, instance) for instance in group]
    lemmas = [vocabulary.get(instance.lemma, -1) for instance in group]
    lemmas = [-1 if lemma == vocabulary[UNKNOWN] else lemma for lemma in lemmas]
    replaced: dict[int, list[int]] = {}
    for instance, word, lemma in zip(group, words_of_focus, lemmas, strict=True):
        if word is None:
            raise UserError(f"{instance.id}: there is no word at character {instance.start} of its text")
        if lemma >= 0 and tokens.words[word].lemma != instance.lemma:
            marker = _marker(tokens.words[word], instance) if pipeline.settings.lemmatize else None
            replaced[word] = [lemma, *([vocabulary[marker]] if marker and marker in vocabulary else [])]
    line = vocabulary[LINE]
    ids: list[int] = [line]
    place_of_word: dict[int, int] = {}
    wanted = {word for word in words_of_focus if word is not None}
    done = 0
    for word in sorted(wanted):
        own = tokens.ids_of(word)
        ids += tokens.ids[done : own.start].tolist()
        place_of_word[word] = len(ids)
        ids += replaced.get(word, tokens.ids[own].tolist())
        done = own.stop
    ids += [*tokens.ids[done:].tolist(), line]
    places = [place_of_word[word] for word in words_of_focus if word is not None]
    return ids, places, [lemma if ids[place] == lemma else -1 for place, lemma in zip(places, lemmas, strict=True)]


def _focus_word(tokens: "Tokens", instance: Instance) -> int | None:
    """The word of the focus; of several (a quotation mark, a compound) the one that can have the lemma."""
    first = tokens.word_at(instance.start)
    if first is None:
        return None
    inside = [first]
    while inside[-1] + 1 < len(tokens.words) and tokens.words[inside[-1] + 1].start < instance.end:
        inside.append(inside[-1] + 1)
    if len(inside) == 1:
        return first
    from polylm.text.lemmatizer import lemmas_of

    for word in inside:
        form = tokens.words[word].text.lower()
        if instance.lemma in (form, tokens.words[word].lemma) or instance.lemma in lemmas_of(form, instance.pos):
            return word
    return next((word for word in reversed(inside) if tokens.words[word].text.isalpha()), first)


def _marker(word: "Word", instance: Instance) -> str | None:
    """The inflection of a focus that the tagger took for another part of speech than the data set says."""
    form = word.text.lower()
    if form == instance.lemma:
        return None
    endings: Mapping[str, tuple[tuple[str, str], ...]] = {
        "n": (("s", "[PL]"),),
        "v": (("ing", "[GER]"), ("s", "[3RD]"), ("", "[PAST]")),
        "j": (("er", "[COMP]"), ("est", "[SUP]")),
        "r": (("er", "[COMP]"), ("est", "[SUP]")),
    }
    return next((marker for ending, marker in endings.get(instance.pos, ()) if form.endswith(ending)), None)


def _windows(n: int, places: Sequence[int], length: int) -> Iterator[tuple[tuple[int, int], list[int]]]:
    """Windows of a text of n ids, each with the focuses read in it.

    A single focus stands in the middle of its window, room that is left over on one side being given to the other. Many
    share windows that overlap by half, each being read where it is nearest to the middle.
    """
    if not places:
        return
    if n <= length:
        yield (0, n), list(range(len(places)))
        return
    if len(places) == 1:
        start = min(max(places[0] - length // 2, 0), n - length)
        yield (start, start + length), [0]
        return
    starts = [*range(0, n - length, max(1, length // 2)), n - length]
    middles = [start + (length - 1) / 2 for start in starts]
    members: dict[int, list[int]] = {}
    for focus, place in enumerate(places):
        right = min(bisect_left(middles, place), len(middles) - 1)
        nearest = min((max(right - 1, 0), right), key=lambda i: abs(middles[i] - place))
        members.setdefault(nearest, []).append(focus)
    for number, focuses in sorted(members.items()):
        yield (starts[number], starts[number] + length), focuses
