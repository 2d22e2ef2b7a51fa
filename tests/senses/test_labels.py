"""Labels tell the senses of a word apart."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polylm.senses.labels import LENGTH, LISTED, contrasted, label_words
from tests.shared.models import make_model

GAME = ["football", "rugby", "tennis", "player", "batting"]
PLAYER = ["football", "player", "rugby", "bowler", "captain"]
INSECT = ["grasshopper", "insect", "fly"]


def test_what_a_commoner_sense_says_too_is_no_label():
    game, player, insect = contrasted([GAME, PLAYER, INSECT], [0.6, 0.3, 0.1])
    assert insect == INSECT
    assert game == GAME[:LENGTH]  # it keeps what a rarer sense has too
    assert "bowler" in player
    assert "rugby" not in player  # which the commoner sense has further up


def test_of_two_senses_that_are_as_common_one_keeps_what_both_have():
    labels = contrasted([["football", "player", "bowler", "captain"], ["football", "insect", "fly", "bug"]], [0.5, 0.5])
    assert labels == [["football", "player", "bowler"], ["insect", "fly", "bug"]]


def test_a_word_of_one_sense_has_its_best_words():
    assert contrasted([GAME], [1.0]) == [GAME[:LENGTH]]
    assert contrasted([[], GAME], [0.5, 0.5]) == [[], GAME[:LENGTH]]


def test_substitutes_that_are_far_off_count_little():
    """A ditch is near to a trench and a moat; a field could be where it is, but is no such thing."""
    words, angles = ["ditch", "trench", "moat", "field"], [0.0, 0.3, 0.5, 1.45]
    vectors = make_model().vectors
    vectors.keys = [f"{word}#1" for word in words]
    vectors.__dict__.pop("rows_of_word", None)
    vectors.vectors = np.array([[np.cos(angle), np.sin(angle)] for angle in angles], dtype=np.float32)
    assert [key for key, _ in vectors.nearest([0], 3)[0]] == ["trench#1", "moat#1", "field#1"]
    assert list(label_words(vectors, ["ditch#1"], [["field", "moat"]])) == [["moat", "trench", "field"]]
    assert list(label_words(vectors, ["ditch#1"], [[]])) == [["trench", "moat", "field"]]
    assert LISTED >= LENGTH
    vectors.keys[3] = "ditches#1"  # its own plural says nothing of it
    assert list(label_words(vectors, ["ditch#1"], [["moat"]])) == [["moat", "trench"]]


WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True)


@given(st.lists(st.tuples(WORDS, st.floats(0, 1)), min_size=1, max_size=5))
def test_labels_are_words_of_their_lists(senses):
    lists, shares = zip(*senses, strict=True)
    labels = contrasted(lists, shares)
    for label, words in zip(labels, lists, strict=True):
        assert len(label) == len(set(label)) == min(len(words), LENGTH)
        assert set(label) <= set(words)
