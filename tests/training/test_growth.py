"""Words that had one sense get some: the right words, the right senses, and nothing else changes."""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polylm.bundle.bundle import Bundle
from polylm.corpus.shards import PreparedCorpus
from polylm.errors import UserError
from polylm.explore.model import Model
from polylm.model.head import log_partition
from polylm.model.inventory import SenseInventory
from polylm.model.polylm import PolyLM
from polylm.symbols import MASK_ID, SPECIAL
from polylm.training.choice import candidates, count, number_of_senses, second_part_of_speech, ways_of_use
from polylm.training.contexts import Contexts, collect, windows_with
from polylm.training.growth import Growth, grow, grown, keep_frequencies
from polylm.training.split import cluster
from polylm.training.trainer import Trainer
from tests.shared.corpora import LINE, TINY, spelled, write_corpus
from tests.shared.corpora import settings as train_settings

INVENTORY = SenseInventory([1, 1, 1, 1, 3, 1, 1, 1], excluded=[0, 2, 3], numbers=[1, 1, 1, 1, 1, 2, 5, 1, 1, 1])


def network():
    torch.manual_seed(0)
    model = PolyLM(TINY, INVENTORY, n_offsets=1).eval()
    with torch.no_grad():
        model.bias.normal_()
        model.offset_words[0] = 4
        model.input_offsets.normal_()
    return model


def contexts_of_two_kinds(word=6, n=40):
    generator = torch.Generator().manual_seed(0)
    places = torch.randn(2, 32, generator=generator)
    vectors = places[torch.arange(n) % 2] + 0.1 * torch.randn(n, 32, generator=generator)
    return Contexts(torch.tensor([word]), vectors.unsqueeze(0), torch.tensor([n]))


def test_other_words_stay_what_they_were():
    model, contexts = network(), contexts_of_two_kinds()
    two = torch.tensor([2])
    found, source = grown(
        model, contexts.words, two, cluster(*contexts[1:], two, lead=4.0, seed=0).in_order().centred()
    )
    assert found.inventory.n_senses.tolist() == [1, 1, 1, 1, 3, 1, 2, 1]
    assert found.inventory.numbers.tolist() == [1, 1, 1, 1, 1, 2, 5, 1, 1, 2, 1]
    assert source.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9]
    assert found.inventory.excluded == model.inventory.excluded
    torch.testing.assert_close(found.word_vectors(), model.word_vectors())
    others = torch.tensor([row not in (8, 9) for row in range(11)])
    for name in ("embeddings", "bias", "share_p"):
        assert torch.equal(getattr(found, name)[others], getattr(model, name)[source[others]])
    words = torch.tensor([[1, 4, 5, 7, 4]])
    torch.testing.assert_close(found.read(words).y_p, model.read(words).y_p)
    with pytest.raises(ValueError, match="several already"):
        grown(found, contexts.words, two, cluster(*contexts[1:], two, lead=4.0, seed=0))


def test_contexts_of_two_kinds_are_two_senses():
    contexts = contexts_of_two_kinds()
    two = torch.tensor([2])
    found, _ = grown(network(), contexts.words, two, cluster(*contexts[1:], two, lead=4.0, seed=0))
    q = found.own_log_probs(torch.full((40,), 6), contexts.vectors[0]).exp()[:, :2]
    best = q.argmax(dim=1)
    assert (best[::2] == best[0]).all()
    assert (best[1::2] == 1 - best[0]).all()
    assert float(q.amax(dim=1).detach().mean()) > 0.95


