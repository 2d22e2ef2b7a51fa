"""What a sense shows that stands for several is about all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polylm.errors import UnknownKeyError, UserError
from polylm.senses.keys import word_of
from polylm.senses.lexicon import blended
from polylm.senses.wordlists import WordLists
from tests.shared.models import make_model

MERGED = 0.5  # below this two senses of each word of several are one


@pytest.fixture
def listed():
    """bank#2 could be replaced by river, water and money, bank#3 by he, she and they; other senses by nothing."""
    model = make_model()
    lexicon = model.lexicon
    table = np.zeros((model.network.inventory.n_rows, 3), dtype=np.uint16)
    for key, words in (("bank#2", "river water money"), ("bank#3", "he she they")):
        table[lexicon.index.row(key)] = [model.vocabulary[word] for word in words.split()]
    lexicon.wordlists = WordLists(labels=table, substitutes=table)
    return model


def share(model, key, value):
    model.lexicon.index.shares[model.lexicon.index.row(key)] = value


def test_words_are_those_of_all_members_by_share(listed):
    share(listed, "bank#2", 0.4)
    share(listed, "bank#3", 0.2)
    one = next(sense for sense in listed.senses("bank", granularity=MERGED) if len(sense.members) == 2)
    assert one.members == ["bank#2", "bank#3"]
    assert one.share == pytest.approx(0.6)
    assert one.substitutes == ["river", "water", "money", "he", "she", "they"]
    assert listed.label("bank#2", granularity=MERGED) == "river water money"
    share(listed, "bank#3", 0.38)
    assert listed.lexicon.substitutes_of("bank#2", "bank#3") == ["river", "he", "water", "she", "money", "they"]
    listed.lexicon._labels = (-1.0, {})
    assert listed.label("bank#2", granularity=MERGED) == "river he water"


def test_by_itself_a_sense_has_its_own(listed):
    assert listed.label("bank#2", granularity=1.0) == "river water money"
    assert listed.label("bank#3", granularity=MERGED) == "he she they"  # bank#2 stands for it, it for itself
    assert [sense.substitutes for sense in listed.senses("bank#3")] == [["he", "she", "they"]]


def test_keys_in_capitals_have_labels(listed):
    """Those of senses for which another stands, too."""
    for key in ("bank#2", "bank#3"):
        assert listed.label(key.upper(), granularity=MERGED) == listed.label(key, granularity=MERGED) != ""


def test_neighbours_are_those_of_all_members(listed):
    apart = {key: dict(listed.most_similar(key, 20, granularity=1.0)) for key in ("bank#2", "bank#3")}
    together = listed.most_similar("bank#2", 4, granularity=MERGED)
    assert len({word_of(key) for key, _ in together}) == 4
    heads = {sense.key for word in ("wait", "cold", "color") for sense in listed.senses(word, granularity=MERGED)}
    assert together == sorted(together, key=lambda pair: -pair[1])
    for key, cosine in together:
        assert cosine == pytest.approx(max(near[key] for near in apart.values() if key in near), abs=1e-5)
        assert word_of(key) not in ("wait", "cold", "color") or key in heads
    (sense,) = [one for one in listed.senses("bank", granularity=MERGED, topn=4) if one.key == "bank#2"]
    assert sense.neighbours == [(key, round(cosine, 4)) for key, cosine in together]


def test_a_rare_member_has_no_say_in_neighbours(listed):
    alone = listed.most_similar("bank#2", 4, granularity=1.0)
    share(listed, "bank#2", 0.5)
    share(listed, "bank#3", 0.02)
    heads = listed.lexicon.index.are_heads(MERGED)
    assert listed.most_similar("bank#2", 4, granularity=MERGED) == listed.vectors.most_similar("bank#2", 4, among=heads)
    share(listed, "bank#3", 0.9)
    assert {key for key, _ in listed.most_similar("bank#2", 4, granularity=MERGED)} != {key for key, _ in alone}


def test_senses_are_named_by_strings(listed):
    for ask in (listed.label, listed.most_similar):
        with pytest.raises(UnknownKeyError, match="named by a string such as bank#1, not by 3"):
            ask(3)
    with pytest.raises(UserError, match="nearest takes a list"):
        listed.lexicon.nearest("bank#2")


LISTS = st.lists(st.lists(st.sampled_from("abcdef"), unique=True), max_size=4)


@given(LISTS, st.integers(0, 6))
def test_blended(lists, n):
    found = blended(lists, [1.0] * len(lists), n)
    assert len(found) == len(set(found)) == min(n, len(set().union(*lists)))
    assert set(found) <= set().union(*lists)
    if lists:
        assert blended(lists[:1], [0.3], 6) == lists[0]
        assert blended([lists[0], *lists], [1.0, *[0.0] * len(lists)], len(lists[0])) == lists[0]
