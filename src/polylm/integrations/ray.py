"""polylm on a Ray cluster (`polylm[ray]`): text is prepared, and tagged, on the cluster's nodes."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from polylm.corpus.engine import Engine
from polylm.corpus.sources import TextFile, chunk_lines
from polylm.errors import UserError

if TYPE_CHECKING:
    import pyarrow
    import ray.data

    from polylm.device import Device
    from polylm.explore.columns import TaggedColumns
    from polylm.reading.layers import Layers

T = TypeVar("T")
R = TypeVar("R")


def ray_engine(workers: int | None = None) -> Engine:
    """An engine for `prepare`: the cluster of RAY_ADDRESS, or one started on this machine.

    `workers` is how many chunks are worked on at a time, by default as many as the cluster has cores; as many again
    wait. The nodes need polylm installed, not the corpus: this process reads it and writes the results.
    """
    try:
        import ray
    except ImportError:
        raise UserError("the ray engine needs Ray: pip install 'polylm[ray]'") from None
    if workers is not None and workers < 1:
        raise UserError(f"there must be at least one worker, not {workers} ({{workers}})", workers=None)

    def run(function: Callable[[T], R], items: Iterable[T]) -> Generator[R]:
        started_here = not ray.is_initialized()
        if started_here:
            environment = {"env_vars": {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}}
            try:
                ray.init(log_to_driver=False, include_dashboard=False, runtime_env=environment)
            except (ValueError, RuntimeError, ConnectionError) as error:
                reason = str(error).strip().splitlines()[0]
                raise UserError(f"no Ray cluster could be reached or started ({reason}): check RAY_ADDRESS") from None
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        n_ahead = 2 * (workers or int(resources.get("CPU", 1)))

        @ray.remote(num_cpus=1)
        def task(item: T) -> R:
            return function(item)

        under_way: deque[ray.ObjectRef[R]] = deque()
        try:
            for item in items:
                under_way.append(task.remote(item))
                if len(under_way) >= n_ahead:
                    yield ray.get(under_way.popleft())
            while under_way:
                yield ray.get(under_way.popleft())
        finally:
            for reference in under_way:
                ray.cancel(reference, force=False)
            if started_here:
                ray.shutdown()

    return run


# Tagging


class SenseTagger:
    """What a worker of the cluster keeps: a model, loaded once. It tags a column of texts, batch by batch."""

    def __init__(
        self,
        model: str | None = None,
        column: str = "text",
        read_out: "Layers" = "auto",
        granularity: float | None = None,
        device: "Device" = "auto",
    ) -> None:
        from polylm.explore.model import load

        self.model = load(model, device=device, granularity=granularity)
        self.column, self.read_out = column, read_out

    def __call__(self, batch: "pyarrow.Table") -> "pyarrow.Table":
        """The batch with a column `senses`: for each text a list of words, each with its offsets, lemma and sense."""
        import pyarrow

        if self.column not in batch.column_names:
            raise UserError(f"there is no column {self.column!r}: there are {', '.join(batch.column_names)}")
        texts = [text or "" for text in batch.column(self.column).to_pylist()]
        tagged = [_lists(block) for block in self.model.tag_columns(texts, read_out=self.read_out)]
        return batch.append_column("senses", pyarrow.chunked_array(tagged, type=_type()))


_FIELDS = {
    "text": "string",
    "start": "int32",
    "end": "int32",
    "lemma": "string",
    "marker": "string",
    "sense": "string",
    "probability": "float32",
}


def _lists(block: "TaggedColumns") -> "pyarrow.ListArray":
    """For each text its words."""
    import pyarrow

    table = block.to_arrow()
    sources = {**{name: name for name in _FIELDS}, "text": "token"}
    columns = [table.column(sources[name]).combine_chunks().cast(kind) for name, kind in _FIELDS.items()]
    words = pyarrow.StructArray.from_arrays(columns, fields=list(_type().value_type))
    ends = np.cumsum(block.words.per_text)
    return pyarrow.ListArray.from_arrays(pyarrow.array(np.append(0, ends).astype(np.int32)), words)


def _type() -> "pyarrow.DataType":
    import pyarrow

    return pyarrow.list_(pyarrow.struct([(name, getattr(pyarrow, kind)()) for name, kind in _FIELDS.items()]))


def tag_dataset(
    dataset: "ray.data.Dataset",
    *,
    column: str = "text",
    model: str | Path | None = None,
    read_out: "Layers" = "auto",
    granularity: float | None = None,
    gpu: bool = False,
    workers: int | None = None,
    batch_size: int = 256,
) -> "ray.data.Dataset":
    """A data set of Ray with a column `senses`; lazy, as Ray's are. Each worker has a core or a GPU, and the model."""
    settings = _settings(model, column, read_out, granularity, gpu)
    return dataset.map_batches(
        SenseTagger,
        fn_constructor_kwargs=settings,
        batch_size=batch_size,
        batch_format="pyarrow",
        **_resources(gpu, workers),
    )


