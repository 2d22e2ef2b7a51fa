import math

import torch

from polylm.senses.geometry import common
from polylm.senses.substitutes import RATE, count_substitutes, mean_gaps, nearest_in_gaps
from tests.shared.networks import MASK, N_SENSES, make

TEXTS = [torch.randint(2, 8, (6, 14), generator=torch.Generator().manual_seed(seed)) for seed in range(3)]
IS_WORD = torch.tensor([False, False, True, True, True, True, True, False])


def test_the_mean_gap_of_a_sense():
    """Written out: occurrence by occurrence, weighted by what both layers say."""
    model = make(dtype=torch.float32).eval()
    gaps, counts = mean_gaps(model, TEXTS, MASK, generator=torch.Generator().manual_seed(5))
    lots = torch.Generator().manual_seed(5)
    model.requires_grad_(False)
    sums, n = torch.zeros(model.inventory.n_rows, 8), torch.zeros(model.inventory.n_rows)
    for words in TEXTS:
        chosen = torch.rand(words.shape, generator=lots) < RATE
        y_p = model.read(words.masked_fill(chosen, MASK)).y_p
        q_p = model.own_log_probs(words, y_p).exp()
        both = q_p**0.6 * model.disambiguation_probs(words) ** 0.4
        for b, t in chosen.nonzero().tolist():
            first = int(model.inventory.first[words[b, t]])
            for sense in range(N_SENSES[words[b, t]]):
                weight = both[b, t, sense] / both[b, t].sum()
                sums[first + sense] += weight * y_p[b, t]
                n[first + sense] += weight
    torch.testing.assert_close(counts, n, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(gaps * counts[:, None], sums, rtol=1e-4, atol=1e-4)


def test_padding_and_rare_looks_do_not_count():
    model = make(dtype=torch.float32).eval()
    segments = torch.zeros(6, 14, dtype=torch.int64)
    segments[:, :5] = 1
    chances = torch.tensor([1, 1, 1, 0, 1, 1, 1, 1.0])
    _, counts = mean_gaps(model, [(TEXTS[0], segments)] * 40, MASK, chances=chances)
    seen = torch.zeros(8).index_add_(0, model.inventory.word_of_sense, counts) > 0
    there = torch.zeros(8, dtype=torch.bool)
    there[TEXTS[0][:, :5].flatten()] = True
    assert torch.equal(seen, there & (chances > 0))


def test_what_is_likely_in_a_gap_and_near_to_its_sense():
    """Written out: shares of the senses of other words, added up by word."""
    model = make(dtype=torch.float32).eval().requires_grad_(False)
    inventory = model.inventory
    generator = torch.Generator().manual_seed(3)
    gaps = torch.randn(inventory.n_rows, 8, generator=generator)
    counts = torch.ones(inventory.n_rows)
    counts[int(inventory.first[5]) + 1] = 0.4  # hardly ever seen
    occurrences = torch.tensor([0, 0, 900, 40, 7, 1, 0, 3])
    found = nearest_in_gaps(model, gaps, counts, IS_WORD, 3, occurrences)
    word_of = inventory.word_of_sense.tolist()
    senses = [row for row in range(inventory.n_rows) if IS_WORD[word_of[row]]]
    vectors = model.embeddings.detach()
    directions = dict(zip(senses, common(vectors[senses]).removed(vectors[senses]), strict=True))
    for row in range(inventory.n_rows):
        if row not in senses or counts[row] < 0.5:
            assert not found[row].any()
            continue
        weights = dict.fromkeys(range(2, 7), 0.0)
        for other in senses:
            likely = float(gaps[row] @ vectors[other] + model.bias[other])
            score = 0.4 * likely + 20 * float(directions[row] @ directions[other])
            weights[word_of[other]] += math.exp(score) / max(int(occurrences[word_of[other]]), 1) ** 0.3
        del weights[word_of[row]]
        assert found[row].tolist() == sorted(weights, key=lambda word: -weights[word])[:3]


def test_fewer_words_than_were_asked_for():
    model = make(dtype=torch.float32).eval()
    found = count_substitutes(model, TEXTS * 20, MASK, IS_WORD, 20)
    assert found.shape == (model.inventory.n_rows, 20)
    rows = found[model.inventory.first[2]].tolist()
    assert sorted(rows[:4]) == [3, 4, 5, 6]
    assert rows[4:] == [0] * 16


def test_what_is_no_text_is_no_gap():
    model = make(dtype=torch.float32).eval()
    words = torch.full((6, 14), 3)
    words[:, 5:] = 4
    segments = torch.zeros(6, 14, dtype=torch.int64)
    segments[:, :5] = 1
    _, counts = mean_gaps(model, [(words, segments)] * 20, MASK)
    assert counts[model.inventory.word_of_sense == 3].any()
    assert not counts[model.inventory.word_of_sense == 4].any()
