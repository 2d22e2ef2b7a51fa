"""Looking up senses: the nearest are the nearest, and never the word's own."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polylm.errors import UserError
from polylm.senses.keys import make_key, split_key, word_of
from polylm.senses.merge_tree import MergeTree
from polylm.senses.vectors import SenseVectors, suggestion
from tests.shared.models import make_model


def make(n_words=40, n_senses=3, d=8):
    torch.manual_seed(1)
    keys = [f"w{word}#{sense}" for word in range(n_words) for sense in range(1, n_senses + 1)]
    vectors = torch.randn(len(keys), d) + 5  # a large common component
    vectors[:, 0] *= 20  # and a direction in which all vary most
    return SenseVectors(keys, vectors, np.ones(len(keys), dtype=np.float32)), vectors


def test_the_common_component_is_gone():
    senses, _ = make()
    np.testing.assert_allclose(np.linalg.norm(senses.vectors, axis=1), 1, rtol=1e-5)
    assert abs(senses.vectors.mean()) < 0.02
    spread = senses.vectors.std(axis=0)
    assert spread.max() < 5 * spread.min()  # the direction in which all vary, 20 times as much, counts less


@pytest.mark.parametrize("topn", [1, 5, 39, 100])
def test_many_at_once_are_the_same(monkeypatch, topn):
    senses, _ = make()
    exact = senses.nearest(range(len(senses)), topn)
    monkeypatch.setattr("polylm.senses.vectors.MANY", 1)
    monkeypatch.setattr("polylm.senses.vectors._half_is_faster", lambda: True)
    for one, other in zip(exact, senses.nearest(range(len(senses)), topn), strict=True):
        assert [key for key, _ in one] == [key for key, _ in other]
        np.testing.assert_allclose([c for _, c in one], [c for _, c in other], atol=1e-6)


def test_nearest_as_written_out():
    senses, _ = make()
    cosines = senses.vectors @ senses["w3#2"]
    order = [senses.keys[i] for i in np.argsort(-cosines)]
    wanted, words = [], {"w3"}
    for key in order:
        if word_of(key) not in words:
            words.add(word_of(key))
            wanted.append(key)
    found = senses.most_similar("w3#2", 12)
    assert [key for key, _ in found] == wanted[:12]
    assert found[0][1] == pytest.approx(senses.similarity("w3#2", found[0][0]), abs=1e-6)
    assert len(senses.most_similar("w3#2", 1000)) == 39  # one sense a word
    with pytest.raises(UserError, match="topn must be at least 1, not -5"):
        senses.most_similar("w3#2", -5)
    by_vector = senses.most_similar(senses["w3#2"], 5)
    assert by_vector[0][0] == "w3#2"


def test_what_is_not_there():
    senses, _ = make()
    with pytest.raises(UserError, match="w3 has w3#1, w3#2, w3#3"):
        senses["w3#9"]
    with pytest.raises(KeyError) as caught:
        senses["zzz#1"]
    assert str(caught.value) == "'zzz' is not a word that the model has senses of"
    with pytest.raises(UserError, match="not a word"):
        senses.most_similar("nothing#1")
    assert "w3#1" in senses
    assert "w3" not in senses
    assert len(senses) == 120
    assert suggestion("bnak", {"bank", "river"}) == ": did you mean bank?"
    assert suggestion("zyzzyva", {"bank"}) == ""
    assert word_of("c##1") == "c#"


def test_senses_of_a_word(model):
    fine = model.senses("banks", granularity=1.0)  # the lemma is looked up
    assert sorted(sense.key for sense in fine) == ["bank#1", "bank#2", "bank#3"]
    assert sum(sense.share for sense in fine) == pytest.approx(1, abs=1e-3)
    assert all(sense.members == [sense.key] for sense in fine)
    assert all(
        len(sense.neighbours) == 8 and not key.startswith("bank#") for sense in fine for key, _ in sense.neighbours
    )
    coarse = model.senses("Bank", granularity=0.5)
    assert [sense.members for sense in coarse] == [["bank#2", "bank#3"], ["bank#1"]]
    assert coarse[0].share == pytest.approx(2 / 3, abs=1e-3)
    assert model.most_similar("bank#2", 3) == model.vectors.most_similar("bank#2", 3)
    with pytest.raises(UserError, match="did you mean river"):
        model.senses("rivr")
    with pytest.raises(UserError, match="not a word"):
        model.senses(",")
    with pytest.raises(UserError, match="not a word"):
        model.senses("[PL]")


def test_labels(model):
    label = model.label("bank#1")
    assert len(label.split()) == 3
    assert set(label.split()) <= {word_of(key) for key, _ in model.most_similar("bank#1", 8)}
    assert model.label("river#1") == model.label(None) == ""


@given(st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_a_tree_has_every_sense_once(seed):
    """Whatever merges with what."""
    model = make_model()
    generator = torch.Generator().manual_seed(seed)
    n = len(model.network.inventory.poly_words)
    products = torch.rand(n, 3, 3, generator=generator)
    model.lexicon.index.merge_tree = model.lexicon.merge_tree = MergeTree(
        model.network.inventory, products @ products.mT, torch.rand(n, 3, generator=generator)
    )

    def leaves(tree):
        return [tree.key] if tree.key is not None else [key for branch in tree.branches for key in leaves(branch)]

    def heights(tree):
        for branch in tree.branches:
            if tree.below is not None and branch.below is not None:
                assert branch.below >= tree.below
            heights(branch)

    for word in ("bank", "wait", "river"):
        tree = model.tree(word)
        assert sorted(leaves(tree)) == sorted(sense.key for sense in model.senses(word, granularity=1.0))
        heights(tree)


def test_the_tree_of_a_word(model):
    """bank#2 and bank#3 are one first; bank#1 never."""
    tree = model.tree("bank")
    pair, single = tree.branches if tree.branches[0].key is None else tree.branches[::-1]
    assert tree.below is None
    assert single.key == "bank#1"
    assert {branch.key for branch in pair.branches} == {"bank#2", "bank#3"}
    for dial, n in ((1.0, 3), (pair.below - 0.01, 2), (0.0, 2)):
        assert len(model.senses("bank", granularity=dial)) == model.lexicon.n_senses("bank", granularity=dial) == n
    assert model.tree("river").to_dict() == {"key": "river#1"}


