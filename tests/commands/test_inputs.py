"""Where a command's text comes from."""

import bz2
import gzip
import lzma

import pytest

from polylm.commands.inputs import input_lines, is_conllu
from polylm.errors import UserError

LINES = ["One line.", "", "Über zwei.", "Three"]
TEXT = "\ufeff" + "\r\n".join(LINES[:3]) + "\nThree"


@pytest.fixture
def folder(tmp_path):
    """One text in every dress, by name."""
    data = TEXT.encode()
    packed = {"a.txt": data, "b.txt.gz": gzip.compress(data), "c.xz": lzma.compress(data), "d.bz2": bz2.compress(data)}
    for name, content in packed.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("name", ["a.txt", "b.txt.gz", "c.xz", "d.bz2"])
def test_a_file_plain_or_compressed(folder, name):
    assert list(input_lines(str(folder / name))) == LINES
    assert list(input_lines(str(folder / name), bar=True)) == LINES


def test_a_folder(folder):
    assert list(input_lines(str(folder))) == 4 * LINES


def test_files_may_be_kept_apart(folder):
    (folder / "a.txt").write_text("one")
    assert list(input_lines(str(folder), apart=True))[:3] == ["one", "", "One line."]


@pytest.mark.parametrize(
    ("name", "is_one"), [("a.conllu", True), ("b.conll.gz", True), ("conllu", False), ("a.txt", False)]
)
def test_conllu_by_its_name(name, is_one):
    assert is_conllu(name) == is_one


def test_lines_end_as_they_do_in_files(folder):
    (folder / "b.txt.gz").write_bytes(gzip.compress(b"one\n\ntwo\n"))
    assert list(input_lines(str(folder / "b.txt.gz"))) == ["one", "", "two"]
    (folder / "b.txt.gz").write_bytes(gzip.compress(b""))
    assert list(input_lines(str(folder / "b.txt.gz"))) == []


@pytest.mark.parametrize("text", ["He sat on the bank.", "", ".", "..", "and/or"])
def test_a_text_is_itself(text):
    assert list(input_lines(text)) == [text]


def test_a_folder_needs_no_slash(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    assert list(input_lines(folder.name)) == 4 * LINES


def test_what_cannot_be_read(folder):
    (folder / "bad.gz").write_bytes(b"no gzip")
    with pytest.raises(UserError, match="damaged or not a .gz file"):
        list(input_lines(str(folder / "bad.gz")))
    (folder / "packed.txt").write_bytes(gzip.compress(b"text"))
    with pytest.raises(UserError, match="its name must say how"):
        list(input_lines(str(folder / "packed.txt")))
    (folder / "latin.txt.gz").write_bytes(gzip.compress(b"caf\xe9\n"))
    with pytest.raises(UserError, match="not UTF-8 text: convert it first"):
        list(input_lines(str(folder / "latin.txt.gz")))
    (folder / "empty").mkdir()
    with pytest.raises(UserError, match="has no text in it"):
        list(input_lines(str(folder / "empty")))
