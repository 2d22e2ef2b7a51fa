"""The names of senses: `bank#3` is the third sense of bank. Built and taken apart here alone."""

import re
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
    found = re.fullmatch(r"(.+)#([1-9][0-9]{0,5})", key, re.DOTALL)
    return Key(found[1], int(found[2])) if found else None


def is_key(text: str) -> bool:
    """Whether it has the form of a sense's name, of one that there is or not."""
    _, mark, digits = text.rpartition("#")
    return bool(mark) and digits.isdigit()


def word_of(key: str) -> str:
    """bank of bank#3; what has no # stands for itself."""
    return key.rpartition("#")[0] or key
