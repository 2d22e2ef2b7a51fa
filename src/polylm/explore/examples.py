"""Sentences of a text collection in which a sense is clear: for people who want to see it used."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from polylm.corpus.sources import TextFile, chunk_lines, find_sources
from polylm.explore.tagging import Tagger, beside
from polylm.reading.layers import AUTO, DISAMBIGUATION
from polylm.text.lemmatizer import forms_of

SENTENCES = 400  # of each word that are read, where words are asked for
TEXT = 20_000  # sentences that are read, where all words are
BYTES = 256 << 20  # of text that are searched
WORDS = range(5, 41)  # of a sentence that can be an example
_BETWEEN = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z])")
_SHORT = re.compile(  # J. R. Smith, the U.S. Treasury, Dr. Crane: no sentence ends there, or one cannot tell
    r"(?<!\w)(?:[A-Z]|(?:[A-Za-z]\.)+[A-Za-z]|Mr|Mrs|Ms|Messrs|Mme|Dr|Prof|St|Mt|Ft|Jr|Sr|Gen|Maj|Col|Capt|Cpt|Lt|Sgt|Cmdr|"
    r"Adm|Rev|Hon|Gov|Sen|Rep|Pres|Supt|Inc|Ltd|Co|Corp|Bros|Ave|Blvd|Rd|Nos|Vol|Fig|Figs|Ch|pp|cf|ca|vs|viz|approx|"
    r"Jan|Feb|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)\.$"
)
_WHOLE = re.compile(r"[\"'“‘(\[]*[A-Z].*[.!?][\"'”’)\]]*", re.DOTALL)


@dataclass(frozen=True, order=True)
class Example:
    """A sentence, the place of the word in it, and how probable the sense is there."""

    text: str
    start: int
    end: int
    probability: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def find_examples(
    tagger: Tagger,
    paths: Iterable[str | Path],
    *,
    words: Sequence[str] | None = None,
    n: int = 3,
    granularity: float | None = None,
    as_is: bool = False,
    report: Callable[[int, int], None] | None = None,
) -> dict[str, list[Example]]:
    """For each sense of some words, or of all, up to n sentences, the clearest first.

    Text is taken from all files in turn. For some words the usual read-out is asked, for all words the fastest.
    """
    lemmas = None if words is None else {one.word for one in tagger.lexicon.lookup.every(words, as_is=as_is)}
    read_out = DISAMBIGUATION if lemmas is None and tagger.reader.network.c_d is not None else AUTO
    sentences = _searched(find_sources(paths), lemmas)
    limit = TEXT if lemmas is None else SENTENCES * len(lemmas)
    best: dict[str, dict[str, tuple[float, Example]]] = {}
    tag = partial(tagger.tag_many, read_out=read_out, granularity=granularity)
    for done, (text, tokens) in enumerate(beside(tag, _first(sentences, limit), str), 1):
        for token in tokens:
            if token.sense is None or token.probability is None or (lemmas is not None and token.lemma not in lemmas):
                continue
            example = Example(text, token.start, token.end, token.probability)
            _keep(best.setdefault(token.sense, {}), example, n)
        if report:
            report(done, limit)
    if report:
        report(limit, limit)
    return {
        key: [example for _, example in sorted(candidates.values(), key=lambda pair: (-pair[1].probability, pair[1]))]
        for key, candidates in best.items()
    }


def sentences_of(line: str) -> Iterator[str]:
    """The sentences of a line that are whole, and neither very short nor very long."""
    ends = _BETWEEN.finditer(line)
    breaks = [end.end() for end in ends if not _SHORT.search(line[max(0, end.start() - 12) : end.start()])]
    for start, end in pairwise([0, *breaks, len(line)]):
        sentence = line[start:end].strip()
        if len(sentence.split()) in WORDS and _WHOLE.fullmatch(sentence):
            yield sentence


def _keep(found: dict[str, tuple[float, Example]], example: Example, n: int) -> None:
    """Clear ones, and of those the ones that are easy to read: about fifteen words."""
    worth = example.probability - 0.004 * abs(len(example.text.split()) - 15)
    if example.text in found:
        return
    found[example.text] = (worth, example)
    if len(found) > n:
        del found[min(found, key=lambda text: found[text][0])]


def _searched(sources: Sequence[TextFile], lemmas: set[str] | None) -> Iterator[str]:
    wanted = None
    if lemmas is not None:
        forms = sorted({form for lemma in lemmas for form in forms_of(lemma)})
        wanted = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, forms))})(?!\w)", re.IGNORECASE)
    for chunk in _in_turn(sources):
        for line in chunk_lines(chunk):
            if wanted is None or wanted.search(line):
                yield from (s for s in sentences_of(line) if wanted is None or wanted.search(s))


def _in_turn(sources: Sequence[TextFile]) -> Iterator[bytes]:
    """A chunk of each file, then the next of each, until enough was seen."""
    running = [source.chunks("replace") for source in sources]
    seen = 0
    while running and seen < BYTES:
        for chunks in list(running):
            chunk = next(chunks, None)
            if chunk is None:
                running.remove(chunks)
            else:
                seen += len(chunk)
                yield chunk


def _first(sentences: Iterable[str], limit: int) -> Iterator[str]:
    """No sentence twice: collections repeat themselves."""
    seen: set[int] = set()
    for sentence in sentences:
        if len(seen) >= limit:
            return
        if hash(sentence) not in seen:
            seen.add(hash(sentence))
            yield sentence
