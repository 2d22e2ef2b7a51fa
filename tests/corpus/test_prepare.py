import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from polylm.corpus import counts
from polylm.corpus import prepare as module
from polylm.corpus.engine import local
from polylm.corpus.prepare import PrepareSettings, describe, prepare
from polylm.corpus.selection import Threshold, Vocabulary, VocabularySettings
from polylm.corpus.shards import PreparedCorpus
from polylm.errors import UserError
from polylm.text.pipeline import TextPipeline, TextSettings
from tests.shared.texts import contents, make_lines


def settings(**text):
    return PrepareSettings(
        TextSettings(**text), VocabularySettings(min_count=Threshold(3), poly_count=Threshold(100), focus=("bank",))
    )


def test_ids_are_those_of_the_pipeline(text_files, tmp_path):
    manifest = prepare(text_files, tmp_path / "out", settings())
    corpus = PreparedCorpus(tmp_path / "out")
    vocabulary = Vocabulary.load(tmp_path / "out" / "vocabulary.tsv")
    pipeline = TextPipeline(vocabulary, TextSettings.load(tmp_path / "out" / "text.json"))
    lines = [line for path in text_files for line in path.read_text("utf-8").split("\n") if line.strip()]
    expected = [pipeline.encode(line) for line in lines]
    for line, tokens in zip(corpus.lines(vocabulary["[LINE]"]), expected, strict=True):
        assert line.tolist() == tokens.ids.tolist()
    assert manifest["lines"] == len(lines)
    assert manifest["words"] == sum(len(tokens.words) for tokens in expected)
    ids = np.concatenate([tokens.ids for tokens in expected])
    assert manifest["unknown"] == vocabulary.count("[UNK]") == (ids == vocabulary["[UNK]"]).sum()
    for word in ("the", "bank", ",", "[PL]"):
        assert vocabulary.count(word) == (ids == vocabulary[word]).sum()


def test_surface_forms(text_files, tmp_path):
    prepare(text_files, tmp_path / "out", settings(lemmatize=False))
    vocabulary = Vocabulary.load(tmp_path / "out" / "vocabulary.tsv")
    assert "managers" in vocabulary
    assert "manager" not in vocabulary
    assert "[PL]" not in vocabulary


def test_the_words_of_a_model(text_files, tmp_path):
    """Other text, as the first was read: the very vocabulary, and unknown words where it has none."""
    prepare(text_files, tmp_path / "first", settings(lemmatize=False))
    other = tmp_path / "other.txt"
    other.write_text("The bank and a zyzzyva.\n", encoding="utf-8")
    chosen = PrepareSettings.of_folder(tmp_path / "first")
    manifest = prepare([other], tmp_path / "second", chosen)
    assert (tmp_path / "second" / "text.json").read_bytes() == (tmp_path / "first" / "text.json").read_bytes()
    of_first, vocabulary = (Vocabulary.load(tmp_path / name / "vocabulary.tsv") for name in ("first", "second"))
    assert (vocabulary.words, vocabulary.n_senses) == (of_first.words, of_first.n_senses)
    assert [vocabulary.count(word) for word in ("bank", "[LINE]", "[UNK]", "river")] == [1, 1, manifest["unknown"], 0]
    (line,) = PreparedCorpus(tmp_path / "second").lines(vocabulary["[LINE]"])
    known = [word if word in vocabulary else "[UNK]" for word in ("the", "bank", "and", "a", "zyzzyva", ".")]
    assert [vocabulary.words[number] for number in line] == known
    assert manifest["unknown"] == known.count("[UNK]") > 0
    assert prepare([other], tmp_path / "second", chosen) == manifest  # finished, and with the same settings
    with pytest.raises(UserError, match="other settings"):
        prepare([other], tmp_path / "second", settings(lemmatize=False))
    empty = tmp_path / "empty.txt"
    empty.write_text("\n", encoding="utf-8")
    with pytest.raises(UserError, match="no words in the text"):
        prepare([empty], tmp_path / "third", chosen)


