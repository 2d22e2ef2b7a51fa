"""bench: how fast things are on this machine."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from polylm.commands.inputs import input_lines
from polylm.commands.options import DeviceName, Json, ModelDir
from polylm.commands.render import print_json, print_table
from polylm.errors import UserError

app = typer.Typer(help="Measure how fast things are on this machine.", no_args_is_help=True)


@app.command()
def train(
    data: Annotated[Path | None, typer.Argument(help="A prepared corpus; random words by default.")] = None,
    size: Annotated[str, typer.Option(help="Which sizes: tiny,small,base,large.")] = "",
    seconds: Annotated[float, typer.Option(min=0.01, help="Seconds for each measurement.")] = 4.0,
    device: DeviceName = "auto",
    as_json: Json = False,
) -> None:
    """Measure a training step: tokens a second, memory, share of the arithmetic bound, beside a naive step."""
    import torch

    from polylm.bench.training import COLUMNS, measure, rows_for_people
    from polylm.device import choose_device
    from polylm.training.config import defaults_for

    kind = choose_device(device).type
    sizes = tuple(name.strip() for name in (size or ("base" if kind == "cuda" else "tiny")).split(","))
    for name in sizes:
        defaults_for(name, kind)
    rows = measure(data, sizes, device=kind, seconds=seconds)
    if as_json:
        print_json({"torch": torch.__version__, "rows": rows})
        return
    print_table(COLUMNS, rows_for_people(rows), numbers=COLUMNS[2:])


@app.command()
def tag(
    text: Annotated[Path | None, typer.Argument(help="A text file; random words by default.")] = None,
    model: ModelDir = None,
    seconds: Annotated[float, typer.Option(min=0.01, help="Seconds for each measurement.")] = 10.0,
    precision: Annotated[
        Literal["auto", "float32", "bfloat16", "int8"], typer.Option(help="What to compute in.")
    ] = "auto",
    device: DeviceName = "auto",
    as_json: Json = False,
) -> None:
    """Measure tagging: loading, a sentence, a long text, memory; beside BERT-base where transformers is installed."""
    if text is not None and not text.is_file():
        raise UserError(f"there is no file {text}")
    sentences = None if text is None else [line for line in input_lines(str(text)) if line.strip()]
    from polylm.bench.tagging import measure, rows_for_people

    result = measure(model, sentences, device=device, precision=precision, seconds=seconds)
    if as_json:
        print_json(result)
    else:
        print_table(("what", "figure"), rows_for_people(result), numbers=("figure",))
