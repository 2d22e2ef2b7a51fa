"""Words that are asked about: where they stand in their text, and what the network is to read for them.

A target may impose its lemma, as the test sets do: what the pipeline reads otherwise (colour, or waiting as a noun) is
then put right.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import index as index_of
from typing import TYPE_CHECKING

from polylm.errors import UserError
from polylm.reading.windows import Text, Windows, cut
from polylm.symbols import LINE_ID, UNKNOWN_ID
from polylm.text.lemmatizer import is_word, lemmas_of

if TYPE_CHECKING:
    from polylm.text.pipeline import TextPipeline, Tokens, Word

Report = Callable[[int, int], None]  # done, total
_ENDINGS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "n": (("s", "[PL]"),),
    "v": (("ing", "[GER]"), ("s", "[3RD]"), ("", "[PAST]")),
    "j": (("er", "[COMP]"), ("est", "[SUP]")),
    "r": (("er", "[COMP]"), ("est", "[SUP]")),
}


@dataclass(frozen=True)
class Target:
    """A word of a text, `text[start:end]`, and the lemma and part of speech (n, v, j, r) that it is said to have."""

    text: str
    start: int
    end: int
    lemma: str | None = None  # none: what the pipeline reads
    pos: str = ""
    name: str = ""  # what a complaint calls it


def marked(text: str, span: tuple[int, int] | None = None) -> Target:
    """The word in brackets, `a [word] in a text`, or the one at `span`."""
    if not isinstance(text, str):
        raise UserError(f"a text is a string, not {type(text).__name__}")
    if span is None:
        return _bracketed(text)
    try:
        start, end = map(index_of, span)  # numbers of whatever kind: numpy's will do
    except (TypeError, ValueError):
        raise UserError(f"a span is two numbers, where the word begins and ends, not {span!r}") from None
    if not 0 <= start < end <= len(text):
        raise UserError(f"there is nothing from {start} to {end} in a text of {len(text)} characters")
    return Target(text, start, end)


def _bracketed(text: str) -> Target:
    found = list(re.finditer(r"\[([^\[\]]+)\]", text))
    if len(found) != 1 or not found[0][1].strip():
        what = "no word is marked" if len(found) < 2 else f"{len(found)} words are marked"
        raise UserError(f"{what}: mark one word with brackets: He sat on the [bank] of the river")
    (match,) = found
    inside = match[1]
    start = match.start() + len(inside) - len(inside.lstrip())
    return Target(text[: match.start()] + inside + text[match.end() :], start, start + len(inside.strip()))


def encode(
    targets: Sequence[Target], pipeline: "TextPipeline", length: int, *, report: Report | None = None
) -> Windows:
    """Every target in its window. Those that follow one another in one text share the text, and its windows."""
    if pipeline.vocabulary is None:
        raise UserError("this pipeline has no vocabulary: it cannot encode text")

    def texts() -> Iterator[Text]:
        done = 0
        for group in _by_text(targets):
            yield text_of(group, pipeline)
            done += len(group)
            if report:
                report(done, len(targets))

    return cut(texts(), length, len(pipeline.vocabulary))


def _by_text(targets: Sequence[Target]) -> Iterator[Sequence[Target]]:
    first = 0
    for index in range(1, len(targets) + 1):
        if index == len(targets) or targets[index].text is not targets[first].text:
            yield targets[first:index]
            first = index


def text_of(group: Sequence[Target], pipeline: "TextPipeline") -> Text:
    """The ids of a text between line marks, and where in them each target of the text is."""
    vocabulary = pipeline.vocabulary
    assert vocabulary is not None
    tokens = pipeline.encode(group[0].text)
    words = [_exact_word(tokens, one) if one.lemma is None else _word_of_lemma(tokens, one) for one in group]
    replaced: dict[int, list[int]] = {}
    targets = []
    for word, target in zip(words, group, strict=True):
        if target.lemma is None:
            targets.append(int(tokens.ids[tokens.id_of_word[word]]))
            continue
        lemma = vocabulary.get(target.lemma, -1)
        targets.append(-1 if lemma == UNKNOWN_ID else lemma)
        if targets[-1] >= 0 and tokens.words[word].lemma != target.lemma:
            marker = _marker(tokens.words[word], target) if pipeline.settings.lemmatize else None
            replaced[word] = [lemma, *([vocabulary[marker]] if marker and marker in vocabulary else [])]
    ids: list[int] = [LINE_ID]
    place_of_word: dict[int, int] = {}
    done = 0
    for word in sorted(set(words)):
        span = tokens.ids_of(word)
        ids += tokens.ids[done : span.start].tolist()
        place_of_word[word] = len(ids)
        ids += replaced.get(word, tokens.ids[span].tolist())
        done = span.stop
    ids += [*tokens.ids[done:].tolist(), LINE_ID]
    places = [place_of_word[word] for word in words]
    return Text(ids, places, [one if ids[place] == one else -1 for one, place in zip(targets, places, strict=True)])


def tag_of(target: Target, pipeline: "TextPipeline") -> str:
    """The Penn tag of a word that is marked; empty where words are read as they stand."""
    if not pipeline.settings.lemmatize:
        return ""
    tokens = pipeline.encode(target.text)
    tag: str = tokens.words[_exact_word(tokens, target)].tag or ""
    return tag


def _exact_word(tokens: "Tokens", target: Target) -> int:
    """The one word that a person marked; the bank's is bank with what hangs on it."""
    index = tokens.word_at(target.start)
    if index is None:
        raise UserError(f"there is no word at character {target.start}")
    inside = [word.text for word in tokens.words[index:] if word.start < target.end and is_word(word.text)]
    if len(inside) > 1 and not all(other.startswith(("'", "’")) for other in inside[1:]):
        said = target.text[target.start : target.end]
        raise UserError(f"{said!r} is read as {', '.join(inside)}: mark one word of them")
    word = tokens.words[index]
    if word.start < target.start or word.end > target.end:
        said = target.text[target.start : target.end]
        raise UserError(f"{said!r} cuts through a word: mark all of {word.text!r}")
    if not is_word(word.text):
        raise UserError(f"{word.text!r} is not a word")
    return index


def _word_of_lemma(tokens: "Tokens", target: Target) -> int:
    """The word of the target; of several (a quotation mark, a compound) the one that can have the lemma."""
    first = tokens.word_at(target.start)
    if first is None:
        raise UserError(f"{target.name}: there is no word at character {target.start} of its text")
    inside = [first]
    while inside[-1] + 1 < len(tokens.words) and tokens.words[inside[-1] + 1].start < target.end:
        inside.append(inside[-1] + 1)
    if len(inside) == 1:
        return first
    for word in inside:
        form = tokens.words[word].text.lower()
        if target.lemma in (form, tokens.words[word].lemma) or target.lemma in lemmas_of(form, target.pos):
            return word
    return next((word for word in reversed(inside) if tokens.words[word].text.isalpha()), first)


def _marker(word: "Word", target: Target) -> str | None:
    """The inflection of a target that the tagger took for another part of speech than it is said to have."""
    form = word.text.lower()
    if form == target.lemma:
        return None
    return next((marker for ending, marker in _ENDINGS.get(target.pos, ()) if form.endswith(ending)), None)
