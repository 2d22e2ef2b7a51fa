"""Every word of a text has its sense, whatever the length of the text and whatever is read beside it."""

import itertools
import multiprocessing
import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polylm.errors import UserError
from polylm.explore.model import Model
from polylm.explore.tagging import beside
from polylm.model.int8 import measure_ranges, works
from polylm.reading.layers import ReadOut
from polylm.reading.precision import precision_of
from polylm.reading.readout import sense_distributions
from polylm.symbols import MASK_ID, PAD_ID
from tests.shared.models import PLAIN, POLYSEMOUS, make_model

TEXT = "He sat on the banks of the river, cold."
WORDS = st.sampled_from([*POLYSEMOUS, *PLAIN, "zyzzyva"])


def test_a_sentence(model):
    tokens = model.tag(TEXT)
    assert [TEXT[token.start : token.end] for token in tokens] == [token.text for token in tokens]
    bank = next(token for token in tokens if token.text == "banks")
    assert (bank.lemma, bank.marker) == ("bank", "[PL]")
    assert bank.sense in ("bank#1", "bank#2", "bank#3")
    assert bank.probability == max(bank.distribution.values()) == next(iter(bank.distribution.values()))
    assert sum(bank.distribution.values()) == pytest.approx(1, abs=2e-3)
    by_text = {token.text: token for token in tokens}
    assert (by_text["river"].sense, by_text["river"].distribution) == ("river#1", {"river#1": 1.0})
    assert by_text[","].sense is None
    assert by_text[","].probability is None
    assert model.tag("zyzzyva")[0].sense is None


@pytest.mark.parametrize("source", ["both", "prediction", "disambiguation"])
def test_what_the_network_says(model, source):
    """The distribution is the network's at the word's place, between two line marks."""
    tokens = model.reader.pipeline.encode(TEXT)
    ids = torch.tensor([[3, *tokens.ids.tolist(), 3]])
    expected = sense_distributions(model.network, ids, MASK_ID, read_out=ReadOut(source))[0]
    for index, token in enumerate(model.tag(TEXT, read_out=source)):
        if token.lemma in POLYSEMOUS:
            q = expected[tokens.id_of_word[index] + 1].tolist()
            for key, probability in token.distribution.items():
                assert probability == pytest.approx(q[int(key[-1]) - 1], abs=2e-4)


def test_merged_senses_are_one(model):
    fine, coarse = (model.tag(TEXT, granularity=dial) for dial in (1.0, 0.5))
    for one, other in zip(fine, coarse, strict=True):
        if one.lemma in POLYSEMOUS:
            assert set(other.distribution) <= {f"{one.lemma}#1", f"{one.lemma}#2"}
            merged = one.distribution.get(f"{one.lemma}#2", 0) + one.distribution.get(f"{one.lemma}#3", 0)
            assert other.distribution.get(f"{one.lemma}#2", 0) == pytest.approx(merged, abs=3e-3)
    with pytest.raises(UserError, match="between 0 and 1"):
        model.tag(TEXT, granularity=2)


def test_nothing_to_tag(model):
    assert model.tag("") == []
    assert model.tag_tokens([]) == []
    assert list(model.tag_many([])) == []
    assert [len(tokens) for tokens in model.tag_many(["", "bank", " \n "])] == [0, 1, 0]


def test_one_text_is_not_many(model):
    with pytest.raises(UserError, match="use tag for one text"):
        model.tag_many("the bank")
    with pytest.raises(UserError, match="there is no read-out"):
        model.tag("the bank", read_out="foo")
    with pytest.raises(UserError, match="a weight of 7"):
        ReadOut(weight=7)


def test_tokens_are_taken_as_they_are(model):
    assert [token.text for token in model.tag_tokens(["the", "bank", "of", "zyzzyva"])] == [
        "the",
        "bank",
        "of",
        "zyzzyva",
    ]


@settings(deadline=None, max_examples=25)
@given(st.lists(st.lists(WORDS, max_size=70), max_size=6))
def test_texts_do_not_see_each_other(texts):
    """Read together or alone, short or in windows: the same senses, one token a word."""
    model = make_model(max_length=24)
    together = list(model.tag_many_tokens(texts))
    assert [[token.text for token in tokens] for tokens in together] == texts
    for text, tokens in zip(texts, together, strict=True):
        for token, other in zip(tokens, model.tag_tokens(text), strict=True):
            assert token.distribution.keys() == other.distribution.keys() or token.probability < 1
            for key, probability in token.distribution.items():
                assert other.distribution.get(key, 0) == pytest.approx(probability, abs=5e-3)


def test_lines_come_with_their_text(model):
    lines = ["the bank", "", "cold water"]
    assert [line for line, _ in beside(model.tag_many, iter(lines), str)] == lines


