"""Where a command's text comes from: the words of the command, a file, or standard input."""

import codecs
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

from polylm.commands.console import Bar, lines_with_bar
from polylm.corpus.sources import TextFile, chunk_lines, find_sources
from polylm.errors import UserError
from polylm.progress import Progress

_NAME = re.compile(r"(~|\.\.?)/\S+|\S+\.(txt|text|md|jsonl?|tsv|csv|conllu?|gz|xz|bz2|bz3|zst)")  # of a file, surely
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd", b"BZ3v1")  # gzip, xz, bzip2, zstandard, bzip3


def is_conllu(name: str) -> bool:
    """Whether a file is CoNLL-U, by its name."""
    return bool(re.search(r"\.conllu?(\.(gz|xz|bz2|zst|bz3))?$", name))


def input_lines(what: str, *, bar: bool = False, apart: bool = False) -> Iterator[str]:
    """The lines of a file, a folder of files, or of standard input (`-`), read as they are wanted; or a text, whole.

    Files are plain or compressed, as for `polylm prepare`. `bar`: show how far they were read. `apart`: an empty line
    between two files, where lines belong together.
    """
    if what == "-":
        if sys.stdin is None:
            raise UserError("standard input is closed: name a file")
        return _decoded(sys.stdin.buffer, "standard input")
    try:
        path = Path(what)
        is_folder = path.is_dir() and bool(re.search(r"[\w/]", what))  # a full stop is a text
        is_file = path.exists() and not path.is_dir()  # a pipe will do
        is_named = bool(_NAME.fullmatch(what)) or ("/" in what and path.parent.is_dir())  # not and/or, 24/7
    except (OSError, ValueError):  # a text may be longer than a name, or hold what no name may
        is_file = is_folder = is_named = False
    if is_folder or (is_file and TextFile(path).kind):
        sources = find_sources([path])
        return _of_sources(sources, bar=bar, apart=apart)
    if is_file:
        lines = _decoded(path.open("rb"), what)
        return lines_with_bar(lines, path) if bar and path.is_file() else lines
    if is_named and len(what.split()) == 1:
        raise UserError(f"there is no file {what}")
    return iter([what])


def _of_sources(sources: Sequence[TextFile], *, bar: bool, apart: bool) -> Iterator[str]:
    """The lines of several files, or of a compressed one."""
    with Bar() if bar else nullcontext() as shown:
        for number, source in enumerate(sources, 1):
            if apart and number > 1:
                yield ""
            for place, chunk in enumerate(_chunks(source)):
                lines = chunk_lines(chunk.removesuffix(b"\n").removeprefix(b"" if place else codecs.BOM_UTF8))
                yield from (line.rstrip("\r") for line in lines)
            if shown is not None:
                shown(Progress("files", number, len(sources)))


def _chunks(source: TextFile) -> Iterator[bytes]:
    try:
        yield from source.chunks()
    except UserError as error:
        if "errors" not in error.parameters:
            raise
        raise UserError(f"{source.path} is not UTF-8 text: convert it first") from None


def joined_paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Lines up to an empty one as one, a space for each break: where a line ends means nothing in such text."""
    paragraph: list[str] = []
    for line in lines:
        if line.strip():
            paragraph.append(line)
        elif paragraph:
            yield " ".join(paragraph)
            paragraph = []
    if paragraph:
        yield " ".join(paragraph)


def _decoded(file: BinaryIO, name: str) -> Iterator[str]:
    with file:
        for number, line in enumerate(file, 1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                if number == 1 and line.startswith(_COMPRESSED):
                    raise UserError(f"{name} is compressed: its name must say how, as in .gz or .xz") from None
                raise UserError(f"{name}, line {number}: this is not UTF-8 text; convert it first") from None
