import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from polylm.errors import UserError
from polylm.model.checkpoint import from_pretrained, save_pretrained
from polylm.model.config import ModelConfig
from polylm.model.contextualizer import register_contextualizer
from polylm.model.granularity import Confusion
from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM

N_SENSES = [1, 1, 3, 1, 4, 2]
TEXT = torch.tensor([[2, 3, 4, 5, 2, 4]])


@pytest.fixture
def model():
    torch.manual_seed(0)
    made = PolyLM(ModelConfig.tiny(contextualizer="transformer"), SenseInventory(N_SENSES, excluded=[0, 1]))
    made.share_p.uniform_()
    return made.eval()


def granularity_of(model):
    confusion = Confusion(model.inventory)
    confusion.add(TEXT, model.disambiguation_probs(TEXT).detach())
    return confusion.granularity()


def test_round_trip(model, tmp_path):
    granularity = granularity_of(model)
    save_pretrained(model, tmp_path / "m", granularity=granularity, files={"vocabulary.tsv": b"x"})
    loaded, merged = from_pretrained(tmp_path / "m")
    assert loaded.config == model.config
    assert loaded.inventory == model.inventory
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    assert torch.equal(merged.representatives(0.5), granularity.representatives(0.5))
    assert (tmp_path / "m" / "vocabulary.tsv").read_bytes() == b"x"
    assert {path.name for path in (tmp_path / "m").iterdir()} == {
        "README.md",
        "config.json",
        "model.safetensors",
        "vocabulary.tsv",
    }
    assert not loaded.training


def test_pruned_models_keep_their_numbers_and_inputs(model, tmp_path):
    model.share_p[3], model.share_d[3] = 0, 0
    pruned = model.prune()
    save_pretrained(pruned, tmp_path)
    loaded, _ = from_pretrained(tmp_path)
    assert loaded.inventory.numbers.tolist() == pruned.inventory.numbers.tolist()
    torch.testing.assert_close(loaded.disambiguation_probs(TEXT), pruned.disambiguation_probs(TEXT))


