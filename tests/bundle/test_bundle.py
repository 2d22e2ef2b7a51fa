import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from polylm.bundle import bundle as bundle_module
from polylm.bundle.bundle import Bundle
from polylm.errors import UserError
from polylm.model.config import ModelConfig
from polylm.model.contextualizer import register_contextualizer
from polylm.model.int8 import measure_ranges
from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM
from polylm.model.pruning import order_senses, pruned
from polylm.senses.merge_tree import Confusion
from tests.shared.networks import bundle_of

N_SENSES = [1, 1, 3, 1, 4, 2]
TEXT = torch.tensor([[2, 3, 4, 5, 2, 4]])


@pytest.fixture
def model():
    torch.manual_seed(0)
    made = PolyLM(ModelConfig.tiny(contextualizer="transformer"), SenseInventory(N_SENSES, excluded=[0, 1]))
    made.share_p.uniform_()
    return made.eval()


def tree_of(model):
    confusion = Confusion(model.inventory)
    confusion.add(TEXT, model.disambiguation_probs(TEXT).detach())
    return confusion.merge_tree()


def test_round_trip(model, tmp_path):
    tree = tree_of(model)
    bundle_of(model, tree, granularity=0.3, training={"steps": 7}).write(tmp_path / "m")
    bundle = Bundle.read(tmp_path / "m")
    loaded = bundle.network
    assert (bundle.granularity, bundle.training, bundle.text.lemmatize) == (0.3, {"steps": 7}, False)
    assert bundle.vocabulary.words == bundle_of(model).vocabulary.words
    assert bundle.folder == (tmp_path / "m").absolute()
    assert loaded.config == model.config
    assert loaded.inventory == model.inventory
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    assert torch.equal(bundle.merge_tree.representatives(0.5), tree.representatives(0.5))
    names = {path.name for path in (tmp_path / "m").iterdir()}
    assert names == {"README.md", "config.json", "model.safetensors", "text.json", "training.json", "vocabulary.tsv"}
    assert set(json.loads((tmp_path / "m" / "config.json").read_text())["files"]) == names - {"config.json"}
    assert not loaded.training


def test_pruned_models_keep_their_numbers_and_inputs(model, tmp_path):
    model.share_p[3], model.share_d[3] = 0, 0
    smaller = pruned(model)
    bundle_of(smaller).write(tmp_path)
    loaded = Bundle.read(tmp_path).network
    assert loaded.inventory.numbers.tolist() == smaller.inventory.numbers.tolist()
    torch.testing.assert_close(loaded.disambiguation_probs(TEXT), smaller.disambiguation_probs(TEXT))


