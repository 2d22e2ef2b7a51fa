"""Labels tell the senses of a word apart."""

from hypothesis import given
from hypothesis import strategies as st

from polylm.senses.keys import word_of
from polylm.senses.labels import LENGTH, LISTED, contrasted, label_words
from tests.shared.models import make_model

GAME = ["football", "rugby", "tennis", "player", "batting"]
PLAYER = ["football", "player", "rugby", "bowler", "captain"]
INSECT = ["grasshopper", "insect", "fly"]


def test_what_a_commoner_sense_says_too_is_no_label():
    game, player, insect = contrasted([GAME, PLAYER, INSECT], [0.6, 0.3, 0.1])
    assert insect == INSECT
    assert game[0] == "football"  # it keeps what a rarer sense has too
    assert "rugby" in game
    assert {"bowler", "captain"} <= set(player)
    assert "football" not in player


def test_a_word_of_one_sense_has_its_best_words():
    assert contrasted([GAME], [1.0]) == [GAME[:LENGTH]]
    assert contrasted([[], GAME], [0.5, 0.5]) == [[], GAME[:LENGTH]]


def test_common_substitutes_that_are_far_off_count_little():
    vectors = make_model().vectors
    near = [word_of(key) for key, _ in vectors.most_similar("bank#1", 40)]
    words = list(dict.fromkeys(near))
    (label,) = label_words(vectors, ["bank#1"], [[words[-1], words[0]]])
    assert label.index(words[0]) < label.index(words[-1]) if words[-1] in label else words[0] in label
    assert len(label) <= LISTED
    assert next(label_words(vectors, ["bank#1"], [[]])) == words[:LISTED]


WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True)


@given(st.lists(st.tuples(WORDS, st.floats(0, 1)), min_size=1, max_size=5))
def test_labels_are_words_of_their_lists(senses):
    lists, shares = zip(*senses, strict=True)
    labels = contrasted(lists, shares)
    for label, words in zip(labels, lists, strict=True):
        assert len(label) == len(set(label)) == min(len(words), LENGTH)
        assert set(label) <= set(words)
    shuffled = contrasted(lists[::-1], shares[::-1])[::-1]
    assert [set(label) for label in shuffled] == [set(label) for label in labels]