@pytest.mark.parametrize("precision", ["float16", "int8", "int6"])
def test_smaller_files_change_little(model, tmp_path, precision):
    granularity = granularity_of(model)
    save_pretrained(model, tmp_path, precision=precision, granularity=granularity)
    loaded, merging = from_pretrained(tmp_path)
    difference = (loaded.prediction_probs(TEXT, TEXT) - model.prediction_probs(TEXT, TEXT)).abs().max()
    assert 0 < difference < 0.05
    torch.testing.assert_close(merging.products, granularity.products, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(merging.shares, granularity.shares, atol=1e-3, rtol=1e-3)


def test_six_bits_are_within_half_a_step(model, tmp_path):
    save_pretrained(model, tmp_path, precision="int6")
    stored = load_file(tmp_path / "model.safetensors")
    n, d = model.embeddings.shape
    assert stored["embeddings.int6"].shape == (n, d * 3 // 4)
    loaded, _ = from_pretrained(tmp_path)
    step = model.embeddings.detach().abs().amax(1, keepdim=True) / 31
    assert ((loaded.embeddings - model.embeddings).abs() <= step * 0.5001).all()
    assert (loaded.embeddings - model.embeddings).abs().max() > 0


def test_int8_is_small_and_keeps_top_senses(tmp_path):
    torch.manual_seed(0)
    big = PolyLM(ModelConfig.tiny(), SenseInventory([1, 1] + [8] * 400 + [1] * 3000, excluded=[0, 1])).eval()
    sizes = {}
    for precision in ("float32", "int8"):
        save_pretrained(big, tmp_path / precision, precision=precision)
        sizes[precision] = (tmp_path / precision / "model.safetensors").stat().st_size
    assert sizes["int8"] < 0.3 * sizes["float32"]
    small, _ = from_pretrained(tmp_path / "int8")
    texts = torch.randint(2, 402, (100, 40))
    with torch.no_grad():
        tops = [m.disambiguation_probs(texts).argmax(-1) for m in (big, small)]
    assert (tops[0] == tops[1]).float().mean() > 0.97  # random weights: the trained model is measured in planted tests


def test_confusions_of_other_senses_are_refused(model, tmp_path):
    granularity = granularity_of(model)
    model.order_senses()
    with pytest.raises(UserError, match="count them again"):
        save_pretrained(model, tmp_path, granularity=granularity)
    model.share_p[3] = model.share_d[3] = 0
    with pytest.raises(UserError, match="count them again"):
        save_pretrained(model.prune(), tmp_path, granularity=granularity_of(model))
    save_pretrained(model, tmp_path, granularity=granularity_of(model))


def test_any_contextualizer_can_be_saved(tmp_path):
    class Shared(torch.nn.Module):
        def __init__(self, config, n_layers):
            super().__init__()
            self.scales = torch.nn.Parameter(torch.ones(config.d_model))
            self.layers = torch.nn.ModuleList([torch.nn.Linear(config.d_model, config.d_model)] * 2)

        def forward(self, x, segments=None):
            return self.layers[1](self.layers[0](x)) * self.scales

    register_contextualizer("shared", Shared)
    model = PolyLM(ModelConfig.tiny(contextualizer="shared"), SenseInventory(N_SENSES)).eval()
    for precision in ("float32", "int8"):
        save_pretrained(model, tmp_path, precision=precision)
        loaded, _ = from_pretrained(tmp_path)
        assert torch.equal(loaded.c_p.scales, model.c_p.scales)


def test_wrong_files_are_refused(model, tmp_path):
    save_pretrained(model, tmp_path)
    config, weights = tmp_path / "config.json", tmp_path / "model.safetensors"
    good_config, good_weights = config.read_bytes(), weights.read_bytes()

    def refused(message):
        with pytest.raises(UserError, match=message):
            from_pretrained(tmp_path)
        config.write_bytes(good_config)
        weights.write_bytes(good_weights)

    weights.write_bytes(good_weights[: len(good_weights) // 2])
    refused("damaged or cut off")
    weights.write_bytes(b"pickle?")
    refused("damaged or cut off")
    weights.unlink()
    refused("is missing")
    for change, message in (
        (lambda t: t.pop("bias"), "bias is missing"),
        (lambda t: t.update(bias=torch.zeros(3)), r"bias is \(3,\) instead of"),
        (lambda t: t.update(extra=torch.zeros(3)), "does not know: extra"),
        (lambda t: t.pop("inventory.n_senses"), "inventory.n_senses"),
        (lambda t: t.update({"inventory.numbers": torch.tensor(1)}), "not a whole model"),
        (lambda t: t.update(bias=torch.full((12,), torch.nan)), "not a number"),
        (lambda t: t.update({"confusion.products": torch.zeros(1)}), "confusions are not whole"),
        (
            lambda t: t.update({"offset_words": torch.tensor([99]), "input_offsets": torch.zeros(1, 64)}),
            "input offsets",
        ),
    ):
        tensors = load_file(weights)
        change(tensors)
        save_file(tensors, weights)
        refused(message)
    description = json.loads(good_config)
    for changed, message in (
        ({**description, "format": 99}, "newer polylm"),
        ({**description, "format": 0}, "does not describe a model"),
        ({**description, "model": None}, "not a table"),
        ({**description, "excluded": 3}, "not a whole model"),
        ({**description, "model": {**description["model"], "d_model": "64"}}, "whole number"),
        ({"format": 1}, "is missing"),
        ([], "does not describe a model"),
        ({**description, "model": {**description["model"], "width": 3}}, "does not know"),
        ({**description, "model": {**description["model"], "d_model": 32}}, "does not fit"),
    ):
        config.write_text(json.dumps(changed))
        refused(message)
    config.write_text("{")
    refused("damaged")
    config.unlink()
    refused("holds no model")
    with pytest.raises(UserError, match="no folder"):
        from_pretrained(tmp_path / "none")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is a file"):
        save_pretrained(model, tmp_path / "file")
    with pytest.raises(UserError, match="not a precision"):
        save_pretrained(model, tmp_path, precision="float8")


def test_a_model_half_written_over_another_is_none(model, tmp_path, monkeypatch):
    save_pretrained(model, tmp_path)
    whole = (tmp_path / "config.json").read_text()

    def killed(tensors):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("safetensors.torch.save", killed)
        save_pretrained(model, tmp_path)
    with pytest.raises(UserError):
        from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(whole.replace('"senses": ', '"senses": 1'))
    with pytest.raises(UserError, match="other words or senses"):
        from_pretrained(tmp_path)