def test_a_slip_is_seen_before_likeness():
    known = ["the", "bank", "tank", "bak", "nake"]  # the commonest first
    assert suggestion("bnak", known) == ": did you mean bank, bak?"
    assert suggestion("bankk", known) == ": did you mean bank?"
    assert suggestion("zzzzzz", known) == ""


def test_keys_and_words(model):
    assert (split_key("bank"), split_key("c##12"), split_key("#1")) == (None, ("c#", 12), None)
    assert make_key(*split_key("c##12")) == "c##12"
    with pytest.raises(KeyError, match="bank#9 is not a sense; bank has bank#1"):
        model.senses("bank#9")
    assert [sense.key for sense in model.senses("Bank#2", granularity=1.0)] == ["bank#2"]
    assert model.most_similar("BANK#1", 3) == model.most_similar("bank#1", 3)


def test_neighbours_have_the_keys_of_their_granularity(model):
    for dial in (1.0, 0.0):
        shown = {sense.key for word in model.words() for sense in model.senses(word, granularity=dial)}
        for word in model.words():
            for sense in model.senses(word, granularity=dial):
                near = [key for key, _ in sense.neighbours]
                assert set(near) <= shown
                assert len({word_of(key) for key in near}) == len(near)
                for key, cosine in sense.neighbours:
                    nearest = max(model.vectors.similarity(member, key) for member in sense.members)
                    assert cosine == pytest.approx(nearest, abs=1e-4)
        assert {key for key, _ in model.most_similar("river#1", 20, granularity=dial)} <= shown
