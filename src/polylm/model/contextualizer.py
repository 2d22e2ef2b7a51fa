"""Contextualizers: a sequence of vectors in, a sequence of vectors out. Any will do, as the paper says.

A contextualizer is a module made by `factory(config, n_layers)` and called as `module(x, segments)`:

    x         (B, T, d)
    segments  (B, T) integers, or None where every position of a row belongs to one text. Positions see each other when
              their numbers are equal; 0 is padding. What a position gives must not depend on other segments.
    returns   (B, T, d)

`register_contextualizer("mine", factory)` makes `ModelConfig(contextualizer="mine")` work. A module may be able to do
more; it says so by having these, and what it lacks is made up for:

    outputs_at(x, segments, at)   (n, d) at the places `at` (n,) of the B * T alone; else all are computed
    follows_dtype = True          computes in the precision of x, whatever that of its weights; else autocast is used
    compile_layers(wanted)        compiles what is inside it, or no longer; else the module is compiled as a whole
    static = True                 its work is the same in every step, so a CUDA graph can record it; else none is made
    random = False                draws no random numbers in training; else torch is seeded before every step
    ranges, matrices(), quantize(wanted)   reads in 8-bit integers, or no longer: int8.Quantizable
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from polylm.errors import UserError
from polylm.model.config import ModelConfig
from polylm.model.head import triton_works
from polylm.model.int8 import Int8Transformer


class Contextualizer(Protocol):
    """What a factory returns: an `nn.Module` that is called so."""

    def __call__(self, x: Tensor, segments: Tensor | None = None) -> Tensor:
        """(B, T, d)"""
        ...


Factory = Callable[[ModelConfig, int], nn.Module]
_FACTORIES: dict[str, Factory] = {}


def register_contextualizer(name: str, factory: Factory) -> None:
    """Make a contextualizer known by name; an earlier one of that name is replaced."""
    _FACTORIES[name] = factory


def at_places(contextualizer: nn.Module, x: Tensor, segments: Tensor | None, at: Tensor) -> Tensor:
    """(n, d) of the places `at` (n,) among B * T, each once if it is trained. One that can computes no others."""
    outputs_at: Callable[..., Tensor] | None = getattr(contextualizer, "outputs_at", None)
    if outputs_at is not None:
        return outputs_at(x, segments, at)
    every: Tensor = contextualizer(x, segments)
    return every.flatten(0, 1)[at]


def compile_layers(contextualizer: nn.Module, wanted: bool = True) -> None:
    """Compile it from now on, its own way if it has one; or no longer."""
    own_way: Callable[[bool], None] | None = getattr(contextualizer, "compile_layers", None)
    if own_way is not None:
        own_way(wanted)
    elif wanted:
        contextualizer.compile(dynamic=False)


def make_contextualizer(config: ModelConfig, n_layers: int) -> nn.Module:
    """The contextualizer that the configuration names."""
    if config.contextualizer not in _FACTORIES:
        known = ", ".join(sorted(_FACTORIES))
        raise UserError(f"there is no contextualizer {config.contextualizer!r}: choose from {known}, or register it")
    return _FACTORIES[config.contextualizer](config, n_layers)


def _attention_mask(segments: Tensor | None) -> Tensor | None:
    """(B, 1, T, T): who sees whom. Padding sees itself, so that no row is empty; nothing reads what it gives."""
    if segments is None:
        return None
    return (segments.unsqueeze(-1) == segments.unsqueeze(-2)).unsqueeze(1)


def _has_kernels(qkv: Tensor, n_heads: int) -> bool:
    """Whether attention over this is one kernel, masks included."""
    if not (qkv.is_cuda and triton_works()):
        return False
    from polylm.model.attention_triton import usable

    return usable(qkv, n_heads)


class Transformer(nn.Module):
    """Pre-norm encoder with rotary positions and normalised queries and keys; layer norm on the way in and out."""

    follows_dtype = True
    static = True

    cos: Tensor
    sin: Tensor

    def __init__(self, config: ModelConfig, n_layers: int) -> None:
        super().__init__()
        self.compiled = False
        self.random = bool(config.dropout)
        self.n_heads = config.n_heads
        self.ranges: Tensor | None = None
        self._integers: Int8Transformer | None = None
        self.norm_in, self.norm_out = nn.LayerNorm(config.d_model), nn.LayerNorm(config.d_model)
        self.layers = nn.ModuleList(_TransformerLayer(config) for _ in range(n_layers))
        d_head = config.d_model // config.n_heads
        frequencies = config.rotary_base ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
        angles = torch.outer(torch.arange(config.max_length, dtype=torch.float64), frequencies)  # (T, d_head / 2)
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def forward(self, x: Tensor, segments: Tensor | None = None) -> Tensor:
        """(B, T, d)"""
        return self.outputs_at(x, segments, None)

    def outputs_at(self, x: Tensor, segments: Tensor | None, at: Tensor | None) -> Tensor:
        """Attention, what stands between two of them, and so on: the seams of layers are inside one function.

        `at` (n,): only these places of the B * T are wanted, (n, d); the last layer then computes no others.
        """
        if self._integers is not None:
            return self._integers(x, _attention_mask(segments), at)
        length = x.shape[1]
        rotation = (self.cos[:length], self.sin[:length])
        first, between, last = _compiled() if self.compiled else _PARTS
        layers = [layer for layer in self.layers if isinstance(layer, _TransformerLayer)]
        dropout = layers[0].dropout if self.training else 0.0
        x, qkv = first(x, *_of_norm(self.norm_in), *layers[0].entry())
        fused = not dropout and _has_kernels(qkv, self.n_heads)
        mask = None if fused else _attention_mask(segments)

        def attended(layer: _TransformerLayer, qkv: Tensor) -> Tensor:
            if fused:
                return layer.attend_fused(qkv, rotation, segments)
            return layer.attend(qkv, rotation, mask, dropout)

        for layer, following in pairwise(layers):
            x, qkv = between(x, attended(layer, qkv), *layer.exit(), *following.entry(), dropout)
        y = attended(layers[-1], qkv)
        if at is not None:
            x, y = (_take(h.flatten(0, 1), at) for h in (x, y))
        out: Tensor = last(x, y, *layers[-1].exit(), *_of_norm(self.norm_out), dropout)
        return out

    def compile_layers(self, wanted: bool) -> None:
        """Run compiled from now on, or not; one compilation serves all layers."""
        self.compiled = wanted

    def matrices(self) -> list[Tensor]:
        """Four a layer."""
        layers = (layer for layer in self.layers if isinstance(layer, _TransformerLayer))
        return [part.weight for layer in layers for part in (layer.qkv, layer.out, layer.up, layer.down)]

    def quantize(self, wanted: bool) -> None:
        """Read in 8-bit integers from now on, or no longer. Its weights must not change meanwhile."""
        self._integers = Int8Transformer(self, self.ranges) if wanted and self.ranges is not None else None


class _Take(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, at: Tensor) -> Tensor:
        ctx.save_for_backward(at)
        ctx.n = len(x)
        return x.index_select(0, at)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (at,) = ctx.saved_tensors
        (gradient,) = gradients
        return gradient.new_zeros(ctx.n, gradient.shape[1]).index_copy_(0, at, gradient), None


def _take(x: Tensor, at: Tensor) -> Tensor:
    """Rows `at` of x. None is there twice, where gradients are wanted: they are copied, not added up as elsewhere."""
    rows: Tensor = _Take.apply(x, at)  # type: ignore[no-untyped-call]
    return rows


class _TransformerLayer(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d = config.d_model
        self.n_heads = config.n_heads
        self.dropout = config.dropout or 0.0
        self.norm_attention, self.norm_filter = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.out = nn.Linear(d, d, bias=False)
        self.up = nn.Linear(d, config.d_filter, bias=False)
        self.down = nn.Linear(config.d_filter, d, bias=False)
        for linear in (self.qkv, self.out, self.up, self.down):
            nn.init.normal_(linear.weight, std=0.02)

    def entry(self) -> tuple[Tensor, ...]:
        """Weights before attention."""
        return *_of_norm(self.norm_attention), self.qkv.weight

    def exit(self) -> tuple[Tensor, ...]:
        """Weights after it."""
        return self.out.weight, *_of_norm(self.norm_filter), self.up.weight, self.down.weight

    def attend_fused(self, qkv: Tensor, rotation: tuple[Tensor, Tensor], segments: Tensor | None) -> Tensor:
        """(B, T, d) of queries, keys and values (B, T, 3 d), by the kernel; segments (B, T) see themselves alone."""
        from polylm.model.attention_triton import attention

        return attention(qkv, *rotation, self.n_heads, segments)

    def attend(self, qkv: Tensor, rotation: tuple[Tensor, Tensor], mask: Tensor | None, dropout: float = 0.0) -> Tensor:
        """The same by torch; the mask (B, 1, T, T) says who sees whom."""
        n, length, width = qkv.shape
        heads = qkv.view(n, length, 3, self.n_heads, width // 3 // self.n_heads)
        q, k, v = heads.unbind(2)  # (B, T, heads, d_head)
        cos, sin = (table.to(qkv.dtype) for table in rotation)
        q, k = (_rotate(_rms_norm(h), cos, sin) for h in (q, k))
        q, k, v = (h.transpose(1, 2) for h in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
        return y.transpose(1, 2).reshape(n, length, width // 3)


# What stands around attention, as functions of tensors alone, so that one compilation serves all layers of a shape.
# Everything is in the precision of x, whatever that of the weights.


def _first(
    x: Tensor, norm_in: Tensor, norm_in_bias: Tensor, norm: Tensor, norm_bias: Tensor, qkv: Tensor
) -> tuple[Tensor, Tensor]:
    x = _norm(x, norm_in, norm_in_bias)
    return x, F.linear(_norm(x, norm, norm_bias), qkv.to(x.dtype))


def _filter(
    x: Tensor, y: Tensor, out: Tensor, norm: Tensor, norm_bias: Tensor, up: Tensor, down: Tensor, dropout: float
) -> Tensor:
    kind = x.dtype
    x = x + F.dropout(F.linear(y.to(kind), out.to(kind)), dropout)
    h = F.gelu(F.linear(_norm(x, norm, norm_bias), up.to(kind)), approximate="tanh")
    return x + F.dropout(F.linear(h, down.to(kind)), dropout)


def _between(
    x: Tensor, y: Tensor, out: Tensor, norm: Tensor, norm_bias: Tensor, up: Tensor, down: Tensor,
    next_norm: Tensor, next_norm_bias: Tensor, next_qkv: Tensor, dropout: float,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    x = _filter(x, y, out, norm, norm_bias, up, down, dropout)
    return x, F.linear(_norm(x, next_norm, next_norm_bias), next_qkv.to(x.dtype))


def _last(
    x: Tensor, y: Tensor, out: Tensor, norm: Tensor, norm_bias: Tensor, up: Tensor, down: Tensor,
    norm_out: Tensor, norm_out_bias: Tensor, dropout: float,
) -> Tensor:  # fmt: skip
    return _norm(_filter(x, y, out, norm, norm_bias, up, down, dropout), norm_out, norm_out_bias)


_PARTS: tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]] = (_first, _between, _last)


@cache
def _compiled() -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    return tuple(torch.compile(part, dynamic=False) for part in _PARTS)  # type: ignore[return-value]


def _of_norm(norm: nn.LayerNorm) -> tuple[Tensor, Tensor]:
    return norm.weight, norm.bias


def _norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(x, (x.shape[-1],), weight.to(x.dtype), bias.to(x.dtype))


def _rms_norm(x: Tensor) -> Tensor:
    return F.rms_norm(x, (x.shape[-1],), eps=1e-6)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions: x (B, T, heads, d_head), cos and sin (T, d_head / 2)."""
    a, b = x.chunk(2, dim=-1)
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


