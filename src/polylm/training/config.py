"""TrainConfig: everything that decides a run beside the model's shape, and the defaults that are right for each size.

A run has a budget, in time or in steps, and all schedules are shares of it: any budget ends a whole schedule. Settings
stand in records by what they are about; their names are unique, so people give them in one flat list.
"""

import math
import re
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args, get_origin

from polylm.errors import UserError

RATES = {"tiny": 8e-3, "small": 4e-3, "base": 3e-3, "large": 2e-3}  # the learning rate of each size


def _number(default: Any, *, least: float = -math.inf, above: float = -math.inf, below: float = math.inf) -> Any:
    return field(default=default, metadata={"least": least, "above": above, "below": below})


def _share(default: Any, *, above: float = -math.inf) -> Any:
    return field(default=default, metadata={"least": 0.0, "above": above, "most": 1.0})


@dataclass(frozen=True)
class _Record:
    """Settings that check themselves."""

    def __post_init__(self) -> None:
        for one in fields(self):
            _check(one.name, one.type, getattr(self, one.name), **one.metadata)


@dataclass(frozen=True)
class BatchConfig(_Record):
    """What a step reads, and what it predicts."""

    batch_tokens: int = _number(65536, above=0)  # a step, over all devices
    accumulate: int = _number(1, above=0)  # parts that a step's batch is computed in
    mask_rate: float = _share(0.15, above=0)
    mask_rate_start: float | None = _share(None, above=0)  # falls linearly to mask_rate; none: constant
    subsample: float | None = _number(1e-3, above=0)  # commoner words are targets less often: sqrt(this / frequency)
    respect_lines: bool = False  # a window sees one line only, instead of crossing them
    pieces: float = _share(0.0)  # of the windows are cut into texts of a sentence or some (pieces.py)
    held_out: float = _share(0.002, above=0)  # share of the text that is never trained on


@dataclass(frozen=True)
class OptimizationConfig(_Record):
    """How the weights move."""

    optimizer: Literal["muon", "adamw"] = "muon"
    learning_rate: float = _number(3e-3, above=0)
    muon_rate: float | None = _number(None, least=0)  # for the encoders' matrices; none: the learning rate
    warmup: float = _share(0.02)  # share of the run (of each phase) over which rates rise; then they fall to zero
    weight_decay: float = _number(0.01, least=0)
    beta1: float = _number(0.9, least=0, below=1)
    beta2: float = _number(0.98, least=0, below=1)
    clip: float = _number(1.0, above=0)
    ema: float = _share(0.0)  # share of the run that the mean of weights looks back on; 0: none


@dataclass(frozen=True)
class SensesConfig(_Record):
    """How words come to have senses, and what keeps these apart.

    Shares are of what comes before the network learns to read.
    """

    start: Literal["split", "senses"] = "split"  # one vector a word, then split; or all senses at once
    phase_one: float = _share(0.3)  # share before the split
    split: Literal["kmeans", "random"] = "kmeans"
    sense_numbers: Literal["given", "learned"] = "given"  # by the vocabulary; or learned from contexts at the split
    sense_least: int = _number(150, above=0)  # learned: words that occur less often have one sense
    sense_share: float = _share(0.5, above=0)  # and this share of the others several: those with the most ways of use
    sense_most: int = _number(8, least=2)  # of a word
    split_vectors: int = _number(80, above=0)  # occurrences of a word that are clustered
    split_lead: float = _number(2.0, least=0)  # nats by which the best sense leads the average one after the split
    r_max: float = _number(1.5, above=0)
    r_start: float = _share(0.45)  # where r leaves 1
    r_end: float = _share(0.75)  # and where it reaches r_max
    lambda_max: float = _number(0.1, least=0)
    lambda_start: float = _share(0.05)
    lambda_end: float = _share(0.2)
    confusion_tokens: int = _number(4_000_000, above=0)  # of text, on which the finished model's confusions are counted
    substitute_tokens: int = _number(40_000_000, least=0)  # and the substitutes of its senses; 0: none


@dataclass(frozen=True)
class ReadingConfig(_Record):
    """The last phase, in which the network learns to read words that are not masked (lesson.py)."""

    reading_share: float = _share(0.25)  # of the run, its end; 0: none; 1: a finished model learns nothing else
    reading_targets: float = _share(0.2, above=0)  # share of the positions that are learned from
    reading_rate: float = _number(1e-3, above=0)  # the learning rate
    reading_trains: Literal["encoders", "prediction", "all"] = "encoders"  # C^D and C^P; C^P alone; E, b and lambda too
    reading_pieces: float = _share(0.5)  # of the windows are cut into short texts here
    reading_sharpness: float = _number(1.0, above=0)  # power of the distributions that are learned


