"""A contextualizer from outside the package: registered, trained, and used as far as it says that it can be."""

import math
from dataclasses import replace

import torch

import polylm
from polylm.model.contextualizer import register_contextualizer
from polylm.training.trainer import Trainer
from tests.shared.corpora import TINY, same_weights, settings


class Neighbours(torch.nn.Module):
    """A contextualizer of somebody's own: each place hears the two beside it. It can do nothing that is optional."""

    def __init__(self, config, n_layers):
        super().__init__()
        self.mix = torch.nn.ModuleList(
            torch.nn.Conv1d(config.d_model, config.d_model, 3, padding=1) for _ in range(n_layers)
        )

    def forward(self, x, segments=None):
        for mix in self.mix:
            x = x + torch.nn.functional.gelu(mix(x.mT)).mT
        return x


def test_a_contextualizer_from_outside_is_trained(corpus, tmp_path):
    """It is registered, trained through both phases, taken up again, saved, and reads text."""
    polylm.register_contextualizer("neighbours", Neighbours)
    shape = replace(TINY, contextualizer="neighbours")
    summaries = []
    for name, stops in (("whole", [None]), ("cut", [29, None])):
        for stop in stops:
            config = settings(steps=80)
            trainer = Trainer(corpus, tmp_path / name, shape, config, device="cpu", resume=stop is None)
            trainer.stop_after = stop
            summaries.append(trainer.train())
    assert same_weights(tmp_path / "whole", tmp_path / "cut")
    assert summaries[0]["held_out"] < math.log(120 + 45) - 0.1  # words that are all alike
    assert polylm.load(tmp_path / "whole").tag("h3 w1")[0].sense.startswith("h3#")


def test_what_a_contextualizer_can_do_is_used(corpus, tmp_path):
    """Only some places, if it has a way; and no seed before every step, if it draws nothing by lot."""
    asked = []

    class Able(Neighbours):
        random = False

        def outputs_at(self, x, segments, at):
            asked.append(len(at))
            return self(x, segments).flatten(0, 1)[at]

    register_contextualizer("able", Able)
    shape = replace(TINY, contextualizer="able")
    trainer = Trainer(corpus, tmp_path / "run", shape, settings(), device="cpu")
    assert not trainer.step._random
    trainer.stop_after = 2
    trainer.train()
    assert asked
    assert Trainer(corpus, tmp_path / "other", replace(TINY, contextualizer="lstm"), settings()).step._random
