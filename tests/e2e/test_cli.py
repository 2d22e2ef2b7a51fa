"""The command line as a user meets it: what it prints, and one sentence with status 2 for each mistake."""

import json
import os
import subprocess
import sys

import pytest

from polylm import __version__
from tests.shared.command import on_a_terminal, polylm, sentence
from tests.shared.corpora import write_corpus
from tests.shared.texts import contents, make_lines


def test_version():
    assert polylm("--version").stdout.decode() == f"polylm {__version__}\n"


def test_analyze_prints_a_table_in_a_pipe():
    lines = polylm("analyze", "The banks fell.").stdout.decode().splitlines()
    assert lines[0].split("\t") == ["text", "start", "end", "tag", "lemma", "marker"]
    assert lines[2].split("\t") == ["banks", "4", "9", "NNS", "bank", "[PL]"]


def test_analyze_on_a_terminal():
    shown = on_a_terminal("analyze", "The banks fell.")
    assert b"[PL]" in shown
    assert b"banks" in shown


def test_analyze_json_from_standard_input():
    result = json.loads(polylm("analyze", "-", "--json", stdin="The cafés fell.\n".encode()).stdout)
    assert result["text"] == "The cafés fell."
    assert result["tokens"][1] == {
        "text": "cafés",
        "start": 4,
        "end": 9,
        "tag": "NNS",
        "lemma": "café",
        "marker": "[PL]",
    }


def test_analyze_surface():
    tokens = json.loads(polylm("analyze", "The banks", "--surface", "--json").stdout)["tokens"]
    assert [(t["lemma"], t["tag"], t["marker"]) for t in tokens] == [("the", None, None), ("banks", None, None)]


@pytest.mark.slow
def test_analyze_odd_text():
    assert json.loads(polylm("analyze", "", "--json").stdout) == {"text": "", "tokens": []}
    assert "standard input, line 1: this is not UTF-8" in sentence(polylm("analyze", "-", stdin=b"a\xff"))
    shown = polylm("analyze", "é “x”", "--json", env={"PYTHONIOENCODING": "ascii"})
    assert json.loads(shown.stdout)["text"] == "é “x”"
    broken = b"a\xffb".decode("utf-8", "surrogateescape")
    for encoding in ("utf-8", "latin-1", "ascii"):
        for options in ([], ["--json"]):
            for text in (broken, "日本"):
                assert polylm("analyze", text, *options, env={"PYTHONIOENCODING": encoding}).returncode == 0


def test_names_of_files_may_be_anything(tmp_path):
    path = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    with open(path, "w") as file:  # noqa: PTH123  (a name that pathlib takes as well, but not in bytes)
        file.write("\n".join(make_lines(5)))
    result = subprocess.run(
        [sys.executable, "-m", "polylm", "prepare", path, "--out", tmp_path / "out"], capture_output=True
    )
    assert result.returncode == 0, result.stderr


def test_a_closed_pipe_is_quiet():
    command = f"{sys.executable} -m polylm analyze '{'word ' * 20000}' | head -n 1"
    result = subprocess.run(["bash", "-c", command], capture_output=True)
    assert result.stderr == b""


def test_prepare_prints_what_was_made(text_files, tmp_path):
    result = polylm("prepare", text_files[0].parent, "--out", tmp_path / "out", "--min-count", "3", "--workers", 1)
    assert result.returncode == 0, result.stderr
    shown = result.stdout.decode()
    assert "words on 900 lines" in shown
    assert "of the text is unknown words" in shown
    progress = result.stderr.decode().splitlines()
    assert [line.split(":")[0] for line in progress if "100%" in line] == [
        "checking",
        "analysing",
        "counting",
        "encoding",
    ]


@pytest.mark.parametrize(("options", "said"), [(("--poly-count", "100000"), True), (("--senses", "1"), False)])
def test_prepare_says_when_no_word_has_several_senses(options, said, text_files, tmp_path):
    result = polylm("prepare", text_files[0], "--out", tmp_path / "out", "--min-count", "3", "--workers", 1, *options)
    shown = result.stdout.decode()
    assert " 0 of them with several senses" in shown
    assert ("no word is common enough to have several senses" in shown) == said


def test_prepare_json_and_lists(text_files, tmp_path):
    (tmp_path / "focus.txt").write_text("leaf\nunicorn\n")
    (tmp_path / "senses.tsv").write_text("river\t3\n")
    options = ["--focus", tmp_path / "focus.txt", "--senses-file", tmp_path / "senses.tsv", "--senses", 4]
    result = polylm("prepare", *text_files, "--out", tmp_path / "out", *options, "--workers", 1, "--json")
    manifest = json.loads(result.stdout)
    assert manifest == json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest["missing"] == ["unicorn"]
    rows = dict(line.split("\t", 1) for line in (tmp_path / "out" / "vocabulary.tsv").read_text().splitlines())
    assert [rows[word].split("\t")[1] for word in ("leaf", "unicorn", "river", "the", ",")] == ["4", "4", "3", "4", "1"]


def test_prepare_replaces_bytes_when_told(tmp_path):
    (tmp_path / "x.txt").write_bytes(b"The b\xffnk fell.\0\n" * 20)
    assert polylm("prepare", tmp_path / "x.txt", "--out", tmp_path / "out", "--errors", "replace").returncode == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "there are no words"),
        (b"a few words that are rare\n", "no word of the text is common enough for the vocabulary"),
        (b"ok\n\xff\n", "x.txt is not UTF-8 at byte 3 of its text"),
        (b"ok\n\0\n", "x.txt has a NUL byte at byte 3 of its text"),
    ],
)
def test_bad_text_is_refused_and_leaves_nothing(tmp_path, content, message):
    (tmp_path / "x.txt").write_bytes(content)
    out = tmp_path / "out"
    assert message in sentence(polylm("prepare", tmp_path / "x.txt", "--out", out))
    assert not out.exists() or not [name for name in contents(out) if not name.startswith(".work/")]


