"""The names of senses: `bank#3` is the third sense of bank. Built and taken apart here alone."""

from typing import NamedTuple


class Key(NamedTuple):
    """A name taken apart."""

    word: str
    number: int


def make_key(word: str, number: int) -> str:
    """bank and 3: bank#3."""
    return f"{word}#{number}"


def split_key(key: str) -> Key | None:
    """bank#3: bank and 3; a # may stand in the word itself. None if this is not the name of a sense."""
    word, _, number = key.rpartition("#")
    return Key(word, int(number)) if word and number.isdecimal() and number.isascii() else None


def word_of(key: str) -> str:
    """bank of bank#3; what has no # stands for itself."""
    return key.rpartition("#")[0] or key
