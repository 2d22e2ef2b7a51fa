"""The loop: a budget, two phases with a split between them, checkpoints, resuming, several processes.

With steps as budget, what a step does depends on the seed, the number of the step and the state alone. So a run that is
killed and taken up again has, on the CPU, the very weights of one that was not.
"""

import json
import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from polylm.atomic import locked, write_bytes
from polylm.corpus.shards import PreparedCorpus
from polylm.device import choose_device
from polylm.errors import UserError
from polylm.model.checkpoint import save_pretrained
from polylm.model.config import ModelConfig
from polylm.model.contextualizer import Transformer
from polylm.model.granularity import Granularity, count_confusion
from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM
from polylm.model.substitutes import count_substitutes
from polylm.model.wordlists import N_SUBSTITUTES, WORDLISTS, WordLists
from polylm.symbols import LINE, MASK, PAD
from polylm.text.lemmatizer import is_word
from polylm.training import distributed, folder, state
from polylm.training.batches import Batch, Batches, Text
from polylm.training.clock import Clock
from polylm.training.config import TrainConfig
from polylm.training.folder import FINISHED, RUN
from polylm.training.graph import StepGraph
from polylm.training.monitor import (
    Monitor,
    flops_per_token,
    measured_peak,
    neighbours,
    sense_counts,
    synchronize,
)
from polylm.training.optimizer import Optimizer
from polylm.training.schedule import Values, values
from polylm.training.signals import Signals, Stopped
from polylm.training.split import cluster, collect, phase_one_model, split, split_state

HELD_OUT_TOKENS = 1 << 18  # at most, and no more than eight batches
SPIKE = 1.5  # nats above the best mean so far
ENOUGH = 1000  # targets that such a mean is of


@dataclass(frozen=True)
class Callbacks:
    """What the command line hands in: scores of a model at intervals, and words whose neighbours are shown."""

    evaluate: Callable[[PolyLM], dict[str, float]] | None = None
    watch: tuple[str, ...] = ()


