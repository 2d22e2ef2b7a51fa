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
_PIECE = re.compile(r"\w+")
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

    Text is taken from all files in turn. For some words the usual read-out is asked, for all words the fastest; of
    some, up to `SENTENCES` are read for each.
    """
    lookup = tagger.lexicon.lookup
    lemmas = None if words is None else {one.word for one in lookup.every(words, as_is=as_is)}
    read_out = DISAMBIGUATION if lemmas is None and tagger.reader.network.c_d is not None else AUTO
    sources = find_sources(paths)
    limit = TEXT if lemmas is None else SENTENCES * len(lemmas)
    sentences = (
        _first(_every(sources), limit)
        if lemmas is None
        else _with(sources, lemmas, SENTENCES, in_forms=tagger.reader.pipeline.settings.lemmatize)
    )
    # Only these words are read, unless one is a form that would be taken for its lemma.
    asked = None if lemmas is None or {one.word for one in lookup.every(sorted(lemmas))} != lemmas else sorted(lemmas)
    best: dict[str, dict[str, tuple[float, Example]]] = {}
    tag = partial(tagger.tag_many, words=asked, read_out=read_out, granularity=granularity)
    for done, (text, tokens) in enumerate(beside(tag, sentences, str), 1):
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


def _every(sources: Sequence[TextFile]) -> Iterator[str]:
    for chunk in _in_turn(sources):
        for line in chunk_lines(chunk):
            yield from sentences_of(line)


def _with(sources: Sequence[TextFile], lemmas: set[str], n: int, *, in_forms: bool = True) -> Iterator[str]:
    """Sentences that have one of the lemmas, or what may be a form of it, up to n for each; none twice."""
    by_form: dict[str, set[str]] = {}
    for lemma in lemmas:
        for form in forms_of(lemma) if in_forms else (lemma,):
            by_form.setdefault(form.lower(), set()).add(lemma)
    # Letters and digits between others are looked up, the rest (o'clock, t-shirt) is searched for.
    odd = [form for form in by_form if not _PIECE.fullmatch(form)]
    search = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, odd))})(?!\w)") if odd else None
    lacking = dict.fromkeys(lemmas, n)
    seen: set[int] = set()

    def wanted(text: str) -> set[str]:
        lower = text.lower()
        forms = {*_PIECE.findall(lower), *(search.findall(lower) if search else ())} & by_form.keys()
        return {lemma for form in forms for lemma in by_form[form]} & lacking.keys()

    for chunk in _in_turn(sources) if lacking else ():
        for line in chunk_lines(chunk):
            if not wanted(line):
                continue
            for sentence in sentences_of(line):
                found = wanted(sentence)
                if not found or hash(sentence) in seen:
                    continue
                seen.add(hash(sentence))
                yield sentence
                for lemma in found:
                    lacking[lemma] -= 1
                    if not lacking[lemma]:
                        del lacking[lemma]
                if not lacking:
                    return


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
