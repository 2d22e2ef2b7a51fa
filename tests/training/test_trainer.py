"""Runs: killed and taken up again, on two processes, with trouble; senses that come apart."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import torch
from safetensors.torch import load_file

from polylm.bundle.bundle import Bundle
from polylm.errors import UserError
from polylm.training import checkpoints, finish
from polylm.training.clock import Clock
from polylm.training.divergence import Means
from polylm.training.observers import Callbacks
from polylm.training.phases import split_run
from polylm.training.signals import Stopped
from polylm.training.trainer import Trainer
from tests.shared.corpora import TINY, same_weights, settings, spelled, write_corpus


def run(corpus, out, *, resume=False, stop_after=None, callbacks=None, **changes):
    trainer = Trainer(corpus, out, TINY, settings(**changes), device="cpu", resume=resume, callbacks=callbacks)
    trainer.stop_after = stop_after
    return trainer, trainer.train()


@pytest.fixture(scope="module")
def whole(corpus, tmp_path_factory):
    """A run that nothing happened to."""
    out = tmp_path_factory.mktemp("whole") / "run"
    _, summary = run(corpus, out)
    return out, summary


def test_a_run_leaves_a_model(whole, corpus):
    import polylm

    out, summary = whole
    assert summary["steps"] == 20
    model = polylm.load(out, device="cpu")
    assert model.network.inventory.n_rows == 4 + 120 + 45 * 4
    assert model.lexicon.merge_tree is not None
    listed = {sense.key: sense.substitutes for word in model.words() for sense in model.senses(word)}
    assert sum(map(bool, listed.values())) > 60
    for key, words in listed.items():
        assert not words or len(set(words)) == 6  # words that are rare in the text that was read have none
        assert key.partition("#")[0] not in words
    records = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    split = next(record for record in records if record.get("split"))
    assert split["step"] == 6
    assert split["after"] < split["before"] + 0.1
    assert records[-1]["finished"]
    assert {"lm", "distinctness", "match", "tokens_per_s", "of_bound", "r", "lambda_m"} <= set(
        next(record for record in records if "lm" in record)
    )
    assert checkpoints.steps(out) == [16, 20]


def test_confusions_of_rare_words_are_counted_on_more_text(tmp_path, monkeypatch):
    """A little random text has few of the 45 words; windows around them have all, and are not read without end."""
    corpus = write_corpus(tmp_path / "corpus", n_texts=300)
    counted, read = {}, {}
    for n in (0, 9):  # random text has some four of each
        monkeypatch.setattr(finish, "CONFUSED_OCCURRENCES", n)
        trainer, _ = run(corpus, tmp_path / f"run{n}", confusion_tokens=22 * 24, batch_tokens=22 * 3)
        counted[n] = int((Bundle.read(tmp_path / f"run{n}").merge_tree.shares.sum(dim=1) > 0).sum())
        rare = finish._rare_words(trainer.run, 22 * 10)
        read[n] = sum(text.numel() for text in finish._around(trainer.run, rare, 22 * 20))
        if n:
            counts = torch.tensor(trainer.run.vocabulary.counts)
            assert len(rare) == 20  # no more than there are windows
            assert int(counts[rare].max()) <= int(counts[-45:].sort().values[20])
            assert not len(finish._rare_words(trainer.run, 10**9))
    assert counted[0] < counted[9] == 45
    assert read[0] == 0
    assert 22 * 20 <= read[9] < 22 * (20 + 3)  # as much as was said, to a batch


@pytest.mark.parametrize("stop", [4, 5, 6, 7, 13])
def test_taken_up_again_it_is_the_same_run(corpus, tmp_path, whole, stop):
    """Before the split, at it (step 6), after it, between checkpoints."""
    run(corpus, tmp_path / "run", stop_after=stop)
    run(corpus, tmp_path / "run", resume=True)
    assert same_weights(tmp_path / "run", whole[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": "adamw", "start": "senses"},
        {"ema": 0.2},
        {"accumulate": 2},
    ],
)
def test_other_ways_are_taken_up_again_too(corpus, tmp_path, changes):
    run(corpus, tmp_path / "whole", **changes)
    run(corpus, tmp_path / "cut", stop_after=9, **changes)
    run(corpus, tmp_path / "cut", resume=True, **changes)
    assert same_weights(tmp_path / "cut", tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("stop", [5, 9, 17])
def test_learned_numbers_of_senses_are_taken_up_again(tmp_path, stop):
    """Before the split, after it, and in the last phase."""
    corpus = write_corpus(tmp_path / "corpus", n_with=0, name=spelled)
    changes = {"sense_numbers": "learned", "split_vectors": 4, "reading_share": 0.25}
    run(corpus, tmp_path / "whole", **changes)
    run(corpus, tmp_path / "cut", stop_after=stop, **changes)
    run(corpus, tmp_path / "cut", resume=True, **changes)
    assert same_weights(tmp_path / "cut", tmp_path / "whole")
    with pytest.raises(UserError, match="no word has 1000000 occurrences"):
        run(corpus, tmp_path / "other", sense_least=1_000_000, **changes)


CODE = """
import sys
from tests.shared.corpora import TINY, settings
from polylm.training.signals import Stopped
from polylm.training.trainer import Trainer
try:
    Trainer(sys.argv[1], sys.argv[2], TINY, settings(**eval(sys.argv[3])), device="cpu", resume=True).train()
