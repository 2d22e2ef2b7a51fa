"""Columns say what tokens say."""

import numpy as np
import pytest

from polylm.explore.columns import LEAST
from tests.shared.models import make_model

TEXTS = ["He sat on the cold banks.", "", "zyzzyva, waiting!", "The bank \ud800 of the b\u00e4nk."]


@pytest.fixture(scope="module")
def model():
    return make_model(granularity=0.5)


def test_columns_and_tokens_are_the_same(model):
    (block,) = model.tag_columns(TEXTS)
    by_text = list(model.tag_many(TEXTS))
    assert list(block.tokens()) == by_text
    flat = [token for tokens in by_text for token in tokens]
    assert len(block) == len(flat)
    assert block.words.per_text.tolist() == list(map(len, by_text))
    for place, token in enumerate(flat):
        assert TEXTS[block.text[place]][block.words.start[place] : block.words.end[place]] == token.text
        row, probability = int(block.senses[place]), float(block.probability[place])
        assert (model.lexicon.index.key(row) if row >= 0 else None) == token.sense
        if token.probability is None:
            assert np.isnan(probability)
        else:
            assert probability == pytest.approx(token.probability, abs=5e-5)
        if token.probability is not None and token.probability < 1:
            listed = block.q[place][block.q[place] >= LEAST]
            assert sorted(token.distribution.values()) == pytest.approx(sorted(listed.tolist()), abs=5e-5)


def test_blocks_follow_one_another(model, monkeypatch):
    monkeypatch.setattr("polylm.reading.reader.tokens_together", lambda device: 8)
    monkeypatch.setattr("polylm.explore.tagging.TEXTS", 16)
    texts = TEXTS * 5
    blocks = list(model.tag_columns(iter(texts)))
    assert len(blocks) > 3
    assert [block.first_text for block in blocks] == np.cumsum([0, *(len(b.texts) for b in blocks[:-1])]).tolist()
    assert [text for block in blocks for text in block.texts] == texts


def test_words_that_are_asked_for(model):
    (block,) = model.tag_columns(TEXTS, words=["bank"])
    assert block.words.per_text.tolist() == [1, 0, 0, 1]
    assert list(block.texts) == TEXTS
    assert [[token.lemma for token in tokens] for tokens in block.tokens()] == [["bank"], [], [], ["bank"]]


def test_arrow(model):
    pyarrow = pytest.importorskip("pyarrow")
    (block,) = model.tag_columns(TEXTS)
    table = block.to_arrow()
    flat = [(number, token) for number, tokens in enumerate(block.tokens()) for token in tokens]
    assert pyarrow.types.is_dictionary(table.schema.field("sense").type)
    for row, (number, token) in zip(table.to_pylist(), flat, strict=True):
        assert row["text"] == number
        assert row["token"] == token.text.replace("\ud800", "?")
        assert [row[name] for name in ("start", "end", "lemma", "marker", "sense")] == [
            token.start,
            token.end,
            token.lemma.replace("\ud800", "?"),
            token.marker,
            token.sense,
        ]
        assert row["probability"] == (None if token.probability is None else pytest.approx(token.probability, abs=5e-5))


def test_pandas(model):
    """Names are there once, and none that the text does not have."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    (block,) = model.tag_columns(["The water is here, now.", "What \ud800 is \ud801 this ?"])
    frame = block.to_arrow().to_pandas()
    assert frame.token.tolist() == [token.text.replace("\ud800", "?").replace("\ud801", "?") for token in _flat(block)]
    assert [one if isinstance(one, str) else None for one in frame.sense] == [token.sense for token in _flat(block)]
    assert set(frame.sense.cat.categories) == {token.sense for token in _flat(block)} - {None}
    assert set(frame.marker.dropna()) == {token.marker for token in _flat(block)} - {None}


def _flat(block):
    return [token for tokens in block.tokens() for token in tokens]


def test_nothing(model):
    assert list(model.tag_columns([])) == []
    (block,) = model.tag_columns(["", " "])
    assert len(block) == 0
    assert list(block.tokens()) == [[], []]
