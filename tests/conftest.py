"""What several tests share: the folder of outside data, a small text, and a way to compare folders."""

import os
import random
from pathlib import Path

import pytest
from hypothesis import settings

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


SENTENCES = [
    "The bank's managers weren't going to raise the rates again, he said.",
    "She sat on the bank of the river and watched the boats go by.",
    "“It’s the best of times,” they wrote — the worst, too — in the 1990s.",
    "Dr. J. Smith paid $1,000.50 for 3 well-known paintings (see www.example.org).",
    "Older mice ran faster than the youngest cats; leaves were falling.",
    "Café owners in the U.S. can't agree: isn't that what naïve people think?",
    "Über die Brücken gingen sie; 日本 and हिन्दी were written on the wall!!!",
]


def make_lines(n_lines: int, seed: int = 0) -> list[str]:
    """Lines of one to four sentences with some invented words, so that no two chunks are alike."""
    rng = random.Random(seed)
    lines = []
    for _ in range(n_lines):
        parts = rng.choices(SENTENCES, k=rng.randint(1, 4))
        parts.append("The " + "".join(rng.choices("abcdeiou", k=rng.randint(3, 8))) + "s fell.")
        lines.append(" ".join(parts))
    return lines


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


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
