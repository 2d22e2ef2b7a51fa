"""A network of eight words."""

import torch

from polylm.bundle.bundle import Bundle
from polylm.model.config import ModelConfig
from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM
from polylm.symbols import SPECIAL
from polylm.text.settings import TextSettings
from polylm.text.vocabulary import Vocabulary

N_SENSES = [1, 1, 3, 1, 2, 4, 1, 2]  # words 0 and 1 are pad and mask
EXCLUDED = (0, 1)
MASK = 1
SMALL = {"d_model": 8, "d_filter": 16, "n_heads": 2, "n_layers_d": 1, "n_layers_p": 2, "max_length": 16}


def make(seed=0, n_senses=N_SENSES, dtype=torch.float64, **changes):
    torch.manual_seed(seed)
    model = PolyLM(ModelConfig(**{**SMALL, **changes}), SenseInventory(n_senses, excluded=EXCLUDED)).to(dtype)
    with torch.no_grad():
        model.bias.normal_()
        model.lambda_logits.normal_()
    return model


def bundle_of(network, merge_tree=None, **parts):
    """With words of one letter or two, read as they stand."""
    n = network.inventory.n_words
    words = [*SPECIAL, *(f"w{number}" for number in range(len(SPECIAL), n))]
    vocabulary = Vocabulary(words, [1] * n, network.inventory.n_senses.tolist())
    return Bundle(network, vocabulary, TextSettings(lemmatize=False), merge_tree, **parts)
