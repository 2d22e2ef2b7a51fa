"""Which sense does each word of a text have? q^D, q^P, or both.

q^D needs one pass of C^D over the text as it is. q^P needs the word masked: every seventh word of several senses is
masked at a time, which is about the rate of training, so seven passes read a text.
"""

from typing import Literal

import torch
from torch import Tensor

from polylm.model.polylm import PolyLM

Source = Literal["both", "prediction", "disambiguation"]
EVERY = 7


@torch.no_grad()
def sense_distributions(
    model: PolyLM,
    words: Tensor,
    mask: int,
    *,
    source: Source = "both",
    weight: float = 0.6,
    segments: Tensor | None = None,
) -> Tensor:
    """(B, T, k) for texts (B, T); `mask` is the id of [MASK]. Both: (q^P)^weight (q^D)^(1 - weight), normalised."""
    if source not in ("both", "prediction", "disambiguation"):
        raise ValueError(f"there is no read-out {source!r}")
    if not words.numel():
        return torch.zeros(*words.shape, model.inventory.max_senses, device=words.device)
    if model.c_d is None or (source == "both" and weight == 1):
        source = "prediction"
    if source == "disambiguation" or (source == "both" and weight == 0):
        return model.disambiguation_probs(words, segments)
    log_q_p = _masked_log_probs(model, words, mask, segments)
    if source == "prediction":
        return log_q_p.exp()
    log_q_d = model.disambiguation_log_probs(words, segments)
    return (weight * log_q_p + (1 - weight) * log_q_d).softmax(dim=-1)


def _masked_log_probs(model: PolyLM, words: Tensor, mask: int, segments: Tensor | None) -> Tensor:
    """log q^P (B, T, k), each ambiguous word masked in one of the passes."""
    ambiguous = model.inventory.n_senses[words] > 1
    turn = (torch.cumsum(ambiguous, dim=1) - 1) % EVERY
    rows, own = model.inventory.rows(words)
    log_q = torch.full(rows.shape, -torch.inf, device=words.device).masked_fill(own & ~ambiguous.unsqueeze(-1), 0.0)
    for now in range(EVERY):
        picked = ambiguous & (turn == now)
        if not picked.any():
            break
        y_p = model.read(words.masked_fill(picked, mask), segments).y_p
        log_q[picked] = model.own_log_probs(words[picked], y_p[picked]).to(log_q.dtype)
    return log_q
