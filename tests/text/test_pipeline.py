import json
import pickle
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polylm.errors import UserError
from polylm.symbols import LINE
from polylm.text.analyzer import Analyzer
from polylm.text.lemmatizer import MARKERS, Lemmatizer
from polylm.text.pipeline import TextPipeline, Word
from polylm.text.settings import TextSettings
from polylm.text.tagger import CompactTagger
from polylm.text.tokenizer import from_words, tokenize
from tests.shared.texts import SENTENCES, make_lines

PIPELINE = TextPipeline()
SURFACE = TextPipeline(settings=TextSettings(lemmatize=False))


class Everything(dict):
    """A vocabulary that has every word."""

    def __missing__(self, word):
        self[word] = len(self)
        return self[word]

    def get(self, word, default=None):
        return self[word]


EVERYTHING = TextPipeline(Everything())
TAGGER, LEMMATIZER = CompactTagger(), Lemmatizer()


def carefully(text):
    """Words one line at a time, and nothing remembered."""
    tokens = tokenize(text)
    breaks = [i for i in range(1, len(tokens)) if "\n" in text[tokens[i - 1].end : tokens[i].start]]
    words = []
    for start, end in pairwise([0, *breaks, len(tokens)]):
        line = tokens[start:end]
        (tags,) = TAGGER.tag([[token.norm for token in line]])
        for token, tag in zip(line, tags, strict=True):
            lemma, marker = LEMMATIZER(token.norm, tag)
            words.append(Word(token.text, token.start, token.end, tag, lemma, marker))
    return words


@pytest.fixture
def pipeline():
    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[MASK]": 2, LINE: 3, "the": 4, "bank": 5, "[PL]": 6, "fall": 7, "[PAST]": 8}
    return TextPipeline(vocabulary)


def test_ids_and_alignment(pipeline):
    text = "The banks fell,\n\n the BANK."
    tokens = pipeline.encode(text)
    assert tokens.ids.tolist() == [4, 5, 6, 7, 8, 1, 3, 4, 5, 1]
    assert [word.text for word in tokens.words] == ["The", "banks", "fell", ",", "the", "BANK", "."]
    assert tokens.id_of_word.tolist() == [0, 1, 3, 5, 7, 8, 9]
    assert tokens.ids_of(1) == slice(1, 3)
    assert tokens.ids_of(5) == slice(8, 9)
    assert tokens.word_at(4) == tokens.word_at(8) == 1
    assert tokens.word_at(9) is None
    assert tokens.word_at(len(text)) is None


def test_words_that_are_tokens(pipeline):
    tokens = pipeline.encode(["The", "banks", "fell"])
    assert tokens.text == "The banks fell"
    assert tokens.ids.tolist() == [4, 5, 6, 7, 8]
    assert tokens.id_of_word.tolist() == [0, 1, 3]


def test_empty(pipeline):
    for empty in ("", " \n ", []):
        assert pipeline.encode(empty).ids.tolist() == []


@settings(max_examples=100)
@given(st.text() | st.lists(st.sampled_from(SENTENCES)).map("\n".join))
def test_alignment_is_lossless_both_ways(text):
    pipeline = EVERYTHING
    tokens = pipeline.encode(text)
    assert "".join(text[w.start : w.end] for w in tokens.words) == "".join(text.split())
    for index, word in enumerate(tokens.words):
        assert text[word.start : word.end] == word.text
        assert tokens.word_at(word.start) == tokens.word_at(word.end - 1) == index
    slices = [tokens.ids_of(index) for index in range(len(tokens.words))]
    assert all(one.stop <= other.start for one, other in pairwise(slices))
    of_words = {place for one in slices for place in range(one.start, one.stop)}
    marks = [place for place in range(len(tokens.ids)) if place not in of_words]
    assert all(tokens.ids[place] == pipeline.vocabulary[LINE] for place in marks)
    assert len(of_words) == len(tokens.words) + sum(word.marker is not None for word in tokens.words)


TEXTS = st.lists(
    st.text()
    | st.text("ab'. \n\t\u00a0\u2028\u3000\x1c\x85\u200b\ud800", max_size=12)
    | st.lists(st.sampled_from([*SENTENCES, "", " "]), max_size=4).map("\n".join)
)


@settings(max_examples=200)
@given(TEXTS)
def test_texts_together_are_read_as_the_careful_way_reads_each(texts):
    """Whatever is remembered, and whatever stands beside them."""
    encoded = EVERYTHING.encode_many(texts)
    words, symbols = encoded.words, EVERYTHING._analyzer.symbols
    assert len(encoded.starts) == len(texts) + 1
    first = 0
    for text, n, begin, end in zip(texts, words.per_text, encoded.starts[:-1], encoded.starts[1:], strict=True):
        expected = carefully(text)
        assert EVERYTHING.analyze(text) == expected
        own = slice(first, first + n)
        assert list(zip(words.start[own], words.end[own], strict=True)) == [(w.start, w.end) for w in expected]
        assert [symbols[lemma] for lemma in words.lemma[own]] == [w.lemma for w in expected]
        assert [symbols[marker] if marker else None for marker in words.marker[own]] == [w.marker for w in expected]
        ids, line = encoded.ids[begin:end], EVERYTHING.vocabulary[LINE]
        if not expected:
            assert not len(ids)
        else:
            assert ids[0] == ids[-1] == line
            assert ids[1:-1].tolist() == EVERYTHING.encode(text).ids.tolist()
            assert (encoded.id_of_word[own] - begin - 1).tolist() == EVERYTHING.encode(text).id_of_word.tolist()
        first += n


