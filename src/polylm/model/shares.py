"""How much the senses of a word are used: running means of q^P and q^D that training keeps."""

import torch
from torch import Tensor, nn

from polylm.model.inventory import SenseInventory


class SenseShares(nn.Module):
    """The part of a model that counts: `share_p` and `share_d` are among its weights."""

    inventory: SenseInventory
    share_d: Tensor  # (S,) running mean of q^D, in each word's own senses
    share_p: Tensor  # (S,) and of q^P

    def __init__(self, inventory: SenseInventory) -> None:
        super().__init__()
        self.inventory = inventory
        uniform = 1.0 / inventory.n_senses[inventory.word_of_sense].float()
        self.register_buffer("share_d", uniform.clone())
        self.register_buffer("share_p", uniform.clone())
        self._share_sums: Tensor | None = None

    @torch.no_grad()
    def _count_shares(self, words: Tensor, own: Tensor, log_q_d: Tensor | None, weights: Tensor) -> None:
        """Add up q^P and q^D of the words' senses, and how often they occurred, until `update_shares`."""
        rows, mask = self.inventory.rows(words)
        weight = (mask * weights.unsqueeze(-1)).to(self.share_p.dtype)
        q_p = own.softmax(dim=-1) * weight
        q_d = q_p if log_q_d is None else log_q_d.exp() * weight
        sums = torch.stack((weight, q_p, q_d), dim=-1).flatten(0, 1).to(self.share_p.dtype)  # (n k, 3)
        if self._share_sums is None:
            self._share_sums = torch.zeros(len(self.share_p), 3, dtype=sums.dtype, device=sums.device)
        self._share_sums.index_add_(0, rows.flatten(), sums)

    @torch.no_grad()
    def update_shares(self) -> None:
        """Running means of q^P and q^D with the authors' weight of 0.005 an occurrence, of what was added up."""
        if self._share_sums is None:
            return
        counts, *sums = self._share_sums.unbind(dim=1)
        keep = 0.995**counts
        for share, used in zip((self.share_p, self.share_d), sums, strict=True):
            share.copy_(torch.where(counts > 0, keep * share + (1 - keep) * used / counts.clamp(min=1e-9), share))
        self._share_sums.zero_()

    def share_sums(self) -> Tensor | None:
        """(S, 3) what waits for `update_shares`: several devices add theirs together first."""
        return self._share_sums

    def shares(self) -> Tensor:
        """(S,) how often each sense is meant when its word occurs: the mean of what the two layers say."""
        share = self.share_p if getattr(self, "c_d", None) is None else (self.share_p + self.share_d) / 2
        totals = self._sum_by_word(share)
        return share / totals[self.inventory.word_of_sense].clamp(min=1e-12)

    def effective_senses(self) -> Tensor:
        """(V,) the exponential of the entropy of a word's shares: 1 for a word of one living sense."""
        share = self.shares()
        surprise = -torch.special.xlogy(share, share)
        return self._sum_by_word(surprise).exp()

    def mean_effective_senses(self) -> float:
        """Of the words of several senses; 1 where there are none."""
        several = self.inventory.poly_words
        return float(self.effective_senses()[several].mean()) if len(several) else 1.0

    def _sum_by_word(self, values: Tensor) -> Tensor:
        """(S,) to (V,)."""
        return values.new_zeros(self.inventory.n_words).index_add_(0, self.inventory.word_of_sense, values)
