"""The Transformer in 8-bit integers: reading, on processors that multiply these several times as fast as floats.

Each matrix W has a scale for every row. What goes into it, x, has one scale s and zero point z, from its range in a
sample of text, which is measured once and belongs to the model:

    x ~ s (u - z), u in 0 .. 255;    W_i ~ t_i v_i, v in -127 .. 127;    (W x)_i ~ s t_i (sum_j v_ij u_j - z sum_j v_ij)

The sums are exact. No scale depends on what is read together, so neither does what a text means. Attention, norms and
residuals stay in float32. The operators are those that torch lowers its own quantized models to (oneDNN).
"""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from polylm.model.contextualizer import Transformer
    from polylm.model.polylm import PolyLM

_LEVELS = 255


@runtime_checkable
class Quantizable(Protocol):
    """An encoder that can be read in integers."""

    ranges: Tensor | None  # (matrices, 2) the least and the largest number that goes into each, once measured

    def matrices(self) -> list[Tensor]:
        """Its matrices, in the order of its ranges."""
        ...

    def quantize(self, wanted: bool) -> None:
        """Read in integers from now on, or no longer. Its weights must not change meanwhile."""
        ...


@cache
def works() -> bool:
    """Whether this processor multiplies 8-bit integers fast, and this torch does it rightly."""
    has_instructions = getattr(torch.cpu, "_is_vnni_supported", None)
    if has_instructions is None or not has_instructions() or not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    x = torch.arange(64 * 3).reshape(3, 64) % 251
    weight = (torch.arange(64 * 16).reshape(16, 64) % 255 - 127).float()
    weight[:, 0] = 127  # so that every row has the scale 1
    try:
        matrix = _Matrix(weight, torch.tensor([-3.0, 252.0]))
        found = matrix(x.to(torch.uint8)), matrix.added(x.to(torch.uint8), torch.ones(3, 16))
    except (AttributeError, RuntimeError, TypeError, NotImplementedError):  # another version of torch
        return False
    expected = (x.float() - 3) @ weight.T
    return all(torch.allclose(a, b, rtol=1e-4) for a, b in zip(found, (expected, expected + 1), strict=True))


class _Matrix:
    """W as integers, and how x becomes integers."""

    def __init__(self, weight: Tensor, span: Tensor) -> None:
        low, high = min(float(span[0]), 0.0), max(float(span[1]), 0.0)
        self.scale = max(high - low, 1e-6) / _LEVELS
        self.zero = round(-low / self.scale)
        weight = weight.detach().float()
        self.scales = (weight.abs().amax(dim=1) / 127).clamp(min=1e-8)
        self.zeros = torch.zeros(len(weight), dtype=torch.int64)
        values = (weight / self.scales[:, None]).round().to(torch.int8)
        self.packed = torch.ops.onednn.qlinear_prepack(values, None)

    def integers(self, x: Tensor) -> Tensor:
        """u of x, rounded to the nearest."""
        return _cut_off(x.mul(1 / self.scale).add_(self.zero + 0.5))

    @property
    def _about(self) -> tuple[Any, ...]:
        return self.scale, self.zero, self.packed, self.scales, self.zeros

    def __call__(self, u: Tensor) -> Tensor:
        """W x in float32."""
        y: Tensor = torch.ops.onednn.qlinear_pointwise(u, *self._about, None, 1.0, 0, torch.float32, "none", [], "")
        return y

    def gelu(self, u: Tensor, following: "_Matrix") -> Tensor:
        """gelu(W x) as the following matrix wants it."""
        y: Tensor = torch.ops.onednn.qlinear_pointwise(
            u, *self._about, None, following.scale, following.zero, torch.uint8, "gelu", [], "tanh"
        )
        return y

    def added(self, u: Tensor, to: Tensor) -> Tensor:
        """W x added to a tensor, in its place."""
        y: Tensor = torch.ops.onednn.qlinear_pointwise.binary(
            u, *self._about, to, None, 1.0, 0, torch.float32, 1.0, 0, "sum", 1.0, "none", [], ""
        )
        return y


def _cut_off(x: Tensor) -> Tensor:
    """Whole numbers from 0 to 255, rounded down."""
    return x.clamp_(0, _LEVELS).to(torch.uint8)


class _Layer:
    def __init__(self, layer: Any, weights: list[Tensor], spans: Tensor, n_heads: int) -> None:
        weights[0] = _interleaved(weights[0], n_heads)
        self.qkv, self.out, self.up, self.down = map(_Matrix, weights, spans)
        self.norm_attention = _scaled(layer.norm_attention, self.qkv)
        self.norm_filter = _scaled(layer.norm_filter, self.up)


def _interleaved(weight: Tensor, n_heads: int) -> Tensor:
    """Rows of queries and keys with the two halves of each head in turn, so that a rotation is one complex product."""
    q, k, v = weight.detach().chunk(3)
    q, k = (m.view(n_heads, 2, -1, m.shape[1]).transpose(1, 2).reshape(m.shape) for m in (q, k))
    return torch.cat((q, k, v))


