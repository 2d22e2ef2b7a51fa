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
from typing import IO, Any, Protocol

from polylm.errors import UserError

CHUNK_BYTES = 4 << 20  # a chunk ends with the first line that reaches this
LINE_BYTES = 1 << 20  # a longer line is read as several, cut at a space where there is one
BLOCK_BYTES = 1 << 20  # read or decompressed at a time


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def _streams(file: IO[bytes], make: Callable[[], _Decompressor]) -> Iterator[bytes]:
    """One stream after the other; the library's own file objects pass over a damaged second one."""
    decompressor, data, begun, later = make(), b"", False, False
    while True:
        if decompressor.eof:
            data, decompressor, begun, later = decompressor.unused_data, make(), False, True
        if decompressor.needs_input and not data:
            data = file.read(1 << 16)
            if not data:
                if begun:
                    raise EOFError("it is cut off")
                return
        if later and not begun:
            data = data.lstrip(b"\0")  # xz pads with zeros
            if not data:
                continue
        block = decompressor.decompress(data, BLOCK_BYTES)
        data, begun = b"", True
        if block:
            yield block


def _blocks_of(file: Any) -> Iterator[bytes]:
    yield from iter(lambda: file.read(BLOCK_BYTES), b"")


def _read_zst(file: IO[bytes]) -> Iterator[bytes]:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return _blocks_of(zstd.open(file, "rb"))


def _read_bz3(file: IO[bytes]) -> Iterator[bytes]:
    """The library ends quietly where a file is cut off, so its blocks are walked first: (length, length, bytes)."""
    import bz3

    size, position = os.fstat(file.fileno()).st_size, 9  # after the signature and the block size
    while position < size:
        file.seek(position)
        position += 8 + int.from_bytes(file.read(8)[:4], "little")
    if position != size:
        raise EOFError("it ends in the middle of a block")
    file.seek(0)
    return _blocks_of(bz3.BZ3File(file))  # type: ignore[attr-defined]


_READERS: dict[str, Callable[[IO[bytes]], Iterator[bytes]]] = {
    ".gz": lambda file: _blocks_of(gzip.GzipFile(fileobj=file)),
    ".bz2": lambda file: _streams(file, bz2.BZ2Decompressor),
    ".xz": lambda file: _streams(file, lzma.LZMADecompressor),
    ".zst": _read_zst,
    ".bz3": _read_bz3,
}


@dataclass(frozen=True)
class TextFile:
    """One input file."""

    path: Path

    @property
    def n_bytes(self) -> int:
        """Size on disk."""
        return self.path.stat().st_size

    def state(self) -> tuple[int, int]:
        """Changes when the file is written to."""
        status = self.path.stat()
        return status.st_size, status.st_mtime_ns

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

    def read(self) -> bytes:
        """All of it, decompressed."""
        return b"".join(self._blocks())

    @property
    def kind(self) -> str:
        """How the file is read: its suffix where that names a compression, else nothing."""
        suffix = self.path.suffix.lower()
        return suffix if suffix in _READERS else ""

    def _blocks(self) -> Iterator[bytes]:
        with _open(self.path) as raw:
            if not self.kind:
                yield from _blocks_of(raw)
                return
            try:
                if not self.n_bytes:
                    raise EOFError("it is empty")
                yield from _READERS[self.kind](raw)
            except GeneratorExit:
                raise
            except Exception as error:  # each library has its own errors for damage
                if isinstance(error, OSError) and error.errno is not None:  # the disk, not the file's content
                    raise
                raise UserError(f"{self.path} is damaged or not a {self.kind} file: {error}") from None


def find_sources(paths: Iterable[str | Path], leave_out: Path | None = None) -> list[TextFile]:
    """Files in the order given; a folder stands for the files below it, sorted by name, hidden ones left out.

    Nothing below `leave_out`, the folder that will be written to, is text to read.
    """
    output = None if leave_out is None else leave_out.resolve()
    files: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            below = [file for file in _files_below(path) if output is None or output not in file.resolve().parents]
            if not below:
                raise UserError(f"the folder {path} has no text in it")
            files += below
        elif not path.exists():
            raise UserError(f"there is no file or folder {path}")
        elif output is not None and output in path.resolve().parents:
            raise UserError(f"{path} lies in the folder to write to: choose another folder ({{out}})", out=None)
        else:
            files.append(path)
    if not files:
        raise UserError("no text was given: name at least one file or folder")
    for path in files:
        if not path.is_file():
            raise UserError(f"{path} is not a regular file: write what it holds to a file first")
        _open(path).close()
    return [TextFile(path) for path in files]


def _files_below(folder: Path) -> list[Path]:
    def refuse(error: OSError) -> None:
        raise UserError(f"the folder {error.filename} may not be read: check its permissions") from None

    files: list[Path] = []
    seen: set[str] = set()  # links are followed, each folder once
    for parent, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        real = os.path.realpath(parent)
        folders[:] = [] if real in seen else [name for name in folders if not name.startswith(".")]
        if real not in seen:
            files += [Path(parent) / name for name in names if not name.startswith(".")]
        seen.add(real)
    return sorted(files)


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
    space = max(text.rfind(mark, max(end - LINE_BYTES, 0), end) for mark in (b" ", b"\t"))
    if space >= 0:
        return space + 1
    for back in range(min(4, end)):  # not inside a character, which has four bytes at most
        if text[end - back] & 0xC0 != 0x80:
            return end - back
    return end


def _checked(chunk: bytes, path: Path, offset: int, errors: str) -> bytes:
    """The chunk if it is text, else the reason why it is not, or the chunk mended."""
    try:
        chunk.decode("utf-8")
    except UnicodeDecodeError as error:
        if errors != "replace":
            raise UserError(
                f"{path} is not UTF-8 at byte {offset + error.start} of its text: "
                "convert it, or read such bytes as U+FFFD with {errors}",
                errors="replace",
            ) from None
        chunk = chunk.decode("utf-8", "replace").encode("utf-8")
    if b"\0" in chunk:
        if errors != "replace":
            raise UserError(
                f"{path} has a NUL byte at byte {offset + chunk.index(0)} of its text, so it may not be text at all: "
                "convert it, or read NUL bytes as spaces with {errors}",
                errors="replace",
            )
        chunk = chunk.replace(b"\0", b" ")
    return chunk


def chunk_lines(chunk: bytes) -> Iterator[str]:
    """The lines of a chunk; one that is too long is given in parts, so that no step meets an endless line."""
    for line in chunk.split(b"\n"):
        start = 0
        while len(line) - start > LINE_BYTES:
            end = start + _cut_before(line[start : start + LINE_BYTES + 1], LINE_BYTES)
            yield line[start:end].decode("utf-8")
            start = end
        yield line[start:].decode("utf-8")
