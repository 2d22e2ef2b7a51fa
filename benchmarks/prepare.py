"""How fast is raw text turned into ids, and in how much memory?

    python benchmarks/prepare.py speed TEXT...         one core: our tagger beside spaCy's, from raw lines to ids
    python benchmarks/prepare.py workers TEXT...       the whole command with one worker and with two
    python benchmarks/prepare.py memory TEXT...        peak memory of the command on growing parts of the text
    python benchmarks/prepare.py whole PATH...         the command as a user gives it, on all there is

TEXT is plain text; `speed` reads the first 20 MB of it (spaCy the first 2 MB), `workers` 120 MB.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

from polylm.corpus.prepare import PrepareSettings, prepare  # noqa: E402
from polylm.symbols import UNKNOWN  # noqa: E402
from polylm.text.pipeline import TextPipeline  # noqa: E402
from polylm.text.settings import TextSettings  # noqa: E402
from polylm.text.vocabulary import VOCABULARY, Vocabulary  # noqa: E402


def first_bytes(paths: list[Path], n_bytes: int) -> bytes:
    """The same share of every file, whole lines."""
    share = n_bytes // len(paths)
    parts = []
    for path in paths:
        with path.open("rb") as file:
            parts.append(file.read(share).rpartition(b"\n")[0])
    return b"\n".join(parts) + b"\n"


def speed(paths: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        text.write_bytes(first_bytes(paths, 20_000_000))
        prepare([text], Path(folder) / "out", PrepareSettings())
        vocabulary = Vocabulary.load(Path(folder) / "out" / VOCABULARY)
    rates = {}
    for tagger, n_bytes in (("english", 20_000_000), ("spacy", 2_000_000)):
        analyzer = TextPipeline(settings=TextSettings(tagger=tagger)).analyzer()
        analyzer(["A line to load everything."])
        lines = first_bytes(paths, n_bytes).decode().split("\n")
        started = time.process_time()
        numbers = analyzer(lines)
        to_id = np.array([vocabulary.get(symbol, vocabulary[UNKNOWN]) for symbol in analyzer.symbols], dtype=np.uint16)
        ids = to_id[numbers]
        seconds = time.process_time() - started
        rates[tagger] = len(ids) / seconds
        print(f"{tagger:8} {len(ids):,} ids in {seconds:.1f} s of one core: {rates[tagger]:,.0f} ids/s", flush=True)
    print(f"ratio {rates['english'] / rates['spacy']:.1f}")


def command(paths: list[Path], out: Path, *options: str) -> tuple[float, float]:
    """Wall seconds of the command, and the peak memory of all its processes together in MB."""
    arguments = [sys.executable, "-m", "polylm", "prepare", *map(str, paths), "--out", str(out), *options]
    started = time.monotonic()
    process = subprocess.Popen(arguments, start_new_session=True)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, memory_of_group(process.pid))
        time.sleep(0.1)
    if process.returncode:
        sys.exit(process.returncode)
    return time.monotonic() - started, peak


def memory_of_group(group: int) -> float:
    """Proportional set size of a process group, in MB: shared pages count once."""
    total = 0
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and os.getpgid(int(folder.name)) == group:
                for line in (folder / "smaps_rollup").read_text().splitlines():
                    if line.startswith("Pss:"):
                        total += int(line.split()[1])
        except OSError:
            continue
    return total / 1024


def workers(paths: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        text.write_bytes(first_bytes(paths, 120_000_000))
        seconds = {}
        for n in (1, 2):
            seconds[n], peak = command([text], Path(folder) / f"out{n}", "--workers", str(n))
            print(f"{n} workers: {seconds[n]:.1f} s, {peak:,.0f} MB", flush=True)
        print(f"two workers are {seconds[1] / seconds[2]:.2f} times one")


def memory(paths: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for megabytes in (100, 300, 900):
            text = Path(folder) / f"{megabytes}.txt"
            text.write_bytes(first_bytes(paths, megabytes * 1_000_000))
            seconds, peak = command([text], Path(folder) / f"out{megabytes}")
            print(f"{text.stat().st_size / 1e6:.0f} MB of text: {seconds:.0f} s, peak {peak:,.0f} MB", flush=True)


def whole(paths: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        seconds, peak = command(paths, Path(folder) / "out")
        print(f"{seconds:.0f} s, peak {peak:,.0f} MB")


if __name__ == "__main__":
    {"speed": speed, "workers": workers, "memory": memory, "whole": whole}[sys.argv[1]](list(map(Path, sys.argv[2:])))
