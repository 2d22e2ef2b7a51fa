"""J_R: the network learns to read words as they stand, without masking them.

A word's sense is read best by both layers where the word is masked, which takes a pass of C^P for every few words. The
network as it was when this phase began is the teacher: T(s) is proportional to q^P(s)^w q^D(s)^(1 - w), with q^P where
the word is masked and q^D in the text as it is. The same network learns to say so in one pass over the text as it is:

    J_R = mean over targets of  KL(T || q^R) + KL(T || q^D) + KL(q^P_old || q^P) + 1 - cos(y^P_old, y^P)

q^R is C^P's where the word is not masked. The second term teaches C^D, whose first layers then read alone as well as
they can; the last two keep the masked language model as it was. Targets are words of several senses. E, b and lambda
stay as they are, and with them every vector, share and key.
"""

import copy
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from polylm.model.polylm import PolyLM, TargetScores
from polylm.reading.layers import BOTH


class LessonLosses(NamedTuple):
    """The terms of J_R, scalars, and their sum."""

    total: Tensor
    reading: Tensor
    disambiguation: Tensor
    kept: Tensor

    @property
    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """What is logged."""
        return self.reading, self.disambiguation, self.kept


def teacher_of(model: PolyLM) -> PolyLM:
    """The network as it is now, which stays so."""
    teacher = copy.deepcopy(model).requires_grad_(False).eval()
    teacher.keep_inputs()
    return teacher


class Lesson(nn.Module):
    """A network beside its teacher; called like the network, gives J_R."""

    def __init__(self, model: PolyLM, teacher: PolyLM, *, sharpness: float = 1.0) -> None:
        super().__init__()
        self.model, self.teacher, self.sharpness = model, teacher, sharpness

    def forward(
        self,
        masked: Tensor,
        words: Tensor,
        targets: Tensor,
        *,
        weights: Tensor | None = None,
        segments: Tensor | None = None,
        totals: tuple[Tensor, Tensor] | None = None,
    ) -> LessonLosses:
        """As `PolyLM.forward` takes them; all targets are masked, and of several senses where they have weight."""
        with torch.no_grad():
            old = self.teacher.target_scores(masked, words, targets, segments)
            taught = (self.sharpness * taught_log_probs(old)).log_softmax(dim=-1)
        new = self.model.target_scores(masked, words, targets, segments, unmasked=True)
        assert new.unmasked is not None
        weights = torch.ones_like(taught[:, 0]) if weights is None else weights
        n = weights.sum() if totals is None else totals[0]

        def mean(values: Tensor) -> Tensor:
            return (values * weights).sum() / n.clamp(min=1e-9)

        reading = mean(divergence(taught, new.unmasked))
        first = torch.zeros_like(reading)
        if new.disambiguation is not None:
            first = mean(divergence(taught, new.disambiguation))
        cosine = F.cosine_similarity(old.y_p.float(), new.y_p.float(), dim=-1)
        kept = mean(divergence(old.masked, new.masked) + 1 - cosine)
        return LessonLosses(reading + first + kept, reading, first, kept)


def taught_log_probs(scores: TargetScores) -> Tensor:
    """log T (n, k), not normalised: what both layers say where the targets are masked."""
    log_q = scores.masked.log_softmax(dim=-1)
    if scores.disambiguation is None:
        return log_q
    return BOTH.weight * log_q + (1 - BOTH.weight) * scores.disambiguation.log_softmax(dim=-1)


def divergence(taught: Tensor, learned: Tensor) -> Tensor:
    """KL (n,) of two distributions given as scores (n, k), -inf beyond a word's own senses."""
    beyond = taught.isinf()  # there both are 0; -inf less -inf is no number, and has no gradient
    log_t, log_q = (scores.log_softmax(dim=-1).masked_fill(beyond, 0.0) for scores in (taught, learned))
    return (log_t.exp().masked_fill(beyond, 0.0) * (log_t - log_q)).sum(dim=-1)
