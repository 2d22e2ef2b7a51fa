"""train: a prepared corpus to a model."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from polylm.commands.options import DeviceName, Json, stop
from polylm.commands.render import print_json


def train(
    data: Annotated[Path, typer.Argument(help="A folder made by polylm prepare.")],
    out: Annotated[Path, typer.Option(help="The folder of the run, and of the model at its end.")],
    size: Annotated[
        Literal["tiny", "small", "base", "large"] | None, typer.Option(help="Model size; base by default.")
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Time to train for: 25m, 90s, 1h30m.")] = None,
    steps: Annotated[int | None, typer.Option(help="Or a number of steps.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run, if there is one.")] = False,
    init: Annotated[Path | None, typer.Option(help="Continue from this model instead of starting afresh.")] = None,
    config: Annotated[Path | None, typer.Option(help="JSON with settings of the run and the model.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="One setting: name=value; may be repeated.", metavar="NAME=VALUE")
    ] = None,
    learning_rate: Annotated[float | None, typer.Option(help="The highest learning rate.")] = None,
    batch_tokens: Annotated[int | None, typer.Option(help="Tokens a step, over all devices.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed gives another model.")] = None,
    checkpoint_every: Annotated[str | None, typer.Option(help="Time between checkpoints: 5m.")] = None,
    watch: Annotated[str, typer.Option(help="Words whose senses are shown now and then: bank,rock.")] = "",
    evaluate_on: Annotated[
        Path | None, typer.Option("--evaluate", help="A file as for `polylm eval jsonl`, scored now and then.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Try every stage for a few seconds and keep nothing.")
    ] = False,
    device: DeviceName = "auto",
    as_json: Json = False,
) -> None:
    """Train a model. A run that was killed goes on with --resume; torchrun -m polylm train … uses several devices."""
    from polylm.commands.console import shown_log
    from polylm.evaluation.run import scores_in_training
    from polylm.training.launch import TrainRequest, parse_settings
    from polylm.training.signals import Stopped

    given = {"learning_rate": learning_rate, "batch_tokens": batch_tokens, "seed": seed}
    request = TrainRequest(
        data,
        out,
        size=size,
        budget=budget,
        steps=steps,
        resume=resume,
        init=init,
        config=config,
        settings={**parse_settings(settings or []), **{name: v for name, v in given.items() if v is not None}},
        checkpoint_every=checkpoint_every,
        watch=tuple(word.strip() for word in watch.split(",") if word.strip()),
        evaluate=None if evaluate_on is None else scores_in_training(evaluate_on, data),
        dry_run=dry_run,
        device=device,
    )
    if request.is_done and os.environ.get("RANK", "0") == "0":
        print(f"{out} is finished: to train it further, name another folder, and --init {out}", file=sys.stderr)
    try:
        with shown_log():
            summary = request.run()
    except Stopped as stopped:
        stop(f"stopped; {stopped.folder} holds the state: go on with --resume", 128 + stopped.number)
    if as_json:
        print_json(summary)
    elif summary:
        print(
            f"{out}: {summary['steps']:,} steps, {summary['tokens']:,} tokens in {summary['seconds']:,.0f} s; "
            f"held-out NLL {summary['held_out']:.3f}, {summary['effective_senses']:.2f} effective senses"
        )
