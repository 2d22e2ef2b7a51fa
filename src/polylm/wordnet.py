"""WordNet as Princeton distributes it: the files index.sense and data.*, in a folder or an archive."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from polylm.archives import texts_of
from polylm.errors import UserError

SS_TYPE = {"1": "n", "2": "v", "3": "j", "4": "r", "5": "j"}
_FILES = {"noun": "n", "verb": "v", "adj": "j", "adv": "r"}


@dataclass(frozen=True, slots=True)
class Synset:
    """A meaning: the words that have it, what it is said to be, and the meanings it points to."""

    id: str  # 09213565-n: where it stands in its file, and n, v, a or r
    words: tuple[str, ...]  # river_bank
    gloss: str  # the definition, without examples
    examples: tuple[str, ...]
    pointers: tuple[tuple[str, str], ...]  # (@ for a hypernym, ~ for a hyponym, & for like ones, …; the synset's id)


class WordNet:
    """Synsets by id, and those of each word, in WordNet's order."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.senses: dict[tuple[str, str], list[tuple[str, str]]] = {}  # (lemma, pos) -> [(sense key, synset id)]
        self.synsets: dict[str, Synset] = {}
        for name, text in texts_of(self.path, r"(index\.sense|data\.(?:noun|verb|adj|adv))"):
            if name == "index.sense":
                self.senses = _senses(text, self.path)
            else:
                self.synsets.update(_synsets(text, name, self.path))
        if not self.senses:
            raise UserError(f"{path} holds no WordNet: it has no index.sense")
        missing = next((i for own in self.senses.values() for _, i in own if i not in self.synsets), None)
        if missing:
            raise UserError(f"{path} is not a whole WordNet: synset {missing} of index.sense is in no data file")

    def of_word(self, lemma: str) -> list[tuple[str, str]]:
        """Sense keys and synset ids of a word, nouns first."""
        return [sense for pos in "nvjr" for sense in self.senses.get((lemma, pos), [])]


def sense_keys(path: str | Path) -> dict[tuple[str, str], list[str]]:
    """(lemma, pos) -> sense keys in WordNet's order: all that is needed of WordNet to know its first senses."""
    for _, text in texts_of(Path(path), r"(index\.sense)"):
        return {word: [key for key, _ in senses] for word, senses in _senses(text, Path(path)).items()}
    raise UserError(f"{path} holds no WordNet: it has no index.sense")


def _senses(text: str, path: Path) -> dict[tuple[str, str], list[tuple[str, str]]]:
    numbered: dict[tuple[str, str], list[tuple[int, str, str]]] = defaultdict(list)
    for line_number, line in enumerate(text.splitlines(), 1):
        try:
            key, offset, number, _ = line.split()
            lemma, _, rest = key.partition("%")
            pos = SS_TYPE[rest[0]]
            numbered[lemma, pos].append((int(number), key, f"{offset}-{_letter(pos)}"))
        except (ValueError, KeyError, IndexError):
            raise UserError(f"index.sense of {path}, line {line_number}: {line!r} is not a sense") from None
    return {word: [(key, synset) for _, key, synset in sorted(senses)] for word, senses in numbered.items()}


def _synsets(text: str, name: str, path: Path) -> Iterator[tuple[str, Synset]]:
    letter = _letter(_FILES[name.partition(".")[2]])
    for line_number, line in enumerate(text.splitlines(), 1):
        if line.startswith("  ") or not line.strip():  # the licence
            continue
        try:
            head, _, gloss = line.partition(" | ")
            fields = head.split()
            n_words = int(fields[3], 16)
            words = tuple(_plain(word) for word in fields[4 : 4 + 2 * n_words : 2])
            first = 4 + 2 * n_words
            pointer_fields = fields[first + 1 : first + 1 + 4 * int(fields[first])]
            pointers = tuple(
                (symbol, f"{offset}-{'a' if pos == 's' else pos}")
                for symbol, offset, pos in zip(
                    pointer_fields[::4], pointer_fields[1::4], pointer_fields[2::4], strict=True
                )
            )
        except (ValueError, IndexError):
            raise UserError(f"{name} of {path}, line {line_number} is not a synset") from None
        definition, *_ = gloss.split('; "')
        examples = tuple(example.strip() for example in re.findall(r'"([^"]+)"', gloss))
        identity = f"{fields[0]}-{letter}"
        yield identity, Synset(identity, words, definition.strip(), examples, pointers)


def _plain(word: str) -> str:
    """Without the place of an adjective: galore(ip)."""
    return re.sub(r"\((?:a|p|ip)\)$", "", word).lower()


def _letter(pos: str) -> str:
    return "a" if pos == "j" else pos
