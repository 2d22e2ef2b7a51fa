"""The on-disk format of a prepared corpus, written once and read by memory map.

    manifest.json       what this is: settings, sources, counts, sha256 of every other file; written last
    text.json           how text was read
    vocabulary.tsv      word, count, number of senses; the id is the line's number from 0
    shard-00000.bin …   ids, little-endian uint16 (uint32 above 65,536 words); each line ends with the id of [LINE]

Needs numpy alone, so that training can read it anywhere.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polylm.atomic import write_bytes
from polylm.errors import UserError
from polylm.text.settings import TEXT, TextSettings
from polylm.text.vocabulary import VOCABULARY, Vocabulary

FORMAT = 1
MANIFEST = "manifest.json"
SHARD_IDS = 1 << 26


class ShardWriter:
    """Writes a stream of ids as shards of equal length."""

    def __init__(self, folder: Path, n_symbols: int, shard_ids: int = SHARD_IDS) -> None:
        self.dtype = np.dtype("<u2") if n_symbols <= 1 << 16 else np.dtype("<u4")
        self.shards: list[dict[str, Any]] = []
        self._folder = folder
        self._shard_ids = shard_ids
        self._pending: list[NDArray[Any]] = []
        self._n_pending = 0

    def add(self, ids: NDArray[Any]) -> None:
        """Ids that follow; whole shards are written."""
        self._pending.append(ids.astype(self.dtype))
        self._n_pending += len(ids)
        while self._n_pending >= self._shard_ids:
            self._write(self._shard_ids)

    def close(self) -> list[dict[str, Any]]:
        """Writes what is left; the shards as the manifest lists them."""
        if self._n_pending:
            self._write(self._n_pending)
        return self.shards

    def _write(self, n_ids: int) -> None:
        ids = np.concatenate(self._pending)
        self._pending, self._n_pending = [ids[n_ids:]], len(ids) - n_ids
        data = ids[:n_ids].tobytes()
        name = f"shard-{len(self.shards):05d}.bin"
        write_bytes(self._folder / name, data)
        self.shards.append({"file": name, "ids": n_ids, "sha256": hashlib.sha256(data).hexdigest()})


class PreparedCorpus:
    """A folder made by `polylm prepare`. Opening it checks that every file is there and whole."""

    def __init__(self, folder: str | Path, *, verify: bool = True) -> None:
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder)
        self.dtype = np.dtype(self.manifest["dtype"])
        for entry in [*self.manifest["shards"], *self.manifest["files"]]:
            self._check(entry, verify)
        self.shards = [
            np.memmap(self.folder / entry["file"], dtype=self.dtype, mode="r") for entry in self.manifest["shards"]
        ]

    def __len__(self) -> int:
        """Ids in all."""
        return sum(len(shard) for shard in self.shards)

    def lines(self, line_id: int) -> Iterator[NDArray[Any]]:
        """The ids of each line, without the mark that ends it."""
        rest = np.zeros(0, dtype=self.dtype)
        for shard in self.shards:
            start = 0
            for end in np.flatnonzero(shard == line_id).tolist():
                yield np.concatenate([rest, shard[start:end]])
                rest, start = rest[:0], end + 1
            rest = np.concatenate([rest, shard[start:]])

    def vocabulary(self) -> Vocabulary:
        """The words, their counts and numbers of senses."""
        return Vocabulary.load(self.folder / VOCABULARY)

    def text_settings(self) -> TextSettings:
        """How the text was read."""
        return TextSettings.load(self.folder / TEXT)

    def _check(self, entry: dict[str, Any], verify: bool) -> None:
        path = self.folder / entry["file"]
        again = "prepare the corpus again"
        if not path.is_file():
            raise UserError(f"{path} is missing: {again}")
        if "ids" in entry and path.stat().st_size != entry["ids"] * self.dtype.itemsize:
            expected = entry["ids"] * self.dtype.itemsize
            raise UserError(f"{path} is damaged ({path.stat().st_size} bytes instead of {expected}): {again}")
        if verify:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != entry["sha256"]:
                    raise UserError(f"{path} is damaged (its sha256 is not the manifest's): {again}")


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a finished corpus."""
    path = folder / MANIFEST
    if folder.is_file():
        raise UserError(f"{folder} is a file: make a corpus of it first, with polylm prepare")
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}")
    try:
        manifest = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{folder} is not a prepared corpus, or not a finished one: it has no {MANIFEST}") from None
    except ValueError:
        raise UserError(f"{path} is damaged: prepare the corpus again") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
        raise UserError(f"{path} is not the manifest of a prepared corpus")
    if manifest["format"] > FORMAT:
        raise UserError(f"{folder} was prepared by a newer polylm (format {manifest['format']}): upgrade to read it")
    missing = {"polylm", "settings", "sources", "words", "vocabulary", "dtype", "shards", "files"} - set(manifest)
    if missing:
        raise UserError(f"{path} is not the manifest of a prepared corpus: it has no {', '.join(sorted(missing))}")
    return manifest


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Written last: what has a manifest is finished."""
    write_bytes(folder / MANIFEST, (json.dumps(manifest, indent=2, ensure_ascii=True) + "\n").encode())
