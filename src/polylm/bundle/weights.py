"""A network and its merge tree as tensors of a safetensors file, and back.

Matrices may be stored in float32, float16, or int8 with one scale a row; int6 is int8 with the sense vectors, which are
most of a model, in six bits. They are float32 again when loaded. Everything is checked on the way in: tensors that are
missing, have other shapes or hold what is no number are refused.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from polylm.errors import UserError
from polylm.model.config import ModelConfig
from polylm.model.int8 import quantizable
from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM
from polylm.senses.merge_tree import MergeTree

SMALL = ("int8", "int6")
RANGES = "ranges."  # of what goes into the matrices of c_d and c_p
Precision = Literal["float32", "float16", "int8", "int6"]


def to_tensors(model: PolyLM, merge_tree: MergeTree | None, precision: Precision) -> dict[str, Tensor]:
    """What is written."""
    if precision not in get_args(Precision):
        raise UserError(f"{precision!r} is not a precision: choose {', '.join(get_args(Precision))}")
    if merge_tree is not None and merge_tree.counted_on is not model.inventory:
        raise UserError("the confusions were counted on other senses than the model has now: count them again")
    tensors: dict[str, Tensor] = {
        "inventory.n_senses": _small(model.inventory.n_senses),
        "inventory.numbers": _small(model.inventory.numbers),
    }
    for name, tensor in model.state_dict().items():
        tensors.update(_stored(name, tensor.detach(), precision))
    ranges = {name: part.ranges for name, part in quantizable(model).items()}
    tensors |= {RANGES + name: spans for name, spans in ranges.items() if spans is not None}
    if merge_tree is not None:
        products, shares = merge_tree.products, merge_tree.shares
        if precision in SMALL:  # G is symmetric
            products, shares = products[(slice(None), *_upper(products.shape[-1]))].half(), shares.half()
        tensors["confusion.products"], tensors["confusion.shares"] = products, shares
    return {name: tensor.cpu().clone() for name, tensor in tensors.items()}


def from_tensors(
    tensors: dict[str, Tensor], config: ModelConfig, excluded: Sequence[int], path: Path
) -> tuple[PolyLM, MergeTree | None]:
    """A network, ready to use, and its merge tree if it was saved; `path` is where the tensors come from."""
    inventory = SenseInventory(
        tensors.pop("inventory.n_senses"), excluded=excluded, numbers=tensors.pop("inventory.numbers")
    )
    products, shares = _whole(tensors.pop("confusion.products", None)), tensors.pop("confusion.shares", None)
    offset_words = tensors.get("offset_words", torch.zeros(0))
    ranges = {name: tensors.pop(name) for name in [*tensors] if name.startswith(RANGES)}
    state = _restored(tensors, path)
    given = state.get("embeddings")
    fits = given is not None and given.shape == (inventory.n_rows, config.d_model)  # else the check below says so
    with _Unfilled():
        model = PolyLM(config, inventory, n_offsets=len(offset_words), embeddings=given if fits else None)
    _check(state, model.state_dict(), path)
    model.load_state_dict(state, assign=True)
    if (model.offset_words < 0).any() or (model.offset_words >= inventory.n_words).any():
        raise UserError(f"{path} is damaged: it has input offsets for words that are not there")
    model.eval()
    _set_ranges(model, ranges, path)
    if products is None and shares is None:
        return model, None
    if products is None or shares is None:
        raise UserError(f"{path} is damaged: its confusions are not whole")
    k = model.inventory.max_senses
    if products.shape != (len(model.inventory.poly_words), k, k) or shares.shape != products.shape[:2]:
        raise UserError(f"{path} is damaged: its confusions do not fit its senses")
    return model, MergeTree(model.inventory, products, shares)


def _set_ranges(model: PolyLM, ranges: dict[str, Tensor], path: Path) -> None:
    parts = quantizable(model)
    for name, spans in ranges.items():
        part = parts.get(name.removeprefix(RANGES))
        if part is None or spans.shape != (len(part.matrices()), 2) or not spans.isfinite().all():
            raise UserError(f"{path} is damaged: {name} does not fit its network")
        part.ranges = spans.clone()  # the file need not stay in memory


class _Unfilled(TorchFunctionMode):
    """Weights that are read from a file need no random numbers first."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in (torch.Tensor.normal_, torch.Tensor.uniform_):
            return args[0]
        return function(*args, **(kwargs or {}))


def _small(numbers: Tensor) -> Tensor:
    return numbers.to(torch.uint8 if not len(numbers) or numbers.max() < 256 else torch.int32)