@pytest.mark.parametrize("text", [None, b"The bank.", 7])
def test_what_is_no_text(model, text):
    found = model.tag_many(["The bank.", text])
    assert len(next(found)) == 3  # what stands before it is not lost
    with pytest.raises(UserError, match="a text is a string, not"):
        next(found)


def test_words_of_other_libraries(model):
    assert model.tag_tokens(np.array(["the", "bank"])) == model.tag_tokens(["the", "bank"])


class Table(dict):
    columns = ("text",)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["He sat.", ["The", "bank"]], r"not list; for texts of tokens use tag_many_tokens \(text 1"),
        (["He sat.", None], r"not NoneType \(text 1, counting from 0\)"),
        (["He sat.", {"text": "bank"}], "not dict"),
        (Table(text=["bank"]), "not Table"),
        ({"text": "bank"}, "not dict"),
        (None, "not NoneType"),
        ("bank", "tag_many takes a list, not a string: use tag for one text"),
    ],
)
def test_what_is_no_list_of_texts(model, texts, message):
    with pytest.raises(UserError, match=message):
        list(model.tag_many(texts))


def test_a_string_is_no_list(model):
    for wrong in (
        lambda: model.tag_many_tokens("the bank"),
        lambda: model.tag_tokens("the bank"),
        lambda: model.embed_many("the [bank]"),
        lambda: model.lexicon.senses("bank"),
        lambda: model.lexicon.labels("bank#1"),
        lambda: model.lexicon.word_directions("bank"),
    ):
        with pytest.raises(UserError, match="takes a list, not a string"):
            wrong()


def test_the_first_answers_of_a_stream_come_soon(model):
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield "He sat on the bank."

    next(model.tag_many(endless()))
    assert len(taken) < model.reader.texts_together / 5


def test_the_weight_of_the_read_outs(model):
    text = "He sat on the cold banks of the river."
    assert model.tag(text, read_out=ReadOut(weight=1.0)) == model.tag(text, read_out="prediction")
    assert model.tag(text, read_out=ReadOut(weight=0.0)) == model.tag(text, read_out="disambiguation")
    assert model.tag(text) != model.tag(text, read_out="prediction")


def test_what_fills_up_short_texts_is_not_read():
    model = make_model(max_length=64)
    with torch.no_grad():
        model.network.embeddings[model.network.inventory.first[PAD_ID]] *= 50
    model.network.keep_inputs()
    texts = ["the bank", "the bank of the cold river"]
    for together, alone in zip(model.tag_many(texts), map(model.tag, texts), strict=True):
        for one, other in zip(together, alone, strict=True):
            assert one.probability == (other.probability and pytest.approx(other.probability, abs=2e-3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda m: m.tag(["Hello.", "Yes."]),
            "tag takes one text: .*use tag_tokens, for several texts tag_many",
        ),
        (lambda m: m.tag(None), "tag takes one text: a text is a string, not NoneType"),
        (lambda m: m.tag_tokens(["The bank is open.", "Yes."]), "'The bank is open.' is not one word: for several"),
        (lambda m: next(m.tag_many_tokens(["the bank"])), "a text is a list of words, not str"),
        (lambda m: m.tag_tokens(["bank", ""]), "word 1 is ''"),
    ],
)
def test_texts_and_tokens_are_not_confused(model, call, message):
    with pytest.raises(UserError, match=message):
        call(model)


def test_only_the_words_that_are_asked_for(model):
    """As all words read, the others left out; a text without any has none."""
    texts = ["They wait at the banks.", "", "Cold water!", "He sat by the river.", "The bank, the BANK; waiting."]
    every = list(model.tag_many(texts))
    for asked, lemmas in ((["bank"], {"bank"}), (["banks", "wait"], {"bank", "wait"}), ([], set())):
        found = list(model.tag_many(iter(texts), words=asked))
        expected = [[token for token in tokens if token.lemma in lemmas] for tokens in every]
        assert [[(t.start, t.end, t.sense) for t in tokens] for tokens in found] == [
            [(t.start, t.end, t.sense) for t in tokens] for tokens in expected
        ]
    words = [["the", "banks"], ["a", "river"], [], ["BANK", "of"]]
    found = list(model.tag_many_tokens(words, words={"bank"}))
    assert [[token.text for token in tokens] for tokens in found] == [["banks"], [], [], ["BANK"]]
    with pytest.raises(UserError, match="words takes a list"):
        model.tag_many(texts, words="bank")
    with pytest.raises(UserError, match="zyzzyva"):
        model.tag_many(texts, words=["zyzzyva"])
    with pytest.raises(UserError, match="words are asked for, not senses: bank instead of bank#2"):
        model.tag_many(texts, words=["bank#2"])