@pytest.mark.slow
def test_wrong_arguments(tmp_path):
    (tmp_path / "x.txt").write_text("\n".join(make_lines(5)))
    file, out = tmp_path / "x.txt", tmp_path / "out"
    for arguments, message in (
        (["prepare", tmp_path / "none.txt", "--out", out], "there is no file or folder"),
        (["prepare", file, "--out", file], "is a file: name a folder"),
        (["prepare", file, "--out", out, "--min-count", "few"], "'few' is not a threshold"),
        (["prepare", file, "--out", out, "--senses", "0"], "1 to 64"),
        (["prepare", file, "--out", out, "--workers", "0"], "at least one worker, not 0 (--workers)"),
        (["prepare", file, "--out", out, "--max-words", "2"], "no room"),
        (["prepare", file, "--out", out, "--focus", tmp_path / "none"], "could not be read"),
        (["prepare", file, "--out", "/proc/none"], "polylm: "),
        (["prepare", file, "--out", out, "--vocabulary", tmp_path / "none"], "there is no folder"),
        (["prepare", file, "--out", out, "--vocabulary", tmp_path, "--surface"], "leave out the options for these"),
    ):
        assert message in sentence(polylm(*arguments))
    for arguments in (["prepare", file], ["nonsense"], ["analyze", "x", "--tagger", "y"]):
        result = polylm(*arguments)
        assert result.returncode == 2
        assert b"Traceback" not in result.stderr


def test_missing_extras_are_told(tmp_path):
    """A package that is not installed is named with the command that installs it."""
    for name in ("spacy", "ray"):
        (tmp_path / f"{name}.py").write_text("raise ImportError")
    environment = {"PYTHONPATH": str(tmp_path)}
    assert "pip install 'polylm[spacy]'" in sentence(polylm("analyze", "x", "--tagger", "spacy", env=environment))
    (tmp_path / "x.txt").write_text("x")
    arguments = ["prepare", tmp_path / "x.txt", "--out", tmp_path / "out", "--engine", "ray"]
    assert "pip install 'polylm[ray]'" in sentence(polylm(*arguments, env=environment))


@pytest.mark.slow
def test_train_bench_and_plot(tmp_path):
    corpus = write_corpus(tmp_path / "corpus")
    options = ["--size", "tiny", "--steps", "6", "--set", "max_length=22", "--batch-tokens", "704", "--device", "cpu"]
    options += ["--set", "log_every=1", "--set", "confusion_tokens=2000", "--set", "substitute_tokens=2000"]
    result = polylm("train", corpus, "--out", tmp_path / "run", *options, "--json", "--watch", "h3")
    assert json.loads(result.stdout)["steps"] == 6, result.stderr
    assert b"split: held-out NLL" in result.stderr
    again = polylm("train", corpus, "--out", tmp_path / "run", *options, "--json", "--resume")
    assert again.returncode == 0
    assert b"is finished: to train it further" in again.stderr
    assert json.loads(again.stdout) == json.loads(result.stdout)
    assert polylm("plot", "--run", tmp_path / "run", "--out", tmp_path / "run.svg").returncode == 0
    assert b"<svg" in (tmp_path / "run.svg").read_bytes()
    assert polylm("train", corpus, "--out", tmp_path / "dry", *options, "--dry-run").returncode == 0
    assert not (tmp_path / "dry").exists()
    rows = json.loads(polylm("bench", "train", corpus, "--seconds", "0.1", "--json", "--device", "cpu").stdout)["rows"]
    assert [row["what"] for row in rows] == ["phase 1", "phase 2", "naive"]


@pytest.mark.slow
def test_train_complains(tmp_path):
    corpus = write_corpus(tmp_path / "corpus", n_texts=300)
    out = ["--out", tmp_path / "run", "--size", "tiny"]
    assert "say how long to train" in sentence(polylm("train", corpus, *out))
    assert "is not a time" in sentence(polylm("train", corpus, *out, "--budget", "soon"))
    assert "one budget" in sentence(polylm("train", corpus, *out, "--budget", "1m", "--steps", "5"))
    assert "there is no folder" in sentence(polylm("train", tmp_path / "none", *out, "--steps", "5"))
    assert "there is no setting 'speed'" in sentence(polylm("train", corpus, *out, "--steps", "5", "--set", "speed=9"))
    assert "clip is 'high': it must be a number" in sentence(
        polylm("train", corpus, *out, "--steps", "5", "--set", "clip=high")
    )
    assert "a setting is NAME=VALUE" in sentence(polylm("train", corpus, *out, "--steps", "5", "--set", "clip"))
    assert "there is no file" in sentence(polylm("train", corpus, *out, "--steps", "5", "--config", tmp_path / "x"))
    assert "holds no run" in sentence(polylm("plot", "--run", tmp_path, "--out", tmp_path / "a.png"))
    assert "is not a picture file" in sentence(polylm("plot", "--run", tmp_path, "--out", tmp_path / "a.txt"))
    assert "there is no size" in sentence(polylm("bench", "train", "--size", "huge", "--device", "cpu"))
