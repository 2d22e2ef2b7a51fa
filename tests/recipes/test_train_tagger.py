import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest

from polylm.text.tagger import CompactTagger
from tests.shared.texts import make_lines

RECIPE = Path(__file__).parents[2] / "recipes" / "train_tagger.py"


@pytest.mark.slow
def test_the_recipe_makes_a_tagger(tmp_path):
    """A short run on a small text: it learns its teacher's tags, and the package reads what it writes."""
    pytest.importorskip("torch")
    pytest.importorskip("spacy")
    (tmp_path / "text.txt").write_text("\n".join(make_lines(400)))
    gold = {"w": ["He", "left", "the", "banks", "."], "t": ["PRP", "VBD", "DT", "NNS", "."]}
    (tmp_path / "gold.jsonl.xz").write_bytes(lzma.compress((json.dumps(gold) + "\n").encode()))

    def run(*arguments):
        subprocess.run([sys.executable, RECIPE, *map(str, arguments)], check=True, cwd=tmp_path)

    run("label", "text.txt", "--gold", "gold.jsonl.xz", "--every", 2, "--out", "labelled.npz", "--workers", 1)
    run("train", "labelled.npz", "--steps", 150, "--batch", 2048, "--rows", 4096, "--out", "small.tagger")
    tagger = CompactTagger(tmp_path / "small.tagger")
    assert tagger.tag([gold["w"]]) == [gold["t"]]
    assert tagger.tag([["The", "boats", "were", "falling", "."]]) == [["DT", "NNS", "VBD", "VBG", "."]]
