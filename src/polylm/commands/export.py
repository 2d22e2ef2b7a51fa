"""export: senses for other programs."""

import logging
import warnings
from pathlib import Path
from typing import Annotated

import typer

from polylm.commands.options import ModelDir

app = typer.Typer(help="Write senses for other programs.", no_args_is_help=True)


@app.command()
def word2vec(
    path: Annotated[Path, typer.Argument(help="The file to write; .bin for the binary form.")],
    model: ModelDir = None,
) -> None:
    """Write all sense vectors as a word2vec file, which gensim opens."""
    import polylm
    from polylm.atomic import check_writable
    from polylm.explore.export import word2vec

    check_writable(path)
    vectors = polylm.load(model, device="cpu").vectors
    word2vec(vectors, path)
    print(f"{path}: {len(vectors):,} senses")


@app.command()
def onnx(
    path: Annotated[Path, typer.Argument(help="The file to write; what its numbers mean is written beside it.")],
    model: ModelDir = None,
) -> None:
    """Write the network as ONNX: the same senses under onnxruntime, without torch."""
    import polylm
    from polylm.atomic import check_writable
    from polylm.explore.export import onnx

    check_writable(path)
    loaded = polylm.load(model, device="cpu")
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # of its workings; this process does nothing else
    warnings.simplefilter("ignore")
    beside = onnx(loaded.network, loaded.vocabulary, path)
    print(f"{path}: words, masked -> q_d, q_p; {beside}: words and senses")
