"""How far a run is, when time is its budget: slow steps count, but say nothing of the steps after them."""

from types import SimpleNamespace

import pytest

from polylm.training import clock as clock_module
from polylm.training.clock import FAR, Clock
from polylm.training.config import TrainConfig
from polylm.training.distributed import Ranks
from polylm.training.step import Step
from polylm.training.trainer import Trainer
from tests.shared.corpora import TINY, settings


@pytest.fixture
def hands(monkeypatch):
    """A clock that stands still until it is moved."""
    time = SimpleNamespace(now=100.0)
    time.monotonic = lambda: time.now
    monkeypatch.setattr(clock_module, "time", time)
    return time


def test_the_share_is_extrapolated_between_readings(hands):
    clock, ranks = Clock(TrainConfig.flat(seconds=1000)), Ranks()
    clock.start()
    hands.now += 1
    clock.read(10, ranks)
    assert clock.share(10) == pytest.approx(0.001)
    assert clock.share(15) == pytest.approx(0.0015)
    assert not clock.is_far(15)
    assert clock.is_far(10 + round(FAR * 1e4) + 1)


def test_a_pause_counts_but_is_no_measure_of_a_step(hands):
    clock, ranks = Clock(TrainConfig.flat(seconds=1000)), Ranks()
    clock.start()
    hands.now += 1
    clock.read(10, ranks)
    hands.now += 100
    clock.pause(10, ranks)
    assert clock.share(10) == pytest.approx(0.101)
    assert clock.share(20) == pytest.approx(0.102)


def test_the_end_is_never_extrapolated(hands):
    clock, ranks = Clock(TrainConfig.flat(seconds=10)), Ranks()
    clock.start()
    hands.now += 9.99
    clock.read(1, ranks)
    assert clock.share(2) == 1
    assert clock.is_far(2)
    clock.read(2, ranks)
    assert clock.share(2) == pytest.approx(0.999)


def test_steps_as_budget_need_no_clock(hands):
    clock = Clock(TrainConfig.flat(steps=10))
    clock.start()
    hands.now += 1e6
    assert clock.share(5) == 0.5
    assert not clock.is_far(5)


@pytest.mark.slow
@pytest.mark.parametrize("log_every", [10, 200])
def test_a_slow_step_does_not_end_a_run(corpus, tmp_path, hands, monkeypatch, log_every):
    """The first step of each phase, which is compiled, and one in between, take six seconds each, of 60."""
    train_step, slow = Step.__call__, {}

    def timed(self, batches, now):
        phase, step = self.state.phase, self.state.step
        hands.now += 6 if slow.setdefault(phase, step) == step or step == 30 else 0.25
        return train_step(self, batches, now)

    monkeypatch.setattr(Step, "__call__", timed)
    changes = {"steps": None, "seconds": 60, "checkpoint_steps": None, "log_every": log_every, "batch_tokens": 2 * 22}
    trainer = Trainer(corpus, tmp_path / "run", TINY, settings(**changes), device="cpu")
    summary = trainer.train()
    # The first step of all is not counted; of what is, two steps take 12 s and the others the rest.
    assert summary["seconds"] == pytest.approx(60, abs=0.5)
    assert summary["steps"] == pytest.approx(1 + 2 + 48 / 0.25, abs=2)


@pytest.mark.slow
def test_a_slow_first_step_after_a_kill_does_not_end_a_run(corpus, tmp_path, hands, monkeypatch):
    train_step = Step.__call__
    changes = {"steps": None, "seconds": 60, "checkpoint_steps": None, "log_every": 50, "batch_tokens": 2 * 22}
    changes |= {"checkpoint_every": 1e9}
    pace = {0: 0.5}

    def timed(self, batches, now):
        hands.now += pace.get(self.state.step, 0.25)
        return train_step(self, batches, now)

    monkeypatch.setattr(Step, "__call__", timed)
    trainer = Trainer(corpus, tmp_path / "run", TINY, settings(**changes), device="cpu")
    trainer.stop_after = 100
    trainer.train()
    trainer.run.checkpoint()
    assert trainer.run.state.share == pytest.approx(99 / 240, abs=0.01)
    pace[100] = 20
    trainer = Trainer(corpus, tmp_path / "run", TINY, settings(**changes), device="cpu", resume=True)
    summary = trainer.train()
    assert summary["steps"] == pytest.approx(1 + 1 + 40 / 0.25, abs=2)
