"""Where a command's text comes from: the words of the command, a file, or standard input."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from polylm.errors import UserError


def lines_of(what: str) -> Iterator[str]:
    """The lines of a file or of standard input (`-`), read as they are wanted; or a text, whole."""
    if what == "-":
        return _decoded(sys.stdin.buffer, "standard input")
    try:
        path = Path(what)
        is_file = path.is_file()
    except (OSError, ValueError):  # a text may be longer than a name, or hold what no name may
        is_file = False
    if is_file:
        return _decoded(path.open("rb"), what)
    if "/" in what and not any(character.isspace() for character in what):
        raise UserError(f"there is no file {what}")
    return iter([what])


def _decoded(file: BinaryIO, name: str) -> Iterator[str]:
    with file:
        for number, line in enumerate(file, 1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                raise UserError(f"{name}, line {number}: this is not UTF-8 text") from None
