import math
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polylm.model.inventory import SenseInventory
from polylm.senses.merge_tree import Confusion, MergeTree

INVENTORY = SenseInventory([1, 4, 2, 3])  # rows 0 | 1-4 | 5-6 | 7-9


def counted(seed, n=200, sharpness=3.0):
    generator = torch.Generator().manual_seed(seed)
    words = torch.randint(4, (n,), generator=generator)
    _, mask = INVENTORY.rows(words)
    scores = sharpness * torch.randn(n, 4, generator=generator)
    q = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    confusion = Confusion(INVENTORY)
    for part in range(0, n, 50):
        confusion.add(words[part : part + 50], q[part : part + 50])
    return confusion.merge_tree(), words, q


def reference_partition(products, shares, dial):
    """Greedy merging, one pair at a time, as the docstring says it."""
    groups = {s: [s] for s in range(len(shares)) if products[s, s] > 1e-12}
    G, n = products.clone().double(), shares.clone().double()
    while True:
        best, pair = -1.0, None
        for a in groups:
            for b in groups:
                if a < b:
                    alike = G[a, b] / (G[a, a] * G[b, b]).sqrt()
                    chance = G[a, b] / (n[a] * n[b])
                    score = min(1.0, float((alike * min(float(chance), 2.0)).sqrt()))
                    if score > best:
                        best, pair = score, (a, b)
        if pair is None or best <= dial or best <= 0:
            return {member: name for name, members in groups.items() for member in members}
        a, b = pair
        groups[a] += groups.pop(b)
        G[a] += G[b]
        G[:, a] += G[:, b]
        n[a] += n[b]


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.floats(0.05, 0.95), st.sampled_from([0.5, 2.0, 6.0]))
def test_partitions_are_those_of_greedy_merging(seed, dial, sharpness):
    granularity, _, _ = counted(seed, sharpness=sharpness)
    rows = granularity.representatives(dial)
    for place, word in enumerate(INVENTORY.poly_words.tolist()):
        n, first = int(INVENTORY.n_senses[word]), int(INVENTORY.first[word])
        expected = reference_partition(granularity.products[place][:n, :n], granularity.shares[place][:n], dial)
        assert {s: int(rows[first + s]) - first for s in expected} == expected


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 1))
def test_partitions_nest_and_one_changes_nothing(seed, a, b):
    granularity, words, q = counted(seed)
    assert granularity.representatives(1.0).tolist() == list(range(10))
    fine, coarse = (granularity.representatives(dial) for dial in (max(a, b), min(a, b)))
    for row in range(10):
        assert coarse[row] == coarse[fine[row]]  # what was one stays one
    merged = granularity.merge(words, q, min(a, b))
    torch.testing.assert_close(merged.sum(-1), torch.ones(len(q)))
    torch.testing.assert_close(granularity.merge(words, q, 1.0), q)
    rows, mask = INVENTORY.rows(words)
    named = (coarse[rows] == rows) & mask
    assert (merged[~named] == 0).all()


def test_threads_may_ask_for_different_dials():
    granularity, _, _ = counted(0)
    expected = {dial: granularity.representatives(dial).tolist() for dial in (0.2, 0.5, 0.8)}
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(3) as threads:
            asked = [(dial, threads.submit(granularity.representatives, dial)) for dial in list(expected) * 300]
            assert all(found.result().tolist() == expected[dial] for dial, found in asked)
    finally:
        sys.setswitchinterval(interval)


def test_confused_senses_are_one_and_the_first_names_them():
    inventory = SenseInventory([3])
    confusion = Confusion(inventory)
    together, apart = torch.tensor([[0.4, 0.6, 0.0]]), torch.tensor([[0.0, 0.0, 1.0]])
    confusion.add(torch.zeros(60, dtype=torch.int64), torch.cat((together.repeat(30, 1), apart.repeat(30, 1))))
    granularity = confusion.merge_tree()
    assert granularity.representatives(0.5).tolist() == [0, 0, 2]
    assert granularity.merges(0)[0][:2] == (0, 1)
    merged = granularity.merge(torch.tensor([0]), together, 0.5)
    torch.testing.assert_close(merged, torch.tensor([[1.0, 0.0, 0.0]]))


def test_words_that_never_occurred_keep_their_senses():
    granularity = Confusion(INVENTORY).merge_tree()
    assert granularity.representatives(0.0).tolist() == list(range(10))
    assert granularity.merges(0) == granularity.merges(1) == []


def test_without_polysemous_words():
    granularity = Confusion(SenseInventory([1, 1])).merge_tree()
    assert isinstance(granularity, MergeTree)
    assert granularity.representatives(0.3).tolist() == [0, 1]


def test_senses_that_are_never_meant_do_not_merge():
    inventory = SenseInventory([3])
    confusion = Confusion(inventory)
    q = torch.tensor([[1, 0, 1e-24], [0, 1, 1e-24]], dtype=torch.float64).repeat(50, 1)
    confusion.add(torch.zeros(100, dtype=torch.int64), q)
    assert confusion.merge_tree().representatives(0.0).tolist() == [0, 1, 2]


def test_the_dial_works_wherever_the_model_is():
    granularity, words, q = counted(0)
    expected = granularity.merge(words, q, 0.4)
    try:
        INVENTORY.to("meta")
        torch.testing.assert_close(granularity.merge(words, q, 0.4), expected)
    finally:
        INVENTORY.__init__([1, 4, 2, 3])


def test_how_high_two_senses_merge_by_hand():
    """sqrt(c min(l, 2)): c how alike they are used, l how much more often they are confused than by chance."""
    products = torch.tensor([[[0.1, 0.03], [0.03, 0.1]]])
    ((_, _, height),) = MergeTree(SenseInventory([2]), products, torch.tensor([[0.1, 0.1]])).merges(0)
    assert height == pytest.approx(math.sqrt(0.3 * 2), abs=1e-4)
