"""Senses in order of how common they are, and a model without those that are hardly used."""

import torch
from torch import Tensor

from polylm.model.int8 import quantizable
from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM


def dead_senses(model: PolyLM, least: float = 0.01) -> Tensor:
    """(S,) which senses are meant in less than this share of their word's occurrences; never a word's best one."""
    share = model.shares()
    best = share.new_zeros(model.inventory.n_words).scatter_reduce(0, model.inventory.word_of_sense, share, "amax")
    return (share < least) & (share < best[model.inventory.word_of_sense])


@torch.no_grad()
def order_senses(model: PolyLM) -> None:
    """Order each word's senses by falling share, and number them so: bank#1 is the commonest.

    To be done once, when training ends: before pruning, which keeps numbers, and before confusions are counted.
    """
    word = model.inventory.word_of_sense
    count_from_one = torch.arange(len(word), device=word.device) - model.inventory.first[word] + 1
    if not torch.equal(model.inventory.numbers, count_from_one):
        raise ValueError("the senses of a pruned model have their numbers for good: order them before pruning")
    by_share = torch.argsort(model.shares(), descending=True, stable=True)
    order = by_share[torch.argsort(word[by_share], stable=True)]  # rows of a word stay together
    for tensor in (model.embeddings, model.bias, model.lambda_logits, model.share_d, model.share_p):
        tensor.copy_(tensor[order])
    # A new inventory, so that nothing counted in the old order passes for one of this.
    inventory = SenseInventory(model.inventory.n_senses.cpu(), excluded=model.inventory.excluded)
    model.inventory = inventory.to(word.device)


@torch.no_grad()
def pruned(model: PolyLM, least: float = 0.01) -> PolyLM:
    """A smaller model without the dead senses. What is left keeps its number, its vector, its score and x(w)."""
    kept = ~dead_senses(model, least)
    vectors = model.word_vectors()
    words = torch.cat((model.inventory.word_of_sense[~kept], model.offset_words)).unique()  # type: ignore[no-untyped-call]
    smaller = PolyLM(model.config, model.inventory.select(kept), n_offsets=len(words))
    smaller = smaller.to(model.embeddings.device, model.embeddings.dtype)
    by_sense = ("embeddings", "bias", "lambda_logits", "share_d", "share_p")
    state = {name: tensor[kept] if name in by_sense else tensor for name, tensor in model.state_dict().items()}
    offsets = {name: smaller.state_dict()[name] for name in ("offset_words", "input_offsets")}
    smaller.load_state_dict({**state, **offsets})
    encoders = quantizable(model)
    for name, encoder in quantizable(smaller).items():
        encoder.ranges = encoders[name].ranges
    smaller.offset_words.copy_(words)
    smaller.input_offsets.copy_(vectors[words] - smaller.word_vectors()[words])
    return smaller.train(model.training)
