"""Which words the model knows, and how many senses each may have.

Thresholds are counts, or rates per million words with a floor, because the paper's 500 and 20,000 belong to its three
billion words. The order is fixed: special symbols, then falling count, then alphabetical; so equal text gives equal
files.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import regex

from polylm import symbols
from polylm.errors import UserError
from polylm.text.analyzer import LINE
from polylm.text.lemmatizer import MARKERS
from polylm.text.pipeline import UNKNOWN
from polylm.text.tokenizer import tokenize

PAD, MASK = symbols.SPECIAL[symbols.PAD], symbols.SPECIAL[symbols.MASK]
SPECIAL = symbols.SPECIAL


MOST_SENSES = 64  # of a word: what is confused with what is counted for every pair


@dataclass(frozen=True)
class Threshold:
    """A least count: `Threshold.parse("40")` is 40; `"0.17/M"` is 0.17 a million words, and never below the floor."""

    value: float
    per_million: bool = False
    floor: int = 1

    @classmethod
    def parse(cls, text: str, floor: int = 1) -> "Threshold":
        match = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,12})?)\s*(/\s*[Mm])?\s*", text)
        if not match or (not match[2] and not float(match[1]).is_integer()):
            raise UserError(f"{text!r} is not a threshold: write a count such as 40, or a rate such as 0.17/M")
        return cls(float(match[1]), bool(match[2]), floor if match[2] else 1)

    def count(self, n_words: int) -> int:
        """The least count in a corpus of so many words."""
        if not self.per_million:
            return max(int(self.value), self.floor)
        return max(round(self.value * n_words / 1e6), self.floor)

    def __str__(self) -> str:
        value = int(self.value) if self.value == int(self.value) else self.value
        return f"{value}/M" if self.per_million else f"{value}"


@dataclass(frozen=True)
class VocabularySettings:
    """How counts become a vocabulary."""

    min_count: Threshold = Threshold(0.17, per_million=True, floor=5)
    poly_count: Threshold = Threshold(6.7, per_million=True, floor=200)
    senses: int = 8
    max_words: int | None = None
    focus: tuple[str, ...] = ()  # always in, always with several senses
    n_senses: Mapping[str, int] | None = None  # word -> number of senses, before any other rule

    def __post_init__(self) -> None:
        if not 1 <= self.senses <= MOST_SENSES:
            raise UserError(f"a word cannot have {self.senses} senses; the number of senses is 1 to {MOST_SENSES}")
        if self.max_words is not None and self.max_words < 1:
            raise UserError(f"a vocabulary of {self.max_words} words is empty; give 1 or more")

    def required(self, markers: bool) -> set[str]:
        """Words that are always in. They must leave room for themselves, which is checked before any text is read."""
        words = {*self.focus, *(self.n_senses or {}), *(MARKERS if markers else ())}
        if self.max_words is not None and self.max_words < len(words):
            raise UserError(
                f"--max-words {self.max_words} leaves no room for the {len(words)} words that must be in: "
                "the inflection markers, and those of the focus and senses files"
            )
        return words


class Vocabulary(Mapping[str, int]):
    """Symbol -> id, with the count and the number of senses of each."""

    def __init__(self, words: Sequence[str], counts: Sequence[int], n_senses: Sequence[int]) -> None:
        if not len(words) == len(counts) == len(n_senses):
            raise ValueError("words, counts and numbers of senses must be of one length")
        if tuple(words[: len(SPECIAL)]) != SPECIAL:
            raise ValueError(f"a vocabulary begins with {' '.join(SPECIAL)}")
        self.words = list(words)
        self.counts = list(counts)
        self.n_senses = list(n_senses)
        self._id_of = {word: index for index, word in enumerate(self.words)}
        if len(self._id_of) != len(self.words):
            twice = next(word for index, word in enumerate(self.words) if self._id_of[word] != index)
            raise ValueError(f"{twice!r} is in the vocabulary twice")

    def __getitem__(self, word: str) -> int:
        return self._id_of[word]

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def from_counts(
        cls,
        counts: Iterable[tuple[str, int]],
        n_words: int,
        settings: VocabularySettings,
        *,
        markers: bool = True,
    ) -> "Vocabulary":
        """Choose the words. `counts` may be a stream, of distinct symbols; `n_words` is what a rate is taken of."""
        least, least_poly = settings.min_count.count(n_words), settings.poly_count.count(n_words)
        given = settings.n_senses or {}
        wanted, focus = settings.required(markers), frozenset(settings.focus)
        kept = dict.fromkeys(wanted, 0)
        n_lines = 0
        for word, count in counts:
            if word == LINE:
                n_lines = count
            elif count >= least or word in wanted:
                kept[word] = count
        order = sorted(kept, key=lambda word: (-kept[word], word))
        if settings.max_words is not None and len(order) > settings.max_words:
            common = [word for word in order if word not in wanted][: settings.max_words - len(wanted)]
            allowed = wanted.union(common)
            order = [word for word in order if word in allowed]
        n_known = sum(kept[word] for word in order if word not in MARKERS)

        def senses_of(word: str) -> int:
            if word in given:
                return given[word]
            if word in focus:
                return settings.senses
            return settings.senses if kept[word] >= least_poly and _LETTERS.fullmatch(word) else 1

        special_counts = {LINE: n_lines, UNKNOWN: n_words - n_known}
        return cls(
            [*SPECIAL, *order],
            [*(special_counts.get(word, 0) for word in SPECIAL), *(kept[word] for word in order)],
            [*(1 for _ in SPECIAL), *(senses_of(word) for word in order)],
        )

    def count(self, word: str) -> int:
        """How often a word of the vocabulary occurs in the text it was made from."""
        return self.counts[self._id_of[word]]

    def to_bytes(self) -> bytes:
        """`word<TAB>count<TAB>senses` a line, the id being the line's number from 0."""
        rows = zip(self.words, self.counts, self.n_senses, strict=True)
        return "".join(f"{word}\t{count}\t{senses}\n" for word, count, senses in rows).encode("utf-8", "surrogatepass")

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @classmethod
    def load(cls, path: str | Path) -> "Vocabulary":
        try:
            lines = Path(path).read_bytes().decode("utf-8", "surrogatepass").split("\n")
            rows = [line.split("\t") for line in lines if line]
            return cls([row[0] for row in rows], [int(row[1]) for row in rows], [int(row[2]) for row in rows])
        except (OSError, ValueError, IndexError) as error:
            raise UserError(f"{path} could not be read as a vocabulary: {error}") from None


