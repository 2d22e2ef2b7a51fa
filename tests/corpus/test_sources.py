import bz2
import gzip
import io
import lzma
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polylm.corpus import sources
from polylm.corpus.sources import TextFile, chunk_lines, find_sources
from polylm.errors import UserError


def zst(data):
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.compress(data)


def bz3(data):
    import bz3

    file = io.BytesIO()
    with bz3.open(file, "wb", block_size=70_000) as writer:
        writer.write(data)
    return file.getvalue()


COMPRESS = {
    ".txt": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zst,
    ".bz3": bz3,
}
TEXT = "".join(f"line {n} of a text, with an é\n" for n in range(9000)).encode()


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(sources, "CHUNK_BYTES", 5000)
    monkeypatch.setattr(sources, "LINE_BYTES", 1000)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_reads_every_format_alike(tmp_path, small_chunks, suffix):
    path = tmp_path / f"text{suffix}"
    path.write_bytes(COMPRESS[suffix](TEXT))
    chunks = list(TextFile(path).chunks())
    assert b"".join(chunks) == TEXT
    assert len(chunks) > 20
    assert all(chunk.endswith(b"\n") for chunk in chunks)
    plain = tmp_path / "plain"
    plain.write_bytes(TEXT)
    assert chunks == list(TextFile(plain).chunks())


@pytest.mark.parametrize("suffix", [suffix for suffix in COMPRESS if suffix != ".txt"])
def test_damage_is_never_read_over(tmp_path, suffix):
    path = tmp_path / f"text{suffix}"
    whole = COMPRESS[suffix](TEXT)
    second = bytes([whole[0] ^ 1]) + whole[1:]
    for wrong in (whole[: len(whole) // 2], whole[:-3], b"this is not compressed text", TEXT, b"", whole + second):
        path.write_bytes(wrong)
        with pytest.raises(UserError, match=f"text{suffix} is damaged or not a"):
            list(TextFile(path).chunks())


@pytest.mark.parametrize("suffix", COMPRESS)
def test_empty(tmp_path, suffix):
    path = tmp_path / f"text{suffix}"
    path.write_bytes(COMPRESS[suffix](b""))
    assert list(TextFile(path).chunks()) == []


def test_bytes_that_are_not_text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"good\nb\xffd\n")
    with pytest.raises(UserError, match=r"text.txt is not UTF-8 at byte 6 .*errors='replace'"):
        list(TextFile(path).chunks())
    assert b"".join(TextFile(path).chunks("replace")).decode() == "good\nb\ufffdd\n"
    path.write_bytes(b"good\nb\0d\n")
    with pytest.raises(UserError, match=r"text.txt has a NUL byte at byte 6"):
        list(TextFile(path).chunks())
    assert b"".join(TextFile(path).chunks("replace")) == b"good\nb d\n"


def test_offsets_count_from_the_start_of_the_file(tmp_path, small_chunks):
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT + b"\xff")
    with pytest.raises(UserError, match=f"at byte {len(TEXT)} "):
        list(TextFile(path).chunks())


def test_folders_and_files_in_order(tmp_path):
    for name in ("b/2.txt", "b/1.txt", "a.txt", "b/.hidden/x.txt", "b/.x.swp", "b/c/3.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    found = find_sources([tmp_path / "b", tmp_path / "a.txt"])
    assert [str(source.path.relative_to(tmp_path)) for source in found] == ["b/1.txt", "b/2.txt", "b/c/3.txt", "a.txt"]
    (tmp_path / "empty").mkdir()
    for wrong, message in (("empty", "has no text"), ("none", "there is no file or folder")):
        with pytest.raises(UserError, match=message):
            find_sources([tmp_path / wrong])
    with pytest.raises(UserError, match="no text was given"):
        find_sources([])


def test_a_folder_that_may_not_be_read(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    folder = tmp_path / "closed"
    folder.mkdir(mode=0)
    with pytest.raises(UserError, match="may not be read"):
        find_sources([folder])


@given(st.lists(st.text(alphabet="ab é日\n", max_size=60), max_size=20), st.integers(1, 40), st.integers(5, 20))
def test_chunks_do_not_depend_on_how_the_file_is_read(parts, block, line_bytes):
    text = "".join(parts).encode()
    before = sources.CHUNK_BYTES, sources.LINE_BYTES
    sources.CHUNK_BYTES, sources.LINE_BYTES = 30, line_bytes
    try:
        whole = list(sources._whole_lines([text]))
        blocks = list(sources._whole_lines(text[i : i + block] for i in range(0, len(text), block)))
        assert whole == blocks
        assert b"".join(whole) == text
        for chunk in whole:
            assert len(chunk) <= 30 + line_bytes
            chunk.decode()
            assert "".join(chunk_lines(chunk)) == chunk.decode().replace("\n", "")
            assert all(len(line.encode()) <= line_bytes for line in chunk_lines(chunk))
    finally:
        sources.CHUNK_BYTES, sources.LINE_BYTES = before


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_streams_one_after_the_other(tmp_path, suffix):
    path = tmp_path / f"text{suffix}"
    path.write_bytes(COMPRESS[suffix](TEXT) + COMPRESS[suffix](b"more\n"))
    assert b"".join(TextFile(path).chunks()) == TEXT + b"more\n"


def test_padding_of_xz(tmp_path):
    path = tmp_path / "text.xz"
    path.write_bytes(lzma.compress(b"one\n") + bytes(8) + lzma.compress(b"two\n") + bytes(4))
    assert b"".join(TextFile(path).chunks()) == b"one\ntwo\n"


def test_padding_of_xz_where_a_block_begins():
    class Blocks:
        def __init__(self, *blocks):
            self.blocks = list(blocks)

        def read(self, n):
            return self.blocks.pop(0) if self.blocks else b""

    blocks = Blocks(lzma.compress(b"one\n"), bytes(4), bytes(4) + lzma.compress(b"two\n"), bytes(8))
    assert b"".join(sources._streams(blocks, lzma.LZMADecompressor)) == b"one\ntwo\n"


def test_a_line_without_any_place_to_cut(small_chunks):
    text = b"\x80" * 20_000
    assert b"".join(sources._whole_lines([text])) == text
    assert len(list(sources._whole_lines([text]))) <= 5


def test_a_long_line_with_tabs_is_cut_between_words(small_chunks):
    chunk = b"bank\t" * 1000
    assert {word for line in chunk_lines(chunk) for word in line.split()} == {"bank"}


def test_links_are_followed_once_and_pipes_refused(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.txt").write_text("x")
    (tmp_path / "a" / "link").symlink_to(tmp_path / "b")
    (tmp_path / "b" / "loop").symlink_to(tmp_path / "a")
    assert [source.path.name for source in find_sources([tmp_path / "a"])] == ["x.txt"]
    os.mkfifo(tmp_path / "a" / "pipe")
    with pytest.raises(UserError, match="pipe is not a regular file"):
        find_sources([tmp_path / "a"])


def test_the_folder_to_write_to_is_not_text(tmp_path):
    (tmp_path / "out").mkdir()
    for name in ("a.txt", "out/shard-00000.bin"):
        (tmp_path / name).write_text("x")
    found = find_sources([tmp_path], leave_out=tmp_path / "out")
    assert [source.path.name for source in found] == ["a.txt"]
    with pytest.raises(UserError, match="lies in the folder to write to"):
        find_sources([tmp_path / "out" / "shard-00000.bin"], leave_out=tmp_path / "out")
