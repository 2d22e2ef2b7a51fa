"""What happens between steps: lines of the log, a look at held-out text and senses, checkpoints.

Each is called after a step. What people read goes to the logger `polylm.training`; a line that only says
where the run stands has `extra={"progress": True}`, so that a terminal can write the next one over it.
"""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from polylm.errors import UserError
from polylm.model.polylm import PolyLM
from polylm.text.vocabulary import Vocabulary
from polylm.training.log import RunLog
from polylm.training.run import Run
from polylm.training.schedule import READING, Values
from polylm.training.signals import Stopped
from polylm.training.speed import flops_per_token, measured_peak
from polylm.training.watch import neighbours, sense_counts

logger = logging.getLogger("polylm.training")
_OF_MASKED = ("lm", "distinctness", "match")
TERMS = {1: _OF_MASKED, 2: _OF_MASKED, READING: ("reading", "disambiguation", "kept")}  # of the loss, by phase


@dataclass(frozen=True)
class Callbacks:
    """What the caller hands in: scores of a model at intervals, and words whose neighbours are shown."""

    evaluate: Callable[[PolyLM], dict[str, float]] | None = None
    watch: tuple[str, ...] = ()

    def checked(self, vocabulary: Vocabulary, data: object) -> "Callbacks":
        """With watched words as the vocabulary has them."""
        watch = tuple(word if word in vocabulary else word.lower() for word in self.watch)
        unknown = sorted(set(watch) - set(vocabulary))
        if unknown:
            raise UserError(f"{unknown[0]!r} cannot be watched: it is not in the vocabulary of {data}")
        return Callbacks(self.evaluate, watch)


class Pace:
    """Writes losses and speed every few steps."""

    def __init__(self, run: Run, log: RunLog) -> None:
        self.log = log
        self._peak = measured_peak(run.device) if run.ranks.is_first else 1.0
        self.begin(run)

    def begin(self, run: Run) -> None:
        """Count time and steps from here."""
        self._started, self._step = time.monotonic(), run.state.step

    def __call__(self, run: Run, now: Values) -> None:
        """A line of the log; the clock was read just now."""
        state = run.state
        means = state.losses.look(state.step, state.share, run.ranks)
        seconds, steps = time.monotonic() - self._started, state.step - self._step
        self.begin(run)
        if not run.ranks.is_first or means is None:
            return
        tokens = steps * run.tokens_per_step / max(seconds, 1e-9)
        n_senses = state.model.inventory.n_rows
        needed = flops_per_token(run.shape, n_senses, now.mask_rate, phase=state.phase)
        bound = tokens * needed / self._peak / run.ranks.n_ranks
        self.log.add(
            {
                "step": state.step,
                "share": round(state.share, 6),
                "phase": state.phase,
                "seconds": round(state.clock.elapsed, 3),
                **dict(zip(TERMS[state.phase], means.terms, strict=True)),
                "gradient": means.gradient,
                **vars(now),
                "tokens_per_s": round(tokens),
                "of_bound": round(bound, 4),
            }
        )
        logger.info(
            f"{state.share:6.1%}  step {state.step}  {tokens:,.0f} tokens/s ({bound:.0%} of the bound)  "
            + "  ".join(f"{name} {term:.3f}" for name, term in zip(TERMS[state.phase], means.terms, strict=True))
            + (f"  r {now.r:.2f}  lambda {now.lambda_m:.3f}" if state.phase < READING else "")
            + f"  {state.clock.time_left(state.step)} left",
            extra={"progress": True},
        )


class Evaluation:
    """Held-out likelihood, senses in use, watched words and the caller's scores, a few times in a run."""

    def __init__(self, log: RunLog, callbacks: Callbacks) -> None:
        self.log, self.callbacks = log, callbacks
        self._next = 0.0  # share of the run

    def __call__(self, run: Run) -> None:
        """Look, if it is time."""
        config, state = run.config.machine, run.state
        if state.share < self._next or state.step % config.log_every:
            return
        self._next = (math.floor(state.share / config.evaluate_every) + 1) * config.evaluate_every
        if run.ranks.is_first:
            self._look(run)
        state.clock.pause(state.step, run.ranks)

    def _look(self, run: Run) -> None:
        state, share = run.state, run.state.share
        record: dict[str, Any] = {"step": state.step, "share": round(share, 6), "held_out": run.held_out_nll()}
        record |= sense_counts(state.model) | run.held_out_agreement()
        watched: list[str] = []
        if state.phase > 1:
            for word in self.callbacks.watch:
                lines = neighbours(state.model, run.vocabulary[word], run.vocabulary.words)
                record[f"watch {word}"] = lines
                watched += lines
            if self.callbacks.evaluate is not None:
                with state.reading():
                    record |= self.callbacks.evaluate(state.model)
        self.log.add(record)
        agreed = f", reads {record['agreement']:.1%} as if masked" if "agreement" in record else ""
        scored = f", AVG {record['eval_avg']:.1%}" if "eval_avg" in record else ""
        logger.info(
            f"{share:6.1%}  held-out NLL {record['held_out']:.3f}, {record['effective_senses']:.2f} effective senses, "
            f"{record['dead_senses']:.0%} dead{agreed}{scored}"
        )
        for line in watched:
            logger.info(f"        {line}")


class Checkpoints:
    """Saves now and then, and when a signal asks for an end, which is then raised."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, run: Run) -> None:
        """Save, if it is time."""
        config, state, ranks = run.config.machine, run.state, run.ranks
        due = time.monotonic() - self._last >= config.checkpoint_every
        if config.checkpoint_steps is not None:
            due = state.step % config.checkpoint_steps == 0
        elif ranks.n_ranks > 1:
            due = state.step % config.log_every == 0 and bool(ranks.from_first([float(due)])[0])
        if due and state.share < 1:
            run.checkpoint()
            self._last = time.monotonic()

    def stop_if_asked(self, run: Run) -> None:
        """After a signal: all processes stop, or none."""
        number = run.signals.number or 0
        if run.ranks.n_ranks > 1:
            is_time = run.state.step % run.config.machine.log_every == 0
            number = run.ranks.highest(number, run.device) if is_time else 0
        if number:
            raise Stopped(number, run.checkpoint())
