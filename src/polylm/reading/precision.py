"""In which numbers the encoders of a network compute while it reads."""

from typing import Literal, get_args

import torch

from polylm.errors import UserError
from polylm.model.int8 import works
from polylm.model.polylm import PolyLM

Compute = Literal["auto", "float32", "bfloat16", "int8"]


def set_precision(network: PolyLM, precision: Compute) -> None:
    """auto: bfloat16 on a GPU; on a processor int8 where it is fast and the network has its ranges, else float32."""
    if precision not in get_args(Compute):
        raise UserError(f"{precision!r} is not a precision to compute in: choose {', '.join(get_args(Compute))}")
    on_gpu = network.embeddings.is_cuda
    follows = getattr(network.c_p, "follows_dtype", False)
    network.compute_dtype = None
    if follows and (precision == "bfloat16" or (precision == "auto" and on_gpu)):
        network.compute_dtype = torch.bfloat16
    if precision == "int8" and (on_gpu or not works()):
        raise UserError("8-bit integers are for processors with VNNI instructions: leave out the precision")
    is_quantized = network.quantize(precision in ("auto", "int8") and not on_gpu and works())
    if precision == "int8" and not is_quantized:
        raise UserError("this model cannot be read in 8-bit integers: it has no ranges, which training measures")


def precision_of(network: PolyLM) -> Compute:
    """What it computes in."""
    if network.is_quantized:
        return "int8"
    return "bfloat16" if network.compute_dtype == torch.bfloat16 else "float32"