def _scaled(norm: torch.nn.LayerNorm, matrix: _Matrix) -> tuple[Tensor, Tensor]:
    """Weights of a norm that gives u + 1/2 instead of x."""
    return norm.weight.detach() / matrix.scale, norm.bias.detach() / matrix.scale + (matrix.zero + 0.5)


class Int8Transformer:
    """What `Transformer.outputs_at` computes, in integers. It does not change, so its copies are the same one."""

    def __init__(self, encoder: "Transformer", ranges: Tensor) -> None:
        self.n_heads = encoder.n_heads
        weights, per_layer = encoder.matrices(), len(encoder.matrices()) // len(encoder.layers)
        self.layers = [
            _Layer(layer, weights[first : first + per_layer], ranges[first : first + per_layer].cpu(), self.n_heads)
            for first, layer in zip(range(0, len(weights), per_layer), encoder.layers, strict=True)
        ]
        self.norm_in, self.norm_out = (
            (norm.weight.detach(), norm.bias.detach()) for norm in (encoder.norm_in, encoder.norm_out)
        )
        self.rotations = torch.complex(encoder.cos, encoder.sin)[:, None, None]  # (T, 1, 1, d_head / 2)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __call__(self, x: Tensor, mask: Tensor | None, at: Tensor | None) -> Tensor:
        """(B, T, d), or (n, d) of the places `at`."""
        n, length, d = x.shape
        x = F.layer_norm(x, (d,), *self.norm_in).view(n * length, d)
        for layer in self.layers:
            y = self._attend(layer.qkv(_cut_off(F.layer_norm(x, (d,), *layer.norm_attention))), mask, n)
            if at is not None and layer is self.layers[-1]:
                x, y = x[at], y[at]
            x = layer.out.added(layer.out.integers(y), x)
            h = _cut_off(F.layer_norm(x, (d,), *layer.norm_filter))
            x = layer.down.added(layer.up.gelu(h, layer.down), x)
        x = F.layer_norm(x, (d,), *self.norm_out)
        return x if at is not None else x.view(n, length, d)

    def _attend(self, qkv: Tensor, mask: Tensor | None, n: int) -> Tensor:
        heads = qkv.view(n, -1, 3, self.n_heads, qkv.shape[1] // 3 // self.n_heads)
        length, d_head = heads.shape[1], heads.shape[-1]
        qk, v = heads[:, :, :2], heads[:, :, 2].transpose(1, 2)
        norm = torch.linalg.vector_norm(qk, dim=-1, keepdim=True)
        pairs = torch.view_as_complex(qk.view(*qk.shape[:-1], d_head // 2, 2)) * self.rotations[:length]
        rotated = torch.view_as_real(pairs).flatten(-2) * (norm.square() / d_head + 1e-6).rsqrt_()
        q, k = rotated.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return y.transpose(1, 2).reshape(n * length, self.n_heads * d_head)


def quantizable(model: "PolyLM") -> dict[str, Quantizable]:
    """The encoders of a model that can be read in integers, by their names."""
    parts: dict[str, object] = {"c_d": model.c_d, "c_p": model.c_p}
    return {name: part for name, part in parts.items() if isinstance(part, Quantizable)}


class _Watch(TorchFunctionMode):
    """The least and the largest number that goes into each of some matrices."""

    def __init__(self, weights: list[Tensor]) -> None:
        super().__init__()
        self._places = {weight.data_ptr(): place for place, weight in enumerate(weights)}
        self.spans = torch.zeros(len(weights), 2)

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is F.linear and len(args) > 1 and (place := self._places.get(args[1].data_ptr())) is not None:
            low, high = (end.float().cpu() for end in args[0].aminmax())
            self.spans[place, 0] = torch.minimum(self.spans[place, 0], low)
            self.spans[place, 1] = torch.maximum(self.spans[place, 1], high)
        return function(*args, **(kwargs or {}))


@torch.no_grad()
def measure_ranges(model: "PolyLM", texts: Iterable[Tensor | tuple[Tensor, Tensor]], mask: int) -> None:
    """What goes into the matrices of a model's encoders on texts (B, T), as they are and every seventh word masked.

    Texts may come with their segments. A few thousand words are enough. Encoders that cannot be read in integers are
    left as they are.
    """
    parts = list(quantizable(model).values())
    if not parts:
        return
    was_training, kind = model.training, model.compute_dtype
    model.eval()
    model.quantize(False)
    model.compile_parts(False)
    model.compute_dtype = None
    with _Watch([weight for part in parts for weight in part.matrices()]) as watch:
        for text in texts:
            words, segments = text if isinstance(text, tuple) else (text, None)
            masked = words.clone()
            masked[:, 3::7] = mask
            model.read(torch.cat((words, masked)), None if segments is None else torch.cat((segments, segments)))
    spans = watch.spans.split([len(part.matrices()) for part in parts])
    for part, own in zip(parts, spans, strict=True):
        part.ranges = own.clone()
    model.compute_dtype = kind
    model.train(was_training)
