"""Model: what belongs together is saved and loaded together."""

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import polylm
from polylm.bundle.bundle import Bundle
from polylm.errors import UserError
from polylm.explore.model import Model
from polylm.senses.wordlists import WordLists
from tests.shared.models import make_model


def test_round_trip(tmp_path):
    model = make_model(granularity=0.4)
    assert model.granularity == 0.4
    model.save_pretrained(tmp_path)
    again = polylm.load(tmp_path, device="cpu")
    assert again.granularity == 0.4
    assert polylm.load(tmp_path, granularity=0.7, device="cpu").granularity == 0.7
    polylm.load(tmp_path, granularity=0.7, device="cpu").save_pretrained(tmp_path / "again")
    assert polylm.load(tmp_path / "again", device="cpu").granularity == 0.7
    assert again.vocabulary.words == model.vocabulary.words
    assert again.reader.pipeline.settings == model.reader.pipeline.settings
    words = torch.tensor([[4, 12, 15]])
    assert torch.equal(again.network.disambiguation_probs(words), model.network.disambiguation_probs(words))


def first_format(folder):
    description = json.loads((folder / "config.json").read_text())
    del description["files"]
    (folder / "config.json").write_text(json.dumps({**description, "format": 1}))


def test_what_does_not_fit(tmp_path, monkeypatch):
    model = make_model()
    model.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="not between 0 and 1"):
        polylm.load(tmp_path, granularity=-0.1)
    with pytest.raises(UserError, match="without the confusions"):
        Model(Bundle(model.network, model.vocabulary), granularity=0.5)
    first_format(tmp_path)  # whose files had no sums
    (tmp_path / "vocabulary.tsv").write_text("".join((tmp_path / "vocabulary.tsv").open().readlines()[:-1]))
    with pytest.raises(UserError, match="do not belong together"):
        polylm.load(tmp_path)
    (tmp_path / "text.json").write_text('{"tagger_sha256": 5}')
    with pytest.raises(UserError, match="its tagger_sha256 is 5"):
        polylm.load(tmp_path)
    (tmp_path / "text.json").unlink()
    with pytest.raises(UserError, match="cannot read text"):
        polylm.load(tmp_path)
    monkeypatch.setattr("polylm.explore.model.PRETRAINED", tmp_path / "none")
    with pytest.raises(UserError, match="has no English model"):
        polylm.load()
    with pytest.raises(UserError, match="there is no folder"):
        polylm.load(tmp_path / "none")


def test_labels_are_saved(tmp_path):
    model = make_model()
    model.save_pretrained(tmp_path, labels=True)
    again = polylm.load(tmp_path, device="cpu")
    keys = [*again.vectors.keys, None]
    assert again.lexicon.labels(keys) == model.lexicon.labels(keys)
    assert again.label("bank#1").count(" ") == 2
    assert again.label("river#1") == ""
    for _ in range(2):
        with pytest.raises(UserError, match="bank#9 is not a sense"):
            again.label("bank#9")
    first_format(tmp_path)
    (tmp_path / "senses.npz").write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"senses\.npz is damaged"):
        polylm.load(tmp_path)


def test_word_lists_of_another_model_do_not_stay(tmp_path):
    make_model().save_pretrained(tmp_path, labels=True)
    make_model(seed=1).save_pretrained(tmp_path)
    assert polylm.load(tmp_path).bundle.wordlists.tables() == {}


def test_a_model_that_cannot_be_saved_takes_nothing_away(tmp_path):
    make_model().save_pretrained(tmp_path, labels=True)
    with pytest.raises(UserError):
        make_model().save_pretrained(tmp_path, precision="int4")
    assert "labels" in polylm.load(tmp_path).bundle.wordlists.tables()
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is a file"):
        make_model().save_pretrained(tmp_path / "file")


