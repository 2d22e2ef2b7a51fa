"""From the words of a command to a run."""

import json

import pytest

from polylm.errors import UserError
from polylm.model.config import ModelConfig
from polylm.training import launch
from polylm.training.config import TrainConfig, defaults_for
from polylm.training.launch import TrainRequest, parse_settings
from polylm.training.trainer import Trainer

SETTINGS = {
    "batch_tokens": 32 * 22,
    "confusion_tokens": 2000,
    "substitute_tokens": 2000,
    "split_vectors": 8,
    "held_out": 0.02,
}


@pytest.mark.slow
def test_a_lower_rate_is_said_once(corpus, tmp_path):
    """A run that is taken up goes on with what was last changed, not with the defaults of its size."""
    out = tmp_path / "run"
    config = TrainConfig.flat(**{**defaults_for("tiny", "cpu"), **SETTINGS, "steps": 8, "checkpoint_steps": 2})
    begun = Trainer(corpus, out, ModelConfig.tiny(max_length=22), config, device="cpu")
    begun.stop_after = 3
    begun.train()
    given = {**SETTINGS, "max_length": 22, "checkpoint_steps": 2}

    def go_on(**more):
        TrainRequest(corpus, out, size="tiny", steps=8, resume=True, settings=given, device="cpu", **more).run()
        return json.loads((out / "run.json").read_text())["train"]["learning_rate"]

    trainer = Trainer(
        corpus,
        out,
        ModelConfig.tiny(max_length=22),
        config.with_changes(learning_rate=1e-4),
        device="cpu",
        resume=True,
    )
    trainer.stop_after = 5
    trainer.train()
    assert go_on() == 1e-4
    assert (out / "training.json").is_file()


def test_a_model_that_is_gone_on_from_keeps_its_shape():
    shape = ModelConfig.tiny(max_length=22)
    assert launch._shape(None, {}, None) == ("base", ModelConfig.base())
    assert launch._shape(None, {"max_length": 22}, shape) == ("tiny", shape)
    assert launch._shape("tiny", {}, shape) == ("tiny", shape)
    with pytest.raises(UserError, match="has max_length = 22: it cannot be 64"):
        launch._shape(None, {"max_length": 64}, shape)
    with pytest.raises(UserError, match="like tiny: leave out size='large'"):
        launch._shape("large", {}, shape)


def test_a_run_that_is_taken_up_has_its_budget(corpus, tmp_path):
    given = {**SETTINGS, "max_length": 22}
    about = {"size": "tiny", "settings": given, "device": "cpu", "resume": True}
    with pytest.raises(UserError, match="say how long to train"):
        TrainRequest(corpus, tmp_path / "run", **about).run()
    config = TrainConfig.flat(**{**defaults_for("tiny", "cpu"), **SETTINGS, "steps": 4})
    begun = Trainer(corpus, tmp_path / "run", ModelConfig.tiny(max_length=22), config, device="cpu")
    begun.stop_after = 1
    begun.train()
    summary = TrainRequest(corpus, tmp_path / "run", **about).run()
    assert summary["steps"] == 4
    assert summary["seconds"] > 0


def test_an_option_goes_before_a_setting_and_that_before_the_file(corpus, tmp_path, monkeypatch):
    seen = []

    class Told:
        def __init__(self, data, out, model_config, config, **_):
            seen.append(config)

        def train(self):
            return {}

    monkeypatch.setattr(launch, "Trainer", Told)
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"seed": 1, "clip": 1.1, "keep": 7}))
    options = {"config": file, "settings": parse_settings(["seed=3", "clip=2.2"]), "checkpoint_every": "90s"}
    TrainRequest(corpus, tmp_path / "run", size="tiny", steps=2, device="cpu", **options).run()
    machine = seen[0].machine
    assert (seen[0].seed, seen[0].optimization.clip, machine.keep, machine.checkpoint_every) == (3, 2.2, 7, 90)
    with pytest.raises(UserError, match="there is no setting 'speed'"):
        TrainRequest(corpus, tmp_path / "run", settings={"speed": 9})
    with pytest.raises(UserError, match="'soon' is not a time"):
        TrainRequest(corpus, tmp_path / "run", budget="soon")


@pytest.mark.slow
def test_what_was_said_once_need_not_be_said_again(corpus, tmp_path):
    """A run that is taken up has the size and the settings that it was begun with."""
    out = tmp_path / "run"
    given = {**SETTINGS, "max_length": 22, "checkpoint_steps": 2}
    config = TrainConfig.flat(**{**defaults_for("tiny", "cpu"), **SETTINGS, "steps": 6, "checkpoint_steps": 2})
    begun = Trainer(corpus, out, ModelConfig.tiny(max_length=22), config, device="cpu")
    begun.stop_after = 3
    begun.train()
    with pytest.raises(UserError, match="was begun with batch_tokens"):
        TrainRequest(corpus, out, resume=True, settings={"batch_tokens": 44}, device="cpu").run()
    assert TrainRequest(corpus, out, resume=True, device="cpu").run()["steps"] == 6
    whole = tmp_path / "whole"
    TrainRequest(corpus, whole, size="tiny", steps=6, settings=given, device="cpu").run()
    assert (out / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