@dataclass(frozen=True)
class MachineConfig(_Record):
    """What does not change what is learned, but for rounding."""

    precision: Literal["auto", "bfloat16", "float32"] = "auto"
    compile: bool | None = None  # none: on CUDA
    checkpoint_every: float = _number(300.0, above=0)  # seconds; with steps as budget see checkpoint_steps
    checkpoint_steps: int | None = _number(None, least=1)
    keep: int = _number(2, above=0)  # checkpoints
    log_every: int = _number(10, above=0)  # steps
    evaluate_every: float = _number(0.05, above=0)  # share of the run between held-out evaluations


@dataclass(frozen=True)
class TrainConfig(_Record):
    """One run. Exactly one of `steps` and `seconds` is its budget."""

    steps: int | None = _number(None, least=1)
    seconds: float | None = _number(None, above=0)
    seed: int = _number(0, least=0, below=1 << 31)
    batches: BatchConfig = field(default_factory=BatchConfig)
    optimization: OptimizationConfig = field(default_factory=OptimizationConfig)
    senses: SensesConfig = field(default_factory=SensesConfig)
    reading: ReadingConfig = field(default_factory=ReadingConfig)
    machine: MachineConfig = field(default_factory=MachineConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.steps is None) == (self.seconds is None):
            raise UserError("a run has one budget: give exactly one of steps and seconds")

    @classmethod
    def flat(cls, **values: Any) -> "TrainConfig":
        """From settings by their names alone; those that are not given have their defaults."""
        unknown = sorted(set(values) - SETTINGS)
        if unknown:
            raise UserError(f"a run has no setting {unknown[0]!r}; there are {', '.join(sorted(SETTINGS))}")
        parts: dict[str, Any] = {
            name: record(**{one.name: values.pop(one.name) for one in fields(record) if one.name in values})
            for name, record in _RECORDS.items()
        }
        return cls(**values, **parts)

    def with_changes(self, **changes: Any) -> "TrainConfig":
        """A copy with other values."""
        return TrainConfig.flat(**{**self.to_dict(), **changes})

    def to_dict(self) -> dict[str, Any]:
        """All settings by name."""
        values = {"steps": self.steps, "seconds": self.seconds, "seed": self.seed}
        for name in _RECORDS:
            values |= vars(getattr(self, name))
        return values


_RECORDS: dict[str, type[_Record]] = {
    **{"batches": BatchConfig, "optimization": OptimizationConfig},
    **{"senses": SensesConfig, "reading": ReadingConfig, "machine": MachineConfig},
}
SETTINGS = {"steps", "seconds", "seed", *(one.name for record in _RECORDS.values() for one in fields(record))}


def _check(
    name: str,
    kind: Any,
    value: Any,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    below: float = math.inf,
    most: float = math.inf,
) -> None:
    """The kind of a value, and where it may lie."""
    kinds = get_args(kind) if type(None) in get_args(kind) else (kind,)
    if value is None and type(None) in kinds:
        return
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise UserError(f"{name} is {value!r}: choose from {', '.join(get_args(kind))}")
        return
    if bool in kinds and not isinstance(value, bool):
        raise UserError(f"{name} is {value!r}: it must be true or false")
    if int in kinds and (not isinstance(value, int) or isinstance(value, bool)):
        raise UserError(f"{name} is {value!r}: it must be a whole number")
    if float in kinds and (not isinstance(value, int | float) or isinstance(value, bool)):
        raise UserError(f"{name} is {value!r}: it must be a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{name} is {value!r}: it must be a finite number")
    if not isinstance(value, int | float) or isinstance(value, bool):
        return
    if most < math.inf and not (least <= value <= most and value > above):
        raise UserError(f"{name} is {value}: it is a share, {'above 0 and at most' if above == 0 else 'from 0 to'} 1")
    bounds = [f"at least {least:g}"] * (value < least) + [f"above {above:g}"] * (value <= above)
    bounds += [f"below {below:g}"] * (value >= below)
    if bounds:
        raise UserError(f"{name} is {value}: it must be {bounds[0]}")


def parse_time(text: str, name: str = "budget") -> float:
    """Seconds of `25m`, `90s`, `1.5h` or `1h30m`; `name` is the parameter that has it."""
    match = re.fullmatch(r"\s*(?:(\d+(?:\.\d+)?)h)?\s*(?:(\d+(?:\.\d+)?)m)?\s*(?:(\d+(?:\.\d+)?)s)?\s*", text)
    if not match or not any(match.groups()):
        raise UserError(f"{text!r} is not a time ({{{name}}}): write 25m, 90s or 1h30m", **{name: None})
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    total = 3600 * hours + 60 * minutes + seconds
    if not total > 0:
        raise UserError(f"a time of {text!r} is too short ({{{name}}}): it must be above 0", **{name: None})
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