def test_folders_that_have_no_words(tmp_path):
    with pytest.raises(UserError, match="there is no folder"):
        PrepareSettings.of_folder(tmp_path / "none")
    with pytest.raises(UserError, match=r"neither a model nor a prepared corpus: it has no vocabulary.tsv"):
        PrepareSettings.of_folder(tmp_path)


def test_focus_words_that_do_not_occur_are_told(text_files, tmp_path):
    chosen = PrepareSettings(vocabulary=VocabularySettings(focus=("bank", "unicorn")))
    assert prepare(text_files, tmp_path / "out", chosen)["missing"] == ["unicorn"]


@pytest.mark.slow
def test_output_does_not_depend_on_workers_or_chunks_seen_before(text_files, tmp_path):
    for workers in (1, 2, 3):
        prepare(text_files, tmp_path / f"out{workers}", settings(), engine=local(workers))
    first = contents(tmp_path / "out1")
    assert first == contents(tmp_path / "out2") == contents(tmp_path / "out3")
    assert set(first) == {"manifest.json", "shard-00000.bin", "text.json", "vocabulary.tsv"}


def test_counts_that_do_not_fit_in_memory_are_exact(text_files, tmp_path, monkeypatch):
    prepare(text_files, tmp_path / "memory", settings())
    monkeypatch.setattr(counts, "MAX_COUNTED", 50)
    prepare(text_files, tmp_path / "disk", settings())
    assert contents(tmp_path / "memory") == contents(tmp_path / "disk")


def test_a_stopped_run_goes_on(text_files, tmp_path):
    """Every chunk is analysed once, also when the run stops after each."""
    n_analysed = 0

    def counting(limit):
        def run(function, items):
            nonlocal n_analysed
            for number, item in enumerate(items):
                if number == limit:
                    raise KeyboardInterrupt
                n_analysed += 1
                yield function(item)

        return run

    for _ in text_files[1:]:
        with pytest.raises(KeyboardInterrupt):
            prepare(text_files, tmp_path / "out", settings(), engine=counting(1))
        with pytest.raises(UserError, match="not a finished one"):
            PreparedCorpus(tmp_path / "out")
    prepare(text_files, tmp_path / "out", settings(), engine=counting(None))
    assert n_analysed == len(text_files)
    prepare(text_files, tmp_path / "whole", settings())
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_text_that_changed_since_is_read_again(text_files, tmp_path):
    def stop_after_four(function, items):
        for number, item in enumerate(items):
            if number == 4:
                raise KeyboardInterrupt
            yield function(item)

    with pytest.raises(KeyboardInterrupt):
        prepare(text_files, tmp_path / "out", settings(), engine=stop_after_four)
    text_files[1].write_text("\n".join(make_lines(200, seed=99)))
    prepare(text_files, tmp_path / "out", settings())
    prepare(text_files, tmp_path / "whole", settings())
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_finished_run_is_left_alone(text_files, tmp_path):
    out = tmp_path / "out"
    manifest = prepare(text_files, out, settings())
    before = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    assert prepare(text_files, out, settings()) == manifest
    with pytest.raises(UserError, match="other text"):
        prepare(text_files[:3], out, settings())
    with pytest.raises(UserError, match="other settings"):
        prepare(text_files, out, settings(lemmatize=False))
    floor = VocabularySettings(min_count=Threshold(0.17, per_million=True, floor=2000))
    usual = describe(PrepareSettings(vocabulary=VocabularySettings()))
    assert describe(PrepareSettings(vocabulary=floor)) == {**usual, "min_count": "0.17/M, at least 2000"}
    assert before == {path: path.stat().st_mtime_ns for path in out.iterdir()}


def test_a_finished_corpus_that_was_damaged_is_made_again(text_files, tmp_path):
    out = tmp_path / "out"
    prepare(text_files, out, settings())
    expected = contents(out)
    (out / "shard-00000.bin").unlink()
    prepare(text_files, out, settings())
    assert contents(out) == expected
    (out / "vocabulary.tsv").write_text("x")
    prepare(text_files, out, settings())
    assert contents(out) == expected


