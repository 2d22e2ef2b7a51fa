"""The recipe of the paper's tables, on data sets of a few sentences."""

import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest

from polylm.evaluation.report import PUBLISHED
from tests.shared.models import make_model

RECIPE = Path(__file__).parents[2] / "recipes" / "tables.py"
pytestmark = pytest.mark.slow


@pytest.fixture
def data(tmp_path, semeval2010_folder, semeval2013_folder, own_file):
    assert {semeval2010_folder.parent, semeval2013_folder.parent} == {tmp_path}
    (tmp_path / "wsi-dev.jsonl.xz").write_bytes(lzma.compress(own_file.read_bytes()))
    for seed, name in enumerate(("full", "no-distinctness", "no-disambiguation")):
        dial, layer = 0.3 if name == "full" else 1.0, name != "no-disambiguation"
        make_model(seed=seed, granularity=dial, disambiguation=layer).save_pretrained(tmp_path / "runs" / name)
    return tmp_path


def rows(data, *arguments):
    done = subprocess.run(
        [sys.executable, RECIPE, arguments[0], data, *arguments[1:], "--json", data / "rows.json"],
        check=True,
        capture_output=True,
        cwd=data,
    )
    found = json.loads((data / "rows.json").read_text())
    assert done.stdout.decode().splitlines()[2:] == [f"| {' | '.join(row)} |" for row in found]
    assert all(len(row) == 7 for row in found)
    return {row[0]: row[1:] for row in found}


def test_table_2_has_the_mean_and_spread_of_seeds(data):
    found = rows(data, "2", "one=runs/full", "seeds=runs/full,runs/no-distinctness")
    assert list(found)[:3] == ["one, q^P", "one, both read-outs", "one, merged at 0.3"]
    assert {"PolyLM BASE", *PUBLISHED["semeval2013"]} <= set(found)
    assert found["Qiu et al. 2016"][:3] == ["", "", ""]
    both = [float(found[name][2].split(" ±")[0]) for name in ("one, both read-outs", "seeds, both read-outs")]
    other = rows(data, "2", "runs/no-distinctness")["no-distinctness, both read-outs"]
    assert both[1] == pytest.approx((both[0] + float(other[2])) / 2, abs=0.11)
    assert all(" ± " in cell for cell in found["seeds, q^P"])


def test_table_3_has_every_ablation(data):
    found = rows(data, "3", "runs")
    for name in ("full, q^P", "disambiguation layer only", "no distinctness, both read-outs", "no disambiguation, q^P"):
        assert name in found
    assert "no disambiguation, both read-outs" not in found
    assert found["PolyLM SMALL, no distinctness"] == ["53.5", "33.4", "42.3", "57.4", "16.3", "30.5"]
    assert sum(name.startswith("no disambiguation, merged at ") for name in found) == 1
