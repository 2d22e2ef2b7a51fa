"""Texts that are read further only where words are lacking."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polylm.training.contexts import until_met

N_WORDS = 10
ROWS = st.lists(st.lists(st.integers(0, N_WORDS - 1), min_size=4, max_size=4), min_size=1, max_size=12)


@settings(max_examples=100)
@given(ROWS, st.sets(st.integers(0, N_WORDS - 1)), st.integers(1, 3), st.integers(1, 4))
def test_words_are_met_as_often_as_wanted(rows, words, n, together):
    ids = torch.tensor(rows)
    wanted = torch.tensor(sorted(words), dtype=torch.int64)
    given_out = list(until_met(torch.split(ids, together), wanted, n, n_words=N_WORDS, most=10**6))
    assert all(torch.isin(part, wanted).any(dim=1).all() for part in given_out)
    read = torch.cat([*given_out, ids[:0]])
    for word in words:
        assert int((read == word).sum()) >= min(n, int((ids == word).sum()))
    needed = sum(min(n, int((ids == word).sum())) for word in words)
    assert len(read) <= needed * together  # rows of a part are looked at together


def test_no_more_is_read_than_that():
    ids = torch.arange(8).reshape(4, 2) % 2
    parts = torch.split(ids, 1)
    assert len(list(until_met(parts, torch.tensor([1]), 9, n_words=2, most=3))) == 2
    segments = torch.ones_like(ids)
    ((read, kept),) = until_met([(ids, segments)], torch.tensor([1]), 9, n_words=2, most=99)
    assert torch.equal(read, ids)
    assert torch.equal(kept, segments)
    assert list(until_met(parts, torch.tensor([], dtype=torch.int64), 9, n_words=2, most=9)) == []
