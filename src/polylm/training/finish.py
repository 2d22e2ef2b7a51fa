"""The end of a run: senses in order, confusions and substitutes counted, and a bundle in the run's folder."""

import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from polylm.bundle.bundle import Bundle
from polylm.model.int8 import measure_ranges
from polylm.model.pruning import order_senses
from polylm.senses.merge_tree import MergeTree, count_confusion
from polylm.senses.substitutes import count_substitutes
from polylm.senses.wordlists import N_SUBSTITUTES, WordLists
from polylm.symbols import MASK_ID
from polylm.text.lemmatizer import is_word
from polylm.text.vocabulary import Vocabulary
from polylm.training import checkpoints
from polylm.training.contexts import until_met
from polylm.training.log import RunLog
from polylm.training.phases import split_run
from polylm.training.run import Run
from polylm.training.signals import Stopped
from polylm.training.watch import sense_counts

RANGE_TOKENS = 1 << 13  # of text, on which the ranges of the encoders' numbers are measured
CONFUSED_OCCURRENCES = 32  # of each word, on which its confusions are counted where it has so many

logger = logging.getLogger("polylm.training")


def finish(run: Run, log: RunLog) -> dict[str, Any]:
    """Write the finished model; the summary of the run."""
    state = run.state
    state.losses.look(state.step, state.share, run.ranks)
    if state.phase == 1:  # a run so short that the split was not reached
        record_split(split_run(run), log, is_first=run.ranks.is_first)
    if run.ranks.from_first([float(checkpoints.steps(run.out)[-1:] != [state.step])])[0]:
        run.checkpoint()  # what follows may be killed too
    state.use_means()
    state.clock.read(state.step, run.ranks)
    summary: dict[str, Any] = {"steps": state.step, "seconds": round(state.clock.elapsed, 1), "tokens": run.tokens}
    summary["held_out"] = run.held_out_nll()
    summary |= sense_counts(state.model)
    if run.ranks.is_first:
        logger.info("counting confusions and substitutes" if _counts(run) else "measuring ranges")
        bundle_of(run, summary).write(run.out)
        log.add({"step": state.step, "finished": True, **summary})
    run.ranks.barrier()
    return summary


def record_split(record: dict[str, Any], log: RunLog, *, is_first: bool) -> None:
    """Say how the split went."""
    if is_first:
        log.add(record)
        logger.info(f"split: held-out NLL {record['before']:.3f} before, {record['after']:.3f} after")


def bundle_of(run: Run, summary: dict[str, Any]) -> Bundle:
    """The model as it is saved."""
    model, senses = run.state.model, run.config.senses
    _measure_ranges(run)
    if run.begun_from is not None and not _counts(run):  # its senses are what they were
        return replace(run.begun_from, network=model, training={**(run.begun_from.training or {}), "reading": summary})
    order_senses(model)
    merge_tree = _count_confusion(run) if len(model.inventory.poly_words) else None
    lists = _count_substitutes(run) if senses.substitute_tokens else WordLists()
    text, words = run.corpus.text_settings(), run.vocabulary
    if senses.sense_numbers == "learned":
        words = Vocabulary(words.words, words.counts, model.inventory.n_senses.tolist())
    return Bundle(model, words, text, merge_tree, wordlists=lists, training=summary)


def _at_most(run: Run, n_tokens: int) -> int:
    """Ids to count on: no more than the run has learned from."""
    return n_tokens if run.begun_from is not None else min(n_tokens, run.tokens)


def _texts(run: Run, n_tokens: int, purpose: int, what: str) -> Iterator[Any]:
    """Random text to count on."""
    n_tokens = _at_most(run, n_tokens)
    return _reported(run, run.batches.windows(n_tokens, purpose), n_tokens, what)


def _reported(run: Run, texts: Iterator[Any], n_tokens: int, what: str) -> Iterator[Any]:
    """Texts of so many ids; no further once a signal has come."""
    done, said = 0, time.monotonic()
    for text in texts:
        if run.signals.number:
            raise Stopped(run.signals.number, checkpoints.latest(run.out) or run.out)
        yield text
        done += (text[0] if isinstance(text, tuple) else text).numel()
        if time.monotonic() - said > 1:
            said = time.monotonic()
            logger.info(f"counting {what}: {min(done / n_tokens, 1):.0%}", extra={"progress": True})


def _counts(run: Run) -> bool:
    """Whether there are new senses to count: a finished model that only learned to read has those it had."""
    return run.config.reading.reading_share < 1


def _measure_ranges(run: Run) -> None:
    """What goes into the encoders' matrices, so that the model can be read in 8-bit integers."""
    measure_ranges(run.state.model, _texts(run, RANGE_TOKENS, 5, "ranges"), MASK_ID)


def _count_confusion(run: Run) -> MergeTree:
    n_tokens = _at_most(run, run.config.senses.confusion_tokens)
    texts, rare = _texts(run, n_tokens, 2, "confusions"), _rare_words(run, n_tokens)
    with run.state.reading():
        return count_confusion(
            run.state.model, texts, MASK_ID, around=_around(run, rare, 2 * n_tokens), words=rare.to(run.device)
        )


def _rare_words(run: Run, n_tokens: int) -> Tensor:
    """Words of several senses of which so much random text has too few occurrences; as many as more text can serve."""
    words = run.state.model.inventory.poly_words.cpu()
    counts = torch.tensor(run.vocabulary.counts)[words]
    rare = counts * (n_tokens / max(len(run.batches.text.train), 1)) < CONFUSED_OCCURRENCES
    rarest_first = counts[rare].argsort(stable=True)
    return words[rare][rarest_first[: 2 * n_tokens // run.batches.length]]


def _around(run: Run, words: Tensor, n_tokens: int) -> Iterator[Any]:
    """Text around some words, until each was met often enough, or so much was read."""
    if not len(words):
        return iter(())
    words, n = words.to(run.device), CONFUSED_OCCURRENCES
    texts = until_met(run.batches.windows_with(words, n), words, n, n_words=len(run.vocabulary), most=n_tokens)
    return _reported(run, texts, n_tokens, "confusions of rare words")


def _count_substitutes(run: Run) -> WordLists:
    words = run.vocabulary.words
    candidates = torch.tensor([is_word(word) and word[0].isalnum() for word in words])  # no clitics: 's
    texts = _texts(run, run.config.senses.substitute_tokens, 3, "substitutes")
    chances, generator = run.batches.chances, run.batches.generator(3, 4)
    occurrences = torch.tensor(run.vocabulary.counts)
    with run.state.reading():
        table = count_substitutes(
            run.state.model,
            texts,
            MASK_ID,
            candidates,
            N_SUBSTITUTES,
            chances=chances,
            generator=generator,
            occurrences=occurrences,
        )
    return WordLists(substitutes=table.cpu().numpy())