class Bert(nn.Module):
    """The paper's own choice: post-norm encoder with learned positions. Positions count from each segment's start."""

    def __init__(self, config: ModelConfig, n_layers: int) -> None:
        super().__init__()
        self.positions = nn.Embedding(config.max_length, config.d_model)
        nn.init.normal_(self.positions.weight, std=0.02)
        self.norm_in = nn.LayerNorm(config.d_model)
        dropout = 0.1 if config.dropout is None else config.dropout
        self.dropout = nn.Dropout(dropout)
        self.n_heads = config.n_heads
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                config.d_model, config.n_heads, config.d_filter, dropout, F.gelu, batch_first=True
            )
            for _ in range(n_layers)
        )
        for layer in self.layers:
            for parameter in layer.parameters():
                if parameter.ndim > 1:
                    nn.init.normal_(parameter, std=0.02)

    def forward(self, x: Tensor, segments: Tensor | None = None) -> Tensor:
        """(B, T, d)"""
        mask = _attention_mask(segments)
        if mask is not None:  # this layer wants True where one must not look, for each head
            mask = ~mask.expand(-1, self.n_heads, -1, -1).flatten(0, 1)
        x = self.dropout(self.norm_in(x + self.positions(_places(segments, x))))
        for layer in self.layers:
            x = layer(x, src_mask=mask)
        return x


