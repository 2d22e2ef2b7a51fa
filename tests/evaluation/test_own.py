"""Own data: a JSON object a line, and a sentence with the line's number for each that is not."""

import json
import lzma

import pytest

from polylm.errors import UserError
from polylm.evaluation import own

ROW = {"left": "On the ", "focus": "bank", "right": " .", "lemma": "Bank", "pos": "n", "sense": "1"}


def write(tmp_path, *rows):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def read(tmp_path, *rows):
    return own.read(write(tmp_path, *rows))


def test_rows(tmp_path):
    dataset = read(tmp_path, ROW, "", {**ROW, "id": "mine", "sense": 2}, {**ROW, "focus": " banks "})
    assert dataset.name == "rows"
    assert [(i.id, i.lemma, i.text[i.start : i.end]) for i in dataset.instances] == [
        ("bank.n.1", "bank", "bank"),
        ("mine", "bank", "bank"),
        ("bank.n.3", "bank", "banks"),
    ]
    assert dataset.gold == {"bank.n": {"bank.n.1": {"1": 1.0}, "mine": {"2": 1.0}, "bank.n.3": {"1": 1.0}}}


def test_focuses_that_are_no_form_of_their_lemma(tmp_path):
    rows = [ROW, {**ROW, "focus": "Banks"}, {**ROW, "focus": "the old banks"}, {**ROW, "focus": "sat", "lemma": "sit"}]
    rows += [{**ROW, "focus": "river banks", "lemma": "bank"}, {**ROW, "focus": "New York", "lemma": "new york"}]
    rows += [{**ROW, "focus": "looked up", "lemma": "look_up"}, {**ROW, "focus": "ice-creams", "lemma": "ice cream"}]
    assert own.odd_focuses(read(tmp_path, *rows)) == []
    odd = read(tmp_path, *rows, {**ROW, "focus": "shore", "id": "x"})
    assert own.odd_focuses(odd) == ["x (shore)"]


def test_lemmas_of_several_words(tmp_path):
    assert read(tmp_path, {**ROW, "lemma": "river bank"}).instances[0].lemma == "river_bank"


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("{", "is not JSON"),
        ("[1]", "is not a JSON object"),
        ({**ROW, "left": None}, "left should be there, as text"),
        ({key: value for key, value in ROW.items() if key not in ("pos", "sense")}, "pos and sense should be there"),
        ({**ROW, "focus": " "}, "must not be empty"),
        ({**ROW, "pos": "q"}, "pos is 'q': it should be n, v, j or r"),
        ({**ROW, "id": "a b"}, "should be one word"),
        ({**ROW, "id": "bank.n.1"}, "was there before"),
        ("[" * 100_000, "is not JSON"),
        ({**ROW, "lemma": "\ud800"}, "cannot be written"),
        ({**ROW, "left": "On the"}, "a part of a word"),
        ({**ROW, "right": "ment"}, "a part of a word"),
    ],
)
def test_a_broken_line_is_named(tmp_path, row, complaint):
    with pytest.raises(UserError, match=r"rows\.jsonl, line 2: ") as error:
        read(tmp_path, ROW, row)
    assert complaint in str(error.value)


def test_nothing_to_tell_apart(tmp_path):
    with pytest.raises(UserError, match="every lemma has one sentence"):
        own.read_to_score(write(tmp_path, ROW, {**ROW, "lemma": "river"}))
    assert len(own.read_to_score(write(tmp_path, ROW, ROW)).instances) == 2


def test_files(tmp_path):
    with pytest.raises(UserError, match="is not there"):
        own.read(tmp_path / "none.jsonl")
    with pytest.raises(UserError, match="is not a file"):
        own.read(tmp_path)
    (tmp_path / "latin.jsonl").write_bytes(json.dumps(ROW).encode() + b"\n\xe9")
    with pytest.raises(UserError, match=r"latin\.jsonl, line 2: this is not UTF-8"):
        own.read(tmp_path / "latin.jsonl")
    with pytest.raises(UserError, match="is empty"):
        read(tmp_path, "", "")
    (tmp_path / "a.jsonl.xz").write_bytes(lzma.compress(json.dumps(ROW).encode()))
    assert len(own.read(tmp_path / "a.jsonl.xz").instances) == 1


def test_odd_but_good_rows(tmp_path):
    (tmp_path / "bom.jsonl").write_bytes(b"\xef\xbb\xbf" + json.dumps({**ROW, "id": None}).encode())
    assert own.read(tmp_path / "bom.jsonl").instances[0].id == "bank.n.1"
    decomposed = read(tmp_path, {**ROW, "lemma": "cafe\u0301", "pos": "NOUN"}).instances[0]
    assert (decomposed.lemma, decomposed.pos) == ("caf\u00e9", "n")


def test_lines_are_numbered_in_large_files(tmp_path):
    """Longer than the chunks that corpora are read in, with a line longer than a line of those."""
    long = {**ROW, "right": " x" * 1_000_000}
    with pytest.raises(UserError, match=r"rows\.jsonl, line 40003: "):
        read(tmp_path, long, *[{**ROW, "right": " y" * 60}] * 40_000, long, "{")


def test_the_development_set(data):
    dataset = own.read(data / "eval/wsi-dev.jsonl.xz")
    assert len(dataset.instances) == 2945
    assert len(dataset.gold) == 220
