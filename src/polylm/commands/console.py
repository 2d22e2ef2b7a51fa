"""What the command line shows while it works, on standard error: a bar, and what the library logs."""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from polylm.progress import Progress


def lines_with_bar(lines: Iterable[str], path: Path) -> Iterator[str]:
    """The lines of a file, and how far it was read."""
    done = words = 0
    total = path.stat().st_size
    with Bar() as bar:
        for line in lines:
            yield line
            done, words = done + len(line.encode("utf-8", "replace")) + 1, words + len(line.split())
            bar(Progress(path.name, min(done, total), total, words))


class Bar:
    """Call it with each step. Written to standard error, so that results can be piped."""

    def __init__(self, interval: float = 10.0) -> None:
        self._interval = interval
        self._stage = ""
        self._started = self._last = time.monotonic()
        self._full = False  # whether the end of this stage was said; of guessed sizes it comes early
        self._live = sys.stderr.isatty()

    def __enter__(self) -> "Bar":
        if self._live:
            from rich.console import Console
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Live

            self._progress = Live(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live:
            self._progress.stop()

    def counter(self, stage: str) -> Callable[[int, int], None]:
        """For work that counts only: call it with what is done and what there is in all."""
        return lambda done, total: self(Progress(stage, done, total))

    def __call__(self, step: Progress) -> None:
        """Show where work stands."""
        now = time.monotonic()
        new_stage = step.stage != self._stage
        if new_stage:
            self._stage, self._started = step.stage, now
            if self._live:
                self._task = self._progress.add_task(step.stage, total=step.total, rate="")
            self._first_words = step.words
        seconds = max(now - self._started, 1e-9)
        words = step.words - self._first_words
        rate = f"{words / seconds:,.0f} words/s" if words and seconds > 1 else ""
        if self._live:
            self._progress.update(self._task, completed=step.done, total=step.total, rate=rate)
            return
        self._full &= not new_stage
        if new_stage or now - self._last >= self._interval or (step.done >= step.total and not self._full):
            self._last, self._full = now, step.done >= step.total
            share = step.done / max(step.total, 1)
            left = f", about {seconds * (1 - share) / share:.0f} s left" if 0 < share < 1 and seconds > 1 else ""
            print(f"{step.stage}: {share:.0%}{', ' + rate if rate else ''}{left}", file=sys.stderr, flush=True)


class LogLines(logging.Handler):
    """Lines of the library's log. One that says where work stands is written over on a terminal, or now and then."""

    def __init__(self, interval: float = 10.0) -> None:
        super().__init__()
        self._interval, self._last = interval, -interval
        self._live = sys.stderr.isatty()
        self._open = False  # whether the line on the terminal will be written over

    def emit(self, record: logging.LogRecord) -> None:
        """Show a line."""
        is_progress = getattr(record, "progress", False)
        now = time.monotonic()
        if is_progress and not self._live and now - self._last < self._interval:
            return
        if is_progress:
            self._last = now
        start, end = ("\r\x1b[K", "" if is_progress else "\n") if self._live else ("", "\n")
        print(f"{start}{record.getMessage()}", end=end, file=sys.stderr, flush=True)
        self._open = self._live and is_progress

    def close(self) -> None:
        """Leave the last line."""
        if self._open:
            print(file=sys.stderr)
            self._open = False
        super().close()


@contextmanager
def shown_log() -> Iterator[None]:
    """Within it, what the library logs is shown."""
    handler, logger = LogLines(), logging.getLogger("polylm")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        handler.close()