except Stopped as stopped:
    print(stopped)
    sys.exit(3)
"""


def start(corpus, out, changes="{}"):
    return subprocess.Popen(
        [sys.executable, "-c", CODE, str(corpus), str(out), changes],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
    )


@pytest.mark.slow
def test_kill_9_at_any_moment(corpus, tmp_path):
    """Ten times in one run, some around the split; and the weights are those of a run in peace, to the bit."""
    import random

    steps = "{'steps': 120, 'checkpoint_steps': 5}"
    assert start(corpus, tmp_path / "whole", steps).wait() == 0
    rng = random.Random(0)
    kills = 0
    while kills < 10:
        process = start(corpus, tmp_path / "run", steps)
        begun = checkpoints.steps(tmp_path / "run")[-1:]
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:  # let it get a little further
            if checkpoints.steps(tmp_path / "run")[-1:] != begun:
                break
            time.sleep(0.01)
        time.sleep(rng.random() * 0.15)
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    assert kills >= 8
    assert start(corpus, tmp_path / "run", steps).wait() == 0
    assert same_weights(tmp_path / "run", tmp_path / "whole")


@pytest.mark.slow
def test_a_polite_stop_saves(corpus, tmp_path):
    steps = "{'steps': 400, 'checkpoint_steps': None}"
    process = start(corpus, tmp_path / "run", steps)
    while not (tmp_path / "run" / "log.jsonl").exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 3
    assert b"go on with resume=True" in out
    assert checkpoints.latest(tmp_path / "run") is not None


def test_a_stop_while_counting_stops(corpus, tmp_path, monkeypatch):
    """The weights are saved by then, and the run that goes on ends as one that was not stopped."""
    bundle_of = finish.bundle_of

    def signalled(run, summary):
        run.signals.number = signal.SIGTERM
        return bundle_of(run, summary)

    with monkeypatch.context() as patched:
        patched.setattr(finish, "bundle_of", signalled)
        with pytest.raises(Stopped, match="step-20 holds the state"):
            run(corpus, tmp_path / "run")
    assert run(corpus, tmp_path / "run", resume=True)[1]["steps"] == 20


def test_one_run_at_a_time_writes_to_a_folder(corpus, tmp_path):
    first = Trainer(corpus, tmp_path / "run", TINY, settings(), device="cpu")
    with pytest.raises(UserError, match="another run is writing"):
        Trainer(corpus, tmp_path / "run", TINY, settings(), device="cpu", resume=True)
    first.stop_after = 2
    first.train()
    Trainer(corpus, tmp_path / "run", TINY, settings(), device="cpu", resume=True)


@pytest.mark.slow
def test_two_processes_are_one(corpus, tmp_path):
    """The same global batch: no weight differs by more than 1e-5 after 20 steps."""
    changes = "{'optimizer': 'adamw', 'start': 'senses', 'learning_rate': 1e-3}"
    assert start(corpus, tmp_path / "one", changes).wait() == 0
    script = tmp_path / "train.py"
    script.write_text(CODE)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29517"]
    result = subprocess.run(
        [*command, str(script), str(corpus), str(tmp_path / "two"), changes],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    one, two = (load_file(checkpoints.latest(tmp_path / name) / "state.safetensors") for name in ("one", "two"))
    names = [name for name in one if name.startswith("model.")]
    assert len(names) > 20
    worst = max(float((one[name].double() - two[name].double()).abs().max()) for name in names if one[name].numel())
    assert worst < 1e-5


def test_a_finished_run_is_left_alone(whole, corpus):
    out, summary = whole
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    _, again = run(corpus, out, resume=True)
    assert again == summary
    after = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.name not in ("run.json", "checkpoints")}
    assert {path: time for path, time in before.items() if path in after} == after


def test_folders_and_settings_that_do_not_fit(whole, corpus, tmp_path):
    out, _ = whole
    with pytest.raises(UserError, match="holds a run already: go on with resume=True"):
        run(corpus, out)
    with pytest.raises(UserError, match=r"was begun with steps = 20, not 30"):
        run(corpus, out, resume=True, steps=30)
    (tmp_path / "file").write_text("")
    for resume in (False, True):
        with pytest.raises(UserError, match="holds other files: name a new folder"):
            run(corpus, tmp_path, resume=resume)
    with pytest.raises(UserError, match="is a file"):
        run(corpus, tmp_path / "file")


def test_a_run_that_is_refused_leaves_nothing_behind(corpus, tmp_path):
    with pytest.raises(UserError, match="cannot be cut into 3 equal parts"):
        run(corpus, tmp_path / "run", accumulate=3)
    assert not (tmp_path / "run").exists()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".run.json.7.tmp").write_text("{")  # of a process that was killed as it began
    run(corpus, tmp_path / "run", resume=True, stop_after=1)


def test_other_text_is_not_the_same_run(tmp_path):
    first, second = (write_corpus(tmp_path / str(seed), n_texts=600, seed=seed) for seed in (0, 1))
    shutil.copy(first / "vocabulary.tsv", second)
    manifest = json.loads((second / "manifest.json").read_text())
    manifest["files"] = json.loads((first / "manifest.json").read_text())["files"]
    (second / "manifest.json").write_text(json.dumps(manifest))
    run(first, tmp_path / "run", stop_after=5)
    with pytest.raises(UserError, match="was begun with other text"):
        run(second, tmp_path / "run", resume=True)
    run(first, tmp_path / "run", resume=True, stop_after=6)


def test_the_split_is_logged_once(corpus, tmp_path):
    """Also where the last checkpoint stands just before it."""
    run(corpus, tmp_path / "run", checkpoint_steps=3, stop_after=8)
    run(corpus, tmp_path / "run", checkpoint_steps=3, resume=True)
    records = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert sum("split" in record for record in records) == 1


def test_a_loss_that_is_no_number_stops_the_run(corpus, tmp_path):
    trainer = Trainer(corpus, tmp_path / "run", TINY, settings(), device="cpu")
    trainer.stop_after = 9
    trainer.train()
    ruined = Trainer(corpus, tmp_path / "run", TINY, settings(), device="cpu", resume=True)
    with torch.no_grad():
        ruined.run.state.model.bias[10] = torch.nan
    with pytest.raises(
        UserError, match=r"the loss or its gradient is not a number .* at step 10: .* good state is .*step-8"
    ):
        ruined.train()
    assert checkpoints.latest(tmp_path / "run").name == "step-8"


def test_no_checkpoint_of_a_ruined_state(corpus, tmp_path, monkeypatch):
    """Losses are logged every nineteen steps here, and looked at before any checkpoint all the same."""
    monkeypatch.setattr(Clock, "is_old", lambda clock, ranks: False)
    run(corpus, tmp_path / "run", stop_after=9)
    ruined = Trainer(corpus, tmp_path / "run", TINY, settings(log_every=19), device="cpu", resume=True)
    with torch.no_grad():
        ruined.run.state.model.bias[10] = torch.nan
    with pytest.raises(UserError, match="at step 12"):
        ruined.train()
    assert checkpoints.latest(tmp_path / "run").name == "step-8"


def test_going_on_from_a_model(corpus, tmp_path, whole):
    begun = {"init": Bundle.read(whole[0]), "device": "cpu"}
    first = Trainer(corpus, tmp_path / "run", TINY, settings(steps=60, learning_rate=5e-3), **begun)
    first.stop_after = 9
    first.train()
    with pytest.raises(UserError, match="was begun from a model"):
        run(corpus, tmp_path / "run", resume=True, steps=60, learning_rate=5e-3)
    begun["init"] = Bundle.read(whole[0])
    summary = Trainer(
        corpus, tmp_path / "run", TINY, settings(steps=60, learning_rate=5e-3), resume=True, **begun
    ).train()
    assert summary["held_out"] < whole[1]["held_out"]
    smaller = Bundle.read(whole[0]).pruned(0.3)
    with pytest.raises(UserError, match="other words or senses"):
        Trainer(corpus, tmp_path / "other", TINY, settings(), init=smaller, device="cpu")


def test_a_corpus_without_ambiguous_words(tmp_path):
    corpus = write_corpus(tmp_path / "corpus", n_texts=500, k=1)
    _, summary = run(corpus, tmp_path / "run")
    assert summary["effective_senses"] == 1


def test_a_full_disk_ruins_nothing(corpus, tmp_path, monkeypatch):
    run(corpus, tmp_path / "run", stop_after=5)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(UserError, match=r"step 8 could not be written .*No space left.*step-4 is whole"):
        run(corpus, tmp_path / "run", resume=True)
    monkeypatch.undo()
    assert [path.name for path in (tmp_path / "run/checkpoints").iterdir()] == ["step-4"]


def test_callbacks_and_watched_words(corpus, tmp_path):
    run(corpus, tmp_path / "run", callbacks=Callbacks(evaluate=lambda model: {"mine": 0.5}, watch=("h3",)))
    records = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    seen = [record for record in records if "mine" in record]
    assert seen
    assert seen[-1]["watch h3"][0].startswith("h3#")


def test_a_word_that_cannot_be_watched_is_named_at_once(corpus, tmp_path):
    with pytest.raises(UserError, match="'zyzzyva' cannot be watched"):
        Trainer(corpus, tmp_path / "run", TINY, settings(), callbacks=Callbacks(watch=("h1", "zyzzyva")))
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_time_as_budget(corpus, tmp_path):
    trainer, summary = run(corpus, tmp_path / "run", steps=None, seconds=4.0, checkpoint_steps=None)
    records = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    splitting = next(record["seconds"] for record in records if record.get("split"))  # on a busy machine the longest
    assert 3.5 < summary["seconds"] < 5.5 + splitting
    assert trainer.run.state.phase == 2
    assert max(record["rate"] for record in records if "rate" in record) > 0.5


@pytest.mark.slow
def test_planted_homonyms_come_apart_better_from_kmeans(tmp_path):
    """The split by clusters of contexts against one by random directions, right after it and in held-out likelihood."""
    corpus = write_corpus(tmp_path / "corpus", n_texts=6000, k=2)
    after = {}
    for way in ("kmeans", "random"):
        losses = []
        for seed in (0, 1):
            out = tmp_path / f"{way}{seed}"
            _, summary = run(
                corpus, out, steps=500, split=way, seed=seed, checkpoint_steps=None, log_every=50, split_vectors=40
            )
            losses.append(summary["held_out"])
        after[way] = sum(losses) / 2
    assert after["kmeans"] < after["random"]


def test_means_of_weights_are_what_is_saved(corpus, tmp_path):
    run(corpus, tmp_path / "last", steps=8, start="senses")
    run(corpus, tmp_path / "mean", steps=8, start="senses", ema=0.5)
    assert not same_weights(tmp_path / "last", tmp_path / "mean")


def test_a_loss_that_leaps_up_stops_the_run(corpus, tmp_path):
    """Compared with the best so far, which a run that is taken up remembers."""
    run(corpus, tmp_path / "run", steps=40, stop_after=13)
    again = Trainer(corpus, tmp_path / "run", TINY, settings(steps=40), device="cpu", resume=True)
    assert math.isfinite(again.run.state.losses.best)
    again.run.state.losses.best -= 20
    with pytest.raises(UserError, match=r"the loss rose to .* the last good state is"):
        again.train()


def test_moments_of_a_word_go_to_its_senses(corpus, tmp_path):
    trainer, _ = run(corpus, tmp_path / "run", stop_after=2)
    assert trainer.run.state.phase == 1
    state = trainer.run.state
    before = state.optimizer.state()
    split_run(trainer.run)
    after, word = state.optimizer.state(), state.model.inventory.word_of_sense
    assert len(word) > state.model.inventory.n_words
    for name in ("adam.exp_avg.embeddings", "adam.exp_avg_sq.embeddings", "adam.exp_avg.bias"):
        assert before[name].any()
        torch.testing.assert_close(after[name], before[name][word])


def test_a_mean_of_few_targets_is_no_spike(corpus, tmp_path):
    """Single small batches vary by more than a ruined run would."""
    trainer = Trainer(corpus, tmp_path / "run", TINY, settings(batch_tokens=44), device="cpu")
    losses = trainer.run.state.losses
    for number in range(400):
        losses.check(Means((6.0 + 3 * (-1) ** number, 0.0, 0.0), 1.0), 1, step=10, share=0.5)
    assert losses.best == pytest.approx(6.0, abs=0.1)
    with pytest.raises(UserError, match=r"the loss rose to 8\.\d+, from 6\.0"):
        losses.check(Means((9.0, 0.0, 0.0), 1.0), 400, step=10, share=0.5)
    with pytest.raises(UserError, match="is not a number"):
        losses.check(Means((float("nan"), 0.0, 0.0), 1.0), 1, step=10, share=0.5)


def test_a_ruined_model_is_not_split(corpus, tmp_path):
    trainer = Trainer(corpus, tmp_path / "run", TINY, settings(log_every=1000), device="cpu")
    trainer.run.state.losses.add(torch.tensor([float("nan"), 0.0, 0.0, 1.0]))
    with pytest.raises(UserError, match="is not a number"):
        split_run(trainer.run)


def test_what_was_half_written_at_the_end_goes(corpus, tmp_path):
    out = tmp_path / "run"
    run(corpus, out, stop_after=9)
    half = out / ".model.safetensors.99999.tmp"
    half.write_bytes(b"half")
    run(corpus, out, resume=True)
    assert not half.exists()
    (out / "training.json").write_text("{")
    with pytest.raises(UserError, match=r"training.json is damaged"):
        run(corpus, out, resume=True)
