"""The folder of a run: which run it holds, and whether this is the same one."""

import hashlib
import json
from pathlib import Path
from typing import Any

from polylm.atomic import is_unfinished
from polylm.bundle.bundle import RUN, TRAINING, is_bundle, read_training
from polylm.corpus.shards import PreparedCorpus
from polylm.errors import UserError
from polylm.model.config import ModelConfig
from polylm.text.vocabulary import VOCABULARY
from polylm.training.config import TrainConfig

# What may be changed when a run is taken up again.
CHANGEABLE = {"checkpoint_every", "checkpoint_steps", "keep", "log_every", "learning_rate", "muon_rate", "clip"}
CHANGEABLE |= {"confusion_tokens", "substitute_tokens", "reading_rate"}
# What runs did that were begun before there were these.
_BEFORE = {"reading_share": 0.0, "reads_unmasked": False, "sense_numbers": "given"}


def describe(config: TrainConfig, model_config: ModelConfig, corpus: PreparedCorpus, *, init: bool) -> dict[str, Any]:
    """A run as its run.json has it: settings, words and text, and whether it goes on from a model."""
    return {
        "train": config.to_dict(),
        "model": model_config.to_dict(),
        "init": init,
        "vocabulary": hashlib.sha256((corpus.folder / VOCABULARY).read_bytes()).hexdigest(),
        "text": [shard["sha256"] for shard in corpus.manifest["shards"]],
    }


def is_finished(out: Path) -> bool:
    """Whether the folder holds the finished model of a run."""
    return is_bundle(out) and (out / TRAINING).is_file()


def summary_of(out: Path) -> dict[str, Any]:
    """The summary of a run that is done."""
    summary = read_training(out)
    if summary is None:
        raise UserError(f"{out / TRAINING} is damaged: remove it, and {{resume}} ends the run again", resume=True)
    taught = summary.get("reading")  # a finished model that was taught to read has the summary of both runs
    return taught if isinstance(taught, dict) else summary


def settings_before(out: Path) -> dict[str, Any]:
    """Settings of the run that a folder holds, as they were last; nothing where the trainer will say what is wrong."""
    try:
        run = json.loads((out / RUN).read_text(encoding="utf-8"))
        return {**_BEFORE, **run["model"], **run["train"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def check(out: Path, run: dict[str, Any], *, resume: bool) -> None:
    """A folder is for a run if it is empty, or if it holds this very run and that is to go on."""
    path = out / RUN
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file: name a folder")
    if path.exists():
        if not resume:
            raise UserError(f"{out} holds a run already: go on with {{resume}}, or name another folder", resume=True)
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
            begun_with = before[part].get(name, _BEFORE.get(name, value))
            if name not in CHANGEABLE and begun_with != value:
                raise UserError(
                    f"{out} was begun with {name} = {begun_with!r}, not {value!r}: "
                    "give the same settings, or another folder"
                )
    if before["vocabulary"] != now["vocabulary"]:
        raise UserError(f"{out} was begun with another vocabulary: give the same data, or another folder")
    if before.get("text", now["text"]) != now["text"]:
        raise UserError(f"{out} was begun with other text: give the same data, or another folder")
    if before["init"] != now["init"]:
        begun = "from" if before["init"] else "without"
        raise UserError(f"{out} was begun {begun} a model: give {{init}} as you did then", init=None)
