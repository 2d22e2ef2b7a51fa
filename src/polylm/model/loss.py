"""J = J_LM + J_D + J_M: language modelling, distinctness and match (section 3.5 of the paper).

Everything here is in float32 or better, and in logarithms: powers of q are r log q under a log-sum-exp. r and lambda_M
may be tensors, so that a schedule changes no compiled code.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


class Losses(NamedTuple):
    """The three terms and their sum, each a scalar; and the weighted numbers of targets they are means of."""

    total: Tensor
    lm: Tensor
    distinctness: Tensor
    match: Tensor
    n_targets: Tensor
    n_polysemous: Tensor

    @property
    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """What is logged."""
        return self.lm, self.distinctness, self.match


def losses(
    own: Tensor,
    log_z: Tensor,
    disambiguation: Tensor | None,
    polysemous: Tensor,
    *,
    r: Tensor | float,
    lambda_m: Tensor | float,
    weights: Tensor | None = None,
    distinctness: bool = True,
    normalisation: str = "polysemous",
    totals: tuple[Tensor, Tensor] | None = None,
) -> Losses:
    """The losses of n targets.

    own (n, k): scores e_s . y^P + b_s of the target word's senses, -inf beyond them. log_z (n,): over all senses.
    disambiguation (n, k): log q^D of the unmasked text at the targets; none without a disambiguation layer.
    polysemous (n,): which targets have several senses. weights (n,): 0 leaves a target out.
    totals: numbers of targets and of polysemous targets to divide by, where the batch is part of a larger one.
    """
    if weights is None:
        weights = torch.ones_like(log_z)
    of_polysemous = weights * polysemous
    n_targets, n_polysemous = (weights.sum(), of_polysemous.sum()) if totals is None else totals
    mean_over = n_polysemous if normalisation == "polysemous" else n_targets
    counted = of_polysemous if normalisation == "polysemous" else weights

    def mean(values: Tensor, counted: Tensor, n: Tensor) -> Tensor:
        # Not only times 0: a target that is left out may have an infinite loss.
        return torch.where(counted > 0, values * counted, 0.0).sum() / n.clamp(min=1e-9)

    log_own = torch.logsumexp(own, dim=-1)
    lm = mean(log_z - log_own, weights, n_targets)

    log_q = own - log_own.unsqueeze(-1)  # log q^P, (n, k)
    zero = torch.zeros_like(lm)
    distinct = -mean(torch.logsumexp(r * log_q, dim=-1), counted, mean_over) / r if distinctness else zero

    if disambiguation is None:
        match = zero
    else:
        cosine = F.cosine_similarity(disambiguation.exp(), log_q.detach().exp(), dim=-1)  # no gradient to q^P
        match = -lambda_m * mean(cosine, counted, mean_over)
    return Losses(lm + distinct + match, lm, distinct, match, n_targets, n_polysemous)
