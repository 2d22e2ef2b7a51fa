"""J_R: reading words that are not masked."""

import json
import re
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polylm.bundle.bundle import Bundle
from polylm.errors import UserError
from polylm.training import checkpoints
from polylm.training.folder import settings_before
from polylm.training.lesson import Lesson, divergence, teacher_of
from polylm.training.trainer import Trainer
from tests.shared.corpora import TINY, same_weights, settings
from tests.shared.networks import make

READING = {"steps": 24, "reading_share": 0.5, "reading_targets": 0.3, "reading_rate": 4e-3}


def run(corpus, out, *, resume=False, stop_after=None, init=None, **changes):
    shape = TINY if init is None else init.network.config
    own = {name: changes.pop(name) for name in [*changes] if hasattr(shape, name)}
    shape, config = replace(shape, **own), settings(**{**READING, **changes})
    trainer = Trainer(corpus, out, shape, config, device="cpu", resume=resume, init=init)
    trainer.stop_after = stop_after
    return trainer, trainer.train()


@given(st.integers(1, 5), st.integers(0, 2**16))
def test_the_divergence_is_that_of_the_distributions(k, seed):
    generator = torch.Generator().manual_seed(seed)
    a, b = (3 * torch.randn(4, 6, generator=generator, dtype=torch.float64) for _ in range(2))
    beyond = torch.arange(6) >= k
    a, b = a.masked_fill(beyond, -torch.inf), b.masked_fill(beyond, -torch.inf).requires_grad_()
    found = divergence(a, b)
    p, q = a[:, :k].softmax(-1), b[:, :k].softmax(-1)
    torch.testing.assert_close(found, (p * (p / q).log()).sum(-1))
    found.sum().backward()
    torch.testing.assert_close(b.grad[:, :k], q.detach() - p)
    assert not b.grad[:, k:].any()


def batch(network):
    words = torch.tensor([[4, 6, 5, 7, 6, 4], [7, 7, 4, 5, 6, 6]])
    targets = torch.tensor([1, 3, 6, 10])
    masked = words.flatten().index_fill(0, targets, 2).view_as(words)
    return masked, words, targets


def test_what_is_as_it_was_is_kept():
    network = make()
    lesson = Lesson(network, teacher_of(network))
    with torch.no_grad():
        losses = lesson(*batch(network))
    assert float(losses.kept) == pytest.approx(0, abs=1e-6)
    assert float(losses.reading) > 0
    assert float(losses.disambiguation) > 0
    assert float(losses.total) == pytest.approx(sum(map(float, losses.parts)))


def test_the_teacher_reads_both_layers_where_the_word_is_masked():
    """By the same formula as a reader does."""
    from polylm.reading.readout import read_places

    network = make()
    masked, words, targets = batch(network)
    scores = network.target_scores(masked, words, targets, unmasked=True)
    row, position = targets // words.shape[1], targets % words.shape[1]
    for place in range(len(targets)):  # one at a time: a reader masks no other word
        alone = words.flatten().index_fill(0, targets[place : place + 1], 2).view_as(words)
        one = network.target_scores(alone, words, targets[place : place + 1], unmasked=True)
        log_q = 0.6 * one.masked.log_softmax(-1) + 0.4 * one.disambiguation.log_softmax(-1)
        read = read_places(network, words, row[place : place + 1], position[place : place + 1], 2)
        torch.testing.assert_close(log_q.softmax(-1), read.q)
        torch.testing.assert_close(one.unmasked[0], scores.unmasked[place])  # whatever else is masked


@pytest.mark.slow
def test_it_learns_to_read(corpus, tmp_path):
    changes = {"steps": 120, "reading_rate": 2e-2}
    trainer, _ = run(corpus, tmp_path / "run", stop_after=60, **changes)
    assert trainer.run.state.teacher is None
    _, summary = run(corpus, tmp_path / "run", resume=True, **changes)
    assert Bundle.read(tmp_path / "run").network.config.reads_unmasked
    records = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    looks = [record for record in records if "agreement" in record]
    assert looks[-1]["agreement"] > looks[0]["agreement"] + 0.1
    assert looks[-1]["agreement_disambiguation"] > looks[0]["agreement_disambiguation"] + 0.1
    assert summary["held_out"] < looks[0]["held_out"] + 0.05
    assert {"reading", "disambiguation", "kept"} <= set(next(r for r in records if "reading" in r))