def _upper(k: int) -> tuple[Tensor, Tensor]:
    """The places of a symmetric matrix (k, k) on and above its diagonal."""
    row, column = torch.triu_indices(k, k)
    return row, column


def _whole(products: Tensor | None) -> Tensor | None:
    """Symmetric matrices (P, k, k) of which only the upper half (P, k (k + 1) / 2) may have been stored."""
    if products is None or products.ndim != 2:
        return products
    k = int((2 * products.shape[1]) ** 0.5)
    whole = torch.zeros(len(products), k, k)
    row, column = _upper(k)
    whole[:, row, column] = whole[:, column, row] = products.float()
    return whole


def _stored(name: str, tensor: Tensor, precision: Precision) -> dict[str, Tensor]:
    """A tensor as it is written: matrices in the precision asked for, scores in float32."""
    if not tensor.is_floating_point():
        return {name: tensor}
    tensor = tensor.float()
    if precision != "float32" and name.startswith("share"):
        return {name: tensor.half()}
    if tensor.ndim < 2 or precision == "float32":
        return {name: tensor}
    if precision == "float16":
        return {name: tensor.half()}
    if precision == "int6" and name in ("embeddings", "input_offsets") and tensor.shape[1] % 4 == 0:
        scales = _scales(tensor, 31)
        return {f"{name}.int6": _packed(torch.round(tensor / scales[:, None])), f"{name}.scales": scales}
    scales = _scales(tensor, 127)
    return {f"{name}.int8": torch.round(tensor / scales[:, None]).to(torch.int8), f"{name}.scales": scales}


def _scales(tensor: Tensor, largest: int) -> Tensor:
    return tensor.abs().amax(dim=1).clamp(min=1e-12) / largest  # (rows,)


def _packed(values: Tensor) -> Tensor:
    """Whole numbers from -32 to 31 (n, d), four in three bytes (n, 3 d / 4)."""
    a, b, c, d = (values + 32).to(torch.uint8).view(len(values), values.shape[1] // 4, 4).unbind(-1)
    return torch.stack((a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d), dim=-1).flatten(1)


def _unpacked(packed: Tensor) -> Tensor:
    """Some rows at a time: what is made on the way would be half as large again."""
    unpacked = torch.empty(len(packed), packed.shape[1] // 3 * 4)
    for part, out in zip(torch.split(packed, 4096), torch.split(unpacked, 4096), strict=True):
        x, y, z = part.view(len(part), part.shape[1] // 3, 3).unbind(-1)
        values = torch.stack((x >> 2, (x << 4 | y >> 4) & 63, (y << 2 | z >> 6) & 63, z & 63), dim=-1)
        out.copy_(values.flatten(1)).sub_(32)
    return unpacked


def _restored(tensors: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
    state = {}
    for name, tensor in tensors.items():
        plain, _, kind = name.rpartition(".")
        if kind in SMALL:
            if f"{plain}.scales" not in tensors:
                raise UserError(f"{path} is damaged: {plain}.scales is missing")
            values = _unpacked(tensor) if kind == "int6" else tensor.float()
            state[plain] = values.mul_(tensors[f"{plain}.scales"][:, None])
        elif kind != "scales" or not {f"{plain}.int8", f"{plain}.int6"} & set(tensors):
            dtype = torch.float32 if tensor.is_floating_point() else tensor.dtype
            state[name] = tensor.to(dtype, copy=True)  # so that the file need not stay in memory
    return state


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Everything in a safetensors file."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if path.is_file() and not os.access(path, os.R_OK):
        raise UserError(f"{path} may not be read: check its permissions")
    try:
        return load_file(path)
    except FileNotFoundError:
        raise UserError(f"{path} is missing") from None
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path} is damaged or cut off: {error}") from None


def _check(state: dict[str, Tensor], expected: dict[str, Tensor], path: Path) -> None:
    for name, tensor in expected.items():
        if name not in state:
            raise UserError(f"{path} is not whole: {name} is missing")
        if state[name].shape != tensor.shape:
            shape, wanted = tuple(state[name].shape), tuple(tensor.shape)
            raise UserError(f"{path} does not fit its configuration: {name} is {shape} instead of {wanted}")
        if state[name].isnan().any():
            raise UserError(f"{path} is damaged: {name} holds what is not a number")
    unknown = sorted(set(state) - set(expected))
    if unknown:
        raise UserError(f"{path} has tensors that this version of polylm does not know: {', '.join(unknown[:3])}")
