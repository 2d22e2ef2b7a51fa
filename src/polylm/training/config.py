"""TrainConfig: everything that decides a run beside the model's shape, and the defaults that are right for each size.

A run has a budget, in time or in steps, and all schedules are shares of it: any budget ends a whole schedule.
"""

import math
import re
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from polylm.errors import UserError

RATES = {"tiny": 8e-3, "small": 4e-3, "base": 3e-3, "large": 2e-3}  # the learning rate of each size


@dataclass(frozen=True)
class TrainConfig:
    """One run. Exactly one of `steps` and `seconds` is its budget."""

    steps: int | None = None
    seconds: float | None = None
    seed: int = 0
    # Batches
    batch_tokens: int = 65536  # a step, over all devices
    accumulate: int = 1  # parts that a step's batch is computed in
    mask_rate: float = 0.15
    mask_rate_start: float | None = None  # falls linearly to mask_rate over the run; none: constant
    subsample: float | None = 1e-3  # words above this frequency are targets less often, by sqrt(subsample / frequency)
    respect_lines: bool = False  # a window sees one line only, instead of crossing them
    held_out: float = 0.002  # share of the text that is never trained on
    # Optimization
    optimizer: Literal["muon", "adamw"] = "muon"
    learning_rate: float = 3e-3
    muon_rate: float | None = None  # for the encoders' matrices; none: the learning rate
    warmup: float = 0.02  # share of the run (of each phase) over which rates rise; then they fall to zero
    weight_decay: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.98
    clip: float = 1.0
    ema: float = 0.0  # share of the run that the mean of weights looks back on; 0: none
    # Senses
    start: Literal["split", "senses"] = "split"  # one vector a word, then split; or all senses at once
    phase_one: float = 0.3  # share of the run before the split
    split: Literal["kmeans", "random"] = "kmeans"
    split_vectors: int = 80  # occurrences of a word that are clustered
    split_lead: float = 2.0  # nats by which the best sense leads the average one after the split
    r_max: float = 1.5
    r_start: float = 0.45  # share of the run where r leaves 1
    r_end: float = 0.75  # and where it reaches r_max
    lambda_max: float = 0.1
    lambda_start: float = 0.05
    lambda_end: float = 0.2
    # Machine
    precision: Literal["auto", "bfloat16", "float32"] = "auto"
    compile: bool | None = None  # none: on CUDA
    checkpoint_every: float = 300.0  # seconds; with steps as budget see checkpoint_steps
    checkpoint_steps: int | None = None
    keep: int = 2  # checkpoints
    log_every: int = 10  # steps
    evaluate_every: float = 0.05  # share of the run between held-out evaluations
    confusion_tokens: int = 4_000_000  # of training text, on which the finished model's confusions are counted
    substitute_tokens: int = 40_000_000  # and the substitutes of its senses; 0: none

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_kind(field.name, field.type, getattr(self, field.name))
        if (self.steps is None) == (self.seconds is None):
            raise UserError("a run has one budget: a number of steps, or a time")
        if self.steps is not None and self.steps < 1:
            raise UserError(f"{self.steps} steps are none: give 1 or more")
        if self.seconds is not None and not self.seconds > 0:
            raise UserError(f"a budget of {self.seconds} seconds is none")
        positive = (
            "batch_tokens",
            "accumulate",
            "learning_rate",
            "clip",
            "split_vectors",
            "keep",
            "log_every",
            "r_max",
        )
        for name in (*positive, "checkpoint_every", "evaluate_every"):
            if not getattr(self, name) > 0:
                raise UserError(f"{name} is {getattr(self, name)}: it must be above 0")
        shares = ("mask_rate", "mask_rate_start", "held_out", "warmup", "ema", "phase_one", "beta1", "beta2")
        for name in (*shares, "r_start", "r_end", "lambda_start", "lambda_end"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise UserError(f"{name} is {value}: it is a share, from 0 to 1")
        if max(self.beta1, self.beta2) == 1:
            raise UserError("beta1 and beta2 must be below 1")
        if self.muon_rate is not None and not self.muon_rate >= 0:
            raise UserError(f"muon_rate is {self.muon_rate}: it must be 0 or more")
        for name in ("mask_rate", "mask_rate_start"):
            if getattr(self, name) == 0:
                raise UserError(f"{name} is 0: there would be nothing to predict")
        for name in ("weight_decay", "lambda_max", "split_lead"):
            if not getattr(self, name) >= 0:
                raise UserError(f"{name} is {getattr(self, name)}: it must be 0 or more")
        if not self.held_out > 0:
            raise UserError("held_out is 0: some text must be kept to measure on")
        if self.subsample is not None and not self.subsample > 0:
            raise UserError(f"subsample is {self.subsample}: it is a frequency, above 0, or null for none")
        if self.confusion_tokens < 1 or self.substitute_tokens < 0:
            raise UserError("confusion_tokens must be 1 or more, substitute_tokens 0 or more")
        if not 0 <= self.seed < 1 << 31:
            raise UserError(f"seed is {self.seed}: it must be 0 or more, and below {1 << 31}")
        if self.checkpoint_steps is not None and self.checkpoint_steps < 1:
            raise UserError(f"checkpoint_steps is {self.checkpoint_steps}: it must be 1 or more")
        for name, choices in (
            ("optimizer", ("muon", "adamw")),
            ("start", ("split", "senses")),
            ("split", ("kmeans", "random")),
            ("precision", ("auto", "bfloat16", "float32")),
        ):
            if getattr(self, name) not in choices:
                raise UserError(f"{name} is {getattr(self, name)!r}: choose from {', '.join(choices)}")

    def with_changes(self, **changes: Any) -> "TrainConfig":
        """A copy with other values; an unknown name is refused."""
        unknown = set(changes) - {field.name for field in fields(self)}
        if unknown:
            known = ", ".join(field.name for field in fields(self))
            raise UserError(f"a run has no setting {sorted(unknown)[0]!r}; there are {known}")
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TrainConfig":
        unknown = set(values) - {field.name for field in fields(cls)}
        if unknown:
            raise UserError(f"the run has settings that this version of polylm does not know: {sorted(unknown)}")
        return cls(**values)


def _check_kind(name: str, kind: Any, value: Any) -> None:
    """Numbers where numbers belong; what has few choices is checked where they are."""
    if value is None and kind in (int | None, float | None, bool | None):
        return
    if kind in (int, int | None) and (not isinstance(value, int) or isinstance(value, bool)):
        raise UserError(f"{name} is {value!r}: it must be a whole number")
    if kind in (float, float | None) and (not isinstance(value, int | float) or isinstance(value, bool)):
        raise UserError(f"{name} is {value!r}: it must be a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{name} is {value!r}: it must be a finite number")
    if kind in (bool, bool | None) and not isinstance(value, bool):
        raise UserError(f"{name} is {value!r}: it must be true or false")


def parse_budget(text: str) -> float:
    """Seconds of `25m`, `90s`, `1.5h` or `1h30m`."""
    match = re.fullmatch(r"\s*(?:(\d+(?:\.\d+)?)h)?\s*(?:(\d+(?:\.\d+)?)m)?\s*(?:(\d+(?:\.\d+)?)s)?\s*", text)
    if not match or not any(match.groups()):
        raise UserError(f"{text!r} is not a time: write 25m, 90s or 1h30m")
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    total = 3600 * hours + 60 * minutes + seconds
    if not total > 0:
        raise UserError(f"{text!r} is no time at all")
    return total


def defaults_for(size: str, device: str) -> dict[str, Any]:
    """What differs by size and device."""
    if size not in RATES:
        raise UserError(f"there is no size {size!r}: choose from {', '.join(RATES)}")
    on_gpu = device == "cuda"
    return {
        "batch_tokens": 65536 if on_gpu else 4096,
        "learning_rate": RATES[size],
        "confusion_tokens": 4_000_000 if on_gpu else 200_000,
        "substitute_tokens": 40_000_000 if on_gpu else 200_000,
    }
