"""How many words a second does a corpus take, from text to senses?

    python benchmarks/bulk_tagging.py TEXT --device cuda --workers 1 4 8 14     # TEXT: a paragraph a line, 100 MB

Each row is one pass, after a short one to warm up: what `Model.tag_columns` gives, what text alone takes (words and
windows, no network), and what `Model.tag_many` gives, with a Python object for every word. Every pass has lines of the
text that no other has, since a GPU is slower with batches of shapes that it has not met. The loading of the model and
the start of the workers are left out: the clock starts with the first answer of a pass.
"""

import argparse
import os
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import polylm
from polylm.corpus.engine import local


def rate(answers: Iterator[int]) -> float:
    """Words a second, from the first answer to the last; `answers` are numbers of words."""
    next(answers)
    began = time.perf_counter()
    return sum(answers) / (time.perf_counter() - began)


def groups(lines: Iterable[str], size: int) -> Iterator[list[str]]:
    """Some lines at a time."""
    rest = iter(lines)
    while group := list(islice(rest, size)):
        yield group


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--workers", type=int, nargs="+", default=[1])
    parser.add_argument("--read-outs", nargs="+", default=["reading", "disambiguation"])
    parser.add_argument("--objects", action="store_true", help="tag_many too")
    chosen = parser.parse_args()
    lines = [line for line in chosen.text.read_text(encoding="utf-8").split("\n") if line.strip()]
    model = polylm.load(device=chosen.device)
    print(f"{model.device}, {os.cpu_count()} cores, {len(lines):,} lines, {sum(map(len, lines)) / 1e6:.0f} MB")
    n_passes = 1 + len(chosen.workers) * (1 + len(chosen.read_outs) * (2 if chosen.objects else 1))
    parts = (lines[number::n_passes] for number in range(n_passes))
    first = next(parts)
    for read_out in chosen.read_outs:
        for _ in model.tag_columns(first[: len(first) // 2], read_out=read_out):
            pass
    for workers in chosen.workers:
        encoder = model.reader.encoder()
        alone = rate(len(encoded.words) for encoded in local(workers)(encoder, groups(next(parts), 1000)))
        print(f"workers {workers}\ttext alone\t{alone:,.0f} words/s", flush=True)
        for read_out in chosen.read_outs:
            columns = rate(map(len, model.tag_columns(next(parts), read_out=read_out, workers=workers)))
            print(f"workers {workers}\t{read_out}\t{columns:,.0f} words/s", flush=True)
            if chosen.objects:
                tokens = rate(map(len, model.tag_many(next(parts), read_out=read_out, workers=workers)))
                print(f"workers {workers}\t{read_out}, objects\t{tokens:,.0f} words/s", flush=True)


if __name__ == "__main__":
    main()
