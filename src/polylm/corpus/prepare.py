"""Raw text to training data: count, choose the vocabulary, encode.

The text is cut into chunks of about four megabytes, and each is analysed to numbers of a table of its own; that is the
slow step, done once, and the one that workers or a cluster share. When all chunks are counted the vocabulary is
known, and encoding is a look-up. A chunk's analysis is kept under a name made from its text and the settings, so a run
that was killed finds what it had done, whatever else has changed. What is written depends on the text and the settings
alone: not on the number of workers, the engine, or how often the run was interrupted.
"""

import errno
import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from polylm import __version__
from polylm.atomic import locked, write_bytes
from polylm.corpus.chunks import Chunk, analyze_chunk
from polylm.corpus.counts import Counts
from polylm.corpus.engine import Engine, local
from polylm.corpus.selection import Threshold, VocabularySettings, choose_vocabulary, recounted
from polylm.corpus.shards import FORMAT, MANIFEST, PreparedCorpus, ShardWriter, read_manifest, write_manifest
from polylm.corpus.sources import TextFile, find_sources
from polylm.errors import UserError
from polylm.progress import Progress
from polylm.symbols import LINE, SPECIAL, UNKNOWN
from polylm.text.lemmatizer import MARKERS
from polylm.text.pipeline import TextPipeline
from polylm.text.settings import TEXT, TextSettings
from polylm.text.vocabulary import VOCABULARY, Vocabulary

WORK = ".work"  # below the output folder while a run is unfinished
_MARK = "made-by-polylm"  # in it, so that no other folder is taken for it


@dataclass(frozen=True)
class PrepareSettings:
    """Everything, besides the text, that the output depends on."""

    text: TextSettings = field(default_factory=TextSettings)
    vocabulary: VocabularySettings = field(default_factory=VocabularySettings)
    errors: str = "strict"  # or "replace": what to do with bytes that are not text
    words: Vocabulary | None = None  # those of a model, so that it can be trained further; none: chosen by their counts

    @classmethod
    def of_folder(cls, folder: str | Path, errors: str = "strict") -> "PrepareSettings":
        """The words of a model or of a prepared corpus, and text read as it was there."""
        folder = Path(folder)
        if not folder.is_dir():
            raise UserError(f"there is no folder {folder}")
        for name in (VOCABULARY, TEXT):
            if not (folder / name).is_file():
                raise UserError(f"{folder} is neither a model nor a prepared corpus: it has no {name}")
        return cls(TextSettings.load(folder / TEXT), errors=errors, words=Vocabulary.load(folder / VOCABULARY))


