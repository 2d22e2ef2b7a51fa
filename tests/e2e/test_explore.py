"""Tagging and looking at senses from the command line."""

import gzip
import json
import subprocess
import sys

import pytest

from tests.shared.command import on_a_terminal, polylm, sentence
from tests.shared.models import make_model

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    make_model(granularity=0.5).save_pretrained(folder)
    return folder


def test_tag_in_a_pipe(folder, tmp_path):
    """One JSON object a line, from a text, a file or standard input."""
    text = "He sat on the banks of the river."
    result = polylm("tag", text, "--model", folder)
    (line,) = result.stdout.decode().splitlines()
    tagged = json.loads(line)
    assert tagged["text"] == text
    bank = tagged["tokens"][4]
    assert list(bank) == [
        "text",
        "start",
        "end",
        "lemma",
        "marker",
        "sense",
        "probability",
        "distribution",
        "label",
        "n_senses",
    ]
    assert (bank["text"], bank["lemma"], bank["marker"]) == ("banks", "bank", "[PL]")
    assert bank["sense"] in ("bank#1", "bank#2")  # bank#3 is one with bank#2 at the model's granularity
    assert len(bank["label"].split()) == 3
    assert tagged["tokens"][-1]["sense"] is None
    (tmp_path / "two.txt").write_text(f"{text}\r\n\ncold water")
    by_file = polylm("tag", tmp_path / "two.txt", "--model", folder, "--source", "disambiguation")
    by_stdin = polylm(
        "tag", "-", "--model", folder, "--source", "disambiguation", stdin=(tmp_path / "two.txt").read_bytes()
    )
    assert by_file.stdout == by_stdin.stdout
    assert [json.loads(line)["text"] for line in by_file.stdout.splitlines()] == [text, "", "cold water"]


def test_tag_some_words_of_a_folder(folder, tmp_path):
    """Of compressed files too; lines without the words are left out."""
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt.gz").write_bytes(gzip.compress(b"The banks of the river.\n\nCold water.\n"))
    (tmp_path / "texts" / "b.txt").write_text("He sat on the bank.\nHe waits.\n")
    result = polylm("tag", tmp_path / "texts", "--words", "bank, mice,wait", "--model", folder, "--threads", "1")
    assert "mice" in sentence(result)
    result = polylm("tag", tmp_path / "texts", "--words", "bank,wait", "--model", folder, "--threads", "1")
    tagged = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(one["text"], [token["text"] for token in one["tokens"]]) for one in tagged] == [
        ("The banks of the river.", ["banks"]),
        ("He sat on the bank.", ["bank"]),
        ("He waits.", ["waits"]),
    ]
    none = polylm("tag", "He sat by the river.", "--words", "bank,wait", "--model", folder)
    assert (none.returncode, none.stdout) == (0, b"")
    assert b"none of the words bank, wait" in none.stderr


def test_conllu(folder):
    text = "# text = the bank\n1\tthe\tthe" + "\t_" * 7 + "\n2\tbank\tbank" + "\t_" * 7 + "\n"
    result = polylm("tag", "-", "--format", "conllu", "--model", folder, stdin=text.encode())
    lines = result.stdout.decode().split("\n")
    assert lines[0] == "# text = the bank"
    assert "\tSense=bank#" in lines[2]
    assert lines[3:] == ["", ""]
    assert "not CoNLL-U" in sentence(polylm("tag", "-", "--format", "conllu", "--model", folder, stdin=b"The bank.\n"))


def test_tag_on_a_terminal(folder):
    shown = on_a_terminal("tag", "the banks", "--model", folder)
    assert b"bank#" in shown
    assert b"{" not in shown


def test_lines_that_belong_together(folder, tmp_path):
    path = tmp_path / "wrapped.txt"
    path.write_text("He sat on the\nbank.\n\n\nThe river\n")
    found = [json.loads(line) for line in polylm("tag", path, "--paragraphs", "--model", folder).stdout.splitlines()]
    assert [one["text"] for one in found] == ["He sat on the bank.", "The river"]
    bank = found[0]["tokens"][4]
    assert path.read_text()[bank["start"] : bank["end"]] == bank["text"] == "bank"


