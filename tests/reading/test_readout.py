import pytest
import torch

from polylm.model.config import ModelConfig
from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM
from polylm.reading import readout
from polylm.reading.layers import ReadOut
from polylm.reading.readout import read_places, sense_distributions
from polylm.senses.merge_tree import count_confusion
from tests.shared.networks import MASK, N_SENSES, make

TEXTS = torch.randint(2, 8, (3, 14), generator=torch.Generator().manual_seed(0))


def test_prediction_masks_every_fourth_ambiguous_word():
    """Written out: in each pass the words of one turn are masked, and only they are read."""
    model = make().eval()
    found = sense_distributions(model, TEXTS, MASK, read_out=ReadOut("prediction"))
    for b, text in enumerate(TEXTS.tolist()):
        ambiguous = [t for t, word in enumerate(text) if N_SENSES[word] > 1]
        for turn in range(4):
            places = ambiguous[turn::4]
            masked = TEXTS[b : b + 1].clone()
            masked[0, places] = MASK
            expected = model.prediction_probs(masked, TEXTS[b : b + 1])[0]
            torch.testing.assert_close(found[b, places].double(), expected[places], rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(found.sum(-1), torch.ones(3, 14))


def test_both_is_the_weighted_geometric_mean():
    """Written out: C^D reads the text as it is, and in each pass C^P has [MASK] where the words of one turn stood."""
    model = make().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # so that it matters what C^D reads
            if parameter.ndim == 2:
                parameter.mul_(1 if parameter is model.embeddings else 20)
    q_p, q_d = (
        sense_distributions(model, TEXTS, MASK, read_out=ReadOut(s)).double() for s in ("prediction", "disambiguation")
    )
    both = sense_distributions(model, TEXTS, MASK)
    x_p, _ = model.prediction_inputs(TEXTS)
    expected = q_p.clone()
    for b, text in enumerate(TEXTS.tolist()):
        ambiguous = [t for t, word in enumerate(text) if N_SENSES[word] > 1]
        for turn in range(4):
            places = ambiguous[turn::4]
            inputs = x_p[b : b + 1].clone()
            inputs[0, places] = model.embeddings[model.inventory.first[MASK]]
            y_p = model.c_p(inputs, None)[0, places]
            expected[b, places] = model.own_log_probs(TEXTS[b, places], y_p).exp().double()
    assert (expected - q_p).abs().max() > 1e-3  # not the same as masking before C^D
    expected = expected**0.6 * q_d**0.4
    torch.testing.assert_close(both.double(), expected / expected.sum(-1, keepdim=True), rtol=1e-4, atol=1e-6)
    alone = sense_distributions(model, TEXTS, MASK, read_out=ReadOut(weight=1.0))
    torch.testing.assert_close(alone.double(), q_p, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(q_d, model.disambiguation_probs(TEXTS))


def test_reading_masks_nothing():
    """Written out: y^P of the text as it is, and the softmax over the word's own senses."""
    model = make(reads_unmasked=True).eval()
    found = sense_distributions(model, TEXTS, MASK)
    x_p, _ = model.prediction_inputs(TEXTS)
    y_p = model.c_p(x_p, None)
    torch.testing.assert_close(found.double(), model.own_log_probs(TEXTS, y_p).exp())
    torch.testing.assert_close(found, sense_distributions(model, TEXTS, MASK, read_out=ReadOut("reading")))
    assert (found - sense_distributions(model, TEXTS, MASK, read_out=ReadOut("both"))).abs().max() > 1e-4


def test_a_sense_that_is_ruled_out_stays_out():
    model = make().eval()
    with torch.no_grad():
        model.bias[3] = -torch.inf
    both = sense_distributions(model, TEXTS, MASK)
    assert both.isfinite().all()
    assert (both[TEXTS == 2][:, 1] == 0).all()


def test_sure_answers_do_not_veto():
    model = make().eval()
    with torch.no_grad():
        model.embeddings.mul_(60)
    for weight, source in ((1.0, "prediction"), (0.0, "disambiguation")):
        mixed, alone = (
            sense_distributions(model, TEXTS, MASK, read_out=ReadOut(weight=weight)),
            sense_distributions(model, TEXTS, MASK, read_out=ReadOut(source)),
        )
        torch.testing.assert_close(mixed, alone)
    assert sense_distributions(model, TEXTS, MASK).isfinite().all()


def test_nothing_to_read():
    for contextualizer in ("transformer", "bert", "lstm"):
        assert sense_distributions(make(contextualizer=contextualizer), TEXTS[:, :0], MASK).shape == (3, 0, 4)


def test_padding_is_not_counted():
    model = make()
    padded = torch.zeros(3, 16, dtype=torch.int64)
    padded[:, :14] = TEXTS
    with_padding = count_confusion(model, [(padded, (padded > 0).long())], MASK)
    plain = count_confusion(model, [TEXTS], MASK)
    torch.testing.assert_close(with_padding.products, plain.products)
    assert model.training
    with pytest.raises(ValueError, match="longer"):
        count_confusion(model, [torch.full((1, 17), 2)], MASK)
    assert model.training


def test_without_a_disambiguation_layer():
    model = make(disambiguation=False).eval()
    both, prediction = (sense_distributions(model, TEXTS, MASK, read_out=ReadOut(s)) for s in ("both", "prediction"))
    torch.testing.assert_close(both, prediction)
    with pytest.raises(ValueError, match="no disambiguation layer"):
        model.disambiguation_probs(TEXTS)
    with pytest.raises(ValueError, match="no read-out"):
        sense_distributions(model, TEXTS, MASK, read_out=ReadOut("magic"))


def test_confusion_is_counted_with_both_layers():
    model = make()
    tree = count_confusion(model, [TEXTS[:2], TEXTS[2:]], MASK)
    q = sense_distributions(model.eval(), TEXTS, MASK)
    of_five = q[TEXTS == 5].double()
    place = model.inventory.poly_words.tolist().index(5)
    torch.testing.assert_close(tree.shares[place].double(), of_five.mean(0), rtol=1e-4, atol=1e-6)
    expected = torch.einsum("na,nb->ab", of_five, of_five) / len(of_five)
    torch.testing.assert_close(tree.products[place].double(), expected, rtol=1e-4, atol=1e-6)


def test_focuses_are_read_as_the_whole_text_is():
    """read_places equals what sense_distributions gives where all ambiguous words are asked about."""
    torch.manual_seed(0)
    inventory = SenseInventory([1, 1, 1, 1, 3, 2, 4, 1, 1], excluded=[0, 2, 3])
    model = PolyLM(ModelConfig.tiny(max_length=32, reads_unmasked=True), inventory).eval()
    words = torch.randint(4, 9, (3, 32))
    row, position = torch.nonzero(inventory.n_senses[words] > 1, as_tuple=True)
    for source in ReadOut.names_of(model):
        whole = sense_distributions(model, words, 2, read_out=ReadOut(source))[row, position]
        for output in (False, True):
            asked = read_places(model, words, row, position, 2, read_out=ReadOut(source), output=output)
            torch.testing.assert_close(asked.q, whole, atol=1e-5, rtol=1e-4)
    with pytest.raises(ValueError, match="no read-out"):
        read_places(model, words, row, position, 2, read_out=ReadOut("neither"))
    with pytest.raises(ValueError, match="between 0 and 1"):
        read_places(model, words, row, position, 2, read_out=ReadOut(weight=1.2))


@pytest.mark.parametrize("tokens", [14, 28, 42])
def test_read_in_parts_or_at_once(monkeypatch, tokens):
    model = make().eval()
    whole = sense_distributions(model, TEXTS, MASK)
    monkeypatch.setattr(readout, "tokens_together", lambda device: tokens)
    torch.testing.assert_close(sense_distributions(model, TEXTS, MASK), whole)
