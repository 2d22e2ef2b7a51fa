"""Senses for other programs: word2vec files that gensim and its kin open, and the network as ONNX.

The ONNX file takes `words` and `masked`, both (texts, length) ids, and gives `q_d` and `q_p` (texts, length, k): the
senses of each word by the text as it is, and by the text in which some words are masked. A JSON file beside it says
what the numbers are.
"""

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from polylm.atomic import replacing
from polylm.errors import UserError
from polylm.senses.vectors import SenseVectors
from polylm.symbols import LINE_ID, MASK_ID, PAD_ID, UNKNOWN_ID
from polylm.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from polylm.model.polylm import PolyLM

Kind = Literal["text", "binary"]
HOW = (
    "A text is [line, ids..., line], at most max_length long; an inflected word is the id of its lemma and that of its "
    "marker (polylm.TextPipeline reads text so). q[..., i] is sense i of the word there: its key is the word, #, and "
    "numbers[first + i], where first is the sum of n_senses of the words before it. For q_p mask the word itself "
    "(polylm masks every fourth ambiguous word together, so its numbers differ a little). Both read-outs: "
    "q_p**0.6 * q_d**0.4, normalised."
)


def word2vec(vectors: SenseVectors, path: str | Path, *, kind: Kind | None = None) -> None:
    """The directions of all senses under their keys; binary where the name ends with .bin, unless said otherwise."""
    binary = (Path(path).suffix == ".bin") if kind is None else kind == "binary"
    if kind not in (None, "text", "binary"):
        raise UserError(f"{kind!r} is no kind of word2vec file: choose text or binary")
    with replacing(path) as file:
        n, d = vectors.vectors.shape
        file.write(f"{n} {d}\n".encode())
        for key, row in _rows(vectors.keys, vectors.vectors):
            if binary:
                file.write(key.encode() + b" " + row.astype("<f4").tobytes() + b"\n")
            else:
                file.write(f"{key} {' '.join(f'{x:.6g}' for x in row.tolist())}\n".encode())


def _rows(keys: Sequence[str], vectors: NDArray[np.float32]) -> "zip[tuple[str, NDArray[np.float32]]]":
    for key in keys:
        if any(character.isspace() for character in key):
            raise UserError(f"{key!r} has white space in it, which word2vec files cannot hold")
    return zip(keys, vectors, strict=True)


def onnx(network: "PolyLM", vocabulary: Vocabulary, path: str | Path) -> Path:
    """The network in float32, and beside it PATH.json with its words and senses; the JSON file is returned."""
    import torch
    from torch import Tensor, nn

    try:
        import onnxscript  # noqa: F401
    except ImportError:
        raise UserError("writing ONNX needs onnx and onnxscript: pip install 'polylm[onnx]'") from None
    if network.c_d is None:
        raise UserError("this model has no disambiguation layer: it cannot be written as ONNX")
    network = copy.deepcopy(network).float().eval()
    network.compute_dtype = None
    network.keep_inputs()

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, words: Tensor, masked: Tensor) -> tuple[Tensor, Tensor]:
            return self.network.disambiguation_probs(words), self.network.prediction_probs(masked, words)

    length = network.config.max_length
    example = torch.full((2, min(8, length)), MASK_ID, device=network.embeddings.device)
    axes = {0: torch.export.Dim("texts"), 1: torch.export.Dim("length", min=2, max=length)}
    with torch.no_grad():
        program = torch.onnx.export(
            Both().eval(),
            (example, example.clone()),
            dynamo=True,
            dynamic_shapes={"words": axes, "masked": axes},
            input_names=["words", "masked"],
            output_names=["q_d", "q_p"],
            verbose=False,
        )
    assert program is not None
    with replacing(path) as file:
        file.write(program.model_proto.SerializeToString())
    inventory = network.inventory
    described = {
        "words": vocabulary.words,
        "n_senses": inventory.n_senses.tolist(),
        "numbers": inventory.numbers.tolist(),
        "mask": MASK_ID,
        "pad": PAD_ID,
        "line": LINE_ID,
        "unknown": UNKNOWN_ID,
        "max_length": length,
        "how": HOW,
    }
    beside = Path(path).with_name(Path(path).name + ".json")
    with replacing(beside) as file:
        file.write(json.dumps(described, ensure_ascii=False).encode())
    return beside