def test_texts_without_the_words_are_not_even_analysed(model, monkeypatch):
    read = []
    encode = model.reader.pipeline.encode_many
    monkeypatch.setattr(model.reader.pipeline, "encode_many", lambda texts: read.extend(texts) or encode(texts))
    assert [len(tokens) for tokens in model.tag_many(["the river", "the banks", "excellent"], words=["bank"])] == [
        0,
        1,
        0,
    ]
    assert [text for text in read if text] == ["the banks"]
    (found,) = model.tag_many(["the b\u00adank"], words=["bank"])  # a soft hyphen
    assert [token.lemma for token in found] == ["bank"]
    with pytest.raises(UserError, match="word 1 is None"):
        list(model.tag_many_tokens([["the", None]], words=["bank"]))


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.lists(WORDS, max_size=40), min_size=1, max_size=8),
    st.randoms(use_true_random=False),
    st.sampled_from([24, 200, 5000]),
)
def test_the_same_senses_whatever_the_batch_and_the_order(taught, texts, lots, together):
    """In the default way of reading, in 8-bit integers where they are there."""
    lines = [" ".join(words) for words in texts]
    order = list(range(len(lines)))
    lots.shuffle(order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polylm.reading.reader.tokens_together", lambda device: together)
        mixed = list(taught.tag_many([lines[place] for place in order]))
    for place, tokens in zip(order, mixed, strict=True):
        for one, other in zip(tokens, taught.tag(lines[place]), strict=True):
            assert (one.text, one.start, one.lemma) == (other.text, other.start, other.lemma)
            if one.probability is not None and one.probability - sorted([0.0, *one.distribution.values()])[-2] > 0.02:
                assert one.sense == other.sense
            for key, probability in one.distribution.items():
                assert other.distribution.get(key, 0.0) == pytest.approx(probability, abs=1e-2)


@pytest.fixture(scope="module")
def taught():
    """A model that reads in one pass, and knows its ranges."""
    made = make_model(max_length=32, reads_unmasked=True)
    measure_ranges(made.network, [torch.randint(4, len(made.vocabulary), (8, 32))], MASK_ID)
    return Model(made.bundle, device="cpu")


def test_what_a_model_reads_with(taught):
    assert ReadOut("auto").of_network(taught.network).layers == "reading"
    assert precision_of(taught.network) == ("int8" if works() else "float32")
    exact = Model(taught.bundle, device="cpu", precision="float32")
    assert precision_of(exact.network) == "float32"
    with pytest.raises(UserError, match="not a precision"):
        Model(taught.bundle, device="cpu", precision="int4")
    with pytest.raises(UserError, match=r"no ranges|VNNI"):
        Model(make_model().bundle, device="cpu", precision="int8")


def test_worker_processes_change_nothing(taught):
    lines = [f"{line} {number}" for number in range(40) for line in ("He sat on the cold banks.", "", "Waiting.")]
    words = [line.split() for line in lines]
    assert list(taught.tag_many(iter(lines), workers=2)) == list(taught.tag_many(lines))
    assert list(taught.tag_many_tokens(words, workers=2)) == list(taught.tag_many_tokens(words))
    asked = {"words": ["bank"], "workers": 2}
    assert list(taught.tag_many(lines, **asked)) == list(taught.tag_many(lines, words=["bank"]))
    with pytest.raises(UserError, match="at least one worker"):
        taught.tag_many(lines, workers=0)


@pytest.mark.parametrize("workers", [1, 2])
def test_texts_before_a_wrong_one_are_not_lost(taught, workers):
    def lines():
        yield from ["He sat.", "The bank."]
        raise OSError("the disk is gone")

    found = []
    with pytest.raises(OSError, match="the disk is gone"):
        found.extend(taught.tag_many(lines(), workers=workers))
    assert [len(tokens) for tokens in found] == [3, 3]
    found = []
    with pytest.raises(UserError, match=r"word 1 is ''.*\(text 1, counting from 0\)"):
        for tokens in taught.tag_many_tokens([["bank"], ["bank", ""]], workers=workers):
            found.append(tokens)
    assert len(found) == 1


def test_the_first_texts_are_answered_while_others_come(taught):
    """A stream that is not read to its end leaves no process behind."""
    lines = (f"The bank {number}." for number in itertools.count())
    before = dict(os.environ)
    stream, other = taught.tag_many(lines, workers=2), taught.tag_many(["The bank."] * 9, workers=2)
    assert [token.text for token in next(stream)] == ["The", "bank", "0", "."]
    assert len(next(other)) == 3
    stream.close()
    assert len(next(other)) == 3
    other.close()
    assert not multiprocessing.active_children()
    assert dict(os.environ) == before


def test_texts_that_are_passed_over_are_not_piled_up(taught, monkeypatch):
    monkeypatch.setattr("polylm.explore.tagging.TEXTS", 1 << 12)
    texts = ("A long text about rivers. " * 50 + ("The bank." if number == 5 else "") for number in range(2000))
    sizes = [len(block.texts) for block in taught.tag_columns(texts, words=["bank"])]
    assert sum(sizes) == 2000
    assert max(sizes) < 1000
