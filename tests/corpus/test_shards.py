import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polylm.corpus.prepare import prepare
from polylm.corpus.shards import MANIFEST, PreparedCorpus, ShardWriter
from polylm.errors import UserError
from tests.shared.texts import make_lines


@pytest.fixture
def corpus(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(make_lines(60)))
    prepare([text], tmp_path / "out")
    return tmp_path / "out"


@given(st.lists(st.lists(st.integers(0, 99), max_size=30), max_size=10), st.integers(1, 20))
def test_writer_keeps_every_id(tmp_path_factory, parts, shard_ids):
    folder = tmp_path_factory.mktemp("shards")
    writer = ShardWriter(folder, 100, shard_ids)
    for part in parts:
        writer.add(np.array(part, dtype=np.int64))
    shards = writer.close()
    read = [np.fromfile(folder / shard["file"], dtype="<u2") for shard in shards]
    assert [i for shard in read for i in shard.tolist()] == [i for part in parts for i in part]
    assert all(shard["ids"] == shard_ids for shard in shards[:-1])


def test_small_vocabularies_take_two_bytes(tmp_path):
    assert ShardWriter(tmp_path, 1 << 16).dtype.itemsize == 2
    assert ShardWriter(tmp_path, (1 << 16) + 1).dtype.itemsize == 4


def test_lines_are_the_lines_of_the_text(corpus):
    opened = PreparedCorpus(corpus)
    lines = list(opened.lines(line_id=3))
    assert len(lines) == opened.manifest["lines"] == 60
    assert sum(len(line) + 1 for line in lines) == len(opened) == opened.manifest["ids"]


def test_lines_cross_shards(corpus):
    opened = PreparedCorpus(corpus)
    whole = [line.tolist() for line in opened.lines(3)]
    ids = np.concatenate(opened.shards)
    opened.shards = [ids[:17], ids[17:18], ids[18:]]
    assert [line.tolist() for line in opened.lines(3)] == whole


def test_missing_and_damaged_files_are_named(corpus):
    shard = corpus / "shard-00000.bin"
    data = shard.read_bytes()
    shard.write_bytes(data[:-2])
    with pytest.raises(UserError, match=r"shard-00000.bin is damaged \(\d+ bytes instead of \d+\)"):
        PreparedCorpus(corpus)
    shard.write_bytes(data[:-2] + b"xx")
    with pytest.raises(UserError, match=r"shard-00000.bin is damaged \(its sha256"):
        PreparedCorpus(corpus)
    PreparedCorpus(corpus, verify=False)
    shard.unlink()
    with pytest.raises(UserError, match=r"shard-00000.bin is missing"):
        PreparedCorpus(corpus)
    shard.write_bytes(data)
    PreparedCorpus(corpus)
    (corpus / "vocabulary.tsv").write_text("x")
    with pytest.raises(UserError, match=r"vocabulary.tsv is damaged"):
        PreparedCorpus(corpus)


def test_wrong_manifests(corpus, tmp_path):
    manifest = json.loads((corpus / MANIFEST).read_bytes())
    for wrong, message in (
        ("{", "damaged"),
        ("[]", "not the manifest"),
        ("{}", "not the manifest"),
        (json.dumps({**manifest, "format": 99}), "newer polylm"),
    ):
        (corpus / MANIFEST).write_text(wrong)
        with pytest.raises(UserError, match=message):
            PreparedCorpus(corpus)
    (corpus / MANIFEST).unlink()
    with pytest.raises(UserError, match="not a finished one"):
        PreparedCorpus(corpus)
    with pytest.raises(UserError, match="there is no folder"):
        PreparedCorpus(tmp_path / "none")
