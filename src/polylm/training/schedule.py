"""Learning rate, r, lambda_M and the masking rate as functions of the share of the run that is done."""

from dataclasses import dataclass

from polylm.training.config import TrainConfig

READING = 3  # the phase in which the network learns to read words that are not masked


@dataclass(frozen=True)
class Values:
    """What holds in one step."""

    rate: float  # times the learning rates
    r: float
    lambda_m: float
    mask_rate: float
    pieces: float  # share of the windows that are cut into short texts


def ramp(progress: float, start: float, end: float) -> float:
    """0 until start, 1 from end on, straight between."""
    if progress <= start:
        return 0.0
    return 1.0 if progress >= end else (progress - start) / (end - start)


def values(config: TrainConfig, progress: float, split_at: float | None = None, *, phase: int = 2) -> Values:
    """At a share of the run, from 0 to 1. Rates rise again, briefly, after a split: there are new parameters.

    The last phase, in which the network learns to read, has a schedule of its own; the others end where it begins.
    """
    progress = min(max(progress, 0.0), 1.0)
    warmup, senses, batches = config.optimization.warmup, config.senses, config.batches
    before = 1 - config.reading.reading_share
    if phase == READING:
        progress = ramp(progress, before, 1.0)
        rise = ramp(progress, 0.0, warmup) if warmup > 0 else 1.0
        reading = config.reading
        return Values(rise * (1 - progress), 1.0, 0.0, reading.reading_targets, reading.reading_pieces)
    progress = min(progress / before, 1.0)
    split_at = None if split_at is None else split_at / before
    rise = ramp(progress, 0.0, warmup) if warmup > 0 else 1.0
    if split_at is not None and warmup > 0:
        rise = ramp(progress, split_at, split_at + warmup / 2)
    first = batches.mask_rate if batches.mask_rate_start is None else batches.mask_rate_start
    return Values(
        rate=rise * (1 - progress),
        r=1 + (senses.r_max - 1) * ramp(progress, senses.r_start, senses.r_end),
        lambda_m=senses.lambda_max * ramp(progress, senses.lambda_start, senses.lambda_end),
        mask_rate=first + (batches.mask_rate - first) * progress,
        pieces=batches.pieces,
    )
