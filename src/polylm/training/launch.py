"""From the words of a command to a run: defaults, then a file of settings, then flags; and the dry run."""

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from polylm.device import choose_device
from polylm.errors import UserError
from polylm.model.config import ModelConfig
from polylm.model.polylm import PolyLM
from polylm.training import distributed
from polylm.training.config import RATES, TrainConfig, defaults_for, parse_budget
from polylm.training.folder import FINISHED, RUN, finished
from polylm.training.trainer import Callbacks, Trainer

_MODEL_FIELDS = {field.name for field in fields(ModelConfig)}
_SETTINGS = _MODEL_FIELDS | {field.name for field in fields(TrainConfig)}


def train(
    data: Path,
    out: Path,
    *,
    size: str | None = None,
    budget: str | None = None,
    steps: int | None = None,
    resume: bool = False,
    init: Path | None = None,
    config: Path | None = None,
    settings: list[str] | None = None,
    flags: dict[str, Any] | None = None,
    checkpoint_every: str | None = None,
    watch: tuple[str, ...] = (),
    evaluate: Callable[[int], Callable[[PolyLM], dict[str, float]]] | None = None,
    dry_run: bool = False,
    device: str = "auto",
    quiet: bool = False,
) -> dict[str, Any]:
    """What `polylm train` does; the summary of the run."""
    kind = choose_device(device).type
    changes = {**_from_file(config), **_from_settings(settings or []), **(flags or {})}
    if budget is not None or steps is not None:  # whatever a file says
        changes["seconds"] = None if budget is None else parse_budget(budget)
        changes["steps"] = steps
    if checkpoint_every is not None:
        changes["checkpoint_every"] = parse_budget(checkpoint_every)
    if dry_run and "RANK" in os.environ:
        raise UserError("--dry-run is for one process: leave torchrun away")
    if resume and (out / FINISHED).is_file():
        return finished(out)
    if dry_run:
        changes["steps"], changes["seconds"] = 8, None
    before = _run_before(out) if resume else {}
    known = {**before, **changes}
    if known.get("steps") is None and known.get("seconds") is None:
        raise UserError("say how long to train: --budget 25m, or --steps N")
    network = _load(init, data)
    shape = changes if size or network else known
    size, model_config = _shape(size, {k: v for k, v in shape.items() if k in _MODEL_FIELDS}, network)
    chosen = {**defaults_for(size, kind), **known}
    chosen = {name: value for name, value in chosen.items() if name not in _MODEL_FIELDS}
    train_config = TrainConfig(steps=1).with_changes(**{"steps": None, "seconds": None, **chosen})
    callbacks = Callbacks(evaluate=evaluate(model_config.max_length) if evaluate else None, watch=watch)
    try:
        if dry_run:
            return _dry_run(data, model_config, train_config, kind, network, callbacks, quiet)
        trainer = Trainer(
            data,
            out,
            model_config,
            train_config,
            device=kind,
            resume=resume,
            init=network,
            callbacks=callbacks,
            quiet=quiet,
        )
        return trainer.run()
    finally:
        distributed.stop()


def _shape(size: str | None, given: dict[str, Any], network: PolyLM | None) -> tuple[str, ModelConfig]:
    """The size whose defaults are right, and the shape; a model that is gone on from has its own."""
    if network is None:
        size = size or "base"
        return size, getattr(ModelConfig, size)(**given)
    own = network.config
    for name, value in given.items():
        if replace(own, **{name: value}) != own:
            raise UserError(f"the model of --init has {name} = {getattr(own, name)!r}: it cannot be {value!r}")
    like = min(RATES, key=lambda name: abs(getattr(ModelConfig, name)().d_model - own.d_model))
    if size not in (None, like):
        raise UserError(f"the model of --init has a size of its own, like {like}: leave --size {size} away")
    return like, own


def _dry_run(
    data: Path,
    model_config: ModelConfig,
    config: TrainConfig,
    kind: str,
    init: PolyLM | None,
    callbacks: Callbacks,
    quiet: bool,
) -> dict[str, Any]:
    """A few steps of everything: both phases, the split, evaluation, a checkpoint, taking it up again, the end."""
    small = config.with_changes(
        batch_tokens=8 * model_config.max_length * config.accumulate,
        compile=False,
        log_every=1,
        checkpoint_steps=3,
        split_vectors=8,
        confusion_tokens=1024,
        substitute_tokens=1024,
    )
    with tempfile.TemporaryDirectory() as folder:

        def begin(*, resume: bool) -> Trainer:
            return Trainer(
                data,
                Path(folder) / "run",
                model_config,
                small,
                device=kind,
                resume=resume,
                init=init,
                callbacks=callbacks,
                quiet=quiet,
            )

        begun = begin(resume=False)
        begun.stop_after = 4
        begun.run()
        return begin(resume=True).run()


def _run_before(out: Path) -> dict[str, Any]:
    """Settings of a run that is taken up, as they were last: what was said once need not be said again."""
    try:
        run = json.loads((out / RUN).read_text(encoding="utf-8"))
        settings = {**run["model"], **run["train"]}
        return {name: settings[name] for name in _SETTINGS if name in settings}
    except (OSError, ValueError, KeyError, TypeError):  # there is no run yet, or the trainer says what is wrong with it
        return {}


def _load(folder: Path | None, data: Path) -> PolyLM | None:
    """The network to go on from; its words must be those of the data."""
    from polylm.model.checkpoint import from_pretrained

    if folder is None:
        return None
    network = from_pretrained(folder)[0]
    try:
        mine, theirs = (_words(path / "vocabulary.tsv") for path in (folder, data))
    except OSError as error:
        raise UserError(f"{error.filename} cannot be read: {error.strerror}") from None
    if mine != theirs:
        raise UserError(f"{folder} has other words than {data}: --init needs data with the words of the model")
    return network


def _words(path: Path) -> list[bytes]:
    return [line.split(b"\t")[0] for line in path.read_bytes().split(b"\n")]


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
    return _known(values, str(path))


def _from_settings(settings: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UserError(f"--set {setting}: write NAME=VALUE")
        try:
            values[name.strip()] = json.loads(text)
        except ValueError:
            values[name.strip()] = text.strip()
    return _known(values, "--set")


def _known(values: dict[str, Any], where: str) -> dict[str, Any]:
    unknown = sorted(set(values) - _SETTINGS)
    if unknown:
        raise UserError(f"{where}: there is no setting {unknown[0]!r}; there are {', '.join(sorted(_SETTINGS))}")
    return values
