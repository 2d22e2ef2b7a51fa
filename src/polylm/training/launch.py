"""From what a person asks for to a run: defaults, then a file of settings, then single ones; and the dry run."""

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from polylm.bundle.bundle import Bundle
from polylm.corpus.shards import PreparedCorpus
from polylm.device import choose_device
from polylm.errors import UserError
from polylm.model.config import ModelConfig
from polylm.model.polylm import PolyLM
from polylm.training import distributed, folder
from polylm.training.config import RATES, SETTINGS, TrainConfig, defaults_for, parse_time
from polylm.training.observers import Callbacks
from polylm.training.trainer import Trainer

_SHAPE = {one.name for one in fields(ModelConfig)} - {"reads_unmasked"}
_KNOWN = _SHAPE | SETTINGS


@dataclass(frozen=True)
class TrainRequest:
    """What `polylm train` is asked for. `evaluate` is given the length of a window, and gives the scores of a model."""

    data: Path
    out: Path
    size: str | None = None
    budget: str | None = None
    steps: int | None = None
    resume: bool = False
    init: Path | None = None
    config: Path | None = None  # a JSON object of settings, or the run.json of another run
    settings: Mapping[str, Any] = field(default_factory=dict)  # before those of the file
    checkpoint_every: str | None = None
    watch: tuple[str, ...] = ()
    evaluate: Callable[[int], Callable[[PolyLM], dict[str, float]]] | None = None
    dry_run: bool = False
    device: str = "auto"

    def __post_init__(self) -> None:
        _check_known(self.settings)
        for name, time in (("budget", self.budget), ("checkpoint_every", self.checkpoint_every)):
            if time is not None:
                parse_time(time, name)
        if self.budget is not None and self.steps is not None:
            raise UserError("a run has one budget: give {budget} or {steps}, not both", budget=None, steps=None)
        if self.dry_run and "RANK" in os.environ:
            raise UserError("a dry run ({dry_run}) is for one process: start it without torchrun", dry_run=True)

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to do."""
        return self.resume and not self.dry_run and folder.is_finished(self.out)

    def run(self) -> dict[str, Any]:
        """Train; the summary of the run."""
        if self.is_done:
            return folder.summary_of(self.out)
        kind = choose_device(self.device).type
        changes = self._changes()
        before = folder.settings_before(self.out) if self.resume else {}
        known = {**{name: value for name, value in before.items() if name in _KNOWN}, **changes}
        if known.get("steps") is None and known.get("seconds") is None:
            raise UserError(
                "say how long to train: a time such as {budget}, or a number of {steps}", budget="25m", steps=None
            )
        init = None if self.init is None else _bundle_for(self.init, self.data)
        shape = changes if self.size or init else known
        given = {name: value for name, value in shape.items() if name in _SHAPE}
        size, model_config = _shape(self.size, given, None if init is None else init.network.config)
        chosen = {name: value for name, value in {**defaults_for(size, kind), **known}.items() if name not in _SHAPE}
        config = TrainConfig.flat(**chosen)
        evaluate = None if self.evaluate is None else self.evaluate(model_config.max_length)
        callbacks = Callbacks(evaluate=evaluate, watch=self.watch)
        begin = partial(Trainer, self.data, device=kind, init=init, callbacks=callbacks)
        try:
            if self.dry_run:
                return _dry_run(begin, model_config, config)
            return begin(self.out, model_config, config, resume=self.resume).train()
        finally:
            distributed.stop()

    def _changes(self) -> dict[str, Any]:
        """What is said anew: single settings before the file's."""
        changes = {**_from_file(self.config), **self.settings}
        if self.budget is not None or self.steps is not None:  # whatever a file says
            changes["seconds"] = None if self.budget is None else parse_time(self.budget)
            changes["steps"] = self.steps
        if self.checkpoint_every is not None:
            changes["checkpoint_every"] = parse_time(self.checkpoint_every)
        if self.dry_run:
            changes["steps"], changes["seconds"] = 8, None
        return changes


def _shape(size: str | None, given: dict[str, Any], init: ModelConfig | None) -> tuple[str, ModelConfig]:
    """The size whose defaults are right, and the shape; a model that is gone on from has its own."""
    if init is None:
        size = size or "base"
        defaults_for(size, "cpu")  # rejects unknown sizes
        return size, getattr(ModelConfig, size)(**given)
    for name, value in given.items():
        if replace(init, **{name: value}) != init:
            raise UserError(
                f"the model to go on from ({{init}}) has {name} = {getattr(init, name)!r}: it cannot be {value!r}",
                init=None,
            )
    like = min(RATES, key=lambda name: abs(getattr(ModelConfig, name)().d_model - init.d_model))
    if size not in (None, like):
        raise UserError(
            f"the model to go on from ({{init}}) has a size of its own, like {like}: leave out {{size}}",
            init=None,
            size=size,
        )
    return like, init


def _dry_run(begin: Callable[..., Trainer], shape: ModelConfig, config: TrainConfig) -> dict[str, Any]:
    """A few steps of everything: all phases, the split, evaluation, a checkpoint, taking it up again, the end."""
    small = config.with_changes(
        batch_tokens=8 * shape.max_length * config.batches.accumulate,
        **{"compile": False, "log_every": 1, "checkpoint_steps": 3, "split_vectors": 8},
        **{"confusion_tokens": 1024, "substitute_tokens": 1024},
    )
    with tempfile.TemporaryDirectory() as place:
        begun = begin(Path(place) / "run", shape, small)
        begun.stop_after = 4
        begun.train()
        return begin(Path(place) / "run", shape, small, resume=True).train()


def _bundle_for(model: Path, data: Path) -> Bundle:
    """The model to go on from; its words must be those of the data."""
    bundle = Bundle.read(model)
    if bundle.vocabulary.words != PreparedCorpus(data, verify=False).vocabulary().words:
        raise UserError(
            f"{model} has other words than {data}: to go on from a model ({{init}}) the data must have its words",
            init=None,
        )
    return bundle


def _from_file(path: Path | None) -> dict[str, Any]:
    """A JSON object of settings; or the run.json of another run."""
    if path is None:
        return {}
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"there is no file {path}") from None
    except (ValueError, IsADirectoryError) as error:
        raise UserError(f"{path} is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise UserError(f"{path} is not a JSON object of settings")
    if isinstance(values.get("train"), dict) and isinstance(values.get("model"), dict):
        values = {**values["model"], **values["train"]}
        values.pop("reads_unmasked", None)
    _check_known(values, f"{path}: ")
    return values


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """NAME=VALUE, where the value is JSON or else text."""
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UserError(f"a setting is NAME=VALUE, not {setting!r} ({{set}})", set=None)
        try:
            values[name.strip()] = json.loads(text)
        except ValueError:
            values[name.strip()] = text.strip()
    return values


def _check_known(values: Mapping[str, Any], where: str = "") -> None:
    unknown = sorted(set(values) - _KNOWN)
    if unknown:
        raise UserError(f"{where}there is no setting {unknown[0]!r}; there are {', '.join(sorted(_KNOWN))}")
