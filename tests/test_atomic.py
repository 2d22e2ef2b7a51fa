"""Files appear whole or not at all."""

import os
import threading

import pytest

from polylm.atomic import check_writable, is_unfinished, replacing, write_bytes
from polylm.errors import UserError


def test_a_file_is_replaced_at_the_end(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
        beside = [other for other in tmp_path.iterdir() if other != path]
        assert [is_unfinished(other) for other in beside] == [True]
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(error), replacing(path) as file:
        file.write(b"half")
        raise error
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_links_and_pipes(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_bytes(pipe, b"through")
    reader.join(5)
    assert read == [b"through"]
    assert pipe.is_fifo()


def test_where_nothing_can_be_written(tmp_path):
    check_writable(tmp_path / "a")
    assert not any(tmp_path.iterdir())
    with pytest.raises(UserError, match="is a folder: name a file"):
        check_writable(tmp_path)
    with pytest.raises(UserError, match="there is no folder"):
        check_writable(tmp_path / "none" / "a")
    with pytest.raises(UserError, match="not a file name"):
        check_writable("")


@pytest.mark.parametrize("name", ["a", "run.json", ".hidden", "model.tmp"])
def test_other_peoples_files_are_not_unfinished(tmp_path, name):
    assert not is_unfinished(tmp_path / name)