def test_other_peoples_files_are_not_touched(text_files, tmp_path):
    out = tmp_path / "out"
    (out / ".work").mkdir(parents=True)
    for name in ("vocabulary.tsv", ".work/thesis.txt"):
        (out / name).write_text("mine")
        with pytest.raises(UserError, match="holds other files"):
            prepare(text_files, out, settings())
        assert (out / name).read_text() == "mine"
        (out / name).unlink()
    (out / "manifest.json").write_text('{"format": 1}')
    with pytest.raises(UserError, match="not the manifest of a prepared corpus"):
        prepare(text_files, out, settings())
    with pytest.raises(UserError, match="has no name"):
        prepare(text_files, "", settings())


def test_leftovers_of_a_killed_run_are_cleared(text_files, tmp_path):
    out = tmp_path / "out"
    (out / ".work").mkdir(parents=True)
    for name in (".work/made-by-polylm", "shard-00007.bin", ".shard-00000.bin.123.tmp"):
        (out / name).write_text("old")
    prepare(text_files, out, settings())
    prepare(text_files, tmp_path / "whole", settings())
    assert contents(out) == contents(tmp_path / "whole")


def test_damaged_work_is_done_again(text_files, tmp_path):
    def stop(function, items):
        yield from map(function, items)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(text_files, tmp_path / "out", settings(), engine=stop)
    work = tmp_path / "out" / ".work"
    next(work.glob("source-*.json")).write_text("{")
    next(work.glob("*.npz")).write_bytes(b"damaged")
    with pytest.raises(UserError, match="was damaged and has been deleted: run it again"):
        prepare(text_files, tmp_path / "out", settings())
    prepare(text_files, tmp_path / "out", settings())
    prepare(text_files, tmp_path / "whole", settings())
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_text_that_changes_while_it_is_read_is_refused(text_files, tmp_path):
    def meddle(function, items):
        for item in items:
            with text_files[0].open("a") as file:
                file.write("More.\n")
            yield function(item)

    with pytest.raises(UserError, match=r"part-0.txt changed while it was read"):
        prepare(text_files, tmp_path / "out", settings(), engine=meddle)


def test_the_same_bytes_are_read_as_their_names_say(tmp_path):
    import gzip

    for name in ("q.dat", "q.gz"):
        (tmp_path / name).write_bytes(gzip.compress(b"The bank fell.\n" * 50))
    chosen = PrepareSettings(errors="replace")
    one = prepare([tmp_path / "q.dat", tmp_path / "q.gz"], tmp_path / "one", chosen)
    two = prepare([tmp_path / "q.gz", tmp_path / "q.dat"], tmp_path / "two", chosen)
    assert one["words"] == two["words"] > 200


def test_other_versions_are_named(text_files, tmp_path, monkeypatch):
    prepare(text_files, tmp_path / "out", settings())
    monkeypatch.setattr(module, "__version__", "9.9")
    with pytest.raises(UserError, match=r"prepared by polylm .*, and this is 9.9"):
        prepare(text_files, tmp_path / "out", settings())


