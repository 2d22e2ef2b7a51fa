"""Text to windows and windows to distributions: the focus is where it should be, and is read as the model reads it."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polylm.errors import UserError
from polylm.evaluation.instances import joined
from polylm.reading.encoding import Encoder
from polylm.reading.layers import ReadOut
from polylm.reading.reader import Reader
from polylm.reading.targets import Target, encode
from polylm.reading.windows import OVERLAP, Text, cut
from polylm.symbols import MASK_ID
from polylm.text.pipeline import TextPipeline
from polylm.text.settings import TextSettings
from tests.shared.models import make_model


def target(text, lemma, pos="n"):
    """What stands between [ and ]."""
    start, end = text.index("["), text.index("]") - 1
    return Target(text.replace("[", "").replace("]", ""), start, end, lemma, pos)


def symbols(model, encoded, focus=0):
    window = encoded.window[focus]
    ids = encoded.ids[encoded.starts[window] : encoded.starts[window + 1]]
    return [model.vocabulary.words[i] for i in ids]


@pytest.mark.parametrize(
    ("text", "lemma", "pos", "read"),
    [
        ("He sat on the [bank].", "bank", "n", "bank"),
        ("The [banks] sat", "bank", "n", "bank [PL]"),
        ("The [colours] of it", "color", "n", "color [PL]"),  # which the pipeline reads as colour
        ("The [colour] of it", "color", "n", "color"),
        ("It was a [waiting] bank", "wait", "v", "wait [GER]"),
        ("He [waited]", "wait", "v", "wait [PAST]"),
        ("half-[cold] water", "cold", "j", "cold"),
        ('He said ["bank"] twice', "bank", "n", "bank"),  # more than a word: the one that can have the lemma
        ("The [river banks] were cold", "bank", "n", "bank [PL]"),
    ],
)
def test_focus_is_the_lemma_of_the_data_set(model, text, lemma, pos, read):
    encoded = encode([target(text, lemma, pos)], model.reader.pipeline, 24)
    place = int(encoded.position[0])
    shown = symbols(model, encoded)
    assert shown[0] == shown[-1] == "[LINE]"
    assert shown[place : place + len(read.split())] == read.split()
    assert encoded.target[0] == model.vocabulary[lemma]


def test_unknown_lemma(model):
    encoded = encode([target("A [zyzzyva] sat.", "zyzzyva")], model.reader.pipeline, 24)
    assert not encoded.known[0]
    assert symbols(model, encoded)[encoded.position[0]] == "[UNK]"
    q, y = Reader(model.network).read(encoded, output=True)
    assert not q.any()
    assert y.any()  # the context is read all the same


def test_surface_models_have_no_markers():
    model = make_model(lemmatize=False)
    encoded = encode([target("The [banks] sat", "bank")], model.reader.pipeline, 24)
    assert symbols(model, encoded) == ["[LINE]", "the", "bank", "sat", "[LINE]"]


@given(st.integers(0, 300), st.integers(8, 40))
def test_windows_cover_every_word_once(n, length):
    windows = Encoder(WORDS, length)([["bank"] * n]).windows
    assert len(windows) == n
    sizes = np.diff(windows.starts)
    assert (sizes == min(n + 2, length)).all()
    assert (windows.target == 4).all()
    assert (windows.ids[windows.starts[windows.window] + windows.position] == 4).all()
    assert (np.diff(windows.window) >= 0).all()
    if n + 2 > length:  # far from the edges: half of what windows share, but at the ends of the text
        margin = min(OVERLAP, length // 2) // 2 - 1
        assert windows.position[windows.window > 0].min() >= margin
        assert windows.position[windows.window < len(sizes) - 1].max() <= length - margin


WORDS = TextPipeline({"[PAD]": 0, "[UNK]": 1, "[MASK]": 2, "[LINE]": 3, "bank": 4}, TextSettings(lemmatize=False))


def carefully(n, places, length):
    """Where the windows of a text of n ids begin, and in which of them each place is read; one text at a time."""
    if n <= length:
        return np.zeros(1, dtype=np.int64), np.zeros(len(places), dtype=np.int64)
    overlap = min(OVERLAP, length // 2)
    starts = np.linspace(0, n - length, -(-(n - overlap) // (length - overlap))).round().astype(np.int64)
    middles = starts[:-1] + (starts[1:] - starts[:-1] + length) / 2
    return starts, np.searchsorted(middles, places, side="right")


TEXTS = st.lists(
    st.integers(0, 200).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n - 1), max_size=20) if n else st.just([]))
    ),
    max_size=6,
)


@given(TEXTS, st.integers(2, 40))
def test_texts_are_cut_together_as_each_alone(texts, length):
    """Every place is in one window, where it is furthest from the edges, and windows without any are left out."""
    begin = 0
    made, expected = [], []
    for n, places in texts:
        ids = np.arange(begin, begin + n)  # so that each shows where it comes from
        begin += n
        made.append(Text(ids, places, ids[places]))
        starts, owner = carefully(n, np.array(places, dtype=np.int64), length)
        assert (np.diff(starts) <= length).all()  # no gap between two
        expected += [ids[starts[one] : starts[one] + length].tolist() for one in np.unique(owner)]
    windows = cut(made, length, 99)
    assert [windows.ids[a:b].tolist() for a, b in pairwise(windows.starts)] == expected
    assert (windows.ids[windows.starts[windows.window] + windows.position] == windows.target).all()
    assert windows.target.tolist() == [int(one) for text in made for one in text.targets]
    for batch in windows.batches(50):
        found = batch.ids[batch.row, windows.position[batch.members]]
        assert (found == windows.target[batch.members]).all()
    assert sorted(place for batch in windows.batches(50) for place in batch.members) == list(range(len(windows)))


def test_windows_without_a_target_are_not_read(model):
    text = "the river " * 60
    windows = encode([target(f"[bank] {text}", "bank"), target(f"{text}[bank]", "bank")], model.reader.pipeline, 24)
    assert len(windows.starts) == 3
    assert windows.position[0] == 1
    assert windows.position[1] == 22


TEXT = "He [waited] at the bank of the river. The water was cold, and it was the color of money."


def test_read_is_what_the_model_says(model):
    network = model.network
    encoded = encode([target(TEXT, "wait", "v")], model.reader.pipeline, 24)
    ids = torch.from_numpy(encoded.ids.astype(np.int64))[None]
    place = int(encoded.position[0])
    word = model.vocabulary["wait"]
    masked = ids.clone()
    masked[0, place] = MASK_ID
    q_p = network.prediction_probs(masked, ids)[0, place].detach()
    q_d = network.disambiguation_probs(ids)[0, place].detach()
    assert ids[0, place] == word
    both = q_p**0.6 * q_d**0.4
    both /= both.sum()
    for source, expected in (("prediction", q_p), ("disambiguation", q_d), ("both", both)):
        q, y = Reader(network).read(encoded, ReadOut(source))
        np.testing.assert_allclose(q[0], expected.numpy(), atol=1e-6)
        assert y is None
    assert abs(q_p - q_d).max() > 1e-3
    q, y = Reader(network).read(encoded, ReadOut(weight=0.25))
    quarter = q_p**0.25 * q_d**0.75
    np.testing.assert_allclose(q[0], (quarter / quarter.sum()).numpy(), atol=1e-6)
    q, y = Reader(network).read(encoded, ReadOut("disambiguation"), output=True)
    np.testing.assert_allclose(q[0], q_d.numpy(), atol=1e-6)
    np.testing.assert_allclose(y[0], network.read(masked).y_p[0, place].detach().numpy(), atol=1e-5)


def test_batches_change_nothing(model, monkeypatch):
    texts = [TEXT, "A [bank]", "The [banks] of a river in the water", "[Cold] water, cold money and a cold river"] * 3
    lemmas = ["wait", "bank", "bank", "cold"] * 3
    instances = [target(text, lemma, "v") for text, lemma in zip(texts, lemmas, strict=True)]
    encoded = encode(instances, model.reader.pipeline, 24)
    together, _ = Reader(model.network).read(encoded)
    monkeypatch.setattr("polylm.reading.reader.tokens_together", lambda device: 40)
    few, _ = Reader(model.network).read(encoded)
    alone = np.concatenate(
        [Reader(model.network).read(encode([one], model.reader.pipeline, 24))[0] for one in instances]
    )
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(few, alone, atol=1e-5)


def test_focuses_of_one_text_share_it(model):
    """Up to four are masked apart; those that the training rate would mask together are together."""
    words = ("bank", "cold", "color", "wait") * 4
    text = " ".join(words)
    starts = [sum(len(word) + 1 for word in words[:n]) for n in range(len(words))]
    instances = [Target(text, start, start + len(word), word, "n") for word, start in zip(words, starts, strict=True)]
    encoded = encode(instances, model.reader.pipeline, 24)
    assert len(encoded.starts) == 2
    q, _ = Reader(model.network).read(encoded, ReadOut("prediction"))
    ids = torch.from_numpy(encoded.ids.astype(np.int64))[None]
    for turn in range(4):
        places = torch.from_numpy(encoded.position[turn::4])
        masked = ids.clone()
        masked[0, places] = MASK_ID
        expected = model.network.prediction_probs(masked, ids)[0, places].detach().numpy()
        np.testing.assert_allclose(q[turn::4], expected, atol=1e-5)


def test_another_vocabulary_is_refused(model):
    encoded = encode([target("A [bank]", "bank")], model.reader.pipeline, 24)
    from dataclasses import replace

    with pytest.raises(UserError, match="encode it with the vocabulary of the model"):
        Reader(model.network).read(replace(encoded, n_words=7))
    with pytest.raises(UserError, match="no vocabulary"):
        encode([target("A [bank]", "bank")], TextPipeline(), 24)


def test_a_focus_that_is_no_word(model):
    with pytest.raises(UserError, match="there is no word at character 1"):
        encode([Target("a bank", 1, 2, "bank", "n")], model.reader.pipeline, 24)


def test_nothing(model):
    encoded = encode([], model.reader.pipeline, 24)
    q, y = Reader(model.network).read(encoded, output=True)
    assert (len(encoded), q.shape, y.shape) == (0, (0, 3), (0, 64))


@given(*(st.text(st.sampled_from(" \tab.("), max_size=6) for _ in range(2)), st.sampled_from(["bank", "a b"]))
def test_joined(before, after, focus):
    text, start, end = joined(before, focus, after)
    assert text[start:end] == focus
    assert text.split() == (before + focus + after).split()
    assert text == text.strip()
