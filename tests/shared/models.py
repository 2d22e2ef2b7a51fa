"""A small world: a vocabulary with a few words of several senses, and a random network."""

import pytest
import torch

from polylm.bundle.bundle import Bundle
from polylm.explore.model import Model
from polylm.model.config import ModelConfig
from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM
from polylm.senses.merge_tree import MergeTree
from polylm.symbols import SPECIAL
from polylm.text.lemmatizer import MARKERS
from polylm.text.settings import TextSettings
from polylm.text.vocabulary import Vocabulary

POLYSEMOUS = ("bank", "wait", "cold", "color")
PLAIN = "the a of river he she sat on money in was for they at , . it to and by water".split()


def make_model(*, max_length=24, lemmatize=True, seed=0, granularity=1.0, **changes):
    torch.manual_seed(seed)
    words = [*SPECIAL, *MARKERS, *POLYSEMOUS, *PLAIN]
    senses = [3 if word in POLYSEMOUS else 1 for word in words]
    vocabulary = Vocabulary(words, [1] * len(words), senses)
    inventory = SenseInventory(senses, excluded=[0, 2, 3])
    network = PolyLM(ModelConfig.tiny(max_length=max_length, **changes), inventory)
    with torch.no_grad():  # so that senses differ by context even without training
        network.embeddings.mul_(6)
    n = len(POLYSEMOUS)
    products = 0.2 * torch.eye(3).repeat(n, 1, 1)
    products[:, 1, 2] = products[:, 2, 1] = 0.15
    tree = MergeTree(inventory, products, torch.full((n, 3), 1 / 3))
    bundle = Bundle(network, vocabulary, TextSettings(lemmatize=lemmatize), tree, granularity)
    return Model(bundle, device="cpu", share=True)


@pytest.fixture(scope="session")
def model():
    return make_model()


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    make_model(granularity=0.5).save_pretrained(folder)
    return folder