def test_a_word_is_as_likely_on_the_whole_as_before():
    """However long the vectors of its senses; and they are meant as often as without this."""
    model, contexts = network(), contexts_of_two_kinds()
    two, anywhere = torch.tensor([2]), 3 * torch.randn(500, 32, generator=torch.Generator().manual_seed(1))
    found, _ = grown(model, contexts.words, two, cluster(*contexts[1:], two, lead=20.0, seed=0))
    of_six = torch.full((500,), 6)
    with torch.no_grad():
        before = found.own_log_probs(of_six, anywhere)
        keep_frequencies(found, model, contexts.words, anywhere)
        torch.testing.assert_close(found.own_log_probs(of_six, anywhere), before)
        log_z = log_partition(anywhere, model.embeddings, model.output_bias())
        old = (anywhere @ model.embeddings[8] + model.bias[8] - log_z).exp().sum()
        new = ((anywhere @ found.embeddings[8:10].T + found.bias[8:10]).logsumexp(dim=1) - log_z).exp().sum()
    torch.testing.assert_close(new, old, rtol=1e-3, atol=1e-6)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 9), max_size=200), st.sets(st.integers(0, 9), min_size=1), st.integers(1, 4))
def test_windows_hold_each_word_as_often_as_they_can(ids, words, n):
    ids, wanted = np.array(ids, dtype=np.uint16), np.array(sorted(words))
    whole = ids[: len(ids) // 8 * 8]
    taken = np.concatenate(
        [np.zeros(0), *(text.numpy().ravel() for text in windows_with(ids, wanted, n, 8, together=3))]
    )
    for word in words:
        assert (taken == word).sum() >= min(n, (whole == word).sum())
    assert len(taken) <= len(whole)


def test_contexts_are_read_where_words_are_masked():
    model = network()
    texts = [torch.tensor([[1, 6, 5, 7], [6, 5, 1, 1]]), torch.tensor([[6, 1, 7, 6]])]
    found = collect(model, texts, torch.tensor([6, 7]), 2, MASK_ID, rate=0.25)
    assert found.counts.tolist() == [2, 1]
    y = model.read(torch.where(texts[0] == 6, MASK_ID, texts[0])).y_p  # of its first line 6 or 7 was masked
    assert any(torch.allclose(found.vectors[0, slot], y[1, 0], atol=1e-5) for slot in range(2))


def test_parts_of_speech_are_told_from_inflections():
    vocabulary = {"[PL]": 0, "[PAST]": 1, "[GER]": 2, "bump": 3, "town": 4, "[COMP]": 5}
    ids = np.array([3, 0, 3, 1, 3, 2, 3, 4, 0, 4, 0, 4], dtype=np.uint16)
    assert count(ids, 6).tolist() == [3, 1, 1, 4, 3, 0]
    second = second_part_of_speech(ids, vocabulary)
    assert second[3] == 0.25
    assert second[4] == 0
    assert not second_part_of_speech(ids, {"bump": 3, "town": 4}).any()


def test_words_of_two_kinds_of_contexts_have_more_ways_of_use():
    generator = torch.Generator().manual_seed(0)
    places = 3 * torch.randn(10, 2, 32, generator=generator)
    places[5:, 1] = places[5:, 0]
    vectors = places[:, torch.arange(30) % 2] + torch.randn(10, 30, 32, generator=generator)
    contexts = Contexts(torch.arange(10), vectors, torch.full((10,), 30))
    ways = ways_of_use(contexts, torch.full((10,), 500), torch.zeros(10))
    assert ways[:5].min() > ways[5:].max()


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A model that has senses of 20 homonyms, and one of each of 25 others; and its corpus."""
    folder = tmp_path_factory.mktemp("growth")
    corpus = write_corpus(folder / "corpus", k=2, n_with=20, name=spelled)
    changes = {"steps": 600, "batch_tokens": 64 * 22, "checkpoint_steps": 400, "respect_lines": True}
    Trainer(corpus, folder / "run", TINY, train_settings(**changes), device="cpu").train()
    return Bundle.read(folder / "run"), PreparedCorpus(corpus)


@pytest.mark.slow
def test_a_model_grows_on_a_corpus(learned, tmp_path):
    """What had senses keeps them; homonyms are chosen before plain words; the two meanings are told apart."""
    bundle, corpus = learned
    how = Growth(least=50, share=25 / 145, senses=2, n_contexts=40, window=11)
    bigger = grow(bundle, corpus, how)
    words, before, after = bundle.vocabulary.words, *(b.network.inventory.n_senses for b in (bundle, bigger))
    new = [words[number] for number in (before != after).nonzero().flatten().tolist()]
    assert len(new) == 25
    assert sum(word.startswith("h") for word in new) >= 22
    assert (after[before > 1] == before[before > 1]).all()
    assert bigger.merge_tree.counted_on is bigger.network.inventory
    model = Model(bigger, device="cpu", share=True)
    lines = [line.tolist() for line, _ in zip(corpus.lines(LINE), range(600), strict=False)]
    tagged = model.tag_many_tokens([[words[number] for number in line] for line in lines], granularity=1.0)
    found = defaultdict(Counter)
    for line, tokens in zip(lines, tagged, strict=True):
        topics = {(number - len(SPECIAL)) // 12 for number in line if number < len(SPECIAL) + 120}
        for token in tokens:
            if token.lemma in new and token.lemma.startswith("h") and len(topics) == 1:
                found[token.lemma][token.sense, *topics] += 1
    right = total = 0
    for counts in found.values():
        by_topic = defaultdict(Counter)
        for (sense, topic), n in counts.items():
            by_topic[topic][sense] += n
        best = {topic: own.most_common(1)[0][0] for topic, own in by_topic.items()}
        total += sum(counts.values())
        right += sum(own[best[topic]] for topic, own in by_topic.items()) if len(set(best.values())) > 1 else 0
    assert right > 0.8 * total
    bigger.write(tmp_path / "model", precision="int6")
    assert Bundle.read(tmp_path / "model").training["grown"]["words"] == 25


@pytest.mark.slow
def test_numbers_of_senses_are_learned_at_the_split(tmp_path):
    """Nothing says which words are homonyms; the run finds them, and its model says so."""
    corpus = write_corpus(tmp_path / "corpus", n_with=0, name=spelled)
    changes = {"steps": 700, "batch_tokens": 128 * 22, "checkpoint_steps": 700, "respect_lines": True}
    learned = {"sense_numbers": "learned", "sense_least": 50, "sense_share": 45 / 165, "sense_most": 4}
    config = train_settings(**changes, **learned, phase_one=0.6, split_vectors=40)
    Trainer(corpus, tmp_path / "run", TINY, config, device="cpu").train()
    bundle = Bundle.read(tmp_path / "run")
    numbers = dict(zip(bundle.vocabulary.words, bundle.vocabulary.n_senses, strict=True))
    assert list(numbers.values()) == bundle.network.inventory.n_senses.tolist()
    several = [word for word, n in numbers.items() if n > 1]
    assert len(several) == 45
    assert sum(word.startswith("h") for word in several) >= 30  # by lot it would be 12
    assert max(numbers.values()) == 4
    with pytest.raises(UserError, match="learned at the split"):
        Trainer(corpus, tmp_path / "other", TINY, train_settings(**learned, start="senses"), device="cpu")


def test_commoner_words_get_more_senses():
    counts = torch.tensor([150, 200, 300, 650, 1200, 10**6])
    assert number_of_senses(counts, 150, 8).tolist() == [3, 3, 4, 5, 6, 8]
    assert number_of_senses(counts, 150, 2).tolist() == [2] * 6
    usable = candidates(["bank", "a", "[PL]", "b2", "côte", "rare"], torch.tensor([9, 9, 9, 9, 9, 1]), 5)
    assert usable.tolist() == [True, False, False, False, True, False]


@pytest.mark.slow
def test_what_cannot_grow(learned, corpus):
    bundle, own = learned
    with pytest.raises(UserError, match="prepared with other words"):
        grow(bundle, PreparedCorpus(corpus))
    with pytest.raises(UserError, match="nothing to give senses to"):
        grow(bundle, own, Growth(least=10**6))
    with pytest.raises(UserError, match="without the confusions"):
        grow(replace(bundle, merge_tree=None), own)