class Trainer:
    """One run into one folder. `run` trains to the end of the budget and writes the model."""

    def __init__(
        self,
        data: str | Path,
        out: str | Path,
        model_config: ModelConfig,
        config: TrainConfig,
        *,
        device: str = "auto",
        resume: bool = False,
        init: PolyLM | None = None,
        callbacks: Callbacks | None = None,
        quiet: bool = False,
    ) -> None:
        kind = choose_device(device).type
        self.ranks = distributed.start(kind)
        self.device = torch.device(kind, self.ranks.local_rank) if kind == "cuda" else torch.device(kind)
        self.out, self.model_config, self.config = Path(out), model_config, config
        self.callbacks = callbacks or Callbacks()
        self.corpus = PreparedCorpus(data, verify=self.ranks.is_first)
        self.words, self.counts, n_senses = self.corpus.vocabulary()
        self.inventory = SenseInventory(n_senses, excluded=[PAD, MASK, LINE])
        watch = tuple(word if word in self.words else word.lower() for word in self.callbacks.watch)
        self.callbacks = replace(self.callbacks, watch=watch)
        unknown = set(watch) - set(self.words)
        if unknown:
            raise UserError(f"{sorted(unknown)[0]!r} cannot be watched: it is not in the vocabulary of {data}")
        description = folder.describe(config, model_config, self.corpus, init=init is not None)
        folder.check(self.out, description, resume=resume)
        self.clock = Clock(config)
        self.step, self.phase = 0, 1 if config.start == "split" and init is None else 2
        self.split_at: float | None = None  # share of the run, once it is done
        self._window: list[Tensor] = []  # what steps since the last look at the losses gave
        self.best_loss, self._seen_loss, self._seen_steps = math.inf, 0.0, 0
        self._signals = Signals()
        self._lock = ExitStack()  # of the folder, until the run ends
        self._begun_from = init is not None
        self.stop_after: int | None = None  # a step to stop after, as if the process had been killed
        self._new_model(init)
        found = state.latest(self.out) if resume else None
        if found is not None:
            self._restore(found)
        self._load_text()
        self._take_folder(description)
        self.monitor = Monitor(self.out, quiet=quiet or not self.ranks.is_first, board=self.ranks.is_first)

    # Setting up

    @property
    def finished(self) -> bool:
        """Whether the folder holds the finished model of this run."""
        return (self.out / FINISHED).is_file()

    def _take_folder(self, description: dict[str, Any]) -> None:
        """Say whose it is, once nothing speaks against the run."""
        self.ranks.barrier()  # every process has looked before one writes
        if self.ranks.is_first:
            self._lock.enter_context(locked(self.out))
            write_bytes(self.out / RUN, (json.dumps(description, indent=2) + "\n").encode())
            state.clean(self.out)
        self.ranks.barrier()

    def _new_model(self, init: PolyLM | None) -> None:
        torch.manual_seed(self.config.seed)
        if init is not None:
            if init.inventory != self.inventory:
                raise UserError(
                    "the model to go on from has other words or senses than the data (or was pruned): prepare the text "
                    "with its vocabulary, or train anew"
                )
            model = init
        elif self.phase == 1:
            model = phase_one_model(self.model_config, self.inventory)
        else:
            model = PolyLM(self.model_config, self.inventory)
        self._use(model.to(self.device))

    def _use(self, model: PolyLM) -> None:
        """Train this model from now on: precision, compilation, optimizer, processes."""
        self._is_new = True  # its first step is compiled, and says nothing of how long a step takes
        self.model = model.train()
        model.defer_shares = True
        model.lambda_logits.requires_grad_(len(model.inventory.poly_words) > 0)
        half = self.config.precision == "bfloat16" or (self.config.precision == "auto" and self.device.type == "cuda")
        follows = getattr(model.c_p, "follows_dtype", False)
        model.compute_dtype = torch.bfloat16 if half and follows else None
        self._autocast = half and not follows
        wanted = self.config.compile if self.config.compile is not None else self.device.type == "cuda"
        if wanted:
            model.compile_parts()
        self.optimizer = Optimizer(model, self.config)
        self.ema = {name: p.detach().clone() for name, p in model.named_parameters()} if self.config.ema > 0 else {}
        self._r, self._lambda = (torch.ones((), device=self.device) for _ in range(2))
        graphs = (
            wanted and self.device.type == "cuda" and self.ranks.n_ranks == 1 and isinstance(model.c_p, Transformer)
        )
        self._work: Callable[[list[Batch]], Tensor] = StepGraph(self._compute) if graphs else self._compute
        self._wrapped: nn.Module = model
        if self.ranks.n_ranks > 1:
            devices = [self.device.index] if self.device.type == "cuda" else None
            with warnings.catch_warnings():  # newer versions of torch have another name for broadcast_buffers
                warnings.simplefilter("ignore", FutureWarning)
                self._wrapped = DistributedDataParallel(
                    model, device_ids=devices, broadcast_buffers=False, gradient_as_bucket_view=True
                )

    def _load_text(self) -> None:
        length = self.model_config.max_length
        text = Text.load(self.corpus, self.config.held_out, length, self.device)
        inventory = self.model.inventory
        self.batches = Batches(
            text,
            self.config,
            length=length,
            n_words=inventory.n_words,
            polysemous=inventory.n_senses > 1,
            predicted=inventory.predicted[inventory.first],
            device=self.device,
            counts=torch.tensor(self.counts),
            rank=self.ranks.rank,
            n_ranks=self.ranks.n_ranks,
        )

    # The loop

    def run(self) -> dict[str, Any]:
        """Train until the budget is spent; the summary of the run. A finished run is left as it is."""
        try:
            if self.finished:
                return folder.finished(self.out)
            with self._signals:
                return self._run()
        finally:
            self.monitor.close()
            self._lock.close()

    def _run(self) -> dict[str, Any]:
        if self.ranks.is_first:
            self.monitor.go_on_from(self.step, split=self.phase == 2)
        if self.step:
            self.monitor.show(f"going on from step {self.step}", always=True)
        self._peak = measured_peak(self.device) if self.ranks.is_first else 1.0
        self._last_checkpoint, self._next_evaluation = time.monotonic(), 0.0
        self._window_started, self._window_step = time.monotonic(), self.step
        if self.step:
            self.clock.start()
        share = self.clock.share(self.step)
        while share < 1:
            if self.phase == 1 and share >= self.config.phase_one:
                self._split()
                share = self.clock.share(self.step)
                self.split_at = share
            now = values(self.config, share, self.split_at)
            self._window.append(self._train_step(now))
            self.step += 1
            log = self.step % self.config.log_every == 0 or self.clock.is_old(self.ranks)
            if self._is_new:
                self._is_new = False
                synchronize(self.device)
                self.clock.start()
                self.clock.pause(self.step, self.ranks)
                self._window_started, self._window_step = time.monotonic(), self.step
            elif log or self.clock.is_far(self.step):
                synchronize(self.device)
                self.clock.read(self.step, self.ranks)
                if log:
                    self._log(now)
            share = self.clock.share(self.step)
            self._look_around(share)
            if self.step == self.stop_after:
                return {}
        return self._finish()

    def _train_step(self, now: Values) -> Tensor:
        """One step; (lm, distinctness, match, gradient norm) stay on the device until they are logged."""
        if self.model_config.dropout or self.model_config.contextualizer != "transformer":
            torch.manual_seed(self.config.seed * 1_000_003 + self.step * 1009 + self.ranks.rank)
        self._r.fill_(now.r)
        self._lambda.fill_(now.lambda_m)
        self.optimizer.set_rate(now.rate)
        result = self._work(list(self.batches.step(self.step, now.mask_rate)))
        if self.ema:
            self._update_ema()
        return result

    def _compute(self, batches: list[Batch]) -> Tensor:
        """What a step does with its batch: nothing here depends on numbers that the processor would have to know."""
        sums = torch.zeros(3, device=self.device)
        for part, batch in enumerate(batches):
            last = part == len(batches) - 1
            wait = nullcontext() if last or self.ranks.n_ranks == 1 else self._wrapped.no_sync()  # type: ignore[operator]
            with wait:
                with torch.autocast(self.device.type, torch.bfloat16, enabled=self._autocast):
                    losses = self._wrapped(
                        *batch.texts, **batch.about, r=self._r, lambda_m=self._lambda, totals=batch.totals
                    )
                # Processes average their gradients; each has its share of one sum.
                (losses.total * self.ranks.n_ranks).backward()
            sums += torch.stack((losses.lm, losses.distinctness, losses.match)).detach()
        norm = self.optimizer.step()
        self.optimizer.zero_grad()
        waiting = self.model.share_sums()
        if waiting is not None:
            self.ranks.sum_(waiting)
            self.model.update_shares()
        return torch.cat((sums, norm.detach().reshape(1)))

    @torch.no_grad()
    def _update_ema(self) -> None:
        step_share = self.clock.share_per_step if self.config.steps is None else 1 / self.config.steps
        weight = min(step_share / self.config.ema, 1.0) if step_share else 1.0
        named = dict(self.model.named_parameters())
        torch._foreach_lerp_(list(self.ema.values()), [named[name].detach() for name in self.ema], weight)

    def _look_at_losses(self) -> tuple[float, ...]:
        """Mean losses and gradient norm since the last look; the run stops if they are no numbers, or far too high."""
        means, n_steps = torch.stack(self._window).mean(dim=0), len(self._window)
        self._window = []
        self.ranks.sum_(means[:3])  # each process has its part
        lm, distinctness, match, norm = means.tolist()
        self._check_loss(lm, norm, n_steps)
        return lm, distinctness, match, norm

    def _log(self, now: Values) -> None:
        lm, distinctness, match, norm = self._look_at_losses()
        seconds = time.monotonic() - self._window_started
        steps = self.step - self._window_step
        self._window_started, self._window_step = time.monotonic(), self.step
        tokens = steps * self.batches.n_rows * self.batches.length / max(seconds, 1e-9)
        needed = flops_per_token(
            self.model_config, self.model.inventory.n_rows, now.mask_rate, phase_one=self.phase == 1
        )
        bound = tokens * needed / self._peak / self.ranks.n_ranks
        share = self.clock.share(self.step)
        if not self.ranks.is_first:
            return
        record = {
            "step": self.step,
            "share": round(share, 6),
            "phase": self.phase,
            "seconds": round(self.clock.elapsed, 3),
            "lm": lm,
            "distinctness": distinctness,
            "match": match,
            "gradient": norm,
            "rate": now.rate,
            "r": now.r,
            "lambda_m": now.lambda_m,
            "mask_rate": now.mask_rate,
            "tokens_per_s": round(tokens),
            "of_bound": round(bound, 4),
        }
        self.monitor.log(record)
        left = self.clock.time_left(self.step)
        self.monitor.show(
            f"{share:6.1%}  step {self.step}  {tokens:,.0f} tokens/s ({bound:.0%} of the bound)  loss {lm:.3f}  "
            f"J_D {distinctness:.3f}  J_M {match:.3f}  r {now.r:.2f}  lambda {now.lambda_m:.3f}  {left} left"
        )

    def _check_loss(self, lm: float, norm: float, n_steps: int) -> None:
        spike = False
        if math.isfinite(lm) and math.isfinite(norm):
            # Means of few targets vary by chance: they are put together until there are enough.
            self._seen_loss, self._seen_steps = self._seen_loss + lm * n_steps, self._seen_steps + n_steps
            if self._seen_steps * self.config.batch_tokens * self.config.mask_rate < ENOUGH:
                return
            lm = self._seen_loss / self._seen_steps
            self._seen_loss, self._seen_steps = 0.0, 0
            spike = lm > self.best_loss + SPIKE and self.clock.share(self.step) > 0.02
            if not spike:
                self.best_loss = min(self.best_loss, lm)
                return
        last = state.latest(self.out)
        kept = f"the last good state is {last}" if last else "there is no earlier state"
        what = (
            f"rose to {lm:.2f}, from {self.best_loss:.2f} at best"
            if spike
            else f"or its gradient is no number ({lm}, {norm})"
        )
        raise UserError(
            f"the loss {what} at step {self.step}: the run was stopped, {kept}. "
            "Go on from it with --resume and a lower --learning-rate"
        )

    def _look_around(self, share: float) -> None:
        """Between steps: signals, evaluations, checkpoints."""
        config = self.config
        number = self._signals.number or 0
        if self.ranks.n_ranks > 1:  # all stop, or none
            number = self.ranks.highest(number, self.device) if self.step % config.log_every == 0 else 0
        if number:
            raise Stopped(number, self._checkpoint())
        if share >= self._next_evaluation and self.step % config.log_every == 0:
            self._evaluate(share)
            self._next_evaluation = (math.floor(share / config.evaluate_every) + 1) * config.evaluate_every
            self.clock.pause(self.step, self.ranks)
        due = time.monotonic() - self._last_checkpoint >= config.checkpoint_every
        if config.checkpoint_steps is not None:
            due = self.step % config.checkpoint_steps == 0
        elif self.ranks.n_ranks > 1:
            due = self.step % config.log_every == 0 and bool(self.ranks.from_first([float(due)])[0])
        if due and share < 1:
            self._checkpoint()

    # The split

    def _split(self) -> None:
        """From one vector a word to its senses. A function of the state: a run that is killed here does it again."""
        if self._window:
            self._look_at_losses()  # a ruined model is not split
        started = time.monotonic()
        before = self.held_out_nll()
        with self._reading():
            # Some words are rare; but reading for the split should take no more than a few parts in a hundred.
            planned = self.config.steps or round(1 / max(self.clock.share_per_step, 1e-6))
            tokens = min(self.config.split_vectors << 18, planned * self.config.batch_tokens // 8)
            clusters = None
            n_senses = self.inventory.n_senses[self.inventory.poly_words].to(self.device)
            if len(n_senses):
                vectors, counts = collect(
                    self.model, self.batches.windows(tokens, 1), self.inventory, self.config.split_vectors, MASK
                )
                clusters = cluster(
                    vectors,
                    counts,
                    n_senses,
                    lead=self.config.split_lead,
                    seed=self.config.seed,
                    random=self.config.split == "random",
                )
        moments = self.optimizer.state()
        torch.manual_seed(self.config.seed + 1)
        model = split(self.model, self.model_config, self.inventory, clusters)
        self.phase = 2
        self._use(model)
        self.optimizer.load(split_state(moments, model))
        self.batches.set_senses(model.inventory.n_senses > 1)
        after = self.held_out_nll()
        if self.ranks.is_first:
            seconds = time.monotonic() - started
            self.monitor.log({"step": self.step, "split": True, "before": before, "after": after, "seconds": seconds})
            self.monitor.show(f"split: held-out NLL {before:.3f} before, {after:.3f} after", always=True)
        self.clock.pause(self.step, self.ranks)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """The model as it reads text: no dropout, no gradient, no compilation for other shapes."""
        self.model.eval()
        stance = torch.compiler.set_stance("force_eager") if hasattr(torch.compiler, "set_stance") else nullcontext()
        with torch.no_grad(), stance, torch.autocast(self.device.type, torch.bfloat16, enabled=self._autocast):
            yield
        self.model.train()

    # Looking at the model

    def held_out_nll(self) -> float:
        """The mean negative log likelihood of masked words of the held-out text."""
        total, n = torch.zeros((), device=self.device), torch.zeros((), device=self.device)
        with self._reading():
            for batch in self.batches.held_out(min(HELD_OUT_TOKENS, 8 * self.config.batch_tokens)):
                losses = self.model(*batch.texts, **batch.about)
                total += losses.lm * losses.n_targets
                n += losses.n_targets
        return float(total / n.clamp(min=1))

    def _evaluate(self, share: float) -> None:
        if not self.ranks.is_first:
            return
        record: dict[str, Any] = {"step": self.step, "share": round(share, 6), "held_out": self.held_out_nll()}
        record |= sense_counts(self.model)
        if self.phase == 2:
            number_of = {word: number for number, word in enumerate(self.words)}
            for word in self.callbacks.watch:
                record[f"watch {word}"] = neighbours(self.model, number_of[word], self.words)
            if self.callbacks.evaluate is not None:
                with self._reading():
                    record |= self.callbacks.evaluate(self.model)
        self.monitor.log(record)
        self.monitor.show(
            f"{share:6.1%}  held-out NLL {record['held_out']:.3f}, {record['effective_senses']:.2f} effective senses, "
            f"{record['dead_senses']:.0%} dead" + (f", AVG {record['eval_avg']:.1%}" if "eval_avg" in record else ""),
            always=True,
        )
        for key, lines in record.items():
            if key.startswith("watch "):
                for line in lines:
                    self.monitor.show(f"        {line}", always=True)

    # State

    def _checkpoint(self) -> Path:
        """Everything, by the first process; the others wait. Never of a state whose losses were not looked at."""
        if self._window:
            self._look_at_losses()
        folder = self.out / state.CHECKPOINTS / f"step-{self.step}"
        if self.ranks.is_first:
            tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
            tensors |= {f"optimizer.{name}": tensor for name, tensor in self.optimizer.state().items()}
            tensors |= {f"ema.{name}": tensor for name, tensor in self.ema.items()}
            meta = {
                "step": self.step,
                "phase": self.phase,
                "elapsed": self.clock.elapsed,
                "share": self.clock.share(self.step),
                "share_per_step": self.clock.share_per_step,
                "split_at": self.split_at,
                "best_loss": self.best_loss if math.isfinite(self.best_loss) else None,
            }
            state.save(self.out, self.step, tensors, meta, self.config.keep)
        self.ranks.barrier()
        self._last_checkpoint = time.monotonic()
        self.clock.pause(self.step, self.ranks)
        return folder

    def _restore(self, folder: Path) -> None:
        tensors, meta = state.load(folder)
        split_since = self.phase == 1 and meta["phase"] == 2
        self.step, self.phase, self.split_at = meta["step"], meta["phase"], meta["split_at"]
        if split_since:
            self._use(PolyLM(self.model_config, self.inventory).to(self.device))
        self.model.load_state_dict(
            {name.removeprefix("model."): tensor for name, tensor in tensors.items() if name.startswith("model.")}
        )
        self.optimizer.load(
            {name.removeprefix("optimizer."): t for name, t in tensors.items() if name.startswith("optimizer.")}
        )
        for name, mean in self.ema.items():
            mean.copy_(tensors[f"ema.{name}"])
        self.best_loss = math.inf if meta["best_loss"] is None else meta["best_loss"]
        self.clock.elapsed = meta["elapsed"]
        self.clock.base_step, self.clock.base_share = self.step, meta["share"]
        self.clock.share_per_step = meta["share_per_step"]

    def _finish(self) -> dict[str, Any]:
        """The finished model in the folder itself: senses in order, confusions and substitutes counted."""
        if self._window:
            self._look_at_losses()
        if self.phase == 1:  # a run so short that the split was not reached
            self._split()
        if self.ranks.from_first([float(state.steps(self.out)[-1:] != [self.step])])[0]:
            self._checkpoint()  # what follows may be killed too
        if self.ema:
            for name, parameter in self.model.named_parameters():
                parameter.data.copy_(self.ema[name])
        self.clock.read(self.step, self.ranks)
        summary: dict[str, Any] = {"steps": self.step, "seconds": round(self.clock.elapsed, 1)}
        summary["tokens"] = self.step * self.batches.n_rows * self.batches.length
        summary["held_out"] = self.held_out_nll()
        summary |= sense_counts(self.model)
        if self.ranks.is_first:
            self.monitor.show("counting confusions and substitutes", always=True)
            self.model.order_senses()
            merging = self._count_confusion()
            files = {name: (self.corpus.folder / name).read_bytes() for name in ("vocabulary.tsv", "text.json")}
            save_pretrained(self.model, self.out, granularity=merging, files=files)
            if self.config.substitute_tokens:
                lists = WordLists(substitutes=self._count_substitutes())
                write_bytes(self.out / WORDLISTS, lists.to_bytes(len(self.words)))
            write_bytes(self.out / FINISHED, (json.dumps(summary, indent=2) + "\n").encode())
            self.monitor.log({"step": self.step, "finished": True, **summary})
        self.ranks.barrier()
        return summary

    def _count_confusion(self) -> Granularity | None:
        if not len(self.model.inventory.poly_words):
            return None
        with self._reading():
            return count_confusion(self.model, self._to_count(self.config.confusion_tokens, 2), MASK)

    def _to_count(self, n_tokens: int, purpose: int) -> Iterator[Any]:
        """Text to count on: no more than the run has learned from, and no further once a signal has come."""
        if not self._begun_from:
            n_tokens = min(n_tokens, self.step * self.batches.n_rows * self.batches.length)
        for texts in self.batches.windows(n_tokens, purpose):
            if self._signals.number:
                raise Stopped(self._signals.number, state.latest(self.out) or self.out)
            yield texts

    def _count_substitutes(self) -> NDArray[np.integer[Any]]:
        candidates = torch.tensor([is_word(word) and word[0].isalnum() for word in self.words])  # no clitics: 's
        texts = self._to_count(self.config.substitute_tokens, 3)
        chances, generator = self.batches.chances, self.batches.generator(3, 4)
        with self._reading():
            found = count_substitutes(
                self.model, texts, MASK, candidates, N_SUBSTITUTES, chances=chances, generator=generator
            )
        table: NDArray[np.integer[Any]] = found.cpu().numpy()
        return table
