"""The loop: a budget, phases and what leads from one to the next; what happens between steps is the observers'.

With steps as budget, what a step does depends on the seed, the number of the step and the state alone. So a run that is
killed and taken up again has, on the CPU, the very weights of one that was not.
"""

import copy
import json
import logging
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from polylm.atomic import locked, write_bytes
from polylm.bundle.bundle import RUN, Bundle
from polylm.corpus.shards import PreparedCorpus
from polylm.device import choose_device
from polylm.errors import UserError
from polylm.model.config import ModelConfig
from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM
from polylm.symbols import LINE_ID, MASK_ID, PAD_ID
from polylm.training import checkpoints, distributed, folder
from polylm.training.batches import Batches, Text
from polylm.training.config import TrainConfig
from polylm.training.finish import finish, record_split
from polylm.training.log import RunLog
from polylm.training.observers import Callbacks, Checkpoints, Evaluation, Pace
from polylm.training.phases import begin_reading, is_time_to_read, is_time_to_split, split_run
from polylm.training.pieces import sentence_ends
from polylm.training.run import Run
from polylm.training.schedule import READING, values
from polylm.training.signals import Signals
from polylm.training.speed import synchronize
from polylm.training.split import phase_one_model
from polylm.training.state import RunState
from polylm.training.step import Step

logger = logging.getLogger("polylm.training")


class Trainer:
    """One run into one folder. `train` goes to the end of the budget and writes the model there."""

    def __init__(
        self,
        data: str | Path,
        out: str | Path,
        model_config: ModelConfig,
        config: TrainConfig,
        *,
        device: str = "auto",
        resume: bool = False,
        init: Bundle | None = None,
        callbacks: Callbacks | None = None,
    ) -> None:
        kind, out = choose_device(device).type, Path(out)
        ranks = distributed.start(kind)
        place = torch.device(kind, ranks.local_rank) if kind == "cuda" else torch.device(kind)
        corpus = PreparedCorpus(data, verify=ranks.is_first)
        vocabulary = corpus.vocabulary()
        inventory = SenseInventory(vocabulary.n_senses, excluded=[PAD_ID, MASK_ID, LINE_ID])
        config = _with_what_can_be_learned(config, inventory, has_init=init is not None)
        if init is not None:
            inventory = _of_init(init, config, inventory)
            network, tree = copy.deepcopy((init.network, init.merge_tree))  # the caller's stays as it is
            network.config = replace(network.config, reads_unmasked=False)  # until the last phase teaches it
            init = replace(init, network=network, merge_tree=tree)
        self._callbacks = (callbacks or Callbacks()).checked(vocabulary, data)
        description = folder.describe(config, model_config, corpus, init=init is not None)
        folder.check(out, description, resume=resume)
        phase = 1 if config.senses.start == "split" and init is None else 2
        model = _new_model(config, model_config, inventory, phase) if init is None else init.network
        state = RunState(model, config, place, out, phase=phase)
        last = checkpoints.latest(out) if resume else None
        if last is not None:
            state.restore(*checkpoints.load(last), model_config, inventory)
            if phase == 1 and state.phase > 1 and config.senses.sense_numbers == "learned":
                inventory = state.model.inventory
        length = model_config.max_length
        text = Text.load(corpus, config.batches.held_out, length, place)
        batches = Batches(
            text,
            config.batches,
            seed=config.seed,
            length=length,
            inventory=state.model.inventory,
            device=place,
            counts=vocabulary.counts,
            ranks=ranks,
            ends=sentence_ends(vocabulary, place),
        )
        self.run = Run(
            out=out,
            config=config,
            shape=model_config,
            corpus=corpus,
            vocabulary=vocabulary,
            inventory=inventory,
            device=place,
            ranks=ranks,
            signals=Signals(),
            state=state,
            batches=batches,
            begun_from=init,
        )
        self._lock = ExitStack()  # of the folder, until the run ends
        self._take_folder(description)
        self._log = RunLog(out, board=ranks.is_first)
        self.stop_after: int | None = None  # a step to stop after, as if the process had been killed
        self.step = Step(state, ranks)

    def _take_folder(self, description: dict[str, Any]) -> None:
        """Say whose it is, once nothing speaks against the run."""
        run = self.run
        run.ranks.barrier()  # every process has looked before one writes
        if run.ranks.is_first:
            self._lock.enter_context(locked(run.out))
            write_bytes(run.out / RUN, (json.dumps(description, indent=2) + "\n").encode())
            checkpoints.clean(run.out)
        run.ranks.barrier()

    def train(self) -> dict[str, Any]:
        """Train until the budget is spent; the summary of the run. A finished run is left as it is."""
        try:
            if folder.is_finished(self.run.out):
                return folder.summary_of(self.run.out)
            with self.run.signals:
                return self._train()
        finally:
            self._log.close()
            self._lock.close()

    def _train(self) -> dict[str, Any]:
        run, state, clock = self.run, self.run.state, self.run.state.clock
        if run.ranks.is_first:
            self._log.go_on_from(state.step, split=state.phase == 2)
            if state.step:
                logger.info(f"going on from step {state.step}")
        pace, evaluation, saving = Pace(run, self._log), Evaluation(self._log, self._callbacks), Checkpoints()
        if state.step:
            clock.start()
        while state.share < 1:
            if is_time_to_split(run):
                del self.step  # with what was recorded, and the model of the first phase
                record_split(split_run(run), self._log, is_first=run.ranks.is_first)
                self.step = Step(state, run.ranks)
            if is_time_to_read(run):
                del self.step
                begin_reading(run)
                self.step = Step(state, run.ranks)
            now, is_new = values(run.config, state.share, state.split_at, phase=state.phase), self.step.is_new
            to_read = state.phase == READING
            batches = run.batches.step(state.step, now.mask_rate, to_read=to_read, pieces=now.pieces)
            state.losses.add(self.step(batches, now))
            state.step += 1
            is_due = state.step % run.config.machine.log_every == 0 or clock.is_old(run.ranks)
            if is_new:
                synchronize(run.device)
                clock.start()
                clock.pause(state.step, run.ranks)
                pace.begin(run)
            elif is_due or clock.is_far(state.step):
                synchronize(run.device)
                clock.read(state.step, run.ranks)
                if is_due:
                    pace(run, now)
            saving.stop_if_asked(run)
            evaluation(run)
            saving(run)
            if state.step == self.stop_after:
                return {}
        del self.step
        return finish(run, self._log)


