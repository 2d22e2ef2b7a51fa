"""Pictures are written, and say what they cannot draw."""

import json
import re

import pytest

from polylm.errors import UserError
from polylm.explore.plot import plot_text, plot_words, sense_map


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_words_beside_senses(model, tmp_path, suffix):
    out = tmp_path / f"words.{suffix}"
    plot_words(model.lexicon, ["bank", "colder", "bank"], out, around=4)
    data = out.read_bytes()
    if suffix == "svg":
        text = data.decode()
        for label in ("bank#1", "cold#2", "word vectors", "sense vectors"):
            assert f"<!-- {label} -->" in text
        assert text.count("<!-- bank -->") == 1  # on the left
    else:
        assert data.startswith(b"\x89PNG")


def test_what_cannot_be_drawn(model, tmp_path):
    with pytest.raises(UserError, match="is not a picture file"):
        plot_words(model.lexicon, ["bank"], tmp_path / "words.txt")
    with pytest.raises(UserError, match="is not a word"):
        plot_words(model.lexicon, ["zyzzyva"], tmp_path / "words.svg")


@pytest.mark.slow
def test_word_vectors_of_another_model(model, tmp_path):
    asked = []

    class Other:
        vocabulary = model.vocabulary

        def word_directions(self, names):
            asked.extend(names)
            return model.lexicon.word_directions(names)

    plot_words(model.lexicon, ["bank", "wait"], tmp_path / "words.pdf", single=Other())
    assert (tmp_path / "words.pdf").stat().st_size > 1000
    assert {"bank", "wait"} <= set(asked)


@pytest.mark.slow
def test_the_senses_of_a_text(model, tmp_path):
    plot_text(model, "He waits at the cold bank.", tmp_path / "text.svg")
    text = (tmp_path / "text.svg").read_text()
    for word in ("waits", "cold", "bank"):
        assert f"<!-- {word} -->" in text
    with pytest.raises(UserError, match="no word of this text has several senses"):
        plot_text(model, "the river", tmp_path / "text.svg")


@pytest.mark.slow
def test_a_map_of_senses(model, tmp_path):
    n = sense_map(model.lexicon, tmp_path / "map.html", n=20)
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    rows = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert len(rows) == n == 20
    for key, x, y, share, near in rows:
        assert key in model.vectors
        assert max(abs(x), abs(y)) <= 1
        assert 0.02 <= share <= 1
        assert len(near) == 8
    assert "http" not in page  # works offline
