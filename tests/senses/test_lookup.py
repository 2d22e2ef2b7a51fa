"""What people type, and the word or sense that is meant: one way for everybody."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polylm.errors import UserError
from polylm.senses.keys import is_key, make_key, split_key, word_of
from tests.shared.models import PLAIN, POLYSEMOUS


@pytest.mark.parametrize(
    ("typed", "word", "key"),
    [
        ("bank", "bank", None), ("Banks", "bank", None), ("BANK", "bank", None), ("waited", "wait", None),
        ("bank#2", "bank", "bank#2"), ("BANK#2", "bank", "bank#2"), ("was", "was", None),
    ],
)  # fmt: skip
def test_what_is_meant(model, typed, word, key):
    found = model.lexicon.lookup(typed)
    assert (found.typed, found.word, found.key) == (typed, word, key)
    assert model.vocabulary.words[found.number] == word


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("bank#9", "bank#9 is not a sense; bank has bank#1, bank#2, bank#3"),
        ("bank#02", "bank#02 is not a sense"),
        ("bank#" + "1" * 5000, "is not a sense"),
        ("rivr#1", "'rivr' is not a word that the model has senses of: did you mean river"),
        ("rivr", "did you mean river"),
        ("river bank", "is read as river, bank"),
        ("", "is not a word"),
        (None, "a word is a string, not NoneType"),
    ],
)
def test_what_is_not_there(model, typed, message):
    with pytest.raises(UserError, match=message):
        model.lexicon.lookup(typed)


def test_all_that_are_unknown_are_named_at_once(model):
    with pytest.raises(KeyError, match=r"zyzzyva.*; .*qqq"):
        model.lexicon.lookup.every(["bank", "zyzzyva", "qqq"])


def test_a_word_has_the_same_senses_for_everybody(model):
    for form in ("bank", "Banks", "banks"):
        assert model.senses(form) == model.senses("bank")
        assert model.tree(form) == model.tree("bank")
        assert model.similarity(form, "river") == model.similarity("bank", "river")


@given(st.text(max_size=8), st.integers(1, 999_999))
def test_keys_are_taken_apart_as_they_were_built(word, number):
    key = make_key(word, number)
    assert is_key(key)
    if word:
        assert split_key(key) == (word, number)
        assert word_of(key) == word


@given(st.sampled_from([*POLYSEMOUS, *PLAIN]))
def test_words_of_the_model_stand_for_themselves(model, word):
    if any(map(str.isalnum, word)):
        assert model.lexicon.lookup(word, as_is=True).word == word
