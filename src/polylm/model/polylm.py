"""The model of the paper: input, disambiguation and prediction layer (Eqs. 5 to 10).

Shapes: B texts of T words, n targets, k senses a word at most (padded, with -inf scores beyond a word's own), S senses
in all, d. Scores and probabilities are in float32 whatever the encoders compute in.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from polylm.model.config import ModelConfig
from polylm.model.contextualizer import at_places, compile_layers, make_contextualizer
from polylm.model.head import log_partition, triton_works
from polylm.model.int8 import quantizable
from polylm.model.inventory import SenseInventory
from polylm.model.loss import Losses, losses
from polylm.model.shares import SenseShares


class TargetScores(NamedTuple):
    """Scores e_s . y + b_s (n, k) of the senses of n targets, -inf beyond them; and y^P."""

    masked: Tensor  # by C^P, where the targets are masked
    disambiguation: Tensor | None  # by C^D, in the text as it is; none without that layer
    unmasked: Tensor | None  # by C^P, in the text as it is, if asked for
    y_p: Tensor  # (n, d) where the targets are masked
    half: Tensor | None  # E as the kernels want it, if they run


class Reading(NamedTuple):
    """What the two layers make of a text."""

    log_q_d: Tensor | None  # (B, T, k) log q^D; none without a disambiguation layer
    y_p: Tensor  # (B, T, d) y^P


class _KeptInputs(NamedTuple):
    """x(w) of the words for which it is not a row of E."""

    vectors: Tensor  # (m + 1, d); the first is nobody's
    place: Tensor  # (V,) in `vectors`; 0 for words that have a row of E


def _power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()


class PolyLM(SenseShares):
    """A language model whose words are sums of senses.

    `forward` gives the training losses. To read text: `disambiguation_probs` (q^D), `prediction_probs` (q^P),
    `sense_probs` (p) and `word_log_probs`, at any position, masked or not.
    """

    offset_words: Tensor  # (m,) words that lost senses by pruning,
    input_offsets: Tensor  # (m, d) and what those senses gave to x(w)

    def __init__(
        self,
        config: ModelConfig,
        inventory: SenseInventory,
        *,
        n_offsets: int = 0,
        embeddings: Tensor | None = None,
    ) -> None:
        """`embeddings` are used as E, instead of numbers drawn by lot."""
        super().__init__(inventory)
        self.config = config
        n, d = inventory.n_rows, config.d_model
        if embeddings is not None and embeddings.shape != (n, d):
            raise ValueError(f"E is {tuple(embeddings.shape)} instead of {(n, d)}")
        self.embeddings = nn.Parameter(torch.randn(n, d) * d**-0.5 if embeddings is None else embeddings)  # E
        self.bias = nn.Parameter(torch.zeros(n))  # b
        self.lambda_logits = nn.Parameter(torch.zeros(n))
        self.c_d = make_contextualizer(config, config.n_layers_d) if config.disambiguation else None
        self.c_p = make_contextualizer(config, config.n_layers_p)
        self.register_buffer("offset_words", torch.zeros(n_offsets, dtype=torch.int64))
        self.register_buffer("input_offsets", torch.zeros(n_offsets, d))
        self.compute_dtype: torch.dtype | None = None  # of the encoders; none: of the parameters
        self.fused_senses = True  # use the kernels of senses_triton.py where they run
        self.defer_shares = False  # a trainer that sums over devices calls update_shares itself
        self._kept: _KeptInputs | None = None
        self.is_quantized = False  # reads in 8-bit integers

    # Input layer

    def word_vectors(self) -> Tensor:
        """x(w) of every word, (V, d): its senses weighted by lambda (Eq. 5). Computed for words, not for positions."""
        # Added up by word, not gathered: so the gradient is a look-up.
        weighted = self.embeddings * self._lambda().unsqueeze(-1)
        vectors = weighted.new_zeros(self.inventory.n_words, weighted.shape[1])
        vectors = vectors.index_add(0, self.inventory.word_of_sense, weighted)
        if len(self.offset_words):
            vectors = vectors.index_add(0, self.offset_words, self.input_offsets)
        return vectors

    def _lambda(self) -> Tensor:
        """(S,) lambda: the weights of a word's senses in x(w)."""
        inventory = self.inventory
        weights = torch.ones_like(self.lambda_logits)
        if not len(inventory.poly_words):
            return weights
        logits = self.lambda_logits[inventory.poly_rows].masked_fill(~inventory.poly_mask, -torch.inf)
        own = logits.softmax(dim=-1).flatten()[inventory.poly_places]
        return weights.index_copy(0, inventory.poly_flat, own)

    @torch.no_grad()
    def keep_inputs(self) -> None:
        """From now on use x(w) as it is: for a model that reads and is not changed. `train` forgets it.

        Most words have one sense, and x(w) is its row of E; the others are kept.
        """
        inventory, weights = self.inventory, self._lambda()
        mixed = inventory.n_senses > 1
        mixed[self.offset_words] = True
        words = mixed.nonzero().flatten()
        place = torch.zeros_like(inventory.n_senses)
        place[words] = torch.arange(1, 1 + len(words), device=words.device)
        vectors = self.embeddings.new_zeros(1 + len(words), self.config.d_model)
        for begin in range(0, len(words), 1024):
            some = words[begin : begin + 1024]
            rows, own = inventory.rows(some)  # (n, k)
            vectors[1 + begin : 1 + begin + len(some)] = torch.einsum(
                "nk,nkd->nd", weights[rows] * own, self.embeddings[rows]
            )
        vectors.index_add_(0, place[self.offset_words], self.input_offsets)
        self._kept = _KeptInputs(vectors.to(self._kind), place)

    def quantize(self, wanted: bool = True) -> bool:
        """Read in 8-bit integers from now on, if all encoders can, or no longer; whether they do.

        As for `keep_inputs`: for a model that reads and is not changed.
        """
        able = [part for part in quantizable(self).values() if part.ranges is not None]
        is_single = self.embeddings.dtype == torch.float32
        self.is_quantized = wanted and is_single and len(able) == 1 + (self.c_d is not None)
        for part in able:
            part.quantize(self.is_quantized)
        return self.is_quantized

    def _forget(self) -> None:
        """What was made of the weights as they are."""
        self._kept = None
        self.quantize(False)

    def train(self, mode: bool = True) -> "PolyLM":
        """As modules do; what was made to read with is forgotten."""
        if mode:
            self._forget()
        return super().train(mode)

    def _apply(self, *arguments: Any, **named: Any) -> Any:
        self._forget()  # on another device, or in another precision
        return super()._apply(*arguments, **named)  # type: ignore[no-untyped-call]

    def load_state_dict(self, *arguments: Any, **named: Any) -> Any:
        """As modules do; what was made to read with is forgotten."""
        self._forget()
        return super().load_state_dict(*arguments, **named)

    def input_vectors(self, words: Tensor) -> Tensor:
        """x(w) of words (...) in the precision that the encoders compute in."""
        if self._kept is None:
            return F.embedding(words, self.word_vectors().to(self._kind))
        place = self._kept.place[words]
        of_one = F.embedding(self.inventory.first[words], self.embeddings).to(self._kind)
        return torch.where(place.unsqueeze(-1) > 0, F.embedding(place, self._kept.vectors), of_one)

    @property
    def _kind(self) -> torch.dtype:
        return self.compute_dtype or self.embeddings.dtype

    # Disambiguation layer

    def _own_scores(self, words: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Scores e_s . y + b_s of the words' own senses (..., k) in float32, -inf beyond them; and their e_s."""
        rows, mask = self.inventory.rows(words)
        kind = y.device.type
        if torch.is_autocast_enabled(kind):
            y = y.to(torch.get_autocast_dtype(kind))
        senses = F.embedding(rows, self.embeddings).to(y.dtype)  # (..., k, d)
        if y.dtype in (torch.bfloat16, torch.float16):  # summed in float32, as log Z is: their difference is the loss
            scores = (senses.float() * y.float().unsqueeze(-2)).sum(dim=-1)
        else:
            scores = torch.einsum("...kd,...d->...k", senses, y)
        return (scores + self.bias[rows]).masked_fill(~mask, -torch.inf), senses

    def _mixed(self, words: Tensor, y: Tensor, half: Tensor | None) -> Tensor:
        """x^P: the words' senses weighted by q^D (Eq. 8)."""
        if half is not None:
            return self._own_senses(words.flatten(), y.flatten(0, 1), half, mix=True)[1].view(y.shape)
        scores, senses = self._own_scores(words, y)
        return torch.einsum("...k,...kd->...d", scores.softmax(dim=-1).to(senses.dtype), senses)

    def _target_scores(self, words: Tensor, y: Tensor, half: Tensor | None) -> Tensor:
        """Scores (n, k) of the senses of words (n,)."""
        if half is not None:
            return self._own_senses(words, y, half, mix=False)[0][:, : self.inventory.max_senses]
        return self._own_scores(words, y)[0]

    def _own_senses(self, words: Tensor, y: Tensor, half: Tensor, *, mix: bool) -> tuple[Tensor, Tensor]:
        from polylm.model.senses_triton import own_senses

        inventory = self.inventory
        k = _power_of_two(inventory.max_senses)
        return own_senses(words, y, self.embeddings, half, self.bias, inventory.first, inventory.n_senses, k, mix=mix)

    def _half(self, y: Tensor) -> Tensor | None:
        """E as the kernels want it, cast once a step; none where they do not run."""
        if not self._fused(y):
            return None
        from polylm.model.head_triton import padded

        return padded(self.embeddings, y.dtype)

    def _fused(self, y: Tensor) -> bool:
        return (
            self.fused_senses and y.is_cuda and y.dtype == torch.bfloat16 and triton_works() and y.shape[-1] % 16 == 0
        )

    def read(self, words: Tensor, segments: Tensor | None = None) -> Reading:
        """Both layers on texts (B, T): Eqs. 6 to 8, and y^P."""
        x_p, log_q_d = self.prediction_inputs(words, segments)
        return Reading(log_q_d, self.c_p(x_p, segments))

    def outputs_at(
        self, words: Tensor, at: Tensor, segments: Tensor | None = None, *, x_p: Tensor | None = None
    ) -> Tensor:
        """y^P (n, d) at the places `at` (n,) among B * T: less work than `read`, and less still where x^P is known."""
        inputs = self.prediction_inputs(words, segments)[0] if x_p is None else x_p
        return at_places(self.c_p, inputs, segments, at)

    def prediction_inputs(
        self, words: Tensor, segments: Tensor | None = None, *, at: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """x^P (B, T, d), and log q^D (B, T, k) where there is a disambiguation layer.

        `at` (n,): the places of all words of several senses. Then C^D's last layer computes no others, and log q^D is
        (n, k).
        """
        self._check_length(words)
        x = self.input_vectors(words)
        if self.c_d is None:
            return x, None
        if at is not None:
            scores, senses = self._own_scores(words.flatten()[at], at_places(self.c_d, x, segments, at))
            log_q_d = scores.log_softmax(dim=-1)
            x = F.embedding(self.inventory.first[words], self.embeddings).to(senses.dtype)
            x.view(-1, x.shape[-1])[at] = torch.einsum("nk,nkd->nd", log_q_d.exp().to(senses.dtype), senses)
            return x, log_q_d
        scores, senses = self._own_scores(words, self.c_d(x, segments))
        log_q_d = scores.log_softmax(dim=-1)
        return torch.einsum("...k,...kd->...d", log_q_d.exp().to(senses.dtype), senses), log_q_d

    # Prediction layer, read-outs

    def disambiguation_probs(self, words: Tensor, segments: Tensor | None = None) -> Tensor:
        """q^D (B, T, k) of each word among its own senses, from C^D alone."""
        return self.disambiguation_log_probs(words, segments).exp()

    def disambiguation_log_probs(
        self, words: Tensor, segments: Tensor | None = None, *, at: tuple[Tensor, Tensor] | None = None
    ) -> Tensor:
        """log q^D (B, T, k), -inf beyond a word's own senses; or (n, k) of the n words `at` (row, position)."""
        if self.c_d is None:
            raise ValueError("this model has no disambiguation layer")
        self._check_length(words)
        x = self.input_vectors(words)
        if at is None:
            return self.own_log_probs(words, self.c_d(x, segments))
        row, position = at
        return self.own_log_probs(words[at], at_places(self.c_d, x, segments, row * words.shape[1] + position))

    def _check_length(self, words: Tensor) -> None:
        if words.shape[1] > self.config.max_length:
            raise ValueError(
                f"a text of {words.shape[1]} words is longer than the model reads, {self.config.max_length}"
            )

    def prediction_probs(self, words: Tensor, targets: Tensor, segments: Tensor | None = None) -> Tensor:
        """q^P (B, T, k): the senses of `targets` (B, T), the words that really stand in the (masked) texts `words`."""
        return self._own_scores(targets, self.read(words, segments).y_p)[0].softmax(dim=-1)

    def own_log_probs(self, words: Tensor, y: Tensor) -> Tensor:
        """log q (..., k) of words (...) among their own senses, given outputs y (..., d) of either layer."""
        return self._own_scores(words, y)[0].log_softmax(dim=-1)

    def sense_probs(self, y_p: Tensor) -> Tensor:
        """p (..., S): every sense of every word (Eq. 9)."""
        scores = y_p @ self.embeddings.to(y_p.dtype).T
        return (scores.to(torch.promote_types(scores.dtype, torch.float32)) + self.output_bias()).softmax(dim=-1)

    def word_log_probs(self, y_p: Tensor, words: Tensor) -> Tensor:
        """log P(word) (...) at positions with output y_p (..., d): the sum of its senses' probabilities (Eq. 4)."""
        own = torch.logsumexp(self._own_scores(words, y_p)[0], dim=-1)
        log_z = log_partition(y_p.flatten(0, -2), self.embeddings, self.output_bias()).view_as(own)
        return torch.where(self.inventory.predicted[self.inventory.first[words]], own - log_z, -torch.inf)

    def output_bias(self) -> Tensor:
        """b, and -inf for the senses that are never predicted."""
        return self.bias.masked_fill(~self.inventory.predicted, -torch.inf)

    # Training

    def forward(
        self,
        masked: Tensor,
        words: Tensor,
        targets: Tensor,
        *,
        r: Tensor | float = 1.0,
        lambda_m: Tensor | float = 0.1,
        weights: Tensor | None = None,
        segments: Tensor | None = None,
        totals: tuple[Tensor, Tensor] | None = None,
    ) -> Losses:
        """The losses of masked texts c' (B, T) for the texts c themselves; `targets` (n,) are places in B * T.

        No place is there twice. J_M needs q^D on the unmasked text, so C^D runs on both, stacked, and only once.
        """
        at_targets = words.flatten()[targets]
        predicted = self.inventory.predicted[self.inventory.first[at_targets]]
        weights = predicted.to(self.share_p.dtype) * (1.0 if weights is None else weights)
        scores = self.target_scores(masked, words, targets, segments)
        own, log_q_d = scores.masked, None
        if scores.disambiguation is not None:
            log_q_d = scores.disambiguation.log_softmax(dim=-1)
        log_z = log_partition(scores.y_p, self.embeddings, self.output_bias(), half=scores.half)
        if self.training:
            self._count_shares(at_targets, own.detach(), log_q_d, weights)
            if not self.defer_shares:
                self.update_shares()
        return losses(
            own,
            log_z,
            log_q_d,
            self.inventory.n_senses[at_targets] > 1,
            r=r,
            lambda_m=lambda_m,
            weights=weights,
            distinctness=self.config.distinctness,
            normalisation=self.config.normalisation,
            totals=totals,
        )

    def target_scores(
        self, masked: Tensor, words: Tensor, targets: Tensor, segments: Tensor | None = None, *, unmasked: bool = False
    ) -> TargetScores:
        """What both layers say of the words at `targets` (n,), places in B * T, in texts (B, T).

        C^P reads the `masked` texts, and if asked for the `unmasked` ones too. C^D reads both, stacked, in one run.
        """
        self._check_length(words)
        at_targets, n, n_targets = words.flatten()[targets], masked.numel(), len(targets)
        both = torch.cat((masked, words))
        segments_of_both = None if segments is None else torch.cat((segments, segments))
        at_both = torch.cat((targets, n + targets))
        read, read_segments, at = (both, segments_of_both, at_both) if unmasked else (masked, segments, targets)
        if self.c_d is None:
            x_p = self.input_vectors(read)
            outputs = at_places(self.c_p, x_p, read_segments, at)
            half = self._half(outputs)
        else:
            # Of what C^P does not read only the targets are needed.
            wanted = torch.arange(read.numel(), device=targets.device)
            wanted = wanted if unmasked else torch.cat((wanted, n + targets))
            y_d = at_places(self.c_d, self.input_vectors(both), segments_of_both, wanted)
            half = self._half(y_d)
            x_p = self._mixed(read, y_d[: read.numel()].view(*read.shape, -1), half)
            y_p = at_places(self.c_p, x_p, read_segments, at)  # (n or 2 n, d)
            outputs = torch.cat((y_p, y_d[n + targets] if unmasked else y_d[n:]))
        n_parts = 1 + unmasked + (self.c_d is not None)
        scores = self._target_scores(at_targets.repeat(n_parts), outputs, half)
        parts = list(scores.view(n_parts, n_targets, scores.shape[1]))
        disambiguation = None if self.c_d is None else parts.pop()
        return TargetScores(parts[0], disambiguation, parts[1] if unmasked else None, outputs[:n_targets], half)

    def compile_parts(self, wanted: bool = True) -> None:
        """Compile the encoders, in place, or no longer; what stands between them is fused already, or small."""
        for part in (self.c_d, self.c_p):
            if part is not None:
                compile_layers(part, wanted)
