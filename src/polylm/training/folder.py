"""The folder of a run: which run it holds, and whether this is the same one."""

import hashlib
import json
from pathlib import Path
from typing import Any

from polylm.atomic import is_unfinished
from polylm.corpus.shards import PreparedCorpus
from polylm.errors import UserError
from polylm.model.config import ModelConfig
from polylm.training.config import TrainConfig

RUN, FINISHED = "run.json", "training.json"
# What may be changed when a run is taken up again.
CHANGEABLE = {"checkpoint_every", "checkpoint_steps", "keep", "log_every", "learning_rate", "muon_rate", "clip"}
CHANGEABLE |= {"confusion_tokens", "substitute_tokens"}


def describe(config: TrainConfig, model_config: ModelConfig, corpus: PreparedCorpus, *, init: bool) -> dict[str, Any]:
    """A run as its run.json has it: settings, words and text, and whether it goes on from a model."""
    return {
        "train": config.to_dict(),
        "model": model_config.to_dict(),
        "init": init,
        "vocabulary": hashlib.sha256((corpus.folder / "vocabulary.tsv").read_bytes()).hexdigest(),
        "text": [shard["sha256"] for shard in corpus.manifest["shards"]],
    }


def finished(out: Path) -> dict[str, Any]:
    """The summary of a run that is done."""
    try:
        summary: dict[str, Any] = json.loads((out / FINISHED).read_text(encoding="utf-8"))
    except ValueError:
        raise UserError(f"{out / FINISHED} is damaged: remove it, and --resume ends the run again") from None
    return summary


def check(out: Path, run: dict[str, Any], *, resume: bool) -> None:
    """A folder is for a run if it is empty, or if it holds this very run and that is to go on."""
    path = out / RUN
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file: name a folder")
    if path.exists():
        if not resume:
            raise UserError(f"{out} holds a run already: go on with --resume, or name another folder")
        try:
            _check_same(out, json.loads(path.read_text(encoding="utf-8")), run)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, UserError):
                raise
            raise UserError(f"{path} does not describe a run: {error!r}") from None
    elif out.exists() and not all(map(is_unfinished, out.iterdir())):
        raise UserError(f"{out} holds other files: name a new folder")


def _check_same(out: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    for part in ("train", "model"):
        for name, value in now[part].items():
            if name not in CHANGEABLE and before[part].get(name) != value:
                raise UserError(
                    f"{out} was begun with {name} = {before[part].get(name)!r}, not {value!r}: "
                    "give the same settings, or another folder"
                )
    if before["vocabulary"] != now["vocabulary"]:
        raise UserError(f"{out} was begun with another vocabulary: give the same data, or another folder")
    if before.get("text", now["text"]) != now["text"]:
        raise UserError(f"{out} was begun with other text: give the same data, or another folder")
    if before["init"] != now["init"]:
        raise UserError(f"{out} was begun {'from' if before['init'] else 'without'} a model: say --init as then")