def test_substitutes_of_senses(tmp_path):
    model = make_model()
    assert all(sense.substitutes == [] for sense in model.senses("bank"))
    vocabulary, rows = model.vocabulary, model.network.inventory.n_rows
    table = np.zeros((rows, 4), dtype=np.uint16)
    first = int(model.network.inventory.first[vocabulary["bank"]])
    table[first + 1, :3] = [vocabulary[word] for word in ("river", "money", "river")]
    Model(replace(model.bundle, wordlists=WordLists(substitutes=table))).save_pretrained(tmp_path)
    again = polylm.load(tmp_path, device="cpu")
    found = {sense.key: sense for sense in again.senses("bank")}
    assert found["bank#2"].substitutes == ["river", "money", "river"]
    assert found["bank#2"].to_dict()["substitutes"] == ["river", "money", "river"]
    assert found["bank#1"].substitutes == []
    assert "river" in again.label("bank#2").split()  # far up in one list at least
    with torch.no_grad():
        share = again.network.share_p
        share.fill_(1.0)
        share[first] = 0  # bank#1 is dead
        again.network.share_d.copy_(share)
    pruned = again.prune(0.01)
    found = {sense.key: sense for sense in pruned.senses("bank")}
    assert found["bank#2"].substitutes == ["river", "money", "river"]
    assert found["bank#3"].substitutes == []


def test_precision(tmp_path):
    make_model().save_pretrained(tmp_path)
    text = "He waits at the cold bank of the river."
    plain, half = (polylm.load(tmp_path, device="cpu", precision=kind) for kind in ("auto", "bfloat16"))
    assert plain.network.compute_dtype is None
    assert half.network.compute_dtype == torch.bfloat16
    for one, other in zip(plain.tag(text), half.tag(text), strict=True):
        assert (one.probability is None) == (other.probability is None)
        for key, probability in one.distribution.items():
            assert other.distribution.get(key, 0) == pytest.approx(probability, abs=0.05)
    with pytest.raises(UserError, match="not a precision"):
        polylm.load(tmp_path, precision="int4")


def test_a_pruned_model_reads_the_same_text(tmp_path):
    """Keys stay, merged senses stay merged, and int8 changes little."""
    model = make_model(granularity=0.5)
    with torch.no_grad():
        rows = model.network.inventory.poly_rows[0]  # bank
        for share in (model.network.share_p, model.network.share_d):
            share[rows] = torch.tensor([0.0, 0.6, 0.4])
    with pytest.raises(UserError, match="not between 0 and 1"):
        model.prune(5)
    assert "senses, granularity 0.5" in repr(model)
    small = model.prune(0.01)
    assert small.network.inventory.n_rows == model.network.inventory.n_rows - 1
    assert small.lexicon.index.keys(small.vocabulary["bank"]) == ["bank#2", "bank#3"]
    assert [sense.members for sense in small.senses("bank")] == [["bank#2", "bank#3"]]
    assert [sense.key for sense in small.senses("bank", granularity=1.0)] == ["bank#2", "bank#3"]
    assert [sense.members for sense in small.senses("wait")] == [sense.members for sense in model.senses("wait")]
    small.save_pretrained(tmp_path, precision="int8", card="# Mine\n")
    again = polylm.load(tmp_path, device="cpu")
    assert (tmp_path / "README.md").read_text() == "# Mine\n"
    assert again.granularity == 0.5
    for token in again.tag("He waits at the cold bank."):
        assert token.sense != "bank#1"
    words = torch.tensor([[model.vocabulary[word] for word in ("the", "cold", "river")]])
    torch.testing.assert_close(
        small.network.disambiguation_probs(words)[..., :3], model.network.disambiguation_probs(words), rtol=0, atol=0.02
    )


def test_the_dial_is_checked_when_it_is_turned():
    model = make_model()
    model.granularity = 0.5
    assert model.lexicon.at(None) == 0.5
    for wrong in (5, -1, "x", None):
        with pytest.raises(UserError, match="is not between 0 and 1"):
            model.granularity = wrong
    assert model.granularity == 0.5


