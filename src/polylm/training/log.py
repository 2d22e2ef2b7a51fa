"""The log of a run: a JSON object a line in `log.jsonl`, and TensorBoard where that is installed."""

import json
import math
from pathlib import Path
from typing import Any

from polylm.atomic import write_bytes

LOG = "log.jsonl"


class RunLog:
    """Writes records."""

    def __init__(self, out: Path, *, board: bool = True) -> None:
        self.path = out / LOG
        self._board = _tensorboard(out) if board else None

    def go_on_from(self, step: int, *, split: bool) -> None:
        """Forget what was logged after a step, and a split that is not in its state: they will be done again."""
        if not self.path.exists():
            return
        kept = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
                if record.get("step", 0) < step or (record.get("step") == step and (split or not record.get("split"))):
                    kept.append(line + "\n")
            except (ValueError, AttributeError):
                continue  # cut off by a kill
        write_bytes(self.path, "".join(kept).encode())

    def add(self, record: dict[str, Any]) -> None:
        """One record, a line of JSON; numbers that are not finite are null."""
        clean = {key: _plain(value) for key, value in record.items()}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(clean) + "\n")
        if self._board is not None:
            for key, value in clean.items():
                if isinstance(value, int | float) and key != "step":
                    self._board.add_scalar(key, value, clean.get("step", 0))

    def close(self) -> None:
        """Nothing more will come."""
        if self._board is not None:
            self._board.close()


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _tensorboard(out: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(out / "tensorboard"))
