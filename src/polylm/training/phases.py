"""From one phase of a run to the next: one vector a word, then its senses, then reading words that are not masked."""

import logging
import time
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from polylm.errors import UserError
from polylm.model.inventory import SenseInventory
from polylm.symbols import MASK_ID
from polylm.training import checkpoints
from polylm.training.choice import candidates, number_of_senses, second_part_of_speech, ways_of_use
from polylm.training.contexts import Contexts, collect
from polylm.training.run import Run
from polylm.training.schedule import READING
from polylm.training.signals import Stopped
from polylm.training.split import Clusters, cluster, split, split_state

_ENOUGH = 16  # contexts, without which a word has one sense

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
    if run.config.senses.sense_numbers == "learned":
        contexts = _choose(run)
    else:
        contexts = _contexts(run, run.inventory.poly_words)
    clusters = _clusters(run, contexts)
    del contexts  # of many words it is gigabytes
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


def _contexts(run: Run, words: Tensor) -> Contexts:
    """Of each word as many as the split wants, as far as reading them takes no more than an eighth of the run."""
    state, n = run.state, run.config.senses.split_vectors
    planned = run.config.steps or round(1 / max(state.clock.share_per_step, 1e-6))
    tokens = min(n << 18, planned * run.config.batches.batch_tokens // 8)
    texts = run.batches.windows(tokens, 1)
    if run.config.senses.sense_numbers == "learned":  # rare words count too
        counts = torch.tensor(run.vocabulary.counts, device=run.device)[words.to(run.device)]
        expected = counts * (tokens / max(len(run.batches.text.train), 1))
        texts = chain(texts, run.batches.windows_with(words.to(run.device)[expected < 4 * n], n))
    with state.reading():
        return collect(state.model, _heeding(run, texts), words, n, MASK_ID, most=3 * tokens)


def _heeding(run: Run, texts: Iterator[Any]) -> Iterator[Any]:
    """Text to read, and no further once a signal has come."""
    for text in texts:
        if run.signals.number:
            raise Stopped(run.signals.number, checkpoints.latest(run.out) or run.out)
        yield text


def _choose(run: Run) -> Contexts:
    """Choose which words get senses, and how many: the run has another inventory from here on. Their contexts."""
    senses, ranks = run.config.senses, run.ranks
    occurrences = torch.tensor(run.vocabulary.counts, device=run.device)
    usable = candidates(run.vocabulary.words, occurrences, senses.sense_least)
    usable &= run.state.model.inventory.predicted[run.state.model.inventory.first]
    contexts = _contexts(run, usable.nonzero().flatten())
    contexts = contexts.select(contexts.counts >= min(senses.split_vectors, _ENOUGH))
    numbers = torch.ones(len(occurrences), dtype=torch.int64, device=run.device)
    if len(contexts.words):
        ids = np.concatenate([np.asarray(shard) for shard in run.corpus.shards])
        second = torch.from_numpy(second_part_of_speech(ids, run.vocabulary)).to(run.device)
        ways = ways_of_use(contexts, occurrences[contexts.words], second[contexts.words])
        chosen = contexts.words[ways.argsort(descending=True)[: round(senses.sense_share * len(ways))]]
        numbers[chosen] = number_of_senses(occurrences[chosen], senses.sense_least, senses.sense_most)
    numbers = torch.tensor(ranks.from_first(numbers.tolist()), dtype=torch.int64)  # devices may round otherwise
    run.inventory = SenseInventory(numbers, excluded=run.inventory.excluded)
    if not len(run.inventory.poly_words):
        raise UserError(
            f"no word has {senses.sense_least} occurrences (sense_least) and enough contexts to learn senses from: "
            "prepare more text, or train longer"
        )
    place = torch.searchsorted(contexts.words, run.inventory.poly_words.to(run.device))
    return contexts.select(place)


def _clusters(run: Run, contexts: Contexts) -> Clusters | None:
    """The contexts of each word that may have several senses, by sense."""
    senses = run.config.senses
    n_senses = run.inventory.n_senses[run.inventory.poly_words].to(run.device)
    if not len(n_senses):
        return None
    return cluster(
        contexts.vectors,
        contexts.counts,
        n_senses,
        lead=senses.split_lead,
        seed=run.config.seed,
        random=senses.split == "random",
    )