@pytest.mark.parametrize("precision", ["float16", "int8", "int6"])
def test_smaller_files_change_little(model, tmp_path, precision):
    tree = tree_of(model)
    bundle_of(model, tree).write(tmp_path, precision=precision)
    bundle = Bundle.read(tmp_path)
    loaded, again = bundle.network, bundle.merge_tree
    difference = (loaded.prediction_probs(TEXT, TEXT) - model.prediction_probs(TEXT, TEXT)).abs().max()
    assert 0 < difference < 0.05
    torch.testing.assert_close(again.products, tree.products, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(again.shares, tree.shares, atol=1e-3, rtol=1e-3)


def test_six_bits_are_within_half_a_step(model, tmp_path):
    bundle_of(model).write(tmp_path, precision="int6")
    stored = load_file(tmp_path / "model.safetensors")
    n, d = model.embeddings.shape
    assert stored["embeddings.int6"].shape == (n, d * 3 // 4)
    loaded = Bundle.read(tmp_path).network
    step = model.embeddings.detach().abs().amax(1, keepdim=True) / 31
    assert ((loaded.embeddings - model.embeddings).abs() <= step * 0.5001).all()
    assert (loaded.embeddings - model.embeddings).abs().max() > 0


def test_int8_is_small_and_keeps_top_senses(tmp_path):
    torch.manual_seed(0)
    big = PolyLM(ModelConfig.tiny(), SenseInventory([1, 1] + [8] * 400 + [1] * 3000, excluded=[0, 1])).eval()
    sizes = {}
    for precision in ("float32", "int8"):
        bundle_of(big).write(tmp_path / precision, precision=precision)
        sizes[precision] = (tmp_path / precision / "model.safetensors").stat().st_size
    assert sizes["int8"] < 0.3 * sizes["float32"]
    small = Bundle.read(tmp_path / "int8").network
    texts = torch.randint(2, 402, (100, 40))
    with torch.no_grad():
        tops = [m.disambiguation_probs(texts).argmax(-1) for m in (big, small)]
    assert (tops[0] == tops[1]).float().mean() > 0.97  # random weights: the trained model is measured in planted tests


def test_confusions_of_other_senses_are_refused(model, tmp_path):
    tree = tree_of(model)
    order_senses(model)
    with pytest.raises(UserError, match="count them again"):
        bundle_of(model, tree).write(tmp_path)
    model.share_p[3] = model.share_d[3] = 0
    with pytest.raises(UserError, match="count them again"):
        bundle_of(pruned(model), tree_of(model)).write(tmp_path)
    bundle_of(model, tree_of(model)).write(tmp_path)


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
        bundle_of(model).write(tmp_path, precision=precision)
        loaded = Bundle.read(tmp_path).network
        assert torch.equal(loaded.c_p.scales, model.c_p.scales)


def test_wrong_files_are_refused(model, tmp_path):
    """What is inside is looked at too: in the first format files had no sums."""
    bundle_of(model).write(tmp_path)
    config, weights = tmp_path / "config.json", tmp_path / "model.safetensors"
    description = {**json.loads(config.read_text()), "format": 1}
    del description["files"]
    good_config, good_weights = json.dumps(description).encode(), weights.read_bytes()
    config.write_bytes(good_config)

    def refused(message):
        with pytest.raises(UserError, match=message):
            Bundle.read(tmp_path)
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
    for changed, message in (
        ({**description, "format": 99}, "newer polylm"),
        ({**description, "format": 0}, "does not describe a model"),
        ({**description, "format": 2}, "files is missing"),
        ({**description, "format": 2, "files": ["x"]}, "its list of files is invalid"),
        ({**description, "format": 2, "files": {"../x": ""}}, "its list of files is invalid"),
        ({**description, "model": None}, "not a table"),
        ({**description, "excluded": 3}, "not a whole model"),
        ({**description, "model": {**description["model"], "d_model": "64"}}, "whole number"),
        ({"format": 1}, "is missing"),
        ([], "does not describe a model"),
        ({**description, "model": {**description["model"], "width": 3}}, "does not know"),
        ({**description, "model": {**description["model"], "d_model": 32}}, "does not fit"),
        ({**description, "senses": 1000}, "other words or senses"),
    ):
        config.write_text(json.dumps(changed))
        refused(message)
    config.write_text("{")
    refused("damaged")
    config.unlink()
    refused("holds no model")
    with pytest.raises(UserError, match="no folder"):
        Bundle.read(tmp_path / "none")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is a file"):
        bundle_of(model).write(tmp_path / "file")
    with pytest.raises(UserError, match="not a precision"):
        bundle_of(model).write(tmp_path, precision="float8")


@pytest.mark.parametrize("name", ["model.safetensors", "vocabulary.tsv", "text.json", "training.json"])
def test_every_changed_bit_is_seen(model, tmp_path, name):
    bundle_of(model, training={"steps": 1}).write(tmp_path)
    data = bytearray((tmp_path / name).read_bytes())
    data[len(data) // 2] ^= 4
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match=f"{name} is not the file that was saved"):
        Bundle.read(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(UserError, match=f"{name} is missing"):
        Bundle.read(tmp_path)


def test_people_may_write_into_the_card(model, tmp_path):
    bundle_of(model).write(tmp_path)
    (tmp_path / "README.md").write_text("# Mine\n")
    Bundle.read(tmp_path)


def test_folders_of_the_first_format_are_read(model, tmp_path):
    bundle_of(model, tree_of(model), granularity=0.5).write(tmp_path)
    description = json.loads((tmp_path / "config.json").read_text())
    del description["files"]
    (tmp_path / "config.json").write_text(json.dumps({**description, "format": 1}))
    assert Bundle.read(tmp_path).granularity == 0.5


def test_what_does_not_belong_together(model, tmp_path):
    other = PolyLM(ModelConfig.tiny(), SenseInventory([1, 1, 1]))
    with pytest.raises(UserError, match="do not belong together"):
        Bundle(other, bundle_of(model).vocabulary)
    with pytest.raises(UserError, match="without the confusions"):
        bundle_of(model, granularity=0.5)
    with pytest.raises(UserError, match="a granularity of 2 is not between 0 and 1"):
        bundle_of(model, tree_of(model), granularity=2)


def test_a_model_half_written_over_another_is_none(model, tmp_path, monkeypatch):
    bundle_of(model).write(tmp_path)
    whole = (tmp_path / "config.json").read_text()
    write, written = bundle_module.write_bytes, []

    def killed(path, data):
        written.append(path.name)
        if len(written) == 3:
            raise KeyboardInterrupt
        write(path, data)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(bundle_module, "write_bytes", killed)
        bundle_of(PolyLM(model.config, SenseInventory([1] * 6))).write(tmp_path)
    assert "config.json" not in written
    with pytest.raises(UserError, match="holds no model"):
        Bundle.read(tmp_path)
    (tmp_path / "config.json").write_text(whole)  # as if it had not been removed
    with pytest.raises(UserError, match="is not the file that was saved"):
        Bundle.read(tmp_path)


def test_other_peoples_files_are_not_written_over(model, tmp_path):
    (tmp_path / "README.md").write_text("# My project")
    with pytest.raises(UserError, match=r"holds other files \(README.md\): name a new folder"):
        bundle_of(model).write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    with pytest.raises(UserError, match="has no name"):
        bundle_of(model).write("")
    with pytest.raises(UserError, match="is a file: name the folder of a model"):
        Bundle.read(tmp_path / "README.md")


def test_ranges_are_saved_and_checked(model, tmp_path):
    """They are the model's, whatever the precision it is stored in; what does not fit is damage."""
    measure_ranges(model, [TEXT], 2)
    for precision in ("float32", "int6"):
        bundle_of(model).write(tmp_path / precision, precision=precision)
        torch.testing.assert_close(Bundle.read(tmp_path / precision).network.c_p.ranges, model.c_p.ranges)
    model.c_p.ranges = model.c_p.ranges[:3]
    bundle_of(model).write(tmp_path / "wrong")
    with pytest.raises(UserError, match="ranges.c_p does not fit its network"):
        Bundle.read(tmp_path / "wrong")
