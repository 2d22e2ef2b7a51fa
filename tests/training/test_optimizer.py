"""Muon: the direction of the nearest orthogonal matrix, stacked; state by name."""

import pytest
import torch
from torch import nn

from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM
from polylm.training.config import OptimizationConfig
from polylm.training.optimizer import Muon, Optimizer, orthogonalized
from tests.shared.corpora import TINY, settings


def test_orthogonalized():
    torch.manual_seed(0)
    matrices = torch.randn(3, 8, 20)
    singular = torch.linalg.svdvals(orthogonalized(matrices))
    assert ((singular > 0.6) & (singular < 1.3)).all()


def test_muon_is_torchs_where_matrices_are_plain():
    """torch's computes in bfloat16, so to its precision."""
    if not hasattr(torch.optim, "Muon"):
        pytest.skip("this torch has no Muon")
    torch.manual_seed(0)
    start = {"c_p.up": torch.randn(32, 16), "c_p.down": torch.randn(16, 32)}
    ours = {name: nn.Parameter(value.clone()) for name, value in start.items()}
    theirs = {name: nn.Parameter(value.clone()) for name, value in start.items()}
    muon = Muon(ours, momentum=0.95, decay=0.01)
    other = torch.optim.Muon(theirs.values(), lr=0.1, momentum=0.95, weight_decay=0.01, adjust_lr_fn="match_rms_adamw")
    for _ in range(4):
        for name, value in start.items():
            gradient = torch.randn_like(value)
            ours[name].grad, theirs[name].grad = gradient, gradient.clone()
        muon.step(torch.tensor(0.1))
        other.step()
    for name, value in start.items():
        moved = (ours[name] - value).norm()
        assert (ours[name] - theirs[name]).norm() < 0.03 * moved


def test_queries_keys_and_values_are_apart():
    torch.manual_seed(0)
    qkv = nn.Parameter(torch.zeros(24, 8))
    qkv.grad = torch.cat([torch.randn(8, 8) * scale for scale in (1, 100, 1e-3)])
    Muon({"c_p.layers.0.qkv.weight": qkv}).step(torch.tensor(1.0))
    norms = [float(part.detach().norm()) for part in qkv.chunk(3)]
    assert max(norms) / min(norms) < 1.3


@pytest.mark.parametrize("name", ["muon", "adamw"])
def test_state_goes_round(name):
    """Two optimizers, one of which was loaded from the other's state, move alike, to the bit."""
    torch.manual_seed(0)
    model = PolyLM(TINY, SenseInventory([1, 1, 1, 1, 3, 3], excluded=[0, 2, 3]))
    other = PolyLM(TINY, SenseInventory([1, 1, 1, 1, 3, 3], excluded=[0, 2, 3]))
    first = Optimizer(model, settings(optimizer=name).optimization)
    first.set_rate(0.5)

    def step(model, optimizer, seed):
        torch.manual_seed(seed)
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
        optimizer.step()

    for seed in range(3):
        step(model, first, seed)
    other.load_state_dict(model.state_dict())
    second = Optimizer(other, settings(optimizer=name).optimization)
    second.set_rate(0.5)
    second.load({key: value.clone() for key, value in first.state().items()})
    for seed in range(3, 6):
        step(model, first, seed)
        step(other, second, seed)
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
    assert any(key.startswith("muon.") for key in first.state()) == (name == "muon")


def test_a_rate_of_zero_is_zero():
    model = nn.Module()
    model.q = nn.Linear(4, 4)
    for muon_rate, expected in ((None, 0.01), (0.0, 0.0), (0.5, 0.5)):
        optimizer = Optimizer(model, OptimizationConfig(learning_rate=0.01, muon_rate=muon_rate))
        optimizer.set_rate(1.0)
        assert float(optimizer._muon_rate) == pytest.approx(expected)


def with_gradients(value):
    model = PolyLM(TINY, SenseInventory([1, 1, 1, 1, 3, 3], excluded=[0, 2, 3]))
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, value)
    return model


@pytest.mark.parametrize("name", ["muon", "adamw"])
def test_matrices_of_the_encoders_alone_decay(name):
    model = with_gradients(0.0)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = Optimizer(model, settings(optimizer=name, weight_decay=0.5).optimization)
    optimizer.set_rate(1.0)
    optimizer.step()
    changed = {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}
    assert changed == {name for name, old in before.items() if old.ndim == 2 and name.startswith("c_")}


def test_long_gradients_are_cut():
    model = with_gradients(1.0)
    norm = Optimizer(model, settings(clip=0.5).optimization).step()
    assert norm > 1
    cut = torch.stack([parameter.grad.norm() for parameter in model.parameters()]).norm()
    assert cut == pytest.approx(0.5, rel=1e-3)
