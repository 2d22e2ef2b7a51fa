from io import BytesIO

import numpy as np
import pytest

from polylm.bundle.bundle import WORDLISTS
from polylm.errors import UserError
from polylm.senses.wordlists import WordLists

LABELS, SUBSTITUTES = np.array([[1, 2], [3, 0], [4, 4]]), np.array([[9], [8], [0]])


@pytest.mark.parametrize("n_words", [10, 70_000])
def test_round_trip(tmp_path, n_words):
    for lists in (WordLists(LABELS, SUBSTITUTES), WordLists(substitutes=SUBSTITUTES + n_words - 10)):
        (tmp_path / WORDLISTS).write_bytes(lists.to_bytes(n_words))
        again = WordLists.load(tmp_path / WORDLISTS, 3, n_words)
        assert again.tables().keys() == lists.tables().keys()
        for name, table in lists.tables().items():
            np.testing.assert_array_equal(again.tables()[name], table)
    few = WordLists(LABELS, SUBSTITUTES).select(np.array([True, False, True]))
    assert few.labels.tolist() == [[1, 2], [4, 4]]
    assert few.substitutes.tolist() == [[9], [0]]


def test_what_does_not_fit(tmp_path):
    assert WordLists.load(tmp_path / WORDLISTS, 3, 10).tables() == {}
    whole = WordLists(LABELS, SUBSTITUTES).to_bytes(10)
    path = tmp_path / WORDLISTS
    path.write_bytes(whole)
    for n_senses, n_words in ((4, 10), (3, 9)):
        with pytest.raises(UserError, match="does not belong to this model"):
            WordLists.load(tmp_path / WORDLISTS, n_senses, n_words)
    npy = BytesIO()
    np.save(npy, LABELS)
    odd_method = whole.replace(b"\x08\x00", b"\x09\x00")  # how the zip says it is packed
    for damaged in (b"", b"nothing", whole[:-30], whole[:60] + bytes(20) + whole[80:], npy.getvalue(), odd_method):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"senses\.npz"):
            WordLists.load(tmp_path / WORDLISTS, 3, 10)
