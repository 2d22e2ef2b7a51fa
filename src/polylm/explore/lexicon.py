"""The senses of a model as a lexical resource: JSON lines, or OntoLex-Lemon in Turtle; linked to WordNet on demand."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from polylm.atomic import replacing
from polylm.errors import UserError
from polylm.explore.examples import Example
from polylm.explore.links import Link, Linker
from polylm.explore.tagging import Tagger
from polylm.wordnet import WordNet

SURE = 0.5  # from which a link is stated as a fact in Turtle, beside its confidence
Report = Callable[[int, int], None]  # done, total


@dataclass(frozen=True)
class LexicalSense:
    """One sense of an entry."""

    key: str
    share: float
    neighbours: list[tuple[str, float]]
    members: list[str]
    substitutes: list[str] = field(default_factory=list)
    wordnet: Link | None = None
    examples: list[Example] = field(default_factory=list)
    label: str = ""  # three words that tell it from the other senses of its word


@dataclass(frozen=True)
class Entry:
    """A word with its senses, the commonest first."""

    word: str
    count: int  # in the training text
    senses: list[LexicalSense]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def entries(
    tagger: Tagger,
    *,
    words: Sequence[str] | None = None,
    granularity: float | None = None,
    topn: int = 8,
    wordnet: WordNet | None = None,
    examples: Mapping[str, list[Example]] | None = None,
    as_is: bool = False,
    report: Report | None = None,
) -> Iterator[Entry]:
    """All words of a model, or those given; `as_is`: a form that the model has is not taken for its lemma."""
    lexicon = tagger.lexicon
    linker = Linker(tagger, wordnet) if wordnet is not None else None
    wanted = lexicon.index.words()
    if words is not None:
        wanted = list(dict.fromkeys(one.word for one in lexicon.lookup.every(words, as_is=as_is)))
    done = 0
    for first in range(0, len(wanted), 4096):  # neighbours of many senses are found together
        part = wanted[first : first + 4096]
        senses_of_words = lexicon.senses(part, granularity=granularity, topn=topn, as_is=True)
        linked: list[list[Link | None]] = [[None] * len(senses) for senses in senses_of_words]
        if linker is not None:
            groups = [[sense.members for sense in senses] for senses in senses_of_words]
            linked = linker.many(list(zip(part, groups, strict=True)))
        for word, senses, links in zip(part, senses_of_words, linked, strict=True):
            labels = lexicon.labels([sense.key for sense in senses], granularity=granularity)
            lexical = [
                LexicalSense(**vars(sense), wordnet=link, examples=(examples or {}).get(sense.key, []), label=label)
                for sense, link, label in zip(senses, links, labels, strict=True)
            ]
            yield Entry(word, lexicon.vocabulary.count(word), lexical)
        done += len(part)
        if report:
            report(done, len(wanted))


def write(out: str | Path, found: Iterable[Entry], *, language: str = "en", base: str = "urn:polylm:") -> int:
    """Write entries to F.jsonl or F.ttl, whole or not at all; how many there were."""
    form = format_of(out)
    if not re.fullmatch(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*", language):
        raise UserError(f"{language!r} is not the tag of a language: write en, de or pt-BR")
    n = 0
    with replacing(out) as file:
        if form == "ttl":
            file.write(_prefixes(base, language).encode())
        for entry in found:
            if form == "ttl":
                file.write(_turtle(entry, base, language).encode())
            else:
                file.write(json.dumps(entry.to_dict(), ensure_ascii=False).encode() + b"\n")
            n += 1
    return n


def format_of(out: str | Path) -> str:
    """jsonl or ttl, by the name of the file."""
    suffix = Path(out).suffix.lower()
    if suffix not in (".jsonl", ".ttl"):
        raise UserError(f"{out}: a lexicon is a .jsonl or a .ttl file")
    return suffix[1:]


# Turtle

_ONTOLEX = "http://www.w3.org/ns/lemon/ontolex#"
_WORDNET = "http://wordnet-rdf.princeton.edu/wn30/"


def _prefixes(base: str, language: str) -> str:
    return f"""@prefix ontolex: <{_ONTOLEX}> .
@prefix lime: <http://www.w3.org/ns/lemon/lime#> .
@prefix frac: <http://www.w3.org/ns/lemon/frac#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix polylm: <{base}terms:> .

<{base}lexicon> a lime:Lexicon ; lime:language "{language}" .

"""


def _turtle(entry: Entry, base: str, language: str) -> str:
    def iri(kind: str, name: str) -> str:
        return f"<{base}{kind}:{quote(name, safe='')}>"

    def text(value: str) -> str:
        return f"{json.dumps(value, ensure_ascii=False)}@{language}"

    entry_iri = iri("entry", entry.word)
    senses = ", ".join(iri("sense", sense.key) for sense in entry.senses)
    lines = [
        f"<{base}lexicon> lime:entry {entry_iri} .",
        f"{entry_iri} a ontolex:LexicalEntry ;",
        f"    ontolex:canonicalForm [ a ontolex:Form ; ontolex:writtenRep {text(entry.word)} ] ;",
        f"    frac:frequency [ a frac:Frequency ; rdf:value {entry.count} ] ;",
        f"    ontolex:sense {senses} .",
    ]
    for sense in entry.senses:
        facts = ["a ontolex:LexicalSense", f'skos:notation "{_escaped(sense.key)}"', f"polylm:share {sense.share:.4f}"]
        if sense.neighbours:
            facts.append("polylm:near " + ", ".join(iri("sense", key) for key, _ in sense.neighbours))
        if sense.substitutes:
            facts.append("polylm:substitute " + ", ".join(map(text, sense.substitutes)))
        facts += [f"skos:example {text(example.text)}" for example in sense.examples]
        if sense.wordnet is not None:
            synset = f"<{_WORDNET}{sense.wordnet.synset}>"
            if sense.wordnet.confidence >= SURE:
                facts.append(f"ontolex:isLexicalizedSenseOf {synset}")
            facts.append(
                f"polylm:link [ polylm:synset {synset} ; polylm:confidence {sense.wordnet.confidence:.4f} ; "
                f'skos:notation "{_escaped(sense.wordnet.key)}" ]'
            )
        lines.append(f"{iri('sense', sense.key)} " + " ;\n    ".join(facts) + " .")
    return "\n".join(lines) + "\n\n"


def _escaped(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]
