"""How far a run is: by steps, or by a clock that is looked at now and then."""

import time
from dataclasses import dataclass, field

from polylm.training.config import TrainConfig
from polylm.training.distributed import Ranks

FAR = 0.002  # share of a run


@dataclass
class Clock:
    """How far a run is. With time as budget, the share is measured now and then and extrapolated in between."""

    config: TrainConfig
    elapsed: float = 0.0  # seconds of earlier processes, and of this one up to the last reading
    base_step: int = 0
    base_share: float = 0.0
    share_per_step: float = 0.0
    started: float | None = None
    _read_at: float = field(default=0.0, repr=False)

    def share(self, step: int) -> float:
        """From 0 to 1."""
        if self.config.steps is not None:
            return step / self.config.steps
        return min(self.base_share + (step - self.base_step) * self.share_per_step, 1.0)

    def start(self) -> None:
        """Count from now on."""
        if self.started is None:
            self.started = self._read_at = time.monotonic()

    def read(self, step: int, ranks: Ranks) -> None:
        """Look at the clock; every process goes by the first one's."""
        self.start()
        self._count()
        if self.config.seconds is None:
            return
        share = self.elapsed / self.config.seconds
        if step > self.base_step:
            self.share_per_step = max(share - self.base_share, 0.0) / (step - self.base_step)
        self._agree(share, step, ranks)

    def pause(self, step: int, ranks: Ranks) -> None:
        """Count what was done besides steps, which says nothing of how long a step takes."""
        if self.started is None or self.config.seconds is None:
            return
        self._count()
        self._agree(self.elapsed / self.config.seconds, step, ranks)

    def is_old(self, ranks: Ranks) -> bool:
        """Whether steps take so long that the clock should be read again already."""
        return ranks.n_ranks == 1 and time.monotonic() - self._read_at > 5

    def is_far(self, step: int) -> bool:
        """Whether so much was extrapolated that the clock must be read, or no pace is known to extrapolate with.

        One slow step must not end a run.
        """
        unknown = not self.share_per_step
        return self.config.seconds is not None and (unknown or self.share(step) >= min(self.base_share + FAR, 1))

    def time_left(self, step: int) -> str:
        """As far as can be told: 1h05m, 3m07s or 9s."""
        share = self.share(step)
        minutes, seconds = divmod(int(self.elapsed * (1 - share) / max(share, 1e-9)), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}h{minutes:02d}m" if hours else f"{minutes}m{seconds:02d}s" if minutes else f"{seconds}s"

    def _count(self) -> None:
        now = time.monotonic()
        self.elapsed += now - self._read_at
        self._read_at = now

    def _agree(self, share: float, step: int, ranks: Ranks) -> None:
        self.base_share, self.share_per_step = ranks.from_first([max(share, self.base_share), self.share_per_step])
        self.base_step = step