_LETTERS = regex.compile(r"[\p{L}\p{M}]+")  # vowel signs of Hindi are marks, which isalpha does not count


def read_focus(path: str | Path) -> tuple[str, ...]:
    """A focus list: one word a line; empty lines and what follows a `#` are left out."""
    words = [_one_word(line.split("#")[0], path, number) for number, line in enumerate(_lines(path), 1)]
    return tuple(dict.fromkeys(word for word in words if word))


def read_n_senses(path: str | Path) -> dict[str, int]:
    """Numbers of senses: `word<TAB>n` a line."""
    numbers: dict[str, int] = {}
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        form, _, n = line.rstrip("\r").partition("\t")
        word = _one_word(form, path, number)
        if not word or not re.fullmatch(r"\s*\d{1,4}\s*", n, re.ASCII) or not 1 <= int(n) <= MOST_SENSES:
            raise UserError(
                f"{path}, line {number}: {line!r} is not a word, a tab and a number of senses, 1 to {MOST_SENSES}"
            )
        if word in numbers:
            raise UserError(f"{path}, line {number}: {word!r} is there twice")
        numbers[word] = int(n)
    return numbers


def _one_word(form: str, path: str | Path, number: int) -> str:
    """A word of a list as text is read: normalised, in lower case; nothing for an empty line."""
    tokens = tokenize(form)
    if len(tokens) > 1:
        read = " ".join(token.norm for token in tokens)
        raise UserError(f"{path}, line {number}: {form.strip()!r} is read as several words ({read}); name one a line")
    return tokens[0].norm.lower() if tokens else ""


def _lines(path: str | Path) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} could not be read: {error}") from None
