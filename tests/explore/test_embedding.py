"""What a word means in its context: its senses as they are there, and what could stand for it."""

import numpy as np
import pytest
import torch

from polylm.errors import UserError
from polylm.explore import embedding
from polylm.senses.keys import word_of
from polylm.text.lemmatizer import can_have, inflected


def test_the_meaning_of_a_focus(model):
    """Its senses weighted by their probabilities, and what could stand there, without what all senses share."""
    vector = model.embed("He sat on the [banks] of the river.")
    assert vector.shape == (64,)
    assert float(vector @ vector) == pytest.approx(1, abs=1e-5)
    token = model.tag("He sat on the banks of the river.", granularity=1.0)[4]
    focus = model._focus("He sat on the [banks] of the river.")
    assert focus.word == model.vocabulary["bank"]
    assert int(focus.q[:3].argmax()) == int(token.sense[-1]) - 1
    rows = model.network.embeddings.detach()[model.network.inventory.rows(torch.tensor(focus.word))[0][:3]]
    meaning = model.vectors.common.removed(torch.from_numpy(focus.q[:3]) @ rows)
    roots = model.network.sense_probs(torch.from_numpy(focus.y_p)).detach()[model.lexicon.index.of_words].sqrt()
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
        ("no focus", "no word is marked: mark one word"),
        ("[two] of [them]", "2 words are marked: mark one word"),
        ("the [ ] bank", "mark one word"),
        ("the [river bank]", "'river bank' is read as river, bank: mark one word of them"),
        ("the [river\nbank]", "is read as river, bank"),
        ("a [well-known] bank", "is read as well, known"),
        ("he [can't] sit", "is read as ca, n't"),
        ("the [ban]k", "cuts through a word: mark all of 'bank'"),
        ("the [,]", "',' is not a word"),
    ],
)
def test_a_focus_that_is_none(model, text, message):
    with pytest.raises(UserError, match=message):
        model.embed(text)


def test_an_unknown_word_is_what_could_stand_in_its_place(model):
    unknown, known = (f"He sat on the [{word}] of the river." for word in ("zyzzyva", "bank"))
    focus = model._focus(unknown)
    assert focus.word is None
    roots = model.network.sense_probs(torch.from_numpy(focus.y_p)).detach()[model.lexicon.index.of_words].sqrt()
    gap = torch.nn.functional.normalize(roots @ torch.from_numpy(model.vectors.vectors), dim=0)
    torch.testing.assert_close(torch.from_numpy(model.embed(unknown)), gap)
    np.testing.assert_allclose(focus.y_p, model._focus(known).y_p, atol=1e-5)  # it is masked
    assert "bank" in dict(model.substitutes(unknown, topn=1000))
    assert "bank" not in dict(model.substitutes(known, topn=1000))


def test_many_focuses_are_as_one_at_a_time(model, monkeypatch):
    monkeypatch.setattr(embedding, "FOCUSES", 3)
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
    monkeypatch.setattr(embedding, "FOCUSES", 2)
    texts = ["no focus", "the [bank]", "the [,]", "cold [water]", "none"]
    with pytest.raises(UserError, match=r"mark one word.*\(text 0, counting from 0\)"):
        model.embed_many(texts)
    found = model.embed_many(texts, strict=False)
    assert np.isnan(found).all(axis=1).tolist() == [True, False, True, False, True]
    np.testing.assert_allclose(found[3], model.embed("cold [water]"), atol=1e-5)
    for wrong, message in (
        ({"texts": "the [bank]"}, "use embed for one text"),
        ({"texts": ["a"], "spans": []}, "1 texts and 0"),
    ):
        with pytest.raises(UserError, match=message):
            model.embed_many(**wrong)
    with pytest.raises(UserError, match="there is no read-out"):
        model.embed("the [bank]", read_out="none")


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


def test_substitutes_are_likely_and_near_and_of_the_kind_of_the_word(model):
    """p^0.4 exp(20 c) / f^0.3 of each sense; a word's senses together."""
    text = "He sat on the [bank] of the river."
    focus = model._focus(text)
    likely = model.network.sense_probs(torch.from_numpy(focus.y_p)).detach()[model.lexicon.index.of_words].double()
    cosines = torch.from_numpy(model.vectors.vectors @ model._meaning(focus)).double()
    counts = dict(zip(model.vocabulary.words, model.vocabulary.counts, strict=True))
    expected = {}
    for key, weight in zip(model.vectors.keys, (likely**0.4 * (20 * cosines).exp()).tolist(), strict=True):
        word = word_of(key)
        expected[word] = expected.get(word, 0) + weight / max(counts[word], 1) ** 0.3
    for word in "he sit on the bank of river .".split():  # what stands in the text could not stand in its place
        expected.pop(word, None)
    found = dict(model.substitutes(text, topn=1000))
    assert set(found) == {word for word in expected if can_have(word, "NN")} - {"banks"} < set(expected)
    for word, share in found.items():
        assert share == pytest.approx(expected[word] / sum(expected.values()), abs=1e-4)
    assert next(iter(found)) == max(found, key=expected.get)
    assert float(cosines.max() - cosines.min()) > 0.1


def test_substitutes_have_the_form_of_the_word(model):
    text = "He sat on the [banks] of the river."
    forms, lemmas = (dict(model.substitutes(text, inflected=wanted)) for wanted in (True, False))
    assert forms == {inflected(lemma, "NNS"): share for lemma, share in lemmas.items()} != lemmas


def test_a_clitic_belongs_to_its_word(model):
    np.testing.assert_array_equal(model.embed("the [bank's] river"), model.embed("the [bank]'s river"))
