"""From one vector a word to its senses.

The first phase is a plain masked language model: one vector a word, C^P alone. Then the contexts of every word that may
have several senses are clustered, and each cluster becomes a sense:

    y_i                  outputs y^P where the word was masked, some 80 of them; their mean is m
    c_s, share_s         k-means of the deviations y_i - m
    e_s = e_w + t c_s    t such that the best sense leads the average one by some nats at the y_i
    b_s = b_w + log share_s - t |c_s|^2 / 2 - t c_s . m      the mixture that the clusters are
    lambda_s = share_s

so that the word's own probability hardly changes. C^D starts as the first blocks of C^P. The optimizer's moments of a
word go to all of its senses.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from polylm.model.config import ModelConfig
from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM

_LEAST = 0.02  # a smaller cluster is begun anew
_WORDS = 1024  # words that are clustered at once


def phase_one_model(config: ModelConfig, inventory: SenseInventory) -> PolyLM:
    """One vector a word, no disambiguation layer."""
    single = SenseInventory([1] * inventory.n_words, excluded=inventory.excluded)
    return PolyLM(replace(config, disambiguation=False), single)


class Clusters(NamedTuple):
    """Of P words with up to k senses."""

    centres: Tensor  # (P, k, d) deviations from the mean
    shares: Tensor  # (P, k)
    means: Tensor  # (P, d)
    scales: Tensor  # (P,) t

    def in_order(self) -> "Clusters":
        """The commonest cluster of each word first."""
        order = self.shares.argsort(dim=1, descending=True, stable=True)
        centres = torch.gather(self.centres, 1, order.unsqueeze(-1).expand_as(self.centres))
        return self._replace(centres=centres, shares=torch.gather(self.shares, 1, order))

    def centred(self) -> "Clusters":
        """With centres whose mean, weighted by their shares, is 0: then x(w) is what it was."""
        middle = torch.einsum("pk,pkd->pd", self.shares, self.centres)
        living = (self.shares > 0).unsqueeze(-1)
        return self._replace(centres=(self.centres - middle.unsqueeze(1)) * living, means=self.means + middle)


@torch.no_grad()
def cluster(
    vectors: Tensor, counts: Tensor, n_senses: Tensor, *, lead: float, seed: int, random: bool = False
) -> Clusters:
    """k-means of every word; `random` takes directions by lot instead, of the same length."""
    k = int(n_senses.max()) if len(n_senses) else 1
    columns: Iterable[tuple[Tensor, Tensor, Tensor]] = zip(
        *(torch.split(tensor, _WORDS) for tensor in (vectors, counts, n_senses)), strict=True
    )
    parts = [_cluster(*part, k=k, lead=lead, seed=seed + number, random=random) for number, part in enumerate(columns)]
    return Clusters(*(torch.cat(tensors) for tensors in zip(*parts, strict=True)))


def _cluster(
    vectors: Tensor, counts: Tensor, n_senses: Tensor, *, k: int, lead: float, seed: int, random: bool, rounds: int = 12
) -> Clusters:
    n_words, n, d = vectors.shape
    device, vectors = vectors.device, vectors.float()
    generator = torch.Generator(device).manual_seed(seed)
    occurs = torch.arange(n, device=device) < counts.unsqueeze(1)  # (P, n)
    weight = occurs.float()
    total = weight.sum(dim=1).clamp(min=1)
    means = (vectors * weight.unsqueeze(-1)).sum(dim=1) / total.unsqueeze(-1)
    deviations = (vectors - means.unsqueeze(1)) * weight.unsqueeze(-1)  # (P, n, d)
    living = torch.arange(k, device=device) < n_senses.to(device).unsqueeze(1)  # (P, k)
    centres = _seeds(deviations, weight, k, generator)
    if random:
        length = centres.norm(dim=-1, keepdim=True)
        lots = torch.randn(centres.shape, generator=generator, device=device)
        centres = lots / lots.norm(dim=-1, keepdim=True) * length
    sizes = torch.zeros(n_words, k, device=device)
    for turn in range(1 if random else rounds):
        distance = (centres**2).sum(dim=-1).unsqueeze(1) - 2 * deviations @ centres.mT  # (P, n, k), but for |y|^2
        nearest = distance.masked_fill(~living.unsqueeze(1), torch.inf).argmin(dim=-1)  # (P, n)
        member = torch.nn.functional.one_hot(nearest, k).float() * weight.unsqueeze(-1)  # (P, n, k)
        sizes = member.sum(dim=1)
        if random:
            break
        new = member.mT @ deviations / sizes.clamp(min=1).unsqueeze(-1)
        centres = torch.where((sizes > 0).unsqueeze(-1), new, centres)
        small = living & (sizes < _LEAST * total.unsqueeze(1)) & (total >= 2 * k).unsqueeze(1)
        if turn < rounds - 2 and bool(small.any()):  # a tiny cluster begins anew at some occurrence
            pick = torch.randint(n, (n_words, k), generator=generator, device=device) % counts.clamp(min=1).unsqueeze(1)
            fresh = torch.gather(deviations, 1, pick.unsqueeze(-1).expand(-1, -1, d))
            centres = torch.where(small.unsqueeze(-1), fresh, centres)
    shares = (sizes + 0.5) * living
    shares = shares / shares.sum(dim=1, keepdim=True)
    centres = centres * living.unsqueeze(-1)
    return Clusters(centres, shares, means, _scales(deviations, weight, centres, living, lead))


def _seeds(deviations: Tensor, weight: Tensor, k: int, generator: torch.Generator) -> Tensor:
    """k-means++: occurrences that are far from those taken before."""
    n_words, n, _ = deviations.shape
    word = torch.arange(n_words, device=deviations.device)
    nearest = torch.full((n_words, n), torch.inf, device=deviations.device)
    chance = weight + 1e-12
    centres = []
    for _ in range(k):
        pick = torch.multinomial(chance, 1, generator=generator).squeeze(1)  # (P,)
        centre = deviations[word, pick]
        centres.append(centre)
        nearest = torch.minimum(nearest, ((deviations - centre.unsqueeze(1)) ** 2).sum(dim=-1))
        chance = nearest * weight + 1e-12
    return torch.stack(centres, dim=1)


def _scales(deviations: Tensor, weight: Tensor, centres: Tensor, living: Tensor, lead: float) -> Tensor:
    """t (P,): t times the mean over occurrences of (best - average) is the lead."""
    scores = deviations @ centres.mT - (centres**2).sum(dim=-1).unsqueeze(1) / 2  # (P, n, k)
    best = scores.masked_fill(~living.unsqueeze(1), -torch.inf).amax(dim=-1)
    average = (scores * living.unsqueeze(1)).sum(dim=-1) / living.sum(dim=1).unsqueeze(1)
    mean_lead = ((best - average) * weight).sum(dim=1) / weight.sum(dim=1).clamp(min=1)
    return torch.where(mean_lead > 1e-6, lead / mean_lead.clamp(min=1e-6), 0.0)


@torch.no_grad()
def split(single: PolyLM, config: ModelConfig, inventory: SenseInventory, clusters: Clusters | None) -> PolyLM:
    """The full model. C^P is the single model's; C^D the first blocks of it, where it has such."""
    device = single.embeddings.device
    inventory = SenseInventory(inventory.n_senses.cpu(), excluded=inventory.excluded)
    model = PolyLM(config, inventory).to(device)
    word = model.inventory.word_of_sense
    model.embeddings.copy_(single.embeddings[word])
    model.bias.copy_(single.bias[word])
    model.lambda_logits.zero_()
    if clusters is not None:
        place_senses(model, model.inventory.poly_words, clusters, reach=float(single.embeddings.norm(dim=1).mean()))
    model.c_p.load_state_dict(single.c_p.state_dict())
    if model.c_d is not None:
        state_d, theirs = model.c_d.state_dict(), single.c_p.state_dict()
        same = {name: theirs[name] for name in state_d if name in theirs and theirs[name].shape == state_d[name].shape}
        model.c_d.load_state_dict({**state_d, **same})
    return model


