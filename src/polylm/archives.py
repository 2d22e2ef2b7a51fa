"""Files out of a folder or an archive: zip, or tar as it is or packed with gzip, xz or bzip2. Whole, or not at all."""

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from polylm.errors import UserError

_ERRORS = (
    *(tarfile.TarError, zipfile.BadZipFile, EOFError, lzma.LZMAError, zlib.error),
    *(ValueError, RuntimeError, OSError),
)


class ArchiveError(Exception):
    """This is no archive, or not a whole one."""


def members(path: Path, pattern: str) -> Iterator[tuple[str, bytes]]:
    """The files of an archive whose path ends so, by the name in the pattern."""
    wanted = re.compile(rf"(?:.*/)?{pattern}")
    try:
        data = path.read_bytes()
        if data.startswith(b"PK\x03\x04"):
            with zipfile.ZipFile(io.BytesIO(data)) as zipped:
                for info in zipped.infolist():
                    match = wanted.fullmatch(info.filename)
                    if match and not info.is_dir():
                        yield match[1], zipped.read(info)
            return
        data = _decompressed(data)
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                match = wanted.fullmatch(member.name)
                content = archive.extractfile(member) if match and member.isfile() else None
                if match and content:
                    yield match[1], content.read()
            end = archive.offset
        if data[end:].strip(b"\0"):  # tarfile takes a damaged header for the end
            raise tarfile.ReadError("it is damaged")
    except FileNotFoundError:
        raise UserError(f"there is no {path}") from None
    except _ERRORS as error:
        raise ArchiveError(str(error).partition("\n")[0]) from None


def texts_of(path: Path, pattern: str) -> Iterator[tuple[str, str]]:
    """The texts of such files, below a folder or in an archive."""
    if path.is_dir():
        wanted = re.compile(rf"(?:.*/)?{pattern}")
        for file in path.rglob("*"):
            match = wanted.fullmatch(file.relative_to(path.parent).as_posix())
            if match and file.is_file():
                yield match[1], file.read_text(encoding="utf-8", errors="replace")
        return
    try:
        for name, content in members(path, pattern):
            yield name, content.decode("utf-8", "replace")
    except ArchiveError as error:
        raise UserError(f"{path} cannot be read as an archive: {error}") from None


def _decompressed(data: bytes) -> bytes:
    """To the very end, so that sums are checked."""
    for signature, module in ((b"\x1f\x8b", gzip), (b"\xfd7zXZ\0", lzma), (b"BZh", bz2)):
        if data.startswith(signature):
            plain: bytes = module.decompress(data)
            return plain
    return data
