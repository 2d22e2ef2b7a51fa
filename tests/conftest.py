"""What several tests share; the fixtures stand in `shared/`."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.shared.corpora import corpus  # noqa: F401
from tests.shared.datasets import (  # noqa: F401
    own_file,
    semeval2010_folder,
    semeval2013_folder,
    wic_folder,
    wsd_folder,
)
from tests.shared.models import model, model_folder  # noqa: F401
from tests.shared.texts import make_lines
from tests.shared.wordnet import wordnet_folder  # noqa: F401

settings.register_profile("polylm", deadline=None)  # the first example may load a tagger
settings.load_profile("polylm")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Fast tests first."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of test sets that the project may use but not carry; named by POLYLM_DATA."""
    folder = os.environ.get("POLYLM_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("POLYLM_DATA does not name a folder of evaluation data")
    return Path(folder)


@pytest.fixture
def text_files(tmp_path: Path) -> list[Path]:
    """Six small files of text."""
    folder = tmp_path / "texts"
    folder.mkdir()
    paths = []
    for number in range(6):
        path = folder / f"part-{number}.txt"
        path.write_text("\n".join(make_lines(150, seed=number)) + "\n", encoding="utf-8")
        paths.append(path)
    return paths
