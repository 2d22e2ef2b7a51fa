"""Tagging on a cluster: the senses are the library's, and what is done is not done again."""

import gzip

import pytest

from polylm.errors import UserError
from tests.shared.models import make_model

pytestmark = pytest.mark.slow
TEXTS = ["He sat on the bank of the river.", "Cold water.", ""]


@pytest.fixture(scope="module")
def cluster():
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    started = not ray.is_initialized()
    if started:
        ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    yield ray
    if started:
        ray.shutdown()


@pytest.fixture
def folders(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    (tmp_path / "texts").mkdir()
    table = pa.table({"id": [1, 2, 3], "text": TEXTS})
    parquet.write_table(table, tmp_path / "texts" / "a.parquet")
    (tmp_path / "texts" / "b.txt.gz").write_bytes(gzip.compress("\n".join(TEXTS).encode()))
    (tmp_path / "texts" / "c.txt").write_text("")
    make_model(granularity=0.5).save_pretrained(tmp_path / "model")
    return tmp_path


def expected(model, text):
    return [(token.text, token.start, token.sense) for token in model.tag(text)]


def found(row):
    return [(token["text"], token["start"], token["sense"]) for token in row["senses"]]


def test_a_folder(cluster, folders):
    from pyarrow import parquet

    from polylm.integrations.ray import tag_folder

    out = tag_folder(folders / "texts", folders / "out", model=folders / "model", workers=1)
    assert [path.name for path in out] == ["a.parquet", "b.txt.gz.parquet", "c.txt.parquet"]
    model = make_model(granularity=0.5)
    rows = parquet.read_table(out[0]).to_pylist()
    assert [row["id"] for row in rows] == [1, 2, 3]
    assert [found(row) for row in rows] == [expected(model, text) for text in TEXTS]
    assert rows[0]["senses"][4]["probability"] == pytest.approx(model.tag(TEXTS[0])[4].probability, abs=1e-4)
    assert [found(row) for row in parquet.read_table(out[1]).to_pylist()] == [expected(model, t) for t in TEXTS[:2]]
    assert parquet.read_table(out[2]).num_rows == 0
    before = {path: path.stat().st_mtime_ns for path in out}
    out[1].unlink()  # as if it had been killed before
    tag_folder(folders / "texts", folders / "out", model=folders / "model", workers=1)
    after = {path: path.stat().st_mtime_ns for path in out}
    assert [before[path] == after[path] for path in out] == [True, False, True]


def test_a_data_set(cluster, folders):
    from polylm.integrations.ray import tag_dataset

    dataset = cluster.data.from_items([{"said": text} for text in TEXTS])
    rows = tag_dataset(dataset, column="said", model=folders / "model", workers=1).take_all()
    model = make_model(granularity=0.5)
    assert {row["said"]: found(row) for row in rows} == {text: expected(model, text) for text in TEXTS}


def test_mistakes(folders):
    from polylm.integrations.ray import SenseTagger, tag_folder

    with pytest.raises(UserError, match="there is no folder"):
        tag_folder(folders / "none", folders / "out")
    with pytest.raises(UserError, match="name another folder"):
        tag_folder(folders / "texts", folders / "texts")
    (folders / "empty").mkdir()
    with pytest.raises(UserError, match="no text in it"):
        tag_folder(folders / "empty", folders / "out")
    import pyarrow

    tagger = SenseTagger(str(folders / "model"), column="body", device="cpu")
    with pytest.raises(UserError, match="there is no column 'body': there are text"):
        tagger(pyarrow.table({"text": ["a"]}))
