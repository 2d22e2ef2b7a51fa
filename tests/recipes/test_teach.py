"""The recipe that teaches a finished model, on a model and a text of a few words."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import polylm
from polylm.reading.layers import ReadOut
from tests.shared.models import make_model

RECIPE = Path(__file__).parents[2] / "recipes" / "teach.sh"
pytestmark = pytest.mark.slow


def test_a_finished_model_learns_to_read(tmp_path):
    make_model(granularity=0.5).save_pretrained(tmp_path / "old")
    lines = ["He sat on the bank of the river.", "They wait for money in the bank.", "Cold water was at the river."]
    (tmp_path / "text.txt").write_text("\n".join(lines * 200), encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [RECIPE, tmp_path / "old", tmp_path / "text.txt", tmp_path / "out", "--budget", "2s", "--device", "cpu"],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, done.stderr
    old, new = polylm.load(tmp_path / "old"), polylm.load(tmp_path / "out" / "model")
    assert not old.network.config.reads_unmasked
    assert ReadOut("auto").of_network(new.network).layers == "reading"
    assert new.granularity == 0.5
    assert new.words() == old.words()
    assert [sense.key for sense in new.senses("bank")] == [sense.key for sense in old.senses("bank")]
    assert new.network.c_p.ranges is not None
