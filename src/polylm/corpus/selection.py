"""Which words the model knows, and how many senses each may have.

Thresholds are counts, or rates per million words with a floor, because the paper's 500 and 20,000 belong to its three
billion words. The order is fixed: special symbols, then falling count, then alphabetical; so equal text gives equal
files.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import regex

from polylm.errors import UserError
from polylm.symbols import LINE, SPECIAL, UNKNOWN
from polylm.text.lemmatizer import MARKERS
from polylm.text.tokenizer import tokenize
from polylm.text.vocabulary import Vocabulary

MOST_SENSES = 64  # of a word: what is confused with what is counted for every pair


@dataclass(frozen=True)
class Threshold:
    """A least count: `Threshold.parse("40")` is 40; `"0.17/M"` is 0.17 a million words, and never below the floor."""

    value: float
    per_million: bool = False
    floor: int = 1

    @classmethod
    def parse(cls, text: str, floor: int = 1, name: str = "min_count") -> "Threshold":
        """Read what people write; `floor` is for rates."""
        match = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,12})?)\s*(/\s*[Mm])?\s*", text)
        if not match or (not match[2] and not float(match[1]).is_integer()):
            message = f"{text!r} is not a threshold ({{{name}}}): write a count such as 40, or a rate such as 0.17/M"
            raise UserError(message, **{name: None})
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
            raise UserError(f"the number of senses ({{senses}}) is 1 to {MOST_SENSES}, not {self.senses}", senses=None)
        if self.max_words is not None and self.max_words < 1:
            raise UserError(f"there must be at least one word ({{max_words}}), not {self.max_words}", max_words=None)

    def required(self, markers: bool) -> set[str]:
        """Words that are always in. They must leave room for themselves, which is checked before any text is read."""
        words = {*self.focus, *(self.n_senses or {}), *(MARKERS if markers else ())}
        if self.max_words is not None and self.max_words < len(words):
            raise UserError(
                f"a vocabulary of {self.max_words} words ({{max_words}}) has no room for the {len(words)} that must be "
                "in it: the inflection markers, and those of the focus and senses files",
                max_words=None,
            )
        return words


def choose_vocabulary(
    counts: Iterable[tuple[str, int]],
    n_words: int,
    settings: VocabularySettings,
    *,
    markers: bool = True,
) -> Vocabulary:
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

    def senses_of(word: str) -> int:
        if word in given:
            return given[word]
        if word in focus:
            return settings.senses
        return settings.senses if kept[word] >= least_poly and _LETTERS.fullmatch(word) else 1

    return Vocabulary(
        [*SPECIAL, *order],
        _counts(order, kept, n_lines, n_words),
        [*(1 for _ in SPECIAL), *(senses_of(word) for word in order)],
    )


def recounted(words: Vocabulary, counts: Iterable[tuple[str, int]], n_words: int) -> Vocabulary:
    """The words of a vocabulary, in its order and with its numbers of senses, and how often they are in other text."""
    kept = {word: count for word, count in counts if word in words}
    return Vocabulary(
        words.words, _counts(words.words[len(SPECIAL) :], kept, kept.pop(LINE, 0), n_words), words.n_senses
    )


def _counts(words: Sequence[str], counts: Mapping[str, int], n_lines: int, n_words: int) -> list[int]:
    """Those of the special symbols, and of the words: what is not known is [UNK]."""
    n_known = sum(counts.get(word, 0) for word in words if word not in MARKERS)
    special = {LINE: n_lines, UNKNOWN: n_words - n_known}
    return [*(special.get(word, 0) for word in SPECIAL), *(counts.get(word, 0) for word in words)]


_LETTERS = regex.compile(r"[\p{L}\p{M}]+")  # vowel signs of Hindi are marks, which isalpha does not count


def read_focus_words(path: str | Path) -> tuple[str, ...]:
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