def test_two_files_with_the_same_text(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("The bank fell.\n" * 50)
    assert prepare([tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "out")["lines"] == 100


def test_text_without_words(tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_text(" \n\n")
    with pytest.raises(UserError, match="no words"):
        prepare([empty], tmp_path / "out")


def test_progress_ends_at_all_of_it(text_files, tmp_path):
    steps = []
    prepare(text_files, tmp_path / "out", settings(), report=steps.append)
    assert list(dict.fromkeys(step.stage for step in steps)) == ["checking", "analysing", "counting", "encoding"]
    for stage in ("checking", "analysing", "counting", "encoding"):
        last = [step for step in steps if step.stage == stage][-1]
        assert last.done == last.total


def run_prepare(files, out, *options, **popen):
    command = [sys.executable, "-m", "polylm", "prepare", *map(str, files), "--out", str(out), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen)


@pytest.mark.slow
def test_killed_at_ten_random_moments(tmp_path):
    rng = random.Random(7)
    files = []
    for number in range(12):
        path = tmp_path / f"{number:02d}.txt"
        path.write_text("\n".join(make_lines(900, seed=number)))
        files.append(path)
    started = time.monotonic()
    assert run_prepare(files, tmp_path / "whole", "--workers", "2").wait() == 0
    duration = time.monotonic() - started
    expected = contents(tmp_path / "whole")
    unfinished = 0
    for attempt in range(10):
        out = tmp_path / f"out{attempt}"
        process = run_prepare(files, out, "--workers", "2")
        time.sleep(rng.uniform(0.1, 1.0) * duration)
        unfinished += process.poll() is None
        process.kill()
        process.wait()
        assert not (out / "manifest.json").exists() or contents_without_work(out) == expected
        again = run_prepare(files, out, "--workers", "2")
        assert again.wait() == 0, again.stderr.read()
        assert contents(out) == expected
    assert unfinished >= 5


def contents_without_work(out):
    return {name: data for name, data in contents(out).items() if not name.startswith(".work/")}


@pytest.mark.slow
def test_workers_do_not_outlive_a_killed_run(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(make_lines(40_000)))
    process = run_prepare([path, path], tmp_path / "out", "--workers", "2", start_new_session=True)
    group = process.pid
    deadline = time.monotonic() + 30
    while len(members(group)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(members(group)) >= 3
    process.kill()
    process.wait()
    while members(group) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert members(group) == []


def members(group):
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, _, process_group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if int(process_group) == group and state != "Z":
                found.append(int(folder.name))
    return found


@pytest.mark.slow
def test_stopped_by_control_c(text_files, tmp_path):
    big = tmp_path / "big.txt"
    big.write_text("\n".join(make_lines(60_000)))
    process = run_prepare(
        [*text_files, big],
        tmp_path / "out",
        "--workers",
        "2",
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background may ignore it
    )
    deadline = time.monotonic() + 30
    while not list((tmp_path / "out").glob(".work/*.npz")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "polylm: stopped; the same command goes on from here"
    assert "Traceback" not in errors


@pytest.mark.slow
def test_two_runs_into_one_folder(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(make_lines(60_000)))
    out = tmp_path / "out"
    first = run_prepare([path], out, "--workers", "1")
    deadline = time.monotonic() + 30
    while not (out / ".work").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    second = run_prepare([path], out, "--workers", "1")
    _, errors = second.communicate()
    assert second.returncode == 2
    assert errors == f"polylm: another run is writing to {out}: wait for it, or choose another folder\n"
    assert first.wait() == 0
    PreparedCorpus(out)


@pytest.mark.slow
def test_a_full_disk(tmp_path):
    import resource

    path = tmp_path / "text.txt"
    path.write_text("\n".join(make_lines(20_000)))
    out = tmp_path / "out"

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    process = run_prepare([path], out, "--workers", "1", preexec_fn=limit)
    _, errors = process.communicate()
    assert process.returncode == 2
    assert errors.splitlines()[-1].startswith(f"polylm: there is no room left to write to {out} (File too large)")
    assert "Traceback" not in errors
    assert set(contents(out)) <= {".work/made-by-polylm"}
    assert run_prepare([path], out, "--workers", "1").wait() == 0
    PreparedCorpus(out)


@pytest.mark.slow
def test_a_ray_cluster_writes_the_same(text_files, tmp_path):
    pytest.importorskip("ray")
    process = run_prepare(text_files, tmp_path / "ray", "--engine", "ray", "--json")
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert json.loads(output)["format"] == 1
    assert run_prepare(text_files, tmp_path / "local", "--workers", "1").wait() == 0
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")


@pytest.mark.slow
def test_a_line_of_100_megabytes_in_little_memory(tmp_path):
    path = tmp_path / "line.txt"
    unit = "x" * 9990 + " the bank "
    path.write_text(unit * 10_000)
    code = (
        "import re, sys; from polylm.corpus.prepare import *; from polylm.corpus.engine import local;"
        "m = prepare([sys.argv[1]], sys.argv[2], PrepareSettings(), engine=local(1));"
        "print(m['words'], int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) // 1024)"
    )
    result = subprocess.run([sys.executable, "-c", code, path, tmp_path / "out"], capture_output=True, text=True)
    words, megabytes = map(int, result.stdout.split())
    assert words == 30_000
    assert megabytes < 400
