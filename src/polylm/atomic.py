"""Files that appear whole or not at all: written beside, flushed to the disk, renamed into place."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from polylm.errors import UserError


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write to. It takes the place of `path` when the block ends; if the block fails, nothing is left.

    A link is followed; a pipe or device is written to as it is.
    """
    path = Path(path)
    if path.is_symlink():
        path = path.resolve()
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def is_unfinished(path: Path) -> bool:
    """Whether this is what a kill left of a file that was being written."""
    return path.name.startswith(".") and path.suffix == ".tmp"


def write_bytes(path: str | Path, data: bytes) -> None:
    """The file appears with this content, or not at all."""
    with replacing(path) as file:
        file.write(data)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """A folder to write to, for this run alone. The lock is the system's: it goes when the process does."""
    import fcntl

    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except (FileExistsError, NotADirectoryError):
        raise UserError(f"{folder} is a file: name a folder to write to") from None
    except PermissionError:
        raise UserError(f"the folder {folder} may not be written to: check its permissions") from None
    try:
        if not os.access(folder, os.W_OK):
            raise UserError(f"the folder {folder} may not be written to: check its permissions")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"another run is writing to {folder}: wait for it, or choose another folder") from None
        except OSError:
            pass  # some network file systems have no locks for folders
        yield
    finally:
        os.close(handle)


def check_writable(path: str | Path) -> None:
    """Before long work: can a file be written here at its end?"""
    path = Path(path)
    if not path.name:
        raise UserError(f"{str(path)!r} is not a file name")
    if path.is_dir():
        raise UserError(f"{path} is a folder: name a file to write")
    if not path.parent.is_dir():
        raise UserError(f"{path} cannot be written: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UserError(f"{path} cannot be written: permission denied")
    if path.exists() and not path.is_file():
        return
    probe = path.with_name(f".{path.name}.{os.getpid()}.tmp")  # some file systems only say when asked
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from None
