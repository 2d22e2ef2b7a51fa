"""Options that several commands have."""

import sys
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from polylm.errors import UserError
from polylm.reading.layers import Layers

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")]
Surface = Annotated[bool, typer.Option("--surface", help="Read words as they stand: no tags, no lemmas, any language.")]
TaggerName = Annotated[
    Literal["english", "spacy"], typer.Option(help="The package's own tagger, or spaCy's (slower; polylm[spacy]).")
]
ModelDir = Annotated[Path | None, typer.Option("--model", help="The folder of a model.")]
ReadOutName = Annotated[
    Layers,
    typer.Option(
        "--read-out",
        "--source",
        help="Which layers say what words mean: all in one pass (reading), with words masked (both), or one of them.",
    ),
]


def share(parameter: typer.CallbackParam, value: float | None) -> float | None:
    """From 0 to 1; looked at before anything is loaded."""
    if value is not None and not 0 <= value <= 1:
        raise UserError(f"--{parameter.name} must be between 0 and 1, not {value:g}")
    return value


Granularity = Annotated[
    float | None,
    typer.Option(callback=share, help="1 keeps every sense apart, less merges those that are confused."),
]
Neighbours = Annotated[int, typer.Option("--topn", min=1, help="Neighbours of each sense.")]
Corpus = Annotated[
    Path | None, typer.Option(help="Text, a file or a folder, plain or compressed: show clear sentences from it.")
]
NExamples = Annotated[int, typer.Option("--examples", min=1, help="Example sentences of each sense, with --corpus.")]
DeviceName = Annotated[Literal["auto", "cpu", "cuda"], typer.Option("--device", help="Where the network runs.")]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Threads of the network; as many as the machine has by default.")
]
AsIs = Annotated[bool, typer.Option("--as-is", help="A form such as dogs has its own senses, not dog's.")]


def use_threads(n: int | None) -> None:
    """Let the network have so many threads, if a number was given."""
    if n is not None:
        import torch

        torch.set_num_threads(n)


def stop(message: str, status: int) -> NoReturn:
    """Say why the command ends before its work is done."""
    print(f"polylm: {message}", file=sys.stderr)
    raise typer.Exit(status)
