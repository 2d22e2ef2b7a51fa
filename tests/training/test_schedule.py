"""Schedules are shares of the run; settings that make no sense are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polylm.errors import UserError
from polylm.training.config import TrainConfig, defaults_for, parse_time
from polylm.training.schedule import values
from tests.shared.corpora import settings


@given(st.floats(0, 1), st.sampled_from(["split", "senses"]))
def test_every_share_has_sensible_values(share, start):
    now = values(settings(start=start, mask_rate_start=0.3), share)
    assert 0 <= now.rate <= 1
    assert 1 <= now.r <= 1.5
    assert 0 <= now.lambda_m <= 0.1
    assert 0.15 <= now.mask_rate <= 0.3


def test_corners():
    config = settings(start="senses")
    assert values(config, 0.0).rate == 0
    assert values(config, 0.02).rate == pytest.approx(0.98)
    assert values(config, 1.0) == values(config, 7.0)
    assert values(config, 1.0).rate == 0
    assert (values(config, 0.45).r, values(config, 0.6).r, values(config, 0.75).r) == pytest.approx((1.0, 1.25, 1.5))
    assert values(config, 0.32, split_at=0.32).rate == 0  # new parameters: the rate rises again
    assert values(config, 0.33, split_at=0.32).rate == pytest.approx(0.67)


def test_budgets():
    assert [parse_time(text) for text in ("25m", "90s", "1.5h", "1h30m", "1h 2m 3s")] == [1500, 90, 5400, 5400, 3723]
    for text in ("", "25", "m", "0m", "-5m", "5 minutes"):
        with pytest.raises(UserError):
            parse_time(text)


@pytest.mark.parametrize(
    "changes",
    [
        {"steps": None},
        {"seconds": 5.0},
        {"steps": 0},
        {"mask_rate": 0.0},
        {"mask_rate_start": 0.0},
        {"seed": 1 << 31},
        {"learning_rate": float("inf")},
        {"lambda_max": float("nan")},
        {"weight_decay": -1.0},
        {"phase_one": 1.5},
        {"beta1": 1.0},
        {"beta2": 1},
        {"muon_rate": -1.0},
        {"clip": 0.0},
        {"optimizer": "sgd"},
        {"nonsense": 1},
    ],
)
def test_settings_that_make_no_sense(changes):
    with pytest.raises(UserError):
        settings().with_changes(**changes)


def test_defaults():
    assert TrainConfig.flat(steps=1, **defaults_for("base", "cuda")).batches.batch_tokens == 65536
    assert defaults_for("tiny", "cpu")["batch_tokens"] == 4096
    with pytest.raises(UserError, match="there is no size"):
        defaults_for("huge", "cpu")
    config = settings(seed=7)
    assert TrainConfig.flat(**config.to_dict()) == config


def test_masks_and_lambda_on_the_way():
    config = settings(mask_rate_start=0.3, lambda_start=0.1, lambda_end=0.2, r_start=0.5, r_end=0.8)
    assert [values(config, share).mask_rate for share in (0, 0.5, 1)] == pytest.approx([0.3, 0.225, 0.15])
    assert [values(config, share).lambda_m for share in (0.05, 0.15, 0.2)] == pytest.approx([0, 0.05, 0.1])


def test_pieces_of_windows():
    config = settings(pieces=0.2, reading_pieces=0.7)
    assert [values(config, share, phase=phase).pieces for share, phase in ((0.1, 1), (0.5, 2), (0.9, 3))] == [
        0.2,
        0.2,
        0.7,
    ]