def tag_folder(
    texts: str | Path,
    out: str | Path,
    *,
    column: str = "text",
    model: str | Path | None = None,
    read_out: "Layers" = "auto",
    granularity: float | None = None,
    gpu: bool = False,
    workers: int | None = None,
) -> list[Path]:
    """Tag every Parquet and text file of a folder on the cluster; a Parquet file each in `out`, which all nodes see.

    A file appears when it is whole, and one that is there is not made again: killed and started anew, it goes on. A
    text file has a text a line, and may be compressed. What was written is returned.
    """
    texts, out = Path(texts), Path(out)
    if not texts.is_dir():
        raise UserError(f"there is no folder {texts}")
    files = sorted(path for path in texts.iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        raise UserError(f"the folder {texts} has no text in it")
    if out.resolve() == texts.resolve():
        raise UserError(f"{out} holds the texts: name another folder to write to")
    out.mkdir(parents=True, exist_ok=True)
    pending = [path for path in files if not _tagged(out, path).exists()]
    if pending:
        try:
            import ray.data
        except ImportError:
            raise UserError("tagging on a cluster needs Ray: pip install 'polylm[ray]'") from None
        work = ray.data.from_items(
            [{"file": str(path.resolve()), "out": str(_tagged(out, path).resolve())} for path in pending],
            override_num_blocks=len(pending),
        )
        work.map(
            FileTagger,  # type: ignore[arg-type]
            fn_constructor_kwargs=_settings(model, column, read_out, granularity, gpu),
            **_resources(gpu, workers or min(len(pending), _cores())),
        ).materialize()
    return [_tagged(out, path) for path in files]


class FileTagger(SenseTagger):
    """A worker that tags whole files."""

    def __call__(self, row: Any) -> Any:
        """From `file` to `out`, some rows at a time."""
        import pyarrow.parquet

        from polylm.atomic import replacing

        writer = None
        with replacing(row["out"]) as file:
            for table in _tables(Path(row["file"]), self.column):
                tagged = super().__call__(table)
                writer = writer or pyarrow.parquet.ParquetWriter(file, tagged.schema)
                writer.write_table(tagged)
            if writer is None:
                empty = super().__call__(pyarrow.table({self.column: pyarrow.array([], pyarrow.string())}))
                writer = pyarrow.parquet.ParquetWriter(file, empty.schema)
            writer.close()
        return row


def _tables(path: Path, column: str) -> "Iterator[pyarrow.Table]":
    """The rows of a Parquet file, or the lines of a text file under the name of the column."""
    import pyarrow.parquet

    if path.suffix == ".parquet":
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(4096):
            yield pyarrow.Table.from_batches([batch])
        return
    for chunk in TextFile(path).chunks():
        lines = [line for line in chunk_lines(chunk) if line.strip()]
        yield pyarrow.table({column: pyarrow.array(lines, pyarrow.string())})


def _tagged(out: Path, path: Path) -> Path:
    return out / (path.name if path.suffix == ".parquet" else f"{path.name}.parquet")


def _settings(
    model: str | Path | None, column: str, read_out: "Layers", granularity: float | None, gpu: bool
) -> dict[str, Any]:
    return {
        "model": None if model is None else str(Path(model).resolve()),
        "column": column,
        "read_out": read_out,
        "granularity": granularity,
        "device": "cuda" if gpu else "cpu",
    }


def _resources(gpu: bool, workers: int | None) -> dict[str, Any]:
    if workers is not None and workers < 1:
        raise UserError(f"there must be at least one worker, not {workers}")
    return {"num_gpus": 1 if gpu else 0, "num_cpus": 1, "concurrency": (1, workers or _cores())}


def _cores() -> int:
    import ray

    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False)
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(int(resources.get("CPU", 1)), 1)
