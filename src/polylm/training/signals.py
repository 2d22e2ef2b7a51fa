"""SIGTERM and Ctrl-C are noted, so that the step is finished and the state saved. Asked twice, the process ends."""

import logging
import signal
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

logger = logging.getLogger("polylm.training")


class Stopped(Exception):  # noqa: N818
    """A signal asked for an end; the state is saved in the folder."""

    def __init__(self, number: int, folder: Path) -> None:
        super().__init__(f"stopped; {folder} holds the state: go on with resume=True")
        self.number, self.folder = number, folder


class Signals:
    """Within it, `number` is the signal that came, if one did. Outside the main thread it notes nothing."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Signals":
        try:
            self._before = {number: signal.signal(number, self._note) for number in (signal.SIGTERM, signal.SIGINT)}
        except ValueError:  # not the main thread
            self._before = {}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        if self.number is not None:
            raise KeyboardInterrupt
        self.number = number
        logger.info("stopping: the step is finished and the state saved first; asked again, the run ends at once")
