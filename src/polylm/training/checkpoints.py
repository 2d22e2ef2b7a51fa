"""Checkpoints of a run: `DIR/checkpoints/step-N/`, everything that it takes to go on, written whole or not at all.

Safetensors and JSON. A checkpoint is written beside and renamed into place; what a killed process left half written is
removed when the next one starts.
"""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from polylm.atomic import is_unfinished
from polylm.errors import UserError

CHECKPOINTS = "checkpoints"
TENSORS, META = "state.safetensors", "state.json"


def save(out: Path, step: int, tensors: Mapping[str, Tensor], meta: Mapping[str, Any], keep: int) -> Path:
    """Write a checkpoint and remove all but the last `keep`."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    folder = out / CHECKPOINTS
    final, work = folder / f"step-{step}", folder / f".step-{step}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, work / TENSORS)
        (work / META).write_text(json.dumps(dict(meta)), encoding="utf-8")
        for path in (work / TENSORS, work / META, work):
            _to_disk(path)
        shutil.rmtree(final, ignore_errors=True)
        work.rename(final)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(work, ignore_errors=True)
        last = latest(out)
        kept = f"{last} is whole: make room and go on with {{resume}}" if last else "there is no earlier one"
        raise UserError(f"the checkpoint of step {step} could not be written ({error}); {kept}", resume=True) from None
    for old in steps(out)[:-keep]:
        (folder / f"step-{old}" / META).unlink(missing_ok=True)  # no longer whole, whatever happens now
        shutil.rmtree(folder / f"step-{old}", ignore_errors=True)
    return final


def folder_of(out: Path, step: int) -> Path:
    """Where the checkpoint of a step lies."""
    return out / CHECKPOINTS / f"step-{step}"


def steps(out: Path) -> list[int]:
    """The steps that have a whole checkpoint, in order."""
    names = [path.name for path in (out / CHECKPOINTS).glob("step-*") if (path / META).is_file()]
    return sorted(int(name.removeprefix("step-")) for name in names if name.removeprefix("step-").isdigit())


def latest(out: Path) -> Path | None:
    """The last checkpoint of a run."""
    found = steps(out)
    return folder_of(out, found[-1]) if found else None


def load(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors, on the CPU, and the rest."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
        return load_file(folder / TENSORS), meta
    except (OSError, ValueError, SafetensorError) as error:
        raise UserError(f"{folder} cannot be read: {error}; remove it to go on from the one before") from None


def clean(out: Path) -> None:
    """Remove what was half written, or half removed."""
    for path in [*(out / CHECKPOINTS).glob(".step-*"), *(out / CHECKPOINTS).glob("step-*")]:
        if path.name.startswith(".") or not (path / META).is_file():
            shutil.rmtree(path, ignore_errors=True)
    for path in out.iterdir():
        if path.is_file() and is_unfinished(path):
            path.unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