@given(st.lists(st.lists(st.sampled_from(["bank", "He", "fell", "don't", "\u201c"]))))
def test_lists_of_words_together_are_read_as_each(texts):
    encoded = EVERYTHING.encode_many(texts)
    assert encoded.words.per_text.tolist() == list(map(len, texts))
    inner = [encoded.ids[a:b][1:-1].tolist() for a, b in pairwise(encoded.starts)]
    assert inner == [EVERYTHING.encode(text).ids.tolist() for text in texts]


def test_some_words_and_no_more_symbols_than_they_need():
    words = EVERYTHING.encode_many(["The banks fell.", "", "A river"]).words
    some = words.select(np.array([False, True, True, False, False, True])).compact()
    assert some.per_text.tolist() == [2, 0, 1]
    assert [some.symbols[lemma] for lemma in some.lemma] == ["bank", "fall", "river"]
    assert [some.symbols[marker] for marker in some.marker] == ["[PL]", "[PAST]", "[LINE]"]
    assert len(some.symbols) == len(MARKERS) + 1 + 3


def test_a_pipeline_goes_to_another_process(pipeline):
    copy = pickle.loads(pickle.dumps(pipeline))
    assert copy.settings == pipeline.settings
    assert copy.encode("The banks fell").ids.tolist() == [4, 5, 6, 7, 8]


@settings(max_examples=60)
@given(
    st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"])) | st.sampled_from(SENTENCES))
)
@pytest.mark.parametrize("pipeline", [PIPELINE, SURFACE], ids=["lemmas", "surface"])
def test_a_corpus_is_read_as_texts_are(pipeline, lines):
    expected = [symbol for line in lines if line.split() for symbol in _symbols(pipeline, line)]
    analyzer = pipeline.analyzer()
    numbers = analyzer(lines)
    assert [analyzer.symbols[number] for number in numbers] == expected


def test_a_text_of_lines_is_read_as_its_lines():
    together = [(w.lemma, w.marker) for w in PIPELINE.analyze("\n".join(SENTENCES))]
    apart = [(w.lemma, w.marker) for line in SENTENCES for w in PIPELINE.analyze(line)]
    assert together == apart


def test_forgetting_changes_nothing():
    lines = make_lines(200)
    expected = PIPELINE.analyzer()
    numbers = expected(lines)
    strings = [expected.symbols[number] for number in numbers]
    forgetful = Analyzer(CompactTagger(), Lemmatizer(), max_remembered=50)
    found = []
    for line in lines:
        numbers = forgetful([line])
        found += [forgetful.symbols[number] for number in numbers]
    assert found == strings


def test_settings_are_kept_and_checked(tmp_path):
    path = tmp_path / "text.json"
    path.write_bytes(PIPELINE.settings.to_bytes())
    settings = TextSettings.load(path)
    assert settings == PIPELINE.settings
    assert settings.tagger_sha256 == TAGGER.sha256
    TextPipeline(settings=settings)
    with pytest.raises(UserError, match="another 'english' tagger"):
        TextPipeline(settings=TextSettings(tagger_sha256="0" * 64))
    for wrong in ("{", "[]", json.dumps({"lemmatise": True}), json.dumps({"tagger": "stanford"})):
        path.write_text(wrong)
        with pytest.raises(UserError, match="text.json"):
            TextSettings.load(path)


def test_without_a_vocabulary_there_are_no_ids():
    with pytest.raises(UserError, match="no vocabulary"):
        PIPELINE.encode("a")


def _symbols(pipeline, line):
    for word in pipeline.analyze(line):
        yield word.lemma
        if word.marker:
            yield word.marker
    yield LINE


def test_ids_are_small_integers():
    assert EVERYTHING.encode("a b").ids.dtype == np.int32


@pytest.mark.parametrize("pipeline", [TextPipeline(), TextPipeline(settings=TextSettings(lemmatize=False))])
def test_what_was_interrupted_leaves_nothing_behind(pipeline, monkeypatch):
    expected = pipeline.analyze("The foxes ran."), pipeline.analyze("A quick brown dog sat.")
    pipeline._analyzer.forget()
    analyzer = pipeline._analyzer

    def interrupted(norms):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(analyzer, "_rows_of", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pipeline.analyze("The foxes ran.")
    assert pipeline.analyze("A quick brown dog sat.") == expected[1]
    assert pipeline.analyze("The foxes ran.") == expected[0]


def test_words_that_come_as_words_are_forgotten_too():
    analyzer = Analyzer(None, None, max_remembered=100)
    for number in range(50):
        analyzer.read_tokens([from_words([f"word{number}x{other}" for other in range(100)])])
    assert len(analyzer.symbols) < 400


def test_threads_read_as_one():
    """The tagger numbers words as they come, whoever brings them."""
    letters = random.Random(0)
    texts = [" ".join("".join(letters.choices("aeiorstln", k=6)) for _ in range(40)) for _ in range(60)]
    alone, shared = (TextPipeline() for _ in range(2))
    expected = [alone.analyze(text) for text in texts]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(shared.analyze, texts))
    finally:
        sys.setswitchinterval(before)
    assert found == expected
    assert [shared.analyze(text) for text in texts] == expected
