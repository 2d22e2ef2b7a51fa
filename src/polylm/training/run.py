"""Run: what a run works with, its text, devices and state; and how well its model does on held-out text."""

from dataclasses import dataclass
from pathlib import Path

import torch

from polylm.bundle.bundle import Bundle
from polylm.corpus.shards import PreparedCorpus
from polylm.model.config import ModelConfig
from polylm.model.inventory import SenseInventory
from polylm.text.vocabulary import Vocabulary
from polylm.training import checkpoints
from polylm.training.batches import Batches
from polylm.training.config import TrainConfig
from polylm.training.distributed import Ranks
from polylm.training.lesson import taught_log_probs
from polylm.training.signals import Signals
from polylm.training.state import RunState

HELD_OUT_TOKENS = 1 << 18  # at most, and no more than eight batches


@dataclass
class Run:
    """One run into one folder. `inventory` is that of the second phase."""

    out: Path
    config: TrainConfig
    shape: ModelConfig
    corpus: PreparedCorpus
    vocabulary: Vocabulary
    inventory: SenseInventory
    device: torch.device
    ranks: Ranks
    signals: Signals
    state: RunState
    batches: Batches
    begun_from: Bundle | None = None  # a finished model

    @property
    def tokens_per_step(self) -> int:
        """How many ids a step reads, over all devices."""
        return self.batches.n_rows * self.batches.length

    @property
    def tokens(self) -> int:
        """How many ids were read so far."""
        return self.state.step * self.tokens_per_step

    @property
    def _held_out_tokens(self) -> int:
        return min(HELD_OUT_TOKENS, 8 * self.config.batches.batch_tokens)

    def held_out_nll(self) -> float:
        """The mean negative log likelihood of masked words of the held-out text."""
        total, n = (torch.zeros((), device=self.device) for _ in range(2))
        with self.state.reading():
            for batch in self.batches.held_out(self._held_out_tokens):
                losses = self.state.model(*batch.texts, **batch.about)
                total += losses.lm * losses.n_targets
                n += losses.n_targets
        return float(total / n.clamp(min=1))

    def held_out_agreement(self) -> dict[str, float]:
        """In the last phase: how often each way of reading words as they stand has the sense that the teacher has."""
        state = self.state
        if state.teacher is None or not len(self.batches.text.held):
            return {}
        sums = torch.zeros(3, device=self.device)
        with state.reading():
            for batch in self.batches.held_out(self._held_out_tokens, to_read=True):
                old = state.teacher.target_scores(*batch.texts, batch.segments)
                new = state.model.target_scores(*batch.texts, batch.segments, unmasked=True)
                best = taught_log_probs(old).argmax(dim=-1)
                for place, scores in enumerate((new.unmasked, new.disambiguation)):
                    if scores is not None:
                        sums[place] += ((best == scores.argmax(dim=-1)) * batch.weights).sum()
                sums[2] += batch.weights.sum()
        reading, disambiguation = (sums[:2] / sums[2].clamp(min=1)).tolist()
        return {"agreement": reading, "agreement_disambiguation": disambiguation}

    def checkpoint(self) -> Path:
        """Save everything, by the first process; the others wait. Never a state whose losses were not looked at."""
        state = self.state
        state.losses.look(state.step, state.share, self.ranks)
        if self.ranks.is_first:
            checkpoints.save(self.out, state.step, state.tensors(), state.facts(), self.config.machine.keep)
        self.ranks.barrier()
        state.clock.pause(state.step, self.ranks)
        return checkpoints.folder_of(self.out, state.step)
