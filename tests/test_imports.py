"""What a folder pulls in: training will run where there is only torch, numpy and safetensors."""

import subprocess
import sys

import pytest

HEAVY = ("bz3", "lemminflect", "ray", "regex", "rich", "safetensors", "spacy", "torch", "typer")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "allowed"),
    [
        ("polylm", ()),
        ("polylm.corpus.shards", ()),
        ("polylm.text.vocabulary", ()),
        ("polylm.text.pipeline", ("regex",)),
        ("polylm.corpus.prepare", ("regex",)),
        ("polylm.cli", ("typer", "rich")),
        ("polylm.model.polylm", ("torch",)),
        ("polylm.bundle.bundle", ("torch", "safetensors")),
        ("polylm.reading.reader", ("torch",)),
        ("polylm.training.trainer", ("torch", "safetensors")),
        ("polylm.training.launch", ("torch", "safetensors")),
        ("polylm.evaluation.metrics", ()),
        ("polylm.evaluation.packed", ()),
    ],
)
def test_only_what_is_needed_is_imported(module, allowed):
    code = f"import sys, {module}; print(*[name for name in {HEAVY} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(result.stdout.split()) <= set(allowed)


def test_public_names():
    import polylm

    for name in polylm.__all__:
        assert getattr(polylm, name) is not None
    assert dir(polylm) == sorted(polylm.__all__)
    with pytest.raises(AttributeError):
        polylm.nothing  # noqa: B018
