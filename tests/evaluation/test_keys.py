"""Key files: what is read, what is written, and a sentence with the line's number for what is broken."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polylm.errors import UserError
from polylm.evaluation.keys import read_key, write_key


def read(tmp_path, text):
    path = tmp_path / "a.key"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_key(path)


def test_lines(tmp_path):
    key = read(tmp_path, "\ufeffadd.v add.v.1 s1/0.75 s2/3\r\n\nadd.v add.v.2 a/b/1e-3\nbank.n b#1 plain\n")
    assert key == {
        "add.v": {"add.v.1": {"s1": 0.75, "s2": 3.0}, "add.v.2": {"a/b": 0.001}},
        "bank.n": {"b#1": {"plain": 1.0}},
    }


def test_compressed(tmp_path):
    (tmp_path / "a.key.gz").write_bytes(gzip.compress(b"a.n a.n.1 x"))
    assert read_key(tmp_path / "a.key.gz") == {"a.n": {"a.n.1": {"x": 1.0}}}
    (tmp_path / "b.key.gz").write_bytes(gzip.compress(b"a.n a.n.1 x")[:-9])
    with pytest.raises(UserError, match="damaged"):
        read_key(tmp_path / "b.key.gz")
    broken = bytearray(gzip.compress(b"a.n a.n.1 x\n" * 99))
    broken[14] ^= 0xFF
    (tmp_path / "c.key.gz").write_bytes(broken)
    with pytest.raises(UserError, match="damaged"):
        read_key(tmp_path / "c.key.gz")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("a.n", "is not a lemma, an instance and at least one label"),
        ("a.n a.n.2", "is not a lemma"),
        ("a.n a.n.2 x/", "the weight in 'x/' is not a number"),
        ("a.n a.n.2 x/heavy", "the weight in 'x/heavy'"),
        ("a.n a.n.2 x/-1", "is not a number from 0 up"),
        ("a.n a.n.2 x/nan", "is not a number from 0 up"),
        ("a.n a.n.2 x/inf", "is not a number from 0 up"),
        ("a.n a.n.2 x/1_0", "is not a number from 0 up"),
        ("a.n a.n.2 /0.5", "no label before its weight"),
        ("a.n a.n.2 x/0 y/0.0", "every weight is 0"),
        ("a.n a.n.1 y", "was answered otherwise on line 1"),
        (b"a.n a.n.2 \xff", "not UTF-8"),
    ],
)
def test_a_broken_line_is_named(tmp_path, line, complaint):
    text = b"a.n a.n.1 x\n\n" + (line if isinstance(line, bytes) else line.encode()) + b"\na.n a.n.3 x\n"
    with pytest.raises(UserError, match=r"a\.key, line 3: ") as error:
        read(tmp_path, text)
    assert complaint in str(error.value)


def test_the_same_line_again_is_no_harm(tmp_path):
    assert read(tmp_path, "a.n 1 x/2\na.n 1 x/2\n") == {"a.n": {"1": {"x": 2.0}}}


def test_a_label_that_is_there_twice_has_its_last_weight(tmp_path):
    """The gold key of SemEval-2013 has such a line, 3708."""
    assert read(tmp_path, "a.n 1 x/2 y/1 x/3") == {"a.n": {"1": {"x": 3.0, "y": 1.0}}}


def test_labels_with_a_slash_come_back(tmp_path):
    write_key(tmp_path / "a.key", {"and/or.n": {"1": {"and/or.n.1": 1.0}}}, weights=False)
    assert read_key(tmp_path / "a.key") == {"and/or.n": {"1": {"and/or.n.1": 1.0}}}


@pytest.mark.parametrize("name", ["cluster 1", "a\tb", "", "x\n"])
def test_names_that_a_key_cannot_hold_are_refused(tmp_path, name):
    for key in ({name: {"1": {"x": 1.0}}}, {"a.n": {name: {"x": 1.0}}}, {"a.n": {"1": {name: 1.0}}}):
        with pytest.raises(UserError, match="cannot stand in a key"):
            write_key(tmp_path / "a.key", key)
    assert not (tmp_path / "a.key").exists()


def test_small_weights_come_back(tmp_path):
    key = {"a.n": {"1": {"x": 1e-5, "y": 2e-5, "z": 0.0}}}
    write_key(tmp_path / "a.key", key)
    assert read_key(tmp_path / "a.key") == key


def test_links_are_followed(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_key(tmp_path / "link", {"a.n": {"1": {"x": 1.0}}}, weights=False)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "a.n 1 x\n"


def test_no_key_at_all(tmp_path):
    with pytest.raises(UserError, match="is empty"):
        read(tmp_path, "\n \n")
    with pytest.raises(UserError, match="there is no file"):
        read_key(tmp_path / "none.key")
    with pytest.raises(UserError, match="is a folder"):
        read_key(tmp_path)


name = st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters="/"), min_size=1, max_size=5)
keys = st.dictionaries(
    name,
    st.dictionaries(
        name, st.dictionaries(name, st.integers(1, 30000).map(lambda n: n / 10000), min_size=1), min_size=1
    ),
    min_size=1,
)


@pytest.mark.slow
@given(keys)
@settings(max_examples=30)
def test_what_is_written_is_read(tmp_path_factory, key):
    path = tmp_path_factory.mktemp("keys") / "a.key"
    write_key(path, key)
    assert read_key(path) == key
    write_key(path, key, weights=False)
    assert read_key(path) == {
        lemma: {instance: {next(iter(labels)): 1.0} for instance, labels in instances.items()}
        for lemma, instances in key.items()
    }
