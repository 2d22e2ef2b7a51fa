"""Files of text, plain or compressed, as chunks of whole lines in bounded memory."""

import bz2
import gzip
import hashlib
import lzma
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, Protocol

from polylm.errors import UserError

CHUNK_BYTES = 4 << 20  # a chunk ends with the first line that reaches this
LINE_BYTES = 1 << 20  # a longer line is read as several, cut at a space where there is one


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _open_zst(file: IO[bytes]) -> _Readable:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.open(file, "rb")


def _open_bz3(file: IO[bytes]) -> _Readable:
    """The library ends quietly where a file is cut off, so its blocks are walked first: (length, length, bytes)."""
    import bz3

    size, position = os.fstat(file.fileno()).st_size, 9  # after the signature and the block size
    while position < size:
        file.seek(position)
        position += 8 + int.from_bytes(file.read(8)[:4], "little")
    if position != size:
        raise EOFError("it ends in the middle of a block")
    file.seek(0)
    opened: _Readable = bz3.BZ3File(file)  # type: ignore[attr-defined]
    return opened


_OPENERS: dict[str, Callable[[IO[bytes]], _Readable]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _open_zst,
    ".bz3": _open_bz3,
}


@dataclass(frozen=True)
class Source:
    """One input file."""

    path: Path

    @property
    def n_bytes(self) -> int:
        """Size on disk."""
        return self.path.stat().st_size

    def sha256(self) -> str:
        """Of the file as it lies on disk."""
        with _open(self.path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def chunks(self, errors: str = "strict") -> Iterator[bytes]:
        """Its text as UTF-8, whole lines at a time; `errors="replace"` mends bytes that are not text."""
        offset = 0
        for chunk in _whole_lines(self._blocks()):
            yield _checked(chunk, self.path, offset, errors)
            offset += len(chunk)

    def _blocks(self) -> Iterator[bytes]:
        opener = _OPENERS.get(self.path.suffix.lower())
        with _open(self.path) as raw:
            if opener is None:
                yield from iter(lambda: raw.read(1 << 20), b"")
                return
            try:
                file = opener(raw)
                yield from iter(lambda: file.read(1 << 20), b"")
            except OSError as error:
                if error.errno is not None:  # the disk, not the file's content
                    raise
                raise UserError(f"{self.path} is damaged or not a {self.path.suffix} file: {error}") from None
            except GeneratorExit:
                raise
            except Exception as error:  # each library has its own errors for damage
                raise UserError(f"{self.path} is damaged or not a {self.path.suffix} file: {error}") from None


def find_sources(paths: Iterable[str | Path]) -> list[Source]:
    """Files in the order given; a folder stands for the files below it, sorted by name, hidden ones left out."""
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            if not os.access(path, os.R_OK | os.X_OK):
                raise UserError(f"the folder {path} may not be read: check its permissions")
            below = sorted(
                file
                for file in path.rglob("*")
                if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
            )
            if not below:
                raise UserError(f"the folder {path} has no files in it")
            found += below
        elif path.exists():
            found.append(path)
        else:
            raise UserError(f"there is no file or folder {path}")
    if not found:
        raise UserError("no text was given: name at least one file or folder")
    for path in found:
        _open(path).close()
    return [Source(path) for path in found]


def _open(path: Path) -> BufferedReader:
    try:
        return path.open("rb")
    except PermissionError:
        raise UserError(f"{path} may not be read: check its permissions") from None
    except FileNotFoundError:
        raise UserError(f"there is no file {path}") from None


def _whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Blocks regrouped to chunks that end with a line, or inside one that is longer than LINE_BYTES."""
    pending: list[bytes] = []
    n_pending = 0
    for block in blocks:
        pending.append(block)
        n_pending += len(block)
        while n_pending >= CHUNK_BYTES + LINE_BYTES:
            text = b"".join(pending)
            end = text.find(b"\n", CHUNK_BYTES - 1, CHUNK_BYTES + LINE_BYTES) + 1
            if end == 0:
                end = _cut_before(text, CHUNK_BYTES)
            yield text[:end]
            pending, n_pending = [text[end:]], len(text) - end
    text = b"".join(pending)
    if text:
        yield text


def _cut_before(text: bytes, end: int) -> int:
    """A place at or before `end` to cut a long line: after a space, else between two characters."""
    space = text.rfind(b" ", max(end - LINE_BYTES, 0), end)
    if space >= 0:
        return space + 1
    while end > 1 and text[end] & 0xC0 == 0x80:  # not inside a UTF-8 character
        end -= 1
    return end


def _checked(chunk: bytes, path: Path, offset: int, errors: str) -> bytes:
    """The chunk if it is text, else the reason why it is not, or the chunk mended."""
    try:
        chunk.decode("utf-8")
    except UnicodeDecodeError as error:
        if errors != "replace":
            raise UserError(
                f"{path} is not UTF-8 at byte {offset + error.start} of its text: "
                "convert it, or pass --errors replace to read such bytes as U+FFFD"
            ) from None
        chunk = chunk.decode("utf-8", "replace").encode("utf-8")
    if b"\0" in chunk:
        if errors != "replace":
            raise UserError(
                f"{path} has a NUL byte at byte {offset + chunk.index(0)} of its text, so it may not be text at all: "
                "convert it, or pass --errors replace to read NUL bytes as spaces"
            )
        chunk = chunk.replace(b"\0", b" ")
    return chunk


def lines_of(chunk: bytes) -> Iterator[str]:
    """The lines of a chunk; one that is too long is given in parts, so that no step meets an endless line."""
    for line in chunk.split(b"\n"):
        start = 0
        while len(line) - start > LINE_BYTES:
            end = start + _cut_before(line[start : start + LINE_BYTES + 1], LINE_BYTES)
            yield line[start:end].decode("utf-8")
            start = end
        yield line[start:].decode("utf-8")
