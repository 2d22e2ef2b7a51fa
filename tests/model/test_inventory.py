import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polylm.errors import UserError
from polylm.model.inventory import SenseInventory


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.data())
def test_rows_are_each_words_own(n_senses, data):
    inventory = SenseInventory(n_senses)
    words = torch.tensor(data.draw(st.lists(st.integers(0, len(n_senses) - 1), max_size=10)), dtype=torch.int64)
    rows, mask = inventory.rows(words.view(-1, 1))
    assert rows.shape == mask.shape == (len(words), 1, max(n_senses))
    for word, own, real in zip(words.tolist(), rows[:, 0], mask[:, 0], strict=True):
        first = sum(n_senses[:word])
        assert own[real].tolist() == list(range(first, first + n_senses[word]))
        assert (own[~real] == first).all()
    assert inventory.word_of_sense.tolist() == [w for w, n in enumerate(n_senses) for _ in range(n)]
    assert inventory.poly_words.tolist() == [w for w, n in enumerate(n_senses) if n > 1]


def test_selection_keeps_numbers():
    inventory = SenseInventory([1, 3, 2], excluded=[0])
    assert inventory.numbers.tolist() == [1, 1, 2, 3, 1, 2]
    kept = inventory.select(torch.tensor([True, True, False, True, False, True]))
    assert kept.numbers.tolist() == [1, 1, 3, 2]
    assert kept.excluded == (0,)
    assert kept.predicted.tolist() == [False, True, True, True]
    with pytest.raises(UserError, match="at least one sense"):
        inventory.select(torch.tensor([True, False, False, False, True, True]))


def test_wrong_inventories():
    for n_senses, others in (
        ([], {}),
        ([0], {}),
        ([1], {"excluded": [1]}),
        ([1], {"excluded": [0]}),
        ([2], {"numbers": [1]}),
    ):
        with pytest.raises(UserError):
            SenseInventory(n_senses, **others)


def test_tables_are_not_in_the_state():
    assert SenseInventory([1, 2]).state_dict() == {}
