"""Pictures. So far: the course of a training run."""

import json
from pathlib import Path
from typing import Any

from polylm.errors import UserError

SUFFIXES = (".png", ".svg", ".pdf")


def plot_run(folder: str | Path, out: str | Path) -> None:
    """Losses, held-out likelihood, senses and speed over the share of the run that was done."""
    path, out = Path(folder) / "log.jsonl", Path(out)
    if out.suffix.lower() not in SUFFIXES:
        raise UserError(f"{out} is no picture: its name must end with {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise UserError(f"{folder} holds no run: it has no {path.name}")
    records = _records(path)
    steps = [record for record in records if "lm" in record]
    looks = [record for record in records if "held_out" in record and "share" in record]
    if not steps:
        raise UserError(f"{path} has no steps yet")
    figure, axes = _figure()
    loss, senses, speed = axes
    shares = [record["share"] for record in steps]
    loss.plot(shares, [record["lm"] for record in steps], label="training", linewidth=1)
    loss.plot([r["share"] for r in looks], [r["held_out"] for r in looks], "o-", label="held-out", markersize=3)
    loss.set_ylabel("negative log likelihood")
    loss.legend(frameon=False)
    senses.plot([r["share"] for r in looks], [r["effective_senses"] for r in looks], "o-", markersize=3)
    senses.set_ylabel("effective senses a word")
    senses.set_ylim(bottom=0)
    speed.plot(shares, [record["tokens_per_s"] for record in steps], linewidth=1)
    speed.set_ylabel("tokens a second")
    speed.set_ylim(bottom=0)
    speed.set_xlabel("share of the run")
    split = next((record for record in steps if record["phase"] == 2), None)
    if split is not None and steps[0]["phase"] == 1:
        for axis in axes:
            axis.axvline(split["share"], color="0.7", linewidth=1, linestyle=":")
    figure.savefig(out)


def _records(path: Path) -> list[dict[str, Any]]:
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            records.append(json.loads(line))
        except ValueError:
            continue  # cut off by a kill
    return records


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("drawing needs matplotlib: pip install 'polylm[plot]'") from None
    figure = Figure(figsize=(7, 8), layout="constrained")
    return figure, figure.subplots(3, 1, sharex=True)
