"""Reading in 8-bit integers: the same matrices, nearly the same senses, whatever is read together."""

import copy

import pytest
import torch

from polylm.model import int8
from polylm.model.int8 import Quantizable, measure_ranges, quantizable
from polylm.model.pruning import pruned
from polylm.reading.layers import ReadOut
from polylm.reading.readout import sense_distributions
from tests.shared.networks import MASK, make

TEXTS = torch.randint(2, 8, (6, 14), generator=torch.Generator().manual_seed(0))

needs_integers = pytest.mark.skipif(not int8.works(), reason="this processor or torch has no fast 8-bit integers")


def wide(**changes):
    """Whose widths are those of real ones: heads of 64."""
    network = make(
        dtype=torch.float32, d_model=128, d_filter=256, n_heads=2, n_layers_d=2, n_layers_p=3, reads_unmasked=True,
        **changes,
    ).eval()  # fmt: skip
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.ndim == 2 and name.startswith("c_"):
                parameter.mul_(4)
    return network


def test_ranges_are_those_of_what_goes_in():
    network = wide()
    first = network.c_d.layers[0]
    measure_ranges(network, [TEXTS], MASK)
    assert network.c_p.ranges.shape == (12, 2)
    assert (network.c_p.ranges[:, 0] <= 0).all()
    assert (network.c_p.ranges[:, 1] > 0).all()
    masked = TEXTS.clone()
    masked[:, 3::7] = MASK
    x = torch.nn.functional.embedding(torch.cat((TEXTS, masked)), network.word_vectors())
    x = torch.nn.functional.layer_norm(x, (128,), network.c_d.norm_in.weight, network.c_d.norm_in.bias)
    h = torch.nn.functional.layer_norm(x, (128,), first.norm_attention.weight, first.norm_attention.bias)
    torch.testing.assert_close(network.c_d.ranges[0], torch.stack(h.aminmax()))


def test_only_some_encoders_can():
    assert isinstance(make().c_p, Quantizable)
    assert quantizable(make(contextualizer="lstm")) == {}
    lstm = make(contextualizer="lstm").eval()
    measure_ranges(lstm, [TEXTS], MASK)
    assert not lstm.quantize()
    assert not make().quantize()  # nothing was measured


@needs_integers
@pytest.mark.parametrize("read_out", ["reading", "both", "disambiguation"])
def test_nearly_what_float32_says(read_out):
    network = wide()
    exact = sense_distributions(network, TEXTS, MASK, read_out=ReadOut(read_out))
    measure_ranges(network, [TEXTS], MASK)
    assert network.quantize()
    found = sense_distributions(network, TEXTS, MASK, read_out=ReadOut(read_out))
    assert 0 < (found - exact).abs().max() < 0.05


@needs_integers
def test_padding_and_company_change_nothing():
    network = wide()
    measure_ranges(network, [TEXTS], MASK)
    network.quantize()
    together = sense_distributions(network, TEXTS, MASK)
    alone = torch.cat([sense_distributions(network, text[None], MASK) for text in TEXTS])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)
    padded = torch.zeros(6, 16, dtype=torch.int64)
    padded[:, :14] = TEXTS
    filled = sense_distributions(network, padded, MASK, segments=(padded > 0).long())[:, :14]
    torch.testing.assert_close(filled, together, atol=1e-2, rtol=0.1)  # rounding may fall to the other side


@needs_integers
def test_training_and_new_weights_forget_it():
    network = wide()
    exact = sense_distributions(network, TEXTS, MASK)
    measure_ranges(network, [TEXTS], MASK)
    network.quantize()
    again = copy.deepcopy(network)
    torch.testing.assert_close(sense_distributions(again, TEXTS, MASK), sense_distributions(network, TEXTS, MASK))
    network.train()
    assert not network.is_quantized
    torch.testing.assert_close(sense_distributions(network.eval(), TEXTS, MASK), exact)
    assert again.is_quantized
    again.load_state_dict(network.state_dict())
    assert not again.is_quantized


@needs_integers
def test_no_words_at_all():
    network = wide()
    measure_ranges(network, [TEXTS], MASK)
    network.quantize()
    assert sense_distributions(network, TEXTS[:, :0], MASK).shape == (6, 0, 4)
    assert sense_distributions(network, TEXTS[:0], MASK).shape == (0, 14, 4)


def test_a_pruned_model_keeps_its_ranges():
    network = wide()
    measure_ranges(network, [TEXTS], MASK)
    torch.testing.assert_close(pruned(network, 0.3).c_p.ranges, network.c_p.ranges)
