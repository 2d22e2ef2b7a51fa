"""SemCor's own files: running text of the Brown corpus, most of its words with WordNet's senses."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from polylm.archives import texts_of
from polylm.errors import UserError
from polylm.wordnet import SS_TYPE


class Sense(NamedTuple):
    """What SemCor says of a word."""

    lemma: str
    pos: str  # n, v, j or r
    key: str  # the part of the sense key after the %: 1:17:01::
    in_wordnet: bool  # a few senses are not there


class Word(NamedTuple):
    """A word or a glued expression (vice_president), or a punctuation mark."""

    form: str
    sense: Sense | None


Sentence = list[Word]


def documents(path: Path) -> Iterator[tuple[str, list[Sentence]]]:
    """Each document, by name, with its sentences. `path` is a folder or an archive."""
    found = sorted(texts_of(path, r"brown[12v]/tagfiles/(br-\w+)"))
    if not found:
        raise UserError(f"{path} holds no SemCor: it has no brown1/tagfiles/br-…")
    for name, text in found:
        yield name, [list(_words(part)) for part in _SENTENCE.split(text)]


def _words(text: str) -> Iterator[Word]:
    for match in _WORD.finditer(text):
        attributes = dict(_ATTRIBUTE.findall(match[2] or ""))
        form = match[3].strip()
        key = attributes.get("lexsn", "").split(";")[0]
        lemma = attributes.get("lemma", "").lower()
        if not form:
            continue
        if match[1] == "wf" and lemma and key[:1] in SS_TYPE:
            known = attributes.get("wnsn", "0").split(";")[0] != "0"
            yield Word(form, Sense(lemma, SS_TYPE[key[0]], key, known))
        else:
            yield Word(form, None)


_SENTENCE = re.compile(r"<s\b[^>]*>")
_WORD = re.compile(r"<(wf|punc)([^>]*)>([^<]*)</")
_ATTRIBUTE = re.compile(r"(\w+)=([^\s>]+)")
