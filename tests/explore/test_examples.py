"""Examples: whole sentences that have the word, the clearest first."""

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polylm.corpus.sources import find_sources
from polylm.errors import UserError
from polylm.explore.examples import WORDS, Example, _keep, _with, find_examples, sentences_of

LINES = [
    "He sat on the bank of the river. No. The cold water was at the banks of it all day!",
    'A cold wind blew over the water and the house. "The bank was in the city," he said to her.',
    "the bank is without a capital here so it is left out.",
    "He sat on the bank of the river.",
]


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("\n".join(LINES))
    (tmp_path / "texts" / "b.txt.gz").write_bytes(gzip.compress(b"She was waiting at the cold banks for the money."))
    return tmp_path / "texts"


def test_sentences():
    assert list(sentences_of(LINES[0])) == [
        "He sat on the bank of the river.",
        "The cold water was at the banks of it all day!",
    ]
    assert list(sentences_of(LINES[2])) == []
    assert list(sentences_of("Short one. " + "Far too long " * 20 + ".")) == []


def test_abbreviations_end_no_sentence():
    sentences = [
        "He met Mr. Gray and J. R. Smith of the U.S. Treasury by the bank.",
        "They sat in St. Louis (by the river, Dr. Crane said.)",
        "It was a cold day there.",
    ]
    assert list(sentences_of(" ".join(sentences))) == sentences


@given(st.text(alphabet='ab A.!?"( \n', max_size=200))
def test_sentences_are_parts_of_the_line(line):
    for sentence in sentences_of(line):
        assert sentence in line
        assert len(sentence.split()) in WORDS


def test_found_and_ranked(model, texts):
    found = find_examples(model, [texts], words=["banks"], n=2, granularity=1.0)
    assert set(found) <= {"bank#1", "bank#2", "bank#3"}
    every = [example for own in found.values() for example in own]
    assert {example.text[example.start : example.end].lower() for example in every} <= {"bank", "banks"}
    assert len({example.text for example in every}) == len(every)  # the sentence that stands twice is shown once
    more = find_examples(model, [texts], words=["bank"], n=9, granularity=1.0)
    assert any("money" in example.text for own in more.values() for example in own)  # from the compressed file
    for key, own in found.items():
        assert len(own) <= 2
        for example in own:
            (token,) = [t for t in model.tag(example.text, granularity=1.0) if t.start == example.start]
            assert token.sense == key
            assert token.probability == pytest.approx(example.probability, abs=1e-3)


def test_all_words(model, texts):
    seen = []
    found = find_examples(model, [texts], n=1, report=lambda done, total: seen.append((done, total)))
    assert {"river#1", "water#1"} <= set(found)
    assert seen[-1][0] == seen[-1][1]
    with pytest.raises(UserError, match="there is no file or folder"):
        find_examples(model, [texts / "none"])


def test_the_clearest_are_kept():
    found = {}
    for probability in (0.5, 0.9, 0.7):
        _keep(found, Example(f"{probability} " + "word " * 14, 0, 1, probability), 2)
    assert sorted(example.probability for _, example in found.values()) == [0.7, 0.9]


def test_every_word_has_its_own_number_of_sentences(tmp_path):
    """A common word does not take the place of a rare one that stands behind it."""
    lines = [f"The bank number {n} lent money to him." for n in range(9)] + ["The old tenor sang in the evening."] * 2
    (tmp_path / "a.txt").write_text("\n".join([*lines, "A tenor and a bank are not alike at all."]))
    sources = find_sources([tmp_path / "a.txt"])
    found = list(_with(sources, {"bank", "tenor"}, 3))
    assert [sentence.split()[1] for sentence in found] == ["bank"] * 3 + ["old", "tenor"]
    assert len(list(_with(sources, {"bank"}, 99))) == 10
    assert not list(_with(sources, set(), 99))
    (tmp_path / "b.txt").write_text("The banks of the river are steep.")
    forms = [list(_with(find_sources([tmp_path / "b.txt"]), {"bank"}, 3, in_forms=wanted)) for wanted in (True, False)]
    assert [len(found) for found in forms] == [1, 0]


@given(
    st.lists(st.sampled_from(["The", "banks", "Bank", "o'clock", "o", "clock", "t-shirt", "bank's", "x"]), min_size=6)
)
def test_forms_are_found_between_other_letters(words):
    sentence = " ".join(["At", *words, "now."])
    with TemporaryDirectory() as folder:
        (Path(folder) / "a.txt").write_text(sentence)
        found = list(_with(find_sources([Path(folder) / "a.txt"]), {"bank", "o'clock"}, 5))
    assert bool(found) == (len(words) < 39 and bool({"banks", "Bank", "o'clock", "bank's"} & set(words)))