def _new_model(config: TrainConfig, shape: ModelConfig, inventory: SenseInventory, phase: int) -> PolyLM:
    torch.manual_seed(config.seed)
    return phase_one_model(shape, inventory) if phase == 1 else PolyLM(shape, inventory)


def _with_what_can_be_learned(config: TrainConfig, inventory: SenseInventory, *, has_init: bool) -> TrainConfig:
    """Without the last phase where no word has several senses, so that the others take the whole run."""
    reading = config.reading
    if reading.reading_share == 1 and not has_init:
        raise UserError("only a finished model can learn nothing but to read: name one ({init})", init=None)
    if reading.reading_share == 1 and reading.reading_trains == "all":
        raise UserError(
            "a finished model that only learns to read keeps its senses: reading_trains must be encoders or prediction"
        )
    if config.senses.sense_numbers == "learned":
        if config.senses.start != "split" or has_init:
            raise UserError(
                "numbers of senses are learned at the split: start must be 'split', and a finished model has its own"
            )
        return config
    if len(inventory.poly_words):
        return config
    if reading.reading_share == 1:
        raise UserError("no word of this text may have several senses: there is nothing to learn to read")
    return config.with_changes(reading_share=0.0)


def _of_init(init: Bundle, config: TrainConfig, of_data: SenseInventory) -> SenseInventory:
    """The senses of a finished model; they must be those of the data, unless it only learns to read."""
    inventory = init.network.inventory
    if inventory.n_words != of_data.n_words or (config.reading.reading_share < 1 and inventory != of_data):
        raise UserError(
            "the model to go on from has other words or senses than the data (or was pruned): prepare the text with "
            "its words ({vocabulary}), train anew, or only teach it to read (reading_share=1)",
            vocabulary=None,
        )
    return inventory