def test_a_bar_where_somebody_looks(folder, tmp_path):
    """On a terminal, while the result goes to a file."""
    (tmp_path / "text.txt").write_text("the bank\n" * 20)
    with (tmp_path / "out.jsonl").open("wb") as out:
        shown = on_a_terminal("tag", tmp_path / "text.txt", "--model", folder, out=out)
    assert b"100%" in shown
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 20


def test_answers_at_once(folder):
    process = subprocess.Popen(
        [sys.executable, "-m", "polylm", "tag", "-", "--at-once", "--model", folder, "--device", "cpu"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        for word in ("bank", "river"):
            process.stdin.write(f"the {word}\n".encode())
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["tokens"][1]["lemma"] == word  # while the input is open
        process.stdin.close()
    assert process.returncode == 0


def test_senses(folder):
    result = polylm("senses", "banks", "--model", folder, "--json")
    found = json.loads(result.stdout)
    assert [sense["members"] for sense in found] == [["bank#2", "bank#3"], ["bank#1"]]
    lines = polylm("senses", "bank", "--model", folder, "--granularity", "1").stdout.decode().splitlines()
    assert lines[0].split("\t") == ["sense", "share", "could be replaced by", "nearest senses", "merged with it"]
    assert len(lines) == 4
    assert [s["key"] for s in json.loads(polylm("senses", "Bank#3", "--model", folder, "--json").stdout)] == ["bank#2"]
    tree = polylm("senses", "bank", "--model", folder, "--tree").stdout.decode()
    assert "one below 1.00" in tree
    assert all(f"bank#{k} 33%" in tree for k in (1, 2, 3))
    assert json.loads(polylm("senses", "river", "--model", folder, "--tree", "--json").stdout) == {"key": "river#1"}


def test_a_form_is_read_as_its_lemma(tmp_path):
    read = polylm("senses", "leaves")
    assert read.stdout.decode().splitlines()[1].startswith("leaf#1\t")
    notes = ["leaves is read as leaf; for leaves itself: polylm senses leaves --as-is"]
    assert read.stderr.decode().splitlines() == [*notes, "leaves may also be a form of leave: polylm senses leave"]
    assert polylm("senses", "leaves", "--as-is").stdout.decode().splitlines()[1].startswith("leaves#1\t")
    drawn = polylm("senses", "leaves", "--tree")
    assert b"leaf#1" in drawn.stdout
    assert drawn.stderr.decode().splitlines() == notes
    assert polylm("lexicon", "leaves", "--out", tmp_path / "l.jsonl").returncode == 0
    assert [json.loads(line)["word"] for line in (tmp_path / "l.jsonl").read_text().splitlines()] == ["leaf"]


def test_examples(folder, tmp_path):
    (tmp_path / "a.txt").write_text("He sat on the bank of the river. The cold water was at the banks all day.")
    result = polylm("senses", "bank", "--model", folder, "--corpus", tmp_path, "--examples", "1")
    assert "[bank] of the river" in result.stdout.decode() or "the [banks] all day" in result.stdout.decode()
    found = json.loads(polylm("senses", "bank", "--model", folder, "--corpus", tmp_path, "--json").stdout)
    assert sum(len(sense["examples"]) for sense in found) == 2


def test_lexicon(folder, tmp_path, wordnet_folder):
    out = tmp_path / "l.jsonl"
    result = polylm("lexicon", "--out", out, "--model", folder, "--wordnet", wordnet_folder)
    entries = [json.loads(line) for line in out.read_text().splitlines()]
    assert f"{len(entries)} entries" in result.stdout.decode()
    bank = next(entry for entry in entries if entry["word"] == "bank")
    assert [sense["key"] for sense in bank["senses"]] == ["bank#2", "bank#1"]
    assert bank["senses"][0]["wordnet"]["key"].startswith("bank%1:")
    (tmp_path / "a.txt").write_text("He sat on the bank of the river.")
    result = polylm("lexicon", "banks", "--out", tmp_path / "l.ttl", "--model", folder, "--corpus", tmp_path / "a.txt")
    assert b"1 entries" in result.stdout
    assert "He sat on the bank of the river." in (tmp_path / "l.ttl").read_text()
    polylm("lexicon", "bank", "--out", tmp_path / "d.ttl", "--model", folder, "--language", "de")
    assert '"bank"@de' in (tmp_path / "d.ttl").read_text()
    assert "@en" not in (tmp_path / "d.ttl").read_text()
    wrong = polylm("lexicon", "bank", "--out", tmp_path / "e.ttl", "--model", folder, "--language", "de .")
    assert "is not the tag of a language" in sentence(wrong)


def test_info(folder):
    facts = json.loads(polylm("info", folder, "--json").stdout)
    assert facts["folder"] == str(folder)
    assert facts["granularity"] == 0.5
    assert facts["senses_at_this_granularity"] < facts["senses"]
    assert b"# A sense-level language model" in polylm("info", folder).stdout
    assert json.loads(polylm("info", "--model", folder, "--json").stdout) == facts


def test_plot_and_bench(folder, tmp_path):
    out = tmp_path / "words.svg"
    assert polylm("plot", "bank", "cold", "--model", folder, "--out", out).returncode == 0
    assert b"bank#1" in out.read_bytes()
    result = polylm("bench", "tag", "--model", folder, "--seconds", "0.2", "--json", "--device", "cpu")
    measured = json.loads(result.stdout)
    assert measured["words_per_s_disambiguation"] > 0
    assert measured["words_per_s_both"] > 0
    assert measured["peak_memory_mb"] > 50


def test_mistakes(folder, tmp_path):
    assert "did you mean river" in sentence(polylm("senses", "rivr", "--model", folder))
    assert "there is no file" in sentence(polylm("tag", tmp_path / "none.txt", "--model", folder))
    assert "there is no folder" in sentence(polylm("tag", "a bank", "--model", tmp_path / "none"))
    assert "must be between 0 and 1" in sentence(polylm("tag", "a bank", "--model", folder, "--granularity", "7"))
    half = polylm("tag", "-", "--model", folder, stdin=b"bank\n\xff\xfe\n")
    assert "line 2: this is not UTF-8" in sentence(half)
    assert json.loads(half.stdout)["text"] == "bank"  # what came before is not lost
    assert "leave out --json" in sentence(polylm("tag", "-", "--format", "conllu", "--json", "--model", folder))
    assert "no text in it" in sentence(polylm("tag", tmp_path, "--model", folder))
    assert "no word was given" in sentence(polylm("tag", "a bank", "--words", ",", "--model", folder))
    assert "did you mean" in sentence(polylm("tag", "a bank", "--words", "bankk", "--model", folder))
    assert "leave out --words" in sentence(polylm("tag", "-", "--format", "conllu", "--words", "a", "--model", folder))
    wrong = polylm("eval", "jsonl", tmp_path / "none", "--weight", "0.5", "--read-out", "prediction")
    assert "--weight is for the read-out both alone" in sentence(wrong)
    assert "a .jsonl or a .ttl file" in sentence(polylm("lexicon", "--out", tmp_path / "a.csv", "--model", folder))
    wrong = polylm("lexicon", "--out", tmp_path / "a.ttl", "--model", folder, "--wordnet", tmp_path / "none")
    assert "there is no" in sentence(wrong)
    wrong = polylm("lexicon", "zyzzyva", "--out", tmp_path / "a.ttl", "--model", folder)
    assert "not a word that the model knows" in sentence(wrong)
    assert "there is no file or folder" in sentence(polylm("senses", "bank", "--corpus", tmp_path / "none"))
    assert "there is no folder" in sentence(polylm("info", tmp_path / "none"))
    assert "say what to draw" in sentence(polylm("plot", "--out", tmp_path / "a.svg"))


def test_a_broken_pipe_ends_quietly(folder):
    command = f"yes 'the bank of the river' | head -20000 | {sys.executable} -m polylm tag - --model {folder} | head -1"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert json.loads(result.stdout)["text"] == "the bank of the river"
    assert "Traceback" not in result.stderr
