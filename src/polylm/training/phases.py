"""From one phase of a run to the next: one vector a word, then its senses, then reading words that are not masked."""

import logging
import time
from typing import Any

import torch

from polylm.symbols import MASK_ID
from polylm.training.contexts import collect
from polylm.training.run import Run
from polylm.training.schedule import READING
from polylm.training.split import Clusters, cluster, split, split_state

logger = logging.getLogger("polylm.training")


def is_time_to_split(run: Run) -> bool:
    """Whether the first phase is over: its share of what comes before the network learns to read."""
    learning = 1 - run.config.reading.reading_share
    return run.state.phase == 1 and run.state.share >= run.config.senses.phase_one * learning


def is_time_to_read(run: Run) -> bool:
    """Whether the last phase begins. Where no word has several senses there is nothing to learn in it."""
    share, has_senses = run.config.reading.reading_share, len(run.inventory.poly_words) > 0
    return 1 < run.state.phase < READING and share > 0 and has_senses and run.state.share >= 1 - share


def begin_reading(run: Run) -> None:
    """Go over to the last phase: the network as it is now is the teacher."""
    state = run.state
    state.losses.look(state.step, state.share, run.ranks)
    state.use_means()
    state.begin_reading()
    state.clock.pause(state.step, run.ranks)
    if run.ranks.is_first:
        logger.info("learning to read words that are not masked")


def split_run(run: Run) -> dict[str, Any]:
    """Go over to the second phase; what there is to log of it.

    A function of the state: a run that is killed here does it again.
    """
    state = run.state
    state.losses.look(state.step, state.share, run.ranks)  # a ruined model is not split
    started, before = time.monotonic(), run.held_out_nll()
    clusters = _clusters(run)
    moments = state.optimizer.state()
    torch.manual_seed(run.config.seed + 1)
    model = split(state.model, run.shape, run.inventory, clusters)
    state.phase = 2
    state.adopt(model)
    state.optimizer.load(split_state(moments, model))
    run.batches.set_senses(model.inventory)
    after, seconds = run.held_out_nll(), time.monotonic() - started
    state.clock.pause(state.step, run.ranks)
    state.split_at = state.share
    return {"step": state.step, "split": True, "before": before, "after": after, "seconds": seconds}


def _clusters(run: Run) -> Clusters | None:
    """The contexts of each word that may have several senses."""
    state, senses = run.state, run.config.senses
    n_senses = run.inventory.n_senses[run.inventory.poly_words].to(run.device)
    if not len(n_senses):
        return None
    # Some words are rare; but reading for the split should take no more than a few parts in a hundred.
    planned = run.config.steps or round(1 / max(state.clock.share_per_step, 1e-6))
    tokens = min(senses.split_vectors << 18, planned * run.config.batches.batch_tokens // 8)
    with state.reading():
        texts = run.batches.windows(tokens, 1)
        contexts = collect(state.model, texts, run.inventory.poly_words, senses.split_vectors, MASK_ID)
        return cluster(
            contexts.vectors,
            contexts.counts,
            n_senses,
            lead=senses.split_lead,
            seed=run.config.seed,
            random=senses.split == "random",
        )
