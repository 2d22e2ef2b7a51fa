"""Windows cut into short texts: nothing is lost but what no longer fits, and every piece looks like a text."""

from itertools import groupby

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polylm.symbols import LINE_ID
from polylm.training.pieces import SENTENCE_ENDS, cut_windows, sentence_ends
from polylm.training.trainer import Trainer
from tests.shared.corpora import TINY, settings

VOCABULARY = {
    "[PAD]": 0,
    "[UNK]": 1,
    "[MASK]": 2,
    "[LINE]": LINE_ID,
    ".": 4,
    "?": 5,
    **{f"w{i}": i for i in range(6, 20)},
}
ENDS = sentence_ends(VOCABULARY, torch.device("cpu"))


def cut(windows, share, seed=0, segments=None):
    return cut_windows(torch.tensor(windows), ENDS, share, torch.Generator().manual_seed(seed), segments)


def pieces_of(words, segments):
    return [
        [word for word, _ in group] for _, group in groupby(zip(words, segments, strict=True), lambda pair: pair[1])
    ]


WINDOWS = st.integers(2, 24).flatmap(
    lambda length: st.lists(st.lists(st.integers(3, 19), min_size=length, max_size=length), min_size=1, max_size=4)
)


@given(WINDOWS, st.integers(0, 999))
def test_pieces_are_texts_between_line_marks(windows, seed):
    words, segments = cut(windows, 1.0, seed)
    for window, row, own in zip(windows, words.tolist(), segments.tolist(), strict=True):
        said = [word for word in row if word != LINE_ID]
        assert said == [word for word in window if word != LINE_ID][: len(said)]
        assert own == sorted(own)
        pieces = pieces_of(row, own)
        assert all(piece[0] == LINE_ID for piece in pieces)
        for piece in pieces[:-1]:  # the last is cut off where the window ends
            assert piece[-1] == LINE_ID
            assert LINE_ID not in piece[1:-1]
            assert len(piece) <= 2 or ENDS[piece[-2]] or window[window.index(piece[-2]) :].count(LINE_ID)


def test_a_sentence_is_never_cut_inside():
    window = [6, 7, 8, 4, 9, 10, 5, 11, LINE_ID, 12, 13, 4, 14, 15]
    whole = {(6, 7, 8, 4), (9, 10, 5), (11,), (12, 13, 4), (14, 15)}
    found = set()
    for seed in range(40):
        (words,), (segments,) = (tensor.tolist() for tensor in cut([[*window, *[4] * 12]], 1.0, seed))
        for piece in pieces_of(words, segments)[:-1]:
            found.add(tuple(word for word in piece if word != LINE_ID))
    assert whole - {(14, 15)} <= found
    assert not {piece for piece in found if piece and not ENDS[piece[-1]] and piece[-1] != 11}


def test_as_many_windows_as_wanted_are_cut():
    windows = torch.randint(4, 20, (2000, 16), generator=torch.Generator().manual_seed(1)).tolist()
    words, segments = cut(windows, 0.3)
    changed = (words != torch.tensor(windows)).any(dim=1)
    assert float(changed.float().mean()) == pytest.approx(0.3, abs=0.04)
    assert (segments[~changed] == 1).all()
    lines = torch.full((2000, 16), 7)
    kept = cut(windows, 0.3, segments=lines)[1]
    assert (kept[~changed] == 7).all()
    assert torch.equal(kept[changed], segments[changed])


def test_marks_that_end_sentences_are_looked_up():
    assert ENDS.nonzero().flatten().tolist() == [3, 4, 5]
    assert sentence_ends({"[PAD]": 0, "a": 1}, torch.device("cpu")).sum() == 0


def test_windows_are_cut_at_ends_of_sentences(corpus, tmp_path):
    """Those of the vocabulary, and line marks."""
    config = settings(steps=2)
    trainer = Trainer(corpus, tmp_path / "run", TINY, config, device="cpu")
    words = trainer.run.vocabulary.words
    ends = {words[number] for number in trainer.run.batches.ends.nonzero().flatten().tolist()}
    assert ends == {"[LINE]", *(mark for mark in SENTENCE_ENDS if mark in words)}
