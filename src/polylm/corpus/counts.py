"""How often each symbol occurs in a corpus of any size."""

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from polylm.atomic import write_bytes

MAX_COUNTED = 1_000_000  # distinct symbols held in memory; what does not fit goes to sorted files


class Counts:
    """Exact counts of any number of symbols in bounded memory: what does not fit goes to sorted files."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._counts: Counter[str] = Counter()
        self._spilled: list[Path] = []

    def __enter__(self) -> "Counts":
        return self

    def __exit__(self, *_: object) -> None:
        for path in self._spilled:
            path.unlink()

    def add(self, counts: Iterable[tuple[str, int]]) -> None:
        """Symbols, each once, and how often they occurred."""
        self._counts.update(dict(counts))
        if len(self._counts) > MAX_COUNTED:
            path = self._work / f"counts-{len(self._spilled)}.tsv"
            rows = (f"{symbol}\t{count}\n" for symbol, count in sorted(self._counts.items()))
            write_bytes(path, "".join(rows).encode("utf-8"))
            self._spilled.append(path)
            self._counts.clear()

    def items(self) -> Iterator[tuple[str, int]]:
        """Each symbol once, with its count in all."""
        if not self._spilled:
            yield from self._counts.items()
            return
        streams = [_read_counts(path) for path in self._spilled]
        merged = heapq.merge(*streams, sorted(self._counts.items()))
        for symbol, group in itertools.groupby(merged, key=lambda pair: pair[0]):
            yield symbol, sum(count for _, count in group)


def _read_counts(path: Path) -> Iterator[tuple[str, int]]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for row in file:
            symbol, _, count = row.rstrip("\n").partition("\t")
            yield symbol, int(count)