def test_a_model_goes_to_other_processes_by_its_folder(tmp_path):
    with pytest.raises(UserError, match="save it and load it first"):
        pickle.dumps(make_model())
    make_model().save_pretrained(tmp_path)
    model = polylm.load(tmp_path, granularity=0.5, device="cpu")
    again = pickle.loads(pickle.dumps(model))
    assert (again.bundle.folder, again.granularity) == (tmp_path, 0.5)
    assert again.tag("he sat on the bank") == model.tag("he sat on the bank")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_process_reads_too(tmp_path):
    """Its threads did not come along, so it must not wait for them."""
    make_model(max_length=128).save_pretrained(tmp_path)
    code = f"""
import multiprocessing, torch, polylm
torch.set_num_threads(2)
model = polylm.load({str(tmp_path)!r}, device="cpu")
texts = ["he sat on the bank of the river " * 40] * 2
def tag(text):
    again = polylm.load({str(tmp_path)!r}, device="cpu")
    return [token.sense for token in model.tag(text)], again.similarity("bank", "river"), model.facts()
here = [tag(text) for text in texts]
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(tag, texts) == here
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_run_that_is_not_finished_is_named(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(UserError, match="is an unfinished run: continue it with resume=True"):
        polylm.load(tmp_path)


def test_how_alike_two_words_are(model):
    banks, water = model.senses("bank", granularity=1.0), model.senses("water", granularity=1.0)
    cosines = {(a.key, b.key): model.vectors.similarity(a.key, b.key) for a in banks for b in water}
    assert len(cosines) > 1
    shares = {sense.key: sense.share for sense in (*banks, *water)}
    mean = sum(cosine * shares[a] * shares[b] for (a, b), cosine in cosines.items())
    assert model.similarity("bank", "water") == pytest.approx((max(cosines.values()) + mean) / 2, abs=1e-3)
    assert model.similarity("Banks", "water") == model.similarity("water", "bank")
    assert model.similarity("bank#2", "water#1") == pytest.approx(cosines["bank#2", "water#1"], abs=1e-6)
    of_two = {b: cosine for (a, b), cosine in cosines.items() if a == "bank#2"}
    mean = sum(cosine * shares[b] for b, cosine in of_two.items())
    assert model.similarity("bank#2", "water") == pytest.approx((max(of_two.values()) + mean) / 2, abs=1e-3)
    with pytest.raises(UserError, match="not a word that the model knows"):
        model.similarity("bank", "zyzzyva")


def test_senses_that_are_never_meant_are_alike_by_their_cosine(model):
    cosine = model.similarity("bank#2", "water#1")
    model.vectors.shares[model.vectors.index("bank#2")] = 0
    assert model.similarity("bank#2", "water#1") == pytest.approx(cosine)


def test_neighbours_that_are_far_off_are_no_label(monkeypatch):
    model = make_model()
    table = np.zeros((model.network.inventory.n_rows, 3), dtype=np.uint16)
    first = int(model.network.inventory.first[model.vocabulary["bank"]])
    table[first] = [model.vocabulary[word] for word in ("sat", "on", "by")]
    lexicon = model.lexicon
    lexicon.wordlists = WordLists(substitutes=table)
    far = [("money#1", 0.2), ("water#1", 0.2), ("it#1", 0.2)]
    monkeypatch.setattr(model.vectors, "nearest", lambda rows, topn: [far] * len(rows))
    assert model.label("bank#1") == "sat on by"


def test_words_that_are_several_and_keys_in_capitals(model):
    with pytest.raises(UserError, match="'river bank' is read as river, bank: ask for one word of them"):
        model.senses("river bank")
    assert model.label("BANK#1") == model.label("bank#1")
    with pytest.raises(UserError, match="is not a sense"):
        model.label("bank#9")


def test_a_read_out_that_the_model_does_not_have():
    model = make_model(disambiguation=False)
    with pytest.raises(UserError, match="has no disambiguation layer"):
        model.tag("the bank", read_out="disambiguation")
    assert model.tag("the bank")[1].sense
