"""Files come whole out of every kind of archive, or not at all."""

import shutil
from pathlib import Path

import pytest

from polylm.archives import texts_of
from polylm.errors import UserError

PATTERN = r"(index\.sense|data\.\w+)"


@pytest.mark.parametrize("kind", ["zip", "tar", "gztar", "xztar", "bztar"])
def test_archives(kind, tmp_path):
    folder = tmp_path / "wordnet"
    folder.mkdir()
    texts = {"index.sense": "bank%1:17:01:: 09213565 1 25\n" * 9, "data.noun": "09213565 17 n 01 bänk\n" * 400}
    for name, text in (texts | {"README": "left out"}).items():
        (folder / name).write_text(text, encoding="utf-8")
    assert dict(texts_of(folder, PATTERN)) == texts
    archive = Path(shutil.make_archive(str(tmp_path / "packed"), kind, tmp_path, "wordnet"))
    assert dict(texts_of(archive, PATTERN)) == texts
    whole = archive.read_bytes()
    archive.write_bytes(whole[: len(whole) // 2])
    if kind == "tar":  # its second half may be padding
        archive.write_bytes(whole[:700])
    with pytest.raises(UserError, match="cannot be read as an archive"):
        list(texts_of(archive, PATTERN))


def test_what_is_not_there(tmp_path):
    with pytest.raises(UserError, match="there is no"):
        list(texts_of(tmp_path / "none.zip", PATTERN))