@torch.no_grad()
def place_senses(model: PolyLM, words: Tensor, clusters: Clusters, *, reach: float) -> None:
    """Move the senses of words (P,), all of which lie where their word is, to where their clusters are.

    Where contexts hardly differ t would be huge: no sense goes further than `reach`, which is how long words are.
    """
    centres, shares, means, scales = clusters
    rows, living = model.inventory.rows(words)
    rows, living = rows[:, : centres.shape[1]], living[:, : centres.shape[1]]
    t = torch.minimum(scales, reach / centres.norm(dim=-1).amax(dim=1).clamp(min=1e-6)).unsqueeze(1)
    log_shares = shares.clamp(min=1e-6).log()
    dots = torch.einsum("pkd,pd->pk", centres, means)
    shift = log_shares - t * (centres**2).sum(dim=-1) / 2 - t * dots
    flat = rows[living]
    if bool((t == 0).any()):  # words that were not met: senses that are all alike would stay so
        lots = torch.randn(centres.shape, device="cpu").to(centres.device) * model.embeddings.std() * 0.1
        model.embeddings[flat] += (lots * (t == 0).unsqueeze(-1))[living]
    model.embeddings[flat] += (t.unsqueeze(-1) * centres)[living]
    model.bias[flat] += shift[living]
    model.lambda_logits[flat] = log_shares[living]
    model.share_p[flat] = model.share_d[flat] = shares[living]


def split_state(state: Mapping[str, Tensor], model: PolyLM) -> dict[str, Tensor]:
    """The optimizer's state for the full model: rows of a word for each of its senses, blocks of C^P for C^D."""
    word = model.inventory.word_of_sense
    by_word = {f"adam.{key}.{name}" for key in ("exp_avg", "exp_avg_sq") for name in ("embeddings", "bias")}
    new = {name: tensor[word.to(tensor.device)] if name in by_word else tensor for name, tensor in state.items()}
    shapes = {name: tensor.shape for name, tensor in model.named_parameters()}
    for name, tensor in state.items():
        head, is_encoder, rest = name.partition("c_p.")
        name_d = f"c_d.{rest}"
        fits = name_d in shapes and (tensor.shape == shapes[name_d] or head.endswith("step."))
        if is_encoder and fits:
            new[f"{head}{name_d}"] = tensor.clone()
    return new