def _places(segments: Tensor | None, x: Tensor) -> Tensor:
    """(T,) or (B, T): the place of each position in its segment."""
    place = torch.arange(x.shape[1], device=x.device)
    if segments is None:
        return place
    begins = torch.ones_like(segments, dtype=torch.bool)
    begins[:, 1:] = segments[:, 1:] != segments[:, :-1]
    return place - torch.cummax(place * begins, dim=1).values


class Lstm(nn.Module):
    """Bidirectional LSTM, half of the width in each direction. Each segment is run from its own start and end."""

    def __init__(self, config: ModelConfig, n_layers: int) -> None:
        super().__init__()
        self.norm_in, self.norm_out = nn.LayerNorm(config.d_model), nn.LayerNorm(config.d_model)
        self.lstm = nn.LSTM(
            config.d_model,
            config.d_model // 2,
            n_layers,
            batch_first=True,
            bidirectional=True,
            dropout=(config.dropout or 0.0) if n_layers > 1 else 0.0,
        )

    def forward(self, x: Tensor, segments: Tensor | None = None) -> Tensor:
        """(B, T, d)"""
        x = self.norm_in(x)
        y = self.lstm(x)[0] if segments is None else self._by_segment(x, segments)
        out: Tensor = self.norm_out(y)
        return out

    def _by_segment(self, x: Tensor, segments: Tensor) -> Tensor:
        """Segments as rows of their own, run together, and put back."""
        places = _places(segments, x)  # (B, T)
        begins = (places == 0).flatten()
        row = torch.cumsum(begins, 0) - 1  # (B * T,): which segment
        n_rows, longest = int(row[-1]) + 1, int(places.max()) + 1
        lengths = torch.zeros(n_rows, dtype=torch.int64, device=x.device).index_add_(0, row, torch.ones_like(row))
        where = row * longest + places.flatten()
        flat = x.new_zeros(n_rows * longest, x.shape[-1]).index_copy(0, where, x.flatten(0, 1))
        packed = nn.utils.rnn.pack_padded_sequence(
            flat.view(n_rows, longest, -1), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        y, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=longest)
        return y.flatten(0, 1)[where].view_as(x)


register_contextualizer("transformer", Transformer)
register_contextualizer("bert", Bert)
register_contextualizer("lstm", Lstm)