def test_senses_stay_what_they_were(corpus, tmp_path):
    run(corpus, tmp_path / "plain", steps=12, reading_share=0.0)
    run(corpus, tmp_path / "taught", init=Bundle.read(tmp_path / "plain"), steps=8, reading_share=1.0)
    a, b = (Bundle.read(tmp_path / name) for name in ("plain", "taught"))
    for name in ("embeddings", "bias", "lambda_logits", "share_p", "share_d"):
        assert torch.equal(getattr(a.network, name), getattr(b.network, name))
    assert not torch.equal(a.network.c_p.layers[0].qkv.weight, b.network.c_p.layers[0].qkv.weight)
    assert torch.equal(a.merge_tree.products, b.merge_tree.products)
    assert (a.wordlists.substitutes == b.wordlists.substitutes).all()
    assert b.training["reading"]["steps"] == 8
    assert b.training["steps"] == 12


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"reading_trains": "all"}, {"reading_trains": "prediction", "ema": 0.3}])
@pytest.mark.parametrize("stop", [11, 12, 13, 19])
def test_taken_up_again_it_is_the_same_run(corpus, tmp_path, stop, changes):
    """Before the phase begins (step 12), as it begins, and in it."""
    run(corpus, tmp_path / "whole", **changes)
    run(corpus, tmp_path / "cut", stop_after=stop, **changes)
    assert checkpoints.latest(tmp_path / "cut") is not None
    run(corpus, tmp_path / "cut", resume=True, **changes)
    assert same_weights(tmp_path / "cut", tmp_path / "whole")


def test_a_finished_model_is_taught(corpus, tmp_path):
    """A pruned one too: its senses have their numbers for good."""
    run(corpus, tmp_path / "plain", steps=12, reading_share=0.0)
    bundle = replace(Bundle.read(tmp_path / "plain").pruned(0.2), granularity=0.5)
    with pytest.raises(UserError, match=r"or only teach it to read \(reading_share=1\)"):
        run(corpus, tmp_path / "none", init=bundle)
    weights = {name: tensor.clone() for name, tensor in bundle.network.state_dict().items()}
    run(corpus, tmp_path / "taught", init=bundle, steps=8, reading_share=1.0)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in bundle.network.state_dict().items())
    taught = Bundle.read(tmp_path / "taught")
    assert taught.granularity == 0.5
    assert torch.equal(taught.network.inventory.numbers, bundle.network.inventory.numbers)
    assert torch.equal(taught.network.input_offsets, bundle.network.input_offsets)


def test_no_senses_nothing_to_read(tmp_path):
    from tests.shared.corpora import write_corpus

    corpus = write_corpus(tmp_path / "corpus", n_texts=500, k=1)
    run(corpus, tmp_path / "run", steps=8)
    assert not Bundle.read(tmp_path / "run").network.config.reads_unmasked
    records = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [record["rate"] for record in records if "rate" in record][-1] > 0.1  # the whole run is learned from


@pytest.mark.parametrize(
    ("changes", "message"),
    [({}, "name one (init)"), ({"reading_trains": "all", "init": True}, "must be encoders or prediction")],
)
def test_what_cannot_be_taught(corpus, tmp_path, changes, message):
    run(corpus, tmp_path / "plain", steps=4, reading_share=0.0)
    changes = {**changes, "init": Bundle.read(tmp_path / "plain")} if "init" in changes else changes
    with pytest.raises(UserError, match=re.escape(message)):
        run(corpus, tmp_path / "run", reading_share=1.0, **changes)
    assert not (tmp_path / "run").exists()


def test_a_taught_model_that_is_trained_further_is_taught_no_more(corpus, tmp_path):
    run(corpus, tmp_path / "taught")
    run(corpus, tmp_path / "further", init=Bundle.read(tmp_path / "taught"), steps=4, reading_share=0.0)
    assert Bundle.read(tmp_path / "taught").network.config.reads_unmasked
    assert not Bundle.read(tmp_path / "further").network.config.reads_unmasked


def test_a_finished_lesson_given_again_is_left_alone(corpus, tmp_path):
    run(corpus, tmp_path / "plain", steps=12, reading_share=0.0)
    init = Bundle.read(tmp_path / "plain")
    _, first = run(corpus, tmp_path / "taught", init=init, steps=8, reading_share=1.0)
    _, again = run(corpus, tmp_path / "taught", init=init, steps=8, reading_share=1.0, resume=True)
    assert again == first
    assert again["steps"] == 8


def test_runs_from_before_there_was_a_lesson_go_on(corpus, tmp_path):
    changes = {"steps": 8, "reading_share": 0.0}
    run(corpus, tmp_path / "run", stop_after=4, **changes)
    path = tmp_path / "run" / "run.json"
    described = json.loads(path.read_text())
    for part, start in (("train", "reading_"), ("model", "reads_")):
        described[part] = {name: value for name, value in described[part].items() if not name.startswith(start)}
    path.write_text(json.dumps(described))
    assert settings_before(tmp_path / "run")["reading_share"] == 0
    run(corpus, tmp_path / "run", resume=True, **changes)
    assert not Bundle.read(tmp_path / "run").network.config.reads_unmasked


@pytest.mark.parametrize(
    "changes",
    [{"respect_lines": True}, {"contextualizer": "lstm"}, {"contextualizer": "bert"}, {"disambiguation": False}],
)
def test_every_shape_can_be_taught(corpus, tmp_path, changes):
    run(corpus, tmp_path / "run", **changes)
    assert Bundle.read(tmp_path / "run").network.config.reads_unmasked
