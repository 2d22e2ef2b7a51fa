"""How far long work has come, as the library reports it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Where work stands: `done` of `total` in one stage, as far as can be told, and the words counted so far."""

    stage: str
    done: int
    total: int
    words: int = 0
