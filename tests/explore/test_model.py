"""Model: what belongs together is saved and loaded together."""

import pytest
import torch

import polylm
from polylm.errors import UserError
from polylm.explore.model import Model
from tests.evaluation.conftest import make_model


def test_round_trip(tmp_path):
    model = make_model(dial=0.4)
    assert model.granularity == 0.4
    model.save_pretrained(tmp_path)
    again = polylm.load(tmp_path, device="cpu")
    assert again.granularity == 0.4
    assert polylm.load(tmp_path, granularity=0.7, device="cpu").granularity == 0.7
    polylm.load(tmp_path, granularity=0.7, device="cpu").save_pretrained(tmp_path / "again")
    assert polylm.load(tmp_path / "again", device="cpu").granularity == 0.7
    assert again.vocabulary.words == model.vocabulary.words
    assert again.pipeline.settings == model.pipeline.settings
    words = torch.tensor([[4, 12, 15]])
    assert torch.equal(again.network.disambiguation_probs(words), model.network.disambiguation_probs(words))


def test_what_does_not_fit(tmp_path):
    model = make_model()
    model.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="not between 0 and 1"):
        polylm.load(tmp_path, granularity=-0.1)
    with pytest.raises(UserError, match="without the confusions"):
        Model(model.network, model.vocabulary, granularity=0.5)
    (tmp_path / "vocabulary.tsv").write_text("".join((tmp_path / "vocabulary.tsv").open().readlines()[:-1]))
    with pytest.raises(UserError, match="do not belong together"):
        polylm.load(tmp_path)
    (tmp_path / "text.json").write_text('{"tagger_sha256": 5}')
    with pytest.raises(UserError, match="its tagger_sha256 is 5"):
        polylm.load(tmp_path)
    (tmp_path / "text.json").unlink()
    with pytest.raises(UserError, match="cannot read text"):
        polylm.load(tmp_path)
    with pytest.raises(UserError, match="no English model is bundled yet"):
        polylm.load()
    with pytest.raises(UserError, match="there is no folder"):
        polylm.load(tmp_path / "none")