def prepare(
    paths: Iterable[str | Path],
    out: str | Path,
    settings: PrepareSettings | None = None,
    *,
    engine: Engine | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> dict[str, Any]:
    """Make the folder `out` a prepared corpus; the manifest is returned. Run again after a stop, it goes on."""
    settings = settings or PrepareSettings()
    if not str(out):
        raise UserError("the folder to write to has no name")
    out = Path(out)
    sources = find_sources(paths, leave_out=out)
    settings.vocabulary.required(settings.text.lemmatize)
    with locked(out), _told_about_disk(out):
        # The weights of the tagger are part of the settings, so that the chunks of another tagger are never taken.
        settings = replace(settings, text=TextPipeline(settings=settings.text).settings)
        work = _work_folder(out)
        states = [source.state() for source in sources]
        described = []
        for number, source in enumerate(sources, 1):
            described.append({"name": source.path.name, "bytes": source.n_bytes, "sha256": source.sha256()})
            report(Progress("checking", number, len(sources)))
        manifest = _finished(out, settings, described)
        if manifest is None:
            work.mkdir(exist_ok=True)
            (work / _MARK).touch()
            read = [
                _Reading(source, str(entry["sha256"]), state)
                for source, entry, state in zip(sources, described, states, strict=True)
            ]
            chunks = _analyze(read, work, settings, engine or local(), report)
            vocabulary, n_words = _choose_vocabulary(chunks, work, settings, report)
            asked_for = [*settings.vocabulary.focus, *(settings.vocabulary.n_senses or {})]
            manifest = {
                "format": FORMAT,
                "polylm": __version__,
                "settings": describe(settings),
                "sources": described,
                "words": n_words,
                "missing": [word for word in dict.fromkeys(asked_for) if not vocabulary.count(word)],
                **_encode(chunks, out, vocabulary, settings.text, report),
            }
            write_manifest(out, manifest)
        shutil.rmtree(work, ignore_errors=True)
    return manifest


def _work_folder(out: Path) -> Path:
    """Where work in progress lies. A folder with other people's files in it is not written to."""
    work = out / WORK
    ours = (out / MANIFEST).exists() or (work / _MARK).exists()
    names = {path.name for path in out.iterdir()}
    if not ours and (names - {WORK} or (work.exists() and any(work.iterdir()))):
        shown = ", ".join(sorted(names)[:3])
        raise UserError(f"{out} holds other files ({shown}): choose a new or empty folder to write to")
    return work


def describe(settings: PrepareSettings) -> dict[str, Any]:
    """The settings as the manifest has them."""
    vocabulary = settings.vocabulary
    if settings.words is not None:
        return {"text": asdict(settings.text), "errors": settings.errors, "words": settings.words.sha256}
    return {
        "text": asdict(settings.text),
        "errors": settings.errors,
        "min_count": _described(vocabulary.min_count, VocabularySettings.min_count),
        "poly_count": _described(vocabulary.poly_count, VocabularySettings.poly_count),
        "senses": vocabulary.senses,
        "max_words": vocabulary.max_words,
        "focus": list(vocabulary.focus),
        "n_senses": dict(vocabulary.n_senses) if vocabulary.n_senses else None,
    }


def _described(threshold: Threshold, usual: Threshold) -> str:
    """As people write it; a floor that is not the usual one is said too."""
    has_floor = threshold.per_million and threshold.floor != usual.floor
    return f"{threshold}, at least {threshold.floor}" if has_floor else str(threshold)


def _finished(out: Path, settings: PrepareSettings, described: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The manifest of a folder that is finished and whole; none where there is work to do."""
    if not (out / MANIFEST).exists():
        return None
    manifest = read_manifest(out)
    elsewhere = "choose another folder, or delete this one"
    if manifest["polylm"] != __version__:
        raise UserError(f"{out} was prepared by polylm {manifest['polylm']}, and this is {__version__}: {elsewhere}")
    if manifest["sources"] != described:
        raise UserError(f"{out} holds a corpus prepared from other text: {elsewhere}")
    if manifest["settings"] != describe(settings):
        raise UserError(f"{out} was prepared with other settings: {elsewhere}")
    try:
        PreparedCorpus(out)
    except UserError:  # a file was lost or damaged since
        (out / WORK).mkdir(exist_ok=True)
        (out / WORK / _MARK).touch()
        (out / MANIFEST).unlink()
        return None
    return manifest


# Analysis, in parallel.


@dataclass(frozen=True)
class _Reading:
    """A source, what it was when its sha256 was taken, and that."""

    source: TextFile
    sha256: str
    state: tuple[int, int]


def _analyze(
    readings: list[_Reading], work: Path, settings: PrepareSettings, engine: Engine, report: Callable[[Progress], None]
) -> list[Chunk]:
    """One file of numbers for each chunk, in the order of the text; those that are there already are kept."""
    fingerprint = json.dumps([FORMAT, __version__, asdict(settings.text), settings.errors]).encode()
    size = _SizeEstimate([reading.source for reading in readings])
    paths: list[Path] = []
    under_way: dict[Path, int] = {}  # chunks handed out: their sizes, in order

    def name_of(*parts: bytes) -> str:
        return hashlib.blake2b(b"".join((fingerprint, *parts)), digest_size=16).hexdigest()

    def unread() -> Iterator[bytes]:
        for number, reading in enumerate(readings):
            source = reading.source
            record = work / f"source-{name_of(source.kind.encode(), reading.sha256.encode())}.json"
            known = _read_record(record)
            if known and all((work / name).exists() for name in known["chunks"]):
                paths.extend(work / name for name in known["chunks"])
                size.read(number, known["bytes"])
                size.done += known["bytes"]
                continue
            names, n_bytes = [], 0
            for chunk in source.chunks(settings.errors):
                path = work / f"{name_of(chunk)}.npz"
                paths.append(path)
                names.append(path.name)
                n_bytes += len(chunk)
                if path.exists() or path in under_way:
                    size.done += len(chunk)
                    continue
                under_way[path] = len(chunk)
                yield chunk
            size.read(number, n_bytes)
            if source.state() != reading.state:
                raise UserError(f"{source.path} changed while it was read: run the command again")
            write_bytes(record, json.dumps({"chunks": names, "bytes": n_bytes}).encode())

    n_words = 0
    for result in engine(partial(analyze_chunk, settings.text), unread()):
        path = next(iter(under_way))
        write_bytes(path, result)
        size.done += under_way.pop(path)
        n_words += Chunk(path).n_words()
        report(Progress("analysing", size.done, size.total, n_words))
    return [Chunk(path) for path in paths]


def _read_record(path: Path) -> dict[str, Any] | None:
    """The chunks of a source that was read to its end; none if it was not, or the record is damaged."""
    try:
        record = json.loads(path.read_bytes())
        return record if isinstance(record["chunks"], list) and isinstance(record["bytes"], int) else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


class _SizeEstimate:
    """How much text there is, guessed from the files' sizes until they have been read."""

    _RATIOS: ClassVar = {"": 1.0, ".gz": 2.8, ".bz2": 3.7, ".xz": 3.6, ".zst": 3.2, ".bz3": 4.5}

    def __init__(self, sources: list[TextFile]) -> None:
        self.done = 0
        self._sizes = [round(source.n_bytes * self._RATIOS[source.kind]) for source in sources]

    def read(self, number: int, n_bytes: int) -> None:
        self._sizes[number] = n_bytes

    @property
    def total(self) -> int:
        return max(sum(self._sizes), self.done)


# Counting and the choice of words.


def _choose_vocabulary(
    chunks: list[Chunk], work: Path, settings: PrepareSettings, report: Callable[[Progress], None]
) -> tuple[Vocabulary, int]:
    n_words = 0
    with Counts(work) as counts:
        for number, chunk in enumerate(chunks, 1):
            counts.add(chunk.counts())
            n_words += chunk.n_words()
            report(Progress("counting", number, len(chunks), n_words))
        if not n_words:
            raise UserError("there are no words in the text that was given")
        if settings.words is not None:
            return recounted(settings.words, counts.items(), n_words), n_words
        vocabulary = choose_vocabulary(counts.items(), n_words, settings.vocabulary, markers=settings.text.lemmatize)
        if len(vocabulary) == len(SPECIAL) + (len(MARKERS) if settings.text.lemmatize else 0):
            raise UserError(
                "no word of the text is common enough for the vocabulary: give more text, or a lower {min_count}; "
                "text without spaces between its words must be cut into words first",
                min_count=None,
            )
        return vocabulary, n_words


# Encoding.


def _encode(
    chunks: list[Chunk], out: Path, vocabulary: Vocabulary, text: TextSettings, report: Callable[[Progress], None]
) -> dict[str, Any]:
    """Write everything but the manifest, and say for the manifest what was written."""
    for stale in (*out.glob("shard-*.bin"), *out.glob(".*.tmp")):  # of a run that was killed
        stale.unlink()
    writer = ShardWriter(out, len(vocabulary))
    for number, chunk in enumerate(chunks, 1):
        writer.add(chunk.encode(vocabulary))
        report(Progress("encoding", number, len(chunks)))
    shards = writer.close()
    contents = {VOCABULARY: vocabulary.to_bytes(), TEXT: text.to_bytes()}
    for name, data in contents.items():
        write_bytes(out / name, data)
    return {
        "lines": vocabulary.count(LINE),
        "ids": sum(shard["ids"] for shard in shards),
        "unknown": vocabulary.count(UNKNOWN),
        "vocabulary": {
            "words": len(vocabulary) - len(SPECIAL),
            "polysemous": sum(n > 1 for n in vocabulary.n_senses),
            "senses": sum(vocabulary.n_senses),
            "sha256": vocabulary.sha256,
        },
        "dtype": writer.dtype.str,
        "shards": shards,
        "files": [{"file": name, "sha256": hashlib.sha256(data).hexdigest()} for name, data in contents.items()],
    }


# The folder.


@contextmanager
def _told_about_disk(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise UserError(
            f"there is no room left to write to {out} ({error.strerror}): free some space and run it again; "
            "it continues where it stopped"
        ) from None
