"""What is written can be opened by others, and says the same."""

import json

import numpy as np
import pytest

from polylm.errors import UserError
from polylm.explore.export import onnx, word2vec


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


@pytest.mark.slow
def test_onnxruntime_gives_the_same_senses(model, tmp_path):
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    path = tmp_path / "senses.onnx"
    beside = onnx(model.network, model.vocabulary, path)
    session = runtime.InferenceSession(path)
    about = json.loads(beside.read_text())
    number = {word: index for index, word in enumerate(about["words"])}
    first = np.concatenate(([0], np.cumsum(about["n_senses"])))
    for words in (["the", "bank", "of", "the", "river"], ["cold", "water", "the", "bank", "of", "money"] * 3):
        ids = np.array([[number["[LINE]"], *(number[word] for word in words), number["[LINE]"]]])
        for source, output in (("disambiguation", "q_d"), ("prediction", "q_p")):
            for place, token in enumerate(model.tag_tokens(words, read_out=source, granularity=1.0), 1):
                masked = ids.copy()
                if source == "prediction":  # as the library does: every fourth ambiguous word at a time
                    several = [t for t in range(ids.shape[1]) if about["n_senses"][ids[0, t]] > 1]
                    if place in several:
                        masked[0, several[several.index(place) % 4 :: 4]] = about["mask"]
                (q,) = session.run([output], {"words": ids, "masked": masked})
                word = ids[0, place]
                best = about["numbers"][first[word] + int(q[0, place, : about["n_senses"][word]].argmax())]
                assert f"{about['words'][word]}#{best}" == token.sense
                assert float(q[0, place].max()) == pytest.approx(token.probability, abs=1e-3)
    assert model.network.compute_dtype is None
