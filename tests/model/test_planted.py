"""A model trained for seconds on text with 45 planted homonyms: does it do what the paper says?"""

import pytest
import torch
from benchmarks import planted_words as planted

from polylm.bundle.weights import from_tensors, to_tensors
from polylm.model.pruning import pruned
from polylm.senses.merge_tree import Confusion
from polylm.senses.substitutes import mean_gaps, nearest_in_gaps

pytestmark = pytest.mark.slow
STEPS = 500


@pytest.fixture(scope="module")
def transformer():
    return planted.train(planted.make_model("transformer", k=8, seed=0), STEPS, seed=0)


@pytest.fixture(scope="module")
def without_distinctness():
    model = planted.make_model("transformer", k=8, seed=0, distinctness=False)
    return planted.train(model, STEPS, seed=0)


def tree_of(model):
    forms, q, _ = planted.occurrences(model, seed=1, n_texts=12_000)
    confusion = Confusion(model.inventory)
    confusion.add(forms, q)
    return confusion.merge_tree()


def test_transformer_separates_meanings(transformer):
    forms, q, side = planted.occurrences(transformer)
    assert planted.separation(forms, q.argmax(1), side) >= 0.95


def test_substitutes_are_of_the_topic_that_is_meant(transformer):
    """Plain words of the topic and its other homonyms; nothing else stands where a sense stands."""
    generator = torch.Generator().manual_seed(7)
    batches = (planted.texts(256, generator)[0] for _ in range(200))
    is_word = torch.ones(transformer.inventory.n_words, dtype=torch.bool)
    gaps, counts = mean_gaps(transformer, batches, planted.MASK, generator=generator)
    found = nearest_in_gaps(transformer, gaps, counts, is_word, 6)
    topics_of = {word: {(word - 2) // planted.WORDS_PER_TOPIC} for word in range(2, planted.FIRST_HOMONYM)}
    topics_of |= {planted.FIRST_HOMONYM + i: set(pair) for i, pair in enumerate(planted.TOPIC_PAIRS)}
    forms, q, side = planted.occurrences(transformer, n_texts=12_000)
    right = total = 0
    for word in range(planted.FIRST_HOMONYM, transformer.inventory.n_words):
        labels, sides = q[forms == word].argmax(1), side[forms == word]
        for sense in labels.unique().tolist():
            if (labels == sense).sum() < 10:
                continue
            topic = planted.TOPIC_PAIRS[word - planted.FIRST_HOMONYM][int(sides[labels == sense].mode()[0])]
            others = found[transformer.inventory.first[word] + sense].tolist()
            right += sum(topic in topics_of[other] for other in others)
            total += len(others)
    assert total >= 6 * 80
    assert right / total >= 0.95


def test_lstm_separates_meanings():
    model = planted.train(planted.make_model("lstm", k=8, seed=0), STEPS, seed=0)
    forms, q, side = planted.occurrences(model)
    assert planted.separation(forms, q.argmax(1), side) >= 0.95


def test_distinctness_makes_one_sense_stand_out(transformer, without_distinctness):
    sharp, blurred = (planted.occurrences(m)[1].max(dim=1).values.mean() for m in (transformer, without_distinctness))
    assert sharp - blurred >= 0.05


@pytest.mark.parametrize("name", ["transformer", "without_distinctness"])
def test_a_middle_granularity_gives_the_two_planted_senses(name, request):
    model = request.getfixturevalue(name)
    tree = tree_of(model)
    merged = tree.merge(model.inventory.poly_words, tree.shares, 0.6)
    two = (merged > 0.05).sum(dim=1) == 2
    assert two.float().mean() >= 0.95
    forms, q, side = planted.occurrences(model)
    assert planted.separation(forms, tree.merge(forms, q, 0.6).argmax(1), side) >= 0.95


def test_the_dial_has_work_to_do(without_distinctness):
    """Without distinctness more than two senses share a meaning, until they are merged."""
    tree = tree_of(without_distinctness)
    assert ((tree.shares > 0.05).sum(dim=1) > 2).float().mean() > 0.3


def test_int8_changes_no_top_sense(transformer, tmp_path):
    tensors = to_tensors(transformer, None, "int8")
    small, _ = from_tensors(tensors, transformer.config, transformer.inventory.excluded, tmp_path)
    tops = [planted.occurrences(model, n_texts=20_000)[1].argmax(1) for model in (transformer, small)]
    assert (tops[0] == tops[1]).float().mean() >= 0.995


def test_pruning_keeps_answers(transformer):
    smaller = pruned(transformer)
    assert smaller.inventory.n_rows < transformer.inventory.n_rows
    forms, q, side = planted.occurrences(smaller)
    assert planted.separation(forms, q.argmax(1), side) >= 0.95
    before, after = (model.inventory.numbers.tolist() for model in (transformer, smaller))
    _, q_before, _ = planted.occurrences(transformer)
    same = [
        before[int(transformer.inventory.first[form]) + a] == after[int(smaller.inventory.first[form]) + b]
        for form, a, b in zip(forms.tolist(), q_before.argmax(1).tolist(), q.argmax(1).tolist(), strict=True)
    ]
    assert torch.tensor(same).float().mean() >= 0.99
