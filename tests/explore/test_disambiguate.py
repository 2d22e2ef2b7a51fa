"""Every word of a text has its sense, whatever the length of the text and whatever is read beside it."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polylm.errors import UserError
from polylm.explore import disambiguate, meaning
from polylm.explore.neighbours import word_of
from polylm.model.readout import sense_distributions
from tests.evaluation.conftest import PLAIN, POLYSEMOUS, make_model

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
    tokens = model.pipeline.encode(TEXT)
    ids = torch.tensor([[3, *tokens.ids.tolist(), 3]])
    expected = sense_distributions(model.network, ids, model.mask, source=source)[0]
    for index, token in enumerate(model.tag(TEXT, source=source)):
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
    assert model.tag([]) == []
    assert list(model.tag_many([])) == []
    assert [len(tokens) for tokens in model.tag_many(["", "bank", " \n "])] == [0, 1, 0]


def test_one_text_is_not_many(model):
    with pytest.raises(UserError, match="use tag for one text"):
        model.tag_many("the bank")
    with pytest.raises(UserError, match="there is no read-out"):
        model.tag("the bank", source="foo")
    with pytest.raises(UserError, match="a weight of 7"):
        model.tag("the bank", weight=7)


def test_tokens_are_taken_as_they_are(model):
    assert [token.text for token in model.tag(["the", "bank", "of", "zyzzyva"])] == ["the", "bank", "of", "zyzzyva"]


@settings(deadline=None, max_examples=25)
@given(st.lists(st.lists(WORDS, max_size=70), max_size=6))
def test_texts_do_not_see_each_other(texts):
    """Read together or alone, short or in windows: the same senses, one token a word."""
    model = make_model(max_length=24)
    together = list(model.tag_many(texts))
    assert [[token.text for token in tokens] for tokens in together] == texts
    for text, tokens in zip(texts, together, strict=True):
        for token, other in zip(tokens, model.tag(text), strict=True):
            assert token.distribution.keys() == other.distribution.keys() or token.probability < 1
            for key, probability in token.distribution.items():
                assert other.distribution.get(key, 0) == pytest.approx(probability, abs=5e-3)


@settings(deadline=None)
@given(st.integers(0, 300), st.integers(8, 40))
def test_windows_cover_every_word_once(n, length):
    model = make_model(max_length=length, lemmatize=False)
    tokens = model.pipeline.encode(["bank"] * n)
    windows = list(disambiguate._windows(model, 0, tokens))
    words = [word for window in windows for word in window.words.tolist()]
    assert words == list(range(n))
    whole = n + 2
    for window in windows:
        assert len(window.ids) == min(whole, length)
        assert (window.ids[window.places] == model.vocabulary["bank"]).all()
    if whole > length:  # far from the edges: half of what windows share, but at the ends of the text
        margin = min(disambiguate.OVERLAP, length // 2) // 2 - 1
        for window in windows[1:]:
            assert window.places.min() >= margin
        for window in windows[:-1]:
            assert window.places.max() <= length - margin


def test_lines_come_with_their_text(model):
    lines = ["the bank", "", "cold water"]
    assert [line for line, _ in model.tag_lines(iter(lines))] == lines


def test_the_meaning_of_a_focus(model):
    """Its senses weighted by their probabilities, and what could stand there, without what all senses share."""
    vector = model.embed("He sat on the [banks] of the river.")
    assert vector.shape == (64,)
    assert float(vector @ vector) == pytest.approx(1, abs=1e-5)
    token = model.tag("He sat on the banks of the river.", granularity=1.0)[4]
    focus = disambiguate.read_focus(model, "He sat on the [banks] of the river.")
    assert focus.word == model.vocabulary["bank"]
    assert int(focus.q[:3].argmax()) == int(token.sense[-1]) - 1
    rows = model.network.embeddings.detach()[model.network.inventory.rows(torch.tensor(focus.word))[0][:3]]
    meaning = model.vectors.common.removed(torch.from_numpy(focus.q[:3]) @ rows)
    roots = model.network.sense_probs(focus.y_p).detach()[model.index.of_words].sqrt()
    gap = torch.nn.functional.normalize(roots @ torch.from_numpy(model.vectors.vectors), dim=0)
    expected = torch.nn.functional.normalize(meaning + 0.6 * gap, dim=0)
    torch.testing.assert_close(torch.from_numpy(vector), expected)


def test_a_focus_in_a_long_text_is_read_away_from_the_edges(model):
    """What stands a window away from it does not matter; what stands beside it does."""
    near = "the river " * 12
    far = [model.embed(f"{before * 60}{near}[bank] {near}{before * 60}") for before in ("cold ", "money ")]
    assert np.array_equal(*far)
    assert not np.allclose(far[0], model.embed("cold " * 60 + "[bank]" + " cold" * 60))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no focus", "mark one word"),
        ("[two] of [them]", "mark one word"),
        ("the [ ] bank", "mark one word"),
        ("the [river bank]", "'river bank' is read as river, bank: mark one word of them"),
        ("the [river\nbank]", "is read as river, bank"),
        ("a [well-known] bank", "is read as well, known"),
        ("he [can't] sit", "is read as ca, n't"),
        ("the [ban]k", "cut through a word: mark 'bank'"),
        ("the [,]", "',' is not a word"),
    ],
)
def test_a_focus_that_is_none(model, text, message):
    with pytest.raises(UserError, match=message):
        model.embed(text)


def test_an_unknown_word_is_what_could_stand_in_its_place(model):
    unknown, known = (f"He sat on the [{word}] of the river." for word in ("zyzzyva", "bank"))
    focus = disambiguate.read_focus(model, unknown)
    assert focus.word is None
    roots = model.network.sense_probs(focus.y_p).detach()[model.index.of_words].sqrt()
    gap = torch.nn.functional.normalize(roots @ torch.from_numpy(model.vectors.vectors), dim=0)
    torch.testing.assert_close(torch.from_numpy(model.embed(unknown)), gap)
    torch.testing.assert_close(focus.y_p, disambiguate.read_focus(model, known).y_p)  # it is masked
    assert "bank" in dict(model.substitutes(unknown, topn=1000))
    assert "bank" not in dict(model.substitutes(known, topn=1000))


def test_many_focuses_are_as_one_at_a_time(model, monkeypatch):
    monkeypatch.setattr(disambiguate, "FOCUSES", 3)
    texts = [
        "He sat on the [bank] of the river.",
        "[cold] water",
        "money " * 90 + "[bank]",
        "a [zyzzyva]",
        "the [bank]",
    ]
    alone = np.stack([model.embed(text) for text in texts])
    np.testing.assert_allclose(model.embed_many(texts), alone, atol=1e-5)
    plain = [text.replace("[", "").replace("]", "") for text in texts]
    spans = [(text.index("["), text.index("]") - 1) for text in texts]
    np.testing.assert_allclose(model.embed_many(plain, spans=spans), alone, atol=1e-5)
    assert model.embed_many([]).shape == (0, 64)


def test_many_focuses_of_which_some_are_none(model, monkeypatch):
    monkeypatch.setattr(disambiguate, "FOCUSES", 2)
    texts = ["no focus", "the [bank]", "the [,]", "cold [water]", "none"]
    with pytest.raises(UserError, match=r"mark one word.*\(text 0, counting from 0\)"):
        model.embed_many(texts)
    found = model.embed_many(texts, strict=False)
    assert np.isnan(found).all(axis=1).tolist() == [True, False, True, False, True]
    np.testing.assert_allclose(found[3], model.embed("cold [water]"), atol=1e-5)
    for wrong, message in (
        ({"texts": "the [bank]"}, "several texts"),
        ({"texts": ["a"], "spans": []}, "1 texts and 0"),
    ):
        with pytest.raises(UserError, match=message):
            model.embed_many(**wrong)
    with pytest.raises(UserError, match="there is no read-out"):
        model.embed("the [bank]", source="none")


@pytest.mark.parametrize("text", [None, b"The bank.", 7])
def test_what_is_no_text(model, text):
    found = model.tag_many(["The bank.", text])
    assert len(next(found)) == 3  # what stands before it is not lost
    with pytest.raises(UserError, match="a text is a string, or a list of words"):
        next(found)


def test_words_of_other_libraries(model):
    assert model.tag(np.array(["the", "bank"])) == model.tag(["the", "bank"])


class Table(dict):
    columns = ("text",)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["He sat.", ["The bank is open.", "We sat."]], "'The bank is open.' is not one word: for several texts use"),
        (["He sat.", None], r"not NoneType \(text 1, counting from 0\)"),
        (["He sat.", {"text": "bank"}], "not dict"),
        (Table(text=["bank"]), "not Table"),
        ({"text": "bank"}, "not dict"),
        (None, "not NoneType"),
        ("bank", "tag_many takes several texts"),
    ],
)
def test_what_is_no_list_of_texts(model, texts, message):
    with pytest.raises(UserError, match=message):
        list(model.tag_many(texts))


def test_a_string_is_no_list(model):
    for wrong in (
        lambda: model.tag_lines("the bank"),
        lambda: model.senses_of("bank"),
        lambda: model.labels("bank#1"),
        lambda: model.word_directions("bank"),
    ):
        with pytest.raises(UserError, match="takes several"):
            wrong()


def test_the_first_answers_of_a_stream_come_soon(model):
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield "He sat on the bank."

    next(model.tag_many(endless()))
    assert len(taken) < disambiguate.TOKENS["cpu"] / 5


def test_a_focus_may_be_a_span(model):
    text = "see [1]: he sat on the [river] bank"
    start = text.index("bank")
    token = next(token for token in model.tag(text) if token.text == "bank")
    vector = model.embed(text, span=(token.start, token.end))
    assert (token.start, token.end) == (start, start + 4)
    assert np.array_equal(vector, model.embed(text, span=(start, start + 4)))
    assert model.substitutes(text, span=(start, start + 4))
    assert np.array_equal(model.embed("he sat on the [bank]"), model.embed("he sat on the bank", span=(14, 18)))
    for span, message in (
        ((0, 0), "nothing from 0 to 0"),
        ((3, 400), "nothing from 3"),
        ((start, start + 2), "cuts through"),
    ):
        with pytest.raises(UserError, match=message):
            model.embed(text, span=span)
    with pytest.raises(UserError, match="there is no word at character 3"):
        model.embed(text, span=(3, 4))
    with pytest.raises(UserError, match="a text is a string"):
        model.embed(None)
    assert np.array_equal(vector, model.embed(text, span=np.array([start, start + 4])))
    for span in (14, "bank", (1, 2, 3), (0.5, 2)):
        with pytest.raises(UserError, match="a span is two numbers"):
            model.embed(text, span=span)


def test_the_weight_of_the_read_outs(model):
    text = "He sat on the cold banks of the river."
    assert model.tag(text, weight=1.0) == model.tag(text, source="prediction")
    assert model.tag(text, weight=0.0) == model.tag(text, source="disambiguation")
    assert model.tag(text) != model.tag(text, source="prediction")


def test_what_fills_up_short_texts_is_not_read():
    model = make_model(max_length=64)
    with torch.no_grad():
        model.network.embeddings[model.network.inventory.first[model.pad]] *= 50
    model.network.keep_inputs()
    texts = ["the bank", "the bank of the cold river"]
    for together, alone in zip(model.tag_many(texts), map(model.tag, texts), strict=True):
        for one, other in zip(together, alone, strict=True):
            assert one.probability == (other.probability and pytest.approx(other.probability, abs=2e-3))


def test_substitutes_are_likely_and_near(model):
    """The probability of a sense in the gap times exp(8 c), c its cosine to the meaning; a word's senses together."""
    text = "He sat on the [bank] of the river."
    focus = disambiguate.read_focus(model, text)
    likely = model.network.sense_probs(focus.y_p).detach()[model.index.of_words]
    cosines = torch.from_numpy(model.vectors.vectors @ meaning._meaning(model, focus))
    expected = {}
    for key, weight in zip(model.vectors.keys, (likely * (8 * cosines).exp()).tolist(), strict=True):
        expected[word_of(key)] = expected.get(word_of(key), 0) + weight
    del expected["bank"]
    found = dict(model.substitutes(text, topn=1000))
    for word, share in found.items():
        assert share == pytest.approx(expected[word] / sum(expected.values()), abs=1e-4)
    assert next(iter(found)) == max(expected, key=expected.get)
    assert float(cosines.max() - cosines.min()) > 0.1


def test_a_clitic_belongs_to_its_word(model):
    np.testing.assert_array_equal(model.embed("the [bank's] river"), model.embed("the [bank]'s river"))
