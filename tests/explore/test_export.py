"""What is written can be opened by others, and says the same."""

import numpy as np
import pytest

from polylm.errors import UserError
from polylm.explore.export import word2vec


@pytest.mark.slow
@pytest.mark.parametrize("name", ["senses.txt", "senses.bin"])
def test_gensim_opens_it(model, tmp_path, name):
    gensim = pytest.importorskip("gensim.models")
    word2vec(model.vectors, tmp_path / name)
    found = gensim.KeyedVectors.load_word2vec_format(tmp_path / name, binary=name.endswith(".bin"))
    assert found.index_to_key == model.vectors.keys
    np.testing.assert_allclose(found["bank#2"], model.vectors["bank#2"], atol=1e-5)
    ours = dict(model.most_similar("bank#2", 100))
    for key, cosine in found.most_similar("bank#2", topn=5):
        assert key.startswith("bank#") or ours.get(key, cosine) == pytest.approx(cosine, abs=1e-4)


@pytest.mark.slow
def test_to_gensim(model):
    pytest.importorskip("gensim.models")
    found = model.vectors.to_gensim()
    assert found.index_to_key == model.vectors.keys
    assert found.similarity("bank#1", "river#1") == pytest.approx(
        model.vectors.similarity("bank#1", "river#1"), abs=1e-5
    )


def test_kinds(model, tmp_path):
    word2vec(model.vectors, tmp_path / "a", kind="binary")
    assert (tmp_path / "a").read_bytes().startswith(f"{len(model.vectors)} 64\n".encode())
    with pytest.raises(UserError, match="choose text or binary"):
        word2vec(model.vectors, tmp_path / "a", kind="pickle")
